"""Paths of mem0's web hooks."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Annotated, Literal

from fastapi import APIRouter, Request
from pydantic import BaseModel, Field

from engrams.admin import open_webhooks
from engrams.compat.mem0.bodies import Mem0MessageResponse, Mem0RequestBody, Name
from engrams.errors import RefusedError
from engrams.settings import Settings
from engrams.surfaces.http.caller import IdentifiedCaller, find_caller
from engrams.surfaces.http.problems import error_responses

if TYPE_CHECKING:
    from engrams.transfer.webhooks.registry import Webhook, WebhookEvent

Mem0EventName = Literal[
    "memory_add", "memory_update", "memory_delete", "memory:add", "memory:update", "memory:delete"
]
_EVENTS: dict[str, WebhookEvent] = {"add": "ADD", "update": "UPDATE", "delete": "DELETE"}
_Url = Annotated[str, Field(max_length=2000)]
_Events = Annotated[list[Mem0EventName], Field(min_length=1, max_length=6)]


class Mem0WebhookRequest(Mem0RequestBody):
    url: _Url
    name: Name = ""
    event_types: _Events = Field(default=["memory_add", "memory_update", "memory_delete"])


class Mem0WebhookUpdateRequest(Mem0RequestBody):
    url: _Url | None = None
    name: Name | None = None
    event_types: _Events | None = None


class Mem0WebhookResponse(BaseModel):
    """Web hook: an address that is told of changes."""

    id: int
    webhook_id: int
    name: str
    url: str
    event_types: list[str]
    is_active: bool = True
    project: str = "engrams"
    created_at: datetime
    updated_at: datetime
    secret: str | None = Field(
        None, description="Signs its messages; only in the answer that creates it."
    )


def add_routes(routes: APIRouter, _settings: Settings) -> None:
    """Add the routes of web hooks; each key has its own."""

    @routes.get("/api/v1/webhooks/projects/{project_id}/", responses=error_responses())
    def list_webhooks(request: Request, project_id: str) -> list[Mem0WebhookResponse]:  # noqa: ARG001 - there is one
        """List web hooks."""
        caller = _find_trusted(request)
        return [_to_response(hook) for hook in open_webhooks(caller.engine).list(caller.owner)]

    @routes.post("/api/v1/webhooks/projects/{project_id}/", responses=error_responses(409))
    def create_webhook(
        request: Request,
        project_id: str,  # noqa: ARG001
        body: Mem0WebhookRequest,
    ) -> Mem0WebhookResponse:
        """Register an address that is told of memories from now on."""
        caller = _find_trusted(request)
        hook = open_webhooks(caller.engine).add(
            caller.owner, body.url, body.name, _to_events(body.event_types)
        )
        caller.engine.work.wake()
        return _to_response(hook).model_copy(update={"secret": hook.secret})

    @routes.put("/api/v1/webhooks/{id}/", responses=error_responses(404, 409))
    def change_webhook(
        request: Request, id: int, body: Mem0WebhookUpdateRequest
    ) -> Mem0WebhookResponse:
        """Change a web hook; what could not be delivered is tried again."""
        caller = _find_trusted(request)
        events = None if body.event_types is None else _to_events(body.event_types)
        changed = open_webhooks(caller.engine).change(caller.owner, id, body.url, body.name, events)
        caller.engine.work.wake()
        return _to_response(changed)

    @routes.delete("/api/v1/webhooks/{id}/", responses=error_responses(404, 409))
    def delete_webhook(request: Request, id: int) -> Mem0MessageResponse:
        """Delete a web hook."""
        caller = _find_trusted(request)
        open_webhooks(caller.engine).remove(caller.owner, id)
        return Mem0MessageResponse(message="Webhook deleted successfully")


def _find_trusted(request: Request) -> IdentifiedCaller:
    """Find the caller, who must have the right to read too."""
    caller = find_caller(request, "")
    if caller.key is not None and not caller.key.allows("read"):
        raise RefusedError(
            "A web hook receives memories, and this key has no right to read.",
            hint="Use a key with the rights read and write.",
        )
    return caller


def _to_events(names: list[Mem0EventName]) -> list[WebhookEvent]:
    """Convert the client's names of events, each once."""
    events = (_EVENTS[name.replace(":", "_").removeprefix("memory_")] for name in names)
    return list(dict.fromkeys(events))


def _to_response(hook: Webhook) -> Mem0WebhookResponse:
    names = [f"memory_{event.lower()}" for event in hook.events]
    created = datetime.fromisoformat(hook.created_at)
    updated = datetime.fromisoformat(hook.updated_at)
    return Mem0WebhookResponse(
        id=hook.id,
        webhook_id=hook.id,
        name=hook.name,
        url=hook.url,
        event_types=names,
        created_at=created,
        updated_at=updated,
    )
