"""Form in which everybody sees a statement: its triple, its words, who said it and when.

``render_statement`` is the way in. A statement whose text is a clause of its message is quoted:
``user LIVES_IN Berlin — "I moved to Berlin" (2 March 2026)``, or without a certain triple
``"I moved to Berlin" (user, 2 March 2026)``. A sentence that a model wrote, or that was given as it
is, stands as it is: ``The user lives in Berlin (said 2 March 2026)``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import date, datetime, timedelta

from engrams.core.meta_keys import TIMES
from engrams.core.records import STATEMENT_KINDS, Json, Kind, Record
from engrams.core.tellers_clock import told_at
from engrams.frozen_data import dataclass

_TRIPLE_KINDS = frozenset({Kind.FACT, Kind.PREFERENCE, Kind.CORRECTION})
_CONTRARY = frozenset({"hates", "dislikes", "loathes", "detests", "avoids", "lacks"})
_NEGATIONS = ("not_", "no_", "never_", "cannot_", "is_not_", "does_not_", "has_no_")
_ENDING = "no_longer_"
_FINAL_MARKS = " .!。！"
_SURE = 0.8
"""Least certainty of a resolved time that is shown."""
_YEAR = re.compile(r"(?<!\d)\d{4}(?!\d)")
_WHOLE_GRAINS = ("month", "season", "year", "range")
"""Grains of times that are shown by their first and last day, month or year."""


@dataclass(frozen=True, slots=True)
class StatementForm:
    """Parts of a statement as it is shown."""

    triple: str
    """Subject, predicate in capitals and object: ``user LIVES_IN Berlin``. Empty: none is sure."""
    words: str
    """Clause in quotation marks, or a sentence as it stands."""
    speaker: str
    """Who said it, where no triple tells whose it is. Empty: the triple tells, or the sentence."""
    days: tuple[str, ...]
    """Day of the telling, then the times meant that the words alone do not tell."""

    @property
    def brief(self) -> str:
        """Triple and words, without speaker and days."""
        return f"{self.triple} — {self.words}" if self.triple else self.words

    @property
    def about(self) -> str:
        """Speaker and days: ``user, 2 March 2026``."""
        return ", ".join(part for part in (self.speaker, "; ".join(self.days)) if part)


def render_statement(record: Record) -> str:
    """Render a statement with the day on which it was said."""
    form = form_statement(record)
    return f"{form.brief} ({form.about})"


def form_statement(record: Record) -> StatementForm:
    """Build the parts of a statement as it is shown."""
    day = format_day(told_at(record))
    meant = list(_list_times_meant(record))
    if not is_quotation(record):
        return StatementForm(triple="", words=record.text, speaker="", days=(f"said {day}", *meant))
    triple = read_triple(record)
    return StatementForm(
        triple=triple,
        words=f'"{" ".join(record.text.split())}"',
        speaker="" if triple else find_speaker(record),
        days=(f"said {day}", *meant) if meant else (day,),
    )


def is_quotation(record: Record) -> bool:
    """Test for a statement whose text is a clause of its message, to the letter.

    False for what a model wrote in its own words, for what was given as a statement, and after an
    edit of the text.
    """
    if record.kind not in STATEMENT_KINDS or not record.provenance.extractor:
        return False
    text = _strip_ends(record.text)
    return any(_strip_ends(item.quote) == text for item in record.evidence)


def _strip_ends(text: str) -> str:
    return " ".join(text.split()).rstrip(_FINAL_MARKS)


def read_triple(record: Record) -> str:
    """Read a statement's triple aloud; empty where it has none that is sure.

    It never says the opposite of the text: a denied ``likes`` is ``NOT_LIKES``, one that ended is
    ``NO_LONGER_LIKES``. Rules and procedures have no triple to read.
    """
    if record.kind not in _TRIPLE_KINDS or not (record.predicate and record.object):
        return ""
    return f"{record.subject or 'user'} {_read_predicate(record)} {record.object}"


def _read_predicate(record: Record) -> str:
    predicate = record.predicate.casefold().replace(" ", "_")
    is_negative = predicate in _CONTRARY or predicate.startswith((*_NEGATIONS, _ENDING))
    if record.meta.get("effect") == "ends" and not predicate.startswith(_ENDING):
        predicate = _ENDING + predicate
    elif not record.meta.get("polarity", True) and not is_negative:
        predicate = f"not_{predicate}"
    return predicate.upper()


def find_speaker(record: Record) -> str:
    """Find whose words a statement is: a name, else a role."""
    names = (record.speaker, *(item.speaker for item in record.evidence), record.role)
    return next((name for name in names if name), "user")


# --------------------------------------------------------------------------------------------------
# days


def format_day(moment: date) -> str:
    """Write a day in words: 2 March 2026."""
    return f"{moment.day} {moment:%B %Y}"


def _list_times_meant(record: Record) -> Iterator[str]:
    """List the times that a statement's words mean and do not say: "on the 27th", "last May".

    The year in the words says it all. A time around the day of telling adds nothing to it.
    """
    shown: set[str] = set()
    times = record.meta.get(TIMES)
    # Metadata may be a client's own under the same name.
    for item in times if isinstance(times, list | tuple) else ():
        start = _parse_time(item.get("start")) if isinstance(item, dict) else None
        if start is None or not _is_sure(item.get("sure")) or item.get("recurs"):
            continue
        if _YEAR.search(str(item.get("text", ""))) or item.get("role") == "birth":
            continue
        end = _parse_time(item.get("end"))
        last = (end - timedelta(microseconds=1)).date() if end and end > start else start.date()
        said_on = record.recorded_at.astimezone(start.tzinfo).date()
        if start.date() <= said_on <= last:
            continue
        text = _format_span(start.date(), last, str(item.get("grain", "")))
        if item.get("role") in ("since", "until"):
            text = f"{item['role']} {text}"
        if text not in shown:
            shown.add(text)
            yield text


def _is_sure(value: Json) -> bool:
    return isinstance(value, int | float) and value >= _SURE


def _parse_time(value: Json) -> datetime | None:
    """Parse a time of the metadata; anything else, which a client may have put there, is none."""
    try:
        return datetime.fromisoformat(value)
    except (TypeError, ValueError):
        return None


def _format_span(first: date, last: date, grain: str) -> str:
    if grain == "year" and first.year == last.year:
        return str(first.year)
    if grain in _WHOLE_GRAINS and (first.year, first.month) == (last.year, last.month):
        return f"{first:%B %Y}"
    if first == last:
        return format_day(first)
    return f"{format_day(first)} to {format_day(last)}"
