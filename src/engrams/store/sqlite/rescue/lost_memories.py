"""Values and memories that no rescue brought back, remembered until somebody accepts it.

``MemoryRescueLoss`` is what one rescue lost. It is written into the file ``NAME.lost`` beside the
database; the doctor tells from it what did not come back since, and fails until the file is
removed (``engrams doctor --accept``).
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field
from pathlib import Path
from typing import NamedTuple

import apsw

from engrams import encryption
from engrams.core import Json
from engrams.frozen_data import dataclass
from engrams.store.sql.named_queries import fetch_all

_ENDING = ".lost"
_MAX_NAMED = 20
"""Memories that a text names by id."""
_TABLE_WORDS = {
    "records": "memories",
    "edges": "links",
    "history": "entries of histories",
    "owner_state": "states",
    "outbox": "waiting notices",
}
"""Words of users for what tables hold; of others the table's name is one."""


class MemoryVersion(NamedTuple):
    """One version of a memory: once it is edited, its damage is no longer told."""

    record_id: str
    owner: str
    version: int


@dataclass(frozen=True, slots=True)
class MemoryRescueLoss:
    """Loss of one rescue."""

    identified: tuple[tuple[str, str], ...] = ()
    """Ids and owners of lost memories, as far as an index still told them."""
    unidentified: int = 0
    """Number of lost memories that no index told."""
    damaged: tuple[MemoryVersion, ...] = ()
    """Memories whose text came back, but is not what was written."""
    defaulted: tuple[MemoryVersion, ...] = ()
    """Memories whose text came back, with defaults in place of other values: kind, status, times …"""
    unverified: tuple[MemoryVersion, ...] = ()
    """Memories that came back whole, but not with the seal that they must have."""
    rows: Mapping[str, int] = field(default_factory=dict)
    """Numbers of rows of other tables whose values could not be read, by table."""

    def __bool__(self) -> bool:
        return bool(
            self.identified
            or self.unidentified
            or self.damaged
            or self.defaulted
            or self.unverified
            or self.rows
        )

    def __str__(self) -> str:
        sentences = []
        if self.identified or self.unidentified:
            count = len(self.identified) + self.unidentified
            names = _shorten([record_id for record_id, _ in self.identified])
            sentences.append(
                f"{count:,} memories could not be read" + (f": {names}" if names else "")
            )
        if self.damaged:
            names = _shorten([memory.record_id for memory in self.damaged])
            sentences.append(f"The text of {len(self.damaged):,} memories is damaged: {names}")
        if self.defaulted:
            names = _shorten([memory.record_id for memory in self.defaulted])
            sentences.append(
                f"Values of {len(self.defaulted):,} memories could not be read and are defaults"
                f" now: {names}"
            )
        if self.unverified:
            names = _shorten([memory.record_id for memory in self.unverified])
            sentences.append(
                f"{len(self.unverified):,} memories do not have the seal that they were stored"
                f" with, and may have been changed: {names}"
            )
        if self.rows:
            sentences.append(f"Values of {_count_rows(self.rows)} could not be read")
        return ". ".join(sentences)


def remember(path: Path, damaged_name: str, loss: MemoryRescueLoss | str) -> None:
    """Add a loss to the list beside a database.

    ``damaged_name``: the damaged file's new name. ``loss`` is a text where nothing else is known.
    """
    if not loss:
        return
    entry: Json = {"file": damaged_name}
    if isinstance(loss, str):
        entry["told"] = loss
    else:
        # The list is plain text: of an encrypted home it names no owners.
        is_encrypted = encryption.find_keys(encryption.home_of(path)) is not None
        entry["named"] = [
            (record_id, "" if is_encrypted else owner) for record_id, owner in loss.identified
        ]
        entry["unnamed"] = loss.unidentified
        for key in ("damaged", "defaulted", "unverified"):
            memories: Sequence[MemoryVersion] = getattr(loss, key)
            entry[key] = [
                memory._replace(owner="") if is_encrypted else memory for memory in memories
            ]
        entry["rows"] = dict(loss.rows)
    listed = list_path(path)
    fresh = listed.with_name(listed.name + ".new")
    with fresh.open("w", encoding="utf-8") as out:
        fresh.chmod(0o600)
        json.dump([*_read_entries(path), entry], out, ensure_ascii=False)
        out.flush()
        os.fsync(out.fileno())
    fresh.replace(listed)


