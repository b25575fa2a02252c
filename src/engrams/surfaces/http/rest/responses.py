"""Response bodies of memories, searches and writes."""

from __future__ import annotations

from datetime import datetime
from operator import attrgetter
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict
from pydantic_core import to_json as to_bytes

from engrams.core import (
    Basis,
    HistoryEntry,
    Hit,
    Kind,
    Layer,
    OutdatedMark,
    Receipt,
    Record,
    SearchResult,
    Status,
    Tier,
    Trace,
    find_basis,
)
from engrams.ports import PurgeReport
from engrams.surfaces.http.rest.errors import to_json

if TYPE_CHECKING:
    from engrams.engine.answer_types import PurgeCandidate, SourceChangeReport

JsonObject = Annotated[dict[str, Any], BeforeValidator(lambda held: to_json(dict(held)))]
ScopeLabels = Annotated[
    list[str], BeforeValidator(lambda scope: list(getattr(scope, "labels", scope)))
]


_ENUMS = ("kind", "layer", "tier", "status")
_PROVENANCE = ("channel", "extractor", "prompt", "reason", "files")
_read_provenance = attrgetter(*_PROVENANCE)


class EvidenceQuoteResponse(BaseModel):
    quote: str
    source: str
    speaker: str


class MemoryResponse(BaseModel):
    """Memory with all its fields.

    ``basis``: the ground on which it is believed.
    """

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
    evidence: list[EvidenceQuoteResponse]
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
    basis: Basis


class SourceEffectResponse(BaseModel):
    """Message behind a memory; ``effect``: superseded, forgotten, purged, shortened or kept."""

    model_config = ConfigDict(from_attributes=True)

    id: str
    effect: str
    quotes: list[str]


class AffectedMessagesResponse(BaseModel):
    """Messages that a change reaches; those in ``also_said_in`` stay."""

    model_config = ConfigDict(from_attributes=True)

    sources: list[SourceEffectResponse] = []
    also_said_in: list[str] = []


class ChangeReportResponse(AffectedMessagesResponse):
    """Effects of a change on memories and the messages behind them."""

    action: str
    effects: dict[str, str]


class ChangedMemoryResponse(MemoryResponse, AffectedMessagesResponse):
    """Changed memory, and what became of the messages behind it."""


class MemoryPageResponse(BaseModel):
    memories: list[MemoryResponse]
    next: str


class OutdatedMarkResponse(BaseModel):
    """Later statement that ends a memory; or, unless ``closed``, may end it.

    ``by``: its id; ``said_at``: when it was said; ``probability``: 0 to 1.
    """

    by: str
    said_at: datetime
    probability: float
    closed: bool


class HitResponse(BaseModel):
    """Found memory; ``parts``: what each source added to the score.

    ``status`` may differ from the record's.
    """

    memory: MemoryResponse
    score: float
    status: Status
    parts: dict[str, float]
    facts: list[MemoryResponse]
    outdated: OutdatedMarkResponse | None = None


class SearchResponse(BaseModel):
    """Hits, best first; ``notes`` tell what was left out."""

    hits: list[HitResponse]
    abstain: bool
    notes: list[str] = []


class ExplainedCandidateResponse(BaseModel):
    id: str
    text: str
    score: float
    parts: dict[str, float]
    dropped: str


class SearchStageResponse(BaseModel):
    name: str
    milliseconds: float
    count: int


class ExplainResponse(SearchResponse):
    query: str
    understood: dict[str, Any]
    stages: list[SearchStageResponse]
    rows: list[ExplainedCandidateResponse]


class ContextResponse(BaseModel):
    """Prompt text; ``prefix`` changes only with ``version``, ``tail`` with the question."""

    text: str
    prefix: str
    tail: str
    tokens: int
    version: str
    abstain: bool
    hits: list[HitResponse]
    notes: list[str] = []


class DerivedMemoryResponse(BaseModel):
    id: str
    kind: Kind
    text: str
    verdict: str
    replaces: list[str]
    reason: str


class StageDecisionResponse(BaseModel):
    stage: str
    verdict: str
    reason: str


class WriteReceiptResponse(BaseModel):
    """Result of writing one text."""

    id: str
    scope: list[str]
    outcome: str
    recorded_at: datetime
    searchable: list[str]
    learned: list[DerivedMemoryResponse]
    pending: list[str]
    decisions: list[StageDecisionResponse]


class MemoryAddResponse(BaseModel):
    results: list[WriteReceiptResponse]


class HistoryEntryResponse(BaseModel):
    version: int
    at: datetime
    action: str
    actor: str
    reason: str
    before: JsonObject
    after: JsonObject


class MemoryHistoryResponse(BaseModel):
    changes: list[HistoryEntryResponse]


class PurgeCandidateResponse(AffectedMessagesResponse):
    """Memory to choose; ``certain``: it names it, else a search found it."""

    memory: MemoryResponse
    certain: bool


class PurgeCandidatesResponse(BaseModel):
    memories: list[PurgeCandidateResponse]


class PurgePlaceResponse(BaseModel):
    """Place that was looked at, and how much of it holds words."""

    name: str
    looked: int
    left: int
    advice: str


