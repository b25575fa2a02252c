"""/v1/quarantine and /v1/secrets: texts that nothing was learned from, and secrets in what is stored."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

from fastapi import APIRouter, Query
from pydantic import BaseModel, Field, StrictBool

from engrams.settings import Settings
from engrams.surfaces.http.caller import ScopedCaller
from engrams.surfaces.http.limited_route import limited_router
from engrams.surfaces.http.problems import error_responses
from engrams.surfaces.http.rest import responses
from engrams.surfaces.http.rest.requests import RequestBody

LimitParam = Annotated[int, Query(ge=1, le=200, description="Messages at most, newest first.")]


class ForeignTextResponse(BaseModel):
    """Part of a message that nothing was learned from."""

    reason: str = Field(description='Such as "a forwarded message".')
    text: str


class KeptOutTextResponse(BaseModel):
    """Message with the parts that nothing was learned from."""

    id: str
    role: str
    recorded_at: datetime
    parts: list[ForeignTextResponse]


class QuarantineResponse(BaseModel):
    messages: list[KeptOutTextResponse]


class SecretScanRequest(RequestBody):
    redact: StrictBool = Field(
        False, description="Remove the secrets from the memories, their history and all files."
    )


class StoredSecretResponse(BaseModel):
    """Secret that a memory holds, described without it."""

    id: str
    field: str = Field(description="`history`: an earlier version holds it.")
    kind: str
    masked: str = Field(description="The words around it, with a mark in its place.")


class SecretScanResponse(BaseModel):
    """Secrets that were found, and the proof of their removal if it was asked for."""

    secrets: list[StoredSecretResponse]
    proven: bool = Field(
        description="The secrets were removed, every place was searched again, and none is left."
    )
    places: list[responses.PurgePlaceResponse]


def router(settings: Settings) -> APIRouter:
    routes = limited_router(settings, "quarantine")

    @routes.get("/quarantine", responses=error_responses())
    def kept_out(caller: ScopedCaller, limit: LimitParam = 50) -> QuarantineResponse:
        """List messages with parts that nothing was learned from, such as a pasted mail, and why."""
        return QuarantineResponse(
            messages=[
                KeptOutTextResponse(
                    id=item.record.id,
                    role=item.record.role,
                    recorded_at=item.record.recorded_at,
                    parts=[
                        ForeignTextResponse(reason=part.reason, text=part.text)
                        for part in item.parts
                    ],
                )
                for item in caller.engine.quarantine(scope=caller.scope, limit=limit)
            ]
        )

    @routes.post("/quarantine/{id}/allow", responses=error_responses(404))
    def allow(id: str, caller: ScopedCaller) -> responses.WriteReceiptResponse:
        """Learn from the foreign parts of a message, as if the user had said them."""
        return responses.to_receipt(caller.engine.let_in(id, scope=caller.scope))

    @routes.post("/secrets/scan", responses=error_responses())
    def scan(body: SecretScanRequest, caller: ScopedCaller) -> SecretScanResponse:
        """Find secrets in what is stored and in its earlier versions; remove them if asked to.

        The answer never repeats a secret.
        """
        stored_secrets = caller.engine.find_secrets(scope=caller.scope)
        report = (
            caller.engine.redact_secrets(scope=caller.scope)
            if body.redact and stored_secrets
            else None
        )
        return SecretScanResponse(
            secrets=[
                StoredSecretResponse.model_validate(secret, from_attributes=True)
                for secret in stored_secrets
            ],
            proven=report is not None and report.proven,
            places=[
                responses.PurgePlaceResponse.model_validate(check, from_attributes=True)
                for check in (report.places if report else ())
            ],
        )

    return routes
