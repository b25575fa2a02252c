"""Language of a text, by frequent words, trigger words or script."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable

from engrams.text.late_patterns import late_pattern
from engrams.text.times.grammar import word_set
from engrams.text.vocabulary import read_vocabulary

MARKS = late_pattern("[\u0300-\u036f]")
_TABLE: dict[int, str] = {
    code: unicodedata.normalize("NFD", chr(code))[0].lower()
    for code in range(0xC0, 0x250)
    if unicodedata.normalize("NFD", chr(code))[0].isascii()
}
_TABLE |= dict.fromkeys((0x2018, 0x2019, 0x02BC, 0xFF07), "'") | dict.fromkeys(
    (0xA0, 0x202F, 0x2009, 0x3000), " "
)
_TABLE |= {0xFF10 + digit: str(digit) for digit in range(10)}


_TRIGGER_WORDS = {
    "en": read_vocabulary(__file__, "trigger_words_en"),
    "de": read_vocabulary(__file__, "trigger_words_de"),
    "es": read_vocabulary(__file__, "trigger_words_es"),
    "fr": read_vocabulary(__file__, "trigger_words_fr"),
    "pt": read_vocabulary(__file__, "trigger_words_pt"),
    "it": read_vocabulary(__file__, "trigger_words_it"),
    "nl": read_vocabulary(__file__, "trigger_words_nl"),
    "ru": read_vocabulary(__file__, "trigger_words_ru"),
}
_LANGUAGES: dict[str, set[str]] = {}
WORDS = late_pattern(r"[^\W_]+")
DIGITS = late_pattern(
    r"\d(?:\d{3}|\d?(?:[-/.]\s?\d|st\b|nd\b|rd\b|th\b)|0'?s\b"
    # "am 27.", "el 20", "le 20": an article is all that tells a day of the month there.
    r"|(?:(?<=\b(?:am|el|le|au|du)\s\d)|(?<=\b(?:zum|vom|dem|den|dia|del)\s\d))(?:\d|er)?(?![\w%:]))"
)
CJK = late_pattern(
    "[先季年月号號周週昨今明前后後去期拜春夏秋冬最近底初末曜来先日節节夕朝晚晩夜]|天[前后後]|[这這前][几幾两兩]天|きのう|おととい|きょう|あした|あす|あさって|ゆうべ|クリスマス|おととし|けさ|しゅう|げつ|ことし|きょねん|らいねん|この間|この前|こないだ|この頃|このごろ|ちかごろ|ハロウィン|バレンタイン|イースター|感謝祭|그제|어제|그저께|어젯밤|오늘|내일|모레|작년|올해|내년|지난|이번|다음|요일|이틀|사흘|달"
    " 전|주 전|주일 전|개월 전|년 전|일 전|월|国庆|國慶|圣诞|聖誕|五一|元旦|元日|令和|平成|昭和"
)
JAPANESE = late_pattern(
    "[\u3041-\u309f\u30a1-\u30fa]|先週|先月|先日|来週|来月|先々|曜|一昨|昨年|来年|今朝|明後|令和|平成|昭和|週間|四半期|週末"
)
# Ambiguous words (German "hier" is here, French "hier" is yesterday) count only if the text is
# mostly in that language.
_SHARED = {
    "fr": word_set("hier mars mai an minute minutes temps week weekend ete"),
    "es": word_set("poco santa hace mes"),
}


_FREQUENT_WORDS = {
    "en": (
        """
        the and is was i you my we to of in it that with what did does do when who how are have has he she for on at this be they her
        his your not just so if but our need know let no yeah really great good
        """
    ),
    "de": read_vocabulary(__file__, "frequent_words_de"),
    "es": (
        """
        el los las la y es era yo tu mi mis que en con no un una por para se lo como cuando donde quien esta este fui fue del al
        ha he muy desde pero hay le su sus cual ayer vi hasta entre hace tengo estoy soy tiene estaba anos nuestro nuestra
        nuestros nuestras de nos ya tambien porque sin sobre toda todos ahora uso estudio bebo corro compro prefiero odio naci
        dejo hoy siempre nunca somos eres son tenemos tuve tuvo tuvimos hemos han habia vivo vive trabajo trabaja gusta llamo
        llama hijo hija hijos madre padre hermano hermana mujer perro gato voy vamos tienes quiero puedo algo mas otra otro cada
        perdimos lunes martes miercoles jueves viernes sabado domingo me pasado pasada mude mudado mudamos
        """
    ),
    "fr": read_vocabulary(__file__, "frequent_words_fr"),
    "pt": (
        """
        o a os as um uma e ou mas sou foi estou esta tenho tem eu ele ela meu minha que quem onde como nao muito mais de do da dos
        das no na em com por para desde ate meus minhas voce fui vou
        """
    ),
    "it": (
        """
        il lo la i gli un una e ma sono sei ho hai ha abbiamo io mi ti si mio mia che chi cosa dove come perche non piu di del
        della dei al alla nel nella da in con per sono andato andata siamo
        """
    ),
    "nl": (
        """
        de het een en of maar is was waren ben heb heeft hebben ik je hij ze wij we mijn dit dat niet geen met van voor door naar
        op aan uit om ook nog wel hoe wat wie waar wanneer
        """
    ),
    "ru": (
        """
        и в на не я мы ты он она они что как где когда кто мой моя мне меня с по из у к был была было были это наш
        """
    ),
}
_VOTES: dict[str, list[str]] = {}

_LETTERS = {
    "de": "äöüß",
    "es": "áéíóúüñ¿¡",
    "fr": "àâçéèêëîïôùûüœ",
    "pt": "áàâãçéêíóôõú",
    "it": "àèéìòù",
    "nl": "éëïó",
    "en": "",
}
"""Letters that a language writes besides a to z; each other one of a text speaks against it."""
_MARKED = late_pattern("[ßäöüáéíóúñ¿¡àâçèêëîïôùûœãõìò]")

# Compiled on first use: large ranges take milliseconds.
_KANA = "[\u3041-\u309f\u30a1-\u30fa\u30fc]"
_HAN = "[\u3400-\u9fff]"
_HANGUL = "[\uac00-\ud7af]"
_SPLIT = late_pattern(r"[^\W\d_]+")


def fold(text: str) -> str:
    """Lower the case; strip Latin accents; normalize apostrophes and blanks."""
    low = text.translate(_TABLE)
    lowered = low.lower()
    if len(lowered) != len(low):
        lowered = "".join(char.lower() if len(char.lower()) == 1 else char for char in low)
    if not lowered.isascii() and MARKS.search(lowered):
        return MARKS.sub("", lowered)
    return lowered


_TRIGGER_WORDS["de"] += " ".join(
    day + part
    for day in ("montag", "dienstag", "mittwoch", "donnerstag", "freitag", "samstag", "sonntag")
    for part in (" ", "morgen ", "vormittag ", "mittag ", "nachmittag ", "abend ", "nacht ")
)
for _name, _listed in _TRIGGER_WORDS.items():
    for _word in _listed.split():
        _LANGUAGES.setdefault(_word, set()).add(_name)
TRIGGERS = frozenset(_LANGUAGES)
_SHARED |= {
    "de": word_set(
        "ende mitte mai juni juli oktober tag winter april august september november minute abend"
        " jan feb apr jun jul aug sep sept nov"
    )
}
_SHARED |= {"en": word_set("new back eve may fall spring sun sat mon mar q1 q2 q3 q4")}


def trigger_languages(trigger_words: frozenset[str] | set[str]) -> dict[str, bool]:
    """Map trigger words to languages; True for an unambiguous word."""
    counts: dict[str, bool] = {}
    for word in trigger_words:
        names = _LANGUAGES.get(word, set())
        # What a language of full grammar claims is no less its own because a plain one knows it
        # too.
        full = names & _SHARED.keys()
        for name in names:
            sure = (full or names) == {name} and word not in _SHARED.get(name, ())
            counts[name] = counts.get(name, False) or sure
    return counts


for _name, _listed in _FREQUENT_WORDS.items():
    for _word in _listed.split():
        _VOTES.setdefault(_word, []).append(_name)


def count_votes(words: Iterable[str]) -> dict[str, int]:
    """Count frequent words per Latin-script language among folded words."""
    counts = dict.fromkeys(_FREQUENT_WORDS, 0)
    for word in words:
        for name in _VOTES.get(word, ()):
            counts[name] += 1
    return counts


_FIRST_PERSON = re.compile(r"(?:^|[\s(])I(?:['’](?:m|ve|ll|d))? [a-z]")
"""The English "I", which no other word tells: "I work as a nurse"."""


def detect_language(text: str) -> str:
    """Detect the language; English where nothing tells."""
    folded = fold(text)
    if not folded.isascii():
        if re.search(_KANA, folded):
            return "ja"
        if re.search(_HANGUL, folded):
            return "ko"
        if re.search(_HAN, folded):
            return "zh"
    words = set(_SPLIT.findall(folded))
    counts = count_votes(words)
    for name, sure in trigger_languages(words & TRIGGERS).items():
        counts[name] += sure
    if not text.isascii():
        _weigh_letters(text, counts)
    counts["en"] += _FIRST_PERSON.search(text) is not None
    best = max(counts, key=lambda name: counts[name])
    return best if counts[best] > counts["en"] else "en"


def _weigh_letters(text: str, counts: dict[str, int]) -> None:
    """Count the marked letters of a text for the languages that write them, and against others."""
    marked = set(_MARKED.findall(text.lower()))
    for name, letters in _LETTERS.items():
        own = marked.intersection(letters)
        counts[name] += bool(own) - len(marked - own) * (name != "en")
