"""File uploads: received in pieces, then imported by a job that survives a restart.

``FileUploadStore`` is the entry. An upload goes through ``receiving`` → ``waiting`` → ``running`` →
``done`` or ``failed``; each step is written beside the file before the next one begins, so that
another process can go on where one has died.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, replace
from datetime import timedelta
from pathlib import Path
from typing import Any, TypeAlias

from engrams.core import ImportOptions, Scope
from engrams.core.ids import new_id
from engrams.errors import ClosedError, ConflictError, EngramsError, InputError, NotFoundError
from engrams.ports import (
    Clock,
    Job,
    JobSpec,
    Store,
    StoredUpload,
    UploadStorage,
)
from engrams.settings import JobSettings
from engrams.transfer.imports.importer import ImportCounts
from engrams.transfer.progress import Progress
from engrams.upkeep.job_worker import JobWorkerPool, WorkDiscovery

LoadFunction: TypeAlias = Callable[[Path, Scope, ImportOptions, Progress], ImportCounts]
IMPORT = "import"
"""Kind of the job that imports an uploaded file."""
KEEP = timedelta(days=1)
"""Lifetime of unfinished uploads, and of reports."""
_TIDY_SECONDS = 3600.0
_NAME_CHARS = 200
_MOST_BAD_LINES = 1000
"""Unreadable pieces that a report lists."""


@dataclass(frozen=True, slots=True)
class FileUpload:
    """One uploaded file and what became of it; stored as JSON beside the file."""

    id: str
    """Id of the upload, and of the import that it becomes."""
    scope: str
    """Key of the scope imported into."""
    format: str
    name: str
    """Name of the file. Empty: the sender gave none."""
    length: int
    """Bytes of the whole file; -1: unknown until it is complete."""
    created_at: str
    """Time when it began, ISO 8601."""
    state: str = "receiving"
    """receiving, waiting, running, failed (``error`` says why; only a bad file is not tried again)
    or done.
    """
    done: int = 0
    """Pieces of ``total`` that are imported."""
    total: int = 0
    error: str = ""
    skip_bad: bool = False
    """Import what can be read of a broken file."""
    user: str = ""
    """Whose memories to take of a file of several users."""
    note: str = ""
    """Words of the user about a document."""
    adds_note: bool = False
    """The note comes after the one that is stored."""
    report: Mapping[str, Any] | None = None
    """Fields of ``ImportCounts``, once everything is imported."""


class FileUploadStore:
    """Uploads and their imports; other owners' ids are not found.

    Where machines share the uploads, any of them imports any.
    """

    def __init__(
        self,
        store: Store,
        load: LoadFunction,
        storage: UploadStorage,
        clock: Clock,
        settings: JobSettings,
    ) -> None:
        self._store = store
        self._load = load
        self._storage = storage
        self._clock = clock
        self._runner = JobWorkerPool(
            store,
            {IMPORT: self._run_import},
            clock,
            settings.model_copy(update={"workers": min(1, settings.workers)}),
            WorkDiscovery(periodic={self._tidy: _TIDY_SECONDS}),
        )

    def resume(self) -> None:
        """Continue imports of an earlier process, and delete abandoned uploads.

        Where uploads are shared, also those that come to other machines from now on.
        """
        if self._tidy() or self._storage.is_shared:
            self._runner.wake()

    def work(self) -> None:
        """As ``resume``, and import what other processes receive from now on."""
        self._tidy()
        self._runner.wake()

    def _tidy(self) -> int:
        """Enqueue uploads that wait, delete those that are over; return the number of uploads."""
        stored_uploads = tuple(self._storage.iter_all())
        for stored in stored_uploads:
            upload = _decode_upload(stored.about)
            if upload.state == "waiting":
                # Its process may have ended before enqueueing the job; enqueueing twice is
                # harmless.
                self._enqueue(upload)
            elif _is_over(upload, stored) and self._clock() - stored.touched > KEEP:
                self._storage.drop(Scope.parse(upload.scope).owner, upload.id)
        return len(stored_uploads)

    def begin(self, scope: Scope, options: ImportOptions, length: int = -1) -> FileUpload:
        """Begin an upload; its bytes follow with ``append``, and ``finish`` completes it."""
        now = self._clock()
        upload = FileUpload(
            id=new_id(now),
            scope=scope.key,
            format=options.format,
            name=options.name[:_NAME_CHARS],
            length=length,
            created_at=now.isoformat(),
            skip_bad=options.skip_bad,
            user=options.user,
            note=options.note,
            adds_note=options.adds_note,
        )
        self._storage.create(scope.owner, upload.id, _encode_upload(upload))
        return upload

    def size(self, owner: Scope, id: str) -> int:
        """Return the bytes received, also of a file that is imported and gone."""
        upload = self.get(owner, id)
        if upload.state == "receiving":
            return self._storage.measure(owner, id)
        return upload.length

    def append(self, owner: Scope, id: str, offset: int, chunk: bytes) -> int:
        """Append a piece; return the bytes received.

        ConflictError: ``offset`` is not the end, or the file is complete.
        """
        if self.get(owner, id).state != "receiving":
            raise ConflictError("This file is complete.", hint="Send another one as a new import.")
        self._storage.append(owner, id, offset, chunk)
        return offset + len(chunk)

    def finish(self, owner: Scope, id: str) -> FileUpload:
        """Complete the upload and queue its import; a second call changes nothing.

        InputError: it has another length than its sender said.
        """
        upload = self.get(owner, id)
        size = self._storage.measure(owner, id)
        if upload.state != "receiving":
            return upload
        if upload.length >= 0 and size != upload.length:
            raise InputError(
                f"The file has {size} bytes of {upload.length}.", hint="Send the rest with PATCH."
            )
        upload = self._write(replace(upload, state="waiting", length=size))
        self._enqueue(upload)
        self._runner.wake()
        return upload

    def get(self, owner: Scope, id: str) -> FileUpload:
        """Return an upload. NotFoundError: the owner has none of this id."""
        return _decode_upload(self._storage.read(owner, id))

    def list(self, owner: Scope) -> tuple[FileUpload, ...]:
        """Return an owner's uploads, newest first."""
        return tuple(map(_decode_upload, self._storage.list(owner)))

    def drop(self, owner: Scope, id: str) -> None:
        """Delete an upload or its report. ConflictError: it is being imported."""
        if self.get(owner, id).state in ("waiting", "running"):
            raise ConflictError("It is being imported.", hint="Wait until it is done.")
        self._storage.drop(owner, id)

    def close(self) -> None:
        """Stop the worker; a running import goes on with another process."""
        self._runner.close()

    def _write(self, upload: FileUpload) -> FileUpload:
        self._storage.write(Scope.parse(upload.scope).owner, upload.id, _encode_upload(upload))
        return upload

    def _enqueue(self, upload: FileUpload) -> None:
        key = f"{upload.scope}|{upload.id}"
        self._store.enqueue(
            (JobSpec(IMPORT, key, {"scope": upload.scope, "upload": upload.id}),), self._clock()
        )

    def _run_import(self, job: Job) -> None:
        scope = Scope.parse(job.payload["scope"])
        owner = scope.owner
        upload_id = job.payload["upload"]
        try:
            upload = self.get(owner, upload_id)
        except NotFoundError:
            if not self._storage.is_shared:
                raise
            # Its owner dropped it after it had failed.
            self._store.finish(job.lease, self._clock())
            return
        upload = self._write(replace(upload, state="running", error=""))
        if upload.report is None:
            try:
                report = self._import(upload, scope)
            except InputError as problem:
                # The file is bad: another try would say the same.
                self._write(replace(upload, state="failed", error=problem.message))
                self._storage.erase(owner, upload_id)
                self._store.finish(job.lease, self._clock())
                return
            except ClosedError:
                # The process ends: the job goes on elsewhere, and nothing has failed.
                raise
            except EngramsError as problem:
                self._write(replace(upload, state="failed", error=problem.message))
                raise
            self._write(replace(self.get(owner, upload_id), report=report))
        # The report is saved before the file is deleted, and "done" is set last: a finished upload
        # leaves no file, and a crash in between repeats only what is harmless.
        self._storage.erase(owner, upload_id)
        self._write(replace(self.get(owner, upload_id), state="done"))
        self._store.finish(job.lease, self._clock())

    def _import(self, upload: FileUpload, scope: Scope) -> dict[str, Any]:
        """Import the file of an upload, saving its progress; return the report."""

        def save_progress(imported: int, total: int) -> None:
            self._write(replace(upload, done=imported, total=total))

        options = ImportOptions(
            upload.format,
            upload.skip_bad,
            upload.name or "uploaded file",
            upload.id,
            user=upload.user,
            note=upload.note,
            adds_note=upload.adds_note,
        )
        with self._storage.open(scope.owner, upload.id) as path:
            report = asdict(self._load(path, scope, options, save_progress))
        report["bad"] = report["bad"][:_MOST_BAD_LINES]
        return report


def _is_over(upload: FileUpload, stored: StoredUpload) -> bool:
    """Check that no job needs the upload any more."""
    return upload.state in ("receiving", "done") or (
        upload.state == "failed" and not stored.has_file
    )


def _decode_upload(about: str) -> FileUpload:
    return FileUpload(**json.loads(about))


def _encode_upload(upload: FileUpload) -> str:
    return json.dumps(asdict(upload), ensure_ascii=False)
