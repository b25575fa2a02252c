"""/v1/documents: the documents of a memory as wholes. ``POST /v1/import`` adds them."""

from __future__ import annotations

import asyncio
from datetime import datetime
from typing import TYPE_CHECKING, Annotated
from urllib.parse import quote

from fastapi import APIRouter, Query, Response
from pydantic import BaseModel, Field

from engrams.settings import Settings
from engrams.surfaces.http.caller import GitParam, ScopedCaller
from engrams.surfaces.http.limited_route import limited_router
from engrams.surfaces.http.problems import error_responses
from engrams.surfaces.http.rest import responses

if TYPE_CHECKING:
    from engrams.engine.answer_types import StoredDocument

LimitParam = Annotated[
    int, Query(ge=1, le=200, description="Documents at page_limit, newest first.")
]
OffsetParam = Annotated[int, Query(ge=0, description="Documents or passages to skip.")]


SmallParam = Annotated[
    bool, Query(description="The small JPEG of a picture, without metadata, in place of its file.")
]

_FILE_HEADERS = {
    "x-content-type-options": "nosniff",
    "content-security-policy": "sandbox; default-src 'none'; frame-ancestors 'none'",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "private, no-store",
}
"""Of a file that somebody sent: it may be made to be taken for a page."""


class DocumentResponse(BaseModel):
    """A document, and where it came from."""

    id: str
    name: str
    title: str
    source: str = Field(description="Path or address that it was read from.")
    passages: int
    stored_at: datetime
    scope: list[str]
    media: str = Field(description="Media type of a picture or sound; empty: it has text.")


class DocumentListResponse(BaseModel):
    documents: list[DocumentResponse]
    total: int = Field(description="Documents in all.")


class DocumentPassagesResponse(BaseModel):
    """Passages of a document, in order."""

    passages: list[responses.MemoryResponse]
    total: int = Field(description="Passages in all.")


def router(settings: Settings) -> APIRouter:
    routes = limited_router(settings, "documents")
    page_limit = settings.limits.results

    @routes.get("/documents", responses=error_responses())
    def list_documents(
        caller: ScopedCaller, limit: LimitParam = 50, offset: OffsetParam = 0
    ) -> DocumentListResponse:
        """List the documents in memory, newest first."""
        documents = caller.engine.documents.list(caller.scope)
        count = min(limit, page_limit)
        return DocumentListResponse(
            documents=[_to_document(item) for item in documents[offset : offset + count]],
            total=len(documents),
        )

    @routes.get("/documents/{id}", responses=error_responses(404))
    def read(id: str, caller: ScopedCaller, offset: OffsetParam = 0) -> DocumentPassagesResponse:
        """Read the passages of a document as it is now, in order."""
        passages = caller.engine.documents.read(id, caller.scope)
        return DocumentPassagesResponse(
            passages=[responses.to_memory(item) for item in passages[offset : offset + page_limit]],
            total=len(passages),
        )

    @routes.get(
        "/documents/{id}/file",
        response_class=Response,
        responses={
            200: {"content": {"*/*": {}}, "description": "The bytes of the file."},
            **error_responses(404),
        },
    )
    async def read_file(id: str, caller: ScopedCaller, small: SmallParam = False) -> Response:
        """Read the file of a picture or sound; no browser runs or shows it as a page."""
        file = await asyncio.to_thread(
            caller.engine.documents.read_file, id, caller.scope, small=small
        )
        disposition = "inline" if small else "attachment"
        headers = {
            **_FILE_HEADERS,
            "content-disposition": f"{disposition}; filename*=UTF-8''{quote(file.name, safe='')}",
        }
        return Response(file.data, headers=headers, media_type=file.media_type)

    @routes.delete("/documents/{id}", responses=error_responses(404))
    def forget(id: str, caller: ScopedCaller) -> DocumentResponse:
        """Forget a document: no search finds it until it is restored, or added again."""
        return _to_document(caller.engine.documents.forget(id, caller.scope))

    @routes.post("/documents/{id}/restore", responses=error_responses(404))
    def restore(id: str, caller: ScopedCaller) -> DocumentResponse:
        """Undo forgetting a document."""
        return _to_document(caller.engine.documents.restore(id, caller.scope))

    @routes.post("/documents/{id}/purge", responses=error_responses(404))
    def purge(id: str, caller: ScopedCaller, git: GitParam = False) -> responses.PurgeResponse:
        """Erase a document for good, in all its versions, with the proof."""
        return responses.PurgeResponse.of(caller.engine.documents.purge(id, caller.scope, git=git))

    return routes


def _to_document(document: StoredDocument) -> DocumentResponse:
    return DocumentResponse(
        id=document.first.id,
        name=document.first.name,
        title=document.first.title,
        source=document.first.source,
        passages=document.first.parts,
        stored_at=document.stored_at,
        scope=list(document.scope.labels),
        media=document.first.media,
    )
