"""Stems of words in the languages of Latin script.

A text's frequent words and its letters choose the language."""

from __future__ import annotations

import re
from collections.abc import Iterable
from threading import Lock
from typing import TYPE_CHECKING

from engrams.text.normalize import fold
from engrams.text.textcaches import text_cache

if TYPE_CHECKING:
    from Stemmer import Stemmer

_ENGLISH = """
    the a an and or but if of to in on at by for with from about is are was were be been am do does did done have has had will would can
    could should may might must i you he she it we they me him her us them my your his its our their this that these those what which who
    when where why how not no yes so too very just then than as there here all any some more most other into over after before up down out
    off only also get got like know think want good great new one two time day thanks thank lol wow hey yeah hi let going make
    """
_FREQUENT = {
    "german": """
        der die das den dem des ein eine einen einem einer und oder aber ist sind war waren bin bist hat habe haben hatte wird werden ich du
        er sie es wir ihr mich mir dich dir mein meine meinen meinem meiner dein deine sein seine unser unsere nicht kein keine mit von vom
        zu zum zur im in am an auf aus bei nach seit uber fur um auch noch nur schon sehr wie was wer wo wann warum welche welcher dass weil
        wenn als man hier heute gestern morgen immer gern gerne viel ganz
        """,
    "french": """
        le la les un une des du de et ou mais est sont etait suis es a ai as ont avait avons je tu il elle on nous vous ils elles me te se
        moi mon ma mes ton ta tes son sa ses notre nos votre leur leurs ce cet cette ces que qui quoi dont ne pas plus tres dans avec sans
        pour par sur chez aux au en y quand comment pourquoi quel quelle quels quelles hier aujourd demain toujours jamais j l d c qu n s m
        """,
    "spanish": """
        el la los las un una unos unas y o pero es son era fue soy eres estoy esta estan estaba he ha han hay tengo tiene yo tu nosotros
        ellos me te se nos mi mis su sus nuestro nuestra lo le les que quien cual cuales cuando donde como porque no muy mas del de al a en
        con sin por para desde hasta ayer hoy siempre nunca tambien este ese esto eso mucho todos
        """,
    "italian": """
        il lo la i gli le un uno una e o a ma sono sei siamo era ero ho hai ha abbiamo hanno io tu lui lei noi voi loro mi ti si ci mio mia
        miei mie tuo tua suo sua suoi nostro nostra che chi cosa quale quali quando dove come perche non molto piu di del dello della dei
        degli delle al alla ai alle nel nella dal dalla da in con senza per su sul sulla questo questa quello ieri oggi domani sempre mai
        anche
        """,
    "portuguese": """
        o a os as um uma uns umas e ou mas sou somos sao era foi estou esta estava tenho tem temos tinha eu ele ela nos eles elas voce voces
        me te se meu minha meus minhas teu tua seu sua seus suas nosso nossa que quem qual quais quando onde como porque nao muito mais de
        do da dos das no na nos nas ao aos em num numa com sem por pelo pela para desde ate ontem hoje amanha sempre nunca tambem isso este
        """,
    "dutch": """
        de het een en of maar is zijn was waren ben bent heb heeft hebben had hebt wordt worden ik jij je hij zij ze wij we jullie hun mij
        me jou hem haar mijn jouw onze ons dit dat deze die niet geen met van voor door naar bij op aan uit om over tot te er ook nog al
        heel zeer hoe wat wie waar wanneer waarom welke omdat als dan gisteren vandaag morgen altijd nooit graag veel
        """,
    "swedish": """
        en ett och eller men ar var varit har hade jag du han hon den det vi ni de dem mig dig honom henne oss min mitt mina din ditt dina
        sin sitt sina inte med av fran till for om pa i ut upp som att nar var hur vad vem vilken vilka varfor eftersom mycket
        mer alla nagra igar idag imorgon alltid aldrig gillar mig
        """,
    "norwegian": """
        en et ei og eller men er var vaert har hadde jeg du han hun den det vi dere de dem meg deg ham henne oss min mitt mine din ditt dine
        sin sitt sine var vart ikke med av fra til for om pa i ut opp som at nar hvor hvordan hva hvem hvilken hvilke hvorfor fordi ogsa
        veldig mer alle noen igar idag alltid aldri liker gjor
        """,
    "danish": """
        en et og eller men er var vaeret har havde jeg du han hun den det vi i de dem mig dig ham hende os min mit mine din dit dine sin sit
        sine vores ikke med af fra til for om pa ud op som at nar hvor hvordan hvad hvem hvilken hvilke hvorfor fordi ogsa meget mere alle
        nogle igar idag altid aldrig kan lide gor
        """,
    "finnish": """
        ja tai mutta on ovat oli olivat olen olet olemme mina sina han me te he minun sinun hanen meidan minulla sinulla hanella se tama tuo
        ne nama ei en et emme eivat kun jos etta koska mita mika missa milloin kuka miten miksi joka jotka myos viela hyvin kanssa eilen
        tanaan huomenna aina koskaan
        """,
    "turkish": """
        ve veya ama ile bir bu su o ben sen biz siz onlar benim senin onun bizim sizin bana sana ona beni seni var yok degil icin gibi kadar
        sonra once cok daha en her sey ne nerede nereye zaman kim nasil neden niye hangi mi mu dun bugun yarin hep hic da de ki
        """,
    "hungarian": """
        a az egy es vagy de hogy nem is van vannak volt voltak lesz en te o mi ti ok engem teged nekem neked neki ez ezt azt ha mert mit mi
        hol mikor ki hogyan miert melyik ami aki meg mar csak nagyon tegnap ma holnap mindig soha
        """,
    "romanian": """
        si sau dar este sunt era am ai are avem au eu tu el ea noi voi ei ele ma te se imi iti meu mea mei tau lui nostru un o unei unui pe
        cu la din de in pentru fara ca care ce cine unde cand cum nu foarte mai ieri azi maine mereu niciodata acest aceasta
        """,
    "polish": """
        i lub ale jest sa byl byla bylo byli jestem mam masz ma maja ja ty on ona my wy oni mnie ciebie go mu sie moj moja moje moich twoj
        twoja jego jej nasz nasza ten ta to te tego nie z ze w we na do od dla po przez o jak co kto gdzie kiedy dlaczego ktory ktora ktore
        bardzo tez juz tylko wczoraj dzis dzisiaj jutro zawsze nigdy
        """,
    "czech": """
        a nebo ale je jsou byl byla bylo byli jsem jsi jsme mam mas ma ja ty on ona my vy oni mne me mi tebe ti ho mu se si muj moje moji
        tvuj jeho jeji nas nase ten ta to ty tento ne z ze v ve na do od pro po pres o jak co kdo kde kdy proc ktery ktera ktere velmi taky
        uz jen vcera dnes zitra vzdy nikdy
        """,
    "catalan": """
        el la els les un una uns unes i o pero es son era soc estic esta he ha han hi tinc te jo tu ell ella nosaltres em et meu meva meus
        seu seva que qui qual quan on com perque no molt mes del de al a en amb sense per des fins ahir avui dema sempre mai tambe aquest
        """,
    "indonesian": """
        dan atau tetapi tapi adalah saya aku kamu anda dia kami kita mereka ini itu di ke dari untuk dengan pada yang tidak bukan ada sudah
        akan sedang apa siapa mana kapan bagaimana kenapa mengapa juga sangat lebih kemarin hari besok selalu
        """,
    "estonian": """
        ja voi aga on oli olen oled oleme mina sina tema meie teie nemad ma sa ta minu sinu mul sul see ei kui et sest mis kus millal kes
        kuidas miks ka veel vaga eile tana homme alati kunagi
        """,
    "lithuanian": """
        ir ar bet yra buvo esu esi as tu jis ji mes jus jie mano tavo savo jo jos man tau tai sis ta ne nera kad kai nes ka kas kur kada
        kodel kuris kuri labai jau dar tik su be is i nuo iki vakar siandien rytoj visada
        """,
    "irish": "agus ach is ta bhi me tu se si sinn mo do ar an na leis le ag i go nach ce cad cathain conas inniu inne amarach",
    "basque": "eta edo baina da dira zen naiz zara gara dut duzu du ni zu gu nire zure bere ez bai zer nor non noiz nola atzo gaur bihar",
    "esperanto": "la kaj au sed estas estis mi vi li si ni ili mia via lia ne jes kio kiu kie kiam kiel hierau hodiau morgau en al de kun",
}
_LETTERS = {
    "german": "äöüß", "french": "éèêàçùœîôû", "spanish": "ñ¿¡áéíóú", "italian": "èàùìò", "portuguese": "ãõçáéêóâ", "dutch": "ëĳ",
    "swedish": "åäö", "norwegian": "åøæ", "danish": "åøæ", "finnish": "äö", "turkish": "ğışçöü", "hungarian": "őűáéíóú",
    "romanian": "ăâîșțşţ", "polish": "ąćęłńśźż", "czech": "ěščřžýůáíé", "catalan": "ŀçàèéíïòóú", "estonian": "õäöü",
    "lithuanian": "ąčęėįšųūž", "irish": "áéíóú", "esperanto": "ĉĝĥĵŝŭ",
}  # fmt: skip
_WORDS = re.compile(r"[^\W\d_]+")
_LONGEST = 4000
"""Characters of a text that tell its language."""
_TELLING = 24
"""Characters below which a message does not tell its language."""
_LATIN_END = "\u0250"
_MOST = 3
"""Languages of one text."""


