"""Source files of a git checkout: as they are now, or as they were at a commit.

``open_work_tree`` finds the checkout of a folder. Git's objects and its index are read by dulwich,
where that is installed; no git command, hook or filter runs.
"""

from __future__ import annotations

import hashlib
import os
import stat
import struct
from collections import OrderedDict
from collections.abc import Iterator, Mapping
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Protocol, TypeAlias, TypeVar

from engrams.checkouts.file_outlines import FileOutline, outline_file
from engrams.settings.project_name import find_git_directories, find_root

if TYPE_CHECKING:
    from dulwich.objects import ObjectID
    from dulwich.repo import Repo

MAX_FILE_BYTES = 1_000_000
"""Largest file whose content is read."""
_MAX_FILES = 20_000
"""Files of a checkout that are listed."""
_MAX_OUTLINES = 512
_MAX_LISTINGS = 16
_MAX_BRANCHES = 50
ID_DIGITS = 16
"""Digits of a git id that are kept."""
_DAMAGE = (OSError, ValueError, KeyError, IndexError, AssertionError, struct.error)
"""Errors by which dulwich tells that the bytes of an index make no sense."""
_SKIPPED_FOLDERS = frozenset(
    "node_modules bower_components venv env dist build target out vendor site-packages __pycache__".split()
)
"""Folders that are not listed where git does not say what belongs to the project."""

_CacheKey: TypeAlias = tuple[str, int, int]
"""Path, time of the last change in ns, size."""
_Cached = TypeVar("_Cached")

outlines: OrderedDict[_CacheKey, FileOutline] = OrderedDict()
listings: OrderedDict[_CacheKey, Mapping[str, str]] = OrderedDict()


class SourceTree(Protocol):
    """Files of a checkout as they are now, or were at a commit."""

    def has(self, path: str) -> bool:
        """True for an existing file or folder inside of the checkout."""
        ...

    def outline(self, path: str) -> FileOutline | None:
        """Return the outline of a file; None: there is none. Its text is empty if it is not read."""
        ...

    def read_bytes(self, path: str) -> bytes:
        """Read a file for a search by words; empty for one that is not read."""
        ...

    def list_files(self) -> Mapping[str, str]:
        """List the project's files: path -> git id of the content, empty where unknown."""
        ...


def clean_path(path: str) -> str:
    """Write a path as it is stored; empty for one that leaves its root, or is no path."""
    if not path or "\0" in path or len(path) > 400 or path.startswith(("/", "~")) or "\\" in path:
        return ""
    parts = PurePosixPath(path).parts
    if not parts or ".." in parts or ".git" in parts:
        return ""
    return "/".join(parts)


