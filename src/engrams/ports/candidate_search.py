"""Candidates for a query, and links between nodes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime
from itertools import islice
from typing import TYPE_CHECKING, Protocol, TypeAlias, TypeVar, overload

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


_Found = TypeVar("_Found")


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

    The map is made when it is first asked for, and so are names of a column, of which a search
    needs few. What they grow into shares list and map with them, for nobody looks here for what
    came later.
    """

    __slots__ = ("_count", "_names", "_places", "_unread")

    def __init__(self, names: list[str] | tuple[npt.NDArray[np.bytes_], Integers]) -> None:
        """Hold names, or slots of a column.

        Names of a column never change.
        """
        self._names: list[str] | None = None if isinstance(names, tuple) else names
        self._unread = names if isinstance(names, tuple) else None
        self._count = len(names[1] if isinstance(names, tuple) else names)
        self._places: dict[str, int] | None = None

    def _list(self) -> list[str]:
        if self._names is None and self._unread is not None:
            column, slots = self._unread
            self._names = [*map(bytes.decode, column[slots].tolist())]
        assert self._names is not None
        return self._names

    def __len__(self) -> int:
        return self._count

    @overload
    def __getitem__(self, place: int) -> str: ...

    @overload
    def __getitem__(self, place: slice) -> list[str]: ...

    def __getitem__(self, place: int | slice) -> str | list[str]:
        if isinstance(place, slice):
            return self._list()[: self._count][place]
        return self._list()[place if place >= 0 else place + self._count]

    def __iter__(self) -> Iterator[str]:
        return islice(self._list(), self._count)

    def at(self, places: Sequence[int]) -> list[str]:
        """Ids at some places, none of them negative."""
        if self._names is None and self._unread is not None:
            column, slots = self._unread
            return [*map(bytes.decode, column[slots.take(places)].tolist())]
        names = self._list()
        return [names[place] for place in places]

    @property
    def places(self) -> Mapping[str, int]:
        if self._places is None:
            self._places = {name: place for place, name in enumerate(self)}
        return self._places

    def grown(self, more: Sequence[str]) -> PositionedIds:
        """Append ids in place, sharing storage.

        Only the latest of a line may grow.
        """
        if self._places is not None:
            self._places.update(zip(more, range(self._count, self._count + len(more)), strict=True))
        names = self._list()
        names += more
        made = PositionedIds(names)
        made._places = self._places
        return made


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

    def renew_index(self, owner: Scope) -> None:
        """Drop an owner's search index; the next search builds it anew."""
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


def find_in_sound_index(
    search: CandidateSearch, owner: Scope, find: Callable[[], _Found]
) -> _Found:
    """Find by an owner's index; a damaged one is built anew.

    Its file may be damaged after it was checked. Any other error of these kinds comes again.
    """
    try:
        return find()
    except (UnicodeDecodeError, IndexError):
        search.renew_index(owner)
        return find()


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