def _invert(table: dict[str, str], split: bool) -> dict[str, frozenset[str]]:
    found: dict[str, set[str]] = {}
    for name, listed in table.items():
        for one in listed.split() if split else listed:
            found.setdefault(one, set()).add(name)
    return {one: frozenset(names) for one, names in found.items()}


_VOTED = _invert({"english": _ENGLISH, **_FREQUENT}, split=True)
_LETTER_VOTED = _invert(_LETTERS, split=False)

LANGUAGES: tuple[str, ...] = tuple(_FREQUENT)
"""Languages of Latin script, other than English, that have a stemmer."""


def find_languages(text: str) -> tuple[str, ...] | None:
    """Name the likeliest languages of a text's Latin words.

    The equally likely ones, three at most; empty: English; None: no hint at all."""
    text = text[:_LONGEST]
    counts: dict[str, int] = {}
    for word in set(_WORDS.findall(fold(text))):
        for name in _VOTED.get(word, ()):
            counts[name] = counts.get(name, 0) + 1
    if not text.isascii():
        for letter in set(text.lower()):
            for name in _LETTER_VOTED.get(letter, ()):
                counts[name] = counts.get(name, 0) + 1
    if not counts:
        return None
    most = max(counts.values())
    return () if counts.get("english", 0) == most else tuple(name for name in LANGUAGES if counts.get(name) == most)[:_MOST]