@dataclass(frozen=True, slots=True)
class WorkTree:
    """Files of a checkout as they are now."""

    root: Path
    """Folder of the checkout, without symbolic links."""
    git: Path | None = None
    """Its git directory; None: there is no repository."""
    common: Path | None = None
    """Directory with the objects and branches, which all worktrees share."""

    def has(self, path: str) -> bool:
        """True for an existing file or folder inside of the checkout."""
        return self._stat(path) is not None

    def outline(self, path: str) -> FileOutline | None:
        """Return the outline of a file, from the cache while the file is unchanged."""
        status = self._stat(path)
        if status is None or not stat.S_ISREG(status.st_mode):
            return None
        if status.st_size > MAX_FILE_BYTES:
            return FileOutline("", "")
        full_path = f"{self.root}/{path}"
        key = (full_path, status.st_mtime_ns, status.st_size)
        outline = outlines.get(key)
        if outline is None:
            try:
                with open(full_path, "rb") as file:  # noqa: PTH123 - quick
                    data = file.read(MAX_FILE_BYTES + 1)
            except OSError:
                return FileOutline("", "")
            outline = outline_bytes(path, data)
            _keep(outlines, key, outline, _MAX_OUTLINES)
        else:
            with suppress(KeyError):
                outlines.move_to_end(key)
        return outline

    def stamp_file(self, path: str) -> tuple[int, int]:
        """Return the time of a file's last change in ns, and its size; zeros where it is none."""
        status = self._stat(path)
        return (status.st_mtime_ns, status.st_size) if status else (0, 0)

    def read_bytes(self, path: str) -> bytes:
        """Read a file for a search by words; empty for one that is not read."""
        status = self._stat(path)
        if status is None or not stat.S_ISREG(status.st_mode) or status.st_size > MAX_FILE_BYTES:
            return b""
        try:
            return (self.root / path).read_bytes()
        except OSError:
            return b""

    def list_files(self) -> Mapping[str, str]:
        """List the files that git tracks, else those of the folder."""
        index = self.git / "index" if self.git else None
        status = _stat_file(index) if index else None
        if index is None or status is None:
            return dict.fromkeys(_walk(self.root), "")
        key = (str(index), status.st_mtime_ns, status.st_size)
        listing = listings.get(key)
        if listing is None:
            listing = _read_index(index)
            if listing is None:
                return dict.fromkeys(_walk(self.root), "")
            _keep(listings, key, listing, _MAX_LISTINGS)
        return listing

    def read_head(self) -> tuple[str, str]:
        """Return the branch and the id of its commit; empty where unknown or detached."""
        if self.git is None or self.common is None:
            return "", ""
        head = _read_line(self.git / "HEAD")
        if not head.startswith("ref:"):
            return "", head
        name = head.removeprefix("ref:").strip()
        commit = _read_line(self.common / name) if clean_path(name) else ""
        return name.removeprefix("refs/heads/"), commit or _find_packed(self.common, name)

    def stamp(self) -> tuple[object, ...]:
        """Return what changes when a branch is switched, a commit made or a file added."""
        if self.git is None:
            return ()
        stamps: list[object] = [self.read_head()]
        status = _stat_file(self.git / "index")
        if status is not None:
            stamps += [status.st_mtime_ns, status.st_size]
        return tuple(stamps)

    def _stat(self, path: str) -> os.stat_result | None:
        """Return the status of a path that stays in the checkout, its links followed."""
        cleaned = clean_path(path)
        if not cleaned:
            return None
        full_path = f"{self.root}/{cleaned}"
        try:
            status = os.stat(full_path)  # noqa: PTH116 - quick
            real_path = os.path.realpath(full_path)
        except (OSError, ValueError):
            return None
        return status if real_path.startswith(f"{self.root}/") else None


def open_work_tree(folder: Path) -> WorkTree:
    """Open the checkout that a folder belongs to; a folder without git is one of its own."""
    root = find_root(folder)
    if root is None:
        return WorkTree(_resolve(folder))
    git, common = find_git_directories(root)
    return WorkTree(_resolve(root), git, common)


def _resolve(folder: Path) -> Path:
    return Path(os.path.realpath(folder))


def outline_bytes(path: str, data: bytes) -> FileOutline:
    """Outline the content of a file; a binary or too large one has no text."""
    if len(data) > MAX_FILE_BYTES or b"\0" in data[:8_000]:
        return FileOutline("", make_blob_id(data) if len(data) <= MAX_FILE_BYTES else "")
    return outline_file(path, data.decode("utf-8", "replace"), make_blob_id(data))


def make_blob_id(data: bytes) -> str:
    """Return the id that git gives to a content."""
    return hashlib.sha1(b"blob %d\0" % len(data) + data, usedforsecurity=False).hexdigest()


def _stat_file(path: Path) -> os.stat_result | None:
    try:
        return path.stat()
    except (OSError, ValueError):
        return None


def _read_line(path: Path) -> str:
    try:
        with path.open("r", encoding="utf-8", errors="replace") as file:
            return file.readline(1_000).strip()
    except (OSError, ValueError):
        return ""


