"""Keep the history of the files in git, without a git program.

``GitHistoryRepository`` is the repository in the vault's folder, read and written with dulwich.
"""

from __future__ import annotations

import contextlib
import io
import shutil
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from engrams.errors import EngramsError, ExtraError, InputError, NotFoundError, StoreError
from engrams.installation import install_hint
from engrams.vault.files.folder_access import PlannedFileWrite, VaultFolder
from engrams.vault.files.vault_paths import TOPS
from engrams.vault.history.commit_message import group_by_author, make_author_mail, make_message
from engrams.vault.purge.history_rewrite import finish_rewrite

IGNORE = ".gitignore"
_IGNORED = ".engrams/\n.obsidian/workspace*\n.trash/\n*.tmp\n"
_BUSY = ".engrams/committing"
"""File that stands in the vault while a commit is made: a lock that is older is somebody else's."""
_UNFINISHED = ".engrams/begin"
"""Folder in the vault in which a new repository is made."""
_FALLBACK = ("engrams", "engrams@localhost")
"""Name and mail of the committer where git knows none."""
_MIN_ID = 4
"""Characters of a commit's id that are needed to find it."""


@dataclass(frozen=True, slots=True)
class GitCommitEntry:
    """One commit."""

    id: str
    at: datetime
    author: str
    message: str
    paths: tuple[str, ...] = ()
    """Files that it changed."""


@dataclass(frozen=True, slots=True)
class GitBlameLine:
    """One line of a file, and the commit that wrote it."""

    commit: str
    at: datetime
    author: str
    text: str


@dataclass(frozen=True, slots=True)
class CommittedFileChange:
    """File that a commit changed."""

    path: str
    before: bytes | None
    """Content before; None: there was no file."""
    after: bytes | None
    """Content after; None: there is no file."""


