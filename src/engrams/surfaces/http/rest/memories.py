"""/v1/memories: adding, listing, reading, changing, forgetting, erasing."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Header, Query, Response

from engrams.errors import ConflictError, RefusedError
from engrams.ports import Condition, Where
from engrams.settings import Settings
from engrams.surfaces.http.rest import requests, responses
from engrams.surfaces.http.rest.caller import Asks, Caller
from engrams.surfaces.http.rest.errors import declared, etag, failure, limited, matches
from engrams.types import Receipt, Turn

_KEY = 150
"""Longest idempotency key: with a message's place behind it, it must fit an external id."""

Key = Annotated[str, Header(max_length=_KEY, description="The same key stores nothing twice; the answer names what is there.")]
Tag = Annotated[str, Header(description="Entity tags as ETag gave them.")]
Reason = Annotated[str, Query(description="Why, for its history.")]


def router(settings: Settings) -> APIRouter:
    routes = APIRouter(prefix="/v1", tags=["memories"], route_class=limited(settings.limits.text_bytes))
    _collection(routes, settings)
    _one(routes, settings)
    _life(routes)
    return routes


def _collection(routes: APIRouter, settings: Settings) -> None:
    @routes.post("/memories", status_code=201, responses={200: {"model": responses.Added, "description": "It was there."}, **declared(409)})
    def add(body: requests.Add, response: Response, caller: Asks, idempotency_key: Key = "") -> responses.Added:
        """Remember a text, or the messages of a conversation. It is durable and found by the next search."""
        receipts = _said(body, caller, idempotency_key, settings) if body.messages else (_told(body, caller, idempotency_key, settings),)
        if all(receipt.outcome == "duplicate" for receipt in receipts):
            response.status_code = 200
        return responses.Added(results=[responses.written(receipt) for receipt in receipts])

    @routes.get("/memories", responses=declared())
    def find(asked: Annotated[requests.Listing, Query()], caller: Asks) -> responses.Page:
        """Memories by what they are, a page at a time; `next` is empty on the last."""
        tests = [Condition("tags", "contains", tag) for tag in asked.tag]
        tests += [Condition("tier", "in", [tier.value for tier in asked.tier])] if asked.tier else []
        page = caller.engine.list(
            scope=caller.scope,
            kinds=tuple(asked.kind),
            statuses=tuple(asked.status),
            session=asked.session,
            text=asked.text,
            order=asked.order,
            as_of=asked.as_of,
            where=Where("and", tuple(tests)) if tests else None,
            after=asked.after,
            limit=min(asked.limit, settings.limits.results),
        )
        return responses.Page(memories=[responses.memory(record) for record in page.records], next=page.next)


def _one(routes: APIRouter, settings: Settings) -> None:
    @routes.get("/memories/{id}", responses=declared(304, 404), response_model=responses.Memory)
    def read(id: str, response: Response, caller: Asks, if_none_match: Tag = "") -> responses.Memory | Response:
        """One memory by its id, or by the first characters of it (six at least). Its ETag is its version."""
        record = caller.engine.get(id, scope=caller.owner)
        if if_none_match and matches(if_none_match, record.version):
            return Response(status_code=304, headers={"etag": etag(record.version)})
        response.headers["etag"] = etag(record.version)
        return responses.memory(record)

    @routes.patch("/memories/{id}", responses=declared(404, 409, 412), response_model=responses.Memory)
    def change(id: str, body: requests.Edit, response: Response, caller: Asks, if_match: Tag = "") -> responses.Memory | Response:
        """Change the fields that are sent. With If-Match only while it still has that version."""
        sent = body.fields()
        if "meta" in sent:
            requests.meta(sent["meta"], settings.limits.meta_bytes)
        record = caller.engine.get(id, scope=caller.owner)
        if if_match and not matches(if_match, record.version):
            return _stale(ConflictError())
        try:
            edited = caller.engine.edit(record.id, scope=caller.owner, fields=sent, expect=record.version, reason=body.reason)
        except ConflictError as fault:
            if if_match:
                return _stale(fault)
            raise
        response.headers["etag"] = etag(edited.version)
        return responses.memory(edited)

    @routes.delete("/memories/{id}", responses=declared(404, 409))
    def forget(id: str, response: Response, caller: Asks, reason: Reason = "") -> responses.Memory:
        """Forget a memory: no search finds it until it is restored."""
        record = caller.engine.forget(id, scope=caller.owner, reason=reason)
        response.headers["etag"] = etag(record.version)
        return responses.memory(record)


def _life(routes: APIRouter) -> None:
    @routes.get("/memories/{id}/history", responses=declared(404))
    def history(id: str, caller: Asks) -> responses.Changes:
        """Every change of one memory, oldest first."""
        return responses.Changes(changes=[responses.change(entry) for entry in caller.engine.history(id, scope=caller.owner)])

    @routes.post("/memories/{id}/restore", responses=declared(404, 409))
    def restore(id: str, response: Response, caller: Asks) -> responses.Memory:
        """Undo forgetting."""
        record = caller.engine.restore(id, scope=caller.owner)
        response.headers["etag"] = etag(record.version)
        return responses.memory(record)

    @routes.post("/purge", responses=declared(404))
    def purge(body: requests.Ids, caller: Asks) -> responses.Erased:
        """Erase memories, and what was derived from them alone, for good. The answer is the proof."""
        done = caller.engine.purge(list(dict.fromkeys(body.ids)), scope=caller.owner)
        return responses.Erased(removed=dict(done.removed), remaining=dict(done.remaining), proven=not any(done.remaining.values()))


def _told(body: requests.Add, caller: Caller, key: str, settings: Settings) -> Receipt:
    meta = requests.meta(body.meta, settings.limits.meta_bytes)
    turn = Turn(body.text or "", at=body.at, session=body.session, external_id=key, meta=meta)
    receipt = caller.engine.add(turn, scope=caller.scope, kind=body.kind)
    if body.tags and receipt.id and receipt.outcome != "refused":
        record = caller.engine.get(receipt.id, scope=caller.owner)
        every = tuple(dict.fromkeys((*record.tags, *body.tags)))
        if every != record.tags:
            caller.engine.edit(record.id, scope=caller.owner, fields={"tags": every}, reason="labelled")
    return receipt


def _said(body: requests.Add, caller: Caller, key: str, settings: Settings) -> tuple[Receipt, ...]:
    if body.tags or body.at or body.meta:
        raise RefusedError("tags, at and meta belong to a text.", hint="Give each message its own `at` and `meta`.")
    turns = [
        Turn(
            each.content,
            each.role,
            each.name,
            each.at,
            body.session,
            f"{key}:{place}" if key else "",
            each.caption,
            requests.meta(each.meta, settings.limits.meta_bytes),
        )
        for place, each in enumerate(body.messages or ())
    ]
    return caller.engine.observe(turns, scope=caller.scope)


def _stale(fault: ConflictError) -> Response:
    return failure(412, type(fault).__name__, fault.message, fault.hint)
