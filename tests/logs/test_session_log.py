"""What the safety log and the feedback on sessions have in common:
records kept once, listed by day, dropped by age.
"""

from __future__ import annotations

import ast
import os
import re
import stat
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from datetime import UTC, date, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest
from tests.store import postgres

import engrams
from engrams import admin
from engrams.core.log_enums import LogWriteOutcome
from engrams.errors import InputError, StoreError
from engrams.logs import CrisisLog, FeedbackLog
from engrams.settings import Settings
from engrams.testing import SettableClock

Log = CrisisLog | FeedbackLog
HOSTILE = (
    "../x",
    "a\0b",
    "\ud800",
    "\u202egnp",
    "🦊",
    "会话",
    "x" * 100_000,
    "user/other",
    "' OR 1=1 --",
)


def noted(log: Log, session: str = "s1", **more: Any) -> LogWriteOutcome | None:
    """One record in either log."""
    if isinstance(log, CrisisLog):
        return log.append_once(session, classifier="rules", severity="high", **more)
    return log.add(session, "positive", **more)


@pytest.fixture
def clock() -> SettableClock:
    return SettableClock("2026-03-10T08:00")


@pytest.fixture(params=["safety", "feedback"])
def which(request: pytest.FixtureRequest) -> str:
    return str(request.param)


_SERVED = (
    pytest.mark.postgres,
    pytest.mark.skipif(not postgres.INSTALLED, reason=postgres.MISSING),
)


@pytest.fixture(params=["home", pytest.param("postgres", marks=_SERVED)])
def place(request: pytest.FixtureRequest, home: Path) -> dict[str, Any]:
    """Settings of each place where a log is kept: files of a home, or a fleet's tables."""
    return {
        "home": str(home),
        "store": {"url": postgres.empty_database() if request.param == "postgres" else ""},
    }


@pytest.fixture
def filed(which: str, home: Path, clock: SettableClock) -> Iterator[Callable[..., Log]]:
    """Opens the log of the home as a new process would."""
    with ExitStack() as stack:
        yield open_as(which, {"home": str(home)}, clock, stack)


@pytest.fixture
def opened(which: str, place: dict[str, Any], clock: SettableClock) -> Iterator[Callable[..., Log]]:
    """Opens the log as a new process would, wherever it is kept."""
    with ExitStack() as stack:
        yield open_as(which, place, clock, stack)


def open_as(
    which: str, place: dict[str, Any], clock: SettableClock, stack: ExitStack
) -> Callable[..., Log]:
    def make(**more: Any) -> Log:
        open_log = getattr(admin, f"open_{which}_log")
        log: Log = open_log(Settings.model_validate({**place, **more}), clock)
        stack.callback(log.close)
        return log

    return make


@pytest.fixture
def log(opened: Callable[..., Log]) -> Log:
    return opened()


@pytest.fixture
def file_log(filed: Callable[..., Log]) -> Log:
    return filed()


def test_nothing_is_there_before_the_first_record(log: Log, home: Path) -> None:
    """Opening, listing, purging and sweeping make no file."""
    assert (log.list(), log.list(session="s1"), log.purge(date(2030, 1, 1)), log.sweep()) == (
        (),
        (),
        0,
        0,
    )
    assert not home.exists()


def test_only_its_owner_may_look(file_log: Log, home: Path) -> None:
    """The home and its folder are closed to others, and so are the database and the key of the
    hashes.
    """
    noted(file_log)
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in (home, *home.rglob("*"))}
    assert modes.pop("home") == modes.pop("ledgers") == 0o700
    assert set(modes.values()) == {0o600} and {"session.key"} < set(modes)


