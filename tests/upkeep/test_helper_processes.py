"""An import with helper processes stores what one process stores, bit for bit, whatever becomes of
the helpers.
"""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable
from datetime import UTC, datetime
from itertools import count
from pathlib import Path
from typing import Any

import pytest

import engrams
from engrams.core import Kind, ids
from engrams.encryption import file_ledger
from engrams.testing import SettableClock
from engrams.text.text_caches import clear_caches
from engrams.upkeep import helper_process, helper_processes
from engrams.upkeep.helper_process import HelperProcess
from engrams.upkeep.helper_processes import HelperProcesses

ANN = ("user", "ann")
START = datetime(2026, 3, 1, 9, tzinfo=UTC)
CITIES = ("Oslo", "Lima", "Bern", "Porto", "Ghent", "Turin", "Split", "Cork")
LINES = (
    "I moved to {city} in {year}.", "I live in {city} and I work as a baker.", "My sister lives in {city} now, no longer in {other}.",
    "I have {number} cats and a dog named Max.", "Ich wohne in {city}.", "My favourite food is the soup of {city}.",
    "Actually it's {city}, not {other}.", "We no longer meet on day {number}; we meet in {city} instead.",
)  # fmt: skip
MANY = 480
ROLES = ("user", "assistant")
KEY = bytes(range(32))
"""Key of the seals of all homes that are compared."""


def write_file(folder: Path) -> Path:
    """Turns in sessions of ten, with facts that change."""
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / "turns.jsonl"
    with file.open("w", encoding="utf-8") as out:
        for number in range(MANY):
            city = CITIES[number * 5 % 8]
            other = CITIES[(number * 3 + 1) % 8]
            text = LINES[number * 7 % 8].format(
                city=city, other=other, year=1990 + number % 30, number=number
            )
            at = f"2024-01-{1 + number // 24:02}T{number % 24:02}:00:00+00:00"
            out.write(
                json.dumps(
                    {
                        "id": f"t{number}",
                        "text": text,
                        "role": "user",
                        "session": f"s{number // 10}",
                        "at": at,
                    }
                )
                + "\n"
            )
    return file


