"""Exchange the vault with another place through a git remote.

``RemoteExchange`` fetches, merges memory by memory, and pushes; the git program is needed. Conflicts
of text never reach git: two versions of one memory are merged field by field, and a tombstone on
either side wins over whatever the other side did to the memory.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from engrams.errors import ExtraError, StoreError
from engrams.vault.dependencies import VaultDeps
from engrams.vault.files.folder_access import PlannedFileWrite
from engrams.vault.history.git import GitHistoryRepository, diff_trees
from engrams.vault.history.remote_merge import merge_sides

REWRITTEN = "rewritten"
"""Name of the fact that our history was rewritten, and the remote may hold the old one."""
_REF = "refs/engrams/remote"
"""Name under which the remote's newest commit is kept."""
_SECONDS = 120
"""Time after which a git program is ended."""
_MOVED_ON = ("fetch first", "non-fast-forward", "rejected")
"""Words of git where the remote has commits that we do not."""


@dataclass(frozen=True, slots=True)
class RemoteSyncResult:
    """Result of an exchange."""

    pulled: int = 0
    """Files that came from the remote."""
    pushed: bool = False
    conflicts: tuple[str, ...] = ()
    """Paths of files of which both sides' words were kept."""


@dataclass(frozen=True, slots=True)
class RemotePullResult:
    """The remote's changes, merged into the files."""

    notes: Mapping[str, Any]
    """Notes for the commit, by the paths of changed files."""
    conflicts: tuple[str, ...]


class RemoteExchange:
    """Exchanges the files of a vault with its remote."""

    def __init__(self, deps: VaultDeps, git: GitHistoryRepository) -> None:
        self._deps = deps
        self._git = git

    def fetch(self) -> str:
        """Fetch the remote's newest commit; return its id, empty for none.

        StoreError: the remote cannot be reached, or holds words that were purged here.
        """
        url = self._deps.settings.remote
        branch = self._find_branch()
        heads = self._run_git("ls-remote", "--heads", "--", url, f"refs/heads/{branch}")
        if not heads.strip():
            return ""
        head = heads.split()[0]
        self._refuse_old_history(head)
        self._run_git("fetch", "--quiet", "--no-tags", "--", url, f"+refs/heads/{branch}:{_REF}")
        return head

    def merge(self, their_commit: str) -> RemotePullResult | None:
        """Merge the remote's changes into the files; None: we have them all.

        Call with the lock held and ours committed. The caller commits the merge.
        """
        with self._git.open_repository() as repo:
            from dulwich.graph import find_merge_base
            from dulwich.objects import ObjectID

            our_head = repo.head()
            their_head = ObjectID(their_commit.encode())
            bases = find_merge_base(repo, [our_head, their_head])
            if their_head in bases:
                return None
            base_tree = repo[bases[0]].tree if bases else None
            their_changes = [
                change
                for change in diff_trees(repo, base_tree, repo[their_head].tree)
                if not change.path.startswith(".git")
            ]
            our_changes = diff_trees(repo, base_tree, repo[our_head].tree)
        merged = merge_sides(self._deps, their_changes, our_changes)
        # What we have committed for each file: our own change of it, or the base of theirs.
        committed = {change.path: change.before for change in reversed(their_changes)}
        committed |= {change.path: change.after for change in our_changes}
        notes: dict[str, Any] = {}
        for path, data in merged.files.items():
            if data != self._deps.disk.read(path):
                self._apply_file(path, data, committed.get(path))
                notes[path] = {"does": "pull", "actor": "remote", "why": "came from another place"}
        return RemotePullResult(notes, tuple(merged.conflicts))

    def push(self) -> bool:
        """Push our commits. False: the remote has moved on meanwhile."""
        try:
            self._run_git(
                "push",
                "--quiet",
                "--",
                self._deps.settings.remote,
                f"HEAD:refs/heads/{self._find_branch()}",
            )
        except StoreError as problem:
            if any(words in problem.message for words in _MOVED_ON):
                return False
            raise
        return True

    def _refuse_old_history(self, their_head: str) -> None:
        """Refuse a remote whose history still holds purged words."""
        if self._deps.state.get_fact(REWRITTEN) != "1":
            return
        with self._git.open_repository() as repo:
            if their_head.encode() not in repo.object_store:
                raise StoreError(
                    "The remote contains the history from before a purge.",
                    hint="Replace it: `git push --force` in the vault, then sync again.",
                )
        self._deps.state.set_fact(REWRITTEN, "")

    def _apply_file(self, path: str, data: bytes | None, committed: bytes | None) -> None:
        """Write or remove a merged file; keep content aside that is in no commit yet."""
        disk = self._deps.disk
        if data is None:
            replaced = disk.take(path)
        else:
            replaced = disk.write([PlannedFileWrite(path, data, committed or b"")]).get(path)
        if replaced is not None and replaced not in (committed, data):
            self._deps.keep_aside(
                path, replaced, "it was not in the history yet when another place's version came"
            )

    def _find_branch(self) -> str:
        """Return the name of our current branch."""
        with self._git.open_repository() as repo:
            names, _ = repo.refs.follow(b"HEAD")
            return str(names[-1].decode().removeprefix("refs/heads/"))

    def _run_git(self, *arguments: str) -> str:
        """Run git; return its output. StoreError: it failed."""
        program = shutil.which("git")
        if program is None:
            raise ExtraError(
                "A remote needs the git program.",
                hint="Install git, or set `vault.remote` to nothing.",
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
            result = subprocess.run(  # noqa: S603
                [program, *arguments],
                cwd=self._deps.disk.root,
                env=environment,
                capture_output=True,
                text=True,
                timeout=_SECONDS,
                check=False,
            )
        except subprocess.TimeoutExpired:
            raise StoreError(
                f"git {arguments[0]} took longer than {_SECONDS} seconds.",
                hint="See whether the remote can be reached.",
            ) from None
        if result.returncode:
            message = " ".join(result.stderr.split())[-300:]
            raise StoreError(
                f"git {arguments[0]}: {message}",
                hint="See whether the remote exists and can be reached without a password.",
            )
        return result.stdout