def test_newest_first_and_only_what_is_asked_for(log: Log, clock: SettableClock) -> None:
    """Records are filtered by owner (what is below one is theirs), by session, by day or days, and
    cut at the limit.
    """
    for number in range(4):
        noted(
            log,
            f"s{number % 2}",
            owner=("user/ann", "user/ann/user/tom", "user/anna", "")[number],
            id=str(number),
        )
        clock.forward(hours=9)
    times = [record.at for record in log.list()]
    assert times == sorted(times, reverse=True) and times[-1] == datetime(
        2026, 3, 10, 8, tzinfo=UTC
    )
    assert [record.owner for record in log.list()] == [
        None,
        "user/anna",
        "user/ann/user/tom",
        "user/ann",
    ]
    assert [record.owner for record in log.list(owner="user/ann")] == [
        "user/ann/user/tom",
        "user/ann",
    ]
    assert [record.owner for record in log.list(session="s0")] == ["user/anna", "user/ann"]
    assert len(log.list(day=date(2026, 3, 10))) == 2 and len(log.list(day=date(2026, 3, 11))) == 2
    assert len(log.list(since=date(2026, 3, 11), until=date(2026, 3, 11))) == 2
    assert len(log.list(until=date(2026, 3, 10))) == 2 and log.list(until=date(2026, 3, 9)) == ()
    assert len(log.list(limit=1)) == 1 and log.list(limit=0) == log.list(limit=-1) == ()


def test_a_session_cannot_be_guessed_back(
    filed: Callable[..., Log], home: Path, tmp_path: Path
) -> None:
    """Its hash is the same in one home, after a restart too, another one in another home, and in no
    file is its name.
    """
    for number in "12":
        noted(filed(), "therapy with dr. vale", id=number)
    other = filed(home=tmp_path / "other")
    noted(other, "therapy with dr. vale")
    mine, again, theirs = *(record.session for record in filed().list()), other.list()[0].session
    assert mine == again != theirs
    assert re.fullmatch(r"[0-9a-f]{32}", mine)
    assert all(b"vale" not in path.read_bytes() for path in home.rglob("*") if path.is_file())


def test_an_id_is_kept_once_for_an_owner(
    opened: Callable[..., Log], clock: SettableClock, home: Path
) -> None:
    """The same id again is known, after a restart and whatever else it says;
    another owner's is another; the id is not in a file.
    """
    assert noted(opened(), owner="user/ann", id="s1:turn-7") is LogWriteOutcome.STORED
    clock.forward(hours=1)
    assert noted(opened(), "s2", owner="user/ann", id="s1:turn-7") is LogWriteOutcome.KNOWN
    assert noted(opened(), owner="user/bob", id="s1:turn-7") is LogWriteOutcome.STORED
    assert [record.owner for record in opened().list()] == ["user/bob", "user/ann"]
    assert all(b"turn-7" not in path.read_bytes() for path in home.rglob("*") if path.is_file())


def test_without_an_id_what_it_says_is_its_id(log: Log, clock: SettableClock) -> None:
    """The same of the same time is one record; of another time, session or owner it is another."""
    at = clock()
    assert [
        noted(log, at=at),
        noted(log, at=at),
        noted(log, at=at.astimezone(timezone(timedelta(hours=5)))),
    ] == [
        "stored",
        "known",
        "known",
    ]
    clock.forward(seconds=0.000001)
    assert [noted(log), noted(log, "s2"), noted(log, owner="user/ann")] == ["stored"] * 3