class GitHistoryRepository:
    """Repository in the vault's folder. Call with the vault's lock held."""

    def __init__(self, disk: VaultFolder) -> None:
        self._disk = disk

    @property
    def exists(self) -> bool:
        """True where the vault has a history. Finishes a rewriting of it that was cut short."""
        finish_rewrite(self._disk.root)
        return (self._disk.root / ".git").exists()

    def commit(
        self,
        notes: Mapping[str, Any],
        now: datetime,
        merged_commits: Sequence[str] = (),
        title: str = "",
    ) -> list[str]:
        """Commit files as they are, one commit an author; return the ids.

        A clean tree makes no commit. The repository and its ignore file are made where there are
        none. ``notes``: what changed each file, by path. ``merged_commits``: further parents of the
        last commit. ``title``: of each message, instead of counts.
        """
        paths = set(notes)
        with self._open(create=True) as (repo, is_new):
            if is_new:
                paths |= self._list_all_files()
            commit_ids = []
            for author, author_paths in group_by_author(notes, paths).items():
                message = make_message(notes, author_paths, title)
                commit_ids.append(self._commit_paths(repo, author_paths, author, message, now))
            if merged_commits:
                commit_ids.append(self._commit_merge(repo, now, merged_commits))
            return list(filter(None, commit_ids))

    def log(self, limit: int = 20, path: str = "") -> tuple[GitCommitEntry, ...]:
        """List commits, newest first; of a path, under earlier names too."""
        with self._open() as (repo, _):
            if not _find_head(repo):
                return ()
            options = {"paths": [path.encode()], "follow": True} if path else {}
            return tuple(
                _to_entry(
                    walked.commit,
                    [change for group in walked.changes() for change in _to_sequence(group)],
                )
                for walked in repo.get_walker(max_entries=limit, **options)
            )

    def diff(self, commit: str = "", other_commit: str = "") -> str:
        """Show changes between commits, of one, or, without any, uncommitted ones."""
        from dulwich.patch import write_tree_diff

        with self._open() as (repo, _):
            if not commit:
                return self._diff_uncommitted(repo)
            first = self._find_commit(repo, commit)
            if other_commit:
                before = first.tree
                after = self._find_commit(repo, other_commit).tree
            else:
                before = repo[first.parents[0]].tree if first.parents else None
                after = first.tree
            out = io.BytesIO()
            write_tree_diff(out, repo.object_store, before, after)
            return out.getvalue().decode("utf-8", "replace")

    def blame(self, path: str) -> tuple[GitBlameLine, ...]:
        """List the lines of a file, each with its commit."""
        from dulwich.annotate import annotate_lines

        with self._open() as (repo, _):
            head = _find_head(repo)
            if not head:
                return ()
            if path.encode() not in _find_blobs(repo, repo[head].tree):
                raise NotFoundError(
                    f"{path} is not in the history yet.",
                    hint="It is committed after a few quiet seconds.",
                )
            lines = annotate_lines(repo.object_store, head, path.encode())
            return tuple(_to_line(commit, text) for (commit, _), text in lines)

    def changes(self, name: str) -> tuple[GitCommitEntry, tuple[CommittedFileChange, ...]]:
        """List the files that a commit changed, against its first parent."""
        with self._open() as (repo, _):
            commit = self._find_commit(repo, name)
            before = repo[commit.parents[0]].tree if commit.parents else None
            return _to_entry(commit, ()), diff_trees(repo, before, commit.tree)

    @contextlib.contextmanager
    def open_repository(self) -> Iterator[Any]:
        """Open the repository itself, for what is not offered here."""
        with self._open() as (repo, _):
            yield repo

    def _list_all_files(self) -> set[str]:
        """List the files of the first commit, and write the ignore file."""
        paths = {path for top in TOPS for path, _ in self._disk.walk(top, every=True)}
        paths |= {name for name in (IGNORE, "MEMORY.md") if self._disk.stat(name)}
        if self._disk.stat(IGNORE) is None:
            self._disk.write([PlannedFileWrite(IGNORE, _IGNORED.encode())])
            paths.add(IGNORE)
        return paths

    def _commit_paths(
        self, repo: Any, paths: Sequence[str], author: str, message: str, now: datetime
    ) -> str:
        """Commit some files; return the commit's id, empty where nothing changed.

        ``author``: an agent's name, or empty for a hand.
        """
        repo.get_worktree().stage(sorted(paths))
        head = _find_head(repo)
        tree = repo.open_index().commit(repo.object_store)
        if head and repo[head].tree == tree:
            return ""
        return _write_commit(repo, tree, author, message, now)

    def _commit_merge(self, repo: Any, now: datetime, merged_commits: Sequence[str]) -> str:
        """Commit the files as they are as a merge."""
        tree = repo.open_index().commit(repo.object_store)
        message = "Merge memories of another place"
        return _write_commit(repo, tree, _FALLBACK[0], message, now, merged_commits)

    def _diff_uncommitted(self, repo: Any) -> str:
        from dulwich.patch import write_blob_diff

        out = io.BytesIO()
        head = _find_head(repo)
        committed = {
            path.decode(): sha
            for path, sha in _find_blobs(repo, repo[head].tree if head else None).items()
        }
        present = {path for top in TOPS for path, _ in self._disk.walk(top, every=True)}
        if self._disk.stat("MEMORY.md"):
            present.add("MEMORY.md")
        for path in sorted(committed.keys() | present):
            data = self._disk.read(path)
            old_data = repo[committed[path]].data if path in committed else None
            if data != old_data:
                write_blob_diff(out, _to_diff_side(path, old_data), _to_diff_side(path, data))
        return out.getvalue().decode("utf-8", "replace")

    def _find_commit(self, repo: Any, name: str) -> Any:
        """Find a commit by its id's first characters (four at least)."""
        head = _find_head(repo)
        if name.upper() == "HEAD" and head:
            return repo[head]
        if len(name) < _MIN_ID or not all(char in "0123456789abcdef" for char in name):
            raise InputError(
                f"{name!r} is not a commit: at least four hexadecimal digits are needed.",
                hint="`engrams log` shows them.",
            )
        matches = set()
        if head:
            matches = {
                walked.commit.id
                for walked in repo.get_walker()
                if walked.commit.id.decode().startswith(name)
            }
        if len(matches) != 1:
            problem = "More than one commit begins" if matches else "No commit begins"
            raise NotFoundError(
                f"{problem} with {name!r}.", hint="`engrams log` shows the commits."
            )
        return repo[matches.pop()]

    @contextlib.contextmanager
    def _open(self, create: bool = False) -> Iterator[tuple[Any, bool]]:
        """Open the repository; the flag says that it has no commit yet."""
        try:
            from dulwich.errors import (
                CommitError,
                GitProtocolError,
                HookError,
                NotGitRepository,
                ObjectFormatException,
                ObjectMissing,
            )
            from dulwich.file import FileLocked
            from dulwich.repo import Repo
        except ImportError:
            raise ExtraError(
                "The history of the files needs dulwich.",
                hint=f"{install_hint('vault')}, or set `vault.git` to false.",
            ) from None
        is_made = create and not self.exists
        if not is_made and not self.exists:
            raise NotFoundError(
                "The vault has no history yet.",
                hint="It begins with the first commit, a few seconds after a change.",
            )
        busy_file = self._disk.root / _BUSY
        problems = (
            CommitError,
            GitProtocolError,
            HookError,
            NotGitRepository,
            ObjectFormatException,
            ObjectMissing,
            FileLocked,
            KeyError,
            ValueError,
            OSError,
        )
        try:
            if is_made:
                self._make_repository()
            with contextlib.closing(Repo(str(self._disk.root))) as repo:
                if create:
                    self._remove_stale_locks(repo)
                    busy_file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
                    busy_file.write_text("")
                yield repo, is_made or not _find_head(repo)
                busy_file.unlink(missing_ok=True)
        except EngramsError:
            raise
        except problems as problem:
            hint = (
                "Another git program may be at work; else look at the vault with `git status` and"
                " `git fsck`."
            )
            raise StoreError(f"git: {type(problem).__name__}: {problem}.", hint=hint) from problem

    def _make_repository(self) -> None:
        """Make the repository aside, and move it into place when it is whole.

        Half a repository, as of a process that was killed, could be neither opened nor made.
        """
        from dulwich.repo import Repo

        work = self._disk.root / _UNFINISHED
        shutil.rmtree(work, ignore_errors=True)
        work.mkdir(mode=0o700, parents=True)
        with contextlib.closing(Repo.init(str(work), default_branch=b"main")) as repo:
            _set_identity(repo)
        (work / ".git").rename(self._disk.root / ".git")
        work.rmdir()

    def _remove_stale_locks(self, repo: Any) -> None:
        """Remove the locks of a commit of ours that was cut short."""
        busy_file = self._disk.root / _BUSY
        try:
            begun_at = busy_file.stat().st_mtime
        except FileNotFoundError:
            return
        for lock in Path(repo.controldir()).rglob("*.lock"):
            if lock.stat().st_mtime >= begun_at - 1:
                lock.unlink()


