"""/v1/export, /v1/import, /v1/imports: files, streamed and never held in memory."""

from __future__ import annotations

import asyncio
import shutil
import tempfile
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from dataclasses import asdict
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from fastapi import APIRouter, Header, Query, Request, Response
from pydantic import BaseModel
from starlette.background import BackgroundTask
from starlette.exceptions import HTTPException
from starlette.responses import StreamingResponse

from engrams.core import ImportOptions, Scope
from engrams.core.clock import now
from engrams.encryption import file_encryption
from engrams.errors import NotFoundError, RefusedError
from engrams.settings import Settings
from engrams.surfaces.http.rest import requests
from engrams.surfaces.http.rest.caller import GitParam, IdentifiedCaller, ScopedCaller
from engrams.surfaces.http.rest.errors import error_responses
from engrams.transfer import formats
from engrams.transfer.formats import ExportFormat, Format

if TYPE_CHECKING:
    from engrams.transfer.import_runs import ImportRun
    from engrams.transfer.uploads import FileUpload, FileUploadStore

_CHUNK = 64 * 1024
_BAD = 1000

FormatParam = Annotated[Literal["auto", Format], Query(description="What the file is; auto looks.")]
ExportParam = Annotated[ExportFormat, Query(description="For whom; jsonl is complete.")]
_SUFFIXES = {"markdown": "zip", "obsidian": "zip", "csv": "csv", "mem0": "json", "letta": "af"}
_MEDIA = {
    "jsonl": "application/jsonl",
    "json": "application/json",
    "af": "application/json",
    "csv": "text/csv",
    "zip": "application/zip",
}
NameParam = Annotated[
    str,
    Query(
        description="The file's name: lists the import by it, and tells a table by .csv.",
        max_length=200,
    ),
]
UserParam = Annotated[
    str,
    Query(description="Of a file of several users, whose memories; * takes all.", max_length=200),
]
SkipParam = Annotated[bool, Query(description="Import what can be read of a broken file, too.")]
_FILE: dict[str, Any] = {
    "requestBody": {
        "required": False,
        "content": {"application/octet-stream": {"schema": {"type": "string"}}},
    }
}


class UnreadableLineResponse(BaseModel):
    line: int
    message: str


class ImportCountsResponse(BaseModel):
    """Counts of an import: stored, existing, refused, unreadable.

    ``bad``: what could not be read, the first thousand. ``files``: how many were read;
    ``rejected``: files of a zip that were refused whole; ``unstored``: messages that memory could
    not take. ``ignored``: files that an ignore rule excludes. ``id``: undoes it; empty: it stored
    nothing.
    """

    id: str = ""
    stored: int
    existing: int
    refused: int
    edges: int
    files: int = 0
    rejected: int = 0
    unstored: int = 0
    ignored: list[str] = []
    bad: list[UnreadableLineResponse]
    scopes: dict[str, int]


class ImportPreviewResponse(ImportCountsResponse):
    """Counts of what an import would bring; nothing is stored.

    ``kinds``: by kind; ``users``: by the users that the file names; ``history``: those that are not
    true any more; ``samples``: the first texts.
    """

    format: str
    samples: list[str]
    history: int
    kinds: dict[str, int]
    users: dict[str, int]


class ImportProgressResponse(BaseModel):
    """Progress of an import.

    ``state``: receiving, waiting, running, failed (with the error), done or undone. ``received``
    bytes of ``length`` (-1: not known yet); ``done`` of ``total`` pieces are imported; ``report``:
    the result, once it is done.
    """

    id: str
    scope: list[str]
    format: str
    name: str
    state: str
    length: int
    received: int
    done: int
    total: int
    error: str
    created_at: datetime
    report: ImportCountsResponse | None


class ImportUndoResponse(BaseModel):
    """Result of an undo.

    ``removed``: memories that are erased. ``kept``: ids of those that were edited since.
    ``returned``: ids of those that the import had replaced.
    """

    id: str
    removed: int
    kept: list[str]
    returned: list[str]


class ImportListResponse(BaseModel):
    imports: list[ImportProgressResponse]


def router(settings: Settings) -> APIRouter:
    routes = APIRouter(prefix="/v1", tags=["files"])
    _add_file_routes(routes, settings)
    _add_upload_routes(routes, settings)
    _add_status_routes(routes)
    return routes


