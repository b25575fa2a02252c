"""Resolve the times that a clause names: the day, or the two days that may be meant, or a habit.

Enter it by ``resolve_times``. The words stay as they are; what they mean stands beside them.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta, tzinfo
from itertools import islice
from typing import NamedTuple

from engrams.core import ResolvedTime
from engrams.core.records import TimeRole
from engrams.extract.candidate import CandidateStatement
from engrams.extract.rules.elapsed_times import find_elapsed_times
from engrams.extract.rules.foreign_outlook import Outlook
from engrams.extract.rules.recurring_times import Recurrence, find_recurrences, names_yearly
from engrams.extract.rules.time_names import names_thing
from engrams.extract.rules.time_outlook import TimePosition, find_outlook, names_event
from engrams.frozen_data import dataclass, replace
from engrams.text.late_patterns import late_pattern
from engrams.text.text_caches import text_cache
from engrams.text.times import EARLIEST, LATEST, TimeSpan, detect_language, find_times

_WEEK = timedelta(days=7)
_MONTHLY = timedelta(days=32)
_UNSURE = 0.5
_MOST_TIMES = 24
"""Times of one clause; the others are left out."""
_MOST_WORDS = 4_000
"""Characters of a clause beyond which it is no clause: times are not looked for."""
_HINT = late_pattern(
    r"\d|day|week|month|year|old\b|daily|annual|night|morning|evening|noon|tomorrow|today|jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec"
    r"|spring|summer|autumn|fall|winter|decade|ago\b|christmas|easter|thanksgiving|halloween|eve\b|quarter|since|recent"
    r"|tag|woch|jahr|monat|heute|gestern|morgen|mittwoch|jänner|märz|mai\b|okt|dez|samstag|sonn|jed|täglich|sommer|herbst|frühling"
    r"|weihnacht|ostern|seit"
    r"|lunes|martes|rcoles|jueves|viernes|bado|domingo|semana|mes\b|mese|año|hoy|ayer|mañana|cada|tod[oa]s|días?|diario|ene|abr|ago"
    r"|dic|verano|otoño|invierno|primavera|navidad|desde|vez|veces"
    r"|tous|toutes|lundi|mardi|mercredi|jeudi|vendredi|samedi|dimanche|semaine|mois|ans\b|année|hier|demain|aujourd|jour|chaque"
    r"|févr|avril|juin|juil|août|déc|été|hiver|noël|depuis|fois"
    r"|[年月日周週天号號曜昨今明毎每節节夏冬春秋岁歲歳]|星期|礼拜"
    r"|きのう|あした|あさって|あす|きょう|おととい|おととし|ゆうべ|けさ|しゅう|げつ|ことし|ねん"
    r"|noche|tarde|madrugada|antier|\bsoir|matin|\bnuit|\ban\b|vorvor|fortnight|überüber"
)
_VAGUE = frozenset(
    "recently|lately|nowadays|currently|soon|later|earlier|the other day|these days|just now|of late"
    "|neulich|kürzlich|vor kurzem|últimamente|recientemente|hace poco|récemment|dernièrement"
    "|最近|近来|先日|この間".split("|")
)
_SINCE = re.compile(
    r"(?:since|seit|desde|depuis|dès)\b|.*(?:以来|以來|から|起|开始|開始)\Z", re.IGNORECASE
)
_UNTIL = re.compile(
    r"(?:until|till|til|through|bis|hasta|jusqu)\b|(?!.*から).*(?:为止|為止|まで)\Z", re.IGNORECASE
)
_WITHIN = (
    (re.compile(r"\A(?:until|till|til)\s+", re.IGNORECASE), "in "),
    (re.compile(r"\Abis(?: zum?)?\s+", re.IGNORECASE), "im "),
    (re.compile(r"\Ahasta\s+", re.IGNORECASE), "en "),
    (re.compile(r"\Ajusqu(?:['’](?:en|au|à)?|e)\s*", re.IGNORECASE), "en "),
    (re.compile(r"(?:为止|為止|まで)\Z"), ""),
)
"""Words of an end, and those by which the same month is told as a time: "until March", "in March"."""
_WHICH = re.compile(
    r"\b(?:this|last|next|that|past|coming|dies\w+|letzt\w+|nächst\w+|kommend\w+|vorig\w+|est[ea]|pasado|próximo|que viene|ce"
    r"|dernier|prochain)\b"
    r"|[这這上下本今先来次]",
    re.IGNORECASE,
)
"""Words that tell which weekend is meant."""
_LONG = ("week", "month", "season", "year")
_BY = re.compile(r"(?:by|spätestens|antes\s+del?|d'ici)\b|.*(?:之前|以前|までに)\Z", re.IGNORECASE)
_NEXT = re.compile(r"\bnext\b|nächste|próxim[oa]|que\s+viene|prochaine?|次の|今度の", re.IGNORECASE)
_AFTER_NEXT = re.compile(r"übernächst", re.IGNORECASE)
_OF_WEEK = re.compile(r"\bweek|woche|semana|semaine|[周週]", re.IGNORECASE)
"""A day of a week that is named: "nächste Woche Donnerstag"."""
_COMING = re.compile(r"\b(?:coming|upcoming|kommende[nr]?)\b|次の|今度の", re.IGNORECASE)
_STARTING = re.compile(
    r"\b(?:starting|beginning|effective)\s+(?:(?:on|in|from|as of)\s+)?(?:the\s+)?\Z", re.IGNORECASE
)
_REARRANGED = re.compile(
    r"\b(?:reschedul\w*|postpon\w*|cancel\w*|skip\w*|move|moved|push(?:ed)? back|delay\w*)"
    r" (?:the|my|our|an?)\s+\Z",
    re.IGNORECASE,
)
_AGO = re.compile(r"\bago\b|\bvor\b|\bhace\b|il y a|前", re.IGNORECASE)
_MOST_LEAD = 48
_LEAD = re.compile(r"(?:\A|[.!?;\n。！？]\s*)(?P<lead>(?:\w+\s+(?:the\s+)?)?)\Z", re.IGNORECASE)
_FIXED = re.compile(
    r"\b(?:ago|last|yesterday|today|tonight|tomorrow)\b|(?<!\d)(?:1[5-9]|20)\d\d(?!\d)",
    re.IGNORECASE,
)
_YEAR = re.compile(r"(?<!\d)(?:1[5-9]|20)\d\d(?!\d)")
_BIRTHDAY = late_pattern(
    r"\b(?:(?:birthday|bday|b-day|anniversary)(?!\s+(?:dinner|lunch|party|celebration|trip|present|gift|cake|weekend|event)s?\b)"
    r"|name\s?day|born|geburtstag|hochzeitstag|jahrestag|geboren|cumpleaños|aniversario|nací|nació"
    r"|anniversaire|née?\s+le)\b|生日|诞辰|誕生日|記念日"
)
_OCCASION = late_pattern(
    r"\b(?:for|zum|zur|para|por|pour)\b[^,;.]*\Z|\d(?:st|nd|rd|th|\.|º|e|ème)\s+\Z"
)
"""Words before a birthday on which something happens once: "for my mother's 70th birthday"."""
_LIKES = late_pattern(
    r"\b(?:love|loves|like|likes|hate|hates|prefer|prefers|enjoy|enjoys|adore|favou?rite|mag|mögen|liebe|liebt|hasse|gern|gerne"
    r"|lieblings\w*"
    r"|gusta|gustan|encanta|encantan|odio|prefiero|aime|aimons|adore|déteste|préfère)\b|喜欢|喜歡|爱|讨厌|好き|嫌い"
)
_PROGRESSIVE = re.compile(
    r"(?:\b(?:am|is|are)|['’](?:m|re|s))\s+(?:\w+ly\s+|not\s+|also\s+)?\w+ing\b"
)
_MOVES = late_pattern(
    r"\b(?:start|starts|begin|begins|move|moves|fly|flies|go|goes|come|comes|travel|travels|leave|leaves|open|opens|close|closes|end|ends"
    r"|finish|finishes|graduate|graduates|launch|launches|marry|marries|return|returns|arrive|arrives|expires?|retires?|join|joins"
    r"|beginn\w*"
    r"|zieh\w*|fahr\w*|flieg\w*|fang\w*|heirat\w*|start\w*|empiez\w*|comienz\w*|viaj\w*|mud\w*|cas\w*|commenc\w*|pars|part|partons"
    r"|déménag\w*|mari\w*)\b"
)


class _Reading(NamedTuple):
    """One expression of time, read as one of the past and as one to come."""

    past: TimeSpan
    future: TimeSpan


@dataclass(frozen=True, slots=True)
class _ReadText:
    """A text's expressions of time, in order."""

    spans: tuple[TimeSpan, ...]
    readings: tuple[_Reading, ...]
    """Spans of ``spans`` that are not vague."""


