"""Language of a text, by frequent words, trigger words or script."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable

from engrams.text.when.grammar import word_set

MARKS = re.compile("[\u0300-\u036f]")
_TABLE: dict[int, str] = {
    code: unicodedata.normalize("NFD", chr(code))[0].lower()
    for code in range(0xC0, 0x250)
    if unicodedata.normalize("NFD", chr(code))[0].isascii()
}
_TABLE |= dict.fromkeys((0x2018, 0x2019, 0x02BC, 0xFF07), "'") | dict.fromkeys((0xA0, 0x202F, 0x2009, 0x3000), " ")
_TABLE |= {0xFF10 + digit: str(digit) for digit in range(10)}


def fold(text: str) -> str:
    """Lower the case; strip Latin accents; normalize apostrophes and blanks."""
    low = text.translate(_TABLE)
    lowered = low.lower()
    if len(lowered) != len(low):
        lowered = "".join(char.lower() if len(char.lower()) == 1 else char for char in low)
    if MARKS.search(lowered):
        return MARKS.sub("", lowered)
    return lowered


_TRIGGER_WORDS = {
    "en": """
        january february march april may june july august september october november december jan feb mar apr jun jul aug sept sep oct nov
        dec monday tuesday wednesday thursday friday saturday sunday mon tue tues wed weds thu thur thurs fri sat sun yesterday today
        tonight tomorrow tmrw recently lately nowadays ago minutes minute hours hour days day night nights morning evening afternoon week
        weeks wk weekend weekends month months quarter quarters year years yr decade decades century centuries spring summer autumn fall
        winter summers winters springtime summertime wintertime christmas xmas easter halloween thanksgiving nye valentine valentines
        patrick independence boxing thirties forties fifties sixties seventies eighties nineties mondays tuesdays wednesdays thursdays
        fridays saturdays sundays q1 q2 q3 q4 eve mins hrs yrs wks new back
        """,
    "de": """
        januar janner februar feber marz maerz mrz april mai juni juli august september oktober november dezember jan feb apr jun jul aug
        sep sept okt nov dez montag dienstag mittwoch donnerstag freitag samstag sonnabend sonntag heute gestern vorgestern morgen
        ubermorgen uebermorgen neulich kurzlich kurzem letzter tage tagen tag woche wochen wochenende monat monate monaten monats jahr
        jahre jahren jahres jahrzehnt jahrzehnten stunde stunden minute minuten fruhling fruhjahr sommer herbst winter weihnachten ostern
        pfingsten silvester neujahr heiligabend karfreitag quartal nacht abend neunzigern achtzigern siebzigern sechzigern wochenendes
        ende anfang mitte
        """,
    "es": """
        enero febrero marzo abril mayo junio julio agosto septiembre setiembre octubre noviembre diciembre lunes martes miercoles jueves
        viernes sabado domingo hoy ayer anteayer antier anoche manana anteanoche recientemente ultimamente dia dias semana semanas mes
        meses ano anos hora horas minuto minutos decada decadas primavera verano otono invierno navidad navidades nochebuena nochevieja
        pascua santa trimestre noventa ochenta setenta sesenta hace poco
        """,
    "fr": """
        janvier fevrier mars avril mai juin juillet aout septembre octobre novembre decembre lundi mardi mercredi jeudi vendredi samedi
        dimanche aujourd hier demain matin soir nuit recemment dernierement jour jours semaine semaines mois an ans annee annees heure
        heures minute minutes decennie decennies printemps ete automne hiver noel paques toussaint pentecote trimestre week weekend veille
        derniers temps
        """,
}
_TRIGGER_WORDS["de"] += " ".join(
    day + part
    for day in ("montag", "dienstag", "mittwoch", "donnerstag", "freitag", "samstag", "sonntag")
    for part in (" ", "morgen ", "vormittag ", "mittag ", "nachmittag ", "abend ", "nacht ")
)
_LANGUAGES: dict[str, set[str]] = {}
for _name, _listed in _TRIGGER_WORDS.items():
    for _word in _listed.split():
        _LANGUAGES.setdefault(_word, set()).add(_name)
TRIGGERS = frozenset(_LANGUAGES)
WORDS = re.compile(r"[^\W_]+")
DIGITS = re.compile(r"\d(?:\d{3}|\d?(?:[-/.]\s?\d|st\b|nd\b|rd\b|th\b)|0'?s\b)")
CJK = re.compile(
    "[先季年月号號周週昨今明前后後去期拜春夏秋冬最近底初末曜来先日節节夕朝晚晩夜]|天[前后後]|[这這前][几幾两兩]天|きのう|おととい|きょう|あした|あす|あさって|ゆうべ|クリスマス|おととし|けさ|この間|この前|こないだ|この頃|このごろ|ちかごろ|ハロウィン|バレンタイン|イースター|感謝祭|国庆|國慶|圣诞|聖誕|五一|元旦|元日|令和|平成|昭和"
)
JAPANESE = re.compile(
    "[\u3041-\u309f\u30a1-\u30fa]|先週|先月|先日|来週|来月|先々|曜|一昨|昨年|来年|今朝|明後|令和|平成|昭和|週間|四半期|週末"
)
# Ambiguous words (German "hier" is here, French "hier" is yesterday) count only if the text is mostly in that language.
_SHARED = {
    "fr": word_set("hier mars mai an minute minutes temps week weekend ete"),
    "es": word_set("poco santa hace mes"),
}
_SHARED |= {
    "de": word_set(
        "ende mitte mai juni juli oktober tag winter april august september november minute abend jan feb apr jun jul aug sep sept nov"
    )
}
_SHARED |= {"en": word_set("new back eve may fall spring sun sat mon mar q1 q2 q3 q4")}


def trigger_languages(found: frozenset[str] | set[str]) -> dict[str, bool]:
    """Map trigger words to languages; True for an unambiguous word."""
    counts: dict[str, bool] = {}
    for word in found:
        names = _LANGUAGES.get(word, ())
        for name in names:
            sure = len(names) == 1 and word not in _SHARED[name]
            counts[name] = counts.get(name, False) or sure
    return counts


_FREQUENT_WORDS = {
    "en": """
        the and is was i you my we to of in it that with what did does do when who how are have has he she for on at this be they her
        his
        """,
    "de": """
        der die das und ist war ich du mein meine wir zu von im es dass mit nicht ein eine einen auf den dem des sie er hat habe haben bin
        am wann wer wie wo was hier auch noch sich sind mir mich seit vom zum fur uber bei nach bis vor ende anfang wird werde wurde hatte
        waren letzten letzte
        """,
    "es": """
        el los las la y es era yo tu mi mis que en con no un una por para se lo como cuando donde quien esta este fui fue del al ha he muy
        desde pero hay le su sus cual ayer vi hasta entre hace tengo estoy soy tiene estaba anos
        """,
    "fr": """
        le les la et est j je tu mon ma mes nous que qu dans avec pas un une pour ce cette sur il elle ai suis c d l n s ou quand qui
        comment depuis du des au aux sont ont etait mais vous ils notre hier en jusqu entre fin debut pres etaient avait
        """,
}
_VOTES: dict[str, list[str]] = {}
for _name, _listed in _FREQUENT_WORDS.items():
    for _word in _listed.split():
        _VOTES.setdefault(_word, []).append(_name)

# Compiled on first use: large ranges take milliseconds.
_KANA = "[\u3041-\u309f\u30a1-\u30fa\u30fc]"
_HAN = "[\u3400-\u9fff]"
_HANGUL = "[\uac00-\ud7af]"
_SPLIT = re.compile(r"[^\W\d_]+")


def count_votes(words: Iterable[str]) -> dict[str, int]:
    """Count frequent words per Latin-script language among folded words."""
    counts = dict.fromkeys(_FREQUENT_WORDS, 0)
    for word in words:
        for name in _VOTES.get(word, ()):
            counts[name] += 1
    return counts


def detect_language(text: str) -> str:
    """Detect en, de, es, fr, zh, ja or ko; else en."""
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
    best = max(counts, key=lambda name: counts[name])
    return best if counts[best] > counts["en"] else "en"
