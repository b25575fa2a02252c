"""Importance and one-sentence summary of items, by a background model."""

from __future__ import annotations

import re
from typing import Any

from engrams.core import Kind, Record, Scope, Status
from engrams.errors import NotFoundError
from engrams.ports import (
    ChatMessage,
    ChatModel,
    ChatRequest,
    Clock,
    Condition,
    Job,
    RecordChange,
    RecordQuery,
    ScopeReach,
    Store,
    Where,
    WriteBatch,
)
from engrams.prompts import load, quote
from engrams.text.word_support import find_unsupported

NEUTRAL = 0.5
"""Importance of an item that nobody judged, 0 to 1."""

_NUMBER = re.compile(
    r"(?<![\w.])(?P<number>-?\d+(?:[.,]\d+)?)"
    r"(?:\s*(?P<percent>%)|\s*/\s*(?P<whole>\d+(?:[.,]\d+)?))?(?!\w)"
)
"""A number, a percentage, or a share of a whole: 0.7, 70 %, 7/10."""
_TEXT_CHARACTERS = 4000
"""Characters of an item that the model sees."""
_MESSAGE_CHARACTERS = 1000
"""Characters of the message before an answer that the model sees."""
_SUMMARY_CHARACTERS = 500
_ANSWER_TOKENS = 512
_GONE = (Status.FORGOTTEN, Status.PURGED, Status.SUPERSEDED, Status.ARCHIVED)


def parse_importance(reply: str) -> float | None:
    """Parse the only number of a reply, clamped to 0..1; else None."""
    numbers = list(_NUMBER.finditer(reply))
    if len(numbers) != 1:
        return None
    number = _read_decimal(numbers[0]["number"])
    whole = 100.0 if numbers[0]["percent"] else _read_decimal(numbers[0]["whole"] or "1")
    return min(max(number / whole, 0.0), 1.0) if whole else None


def _read_decimal(digits: str) -> float:
    return float(digits.replace(",", "."))


def judge_importance(job: Job, store: Store, chat: ChatModel | None, clock: Clock) -> None:
    """Ask a model for an item's importance.

    An unreadable reply changes nothing; what somebody set stays. ModelError: the job is tried
    again, and the importance stays meanwhile.
    """
    record = _load_item(job, store)
    importance = None
    if record is not None and chat is not None and record.importance == NEUTRAL:
        speaker = _name_speaker(record, _find_answered(record, store))
        importance = parse_importance(_ask_model(chat, "judge", record, speaker))
    if importance is not None:
        # Somebody may have set it, or removed the item, while the model was asked.
        current = _load_item(job, store)
        if current is not None and current.importance == NEUTRAL:
            fields = {"importance": importance}
            if _commit_answer(job, current, fields, "judged", store, clock):
                return
    store.finish(job.lease, clock())


def condense_item(job: Job, store: Store, chat: ChatModel | None, clock: Clock) -> None:
    """Ask a model for an item's one-sentence summary. ModelError: it stays empty.

    So it does where the sentence says what the item does not.
    """
    record = _load_item(job, store)
    if record is not None and chat is not None and not record.summary:
        reply = _ask_model(chat, "condense", record, _name_speaker(record, None))
        sentence = " ".join(reply.split()).strip('"')
        fields = {"summary": sentence[:_SUMMARY_CHARACTERS]}
        is_supported = bool(sentence) and not find_unsupported([sentence], record.text)
        if is_supported and _commit_answer(job, record, fields, "condensed", store, clock):
            return
    store.finish(job.lease, clock())


def _load_item(job: Job, store: Store) -> Record | None:
    """Load the job's item; None: it is no longer there to be judged."""
    owner = Scope.parse(job.payload["scope"]).owner
    ids = [str(id) for id in job.payload.get("items", ())]
    records = store.get(owner, ids[:1])
    return records[0] if records and records[0].status not in _GONE else None


def _find_answered(record: Record, store: Store) -> Record | None:
    """Find the message that an answer follows directly; None: it is no answer.

    Of "No." alone nobody can tell what it is worth.
    """
    if record.role != "assistant":
        return None
    conditions = (
        Condition("session", "eq", record.session),
        Condition("recorded_at", "lte", record.recorded_at),
    )
    query = RecordQuery(
        ScopeReach(record.scope.owner, (record.scope,)),
        (Kind.TURN,),
        (Status.ACTIVE, Status.ARCHIVED),
        where=Where("and", conditions),
        order="newest",
        limit=2,
    )
    earlier = [turn for turn in store.find(query).records if turn.id != record.id]
    return earlier[0] if earlier and earlier[0].role != "assistant" else None


def _name_speaker(record: Record, answered: Record | None) -> str:
    if record.role != "assistant":
        return "Someone"
    if answered is None:
        return "The assistant"
    return f"In answer to {quote(answered.text[:_MESSAGE_CHARACTERS])} the assistant"


def _ask_model(chat: ChatModel, prompt_name: str, record: Record, speaker: str) -> str:
    prompt = load(prompt_name).render(who=speaker, text=quote(record.text[:_TEXT_CHARACTERS]))
    request = ChatRequest((ChatMessage("user", prompt),), prompt_name, max_tokens=_ANSWER_TOKENS)
    return chat.ask(request).text


def _commit_answer(
    job: Job, record: Record, fields: dict[str, Any], reason: str, store: Store, clock: Clock
) -> bool:
    """Store the answer with the job's end. False: the item was purged."""
    change = RecordChange(record.scope.owner, record.id, fields, job.kind)
    batch = WriteBatch("model", reason, clock(), changes=(change,), finish=(job.lease,))
    try:
        store.commit(batch)
    except NotFoundError:
        return False
    return True
