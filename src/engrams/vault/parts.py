"""What the vault works with, in one object, and what everything in it asks of the files."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, TypeAlias

from engrams.errors import StoreError
from engrams.ports import Change, Clock, JobSpec, Store
from engrams.settings import VaultSettings
from engrams.types import Json, Record, Scope, Vector
from engrams.vault.backup import BackupPlaces
from engrams.vault.disk import FileWrite, VaultDisk, VaultLock, hash_bytes, make_private
from engrams.vault.frontmatter import FrontMatterError
from engrams.vault.path import CONFLICTS, ENTRIES
from engrams.vault.state import VaultState

Prepare: TypeAlias = Callable[[Record, dict[str, Any]], tuple[dict[str, Any], tuple[Vector, ...]]]
"""New fields of a record as they may be stored, and their vectors: the engine's own rules for a change."""

Follow: TypeAlias = Callable[[Sequence[Record]], tuple[JobSpec, ...]]
Ripple: TypeAlias = Callable[[Record, Mapping[str, Any]], tuple[Change, ...]]

MARK = ".engrams/vault"
FORMAT = 1
"""Of the files; a newer one is left alone."""


@dataclass(frozen=True, slots=True)
class VaultRules:
    """What the engine does with a text that comes in. ``follow``: the jobs that texts written by hand call for. ``ripple``: what
    new values of a record change in others. ``embed``: the job that gives vectors to what has none (None: it has them at once).
    ``lease``: seconds a job may be silent."""

    prepare: Prepare
    find_jobs: Follow
    find_ripples: Ripple
    embed: JobSpec | None = None
    lease: float = 120.0
    database: Path | None = None


@dataclass(frozen=True, slots=True)
class VaultDeps:
    """``plain``: the store itself, without the mirror that notes every write."""

    store: Store
    plain_store: Store
    disk: VaultDisk
    state: VaultState
    lock: VaultLock
    clock: Clock
    settings: VaultSettings
    rules: VaultRules
    places: BackupPlaces

    @classmethod
    def open(cls, mirror: Store, plain: Store, home: Path, settings: VaultSettings, clock: Clock, rules: VaultRules) -> VaultDeps:
        """The vault of a home folder."""
        disk, state, lock = VaultDisk(vault_folder(settings, home)), VaultState(home / "vault.db"), VaultLock(home / "vault.lock")
        places = BackupPlaces(rules.database or home / "memory.db", disk.root, home / "vault.db")
        return cls(mirror, plain, disk, state, lock, clock, settings, rules, places)

    @property
    def truth(self) -> Literal["files", "db"]:
        return self.settings.source_of_truth

    @property
    def is_there(self) -> bool:
        """Whether the vault's folder is the one that was there before. StoreError: it should be, and is not."""
        told, _, form = (self.disk.read(MARK) or b"").decode("utf-8", "replace").strip().partition(" format ")
        if form.isdigit() and int(form) > FORMAT:
            raise StoreError(f"The vault has format {form}; this engrams knows {FORMAT}.", hint="Install the newest engrams.")
        known = self.state.get_fact("vault")
        if told and not known:
            self.state.set_fact("vault", told)
        if told in (known, "") and (told or self._is_recognised()):
            # A folder without our mark may be one that was copied or cloned from elsewhere.
            return bool(told) or any((self.disk.root / name).exists() for name in (ENTRIES, "memory", "MEMORY.md"))
        if not known:
            return True
        raise StoreError(
            f"The vault's folder {self.disk.root} is {'another one' if told else 'missing or empty'}; "
            f"{self.state.count()} memories have files in it.",
            hint="Mount it or put it back. If it is gone for good: `engrams reindex --files` writes every file anew.",
        )

    def _is_recognised(self) -> bool:
        """Whether a folder without a mark holds some of the files that should be there."""
        rows = [row for _, row in zip(range(200), self.state.all_rows(), strict=False) if row.path]
        return not rows or any(self.disk.stat(row.path) for row in rows)

    def make_folder(self) -> None:
        """Make the folder, with the mark by which it is known again."""
        if not self.is_there or self.disk.read(MARK) is None:
            from engrams.clock import new_id

            name = new_id(self.clock())
            make_private(self.disk.root)
            self.disk.write([FileWrite(MARK, f"{name} format {FORMAT}\n".encode())])
            self.state.set_fact("vault", name)

    def keep_aside(self, path: str, data: bytes, why: str) -> str:
        """Put what would be lost into ``conflicts``; where. Twice is once."""
        name = path.partition("/")[2] or path
        place = f"{CONFLICTS}/{name.removesuffix('.md')}.{hash_bytes(data)[:8]}.md"
        self.state.touch([(place, {"does": "keep", "why": why})])
        self.disk.write([FileWrite(place, data)])
        return place

    def replace_file(self, path: str, data: bytes, old: bytes | None, told: Json) -> None:
        """Write a file that is no memory's, noted for the history first. ``old``: what it held when it was read; what somebody
        wrote to it since is kept aside."""
        self.state.touch([(path, told)])
        late = self.disk.write([FileWrite(path, data, old or b"")]).get(path)
        if late is not None and late != data:
            self.keep_aside(path, late, "written in the moment in which the file was written anew")


@dataclass(slots=True)
class SyncReport:
    """What a synchronisation did. ``gone``: files that are missing and were left alone, because they were too many."""

    added: int = 0
    changed: int = 0
    moved: int = 0
    forgotten: int = 0
    restored: int = 0
    conflicts: int = 0
    written: int = 0
    gone: int = 0
    problems: dict[str, str] = field(default_factory=dict)
    renamed: list[tuple[Scope, str]] = field(default_factory=list)

    def __add__(self, other: SyncReport) -> SyncReport:
        """What both did; of files that are in the way or missing, what the other found."""
        names = ("added", "changed", "moved", "forgotten", "restored", "conflicts", "written")
        numbers = {name: getattr(self, name) + getattr(other, name) for name in names}
        return SyncReport(**numbers, gone=other.gone, problems=other.problems, renamed=[*self.renamed, *other.renamed])

    @property
    def total(self) -> int:
        return self.added + self.changed + self.moved + self.forgotten + self.restored


def now_ns() -> int:
    """The file system's time, to tell a file that was written to since."""
    return time.time_ns()


def decode_text(data: bytes) -> str:
    """A file's text. FrontError: it is no UTF-8."""
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        raise FrontMatterError("it is not UTF-8 text") from None


def group_by_owner(pairs: Iterable[tuple[Scope, str]]) -> Mapping[Scope, list[str]]:
    """Ids by owner, each once, in order."""
    found: dict[Scope, dict[str, None]] = {}
    for owner, id in pairs:
        found.setdefault(owner, {})[id] = None
    return {owner: list(ids) for owner, ids in found.items()}


def vault_folder(settings: VaultSettings, home: Path) -> Path:
    """The vault's folder."""
    return Path(settings.path).expanduser() if settings.path else home / "vault"


def change_note(does: str, record: Record, why: str = "", actor: str = "") -> Json:
    """What the history of the files tells about one change."""
    agent = next((name for label, name in zip(record.scope.labels[::2], record.scope.labels[1::2], strict=False) if label == "agent"), "")
    return {"does": does, "id": record.id, "why": why, "actor": actor, "session": record.session, "scope": record.scope.key, "agent": agent}
