"""The memory engine's document (001):
dreams bring in what was stored, by every door and after every trigger.
"""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

import engrams
from engrams import MemoryEngine
from engrams.adapters import AgentMemory
from engrams.program.main import main
from engrams.testing import SettableClock

ANN = ("user", "ann")
START = datetime(2026, 3, 1, 9, tzinfo=UTC)
CORE = "vault/memory/users/ann/MEMORY.md"


def opened(home: Path, clock: SettableClock, **more: Any) -> MemoryEngine:
    return engrams.open(
        home=home,
        preset="engine",
        clock=clock,
        jobs__workers=0,
        vault__dream_at="",
        **{"embed__provider": "null", **more},
    )


@pytest.mark.covers("S1.39", "S1.40")
@pytest.mark.parametrize("by_adapter", [False, True], ids=["engine", "adapter"])
def test_a_dream_in_python_brings_in_what_was_stored_today(home: Path, by_adapter: bool) -> None:
    """Statements that were stored and never flushed, short ones too;
    the same day again brings nothing.
    """
    with opened(home, SettableClock(START)) as engine:
        for text in (
            "I keep bees",
            "My sister Petra keeps the cabin keys.",
            "I am allergic to walnuts.",
            "Who has the keys?",
        ):
            engine.manage(text, scope=ANN)
        dream = AgentMemory(engine, ANN).dream if by_adapter else lambda: engine.dream(scope=ANN)
        assert dream()
        core = (home / CORE).read_text("utf-8")
        assert all(words in core for words in ("I keep bees", "cabin keys", "walnuts"))
        assert "Who has" not in core
        assert not dream()


@pytest.mark.covers("S1.39")
def test_the_command_dreams_of_a_short_statement(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The documents' own two lines; a plan waits until it is applied."""
    named = ["--home", str(home), "--preset", "engine", "-u", "ann"]
    assert main(["add", *named, "I keep bees"]) == 0
    assert main(["dream", *named, "--plan"]) == 0
    assert "The plan waits" in capsys.readouterr().out
    assert not (home / CORE).exists()
    assert main(["dream", *named, "--apply"]) == 0
    assert "I keep bees" in (home / CORE).read_text("utf-8")


@pytest.mark.covers("S1.45")
def test_a_dream_after_so_many_notes_reads_all_of_them(home: Path) -> None:
    """Three notes start it and all three are in MEMORY.md; the next three join them."""
    clock = SettableClock(START)
    said = (
        "The beech hedge needs cutting twice a year.",
        "Our well is 31 metres deep.",
        "The neighbour borrows the log splitter.",
    )
    more = (
        "The roof tiles are from Straubing.",
        "The cellar floods when the snow melts.",
        "The gate sticks in wet weather.",
    )
    with opened(home, clock, vault__dream_files=3) as engine:
        for number, text in enumerate((*said, *more), 1):
            engine.flush([{"role": "user", "content": text}], scope=ANN, session=f"s{number}")
            engine.drain()
            assert (home / CORE).exists() is (number >= len(said))
            clock.forward(days=1)
        core = (home / CORE).read_text("utf-8")
        # A learned sentence stands there without its full stop.
        assert all(core.count(text.rstrip(".")) == 1 for text in (*said, *more))


@pytest.mark.covers("S1.41")
def test_notes_are_dreamed_of_once_a_day_by_each_number_of_days(home: Path) -> None:
    """A dream of more days in between makes the notes of fewer days no news."""
    clock = SettableClock(START)
    with opened(home, clock) as engine:
        for text in ("The harp is kept in the loft.", "The sled is kept in the barn."):
            engine.flush([{"role": "user", "content": text}], scope=ANN)
            engine.drain()
            clock.forward(days=1)
        clock.back(days=1)
        assert engine.dream(1, scope=ANN)
        assert engine.dream(30, scope=ANN)
        assert not engine.dream(1, scope=ANN)
        assert not engine.dream(30, scope=ANN)
        assert engine.dream(1, scope=ANN, force=True)
        engine.flush([{"role": "user", "content": "The oar is kept in the shed."}], scope=ANN)
        engine.drain()
        assert engine.dream(1, scope=ANN)


@pytest.mark.covers("S1.39")
@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("The heating is off in winter", "The heating is on in winter"),
        (
            "My cousin Ada does eat fish or shrimp or crab at Christmas dinners",
            "My cousin Ada does not eat fish or shrimp or crab at Christmas dinners",
        ),
        (
            "At the harbour Kim lent Lee the long saw",
            "At the harbour Lee lent Kim the long saw",
        ),
    ],
)
def test_what_differs_in_a_detail_is_not_said_twice(home: Path, first: str, second: str) -> None:
    """A negation, a small word or the order of names makes another statement: both are in MEMORY.md."""
    core = home / CORE
    core.parent.mkdir(parents=True)
    core.write_text(f"- {first}\n", "utf-8")
    with opened(home, SettableClock(START)) as engine:
        engine.manage(second, scope=ANN)
        assert engine.dream(scope=ANN)
    lines = core.read_text("utf-8").splitlines()
    assert f"- {first}" in lines
    assert f"- {second}" in lines


BY_HAND = """---
owner: ann
---

# About Ann

She likes short answers, and
hates small talk.

## Tools

1. Hammer first
2. Saw second
   - Keep it sharp

| tool | place |
|---|---|
| awl | shed |

```sh
make ship
# This is no heading
```

<!-- For the winter -->

- Buy oil

### Boats

> The sea is wide.
"""


@pytest.mark.covers("S1.39")
def test_a_dream_leaves_what_people_wrote_in_its_form(home: Path) -> None:
    """Front matter, title, paragraphs, tables, code, comments, quotations, numbered and nested lists
    of MEMORY.md stay as they are; what is new comes beside them, and no rule of a table or of code
    is told as a fact.
    """
    core = home / CORE
    core.parent.mkdir(parents=True)
    core.write_text(BY_HAND, "utf-8")
    with opened(home, SettableClock(START)) as engine:
        engine.manage("The well is forty metres deep.", scope=ANN)
        assert engine.dream(scope=ANN)
        told = engine.format_for_injection(scope=ANN)
    written = core.read_text("utf-8").replace("### Boats", "## Boats")
    assert written.startswith(BY_HAND.replace("### Boats", "## Boats"))
    assert "The well is forty metres deep" in written.splitlines()[-1]
    assert "hates small talk" in told
    assert "|---" not in told
    assert "```" not in told
