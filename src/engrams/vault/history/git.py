"""Keep the history of the files in git, without a git program."""

from __future__ import annotations

import contextlib
import io
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from engrams.errors import (
    EngramsError,
    ExtraError,
    InputError,
    NotFoundError,
    StoreError,
    install_hint,
)
from engrams.frozen_data import dataclass
from engrams.vault.files.folder_access import PlannedFileWrite, VaultFolder
from engrams.vault.files.vault_paths import TOPS
from engrams.vault.purge.history_rewrite import finish_rewrite

IGNORE = ".gitignore"
_IGNORED = ".engrams/\n.obsidian/workspace*\n.trash/\n*.tmp\n"
_BUSY = ".engrams/committing"
_MOST_LINES = 40
_FALLBACK = ("engrams", "engrams@localhost")


@dataclass(frozen=True, slots=True)
class GitCommitEntry:
    """One commit; ``paths`` are those it changed."""

    id: str
    at: datetime
    author: str
    message: str
    paths: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class GitBlameLine:
    """One line of a file, and the commit that wrote it."""

    commit: str
    at: datetime
    author: str
    text: str


@dataclass(frozen=True, slots=True)
class CommittedFileChange:
    """File that a commit changed; before or after is None without one."""

    path: str
    before: bytes | None
    after: bytes | None


