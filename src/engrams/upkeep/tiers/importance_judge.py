"""Importance and one-sentence summary of items, by a background model."""

from __future__ import annotations

import re
from typing import Any

from engrams.core import Record, Scope, Status
from engrams.errors import NotFoundError
from engrams.ports import (
    ChatMessage,
    ChatModel,
    ChatRequest,
    Clock,
    Job,
    RecordChange,
    Store,
    WriteBatch,
)
from engrams.prompts import load, quote

_NUMBER = re.compile(r"(?<![\w.])-?\d+(?:[.,]\d+)?(?![\w])")
_READ = 4000
_SAID = 500
_MOST = 512
NEUTRAL = 0.5
"""Importance of an item that nobody judged."""
_GONE = (Status.FORGOTTEN, Status.PURGED, Status.SUPERSEDED, Status.ARCHIVED)


def parse_importance(reply: str) -> float | None:
    """Parse the only number of a reply, clamped to 0..1; else None."""
    found = _NUMBER.findall(reply)
    return min(max(float(found[0].replace(",", ".")), 0.0), 1.0) if len(found) == 1 else None


def judge_importance(job: Job, store: Store, chat: ChatModel | None, clock: Clock) -> None:
    """Ask a model for an item's importance.

    An unreadable reply changes nothing; what somebody set stays. ModelError: the job is tried
    again, and the importance stays meanwhile.
    """
    record = _load_item(job, store)
    value = (
        None
        if record is None or chat is None or record.importance != NEUTRAL
        else parse_importance(_ask_model(chat, "judge", record))
    )
    now = None if value is None else _load_item(job, store)
    if (
        now is None
        or now.importance != NEUTRAL
        or not _store_answer(job, now, {"importance": value}, store, clock)
    ):
        store.finish(job.lease, clock())


def condense_item(job: Job, store: Store, chat: ChatModel | None, clock: Clock) -> None:
    """Ask a model for an item's one-sentence summary. ModelError: it stays empty."""
    record = _load_item(job, store)
    if record is not None and chat is not None and not record.summary:
        said = " ".join(_ask_model(chat, "condense", record).split()).strip('"')[:_SAID]
        if said and _store_answer(job, record, {"summary": said}, store, clock):
            return
    store.finish(job.lease, clock())


def _load_item(job: Job, store: Store) -> Record | None:
    owner = Scope.parse(job.payload["scope"]).owner
    found = store.get(owner, [str(name) for name in job.payload.get("items", ())][:1])
    return found[0] if found and found[0].status not in _GONE else None


def _ask_model(chat: ChatModel, name: str, record: Record) -> str:
    who = "The assistant" if record.role == "assistant" else "Someone"
    text = load(name).render(who=who, text=quote(record.text[:_READ]))
    return chat.ask(ChatRequest((ChatMessage("user", text),), name, max_tokens=_MOST)).text


def _store_answer(
    job: Job, record: Record, fields: dict[str, Any], store: Store, clock: Clock
) -> bool:
    """Store the answer with the job's end. False: the item was purged."""
    change = RecordChange(record.scope.owner, record.id, fields, job.kind)
    try:
        store.commit(
            WriteBatch(
                "model",
                "judged" if "importance" in fields else "condensed",
                clock(),
                changes=(change,),
                finish=(job.lease,),
            )
        )
    except NotFoundError:
        return False
    return True
