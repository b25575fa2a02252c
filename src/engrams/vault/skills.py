"""Read ``NAME/SKILL.md`` files as records for search; store nothing."""

from __future__ import annotations

import logging
import os
import re
import stat
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from threading import Lock
from typing import TypeAlias

from engrams.core import Json, Kind, Layer, Provenance, Record, Scope, Tier, Vector, clean_text
from engrams.errors import InputError
from engrams.frozen_data import dataclass
from engrams.ports import (
    SKILL,
    CandidatePool,
    CandidateSearchQuery,
    Clock,
    Embedder,
    NewRecord,
    ScopeReach,
    Store,
    WriteBatch,
    is_skill,
)
from engrams.vault.files.front_matter import FrontMatterError, load, split

FILE = "SKILL.md"
_OWNER = Scope(("skills",))
_REACH = ScopeReach(_OWNER, (_OWNER,), tree=True)
_NAME = re.compile(r"[^\W_][\w.-]{0,63}")
_MOST = 1000
"""Skills of one folder."""
_LARGEST = 200_000
"""Bytes of one file; longer text belongs into the skill's other files."""
_EMBEDDED = 2000
"""Characters that are embedded: name, description and beginning."""
_FLAGS = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)

_Mark: TypeAlias = tuple[int, int, int]
"""Time of change (ns), size and inode of a file: a file with the same ones is unchanged."""

_log = logging.getLogger(__name__)


class _UnfitError(Exception):
    """Reason for which a file is no skill."""


@dataclass(frozen=True, slots=True)
class _SkillFile:
    """File as read: a record with its vector, or a problem."""

    mark: _Mark
    record: Record | None = None
    vector: Vector | None = None
    problem: str = ""


