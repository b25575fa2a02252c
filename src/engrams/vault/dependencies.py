"""Hold the vault's dependencies and what its parts share."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import field
from pathlib import Path
from typing import Any, Literal, TypeAlias

from engrams.backup.home_paths import HomePaths
from engrams.core import Json, Record, Scope, Vector
from engrams.errors import StoreError
from engrams.frozen_data import dataclass
from engrams.ports import Clock, JobSpec, RecordChange, Store
from engrams.settings import VaultSettings
from engrams.vault.files.folder_access import (
    PlannedFileWrite,
    VaultFolder,
    VaultLock,
    hash_bytes,
    make_private,
)
from engrams.vault.files.front_matter import FrontMatterError
from engrams.vault.files.sync_state import VaultStateDatabase
from engrams.vault.files.vault_paths import CONFLICTS, ENTRIES

Prepare: TypeAlias = Callable[[Record, dict[str, Any]], tuple[dict[str, Any], tuple[Vector, ...]]]
"""Turns new fields of a record into the ones to store, and their vectors, by the engine's rules."""

Follow: TypeAlias = Callable[[Sequence[Record]], tuple[JobSpec, ...]]
Ripple: TypeAlias = Callable[[Record, Mapping[str, Any]], tuple[RecordChange, ...]]
Forget: TypeAlias = Callable[[Sequence[Record], str, str], object]

MARK = ".engrams/vault"
FORMAT = 1
"""Format of the files; a newer one is left alone."""


@dataclass(frozen=True, slots=True)
class VaultEditCallbacks:
    """Engine functions that check and apply edits made by hand.

    ``find_jobs``: the jobs that texts written by hand call for. ``find_ripples``: what new values
    of a record change in others. ``forget``: forgets memories, with all that follows; gets them,
    the actor and the reason. ``embed``: the job that gives vectors to what has none (None:
    it has them at once). ``lease``: seconds a job may be silent.
    """

    prepare: Prepare
    find_jobs: Follow
    find_ripples: Ripple
    forget: Forget
    embed: JobSpec | None = None
    lease: float = 120.0
    database: Path | None = None


