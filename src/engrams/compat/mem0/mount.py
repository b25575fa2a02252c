"""Mount of the paths that the mem0 client calls.

The paths of mem0's platform are here, those of its open-source server in `open_source_paths`; both
share `operations`.
"""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query, Request

from engrams.admin import open_webhooks
from engrams.compat.mem0 import bodies, open_source_paths, operations, project_paths, webhook_paths
from engrams.compat.mem0.filters import LABELS, find_target, parse_filters
from engrams.compat.mem0.permissions import MEM0_PERMISSIONS
from engrams.core import Scope
from engrams.engine import MemoryEngine
from engrams.errors import InputError
from engrams.settings import Settings
from engrams.surfaces.http.caller import find_caller
from engrams.surfaces.http.limited_route import limited_router
from engrams.surfaces.http.mounts import RouterMount
from engrams.surfaces.http.problems import error_responses

_MAX_PAGE_SIZE = 100


def _add_write_routes(routes: APIRouter, settings: Settings) -> None:
    @routes.post("/v3/memories/add/", responses=error_responses())
    def add(request: Request, body: bodies.Mem0AddRequest) -> bodies.Mem0AddResponse:
        """Store the messages of a conversation.

        Each event is a stored message or a memory derived from one.
        """
        return operations.add_messages(request, body, settings)


def _add_read_routes(routes: APIRouter, settings: Settings) -> None:
    @routes.post("/v3/memories/search/", responses=error_responses())
    def search(request: Request, body: bodies.Mem0SearchRequest) -> bodies.Mem0MemoryListResponse:
        """Find the memories that answer a question, best first."""
        return operations.search(request, body)

    @routes.post("/v3/memories/", responses=error_responses())
    def list_memories(
        request: Request,
        body: bodies.Mem0ListRequest,
        page: Annotated[int, Query(ge=1, le=1000)] = 1,
        page_size: Annotated[int, Query(ge=1, le=_MAX_PAGE_SIZE)] = _MAX_PAGE_SIZE,
    ) -> bodies.Mem0MemoryPageResponse:
        """List memories, newest first, by page."""
        return operations.list_page(request, body, page, page_size, settings)

    @routes.get("/v1/ping/", responses=error_responses())
    def ping(request: Request) -> bodies.Mem0PingResponse:
        """Check the key."""
        find_caller(request, "")
        return bodies.Mem0PingResponse()

    @routes.get("/v1/entities/", responses=error_responses())
    def entities(request: Request) -> bodies.Mem0EntityListResponse:
        """List users, agents, apps and runs that have memories."""
        caller = find_caller(request, "")
        scopes = caller.engine.scopes(caller.owner)
        has_own = caller.owner in caller.engine.inspect.count_scopes(caller.owner)
        pairs = dict.fromkeys(
            pair
            for scope in scopes
            for pair in _entity_pairs(scope)
            if has_own or pair != caller.owner.labels
        )
        entities = [
            bodies.Mem0EntityResponse(id=f"{kind}:{name}", name=name, type=kind)
            for kind, name in pairs
        ]
        return bodies.Mem0EntityListResponse(results=entities, count=len(entities))


def _add_memory_routes(routes: APIRouter, settings: Settings) -> None:
    @routes.get("/v1/memories/{id}/", responses=error_responses(404))
    def read(request: Request, id: str) -> bodies.Mem0MemoryResponse:
        """Read one memory."""
        return operations.read_memory(request, id)

    @routes.put("/v1/memories/{id}/", responses=error_responses(404, 409))
    def change(
        request: Request, id: str, body: bodies.Mem0UpdateRequest
    ) -> bodies.Mem0MemoryResponse:
        """Change a memory's text or metadata."""
        return operations.edit_memory(request, id, body, settings)

    @routes.delete("/v1/memories/{id}/", responses=error_responses(404, 409))
    def forget(
        request: Request,
        id: str,
        delete_linked: Annotated[
            bool,
            Query(
                description="Also the memories that it superseded, and those that they superseded."
            ),
        ] = False,
    ) -> bodies.Mem0MessageResponse:
        """Forget a memory; it can be restored."""
        operations.forget_memory(request, id, delete_linked)
        return bodies.Mem0MessageResponse(message="Memory deleted successfully!")

    @routes.get("/v1/memories/{id}/history/", responses=error_responses(404))
    def history(request: Request, id: str) -> list[bodies.Mem0HistoryEntryResponse]:
        """List a memory's changes, oldest first."""
        return operations.list_changes(request, id)

    @routes.post("/v1/feedback/", responses=error_responses(404))
    def give_feedback(
        request: Request, body: bodies.Mem0FeedbackRequest
    ) -> bodies.Mem0FeedbackResponse:
        """Say if a memory was helpful."""
        return operations.give_feedback(request, body)


