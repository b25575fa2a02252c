"""Operations that the paths of both mem0 servers share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from fastapi import Request

from engrams.compat.mem0 import bodies
from engrams.compat.mem0.filters import Mem0ScopeFilter, find_target
from engrams.core import Kind, Record, Role, Status, Turn, is_blank
from engrams.core.clock import parse_time
from engrams.engine import MemoryEngine
from engrams.errors import InputError, NotFoundError
from engrams.ports import Condition, Where
from engrams.settings import Settings
from engrams.surfaces.http.caller import IdentifiedCaller, find_caller
from engrams.surfaces.http.rest.requests import check_meta, to_utc

_TOP = 10
_PAGE = 100
_ROLES: Mapping[str, Role] = {
    "user": "user",
    "assistant": "assistant",
    "system": "system",
    "tool": "tool",
}
_GONE = (Status.FORGOTTEN, Status.PURGED)


def add_messages(
    request: Request, body: bodies.Mem0AddRequest, settings: Settings
) -> bodies.Mem0AddResponse:
    """Store the messages of a conversation, each until its expiry."""
    where = find_target(request, body.ids(), body.filters)
    at = _to_time(body.timestamp)
    ends = _to_expiry(body.expiration_date)
    extra = check_meta(body.metadata or {}, settings.limits.meta_bytes)
    events: list[bodies.Mem0AddEventResponse] = []
    for message in body.messages:
        text = _message_text(message.content)
        if not is_blank(text):
            session = where.scope.labels[-1] if body.run_id else ""
            turn = Turn(
                text=text,
                role=_ROLES.get(message.role, "user"),
                speaker=message.name,
                at=at,
                session=session,
                meta=extra,
            )
            kind = Kind.TURN if body.infer else Kind.NOTE
            receipt = where.engine.add(turn, scope=where.scope, kind=kind, settle=body.infer)
            for id in (receipt.id, *(each.id for each in receipt.derived)) if ends else ():
                if id:
                    where.engine.edit(
                        id, scope=where.owner, fields={"valid_to": ends}, reason="expires"
                    )
            events += bodies.to_events(receipt, text)
    if not events:
        raise InputError("No message has a text.")
    return bodies.Mem0AddResponse(results=events)


def search(request: Request, body: bodies.Mem0SearchRequest) -> bodies.Mem0MemoryListResponse:
    """Find the memories that answer a question, best first."""
    where = find_target(request, body.ids(), body.filters)
    if body.top_k is not None:
        number = body.top_k
    elif body.limit is not None:
        number = body.limit
    else:
        number = _TOP
    tests = _join(where.where, *_option_tests(body.categories))
    more = body.show_expired or not body.latest_only
    found = where.engine.search(
        body.query, scope=where.owner, limit=number, where=tests, history=more
    )
    least = body.threshold if body.threshold is not None else 0.0
    return bodies.Mem0MemoryListResponse(
        results=[
            _to_memory(where.engine, hit.record, hit.score)
            for hit in found.hits
            if hit.score >= least and (not more or _is_wanted(hit.record, body, where.engine.now()))
        ]
    )


def list_page(
    request: Request, body: bodies.Mem0ListRequest, page: int, page_size: int, settings: Settings
) -> bodies.Mem0MemoryPageResponse:
    """List one page of memories that have not expired, newest first."""
    dates: list[Condition | Where] = (
        [Condition("recorded_at", "gte", _parse_day(body.start_date))] if body.start_date else []
    )
    dates += [Condition("recorded_at", "lte", _parse_day(body.end_date))] if body.end_date else []
    where = find_target(request, body.ids(), body.filters)
    current = Where(
        "or",
        (Condition("valid_to", "exists", False), Condition("valid_to", "gt", where.engine.now())),
    )
    dates += _option_tests(body.categories)
    tests = _join(
        where.where, *dates, *(() if body.show_expired or not body.latest_only else (current,))
    )
    statuses = (Status.ACTIVE,) if body.latest_only else (Status.ACTIVE, Status.SUPERSEDED)
    records, more = _read_page(
        where, tests, statuses, page, min(page_size, settings.limits.results)
    )
    path = "/v3/memories/?page_size={}&page={}"
    return bodies.Mem0MemoryPageResponse(
        results=[_to_memory(where.engine, record) for record in records],
        count=(page - 1) * page_size + len(records) + more,
        next=path.format(page_size, page + 1) if more else None,
        previous=path.format(page_size, page - 1) if page > 1 else None,
    )


def read_memory(request: Request, id: str) -> bodies.Mem0MemoryResponse:
    """Read one memory. NotFoundError: there is none, or it was deleted."""
    caller = find_caller(request, "")
    return _to_memory(caller.engine, _get_live(caller, id))


def edit_memory(
    request: Request, id: str, body: bodies.Mem0UpdateRequest, settings: Settings
) -> bodies.Mem0MemoryResponse:
    """Change a memory's text, metadata or expiry."""
    caller = find_caller(request, "")
    record = _get_live(caller, id)
    fields: dict[str, Any] = {} if body.text is None else {"text": body.text}
    if body.metadata is not None:
        fields["meta"] = check_meta({**record.meta, **body.metadata}, settings.limits.meta_bytes)
    if "expiration_date" in body.model_fields_set:
        fields["valid_to"] = _to_expiry(body.expiration_date)
    if body.timestamp is not None:
        fields["valid_from"] = _to_moment(body.timestamp)
    if fields:
        record = caller.engine.edit(
            record.id, scope=caller.owner, fields=fields, reason="changed by a client"
        )
    return _to_memory(caller.engine, record)


