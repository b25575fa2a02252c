"""POST /v1/documents: files of a form, pages of the web, and reading pages again.

`/v1/import` takes a file as the body of the request; `/v1/imports` takes large ones in pieces.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from typing import Annotated, Literal

from fastapi import APIRouter, Query, Request, Response
from pydantic import BaseModel, Field
from starlette.datastructures import UploadFile
from starlette.exceptions import HTTPException
from starlette.formparsers import MultiPartException, MultiPartParser

from engrams.core import ImportOptions
from engrams.engine.answer_types import DescribedDocument, GivenDocument
from engrams.errors import EngramsError
from engrams.settings import Settings
from engrams.surfaces.http.caller import IdentifiedCaller, ScopedCaller
from engrams.surfaces.http.limited_route import limited_router
from engrams.surfaces.http.problems import error_responses
from engrams.surfaces.http.rest.import_export import read_limited, require_disk
from engrams.surfaces.http.rest.imports import get_uploads

_MOST_FILES = 100
_MOST_BYTES = 101 << 20
"""Bytes of a form: the largest document, and what stands around it."""
_FORM = "multipart/form-data"
_FORM_BODY = {
    "requestBody": {
        "required": True,
        "content": {
            _FORM: {
                "schema": {
                    "type": "object",
                    "required": ["file"],
                    "properties": {
                        "file": {
                            "type": "array",
                            "items": {"type": "string", "format": "binary"},
                            "description": "Files, each with its name.",
                        },
                        "note": {
                            "type": "string",
                            "description": "Words of the user about the files.",
                        },
                    },
                }
            }
        },
    }
}

BackgroundParam = Annotated[
    bool,
    Query(description="Answer at once, status 202; GET /v1/imports/{import_id} has the progress."),
]


class AddedDocumentResponse(BaseModel):
    """A document that was sent, and what became of it."""

    name: str
    id: str = Field(description="Id of the document.")
    outcome: Literal["stored", "existing", "queued", "failed"]
    import_id: str = Field("", description="Undoes it, or asks for its progress. Empty: neither.")
    passages: int = Field(0, description="Passages that are new, or were there already.")
    error: str = Field("", description="Why it failed.")
    hint: str = Field("", description="What to do about it.")
    undescribed: str = Field(
        "", description="Why a picture or sound is stored without a model's words."
    )


class AddedDocumentListResponse(BaseModel):
    documents: list[AddedDocumentResponse]


class PageRequest(BaseModel):
    """A page of the web."""

    url: str = Field(min_length=1, max_length=2000, description="It begins with https://.")


class RefreshedDocumentResponse(BaseModel):
    name: str
    outcome: Literal["unchanged", "changed", "missing", "failed"]
    problem: str = Field(description="Reason of a failure.")


class RefreshedDocumentListResponse(BaseModel):
    documents: list[RefreshedDocumentResponse]


class DescribedDocumentResponse(BaseModel):
    name: str
    outcome: Literal["described", "missing", "failed"]
    problem: str = Field(description="Reason of a failure.")


class DescribedDocumentListResponse(BaseModel):
    documents: list[DescribedDocumentResponse]


def router(settings: Settings) -> APIRouter:
    routes = limited_router(settings, "documents")
    _add_page_routes(routes)
    # A form is as large as its files: these routes have a limit of their own.
    forms = APIRouter(prefix="/v1", tags=["documents"])
    _add_form_route(forms, settings)
    routes.routes.extend(forms.routes)
    return routes


def _add_form_route(routes: APIRouter, settings: Settings) -> None:
    queued_response = {"model": AddedDocumentListResponse, "description": "The files wait in jobs."}

    @routes.post(
        "/documents",
        responses={202: queued_response, **error_responses(413)},
        openapi_extra=_FORM_BODY,
    )
    async def add(
        request: Request,
        response: Response,
        caller: ScopedCaller,
        background: BackgroundParam = False,
    ) -> AddedDocumentListResponse:
        """Add the files of a form; a changed file takes the place of its earlier version.

        One file that cannot be read is refused. Of several the others are stored, and its row has
        the error.
        """
        require_disk(settings)
        documents = await _read_form(request, min(settings.serve.upload_bytes, _MOST_BYTES))
        if background:
            response.status_code = 202
            queued = [await asyncio.to_thread(_queue, request, caller, item) for item in documents]
            return AddedDocumentListResponse(documents=queued)
        return AddedDocumentListResponse(
            documents=await asyncio.to_thread(_add_documents, caller, documents)
        )


def _add_page_routes(routes: APIRouter) -> None:
    @routes.post("/documents/url", responses=error_responses())
    def add_page(body: PageRequest, caller: ScopedCaller) -> AddedDocumentResponse:
        """Add a page of the web, or another document, by its address.

        An address on the server's machine or in a private network is refused.
        """
        report = caller.engine.documents.add_page(body.url, caller.scope)
        return AddedDocumentResponse(
            name=body.url,
            id=GivenDocument(body.url, body.url, b"").id,
            outcome="stored" if report.stored else "existing",
            import_id=report.id,
            passages=report.stored or report.existing,
        )

    @routes.post("/documents/refresh", responses=error_responses())
    def refresh_all(caller: ScopedCaller) -> RefreshedDocumentListResponse:
        """Fetch all pages of the web again; a changed one takes the place of its earlier version.

        Files that were sent are left out: send them again.
        """
        refreshed = caller.engine.documents.refresh(caller.scope, pages_only=True)
        return RefreshedDocumentListResponse(
            documents=[
                RefreshedDocumentResponse(
                    name=item.name, outcome=item.outcome, problem=item.problem
                )
                for item in refreshed
            ]
        )

    @routes.post("/documents/describe", responses=error_responses())
    def describe_all(caller: ScopedCaller) -> DescribedDocumentListResponse:
        """Let the connected models tell of the pictures and sounds that have no description yet."""
        described = caller.engine.documents.describe(caller.scope)
        return DescribedDocumentListResponse(documents=[*map(_to_described, described)])

    @routes.post("/documents/{id}/describe", responses=error_responses(404))
    def describe(id: str, caller: ScopedCaller) -> DescribedDocumentResponse:
        """Let a connected model tell of one picture or sound, also if it has a description."""
        (item,) = caller.engine.documents.describe(caller.scope, document=id)
        return _to_described(item)

    @routes.post("/documents/{id}/refresh", responses=error_responses(404))
    def refresh(id: str, caller: ScopedCaller) -> RefreshedDocumentResponse:
        """Fetch one page of the web again."""
        (item,) = caller.engine.documents.refresh(caller.scope, document=id, pages_only=True)
        return RefreshedDocumentResponse(name=item.name, outcome=item.outcome, problem=item.problem)


def _to_described(item: DescribedDocument) -> DescribedDocumentResponse:
    return DescribedDocumentResponse(name=item.name, outcome=item.outcome, problem=item.problem)


async def _read_form(request: Request, most_bytes: int) -> list[GivenDocument]:
    """Read the files of a form. HTTPException: it is no form, has no file, or is too large.

    What does not fit into memory lies in a file without a name, which ends with this request.
    """
    if not request.headers.get("content-type", "").startswith(_FORM):
        raise HTTPException(
            415, f"POST /v1/documents takes a form ({_FORM}); POST /v1/import takes a file as body."
        )
    stream = read_limited(request, 0, most_bytes)
    parser = MultiPartParser(request.headers, stream, max_files=_MOST_FILES, max_fields=_MOST_FILES)
    try:
        form = await parser.parse()
    except MultiPartException as problem:
        raise HTTPException(400, f"The form cannot be read: {problem.message}") from None
    try:
        files = [item for _, item in form.multi_items() if isinstance(item, UploadFile)]
        note = form.get("note")
        documents = [
            replace(
                GivenDocument.from_upload(file.filename or "file", await file.read()),
                note=note if isinstance(note, str) else "",
            )
            for file in files
        ]
    finally:
        await form.close()
    if not documents:
        raise HTTPException(400, "The form has no file; send it as the field `file`, with a name.")
    return documents


def _add_documents(
    caller: IdentifiedCaller, documents: Sequence[GivenDocument]
) -> list[AddedDocumentResponse]:
    """Store documents. EngramsError: there is one alone, and it cannot be read."""
    added = []
    for document in documents:
        try:
            report = caller.engine.documents.add_given(document, caller.scope)
        except EngramsError as problem:
            if len(documents) == 1:
                raise
            added.append(
                AddedDocumentResponse(
                    name=document.name,
                    id=document.id,
                    outcome="failed",
                    error=problem.message,
                    hint=problem.hint,
                )
            )
            continue
        added.append(
            AddedDocumentResponse(
                name=document.name,
                id=document.id,
                outcome="stored" if report.stored else "existing",
                import_id=report.id,
                passages=report.stored or report.existing,
                undescribed=" ".join(report.undescribed),
            )
        )
    return added


def _queue(
    request: Request, caller: IdentifiedCaller, document: GivenDocument
) -> AddedDocumentResponse:
    """Leave a document to the job that imports uploads."""
    uploads = get_uploads(request)
    options = ImportOptions("document", name=document.name, note=document.note)
    upload = uploads.begin(caller.scope, options, len(document.data))
    uploads.append(caller.owner, upload.id, 0, document.data)
    uploads.finish(caller.owner, upload.id)
    return AddedDocumentResponse(
        name=document.name, id=document.id, outcome="queued", import_id=upload.id
    )
