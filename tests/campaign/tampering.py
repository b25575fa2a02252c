"""Edits of a home behind its back, each followed by all reads and by the doctor:
``python -m tests.campaign --at tampering``.

An edit changes one row of a table, one byte or one file. It must be noticed by a read (an error, a
warning in the log, or an entry of the history that names an edit by hand) or by the doctor, unless
it changes nothing that is stored.
"""

from __future__ import annotations

import json
import logging
import random
import shutil
import tomllib
from collections.abc import Iterator
from contextlib import closing, redirect_stderr, redirect_stdout, suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import partial
from io import StringIO
from pathlib import Path
from typing import Any

import apsw
from tests.campaign.series import Result

import engrams
from engrams import Turn
from engrams.api_keys import ApiKeyStore
from engrams.core import Scope, Status
from engrams.errors import EngramsError
from engrams.logs.audit_files import AuditEventFiles
from engrams.ports import AuditEventBatch, AuditLogEntry
from engrams.program.main import main
from engrams.store.sql import index_cache

OWNERS = (("user", "alice"), ("user", "bob"))
SETTINGS: dict[str, Any] = {"jobs__workers": 0, "audit__reads": True}
VAULT: dict[str, Any] = {"vault__enabled": True, "vault__git": False}
CONFIG = "[quota]\nrecords = 5000\n\n[audit]\nreads = true\n"
QUESTIONS = ("Where do I live?", "Which box is in room 3?", "What do I like?")
SKIPPED = ("memory.db-shm", "engrams.lock", "lock")
"""Files that hold nothing: SQLite makes its index of the log anew."""
UNSEALED = ("vault/",)
"""Files without a seal: those that a person may edit."""
_USES = ("access_count", "last_accessed")
"""Columns of memories that reads change: nothing holds them."""
_TRIALS = 500
"""Edits of a series, on one pair of homes."""
_BY_HAND = "actor='hand'"
"""Words of a change that a person made in a file."""


@dataclass(frozen=True)
class Tampering:
    """One edit: what it did, and where."""

    way: str
    place: str
    """Table or file."""
    detail: str = ""


@dataclass(frozen=True)
class Verdict:
    """What came of an edit."""

    edit: Tampering
    outcome: str
    """noticed, without effect, unnoticed, silent (a read gave another answer without a word), or
    crash: an error without words.
    """
    detail: str = ""


def keep_small_indexes() -> None:
    """Keep indexes in files from forty records on, as a large memory does."""
    index_cache._MIN_ROWS = 40  # type: ignore[misc]
    if not isinstance(index_cache._CachedIndex, partial):
        index_cache._CachedIndex = partial(index_cache._CachedIndex, due=40)  # type: ignore[misc, assignment]


def fill(home: Path, settings: dict[str, Any]) -> datetime:
    """Make a home with something in every table; return a moment in its past."""
    home.mkdir(parents=True)
    (home / "config.toml").write_text(CONFIG, "utf-8")
    past = datetime.now(UTC)
    with engrams.open(home=home, **settings) as memory:
        for scope in OWNERS:
            name = scope[1]
            memory.add("I live in Paris.", scope=scope)
            memory.add("Always answer in short sentences.", scope=scope)
            memory.observe(
                [
                    Turn(f"Hello, I am {name} and I like tea.", session="s1"),
                    Turn("Noted.", role="assistant", session="s1"),
                ],
                scope=scope,
            )
            boxes = [
                memory.add(f"Box {number} is in room {number % 7}.", scope=scope, settle=False).id
                for number in range(22)
            ]
            memory.edit(boxes[0], scope=scope, text="Box 0 is in room 5 now.")
            memory.forget(boxes[1], scope=scope)
            memory.purge([boxes[2]], scope=scope)
            past = datetime.now(UTC)
            memory.add("I moved to Lima.", scope=scope)
            memory.search("Which box is in room 3?", scope=scope)
            memory.context("Where do I live?", scope=scope)
            memory.drain(20)
        memory.observe([Turn("My bank is Nordbank.", session="s2")], scope=OWNERS[0])
        if memory.vault is not None:
            memory.vault.sync()
    keys = ApiKeyStore.open(home)
    now = datetime.now(UTC)
    for scope, rights in zip(OWNERS, (("read", "write"), ("read",)), strict=True):
        keys.add(f"key of {scope[1]}", Scope.parse("/".join(scope)), rights, now)
    log = AuditEventFiles(home / "audit")
    moments = [(now + timedelta(seconds=second)).isoformat() for second in range(20)]
    entries = [AuditLogEntry(at=at, action="memory.add", owner="user/alice") for at in moments]
    log.append_events(AuditEventBatch(tuple(entries), 1))
    log.close()
    # The owners' second search loads the files of their indexes.
    read_all(home, settings, past)
    run_doctor(home, settings)  # notes the settings that guard
    return past