def forget_memory(request: Request, id: str, linked: bool = False) -> None:
    """Forget one memory; it can be restored.

    ``linked``: also those that it superseded, and that they did.
    """
    caller = find_caller(request, "")
    record = _get_live(caller, id)
    older = _find_superseded(caller, record) if linked else []
    for each in (record, *older):
        if caller.engine.get(each.id, scope=caller.owner).status not in _GONE:
            caller.engine.forget(each.id, scope=caller.owner)


def check_live(request: Request, ids: Sequence[str]) -> None:
    """Check that all memories are there, before any is changed."""
    caller = find_caller(request, "")
    for id in ids:
        _get_live(caller, id)


def _find_superseded(caller: IdentifiedCaller, record: Record) -> list[Record]:
    """Find what a memory superseded, and what that did, newest first."""
    found: dict[str, Record] = {}
    near = [record]
    while near:
        tests = Where("or", tuple(Condition("superseded_by", "eq", each.id) for each in near))
        page = caller.engine.list(
            scope=caller.owner, where=tests, statuses=(Status.SUPERSEDED,), limit=_PAGE
        )
        near = [each for each in page.records if each.id not in found]
        found |= {each.id: each for each in near}
    return list(found.values())


def list_changes(request: Request, id: str) -> list[bodies.Mem0HistoryEntryResponse]:
    """List a memory's changes, oldest first, also of a deleted one."""
    caller = find_caller(request, "")
    record = caller.engine.get(id, scope=caller.owner)
    return [
        bodies.to_change(record, entry)
        for entry in caller.engine.history(record.id, scope=caller.owner)
    ]


def give_feedback(
    request: Request, body: bodies.Mem0FeedbackRequest
) -> bodies.Mem0FeedbackResponse:
    """Count a memory as helpful or not; nothing else changes."""
    caller = find_caller(request, "")
    record = _get_live(caller, body.memory_id)
    if body.feedback is not None:
        caller.engine.used([record.id], scope=caller.owner, helpful=body.feedback == "POSITIVE")
    return bodies.Mem0FeedbackResponse(
        id=record.id, feedback=body.feedback, feedback_reason=body.feedback_reason
    )


def _get_live(caller: IdentifiedCaller, id: str) -> Record:
    record = caller.engine.get(id, scope=caller.owner)
    if record.status in _GONE:
        raise NotFoundError(
            f"The memory {record.id} was deleted.",
            hint="POST /v1/memories/{id}/restore brings it back.",
        )
    return record


def _to_memory(
    engine: MemoryEngine, record: Record, score: float | None = None
) -> bodies.Mem0MemoryResponse:
    """Convert a memory with the time of its last change."""
    changes = engine.history(record.id, scope=record.scope.owner) if record.version > 1 else ()
    return bodies.to_memory(
        record, score, max((entry.at for entry in changes), default=record.recorded_at)
    )


def forget_all(where: Mem0ScopeFilter) -> None:
    """Forget all matching memories, page by page."""
    while records := where.engine.list(scope=where.owner, where=where.where, limit=_PAGE).records:
        for record in records:
            if where.engine.get(record.id, scope=where.owner).status is Status.ACTIVE:
                where.engine.forget(record.id, scope=where.owner, reason="asked by a client")


def _join(first: Where | None, *others: Condition | Where) -> Where | None:
    parts = (*((first,) if first else ()), *others)
    return Where("and", parts) if parts else None


def _option_tests(categories: list[str] | None) -> list[Condition | Where]:
    """Return the test for any of some categories, which are tags here."""
    return (
        [Where("or", tuple(Condition("tags", "contains", each) for each in categories))]
        if categories
        else []
    )


def _is_wanted(record: Record, body: bodies.Mem0SearchRequest, now: datetime) -> bool:
    """Check a hit of a search through history by the options."""
    if record.status is Status.SUPERSEDED:
        return not body.latest_only
    return record.status is Status.ACTIVE and (
        body.show_expired or record.valid_to is None or record.valid_to > now
    )


def _read_page(
    where: Mem0ScopeFilter, tests: Where | None, statuses: tuple[Status, ...], page: int, size: int
) -> tuple[list[Record], bool]:
    """Read one page and say if another follows."""
    after = ""
    for number in range(1, page + 1):
        found = where.engine.list(
            scope=where.owner, where=tests, statuses=statuses, after=after, limit=size
        )
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


def _to_expiry(text: str | None) -> datetime | None:
    """Return the end of a day; a memory is found until then."""
    return _parse_day(text) + timedelta(days=1) if text else None


def _to_time(seconds: float | None) -> datetime | None:
    try:
        return None if seconds is None else datetime.fromtimestamp(seconds, UTC)
    except (OverflowError, OSError, ValueError):
        raise InputError("The timestamp is out of range.") from None


def _to_moment(given: float | str) -> datetime | None:
    return (
        _parse_day(given)
        if isinstance(given, str) and not given.isdigit()
        else _to_time(float(given))
    )


def _parse_day(text: str) -> datetime:
    try:
        return to_utc(parse_time(text))
    except (ValueError, OverflowError):
        raise InputError("A date is needed, such as 2025-01-31.") from None
