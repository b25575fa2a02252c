"""Edits of a home behind its back, each followed by all reads and by the doctor:
``python -m tests.campaign --at tampering``.

An edit changes one or two rows of a table (``row_edits``), one byte or one file. It must be noticed
by a read (an error, a warning in the log, or an entry of the history that names an edit by hand) or
by the doctor, unless it changes nothing that is stored.
"""

from __future__ import annotations

import json
import logging
import random
import re
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
from tests.campaign.row_edits import (
    OlderRows,
    RowEdit,
    edit_database,
    edit_row,
    list_tables,
    read_rows,
)
from tests.campaign.series import Result
from tests.transfer.documents.media_files import make_wav

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
_UNDATED = ("memory.db", "memory.db-wal")
"""Files of which an older copy is not put back: without ``store.head_file`` nobody can tell."""
_TRIALS = 500
"""Edits of a series, on one pair of homes."""
_BY_HAND = "actor='hand'"
"""Words of a change that a person made in a file."""


@dataclass(frozen=True)
class Verdict:
    """What came of an edit."""

    edit: RowEdit
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


def fill(home: Path, settings: dict[str, Any], older: Path) -> datetime:
    """Make a home with something in every table, and a copy of it as it was before; return a moment
    in its past.
    """
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
        sound = home.with_name("bell.wav")
        sound.write_bytes(make_wav())
        memory.add_document(sound, scope=OWNERS[0])
        if memory.vault is not None:
            memory.vault.sync()
    _fill_files(home)
    _read_often(home, settings, past)
    shutil.copytree(home, older)
    with engrams.open(home=home, **settings) as memory:
        for scope in OWNERS:
            records = memory.list(scope=scope, limit=40).records
            memory.edit(records[3].id, scope=scope, text="Box 19 is in room 6 by now.")
            memory.forget(records[5].id, scope=scope)
            memory.purge([records[7].id], scope=scope)
            memory.add("My desk is by the window.", scope=scope)
            memory.drain(20)
        if memory.vault is not None:
            memory.vault.sync()
    _fill_files(home)
    _read_often(home, settings, past)
    return past


def _fill_files(home: Path) -> None:
    """Make keys of the API, and a log."""
    keys = ApiKeyStore.open(home)
    now = datetime.now(UTC)
    for scope, rights in zip(OWNERS, (("read", "write"), ("read",)), strict=True):
        keys.add(f"key of {scope[1]}", Scope.parse("/".join(scope)), rights, now)
    log = AuditEventFiles(home / "audit")
    moments = [(now + timedelta(seconds=second)).isoformat() for second in range(20)]
    entries = [AuditLogEntry(at=at, action="memory.add", owner="user/alice") for at in moments]
    log.append_events(AuditEventBatch(tuple(entries), 1))
    log.close()


def _read_often(home: Path, settings: dict[str, Any], past: datetime) -> None:
    """Load the files of indexes, which a second search does, and note the settings that guard."""
    read_all(home, settings, past)
    run_doctor(home, settings)


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
        self.older = folder / "older"
        self.past = fill(self.sound, self.settings, self.older)
        self.older_rows: OlderRows = read_rows(self.older)
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

    def _edit_row(self, dice: random.Random) -> RowEdit | None:
        table = dice.choice(list_tables(self.sound))
        with closing(edit_database(self.edited)) as connection:
            return edit_row(connection, table, dice, self.older_rows)

    def _edit_byte(self, dice: random.Random) -> RowEdit:
        name = dice.choice(self.list_files())
        path = self.edited / name
        data = bytearray(path.read_bytes())
        place = dice.randrange(len(data))
        data[place] ^= dice.randrange(1, 256)
        path.write_bytes(data)
        return RowEdit("byte", _name_file(name), f"{name} at {place}")

    def _edit_file(self, dice: random.Random) -> RowEdit | None:
        files = self.list_files()
        name = dice.choice(files)
        path = self.edited / name
        way = dice.choice(("delete", "empty", "cut", "exchange", "older", "word"))
        data = path.read_bytes()
        if way == "delete":
            path.unlink()
        elif way == "empty":
            path.write_bytes(b"")
        elif way == "cut":
            path.write_bytes(data[: dice.randrange(len(data))])
        elif way == "older":
            older = self.older / name
            if not older.exists() or name.name in _UNDATED or older.read_bytes() == data:
                return None
            path.write_bytes(older.read_bytes())
        elif way == "word":
            edited = change_word(data, dice)
            if edited is None:
                return None
            path.write_bytes(edited)
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
        return RowEdit(way, _name_file(name), str(name))

    def _judge(self, edit: RowEdit) -> Verdict:
        if new := [
            text for text in run_doctor(self.edited, self.settings) if text not in self.doctor
        ]:
            return Verdict(edit, "noticed", f"doctor: {new[0]}")
        answers, told = self._look()
        if told:
            outcome = "crash" if told[0].startswith("crash") else "noticed"
            return Verdict(edit, outcome, f"read: {told[0]}")
        difference = find_difference(self.answers, answers)
        if json.dumps(answers).count(_BY_HAND) > json.dumps(self.answers).count(_BY_HAND):
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


def change_word(data: bytes, dice: random.Random) -> bytes | None:
    """Change a word or a number of a text; None: it is no text."""
    try:
        text = data.decode()
    except UnicodeDecodeError:
        return None
    words = [*re.finditer(r"[A-Za-z]{3,}|\d+", text)]
    if not words:
        return None
    match = dice.choice(words)
    other = dice.choice(("hall", "9900", "false", "user/bob", match[0] + "s"))
    return f"{text[: match.start()]}{other}{text[match.end() :]}".encode()


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


def is_bad(verdict: Verdict) -> bool:
    """True where nobody was told of an edit: one that changes an answer, or one of a sealed file."""
    if verdict.edit.place in UNSEALED and verdict.outcome == "unnoticed":
        return False
    return verdict.outcome not in ("noticed", "without effect")


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
        yield Result(f"tampering: {kind}", what=what, unnoticed=[what] if is_bad(verdict) else [])
