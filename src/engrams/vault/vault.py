"""Keep memories as files, in step with the store both ways."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping, Sequence
from datetime import timedelta
from pathlib import Path
from typing import Protocol

from engrams.backup.home_backup import BackupResult, back_up
from engrams.core import Json, Kind, Record, Scope
from engrams.errors import ClosedError, EngramsError, NotFoundError, StoreError
from engrams.ports import (
    ChatModel,
    Job,
    JobSpec,
    NoteFlushRequest,
    PurgeOrder,
    PurgeReport,
)
from engrams.vault.dependencies import MARK, VaultDeps, VaultSyncReport
from engrams.vault.files.changes import FileChangeCause
from engrams.vault.files.folder_access import make_private
from engrams.vault.files.importer import VaultFileImporter
from engrams.vault.files.memory_file_commands import MemoryFileCommandTool
from engrams.vault.files.outbox import BATCH, COMPLETE, DailyNoteJobHandlers, VaultOutboxWriter
from engrams.vault.files.store_comparison import drop_stale_rows
from engrams.vault.files.vault_paths import CONFLICTS, DOCUMENTS, ENTRIES, parse_place, scope_folder
from engrams.vault.files.watcher import VaultWatcher
from engrams.vault.history import remote_sync
from engrams.vault.history.commit_revert import CommitRevertResult, revert
from engrams.vault.history.git import IGNORE, GitHistoryRepository
from engrams.vault.history.remote_sync import RemoteSyncResult
from engrams.vault.purge.erasure import VaultMemoryEraser
from engrams.vault.purge.history_rewrite import rewrite_history
from engrams.vault.store_wrapper import TOPIC

_AWAKE = 1.0
"""Seconds for which woken workers need not be woken again."""

_log = logging.getLogger(__name__)

GIT = "git"
"""Kind and key of the job that commits the files."""

REBUILT = FileChangeCause("rebuilt from its file", "engrams", "the database was lost", quiet=True)


class VaultWorkers(Protocol):
    """Workers of the jobs, those of ``Vault.handlers`` among them."""

    def wake(self) -> None: ...


class Vault:
    """Memories as Markdown files, in step with the store. Thread safe."""

    def __init__(self, parts: VaultDeps, chat: ChatModel | None = None) -> None:
        self.parts = parts
        self.days = DailyNoteJobHandlers(parts, chat)
        self._pull = VaultFileImporter(parts)
        self._outbox = VaultOutboxWriter(parts, self._pull, self.days.follow)
        self.git = GitHistoryRepository(parts.disk)
        self._closed = False
        self._watcher: VaultWatcher | None = None
        self._work: VaultWorkers | None = None
        self._woken = self._asked = -_AWAKE
        self._warned = ""
        self.start_report = VaultSyncReport()
        """Changes that were applied when it was opened."""

    @property
    def handlers(self) -> dict[str, Callable[[Job], None]]:
        """Return the vault's job handlers, by kind."""
        return {TOPIC: self.drain, GIT: self._run_commit, **self.days.handlers}

    def start(self, work: VaultWorkers | None = None) -> None:
        """Apply what changed meanwhile, write missing files, and watch if set.

        A vault that is not there, or has no room, is no error for whoever opens memory: the job
        that writes to it fails visibly.
        """
        self._work = work
        for step in (self._sync_known, self._plan_missing):
            try:
                step()
            except StoreError as problem:
                self._warn_once(problem)
        if self.parts.settings.watch in ("auto", "poll"):
            self.watch()

    def _sync_known(self) -> None:
        """Synchronise a vault that is there."""
        if self.parts.state.exists or self.parts.disk.root.is_dir():
            self.start_report = self.sync()

    def _plan_missing(self) -> None:
        """Plan to write what has no file yet."""
        if self.parts.state.get_fact(COMPLETE) != "1" and self.parts.store.scopes(None):
            self.parts.store.enqueue([JobSpec(TOPIC, TOPIC)], self.parts.clock())

    def wake(self) -> None:
        """Wake the workers, once for writes that come together."""
        now = time.monotonic()
        if self._work is not None and not self._closed and now - self._woken >= _AWAKE:
            self._woken = now
            self._work.wake()

    def follow(self, changed: Mapping[Scope, Mapping[str, str]]) -> None:
        """Leave what memories no longer say out of notes, at once."""
        try:
            with self.parts.lock:
                for owner, does in changed.items():
                    self.days.notes.follow(owner, does)
        except StoreError as problem:
            # The memories themselves are changed; the outbox brings their notes up to date.
            self._warn_once(problem)

    def watch(self) -> None:
        """Follow the files from now on; a second call does nothing."""
        section = self.parts.settings
        if self._watcher is None and self.parts.truth == "files":
            self._watcher = VaultWatcher(
                self.parts.disk,
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

    def sync(
        self, accept: bool = False, cause: FileChangeCause | None = None, *, repair: bool = False
    ) -> VaultSyncReport:
        """Synchronise everything; ``accept``: however many files are gone.

        ``repair``: compare each memory's text with its file.
        """
        with self.parts.lock:
            if drop_stale_rows(self.parts, always=repair) and cause is None:
                cause = REBUILT
            report = (
                self._pull.run(None, accept, cause)
                if self.parts.truth == "files" or cause
                else VaultSyncReport()
            )
            report.written = self._outbox.flush(report.renamed)
            self.days.notes.sync()
            if repair:
                self.days.notes.drop_unnoted()
        self._schedule_commit()
        return report

    def pull_changes(self, paths: Sequence[str] | None = None) -> VaultSyncReport:
        """Apply changes of these files (None: of all), and write what follows."""
        with self.parts.lock:
            memories = (
                None if paths is None else [path for path in paths if parse_place(path) is not None]
            )
            report = self._pull.run(memories) if memories is None or memories else VaultSyncReport()
            report.written = self._outbox.flush(report.renamed)
            if memories is None or len(memories) < len(paths or ()):
                self.days.notes.sync()
        self._schedule_commit()
        return report

    def dream(self, owner: Scope, days: int, *, force: bool = False) -> bool:
        """Summarise the day, consolidate notes into MEMORY.md, and index it.

        False: nothing new, or nothing that lasts.
        """
        plan = self.days.dream(owner, days, force=force)
        self.sync()
        return plan is not None and plan.memory is not None

    def write(self) -> int:
        """Write the files of everything that changed; return their number."""
        with self.parts.lock:
            written = self._outbox.flush(())
        self._schedule_commit()
        return written

    def drain(self, job: Job) -> None:
        """Run the job that writes all pending files."""
        self._woken = -_AWAKE
        with self.parts.lock:
            self._outbox.flush((), job)
            self._outbox.export(job)
        self._schedule_commit()
        self.parts.store.finish(job.lease, self.parts.clock())

    def commit(self, title: str = "") -> list[str]:
        """Commit the changes; return ids. ``title``: instead of a count."""
        parts = self.parts
        with parts.lock:
            notes = parts.state.touched_notes()
            if not notes or not parts.settings.git or not parts.is_there:
                return []
            self._asked = -_AWAKE
            done = self.git.commit(notes, parts.clock(), title=title)
            parts.state.untouch(notes.items())
            return done

    def exchange(self, tries: int = 3) -> RemoteSyncResult:
        """Pull, merge and push; the lock is not held while waiting."""
        parts = self.parts
        pulled = 0
        conflicts: tuple[str, ...] = ()
        self.sync()
        self.commit()
        if not parts.settings.remote:
            return RemoteSyncResult()
        with parts.lock:
            parts.make_folder()
            if not self.git.exists:
                self.git.commit({IGNORE: {"does": "begin"}}, parts.clock())
        for _ in range(tries):
            theirs = remote_sync.fetch(parts, self.git)
            if theirs:
                with parts.lock:
                    # Changes made meanwhile are part of ours.
                    self.sync()
                    self.commit()
                    notes, some, more = remote_sync.merge(parts, self.git, theirs)
                    if more:
                        pulled = pulled + len(notes)
                        conflicts = (*conflicts, *some)
                        self.sync(
                            cause=FileChangeCause("merged", "remote", "came from another place")
                        )
                        self.git.commit(
                            {**parts.state.touched_notes(), **notes}, parts.clock(), (theirs,)
                        )
                        parts.state.untouch(parts.state.touched_notes().items())
            if remote_sync.push(parts, self.git):
                return RemoteSyncResult(pulled, True, conflicts)
        return RemoteSyncResult(pulled, False, conflicts)

    def flush(self, request: NoteFlushRequest) -> bool:
        """Append to the owner's daily note and index it at once.

        False: nothing to say, or said before. For what leaves a conversation: what a summary cuts
        off, what overflows, the end of a session. Waits for the model where one is set; a caller
        that must not wait enqueues a ``ports.DAILY`` job instead.
        """
        done = self.days.daily.flush(request)
        if done:
            with self.parts.lock:
                self.days.notes.sync()
            self._schedule_commit()
        return done

    def revert(self, commit: str) -> CommitRevertResult:
        """Undo one commit, memory by memory; report what changed since."""
        with self.parts.lock:
            self.sync()
            self.commit()
            entry, versions = self.git.changes(commit)
            done = revert(self.parts, entry.id, versions)
            self._outbox.flush(())
            self.commit()
            return done

    def file(self, owner: Scope, name: str) -> str:
        """Return the path of a memory's file. NotFoundError: it has none."""
        row = self.parts.state.get(owner, [name]).get(name)
        if row is None or not row.path:
            raise NotFoundError(
                f"The memory {name} has no file.", hint="`engrams sync` writes what is missing."
            )
        return row.path

    def rewrite(self) -> None:
        """Write every file anew; move what stands in the way."""
        parts = self.parts
        with parts.lock:
            parts.state.clear()
            parts.disk.remove(MARK)
            parts.state.set_fact("vault", "")
            parts.state.set_fact(COMPLETE, "")
            parts.make_folder()
            self._pull.run()
            self._outbox.flush(())
            self._outbox.export(None)

    def backup(self, target: Path, passphrase: str = "") -> BackupResult:
        """Back up memory and files into one file, taken while running."""
        with self.parts.lock:
            self.sync()
            self.commit()
            return back_up(self.parts.places, target, passphrase)

    def tool(self, owner: Scope) -> MemoryFileCommandTool:
        """Return the model's file commands over an owner's documents and memories."""
        root = self.parts.disk.root
        place = scope_folder(owner)
        with self.parts.lock:
            self.parts.make_folder()
            make_private(root / DOCUMENTS / place)
        return MemoryFileCommandTool(
            root / DOCUMENTS / place,
            {ENTRIES: root / ENTRIES / place},
            self._take_tool_edits,
            self._remove_secrets,
        )

    def _take_tool_edits(self, files: Sequence[Path]) -> None:
        root = self.parts.disk.root.resolve()
        paths = [file.resolve().relative_to(root).as_posix() for file in files]
        self.parts.state.touch(
            (path, {"does": "edit", "actor": "agent", "why": "edited by an agent"})
            for path in paths
        )
        self.pull_changes(paths)

    def _remove_secrets(self, text: str) -> str:
        """Remove secrets, by the rules for all that is written."""
        if not text.strip():
            return text
        dummy = Record(
            id="-", scope=Scope(("-",)), kind=Kind.NOTE, text=text, recorded_at=self.parts.clock()
        )
        kept, _ = self.parts.rules.prepare(dummy, {"text": text})
        return text if kept["text"] == text.strip() else str(kept["text"])

    def purge(
        self,
        owner: Scope,
        ids: tuple[Sequence[str], Sequence[str]],
        erase: Callable[[], PurgeReport],
        words: Sequence[str],
    ) -> PurgeReport:
        """Erase memories and their files; the second ids lose words."""
        with self.parts.lock:
            return VaultMemoryEraser(self.parts, self.days, self._outbox).purge(
                owner, *ids, erase, words
            )

    def settle_purge(self) -> None:
        """Commit a purge to git, and forget the removed files' names."""
        with self.parts.lock:
            self.commit()
            self.parts.state.forget_missing(lambda path: self.parts.disk.stat(path) is not None)

    def rewrite_history(self, order: PurgeOrder) -> int:
        """Remove a purge's words from the git history; 1: rewritten."""
        with self.parts.lock:
            done = rewrite_history(self.parts.disk.root, order) if self.git.exists else 0
            if done and self.parts.settings.remote:
                self.parts.state.set_fact(remote_sync.REWRITTEN, "1")
            return done

    def check(self, repair: bool, found: Mapping[str, Json]) -> Mapping[str, Json]:
        """Add the files' problems to a check of the store."""
        problems: list[str] = []
        try:
            if repair:
                self.sync(repair=True)
            elif self.parts.is_there and self.parts.truth == "files":
                with self.parts.lock:
                    self._pull.run()
                    self.days.notes.sync()
        except StoreError as problem:
            problems.append(" ".join(filter(None, (problem.message, problem.hint))))
        told = [f"{path}: {why}" for path, why in self.parts.state.problems().items()]
        told += [
            f"{path}: words that could not be merged; take what you need and remove it"
            for path, _ in self.parts.disk.walk(CONFLICTS)
        ]
        vault = {
            "path": str(self.parts.disk.root),
            "truth": self.parts.truth,
            "files": self.parts.state.count(),
            "problems": [*problems, *told],
        }
        every = [*found.get("problems", ()), *problems, *told]
        return {
            **found,
            "ok": bool(found.get("ok", True)) and not problems and not told,
            "problems": every,
            "vault": vault,
        }

    def close(self) -> None:
        """Write what can be written now, and close; repeatable."""
        if self._closed:
            return
        self._closed = True
        self.unwatch()
        try:
            if self.parts.plain_store.outbox(1):
                with self.parts.lock:
                    self._outbox.flush(())
            self.commit()
        except ClosedError:
            raise
        except EngramsError as problem:
            self._warn_once(problem)
        finally:
            self.parts.state.close()

    def _warn_once(self, problem: EngramsError) -> None:
        if problem.message != self._warned:
            _log.warning("vault: %s", problem.message)
        self._warned = problem.message

    def _schedule_commit(self) -> None:
        parts = self.parts
        seconds = parts.settings.git_seconds
        waiting = parts.state.count_touched() if parts.settings.git else 0
        if waiting and time.monotonic() - self._asked >= min(_AWAKE, seconds / 5):
            self._asked = time.monotonic()
            now = parts.clock()
            # Without a quiet moment the commit must still come.
            parts.store.enqueue(
                [JobSpec(GIT, GIT, due=now + timedelta(seconds=seconds), debounce=waiting < BATCH)],
                now,
            )
            self.wake()

    def _run_commit(self, job: Job) -> None:
        store = self.parts.store
        now = self.parts.clock()
        failed = [one.id for one in store.queue(("dead",)) if one.kind == GIT]
        if failed:
            # This commit covers theirs: one visible failure is enough.
            store.retry(failed, now)
            store.cancel(failed)
        self.commit()
        store.finish(job.lease, now)
