"""The clause of an older message that ends, and the clause of a newer one that ends it.

Enter at ``find_clause_pairs``. The model judges each clause as if it were a message: the clause that
is nearest in words is often not the one that is meant.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
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
from engrams.text.introduced_values import introduces_known_value
from engrams.text.normalize import fold
from engrams.write.change_detection.boosted_trees import load_model
from engrams.write.change_detection.cue_words import NAMES
from engrams.write.change_detection.ended_part import narrow_to_part
from engrams.write.change_detection.explicit_endings import find_explicit_ending
from engrams.write.change_detection.features import read_clause
from engrams.write.change_detection.guarded_statements import (
    changes_diet,
    may_end_guarded,
    tells_identity,
)
from engrams.write.change_detection.typed_values import compare_typed_values, read_typed_values

if TYPE_CHECKING:
    from engrams.write.change_detection.features import MessageClause, MessageFeatures
    from engrams.write.change_detection.message_reader import Message, MessageReader

_ENDS = tuple(map(NAMES.index, ("no_more", "end", "switch", "instead")))
_DIGIT = re.compile(r"\d")
_PART_JOINT = re.compile(r"[,;:]\s+|\s[–—-]\s")
EXPLICIT = 0.97
"""Probability where a clause says itself that the older one is no longer so."""
_BY_ITSELF = 0.5
"""Least probability of a clause that tells an end beside one that repeats the older clause."""
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


@dataclass(frozen=True, slots=True)
class _ClauseChoice:
    """Clauses of two messages among which a pair is looked for."""

    old: MessageFeatures
    new: MessageFeatures
    old_clauses: Sequence[str]
    """Clauses of the older message that may end; at least one."""
    new_clauses: Sequence[str]
    """Clauses of the newer message that may tell a change; at least one."""


def find_clause_pairs(
    reader: MessageReader, pairs: Sequence[tuple[MessageFeatures, MessageFeatures]]
) -> list[ClausePair | None]:
    """Find the clause of each older message that a newer one most likely ends, and by which clause.

    None: one of the messages has no clause that can. ``pairs``: an older and a newer message each.
    The model is asked twice for all pairs: a question costs as much as many answers.
    """
    clause_pairs: list[ClausePair | None] = [None] * len(pairs)
    choices: dict[int, _ClauseChoice] = {}
    for index, (old, new) in enumerate(pairs):
        choice = _list_clauses(old, new)
        if choice is None:
            continue
        explicit = find_explicit_ending(choice.old_clauses, choice.new_clauses)
        if explicit is None:
            explicit = _find_changed_diet(choice)
        if explicit is None:
            choices[index] = choice
        else:
            clause_pairs[index] = _make_pair(EXPLICIT, *explicit, choice.old_clauses)
    endings = _choose_endings(reader, [*choices.values()])
    for index, clause_pair in zip(
        choices, _choose_news(reader, [*choices.values()], endings), strict=True
    ):
        clause_pairs[index] = clause_pair
    return clause_pairs


def _list_clauses(old: MessageFeatures, new: MessageFeatures) -> _ClauseChoice | None:
    """List the clauses of two messages that may be a pair; None: there are none."""
    old_clauses = [clause for clause in split_clauses(old.text) if may_end(clause)][:_MOST]
    if not old_clauses:
        return None
    new_clauses = [
        clause
        for clause in split_clauses(new.text)
        if may_tell_change(clause) and not is_of_years_before(clause, old.at.year)
    ][:_MOST]
    if not new_clauses or is_joke(new.text):
        return None
    return _ClauseChoice(old, new, old_clauses, new_clauses)


def _find_changed_diet(choice: _ClauseChoice) -> tuple[str, str] | None:
    """Find the clause of a diet in place of which a newer message gives another."""
    news = choice.new.text
    return next(
        ((clause, news) for clause in choice.old_clauses if changes_diet(clause, news)), None
    )


def _choose_endings(reader: MessageReader, choices: Sequence[_ClauseChoice]) -> list[str]:
    """Choose the clause of each older message that ends; of one message, one clause mostly does."""
    possible_lists = [_list_possible_endings(choice) for choice in choices]
    questions = [
        (_to_messages(choice.old, possible), (choice.new.text, choice.new.speaker, choice.new.at))
        for choice, possible in zip(choices, possible_lists, strict=True)
        if len(possible) > 1
    ]
    answers = iter(_ask(reader, questions))
    return [
        _join_likely(choice.old.text, possible, next(answers)) if len(possible) > 1 else possible[0]
        for choice, possible in zip(choices, possible_lists, strict=True)
    ]


def _list_possible_endings(choice: _ClauseChoice) -> Sequence[str]:
    """List the clauses of an older message that may end: a birthday beside another clause does not.

    All, if there are no others.
    """
    possible = [clause for clause in choice.old_clauses if not tells_identity(clause)]
    return possible or choice.old_clauses


def _choose_news(
    reader: MessageReader, choices: Sequence[_ClauseChoice], endings: Sequence[str]
) -> list[ClausePair | None]:
    """Choose the clause of each newer message that ends a clause; None: none may."""
    allowed_lists = [
        [
            clause
            for clause in choice.new_clauses
            if _may_end(read_clause(ending), read_clause(clause))
        ]
        for choice, ending in zip(choices, endings, strict=True)
    ]
    # None of the clauses is a rival of another: each is a question of its own.
    questions = [
        (_to_messages(choice.old, [ending]), newer)
        for choice, ending, allowed in zip(choices, endings, allowed_lists, strict=True)
        for newer in _to_messages(choice.new, allowed)
    ]
    answers = iter(_ask(reader, questions))
    clause_pairs: list[ClausePair | None] = []
    for choice, ending, allowed in zip(choices, endings, allowed_lists, strict=True):
        if not allowed:
            clause_pairs.append(None)
            continue
        chances = {clause: next(answers)[0] for clause in allowed}
        clause_pairs.append(_choose_pair(ending, chances, choice))
    return clause_pairs


def _choose_pair(
    ending: str, chances: Mapping[str, float], choice: _ClauseChoice
) -> ClausePair | None:
    """Choose the likeliest of the newer clauses; None: the message only repeats the older one.

    Where one clause says that what the older one tells took the place of something, the message is
    one of a change to that: another clause must tell an end by itself.
    """
    ending_chances = {
        clause: chance
        for clause, chance in chances.items()
        if not introduces_known_value(ending, clause, choice.old.text)
    }
    if not ending_chances:
        return None
    news = max(ending_chances, key=ending_chances.__getitem__)
    if len(ending_chances) < len(chances) and ending_chances[news] < _BY_ITSELF:
        return None
    return _make_pair(ending_chances[news], ending, news, choice.old_clauses)


def _make_pair(
    probability: float, ending: str, news: str, old_clauses: Sequence[str]
) -> ClausePair:
    part = narrow_to_part(ending, news)
    is_partial = len(old_clauses) > 1 or part.strip() != old_clauses[0].strip()
    return ClausePair(probability, part.strip(), news.strip(), is_partial)


def _may_end(old: MessageClause, new: MessageClause) -> bool:
    """True unless the newer clause only adds to the older, or holds for some days.

    A date that moves ("until Thursday") is no such time, nor is one beside a word of an end.
    """
    if not may_end_guarded(old, new):
        return False
    if any(new.cues[cue] for cue in _ENDS) and not _ends_beside(old, new):
        return True
    has_values = bool(_DIGIT.search(old.text) and _DIGIT.search(new.text)) or any(
        compare_typed_values(read_typed_values(fold(old.text)), read_typed_values(fold(new.text)))
    )
    return not adds_something(new.text) and (has_values or not is_for_a_while(new.text))


def _ends_beside(old: MessageClause, new: MessageClause) -> bool:
    """True for a clause that adds something, with an end in another part that is of something else.

    "También colecciono vinilos, ya no caben en casa".
    """
    if not adds_something(new.text):
        return False
    parts = [read_clause(part) for part in _PART_JOINT.split(new.text) if not adds_something(part)]
    ends = [part for part in parts if any(part.cues[cue] for cue in _ENDS)]
    return bool(ends) and all(part.words.isdisjoint(old.words) for part in ends)


def _to_messages(message: MessageFeatures, clauses: Sequence[str]) -> list[Message]:
    return [(clause, message.speaker, message.at) for clause in clauses]


def _ask(
    reader: MessageReader, questions: Sequence[tuple[Sequence[Message], Message]]
) -> list[list[float]]:
    """Ask the model how probably a newer message ends each of some older ones, its rivals."""
    if not questions:
        return []
    scored = reader.read([message for older, newer in questions for message in (*older, newer)])
    return load_model().judge(
        [([scored[old] for old in older], scored[newer]) for older, newer in questions]
    )


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
