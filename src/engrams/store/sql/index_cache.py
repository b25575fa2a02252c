"""Search candidates from in-memory indexes, synchronised with the database.

Enter at ``OwnerIndexCache.seek_all``. There is one index for each owner and model; before a search
it loads the rows that changed since the last one. A large one is written to a file, which this and
other processes map instead of building it.
"""

from __future__ import annotations

import sys
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import islice
from threading import Lock, Thread
from typing import TYPE_CHECKING, NamedTuple

from engrams.core import Scope
from engrams.errors import EngramsError, InputError, StoreError
from engrams.ports import CandidatePool, CandidateSearchQuery, Clock, ScopeReach
from engrams.settings import StoreSettings
from engrams.store.process_forks import register
from engrams.store.sql import vector_rows, where_clauses
from engrams.store.sql.dialect import SqlDatabase, SqlDialect
from engrams.store.sql.index_file_store import IndexFileStore, SegmentKey
from engrams.store.sql.named_queries import (
    SqlConnection,
    fetch_composed,
    fetch_one,
    query,
    stream_rows,
)
from engrams.store.sql.similar_terms import find_similar_terms
from engrams.store.sql.where_clauses import SqlClause, join_clauses
from engrams.text.text_caches import clear_caches

if TYPE_CHECKING:
    from engrams.index import OwnerSearchIndex, QueryWords
    from engrams.ports.candidate_search import Integers

_BATCH_ROWS = 20_000
"""Rows loaded at a time: a million at once would need more memory than the index."""

_MANY_ROWS = 200_000
"""Rows from which memory is released after a load."""

_MIN_ROWS = 2_000
"""Rows from which an index is kept in a file: fewer are read as quickly from the store."""

_SHARE = 8
"""One part in this many of an index read since its file was written: it is written anew."""

_MAX_WORDS = 4096
"""Query words of an owner whose numbers are kept."""

_SIMILAR_SHARE = 0.5
"""Share of its weight that a word gives to the terms that it may stand for."""

_DEAD = 4
"""One part in this many of an index replaced or removed: it is built anew for its file."""


class _IndexKey(NamedTuple):
    """Name of an index in memory."""

    generation: int
    """That of the database."""
    owner_key: str
    model: int
    """Number of the embedding model; 0: none."""
    dimension: int

    @property
    def segment(self) -> SegmentKey:
        """Name of its file."""
        return SegmentKey(self.owner_key, self.model, self.dimension)


