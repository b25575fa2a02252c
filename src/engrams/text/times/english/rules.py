"""Rules of English times, most exact first."""

from __future__ import annotations

from engrams.text.times import numeric_dates
from engrams.text.times.english import exclusions
from engrams.text.times.grammar import Rule, any_of, compile_grammar
from engrams.text.times.lexicon import load_lexicon
from engrams.text.times.numeric_dates import on_decade

EN = load_lexicon("english")

_N = rf"(?P<n>\d{{1,4}}|{any_of(EN.numbers)})"
_V = rf"(?P<v>{any_of(EN.vague)})"
_U = rf"(?P<u>{any_of(EN.units)})\b"
_NV = rf"(?:{_V}|{_N})"
_MON = rf"(?P<m>{any_of(EN.months)})\b\.?"
_DAY = any_of(EN.weekdays)
_ONE_DAY = any_of([*(day for day in EN.weekdays if day.endswith("day")), "today", "tomorrow"])
_SEA = any_of(EN.seasons)
_S = r"(?P<s>st|nd|rd|th)?"
_Y = r"(?P<y>\d{4}|'\d\d)(?![\w%:])"
_ORD = any_of(word for word in EN.ordinals if not word[0].isdigit())
_DN = r"\d{1,2}"
_TO = r"\s*(?:-|–|—|to|through|thru|until|and)\s*(?:the\s+)?"
_GREAT = "week|weekend|month|quarter|year|decade|century"
_UNITS = any_of(EN.units)
_AND = rf"(?P<half>\s+and\s+a\s+half)?(?:\s+and\s+(?P<n2>\d{{1,3}}|{any_of(EN.numbers)})\s+(?P<u2>{_UNITS}))?"
_STEP = "days?|weeks?|weekends?|months?|years?|hours?|minutes?|night|evening|morning"
_WHICH = (
    r"this\s+past|this\s+last|this\s+coming|this\s+upcoming|last|past|this|next|coming|upcoming"
)
_THING = f"week-?end|wk|yr|{_GREAT}|night|evening|morning|afternoon|{_SEA}|{any_of(EN.months)}|{any_of(EN.holidays)}|{_DAY}"

