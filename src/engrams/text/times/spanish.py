"""Grammar of Spanish times."""

from __future__ import annotations

from engrams.text.times import numeric_dates
from engrams.text.times.grammar import (
    DatePart,
    Piece,
    Rule,
    TimeModifier,
    TimeRuleMatch,
    any_of,
    compile_grammar,
    phrase_key,
    word_set,
)
from engrams.text.times.lexicon import load_lexicon

ES = load_lexicon("spanish")
_FUTURE = (
    r"\b(?:voy|vas|va|vamos|van)\s+a\b|\b(?:sera|seran|estare|ire|iremos|tendre|tendremos|haremos|hare|viajare|viajaremos|proximo|proxima"
    r"|empieza|comienza)\b"
)
_STRONG = word_set(
    "en desde hasta antes despues de del ano anos entre verano invierno otono primavera"
)

_NUMBERED = word_set(
    "pagina paginas capitulo capitulos leccion lecciones ejercicio ejercicios nivel niveles escala"
    " valores numeros"
)


_N = rf"(?P<n>\d{{1,4}}|{any_of(ES.numbers)})"
_NV = rf"(?:(?P<v>{any_of(ES.vague)})|{_N})"
_U = rf"(?P<u>{any_of(ES.units)})\b"
_MON = rf"(?P<m>{any_of(ES.months)})\b"
_Y = r"(?P<y>\d{4})(?![\w%:])"
_GREAT = "fin\\s+de\\s+semana|finde|semana|mes|trimestre|ano|decada|siglo"
_THING = rf"(?P<u>{_GREAT}|{any_of(ES.weekdays)}|{any_of(ES.months)}|{any_of(ES.seasons)}|{any_of(ES.holidays)}|noche)"
_HOUR = "una|dos|tres|cuatro|cinco|seis|siete|ocho|nueve|diez|once|doce"
_PAST_HOUR = {"": 0, "diez": 10, "cuarto": 15, "veinte": 20, "media": 30}
_E = rf"(?:a|al|hacia|en)\s+(?:el\s+)?(?P<e>{any_of(ES.edges)})\s+(?:de\s+la\s+|de\s+|del\s+)"


def _on_tomorrow(m: TimeRuleMatch) -> Piece | None:
    """Read "mañana" as morning after "la", otherwise as tomorrow."""
    return (
        None
        if m.word_before(m.start()) in ("la", "una", "cada", "de", "esta")
        else DatePart("unit", m.start(), m.end(), unit="day", offset=1)
    )


def _on_month(m: TimeRuleMatch) -> Piece | None:
    before = m.word_before(m.start())
    after = (
        "en",
        "desde",
        "hasta",
        "antes",
        "de",
        "del",
        "despues",
        "entre",
        "y",
        "a",
        "mes",
        "durante",
        "para",
    )
    return ES.on_month(m) if m["y"] or before in after else None


def _on_weekday(m: TimeRuleMatch) -> Piece | None:
    return (
        None
        if m.word_before(m.start()) in ("los", "cada", "un", "todos", "las")
        else ES.on_weekday(m)
    )


def _on_day_of_month(m: TimeRuleMatch) -> Piece | None:
    return DatePart("dom", m.start(), m.end(), day=int(m["d"]))


def _on_days_of_month(m: TimeRuleMatch) -> Piece | None:
    """Read "del 3 al 7"; not a scale or pages: "del 1 al 10", "las páginas del 3 al 7"."""
    is_scale = m["d0"] == "1" and m["d"] in ("5", "10")
    return None if is_scale or m.word_before(m.start()) in _NUMBERED else ES.on_days_of_month(m)


def _on_eve(m: TimeRuleMatch) -> Piece | None:
    return TimeModifier("shift", m.start(), m.end(), unit="day", count=-1)


def _on_hour(m: TimeRuleMatch) -> Piece | None:
    """Read "a las cinco y media de la tarde"; without the part of the day it may be either half."""
    minutes = ES.parse_number(m["h"]) % 12 * 60 + _PAST_HOUR[m["k"]] - 15 * bool(m["f"])
    at = minutes % 720 + (720 if m["p"] else 0)
    return DatePart("clock", m.start(), m.end(), hours=(at, at + 1))


