"""Search candidates from in-memory indexes, synchronised with the database."""

from __future__ import annotations

import sys
from collections import OrderedDict
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import islice
from threading import Lock
from typing import TYPE_CHECKING, TypeAlias

from engrams.errors import InputError, StoreError
from engrams.ports import CandidatePool, CandidateQuery, Clock, ScopeReach
from engrams.settings import StoreSettings
from engrams.store.processforks import register
from engrams.store.sql import records, whereclauses
from engrams.store.sql.dialect import SqlDatabase, SqlDialect
from engrams.store.sql.namedqueries import SqlConnection, fetch_composed, fetch_one, query, stream_rows
from engrams.store.sql.whereclauses import SqlClause, join_clauses
from engrams.text.cache import clear_caches
from engrams.types import Scope

if TYPE_CHECKING:
    from engrams.ports.candidatesearch import Integers
    from engrams.store.index import OwnerIndex

_BATCH_ROWS = 20_000
"""Rows loaded at a time: a million at once would need more memory than the index."""

_MANY_ROWS = 200_000
"""Rows from which memory is released after a load."""

_Key: TypeAlias = tuple[int, str, int, int]


@dataclass(slots=True, eq=False)
class _CachedIndex:
    """Owner index with its lock; ``bytes``: size after the last use."""

    index: OwnerIndex
    lock: Lock = field(default_factory=Lock)
    bytes: int = 0


class IndexCache:
    """LRU cache of indexes by owner and model, up to ``cache_bytes``."""

    def __init__(self, database: SqlDatabase, dialect: SqlDialect, settings: StoreSettings, clock: Clock) -> None:
        self._database, self._dialect = database, dialect
        self._clock = clock
        self._settings = settings
        self._lock = Lock()
        self._indexes: OrderedDict[_Key, _CachedIndex] = OrderedDict()
        self._models: dict[tuple[int, str], tuple[int, int]] = {}
        self.bytes = 0
        """Size of all indexes in memory."""
        register(self)

    def seek(self, seek: CandidateQuery) -> CandidatePool:
        """Find candidates, after all committed changes are indexed."""
        owner, condition = seek.reach.owner, whereclauses.where_clause(seek.where)
        model, dimension = self._find_model(seek.model)
        if seek.vector is not None and dimension and len(seek.vector) != dimension:
            raise InputError(
                f"The query's vector has {len(seek.vector)} dimensions; those of {seek.model!r} have {dimension}.",
                hint="Embed the query with the model of the records.",
            )
        key = (self._database.generation, owner.key, model, dimension)
        cached = self._get_cached(key)
        with cached.lock:
            # No connection is held while waiting for the lock, or during the search.
            try:
                terms, unknown, allowed = self._database.read_as(owner, self._catch_up, cached.index, seek, (model, condition))
            except BaseException:
                # An index that missed rows would never load them.
                self._discard(key)
                raise
            if cached.index.damaged:
                self._drop_damaged(owner, cached.index, model)
            pool = cached.index.pool(seek, terms, unknown, allowed, self._settings.exact_limit)
            grown = cached.index.bytes - cached.bytes
            cached.bytes += grown
        self._trim(grown)
        return pool

    def _find_model(self, name: str) -> tuple[int, int]:
        """Number and dimension of a model, which never change; zeros if unknown."""
        key = (self._database.generation, name)
        found = self._models.get(key) or self._database.read_as(None, records.find_model, name)
        if found[0]:
            self._models[key] = found
        return found

    def _catch_up(
        self, connection: SqlConnection, index: OwnerIndex, seek: CandidateQuery, given: tuple[int, SqlClause]
    ) -> tuple[list[tuple[int, float]], float, Integers | None]:
        """Bring an index up to date; the query's terms and rows."""
        model, condition = given
        _load_rows(connection, index, seek.reach.owner, model)
        forms = seek.forms.forms
        words = {word for term, _ in seek.terms for word in (term, *forms.get(term, ()))}
        return *_weigh_terms(self._dialect.find(connection, index, words), seek), _find_allowed(connection, seek.reach, condition)

    def _drop_damaged(self, owner: Scope, index: OwnerIndex, model: int) -> None:
        """Remove damaged vectors, so that they are made again.

        Where nothing can be written, the next load tries it."""
        with suppress(StoreError):
            self._database.write_as(owner, records.drop_vectors, model, index.damaged, self._clock())
        index.damaged = []

    def drop(self, owner: Scope) -> None:
        """Drop an owner's indexes: purged text must not stay in memory."""
        with self._lock:
            keys = [key for key in self._indexes if key[1] == owner.key]
        for key in keys:
            self._discard(key)

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
        self.bytes = 0

    def _discard(self, key: _Key) -> None:
        with self._lock:
            if key in self._indexes:
                self.bytes -= self._indexes.pop(key).bytes

    def _get_cached(self, key: _Key) -> _CachedIndex:
        from engrams.store.index import OwnerIndex

        with self._lock:
            if key not in self._indexes:
                self._indexes[key] = _CachedIndex(OwnerIndex(key[3]))
            self._indexes.move_to_end(key)
            return self._indexes[key]

    def _trim(self, grown: int) -> None:
        with self._lock:
            self.bytes += grown
            while self.bytes > self._settings.cache_bytes and len(self._indexes) > 1:
                self.bytes -= self._indexes.popitem(last=False)[1].bytes


def _load_rows(connection: SqlConnection, index: OwnerIndex, owner: Scope, model: int) -> None:
    last = fetch_one(connection, "last_change", owner.key)[0]
    if last is None or last <= index.last_change:
        return
    if index.last_change == 0:
        # In order of insertion, so that sessions keep the order of their turns.
        rows = stream_rows(connection, "load_rows", model, owner.key)
        while some := list(islice(rows, _BATCH_ROWS)):
            index.load(some)
        if len(index) > _MANY_ROWS:
            _release_memory(connection)
    # Also after the first load: it skips rows that are not retrievable, whose changes count too.
    before = index.purged_count
    index.apply(stream_rows(connection, "load_changes", model, owner.key, index.last_change))
    if index.purged_count > before:
        # Perhaps by another process: caches of texts here must go too.
        clear_caches()


def _release_memory(connection: SqlConnection) -> None:
    """Give memory back after a load.

    SQLite keeps pages, and glibc freed blocks between small live ones: a fifth of what a million rows take."""
    import ctypes

    connection.execute(query("shrink"))

    trim = getattr(ctypes.CDLL(None), "malloc_trim", None) if sys.platform == "linux" else None
    if trim is not None:
        trim(0)


def _weigh_terms(numbers: Mapping[str, int], seek: CandidateQuery) -> tuple[list[tuple[int, float]], float]:
    """Weigh the known terms, by number, and sum the others.

    A term's forms that are held share its weight: all where the query's language is sure, else only where the term itself is not held."""
    known: list[tuple[int, float]] = []
    unknown = 0.0
    for term, weight in seek.terms:
        held = [numbers[word] for word in (term, *seek.forms.forms.get(term, ())) if word in numbers]
        if term in numbers and not seek.forms.sure:
            held = held[:1]
        known += [(number, weight / len(held)) for number in held]
        unknown += 0.0 if held else weight
    return known, unknown


def _find_allowed(connection: SqlConnection, reach: ScopeReach, condition: SqlClause) -> Integers | None:
    if not condition.text:
        return None
    import numpy as np

    found = join_clauses([whereclauses.reach_clause(reach), condition])
    rows = fetch_composed(connection, f"{query('numbers')} WHERE {found.text}", found.values)
    return np.fromiter((number for (number,) in rows), np.int64)
