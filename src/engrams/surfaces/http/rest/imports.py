"""/v1/imports: files received in pieces and imported in the background, and the log of all imports.

A client begins an upload with POST, sends the rest with PATCH, and asks for the progress. A process
that ends in the middle loses nothing: the next one resumes the import.
"""

from __future__ import annotations

import asyncio
from datetime import datetime
from typing import TYPE_CHECKING, Annotated

from fastapi import APIRouter, Header, Request, Response
from pydantic import BaseModel, Field

from engrams.core import Scope
from engrams.errors import NotFoundError
from engrams.settings import Settings
from engrams.surfaces.http.caller import GitParam, IdentifiedCaller, ScopedCaller
from engrams.surfaces.http.problems import error_responses
from engrams.surfaces.http.rest.import_export import (
    FILE_BODY,
    ImportCountsResponse,
    ImportQuery,
    incognito_error,
    read_limited,
    to_report,
    too_large,
)

if TYPE_CHECKING:
    from engrams.transfer.imports.runs import ImportRun
    from engrams.transfer.uploads.file_uploads import FileUpload, FileUploadStore


class ImportProgressResponse(BaseModel):
    """Progress of an import."""

    id: str
    scope: list[str]
    format: str
    name: str
    state: str = Field(
        description="receiving, waiting, running, failed (with the error), done or undone."
    )
    length: int = Field(description="Bytes of the file; -1: not known yet.")
    received: int = Field(description="Bytes that are there.")
    done: int = Field(description="Pieces that are imported.")
    total: int = Field(description="Pieces of the file.")
    error: str
    created_at: datetime
    report: ImportCountsResponse | None = Field(description="Result, once it is done.")


class ImportUndoResponse(BaseModel):
    """Result of an undo."""

    id: str
    removed: int = Field(description="Memories that are erased.")
    kept: list[str] = Field(description="Ids of memories that stay, since they were edited.")
    returned: list[str] = Field(description="Ids of memories that the import had replaced.")


class ImportListResponse(BaseModel):
    imports: list[ImportProgressResponse]


def router(settings: Settings) -> APIRouter:
    routes = APIRouter(prefix="/v1", tags=["files"])
    _add_upload_routes(routes, settings)
    _add_status_routes(routes)
    return routes


def _add_upload_routes(routes: APIRouter, settings: Settings) -> None:
    @routes.post("/imports", status_code=202, responses=error_responses(), openapi_extra=FILE_BODY)
    async def begin(
        request: Request,
        response: Response,
        caller: ScopedCaller,
        options: ImportQuery,
        upload_length: Annotated[
            int | None,
            Header(ge=0, description="The file's bytes; without it the body is all of it."),
        ] = None,
    ) -> ImportProgressResponse:
        """Start a background import; the body is the file or its beginning.

        The rest follows with PATCH.
        """
        uploads = get_uploads(request)
        length = -1 if upload_length is None else upload_length
        if length > settings.serve.upload_bytes:
            raise too_large(settings.serve.upload_bytes)
        upload = await asyncio.to_thread(uploads.begin, caller.scope, options, length)
        response.headers["location"] = f"/v1/imports/{upload.id}"
        return await _receive_piece(request, caller, upload.id, 0, settings)

    @routes.patch(
        "/imports/{id}",
        status_code=202,
        responses=error_responses(404, 409),
        openapi_extra=FILE_BODY,
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
        uploads = get_uploads(request)
        runs = {run.id: run for run in caller.engine.imports.list(caller.owner)}
        uploaded = [
            _to_progress(upload, uploads.size(caller.owner, upload.id), runs.pop(upload.id, None))
            for upload in uploads.list(caller.owner)
        ]
        imports = [*uploaded, *map(_from_run, runs.values())]
        imports.sort(key=lambda progress: progress.created_at, reverse=True)
        return ImportListResponse(imports=imports)

    @routes.get("/imports/{id}", responses=error_responses(404))
    def progress(request: Request, id: str, caller: ScopedCaller) -> ImportProgressResponse:
        """Report the progress of one import."""
        uploads = get_uploads(request)
        runs = {run.id: run for run in caller.engine.imports.list(caller.owner)}
        try:
            upload = uploads.get(caller.owner, id)
            return _to_progress(upload, uploads.size(caller.owner, id), runs.get(id))
        except NotFoundError:
            if id not in runs:
                raise
            return _from_run(runs[id])

    @routes.post("/imports/{id}/undo", responses=error_responses(404, 409))
    def undo(id: str, caller: ScopedCaller, git: GitParam = False) -> ImportUndoResponse:
        """Erase what an import brought, and what was learned from it.

        Memories edited since stay.
        """
        result = caller.engine.imports.undo(id, caller.owner, git=git)
        return ImportUndoResponse(
            id=id,
            removed=result.removed,
            kept=list(result.kept),
            returned=list(result.returned),
        )

    @routes.delete("/imports/{id}", status_code=204, responses=error_responses(404, 409))
    def drop(request: Request, id: str, caller: ScopedCaller) -> None:
        """Drop a file that is still being received, or forget a report.

        An import stays listed, so that it can be undone.
        """
        get_uploads(request).drop(caller.owner, id)


async def _receive_piece(
    request: Request, caller: IdentifiedCaller, id: str, offset: int, settings: Settings
) -> ImportProgressResponse:
    """Append the body; start the import when the file is complete."""
    uploads = get_uploads(request)
    upload = await asyncio.to_thread(uploads.get, caller.owner, id)
    size = offset
    max_bytes = settings.serve.upload_bytes if upload.length < 0 else upload.length
    async for chunk in read_limited(request, offset, max_bytes):
        size = await asyncio.to_thread(uploads.append, caller.owner, id, size, chunk)
    if upload.length < 0 or size >= upload.length:
        upload = await asyncio.to_thread(uploads.finish, caller.owner, id)
    return _to_progress(upload, size, None)


def get_uploads(request: Request) -> FileUploadStore:
    """Return the store of uploads. RefusedError: there is none while incognito."""
    uploads: FileUploadStore | None = request.app.state.uploads
    if uploads is None:
        raise incognito_error()
    return uploads


def _to_progress(
    upload: FileUpload, received: int, run: ImportRun | None
) -> ImportProgressResponse:
    """Convert an upload; ``run``: the import that came of it, if the log has it."""
    state = upload.state
    if run is not None and run.state == "undone":
        state = run.state
    return ImportProgressResponse(
        id=upload.id,
        scope=list(Scope.parse(upload.scope).labels),
        format=upload.format,
        name=upload.name,
        state=state,
        length=upload.length,
        received=received,
        done=upload.done,
        total=upload.total,
        error=upload.error,
        created_at=datetime.fromisoformat(upload.created_at),
        report=None if upload.report is None else to_report(upload.report),
    )


def _from_run(run: ImportRun) -> ImportProgressResponse:
    """Convert an import whose file was not uploaded, or is forgotten."""
    imported = run.stored + run.existing
    report = None
    if run.state != "running":
        report = ImportCountsResponse(
            id=run.id,
            stored=run.stored,
            existing=run.existing,
            refused=run.refused,
            edges=run.edges,
            bad=[],
            scopes={run.scope: imported},
        )
    return ImportProgressResponse(
        id=run.id,
        scope=list(Scope.parse(run.scope).labels),
        format=run.format,
        name=run.name,
        state=run.state,
        length=-1,
        received=0,
        done=imported,
        total=imported,
        error="",
        created_at=datetime.fromisoformat(run.at),
        report=report,
    )
