"""Exchange the vault with another place through a git remote.

Fetch, merge memory by memory, push; the git program is needed. Conflicts of text never reach git:
two versions of one memory are merged field by field, and a tombstone on either side wins over
whatever the other side did to it.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Mapping
from typing import Any

from engrams.errors import ExtraError, StoreError
from engrams.frozen_data import dataclass
from engrams.vault.dependencies import VaultDeps
from engrams.vault.files.folder_access import PlannedFileWrite
from engrams.vault.history import remote_merge
from engrams.vault.history.git import GitHistoryRepository, diff_trees

_REF = "refs/engrams/remote"
_SECONDS = 120
REWRITTEN = "rewritten"
"""Name of the fact that our history was rewritten, and the remote may hold the old one."""


@dataclass(frozen=True, slots=True)
class RemoteSyncResult:
    """Result of an exchange; ``conflicts``: paths with both sides' words kept."""

    pulled: int = 0
    pushed: bool = False
    conflicts: tuple[str, ...] = ()


def fetch(parts: VaultDeps, git: GitHistoryRepository) -> str:
    """Fetch the remote's newest commit; return its id, "" for none."""
    url = parts.settings.remote
    branch = _current_branch(git)
    heads = _run_git(parts, "ls-remote", "--heads", "--", url, f"refs/heads/{branch}")
    if not heads.strip():
        return ""
    _refuse_old_history(parts, git, heads.split()[0])
    _run_git(parts, "fetch", "--quiet", "--no-tags", "--", url, f"+refs/heads/{branch}:{_REF}")
    return heads.split()[0]


def _refuse_old_history(parts: VaultDeps, git: GitHistoryRepository, head: str) -> None:
    """Refuse a remote whose history still holds purged words."""
    if parts.state.get_fact(REWRITTEN) != "1":
        return
    with git.open_repository() as repo:
        if head.encode() not in repo.object_store:
            raise StoreError(
                "The remote holds the history from before a purge.",
                hint="Replace it: `git push --force` in the vault, then sync again.",
            )
    parts.state.set_fact(REWRITTEN, "")


def merge(
    parts: VaultDeps, git: GitHistoryRepository, theirs: str
) -> tuple[dict[str, Any], tuple[str, ...], bool]:
    """Merge the remote's changes into the files.

    Call with the lock held and ours committed. Returns notes for the commit, conflicts, and whether
    there is a merge to commit.
    """
    with git.open_repository() as repo:
        from dulwich.graph import find_merge_base
        from dulwich.objects import ObjectID

        ours = repo.head()
        other = ObjectID(theirs.encode())
        bases = find_merge_base(repo, [ours, other])
        if other in bases:
            return {}, (), False
        base = repo[bases[0]].tree if bases else None
        came = [
            version
            for version in diff_trees(repo, base, repo[other].tree)
            if not version.path.startswith(".git")
        ]
        mine = {version.path: version for version in diff_trees(repo, base, repo[ours].tree)}
    joined = remote_merge.merge_sides(parts, came, list(mine.values()))
    notes: dict[str, Any] = {}
    for path, data in joined.files.items():
        known = (
            mine[path].after
            if path in mine
            else next((version.before for version in came if version.path == path), None)
        )
        if data != parts.disk.read(path):
            _apply_file(parts, path, data, known)
            notes[path] = {"does": "pull", "actor": "remote", "why": "came from another place"}
    return notes, tuple(joined.conflicts), True


def _apply_file(parts: VaultDeps, path: str, data: bytes | None, known: bytes | None) -> None:
    """Write or remove a merged file; keep unknown content aside."""
    held = (
        parts.disk.take(path)
        if data is None
        else parts.disk.write([PlannedFileWrite(path, data, known or b"")]).get(path)
    )
    if held is not None and held not in (known, data):
        parts.keep_aside(
            path, held, "it was not in the history yet when another place's version came"
        )


def push(parts: VaultDeps, git: GitHistoryRepository) -> bool:
    """Push our commits. False: the remote has moved on meanwhile."""
    branch = _current_branch(git)
    try:
        _run_git(parts, "push", "--quiet", "--", parts.settings.remote, f"HEAD:refs/heads/{branch}")
    except StoreError as problem:
        if (
            "fetch first" in problem.message
            or "non-fast-forward" in problem.message
            or "rejected" in problem.message
        ):
            return False
        raise
    return True


def _current_branch(git: GitHistoryRepository) -> str:
    with git.open_repository() as repo:
        names, _ = repo.refs.follow(b"HEAD")
        return str(names[-1].decode().removeprefix("refs/heads/"))


def _run_git(parts: VaultDeps, *given: str) -> str:
    program = shutil.which("git")
    if program is None:
        raise ExtraError(
            "A remote needs the git program.", hint="Install git, or set `vault.remote` to nothing."
        )
    environment: Mapping[str, str] = {
        **os.environ,
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_SSH_COMMAND": os.environ.get("GIT_SSH_COMMAND", "ssh -oBatchMode=yes"),
        "LC_ALL": "C",
    }
    try:
        # The program is git, its arguments are ours; the remote is the owner's own setting and
        # comes after `--`.
        done = subprocess.run(  # noqa: S603
            [program, *given],
            cwd=parts.disk.root,
            env=environment,
            capture_output=True,
            text=True,
            timeout=_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise StoreError(
            f"git {given[0]} took longer than {_SECONDS} seconds.",
            hint="See whether the remote can be reached.",
        ) from None
    if done.returncode:
        told = " ".join(done.stderr.split())[-300:]
        raise StoreError(
            f"git {given[0]}: {told}",
            hint="See whether the remote exists and can be reached without a password.",
        )
    return done.stdout
