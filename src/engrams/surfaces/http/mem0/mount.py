"""Mount of the paths that the mem0 client calls."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request

from engrams.clock import parse_time
from engrams.engine import MemoryEngine
from engrams.errors import InputError
from engrams.ports import Condition, Where
from engrams.settings import Settings
from engrams.surfaces.http.loadmounts import RouterMount
from engrams.surfaces.http.mem0 import bodies
from engrams.surfaces.http.mem0.filters import LABELS, Mem0Target, find_target, parse_filters
from engrams.surfaces.http.rest.caller import find_caller
from engrams.surfaces.http.rest.errors import error_responses, limited_route
from engrams.surfaces.http.rest.requests import check_meta, to_utc
from engrams.types import Kind, Record, Role, Scope, Status, Turn

_TOP = 10
_PAGE = 100
_ROLES: Mapping[str, Role] = {"user": "user", "assistant": "assistant", "system": "system", "tool": "tool"}


def _add_write_routes(routes: APIRouter, settings: Settings) -> None:
    @routes.post("/v3/memories/add/", responses=error_responses())
    def add(request: Request, body: bodies.Mem0AddRequest) -> bodies.Mem0Events:
        """Store the messages of a conversation.

        Each event is a stored message or a memory derived from one."""
        if body.expiration_date:
            raise _no_expiry_error()
        where = find_target(request, body.ids(), body.filters)
        at = _to_time(body.timestamp)
        extra = check_meta(body.metadata or {}, settings.limits.meta_bytes)
        events = []
        for message in body.messages:
            text = _message_text(message.content)
            if text.strip():
                turn = Turn(
                    text, _ROLES.get(message.role, "user"), message.name, at, where.scope.labels[-1] if body.run_id else "", meta=extra
                )
                kind = Kind.TURN if body.infer else Kind.NOTE
                events += bodies.to_events(where.engine.add(turn, scope=where.scope, kind=kind, settle=body.infer), text)
        if not events:
            raise InputError("No message has a text.")
        return bodies.Mem0Events(results=events)


def _add_read_routes(routes: APIRouter, settings: Settings) -> None:
    @routes.post("/v3/memories/search/", responses=error_responses())
    def search(request: Request, body: bodies.Mem0SearchRequest) -> bodies.Mem0Results:
        """Find the memories that answer a question, best first."""
        where = find_target(request, body.ids(), body.filters)
        number = body.top_k if body.top_k is not None else body.limit if body.limit is not None else _TOP
        found = where.engine.search(body.query, scope=where.owner, limit=number, where=where.where)
        least = body.threshold if body.threshold is not None else 0.0
        return bodies.Mem0Results(results=[bodies.to_memory(hit.record, hit.score) for hit in found.hits if hit.score >= least])

    @routes.post("/v3/memories/", responses=error_responses())
    def list_memories(
        request: Request,
        body: bodies.Mem0ListRequest,
        page: Annotated[int, Query(ge=1, le=1000)] = 1,
        page_size: Annotated[int, Query(ge=1, le=_PAGE)] = _PAGE,
    ) -> bodies.Mem0Page:
        """List memories, newest first, by page."""
        dates = [Condition("recorded_at", "gte", _parse_day(body.start_date))] if body.start_date else []
        dates += [Condition("recorded_at", "lte", _parse_day(body.end_date))] if body.end_date else []
        where = find_target(request, body.ids(), body.filters)
        tests = Where("and", (*(where.where.parts if where.where else ()), *dates))
        records, more = _read_page(where, tests if tests.parts else None, page, min(page_size, settings.limits.results))
        path = "/v3/memories/?page_size={}&page={}"
        return bodies.Mem0Page(
            results=[bodies.to_memory(record) for record in records],
            count=(page - 1) * page_size + len(records) + more,
            next=path.format(page_size, page + 1) if more else None,
            previous=path.format(page_size, page - 1) if page > 1 else None,
        )

    @routes.get("/v1/ping/", responses=error_responses())
    def ping(request: Request) -> bodies.Mem0Pong:
        """Check the key."""
        find_caller(request, "")
        return bodies.Mem0Pong()

    @routes.get("/v1/entities/", responses=error_responses())
    def entities(request: Request) -> bodies.Mem0EntityList:
        """List users, agents, apps and runs that have memories."""
        caller = find_caller(request, "")
        found = dict.fromkeys(pair for scope in caller.engine.scopes(caller.owner) for pair in _entity_pairs(scope))
        rows = [bodies.Mem0Entity(id=f"{kind}:{name}", name=name, type=kind) for kind, name in found]
        return bodies.Mem0EntityList(results=rows, count=len(rows))


def _add_memory_routes(routes: APIRouter, settings: Settings) -> None:
    @routes.get("/v1/memories/{id}/", responses=error_responses(404))
    def read(request: Request, id: str) -> bodies.Mem0Memory:
        """Read one memory."""
        caller = find_caller(request, "")
        return bodies.to_memory(caller.engine.get(id, scope=caller.owner))

    @routes.put("/v1/memories/{id}/", responses=error_responses(404, 409))
    def change(request: Request, id: str, body: bodies.Mem0UpdateRequest) -> bodies.Mem0Memory:
        """Change its text or metadata."""
        return bodies.to_memory(_edit_memory(request, id, body, settings))

    @routes.delete("/v1/memories/{id}/", responses=error_responses(404, 409))
    def forget(request: Request, id: str) -> bodies.Mem0Reply:
        """Forget it; it can be restored."""
        caller = find_caller(request, "")
        caller.engine.forget(id, scope=caller.owner)
        return bodies.Mem0Reply(message="Memory deleted successfully!")

    @routes.get("/v1/memories/{id}/history/", responses=error_responses(404))
    def history(request: Request, id: str) -> list[bodies.Mem0Change]:
        """List a memory's changes, oldest first."""
        caller = find_caller(request, "")
        record = caller.engine.get(id, scope=caller.owner)
        return [bodies.to_change(record, entry) for entry in caller.engine.history(record.id, scope=caller.owner)]


