"""Read ``NAME/SKILL.md`` files as records for search; store nothing.

``SkillFolder`` serves the port ``SkillRecordSource``.
"""

from __future__ import annotations

import logging
import os
import re
import stat
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from threading import Lock
from typing import TypeAlias

from engrams.core import Json, Kind, Layer, Provenance, Record, Scope, Tier, Vector, clean_text
from engrams.errors import InputError
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
_MAX_SKILLS = 1000
"""Skills of one folder."""
_LARGEST = 200_000
"""Bytes of one file; longer text belongs into the skill's other files."""
_EMBEDDED_CHARS = 2000
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
    """Reason for which it is no skill."""


class SkillFolder:
    """Skills of a folder; checked at every read, thread safe.

    A file is read only when it has changed. Skills are searched in a store in memory, made by
    ``make_store``, so that words and meaning count for them as for memories.
    """

    def __init__(
        self, folder: Path, make_store: Callable[[], Store], embedder: Embedder, clock: Clock
    ) -> None:
        self._folder = folder
        self._make_store = make_store
        self._embedder = embedder
        self._clock = clock
        self._lock = Lock()
        self._files: dict[str, _SkillFile] = {}
        self._store: Store | None = None
        self._problems: tuple[str, ...] = ()

    def seek(self, query: CandidateSearchQuery) -> CandidatePool:
        """Search the skills; see the port."""
        return self._refresh().seek(replace(query, reach=_REACH))

    def get(self, ids: Sequence[str]) -> tuple[Record, ...]:
        """Return skills by id, checking only their own files."""
        names = [id.removeprefix(SKILL) for id in dict.fromkeys(ids) if is_skill(id)]
        files = self._files
        if not all(
            name in files and files[name].mark == _file_mark(self._folder / name / FILE)
            for name in names
        ):
            self._refresh()
            files = self._files
        records = [files[name].record for name in names if name in files]
        return tuple(record for record in records if record is not None)

    def describe(self) -> Mapping[str, Json]:
        """Describe the folder: its path, skills and problems."""
        self._refresh()
        names = sorted(name for name, skill in self._files.items() if skill.record is not None)
        file_problems = [
            f"{name}: {skill.problem}"
            for name, skill in sorted(self._files.items())
            if skill.problem
        ]
        return {
            "folder": str(self._folder),
            "skills": names,
            "problems": [*self._problems, *file_problems],
        }

    def _refresh(self) -> Store:
        with self._lock:
            marks, problems = self._scan_folder()
            if (
                self._store is None
                or problems != self._problems
                or marks != {name: skill.mark for name, skill in self._files.items()}
            ):
                new_files = {
                    name: self._read(name, mark)
                    for name, mark in marks.items()
                    if not self._is_same(name, mark)
                }
                self._embed(new_files)
                for name, skill in new_files.items():
                    if skill.problem:
                        _log.info("%r is no skill: %s", name, skill.problem)
                self._files = {name: new_files.get(name) or self._files[name] for name in marks}
                self._problems = problems
                self._store = self._fill_store()
            return self._store

    def _is_same(self, name: str, mark: _Mark) -> bool:
        return name in self._files and self._files[name].mark == mark

    def _fill_store(self) -> Store:
        store = self._make_store()
        puts = tuple(
            NewRecord(skill.record, vector=skill.vector)
            for skill in self._files.values()
            if skill.record is not None
        )
        if puts:
            store.commit(WriteBatch("skills", "read", self._clock(), puts=puts))
        return store

    def _scan_folder(self) -> tuple[dict[str, _Mark], tuple[str, ...]]:
        """Find the skills' files and the folder's problems; follow no links."""
        marks: dict[str, _Mark] = {}
        problems: list[str] = []
        try:
            entries = sorted(os.scandir(self._folder), key=lambda entry: entry.name)
        except OSError as error:
            return {}, (f"{self._folder} cannot be read: {error.strerror}",)
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
                problems.append(
                    f"{entry.name!a}: the name of a skill is letters, digits, dots, dashes and"
                    " underscores, 64 at most"
                )
            elif len(marks) == _MAX_SKILLS:
                problems.append(
                    f"there are more than {_MAX_SKILLS} skills: those from {entry.name} on are left out"
                )
                break
            else:
                marks[entry.name] = mark
        return marks, tuple(problems)

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
            skill_text = clean_text(
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
            text=skill_text,
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

    def _embed(self, files: dict[str, _SkillFile]) -> None:
        """Embed the files read; without vectors they are found by words."""
        records = {name: skill.record for name, skill in files.items() if skill.record is not None}
        if not records or not self._embedder.card.dimension:
            return
        try:
            rows = self._embedder.embed(
                [record.text[:_EMBEDDED_CHARS] for record in records.values()], "document"
            )
        except Exception:  # noqa: BLE001 - the edge of the flow: an embedder may be anybody's, and a read never fails because of it
            _log.warning("skills are found by words only: the embedder failed", exc_info=True)
            return
        card = self._embedder.card
        for (name, record), row in zip(records.items(), rows, strict=True):
            if row.any():
                files[name] = replace(
                    files[name],
                    vector=Vector(record.id, card.id, card.dimension, row.astype("<f4").tobytes()),
                )


def _file_mark(path: Path | str) -> _Mark | None:
    """Return a plain file's mark; None for anything else."""
    try:
        status = os.lstat(path)
    except OSError:
        return None
    return (
        (status.st_mtime_ns, status.st_size, status.st_ino)
        if stat.S_ISREG(status.st_mode)
        else None
    )
