"""What a process keeps of its reads on Postgres is void as soon as any process has changed anything
of the owner.
"""

from __future__ import annotations

import random
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.store import postgres
from tests.store.roundtrips import RoundTripCounter

import engrams
from engrams import MemoryEngine
from engrams.core import Hit, Record

pytestmark = [
    pytest.mark.postgres,
    pytest.mark.skipif(not postgres.INSTALLED, reason=postgres.MISSING),
]
ANN = ("user", "ann")
QUESTIONS = ("Which goat eats hay?", "Where is the barn?", "Who sings in the choir?")
WORDS = ["goat", "hay", "barn", "choir", "mill", "river", "nurse", "Ghent", "Bella", "violin"]


def open_memory(home: Path, url: str) -> MemoryEngine:
    return engrams.open(home=str(home), store={"url": url}, jobs__workers=0)


def plain(record: Record) -> Record:
    """A record without what every read of it changes."""
    return replace(record, access_count=0, last_accessed=None)


def answers(memory: MemoryEngine) -> list[dict[str, Hit]]:
    """Hits by id.

    Scores and probabilities of an index that grew differ in their last digits from those of one that
    was built at once.
    """
    found = [memory.search(question, scope=ANN, limit=200).hits for question in QUESTIONS]
    shown = [
        [
            replace(
                hit,
                score=0,
                probability=0,
                parts={},
                record=plain(hit.record),
                facts=tuple(map(plain, hit.facts)),
            )
            for hit in hits
        ]
        for hits in found
    ]
    return [{hit.record.id: hit for hit in hits} for hits in shown]


def change(memory: MemoryEngine, chance: random.Random) -> None:
    """One change by another process, of any kind that a search shows."""
    kinds: dict[str, Any] = {
        "add": lambda: memory.add(
            f"The {chance.choice(WORDS)} of {chance.choice(WORDS)} is number {chance.random()}.",
            scope=ANN,
        ),
        "edit": lambda: memory.edit(
            one(), scope=ANN, text=f"Now the {chance.choice(WORDS)} has a {chance.choice(WORDS)}."
        ),
        "forget": lambda: memory.forget(one(), scope=ANN),
        "link": lambda: memory.links.link(*chance.sample(names, 2), scope=ANN),
        "purge": lambda: memory.purge(one(), scope=ANN),
        "used": lambda: memory.used([one()], scope=ANN, helpful=True),
    }
    names = [record.id for record in memory.list(scope=ANN, limit=200).records]

    def one() -> str:
        return chance.choice(names)

    kinds[chance.choice([*kinds]) if len(names) > len(WORDS) // 2 else "add"]()


@pytest.mark.parametrize(
    "seed", [1, pytest.param(2, marks=pytest.mark.slow), pytest.param(3, marks=pytest.mark.slow)]
)
def test_what_another_process_changed_is_seen_at_once(
    home: Path, tmp_path: Path, seed: int
) -> None:
    """After each change by one process, another that has searched before finds what a process finds
    that has kept nothing.
    """
    url = postgres.empty_database()
    chance = random.Random(seed)
    with open_memory(home, url) as writing, open_memory(tmp_path / "b", url) as reading:
        for word in WORDS:
            writing.add(f"The {word} is near the {chance.choice(WORDS)}.", scope=ANN)
        for _ in range(12 if seed == 1 else 100):
            answers(reading)
            change(writing, chance)
            with open_memory(tmp_path / "c", url) as fresh:
                assert answers(reading) == answers(fresh)


def test_a_search_among_what_is_kept_waits_once(home: Path) -> None:
    """One look at the owner's last commit tells that everything kept still holds."""
    with (
        RoundTripCounter(postgres.empty_database()) as counter,
        open_memory(home, counter.url) as memory,
    ):
        for word in WORDS:
            memory.add(f"The {word} is near the old tower.", scope=ANN)
        for _ in range(2):
            before = counter.count
            memory.search("Which violin is near the tower?", scope=ANN)
        assert counter.count - before <= 1