@pytest.mark.slow
def test_many_writers_keep_each_record_once(
    opened: Callable[..., Log], which: str, place: dict[str, Any]
) -> None:
    """Threads and other processes that begin where nothing is agree on one key, and each id is
    stored by exactly one of them.
    """
    first = opened()
    code = f"""
from tests.logs.test_session_log import noted
from engrams import admin
from engrams.settings import Settings
from engrams.testing import SettableClock
log = admin.open_{which}_log(Settings.model_validate({place!r}), SettableClock("2026-03-10T08:00"))
print(sum(noted(log, id=str(number)) == "stored" for number in range(40)))
"""
    start = [sys.executable, "-c", code]
    others = [
        subprocess.Popen(start, stdout=subprocess.PIPE, text=True, cwd=Path(__file__).parents[2])
        for _ in range(2)
    ]
    mine: list[LogWriteOutcome | None] = []
    threads = [
        threading.Thread(
            target=lambda: mine.extend([noted(first, id=str(number)) for number in range(40)])
        )
        for _ in range(3)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    told = [int(other.communicate(timeout=60)[0]) for other in others]
    assert (
        mine.count(LogWriteOutcome.STORED) + sum(told) == 40
        and mine.count(LogWriteOutcome.LOST) == 0
    )
    assert len({record.id for record in first.list(limit=100)}) == len(first.list(limit=100)) == 40
    assert len({record.session for record in first.list(limit=100)}) == 1


def find_connection(log: Log) -> object:
    """The connection, or the pool of them, that a log uses."""
    database = log._durable._database  # type: ignore[attr-defined]
    return getattr(database, "_open", None) or database._pool


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork")
def test_a_forked_process_writes_on_a_connection_of_its_own(log: Log) -> None:
    """What parent and child write after a fork is all there."""
    noted(log, id="before")
    parents = find_connection(log)
    child = os.fork()
    if child == 0:
        os._exit(
            0
            if noted(log, id="child") is LogWriteOutcome.STORED
            and find_connection(log) is not parents
            else 1
        )
    assert os.waitpid(child, 0)[1] == 0
    noted(log, id="parent")
    assert len(log.list()) == 3


def test_purging_keeps_the_day_that_is_named(
    opened: Callable[..., Log], clock: SettableClock
) -> None:
    """Every record of an earlier day goes, to its last microsecond;
    those on the day stay from its first. Twice is once.
    """
    for at in (
        "2026-03-08T12:00",
        "2026-03-08T23:59:59.999999",
        "2026-03-09T00:00",
        "2026-03-10T07:00",
    ):
        noted(opened(), at=datetime.fromisoformat(at).replace(tzinfo=UTC))
    assert [opened().purge(date(2026, 3, 9)), opened().purge(date(2026, 3, 9))] == [2, 0]
    assert [f"{record.at:%d %H}" for record in opened().list()] == ["10 07", "09 00"]


def test_what_is_purged_is_not_in_the_file(file_log: Log, home: Path) -> None:
    """An erased record's bytes are overwritten."""
    noted(file_log, owner="user/xanthippe")
    files = [path for path in home.rglob("*.db*") if path.is_file()]
    assert any(b"xanthippe" in path.read_bytes() for path in files)
    file_log.purge(date(2026, 3, 11))
    assert not any(b"xanthippe" in path.read_bytes() for path in home.rglob("*.db*"))


def test_what_is_too_old_goes_by_itself(
    opened: Callable[..., Log], clock: SettableClock, home: Path
) -> None:
    """A list never has it, and with the first record of a day, or a sweep, it is gone from the
    file.
    """
    few = {"safety": {"days": 3}, "feedback": {"days": 3}}
    noted(opened(**few), "s1")
    clock.forward(days=3)
    assert len(opened(**few).list()) == 1
    clock.forward(days=1)
    assert opened(**few).list() == () and len(opened().list()) == 1
    noted(opened(**few), "s2")
    assert len(opened().list()) == 1
    clock.forward(days=4)
    assert [opened(**few).sweep(), opened(**few).sweep()] == [1, 0]


def test_a_clock_that_goes_back_loses_nothing(log: Log, clock: SettableClock) -> None:
    """Records are of the day that the clock says."""
    for step in (0, -2, 3):
        clock.forward(days=step)
        assert noted(log) is LogWriteOutcome.STORED
    assert [record.at.day for record in log.list()] == [11, 10, 8]


@pytest.mark.parametrize("bad", HOSTILE, ids=[ascii(text[:12]) for text in HOSTILE])
def test_hostile_names_are_names(log: Log, bad: str) -> None:
    """Whatever a session, an owner or an id is called, it is kept, found again and kept once."""
    assert noted(log, bad, owner=f"user/{bad}", id=bad) is LogWriteOutcome.STORED
    assert noted(log, bad, owner=f"user/{bad}", id=bad) is LogWriteOutcome.KNOWN
    assert len(log.list(session=bad)) == len(log.list(owner=f"user/{bad}")) == 1
    assert log.list(session=bad + "x") == log.list(owner="user/%") == log.list(owner="use") == ()


@pytest.mark.parametrize("session", ["", " \n"])
def test_a_record_is_about_a_session(log: Log, session: str) -> None:
    """Without one it is refused."""
    with pytest.raises(InputError, match="session"):
        noted(log, session)


def test_a_log_that_cannot_be_written_fails_nobody(
    filed: Callable[..., Log], home: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """A file in its folder's place, or a database that is none: the record is lost, counted and
    told in the program's log without whom it was about; what was damaged is an error to whoever
    lists it.
    """
    home.mkdir()
    (home / "ledgers").write_text("a file in its place")
    log = filed()
    assert [noted(log, "s-secret", owner="user/xanthippe"), noted(log, "s2")] == [
        LogWriteOutcome.LOST,
        LogWriteOutcome.LOST,
    ]
    assert log.lost == 2
    assert (
        "cannot be written" in caplog.text
        and "xanth" not in caplog.text
        and "s-secret" not in caplog.text
    )
    (home / "ledgers").unlink()
    assert noted(log) is LogWriteOutcome.STORED
    log.close()
    (base,) = (home / "ledgers").glob("*.db")
    base.write_bytes(b"no database at all" * 1000)
    broken = filed()
    assert noted(broken) is LogWriteOutcome.LOST and broken.lost == 1
    with pytest.raises(StoreError) as problem:
        broken.list()
    assert problem.value.hint


def test_a_key_that_a_crash_cut_short_is_completed(filed: Callable[..., Log], home: Path) -> None:
    """Half a key is no key: the rest is added, and every process has the same."""
    (home / "ledgers").mkdir(parents=True)
    (home / "ledgers" / "session.key").write_bytes(b"half")
    noted(filed(), id="1")
    noted(filed(), id="2")
    assert len({record.session for record in filed().list()}) == 1
    assert (home / "ledgers" / "session.key").read_bytes().startswith(b"half")


@pytest.mark.covers("S4.39")
@pytest.mark.parametrize(
    "bare", [{"incognito": True}, {"store": {"url": ":memory:"}}], ids=["incognito", "engine"]
)
def test_where_memory_is_in_this_process_so_is_the_log(
    opened: Callable[..., Log], home: Path, bare: dict[str, Any]
) -> None:
    """No file is made, nobody is named, the rest works alike, and the next process knows of
    nothing.
    """
    log = opened(**bare)
    assert [noted(log, owner="user/ann", id="1"), noted(log, owner="user/ann", id="1")] == [
        LogWriteOutcome.STORED,
        LogWriteOutcome.KNOWN,
    ]
    (record,) = log.list(session="s1")
    assert record.owner is None and log.list(owner="user/ann") == ()
    assert not home.exists()
    assert opened(**bare).list() == ()
    assert log.purge(date(2026, 3, 11)) == 1 and log.list() == ()


@pytest.mark.covers("S4.39")
def test_an_incognito_session_of_a_home_leaves_no_trace(
    opened: Callable[..., Log], home: Path
) -> None:
    """Its record is nobody's, in this process only, beside those on disk;
    its hash is not the one that the home gives.
    """
    log = opened()
    noted(log, owner="user/ann", incognito=True)
    assert not home.exists()
    noted(log, owner="user/ann")
    assert [record.owner for record in log.list(session="s1")] in (
        [None, "user/ann"],
        ["user/ann", None],
    )
    assert len({record.session for record in log.list()}) == 2
    assert [record.owner for record in opened().list()] == ["user/ann"]


@pytest.mark.covers("S4.54")
@pytest.mark.slow
def test_memory_and_the_logs_know_nothing_of_each_other() -> None:
    """The logs and what they share import nothing that reads, writes or renders memory; and of all
    the package only `build` and its part for fleets import them.
    """
    root = Path(engrams.__file__).parent
    logs = ("engrams.logs",)
    allowed = (
        *logs,
        "engrams.core.clock",
        "engrams.encryption",
        "engrams.errors",
        "engrams.frozen_data",
        "engrams.ports",
        "engrams.settings",
        "engrams.core.log_enums",
    )
    for path in root.rglob("*.py"):
        names = {
            name
            for node in ast.walk(ast.parse(path.read_text("utf-8")))
            for name in _imported(node)
            if name.startswith("engrams")
        }
        place = path.relative_to(root)
        if place.parts[0] == "logs":
            assert not {name for name in names if not name.startswith(allowed)}, place
        elif place.parts[0] != "admin.py":
            assert not {name for name in names if name.startswith(logs)}, place


def _imported(node: ast.AST) -> list[str]:
    match node:
        case ast.ImportFrom():
            return [
                f"{node.module}.{each.name}" if node.module == "engrams" else node.module or ""
                for each in node.names
            ]
        case ast.Import():
            return [each.name for each in node.names]
        case _:
            return []