_NOTHING_READ = _ReadText((), ())


@dataclass(frozen=True, slots=True)
class _Clause:
    """A clause, and what a parser read of it."""

    text: str
    start: int
    end: int
    said_at: datetime
    tense: str
    verb: str

    @property
    def language(self) -> str:
        return _read_language(self.text)

    @property
    def words(self) -> str:
        return self.text[self.start : self.end]

    def outlook(self, span: TimeSpan) -> Outlook:
        """Tell whether a time of the clause is over or to come."""
        position = TimePosition(self.text, self.start, self.end, span.at, span.at + len(span.text))
        return find_outlook(position, self.language, self.tense, self.verb)


def resolve_times(
    text: str, start: int, end: int, said_at: datetime, tense: str, verb: str
) -> tuple[ResolvedTime, ...]:
    """Resolve the times that ``text[start:end]`` names, in the order of their words.

    ``said_at`` is in the time zone of whoever said it, whose day counts. ``tense`` and ``verb`` are
    those of its main verb, as the parser of English reads them; empty where nobody read them.
    A naive time is UTC. Words with two readings have both, one after the other. Never raises on any
    text.
    """
    words = text[start:end]
    if len(words) > _MOST_WORDS or not _HINT.search(words.lower()):
        return ()
    if said_at.tzinfo is None:
        said_at = said_at.replace(tzinfo=UTC)
    clause = _Clause(text, start, end, said_at, tense, verb)
    readings = _list_readings(clause)
    recurrences = _find_habits(clause, readings)
    elapsed = find_elapsed_times(words, said_at, tense)
    resolved = [
        (recurrence.start, _make_recurring(words[recurrence.start : recurrence.end]))
        for recurrence in recurrences
    ]
    resolved += [(words.find(time.text), time) for time in elapsed]
    covered = [(at, at + len(time.text)) for at, time in resolved] + [*recurrences]
    for reading in readings:
        first = reading.past.at - start
        last = first + len(reading.past.text)
        if not any(begin < last and first < stop for begin, stop in covered):
            resolved += [(first, time) for time in _resolve_reading(clause, reading)]
    resolved.sort(key=lambda entry: entry[0])
    return tuple(time for _, time in resolved[:_MOST_TIMES])


