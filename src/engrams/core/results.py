"""Answers to writes and reads: receipts, search results and contexts.

They explain themselves: a receipt lists the decisions of the write, a trace those of the search.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import field
from datetime import date, datetime
from typing import Literal

from engrams.core.code_anchors import CodeVerdict
from engrams.core.records import Json, Kind, Record, Status
from engrams.core.scopes import Scope
from engrams.frozen_data import dataclass

_QUOTED_SCORE = 0.15
"""Score from which a hit is quoted: among few memories a far one still seems to help."""
MARK_TOLD_AT = 0.35
"""Probability from which readers are told that a statement may be outdated."""


@dataclass(frozen=True, slots=True)
class StageDecision:
    """Decision of one stage about one text, with its reason."""

    stage: str
    """Such as gate, extract, policy or reconcile."""
    verdict: str
    reason: str = ""
    text: str = ""
    """The text that was decided about."""
    record: str = ""
    """Id of the record that was decided about."""


@dataclass(frozen=True, slots=True)
class ModelCost:
    """Use of the chat model by one write or read."""

    calls: int = 0
    tokens: int = 0
    """Of prompts and answers together."""

    def __add__(self, other: ModelCost) -> ModelCost:
        return ModelCost(self.calls + other.calls, self.tokens + other.tokens)


@dataclass(frozen=True, slots=True)
class DerivedMemory:
    """A memory made or changed by a write."""

    id: str
    kind: Kind
    text: str
    verdict: str
    """add, keep, refine, replace, remove, conflict or hold."""
    replaces: tuple[str, ...] = ()
    """Ids of the memories that it took the place of."""
    reason: str = ""
    shown: str = ""
    """Statement as everybody sees it, without its day (``core.statement_form``)."""


@dataclass(frozen=True, slots=True)
class Receipt:
    """Outcome of one write: its id, what was derived from it, and what is still to do.

    ======================  ======================================================================
    ``outcome``             meaning
    ======================  ======================================================================
    stored                  it is durable
    duplicate               it was there already; ``id`` is that of the stored one
    redacted                it is durable, without its secret
    refused                 nothing was stored: a rule forbids it
    unsaved                 nothing was stored: it asks for that, it answers a message that does,
                            or nobody said it
    incognito               it is in this process's memory only
    ======================  ======================================================================
    """

    id: str
    """Id of the stored memory; empty where nothing was stored."""
    scope: Scope
    outcome: Literal["stored", "duplicate", "redacted", "refused", "unsaved", "incognito"]
    recorded_at: datetime
    searchable: tuple[str, ...] = ()
    """Ways by which a search finds it already: lexical, dense."""
    derived: tuple[DerivedMemory, ...] = ()
    """Memories that were made from it or changed by it."""
    pending: tuple[str, ...] = ()
    """Kinds of the jobs that work on it later."""
    decisions: tuple[StageDecision, ...] = ()
    cost: ModelCost = ModelCost()


@dataclass(frozen=True, slots=True)
class OutdatedMark:
    """Mark that a later statement ends an earlier one, or may end it."""

    by: str
    """Id of the later record."""
    said_at: datetime
    """Time at which the later statement was said."""
    probability: float
    """0..1, that it ends the earlier one."""
    closed: bool
    """True: it is certain enough, and superseded the earlier one, or its clause."""
    words: str = ""
    """The words of the later statement that end it."""
    said_on: date | None = None
    """Day of ``said_at`` on the clock of whoever said it; None: that of UTC."""
    clause: str = ""
    """The words of the earlier one that end; empty: all of it."""

    @property
    def is_told(self) -> bool:
        """True if readers are told of it; below, it only puts the later statement first."""
        return self.closed or self.probability >= MARK_TOLD_AT

    def tell(self) -> str:
        """Tell when the later statement was said, and its words."""
        return f'said on {self._day}: "{self.words}"'

    def tell_end(self) -> str:
        """Tell since when it is over, or that it may be, and by which words."""
        if not self.closed:
            return f"may be outdated, {self.tell()}"
        words = f': "{self.words}"' if self.words else ""
        return f"over since {self._day}{words}"

    @property
    def _day(self) -> str:
        day = self.said_on or self.said_at
        return f"{day.day} {day:%B %Y}"


@dataclass(frozen=True, slots=True)
class Hit:
    """One found record, with its score."""

    record: Record
    score: float
    """0..1, absolute: higher is better, and scores of different searches can be compared."""
    status: Status = Status.ACTIVE
    """The record's status.

    Except that a message is superseded if a later one ended it, or if all its facts were.
    """
    parts: Mapping[str, float] = field(default_factory=dict)
    """Parts of the score, by their sources."""
    facts: tuple[Record, ...] = ()
    """Facts that were derived from the record."""
    snippet: str = ""
    """The part of its text that is about the query, 500 characters at most."""
    outdated: OutdatedMark | None = None
    """Set where a later statement ends it, or may end it, or a clause of it."""
    ended_clauses: tuple[OutdatedMark, ...] = ()
    """Clauses of a message that are over, or may be, while the rest of it holds."""
    probability: float | None = None
    """0..1, calibrated: that it helps with the query. None: it was not judged."""
    helps: bool = True
    """False: it is among the nearest, but no context would show it."""
    code: CodeVerdict | None = None
    """State of the code that it names. None: it names none, or no checkout is known."""

    def annotate(self, text: str) -> str:
        """Write beside each ended clause in the record's text, or in a part of it, what ended it."""
        if self.status is Status.SUPERSEDED:
            return text
        for mark in self.ended_clauses:
            text = text.replace(mark.clause, f"{mark.clause} [{mark.tell_end()}]", 1)
        return text

    def tell_end(self) -> str:
        """Tell that all of the record is over, or may be, and by which words; empty: it holds."""
        mark = self.outdated
        if mark is not None and mark.is_told and not mark.clause:
            return mark.tell_end()
        return "no longer so" if self.status is Status.SUPERSEDED else ""


