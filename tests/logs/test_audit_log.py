"""The audit log: a line per event, a file per day, kept fourteen days, for nobody's prompt."""

from __future__ import annotations

import json
import stat
import subprocess
import sys
import threading
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import pytest
from tests.fleet_places import Place
from tests.surfaces.fleet import eventually

from engrams import admin
from engrams.errors import StoreError
from engrams.logs import AuditLog, audit_log
from engrams.logs.audit_files import AuditEventFiles
from engrams.ports import AuditEventBatch, AuditLogEntry
from engrams.settings import Settings
from engrams.testing import SettableClock


@pytest.fixture
def clock() -> SettableClock:
    return SettableClock("2026-03-10T08:00")


@pytest.fixture
def log(tmp_path: Path, clock: SettableClock) -> AuditLog:
    """A log in files."""
    return AuditLog(AuditEventFiles(tmp_path / "audit"), clock, 14)


@pytest.fixture
def any_log(place: Place, clock: SettableClock) -> AuditLog:
    """A log in files, and one in tables."""
    return place.open_log(clock)


@pytest.mark.covers("S3.71")
def test_a_file_per_day_kept_fourteen_days(
    log: AuditLog, clock: SettableClock, tmp_path: Path
) -> None:
    """Each day has its file; on the fifteenth the first is gone, and what else lies there stays."""
    (tmp_path / "audit").mkdir()
    (tmp_path / "audit" / "notes.txt").write_text("mine")
    for _ in range(15):
        log.note("memory.add", owner="user/ann")
        clock.forward(days=1)
    assert log.days() == tuple(f"2026-03-{day:02}" for day in range(11, 25))
    assert (tmp_path / "audit" / "notes.txt").read_text() == "mine"


def test_nothing_is_there_before_the_first_event(log: AuditLog, tmp_path: Path) -> None:
    """Opening and reading a log makes no file."""
    assert (log.entries(), log.days()) == ((), ())
    assert not (tmp_path / "audit").exists()


def test_newest_first_and_only_what_is_asked_for(place: Place, clock: SettableClock) -> None:
    """Events of two processes are filtered by owner, action and day, and cut at the limit;
    any process lists them whole.
    """
    logs = place.open_log(clock), place.open_log(clock)
    for number in range(4):
        logs[number % 2].note(
            "memory.add" if number % 2 else "memory.purge",
            owner=f"user/{number // 2}",
            target=str(number),
            number=7,
        )
        clock.forward(hours=9)
    for one in logs:
        one.flush()
    for log in (*logs, place.open_log(clock)):
        assert [entry.target for entry in log.entries()] == ["3", "2", "1", "0"]
        assert [entry.target for entry in log.entries(owner="user/0")] == ["1", "0"]
        assert [entry.target for entry in log.entries(action="memory.p")] == ["2", "0"]
        assert [entry.target for entry in log.entries(action="mem")] == ["3", "2", "1", "0"]
        assert [
            entry.target for entry in log.entries(action="memory.p", day=date(2026, 3, 11), limit=5)
        ] == ["2"]
        assert [entry.target for entry in log.entries(owner="user/1", action="memory.a")] == ["3"]
        assert (
            log.entries(action="n") == log.entries(action="k") == log.entries(owner="user/2") == ()
        )
        assert [entry.target for entry in log.entries(day=date(2026, 3, 11))] == ["3", "2"]
        assert [entry.target for entry in log.entries(limit=1)] == ["3"]
        assert log.days() == ("2026-03-10", "2026-03-11")
        entry = AuditLogEntry(
            at="2026-03-11T11:00:00+00:00",
            action="memory.add",
            actor="local",
            owner="user/1",
            target="3",
            outcome="done",
            number=7,
        )
        assert log.entries(limit=1) == (entry,)


def test_what_is_too_old_is_erased(any_log: AuditLog, clock: SettableClock) -> None:
    """A sweep leaves the last fourteen days, the current one among them."""
    for _ in range(20):
        any_log.note("memory.add", owner="user/ann")
        clock.forward(days=1)
    clock.back(days=1)
    any_log.flush()
    any_log.sweep()
    assert any_log.days() == tuple(f"2026-03-{day:02}" for day in range(16, 30))
    assert len(any_log.entries()) == 14