class GitHistoryRepository:
    """Repository in the vault's folder. Call with the vault's lock held."""

    def __init__(self, disk: VaultFolder) -> None:
        self._disk = disk

    @property
    def exists(self) -> bool:
        finish_rewrite(self._disk.root)
        return (self._disk.root / ".git").exists()

    def commit(
        self, notes: Mapping[str, Any], at: datetime, also: Sequence[str] = (), title: str = ""
    ) -> list[str]:
        """Commit files as they are, one commit an author; return the ids.

        A clean tree makes no commit. The repository and its ignore file are made where there are
        none. ``also``: further parents of the last commit.
        """
        paths = set(notes)
        with self._open(create=True) as (repo, made):
            if made:
                paths |= {path for top in TOPS for path, _ in self._disk.walk(top, every=True)}
                paths |= {name for name in (IGNORE, "MEMORY.md") if self._disk.stat(name)}
                if self._disk.stat(IGNORE) is None:
                    self._disk.write([PlannedFileWrite(IGNORE, _IGNORED.encode())])
                    paths.add(IGNORE)
            done = []
            for author, some in _group_by_author(notes, paths).items():
                made_id = self._commit_paths(
                    repo, some, (author, _commit_message(notes, some, title)), at, ()
                )
                done += [made_id] if made_id else []
            if also:
                done.append(
                    self._commit_paths(
                        repo, [], (_FALLBACK[0], "Merge what another place remembered"), at, also
                    )
                )
            return done

    def log(self, limit: int = 20, path: str = "") -> tuple[GitCommitEntry, ...]:
        """List commits, newest first; of a path, under earlier names too."""
        with self._open() as (repo, _):
            if not _find_head(repo):
                return ()
            asked = {"paths": [path.encode()], "follow": True} if path else {}
            found = repo.get_walker(max_entries=limit, **asked)
            return tuple(
                _to_entry(
                    walked.commit,
                    [change for group in walked.changes() for change in _to_sequence(group)],
                )
                for walked in found
            )

    def diff(self, one: str = "", other: str = "") -> str:
        """Show changes between commits, of one, or, without any, uncommitted ones."""
        from dulwich.patch import write_tree_diff

        with self._open() as (repo, _):
            if not one:
                return self._diff_uncommitted(repo)
            first = self._find_commit(repo, one)
            if other:
                before = first.tree
                after = self._find_commit(repo, other).tree
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

    def _commit_paths(
        self,
        repo: Any,
        paths: Sequence[str],
        told: tuple[str, str],
        at: datetime,
        parents: Sequence[str],
    ) -> str:
        tree = repo.get_worktree()
        tree.stage(sorted(paths))
        head = _find_head(repo)
        root = repo.open_index().commit(repo.object_store)
        if head and repo[head].tree == root and not parents:
            return ""
        name, mail = _read_identity(repo)
        committer = f"{name} <{mail}>".encode()
        who = told[0] or ("by hand" if (name, mail) == _FALLBACK else "")
        author = f"{who} <{_author_mail(who)}>".encode() if who else committer
        stamp = {
            "commit_timestamp": at.timestamp(),
            "author_timestamp": at.timestamp(),
            "commit_timezone": 0,
            "author_timezone": 0,
        }
        heads = [parent.encode() for parent in parents]
        made = tree.commit(
            told[1].encode(),
            committer=committer,
            author=author,
            tree=root,
            merge_heads=heads,
            sign=False,
            no_verify=True,
            **stamp,
        )
        return str(made.decode())

    def _diff_uncommitted(self, repo: Any) -> str:
        from dulwich.patch import write_blob_diff

        out = io.BytesIO()
        head = _find_head(repo)
        held = {
            path.decode(): sha
            for path, sha in _find_blobs(repo, repo[head].tree if head else None).items()
        }
        there = {path for top in TOPS for path, _ in self._disk.walk(top, every=True)}
        there |= {"MEMORY.md"} if self._disk.stat("MEMORY.md") else set()
        for path in sorted(held.keys() | there):
            data = self._disk.read(path) if path in there or path in held else None
            old = repo[held[path]].data if path in held else None
            if data != old:
                before, after = (
                    (path.encode() if side is not None else None, 0o100644, _to_blob(side))
                    for side in (old, data)
                )
                write_blob_diff(out, before, after)
        return out.getvalue().decode("utf-8", "replace")

    def _find_commit(self, repo: Any, name: str) -> Any:
        """Find a commit by its id's first characters (four at least)."""
        if name.upper() == "HEAD" and _find_head(repo):
            return repo[_find_head(repo)]
        if len(name) < 4 or not all(char in "0123456789abcdef" for char in name):
            raise InputError(
                f"{name!r} is no commit: at least four hexadecimal digits are needed.",
                hint="`engrams log` shows them.",
            )
        found = (
            {
                walked.commit.id
                for walked in repo.get_walker()
                if walked.commit.id.decode().startswith(name)
            }
            if _find_head(repo)
            else set()
        )
        if len(found) != 1:
            told = "More than one commit begins" if found else "No commit begins"
            raise NotFoundError(f"{told} with {name!r}.", hint="`engrams log` shows the commits.")
        return repo[found.pop()]

    @contextlib.contextmanager
    def _open(self, create: bool = False) -> Iterator[tuple[Any, bool]]:
        """Open the repository; the flag says that it is new."""
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
        made = create and not self.exists
        if not made and not self.exists:
            raise NotFoundError(
                "The vault has no history yet.",
                hint="It begins with the first commit, a few seconds after a change.",
            )
        busy = self._disk.root / _BUSY
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
            repo = (
                Repo.init(str(self._disk.root), default_branch=b"main")
                if made
                else Repo(str(self._disk.root))
            )
            with contextlib.closing(repo):
                if create:
                    self._remove_stale_locks(repo)
                    busy.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
                    busy.write_text("")
                    if made:
                        _set_identity(repo)
                yield repo, made or not _find_head(repo)
                busy.unlink(missing_ok=True)
        except EngramsError:
            raise
        except problems as problem:
            hint = (
                "Another git program may be at work; else look at the vault with `git status` and"
                " `git fsck`."
            )
            raise StoreError(f"git: {type(problem).__name__}: {problem}.", hint=hint) from problem

    def _remove_stale_locks(self, repo: Any) -> None:
        """Remove the locks of a commit that was cut short."""
        busy = self._disk.root / _BUSY
        try:
            since = busy.stat().st_mtime
        except FileNotFoundError:
            return
        for lock in Path(repo.controldir()).rglob("*.lock"):
            if lock.stat().st_mtime >= since - 1:
                lock.unlink()