def read_all(home: Path, settings: dict[str, Any], past: datetime) -> dict[str, Any]:
    """Read all that a home tells its owners."""
    answers: dict[str, Any] = {}
    with engrams.open(home=home, **settings) as memory:
        if memory.vault is not None:
            memory.vault.sync()
        for scope in OWNERS:
            records = memory.list(scope=scope, statuses=tuple(Status), limit=500).records
            told: dict[str, Any] = {"records": [_describe(record) for record in records]}
            told["history"] = [
                [record.id, [str(entry) for entry in memory.history(record.id, scope=scope)]]
                for record in records
            ]
            told["searches"] = [
                sorted(hit.record.id for hit in memory.search(question, scope=scope, limit=99).hits)
                for question in QUESTIONS
            ]
            then = memory.search(QUESTIONS[0], scope=scope, as_of=past, limit=99).hits
            told["then"] = sorted(hit.record.id for hit in then)
            told["contexts"] = [
                memory.context(question, scope=scope).text for question in QUESTIONS
            ]
            told["counts"] = str(memory.stats(scope))
            answers[scope[1]] = told
    log = AuditEventFiles(home / "audit")
    answers["audit"] = [str(entry) for day in log.list_days() for entry in log.iter_day(day)]
    answers["keys"] = [str(key) for key in ApiKeyStore.open(home).list()]
    return answers


def _describe(record: Any) -> str:
    fields = {
        name: str(getattr(record, name))
        for name in record.__slots__
        if name not in ("access_count", "last_accessed")
    }
    return json.dumps(fields, sort_keys=True)


def run_doctor(home: Path, settings: dict[str, Any]) -> list[str]:
    """Run the doctor as a person does; return what is wrong."""
    pairs = [f"{name.replace('__', '.')}={value}" for name, value in settings.items()]
    words = [word for pair in pairs for word in ("--set", pair.lower())]
    out, errors = StringIO(), StringIO()
    with redirect_stdout(out), redirect_stderr(errors):
        code = main(["doctor", "--json", "--offline", "--home", str(home), *words])
    if not out.getvalue():
        return [f"code {code}: {errors.getvalue()}"]
    checks = json.loads(out.getvalue().splitlines()[-1])["checks"]
    return [
        f"{check['name']}: {check['detail']}"
        for check in checks
        if check["state"] in ("warn", "fail") or "repaired" in check["detail"]
    ]