class PurgeResponse(AffectedMessagesResponse):
    """Removed and remaining rows and files by place.

    ``proven``: every place was looked at again, and holds nothing.
    """

    removed: dict[str, int]
    remaining: dict[str, int]
    proven: bool
    places: list[PurgePlaceResponse]

    @classmethod
    def of(cls, erased: PurgeReport, report: SourceChangeReport) -> PurgeResponse:
        places = [
            PurgePlaceResponse(name=p.name, looked=p.looked, left=p.left, advice=p.advice)
            for p in erased.places
        ]
        # The answer of an erasure does not repeat what was said.
        sources = [
            SourceEffectResponse(id=one.id, effect=one.effect, quotes=[]) for one in report.sources
        ]
        told = {
            "removed": dict(erased.removed),
            "remaining": dict(erased.remaining),
            "proven": erased.proven,
        }
        return cls(**told, places=places, sources=sources, also_said_in=list(report.also_said_in))


def to_choice(found: PurgeCandidate) -> PurgeCandidateResponse:
    report = found.report
    values = {"memory": to_memory(found.record), "certain": found.certain}
    return PurgeCandidateResponse.model_validate(
        {**values, "sources": report.sources, "also_said_in": report.also_said_in}
    )


_NAMES = tuple(name for name in MemoryResponse.model_fields if name != "basis")
_read_fields = attrgetter(*_NAMES)


def to_memory(record: Record) -> MemoryResponse:
    return MemoryResponse.model_validate(_to_fields(record))


def _to_fields(record: Record) -> dict[str, Any]:
    """Convert a record to the fields of its response, in their order."""
    values: dict[str, Any] = dict(zip(_NAMES, _read_fields(record), strict=True))
    for name in _ENUMS:
        values[name] = str(values[name])
    values["scope"] = record.scope.labels
    values["evidence"] = [
        {"quote": each.quote, "source": each.source, "speaker": each.speaker}
        for each in record.evidence
    ]
    values["provenance"] = dict(zip(_PROVENANCE, _read_provenance(record.provenance), strict=True))
    values["meta"] = to_json(dict(record.meta)) if record.meta else {}
    values["basis"] = find_basis(record)
    return values


def to_changed(record: Record, report: SourceChangeReport | None) -> ChangedMemoryResponse:
    reach = (
        AffectedMessagesResponse.model_validate(report) if report else AffectedMessagesResponse()
    )
    return ChangedMemoryResponse(**to_memory(record).model_dump(), **reach.model_dump())


def to_hit(hit: Hit) -> HitResponse:
    facts = [to_memory(fact) for fact in hit.facts]
    return HitResponse(
        memory=to_memory(hit.record),
        score=_round(hit.score),
        status=hit.status,
        parts=_round_parts(hit.parts),
        facts=facts,
        outdated=_to_outdated(hit.outdated) if hit.outdated else None,
    )


def _to_outdated(mark: OutdatedMark) -> OutdatedMarkResponse:
    return OutdatedMarkResponse(
        by=mark.by, said_at=mark.said_at, probability=_round(mark.probability), closed=mark.closed
    )


def write_search(found: SearchResult) -> bytes:
    """Write a SearchResponse as JSON.

    Straight from the records: a model of each hit takes longer than its JSON.
    """
    hits = [
        {
            "memory": _to_fields(hit.record),
            "score": _round(hit.score),
            "status": str(hit.status),
            "parts": _round_parts(hit.parts),
            "facts": [_to_fields(fact) for fact in hit.facts],
            "outdated": _to_outdated(hit.outdated) if hit.outdated else None,
        }
        for hit in found.hits
    ]
    return to_bytes({"hits": hits, "abstain": found.abstain, "notes": found.notes})


def to_explanation(found: SearchResult) -> ExplainResponse:
    trace: Trace = found.trace
    return ExplainResponse(
        hits=[to_hit(hit) for hit in found.hits],
        abstain=found.abstain,
        query=trace.query,
        understood=to_json(dict(trace.understood)),
        stages=[
            SearchStageResponse(name=name, milliseconds=_round(ms), count=count)
            for name, ms, count in trace.stages
        ],
        rows=[
            ExplainedCandidateResponse(
                id=row.id,
                text=row.text,
                score=_round(row.score),
                parts=_round_parts(row.parts),
                dropped=row.dropped,
            )
            for row in trace.rows
        ],
        notes=list(found.notes),
    )


def to_receipt(receipt: Receipt) -> WriteReceiptResponse:
    return WriteReceiptResponse(
        id=receipt.id,
        scope=list(receipt.scope.labels),
        outcome=receipt.outcome,
        recorded_at=receipt.recorded_at,
        searchable=list(receipt.searchable),
        learned=[
            DerivedMemoryResponse.model_validate(made, from_attributes=True)
            for made in receipt.derived
        ],
        pending=list(receipt.pending),
        decisions=[
            StageDecisionResponse.model_validate(each, from_attributes=True)
            for each in receipt.decisions
        ],
    )


def to_change(entry: HistoryEntry) -> HistoryEntryResponse:
    return HistoryEntryResponse.model_validate(entry, from_attributes=True)


def _round_parts(parts: Any) -> dict[str, float]:
    return {name: round(float(value), 6) for name, value in parts.items()}


def _round(value: float) -> float:
    return round(float(value), 6)