def find_statement_times(text: str, quote: str, said_at: datetime) -> tuple[ResolvedTime, ...]:
    """Resolve the times of a statement that quotes ``text``, with a time right before the quote."""
    start = text.find(quote)
    if start < 0:
        return resolve_times(quote, 0, len(quote), said_at, "", "")
    lead_start = _find_lead(text, start, said_at)
    return resolve_times(text, lead_start, start + len(quote), said_at, "", "")


def date_statement(
    candidate: CandidateStatement, text: str, said_at: datetime
) -> CandidateStatement:
    """Add the times that a statement names, and since when it is true if nothing says it yet."""
    if not candidate.evidence:
        return candidate
    times = find_statement_times(text, candidate.evidence[0].quote, said_at)
    if not times:
        return candidate
    starts = [time.start for time in times if time.role == "since"]
    if candidate.effect != "states" or candidate.valid_from is not None or len(starts) != 1:
        return replace(candidate, times=times)
    return replace(candidate, times=times, valid_from=starts[0])


def find_clause_spans(
    text: str, bounds: tuple[int, int], said_at: datetime, tense: str, verb: str
) -> tuple[TimeSpan, ...]:
    """Return the dated times of a clause as spans, in the zone of whoever said it.

    Those that are not sure are left out.
    """
    start, end = bounds
    clause = _Clause(text, start, end, said_at, tense, verb)
    readings = _list_readings(clause)
    if not readings:
        return ()
    zone = said_at.tzinfo or UTC
    is_open = any(not _FIXED.search(reading.past.text) for reading in readings)
    habits = [
        (start + habit.start, start + habit.end)
        for habit in (_find_habits(clause, readings) if is_open else ())
    ]
    spans = []
    for reading in readings:
        is_habit = any(first <= reading.past.at < last for first, last in habits)
        chosen = [] if is_habit else _choose(clause, reading)
        spans += [_to_local(span, zone) for span, sure in chosen if sure > _UNSURE]
    return tuple(spans)


