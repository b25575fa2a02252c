"""Stores of LangGraph, for graphs and for LangMem."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from datetime import datetime
from itertools import islice
from typing import TYPE_CHECKING, Any

from langgraph.store.base import (
    BaseStore,
    GetOp,
    Item,
    ListNamespacesOp,
    PutOp,
    SearchItem,
    SearchOp,
    validate_op_namespace,
)
from langgraph.store.base.batch import AsyncBatchedBaseStore
from langgraph.store.base.embed import ensure_embeddings, get_text_at_path

from engrams.adapters.item_journal import read_item
from engrams.adapters.item_vectors import Distance
from engrams.adapters.namespaced_items import (
    Namespace,
    NamespacedItems,
    NamespacedItemWrite,
    ScopeOf,
    describe_value,
    to_conditions,
)
from engrams.core import Record

if TYPE_CHECKING:
    from engrams.engine import MemoryEngine

_WHOLE = "$"
_SWEEP_MINUTES = 5.0


class LangGraphStoreOperations:
    """LangGraph's operations over the items of an engine."""

    def __init__(
        self,
        engine: MemoryEngine,
        scope: ScopeOf,
        index: Mapping[str, Any] | None,
        ttl: Mapping[str, Any] | None,
    ) -> None:
        self.items = NamespacedItems(engine, scope, "langgraph", ttl)
        self.embeddings = ensure_embeddings(index["embed"]) if index else None
        self.fields: Sequence[str] = (index or {}).get("fields") or [_WHOLE]
        self.distance: Distance = (index or {}).get("distance_type") or "cosine"
        self.sweep_minutes = (ttl or {}).get("sweep_interval_minutes") or _SWEEP_MINUTES

    def list_texts(self, ops: Sequence[Any]) -> tuple[list[str], list[str]]:
        """List the texts to embed, of values and of queries.

        None without an index.
        """
        if self.embeddings is None:
            return [], []
        values = (
            text
            for op in ops
            if isinstance(op, PutOp) and op.value is not None
            for text in self._read_fields(op)
        )
        queries = (op.query for op in ops if isinstance(op, SearchOp) and op.query)
        return list(dict.fromkeys(values)), list(dict.fromkeys(queries))

    def run(
        self,
        ops: Sequence[Any],
        vectors: Mapping[str, Sequence[float]],
        queries: Mapping[str, Sequence[float]],
    ) -> list[Any]:
        """Carry out operations in order; each sees those before it."""
        results: list[Any] = []
        puts: list[NamespacedItemWrite] = []
        for op in ops:
            if isinstance(op, PutOp):
                puts.append(self._to_write(op, vectors))
                results.append(None)
                continue
            self.items.write(puts)
            puts.clear()
            match op:
                case GetOp():
                    results.append(self._get(op))
                case SearchOp():
                    results.append(self._search(op, queries))
                case ListNamespacesOp():
                    results.append(self._list_namespaces(op))
                case _:
                    raise TypeError(f"There is no operation {op!r:.80}.")
        self.items.write(puts)
        return results

    def _read_fields(self, op: Any) -> list[str]:
        """Read the texts of a value's indexed fields; none with ``index=False``."""
        if op.index is False:
            return []
        value = dict(op.value)
        return [
            text for field in (op.index or self.fields) for text in get_text_at_path(value, field)
        ]

    def _to_write(self, op: Any, vectors: Mapping[str, Sequence[float]]) -> NamespacedItemWrite:
        if op.value is None:
            return NamespacedItemWrite(tuple(op.namespace), str(op.key), None)
        fields = [] if op.index is False else list(op.index or self.fields)
        text = (
            describe_value(dict(op.value)) if _WHOLE in fields else "\n".join(self._read_fields(op))
        )
        rows = (
            [vectors[text] for text in dict.fromkeys(self._read_fields(op))]
            if self.embeddings is not None
            else []
        )
        return NamespacedItemWrite(
            namespace=tuple(op.namespace),
            key=str(op.key),
            value=op.value,
            text=text.strip(),
            vectors=rows,
            ttl=op.ttl,
        )

    def _get(self, op: Any) -> Item | None:
        record = self.items.get(tuple(op.namespace), str(op.key))
        if record is None:
            return None
        if op.refresh_ttl:
            self.items.refresh([record])
        return Item(**_to_fields(record))

    def _search(self, op: Any, queries: Mapping[str, Sequence[float]]) -> list[SearchItem]:
        prefix = tuple(op.namespace_prefix)
        where = to_conditions(op.filter or {})
        end = op.offset + op.limit
        matches: Iterable[tuple[Record, float | None]]
        if not op.query:
            matches = ((record, None) for record in self.items.find(prefix, where))
        elif self.embeddings is None:
            matches = self.items.search(prefix, where, op.query, end)
        else:
            matches = self.items.rank(prefix, where, queries[op.query], self.distance)
        chosen = list(islice(matches, op.offset, end))
        if op.refresh_ttl:
            self.items.refresh([record for record, _ in chosen])
        return [SearchItem(**_to_fields(record), score=score) for record, score in chosen]

    def _list_namespaces(self, op: Any) -> list[Namespace]:
        conditions = op.match_conditions or ()
        plain = (
            tuple(condition.path)
            for condition in conditions
            if condition.match_type == "prefix" and "*" not in condition.path
        )
        namespaces = self.items.list_namespaces(max(plain, key=len, default=()))
        chosen = {
            namespace[: op.max_depth]
            for namespace in namespaces
            if all(_matches(namespace, condition) for condition in conditions)
        }
        return sorted(chosen)[op.offset : op.offset + op.limit]