def differ_in_language(text: str, message: str) -> bool:
    """Check if one is English and the other clearly is not.

    Also True for a text in Latin letters of a message in others; False for short messages, which tell no language."""
    letters, others = _share_latin(text), _share_latin(message)
    if letters is None or others is None or len(message) < _TELLING:
        return False
    if (letters > 1 / 2) != (others > 1 / 2):
        return True
    one, other = find_languages(text), find_languages(message)
    return one is not None and other is not None and (one == ()) != (other == ())


def _share_latin(text: str) -> float | None:
    letters = [letter for word in _WORDS.findall(text[:_LONGEST]) for letter in word]
    return sum(letter < _LATIN_END for letter in letters) / len(letters) if letters else None


def is_frequent(word: str, languages: Iterable[str]) -> bool:
    """Check if a folded word is frequent in a language."""
    return not _VOTED.get(word, frozenset()).isdisjoint(languages)


@text_cache(1 << 16)
def stem_word(word: str, language: str) -> str:
    """Stem a folded word, or return it where nothing would remain."""
    # A stemmer is not thread-safe; the lock is taken only for new words.
    with _lock:
        return _get_stemmer(language).stemWord(word) or word


def stem_all(word: str, languages: Iterable[str]) -> tuple[str, ...]:
    """Stem a folded word in each language; each stem once."""
    return tuple(dict.fromkeys(stem_word(word, name) for name in languages))


_stemmers: dict[str, Stemmer] = {}
_lock = Lock()


def _get_stemmer(name: str) -> Stemmer:
    if name not in _stemmers:
        from Stemmer import Stemmer

        _stemmers[name] = Stemmer(name, 0)
    return _stemmers[name]