def report(connection: apsw.Connection, path: Path) -> list[str]:
    """Describe each loss, without what came back or was edited since."""
    descriptions = (_describe(connection, entry) for entry in _read_entries(path))
    return [description for description in descriptions if description]


def list_path(path: Path) -> Path:
    """Path of the list; whoever removes the file accepts the losses."""
    return path.with_name(path.name + _ENDING)


def describe_table(table: str) -> str:
    """Return a user's word for the rows of a table."""
    return _TABLE_WORDS.get(table, table)


def _read_entries(path: Path) -> Sequence[Json]:
    listed = list_path(path)
    if not listed.exists():
        return []
    try:
        entries = json.loads(listed.read_text("utf-8"))
    except ValueError:
        entries = None
    if isinstance(entries, list):
        return entries
    note = f"{listed.name} is damaged: it named memories that are lost."
    return [{"file": listed.name, "told": note}]


def _describe(connection: apsw.Connection, entry: Json) -> str:
    """Describe what an entry of the list still misses; empty: nothing."""
    if "told" in entry:
        return str(entry["told"])
    file = entry["file"]
    clauses = []
    missing = _find_missing(connection, [record_id for record_id, _ in entry["named"]])
    lost = _name_memories(pair for pair in entry["named"] if pair[0] in missing)
    if lost or entry["unnamed"]:
        unnamed = f"{entry['unnamed']:,} of which no name is left" if entry["unnamed"] else ""
        names = "; ".join(filter(None, (_shorten(lost), unnamed)))
        clauses.append(f"{len(lost) + entry['unnamed']:,} memories of {file} are lost: {names}")
    # Entries of an older release lack the last keys.
    damaged = _find_unchanged(connection, entry.get("damaged", []))
    if damaged:
        clauses.append(
            f"the text of {len(damaged):,} memories of {file} is damaged, look at it and edit it:"
            f" {_shorten(damaged)}"
        )
    defaulted = _find_unchanged(connection, entry.get("defaulted", []))
    if defaulted:
        clauses.append(
            f"values of {len(defaulted):,} memories of {file} are lost and are defaults now, look"
            f" at them and edit them: {_shorten(defaulted)}"
        )
    unverified = _find_unchanged(connection, entry.get("unverified", []))
    if unverified:
        clauses.append(
            f"{len(unverified):,} memories of {file} may have been changed, as their seals do not"
            f" fit, look at them: {_shorten(unverified)}"
        )
    if rows := entry.get("rows"):
        clauses.append(f"values of {_count_rows(rows)} of {file} are lost")
    return "; ".join(clauses)


def _find_missing(connection: apsw.Connection, record_ids: Sequence[str]) -> set[str]:
    return {
        record_id for (record_id,) in fetch_all(connection, "unknown_ids", json.dumps(record_ids))
    }


def _find_unchanged(connection: apsw.Connection, memories: Sequence[Json]) -> list[str]:
    """Name those memories that still have the version with which they came back."""
    unchanged = {
        record_id for (record_id,) in fetch_all(connection, "unchanged_ids", json.dumps(memories))
    }
    return _name_memories(memory[:2] for memory in memories if memory[0] in unchanged)


def _name_memories(pairs: Iterable[Sequence[str]]) -> list[str]:
    return [f"{record_id} of {owner}" if owner else record_id for record_id, owner in pairs]


def _count_rows(rows: Mapping[str, int]) -> str:
    return ", ".join(f"{count:,} {describe_table(table)}" for table, count in rows.items())


def _shorten(names: Sequence[str]) -> str:
    return ", ".join(names[:_MAX_NAMED]) + (" …" if len(names) > _MAX_NAMED else "")