def find_text_spans(text: str, said_at: datetime) -> tuple[TimeSpan, ...]:
    """Find where a text names times, each as if it were over; names and titles are none."""
    return _read_text(text, said_at).spans


@text_cache(64)
def _read_text(text: str, said_at: datetime) -> _ReadText:
    """Read a text's times once for all its clauses."""
    past = find_times(text, said_at, "past")
    if not past:
        return _NOTHING_READ
    is_open = any(span.recurs or not _FIXED.search(span.text) for span in past)
    future = {span.at: span for span in find_times(text, said_at, "future")} if is_open else {}
    spans = tuple(span for span in past if not names_thing(span, text))
    readings = tuple(
        _Reading(span, future.get(span.at, span))
        for span in spans
        if span.text.lower() not in _VAGUE
    )
    return _ReadText(spans, readings)


@text_cache(64)
def _read_language(text: str) -> str:
    """Detect a text's language once for all its clauses."""
    return detect_language(text)


def _find_lead(text: str, start: int, said_at: datetime) -> int:
    """Return where the time begins that opens the sentence of a clause, else its own start.

    "Last Friday, we …", "On May 3 I …"; the clause begins after it.
    """
    if not _HINT.search(text[max(0, start - _MOST_LEAD) : start].lower()):
        return start
    for reading in reversed(_read_text(text, said_at).readings):
        at = reading.past.at
        stop = at + len(reading.past.text)
        if stop <= start <= stop + 3 and not text[stop:start].strip(" ,，、"):
            opening = _LEAD.search(text, max(0, at - 12), at)
            return opening.start("lead") if opening else start
    return start


def _list_readings(clause: _Clause) -> list[_Reading]:
    within = (
        reading
        for reading in _read_text(clause.text, clause.said_at).readings
        if clause.start <= reading.past.at < clause.end
    )
    return list(islice(within, _MOST_TIMES))


def _find_habits(clause: _Clause, readings: Sequence[_Reading]) -> list[Recurrence]:
    words = clause.words
    is_habit = not names_event(words) and not _PROGRESSIVE.search(words)
    if is_habit and readings:
        is_habit = clause.outlook(readings[0].past) in ("present", "open")
    return find_recurrences(words, clause.language, is_habit=is_habit)


def _resolve_reading(clause: _Clause, reading: _Reading) -> list[ResolvedTime]:
    span = reading.past
    is_yearly = span.recurs
    if is_yearly and (names_yearly(clause.words) or _is_birthday(clause, span)):
        yearly = f"every year {_month_day(span, clause)}"
        return [ResolvedTime(_trim(span.text), None, None, span.grain, 0.95, yearly)]
    times = [
        time
        for chosen, sure in _choose(clause, reading)
        for time in _list_ends(_to_resolved(clause, chosen, sure), clause.said_at)
    ]
    # "since before Christmas" has neither a beginning nor an end.
    return [time for time in times if time.start is not None or time.end is not None]


def _list_ends(time: ResolvedTime, said_at: datetime) -> list[ResolvedTime]:
    """Return both ends that "until March" may mean: as March begins, or when it is over."""
    if time.role != "until" or time.end is None:
        return [time]
    words = time.text
    for limit, within in _WITHIN:
        words = limit.sub(within, words)
    periods = find_times(words, said_at, "future")
    if len(periods) != 1 or periods[0].grain not in _LONG:
        return [time]
    begin = periods[0].start.astimezone(time.end.tzinfo)
    return [replace(time, end=end, sure=0.5) for end in (begin, time.end) if end > said_at]