class SkillFolder:
    """Skills of a folder; checked at every read, thread safe.

    A file is read only when it has changed. Skills are searched in a store in memory, made by
    ``make``, so that words and meaning count for them as for memories.
    """

    def __init__(
        self, folder: Path, make: Callable[[], Store], embedder: Embedder, clock: Clock
    ) -> None:
        self._folder = folder
        self._make = make
        self._embedder = embedder
        self._clock = clock
        self._lock = Lock()
        self._seen: dict[str, _SkillFile] = {}
        self._store: Store | None = None
        self._odd: tuple[str, ...] = ()

    def seek(self, query: CandidateSearchQuery) -> CandidatePool:
        """Search the skills; see the port."""
        return self._refresh().seek(replace(query, reach=_REACH))

    def get(self, ids: Sequence[str]) -> tuple[Record, ...]:
        """Return skills by id, checking only their own files."""
        names = [id.removeprefix(SKILL) for id in dict.fromkeys(ids) if is_skill(id)]
        seen = self._seen
        if not all(
            name in seen and seen[name].mark == _file_mark(self._folder / name / FILE)
            for name in names
        ):
            self._refresh()
            seen = self._seen
        found = [seen[name].record for name in names if name in seen]
        return tuple(record for record in found if record is not None)

    def describe(self) -> Mapping[str, Json]:
        """Describe the folder: its path, skills and problems."""
        self._refresh()
        names = sorted(name for name, skill in self._seen.items() if skill.record is not None)
        problems = [
            f"{name}: {skill.problem}"
            for name, skill in sorted(self._seen.items())
            if skill.problem
        ]
        return {"folder": str(self._folder), "skills": names, "problems": [*self._odd, *problems]}

    def _refresh(self) -> Store:
        with self._lock:
            marks, odd = self._scan_folder()
            if (
                self._store is None
                or odd != self._odd
                or marks != {name: skill.mark for name, skill in self._seen.items()}
            ):
                seen = {
                    name: self._read(name, mark)
                    for name, mark in marks.items()
                    if not self._is_same(name, mark)
                }
                self._embed(seen)
                for name, skill in seen.items():
                    if skill.problem:
                        _log.info("%r is no skill: %s", name, skill.problem)
                self._seen = {name: seen.get(name) or self._seen[name] for name in marks}
                self._odd = odd
                self._store = self._fill_store()
            return self._store

    def _is_same(self, name: str, mark: _Mark) -> bool:
        return name in self._seen and self._seen[name].mark == mark

    def _fill_store(self) -> Store:
        store = self._make()
        puts = tuple(
            NewRecord(skill.record, vector=skill.vector)
            for skill in self._seen.values()
            if skill.record is not None
        )
        if puts:
            store.commit(WriteBatch("skills", "read", self._clock(), puts=puts))
        return store

    def _scan_folder(self) -> tuple[dict[str, _Mark], tuple[str, ...]]:
        """Find the skills' files and the folder's problems; follow no links."""
        marks: dict[str, _Mark] = {}
        odd: list[str] = []
        try:
            entries = sorted(os.scandir(self._folder), key=lambda entry: entry.name)
        except OSError as problem:
            return {}, (f"{self._folder} cannot be read: {problem.strerror}",)
        for entry in entries:
            if (
                entry.name.startswith(".")
                or entry.is_symlink()
                or not entry.is_dir(follow_symlinks=False)
            ):
                continue
            mark = _file_mark(f"{entry.path}/{FILE}")
            if mark is None:
                continue
            if not _NAME.fullmatch(entry.name):
                odd.append(
                    f"{entry.name!a}: the name of a skill is letters, digits, dots, dashes and"
                    " underscores, 64 at most"
                )
            elif len(marks) == _MOST:
                odd.append(
                    f"there are more than {_MOST} skills: those from {entry.name} on are left out"
                )
                break
            else:
                marks[entry.name] = mark
        return marks, tuple(odd)

    def _read(self, name: str, mark: _Mark) -> _SkillFile:
        try:
            return _SkillFile(mark, self._to_record(name, mark, self._read_text(name)))
        except _UnfitError as reason:
            return _SkillFile(mark, problem=str(reason))

    def _read_text(self, name: str) -> str:
        """Read a file without waiting and without following a link."""
        try:
            with os.fdopen(os.open(self._folder / name / FILE, _FLAGS), "rb") as file:
                data = (
                    file.read(_LARGEST + 1)
                    if stat.S_ISREG(os.fstat(file.fileno()).st_mode)
                    else b""
                )
        except OSError as problem:
            raise _UnfitError(f"it cannot be read: {problem.strerror}") from None
        if len(data) > _LARGEST:
            raise _UnfitError(f"it has more than {_LARGEST:,} bytes")
        return data.decode("utf-8", "replace")

    def _to_record(self, name: str, mark: _Mark, text: str) -> Record:
        """Make a file's record; renderings show its ``role``."""
        try:
            front, body = split(text)
            values = load(front or "")
            title = values.get("name")
            purpose = values.get("description")
            if not isinstance(purpose, str) or not purpose.strip():
                raise _UnfitError("its front matter has no description")
            title = title if isinstance(title, str) and title.strip() else name
            said = clean_text(
                f"{' '.join(title.split())}: {purpose.strip()}\n\n{body.strip()}", 2 * _LARGEST
            )
        except FrontMatterError as problem:
            raise _UnfitError(str(problem)) from None
        except InputError as problem:
            raise _UnfitError(problem.message) from None
        path = str(self._folder / name / FILE)
        return Record(
            id=SKILL + name,
            scope=_OWNER,
            kind=Kind.PROCEDURE,
            text=said,
            recorded_at=self._file_time(mark[0]),
            layer=Layer.PROCEDURAL,
            tier=Tier.RECENT,
            role="skill",
            category="skill",
            provenance=Provenance("skill", files=(path,)),
        )

    def _file_time(self, nanoseconds: int) -> datetime:
        try:
            return datetime.fromtimestamp(nanoseconds / 1e9, UTC)
        except (OverflowError, ValueError, OSError):
            return self._clock()

    def _embed(self, seen: dict[str, _SkillFile]) -> None:
        """Embed the files read; without vectors they are found by words."""
        fresh = {name: skill.record for name, skill in seen.items() if skill.record is not None}
        if not fresh or not self._embedder.card.dimension:
            return
        try:
            rows = self._embedder.embed(
                [record.text[:_EMBEDDED] for record in fresh.values()], "document"
            )
        except Exception:  # noqa: BLE001 - the edge of the flow: an embedder may be anybody's, and a read never fails because of it
            _log.warning("skills are found by words only: the embedder failed", exc_info=True)
            return
        card = self._embedder.card
        for (name, record), row in zip(fresh.items(), rows, strict=True):
            if row.any():
                seen[name] = replace(
                    seen[name],
                    vector=Vector(record.id, card.id, card.dimension, row.astype("<f4").tobytes()),
                )


def _file_mark(path: Path | str) -> _Mark | None:
    """Return a plain file's mark; None for anything else."""
    try:
        found = os.lstat(path)
    except OSError:
        return None
    return (found.st_mtime_ns, found.st_size, found.st_ino) if stat.S_ISREG(found.st_mode) else None
