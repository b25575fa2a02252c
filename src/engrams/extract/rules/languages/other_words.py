"""Words of other languages that are not the speaker's own claims."""

from __future__ import annotations

import re
from typing import TypeAlias

Span: TypeAlias = tuple[int, int]
_LONGEST = 6000
_LAST = 200

_QUOTED = re.compile(r"[\"“”„«»‚「『《]([^\"“”„«»‘「」『』\n]{1,400})[\"“”»«‘」』》]")
# Not "ich sage: …" and "autrement dit : …", nor what is to be written down in memory.
_OWN = r"(?<!\bich )(?<!\bje )(?<!\byo )(?<!\bte )(?<!\bautrement )"
_KEPT = r"(?![^:：\n]{0,40}(?:\bauf|\bgedächtnis|\bmémoire|\bmemoria|记忆)\s?[:：])"
_TASKS = (
    r"entwirf|entwerft|verfass(?:e|t|en)?|redacta|redacte|rédige[rz]?|übersetz(?:e|t|en)?|korrigier(?:e|t|en)?|verbesser(?:e|t|n)?|schreib(?:e|en)?|formulier(?:e|t|en)?|lies|lest|sprich|sag"
    r"|wiederhol(?:e|en)?|zitier(?:e|t|en)?|buchstabier(?:e|en)?"
    r"|tradui(?:s|sez|re)|corrige[rz]?|écri(?:s|vez|re)|dis|dites|lis|lisez|répète|répétez|cite[rz]?|reformule[rz]?"
    r"|traduce|traduzca|traducir|tradúceme|corregir|corrígeme|escrib[ae]|escribir|di|diga|lee|lea|repite|reformula|deletrea"
)
_TELLS = (
    r"sagte?|meinte?|schreibt|schrieb|erzählte?|behauptete?|ruft|rief|fragte?|antwortete|(?:gesagt|gemeint|geschrieben) hat"
    r"|hat\b[^.!?\n:]{0,40}\b(?:gesagt|gemeint|geschrieben|erzählt|behauptet)"
    r"|dit|disait|écrit|écrivait|raconte|racontait|affirme|répond|répondit|a"
    r" (?:écrit|affirmé|raconté|répondu)"
    r"|dice|dijo|decía|cuenta|contó|escribe|escribió|comenta|comentó|respondió|afirma|afirmó|ha"
    r" dicho"
)
# What follows is to the end of the text.
_TASK = re.compile(
    rf"{_OWN}\b(?:{_TASKS})\b{_KEPT}[^.!?\n:]{{0,80}}:|(?:^|\n)\W{{0,8}}(?:übersetz|korrigier|tradui|traduc|corrige)\w*[^.!?\n:]{{0,60}}\n",
    re.IGNORECASE,
)
_HAN_TASK = re.compile(
    r"(?:翻译|訳して|書いて|直して|添削|作って|改写|改正|纠正|润色|造句|朗读|复述|重复|引用|例句|写(?!下|进|在|作)|说一|读一|念一|跟我[读念说])"
    rf"{_KEPT}[^。！？\n：:]{{0,30}}[：:\n]"
)
_FICTION = re.compile(
    r"(?:^|\n)\W{0,8}(?:(?:roman|kapitel|traum|songtext|liedtext|gedicht|drehbuch|szene|rollenspiel|beispiel(?:satz|sätze)?|zitat|diktat"
    r"|übung|(?:kurz)?geschichte|krimi|witz|spiel|märchen|chapitre|rêve|chanson|paroles|poème|scène|jeu"
    r" de rôle|exemple|citation|dictée"
    r"|exercice|conte|blague|novela|capítulo|sueño|canción|letra|poema|escena|juego de"
    r" rol|ejemplo|cita|dictado|ejercicio|cuento|chiste)"
    r"(?: \w{1,20}){0,2} ?[:.–—]"
    r"|(?:mein\w*|unser\w*|mis?|mon|ma) (?:\w+ ){0,2}(?:rollenspielfigur|spielfigur|figur|charakter|romanfigur|avatar"
    r"|personaje|protagonista|personnage|héros|héroïne)\b|我的?(?:游戏|小说|跑团)?(?:角色|主角|人物)|(?:私|僕|俺)の(?:ゲームの|小説の)?(?:キャラ|主人公|登場人物)"
    r"|tu(?:t)? (?:mal )?so,? als\b|fais(?:ons)? (?:comme si|semblant)\b|finge\b|fingid\b|haz como si\b|のふりをして|と仮定して"
    r"|(?:schreib|dichte|escribe|compón|écris|compose)\w* (?:mir |me |moi |-moi )?(?:ein|eine|einen|una?|un|une)"
    r" (?:lied|gedicht|song|geschichte|canción|poema|cuento|chanson|poème|histoire|conte)\b|写(?:一)?(?:首|个|篇)?(?:歌|诗|故事|小说)"
    r"|stell(?:t|en sie)? (?:dir|euch|sich)[^.!?\n]{0,20} vor\b|spielen wir\b|lass(?:t)?"
    r" uns\b[^.!?\n:]{0,40}\bspielen\b"
    r"|tun wir (?:mal )?so\b|angenommen\b"
    r"|(?:imagine|imaginons|imaginez|supposons|jouons|imagina|imaginemos|imagínate|juguemos|jugamos|finjamos|supongamos)\b"
    r"|(?:小说|梦|第[\d一二三四五六七八九十]{1,3}[章回幕场場話]|歌词|诗|剧本|台词|例句|引用|故事|角色扮演|笑话)[^。"
    r"！？\n：:]{0,8}[：:。]"
    r"|(?:想象|假装|假设|假如|我们来玩|来玩|扮演|ロールプレイ|ごっこ))",
    re.IGNORECASE,
)
# To the end of the line.
_TOLD = re.compile(rf"{_OWN}\b(?:{_TELLS})\b{_KEPT}[^.!?\n:]{{0,60}}:", re.IGNORECASE)
_HAN_TOLD = re.compile(
    r"(?<![我会想来再你话实])(?:说|表示|写道|问|告诉我|喊|发消息)[道过了]?[^。！？\n：:我]{0,6}[：:]"
)
# To the end of the sentence.
_HEARD = re.compile(
    rf"{_OWN}\b(?:{_TELLS})\b[^.!?\n:,]{{0,40}},\s"
    r"|\b(?:angeblich|es hei(?:ß|ss)t|man sagt|il paraît que|on dit que|se dice que|dicen que)\b"
    r"|\b(?:im|in (?:meinem|dem|diesem|einem)) (?:traum|roman|spiel|film|buch)\b|\b(?:habe|hab)"
    r" geträumt\b|\bmir träumte\b"
    r"|\b(?:dans|en) (?:mon|le|ce|un|mi|el|este)"
    r" (?:rêve|roman|jeu|film|livre|histoire|sueño|juego|libro|novela|película|historia|cuento)\b|\bj['’]ai rêvé\b|\b(?:soñé|he soñado)\b"
    r"|(?:[他她]们?|同事|朋友|老板|妈妈?|爸爸?|姐姐?|妹妹?|哥哥?|弟弟?|老师|同学|邻居|医生|经理|上司)说|听说|据说|梦见|梦到|(?:梦|游戏|小说|电影)[里中]|(?:夢|小説|物語|ゲーム|映画)(?:では|の中)",
    re.IGNORECASE,
)
# What stands before it, from the beginning of the sentence.
_TRAILING = re.compile(
    r",\s?(?:sagte?|meinte?|schrieb|erzählte?|behauptete?|rief|(?:a )?dit|(?:m')?a-t-(?:il|elle)"
    r" dit|dijo|dice|escribió|contó)\b(?! ich\b)",
    re.IGNORECASE,
)
# All before it: "J'habite à Paris. Traduis en anglais."
_LAST_TASK = re.compile(
    r"(?:^|[.!?\n–—] ?)(?:bitte"
    r" )?(?:übersetz(?:e|en)?|korrigier(?:e|en)?|traduis|traduisez|traduce|traduzca|corrige|corrígeme)"
    r"\b[^.!?\n:]{0,60}[.!]?\Z|翻译(?:成|为|一下)[^。！？\n：:]{0,12}[。！]?\Z",
    re.IGNORECASE,
)
# A whole request or condition, which its end tells: "私が医者だと想像して".
_HAN_WHOLE = re.compile(
    # Begins where a sentence begins: in linear time.
    r"(?<![^。！？\n])[^。！？\n]*(?:(?:と|って)(?:想像|仮定)して|(?:歌|詩|話|物語|小説|メール|手紙)を(?:書|作)いて)|(?:如果|要是|假如|假设|万一)[^。！？\n]*"
)
_UNSPACED = re.compile("[\u3040-\u30ff\u4e00-\u9fff]")
_SENTENCE_END = re.compile(r"[.!?。！？\n]")


