"""Killed between any two writes of a session's end, again and again:
nothing is lost, and nothing comes twice.
"""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
from tests.session.conversation import CLIMBING
from tests.session.ending import OWNER

import engrams
from engrams import Turn
from engrams.core import Kind, Status
from engrams.testing import SettableClock

ENDING = Path(__file__).with_name("ending.py")

pytestmark = pytest.mark.skipif(not hasattr(__import__("os"), "fork"), reason="needs fork")


def prepared(home: Path) -> None:
    """Four sessions that nobody ended."""
    with engrams.open(home=home, clock=SettableClock(), jobs__workers=0) as memory:
        for name in range(4):
            memory.observe(
                [Turn(f"{text[:-1]} with {name}.", session=f"s{name}") for text in CLIMBING],
                scope=OWNER,
            )


def storm(home: Path, kills: int, seed: int) -> None:
    prepared(home)
    root = Path(__file__).parents[2]
    command = [sys.executable, str(ENDING), str(home), str(kills), str(seed)]
    completed = subprocess.run(
        command, capture_output=True, text=True, timeout=kills * 6 + 60, cwd=root
    )
    assert completed.returncode == 0, completed.stderr
    clock = SettableClock()
    clock.forward(days=kills)
    with engrams.open(home=home, clock=clock, jobs__workers=0) as memory:
        assert memory.drain(60)
        memory.retry()
        assert memory.drain(60)
        assert memory.status()["dead"] == []
        sessions = memory.sessions.list(scope=OWNER)
        assert {session.state for session in sessions} == {"rotation_required"}
        records = [
            *memory.list(scope=OWNER, statuses=tuple(Status), order="oldest", limit=10_000).records
        ]
        turns = [record for record in records if record.kind is Kind.TURN]
        assert [
            key
            for key, times in Counter(
                turn.external_id for turn in turns if turn.external_id
            ).items()
            if times > 1
        ] == []
        assert sum(session.turns for session in sessions) == len(turns)
        episodes = [record for record in records if record.kind is Kind.EPISODE]
        # Each part is accounted for once: no turn stands in two accounts, and every account's turns
        # are accounted for.
        assert sum(episode.meta["arc"]["turns"] for episode in episodes) <= len(turns)
        quoted = Counter(
            quote.source
            for episode in episodes
            for quote in {item.source: item for item in episode.evidence}.values()
        )
        assert [source for source, times in quoted.items() if times > 1] == []
        assert {episode.session for episode in episodes} == {episode.id for episode in sessions}
        facts = Counter(
            (record.hash, record.subject)
            for record in records
            if record.status is Status.ACTIVE and record.subject
        )
        assert [fact for fact, times in facts.items() if times > 1] == []
        assert any(
            record.status is Status.ACTIVE and record.text == "I kind of like climbing with 0"
            for record in records
        )
        assert memory.check()["ok"]


@pytest.mark.covers("S4.45", "S4.13")
@pytest.mark.slow
def test_a_dozen_kills_between_the_steps_of_an_end(home: Path) -> None:
    """After 14 SIGKILLs before or after any write, each session is finalised once and nothing held
    is lost.
    """
    storm(home, 14, 1)


@pytest.mark.slow
@pytest.mark.parametrize("seed", [2, 3])
def test_hundreds_of_kills_between_the_steps_of_an_end(home: Path, seed: int) -> None:
    """The same holds after 120 SIGKILLs on one home (240 over both seeds)."""
    storm(home, 120, seed)
