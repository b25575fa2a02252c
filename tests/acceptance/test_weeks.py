"""Sixty days with each document's preset, by a set clock: restarts, a power failure, two languages, a
changed mind, a visit in incognito. At the end stands what the document's author would look at.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from dulwich import porcelain

import engrams
from engrams import MemoryEngine, Turn
from engrams.core import EdgeType, Kind, Status
from engrams.testing import SettableClock

ANN = ("user", "ann")
DAYS = 60
PLACES = ("harbour", "market", "library", "workshop", "orchard", "station", "bakery", "quarry")
THINGS = ("crane", "ledger", "lamp", "kiln", "ladder", "timetable", "oven", "drill")

pytestmark = pytest.mark.slow


class Weeks:
    """A home that is opened anew every few days, and whose power fails once."""

    def __init__(self, home: Path, preset: str, **settings: Any) -> None:
        self.home = home
        self.clock = SettableClock(datetime(2026, 3, 1, 9, tzinfo=UTC))
        self._open = lambda: engrams.open(
            home=self.home, preset=preset, clock=self.clock, jobs__workers=0, **settings
        )

    @contextmanager
    def opened(self) -> Iterator[MemoryEngine]:
        with self._open() as engine:
            yield engine

    def live(self, day: Callable[[MemoryEngine, int], None]) -> None:
        """Live the days; every fifth begins with a restart, the thirtieth ends with a power failure."""
        for first in range(0, DAYS, 5):
            with self._open() as engine:
                for number in range(first, first + 5):
                    self.clock.set(f"2026-{3 + number // 30:02}-{1 + number % 30:02}T09:00")
                    day(engine, number)
                    engine.drain()
                    self.clock.set(f"2026-{3 + number // 30:02}-{1 + number % 30:02}T23:57")
                    engine.drain()
                if first == 25:
                    # What another process would find if this one had been cut off here.
                    engine.add("The power is about to fail at the weir", scope=ANN)
                    left = self.home.with_name("left")
                    shutil.copytree(self.home, left)
            if first == 25:
                self.home = left


def name(number: int) -> str:
    """What the plain fact of a day is about, no two alike."""
    return f"the {THINGS[(number // 8) % 8]} of the {PLACES[number % 8]}"


def said(number: int) -> str:
    """The plain fact of a day."""
    return f"{name(number).capitalize()} is number {number + 100}"


def texts(engine: MemoryEngine, query: str, **more: Any) -> list[str]:
    return [hit.record.text for hit in engine.search(query, scope=ANN, **more).hits]


def test_weeks_of_tiers(tmp_path: Path) -> None:
    """Document 000: tiers keep their sizes, the first day is found on the last, the newer of two
    stands first, and no tier shuts another out.
    """
    weeks = Weeks(tmp_path / "home", "cache")

    def day(engine: MemoryEngine, number: int) -> None:
        session = f"s{number}"
        lines = [said(number), f"Is the {PLACES[number % 8]} open today?"]
        if number == 0:
            lines = ["The eviction policy of the session cache is allkeys-lru", *lines]
        if number in (10, 40):
            database = "PostgreSQL" if number == 10 else "MySQL"
            lines.append(f"The orders database of the shop runs on {database}")
        for line in lines:
            weeks.clock.forward(minutes=1)
            turns = [
                Turn(line, session=session),
                Turn("I wrote that down for you.", "assistant", session=session),
            ]
            engine.observe(turns, scope=ANN)
        engine.sessions.end(session, scope=ANN)
        weeks.clock.forward(minutes=10)

    weeks.live(day)
    with weeks.opened() as engine:
        # Sizes are checked every so many turns: what came since then may be too many.
        assert max(engine.tiers.enforce(ANN).values()) < engine.settings.tiers.check_turns
        assert set(engine.tiers.enforce(ANN).values()) == {0}
        recent = engine.stats(ANN)["active"].get("recent", 0)
        assert recent <= engine.settings.tiers.recent_size
        found = texts(engine, "What is the eviction policy of the session cache?")
        assert "allkeys-lru" in found[0]
        database = texts(engine, "Which database do the orders of the shop run on?")
        assert "MySQL" in database[0]
        assert (
            "allkeys-lru" in engine.context("eviction policy of the session cache", scope=ANN).text
        )


def test_weeks_of_notes_and_dreams(tmp_path: Path) -> None:
    """Document 001: each day has its note, MEMORY.md is bounded and true, the budget of an injection
    holds, and what was said on the first day is in it.
    """
    weeks = Weeks(tmp_path / "home", "engine")

    def day(engine: MemoryEngine, number: int) -> None:
        lines = [said(number)]
        lines += {
            0: ["I am allergic to walnuts."],
            5: ["I live in Paris."],
            35: ["I moved to Berlin."],
            12: ["Meine Schwester Petra wohnt in Ulm."],
        }.get(number, [])
        messages = [{"role": "user", "content": line} for line in lines]
        engine.flush(messages, scope=ANN, session=f"s{number}")

    weeks.live(day)
    with weeks.opened() as engine:
        folder = weeks.home / "vault/memory/users/ann"
        assert len(list(folder.glob("2026-*.md"))) == DAYS
        core = (folder / "MEMORY.md").read_text()
        assert core.count("\n- ") <= engine.settings.vault.memory_items
        text = engine.format_for_injection(scope=ANN)
        assert engine.counter.count(text) <= engine.settings.read.context_tokens
        assert "walnuts" in text
        assert "Berlin" in text
        assert "Paris" not in text.replace("(no longer so", "")
        assert "Petra" in engine.format_for_injection("Where does Petra live?", scope=ANN)
        assert engine.stats(ANN)["kind"]["fact"] <= engine.settings.caps.facts


def test_weeks_of_a_vault(tmp_path: Path) -> None:
    """Document 002: a conversation keeps its cap, the files and git agree with memory, an edit by
    hand holds, and the current answer is found.
    """
    weeks = Weeks(tmp_path / "home", "proxy", caps__entries=120)
    chat = (*ANN, "conversation", "default")

    def day(engine: MemoryEngine, number: int) -> None:
        lines = [said(number)]
        lines += {0: ["I live in Paris."], 30: ["I moved to Berlin."]}.get(number, [])
        for line in lines:
            weeks.clock.forward(minutes=1)
            engine.observe([Turn(line), Turn("I see.", "assistant")], scope=chat)

    weeks.live(day)
    with weeks.opened() as engine:
        assert engine.vault is not None
        engine.vault.sync()
        kinds = (Kind.TURN, Kind.FACT, Kind.PREFERENCE)
        entries = engine.list(scope=chat, kinds=kinds, limit=200).records
        assert len(entries) <= 120
        files = list((weeks.home / "vault").glob("entries/user/ann/conversation/default/**/*.md"))
        assert len(files) == len(entries)
        assert list((weeks.home / "vault").glob("deleted/**/*i-live-in-paris*.md"))
        answer = [hit.record.text for hit in engine.search("Where do I live?", scope=chat).hits]
        assert "Berlin" in answer[0]
        newest = max(files, key=lambda path: path.name)
        newest.write_text(newest.read_text().rstrip() + " by hand\n")
        engine.vault.sync()
        assert [row for row in engine.list(scope=chat, limit=200).records if "by hand" in row.text]
        engine.vault.commit()
        status = porcelain.status(str(weeks.home / "vault"))
        assert not (any(status.staged.values()) or status.unstaged or status.untracked)


def test_weeks_of_a_graph(tmp_path: Path) -> None:
    """Document 003: age hides nothing that was stated, the garden prunes none of it, topics form,
    links grow from use, and nothing is delivered twice in a session.
    """
    weeks = Weeks(tmp_path / "home", "graph")

    def day(engine: MemoryEngine, number: int) -> None:
        engine.add(Turn(said(number)), scope=ANN, kind=Kind.FACT)
        if number == 0:
            engine.add(Turn("The user is allergic to peanuts"), scope=ANN, kind=Kind.FACT)
        session = f"s{number}"
        asked = f"Which numbers do the things of the {PLACES[number % 8]} have?"
        shown = [engine.deliver(asked, scope=ANN, session=session).hits for _ in range(3)]
        ids = [hit.record.id for hits in shown for hit in hits]
        assert len(ids) == len(set(ids))
        texts(engine, asked)
        if number % 7 == 6:
            engine.garden.run(ANN)

    weeks.live(day)
    with weeks.opened() as engine:
        assert "peanuts" in texts(engine, "What is the user allergic to?")[0]
        stated = engine.list(scope=ANN, kinds=(Kind.FACT,), limit=200).records
        assert len(stated) == DAYS + 1
        for number in (0, 7, 31, 59):
            assert said(number) in texts(engine, f"What is the number of {name(number)}?")
        edges = engine.inspect.edges(engine.scopes()[0], [row.id for row in stated])
        kinds = {edge.type for edge in edges}
        assert {EdgeType.IN_TOPIC, EdgeType.CO_OCCURS} <= kinds
        topics = [edge.target for edge in edges if edge.type is EdgeType.IN_TOPIC]
        assert len(set(topics)) < len(topics)


def test_weeks_of_layers(tmp_path: Path) -> None:
    """Document 004: rules keep their cap, a visit in incognito leaves nothing, counts agree, a new
    session begins with the last account, and superseded facts fill no prompt.
    """
    weeks = Weeks(tmp_path / "home", "layers")
    cities = ("Ghent", "Bruges", "Namur", "Mons", "Leuven", "Dinant")

    def day(engine: MemoryEngine, number: int) -> None:
        session = f"s{number}"
        if number == 0:
            engine.sessions.recall(ANN, True)
        lines = [
            f"I talked with my neighbour about the {THINGS[number % 8]} at the {PLACES[number % 8]}.",
            f"It took us {number + 2} hours to repair the roof of the {PLACES[number % 8]}.",
            "My neighbour wants to go on with it next week.",
        ]
        if number % 10 == 0:
            lines.append(f"I {'live in' if not number else 'moved to'} {cities[number // 10]}.")
        for line in lines:
            weeks.clock.forward(minutes=1)
            turns = [Turn(line, session=session), Turn("I hear you.", "assistant", session=session)]
            engine.observe(turns, scope=ANN)
        if number % 2:
            rule = f"Always answer questions about room {number} in verse"
            engine.add(Turn(rule), scope=ANN, kind=Kind.RULE)
        engine.sessions.end(session, scope=ANN)
        if number == 20:
            engine.sessions.begin("visit", scope=ANN, mode="guest")
            engine.observe(Turn("My secret name is Zebulon.", session="visit"), scope=ANN)
            assert not engine.search("secret name", scope=ANN).hits or "Zebulon" not in str(
                texts(engine, "secret name")
            )

    weeks.live(day)
    with weeks.opened() as engine:
        rules = engine.list(scope=ANN, kinds=(Kind.RULE,), limit=100).records
        assert len(rules) <= 20
        archived = engine.list(
            scope=ANN, kinds=(Kind.RULE,), statuses=(Status.ARCHIVED,), limit=100
        ).records
        assert len(rules) + len(archived) == DAYS // 2
        kept = "".join(
            path.read_text("utf-8", "replace") for path in weeks.home.rglob("*") if path.is_file()
        )
        assert "Zebulon" not in kept
        episodes = engine.list(scope=ANN, kinds=(Kind.EPISODE,), limit=200).records
        assert engine.stats(ANN)["active_layers"].get("episodic", 0) == len(episodes)
        text = engine.context("Where do I live?", scope=ANN).text
        assert "Dinant" in text
        assert not [city for city in cities[:-1] if city in text]
        weeks.clock.forward(days=90)
        first = engine.deliver("Hello again", scope=ANN, session="new").text
        assert episodes[0].text[:40] in first