def test_an_end_writes_what_waits(place: Place, clock: SettableClock) -> None:
    """A process that ends right after an event has written it, and nothing twice;
    ending twice is no error.
    """
    for number in range(3):
        log = place.open_log(clock)
        log.note("key.add", target=str(number))
        log.close()
        log.close()
    assert sorted(entry.target for entry in place.open_log(clock).entries()) == ["0", "1", "2"]


def test_events_are_written_within_a_second(place: Place, clock: SettableClock) -> None:
    """Nobody has to ask for it."""
    place.open_log(clock).note("memory.add")
    other = place.open_log(clock)
    eventually(lambda: len(other.entries()) == 1, 10)


def test_long_days_are_read_from_their_end(any_log: AuditLog) -> None:
    """A file of many blocks gives every line once, in order;
    so does a table, of events of one moment.
    """
    for number in range(3000):
        any_log.note("memory.add", owner="user/" + "x" * 50, target=str(number))
    assert [int(entry.target) for entry in any_log.entries(limit=5000)] == list(range(2999, -1, -1))


def test_a_line_that_a_crash_cut_off_is_passed_over(log: AuditLog, tmp_path: Path) -> None:
    """What comes before and after it is read."""
    log.note("a")
    with (tmp_path / "audit" / "2026-03-10.jsonl").open("ab") as file:
        file.write(b'{"at": "2026-03\n{"other": 1}\n\xff\xfe\n')
    log.note("b")
    assert [entry.action for entry in log.entries()] == ["b", "a"]