@dataclass(frozen=True, slots=True)
class SearchTraceRow:
    """One candidate of a search."""

    id: str
    text: str
    score: float
    """0..1, as of a ``Hit``."""
    parts: Mapping[str, float]
    """Parts of the score, by their sources."""
    dropped: str = ""
    """Why it is no hit; empty: it is one."""
    probability: float | None = None
    """As of a ``Hit``."""
    reasons: tuple[str, ...] = ()
    """Reasons for and against its helping."""


@dataclass(frozen=True, slots=True)
class Trace:
    """Account of a search: the parsed query, the time of each stage, every candidate."""

    query: str
    understood: Mapping[str, Json]
    """Cues that were read from the query: people, times, the kind of answer."""
    stages: tuple[tuple[str, float, int], ...]
    """Name, milliseconds and number of candidates of each stage, in order."""
    rows: tuple[SearchTraceRow, ...]
    """Candidates, best first."""
    notes: tuple[str, ...] = ()
    """Remarks for people, such as what was left out."""
    path: str = ""
    """Sources that answered: hybrid_weighted, hybrid_sum or hybrid_rrf.

    token_recall: the query has no vector. token_recall_after_embed_error: the embedder failed or
    was late. skipped_empty_store: there is nothing to search.
    """
    missing: tuple[str, ...] = ()
    """Models that could not take part: embedder_late, embedder_down, reranker_late,
    reranker_down."""


@dataclass(frozen=True, slots=True)
class SearchResult:
    """Result of a search."""

    hits: tuple[Hit, ...]
    """Best first."""
    trace: Trace
    abstain: bool = False
    """True: nothing helps with the query, and the hits are only the nearest memories.

    Where hits are judged (``read.least_need``), the prompt hardly needs memory; else the nearness
    is below the floor.
    """
    nearness: float = 0.0
    """(cosine + coverage) / 2, for the nearest memory: 0..1.

    Coverage is the share of the query's words that the memory contains; rare words count more.
    """

    @property
    def notes(self) -> tuple[str, ...]:
        """Remarks on the search, such as what was left out."""
        return self.trace.notes

    @property
    def helpful(self) -> tuple[Hit, ...]:
        """Hits that help with the query: those that a context would show. Empty: silence."""
        return () if self.abstain else tuple(hit for hit in self.hits if hit.helps)

    @property
    def quotable(self) -> tuple[Hit, ...]:
        """Hits to quote to a person who asks memory alone.

        Those that help; where none does, those that name whom the question names. No model answers
        there: a quote too many does less harm than "nothing", where memory tells of that person.
        """
        likely = tuple(hit for hit in self.helpful if hit.score >= _QUOTED_SCORE)
        names = self.trace.understood.get("names")
        if likely or not isinstance(names, list) or not names:
            return likely
        name_pattern = re.compile(rf"\b(?:{'|'.join(re.escape(str(name)) for name in names)})\b")
        return tuple(
            hit
            for hit in self.hits
            if hit.record.role != "assistant" and name_pattern.search(hit.record.search_text)
        )


@dataclass(frozen=True, slots=True)
class RelatedMemory:
    """A memory that links lead to."""

    record: Record
    score: float
    """1 where the links start, less with every step."""


@dataclass(frozen=True, slots=True)
class Context:
    """Memory rendered as text for a prompt."""

    prefix: str
    """Profile of the owner; the same text for every query, until its facts change.

    So a model server can cache the beginning of the prompt.
    """
    tail: str
    """Memories for this query; begins with ``summary``."""
    tokens: int
    """Tokens of the whole text."""
    version: str
    """Hash of the facts in the prefix."""
    hits: tuple[Hit, ...] = ()
    """Memories in the tail."""
    abstain: bool = False
    """As of a ``SearchResult``."""
    trace: Trace | None = None
    summary: str = ""
    """Rolling summary of the conversation."""
    standing: tuple[str, ...] = ()
    """Ids of the memories in the prefix."""
    closest: tuple[Hit, ...] = ()
    """The nearest memories where none helps, for whoever looks; they are not in the text."""

    @property
    def text(self) -> str:
        """Prefix and tail together, to be put into the prompt."""
        return "\n\n".join(part for part in (self.prefix, self.tail) if part)

    @property
    def notes(self) -> tuple[str, ...]:
        """Remarks on the search behind it."""
        return self.trace.notes if self.trace else ()


@dataclass(frozen=True, slots=True)
class ImportOptions:
    """Options of an import."""

    format: str = "auto"
    """Name of a format; auto: recognise it by the contents."""
    skip_bad: bool = False
    """Import the readable part of a broken file."""
    name: str = ""
    """Name under which the import is listed. Empty: that of the file."""
    mark: str = ""
    """Id of the import, which its memories carry as metadata. Empty: a new one."""
    ignored: bool = False
    """Import files that an ignore rule excludes, too."""
    user: str = ""
    """Whose memories to take from a file of several users; ``*``: everybody's.

    Empty: refuse such a file.
    """
    overwrite: bool = False
    """Give memories that are there already the values of an export of engrams."""
    note: str = ""
    """Words of the user about a document, which are stored as its first."""
    adds_note: bool = False
    """Put ``note`` after the note that a picture or sound has already. A document of text gets none."""