def _on_month_end(m: TimeRuleMatch) -> Piece | None:
    return DatePart("unit", m.start(), m.end(), unit="month", offset=0, edge="end")


def _on_holiday(m: TimeRuleMatch) -> Piece | None:
    if m.word_before(m.start()) in ("feliz", "santa") or (
        phrase_key(m["u"]) == "reyes" and m.word_before(m.start()) not in ("en", "dia", "de")
    ):
        return None
    return ES.on_holiday(m)


_RULES: tuple[Rule, ...] = (
    *numeric_dates.digit_rules(month_first=False),
    (
        rf"(?P<d>hoy|(?<!la\s)manana|{any_of(ES.weekdays)})\s+en\s+(?P<k>ocho|quince)(?:\s+dias\b|(?=\s*(?:[.,;!?)]|\Z)|\s+(?:me|nos|te|se|le|tengo|tenemos|hay|es)\b))",
        ES.on_moved_day,
    ),
    (rf"(?:{any_of(ES.plain)})\b", ES.on_plain),
    (rf"hace\s+(?:unos\s+(?=\d)|casi\s+|mas\s+de\s+|como\s+)?{_NV}\s+{_U}", ES.on_ago),
    (rf"{_NV}\s+(?P<u>{any_of(ES.units)})\s+atras\b", ES.on_ago),
    (rf"(?P<f>dentro\s+de|en)\s+{_NV}\s+{_U}(?!\s+pasad)", ES.on_ago),
    (r"(?:ultimamente|recientemente|hace\s+poco)\b", ES.on_lately),
    (
        rf"(?:en\s+|durante\s+)?(?:los|las|estos|estas)\s+(?P<w>ultimos|ultimas|pasados|pasadas|proximos|proximas)\s+(?:{_NV}\s+)?{_U}",
        ES.on_stretch,
    ),
    (
        rf"(?:los|las)\s+{_NV}\s+(?P<w>ultimos|ultimas|pasados|pasadas|proximos|proximas)\s+{_U}",
        ES.on_stretch,
    ),
    (rf"desde\s+hace\s+{_NV}\s+{_U}", ES.on_stretch),
    (
        rf"{_E}(?:este\s+|esta\s+)?(?P<u>semana|mes|ano)\b(?!\s+(?:pasad|que|anterior|proxim))",
        ES.on_edge_unit,
    ),
    (r"a\s+fin\s+de\s+mes\b(?!\s+(?:pasad|que|anterior|proxim))", _on_month_end),
    (_E, ES.on_edge),
    (
        rf"(?:el\s+)?(?P<o>{any_of(ES.ordinals)}|ultimo)\s+(?P<u>{any_of(ES.weekdays)}|fin\s+de\s+semana)\s+del?\s+(?=(?:{any_of(ES.months)}|(?:proximo\s+)?mes)\b)",
        ES.on_nth,
    ),
    (
        rf"(?:el\s+|la\s+)?{_THING}\s+(?P<w>pasado|pasada|anterior|que\s+viene|que\s+entra|siguiente|proximo|proxima|antepasad[oa])\b",
        ES.on_rel,
    ),
    (
        rf"(?:el\s+|la\s+)?(?P<w>pasado|pasada|ultimo|ultima|proximo|proxima|este|esta)\s+{_THING}\b",
        ES.on_rel,
    ),
    (r"(?:el|este)\s+(?P<u>fin\s+de\s+semana|finde)\b", ES.on_weekend),
    (
        rf"(?:el\s+)?(?:(?P<d0>\d{{1,2}})\s*(?:-|–|al|a|y)\s*(?:el\s+)?)?(?P<d>\d{{1,2}}|primero|uno)\s+de\s+{_MON}(?:\s+(?:de|del)\s+{_Y})?",
        ES.on_date,
    ),
    (
        r"(?:del|desde\s+el)\s+(?P<d0>\d{1,2})\s+(?:al|hasta\s+el)\s+(?P<d>\d{1,2})(?![\w%]|[.,:/-]\d|\s+(?:de|por)\b|\s?[%€$])",
        _on_days_of_month,
    ),
    (rf"{_MON}\s+(?:de\s+|del\s+)?{_Y}", _on_month),
    (rf"{_MON}", _on_month),
    (
        r"(?:el\s+)?dia\s+(?P<d>[12]\d|3[01]|[1-9])(?![\w%]|[.,:/-]\d|\s+de\s)",
        _on_day_of_month,
    ),
    (
        r"\bel\s+(?P<d>[12]\d|3[01]|[1-9])(?=\s*(?:[.;!?)]|,\s|\Z)|\s+(?:a\s+las?|por\s+la|en|con|y|tengo|tenemos|voy|vamos|fui|fuimos|me|nos|hay)\b)",
        _on_day_of_month,
    ),
    (
        rf"(?:el\s+)?(?:(?P<o>primer|segundo|tercer|cuarto)\s+trimestre|[tq](?P<q>[1-4]))(?:\s+(?:de|del)\s+{_Y})?(?!\w)",
        ES.on_quarter,
    ),
    (rf"(?P<d>{any_of(ES.weekdays)})\b", _on_weekday),
    (rf"(?P<u>{any_of(ES.holidays)})\b", _on_holiday),
    (
        rf"(?:(?:en|durante)\s+(?:el\s+|la\s+)?|(?<=del\s)|(?<=de\s))(?P<s>{any_of(ES.seasons)})\b",
        ES.on_season,
    ),
    (rf"(?P<s>{any_of(ES.seasons)})(?=\s+(?:de\s+|del\s+)?(?:19|20)\d\d\b)", ES.on_season),
    (
        r"(?:los\s+anos|anos|los)\s+(?P<y>(?:19|20)\d0|[3-9]0)\b(?!\s+\w+s\b)",
        numeric_dates.on_decade,
    ),
    (
        rf"a\s+las?\s+(?P<h>{_HOUR})(?:\s+(?:y\s+(?P<k>media|cuarto|diez|veinte)|(?P<f>menos\s+cuarto)))?\s+(?:(?P<p>de\s+la\s+(?:tarde|noche))|(?P<a>de\s+la\s+manana))\b",
        _on_hour,
    ),
    (
        r"a\s+las?\s+(?P<h>\d{1,2})(?::(?P<n>\d\d))?(?:\s+(?:(?P<p>de\s+la\s+(?:tarde|noche)|p\.?\s?m\.?)|(?P<a>de\s+la\s+manana|a\.?\s?m\.?)))?(?!\w)",
        ES.on_time,
    ),
    (rf"(?:por|en|de)\s+la\s+(?P<u>{any_of(ES.hours)})\b", ES.on_time),
    (r"manana\b", _on_tomorrow),
    (r"(?:la\s+vispera\s+de|el\s+dia\s+antes\s+de)\s+", _on_eve),
    (
        rf"{_N}\s+(?P<u>dias?|semanas?|meses|mes|anos?)\s+(?:antes|(?P<f>despues))\s+del?\s+",
        ES.on_shift,
    ),
    (r"(?:la\s+)(?P<u>semana)\s+del\s+", ES.on_within),
    (rf"(?P<b>{any_of(ES.bounds)})\s", ES.on_bound),
    numeric_dates.year_rule(_STRONG),
)

GRAMMAR = compile_grammar(
    _RULES,
    join=r"\s*,?\s*(?:de|del|en|a|,)?\s*(?:el\s+|la\s+)?",
    links=(r"\s*(?:-|–|—|a|al|hasta)\s*(?:el\s+)?", r"\s*,?\s*(?:y|-|–)\s*(?:el\s+)?"),
    touch=r"\s*(?:en\s+)?(?:el\s+|la\s+|los\s+)?(?:ano\s+)?",
    future=_FUTURE,
    clause=r",\s|\s(?:pero|y\s+luego)\s",
    tenses=(
        r"\b(?:es|esta|estamos|estoy|tengo|tenemos)\b",
        r"\b(?:fue|estuvo|estaba|era|vivi|trabaje)\b",
    ),
)