def test_many_writers_lose_nothing(any_log: AuditLog, place: Place) -> None:
    """Threads, and another process on the same memory, write whole events, also the same one at the
    same moment.
    """
    log = any_log
    code = f"""
from engrams import admin
from engrams.settings import load
from engrams.testing import SettableClock
settings = load({{"home": {str(place.settings.home)!r}, "store.url": {place.settings.store.url!r}}}).settings
log = admin.open_audit_log(settings, SettableClock("2026-03-10T08:00"))
for number in range(300):
    log.note("there", target=str(number))
log.close()
"""
    other = subprocess.Popen([sys.executable, "-c", code])
    threads = [
        threading.Thread(target=lambda: [log.note("here") for _ in range(100)]) for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert other.wait(60) == 0
    actions = [entry.action for entry in log.entries(limit=1000)]
    assert (actions.count("here"), actions.count("there")) == (400, 300)


def test_only_its_owner_may_read_it(log: AuditLog, tmp_path: Path) -> None:
    """Folder and files are closed to others."""
    log.note("a")
    modes = [
        stat.S_IMODE(path.stat().st_mode)
        for path in (tmp_path / "audit", tmp_path / "audit" / "2026-03-10.jsonl")
    ]
    assert modes == [0o700, 0o600]


def test_hostile_words_come_back(any_log: AuditLog) -> None:
    """Line ends, NUL and very long ids are kept as they are;
    a lone surrogate may be a question mark.
    """
    targets = ["a\nb", "\0", "\ud800", "\u202e", "\x01\x02", "x" * 10_000]
    for target in targets:
        any_log.note("a", target=target, request=target)
    kept = [entry.target.replace("\ud800", "?") for entry in reversed(any_log.entries())]
    assert kept == [target[:200].replace("\ud800", "?") for target in targets]
    assert any_log.lost == 0


def test_hostile_words_stay_one_line(log: AuditLog, tmp_path: Path) -> None:
    """Line ends, NUL, lone surrogates and very long ids neither break the file nor the reading."""
    targets = ["a\nb", "\0", "\ud800", "\u202e", "x" * 10_000]
    for target in targets:
        log.note("a", target=target)
    assert [entry.target for entry in reversed(log.entries())] == [
        target[:200] for target in targets
    ]
    lines = (tmp_path / "audit" / "2026-03-10.jsonl").read_bytes().splitlines()
    assert all(json.loads(line) for line in lines) and len(lines) == 5


def test_a_log_that_cannot_be_written_fails_nobody(
    tmp_path: Path, clock: SettableClock, caplog: pytest.LogCaptureFixture
) -> None:
    """What it missed is counted and told in the program's own log; the event goes on."""
    (tmp_path / "audit").write_text("a file in its place")
    log = AuditLog(AuditEventFiles(tmp_path / "audit"), clock, 14)
    log.note("memory.add", owner="user/ann")
    assert log.lost == 1
    assert "audit log" in caplog.text and "user/" not in caplog.text


class StallingTable:
    """Events at a server that does not answer until it is let go, or that takes a batch and loses
    its answer.
    """

    is_remote = True

    def __init__(self) -> None:
        self.fails = True
        self.written = dict[int, str]()
        self.answers_late = False

    def append_events(self, batch: AuditEventBatch) -> None:
        if not self.fails or self.answers_late:
            self.written |= {
                batch.number + place: entry.target for place, entry in enumerate(batch.entries)
            }
        if self.fails:
            raise StoreError("It does not answer.")

    def close(self) -> None:
        pass


@pytest.fixture
def stalling(clock: SettableClock) -> tuple[Any, AuditLog]:
    table: Any = StallingTable()
    return table, AuditLog(table, clock, 14)


@pytest.mark.parametrize("late", [False, True])
def test_events_wait_for_a_server_that_is_away(
    stalling: tuple[Any, AuditLog], late: bool, caplog: pytest.LogCaptureFixture
) -> None:
    """While it is away nobody is told but the program's log, once; when it is back each event is
    written once and in order, also where it had taken some and its answer was lost.
    """
    table, log = stalling
    table.answers_late = late
    for number in range(1200):
        log.note("a", target=str(number))
        if number % 400 == 0:
            assert not log.flush()
    table.fails = False
    assert log.flush()
    assert [table.written[number] for number in sorted(table.written)] == [
        str(number) for number in range(1200)
    ]
    assert (log.lost, len(caplog.records)) == (0, 1)
    log.close()


def test_what_never_went_to_a_server_is_counted(
    stalling: tuple[Any, AuditLog], monkeypatch: pytest.MonkeyPatch
) -> None:
    """No more than a bound of events waits;
    those beyond it, and at the end those that wait, are lost and counted.
    """
    table, log = stalling
    monkeypatch.setattr(audit_log, "_MAX_WAITING", 10)
    for number in range(15):
        log.note("a", target=str(number))
    assert log.lost >= 4
    log.close()
    assert log.lost == 15
    log.note("a")
    assert log.lost == 16 and table.written == {}


def test_a_clock_that_goes_back(any_log: AuditLog, clock: SettableClock) -> None:
    """Events go to the day that the clock says; none is lost."""
    log = any_log
    log.note("a")
    clock.back(days=2)
    log.note("b")
    clock.forward(days=2)
    log.note("c")
    assert {entry.action for entry in log.entries()} == {"a", "b", "c"}


@pytest.mark.covers("S4.39")
def test_incognito_leaves_no_file(tmp_path: Path, clock: SettableClock) -> None:
    """Where memory is in this process only, so is the log."""
    for settings in (
        Settings(home=tmp_path, incognito=True),
        Settings.model_validate({"home": tmp_path, "store": {"url": ":memory:"}}),
    ):
        log = admin.open_audit_log(settings, clock)
        log.note("memory.add", owner="user/ann")
        assert [
            entry.action for entry in log.entries(day=datetime(2026, 3, 10, tzinfo=UTC).date())
        ] == ["memory.add"]
    assert list(tmp_path.iterdir()) == []


def test_reads_wait_for_each_other_in_order(
    log: AuditLog, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A change is on disk at once, after the reads before it;
    the last ones are when the log ends.
    """
    monkeypatch.setattr(audit_log, "_FILE_SECONDS", 60)
    file = tmp_path / "audit" / "2026-03-10.jsonl"
    log.note("memory.search", can_wait=True)
    assert not file.exists()
    log.note("memory.add")
    assert [json.loads(line)["action"] for line in file.read_text().splitlines()] == [
        "memory.search",
        "memory.add",
    ]
    log.note("memory.search", can_wait=True)
    log.note("memory.context", can_wait=True)
    assert len(file.read_text().splitlines()) == 2
    log.close()
    assert [json.loads(line)["action"] for line in file.read_text().splitlines()[2:]] == [
        "memory.search",
        "memory.context",
    ]


def test_reads_do_not_wait_for_the_end(
    tmp_path: Path, clock: SettableClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They are written within a tenth of a second, by themselves."""
    events = AuditEventFiles(tmp_path / "audit")
    written = threading.Event()
    append = events.append_events
    monkeypatch.setattr(events, "append_events", lambda batch: (append(batch), written.set()))
    log = AuditLog(events, clock, 14)
    log.note("memory.search", can_wait=True)
    assert written.wait(30)
    assert (tmp_path / "audit" / "2026-03-10.jsonl").read_text().count("memory.search") == 1
    log.close()
