"""Response bodies of memories, searches and writes."""

from __future__ import annotations

from datetime import datetime
from operator import attrgetter
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

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
from engrams.core.document_location import describe_location
from engrams.core.meta_keys import last_said_at
from engrams.core.statement_form import form_statement, is_quotation
from engrams.ports import PurgeReport
from engrams.surfaces.http.json_values import to_json

if TYPE_CHECKING:
    from engrams.engine.answer_types import PurgeCandidate, SourceChangeReport

JsonObject = Annotated[dict[str, Any], BeforeValidator(lambda value: to_json(dict(value)))]
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


class DocumentLocationResponse(BaseModel):
    """Document of a passage, and where in it the passage stands."""

    label: str = Field(description="Such as `lease.pdf, p. 3`.")
    id: str = Field(description="Id of the document.")
    name: str
    source: str = Field(description="Path or address that it was read from.")
    version: str = Field(description="Hash of its contents.")
    part: int = Field(description="Number of the passage, from 1.")
    parts: int = Field(description="Number of passages of the document.")
    title: str = ""
    page: int = Field(0, description="Page of a PDF, from 1; 0: it has no pages.")
    slide: int = Field(0, description="Slide of a presentation, from 1.")
    sheet: str = ""
    heading: str = Field("", description="Headings above it, the outermost first.")
    media: str = Field("", description="Media type of a picture or sound, whose file is kept.")
    by: str = Field("", description="Model whose words these are; empty: the document's.")


class MemoryResponse(BaseModel):
    """Memory with all its fields."""

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
    basis: Basis = Field(description="Ground on which it is believed.")
    last_said_at: datetime = Field(description="When it was said for the last time.")
    statement: str = Field(
        description="Triple and quoted words, as the memory is shown. Empty: its text is shown."
    )
    document: DocumentLocationResponse | None = Field(
        None, description="Of a passage: the document that it is a part of."
    )


class SourceEffectResponse(BaseModel):
    """Message behind a memory, and what a change does to it."""

    model_config = ConfigDict(from_attributes=True)

    id: str
    effect: str = Field(description="superseded, forgotten, purged, shortened or kept.")
    quotes: list[str]


class AffectedMessagesResponse(BaseModel):
    """Messages that a change reaches."""

    model_config = ConfigDict(from_attributes=True)

    sources: list[SourceEffectResponse] = []
    also_said_in: list[str] = Field([], description="Ids of messages that say it too, and stay.")


class ChangeReportResponse(AffectedMessagesResponse):
    """Effects of a change on memories and the messages behind them."""

    action: str
    effects: dict[str, str]


class ChangedMemoryResponse(MemoryResponse, AffectedMessagesResponse):
    """Changed memory, and what became of the messages behind it."""


class OutdatedMarkResponse(BaseModel):
    """Later statement that ends a memory, or may end it."""

    by: str = Field(description="Id of the later statement.")
    said_at: datetime = Field(description="When that was said.")
    probability: float = Field(description="0 to 1.")
    closed: bool = Field(description="The memory has ended; false: it may have.")
    told: bool = Field(True, description="False: not probable enough for a note to readers.")
    words: str = Field("", description="The words of the later statement that end it.")
    clause: str = Field("", description="The words of the memory that end; empty: all of it.")


class MemoryPageResponse(BaseModel):
    memories: list[MemoryResponse]
    next: str
    outdated: dict[str, OutdatedMarkResponse] = Field(
        {}, description="Later statements that end some of the memories, or may end them, by id."
    )


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
    probability: float | None = Field(
        None, description="0 to 1: that it helps with the query. Null: it was not judged."
    )
    helps: bool = Field(True, description="False: it is near, but no context would show it.")
    ended_clauses: list[OutdatedMarkResponse] = Field(
        [],
        description="Clauses that ended, or may have ended, while the rest of the memory is current.",
    )


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
    probability: float | None = None
    reasons: list[str] = Field([], description="Reasons for and against its help.")


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
    """Text of memory for a prompt."""

    text: str
    prefix: str = Field(description="First part of it, which changes only with `version`.")
    tail: str = Field(description="Last part of it, which changes with the question.")
    tokens: int
    version: str
    abstain: bool
    hits: list[HitResponse]
    notes: list[str] = []
    closest: list[HitResponse] = Field(
        [], description="Where nothing helps, the nearest memories, which the text leaves out."
    )


class DerivedMemoryResponse(BaseModel):
    id: str
    kind: Kind
    text: str
    verdict: str
    replaces: list[str]
    reason: str
    shown: str = Field(description="Statement as it is shown: triple and quoted words, or text.")


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
    """Memory to choose for a purge."""

    memory: MemoryResponse
    certain: bool = Field(description="It names the person or thing; false: a search found it.")


class PurgeCandidatesResponse(BaseModel):
    memories: list[PurgeCandidateResponse]


class PurgePlaceResponse(BaseModel):
    """Place that was looked at, and how much of it holds words."""

    name: str
    looked: int = Field(description="Rows or files that were searched.")
    left: int = Field(description="Rows or files that still contain words.")
    advice: str