class _Warnings(logging.Handler):
    """Warnings of the log, in a list."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.texts: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.texts.append(record.getMessage())


class TamperedHome:
    """A sound home, and copies of it that are edited."""

    def __init__(self, folder: Path, *, vault: bool) -> None:
        self.folder = folder
        self.sound = folder / "sound"
        self.edited = folder / "edited"
        self.settings = {**SETTINGS, **(VAULT if vault else {})}
        self.past = fill(self.sound, self.settings)
        self._copy()
        self.answers, told = self._look()
        self.doctor = run_doctor(self.edited, self.settings)
        self.stored = self._read_stored(self.sound)
        assert not told, told

    def _copy(self) -> None:
        shutil.rmtree(self.edited, ignore_errors=True)
        shutil.copytree(self.sound, self.edited)

    def list_files(self) -> list[Path]:
        """List the files of the home that hold anything, by their path within it."""
        return sorted(
            path.relative_to(self.sound)
            for path in self.sound.rglob("*")
            if path.is_file() and path.stat().st_size and path.name not in SKIPPED
        )

    def try_edit(self, dice: random.Random, way: str) -> Verdict:
        """Edit a copy in one of the ways ``row``, ``byte`` and ``file``, and look at it."""
        while True:
            self._copy()
            edit = getattr(self, f"_edit_{way}")(dice)
            if edit is not None:
                with suppress(apsw.Error, ValueError):
                    if self._read_stored(self.edited) == self.stored:
                        return Verdict(edit, "without effect")
                return self._judge(edit)

    def _edit_row(self, dice: random.Random) -> Tampering | None:
        table = dice.choice(list_tables(self.sound))
        with closing(edit_database(self.edited)) as connection:
            return edit_row(connection, table, dice)

    def _edit_byte(self, dice: random.Random) -> Tampering:
        name = dice.choice(self.list_files())
        path = self.edited / name
        data = bytearray(path.read_bytes())
        place = dice.randrange(len(data))
        data[place] ^= dice.randrange(1, 256)
        path.write_bytes(data)
        return Tampering("byte", _name_file(name), f"{name} at {place}")

    def _edit_file(self, dice: random.Random) -> Tampering | None:
        files = self.list_files()
        name = dice.choice(files)
        path = self.edited / name
        way = dice.choice(("delete", "empty", "cut", "exchange"))
        data = path.read_bytes()
        if way == "delete":
            path.unlink()
        elif way == "empty":
            path.write_bytes(b"")
        elif way == "cut":
            path.write_bytes(data[: dice.randrange(len(data))])
        else:
            others = [
                each for each in files if each.suffix == name.suffix and each.name != name.name
            ]
            if not others:
                return None
            content = (self.edited / dice.choice(others)).read_bytes()
            if content == data:
                return None
            path.write_bytes(content)
        return Tampering(way, _name_file(name), str(name))

    def _judge(self, edit: Tampering) -> Verdict:
        if new := [
            text for text in run_doctor(self.edited, self.settings) if text not in self.doctor
        ]:
            return Verdict(edit, "noticed", f"doctor: {new[0]}")
        answers, told = self._look()
        if told:
            outcome = "crash" if told[0].startswith("crash") else "noticed"
            return Verdict(edit, outcome, f"read: {told[0]}")
        difference = find_difference(self.answers, answers)
        if str(answers).count(_BY_HAND) > str(self.answers).count(_BY_HAND):
            return Verdict(edit, "noticed", f"history: {difference}")
        if difference:
            return Verdict(edit, "silent", difference)
        return Verdict(edit, "unnoticed")

    def _read_stored(self, home: Path) -> dict[str, Any]:
        """Read what a home stores, whatever its bytes are: rows, settings and files of a person.

        The files of a search index are made of the rows, and made anew where they are damaged.
        """
        stored: dict[str, Any] = {}
        with closing(edit_database(home)) as connection:
            for table in list_tables(self.sound):
                stored[table] = sorted(map(repr, connection.execute(f"SELECT * FROM {table}")))
        for name in self.list_files():
            path = home / name
            if name.parts[0] in ("audit", "keys", "seal.key", "vault"):
                stored[str(name)] = path.read_bytes() if path.exists() else None
        config = home / "config.toml"
        stored["config"] = tomllib.loads(config.read_text("utf-8")) if config.exists() else None
        return stored

    def _look(self) -> tuple[dict[str, Any], list[str]]:
        """Read everything; return it, and the warnings and errors that the reads gave."""
        handler = _Warnings()
        logger = logging.getLogger("engrams")
        logger.addHandler(handler)
        try:
            return read_all(self.edited, self.settings, self.past), handler.texts
        except EngramsError as problem:
            return {}, [*handler.texts, f"error: {problem.message}"]
        except Exception as problem:
            return {}, [f"crash: {problem!r}"]
        finally:
            logger.removeHandler(handler)


def edit_database(home: Path) -> apsw.Connection:
    """Open the database of a home as another program does."""
    return apsw.Connection(str(home / "memory.db"))


def list_tables(home: Path) -> list[str]:
    """List the tables with rows. SQLite's own one holds the last numbers that were given out."""
    with closing(edit_database(home)) as connection:
        names = [
            name
            for (name,) in connection.execute(
                "SELECT name FROM sqlite_master WHERE type = 'table'"
                " AND name NOT GLOB 'sqlite_*' ORDER BY name"
            )
        ]
        return [
            name for name in names if connection.execute(f"SELECT 1 FROM {name} LIMIT 1").fetchone()
        ]


