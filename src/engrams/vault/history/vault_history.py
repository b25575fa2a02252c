"""The history of a vault: commits of changed files, their undo, and the exchange with a remote."""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import timedelta

from engrams.ports import Job, JobSpec
from engrams.vault.dependencies import VaultDeps
from engrams.vault.files.changes import FileChangeCause
from engrams.vault.history.commit_revert import CommitRevertResult, revert_commit
from engrams.vault.history.git import IGNORE, GitHistoryRepository
from engrams.vault.history.remote_sync import RemoteExchange, RemoteSyncResult

GIT = "git"
"""Kind and key of the job that commits the files."""
_MANY_FILES = 500
"""Changed files from which a commit is no longer put off by further changes."""
_SCHEDULE_SECONDS = 1.0
"""Seconds within which a commit is not asked for twice."""


class VaultHistory:
    """Commits, reverts and exchanges the files of a vault."""

    def __init__(
        self, deps: VaultDeps, git: GitHistoryRepository, wake_workers: Callable[[], None]
    ) -> None:
        self._deps = deps
        self._git = git
        self._wake_workers = wake_workers
        self._scheduled_at = -_SCHEDULE_SECONDS

    def begin(self) -> None:
        """Make the repository, with its ignore file and a first commit, where there is none."""
        deps = self._deps
        if not deps.settings.git:
            return
        with deps.lock:
            deps.make_folder()
            if not self._git.exists:
                self._git.commit({IGNORE: {"does": "begin"}}, deps.clock(), title="Begin")

    def commit(self, title: str = "") -> list[str]:
        """Commit the changes; return the ids. ``title``: instead of a count."""
        deps = self._deps
        with deps.lock:
            notes = deps.state.touched_notes()
            if not notes or not deps.settings.git or not deps.is_there:
                return []
            self._scheduled_at = -_SCHEDULE_SECONDS
            commit_ids = self._git.commit(notes, deps.clock(), title=title)
            # After the commit: a crash in between only commits nothing once more.
            deps.state.untouch(notes.items())
            return commit_ids

    def schedule_commit(self) -> None:
        """Enqueue a commit for the next quiet moment, if files changed."""
        deps = self._deps
        seconds = deps.settings.git_seconds
        changed_files = deps.state.count_touched() if deps.settings.git else 0
        is_due = time.monotonic() - self._scheduled_at >= min(_SCHEDULE_SECONDS, seconds / 5)
        if not changed_files or not is_due:
            return
        self._scheduled_at = time.monotonic()
        now = deps.clock()
        # Without a quiet moment the commit must still come.
        can_wait = changed_files < _MANY_FILES
        deps.store.enqueue(
            [JobSpec(GIT, GIT, due=now + timedelta(seconds=seconds), debounce=can_wait)], now
        )
        self._wake_workers()

    def run_commit(self, job: Job) -> None:
        """Run the job that commits the files."""
        store = self._deps.store
        now = self._deps.clock()
        dead_ids = [dead.id for dead in store.queue(("dead",)) if dead.kind == GIT]
        if dead_ids:
            # This commit covers theirs: one visible failure is enough.
            store.retry(dead_ids, now)
            store.cancel(dead_ids)
        self.commit()
        store.finish(job.lease, now)

    def revert(self, commit: str) -> CommitRevertResult:
        """Undo one commit in memory. Call with the lock held and everything committed."""
        entry, changes = self._git.changes(commit)
        return revert_commit(self._deps, entry.id, changes)

    def exchange(
        self, sync: Callable[[FileChangeCause | None], object], tries: int
    ) -> RemoteSyncResult:
        """Pull, merge and push; the lock is not held while waiting for the remote.

        ``sync``: synchronises files and memory, for a cause.
        """
        deps = self._deps
        sync(None)
        self.commit()
        if not deps.settings.remote:
            return RemoteSyncResult()
        self.begin()
        remote = RemoteExchange(deps, self._git)
        pulled = 0
        conflicts: tuple[str, ...] = ()
        for _ in range(tries):
            their_commit = remote.fetch()
            if their_commit:
                with deps.lock:
                    # Changes made meanwhile are part of ours.
                    sync(None)
                    self.commit()
                    pull = remote.merge(their_commit)
                    if pull is not None:
                        pulled += len(pull.notes)
                        conflicts = (*conflicts, *pull.conflicts)
                        sync(FileChangeCause("merged", "remote", "came from another place"))
                        notes = {**deps.state.touched_notes(), **pull.notes}
                        self._git.commit(notes, deps.clock(), (their_commit,))
                        deps.state.untouch(deps.state.touched_notes().items())
            if remote.push():
                return RemoteSyncResult(pulled, True, conflicts)
        return RemoteSyncResult(pulled, False, conflicts)
