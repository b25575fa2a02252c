"""Exports of other memories, shaped as those write them;
the versions stand in docs/guides/move.md.
"""

from __future__ import annotations

import json
import pickle
import sqlite3
import zipfile
from pathlib import Path
from typing import Any

SAMPLES: dict[str, Any] = json.loads(
    (Path(__file__).parent / "samples.json").read_text(encoding="utf-8")
)
"""Contents of files by name: JSON values, and texts."""


def write_cognee(folder: Path) -> Path:
    """Write an archive (COGX 0.1), with the accounts that it may hold."""
    folder.mkdir()
    for name, held in SAMPLES["cognee"].items():
        (folder / name).write_text("".join(json.dumps(line) + "\n" for line in held))
    (folder / "manifest.json").write_text(
        json.dumps({"cogx_version": "0.1", "source_system": "cognee", "counts": {}, "notes": []})
    )
    (folder / "permissions.json").write_text(
        json.dumps({"owner": {"email": "a@b.c", "hashed_password": "x"}})
    )
    return folder


def write_hindsight(path: Path) -> Path:
    """Write a transfer archive (schema version 1)."""
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("documents/000000.json", json.dumps(SAMPLES["hindsight_document"]))
        archive.writestr(
            "observations.json",
            json.dumps(
                [
                    {
                        "source_id": "o1",
                        "text": "Alice likes her work",
                        "tags": [],
                        "proof_count": 2,
                        "sources": [],
                    }
                ]
            ),
        )
        archive.writestr(
            "mental_models.json", json.dumps([{"id": "mm", "content": "not a memory unit"}])
        )
        archive.writestr(
            "manifest.json",
            json.dumps(
                {
                    "schema_version": 1,
                    "source_bank_id": "alice",
                    "document_count": 1,
                    "fact_count": 1,
                }
            ),
        )
    return path


def write_mem0_history(path: Path) -> Path:
    """Write mem0's history.db (mem0ai 2.2)."""
    database = sqlite3.connect(path)
    names = (
        "id, memory_id, old_memory, new_memory, event, created_at, updated_at, is_deleted,"
        " actor_id, role"
    )
    database.execute(f"CREATE TABLE history ({names.replace('id,', 'id TEXT PRIMARY KEY,', 1)})")
    database.execute(
        "CREATE TABLE messages (id TEXT PRIMARY KEY, session_scope TEXT, role TEXT, content TEXT,"
        " name TEXT, created_at DATETIME)"
    )
    database.executemany(
        f"INSERT INTO history ({names}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        [tuple(row.values()) for row in SAMPLES["mem0_history"]],
    )
    database.commit()
    database.close()
    return path


# As qdrant-client 1.16 pickles a point: its class by name, then its fields.
_POINT = (
    b"\x80\x04\x8c\x20qdrant_client.http.models.models\x94\x8c\x0bPointStruct\x94\x93\x94)\x81\x94}\x94(\x8c\x08__dict__\x94%b"
    b"\x8c\x12__pydantic_extra__\x94N\x8c\x17__pydantic_fields_set__\x94\x8f\x94\x8c\x14__pydantic_private__\x94Nub."
)


def write_qdrant(path: Path, points: list[dict[str, Any]], evil: bytes = b"") -> Path:
    """Write the storage.sqlite of a local Qdrant collection of mem0;
    ``evil``: a pickle beside them.
    """
    database = sqlite3.connect(path)
    database.execute("CREATE TABLE points (id TEXT PRIMARY KEY, point BLOB)")
    for number, payload in enumerate(points):
        fields = {
            "id": payload["id"],
            "vector": [0.1, 0.2],
            "payload": {name: value for name, value in payload.items() if name != "id"},
        }
        inner = pickle.dumps(fields, 2)[2:-1]  # without its start and stop
        database.execute("INSERT INTO points VALUES (?, ?)", (str(number), _POINT % inner))
    if evil:
        database.execute("INSERT INTO points VALUES ('evil', ?)", (evil,))
    database.commit()
    database.close()
    return path


def write_memvara(path: Path) -> Path:
    """Write the tables of a store of memvara 0.21 that an import reads."""
    database = sqlite3.connect(path)
    episodes = "id, tenant, usr, agent, session, role, content, ts REAL, hash, meta, project"
    claims = (
        "id, tenant, usr, agent, session, subject, predicate, object, text, polarity, memory_type,"
        " valid_from REAL, valid_to REAL, recorded_at REAL, invalidated_at REAL, confidence REAL,"
        " meta, project"
    )
    database.execute(f"CREATE TABLE episodes ({episodes})")
    database.execute(f"CREATE TABLE claims ({claims})")
    database.execute(
        "INSERT INTO episodes VALUES ('ep1', 't', 'ann', NULL, 's1', 'user', 'I moved to Oslo.',"
        " 1735700000.0, 'h', '{}', NULL)"
    )
    rows = [
        (
            "c1",
            "lives_in",
            "Bergen",
            "ann lives in Bergen",
            1600000000.0,
            1735700000.0,
            1600000000.0,
            None,
        ),
        ("c2", "lives_in", "Oslo", "ann lives in Oslo", 1735700000.0, None, 1735700000.0, None),
        ("c3", "has_pet", "cat", "ann has a cat", 1735700000.0, None, 1735700000.0, 1735800000.0),
    ]
    for id, predicate, value, text, start, end, known, dropped in rows:
        database.execute(
            "INSERT INTO claims VALUES (?, 't', 'ann', NULL, 's1', 'ann', ?, ?, ?, 1, 'semantic',"
            " ?, ?, ?, ?, 0.9, '{\"k\": 1}', NULL)",
            (id, predicate, value, text, start, end, known, dropped),
        )
    database.commit()
    database.close()
    return path
