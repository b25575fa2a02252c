"""Memories that no rescue brought back whole, remembered until accepted."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from pathlib import Path

import apsw

from engrams import encryption
from engrams.core import Json
from engrams.frozen_data import dataclass
from engrams.store.sql.named_queries import fetch_all
from engrams.store.sqlite.rescue.text_damage import DamagedText

_END = ".lost"
_SHOWN = 20


@dataclass(frozen=True, slots=True)
class MemoryRescueLoss:
    """Memories that no rescue brought back whole.

    ``named``: ids and owners of lost ones, as far as an index still told them; ``unnamed``: how
    many more there were. ``damaged``: those whose text came back, but is not what was written.
    """

    named: tuple[tuple[str, str], ...] = ()
    unnamed: int = 0
    damaged: tuple[DamagedText, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.named or self.unnamed or self.damaged)

    def __str__(self) -> str:
        lost = _shorten([id for id, _ in self.named])
        damaged = _shorten([id for id, *_ in self.damaged])
        gone = f"{len(self.named) + self.unnamed:,} memories could not be read" + (
            f": {lost}" if lost else ""
        )
        bad = f"The text of {len(self.damaged):,} memories is damaged: {damaged}"
        return ". ".join([gone] * bool(self.named or self.unnamed) + [bad] * bool(self.damaged))


def remember(path: Path, file: str, loss: MemoryRescueLoss | str) -> None:
    """Record lost memories in the file beside a database.

    ``file``: the damaged one's new name; a text: what is known instead.
    """
    if not loss:
        return
    # The list is plain text: of an encrypted home it names no owners.
    sealed = encryption.find_keys(encryption.home_of(path)) is not None
    told: Json = {"told": loss}
    if not isinstance(loss, str):
        named = [(id, "" if sealed else owner) for id, owner in loss.named]
        told = {
            "named": named,
            "unnamed": loss.unnamed,
            "damaged": [(id, "" if sealed else owner, at) for id, owner, at in loss.damaged],
        }
    held = list_path(path)
    fresh = held.with_name(held.name + ".new")
    with fresh.open("w", encoding="utf-8") as out:
        fresh.chmod(0o600)
        json.dump([*_read(path), {"file": file, **told}], out, ensure_ascii=False)
        out.flush()
        os.fsync(out.fileno())
    fresh.replace(held)


def report(connection: apsw.Connection, path: Path) -> list[str]:
    """Describe each loss, without what came back since."""
    return list(filter(None, (_describe(connection, one) for one in _read(path))))


def list_path(path: Path) -> Path:
    """Return the list's place; whoever removes it accepts the losses."""
    return path.with_name(path.name + _END)


def _read(path: Path) -> Sequence[Json]:
    held = list_path(path)
    if not held.exists():
        return []
    try:
        found = json.loads(held.read_text("utf-8"))
    except ValueError:
        found = None
    return (
        found
        if isinstance(found, list)
        else [
            {"file": held.name, "told": f"{held.name} is damaged: it named memories that are lost."}
        ]
    )


def _describe(connection: apsw.Connection, one: Json) -> str:
    if "told" in one:
        return str(one["told"])
    gone = {
        id
        for (id,) in fetch_all(
            connection, "unknown_ids", json.dumps([id for id, _ in one["named"]])
        )
    }
    left = [f"{id} of {owner}" if owner else id for id, owner in one["named"] if id in gone]
    same = {
        id for (id,) in fetch_all(connection, "unchanged_ids", json.dumps(one.get("damaged", [])))
    }
    bad = [
        f"{id} of {owner}" if owner else id for id, owner, _ in one.get("damaged", []) if id in same
    ]
    more = f"{one['unnamed']:,} of which no name is left" if one["unnamed"] else ""
    names = "; ".join(filter(None, (_shorten(left), more)))
    lost = (
        f"{len(left) + one['unnamed']:,} memories of {one['file']} are lost: {names}"
        if names
        else ""
    )
    damaged = (
        f"the text of {len(bad):,} memories of {one['file']} is damaged, look at it and edit it:"
        f" {_shorten(bad)}"
        if bad
        else ""
    )
    return "; ".join(filter(None, (lost, damaged)))


def _shorten(names: Sequence[str]) -> str:
    return ", ".join(names[:_SHOWN]) + (" …" if len(names) > _SHOWN else "")