def diff_trees(repo: Any, before: Any, after: Any) -> tuple[CommittedFileChange, ...]:
    """List the files that differ between two trees."""
    old_blobs = _find_blobs(repo, before)
    new_blobs = _find_blobs(repo, after)

    def read(blobs: Mapping[bytes, Any], path: bytes) -> bytes | None:
        return repo[blobs[path]].data if path in blobs else None

    return tuple(
        CommittedFileChange(
            path.decode("utf-8", "replace"), read(old_blobs, path), read(new_blobs, path)
        )
        for path in sorted(old_blobs.keys() | new_blobs.keys())
        if old_blobs.get(path) != new_blobs.get(path)
    )


def _find_blobs(repo: Any, tree: Any) -> dict[bytes, Any]:
    """List the files of a tree (None: of an empty one), each with its object's name."""
    from dulwich.object_store import iter_tree_contents

    return (
        {entry.path: entry.sha for entry in iter_tree_contents(repo.object_store, tree)}
        if tree
        else {}
    )


def _write_commit(
    repo: Any,
    tree: Any,
    author: str,
    message: str,
    now: datetime,
    merged_commits: Sequence[str] = (),
) -> str:
    """Write a commit of a tree; return its id."""
    name, mail = _read_identity(repo)
    committer = f"{name} <{mail}>".encode()
    author = author or ("by hand" if (name, mail) == _FALLBACK else "")
    commit_id = repo.get_worktree().commit(
        message.encode(),
        committer=committer,
        author=f"{author} <{make_author_mail(author)}>".encode() if author else committer,
        commit_timestamp=now.timestamp(),
        author_timestamp=now.timestamp(),
        commit_timezone=0,
        author_timezone=0,
        tree=tree,
        merge_heads=[commit.encode() for commit in merged_commits],
        sign=False,
        no_verify=True,
    )
    return str(commit_id.decode())


def _to_diff_side(path: str, data: bytes | None) -> tuple[bytes | None, int, Any]:
    """Make one side of a diff as dulwich takes it: path, mode and content."""
    from dulwich.objects import Blob

    if data is None:
        return None, 0o100644, None
    return path.encode(), 0o100644, Blob.from_string(data)


def _find_head(repo: Any) -> Any:
    try:
        return repo.head()
    except KeyError:
        return None


def _read_identity(repo: Any) -> tuple[str, str]:
    config = repo.get_config_stack()
    try:
        return config.get((b"user",), b"name").decode(), config.get((b"user",), b"email").decode()
    except KeyError:
        return _FALLBACK


def _set_identity(repo: Any) -> None:
    """Name the author of a new repository, where git knows none."""
    stack = repo.get_config_stack()
    try:
        stack.get((b"user",), b"email")
    except KeyError:
        config = repo.get_config()
        config.set((b"user",), b"name", _FALLBACK[0].encode())
        config.set((b"user",), b"email", _FALLBACK[1].encode())
        config.write_to_path()


def _to_entry(commit: Any, changes: Sequence[Any]) -> GitCommitEntry:
    paths = {
        side.path.decode("utf-8", "replace")
        for change in changes
        for side in (change.old, change.new)
        if side is not None and side.path
    }
    at = datetime.fromtimestamp(commit.commit_time, UTC)
    return GitCommitEntry(
        id=commit.id.decode(),
        at=at,
        author=_read_author(commit),
        message=commit.message.decode("utf-8", "replace").strip(),
        paths=tuple(sorted(paths)),
    )


def _to_line(commit: Any, text: bytes) -> GitBlameLine:
    at = datetime.fromtimestamp(commit.commit_time, UTC)
    return GitBlameLine(
        commit.id.decode(), at, _read_author(commit), text.decode("utf-8", "replace").rstrip("\r\n")
    )


def _read_author(commit: Any) -> str:
    return str(commit.author.decode("utf-8", "replace").partition(" <")[0])


def _to_sequence(group: Any) -> Sequence[Any]:
    return group if isinstance(group, list) else [group]