@dataclass(slots=True, eq=False)
class _CachedIndex:
    """Index of one owner, with its lock."""

    index: OwnerSearchIndex
    lock: Lock = field(default_factory=Lock)
    bytes: int = 0
    """Size after the last use."""
    epoch: int = 0
    """Number of purges when it was made."""
    due: int = _MIN_ROWS
    """Rows read after which it is written to a file."""
    words: dict[str, int | None] = field(default_factory=dict)
    """Numbers of words that were looked up since the owner's last change; None: no record holds it."""
    similar_terms: dict[str, tuple[int, ...]] = field(default_factory=dict)
    """Numbers of the terms that words stand for which no record holds, looked up since then."""
    _measured: tuple[OwnerSearchIndex, int] | None = None
    """Index and number of its updates when its size was last measured."""

    def put(self, index: OwnerSearchIndex) -> None:
        """Hold an index that was just mapped."""
        self.index = index
        self.due = max(_MIN_ROWS, index.state.columns.size // _SHARE)
        self.forget_words()

    def forget_words(self) -> None:
        """Forget the words that were looked up."""
        self.words.clear()
        self.similar_terms.clear()

    def measure_growth(self) -> int:
        """Measure the bytes by which the index grew since the last call."""
        state = self.index, self.index.updates.applied
        if state == self._measured:
            return 0
        growth = self.index.state.bytes - self.bytes
        self.bytes += growth
        self._measured = state
        return growth


class OwnerIndexCache:
    """LRU cache of indexes by owner and model, up to ``cache_bytes``."""

    def __init__(
        self,
        database: SqlDatabase,
        dialect: SqlDialect,
        settings: StoreSettings,
        clock: Clock,
        files: IndexFileStore | None = None,
    ) -> None:
        self._database = database
        self._dialect = dialect
        self._files = files
        self._writers: list[Thread] = []
        self._clock = clock
        self._settings = settings
        self._lock = Lock()
        self._indexes: OrderedDict[_IndexKey, _CachedIndex] = OrderedDict()
        self._models: dict[tuple[int, str], tuple[int, int]] = {}
        self.bytes = 0
        """Size of all indexes in memory."""
        register(self)

    def seek_all(self, queries: Sequence[CandidateSearchQuery]) -> list[CandidatePool]:
        """Find candidates, after all committed changes are indexed.

        The queries share their owner, model and filter.
        """
        if not queries:
            return []
        try:
            return self._seek_all(queries)
        except IndexError:
            # Its file was damaged after it was checked: the index is built anew from the database.
            # An error of another cause comes again.
            self.drop(queries[0].reach.owner)
            return self._seek_all(queries)

    def _seek_all(self, seeks: Sequence[CandidateSearchQuery]) -> list[CandidatePool]:
        """Find candidates. IndexError: the index is damaged."""
        first = seeks[0]
        owner = first.reach.owner
        condition = where_clauses.where_clause(first.where)
        model, dimension = self._find_model(first.model)
        for seek in seeks:
            if seek.vector is not None and dimension and len(seek.vector) != dimension:
                raise InputError(
                    f"The query's vector has {len(seek.vector)} dimensions; those of {seek.model!r}"
                    f" have {dimension}.",
                    hint="Embed the query with the model of the records.",
                )
        key = _IndexKey(self._database.generation, owner.key, model, dimension)
        cached = self._get_cached(key)
        with cached.lock:
            # No connection is held while waiting for the lock, or during the search.
            try:
                numbers, allowed = self._catch_up(seeks, cached, key, condition)
            except BaseException:
                # An index that missed rows would never load them.
                self._discard(key)
                raise
            index = cached.index
            if index.updates.damaged:
                self._drop_damaged(owner, index, model)
            pools = [
                index.pool(
                    seek,
                    _number_query(numbers, cached.similar_terms, seek),
                    allowed,
                    self._settings.exact_limit,
                )
                for seek in seeks
            ]
            growth = cached.measure_growth()
            due = self._files is not None and index.updates.applied >= cached.due
            if due:
                cached.due = index.updates.applied + max(
                    _MIN_ROWS, index.state.columns.size // _SHARE
                )
        if growth:
            self._trim(growth)
        if due:
            self._start_writing(owner, key, cached)
        return pools

    def _catch_up(
        self,
        seeks: Sequence[CandidateSearchQuery],
        cached: _CachedIndex,
        key: _IndexKey,
        condition: SqlClause,
    ) -> tuple[Mapping[str, int], Integers | None]:
        """Bring an index up to date; where nothing changed, at once.

        Returns the numbers of the queries' terms, and of the rows that a filter allows.
        """
        first = seeks[0]
        last_change = cached.index.state.last_change
        owner = first.reach.owner
        words = set[str]().union(*map(_list_words, seeks))
        tolerated_terms = {term for seek in seeks if seek.is_tolerant for term, _ in seek.terms}
        if 0 < first.last_change <= last_change and not condition.text:
            if cached.words.keys() >= words and cached.similar_terms.keys() >= tolerated_terms:
                return _pick_numbers(cached.words, words), None
            with self._database.asking(owner) as connection:
                numbers = self._number_words(connection, cached, words)
                self._find_similar(connection, cached, tolerated_terms)
                return numbers, None
        with self._database.reading(owner) as connection:
            if not last_change:
                self._map_file(connection, cached, key)
            _load_rows(connection, cached.index, key)
            if cached.index.state.last_change != last_change:
                cached.forget_words()
            allowed = _find_allowed(connection, first.reach, condition) if condition.text else None
            numbers = self._number_words(connection, cached, words)
            self._find_similar(connection, cached, tolerated_terms)
            return numbers, allowed

    def _number_words(
        self, connection: SqlConnection, cached: _CachedIndex, words: set[str]
    ) -> dict[str, int]:
        """Look up the numbers of words, those anew that are not known."""
        if len(cached.words) > _MAX_WORDS:
            cached.forget_words()
        fresh = words - cached.words.keys()
        cached.words.update(
            {**dict.fromkeys(fresh), **self._dialect.find(connection, cached.index, fresh)}
            if fresh
            else {}
        )
        return _pick_numbers(cached.words, words)

    def _find_similar(
        self, connection: SqlConnection, cached: _CachedIndex, terms: set[str]
    ) -> None:
        """Look up what terms stand for that no record holds, those anew that are not known.

        The numbers of all ``terms`` were looked up before.
        """
        for term in terms - cached.similar_terms.keys():
            number = cached.words[term]
            is_held = number is not None and cached.index.state.postings.holds(number)
            cached.similar_terms[term] = (
                () if is_held else find_similar_terms(connection, self._dialect, cached.index, term)
            )

    def _find_model(self, name: str) -> tuple[int, int]:
        """Find number and dimension of a model, which never change; zeros if it is unknown."""
        key = (self._database.generation, name)
        if key not in self._models:
            with self._database.reading(None) as connection:
                number, dimension = vector_rows.find_model(connection, name)
            if not number:
                return 0, 0
            self._models[key] = (number, dimension)
        return self._models[key]

    def _map_file(self, connection: SqlConnection, cached: _CachedIndex, key: _IndexKey) -> None:
        """Map the file of an index that holds nothing yet."""
        if self._files is not None:
            cached.epoch = self._files.read_epoch(connection)
            if mapped := self._files.load(connection, key.segment):
                cached.put(mapped)

    def _drop_damaged(self, owner: Scope, index: OwnerSearchIndex, model: int) -> None:
        """Remove damaged vectors, so that they are made again.

        Where nothing can be written, the next load tries it.
        """
        with suppress(StoreError):
            self._database.write(
                owner, vector_rows.drop_vectors, model, index.updates.damaged, self._clock()
            )
        index.updates.damaged = []

    def unmark(self, connection: SqlConnection, owner: Scope) -> None:
        """Invalidate the file of an owner's index."""
        if self._files is not None:
            self._files.unmark(connection, owner.key)

    def drop(self, owner: Scope) -> int:
        """Drop an owner's indexes, in memory and files; number of files left.

        Purged text must not stay there.
        """
        with self._lock:
            keys = [key for key in self._indexes if key.owner_key == owner.key]
        for key in keys:
            self._discard(key)
        return 0 if self._files is None else self._files.drop(owner.key)

    def forget(self) -> None:
        """Drop what memory holds of all owners: the database went back to an earlier state.

        Files stay. Each fits the states of the database after it was written, and no others.
        """
        with self._lock:
            self._indexes.clear()
            self._models.clear()
            self.bytes = 0

    def close(self) -> None:
        """Wait for files that are being written."""
        with self._lock:
            writers = self._writers
            self._writers = []
        for writer in writers:
            writer.join()

    def _start_writing(self, owner: Scope, key: _IndexKey, cached: _CachedIndex) -> None:
        writer = Thread(
            target=self._write, args=(owner, key, cached), name="engrams-index", daemon=True
        )
        with self._lock:
            self._writers = [*filter(Thread.is_alive, self._writers), writer]
            writer.start()

    def _write(self, owner: Scope, key: _IndexKey, cached: _CachedIndex) -> None:
        """Write an index to its file, and map that instead.

        Where it cannot be written, everything works without.
        """
        files = self._files
        segment_key = key.segment
        assert files is not None
        with suppress(EngramsError):
            with self._database.reading(owner) as connection:
                clean = self._build_clean(connection, cached, key)
            with cached.lock:
                cached.index, cached.epoch = clean or (cached.index, cached.epoch)
                cached.forget_words()
                if files.write(segment_key, cached.index, cached.epoch):
                    with self._database.reading(owner) as connection:
                        mapped = files.load(connection, segment_key)
                    if (
                        mapped is not None
                        and mapped.state.last_change == cached.index.state.last_change
                    ):
                        cached.put(mapped)

    def _build_clean(
        self, connection: SqlConnection, cached: _CachedIndex, key: _IndexKey
    ) -> tuple[OwnerSearchIndex, int] | None:
        """Build an index anew if much of it is gone or purged."""
        from engrams.index import OwnerSearchIndex

        assert self._files is not None
        epoch = self._files.read_epoch(connection)
        rows = cached.index.state.columns.size
        if epoch == cached.epoch and (rows - len(cached.index)) * _DEAD < rows:
            return None
        fresh = OwnerSearchIndex(key.dimension)
        _load_rows(connection, fresh, key)
        return fresh, epoch

    def before_fork(self) -> None:
        """Lock the cache."""
        self._lock.acquire()

    def after_fork_in_parent(self) -> None:
        """Unlock the cache in the parent."""
        self._lock.release()

    def after_fork_in_child(self) -> None:
        """Clear the cache in the child: an index may be half changed."""
        self._lock = Lock()
        self._indexes.clear()
        self._writers.clear()
        self.bytes = 0

    def _discard(self, key: _IndexKey) -> None:
        with self._lock:
            if key in self._indexes:
                self.bytes -= self._indexes.pop(key).bytes

    def _get_cached(self, key: _IndexKey) -> _CachedIndex:
        from engrams.index import OwnerSearchIndex

        with self._lock:
            if key not in self._indexes:
                self._indexes[key] = _CachedIndex(OwnerSearchIndex(key.dimension))
            self._indexes.move_to_end(key)
            return self._indexes[key]

    def _trim(self, growth: int) -> None:
        """Drop the indexes used longest ago, until the others fit; the last one used stays."""
        with self._lock:
            self.bytes += growth
            while self.bytes > self._settings.cache_bytes and len(self._indexes) > 1:
                self.bytes -= self._indexes.popitem(last=False)[1].bytes


def _load_rows(connection: SqlConnection, index: OwnerSearchIndex, key: _IndexKey) -> None:
    """Bring an index up to date."""
    state = index.state
    updates = index.updates
    if state.last_change == 0:
        if fetch_one(connection, "last_change", key.owner_key)[0] is None:
            return
        # In order of insertion, so that sessions keep the order of their turns.
        rows = stream_rows(connection, "load_rows", key.model, key.owner_key)
        while batch := list(islice(rows, _BATCH_ROWS)):
            updates.load(batch)
        if len(index) > _MANY_ROWS:
            _release_memory(connection)
    # Also after the first load: it skips rows that are not retrievable, whose changes count too.
    before = updates.purged_count
    updates.apply(
        stream_rows(connection, "load_changes", key.model, key.owner_key, state.last_change)
    )
    if updates.purged_count > before:
        # Perhaps by another process: caches of texts here must go too.
        clear_caches()


def _release_memory(connection: SqlConnection) -> None:
    """Give memory back after a load.

    SQLite keeps pages, and glibc freed blocks between small live ones: a fifth of what a million
    rows take.
    """
    import ctypes

    connection.execute(query("shrink"))

    trim = getattr(ctypes.CDLL(None), "malloc_trim", None) if sys.platform == "linux" else None
    if trim is not None:
        trim(0)


def _number_query(
    numbers: Mapping[str, int],
    similar_terms: Mapping[str, Sequence[int]],
    query: CandidateSearchQuery,
) -> QueryWords:
    """Number and weigh the words of a query.

    Forms of a term that some record holds share its weight: all where the query's language is sure,
    else only where no record holds the term itself. Terms that a misspelled or unfinished word may
    stand for share half of its weight; the other half stays unknown.
    """
    from engrams.index import QueryWords

    terms: list[tuple[int, float]] = []
    unknown_weight = 0.0
    for term, weight in query.terms:
        if query.is_tolerant and (similar_numbers := similar_terms[term]):
            share = weight * _SIMILAR_SHARE
            terms += [(number, share / len(similar_numbers)) for number in similar_numbers]
            unknown_weight += weight - share
            continue
        forms = (term, *query.forms.forms.get(term, ()))
        known_numbers = [numbers[form] for form in forms if form in numbers]
        if term in numbers and not query.forms.sure:
            known_numbers = known_numbers[:1]
        terms += [(number, weight / len(known_numbers)) for number in known_numbers]
        if not known_numbers:
            unknown_weight += weight
    identifiers = [
        [numbers[term] for term in identifier]
        for identifier in query.identifiers
        if numbers.keys() >= set(identifier)
    ]
    return QueryWords(terms, unknown_weight, identifiers)


def _pick_numbers(numbers: Mapping[str, int | None], words: set[str]) -> dict[str, int]:
    return {word: number for word in words if (number := numbers[word]) is not None}


def _list_words(seek: CandidateSearchQuery) -> set[str]:
    forms = seek.forms.forms
    return {word for term, _ in seek.terms for word in (term, *forms.get(term, ()))}.union(
        *seek.identifiers
    )


def _find_allowed(connection: SqlConnection, reach: ScopeReach, condition: SqlClause) -> Integers:
    import numpy as np

    """Find the numbers of the rows that a filter allows."""
    allowed = join_clauses([where_clauses.reach_clause(reach), condition])
    rows = fetch_composed(connection, f"{query('numbers')} WHERE {allowed.text}", allowed.values)
    return np.fromiter((number for (number,) in rows), np.int64)
