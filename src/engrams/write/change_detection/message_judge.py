"""Judging of messages by pure functions, which a helper process can run.

``find_news`` and ``judge_messages`` take a ``MessageTask``; task and answer can be pickled.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, NamedTuple, TypeAlias

from engrams.core import MARK_TOLD_AT
from engrams.text.late_patterns import late_pattern
from engrams.write.change_detection.abandoned_things import find_abandoned_use, names_abandoned
from engrams.write.change_detection.boosted_trees import ScoredMessage, load_model
from engrams.write.change_detection.change_topics import ComparedClauses, tells_of_others_work
from engrams.write.change_detection.clause_pairs import EXPLICIT, ClausePair, find_clause_pairs
from engrams.write.change_detection.cue_words import NAMES
from engrams.write.change_detection.distinct_things import is_about_another, is_placed_anew
from engrams.write.change_detection.ended_things import find_ended_thing, names_ended
from engrams.write.change_detection.explicit_endings import tells_end
from engrams.write.change_detection.features import MessageFeatures, may_change
from engrams.write.change_detection.guarded_statements import tells_new_diet
from engrams.write.change_detection.kept_statements import tells_on
from engrams.write.change_detection.message_reader import Message, MessageReader
from engrams.write.change_detection.opposite_statements import (
    find_opposite,
    lets_both_hold,
    may_contradict,
)
from engrams.write.change_detection.pair_judge import judge_changes
from engrams.write.change_detection.replacement_evidence import (
    changes_another_thing,
    held_before,
    is_long,
    is_of_one_occasion,
    is_passing,
    is_supposed,
    names_new_one,
    puts_right,
    read_changed_things,
    recounts,
    replaces_another,
    says_the_same,
    shows_common_ground,
    shows_replacement,
    tells_bare_count,
    tells_only_a_way,
    tells_only_an_event,
    tells_other_value,
)
from engrams.write.change_detection.returned_values import may_return

_UNTOLD = MARK_TOLD_AT - 0.01
"""Most probability of a change of which no clause gives evidence: no reader is told of it."""
_LEAST = 0.6
"""Share of the least probability of a mark from which a pair of messages is looked at by clauses."""
_PUT_RIGHT = 0.6
"""Least probability that a value was put right, where a newer message gives another of its type."""
_POSSIBLE = 0.25
"""Probability from which another day or time, beside a word of change, makes a mark."""
_DESPITE = 0.6
"""Probability from which the judge outweighs words that are about another thing."""
_DESPITE_EVENT = 0.75
"""Probability from which what only happened on some day may be a change all the same."""
_ABANDONED = 0.9
"""Probability that the use of a thing is over which a message says to be used no longer."""
_ENDED = 0.8
"""Probability that what was said of a thing is over whose end a message tells."""
_CONTRARY = 0.5
"""Probability that a statement is over of which a newer one says the contrary: it is only marked."""
_PLAIN = 0.7
"""Probability of the messages and of their clauses from which nothing else need show a change."""
_NOW = NAMES.index("now")
_DAY = 24 * 60
"""Minutes within which a number without a name is about the message before it."""
_PLACED_ANEW = 0.5
"""Least probability that a labelled thing is no longer where it was said to be."""


NewsKind: TypeAlias = Literal["", "contrary", "change"]
"""Kinds of news that a message may bring: none, the contrary of an earlier statement, or any change."""
_DIGIT = late_pattern(r"\d")
_LABELLED_NUMBER = late_pattern(r"\W*\w[^\d:.!?;\n]{2,50}: (?:[^\W\d]{1,5} |\W)?\d")
"""Beginning of a message that gives a number under a label: "booth budget: 4500"."""


class JudgedMessage(NamedTuple):
    """Earlier message that a new one probably ends."""

    probability: float
    """0..1."""
    clause: str
    """The clause that ends."""
    news: str
    """The clause of the new message that ends it."""
    is_partial: bool
    """The message says something else besides."""


@dataclass(frozen=True, slots=True)
class MessageTask:
    """New messages, each with earlier ones to compare it with."""

    reader: MessageReader
    pairs: Sequence[tuple[Message, Sequence[Message]]]
    """A new message, and earlier ones."""
    mark_at: float = 0.0
    """Probability from which an earlier message counts as ended."""
    crowded: Sequence[bool] = ()
    """Of each new message, whether it was compared with the nearest of many; empty: of few."""
    contrary: Sequence[bool] = ()
    """Of each new message, whether it can only end what it says the contrary of; empty: of none."""


@dataclass(frozen=True)
class PossibleChange:
    """Two messages whose clauses are looked at, because the newer may end the older."""

    old: MessageFeatures
    new: MessageFeatures
    probability: float
    """That the newer message ends the older, as the model says of both as wholes."""
    minutes: float
    """Between them."""
    is_one_of_many: bool
    """The older one is the nearest of many messages."""
    is_last: bool = False
    """The older one is the last that was said before, of those that are compared."""

    @cached_property
    def abandoned_use(self) -> tuple[str, str] | None:
        """The clause of the older that tells the use of a thing, and the one that gives it up."""
        if self.old.people != self.new.people:
            return None
        return find_abandoned_use(self.old.text, self.new.text)

    @cached_property
    def ended_thing(self) -> tuple[str, str] | None:
        """The clause of the older that tells of a thing, and the one that tells its end."""
        if not self.old.people <= self.new.people:
            return None
        return find_ended_thing(self.old.text, self.new.text)

    @cached_property
    def is_placed_anew(self) -> bool:
        """The newer says that a labelled thing is somewhere else."""
        return is_placed_anew(self.old, self.new)

    @cached_property
    def is_put_right(self) -> bool:
        """The newer gives another value of the same type, or names the new one of the same role."""
        if self.is_last and self.minutes < _DAY and recounts(self.old.text, self.new.text):
            return True
        return puts_right(self.old, self.new, self.minutes) or names_new_one(
            self.old.text, self.new.text
        )

    def compare(self, pair: ClausePair) -> ComparedClauses:
        """Put together what the judge weighs of two clauses of the messages."""
        signs = (self.is_put_right, self.is_placed_anew, tells_other_value(self.old, self.new))
        return ComparedClauses(
            self.old, self.new, pair.ending, pair.news, self.probability, pair.probability, signs
        )


def find_news(task: MessageTask) -> list[NewsKind]:
    """Tell which new messages may be news of a change, and which only of the contrary of a statement.

    A return to what was before counts with these.
    """
    model = load_model()
    scored = task.reader.read([new for new, _ in task.pairs if _may_change(new[0])])
    kinds: list[NewsKind] = []
    for new, _ in task.pairs:
        if _may_change(new[0]) and (
            model.is_news(scored[new])
            or tells_end(new[0])
            or names_abandoned(new[0])
            or names_ended(new[0])
            or _LABELLED_NUMBER.match(new[0]) is not None
            or tells_bare_count(new[0])
        ):
            kinds.append("change")
        else:
            # What a return ends is found by what was said before, not by the judge.
            is_compared = may_contradict(new[0]) or may_return(new[0])
            kinds.append("contrary" if is_compared else "")
    return kinds


def _may_change(text: str) -> bool:
    return may_change(text) or tells_end(text) or names_ended(text)


def judge_messages(task: MessageTask) -> list[list[JudgedMessage | None]]:
    """Judge which earlier messages each new message ends; None: not that one."""
    judged: list[list[JudgedMessage | None]] = [[None] * len(earlier) for _, earlier in task.pairs]
    uncertain: list[tuple[int, int, PossibleChange, ClausePair]] = []
    for group_index, index, change, pair in list_possible_changes(task):
        if pair is None:
            judged[group_index][index] = _judge_abandoned(change)
        elif pair.probability == EXPLICIT:
            judged[group_index][index] = JudgedMessage(*pair)
        else:
            uncertain.append((group_index, index, change, pair))
    probabilities = judge_changes([change.compare(pair) for _, _, change, pair in uncertain])
    for (group_index, index, change, pair), probability in zip(
        uncertain, probabilities, strict=True
    ):
        limited = _join(probability, change, pair)
        if limited >= task.mark_at:
            judged[group_index][index] = JudgedMessage(limited, *pair[1:])
    if task.mark_at <= _CONTRARY:
        _add_contraries(task.pairs, judged)
    return judged


def _add_contraries(
    pairs: Sequence[tuple[Message, Sequence[Message]]],
    judged: Sequence[list[JudgedMessage | None]],
) -> None:
    """Add the earlier messages of which a new one says the contrary, where none was likelier over."""
    for verdicts, (new, earlier) in zip(judged, pairs, strict=True):
        for index, old in enumerate(earlier):
            verdict = verdicts[index]
            if verdict is not None and verdict.probability >= _CONTRARY:
                continue
            opposite = find_opposite(old[0], new[0])
            if opposite is not None:
                ending, news = opposite
                is_partial = ending != old[0]
                verdicts[index] = JudgedMessage(_CONTRARY, ending, news, is_partial)


def list_possible_changes(
    task: MessageTask,
) -> list[tuple[int, int, PossibleChange, ClausePair | None]]:
    """List the pairs of messages that may be a change, with the clauses that tell it.

    Of each pair: the places of the new message and of the earlier one beside it. No clauses: the
    newer gives up a thing whose use the older tells.
    """
    pairs = [
        (new, () if is_contrary else earlier)
        for (new, earlier), is_contrary in zip(
            task.pairs, task.contrary or [False] * len(task.pairs), strict=True
        )
    ]
    scored = task.reader.read([message for new, earlier in pairs for message in (new, *earlier)])
    groups = [([scored[old] for old in earlier], scored[new]) for new, earlier in pairs]
    possible: dict[tuple[int, int], PossibleChange] = {}
    for group_index, ((earlier, new), probabilities, is_crowded) in enumerate(
        zip(groups, load_model().judge(groups), task.crowded or [False] * len(groups), strict=True)
    ):
        last_at = max((old.features.at for old in earlier), default=None)
        for index, (old, probability) in enumerate(zip(earlier, probabilities, strict=True)):
            is_last = old.features.at == last_at
            change = _find_possible_change(
                task, old, new, probability, is_one_of_many=is_crowded, is_last=is_last
            )
            if change is not None:
                possible[group_index, index] = change
    abandoned = [
        (*position, change, None)
        for position, change in possible.items()
        if change.abandoned_use or change.ended_thing
    ]
    unclear = {
        position: change
        for position, change in possible.items()
        if not (change.abandoned_use or change.ended_thing)
    }
    clause_pairs = find_clause_pairs(
        task.reader, [(change.old, change.new) for change in unclear.values()]
    )
    return abandoned + [
        (*position, change, pair)
        for (position, change), pair in zip(unclear.items(), clause_pairs, strict=True)
        if pair is not None and _may_end(change.old, change.new, pair)
    ]


def _find_possible_change(
    task: MessageTask,
    old: ScoredMessage,
    new: ScoredMessage,
    probability: float,
    *,
    is_one_of_many: bool,
    is_last: bool,
) -> PossibleChange | None:
    """Decide whether the clauses of a pair of messages are looked at; None: they are not.

    The rules tell things of one kind apart.
    """
    change = PossibleChange(
        old=old.features,
        new=new.features,
        probability=probability,
        minutes=(new.features.at - old.features.at).total_seconds() / 60,
        is_one_of_many=is_one_of_many,
        is_last=is_last,
    )
    if tells_bare_count(change.new.text) and not change.is_put_right:
        return None  # it is about something that was not said here
    is_likely = probability >= _LEAST * task.mark_at
    is_explicit = (
        tells_end(change.new.text)
        or change.abandoned_use is not None
        or change.ended_thing is not None
        or tells_new_diet(change.new.text)
    )
    if not (is_likely or is_explicit or change.is_placed_anew or change.is_put_right):
        return None
    if is_about_another(change.old, change.new):
        return None
    is_news = bool(change.new.whole.cues[_NOW])
    return None if not is_news and lets_both_hold(change.old.text, change.new.text) else change


def _judge_abandoned(change: PossibleChange) -> JudgedMessage | None:
    """Judge a pair of which the newer message tells the end of a thing, or gives up its use."""
    clauses = change.abandoned_use or change.ended_thing
    if clauses is None:
        return None
    ending, news = clauses
    probability = _ABANDONED if change.abandoned_use else _ENDED
    return JudgedMessage(probability, ending, news, is_partial=ending != change.old.text)


def _join(learned: float, change: PossibleChange, pair: ClausePair) -> float:
    """Join what the trees say of messages and clauses, what the judge learned of these, and rules.

    Where the words of a change are about another thing, only the judge can say that it is one.
    """
    has_other_value = tells_other_value(change.old, change.new)
    if changes_another_thing(pair.ending, pair.news):
        # A day beside another thing is the day of that, and without a thing nothing changes.
        is_likely = learned >= _DESPITE and not has_other_value and read_changed_things(pair.news)
        joined = learned if is_likely else 0.0
    else:
        of_trees = _join_chances(change.probability, pair.probability)
        joined = _join_chances(change.probability, pair.probability, learned)
        # What the trees find too unlikely to tell stays untold.
        joined = joined if of_trees >= _POSSIBLE else min(of_trees, joined)
    is_alike = change.is_one_of_many and not _shows_change(change, pair)
    have_numbers = bool(_DIGIT.search(pair.ending) and _DIGIT.search(pair.news))
    is_event = joined < _DESPITE_EVENT and not have_numbers and tells_only_an_event(pair.news)
    is_older = held_before(pair.news, change.minutes)
    if is_alike or is_event or is_older or tells_of_others_work(pair.ending, pair.news):
        joined = min(joined, _UNTOLD)
    elif joined and change.is_put_right:
        joined = max(joined, _PUT_RIGHT)
    elif joined >= _POSSIBLE and has_other_value:
        joined = max(joined, MARK_TOLD_AT)
    return max(joined, _PLACED_ANEW) if change.is_placed_anew else joined


def _may_end(old: MessageFeatures, new: MessageFeatures, pair: ClausePair) -> bool:
    """False if the newer clause repeats the older, is so for a while or only perhaps, or replaces
    something else; or if the newer message tells on with what the older clause tells.
    """
    if tells_on(pair.ending, new, old.people):
        return False
    if says_the_same(pair.ending, pair.news) or is_passing(pair.news) or is_supposed(pair.news):
        return False
    if is_of_one_occasion(pair.ending, pair.news) or tells_only_a_way(pair.ending, pair.news):
        return False
    return not replaces_another(old.text, pair.news)


def _shows_change(change: PossibleChange, pair: ClausePair) -> bool:
    """True if the clauses show the change: two of many messages, or long ones, are alike by chance."""
    if not shows_common_ground(pair.ending, pair.news, change.minutes):
        return min(change.probability, pair.probability) >= _PLAIN
    is_any_long = is_long(change.old.text) or is_long(change.new.text)
    return not is_any_long or shows_replacement(pair.ending, pair.news, change.probability)


def _join_chances(*chances: float) -> float:
    """Join probabilities by the mean of their log odds: they rest on much the same words."""
    odds = [math.log(chance / (1 - chance)) for chance in chances]
    return 1 / (1 + math.exp(-sum(odds) / len(odds)))
