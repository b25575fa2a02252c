"""What somebody takes back was never so, and what it had ended holds again."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import engrams
from engrams import AsOf, MemoryEngine
from engrams.core import Kind, Record, Status
from engrams.program.main import main
from engrams.testing import SettableClock

ANN = ("user", "ann")


@pytest.fixture
def clock() -> SettableClock:
    return SettableClock("2026-11-20T09:00")


@pytest.fixture
def memory(home: Path, clock: SettableClock) -> Iterator[MemoryEngine]:
    with engrams.open(home=home, clock=clock, jobs__workers=0) as engine:
        yield engine


def tell(memory: MemoryEngine, clock: SettableClock, *texts: str) -> None:
    """Add texts an hour apart."""
    for text in texts:
        clock.forward(hours=1)
        memory.add(text, scope=ANN)
    assert memory.drain(30)


def facts(memory: MemoryEngine, **fields: AsOf) -> list[Record]:
    """What is so now, or as of another time, where it has a triple; without denials."""
    return [
        fact
        for fact in memory.list(scope=ANN, kinds=(Kind.FACT,), **fields).records
        if fact.predicate and fact.meta.get("polarity", True)
    ]


def values(memory: MemoryEngine) -> list[str]:
    """Objects of what is so now, where they are certain."""
    return [one.object for one in facts(memory) if one.predicate not in ("", "bought")]


@pytest.mark.parametrize(
    ("before", "event", "denial"),
    [
        (
            "I live in Rome.",
            "I moved to Naples.",
            "Never mind, I didn't move to Naples after all, I'm still in Rome.",
        ),
        ("I live in Rome.", "I moved to Naples.", "Scratch that, I never moved to Naples"),
        ("I live in Rome.", "I moved to Naples.", "I was joking, I did not move to Naples"),
        ("I live in Rome.", "I moved to Naples.", "Just kidding, I didn't move to Naples!"),
        (
            "I live in Rome.",
            "I moved to Naples, Italy.",
            "sorry, I haven't moved to Naples after all",
        ),
        ("I live in Rome.", "I moved to Naples.", "nvm, not moving to Naples after all"),
        ("I live in Rome.", "I moved to Naples.", "We ended up not moving to Naples"),
        ("I live in Rome.", "I moved to Naples.", "I lied about moving to Naples"),
        ("I live in Rome.", "I moved to Naples.", "I didn't move after all."),
        ("I work at Acme.", "I left Acme.", "just kidding, I didn't leave Acme!"),
        ("I have a bike.", "I sold my bike.", "I didn't sell my bike after all."),
        ("I work at Acme.", "I started at Globex.", "nvm, I didn't start at Globex after all"),
        (
            "I work at Acme.",
            "I got a new job at Globex.",
            "Scratch that, I didn't get the job at Globex.",
        ),
        ("I work at Acme.", "I quit Acme.", "I was kidding, I did not quit Acme."),
        ("I work at Acme.", "I quit my job at Acme.", "I didn't quit my job after all."),
        ("I'm dating Ann.", "I married Beth.", "I didn't marry Beth, that was a joke."),
        (
            "My brother lives in Rome.",
            "My brother moved to Naples.",
            "My brother didn't move to Naples after all.",
        ),
    ],
)
def test_a_denied_event_never_was(
    memory: MemoryEngine, clock: SettableClock, before: str, event: str, denial: str
) -> None:
    """The value before it is current again, with the message that told it."""
    tell(memory, clock, before)
    known = [one.id for one in facts(memory)]
    then = clock()
    tell(memory, clock, event)
    assert [one.id for one in facts(memory)] != known
    changed = clock()
    tell(memory, clock, denial)
    assert [one.id for one in facts(memory)] == known
    hits = {hit.record.text: hit for hit in memory.search(before, scope=ANN).hits}
    assert (hits[before].status, hits[before].outdated) == (Status.ACTIVE, None)
    assert event not in hits or hits[event].status is Status.SUPERSEDED
    assert [one.id for one in facts(memory, as_of=AsOf(valid=clock(), known=then))] == known
    assert facts(memory, as_of=AsOf(valid=clock(), known=changed))


@pytest.mark.parametrize(
    "text",
    [
        "I didn't move to Naples because of the food.",
        "I didn't move to Naples in 2019.",
        "I didn't just move to Naples, I bought a house.",
        "I didn't move to Naples alone.",
        "My brother didn't move to Naples.",
        "If I didn't move to Naples, I'd be in Rome.",
        "Did I say I didn't move to Naples?",
        "She said I didn't move to Naples.",
        "I didn't move to Naples lol jk",
        "I didn't move to Palermo.",
        "I'm not joking about moving to Naples",
        "He lied about moving to Naples",
        "I didn't move for an hour.",
    ],
)
def test_what_denies_no_event(memory: MemoryEngine, clock: SettableClock, text: str) -> None:
    """Reasons, days, other people and other places deny no move."""
    tell(memory, clock, "I live in Rome.", "I moved to Naples.", text)
    assert values(memory)[:1] == ["Naples"] and "Rome" not in values(memory)


def test_a_state_is_not_denied_with_its_event(memory: MemoryEngine, clock: SettableClock) -> None:
    """Who never moved to a place may live there, and who did not quit still works there."""
    tell(
        memory,
        clock,
        "I live in Naples.",
        "I work at Acme.",
        "I never moved to Naples, I was born here.",
        "I didn't quit Acme.",
    )
    assert sorted(values(memory)) == ["Acme", "Naples"]


def test_it_happens_after_all(memory: MemoryEngine, clock: SettableClock) -> None:
    """What was denied may be told again later, and holds then."""
    tell(
        memory,
        clock,
        "I live in Rome.",
        "I moved to Naples.",
        "I never moved to Naples",
        "OK, now I moved to Naples.",
    )
    assert values(memory) == ["Naples"]


def test_the_command_takes_it_back(
    home: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Said at the command line, a denial restores what is shown as current."""
    monkeypatch.setenv("ENGRAMS_HOME", str(home))
    for text in ("I live in Rome.", "I moved to Naples.", "Scratch that, I never moved to Naples"):
        main(["add", text])
    capsys.readouterr()
    main(["list", "--kind", "fact"])
    shown = capsys.readouterr().out
    assert (
        "I live in Rome" in shown
        and "never moved to Naples" in shown
        and "I moved to Naples" not in shown
    )