def _add_file_routes(routes: APIRouter, settings: Settings) -> None:
    @routes.get(
        "/export",
        response_class=StreamingResponse,
        responses={
            200: {"content": {kind: {"schema": {"type": "string"}} for kind in _MEDIA.values()}},
            **error_responses(),
        },
    )
    def export(caller: ScopedCaller, format: ExportParam = "jsonl") -> StreamingResponse:
        """Export everything in the scope, with history and links, as JSON lines.

        `/v1/import` takes the file. `format`: for other programs; a folder comes as a zip.
        """
        return _send_export(
            settings,
            lambda path: caller.engine.dump(path, scope=caller.scope, format=format),
            format,
        )

    @routes.post(
        "/export",
        response_class=StreamingResponse,
        responses={
            200: {"content": {"application/jsonl": {"schema": {"type": "string"}}}},
            **error_responses(404),
        },
    )
    def export_some(body: requests.ExportRequest, caller: ScopedCaller) -> StreamingResponse:
        """Export chosen memories, with history and links, as JSON lines."""
        ids = list(dict.fromkeys(body.ids))
        chosen = [caller.engine.get(id, scope=caller.owner) for id in ids]
        edges = caller.engine.inspect.edges(caller.owner, ids, ())
        histories = [caller.engine.inspect.history(id, scope=caller.owner) for id in ids]
        items = [
            formats.ExportedRecord(
                record, tuple(edge for edge in edges if edge.source == record.id), history
            )
            for record, history in zip(chosen, histories, strict=True)
        ]
        return _send_export(
            settings, lambda path: formats.write(path, items, header={"scope": caller.owner.key})
        )

    @routes.post("/import", responses=error_responses(), openapi_extra=_FILE)
    async def load(
        request: Request,
        caller: ScopedCaller,
        format: FormatParam = "auto",
        name: NameParam = "",
        skip_bad: SkipParam = False,
        from_user: UserParam = "",
        dry_run: Annotated[bool, Query(description="Only count what is in it.")] = False,
    ) -> ImportPreviewResponse | ImportCountsResponse:
        """Import a file, sent as the body, and wait for it.

        `dry_run` only counts. Importing it twice stores nothing twice. A broken file is refused
        with the line.
        """
        _require_disk(settings)
        with file_encryption.open_scratch() as (file, path):
            async for chunk in _read_limited(request, 0, settings.serve.upload_bytes):
                await asyncio.to_thread(file.write, chunk)
            await asyncio.to_thread(file.flush)
            if dry_run:
                found = await asyncio.to_thread(formats.preview, path, format, now(), name)
                return ImportPreviewResponse.model_validate(_to_counts(asdict(found)))
            plan = ImportOptions(format, skip_bad, name or "uploaded file", user=from_user)
            report = await asyncio.to_thread(
                caller.engine.imports.load, path, caller.scope, plan, None
            )
        return _to_report(asdict(report))


def _add_upload_routes(routes: APIRouter, settings: Settings) -> None:
    @routes.post("/imports", status_code=202, responses=error_responses(), openapi_extra=_FILE)
    async def begin(
        request: Request,
        response: Response,
        caller: ScopedCaller,
        format: FormatParam = "auto",
        name: NameParam = "",
        skip_bad: SkipParam = False,
        from_user: UserParam = "",
        upload_length: Annotated[
            int | None,
            Header(ge=0, description="The file's bytes; without it the body is all of it."),
        ] = None,
    ) -> ImportProgressResponse:
        """Start a background import; the body is the file or its beginning.

        The rest follows with PATCH.
        """
        uploads = _get_uploads(request)
        length = -1 if upload_length is None else upload_length
        if length > settings.serve.upload_bytes:
            raise _too_large(settings.serve.upload_bytes)
        upload = await asyncio.to_thread(
            uploads.begin,
            caller.scope,
            ImportOptions(format, skip_bad, name, user=from_user),
            length,
        )
        response.headers["location"] = f"/v1/imports/{upload.id}"
        return await _receive_piece(request, caller, upload.id, 0, settings)

    @routes.patch(
        "/imports/{id}", status_code=202, responses=error_responses(404, 409), openapi_extra=_FILE
    )
    async def more(
        request: Request,
        id: str,
        caller: ScopedCaller,
        upload_offset: Annotated[int, Header(ge=0, description="Bytes that are there.")],
    ) -> ImportProgressResponse:
        """Append the next piece of an uploaded file at `upload-offset`.

        After a broken connection `received` says where to go on.
        """
        return await _receive_piece(request, caller, id, upload_offset, settings)


def _add_status_routes(routes: APIRouter) -> None:
    @routes.get("/imports", responses=error_responses())
    def imports(request: Request, caller: ScopedCaller) -> ImportListResponse:
        """List imports, newest first, with those that run."""
        uploads = _get_uploads(request)
        log = {each.id: each for each in caller.engine.imports.list(caller.owner)}
        sent = [
            _to_status(each, uploads.size(caller.owner, each.id), log.pop(each.id, None))
            for each in uploads.list(caller.owner)
        ]
        every = [*sent, *map(_from_log, log.values())]
        return ImportListResponse(
            imports=sorted(every, key=lambda each: each.created_at, reverse=True)
        )

    @routes.get("/imports/{id}", responses=error_responses(404))
    def progress(request: Request, id: str, caller: ScopedCaller) -> ImportProgressResponse:
        """Report the progress of one import."""
        uploads = _get_uploads(request)
        log = {each.id: each for each in caller.engine.imports.list(caller.owner)}
        try:
            return _to_status(
                uploads.get(caller.owner, id), uploads.size(caller.owner, id), log.get(id)
            )
        except NotFoundError:
            if id not in log:
                raise
            return _from_log(log[id])

    @routes.post("/imports/{id}/undo", responses=error_responses(404, 409))
    def undo(id: str, caller: ScopedCaller, git: GitParam = False) -> ImportUndoResponse:
        """Erase what an import brought, and what was learned from it.

        Memories edited since stay.
        """
        done = caller.engine.imports.undo(id, caller.owner, git=git)
        return ImportUndoResponse(
            id=id, removed=done.removed, kept=list(done.kept), returned=list(done.returned)
        )

    @routes.delete("/imports/{id}", status_code=204, responses=error_responses(404, 409))
    def drop(request: Request, id: str, caller: ScopedCaller) -> None:
        """Drop a file that is still being received, or forget a report.

        An import stays listed, so that it can be undone.
        """
        _get_uploads(request).drop(caller.owner, id)


