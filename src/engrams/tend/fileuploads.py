"""File uploads: received in pieces, then imported by a resumable job."""

from __future__ import annotations

import hashlib
import json
import re
import shutil
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, TypeAlias

from engrams.clock import new_id
from engrams.encryption import fileencryption
from engrams.errors import ClosedError, ConflictError, EngramsError, InputError, NotFoundError
from engrams.ports import Clock, Job, JobSpec, Store
from engrams.settings import JobSettings
from engrams.tend.importexport import ImportCounts, Progress
from engrams.tend.jobworker import JobWorkerPool
from engrams.types import ImportOptions, Scope

LoadFunction: TypeAlias = Callable[[Path, Scope, ImportOptions, Progress], ImportCounts]
IMPORT = "import"
KEEP = timedelta(days=1)
"""Lifetime of unfinished uploads, and of reports."""

_ID = re.compile(r"[0-9a-z]{26}")


@dataclass(frozen=True, slots=True)
class FileUpload:
    """One uploaded file.

    ``state``: receiving, waiting, running, failed (with the error; only a bad file is not tried again) or done. ``length``: its bytes,
    -1: unknown until it is complete. ``done`` of ``total`` pieces are imported. ``report``: the fields of LoadReport."""

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
    """Uploads, in one folder per owner; other owners' ids are not found."""

    def __init__(self, store: Store, load: LoadFunction, folder: Path, clock: Clock, settings: JobSettings) -> None:
        self._store, self._load, self._folder, self._clock, self._settings = store, load, folder, clock, settings
        self._runner = JobWorkerPool(
            store, {IMPORT: self._run_import}, clock, settings.model_copy(update={"workers": min(1, settings.workers)})
        )

    def resume(self) -> None:
        """Continue imports of an earlier process, and delete abandoned uploads."""
        if not self._folder.is_dir():
            return
        for place in self._folder.glob("*/*"):
            upload = _read_upload(place)
            if upload.state == "waiting":
                # Its process may have ended before enqueueing the job; enqueueing twice is harmless.
                self._enqueue(upload)
            elif _is_over(upload, place) and self._clock() - datetime.fromtimestamp(place.stat().st_mtime, UTC) > KEEP:
                shutil.rmtree(place)
        self._runner.wake()

    def begin(self, scope: Scope, plan: ImportOptions, length: int = -1) -> FileUpload:
        started = self._clock().isoformat()
        upload = FileUpload(
            new_id(self._clock()), scope.key, plan.format, plan.name[:200], length, started, skip_bad=plan.skip_bad, user=plan.user
        )
        place = self._upload_folder(scope.owner, upload.id)
        place.mkdir(parents=True, mode=0o700)
        _write_upload(place, upload)
        return upload

    def size(self, owner: Scope, id: str) -> int:
        """Return the bytes received, also of an imported file."""
        place = self._find_folder(owner, id)
        upload = _read_upload(place)
        return upload.length if upload.state != "receiving" else fileencryption.measure(place / "file")

    def append(self, owner: Scope, id: str, offset: int, chunk: bytes) -> int:
        """Append a piece; returns the bytes received. ConflictError: wrong ``offset``."""
        place = self._find_folder(owner, id)
        if _read_upload(place).state != "receiving":
            raise ConflictError("This file is complete.", hint="Send another one as a new import.")
        size = fileencryption.measure(place / "file")
        if size != offset:
            raise ConflictError(f"The file has {size} bytes, not {offset}.", hint="Continue at that offset.")
        fileencryption.append_frame(self._folder.parent, place / "file", chunk)
        return size + len(chunk)

    def finish(self, owner: Scope, id: str) -> FileUpload:
        """Complete the upload and queue its import. InputError: its length differs."""
        place = self._find_folder(owner, id)
        upload, size = _read_upload(place), fileencryption.measure(place / "file")
        if upload.state != "receiving":
            return upload
        if upload.length >= 0 and size != upload.length:
            raise InputError(f"The file has {size} bytes of {upload.length}.", hint="Send the rest with PATCH.")
        (place / "file").touch()
        waiting = replace(upload, state="waiting", length=size)
        _write_upload(place, waiting)
        self._enqueue(upload)
        self._runner.wake()
        return waiting

    def get(self, owner: Scope, id: str) -> FileUpload:
        return _read_upload(self._find_folder(owner, id))

    def list(self, owner: Scope) -> tuple[FileUpload, ...]:
        home = self._owner_folder(owner)
        places = sorted(home.iterdir(), reverse=True) if home.is_dir() else []
        return tuple(_read_upload(place) for place in places if _ID.fullmatch(place.name))

    def drop(self, owner: Scope, id: str) -> None:
        """Delete an upload or its report. ConflictError: it is being imported."""
        place = self._find_folder(owner, id)
        if _read_upload(place).state in ("waiting", "running"):
            raise ConflictError("It is being imported.", hint="Wait until it is done.")
        shutil.rmtree(place)

    def close(self) -> None:
        self._runner.close()

    def _enqueue(self, upload: FileUpload) -> None:
        key = f"{upload.scope}|{upload.id}"
        self._store.enqueue((JobSpec(IMPORT, key, {"scope": upload.scope, "upload": upload.id}),), self._clock())

    def _run_import(self, job: Job) -> None:
        scope = Scope.parse(job.payload["scope"])
        place = self._find_folder(scope.owner, job.payload["upload"])
        upload = replace(_read_upload(place), state="running", error="")

        def progress(done: int, total: int) -> None:
            _write_upload(place, replace(upload, done=done, total=total))

        if upload.report is None:
            try:
                plan = ImportOptions(upload.format, upload.skip_bad, upload.name or "uploaded file", upload.id, user=upload.user)
                with fileencryption.open_plain(self._folder.parent, place / "file") as file:
                    report = asdict(self._load(file, scope, plan, progress))
            except ClosedError:
                raise
            except InputError as problem:
                # The file is bad: another try would say the same.
                _write_upload(place, replace(upload, state="failed", error=problem.message))
                (place / "file").unlink(missing_ok=True)
                self._store.finish(job.lease, self._clock())
                return
            except EngramsError as problem:
                _write_upload(place, replace(upload, state="failed", error=problem.message))
                raise
            upload = replace(_read_upload(place), report={**report, "bad": report["bad"][:1000]})
            _write_upload(place, upload)
        # Save the report, then delete the file, then set "done": a finished upload leaves no file.
        (place / "file").unlink(missing_ok=True)
        _write_upload(place, replace(upload, state="done"))
        self._store.finish(job.lease, self._clock())

    def _owner_folder(self, owner: Scope) -> Path:
        return self._folder / hashlib.blake2b(owner.key.encode("utf-8"), digest_size=16).hexdigest()

    def _upload_folder(self, owner: Scope, id: str) -> Path:
        return self._owner_folder(owner) / id

    def _find_folder(self, owner: Scope, id: str) -> Path:
        place = self._upload_folder(owner, id) if _ID.fullmatch(id) else None
        if place is None or not (place / "about.json").is_file():
            raise NotFoundError("There is no such import here.", hint="GET /v1/imports lists them.")
        return place


def _read_upload(place: Path) -> FileUpload:
    return FileUpload(**json.loads(fileencryption.read_file(place.parents[2], place / "about.json")))


def _is_over(upload: FileUpload, place: Path) -> bool:
    """Check that no job needs the upload any more."""
    return upload.state in ("receiving", "done") or (upload.state == "failed" and not (place / "file").exists())


def _write_upload(place: Path, upload: FileUpload) -> None:
    fileencryption.write_file(place.parents[2], place / "about.json", json.dumps(asdict(upload), ensure_ascii=False).encode())
