"""/v1/memories: add, list, read, edit, forget, restore, erase."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Header, Query, Response

from engrams.core import Receipt, Turn, name_speaker
from engrams.engine.json_filters import parse_where
from engrams.engine.memory_labels import MemoryLabels, add_labels
from engrams.errors import ConflictError, RefusedError
from engrams.ports import Condition, Where
from engrams.settings import Settings
from engrams.spaces.speakers import sign_edit
from engrams.surfaces.http.caller import IdentifiedCaller, ScopedCaller
from engrams.surfaces.http.limited_route import limited_router
from engrams.surfaces.http.problems import error_responses, make_problem
from engrams.surfaces.http.rest import requests, responses
from engrams.surfaces.http.rest.etags import etag, matches_etag

_MAX_KEY = 150
"""Longest idempotency key: with a message's index behind it, it must fit an external id."""

KeyHeader = Annotated[
    str,
    Header(
        max_length=_MAX_KEY,
        description="The same key stores nothing twice; the answer names the stored memory.",
    ),
]
TagHeader = Annotated[str, Header(description="Entity tags as ETag gave them.")]
ReasonParam = Annotated[str, Query(description="Why, for its history.")]


def router(settings: Settings) -> APIRouter:
    routes = limited_router(settings, "memories")
    _add_collection_routes(routes, settings)
    _add_memory_routes(routes, settings)
    _add_history_routes(routes)
    return routes


def _add_collection_routes(routes: APIRouter, settings: Settings) -> None:
    @routes.post(
        "/memories",
        status_code=201,
        responses={
            200: {"model": responses.MemoryAddResponse, "description": "It was there."},
            **error_responses(409),
        },
    )
    def add(
        body: requests.MemoryAddRequest,
        response: Response,
        caller: ScopedCaller,
        idempotency_key: KeyHeader = "",
    ) -> responses.MemoryAddResponse:
        """Store a text, or the messages of a conversation.

        It is durable and found by the next search.
        """
        receipts = (
            _add_messages(body, caller, idempotency_key, settings)
            if body.messages
            else (_add_text(body, caller, idempotency_key, settings),)
        )
        if all(receipt.outcome == "duplicate" for receipt in receipts):
            response.status_code = 200
        return responses.MemoryAddResponse(
            results=[responses.to_receipt(receipt) for receipt in receipts]
        )

    @routes.get("/memories", responses=error_responses())
    def find(
        query: Annotated[requests.MemoryListQuery, Query()], caller: ScopedCaller
    ) -> responses.MemoryPageResponse:
        """List memories by their fields, a page at a time.

        `next` is empty on the last page.
        """
        conditions: list[Condition | Where] = [
            Condition("tags", "contains", tag) for tag in query.tag
        ]
        if query.tier:
            conditions.append(Condition("tier", "in", [tier.value for tier in query.tier]))
        filter_sent = parse_where(query.where) if query.where else None
        if filter_sent is not None:
            conditions.append(filter_sent)
        page = caller.engine.list(
            scope=caller.scope,
            kinds=tuple(query.kind),
            statuses=tuple(query.status),
            session=query.session,
            text=query.text,
            order=query.order,
            as_of=query.as_of,
            where=Where("and", tuple(conditions)) if conditions else None,
            after=query.after,
            limit=min(query.limit, settings.limits.results),
        )
        # What was known at a time was in no doubt by what was said later.
        listed = () if query.as_of else page.records
        marks = caller.engine.inspect.find_outdated(listed, scope=caller.scope)
        return responses.MemoryPageResponse(
            memories=[responses.to_memory(record) for record in page.records],
            next=page.next,
            outdated={id: responses.to_outdated(mark) for id, mark in marks.items()},
        )


def _add_memory_routes(routes: APIRouter, settings: Settings) -> None:
    @routes.get(
        "/memories/{id}",
        responses=error_responses(304, 404),
        response_model=responses.MemoryResponse,
    )
    def read(
        id: str, response: Response, caller: ScopedCaller, if_none_match: TagHeader = ""
    ) -> responses.MemoryResponse | Response:
        """Read a memory by its id or the first characters of it.

        Six characters at least. Its ETag is its version.
        """
        record = caller.engine.get(id, scope=caller.owner)
        if if_none_match and matches_etag(if_none_match, record.version):
            return Response(status_code=304, headers={"etag": etag(record.version)})
        response.headers["etag"] = etag(record.version)
        return responses.to_memory(record)

    @routes.patch(
        "/memories/{id}",
        responses=error_responses(404, 409, 412),
        response_model=responses.ChangedMemoryResponse,
    )
    def change(
        id: str,
        body: requests.MemoryEditRequest,
        response: Response,
        caller: ScopedCaller,
        if_match: TagHeader = "",
    ) -> responses.ChangedMemoryResponse | Response:
        """Change the fields of a memory that are sent.

        A new text also reaches what was said (`sources`). With If-Match only while it still has
        that version.
        """
        sent_fields = body.sent_fields()
        if "meta" in sent_fields:
            requests.check_meta(sent_fields["meta"], settings.limits.meta_bytes)
        record = caller.engine.get(id, scope=caller.owner)
        if if_match and not matches_etag(if_match, record.version):
            return _version_problem(ConflictError())
        report = (
            caller.engine.preview([record.id], "edit", caller.owner)
            if sent_fields.get("text", record.text) != record.text
            else None
        )
        try:
            edited = caller.engine.edit(
                record.id,
                scope=caller.owner,
                fields=sign_edit(record, sent_fields, caller.member),
                expect=record.version,
                reason=body.reason,
            )
        except ConflictError as error:
            if if_match:
                return _version_problem(error)
            raise
        response.headers["etag"] = etag(edited.version)
        return responses.to_changed(edited, report)

    @routes.delete("/memories/{id}", responses=error_responses(404, 409))
    def forget(
        id: str, response: Response, caller: ScopedCaller, reason: ReasonParam = ""
    ) -> responses.ChangedMemoryResponse:
        """Forget a memory and what said only it, until it is restored."""
        report = caller.engine.preview([id], "forget", caller.owner)
        record = caller.engine.forget(id, scope=caller.owner, reason=reason)
        response.headers["etag"] = etag(record.version)
        return responses.to_changed(record, report)


