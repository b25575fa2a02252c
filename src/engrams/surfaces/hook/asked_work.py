"""Questions of a prompt for what was done at some time: "what did we do yesterday?"."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import datetime

from engrams.core import Record
from engrams.core.meta_keys import OUTDATES
from engrams.surfaces.hook.agent_texts import asks_nothing, is_passing
from engrams.text.measures import is_question
from engrams.text.normalize import fold
from engrams.text.small_talk import is_small_talk
from engrams.text.stopwords import STOP
from engrams.text.terms import tokens
from engrams.text.times import TimeSpan, find_times
from engrams.text.vocabulary import word_pattern

_LONGEST = 200
"""Characters of the longest such question."""
_MOST_LINES = 6
_QUOTED_CHARACTERS = 60
"""Characters of a request that the note of its work quotes."""
_TASK_WORDS = 5
"""Words from which an order says what it is about."""
_FILLING = frozenset(
    "please pls again exactly hey remind tell say me us together project repo session sessions here work give list"
    " quick short s bitte nochmal genau sag sagen kannst mir erinnere uns zusammen projekt hier".split()
)
"""Words beside such a question that say no subject."""
_UNSPACED = re.compile("[\u3040-\u30ff\u4e00-\u9fff]")


def find_asked_time(prompt: str, now: datetime) -> TimeSpan | None:
    """Find the time whose work a prompt asks for; None: it asks for none."""
    if len(prompt) > _LONGEST:
        return None
    question = word_pattern(__file__, "asked_work").search(fold(prompt))
    if question is None:
        return None
    spans = [span for span in find_times(prompt, now, "past") if span.start < now]
    if len(spans) != 1:
        return None
    # "What happened to the build yesterday?" and "fix what we did" are about something.
    other_words = {*tokens(fold(prompt).replace(question[0], " "))} - {*tokens(fold(spans[0].text))}
    is_bare = other_words <= STOP | _FILLING or _UNSPACED.search(prompt) is not None
    return spans[0] if is_bare else None


def list_work(records: Sequence[Record]) -> list[Record]:
    """List the first few of what was asked for, told and done; what a note of work names comes once."""
    notes = " ".join(" ".join(record.text.split()) for record in records if record.role == "tool")
    corrected_ids = list_corrected(records)
    work = [
        record
        for record in records
        if record.role == "tool"
        or (
            record.role == "user"
            and record.id not in corrected_ids
            and record.text[:_QUOTED_CHARACTERS] not in notes
            and not says_no_task(record.text)
        )
    ]
    return work[:_MOST_LINES]


def list_corrected(records: Sequence[Record]) -> frozenset[str]:
    """List the ids of messages that one of them corrects or takes back, and of those that do so."""
    corrections = [(record.id, record.meta.get(OUTDATES)) for record in records]
    return frozenset(
        message_id
        for record_id, targets in corrections
        if isinstance(targets, list)
        for target in targets
        for message_id in (record_id, target.get("id", ""))
    )


def says_no_task(text: str) -> bool:
    """True for questions, farewells, thanks, "go on", and orders that only their conversation explains."""
    if "?" in text or is_question(text) or is_small_talk(text):
        return True
    if len(text) <= _LONGEST and word_pattern(__file__, "asked_work").match(fold(text)):
        return True
    is_short = len(text.split()) < _TASK_WORDS
    return asks_nothing(text) or (is_short and is_passing(text, "user"))
