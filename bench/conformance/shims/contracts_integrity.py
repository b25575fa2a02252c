"""Let the at-rest attacks of Agent Memory Integrity edit a home behind its back; a read must refuse."""

from __future__ import annotations

import json
import shutil
import tempfile
from contextlib import closing
from pathlib import Path
from typing import Any

import apsw
import pytest
from agmi.adapters.base import MemoryAdapter, Record
from agmi.attacks.at_rest import AT_REST_ATTACKS_WITH_SNAPSHOT

import engrams
from engrams.errors import StoreError

ANN = ("user", "ann")
BEN = ("user", "ben")
_COLUMNS = ("id", "owner", "text", "recorded_at")
_ROWS = "SELECT number, id, owner, text, recorded_at FROM records WHERE owner = ? ORDER BY id"


class EngramsAdapter(MemoryAdapter):
    """A home with its key and the head of memory outside of it; reads refuse what was altered."""

    name = "engrams"
    supports_replay = True
    supports_metadata = True
    supports_snapshot = True

    def setup(self) -> None:
        self._folder = Path(tempfile.mkdtemp())
        self._home = self._folder / "home"
        self._database = self._home / "memory.db"

    def teardown(self) -> None:
        shutil.rmtree(self._folder)

    def _open(self) -> engrams.MemoryEngine:
        return engrams.open(
            home=self._home,
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

    def _connect(self) -> apsw.Connection:
        return apsw.Connection(str(self._database))

    def _rows(self, scope: tuple[str, str]) -> list[Record]:
        with closing(self._connect()) as connection:
            rows = connection.execute(_ROWS, ("/".join(scope),)).fetchall()
        names = ("number", *_COLUMNS)
        return [Record(seq, dict(zip(names, row, strict=True))) for seq, row in enumerate(rows)]

    def read_all_raw(self) -> list[Record]:
        return self._rows(ANN)

    def read_other_raw(self) -> list[Record]:
        return self._rows(BEN)

    def write_raw(self, record: Record) -> None:
        rows = self._rows(ANN)
        if record.seq < len(rows):
            self._update(record.seq, "text", record.fields["text"])
            return
        with closing(self._connect()) as connection:
            names = [row[1] for row in connection.execute("PRAGMA table_info(records)")]
            query = "SELECT * FROM records WHERE number = ?"
            (row,) = connection.execute(query, (record.fields["number"],)).fetchall()
            forged = dict(zip(names, row, strict=True)) | {
                "number": row[0] + 1000,
                "id": record.fields["id"][:-4] + "zzzz",
                "text": record.fields["text"],
            }
            marks = ", ".join("?" * len(names))
            connection.execute(f"INSERT INTO records VALUES ({marks})", tuple(forged.values()))

    def _update(self, seq: int, column: str, value: Any) -> None:
        number = self._rows(ANN)[seq].fields["number"]
        with closing(self._connect()) as connection:
            connection.execute(f"UPDATE records SET {column} = ? WHERE number = ?", (value, number))

    def delete_raw(self, seq: int) -> None:
        number = self._rows(ANN)[seq].fields["number"]
        with closing(self._connect()) as connection:
            connection.execute("DELETE FROM records WHERE number = ?", (number,))

    def replay_onto(self, victim_seq: int, donor: Record) -> None:
        """Copy every column of the donor, its seal too, but those that name the victim's place."""
        number = self._rows(ANN)[victim_seq].fields["number"]
        with closing(self._connect()) as connection:
            names = [row[1] for row in connection.execute("PRAGMA table_info(records)")]
            copied = [name for name in names if name not in ("number", "id", "owner", "changed")]
            values = f"SELECT {', '.join(copied)} FROM records WHERE number = ?"
            (row,) = connection.execute(values, (donor.fields["number"],)).fetchall()
            places = ", ".join(f"{name} = ?" for name in copied)
            connection.execute(f"UPDATE records SET {places} WHERE number = ?", (*row, number))

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
        self._update(seq, "recorded_at", meta["recorded_at"] - 1_000_000)

    def snapshot_store(self) -> Path:
        copy = self._folder / "copy"
        shutil.copytree(self._home, copy)
        return copy

    def restore_store(self, token: Any) -> None:
        shutil.rmtree(self._home)
        shutil.copytree(token, self._home)

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
def test_a_read_refuses_an_edit(attack: Any) -> None:
    """The edit landed, and a read refused."""
    result = attack().run(EngramsAdapter())
    assert (result.status, result.error, result.guard) == ("safe", None, None), json.dumps(
        [result.detail, result.error, result.guard]
    )