def diff_trees(repo: Any, before: Any, after: Any) -> tuple[CommittedFileChange, ...]:
    """List the files that differ between two trees."""
    old = _find_blobs(repo, before)
    new = _find_blobs(repo, after)
    changed = sorted(path for path in old.keys() | new.keys() if old.get(path) != new.get(path))
    data = [
        tuple(repo[side[path]].data if path in side else None for side in (old, new))
        for path in changed
    ]
    return tuple(
        CommittedFileChange(path.decode("utf-8", "replace"), *pair)
        for path, pair in zip(changed, data, strict=True)
    )


def _find_blobs(repo: Any, tree: Any) -> dict[bytes, Any]:
    from dulwich.object_store import iter_tree_contents

    return (
        {entry.path: entry.sha for entry in iter_tree_contents(repo.object_store, tree)}
        if tree
        else {}
    )


def _to_blob(data: bytes | None) -> Any:
    from dulwich.objects import Blob

    return None if data is None else Blob.from_string(data)


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


def _group_by_author(notes: Mapping[str, Any], paths: set[str]) -> dict[str, list[str]]:
    """Group paths by author: an agent, or "" for a hand."""
    found: dict[str, list[str]] = {}
    for path in sorted(notes):
        note = notes[path]
        hand = note.get("actor") in ("hand", "") and note.get("does") not in (None, "purge")
        found.setdefault("" if hand else _author_name(note.get("agent") or "engrams"), []).append(
            path
        )
    # Paths without a note, such as the ignore file, go with the first author.
    next(iter(found.values()), []).extend(sorted(paths - notes.keys()))
    return found


def _commit_message(notes: Mapping[str, Any], paths: Sequence[str], title: str = "") -> str:
    # The name of a purged file is made of its words.
    named = {
        note.get("id") or ("a file" if note.get("does") == "purge" else path): note
        for path in paths
        if (note := notes.get(path))
    }
    every = list(named.values())
    counts: dict[str, int] = {}
    for note in every:
        counts[str(note.get("does", "change"))] = counts.get(str(note.get("does", "change")), 0) + 1
    scopes = sorted({str(note["scope"]) for note in every if note.get("scope")})
    head = (
        title
        or ", ".join(f"{_one_line(does)} {number}" for does, number in counts.items())
        or "Begin"
    )
    where = f" ({scopes[0]}{' and others' if len(scopes) > 1 else ''})" if scopes else ""
    told = (
        " ".join(
            (_one_line(note.get("does", "change")), f"{name}:", _one_line(note.get("why", "")))
        )
        for name, note in named.items()
    )
    reasons = dict.fromkeys(told)
    body = list(reasons)[:_MOST_LINES]
    body += [f"and {len(reasons) - _MOST_LINES} more"] if len(reasons) > _MOST_LINES else []
    sessions = sorted({_one_line(note["session"]) for note in every if note.get("session")})
    trailers = [f"Session: {session}" for session in sessions[:_MOST_LINES]]
    return (
        "\n\n".join(part for part in (head + where, "\n".join(body), "\n".join(trailers)) if part)
        + "\n"
    )


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
        author=_author(commit),
        message=commit.message.decode("utf-8", "replace").strip(),
        paths=tuple(sorted(paths)),
    )


def _to_line(commit: Any, text: bytes) -> GitBlameLine:
    at = datetime.fromtimestamp(commit.commit_time, UTC)
    return GitBlameLine(
        commit.id.decode(), at, _author(commit), text.decode("utf-8", "replace").rstrip("\r\n")
    )


def _author(commit: Any) -> str:
    return str(commit.author.decode("utf-8", "replace").partition(" <")[0])


def _to_sequence(group: Any) -> Sequence[Any]:
    return group if isinstance(group, list) else [group]


def _one_line(text: Any) -> str:
    return " ".join(str(text).split())[:200]


def _author_name(text: str) -> str:
    return "".join(char for char in _one_line(text) if char not in "<>\0")[:60].strip() or "engrams"


def _author_mail(name: str) -> str:
    return (
        "".join(char if char.isascii() and char.isalnum() else "-" for char in name.lower()).strip(
            "-"
        )[:40]
        + "@engrams"
    )
