"""Keep memories as files, in step with the store both ways.

``Vault`` brings the rooms together: ``files`` (memories), ``notes``, ``history`` (git) and
``purge``. It says in which order they work, under one lock, and runs their jobs.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Protocol

from engrams.backup.home_backup import BackupResult, back_up
from engrams.core import Json, Scope
from engrams.errors import ClosedError, EngramsError, NotFoundError, StoreError
from engrams.ports import ChatModel, Job, JobSpec, NoteFlushRequest, PurgeOrder, PurgeReport
from engrams.vault.dependencies import MARK, VaultDeps
from engrams.vault.files.changes import FileChangeCause
from engrams.vault.files.importer import VaultFileImporter
from engrams.vault.files.memory_file_commands import MemoryFileCommandTool
from engrams.vault.files.outbox import COMPLETE, VaultOutboxWriter
from engrams.vault.files.owner_file_tool import make_file_tool
from engrams.vault.files.stale_sync_rows import drop_stale_rows
from engrams.vault.files.sync_report import VaultSyncReport
from engrams.vault.files.vault_paths import CONFLICTS, parse_location
from engrams.vault.files.watcher import VaultWatcher
from engrams.vault.history.commit_revert import CommitRevertResult
from engrams.vault.history.git import GitHistoryRepository
from engrams.vault.history.remote_sync import REWRITTEN, RemoteSyncResult
from engrams.vault.history.vault_history import GIT, VaultHistory
from engrams.vault.notes.vault_notes import VaultNotes
from engrams.vault.purge.erasure import VaultMemoryEraser
from engrams.vault.purge.history_rewrite import rewrite_history
from engrams.vault.store_wrapper import TOPIC

REBUILT = FileChangeCause("rebuilt from its file", "engrams", "the database was lost", quiet=True)
_AWAKE_SECONDS = 1.0
"""Time for which woken workers need not be woken again."""

_log = logging.getLogger(__name__)


class VaultWorkers(Protocol):
    """Workers of the jobs, those of ``Vault.handlers`` among them."""

    def wake(self) -> None: ...


class Vault:
    """Memories as Markdown files, in step with the store. Thread safe."""

    def __init__(self, deps: VaultDeps, chat: ChatModel | None = None) -> None:
        self.deps = deps
        self.notes = VaultNotes(deps, chat)
        self.git = GitHistoryRepository(deps.disk)
        self._importer = VaultFileImporter(deps)
        self._outbox = VaultOutboxWriter(deps, self._importer, self.notes.follow)
        self._history = VaultHistory(deps, self.git, self.wake)
        self._eraser = VaultMemoryEraser(deps, self.notes, self._outbox)
        self._watcher: VaultWatcher | None = None
        self._workers: VaultWorkers | None = None
        self._woken_at = -_AWAKE_SECONDS
        self._last_warning = ""
        self._closed = False
        self.start_report = VaultSyncReport()
        """Changes that were applied when it was opened."""

    @property
    def handlers(self) -> dict[str, Callable[[Job], None]]:
        """Return the vault's job handlers, by kind."""
        return {TOPIC: self.drain, GIT: self._history.run_commit, **self.notes.handlers}

    # ----------------------------------------------------------------------------------------------
    # opening and closing

    def start(self, workers: VaultWorkers | None = None) -> None:
        """Apply what changed meanwhile, write missing files, and watch if set.

        A vault that is not there, or has no room, is no error for whoever opens memory: the job
        that writes to it fails visibly.
        """
        self._workers = workers
        for step in (self._sync_existing, self._plan_missing):
            try:
                step()
            except StoreError as problem:
                self._warn_once(problem)
        if self.deps.settings.watch in ("auto", "poll"):
            self.watch()

    def close(self) -> None:
        """Write what can be written now, and close; repeatable."""
        if self._closed:
            return
        self._closed = True
        self.unwatch()
        try:
            if self.deps.plain_store.outbox(1):
                with self.deps.lock:
                    self._outbox.flush()
            self.commit()
        except ClosedError:
            raise
        except EngramsError as problem:
            self._warn_once(problem)
        finally:
            self.deps.state.close()

    def watch(self) -> None:
        """Follow the files from now on; a second call does nothing."""
        section = self.deps.settings
        if self._watcher is None and self.deps.truth == "files":
            self._watcher = VaultWatcher(
                self.deps.disk,
                self.pull_changes,
                "poll" if section.watch == "poll" else "auto",
                section.poll_seconds,
            )
            self._watcher.start()

    def unwatch(self) -> None:
        """Stop following the files, and wait until changes are applied."""
        watcher = self._watcher
        self._watcher = None
        if watcher is not None:
            watcher.close()

    # ----------------------------------------------------------------------------------------------
    # hooks of the store

    def wake(self) -> None:
        """Wake the workers, once for writes that come together."""
        now = time.monotonic()
        if self._workers is None or self._closed or now - self._woken_at < _AWAKE_SECONDS:
            return
        self._woken_at = now
        self._workers.wake()

    def follow(self, actions: Mapping[Scope, Mapping[str, str]]) -> None:
        """Leave out of notes at once what memories no longer say.

        ``actions``: what was done to each memory, by owner and id.
        """
        try:
            with self.deps.lock:
                for owner, owner_actions in actions.items():
                    self.notes.index.follow(owner, owner_actions)
        except StoreError as problem:
            # The memories themselves are changed; the outbox brings their notes up to date.
            self._warn_once(problem)

    def purge(
        self,
        owner: Scope,
        ids: Sequence[str],
        shortened_ids: Sequence[str],
        erase: Callable[[], PurgeReport],
        words: Sequence[str],
    ) -> PurgeReport:
        """Erase memories by ``erase``, with their files; the shortened ones lose words."""
        with self.deps.lock:
            return self._eraser.purge(owner, ids, shortened_ids, erase, words)

    def check(self, repair: bool, report: Mapping[str, Json]) -> Mapping[str, Json]:
        """Add the files' problems to a check of the store."""
        deps = self.deps
        problems: list[str] = []
        try:
            if repair:
                self.sync(repair=True)
            elif deps.is_there and deps.truth == "files":
                with deps.lock:
                    self._importer.run()
                    self.notes.index.sync()
        except StoreError as problem:
            problems.append(" ".join(filter(None, (problem.message, problem.hint))))
        problems += [f"{path}: {problem}" for path, problem in deps.state.problems().items()]
        problems += [
            f"{path}: text that could not be merged; copy what you need, then delete the file"
            for path, _ in deps.disk.walk(CONFLICTS)
        ]
        return {
            **report,
            "ok": bool(report.get("ok", True)) and not problems,
            "problems": [*report.get("problems", ()), *problems],
            "vault": {
                "path": str(deps.disk.root),
                "truth": deps.truth,
                "files": deps.state.count(),
                "problems": problems,
            },
        }

    # ----------------------------------------------------------------------------------------------
    # files and memory

    def sync(
        self, accept: bool = False, cause: FileChangeCause | None = None, *, repair: bool = False
    ) -> VaultSyncReport:
        """Synchronise everything.

        ``accept``: forget the memories of missing files, however many are missing. ``repair``:
        compare each memory's text with its file.
        """
        with self.deps.lock:
            if drop_stale_rows(self.deps, always=repair) and cause is None:
                cause = REBUILT
            report = VaultSyncReport()
            if self.deps.truth == "files" or cause:
                report = self._importer.run(accept=accept, cause=cause)
            report.written = self._outbox.flush(report.renamed)
            self.notes.index.sync()
            if repair:
                self.notes.index.drop_unnoted()
        self._history.schedule_commit()
        return report

    def pull_changes(self, paths: Sequence[str] | None = None) -> VaultSyncReport:
        """Apply changes of these files (None: of all), and write what follows."""
        with self.deps.lock:
            memory_paths = None
            if paths is not None:
                memory_paths = [path for path in paths if parse_location(path) is not None]
            report = VaultSyncReport()
            if memory_paths is None or memory_paths:
                report = self._importer.run(memory_paths)
            report.written = self._outbox.flush(report.renamed)
            if memory_paths is None or len(memory_paths) < len(paths or ()):
                self.notes.index.sync()
        self._history.schedule_commit()
        return report

    def write(self) -> int:
        """Write the files of everything that changed; return their number."""
        with self.deps.lock:
            count = self._outbox.flush()
        self._history.schedule_commit()
        return count

    def drain(self, job: Job) -> None:
        """Run the job that writes all pending files."""
        self._woken_at = -_AWAKE_SECONDS
        with self.deps.lock:
            self._outbox.flush(job=job)
            self._outbox.export(job)
        self._history.schedule_commit()
        self.deps.store.finish(job.lease, self.deps.clock())

    def rewrite(self) -> None:
        """Write every file anew; move what stands in the way."""
        deps = self.deps
        with deps.lock:
            deps.state.clear()
            deps.disk.remove(MARK)
            deps.state.set_fact("vault", "")
            deps.state.set_fact(COMPLETE, "")
            deps.make_folder()
            self._importer.run()
            self._outbox.flush()
            self._outbox.export(None)

    def file(self, owner: Scope, record_id: str) -> str:
        """Return the path of a memory's file. NotFoundError: it has none."""
        row = self.deps.state.get(owner, [record_id]).get(record_id)
        if row is None or not row.path:
            raise NotFoundError(
                f"The memory {record_id} has no file.",
                hint="`engrams sync` writes missing files.",
            )
        return row.path

    def tool(self, owner: Scope) -> MemoryFileCommandTool:
        """Return the model's file commands over an owner's documents and memories."""
        return make_file_tool(self.deps, owner, self.pull_changes)

    def backup(self, target: Path, passphrase: str = "") -> BackupResult:
        """Back up memory and files into one file, taken while running."""
        with self.deps.lock:
            self.sync()
            self.commit()
            return back_up(self.deps.paths, target, passphrase)

    # ----------------------------------------------------------------------------------------------
    # notes

    def dream(self, owner: Scope, days: int, *, force: bool = False) -> bool:
        """Summarise the day, consolidate notes into MEMORY.md, and index it.

        False: nothing new, or nothing that lasts.
        """
        plan = self.notes.dream(owner, days, force=force)
        self.sync()
        return plan is not None and plan.memory is not None

    def flush(self, request: NoteFlushRequest) -> bool:
        """Append to the owner's daily note and index it at once.

        False: nothing to say, or said before. For what leaves a conversation: what a summary cuts
        off, what overflows, the end of a session. Waits for the model where one is set; a caller
        that must not wait enqueues a ``ports.DAILY`` job instead.
        """
        is_new = self.notes.daily.flush(request)
        if is_new:
            with self.deps.lock:
                self.notes.index.sync()
            self._history.schedule_commit()
        return is_new

    # ----------------------------------------------------------------------------------------------
    # history

    def begin_history(self) -> None:
        """Make the repository where ``vault.git`` is on and there is none.

        For programs that stay, before the first memory. A folder without room is no error.
        """
        try:
            self._history.begin()
        except (StoreError, OSError) as problem:
            self._warn_once(problem)

    def commit(self, title: str = "") -> list[str]:
        """Commit the changes; return ids. ``title``: instead of a count."""
        return self._history.commit(title)

    def exchange(self, tries: int = 3) -> RemoteSyncResult:
        """Pull, merge and push; the lock is not held while waiting."""
        return self._history.exchange(lambda cause: self.sync(cause=cause), tries)

    def revert(self, commit: str) -> CommitRevertResult:
        """Undo one commit, memory by memory; report what changed since."""
        with self.deps.lock:
            self.sync()
            self.commit()
            result = self._history.revert(commit)
            self._outbox.flush()
            self.commit()
            return result

    def settle_purge(self) -> None:
        """Commit a purge to git, and forget the removed files' names."""
        with self.deps.lock:
            self.commit()
            self.deps.state.forget_missing(lambda path: self.deps.disk.stat(path) is not None)

    def rewrite_history(self, order: PurgeOrder) -> int:
        """Remove a purge's words from the git history; 1: rewritten."""
        with self.deps.lock:
            rewritten = rewrite_history(self.deps.disk.root, order) if self.git.exists else 0
            if rewritten and self.deps.settings.remote:
                self.deps.state.set_fact(REWRITTEN, "1")
            return rewritten

    def _sync_existing(self) -> None:
        """Synchronise a vault that is there."""
        if self.deps.state.exists or self.deps.disk.root.is_dir():
            self.start_report = self.sync()

    def _plan_missing(self) -> None:
        """Plan to write what has no file yet."""
        if self.deps.state.get_fact(COMPLETE) != "1" and self.deps.store.scopes(None):
            self.deps.store.enqueue([JobSpec(TOPIC, TOPIC)], self.deps.clock())

    def _warn_once(self, problem: EngramsError | OSError) -> None:
        message = str(problem)
        if message != self._last_warning:
            _log.warning("vault: %s", message)
        self._last_warning = message