def edit_row(connection: apsw.Connection, table: str, dice: random.Random) -> Tampering | None:
    """Change, take away or add a row of a table; None: it cannot be done so."""
    columns = [name for _, name, *_ in connection.execute(f"PRAGMA table_info({table})")]
    rows = connection.execute(f"SELECT * FROM {table}").fetchall()
    row = dice.choice(rows)
    found = " AND ".join(f"{name} IS ?" for name in columns)
    way = dice.choice(("change", "change", "change", "delete", "insert"))
    with suppress(apsw.ConstraintError):
        if way == "delete":
            connection.execute(f"DELETE FROM {table} WHERE {found}", row)
            return Tampering("delete row", table, str(row)[:80])
        place = dice.choice([at for at, name in enumerate(columns) if name not in _USES])
        value = draw_value(row[place], [each[place] for each in rows], dice)
        if value == row[place]:
            return None
        if way == "insert":
            forged = [*row[:place], value, *row[place + 1 :]]
            if table == "records":
                forged[0] += 100_000
            marks = ", ".join("?" * len(columns))
            connection.execute(f"INSERT INTO {table} VALUES ({marks})", forged)
            return Tampering("insert row", table, columns[place])
        connection.execute(f"UPDATE {table} SET {columns[place]} = ? WHERE {found}", (value, *row))
        return Tampering(
            "change row", f"{table}.{columns[place]}", f"{row[place]!r} -> {value!r}"[:120]
        )
    return None


def draw_value(value: Any, others: list[Any], dice: random.Random) -> Any:
    """Draw another value for a column: another row's, or a like one."""
    if dice.random() < 0.5:
        return dice.choice(others)
    if value is None:
        return dice.choice((None, 7))
    if isinstance(value, int):
        return value + dice.choice((-1, 1, 1000))
    if isinstance(value, float):
        return value / 2 + 0.1
    if isinstance(value, bytes):
        place = dice.randrange(len(value)) if value else 0
        return value[:place] + bytes([dice.randrange(256)]) + value[place + 1 :]
    for old, new in (("room", "hall"), ("Paris", "Rome"), ("tea", "rum"), ("alice", "bob")):
        if old in value:
            return value.replace(old, new)
    return f"{value}x"


def find_difference(sound: Any, other: Any, place: str = "") -> str:
    """Say where two answers differ first; empty: nowhere."""
    if isinstance(sound, dict) and isinstance(other, dict):
        for name in sound:
            if difference := find_difference(sound[name], other.get(name), f"{place}/{name}"):
                return difference
        return ""
    return "" if sound == other else f"{place}: {str(sound)[:300]} -> {str(other)[:300]}"


def _name_file(name: Path) -> str:
    """Name the kind of a file: its folder, or itself at the top."""
    return name.parts[0] + ("/" if len(name.parts) > 1 else "")


def is_sealed(edit: Tampering) -> bool:
    """True for an edit that must be noticed: of a row, or of a file with a seal."""
    return edit.place not in UNSEALED


def run_trials(folder: Path, seed: str, count: int) -> Iterator[Verdict]:
    """Try edits on a home without a vault, and on one with, in turn."""
    keep_small_indexes()
    dice = random.Random(seed)
    homes = [TamperedHome(folder / name, vault=name == "vault") for name in ("plain", "vault")]
    for number in range(count):
        home = homes[number % 4 == 3]
        way = dice.choices(("row", "byte", "file"), (5, 2, 1))[0]
        yield home.try_edit(dice, way)


def run_series(
    seed: str, place: Path, kept: Path, _upstream: str, only: str = ""
) -> Iterator[Result]:
    """Run edits in an empty folder; a result for each."""
    for verdict in run_trials(place, seed, _TRIALS):
        edit = verdict.edit
        kind = f"{edit.way}: {edit.place.partition('.')[0] if 'row' in edit.way else edit.place}"
        if not kind.startswith(only):
            continue
        what = f"{verdict.outcome}: {edit.place} {edit.detail}: {verdict.detail}"
        is_bad = verdict.outcome not in ("noticed", "without effect")
        yield Result(f"tampering: {kind}", what=what, unnoticed=[what] if is_bad else [])