class ExpiredItemSweeper:
    """Thread that purges what outlived its time."""

    def __init__(self, items: NamespacedItems) -> None:
        self._items = items
        self._stop = threading.Event()
        self._thread = threading.Thread()

    def start(self, minutes: float) -> None:
        """Sweep every so many minutes, until stopped."""
        if not self._thread.is_alive():
            self._stop.clear()
            self._thread = threading.Thread(
                target=self._run, args=(minutes * 60,), name="engrams-ttl", daemon=True
            )
            self._thread.start()

    def stop(self, timeout: float | None = None) -> bool:
        """Stop sweeping. True: it has stopped."""
        self._stop.set()
        if self._thread.is_alive():
            self._thread.join(timeout)
        return not self._thread.is_alive()

    def _run(self, seconds: float) -> None:
        while not self._stop.wait(seconds):
            self._items.sweep()


class LangGraphStore(BaseStore):
    """LangGraph store in memory: ``builder.compile(store=LangGraphStore(memory, ("user",
    "ann")))``.

    Values with words are memories like any other, found by every search; others, and those put with
    ``index=False``, are kept for the store alone. Without ``index`` the engine ranks searches, by
    words and by its own embedder.
    """

    supports_ttl = True

    def __init__(
        self,
        engine: MemoryEngine,
        scope: ScopeOf,
        *,
        index: Mapping[str, Any] | None = None,
        ttl: Mapping[str, Any] | None = None,
    ) -> None:
        """Keep the store in a scope, each namespace in its own below.

        ``scope`` may be a function: of ``("memories", "ann")`` it gives ``("user", "ann")``, and of
        its beginnings too, where a search names no more. ``index``: LangGraph's ``IndexConfig``;
        its ``embed`` then ranks. ``ttl``: LangGraph's ``TTLConfig``, in minutes.
        """
        self.index_config = index
        self.ttl_config = ttl
        self._operations = LangGraphStoreOperations(engine, scope, index, ttl)
        self.embeddings: Any = self._operations.embeddings
        self._sweeper = ExpiredItemSweeper(self._operations.items)

    @classmethod
    @contextmanager
    def from_conn_string(
        cls,
        conn_string: str,
        *,
        index: Mapping[str, Any] | None = None,
        ttl: Mapping[str, Any] | None = None,
    ) -> Iterator[LangGraphStore]:
        """Open a store of the settings' owner on its own engine.

        ``conn_string``: a database file, or ``:memory:``.
        """
        with _open_engine(conn_string) as engine:
            store = cls(engine, ("user", engine.settings.owner), index=index, ttl=ttl)
            try:
                yield store
            finally:
                store.stop_ttl_sweeper()

    def setup(self) -> None:
        """Do nothing: an engine prepares its database when it opens."""

    def batch(self, ops: Iterable[Any]) -> list[Any]:
        """Carry out operations in order. InvalidNamespaceError: then none is."""
        checked_ops = _check_ops(ops)
        texts, queries = self._operations.list_texts(checked_ops)
        rows = self.embeddings.embed_documents(texts) if texts else []
        query_vectors = {query: self.embeddings.embed_query(query) for query in queries}
        return self._operations.run(checked_ops, dict(zip(texts, rows, strict=True)), query_vectors)

    async def abatch(self, ops: Iterable[Any]) -> list[Any]:
        """Carry out operations in a thread."""
        return await asyncio.to_thread(self.batch, list(ops))

    def sweep_ttl(self) -> int:
        """Purge what outlived its time; return how many items."""
        return self._operations.items.sweep()

    def start_ttl_sweeper(self, sweep_interval_minutes: float | None = None) -> None:
        """Sweep in a thread, every ``sweep_interval_minutes`` (5)."""
        self._sweeper.start(sweep_interval_minutes or self._operations.sweep_minutes)

    def stop_ttl_sweeper(self, timeout: float | None = None) -> bool:
        """Stop sweeping. True: it has stopped."""
        return self._sweeper.stop(timeout)


