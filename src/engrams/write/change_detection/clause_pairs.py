"""The clause of an older message that ends, and the clause of a newer one that ends it.

Enter at ``find_clause_pair``. The model judges each clause as if it were a message: the clause that
is nearest in words is often not the one that is meant.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from engrams.text.clause_kinds import (
    adds_something,
    is_for_a_while,
    is_joke,
    is_of_years_before,
    may_end,
    may_tell_change,
)
from engrams.text.clause_split import split_clauses
from engrams.write.change_detection.boosted_trees import load_model
from engrams.write.change_detection.cue_words import NAMES
from engrams.write.change_detection.ended_part import narrow_to_part
from engrams.write.change_detection.explicit_endings import find_explicit_ending
from engrams.write.change_detection.features import read_clause
from engrams.write.change_detection.guarded_statements import may_end_guarded

if TYPE_CHECKING:
    from engrams.write.change_detection.features import MessageClause, MessageFeatures
    from engrams.write.change_detection.message_reader import Message, MessageReader

_ENDS = tuple(map(NAMES.index, ("no_more", "end", "switch", "instead")))
_DIGIT = re.compile(r"\d")
EXPLICIT = 0.97
"""Probability where a clause says itself that the older one is no longer so."""
_MOST = 10
"""Clauses of each message that are judged."""


class ClausePair(NamedTuple):
    """A clause that ends, and the one that ends it."""

    probability: float
    """Of the two by themselves, 0..1."""
    ending: str
    """The clause of the older message."""
    news: str
    """The clause of the newer message."""
    is_partial: bool
    """The older message says something else besides."""


def find_clause_pair(
    reader: MessageReader, old: MessageFeatures, new: MessageFeatures
) -> ClausePair | None:
    """Find the clause of an older message that a newer message most likely ends, and by which one.

    None: one of the messages has no clause that can.
    """
    old_clauses = [clause for clause in split_clauses(old.text) if may_end(clause)][:_MOST]
    new_clauses = [
        clause
        for clause in split_clauses(new.text)
        if may_tell_change(clause) and not is_of_years_before(clause, old.at.year)
    ][:_MOST]
    if not old_clauses or not new_clauses or is_joke(new.text):
        return None
    explicit = find_explicit_ending(old_clauses, new_clauses)
    if explicit is not None:
        return _make_pair(EXPLICIT, *explicit, old_clauses)
    ending = old_clauses[0]
    if len(old_clauses) > 1:
        chances = _judge_rivals(reader, _to_messages(old, old_clauses), new)
        ending = _join_likely(old.text, old_clauses, chances)
    ending_clause = read_clause(ending)
    allowed = [clause for clause in new_clauses if _may_end(ending_clause, read_clause(clause))]
    if not allowed:
        return None
    chances = _judge_each(reader, _to_messages(old, [ending]), _to_messages(new, allowed))
    probability = max(chances)
    return _make_pair(probability, ending, allowed[chances.index(probability)], old_clauses)


def _make_pair(
    probability: float, ending: str, news: str, old_clauses: Sequence[str]
) -> ClausePair:
    part = narrow_to_part(ending, news)
    is_partial = len(old_clauses) > 1 or part != ending
    return ClausePair(probability, part.strip(), news.strip(), is_partial)


def _may_end(old: MessageClause, new: MessageClause) -> bool:
    """True unless the newer clause only adds to the older, or holds for some days.

    A date that moves ("until Thursday") is no such time, nor is one beside a word of an end.
    """
    if not may_end_guarded(old, new):
        return False
    if any(new.cues[cue] for cue in _ENDS):
        return True
    has_values = bool(_DIGIT.search(old.text) and _DIGIT.search(new.text))
    return not adds_something(new.text) and (has_values or not is_for_a_while(new.text))


def _to_messages(message: MessageFeatures, clauses: Sequence[str]) -> list[Message]:
    return [(clause, message.speaker, message.at) for clause in clauses]


def _judge_rivals(
    reader: MessageReader, older: Sequence[Message], new: MessageFeatures
) -> list[float]:
    """Judge older messages with a newer one, which mostly ends one of them."""
    (newer,) = _to_messages(new, [new.text])
    scored = reader.read([*older, newer])
    (chances,) = load_model().judge([([scored[old] for old in older], scored[newer])])
    return chances


def _judge_each(
    reader: MessageReader, older: Sequence[Message], newer: Sequence[Message]
) -> list[float]:
    """Judge each older message with each newer one, none of them a rival of another."""
    scored = reader.read([*older, *newer])
    pairs = [([scored[old]], scored[new]) for old in older for new in newer]
    return [chance for (chance,) in load_model().judge(pairs)]


def _join_likely(text: str, clauses: Sequence[str], chances: Sequence[float]) -> str:
    """Return the likeliest clause; with neighbours that are half as likely, all of them as one."""
    highest = max(chances)
    likely = [index for index, chance in enumerate(chances) if 2 * chance >= highest]
    start = text.find(clauses[likely[0]])
    last = clauses[likely[-1]]
    end = text.find(last, start)
    are_neighbours = likely[-1] - likely[0] == len(likely) - 1
    if not are_neighbours or start < 0 or end < 0:
        return clauses[chances.index(highest)]
    return text[start : end + len(last)]