def learn(home: Path, processes: int, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Import and learn;
    every row of every table but the jobs', whose workers have names of their own. Homes share the
    key of their seals, so that the same rows have the same seals, and the number of the ledger, which
    is made of the time.
    """
    numbers = count()
    monkeypatch.setattr(file_ledger, "_draw_number", lambda: 1)
    monkeypatch.setattr(ids._arrival_clock, "next_tail", lambda: next(numbers) << 30)
    file = write_file(home)
    key_file = home / "shared.key"
    key_file.write_bytes(KEY)
    with engrams.open(
        home=home,
        clock=SettableClock(START),
        store__seal_key=str(key_file),
        jobs__workers=0,
        jobs__processes=processes,
    ) as memory:
        assert memory.load(file, scope=ANN).stored == MANY
        assert memory.drain(timeout=300)
        assert memory.status()["dead"] == []
        assert len(memory.list(scope=ANN, kinds=(Kind.FACT,), limit=500).records) > 20
    with sqlite3.connect(home / "memory.db") as database:
        tables = [
            name
            for (name,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
        ]
        assert {"records", "edges", "history", "vectors", "lexicon", "jobs"} <= {*tables}
        return [
            f"{name} {row}"
            for name in tables
            if name != "jobs"
            for row in database.execute(f"SELECT * FROM {name}")
        ]


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """What one process stores."""
    with pytest.MonkeyPatch.context() as monkeypatch:
        return learn(tmp_path_factory.mktemp("alone"), 1, monkeypatch)


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[HelperProcess]:
    """The helper of each piece of work that one was asked for;
    this process does nothing that a living helper could.
    """
    found: list[HelperProcess] = []
    ask = HelperProcess.ask

    def note(helper: HelperProcess, work: bytes) -> Any:
        found.append(helper)
        return ask(helper, work)

    monkeypatch.setattr(helper_process, "_MAX_QUEUED", 1000)
    monkeypatch.setattr(HelperProcess, "ask", note)
    return found


@pytest.mark.slow
def test_an_import_on_two_cores_stores_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, alone: list[str], asked: list[HelperProcess]
) -> None:
    """With a helper that does all that is pure every table is the same as without, and it ends with
    the engine.
    """
    assert learn(tmp_path / "two", 2, monkeypatch) == alone
    assert len(asked) > MANY // 10
    assert len({id(helper) for helper in asked}) == 1
    assert asked[0]._process.poll() == 0


@pytest.mark.slow
def test_a_killed_helper_costs_only_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, alone: list[str], asked: list[HelperProcess]
) -> None:
    """A helper that is killed in the middle of its work leaves nothing out:
    the process that writes does the rest.
    """
    ask = HelperProcess.ask

    def kill(helper: HelperProcess, work: bytes) -> Any:
        future = ask(helper, work)
        if len(asked) == 20:
            helper._process.kill()
        return future

    monkeypatch.setattr(HelperProcess, "ask", kill)
    assert learn(tmp_path / "two", 2, monkeypatch) == alone
    assert len(asked) >= 20
    assert asked[0]._process.poll() == -signal.SIGKILL


@pytest.mark.parametrize(
    "program", ["/nowhere/python", pytest.param("/bin/true", marks=pytest.mark.slow)]
)
@pytest.mark.slow
def test_without_a_helper_an_import_goes_on(
    program: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, alone: list[str]
) -> None:
    """Where no helper can be started, or it ends at once, one process does it all."""
    monkeypatch.setattr(sys, "executable", program)
    assert learn(tmp_path / "two", 2, monkeypatch) == alone


@pytest.mark.slow
def test_a_helper_that_does_not_answer_is_ended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, alone: list[str], asked: list[HelperProcess]
) -> None:
    """One that hangs is given up after a while, and its work is done here."""
    ask = HelperProcess.ask

    def stop(helper: HelperProcess, work: bytes) -> Any:
        if len(asked) == 5:
            os.kill(helper._process.pid, signal.SIGSTOP)
        return ask(helper, work)

    monkeypatch.setattr(helper_process, "_MAX_QUEUED", 4)
    monkeypatch.setattr(helper_processes, "_ANSWER_SECONDS", 3.0)
    monkeypatch.setattr(HelperProcess, "ask", stop)
    assert learn(tmp_path / "two", 2, monkeypatch) == alone
    assert asked[0]._process.poll() == -signal.SIGKILL


PROGRAM = """
import sys, engrams
from engrams.composition import open
from pathlib import Path
with open(home=sys.argv[1], background=False, jobs__workers=0, jobs__processes=2) as memory:
    memory.load(Path(sys.argv[2]), scope=("user", "ann"))
    memory.drain(timeout=300)
"""


def find_children(pid: int) -> list[int]:
    return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def wait_until(happens: Callable[[], object], seconds: float = 60.0) -> None:
    until = time.monotonic() + seconds
    while not happens():
        assert time.monotonic() < until
        time.sleep(0.02)


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="looks for processes in /proc")
@pytest.mark.parametrize(
    "how", [signal.SIGKILL, pytest.param(signal.SIGINT, marks=pytest.mark.slow)]
)
@pytest.mark.slow
def test_an_import_that_is_stopped_goes_on(how: signal.Signals, tmp_path: Path) -> None:
    """After a kill or Ctrl-C in the middle no helper is left, and the next run loses nothing and
    stores nothing twice.
    """
    home = tmp_path / "home"
    file = write_file(tmp_path)
    for pause in (0.0, 0.4):
        parent = subprocess.Popen(
            [sys.executable, "-c", PROGRAM, str(home), str(file)],
            start_new_session=True,
            stderr=subprocess.DEVNULL,
        )
        wait_until(lambda parent=parent: parent.poll() is not None or find_children(parent.pid))
        helpers = find_children(parent.pid)
        time.sleep(pause)
        # Ctrl-C reaches every process of a terminal; a kill only this one.
        if how is signal.SIGINT:
            os.killpg(parent.pid, how)
        else:
            os.kill(parent.pid, how)
        parent.wait(60)
        wait_until(
            lambda helpers=helpers: (
                not any(Path(f"/proc/{helper}/exe").exists() for helper in helpers)
            )
        )
    assert helpers
    hour = SettableClock(datetime.now(UTC))
    hour.forward(hours=1)
    with engrams.open(home=home, clock=hour, jobs__workers=0, jobs__max_attempts=20) as memory:
        memory.load(file, scope=ANN)
        assert memory.drain(timeout=300)
        turns = memory.list(scope=ANN, kinds=(Kind.TURN,), limit=1000).records
        assert sorted(turn.external_id for turn in turns) == sorted(
            f"t{number}" for number in range(MANY)
        )
        facts = memory.list(scope=ANN, kinds=(Kind.FACT, Kind.PREFERENCE), limit=1000).records
        assert len({(fact.text, fact.valid_from) for fact in facts}) == len(facts) > 20
        assert memory.check()["ok"]


@pytest.mark.slow
def test_an_import_of_many_short_conversations_has_a_helper(
    tmp_path: Path, asked: list[HelperProcess]
) -> None:
    """Jobs of few messages each, one after the other, are worth a helper together."""
    file = tmp_path / "turns.jsonl"
    lines = [
        {
            "id": f"t{n}",
            "text": f"I moved to {CITIES[n % 8]} in {1990 + n % 30}.",
            "conversation": f"c{n // 24}",
        }
        for n in range(MANY)
    ]
    file.write_text(
        "".join(
            json.dumps({**line, "role": ROLES[n % 2], "session": "s"}) + "\n"
            for n, line in enumerate(lines)
        )
    )
    with engrams.open(home=tmp_path / "home", jobs__workers=0, jobs__processes=2) as memory:
        assert (
            memory.load(
                file, scope=ANN, progress=lambda _done, _total: memory.work.drain(300)
            ).stored
            == MANY
        )
    assert len(asked) > 2


def test_rare_work_has_no_helper(
    monkeypatch: pytest.MonkeyPatch, asked: list[HelperProcess]
) -> None:
    """Little work now and then starts none, however much it is in a day."""
    monkeypatch.setattr(helper_processes, "_IDLE_SECONDS", 0.0)
    helpers = HelperProcesses(2)
    for _ in range(30):
        assert [*helpers.map_ahead(double, [("", number) for number in range(100)], 100)] == [
            ("", 2 * number) for number in range(100)
        ]
    assert not asked


def double(number: int) -> int:
    return 2 * number


def test_helpers_end_when_nobody_uses_them(
    monkeypatch: pytest.MonkeyPatch, asked: list[HelperProcess]
) -> None:
    """Helpers end some seconds after their last work, and at a purge, for they remember texts;
    later work starts new ones.
    """
    monkeypatch.setattr(helper_processes, "_IDLE_SECONDS", 0.5)
    helpers = HelperProcesses(2)
    for end in (lambda: None, clear_caches, helpers.close):
        assert [*helpers.map_ahead(abs, ((number, -number) for number in range(50)), 400)] == [
            (number, number) for number in range(50)
        ]
        last = asked[-1]
        end()
        wait_until(lambda last=last: last._process.poll() is not None, 10)
    assert len({id(helper) for helper in asked}) == 3


def test_small_work_starts_no_helper(asked: list[HelperProcess]) -> None:
    """What takes less time than a start is done here, and so is all where there may be no helper."""
    for helpers, size in ((HelperProcesses(2), 399), (HelperProcesses(1), 10_000)):
        assert [*helpers.map_ahead(double, ((number, number) for number in range(5)), size)] == [
            (number, 2 * number) for number in range(5)
        ]
    assert asked == []


def test_what_a_helper_remembers_is_used_again(
    monkeypatch: pytest.MonkeyPatch, asked: list[HelperProcess]
) -> None:
    """Work that builds on what was read before all goes to a helper that runs, however much waits
    there; other work is shared.
    """
    monkeypatch.setattr(helper_process, "_MAX_QUEUED", 0)
    helpers = HelperProcesses(2)
    inputs = [(number, -number) for number in range(50)]
    assert [*helpers.map_ahead(abs, inputs, 400, apart=True)] == [
        (number, number) for number in range(50)
    ]
    assert asked == []
    monkeypatch.setattr(helper_process, "_MAX_QUEUED", 2)
    assert [*helpers.map_ahead(abs, inputs[:1], 400)] == [(0, 0)]
    assert len(asked) == 1
    monkeypatch.setattr(helper_process, "_MAX_QUEUED", 0)
    assert [*helpers.map_ahead(abs, inputs, 400)] == [
        *helpers.map_ahead(abs, inputs, 400, apart=True)
    ]
    assert len(asked) == 51
    helpers.close()