class AsyncLangGraphStore(AsyncBatchedBaseStore):
    """LangGraph store for asyncio; as ``LangGraphStore``.

    Made within a running loop; operations of one moment go together.
    """

    supports_ttl = True

    def __init__(
        self,
        engine: MemoryEngine,
        scope: ScopeOf,
        *,
        index: Mapping[str, Any] | None = None,
        ttl: Mapping[str, Any] | None = None,
    ) -> None:
        """Keep the store in a scope; as ``LangGraphStore``."""
        super().__init__()
        self.index_config = index
        self.ttl_config = ttl
        self._operations = LangGraphStoreOperations(engine, scope, index, ttl)
        self.embeddings: Any = self._operations.embeddings
        self._sweeper = ExpiredItemSweeper(self._operations.items)

    @classmethod
    @asynccontextmanager
    async def from_conn_string(
        cls,
        conn_string: str,
        *,
        index: Mapping[str, Any] | None = None,
        ttl: Mapping[str, Any] | None = None,
    ) -> AsyncIterator[AsyncLangGraphStore]:
        """Open a store of the settings' owner on its own engine.

        ``conn_string``: a database file, or ``:memory:``.
        """
        engine = await asyncio.to_thread(_open_engine, conn_string)
        try:
            store = cls(engine, ("user", engine.settings.owner), index=index, ttl=ttl)
            try:
                yield store
            finally:
                await store.stop_ttl_sweeper()
        finally:
            await asyncio.to_thread(engine.close)

    async def setup(self) -> None:
        """Do nothing: an engine prepares its database when it opens."""

    async def abatch(self, ops: Iterable[Any]) -> list[Any]:
        """Carry out operations in order. InvalidNamespaceError: then none is."""
        checked_ops = _check_ops(ops)
        texts, queries = self._operations.list_texts(checked_ops)
        rows = await self.embeddings.aembed_documents(texts) if texts else []
        query_vectors = {query: await self.embeddings.aembed_query(query) for query in queries}
        return await asyncio.to_thread(
            self._operations.run, checked_ops, dict(zip(texts, rows, strict=True)), query_vectors
        )

    def batch(self, ops: Iterable[Any]) -> list[Any]:
        """Carry out operations from another thread than the loop's.

        InvalidStateError: called in the loop's own thread, which would wait for itself.
        """
        self._check_loop()
        return asyncio.run_coroutine_threadsafe(self.abatch(list(ops)), self._loop).result()

    async def sweep_ttl(self) -> int:
        """Purge what outlived its time; return how many items."""
        return await asyncio.to_thread(self._operations.items.sweep)

    async def start_ttl_sweeper(self, sweep_interval_minutes: float | None = None) -> None:
        """Sweep in a thread, every ``sweep_interval_minutes`` (5)."""
        self._sweeper.start(sweep_interval_minutes or self._operations.sweep_minutes)

    async def stop_ttl_sweeper(self, timeout: float | None = None) -> bool:  # noqa: ASYNC109 - LangGraph's own parameter
        """Stop sweeping. True: it has stopped."""
        return await asyncio.to_thread(self._sweeper.stop, timeout)

    def _check_loop(self) -> None:
        try:
            running = asyncio.get_running_loop() is self._loop
        except RuntimeError:
            return
        if running:
            raise asyncio.InvalidStateError(
                "Call this from another thread, or await its async twin, such as `aget`."
            )


def _open_engine(database: str) -> MemoryEngine:
    from engrams.composition import open as open_engine

    return open_engine(store__url=database)


def _check_ops(ops: Iterable[Any]) -> list[Any]:
    checked_ops = list(ops)
    for op in checked_ops:
        validate_op_namespace(op)
    return checked_ops


def _to_fields(record: Record) -> dict[str, Any]:
    item = read_item(record)
    moments = {
        name: datetime.fromisoformat(item[short])
        for name, short in (("created_at", "created"), ("updated_at", "updated"))
    }
    return {
        "value": item["value"],
        "key": item["key"],
        "namespace": tuple(item["namespace"].split(".")),
        **moments,
    }


def _matches(namespace: Namespace, condition: Any) -> bool:
    path = tuple(condition.path)
    if len(namespace) < len(path):
        return False
    labels = (
        namespace[: len(path)]
        if condition.match_type == "prefix"
        else namespace[len(namespace) - len(path) :]
    )
    return all(pattern in ("*", label) for pattern, label in zip(path, labels, strict=True))