async def _receive_piece(
    request: Request, caller: IdentifiedCaller, id: str, offset: int, settings: Settings
) -> ImportProgressResponse:
    """Append the body; start the import when the file is complete."""
    uploads = _get_uploads(request)
    upload = await asyncio.to_thread(uploads.get, caller.owner, id)
    size = offset
    most = settings.serve.upload_bytes if upload.length < 0 else upload.length
    async for chunk in _read_limited(request, offset, most):
        size = await asyncio.to_thread(uploads.append, caller.owner, id, size, chunk)
    if upload.length < 0 or size >= upload.length:
        upload = await asyncio.to_thread(uploads.finish, caller.owner, id)
    return _to_status(upload, size, None)


async def _read_limited(request: Request, size: int, most: int) -> AsyncIterator[bytes]:
    """Yield the body in pieces; 413 where the file grows too large."""
    async for chunk in request.stream():
        size += len(chunk)
        if size > most:
            raise _too_large(most)
        if chunk:
            yield chunk


def _too_large(most: int) -> HTTPException:
    return HTTPException(413, f"The file has more than {most:,} bytes.")


def _get_uploads(request: Request) -> FileUploadStore:
    found: FileUploadStore | None = request.app.state.uploads
    if found is None:
        raise _incognito_error()
    return found


def _require_disk(settings: Settings) -> None:
    """Refuse files in incognito mode: they lie on disk for a moment."""
    if settings.incognito:
        raise _incognito_error()


def _incognito_error() -> RefusedError:
    return RefusedError(
        "Files would leave a trace on disk.",
        hint="Turn `incognito` off, or add memories one by one.",
    )


def _send_export(
    settings: Settings, write: Callable[[Path], object], format: ExportFormat = "jsonl"
) -> StreamingResponse:
    """Stream an export: a file, or the zip of a folder."""
    _require_disk(settings)
    folder = tempfile.TemporaryDirectory(prefix="engrams-export-")
    suffix = _SUFFIXES.get(format, "jsonl")
    path = Path(folder.name) / f"memory.{suffix}"
    whole = Path(folder.name) / "memory"
    try:
        write(whole if suffix == "zip" else path)
        if suffix == "zip":
            shutil.make_archive(str(whole), "zip", whole)
    except BaseException:
        folder.cleanup()
        raise
    headers = {"content-disposition": f'attachment; filename="{path.name}"'}
    return StreamingResponse(
        _read_chunks(path),
        media_type=_MEDIA[suffix],
        headers=headers,
        background=BackgroundTask(folder.cleanup),
    )


def _read_chunks(path: Path) -> Iterator[bytes]:
    with path.open("rb") as file:
        while chunk := file.read(_CHUNK):
            yield chunk


def _to_report(report: Mapping[str, Any]) -> ImportCountsResponse:
    return ImportCountsResponse.model_validate(_to_counts(report))


def _to_counts(report: Mapping[str, Any]) -> dict[str, Any]:
    bad = [
        UnreadableLineResponse(line=line, message=message) for line, message in report["bad"][:_BAD]
    ]
    return {"existing": 0, "refused": 0, **report, "bad": bad}


def _to_status(one: FileUpload, received: int, logged: ImportRun | None) -> ImportProgressResponse:
    report = None if one.report is None else _to_report(one.report)
    held = {
        name: getattr(one, name)
        for name in (
            "id",
            "format",
            "name",
            "state",
            "length",
            "done",
            "total",
            "error",
            "created_at",
        )
    }
    if logged is not None and logged.state == "undone":
        held["state"] = logged.state
    return ImportProgressResponse(
        **held, scope=list(Scope.parse(one.scope).labels), received=received, report=report
    )


def _from_log(entry: ImportRun) -> ImportProgressResponse:
    counts = {
        name: getattr(entry, name) for name in ("id", "stored", "existing", "refused", "edges")
    }
    held = {name: getattr(entry, name) for name in ("id", "format", "name", "state")}
    done = entry.stored + entry.existing
    scope = list(Scope.parse(entry.scope).labels)
    report = (
        ImportCountsResponse(**counts, bad=[], scopes={entry.scope: done})
        if entry.state != "running"
        else None
    )
    return ImportProgressResponse(
        **held,
        scope=scope,
        length=-1,
        received=0,
        done=done,
        total=done,
        error="",
        created_at=datetime.fromisoformat(entry.at),
        report=report,
    )
