"""Output dataclasses of the tools; they make the output schemas.

A field with a default is left out of an answer where it has that value: a model pays for each word.
Without slots, and with tuples as defaults: the library reads defaults as attributes of the class.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any

from engrams.core import HistoryEntry, Hit, Receipt, Record, RelatedMemory, SearchResult
from engrams.core.document_location import describe_location
from engrams.core.meta_keys import describe_speaker
from engrams.core.statement_form import form_statement
from engrams.text.invisible import drop_invisible

if TYPE_CHECKING:
    from engrams.engine.answer_types import SourceChangeReport
    from engrams.surfaces.mcp.scoped_engine import ScopedEngine


@dataclass(frozen=True)
class MemoryOutput:
    """One memory. Times are ISO 8601, to the second."""

    id: str
    text: str
    kind: str
    status: str
    recorded_at: str
    version: int
    scope: tuple[str, ...] = ()
    speaker: str = ""
    role: str = ""
    session: str = ""
    valid_from: str | None = None
    valid_to: str | None = None
    tags: tuple[str, ...] = ()
    importance: float = 0.5
    confidence: float = 1.0
    superseded_by: str = ""


@dataclass(frozen=True)
class SourceEffectOutput:
    """Message behind a memory: superseded, forgotten, shortened or kept."""

    id: str
    effect: str
    quotes: list[str]


@dataclass(frozen=True)
class ChangedMemoryOutput(MemoryOutput):
    """Changed memory and reached messages; those in also_said_in stay."""

    sources: tuple[SourceEffectOutput, ...] = ()
    also_said_in: tuple[str, ...] = ()


@dataclass(frozen=True)
class DerivedFactOutput:
    """Fact derived from a found memory."""

    id: str
    text: str
    status: str = "active"


@dataclass(frozen=True)
class SearchMatchOutput:
    """Found memory; the score is 0 to 1.

    outdated: the id of a later memory that ends it, or may; outdated_words: its words for that.
    helps: False, if it is only near. code: what differs by now in the code that it names.
    document: of a passage, its document, and the page or heading where it stands.
    """

    id: str
    text: str
    score: float
    kind: str
    recorded_at: str
    status: str = "active"
    speaker: str = ""
    facts: tuple[DerivedFactOutput, ...] = ()
    outdated: str = ""
    outdated_words: str = ""
    probability: float | None = None
    helps: bool = True
    code: str = ""
    document: dict[str, Any] | None = None


@dataclass(frozen=True)
class SearchOutput:
    """Matches, best first; abstain: only weak ones; notes: what was cut."""

    memories: list[SearchMatchOutput]
    abstain: bool = False
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class DerivedMemoryOutput:
    """Result of learning: add, keep, refine, replace, remove, conflict or hold."""

    id: str
    text: str
    kind: str
    verdict: str
    replaces: tuple[str, ...] = ()


@dataclass(frozen=True)
class WriteReceiptOutput:
    """Outcome of one text: stored, duplicate, redacted, refused, unsaved or incognito."""

    id: str
    outcome: str
    learned: tuple[DerivedMemoryOutput, ...] = ()
    pending: tuple[str, ...] = ()
    reasons: tuple[str, ...] = ()


@dataclass(frozen=True)
class MemoryAddOutput:
    """Outcomes of adding texts, one for each, in order."""

    results: list[WriteReceiptOutput]


@dataclass(frozen=True)
class MemoryLinkOutput:
    """Link of two memories; done: false if there was nothing to undo."""

    source: str
    target: str
    weight: float
    done: bool


@dataclass(frozen=True)
class ContextOutput:
    """Memory as prompt text, with its tokens and memory ids; closest: ids that it leaves out."""

    text: str
    tokens: int
    ids: tuple[str, ...] = ()
    abstain: bool = False
    notes: tuple[str, ...] = ()
    closest: tuple[str, ...] = ()


@dataclass(frozen=True)
class HistoryEntryOutput:
    """Change of a memory: changed fields before and after."""

    version: int
    at: str
    action: str
    actor: str
    before: dict[str, Any]
    after: dict[str, Any]
    reason: str = ""


@dataclass(frozen=True)
class MemoryHistoryOutput:
    """Changes of one memory, oldest first."""

    changes: list[HistoryEntryOutput]


@dataclass(frozen=True)
class MemoryPageOutput:
    """Page of memories; cursor: of the next page, empty at the end."""

    memories: list[MemoryOutput]
    cursor: str


@dataclass(frozen=True)
class MemoryStatusOutput:
    """Counts of memories and of background jobs."""

    enabled: bool
    statuses: dict[str, int]
    kinds: dict[str, int]
    layers: dict[str, int]
    jobs_waiting: int
    jobs_dead: int
    lag_seconds: float
    embedder: str
    chat: str


def to_memory(record: Record) -> MemoryOutput:
    return MemoryOutput(
        id=record.id,
        text=display_text(record),
        kind=str(record.kind),
        status=str(record.status),
        recorded_at=_iso_second(record.recorded_at),
        scope=record.scope.labels,
        speaker=describe_speaker(record),
        role=record.role,
        session=record.session,
        valid_from=_iso_time(record.valid_from),
        valid_to=_iso_time(record.valid_to),
        tags=record.tags,
        importance=record.importance,
        confidence=record.confidence,
        superseded_by=record.superseded_by,
        version=record.version,
    )


def to_changed(record: Record, report: SourceChangeReport | None) -> ChangedMemoryOutput:
    return ChangedMemoryOutput(
        **vars(to_memory(record)),
        sources=tuple(to_effects(report)) if report else (),
        also_said_in=tuple(report.also_said_in) if report else (),
    )


def to_effects(report: SourceChangeReport) -> list[SourceEffectOutput]:
    return [
        SourceEffectOutput(source.id, source.effect, list(source.quotes))
        for source in report.sources
    ]


def display_text(record: Record) -> str:
    """Return the text with its caption, without invisible characters: a model reads it."""
    return drop_invisible(record.search_text)


def to_match(hit: Hit) -> SearchMatchOutput:
    record = hit.record
    return SearchMatchOutput(
        id=record.id,
        text=display_text(record),
        score=round(float(hit.score), 4),
        kind=str(record.kind),
        status=str(hit.status),
        recorded_at=_iso_second(record.recorded_at),
        speaker=describe_speaker(record) or record.role,
        facts=tuple(
            DerivedFactOutput(fact.id, form_statement(fact).brief, str(fact.status))
            for fact in hit.facts
        ),
        outdated=hit.outdated.by if hit.outdated and hit.outdated.is_told else "",
        outdated_words=hit.outdated.words if hit.outdated and hit.outdated.is_told else "",
        probability=hit.probability,
        helps=hit.helps,
        code=hit.code.note if hit.code else "",
        document=describe_location(record),
    )


def to_search(result: SearchResult) -> SearchOutput:
    return SearchOutput([to_match(hit) for hit in result.hits], result.abstain, tuple(result.notes))


def to_related(memories: Sequence[RelatedMemory]) -> SearchOutput:
    """Convert memories to which links lead; none of them is an abstention."""
    return SearchOutput([_related_to_match(memory) for memory in memories], not memories)


def _related_to_match(related: RelatedMemory) -> SearchMatchOutput:
    record = related.record
    return SearchMatchOutput(
        id=record.id,
        text=display_text(record),
        score=round(related.score, 4),
        kind=str(record.kind),
        status=str(record.status),
        recorded_at=_iso_second(record.recorded_at),
        speaker=describe_speaker(record),
    )


def to_write(receipt: Receipt) -> WriteReceiptOutput:
    learned = tuple(
        DerivedMemoryOutput(
            id=memory.id,
            text=memory.shown or memory.text,
            kind=str(memory.kind),
            verdict=memory.verdict,
            replaces=tuple(memory.replaces),
        )
        for memory in receipt.derived
    )
    reasons = tuple(
        f"{choice.stage}: {choice.reason}"
        for choice in receipt.decisions
        if choice.reason and receipt.outcome != "stored"
    )
    return WriteReceiptOutput(
        id=receipt.id,
        outcome=receipt.outcome,
        learned=learned,
        pending=tuple(receipt.pending),
        reasons=reasons,
    )


def to_change(entry: HistoryEntry) -> HistoryEntryOutput:
    before = _to_json(entry.before)
    after = _to_json(entry.after)
    return HistoryEntryOutput(
        version=entry.version,
        at=_iso_second(entry.at),
        action=entry.action,
        actor=entry.actor,
        reason=entry.reason,
        before=before,
        after=after,
    )


def to_status(scoped: ScopedEngine) -> MemoryStatusOutput:
    """Count memories of the scope, and jobs of all owners."""
    stats = scoped.engine.stats(scoped.root)
    work = scoped.engine.status()
    job_counts = list(work["jobs"].values())
    return MemoryStatusOutput(
        enabled=scoped.engine.settings.enabled,
        statuses=dict(stats.get("status", {})),
        kinds=dict(stats.get("kind", {})),
        layers=dict(stats.get("layer", {})),
        jobs_waiting=sum(
            states.get("waiting", 0) + states.get("running", 0) for states in job_counts
        ),
        jobs_dead=sum(states.get("dead", 0) for states in job_counts),
        lag_seconds=float(work["lag_seconds"]),
        embedder=str(work["embedder"]),
        chat=str(work["chat"]),
    )


def _to_json(value: Any) -> Any:
    match value:
        case datetime():
            return value.isoformat()
        case dict():
            return {str(name): _to_json(member) for name, member in value.items()}
        case list() | tuple():
            return [_to_json(member) for member in value]
        case str():
            return str(value)
        case None | bool() | int() | float():
            return value
        case _:
            return str(value)


def _iso_time(value: datetime | None) -> str | None:
    return _iso_second(value) if value else None


def _iso_second(value: datetime) -> str:
    return value.isoformat(timespec="seconds")
