"""Paths of mem0's open-source server: /memories and /search."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Query, Request

from engrams.compat.mem0 import bodies, operations
from engrams.compat.mem0.filters import find_target
from engrams.errors import InputError, RefusedError
from engrams.settings import Settings
from engrams.surfaces.http.caller import find_caller
from engrams.surfaces.http.problems import error_responses

_MAX_LISTED = 1000
_Id = Annotated[str, Query(max_length=200)]


def add_routes(routes: APIRouter, settings: Settings) -> None:
    """Add the open-source server's routes; answers are those of version 1.1."""
    _add_collection_routes(routes, settings)
    _add_item_routes(routes, settings)


def _add_collection_routes(routes: APIRouter, settings: Settings) -> None:
    @routes.post("/memories", responses=error_responses())
    def add_memories(request: Request, body: bodies.Mem0AddRequest) -> bodies.Mem0AddResponse:
        """Store the messages of a conversation."""
        _require_ids(body.ids())
        return operations.add_messages(request, body, settings)

    @routes.get("/memories", responses=error_responses())
    def get_memories(
        request: Request, user_id: _Id = "", agent_id: _Id = "", run_id: _Id = ""
    ) -> bodies.Mem0MemoryListResponse:
        """List memories of a user, agent or run, newest first."""
        body = bodies.Mem0ListRequest(user_id=user_id, agent_id=agent_id, run_id=run_id)
        _require_ids(body.ids())
        return bodies.Mem0MemoryListResponse(
            results=operations.list_page(request, body, 1, _MAX_LISTED, settings).results
        )

    @routes.delete("/memories", responses=error_responses(409))
    def delete_memories(
        request: Request, user_id: _Id = "", agent_id: _Id = "", run_id: _Id = ""
    ) -> bodies.Mem0MessageResponse:
        """Forget all memories of a user, agent or run; restorable."""
        ids = bodies.Mem0ListRequest(user_id=user_id, agent_id=agent_id, run_id=run_id).ids()
        _require_ids(ids)
        operations.forget_all(find_target(request, ids))
        return bodies.Mem0MessageResponse(message="All relevant memories deleted")

    @routes.post("/reset", responses=error_responses(409))
    def reset_memories(request: Request) -> bodies.Mem0MessageResponse:
        """Forget all memories of the caller; restorable."""
        operations.forget_all(find_target(request, {}))
        return bodies.Mem0MessageResponse(message="All memories reset")

    @routes.get("/configure", responses=error_responses())
    def read_configuration(request: Request) -> dict[str, Any]:
        """Name the models in use; the server's settings choose them."""
        engine = find_caller(request, "").engine
        chat = None
        if engine.chat_model:
            model = engine.chat_model.name
            chat = {"provider": settings.chat.provider, "config": {"model": model}}
        return {
            "version": "v1.1",
            "llm": chat,
            "embedder": {
                "provider": settings.embed.provider,
                "config": {"model": engine.embedder.card.id},
            },
        }

    @routes.post("/configure", responses=error_responses())
    def refuse_configuration(request: Request) -> bodies.Mem0MessageResponse:
        """Refused: settings choose stores and models, not clients."""
        find_caller(request, "")
        raise RefusedError(
            "A client cannot choose stores and models.",
            hint="config.toml sets them: `engrams init` writes it.",
        )

    @routes.post("/search", responses=error_responses())
    def search_memories(
        request: Request, body: bodies.Mem0SearchRequest
    ) -> bodies.Mem0MemoryListResponse:
        """Find the memories that answer a question, best first."""
        return operations.search(request, body)


def _add_item_routes(routes: APIRouter, settings: Settings) -> None:
    @routes.get("/memories/{id}", responses=error_responses(404))
    def get_memory(request: Request, id: str) -> bodies.Mem0MemoryResponse:
        """Read one memory."""
        return operations.read_memory(request, id)

    @routes.put("/memories/{id}", responses=error_responses(404, 409))
    def update_memory(
        request: Request, id: str, body: bodies.Mem0OpenSourceUpdateRequest
    ) -> bodies.Mem0MessageResponse:
        """Change a memory's text or metadata."""
        operations.edit_memory(request, id, body.to_update(), settings)
        return bodies.Mem0MessageResponse(message="Memory updated successfully!")

    @routes.delete("/memories/{id}", responses=error_responses(404, 409))
    def delete_memory(request: Request, id: str) -> bodies.Mem0MessageResponse:
        """Forget a memory; it can be restored."""
        operations.forget_memory(request, id)
        return bodies.Mem0MessageResponse(message="Memory deleted successfully")

    @routes.get("/memories/{id}/history", responses=error_responses(404))
    def memory_history(request: Request, id: str) -> list[bodies.Mem0HistoryEntryResponse]:
        """List a memory's changes, oldest first."""
        return operations.list_changes(request, id)


def _require_ids(ids: dict[str, str]) -> None:
    if not ids:
        raise InputError(
            "At least one identifier is required.", hint="Give user_id, agent_id or run_id."
        )
