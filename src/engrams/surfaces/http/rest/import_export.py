"""/v1/export and /v1/import: files, streamed and never held in memory.

`/v1/imports` (`imports`) takes the same files in pieces, and imports them in the background.
"""

from __future__ import annotations

import asyncio
import shutil
import tempfile
from collections.abc import AsyncGenerator, Callable, Iterator, Mapping
from dataclasses import asdict, replace
from pathlib import Path
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Depends, Query, Request
from pydantic import BaseModel, Field
from starlette.background import BackgroundTask
from starlette.exceptions import HTTPException
from starlette.responses import StreamingResponse

from engrams.core import ImportOptions
from engrams.core.clock import now
from engrams.encryption import file_encryption
from engrams.errors import RefusedError
from engrams.settings import Settings
from engrams.surfaces.http.caller import ScopedCaller
from engrams.surfaces.http.limited_route import limited_route
from engrams.surfaces.http.problems import error_responses
from engrams.surfaces.http.rest import requests
from engrams.transfer import formats
from engrams.transfer.formats import ExportFormat, Format
from engrams.transfer.imports.preview import preview_import

_CHUNK_BYTES = 64 * 1024
_MAX_BAD_LINES = 1000
"""Unreadable lines that a report lists."""

ExportParam = Annotated[
    ExportFormat, Query(description="The program that reads it; jsonl is complete.")
]
_SUFFIXES = {"markdown": "zip", "obsidian": "zip", "csv": "csv", "mem0": "json", "letta": "af"}
_MEDIA = {
    "jsonl": "application/jsonl",
    "json": "application/json",
    "af": "application/json",
    "csv": "text/csv",
    "zip": "application/zip",
}
FILE_BODY: dict[str, Any] = {
    "requestBody": {
        "required": False,
        "content": {"application/octet-stream": {"schema": {"type": "string"}}},
    }
}


async def read_import_options(
    format: Annotated[
        Literal["auto", "document", Format],
        Query(description="The format of the file; auto detects it, document reads any document."),
    ] = "auto",
    name: Annotated[
        str,
        Query(
            description="The file's name: lists the import by it, and tells a table by .csv.",
            max_length=200,
        ),
    ] = "",
    skip_bad: Annotated[
        bool, Query(description="Import the readable part of a broken file too.")
    ] = False,
    from_user: Annotated[
        str,
        Query(
            description="The user whose memories to import, if the file has several; * takes all.",
            max_length=200,
        ),
    ] = "",
) -> ImportOptions:
    """Read the options of an import from the query."""
    return ImportOptions(format, skip_bad, name, user=from_user)


ImportQuery = Annotated[ImportOptions, Depends(read_import_options)]


class UnreadableLineResponse(BaseModel):
    line: int
    message: str


class ImportCountsResponse(BaseModel):
    """Counts of an import: stored, existing, refused, unreadable."""

    id: str = Field("", description="By it the import is undone; empty: it stored nothing.")
    stored: int
    existing: int
    refused: int
    edges: int
    files: int = Field(0, description="Files that were read.")
    rejected: int = Field(0, description="Files of a zip that were refused whole.")
    unstored: int = Field(0, description="Messages that memory could not take.")
    ignored: list[str] = Field([], description="Files that an ignore rule excludes.")
    undescribed: list[str] = Field(
        [], description="Pictures and sounds that are stored without a model's words, with reasons."
    )
    bad: list[UnreadableLineResponse] = Field(
        description="The first thousand lines that could not be read."
    )
    scopes: dict[str, int]


class ImportPreviewResponse(ImportCountsResponse):
    """Counts of what an import would bring; nothing is stored."""

    format: str
    samples: list[str] = Field(description="The first texts.")
    history: int = Field(description="Memories that are not true any more.")
    kinds: dict[str, int] = Field(description="Memories by kind.")
    users: dict[str, int] = Field(description="Memories by the users that the file names.")


def _file_schema(media_type: str) -> dict[str, str]:
    """Return the schema of a file: any value for JSON, a text for others."""
    return {} if media_type == "application/json" else {"type": "string"}


