"""Candidates for a query, and links between nodes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from itertools import islice
from typing import TYPE_CHECKING, Protocol, TypeAlias, overload

from engrams.core import Edge, EdgeType, Kind, Record, Scope, Topic
from engrams.frozen_data import dataclass
from engrams.ports.record_store import AsOf, ScopeReach, Where
from engrams.text.terms import NO_FORMS, QueryTermStems

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Floats: TypeAlias = npt.NDArray[np.float32]
    Integers: TypeAlias = npt.NDArray[np.int64]
    Flags: TypeAlias = npt.NDArray[np.bool_]


SKILL = "skill:"
"""Prefix of a skill's id; the skill's name follows."""


@dataclass(frozen=True, slots=True)
class CandidateSearchQuery:
    """Search for candidates: vector, terms, scopes, filters and limits.

    ``terms``: folded, stemmed words with weights; ``forms``: their stems in other languages.
    ``vector``: the query's, of ``model``.

    ``width``: how many candidates each source contributes where the reach is too large to score
    everything. ``history``: include superseded and archived ones (a read with ``as_of`` always may
    see them). ``last_change``: of the owner, as ``survey`` told it in the same read (0: look).
    ``alone``: each record is scored by itself; windows and sessions are left at 0. ``identifiers``:
    those that the query names, as the terms of each.
    """

    reach: ScopeReach
    now: datetime
    terms: tuple[tuple[str, float], ...] = ()
    vector: Floats | None = None
    model: str = ""
    width: int = 400
    as_of: AsOf | None = None
    history: bool = False
    kinds: tuple[Kind, ...] = ()
    where: Where | None = None
    forms: QueryTermStems = NO_FORMS
    last_change: int = 0
    alone: bool = False
    identifiers: tuple[tuple[str, ...], ...] = ()


@dataclass(frozen=True, slots=True)
class ReachSurvey:
    """First look at the records in reach.

    ``speakers``: of active records, with their number, most frequent first. ``last_change``: number
    of the owner's last change (0: not told). ``commit``: mark of the owner's last commit, for reads
    that follow (empty: not told).
    """

    speakers: Mapping[str, int]
    last_change: int = 0
    commit: str = ""


def is_skill(id: str) -> bool:
    """True for the id of a skill, which is never stored."""
    return id.startswith(SKILL)


class PositionedIds(Sequence[str]):
    """Sequence of ids that finds the position of an id.

    Positions are mapped when one is first asked for. Ids that come encoded are decoded as they are
    asked for: a search needs few of them. What they grow into shares list and map with them, for
    nobody looks here for what came later.
    """

    __slots__ = ("_count", "_encoded", "_ids", "_positions")

    def __init__(self, ids: list[str] | npt.NDArray[np.bytes_]) -> None:
        """Hold ids, as text or as UTF-8 that nobody changes."""
        self._ids: list[str] | None = ids if isinstance(ids, list) else None
        self._encoded = None if isinstance(ids, list) else ids
        self._count = len(ids)
        self._positions: dict[str, int] | None = None

    def _list(self) -> list[str]:
        if self._ids is None:
            assert self._encoded is not None
            self._ids = [*map(bytes.decode, self._encoded.tolist())]
        return self._ids

    def __len__(self) -> int:
        return self._count

    @overload
    def __getitem__(self, position: int) -> str: ...

    @overload
    def __getitem__(self, position: slice) -> list[str]: ...

    def __getitem__(self, position: int | slice) -> str | list[str]:
        if isinstance(position, slice):
            return self._list()[: self._count][position]
        return self._list()[position if position >= 0 else position + self._count]

    def __iter__(self) -> Iterator[str]:
        return islice(self._list(), self._count)

    def at(self, positions: Sequence[int]) -> list[str]:
        """Ids at some positions, none of them negative."""
        if self._ids is None and self._encoded is not None:
            return [*map(bytes.decode, self._encoded.take(positions).tolist())]
        ids = self._list()
        return [ids[position] for position in positions]

    @property
    def positions(self) -> Mapping[str, int]:
        """Position of each id."""
        if self._positions is None:
            self._positions = {record_id: position for position, record_id in enumerate(self)}
        return self._positions

    def grown(self, appended: Sequence[str]) -> PositionedIds:
        """Append ids in place, sharing storage.

        Only the latest of a line may grow.
        """
        if self._positions is not None:
            end = self._count + len(appended)
            self._positions.update(zip(appended, range(self._count, end), strict=True))
        ids = self._list()
        ids += appended
        extended = PositionedIds(ids)
        extended._positions = self._positions
        return extended


@dataclass(frozen=True, slots=True)
class CandidatePool:
    """Candidates of a search with their raw scores, as columns.

    Scores are absolute and 0 where a source saw nothing.

    ``cos``/``cosctx``/``cosnext``: cosine to the record, to it with the two before it in its
    session (weights 1, .7, .5), to the one after it. ``bm``/``bmctx``/``bmses``: BM25 of the
    record, of that window, of its whole session, each divided by the most that the query could
    score. ``embedded``: whether ``cos`` is known. ``sessions``: equal numbers = same session.
    ``voices``: who speaks, (name, role) each; ``voice``: places in it. ``identified``: whether it
    holds an identifier that the query names. ``place``: position within the session. Times are
    seconds since 1970 (when it was said). ``aging``: which ones are long known, and fade more
    slowly (None: none). ``has_triggers``: some record of the owner may have a trigger.
    """

    ids: PositionedIds
    cos: Floats
    cosctx: Floats
    cosnext: Floats
    bm: Floats
    bmctx: Floats
    bmses: Floats
    embedded: Flags
    times: npt.NDArray[np.float64]
    sessions: Integers
    place: Integers
    voices: Sequence[tuple[str, str]]
    voice: Integers
    words: Floats
    question: Flags
    dated: Flags
    importance: Floats
    confidence: Floats
    identified: Flags
    total: int = 0
    exact: bool = True
    aging: Flags | None = None
    has_triggers: bool = True


class CandidateSearch(Protocol):
    """Candidates for a query, with the raw score of each source."""

    def seek(self, seek: CandidateSearchQuery) -> CandidatePool: ...

    def seek_all(self, seeks: Sequence[CandidateSearchQuery]) -> list[CandidatePool]:
        """Pools of several queries of one owner, model and filter."""
        ...

    def vectors(self, owner: Scope, ids: Sequence[str], model: str) -> Floats:
        """Unit vectors [len(ids), dimension]; a row of zeros where there is none."""
        ...

    def survey(self, reach: ScopeReach) -> ReachSurvey:
        """Look who speaks in reach, and perhaps at the owner's last change."""
        ...

    def speakers(self, reach: ScopeReach) -> Mapping[str, int]:
        """Look who speaks in reach, as ``survey`` does, right after a write."""
        ...


class LinkStore(Protocol):
    """Links between nodes."""

    def edges(
        self, owner: Scope, nodes: Sequence[str], types: Sequence[EdgeType] = ()
    ) -> tuple[Edge, ...]:
        """Edges at either end of any of ``nodes``."""
        ...

    def surroundings(
        self, owner: Scope, ids: Sequence[str], types: Sequence[EdgeType], commit: str = ""
    ) -> tuple[tuple[Edge, ...], tuple[Record, ...]]:
        """Edges at records, with the records, and others that lead to them.

        Of the others: those from which an edge of ``types`` does. ``commit``: of a survey that this
        read belongs to; what is read may be as old.
        """
        ...

    def topics(self, reach: ScopeReach) -> tuple[Topic, ...]:
        """Topics and concepts of the scopes in reach, by id."""
        ...