def _add_batch_routes(routes: APIRouter, settings: Settings) -> None:
    @routes.put("/v1/batch/", responses=error_responses(404, 409))
    def change(request: Request, body: bodies.Mem0BatchRequest) -> bodies.Mem0Reply:
        """Change several memories."""
        for each in body.memories:
            _edit_memory(request, each.memory_id, each, settings)
        return bodies.Mem0Reply(message=f"Successfully updated {len(body.memories)} memories")

    @routes.delete("/v1/batch/", responses=error_responses(404, 409))
    def forget(request: Request, body: bodies.Mem0BatchRequest) -> bodies.Mem0Reply:
        """Forget the memories of these ids; each can be restored."""
        caller = find_caller(request, "")
        for each in body.memories:
            caller.engine.forget(each.memory_id, scope=caller.owner)
        return bodies.Mem0Reply(message=f"Successfully deleted {len(body.memories)} memories")

    @routes.delete("/v1/memories/", responses=error_responses(409))
    def forget_all(
        request: Request,
        user_id: Annotated[str, Query(max_length=200)] = "",
        agent_id: Annotated[str, Query(max_length=200)] = "",
        app_id: Annotated[str, Query(max_length=200)] = "",
        run_id: Annotated[str, Query(max_length=200)] = "",
        filters: Annotated[str, Query(max_length=10_000)] = "",
    ) -> bodies.Mem0Reply:
        """Forget all memories of a user, agent, app or run; restorable."""
        given = {"user_id": user_id, "agent_id": agent_id, "app_id": app_id, "run_id": run_id}
        ids = {name: value for name, value in given.items() if value}
        tree = parse_filters(filters)
        if not ids and not tree:
            raise InputError("Say whose memories.", hint="Give user_id, agent_id, app_id or run_id.")
        _forget_all(find_target(request, ids, tree))
        return bodies.Mem0Reply(message="Memories deleted successfully!")

    @routes.delete("/v2/entities/{kind}/{name}/", responses=error_responses(404, 409))
    def forget_entity(request: Request, kind: str, name: str) -> bodies.Mem0Reply:
        """Forget everything of one user, agent, app or run."""
        if f"{kind}_id" not in LABELS:
            raise InputError("There is no such kind of entity.", hint="user, agent, app or run.")
        _forget_all(find_target(request, {f"{kind}_id": name}))
        return bodies.Mem0Reply(message="Entity deleted successfully!")


def _entity_pairs(scope: Scope) -> list[tuple[str, str]]:
    kinds = {label: name.removesuffix("_id") for name, label in LABELS.items()}
    return [(kinds[label], name) for label, name in zip(scope.labels[::2], scope.labels[1::2], strict=False) if label in kinds]


def _edit_memory(request: Request, id: str, body: bodies.Mem0UpdateRequest, settings: Settings) -> Record:
    if body.expiration_date:
        raise _no_expiry_error()
    caller = find_caller(request, "")
    record = caller.engine.get(id, scope=caller.owner)
    fields: dict[str, Any] = {} if body.text is None else {"text": body.text}
    if body.metadata is not None:
        fields["meta"] = check_meta({**record.meta, **body.metadata}, settings.limits.meta_bytes)
    return caller.engine.edit(record.id, scope=caller.owner, fields=fields, reason="changed by a client") if fields else record


def _forget_all(where: Mem0Target) -> None:
    """Forget page by page, skipping records that went with another."""
    while records := where.engine.list(scope=where.owner, where=where.where, limit=_PAGE).records:
        for record in records:
            if where.engine.get(record.id, scope=where.owner).status is Status.ACTIVE:
                where.engine.forget(record.id, scope=where.owner, reason="asked by a client")


def _read_page(where: Mem0Target, tests: Where | None, page: int, size: int) -> tuple[list[Record], bool]:
    """Read one page and say if another follows."""
    after = ""
    for number in range(1, page + 1):
        found = where.engine.list(scope=where.owner, where=tests, after=after, limit=size)
        if number == page:
            return list(found.records), bool(found.next)
        if not found.next:
            break
        after = found.next
    return [], False


def _message_text(content: str | list[Any]) -> str:
    if isinstance(content, str):
        return content
    parts = [each.get("text") for each in content if isinstance(each, dict)]
    return "\n".join(part for part in parts if isinstance(part, str))


def _to_time(seconds: float | None) -> datetime | None:
    try:
        return None if seconds is None else datetime.fromtimestamp(seconds, UTC)
    except (OverflowError, OSError, ValueError):
        raise InputError("The timestamp is out of range.") from None


def _parse_day(text: str) -> datetime:
    try:
        return to_utc(parse_time(text))
    except (ValueError, OverflowError):
        raise InputError("A date is needed, such as 2025-01-31.") from None


def _no_expiry_error() -> InputError:
    return InputError("Memories do not expire here.", hint="PATCH /v1/memories/{id} sets `valid_to`, until when it is true.")


def create_mount(engine: MemoryEngine, settings: Settings) -> RouterMount:
    """Create the mount of the mem0 paths."""
    routes = APIRouter(tags=["mem0"], route_class=limited_route(settings.limits.text_bytes))
    for add_routes in (_add_write_routes, _add_read_routes, _add_memory_routes, _add_batch_routes):
        add_routes(routes, settings)
    return RouterMount(engine, (routes,))