def _is_birthday(clause: _Clause, span: TimeSpan) -> bool:
    """True for a day that comes every year: "my birthday is 3 May", "born on 3 May"."""
    words = clause.words.lower()
    if span.grain != "day":
        return False
    birthday = _BIRTHDAY.search(words)
    if birthday is None:
        return False
    if birthday[0].startswith(("born", "gebor", "nac", "n")):
        return True
    is_occasion = _OCCASION.search(words, 0, birthday.start()) is not None
    return not is_occasion and clause.outlook(span) in ("present", "open")


def _choose(clause: _Clause, reading: _Reading) -> list[tuple[TimeSpan, float]]:
    """Choose the reading that the clause means; both where it may be either, or none."""
    past, future = reading
    if past.grain == "weekend" and not _WHICH.search(past.text):
        return _choose_weekend(clause, past)
    if past.start == future.start and past.end == future.end:
        return _choose_week(clause, past)
    if _SINCE.match(past.text):
        return [(past, 0.9)]
    outlook = clause.outlook(past)
    if past.grain in ("month", "season") and _is_general(clause, outlook):
        return []
    before = max(timedelta(), clause.said_at - past.end)
    is_limit = _BY.match(past.text) is not None
    after = max(timedelta(), (future.end if is_limit else future.start) - clause.said_at)
    is_ahead = is_limit or _is_rearranged(clause, past)
    if outlook == "over" and 3 * after < before and is_ahead:
        return [(future, 0.75)]
    if outlook == "over":
        return [(past, 0.9 if before < 10 * after or before < _MONTHLY else 0.6)]
    is_yearly = past.recurs and before + after > 10 * _MONTHLY
    if outlook == "coming":
        if is_yearly and 3 * before < after and _has_begun(clause, past):
            return [(past, 0.6)]
        just_past = is_yearly and before < _MONTHLY
        return [(past, 0.5), (future, 0.5)] if just_past else [(future, 0.95)]
    if outlook == "present":
        return _choose_present(clause, reading, before, after) if is_yearly else [(future, 0.9)]
    if outlook == "planned" and before + after > 2 * _MONTHLY:
        return [(past, 0.6)] if 3 * before < after else [(future, 0.75)]
    return _choose_nearest(clause, reading, before, after)


def _choose_weekend(clause: _Clause, span: TimeSpan) -> list[tuple[TimeSpan, float]]:
    """Choose what "at the weekend" means: none where it may be each, two where one has begun."""
    outlook = clause.outlook(span)
    if outlook == "over":
        return [(span, 0.7)]
    words = clause.words
    tells_once = names_event(words) or _PROGRESSIVE.search(words) or _MOVES.search(words.lower())
    if outlook in ("present", "open") and not tells_once:
        return []
    if span.start > clause.said_at:
        return [(span, 0.9)]
    following = replace(span, start=span.start + _WEEK, end=span.end + _WEEK)
    return [(span, 0.5), (following, 0.5)]


def _is_rearranged(clause: _Clause, span: TimeSpan) -> bool:
    """True for what lies ahead and was put off or called off: "I had to move the 7 April class"."""
    return _REARRANGED.search(clause.text[clause.start : span.at]) is not None


def _has_begun(clause: _Clause, span: TimeSpan) -> bool:
    """True for a beginning that is over: "I journal daily, starting May 5", said on the 20th."""
    return _STARTING.search(clause.text, max(0, span.at - 24), span.at) is not None


def _choose_present(
    clause: _Clause, reading: _Reading, before: timedelta, after: timedelta
) -> list[tuple[TimeSpan, float]]:
    """Choose a day of the year in a clause of the present tense.

    It is to come, unless it is just over: "the one after our talk on 8 August", said on the 10th.
    """
    past, future = reading
    if past.grain in ("month", "season"):
        return [(future, 0.9)]
    is_event = names_event(clause.words)
    if before < _MONTHLY and not is_event:
        return [(past, 0.7)]
    is_near = before < _MONTHLY or (3 * before < after and not is_event)
    return [(past, 0.5), (future, 0.5)] if is_near else [(future, 0.9)]