@dataclass(frozen=True, slots=True)
class VaultDeps:
    """Dependencies of the vault; ``plain_store``: without the file-following wrapper."""

    store: Store
    plain_store: Store
    disk: VaultFolder
    state: VaultStateDatabase
    lock: VaultLock
    clock: Clock
    settings: VaultSettings
    rules: VaultEditCallbacks
    places: HomePaths

    @classmethod
    def open(
        cls,
        mirror: Store,
        plain: Store,
        home: Path,
        settings: VaultSettings,
        clock: Clock,
        rules: VaultEditCallbacks,
    ) -> VaultDeps:
        """Open the vault of a home folder."""
        disk = VaultFolder(vault_folder(settings, home))
        state = VaultStateDatabase(home / "vault.db")
        lock = VaultLock(home / "vault.lock")
        places = HomePaths(rules.database or home / "memory.db", disk.root, home / "vault.db")
        return cls(mirror, plain, disk, state, lock, clock, settings, rules, places)

    @property
    def truth(self) -> Literal["files", "db"]:
        return self.settings.source_of_truth

    @property
    def is_there(self) -> bool:
        """True where the vault's folder exists and is the known one.

        StoreError: it should exist and does not, or is another one.
        """
        told, _, form = (
            (self.disk.read(MARK) or b"").decode("utf-8", "replace").strip().partition(" format ")
        )
        if form.isdigit() and int(form) > FORMAT:
            raise StoreError(
                f"The vault has format {form}; this engrams knows {FORMAT}.",
                hint="Install the newest engrams.",
            )
        known = self.state.get_fact("vault")
        if told and not known:
            self.state.set_fact("vault", told)
        if told in (known, "") and (told or self._is_recognised()):
            # A folder without our mark may be one that was copied or cloned from elsewhere.
            return bool(told) or any(
                (self.disk.root / name).exists() for name in (ENTRIES, "memory", "MEMORY.md")
            )
        if not known:
            return True
        raise StoreError(
            f"The vault's folder {self.disk.root} is"
            f" {'another one' if told else 'missing or empty'}; {self.state.count()} memories have"
            " files in it.",
            hint=(
                "Mount it or put it back. If it is gone for good: `engrams reindex --files` writes"
                " every file anew."
            ),
        )

    def _is_recognised(self) -> bool:
        """Return True where an unmarked folder holds some expected files."""
        rows = [row for _, row in zip(range(200), self.state.all_rows(), strict=False) if row.path]
        return not rows or any(self.disk.stat(row.path) for row in rows)

    def make_folder(self) -> None:
        """Make the folder, with the mark by which it is recognised."""
        if not self.is_there or self.disk.read(MARK) is None:
            from engrams.core.ids import new_id

            name = new_id(self.clock())
            make_private(self.disk.root)
            self.disk.write([PlannedFileWrite(MARK, f"{name} format {FORMAT}\n".encode())])
            self.state.set_fact("vault", name)

    def keep_aside(self, path: str, data: bytes, why: str) -> str:
        """Save displaced content once in the folder ``conflicts``; return its path."""
        name = path.partition("/")[2] or path
        place = f"{CONFLICTS}/{name.removesuffix('.md')}.{hash_bytes(data)[:8]}.md"
        self.state.touch([(place, {"does": "keep", "why": why})])
        self.disk.write([PlannedFileWrite(place, data)])
        return place

    def replace_file(self, path: str, data: bytes, old: bytes | None, told: Json) -> None:
        """Write a file that is no memory's, noted for the history first.

        ``old``: what it held when it was read; what somebody wrote to it since is kept aside.
        """
        self.state.touch([(path, told)])
        late = self.disk.write([PlannedFileWrite(path, data, old or b"")]).get(path)
        if late is not None and late != data:
            self.keep_aside(path, late, "written in the moment in which the file was written anew")


@dataclass(slots=True)
class VaultSyncReport:
    """Counts of a synchronisation; ``gone``: missing files left alone."""

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

    def __add__(self, other: VaultSyncReport) -> VaultSyncReport:
        """Add the counts; take problems and missing files from the other."""
        names = ("added", "changed", "moved", "forgotten", "restored", "conflicts", "written")
        numbers = {name: getattr(self, name) + getattr(other, name) for name in names}
        return VaultSyncReport(
            **numbers,
            gone=other.gone,
            problems=other.problems,
            renamed=[*self.renamed, *other.renamed],
        )

    @property
    def total(self) -> int:
        return self.added + self.changed + self.moved + self.forgotten + self.restored


def now_ns() -> int:
    """Return the file system's time, to detect later writes."""
    return time.time_ns()


def decode_text(data: bytes) -> str:
    """Decode a file's text. FrontMatterError: it is no UTF-8."""
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        raise FrontMatterError("it is not UTF-8 text") from None


def group_by_owner(pairs: Iterable[tuple[Scope, str]]) -> Mapping[Scope, list[str]]:
    """Group ids by owner, each once, in order."""
    found: dict[Scope, dict[str, None]] = {}
    for owner, id in pairs:
        found.setdefault(owner, {})[id] = None
    return {owner: list(ids) for owner, ids in found.items()}


def vault_folder(settings: VaultSettings, home: Path) -> Path:
    """Return the vault's folder."""
    return Path(settings.path).expanduser() if settings.path else home / "vault"


def change_note(does: str, record: Record, why: str = "", actor: str = "") -> Json:
    """Describe one change for the history of the files."""
    agent = next(
        (
            name
            for label, name in zip(
                record.scope.labels[::2], record.scope.labels[1::2], strict=False
            )
            if label == "agent"
        ),
        "",
    )
    return {
        "does": does,
        "id": record.id,
        "why": why,
        "actor": actor,
        "session": record.session,
        "scope": record.scope.key,
        "agent": agent,
    }