class PurgeResponse(AffectedMessagesResponse):
    """Removed and remaining rows and files by place."""

    removed: dict[str, int]
    remaining: dict[str, int]
    proven: bool = Field(description="Every place was searched again, and nothing was left.")
    places: list[PurgePlaceResponse]
    certificate: dict[str, Any] = Field(
        description="Certificate of the purge, for `engrams certificate`: ids, numbers, no words."
    )

    @classmethod
    def of(cls, purge: PurgeReport, reach: SourceChangeReport | None = None) -> PurgeResponse:
        """Convert the report of a purge; ``reach``: the messages that it was to reach, if any."""
        return cls(
            removed=dict(purge.removed),
            remaining=dict(purge.remaining),
            proven=purge.proven,
            places=[
                PurgePlaceResponse(
                    name=store.name, looked=store.looked, left=store.left, advice=store.advice
                )
                for store in purge.places
            ],
            # The answer of an erasure does not repeat the words that it erased.
            sources=[
                SourceEffectResponse(id=source.id, effect=source.effect, quotes=[])
                for source in (reach.sources if reach else ())
            ],
            also_said_in=list(reach.also_said_in if reach else ()),
            certificate=dict(purge.certificate),
        )


def to_choice(candidate: PurgeCandidate) -> PurgeCandidateResponse:
    report = candidate.report
    return PurgeCandidateResponse.model_validate(
        {
            "memory": to_memory(candidate.record),
            "certain": candidate.certain,
            "sources": report.sources,
            "also_said_in": report.also_said_in,
        }
    )


_RECORD_FIELDS = tuple(
    name
    for name in MemoryResponse.model_fields
    if name not in ("document", "basis", "last_said_at", "statement")
)
_read_fields = attrgetter(*_RECORD_FIELDS)  # one call for all fields: searches convert many records


def to_memory(record: Record) -> MemoryResponse:
    return MemoryResponse.model_validate(_to_fields(record))


def _to_fields(record: Record) -> dict[str, Any]:
    """Convert a record to the fields of its response, in their order."""
    values: dict[str, Any] = dict(zip(_RECORD_FIELDS, _read_fields(record), strict=True))
    for name in _ENUMS:
        values[name] = str(values[name])
    values["scope"] = record.scope.labels
    values["evidence"] = [
        {"quote": evidence.quote, "source": evidence.source, "speaker": evidence.speaker}
        for evidence in record.evidence
    ]
    values["provenance"] = dict(zip(_PROVENANCE, _read_provenance(record.provenance), strict=True))
    values["meta"] = to_json(dict(record.meta)) if record.meta else {}
    values["document"] = describe_location(record)
    values["basis"] = find_basis(record)
    values["last_said_at"] = last_said_at(record)
    values["statement"] = form_statement(record).brief if is_quotation(record) else ""
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
        outdated=to_outdated(hit.outdated) if hit.outdated else None,
        probability=hit.probability,
        helps=hit.helps,
        ended_clauses=[to_outdated(mark) for mark in hit.ended_clauses],
    )


def to_outdated(mark: OutdatedMark) -> OutdatedMarkResponse:
    return OutdatedMarkResponse(
        by=mark.by,
        said_at=mark.said_at,
        probability=_round(mark.probability),
        closed=mark.closed,
        told=mark.is_told,
        words=mark.words,
        clause=mark.clause,
    )


def to_search(result: SearchResult) -> SearchResponse:
    return SearchResponse(
        hits=[to_hit(hit) for hit in result.hits],
        abstain=result.abstain,
        notes=list(result.notes),
    )


def to_explanation(result: SearchResult) -> ExplainResponse:
    trace: Trace = result.trace
    return ExplainResponse(
        hits=[to_hit(hit) for hit in result.hits],
        abstain=result.abstain,
        query=trace.query,
        understood=to_json(dict(trace.understood)),
        stages=[
            SearchStageResponse(name=name, milliseconds=_round(milliseconds), count=count)
            for name, milliseconds, count in trace.stages
        ],
        rows=[
            ExplainedCandidateResponse(
                id=row.id,
                text=row.text,
                score=_round(row.score),
                parts=_round_parts(row.parts),
                dropped=row.dropped,
                probability=row.probability,
                reasons=list(row.reasons),
            )
            for row in trace.rows
        ],
        notes=list(result.notes),
    )


def to_receipt(receipt: Receipt) -> WriteReceiptResponse:
    return WriteReceiptResponse(
        id=receipt.id,
        scope=list(receipt.scope.labels),
        outcome=receipt.outcome,
        recorded_at=receipt.recorded_at,
        searchable=list(receipt.searchable),
        learned=[
            DerivedMemoryResponse.model_validate(memory, from_attributes=True)
            for memory in receipt.derived
        ],
        pending=list(receipt.pending),
        decisions=[
            StageDecisionResponse.model_validate(decision, from_attributes=True)
            for decision in receipt.decisions
        ],
    )


def to_change(entry: HistoryEntry) -> HistoryEntryResponse:
    return HistoryEntryResponse.model_validate(entry, from_attributes=True)


def _round_parts(parts: Any) -> dict[str, float]:
    return {name: round(float(value), 6) for name, value in parts.items()}


def _round(value: float) -> float:
    return round(float(value), 6)