def _choose_nearest(
    clause: _Clause, reading: _Reading, before: timedelta, after: timedelta
) -> list[tuple[TimeSpan, float]]:
    """Choose the reading nearest to the telling; both where neither is much nearer."""
    past, future = reading
    if before <= timedelta() or after <= timedelta():
        return [(past if before <= timedelta() else future, 0.8)]
    if names_event(clause.words) and after < _MONTHLY:
        return [(future, 0.7)]
    ratio = min(before, after) / max(before, after)
    if ratio > 0.6:
        return [(past, 0.45), (future, 0.45)]
    return [(past if before < after else future, round(0.85 - ratio / 2, 2))]


def _choose_week(clause: _Clause, span: TimeSpan) -> list[tuple[TimeSpan, float]]:
    """Read "next Friday" both as this week's and as next week's while this week's is to come."""
    if span.grain in ("year", "range") and _AGO.search(span.text):
        return [(span, 0.7)]
    sure = 0.98 if _YEAR.search(span.text) else 0.95
    distance = span.start - clause.said_at
    farthest = 3 * _WEEK if _AFTER_NEXT.match(span.text) else 2 * _WEEK
    if span.grain not in ("day", "hour", "minute") or not _WEEK < distance <= farthest:
        return [(span, sure)]
    nearer = replace(span, start=span.start - _WEEK, end=span.end - _WEEK)
    if _OF_WEEK.search(span.text):
        return [(span, sure)]
    if _COMING.search(span.text):
        return [(nearer, 0.9)]
    if _NEXT.search(span.text) and not re.search(r"\d", span.text.split(" at ")[0]):
        return [(nearer, 0.5), (span, 0.5)]
    return [(span, sure)]


def _is_general(clause: _Clause, outlook: Outlook) -> bool:
    """True for a month of every year: "I love the sea in June", "we harvest in September"."""
    words = clause.words
    low = words.lower()
    if outlook in ("over", "coming", "planned"):
        return False
    if _LIKES.search(low):
        return True
    if outlook != "present" or clause.language != "en":
        return False
    return not (names_event(words) or _PROGRESSIVE.search(words) or _MOVES.search(low))


def _to_resolved(clause: _Clause, span: TimeSpan, sure: float) -> ResolvedTime:
    zone = clause.said_at.tzinfo or UTC
    start = _to_zone(span.start, zone)
    end = _to_zone(span.end, zone)
    role: TimeRole = "when"
    if _SINCE.match(span.text) and span.grain == "range" and span.end <= clause.said_at:
        role = "since"
        end = None
    elif _BY.match(span.text) and span.grain == "range":
        start = None
    elif _UNTIL.match(span.text) and span.grain == "range":
        role = "until"
        start = None
    return ResolvedTime(_trim(span.text), start, end, span.grain, sure, role=role)


def _trim(words: str) -> str:
    """Cut a full stop that ends the sentence; "am 27." keeps its own."""
    return words[:-1] if words.endswith(".") and not words[-2:-1].isdigit() else words


def _to_local(span: TimeSpan, zone: tzinfo) -> TimeSpan:
    """Move a span into a zone; open sides stay."""
    if zone is UTC:
        return span
    start = _to_zone(span.start, zone) or EARLIEST
    return replace(span, start=start, end=_to_zone(span.end, zone) or LATEST)


def _to_zone(moment: datetime, zone: tzinfo) -> datetime | None:
    """Return a moment in the teller's zone; None for an open side."""
    return None if moment in (EARLIEST, LATEST) else moment.astimezone(zone)


def _make_recurring(words: str) -> ResolvedTime:
    recurring = " ".join(words.split())
    return ResolvedTime(recurring, None, None, "range", 0.95, recurring)


def _month_day(span: TimeSpan, clause: _Clause) -> str:
    return f"{span.start.astimezone(clause.said_at.tzinfo or UTC):%m-%d}"
