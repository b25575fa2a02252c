"""/v1/scopes, /v1/stats, /v1/jobs, /v1/export, /v1/import."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Literal

from fastapi import APIRouter, Query, Request
from starlette.background import BackgroundTask
from starlette.responses import StreamingResponse

from engrams.errors import NotFoundError, RefusedError
from engrams.ports import Job
from engrams.settings import Settings
from engrams.surfaces.http.rest import bodies, shapes
from engrams.surfaces.http.rest.answers import declared, limited
from engrams.surfaces.http.rest.caller import Asks, Caller
from engrams.types import Scope

_CHUNK = 64 * 1024
_BAD = 1000
_DEAD = 10_000

Format = Literal["auto", "engrams", "turns", "json", "lines", "chatgpt", "claude", "locomo", "mem0", "mcp"]


def router(settings: Settings) -> APIRouter:
    routes = APIRouter(prefix="/v1", tags=["upkeep"], route_class=limited(settings.limits.text_bytes))
    _numbers(routes)
    _jobs(routes)
    return routes


def _numbers(routes: APIRouter) -> None:
    @routes.get("/scopes", responses=declared())
    def scopes(caller: Asks) -> shapes.Places:
        """The scopes that hold memories of this person."""
        return shapes.Places(scopes=[list(scope.labels) for scope in caller.engine.scopes(caller.owner)])

    @routes.get("/stats", responses=declared())
    def stats(caller: Asks) -> shapes.Numbers:
        """Numbers of memories by status, kind, layer and tier."""
        held = caller.engine.stats(caller.scope)
        counts = {name: dict(held.get(name, {})) for name in ("status", "kind", "layer", "tier")}
        return shapes.Numbers(**counts, embedder=held["embedder"], scopes=held["scopes"])


def _jobs(routes: APIRouter) -> None:
    @routes.get("/jobs", responses=declared())
    def jobs(caller: Asks) -> shapes.Work:
        """The background work, and what of it has failed for good."""
        work = caller.engine.status()
        dead = [
            shapes.Dead(id=job.id, kind=job.kind, attempt=job.attempt, error=job.error if job.payload.get("scope") else "")
            for job in _dead(caller)
        ]
        numbers = {kind: dict(states) for kind, states in work["jobs"].items()}
        return shapes.Work(jobs=numbers, lag_seconds=work["lag_seconds"], dead=dead)

    @routes.post("/jobs/retry", responses=declared(404))
    def retry(body: bodies.Jobs, caller: Asks) -> shapes.Retried:
        """Failed jobs back to waiting."""
        own = {job.id for job in _dead(caller)}
        unknown = [one for one in body.ids if one not in own]
        if unknown:
            raise NotFoundError("There is no failed job of that id here.", hint="GET /v1/jobs lists them.")
        chosen = body.ids or sorted(own)
        return shapes.Retried(retried=caller.engine.retry(chosen) if chosen else 0)


def transfer(settings: Settings) -> APIRouter:
    """Files in and out. Their bodies are streamed: they have no limit but the disk's."""
    routes = APIRouter(prefix="/v1", tags=["files"])

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

    @routes.post(
        "/import",
        responses=declared(),
        openapi_extra={"requestBody": {"required": True, "content": {"application/octet-stream": {"schema": {"type": "string"}}}}},
    )
    async def load(
        request: Request,
        caller: Asks,
        format: Annotated[Format, Query(description="What the file is; auto looks.")] = "auto",
    ) -> shapes.Loaded:
        """Import a file, sent as the body. Doing it twice stores nothing twice."""
        _on_disk(settings)
        with tempfile.TemporaryDirectory(prefix="engrams-import-") as folder:
            path = Path(folder) / "file"
            with path.open("wb") as file:
                async for chunk in request.stream():
                    await asyncio.to_thread(file.write, chunk)
            report = await asyncio.to_thread(caller.engine.load, path, scope=caller.scope, format=format)
        bad = [shapes.Unread(line=line, message=message) for line, message in report.bad[:_BAD]]
        counts = {"stored": report.stored, "existing": report.existing, "refused": report.refused, "edges": report.edges}
        return shapes.Loaded(**counts, bad=bad, scopes=report.scopes)

    return routes


def _dead(caller: Caller) -> list[Job]:
    """Failed jobs of this owner, and those of nobody in particular; never another owner's."""
    return [job for job in caller.engine.store.queue(("dead",), _DEAD) if _owned(job, caller.owner)]


def _owned(job: Job, owner: Scope) -> bool:
    key = job.payload.get("scope")
    return not key or Scope.parse(str(key)).owner == owner


def _on_disk(settings: Settings) -> None:
    """A file on its way in or out lies on the disk for a moment."""
    if settings.incognito:
        raise RefusedError("Files would leave a trace on disk.", hint="Turn `incognito` off, or add memories one by one.")


def _chunks(path: Path) -> Iterator[bytes]:
    with path.open("rb") as file:
        while chunk := file.read(_CHUNK):
            yield chunk
