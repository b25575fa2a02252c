"""Results of writes and reads."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from datetime import datetime
from typing import Literal

from engrams.core.records import Json, Kind, Record, Scope, Status
from engrams.frozen_data import dataclass


@dataclass(frozen=True, slots=True)
class StageDecision:
    """Decision of one stage about one text, with its reason."""

    stage: str
    verdict: str
    reason: str = ""
    text: str = ""
    record: str = ""


@dataclass(frozen=True, slots=True)
class ModelCost:
    """Model use of one write or read."""

    calls: int = 0
    tokens: int = 0

    def __add__(self, other: ModelCost) -> ModelCost:
        return ModelCost(self.calls + other.calls, self.tokens + other.tokens)


@dataclass(frozen=True, slots=True)
class DerivedMemory:
    """A memory made or changed by a write.

    ``verdict`` is add, keep, refine, replace, remove, conflict or hold.
    """

    id: str
    kind: Kind
    text: str
    verdict: str
    replaces: tuple[str, ...] = ()
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Receipt:
    """Outcome of one write: id, derived memories, pending jobs, decisions.

    ``outcome``: stored, duplicate (``id`` names the one that was there), redacted (stored without
    its secret), refused (nothing stored), unsaved (nothing stored: it asked for that, answers what
    did, or nobody said it) or incognito (kept in memory only). ``searchable``: lexical, dense.
    ``pending``: what is still to do, as job names.
    """

    id: str
    scope: Scope
    outcome: Literal["stored", "duplicate", "redacted", "refused", "unsaved", "incognito"]
    recorded_at: datetime
    searchable: tuple[str, ...] = ()
    derived: tuple[DerivedMemory, ...] = ()
    pending: tuple[str, ...] = ()
    decisions: tuple[StageDecision, ...] = ()
    cost: ModelCost = ModelCost()


@dataclass(frozen=True, slots=True)
class OutdatedMark:
    """Mark that a later statement ends an earlier one.

    ``by``: the later record's id; ``said_at``: when it was said; ``probability``: 0..1; ``closed``:
    it is certain enough to supersede.
    """

    by: str
    said_at: datetime
    probability: float
    closed: bool


@dataclass(frozen=True, slots=True)
class Hit:
    """One found record, with its score and derived facts.

    ``score`` is absolute (0..1, higher is better); ``parts`` says where it came from.

    ``status`` is the record's, except that a turn says ``superseded`` if a later one ended it or
    all its facts were superseded. ``facts``: what was derived from it. ``outdated``: a later
    statement ends it, or may. ``snippet``: the part of its text that is about the query, 500
    characters at most.
    """

    record: Record
    score: float
    status: Status = Status.ACTIVE
    parts: Mapping[str, float] = field(default_factory=dict)
    facts: tuple[Record, ...] = ()
    snippet: str = ""
    outdated: OutdatedMark | None = None


@dataclass(frozen=True, slots=True)
class SearchTraceRow:
    """One candidate of a search.

    Its score by part, its place, and the reason it was dropped (empty: selected).
    """

    id: str
    text: str
    score: float
    parts: Mapping[str, float]
    dropped: str = ""


@dataclass(frozen=True, slots=True)
class Trace:
    """Trace of a search: parsed query, stage times, every candidate.

    The query as understood, each stage's time and counts, and its candidates, best first. ``path``:
    which sources answered: hybrid_weighted, hybrid_sum or hybrid_rrf, token_recall where the query
    has no vector, token_recall_after_embed_error where the embedder failed, skipped_empty_store
    where there is nothing to search.
    """

    query: str
    understood: Mapping[str, Json]
    stages: tuple[tuple[str, float, int], ...]
    rows: tuple[SearchTraceRow, ...]
    notes: tuple[str, ...] = ()
    path: str = ""


@dataclass(frozen=True, slots=True)
class SearchResult:
    """Result of a search.

    Hits come best first; ``abstain`` when nothing came near. ``nearness`` of the nearest memory,
    0..1: the mean of its cosine and of the share of the query's words, weighed by rarity, that it
    holds.
    """

    hits: tuple[Hit, ...]
    trace: Trace
    abstain: bool = False
    nearness: float = 0.0

    @property
    def notes(self) -> tuple[str, ...]:
        """Remarks on the search, such as what was left out."""
        return self.trace.notes


@dataclass(frozen=True, slots=True)
class RelatedMemory:
    """A memory that links lead to.

    ``score``: 1 where they start, less with every step.
    """

    record: Record
    score: float


@dataclass(frozen=True, slots=True)
class Context:
    """Memory rendered for a prompt.

    ``prefix`` changes only when its facts do (``version``); ``tail`` is per query, and begins with
    ``summary``, that of the conversation. ``standing``: the ids in ``prefix``.
    """

    prefix: str
    tail: str
    tokens: int
    version: str
    hits: tuple[Hit, ...] = ()
    abstain: bool = False
    trace: Trace | None = None
    summary: str = ""
    standing: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        return "\n\n".join(part for part in (self.prefix, self.tail) if part)

    @property
    def notes(self) -> tuple[str, ...]:
        """Remarks on the search behind it."""
        return self.trace.notes if self.trace else ()


@dataclass(frozen=True, slots=True)
class ImportOptions:
    """Options of an import: format, and what is done with bad pieces.

    ``skip_bad``: import what can be read of a broken file, too. ``name``: to list it by (empty: the
    file's). ``mark``: the id that stored memories carry. ``ignored``: import files that an ignore
    rule excludes, too. ``user``: whose memories, of a file that holds those of several (empty:
    refuse such a file; ``*``: everybody's).
    """

    format: str = "auto"
    skip_bad: bool = False
    name: str = ""
    mark: str = ""
    ignored: bool = False
    user: str = ""
