"""A memory with its vault, written to at once."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import engrams
from engrams.core import Record, Status
from engrams.vault.files import record_markdown
from engrams.vault.files.vault_paths import is_away

ALICE = ("user", "alice")


def says_same(record: Record, other_record: Record) -> bool:
    """Compare records without counts of use and version."""
    return replace(record, access_count=0, last_accessed=None, version=1) == replace(
        other_record, access_count=0, last_accessed=None, version=1
    )


class Desk:
    """An engine with its vault: nothing happens in the background, every step is asked for."""

    def __init__(self, home: Path, **settings: Any) -> None:
        self.home = home
        self.settings = {
            "vault__enabled": True,
            "vault__git": False,
            "jobs__workers": 0,
            **settings,
        }
        self.root = home / "vault"
        self.engine = self._open()

    def _open(self) -> engrams.MemoryEngine:
        return engrams.open(home=self.home, **self.settings)

    @property
    def vault(self) -> Any:
        return self.engine.vault

    def add(self, text: str, **fields: Any) -> Record:
        receipt = self.engine.add(text, scope=fields.pop("scope", ALICE), **fields)
        if fields.get("settle", True):
            self.engine.drain()
        self.vault.sync()
        return self.engine.get(receipt.id, scope=ALICE)

    def sync(self, **options: Any) -> Any:
        return self.vault.sync(**options)

    def again(self, **settings: Any) -> None:
        """Close and open anew."""
        self.engine.close()
        self.settings.update(settings)
        self.engine = self._open()

    def get(self, record: Record | str) -> Record:
        return self.engine.get(record if isinstance(record, str) else record.id, scope=ALICE)

    def file(self, record: Record | str) -> Path:
        """The memory's file."""
        id = record if isinstance(record, str) else record.id
        paths = [
            path
            for path in self.files()
            if any(f"\nid: {spelling}\n" in path.read_text("utf-8") for spelling in (id, f'"{id}"'))
        ]
        assert len(paths) == 1, paths
        return paths[0]

    def files(self) -> list[Path]:
        return sorted(
            path for top in ("entries", "deleted") for path in (self.root / top).rglob("*.md")
        )

    def edit(self, record: Record | str, old: str, new: str) -> None:
        """What an editor does: the whole file, written anew."""
        path = self.file(record)
        text = path.read_text("utf-8")
        assert old in text
        path.write_text(text.replace(old, new), "utf-8")

    def everything(self) -> list[Record]:
        return list(
            self.engine.list(
                scope=ALICE, statuses=tuple(Status), order="oldest", limit=1000
            ).records
        )

    def problems(self) -> dict[str, str]:
        return self.vault.deps.state.problems()  # type: ignore[no-any-return]


@pytest.fixture
def desk(home: Path) -> Iterator[Desk]:
    made = Desk(home)
    yield made
    made.engine.close()


@pytest.fixture
def desks(tmp_path: Path) -> Iterator[Callable[..., Desk]]:
    """More than one, or with other settings."""
    open_desks: list[Desk] = []

    def make(name: str = "home", **settings: Any) -> Desk:
        open_desks.append(Desk(tmp_path / name, **settings))
        return open_desks[-1]

    yield make
    for desk in open_desks:
        desk.engine.close()


@contextmanager
def opened(home: Path, **settings: Any) -> Iterator[Desk]:
    desk = Desk(home, **settings)
    try:
        yield desk
    finally:
        desk.engine.close()


def converged(desk: Desk) -> None:
    """Files and memories are alike, one to one, and a second look finds nothing to do."""
    assert desk.engine.drain(60)
    desk.sync()
    again = desk.sync()
    assert (again.total, again.written, again.conflicts, again.problems) == (0, 0, 0, {})
    desk.engine.drain(60)
    assert desk.engine.store.outbox(1) == ()
    records = {record.id: record for record in desk.everything()}
    files = {}
    for path in desk.files():
        content = record_markdown.parse_entry(path.read_text("utf-8"))
        record = content.to_record({})
        assert record.id not in files
        assert says_same(record, records[record.id])
        assert record.version == records[record.id].version
        assert (path.relative_to(desk.root).parts[0] == "deleted") == is_away(record)
        files[record.id] = path
    missing = [
        record
        for record in records.values()
        if record.id not in files and record.status is not Status.FORGOTTEN
    ]
    assert missing == []


def nothing_lost(desk: Desk, words: list[str]) -> None:
    """Every word that was written is in a memory, in the history of one, or kept aside in sight."""
    texts = [record.text for record in desk.everything()]
    for record in desk.everything():
        for change in desk.engine.history(record.id, scope=("user", "alice")):
            texts += [str(change.before.get("text", "")), str(change.after.get("text", ""))]
    texts += [path.read_text("utf-8") for path in (desk.root / "conflicts").rglob("*.md")]
    present = set("\n".join(texts).split())
    assert [word for word in words if word not in present] == []