def find_others(text: str) -> tuple[Span, ...]:
    """Find parts of a text that tell no fact of the speaker.

    Tasks ("Übersetze: …"), quotations, what others are said to have said, fiction and games;
    German, French, Spanish and Chinese.
    """
    text = text[:_LONGEST]
    end = len(text)
    whole = text.strip()
    if _LAST_TASK.search(whole[-_LAST:]):
        return ((0, end),)
    # Each pattern is looked for only in a text with a mark that all its matches hold.
    may_be_unspaced = not text.isascii()
    may_introduce = ":" in text
    found = [match.span() for match in _QUOTED.finditer(text) if match[0] != whole]
    task_patterns = [
        *([_TASK] if may_introduce or "\n" in text else []),
        *([_HAN_TASK] if may_be_unspaced else []),
        _FICTION,
    ]
    found += [(match.end(), end) for pattern in task_patterns if (match := pattern.search(text))]
    told_patterns = [
        *([_TOLD] if may_introduce else []),
        *([_HAN_TOLD] if may_be_unspaced else []),
    ]
    found += [
        (match.end(), _find_line_end(text, match.end()))
        for pattern in told_patterns
        for match in pattern.finditer(text)
    ]
    if may_be_unspaced and _UNSPACED.search(text):
        found += [match.span() for match in _HAN_WHOLE.finditer(text)]
    for match in _HEARD.finditer(text):
        stop = _SENTENCE_END.search(text, match.end())
        found.append((match.start(), stop.start() if stop else end))
    for match in _TRAILING.finditer(text) if "," in text else ():
        before = max(text.rfind(mark, 0, match.start()) for mark in ".!?\n")
        found.append((before + 1, match.start()))
    return tuple(found)


def _find_line_end(text: str, begin: int) -> int:
    """Find the end of the line that the next words stand in."""
    words = next((at for at in range(begin, len(text)) if not text[at].isspace()), len(text))
    at = text.find("\n", words)
    return at if at >= 0 else len(text)
