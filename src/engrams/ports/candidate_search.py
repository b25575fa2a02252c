"""The port of candidates for a query, with the raw score of each source."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Protocol, TypeAlias

from engrams.core import Kind, Scope
from engrams.core.id_sequence import IdSequence
from engrams.frozen_data import dataclass
from engrams.ports.record_queries import AsOf, ScopeReach, Where
from engrams.text.terms import NO_FORMS, QueryTermStems

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Floats: TypeAlias = npt.NDArray[np.float32]
    Integers: TypeAlias = npt.NDArray[np.int64]
    Flags: TypeAlias = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class CandidateSearchQuery:
    """Search for candidates by terms and a vector, within a reach."""

    reach: ScopeReach
    now: datetime
    terms: tuple[tuple[str, float], ...] = ()
    """Words of the query, folded and stemmed, each with its weight."""
    vector: Floats | None = None
    """Vector of the query. None: search by terms alone."""
    model: str = ""
    """Id of the card of the embedder that made the vector."""
    width: int = 400
    """Candidates that each source contributes where the reach is too large to score everything."""
    as_of: AsOf | None = None
    history: bool = False
    """Include superseded and archived records; a read with ``as_of`` always may see them."""
    kinds: tuple[Kind, ...] = ()
    where: Where | None = None
    forms: QueryTermStems = NO_FORMS
    """Stems of the terms in other languages."""
    is_tolerant: bool = False
    """A word that no record holds stands for those that it begins, and for those that differ from it
    by one letter.
    """
    last_change: int = 0
    """Number of the owner's last change, from the survey that began this read. 0: look it up."""
    alone: bool = False
    """Score each record by itself; scores of windows and sessions stay 0."""
    identifiers: tuple[tuple[str, ...], ...] = ()
    """Identifiers that the query names, such as ``RFC 2324``; each as its terms."""


@dataclass(frozen=True, slots=True)
class ReachSurvey:
    """First look at the records in reach."""

    speakers: Mapping[str, int]
    """Speaker -> number of active records; most frequent first."""
    last_change: int = 0
    """Number of the owner's last change; 0: the store did not look."""
    commit: str = ""
    """Mark of the owner's last commit, for the reads that follow; empty: the store did not look."""


@dataclass(frozen=True, slots=True)
class CandidatePool:
    """Candidates of a search with their raw scores, as columns of equal length.

    Scores are absolute, and 0 where a source saw nothing. A window is a record with the two before
    it in its session.
    """

    ids: IdSequence
    cos: Floats
    """Cosine of query and record."""
    cosctx: Floats
    """Cosine of query and window, whose vectors count 1, 0.7 and 0.5."""
    cosnext: Floats
    """Cosine of query and the record that follows in the session."""
    bm: Floats
    """BM25 of the record, divided by the largest score that the query can have."""
    bmctx: Floats
    """BM25 of the window, divided as ``bm``."""
    bmses: Floats
    """BM25 of the whole session, divided as ``bm``."""
    embedded: Flags
    """True where the record has a vector, so that ``cos`` is known."""
    times: npt.NDArray[np.float64]
    """Seconds since 1970 at which it was said."""
    voices: Sequence[tuple[str, str]]
    """Name and role of each speaker; not a column."""
    voice: Integers
    """Position of the speaker in ``voices``."""
    words: Floats
    """Number of words."""
    question: Flags
    """True for a text that is a question."""
    dated: Flags
    """True for a text that names a date or time."""
    passage: Flags
    """True for a passage of a document."""
    undated: Flags
    """True for a passage of a document that names no date: its time is that of the import."""
    importance: Floats
    confidence: Floats
    identified: Flags
    """True where the record contains an identifier that the query names."""
    total: int = 0
    """Number of records in reach, scored or not."""
    exact: bool = True
    """True: every record in reach was scored."""
    largest_bm: float = 1.0
    """Largest BM25 that the query can have, by which ``bm`` was divided."""
    aging: Flags | None = None
    """True for records of the long-term tier, which fade more slowly. None: there are none."""
    has_triggers: bool = True
    """False: no record of the owner has a trigger."""


class CandidateSearch(Protocol):
    """Candidates for a query, with the raw score of each source."""

    def seek(self, query: CandidateSearchQuery) -> CandidatePool:
        """Find the candidates of one query."""
        ...

    def seek_all(self, queries: Sequence[CandidateSearchQuery]) -> list[CandidatePool]:
        """Find the candidates of several queries of one owner, model and filter."""
        ...

    def vectors(self, owner: Scope, ids: Sequence[str], model: str) -> Floats:
        """Return unit vectors [len(ids), dimension]; a row of zeros where there is none."""
        ...

    def survey(self, reach: ScopeReach) -> ReachSurvey:
        """Count who speaks in reach, and perhaps look up the owner's last change."""
        ...

    def speakers(self, reach: ScopeReach) -> Mapping[str, int]:
        """Count who speaks in reach, as ``survey`` does, right after a write."""
        ...
