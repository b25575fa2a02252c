"""Bodies that go out."""

from __future__ import annotations

from dataclasses import fields
from datetime import datetime
from typing import Any

from pydantic import BaseModel

from engrams.surfaces.http.rest.errors import plain
from engrams.types import Found, HistoryEntry, Hit, Kind, Layer, Receipt, Record, Status, Tier, Trace


class Quote(BaseModel):
    quote: str
    source: str
    speaker: str


class Memory(BaseModel):
    """One memory, with everything known about it."""

    id: str
    scope: list[str]
    kind: Kind
    layer: Layer
    tier: Tier
    status: Status
    text: str
    caption: str
    summary: str
    role: str
    speaker: str
    session: str
    external_id: str
    recorded_at: datetime
    retired_at: datetime | None
    valid_from: datetime | None
    valid_to: datetime | None
    ended_at: datetime | None
    subject: str
    predicate: str
    object: str
    category: str
    tags: list[str]
    triggers: list[str]
    steps: list[str]
    evidence: list[Quote]
    provenance: dict[str, Any]
    importance: float
    confidence: float
    trust: float
    strength: int
    access_count: int
    last_accessed: datetime | None
    superseded_by: str
    version: int
    meta: dict[str, Any]


class Page(BaseModel):
    memories: list[Memory]
    next: str


class Match(BaseModel):
    """A found memory: ``parts`` is what each source added to the score; ``status`` may differ from the record's."""

    memory: Memory
    score: float
    status: Status
    parts: dict[str, float]
    facts: list[Memory]


class Matches(BaseModel):
    hits: list[Match]
    abstain: bool


class Row(BaseModel):
    id: str
    text: str
    score: float
    parts: dict[str, float]
    dropped: str


class Stage(BaseModel):
    name: str
    milliseconds: float
    count: int


class Explained(Matches):
    query: str
    understood: dict[str, Any]
    stages: list[Stage]
    rows: list[Row]
    notes: list[str]


class Prompted(BaseModel):
    """``prefix`` changes only when its facts do (``version``); ``tail`` belongs to the question."""

    text: str
    prefix: str
    tail: str
    tokens: int
    version: str
    abstain: bool
    hits: list[Match]


class Learned(BaseModel):
    id: str
    kind: Kind
    text: str
    verdict: str
    replaces: list[str]
    reason: str


class Choice(BaseModel):
    stage: str
    verdict: str
    reason: str


class Written(BaseModel):
    """What became of one text."""

    id: str
    scope: list[str]
    outcome: str
    recorded_at: datetime
    searchable: list[str]
    learned: list[Learned]
    pending: list[str]
    decisions: list[Choice]


class Added(BaseModel):
    results: list[Written]


class Change(BaseModel):
    version: int
    at: datetime
    action: str
    actor: str
    reason: str
    before: dict[str, Any]
    after: dict[str, Any]


class Changes(BaseModel):
    changes: list[Change]


class Erased(BaseModel):
    """What was removed, place by place, and what a second look found there: all zero is the proof."""

    removed: dict[str, int]
    remaining: dict[str, int]
    proven: bool


_NAMES = tuple(item.name for item in fields(Record))


def memory(record: Record) -> Memory:
    return Memory.model_validate({name: _value(name, getattr(record, name)) for name in _NAMES})


def _value(name: str, value: Any) -> Any:
    match name:
        case "scope":
            return list(value.labels)
        case "evidence":
            return [{"quote": each.quote, "source": each.source, "speaker": each.speaker} for each in value]
        case "provenance":
            return {each: plain(getattr(value, each)) for each in ("channel", "extractor", "prompt", "reason", "files")}
        case "meta":
            return plain(dict(value))
        case "tags" | "triggers" | "steps":
            return list(value)
        case _:
            return value


def match(hit: Hit) -> Match:
    facts = [memory(fact) for fact in hit.facts]
    return Match(memory=memory(hit.record), score=_round(hit.score), status=hit.status, parts=_parts(hit.parts), facts=facts)


def matches(found: Found) -> Matches:
    return Matches(hits=[match(hit) for hit in found.hits], abstain=found.abstain)


def explained(found: Found) -> Explained:
    trace: Trace = found.trace
    return Explained(
        hits=[match(hit) for hit in found.hits],
        abstain=found.abstain,
        query=trace.query,
        understood=plain(dict(trace.understood)),
        stages=[Stage(name=name, milliseconds=_round(ms), count=count) for name, ms, count in trace.stages],
        rows=[Row(id=row.id, text=row.text, score=_round(row.score), parts=_parts(row.parts), dropped=row.dropped) for row in trace.rows],
        notes=list(trace.notes),
    )


def written(receipt: Receipt) -> Written:
    return Written(
        id=receipt.id,
        scope=list(receipt.scope.labels),
        outcome=receipt.outcome,
        recorded_at=receipt.recorded_at,
        searchable=list(receipt.searchable),
        learned=[
            Learned(id=made.id, kind=made.kind, text=made.text, verdict=made.verdict, replaces=list(made.replaces), reason=made.reason)
            for made in receipt.derived
        ],
        pending=list(receipt.pending),
        decisions=[Choice(stage=each.stage, verdict=each.verdict, reason=each.reason) for each in receipt.decisions],
    )


def change(entry: HistoryEntry) -> Change:
    return Change(
        version=entry.version,
        at=entry.at,
        action=entry.action,
        actor=entry.actor,
        reason=entry.reason,
        before=plain(dict(entry.before)),
        after=plain(dict(entry.after)),
    )


def _parts(parts: Any) -> dict[str, float]:
    return {name: _round(value) for name, value in parts.items()}


def _round(value: float) -> float:
    return round(float(value), 6)
