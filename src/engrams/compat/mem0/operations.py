"""Operations that the paths of both mem0 servers share."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from fastapi import Request

from engrams.compat.mem0 import bodies
from engrams.compat.mem0.filters import Mem0ScopeFilter, find_target, require_part
from engrams.core import UNLEARNED, Hit, Kind, Receipt, Record, Status, Turn, is_blank, to_role
from engrams.core.clock import parse_time
from engrams.engine import MemoryEngine
from engrams.errors import InputError, NotFoundError
from engrams.ports import Condition, Where
from engrams.settings import Settings
from engrams.surfaces.http.caller import IdentifiedCaller, find_caller
from engrams.surfaces.http.rest.requests import check_meta, to_utc

_DEFAULT_HITS = 10
_PAGE_SIZE = 100
_DELETED = (Status.FORGOTTEN, Status.PURGED)


def add_messages(
    request: Request, body: bodies.Mem0AddRequest, settings: Settings
) -> bodies.Mem0AddResponse:
    """Store the messages of a conversation, each until its expiry."""
    target = find_target(request, body.ids(), body.filters)
    said_at = _to_time(body.timestamp)
    valid_to = _to_expiry(body.expiration_date)
    meta = check_meta(body.metadata or {}, settings.limits.meta_bytes)
    if not body.infer:
        meta = {**meta, UNLEARNED: True}
    kind = Kind.TURN if body.infer else Kind.NOTE
    events: list[bodies.Mem0AddEventResponse] = []
    roles = [to_role(message.role) for message in body.messages]
    for message, role in zip(body.messages, roles, strict=True):
        text = _message_text(message.content)
        if is_blank(text):
            continue
        turn = Turn(
            text=text,
            role=role,
            speaker=message.name,
            at=said_at,
            session=target.scope.labels[-1] if body.run_id else "",
            meta=meta,
        )
        receipt = target.engine.add(turn, scope=target.scope, kind=kind, settle=body.infer)
        if valid_to is not None:
            _limit_validity(target, receipt, valid_to)
        events += bodies.to_events(receipt, text)
    if not events:
        raise InputError("No message has a text.")
    return bodies.Mem0AddResponse(results=events)


def _limit_validity(target: Mem0ScopeFilter, receipt: Receipt, valid_to: datetime) -> None:
    """Let a stored message expire, with the memories derived from it."""
    for record_id in (receipt.id, *(memory.id for memory in receipt.derived)):
        if record_id:
            target.engine.edit(
                record_id, scope=target.owner, fields={"valid_to": valid_to}, reason="expires"
            )


def search(request: Request, body: bodies.Mem0SearchRequest) -> bodies.Mem0MemoryListResponse:
    """Find the memories that answer a question, best first."""
    require_part(body.ids(), body.filters)
    target = find_target(request, body.ids(), body.filters)
    if body.top_k is not None:
        limit = body.top_k
    elif body.limit is not None:
        limit = body.limit
    else:
        limit = _DEFAULT_HITS
    where = _join(target.where, *_category_conditions(body.categories))
    takes_history = body.show_expired or not body.latest_only
    result = target.engine.search(
        body.query, scope=target.owner, limit=limit, where=where, history=takes_history
    )
    now = target.engine.now()
    threshold = body.threshold if body.threshold is not None else 0.0
    return bodies.Mem0MemoryListResponse(
        results=[
            _to_hit(target.engine, hit)
            for hit in result.hits
            if hit.score >= threshold and (not takes_history or _is_wanted(hit.record, body, now))
        ]
    )


def list_page(
    request: Request, body: bodies.Mem0ListRequest, page: int, page_size: int, settings: Settings
) -> bodies.Mem0MemoryPageResponse:
    """List one page of memories that have not expired, newest first."""
    conditions: list[Condition | Where] = []
    if body.start_date:
        conditions.append(Condition("recorded_at", "gte", _parse_day(body.start_date)))
    if body.end_date:
        conditions.append(Condition("recorded_at", "lte", _parse_day(body.end_date)))
    require_part(body.ids(), body.filters)
    target = find_target(request, body.ids(), body.filters)
    conditions += _category_conditions(body.categories)
    if body.latest_only and not body.show_expired:
        now = target.engine.now()
        is_valid = (Condition("valid_to", "exists", False), Condition("valid_to", "gt", now))
        conditions.append(Where("or", is_valid))
    where = _join(target.where, *conditions)
    statuses = (Status.ACTIVE,) if body.latest_only else (Status.ACTIVE, Status.SUPERSEDED)
    size = min(page_size, settings.limits.results)
    records, has_next = _read_page(target, where, statuses, page, size)
    path = "/v3/memories/?page_size={}&page={}"
    return bodies.Mem0MemoryPageResponse(
        results=[_to_memory(target.engine, record) for record in records],
        count=target.engine.inspect.count(scope=target.owner, where=where, statuses=statuses),
        next=path.format(page_size, page + 1) if has_next else None,
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
    ids = [record.id]
    if linked:
        ids += _find_superseded(caller, record)
    for record_id in ids:
        if caller.engine.get(record_id, scope=caller.owner).status not in _DELETED:
            caller.engine.forget(record_id, scope=caller.owner)


def check_live(request: Request, ids: Sequence[str]) -> None:
    """Check that all memories are there, before any is changed."""
    caller = find_caller(request, "")
    for id in ids:
        _get_live(caller, id)


def _find_superseded(caller: IdentifiedCaller, record: Record) -> list[str]:
    """List ids of the memories that one superseded, and of those that they did, newest first."""
    superseded = dict[str, None]()
    newer = [record.id]
    while newer:
        conditions = tuple(Condition("superseded_by", "eq", record_id) for record_id in newer)
        page = caller.engine.list(
            scope=caller.owner,
            where=Where("or", conditions),
            statuses=(Status.SUPERSEDED,),
            limit=_PAGE_SIZE,
        )
        newer = [older.id for older in page.records if older.id not in superseded]
        superseded |= dict.fromkeys(newer)
    return list(superseded)


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
    if record.status in _DELETED:
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
    changed_at = max((entry.at for entry in changes), default=record.recorded_at)
    return bodies.to_memory(record, score, changed_at)


def _to_hit(engine: MemoryEngine, hit: Hit) -> bodies.Mem0MemoryResponse:
    """Convert a hit; one that a later memory ended, or may have, names that memory."""
    response = _to_memory(engine, hit.record, hit.score)
    return response.model_copy(update={"outdated_by": hit.outdated.by if hit.outdated else None})


def forget_all(target: Mem0ScopeFilter) -> None:
    """Forget all matching memories, page by page."""
    engine = target.engine
    while page := engine.list(scope=target.owner, where=target.where, limit=_PAGE_SIZE).records:
        for record in page:
            # Forgetting one may have forgotten others of the page.
            if engine.get(record.id, scope=target.owner).status is Status.ACTIVE:
                engine.forget(record.id, scope=target.owner, reason="asked by a client")


def _join(where: Where | None, *conditions: Condition | Where) -> Where | None:
    """Return the condition that all hold; None: there is none."""
    operands = (where, *conditions) if where else conditions
    return Where("and", operands) if operands else None


def _category_conditions(categories: list[str] | None) -> list[Condition | Where]:
    """Return the condition for any of some categories, which are tags here; none for no categories."""
    if not categories:
        return []
    tags = tuple(Condition("tags", "contains", category) for category in categories)
    return [Where("or", tags)]


def _is_wanted(record: Record, body: bodies.Mem0SearchRequest, now: datetime) -> bool:
    """Check a hit of a search through history by the options."""
    if record.status is Status.SUPERSEDED:
        return not body.latest_only
    if record.status is not Status.ACTIVE:
        return False
    return body.show_expired or record.valid_to is None or record.valid_to > now


def _read_page(
    target: Mem0ScopeFilter,
    where: Where | None,
    statuses: tuple[Status, ...],
    page_number: int,
    size: int,
) -> tuple[list[Record], bool]:
    """Read one page, numbered from 1, and tell if another follows."""
    after = ""
    for number in range(1, page_number + 1):
        page = target.engine.list(
            scope=target.owner, where=where, statuses=statuses, after=after, limit=size
        )
        if number == page_number:
            return list(page.records), bool(page.next)
        if not page.next:
            break
        after = page.next
    return [], False


def _message_text(content: str | list[Any]) -> str:
    if isinstance(content, str):
        return content
    texts = [part.get("text") for part in content if isinstance(part, dict)]
    return "\n".join(text for text in texts if isinstance(text, str))


def _to_expiry(text: str | None) -> datetime | None:
    """Return the end of a day; a memory is found until then."""
    return _parse_day(text) + timedelta(days=1) if text else None


def _to_time(seconds: float | None) -> datetime | None:
    try:
        return None if seconds is None else datetime.fromtimestamp(seconds, UTC)
    except (OverflowError, OSError, ValueError):
        raise InputError("The timestamp is out of range.") from None


def _to_moment(timestamp: float | str) -> datetime | None:
    """Convert seconds since 1970, or a written date."""
    if isinstance(timestamp, str) and not timestamp.isdigit():
        return _parse_day(timestamp)
    return _to_time(float(timestamp))


def _parse_day(text: str) -> datetime:
    try:
        return to_utc(parse_time(text))
    except (ValueError, OverflowError):
        raise InputError("A date is needed, such as 2025-01-31.") from None
