"""Memory held against gold."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from bench.model.data import Conversation, GoldFact
from bench.model.replay import Learned
from engrams.core import Record

FIGURES = ("precision", "recall", "updates", "dates", "calls_per_turn", "tokens_per_turn")
_ROUNDS = 2000


@dataclass(frozen=True)
class Score:
    """Counts of one conversation; each pair is (right, of).

    ``wrong``, ``missed``, ``stale`` and ``leaked`` say which, in words.
    """

    id: str
    turns: int
    precision: tuple[int, int]
    recall: tuple[int, int]
    updates: tuple[int, int]
    dates: tuple[int, int]
    forbidden: tuple[int, int]
    calls: int
    tokens: int
    wrong: list[str] = field(default_factory=list)
    missed: list[str] = field(default_factory=list)
    stale: list[str] = field(default_factory=list)
    leaked: list[str] = field(default_factory=list)

    @property
    def calls_per_turn(self) -> tuple[int, int]:
        return self.calls, self.turns

    @property
    def tokens_per_turn(self) -> tuple[int, int]:
        return self.tokens, self.turns


def score(conversation: Conversation, learned: Learned) -> Score:
    """Compare what is remembered with what should be.

    A statement is right if it is a gold fact that holds at the end, and no other statement says
    that fact already. An update is right if what was said before is no longer current, and still in
    the history.
    """
    gold = [fact for fact in conversation.facts if fact.state != "superseded"]
    wanted = [fact for fact in gold if fact.state == "current"]
    old = [fact for fact in conversation.facts if fact.state == "superseded"]
    pairs = _match(learned.current, gold)
    missed = [
        fact for fact in wanted if not any(fact.matches(record.text) for record in learned.current)
    ]
    stale = [fact for fact in old if not _is_superseded(fact, learned)]
    said = [_is_dated(learned.current[at], gold) for at in pairs]
    every = [record.text for record in (*learned.current, *learned.past, *learned.accounts)]
    leaked = [fact for fact in conversation.forbidden if any(fact.matches(text) for text in every)]
    return Score(
        conversation.id,
        conversation.turns,
        (len(pairs), len(learned.current)),
        (len(wanted) - len(missed), len(wanted)),
        (len(old) - len(stale), len(old)),
        (sum(said), len(said)),
        (len(conversation.forbidden) - len(leaked), len(conversation.forbidden)),
        learned.calls,
        learned.tokens,
        [record.text for at, record in enumerate(learned.current) if at not in pairs],
        [fact.text for fact in missed],
        [fact.text for fact in stale],
        [fact.text for fact in leaked],
    )


def _is_dated(record: Record, gold: Sequence[GoldFact]) -> bool:
    return any(
        fact.said == f"{record.recorded_at:%Y-%m-%d}" for fact in gold if fact.matches(record.text)
    )


def _is_superseded(fact: GoldFact, learned: Learned) -> bool:
    now = any(fact.matches(record.text) for record in learned.current)
    return not now and any(fact.matches(record.text) for record in learned.past)


def _match(records: Sequence[Record], gold: Sequence[GoldFact]) -> set[int]:
    """Give as many records as possible a fact of their own."""
    taken: dict[int, int] = {}

    def place(at: int, seen: set[int]) -> bool:
        for number, fact in enumerate(gold):
            if number not in seen and fact.matches(records[at].text):
                seen.add(number)
                if number not in taken or place(taken[number], seen):
                    taken[number] = at
                    return True
        return False

    for at in range(len(records)):
        place(at, set())
    return set(taken.values())


def summarise(scores: Sequence[Score]) -> dict[str, dict[str, float]]:
    """Each figure over all conversations, with its bootstrap interval over conversations."""
    picks = np.random.default_rng(7).integers(len(scores), size=(_ROUNDS, len(scores)))
    return {name: _interval(scores, picks, name) for name in (*FIGURES, "forbidden")}


def _interval(scores: Sequence[Score], picks: np.ndarray, name: str) -> dict[str, float]:
    read: Callable[[Score], tuple[int, int]] = lambda one: getattr(one, name)  # noqa: E731
    counts = np.array([read(one) for one in scores], dtype=float)
    sums = counts[picks].sum(axis=1)
    shares = sums[:, 0] / np.maximum(sums[:, 1], 1)
    low, high = np.percentile(shares, [2.5, 97.5])
    return {
        "value": round(share(tuple(counts.sum(axis=0))), 4),
        "low": round(float(low), 4),
        "high": round(float(high), 4),
    }


def share(pair: tuple[float, ...]) -> float:
    return float(pair[0] / pair[1]) if pair[1] else 1.0
