"""The words without which a text says no time, each with its languages: what makes a text without any cheap."""

from __future__ import annotations

import re

from engrams.text.when.grammar import word_set

_WORDS = {
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
_WORDS["de"] += " ".join(
    day + part
    for day in ("montag", "dienstag", "mittwoch", "donnerstag", "freitag", "samstag", "sonntag")
    for part in (" ", "morgen ", "vormittag ", "mittag ", "nachmittag ", "abend ", "nacht ")
)
_LANGUAGES: dict[str, set[str]] = {}
for _name, _listed in _WORDS.items():
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
# German "hier" is here, French "hier" is yesterday, and so on: these count only where the text is more in that language.
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
    """The languages that the trigger words among ``found`` speak for; True where a word is theirs alone."""
    counts: dict[str, bool] = {}
    for word in found:
        names = _LANGUAGES.get(word, ())
        for name in names:
            sure = len(names) == 1 and word not in _SHARED[name]
            counts[name] = counts.get(name, False) or sure
    return counts
