"""The audit log: a line per event, a file per day, kept fourteen days, for nobody's prompt."""

from __future__ import annotations

import json
import stat
import subprocess
import sys
import threading
from datetime import UTC, date, datetime
from pathlib import Path

import pytest

from engrams import build
from engrams.logs import AuditLog
from engrams.logs.auditfiles import AuditEventFiles
from engrams.settings import Settings
from engrams.testing import SettableClock


@pytest.fixture
def clock() -> SettableClock:
    return SettableClock("2026-03-10T08:00")


@pytest.fixture
def log(tmp_path: Path, clock: SettableClock) -> AuditLog:
    return AuditLog(AuditEventFiles(tmp_path / "audit"), clock, 14)


@pytest.mark.covers("S3.71")
def test_a_file_per_day_kept_fourteen_days(log: AuditLog, clock: SettableClock, tmp_path: Path) -> None:
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


def test_newest_first_and_only_what_is_asked_for(log: AuditLog, clock: SettableClock) -> None:
    """Events are filtered by owner, action and day, and cut at the limit."""
    for number in range(4):
        log.note("memory.add" if number % 2 else "memory.purge", owner=f"user/{number // 2}", target=str(number))
        clock.forward(hours=9)
    assert [entry.target for entry in log.entries()] == ["3", "2", "1", "0"]
    assert [entry.target for entry in log.entries(owner="user/0")] == ["1", "0"]
    assert [entry.target for entry in log.entries(action="memory.p")] == ["2", "0"]
    assert [entry.target for entry in log.entries(day=date(2026, 3, 11))] == ["3", "2"]
    assert [entry.target for entry in log.entries(limit=1)] == ["3"]


def test_long_days_are_read_from_their_end(log: AuditLog) -> None:
    """A file of many blocks gives every line once, in order."""
    for number in range(3000):
        log.note("memory.add", owner="user/" + "x" * 50, target=str(number))
    assert [int(entry.target) for entry in log.entries(limit=5000)] == list(range(2999, -1, -1))


def test_a_line_that_a_crash_cut_off_is_passed_over(log: AuditLog, tmp_path: Path) -> None:
    """What comes before and after it is read."""
    log.note("a")
    with (tmp_path / "audit" / "2026-03-10.jsonl").open("ab") as file:
        file.write(b'{"at": "2026-03\n{"other": 1}\n\xff\xfe\n')
    log.note("b")
    assert [entry.action for entry in log.entries()] == ["b", "a"]


def test_many_writers_lose_nothing(log: AuditLog, tmp_path: Path) -> None:
    """Threads, and another process on the same files, write whole lines."""
    code = f"""
from pathlib import Path
from engrams.logs import AuditLog
from engrams.logs.auditfiles import AuditEventFiles
from engrams.testing import SettableClock
log = AuditLog(AuditEventFiles(Path({str(tmp_path / "audit")!r})), SettableClock("2026-03-10T08:00"), 14)
for number in range(300):
    log.note("there", target=str(number))
"""
    other = subprocess.Popen([sys.executable, "-c", code])
    threads = [threading.Thread(target=lambda: [log.note("here") for _ in range(100)]) for _ in range(4)]
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
    modes = [stat.S_IMODE(path.stat().st_mode) for path in (tmp_path / "audit", tmp_path / "audit" / "2026-03-10.jsonl")]
    assert modes == [0o700, 0o600]


def test_hostile_words_stay_one_line(log: AuditLog, tmp_path: Path) -> None:
    """Line ends, NUL, lone surrogates and very long ids neither break the file nor the reading."""
    targets = ["a\nb", "\0", "\ud800", "\u202e", "x" * 10_000]
    for target in targets:
        log.note("a", target=target)
    assert [entry.target for entry in reversed(log.entries())] == [target[:200] for target in targets]
    lines = (tmp_path / "audit" / "2026-03-10.jsonl").read_bytes().splitlines()
    assert all(json.loads(line) for line in lines) and len(lines) == 5


def test_a_log_that_cannot_be_written_fails_nobody(tmp_path: Path, clock: SettableClock, caplog: pytest.LogCaptureFixture) -> None:
    """What it missed is counted and told in the program's own log; the event goes on."""
    (tmp_path / "audit").write_text("a file in its place")
    log = AuditLog(AuditEventFiles(tmp_path / "audit"), clock, 14)
    log.note("memory.add", owner="user/ann")
    assert log.lost == 1
    assert "audit log" in caplog.text and "user/" not in caplog.text


def test_a_clock_that_goes_back(log: AuditLog, clock: SettableClock) -> None:
    """Events go to the day that the clock says; none is lost."""
    log.note("a")
    clock.back(days=2)
    log.note("b")
    clock.forward(days=2)
    log.note("c")
    assert {entry.action for entry in log.entries()} == {"a", "b", "c"}


@pytest.mark.covers("S4.39")
def test_incognito_leaves_no_file(tmp_path: Path, clock: SettableClock) -> None:
    """Where memory is in this process only, so is the log."""
    for settings in (Settings(home=tmp_path, incognito=True), Settings.model_validate({"home": tmp_path, "store": {"url": ":memory:"}})):
        log = build.audit(settings, clock)
        log.note("memory.add", owner="user/ann")
        assert [entry.action for entry in log.entries(day=datetime(2026, 3, 10, tzinfo=UTC).date())] == ["memory.add"]
    assert list(tmp_path.iterdir()) == []