def _add_history_routes(routes: APIRouter) -> None:
    @routes.get("/memories/{id}/history", responses=error_responses(404))
    def history(id: str, caller: ScopedCaller) -> responses.MemoryHistoryResponse:
        """List the changes of one memory, oldest first."""
        return responses.MemoryHistoryResponse(
            changes=[
                responses.to_change(entry)
                for entry in caller.engine.history(id, scope=caller.owner)
            ]
        )

    @routes.post("/memories/{id}/restore", responses=error_responses(404, 409))
    def restore(id: str, response: Response, caller: ScopedCaller) -> responses.MemoryResponse:
        """Restore a forgotten memory."""
        record = caller.engine.restore(id, scope=caller.owner)
        response.headers["etag"] = etag(record.version)
        return responses.to_memory(record)

    @routes.post("/used", responses=error_responses(404))
    def used(body: requests.UsedRequest, caller: ScopedCaller) -> responses.MemoryPageResponse:
        """Report that recalled memories were used, and whether they helped.

        Their strength and confidence follow.
        """
        ids = list(dict.fromkeys(body.ids))
        caller.engine.used(ids, scope=caller.owner, helpful=body.helpful)
        return responses.MemoryPageResponse(
            memories=[responses.to_memory(caller.engine.get(id, scope=caller.owner)) for id in ids],
            next="",
        )

    @routes.post("/purge", responses=error_responses(404))
    def purge(body: requests.PurgeRequest, caller: ScopedCaller) -> responses.PurgeResponse:
        """Erase memories for good, with their words wherever they stand.

        The answer lists the places that were looked at again, and is proven where none holds
        anything.
        """
        ids = list(dict.fromkeys(body.ids))
        reach = caller.engine.preview(ids, "purge", caller.owner)
        return responses.PurgeResponse.of(
            caller.engine.purge(ids, scope=caller.owner, git=body.git), reach
        )

    @routes.post("/purge/about", responses=error_responses())
    def about(
        body: requests.PurgeCandidatesRequest, caller: ScopedCaller
    ) -> responses.PurgeCandidatesResponse:
        """List memories about somebody or something, to choose what to purge.

        Nothing is changed; `POST /v1/purge` erases the chosen ids.
        """
        candidates = caller.engine.find_about(body.about, scope=caller.scope)
        return responses.PurgeCandidatesResponse(
            memories=[responses.to_choice(candidate) for candidate in candidates]
        )

    @routes.post("/preview", responses=error_responses(404))
    def preview(
        body: requests.ChangePreviewRequest, caller: ScopedCaller
    ) -> responses.ChangeReportResponse:
        """Tell what edit, forget or purge would reach; nothing is changed."""
        report = caller.engine.preview(list(dict.fromkeys(body.ids)), body.action, caller.owner)
        return responses.ChangeReportResponse.model_validate(report)


def _add_text(
    body: requests.MemoryAddRequest, caller: IdentifiedCaller, key: str, settings: Settings
) -> Receipt:
    meta = requests.check_meta(body.meta, settings.limits.meta_bytes)
    labels = _collect_labels(body)
    caller.engine.check_storable(*labels.list_texts())
    turn = Turn(body.text or "", at=body.at, session=body.session, external_id=key, meta=meta)
    receipt = caller.engine.add(caller.sign(turn), scope=caller.scope, kind=body.kind)
    add_labels(caller.engine, receipt, labels)
    return receipt


def _collect_labels(body: requests.MemoryAddRequest) -> MemoryLabels:
    return MemoryLabels(
        tags=tuple(body.tags),
        triggers=tuple(body.triggers),
        steps=tuple(body.steps),
        prerequisites=tuple(body.prerequisites),
        warnings=tuple(body.warnings),
        category=body.category,
    )


def _add_messages(
    body: requests.MemoryAddRequest, caller: IdentifiedCaller, key: str, settings: Settings
) -> tuple[Receipt, ...]:
    if any((_collect_labels(body).list_texts(), body.at, body.meta)):
        raise RefusedError(
            "tags, triggers, steps, prerequisites, warnings, category, at and meta belong to a text.",
            hint="Give each message its own `at` and `meta`.",
        )
    messages = body.messages or ()
    names = [message.name for message in messages if message.role == "user"]
    owner = caller.owner.labels[-1]
    turns = [
        Turn(
            text=message.content,
            role=message.role,
            speaker=name_speaker(message.name, names, owner),
            at=message.at,
            session=body.session,
            external_id=message.external_id or (f"{key}:{index}" if key else ""),
            caption=message.caption,
            meta=requests.check_meta(message.meta, settings.limits.meta_bytes),
        )
        for index, message in enumerate(messages)
    ]
    return caller.engine.observe([caller.sign(turn) for turn in turns], scope=caller.scope)


def _version_problem(error: ConflictError) -> Response:
    return make_problem(412, type(error).__name__, error.message, error.hint)
