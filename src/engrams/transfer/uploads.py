"""File uploads: received in pieces, then imported by a resumable job."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import asdict, replace
from datetime import timedelta
from pathlib import Path
from typing import Any, TypeAlias

from engrams.core import ImportOptions, Scope
from engrams.core.ids import new_id
from engrams.errors import ClosedError, ConflictError, EngramsError, InputError, NotFoundError
from engrams.frozen_data import dataclass
from engrams.ports import (
    Clock,
    Job,
    JobSpec,
    Store,
    StoredUpload,
    UploadStorage,
)
from engrams.settings import JobSettings
from engrams.transfer.import_export import ImportCounts, Progress
from engrams.upkeep.job_worker import JobWorkerPool, WorkDiscovery

LoadFunction: TypeAlias = Callable[[Path, Scope, ImportOptions, Progress], ImportCounts]
IMPORT = "import"
KEEP = timedelta(days=1)
"""Lifetime of unfinished uploads, and of reports."""
_TIDY_SECONDS = 3600.0


@dataclass(frozen=True, slots=True)
class FileUpload:
    """One uploaded file.

    ``state``: receiving, waiting, running, failed (with the error; only a bad file is not tried
    again) or done. ``length``: its bytes,
    -1: unknown until it is complete. ``done`` of ``total`` pieces are imported. ``report``: the
      fields of LoadReport.
    """

    id: str
    scope: str
    format: str
    name: str
    length: int
    created_at: str
    state: str = "receiving"
    done: int = 0
    total: int = 0
    error: str = ""
    skip_bad: bool = False
    user: str = ""
    report: Mapping[str, Any] | None = None


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
        self._settings = settings
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
        """Enqueue what waits, and delete what is over; number of uploads."""
        every = tuple(self._storage.iter_all())
        for one in every:
            upload = _decode_upload(one.about)
            if upload.state == "waiting":
                # Its process may have ended before enqueueing the job; enqueueing twice is
                # harmless.
                self._enqueue(upload)
            elif _is_over(upload, one) and self._clock() - one.touched > KEEP:
                self._storage.drop(Scope.parse(upload.scope).owner, upload.id)
        return len(every)

    def begin(self, scope: Scope, plan: ImportOptions, length: int = -1) -> FileUpload:
        started = self._clock().isoformat()
        upload = FileUpload(
            id=new_id(self._clock()),
            scope=scope.key,
            format=plan.format,
            name=plan.name[:200],
            length=length,
            created_at=started,
            skip_bad=plan.skip_bad,
            user=plan.user,
        )
        self._storage.create(scope.owner, upload.id, _encode_upload(upload))
        return upload

    def size(self, owner: Scope, id: str) -> int:
        """Return the bytes received, also of an imported file."""
        upload = self.get(owner, id)
        return upload.length if upload.state != "receiving" else self._storage.measure(owner, id)

    def append(self, owner: Scope, id: str, offset: int, chunk: bytes) -> int:
        """Append a piece; returns the bytes received. ConflictError: wrong ``offset``."""
        if self.get(owner, id).state != "receiving":
            raise ConflictError("This file is complete.", hint="Send another one as a new import.")
        self._storage.append(owner, id, offset, chunk)
        return offset + len(chunk)

    def finish(self, owner: Scope, id: str) -> FileUpload:
        """Complete the upload and queue its import. InputError: its length differs."""
        upload = self.get(owner, id)
        size = self._storage.measure(owner, id)
        if upload.state != "receiving":
            return upload
        if upload.length >= 0 and size != upload.length:
            raise InputError(
                f"The file has {size} bytes of {upload.length}.", hint="Send the rest with PATCH."
            )
        waiting = self._write(replace(upload, state="waiting", length=size))
        self._enqueue(upload)
        self._runner.wake()
        return waiting

    def get(self, owner: Scope, id: str) -> FileUpload:
        return _decode_upload(self._storage.read(owner, id))

    def list(self, owner: Scope) -> tuple[FileUpload, ...]:
        return tuple(map(_decode_upload, self._storage.list(owner)))

    def drop(self, owner: Scope, id: str) -> None:
        """Delete an upload or its report. ConflictError: it is being imported."""
        if self.get(owner, id).state in ("waiting", "running"):
            raise ConflictError("It is being imported.", hint="Wait until it is done.")
        self._storage.drop(owner, id)

    def close(self) -> None:
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
        id = job.payload["upload"]
        try:
            upload = self.get(owner, id)
        except NotFoundError:
            if not self._storage.is_shared:
                raise
            # Its owner dropped it after it had failed.
            self._store.finish(job.lease, self._clock())
            return
        upload = self._write(replace(upload, state="running", error=""))

        def progress(done: int, total: int) -> None:
            self._write(replace(upload, done=done, total=total))

        if upload.report is None:
            try:
                plan = ImportOptions(
                    upload.format,
                    upload.skip_bad,
                    upload.name or "uploaded file",
                    upload.id,
                    user=upload.user,
                )
                with self._storage.open(owner, id) as file:
                    report = asdict(self._load(file, scope, plan, progress))
            except ClosedError:
                raise
            except InputError as problem:
                # The file is bad: another try would say the same.
                self._write(replace(upload, state="failed", error=problem.message))
                self._storage.erase(owner, id)
                self._store.finish(job.lease, self._clock())
                return
            except EngramsError as problem:
                self._write(replace(upload, state="failed", error=problem.message))
                raise
            upload = self._write(
                replace(self.get(owner, id), report={**report, "bad": report["bad"][:1000]})
            )
        # Save the report, then delete the file, then set "done": a finished upload leaves no file.
        self._storage.erase(owner, id)
        self._write(replace(upload, state="done"))
        self._store.finish(job.lease, self._clock())


def _is_over(upload: FileUpload, stored: StoredUpload) -> bool:
    """Check that no job needs the upload any more."""
    return upload.state in ("receiving", "done") or (
        upload.state == "failed" and not stored.has_file
    )


def _decode_upload(about: str) -> FileUpload:
    return FileUpload(**json.loads(about))


def _encode_upload(upload: FileUpload) -> str:
    return json.dumps(asdict(upload), ensure_ascii=False)
