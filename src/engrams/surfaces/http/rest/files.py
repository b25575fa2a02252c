"""/v1/export, /v1/import, /v1/imports: files out and in. Their bodies are streamed and never held in memory."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import AsyncIterator, Iterator
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from fastapi import APIRouter, Header, Query, Request, Response
from pydantic import BaseModel
from starlette.background import BackgroundTask
from starlette.exceptions import HTTPException
from starlette.responses import StreamingResponse

from engrams.errors import RefusedError
from engrams.settings import Settings
from engrams.surfaces.http.rest.caller import Asks, Caller
from engrams.surfaces.http.rest.errors import declared
from engrams.types import Scope

if TYPE_CHECKING:
    from engrams.build import FileUpload, FileUploads

_CHUNK = 64 * 1024
_BAD = 1000

Format = Literal["auto", "engrams", "turns", "json", "lines", "chatgpt", "claude", "locomo", "mem0", "mcp"]
Named = Annotated[Format, Query(description="What the file is; auto looks.")]
_FILE: dict[str, Any] = {"requestBody": {"required": False, "content": {"application/octet-stream": {"schema": {"type": "string"}}}}}


class UnreadLine(BaseModel):
    line: int
    message: str


class ImportReport(BaseModel):
    """``bad``: what could not be read, at most the first thousand; the rest was imported."""

    stored: int
    existing: int
    refused: int
    edges: int
    bad: list[UnreadLine]
    scopes: dict[str, int]


class ImportStatus(BaseModel):
    """``state``: receiving, waiting, running, failed (tried again, see the jobs) or done. ``received`` bytes of ``length`` (-1:
    not told and not whole yet); ``done`` pieces of ``total`` are imported; ``report``: what became of them, once it is done."""

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
    report: ImportReport | None


class ImportList(BaseModel):
    imports: list[ImportStatus]


def router(settings: Settings) -> APIRouter:
    routes = APIRouter(prefix="/v1", tags=["files"])
    _whole(routes, settings)
    _resumable(routes, settings)
    _watched(routes)
    return routes


def _whole(routes: APIRouter, settings: Settings) -> None:
    @routes.get(
        "/export",
        response_class=StreamingResponse,
        responses={200: {"content": {"application/jsonl": {"schema": {"type": "string"}}}}, **declared()},
    )
    def export(caller: Asks) -> StreamingResponse:
        """Everything in the scope, with history and links, as JSON lines that `/v1/import` takes."""
        _on_disk(settings)
        folder = tempfile.TemporaryDirectory(prefix="engrams-export-")
        path = Path(folder.name) / "memory.jsonl"
        try:
            caller.engine.dump(path, scope=caller.scope)
        except BaseException:
            folder.cleanup()
            raise
        headers = {"content-disposition": 'attachment; filename="memory.jsonl"'}
        return StreamingResponse(_chunks(path), media_type="application/jsonl", headers=headers, background=BackgroundTask(folder.cleanup))

    @routes.post("/import", responses=declared(), openapi_extra=_FILE)
    async def load(request: Request, caller: Asks, format: Named = "auto") -> ImportReport:
        """Import a file, sent as the body, and wait for it. Doing it twice stores nothing twice."""
        _on_disk(settings)
        with tempfile.TemporaryDirectory(prefix="engrams-import-") as folder:
            path = Path(folder) / "file"
            with path.open("wb") as file:
                async for chunk in _limited(request, 0, settings.serve.upload_bytes):
                    await asyncio.to_thread(file.write, chunk)
            report = await asyncio.to_thread(caller.engine.load, path, scope=caller.scope, format=format)
        bad = [UnreadLine(line=line, message=message) for line, message in report.bad[:_BAD]]
        counts = {"stored": report.stored, "existing": report.existing, "refused": report.refused, "edges": report.edges}
        return ImportReport(**counts, bad=bad, scopes=report.scopes)


def _resumable(routes: APIRouter, settings: Settings) -> None:
    @routes.post("/imports", status_code=202, responses=declared(), openapi_extra=_FILE)
    async def begin(
        request: Request,
        response: Response,
        caller: Asks,
        format: Named = "auto",
        name: Annotated[str, Query(description="What to call it.", max_length=200)] = "",
        upload_length: Annotated[int | None, Header(ge=0, description="The file's bytes; without it the body is all of it.")] = None,
    ) -> ImportStatus:
        """Import a file in the background. The body is the file, or its beginning: the rest follows with PATCH."""
        uploads = _uploads(request)
        length = -1 if upload_length is None else upload_length
        if length > settings.serve.upload_bytes:
            raise _too_large(settings.serve.upload_bytes)
        upload = await asyncio.to_thread(uploads.begin, caller.scope, format, name, length)
        response.headers["location"] = f"/v1/imports/{upload.id}"
        return await _receive(request, caller, upload.id, 0, settings)

    @routes.patch("/imports/{id}", status_code=202, responses=declared(404, 409), openapi_extra=_FILE)
    async def more(
        request: Request, id: str, caller: Asks, upload_offset: Annotated[int, Header(ge=0, description="Bytes that are there.")]
    ) -> ImportStatus:
        """The next piece of a file; `received` says where to go on after a broken connection."""
        return await _receive(request, caller, id, upload_offset, settings)


def _watched(routes: APIRouter) -> None:
    @routes.get("/imports", responses=declared())
    def imports(request: Request, caller: Asks) -> ImportList:
        """Files that are being received or imported, and what became of those of the last day."""
        uploads = _uploads(request)
        return ImportList(imports=[_to_status(each, uploads.size(caller.owner, each.id)) for each in uploads.list(caller.owner)])

    @routes.get("/imports/{id}", responses=declared(404))
    def progress(request: Request, id: str, caller: Asks) -> ImportStatus:
        """How far one is."""
        uploads = _uploads(request)
        return _to_status(uploads.get(caller.owner, id), uploads.size(caller.owner, id))

    @routes.delete("/imports/{id}", status_code=204, responses=declared(404, 409))
    def drop(request: Request, id: str, caller: Asks) -> None:
        """Drop a file that is still being received, or forget a report."""
        _uploads(request).drop(caller.owner, id)


async def _receive(request: Request, caller: Caller, id: str, offset: int, settings: Settings) -> ImportStatus:
    """Append the body; import the file when it is whole."""
    uploads = _uploads(request)
    upload, size = await asyncio.to_thread(uploads.get, caller.owner, id), offset
    most = settings.serve.upload_bytes if upload.length < 0 else upload.length
    async for chunk in _limited(request, offset, most):
        size = await asyncio.to_thread(uploads.append, caller.owner, id, size, chunk)
    if upload.length < 0 or size >= upload.length:
        upload = await asyncio.to_thread(uploads.finish, caller.owner, id)
    return _to_status(upload, size)


async def _limited(request: Request, size: int, most: int) -> AsyncIterator[bytes]:
    """The body, piece by piece. 413 where it makes the file larger than it may be."""
    async for chunk in request.stream():
        size += len(chunk)
        if size > most:
            raise _too_large(most)
        if chunk:
            yield chunk


def _too_large(most: int) -> HTTPException:
    return HTTPException(413, f"The file has more than {most:,} bytes.")


def _uploads(request: Request) -> FileUploads:
    found: FileUploads | None = request.app.state.uploads
    if found is None:
        raise _traceless()
    return found


def _on_disk(settings: Settings) -> None:
    """A file on its way in or out lies on the disk for a moment."""
    if settings.incognito:
        raise _traceless()


def _traceless() -> RefusedError:
    return RefusedError("Files would leave a trace on disk.", hint="Turn `incognito` off, or add memories one by one.")


def _chunks(path: Path) -> Iterator[bytes]:
    with path.open("rb") as file:
        while chunk := file.read(_CHUNK):
            yield chunk


def _to_status(one: FileUpload, received: int) -> ImportStatus:
    report = None
    if one.report is not None:
        bad = [UnreadLine(line=line, message=message) for line, message in one.report["bad"]]
        report = ImportReport.model_validate({**one.report, "bad": bad})
    held = {name: getattr(one, name) for name in ("id", "format", "name", "state", "length", "done", "total", "error", "created_at")}
    return ImportStatus(**held, scope=list(Scope.parse(one.scope).labels), received=received, report=report)