def router(settings: Settings) -> APIRouter:
    routes = APIRouter(prefix="/v1", tags=["files"])
    bounded = APIRouter(
        prefix="/v1", tags=["files"], route_class=limited_route(settings.limits.text_bytes)
    )

    @routes.get(
        "/export",
        response_class=StreamingResponse,
        responses={
            200: {"content": {kind: {"schema": _file_schema(kind)} for kind in _MEDIA.values()}},
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

    @bounded.post(
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
        records = [caller.engine.get(id, scope=caller.owner) for id in ids]
        edges = caller.engine.inspect.edges(caller.owner, ids, ())
        histories = [caller.engine.inspect.history(id, scope=caller.owner) for id in ids]
        items = [
            formats.ExportedRecord(
                record, tuple(edge for edge in edges if edge.source == record.id), history
            )
            for record, history in zip(records, histories, strict=True)
        ]
        return _send_export(
            settings, lambda path: formats.write(path, items, header={"scope": caller.owner.key})
        )

    routes.routes.extend(bounded.routes)

    @routes.post("/import", responses=error_responses(), openapi_extra=FILE_BODY)
    async def load(
        request: Request,
        caller: ScopedCaller,
        options: ImportQuery,
        dry_run: Annotated[bool, Query(description="Only count its contents.")] = False,
    ) -> ImportPreviewResponse | ImportCountsResponse:
        """Import a file, sent as the body, and wait for it.

        `dry_run` only counts. Importing it twice stores nothing twice. A broken file is refused
        with the line.
        """
        require_disk(settings)
        with file_encryption.open_scratch() as (file, path):
            async for chunk in read_limited(request, 0, settings.serve.upload_bytes):
                await asyncio.to_thread(file.write, chunk)
            await asyncio.to_thread(file.flush)
            if dry_run:
                preview = await asyncio.to_thread(
                    preview_import, path, options.format, now(), options.name
                )
                return ImportPreviewResponse.model_validate(_to_counts(asdict(preview)))
            named_options = replace(options, name=options.name or "uploaded file")
            report = await asyncio.to_thread(
                caller.engine.imports.load, path, caller.scope, named_options, None
            )
        return to_report(asdict(report))

    return routes


async def read_limited(request: Request, size: int, max_bytes: int) -> AsyncGenerator[bytes, None]:
    """Yield the body in pieces; 413 where the file grows too large.

    ``size``: bytes of the file that are there already.
    """
    async for chunk in request.stream():
        size += len(chunk)
        if size > max_bytes:
            raise too_large(max_bytes)
        if chunk:
            yield chunk


def too_large(max_bytes: int) -> HTTPException:
    return HTTPException(413, f"The file has more than {max_bytes:,} bytes.")


def require_disk(settings: Settings) -> None:
    """Refuse files in incognito mode: they lie on disk for a moment."""
    if settings.incognito:
        raise incognito_error()


def incognito_error() -> RefusedError:
    return RefusedError(
        "Files would leave a trace on disk.",
        hint="Turn `incognito` off, or add memories one by one.",
    )


def _send_export(
    settings: Settings, write: Callable[[Path], object], format: ExportFormat = "jsonl"
) -> StreamingResponse:
    """Stream an export: a file, or the zip of a folder."""
    require_disk(settings)
    folder = tempfile.TemporaryDirectory(prefix="engrams-export-")
    suffix = _SUFFIXES.get(format, "jsonl")
    path = Path(folder.name) / f"memory.{suffix}"
    try:
        if suffix == "zip":
            exported = Path(folder.name) / "memory"
            write(exported)
            shutil.make_archive(str(exported), "zip", exported)
        else:
            write(path)
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
        while chunk := file.read(_CHUNK_BYTES):
            yield chunk


def to_report(report: Mapping[str, Any]) -> ImportCountsResponse:
    return ImportCountsResponse.model_validate(_to_counts(report))


def _to_counts(report: Mapping[str, Any]) -> dict[str, Any]:
    bad = [
        UnreadableLineResponse(line=line, message=message)
        for line, message in report["bad"][:_MAX_BAD_LINES]
    ]
    return {"existing": 0, "refused": 0, **report, "bad": bad}