def _add_batch_routes(routes: APIRouter, settings: Settings) -> None:
    @routes.put("/v1/batch/", responses=error_responses(404, 409))
    def change(request: Request, body: bodies.Mem0BatchUpdateRequest) -> bodies.Mem0MessageResponse:
        """Change several memories."""
        operations.check_live(request, [item.memory_id for item in body.memories])
        for item in body.memories:
            operations.edit_memory(request, item.memory_id, item, settings)
        return bodies.Mem0MessageResponse(
            message=f"Successfully updated {len(body.memories)} memories"
        )

    @routes.delete("/v1/batch/", responses=error_responses(404, 409))
    def forget(request: Request, body: bodies.Mem0BatchUpdateRequest) -> bodies.Mem0MessageResponse:
        """Forget the memories of these ids; each can be restored."""
        operations.check_live(request, [item.memory_id for item in body.memories])
        for item in body.memories:
            operations.forget_memory(request, item.memory_id)
        return bodies.Mem0MessageResponse(
            message=f"Successfully deleted {len(body.memories)} memories"
        )

    @routes.delete("/v1/memories/", responses=error_responses(409))
    def forget_all(
        request: Request,
        user_id: Annotated[str, Query(max_length=200)] = "",
        agent_id: Annotated[str, Query(max_length=200)] = "",
        app_id: Annotated[str, Query(max_length=200)] = "",
        run_id: Annotated[str, Query(max_length=200)] = "",
        filters: Annotated[str, Query(max_length=10_000)] = "",
    ) -> bodies.Mem0MessageResponse:
        """Forget all memories of a user, agent, app or run; restorable."""
        body = bodies.Mem0ScopedRequest(
            user_id=user_id, agent_id=agent_id, app_id=app_id, run_id=run_id
        )
        ids = body.ids()
        tree = parse_filters(filters)
        if not ids and not tree:
            raise InputError(
                "The owner of the memories is missing.",
                hint="Give user_id, agent_id, app_id or run_id.",
            )
        operations.forget_all(find_target(request, ids, tree))
        return bodies.Mem0MessageResponse(message="Memories deleted successfully!")

    @routes.delete("/v2/entities/{kind}/{name}/", responses=error_responses(404, 409))
    def forget_entity(request: Request, kind: str, name: str) -> bodies.Mem0MessageResponse:
        """Forget everything of one user, agent, app or run."""
        if f"{kind}_id" not in LABELS:
            raise InputError("There is no such kind of entity.", hint="user, agent, app or run.")
        operations.forget_all(find_target(request, {f"{kind}_id": name}))
        return bodies.Mem0MessageResponse(message="Entity deleted successfully!")


def _entity_pairs(scope: Scope) -> list[tuple[str, str]]:
    """List kinds and names of the entities that a scope's labels stand for."""
    kinds = {label: name.removesuffix("_id") for name, label in LABELS.items()}
    return [
        (kinds[label], name)
        for label, name in zip(scope.labels[::2], scope.labels[1::2], strict=False)
        if label in kinds
    ]


class Mem0Mount(RouterMount):
    """Mount of mem0's paths, which delivers to web hooks from the start."""

    async def start(self) -> None:
        """Start the workers where an earlier process left changes to send."""
        if open_webhooks(self._engine).find_all():
            self._engine.work.wake()


def create_mem0_mount(engine: MemoryEngine, settings: Settings) -> RouterMount:
    """Create the mount of the mem0 paths."""
    routes = limited_router(settings, "mem0", prefix="")
    for add_routes in (
        _add_write_routes,
        _add_read_routes,
        _add_memory_routes,
        _add_batch_routes,
        project_paths.add_routes,
        webhook_paths.add_routes,
        open_source_paths.add_routes,
    ):
        add_routes(routes, settings)
    return Mem0Mount(engine, (routes,), MEM0_PERMISSIONS)