def _find_packed(common: Path, name: str) -> str:
    try:
        lines = (common / "packed-refs").read_text("utf-8", errors="replace").splitlines()
    except (OSError, ValueError):
        return ""
    return next((line.split(" ")[0] for line in lines if line.endswith(f" {name}")), "")


def _walk(root: Path) -> Iterator[str]:
    """List the files of a folder without git, without hidden folders and those of installed parts."""
    count = 0
    for folder, names, files in os.walk(root):
        names[:] = sorted(
            name for name in names if name not in _SKIPPED_FOLDERS and not name.startswith(".")
        )
        prefix = os.path.relpath(folder, root)
        for file in sorted(files):
            yield file if prefix == "." else f"{prefix}/{file}".replace(os.sep, "/")
            count += 1
            if count >= _MAX_FILES:
                return


def _read_index(path: Path) -> Mapping[str, str] | None:
    """Read git's index; None: dulwich is missing, or the index is damaged or of an unknown form."""
    try:
        from dulwich.errors import ChecksumMismatch
        from dulwich.index import Index, IndexEntry, UnsupportedIndexFormat
    except ImportError:
        return None
    listing: dict[str, str] = {}
    try:
        for name, entry in Index(str(path), read=True).items():
            if len(listing) >= _MAX_FILES:
                break
            if isinstance(entry, IndexEntry) and stat.S_ISREG(entry.mode):
                listing[name.decode("utf-8", "replace")] = entry.sha.decode("ascii")
    except (*_DAMAGE, ChecksumMismatch, UnsupportedIndexFormat):
        return None
    return listing


# --------------------------------------------------------------------------------------------------
# commits


class CommitTree:
    """Files of a commit."""

    def __init__(self, repository: Repo, commit: ObjectID) -> None:
        self._store = repository.object_store
        self._tree = repository[commit].tree  # type: ignore[attr-defined]
        self._listing: dict[str, str] | None = None

    def has(self, path: str) -> bool:
        """True for an existing file or folder of the commit."""
        return self._find(path) is not None

    def outline(self, path: str) -> FileOutline | None:
        """Return the outline of a file of the commit."""
        entry = self._find(path)
        if entry is None or not stat.S_ISREG(entry[0]):
            return None
        return outline_bytes(path, self._store[entry[1]].as_raw_string())

    def list_files(self) -> Mapping[str, str]:
        """List the files of the commit."""
        if self._listing is None:
            self._listing = {}
            for entry in self._store.iter_tree_contents(self._tree):
                if len(self._listing) >= _MAX_FILES:
                    break
                if stat.S_ISREG(entry.mode):
                    self._listing[entry.path.decode("utf-8", "replace")] = entry.sha.decode("ascii")
        return self._listing

    def read_bytes(self, path: str) -> bytes:
        """Read a file for a search by words."""
        entry = self._find(path)
        if entry is None or not stat.S_ISREG(entry[0]):
            return b""
        data: bytes = self._store[entry[1]].as_raw_string()
        return data if len(data) <= MAX_FILE_BYTES else b""

    def _find(self, path: str) -> tuple[int, ObjectID] | None:
        from dulwich.object_store import tree_lookup_path

        cleaned = clean_path(path)
        if not cleaned:
            return None
        try:
            return tree_lookup_path(self._store.__getitem__, self._tree, cleaned.encode())
        except (KeyError, ValueError):
            return None