_RULES: tuple[Rule, ...] = (
    *numeric_dates.digit_rules(month_first=True),
    (
        rf"{_N}\s+(?P<u>weeks?|fortnights?)\s+(?:(?P<f>from\s+)|on\s+)?(?P<d>{_ONE_DAY})\b",
        exclusions.on_week_on,
    ),
    (
        rf"(?P<d>{_ONE_DAY})\s+(?P<u>week|fortnight)(?=\s*(?:[.,;!?)]|\Z)|\s+(?:at|in|with|for|and|we|i|he|she|they|so|because)\b)",
        EN.on_moved_day,
    ),
    (rf"(?:{any_of(EN.plain)})\b", EN.on_plain),
    (
        rf"(?:the\s+)?(?P<u>day|night|week|weekend|month|year|{_DAY}|{_SEA})\s+(?:before\s+last|(?P<f>after\s+next))\b",
        exclusions.on_before_last,
    ),
    (
        r"half\s+an?\s+(?P<u>year|hour|decade|month|century)\s+(?:ago|back)\b",
        exclusions.on_half_ago,
    ),
    (
        rf"{_NV}\s+(?P<u>{_UNITS}|{_DAY}|{_SEA}){_AND}\s+(?:ago|back|(?P<f>from\s+(?:now|today)|hence))\b",
        exclusions.on_ago,
    ),
    (
        rf"(?P<f>in)\s+(?:(?:about|around|just|like)\s+)?{_NV}\s+(?P<u>{any_of(EN.units)})(?P<t>'?\s+time)?\b",
        exclusions.on_in_units,
    ),
    (
        rf"(?:(?:the|these|my|our)\s+)?(?P<w>this\s+past|last|past|next|coming|following|previous)\s+{_NV}\s+{_U}(?!\s+(?:ago|of))",
        EN.on_stretch,
    ),
    (
        rf"(?:over|in|during|for|within|throughout|all)\s+the\s+(?P<w>last|past|next|coming)\s+{_U}(?!\s+(?:of|in)\b)",
        EN.on_stretch,
    ),
    (rf"the\s+(?P<w>past)\s+{_U}", EN.on_stretch),
    (r"recent\s+(?P<u>days|weeks|months|years)\b", exclusions.on_recent),
    (r"(?:recently|lately|of\s+late|these\s+days|nowadays)\b", EN.on_lately),
    (r"the\s+other\s+(?P<u>day|night|evening|morning|week|month)\b", exclusions.on_other_day),
    (
        rf"(?:the\s+)?(?P<o>{_ORD}|[1-5](?:st|nd|rd|th)|last|final)\s+(?P<u>day|week|weekend|month|{_DAY})\s+(?:of|in)\s+(?:the\s+)?",
        exclusions.on_nth,
    ),
    (r"(?:the\s+)?(?P<o>first|second|1st|2nd|last)\s+half\s+of\s+(?:the\s+)?", exclusions.on_half),
    (
        rf"(?:the\s+)?(?:very\s+)?(?P<e>beginning|start|middle|end)\s+of\s+(?:the|this)\s+(?P<u>{_GREAT}|day|{_SEA})\b",
        EN.on_edge_unit,
    ),
    (
        r"(?:the\s+)?(?:very\s+)?(?P<e>beginning|start|early\s+part|middle|end)\s+of\s+(?:the\s+)?",
        EN.on_edge,
    ),
    (
        r"(?P<e>early|mid|late|earlier|later)(?:\s+(?:in|on)\s+(?:the\s+)?|[\s-]+(?:the\s+)?)",
        EN.on_edge,
    ),
    (
        r"(?:the\s+)?(?P<u>week|weekend|month)\s+(?:of|starting|beginning)\s+(?:the\s+)?",
        exclusions.on_within,
    ),
    (
        rf"(?:the\s+|{_NV}\s+)?(?P<u>{_DAY}|{_STEP})\s+(?:before|prior\s+to|preceding|(?P<f>after|following|from))\s+(?:the\s+)?",
        EN.on_shift,
    ),
    (
        rf"(?P<w>{_WHICH})\s+(?P<u>{_THING})(?![\w-])(?!\s+(?:ago|week\b|fortnight\b))",
        exclusions.on_rel,
    ),
    (r"(?:(?:over|on|at|during|for|in|all)\s+)?the\s+(?P<u>week-?end)\b", EN.on_weekend),
    (
        rf"{_MON}\s+(?:the\s+)?(?P<d>{_DN}|{_ORD}){_S}(?![\w:%]|\.\d)(?:{_TO}(?P<d2>{_DN})(?:st|nd|rd|th)?(?![\w:/%]))?(?:,?\s+(?:of\s+)?{_Y})?",
        exclusions.on_month_day,
    ),
    (
        rf"(?:the\s+)?(?:(?P<d0>{_DN})(?:st|nd|rd|th)?{_TO})?(?P<d>{_DN}|{_ORD}){_S}\s+(?:day\s+)?(?:of\s+)?{_MON}(?:,?\s+(?:of\s+)?{_Y})?",
        exclusions.on_day_month,
    ),
    (rf"{_MON},?\s+(?:of\s+|in\s+)?{_Y}", exclusions.on_month_year),
    (rf"(?P<u>{any_of(EN.holidays)})(?!\w)", EN.on_holiday),
    (
        rf"(?P<p>(?:in|during|over|throughout|all|for)\s+(?:the\s+|this\s+)?)?(?P<s>{_SEA})\b",
        exclusions.on_season,
    ),
    (
        rf"(?:the\s+)?(?:q(?P<q>[1-4])|(?P<o>first|second|third|fourth|[1-4](?:st|nd|rd|th))\s+quarter)(?:,?\s+(?:of\s+)?{_Y})?(?!\w)",
        exclusions.on_quarter,
    ),
    (r"(?:the\s+|(?<=mid-)|(?<=early\s)|(?<=late\s))?(?P<y>(?:1[5-9]|20)\d0)'?s\b", on_decade),
    (r"(?:the\s+)'?(?P<y>[3-9]0)'?s\b", on_decade),
    (
        r"the\s+(?P<u>thirties|forties|fifties|sixties|seventies|eighties|nineties)\b",
        exclusions.on_decade_word,
    ),
    (
        rf"(?P<d>{any_of(day for day in EN.weekdays if not day.endswith('days'))})\b",
        exclusions.on_weekday,
    ),
    (rf"(?P<m>{any_of(EN.months)})\b", exclusions.on_month),
    (r"(?:the\s+)?(?P<d>\d{1,2})(?:st|nd|rd|th)\b", exclusions.on_dom),
    (
        r"(?:at|around|about)\s+(?P<h>\d{1,2})(?::(?P<n>\d\d))?(?:\s?(?:(?P<p>p\.?m\b\.?)|(?P<a>a\.?m\b\.?)|o'?clock\b))?(?![\w:%])",
        EN.on_time,
    ),
    (r"(?P<h>\d{1,2})(?::(?P<n>\d\d))?\s?(?:(?P<p>p\.?m\b\.?)|(?P<a>a\.?m\b\.?))", EN.on_time),
    (
        r"(?:at\s+|in\s+the\s+|(?:early\s+|late\s+)(?:in\s+the\s+)?)?(?P<u>morning|afternoon|evening|night|noon|midnight)\b",
        EN.on_time,
    ),
    (rf"(?P<b>{any_of(EN.bounds)})\s", EN.on_bound),
    numeric_dates.year_rule(exclusions.STRONG),
)

GRAMMAR = compile_grammar(
    _RULES,
    join=r"\s*,?\s*(?:of|in|on|at|,)?\s*(?:the\s+)?",
    links=(
        r"\s*(?:-|–|—|to|through|thru|until|till)\s*(?:the\s+)?",
        r"\s*,?\s*(?:and|to|-|–|&)\s*(?:the\s+)?",
    ),
    touch=r"\s*(?:in\s+|on\s+)?(?:the\s+)?",
    future=exclusions.FUTURE,
    tenses=(
        r"\b(?:is|are|am|has|have|stays?|remains?|closed|valid|open)\b|'(?:m|re|ve)\b",
        r"\b(?:was|were|had|did|went|met|saw|got|came|took|bought|made|left|ate|gave|found|(?!closed|planned|scheduled|expected|booked|supposed)\w{2,}ed)\b",
    ),
    clause=r",?\s(?:but|so|because|and\s+(?:then|we|i|she|he|they|will|it))\s",
)