class GitHistory:
    """Commits and branches of a repository; without dulwich there are none."""

    def __init__(self, tree: WorkTree) -> None:
        self._tree = tree
        self._repository = _open_repository(tree.common)

    def close(self) -> None:
        """Close the files of the repository."""
        if self._repository is not None:
            self._repository.close()

    def open_commit(self, revision: str) -> CommitTree | None:
        """Open the files of a commit, which a branch, an id or the beginning of one names.

        ``HEAD`` is the one that is checked out, ``HEAD^`` the one before.
        """
        repository = self._repository
        if repository is None:
            return None
        with suppress(Exception):
            # Whatever a damaged or shallow repository raises: the commit is not to be had.
            commit = self._resolve(repository, revision.removesuffix("^"))
            if revision.endswith("^"):
                commit = repository[commit].parents[0]  # type: ignore[attr-defined]
            return CommitTree(repository, commit)
        return None

    def iter_branches(self, first: str) -> Iterator[tuple[str, CommitTree]]:
        """Yield the branches with their files: the one that is asked for, then the others."""
        if self._repository is None:
            return
        with suppress(Exception):
            from dulwich.refs import Ref

            names = [
                name.decode("utf-8", "replace")
                for name in self._repository.refs.subkeys(Ref(b"refs/heads/"))
            ]
            for name in sorted(names, key=lambda name: (name != first, name))[:_MAX_BRANCHES]:
                tree = self.open_commit(f"refs/heads/{name}")
                if tree is not None:
                    yield name, tree

    def is_behind_head(self, branch: str) -> bool:
        """True for a branch that the checked out commit contains, and for one that is not to be had."""
        repository = self._repository
        if repository is None:
            return True
        with suppress(Exception):
            # Commits that are missing in a shallow clone, or damaged ones.
            from dulwich.graph import can_fast_forward

            tip = self._resolve(repository, f"refs/heads/{branch}")
            head = self._resolve(repository, "HEAD")
            return tip == head or bool(can_fast_forward(repository, tip, head))
        return True

    def read_blob(self, beginning: str) -> bytes:
        """Read the content with this beginning of an id; empty where it is unknown."""
        if self._repository is None or len(beginning) < ID_DIGITS:
            return b""
        with suppress(Exception):
            ids = self._repository.object_store.iter_prefix(beginning.encode("ascii"))
            data: bytes = self._repository.object_store[next(iter(ids))].as_raw_string()
            return data if len(data) <= MAX_FILE_BYTES else b""
        return b""

    def list_changed(self, revision: str) -> frozenset[str]:
        """List the paths that a commit changed."""
        repository = self._repository
        if repository is None:
            return frozenset()
        from dulwich.diff_tree import tree_changes

        with suppress(Exception):
            commit = repository[self._resolve(repository, revision)]
            parents = commit.parents  # type: ignore[attr-defined]
            before = repository[parents[0]].tree if parents else None  # type: ignore[attr-defined]
            changes = tree_changes(repository.object_store, before, commit.tree)  # type: ignore[attr-defined]
            return frozenset(
                entry.path.decode("utf-8", "replace")
                for change in changes
                for entry in (change.old, change.new)
                if entry is not None and entry.path
            )
        return frozenset()

    def _resolve(self, repository: Repo, revision: str) -> ObjectID:
        """Return the id of a commit. KeyError or StopIteration: there is none."""
        from dulwich.refs import Ref

        # The head is that of the worktree, not of the repository.
        name = (self._tree.read_head()[1] if revision == "HEAD" else revision).encode()
        for path in (name, b"refs/heads/" + name, b"refs/tags/" + name):
            if path.startswith(b"refs/") and Ref(path) in repository.refs:
                return repository.refs[Ref(path)]
        return next(iter(repository.object_store.iter_prefix(name)))


def open_history(tree: WorkTree) -> closing[GitHistory]:
    """Open the commits of a checkout, to be closed after use."""
    return closing(GitHistory(tree))


def _open_repository(common: Path | None) -> Repo | None:
    if common is None:
        return None
    with suppress(Exception):
        # Neither a missing dulwich nor a damaged repository may stop a read.
        from dulwich.repo import Repo

        return Repo(str(common))
    return None


def _keep(
    cache: OrderedDict[_CacheKey, _Cached], key: _CacheKey, value: _Cached, size: int
) -> None:
    cache[key] = value
    while len(cache) > size:
        with suppress(KeyError):
            cache.popitem(last=False)
