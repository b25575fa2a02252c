"""Storage of CrewAI's memory."""

from __future__ import annotations

import asyncio
import threading
from collections import Counter, OrderedDict
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime
from functools import partial
from hashlib import blake2b
from typing import TYPE_CHECKING, Any

from crewai.memory.types import MemoryRecord, ScopeInfo

from engrams.adapters.item_journal import (
    ITEM,
    LISTED_STATUSES,
    FrameworkItem,
    FrameworkItemJournal,
    hash_key,
    list_items,
)
from engrams.core import Record, Scope, ScopeInput
from engrams.errors import InputError
from engrams.ports import Condition, Where

if TYPE_CHECKING:
    from engrams.engine import MemoryEngine

_ADAPTER = "crewai"
_KEYS = 4096
"""Texts whose keys are remembered until a search asks with them."""
_OVERSAMPLE = 10


class CrewAIStorage:
    """Memory of a scope, for ``Memory(storage=storage, embedder=storage.embed)``.

    CrewAI searches by a vector; ``embed`` gives each text one that stands for it, so that engrams
    can search by words and by meaning. CrewAI's own scopes (``/crew/agent``), categories and
    metadata are kept with each record.
    """

    def __init__(self, engine: MemoryEngine, scope: ScopeInput) -> None:
        """Keep CrewAI's records in one scope of memory."""
        self._engine = engine
        self._scope = Scope.of(scope)
        self._journal = FrameworkItemJournal(engine, self._scope, _ADAPTER, {}, "")
        self._texts: OrderedDict[tuple[float, ...], str] = OrderedDict()
        self._lock = threading.Lock()

    def embed(self, texts: Sequence[str]) -> list[list[float]]:
        """Return a vector for each text: equal texts have equal ones."""
        vectors = [_key_vector(text) for text in texts]
        with self._lock:
            for vector, text in zip(vectors, texts, strict=True):
                self._texts[tuple(vector)] = text
                self._texts.move_to_end(tuple(vector))
            while len(self._texts) > _KEYS:
                self._texts.popitem(last=False)
        return vectors

    def save(self, records: Sequence[MemoryRecord]) -> None:
        """Store records in one durable write."""
        self._journal.append(
            [
                FrameworkItem(record.model_dump(mode="json"), record.content, key=record.id)
                for record in records
            ]
        )

    def search(
        self,
        query_embedding: Sequence[float],
        scope_prefix: str | None = None,
        categories: Sequence[str] | None = None,
        metadata_filter: Mapping[str, Any] | None = None,
        limit: int = 10,
        min_score: float = 0.0,
    ) -> list[tuple[MemoryRecord, float]]:
        """Find records, best first, with scores of 0 to 1.

        InputError: the vector is of another embedder.
        """
        with self._lock:
            text = self._texts.get(tuple(query_embedding))
        if text is None:
            raise InputError(
                "This vector is not from this storage.",
                hint="Write Memory(storage=storage, embedder=storage.embed).",
            )
        fits = _make_filter(scope_prefix, categories, metadata_filter)
        where = Where("and", (Condition(f"meta.{ITEM}.adapter", "eq", _ADAPTER),))
        result = self._engine.search(
            text, scope=self._scope, limit=limit * _OVERSAMPLE, where=where
        )
        scored = ((_to_crew(hit.record), min(max(hit.score, 0.0), 1.0)) for hit in result.hits)
        return [(record, score) for record, score in scored if score >= min_score and fits(record)][
            :limit
        ]

    def delete(
        self,
        scope_prefix: str | None = None,
        categories: Sequence[str] | None = None,
        record_ids: Sequence[str] | None = None,
        older_than: datetime | None = None,
        metadata_filter: Mapping[str, Any] | None = None,
    ) -> int:
        """Erase the records that fit every argument; return how many."""
        fits = _make_filter(scope_prefix, categories, metadata_filter)
        memory_ids = [
            memory.id
            for memory, record in self._read()
            if fits(record)
            and (record_ids is None or record.id in record_ids)
            and (older_than is None or record.created_at < older_than)
        ]
        if memory_ids:
            self._engine.purge(memory_ids, scope=self._scope)
        return len(memory_ids)

    def update(self, record: MemoryRecord) -> None:
        """Replace a record; an unknown one is stored."""
        memory = self._find(record.id)
        if memory is None:
            self.save([record])
            return
        meta = {**memory.meta, ITEM: {**memory.meta[ITEM], "data": record.model_dump(mode="json")}}
        text = record.content if record.content != memory.text else None
        self._engine.edit(
            memory.id,
            scope=self._scope,
            text=text,
            fields={"meta": meta},
            reason="CrewAI updated it",
        )

    def get_record(self, record_id: str) -> MemoryRecord | None:
        """Return a record, or None."""
        memory = self._find(record_id)
        return None if memory is None else _to_crew(memory)

    def list_records(
        self, scope_prefix: str | None = None, limit: int = 200, offset: int = 0
    ) -> list[MemoryRecord]:
        """List records, newest first."""
        records = sorted(
            self._list(scope_prefix), key=lambda record: record.created_at, reverse=True
        )
        return records[offset : offset + limit]

    def get_scope_info(self, scope: str) -> ScopeInfo:
        """Describe a CrewAI scope with all that is below it."""
        records = self._list(scope)
        times = sorted(record.created_at for record in records)
        return ScopeInfo(
            path=scope,
            record_count=len(records),
            categories=sorted({name for record in records for name in record.categories}),
            oldest_record=times[0] if times else None,
            newest_record=times[-1] if times else None,
            child_scopes=self.list_scopes(scope),
        )

    def list_scopes(self, parent: str = "/") -> list[str]:
        """List the CrewAI scopes directly below one."""
        stem = parent.rstrip("/") + "/"
        paths_below = (
            record.scope[len(stem) :]
            for record in self._list(parent)
            if record.scope.startswith(stem)
        )
        return sorted({stem + path.split("/")[0] for path in paths_below if path})

    def list_categories(self, scope_prefix: str | None = None) -> dict[str, int]:
        """Count records by category."""
        return dict(
            Counter(name for record in self._list(scope_prefix) for name in record.categories)
        )

    def count(self, scope_prefix: str | None = None) -> int:
        """Count records."""
        return len(self._list(scope_prefix))

    def reset(self, scope_prefix: str | None = None) -> None:
        """Erase all records, or those of a CrewAI scope."""
        self.delete(scope_prefix)

    async def asave(self, records: Sequence[MemoryRecord]) -> None:
        """Store records in one durable write."""
        await asyncio.to_thread(self.save, records)

    async def asearch(
        self, query_embedding: Sequence[float], **filters: Any
    ) -> list[tuple[MemoryRecord, float]]:
        """Find records, best first."""
        return await asyncio.to_thread(partial(self.search, query_embedding, **filters))

    async def adelete(self, scope_prefix: str | None = None, **filters: Any) -> int:
        """Erase the records that fit every argument; return how many."""
        return await asyncio.to_thread(partial(self.delete, scope_prefix, **filters))

    def _read(self) -> Iterator[tuple[Record, MemoryRecord]]:
        for memory in list(list_items(self._engine, self._scope, {"adapter": _ADAPTER})):
            yield memory, _to_crew(memory)

    def _list(self, prefix: str | None) -> list[MemoryRecord]:
        fits = _make_filter(prefix, None, None)
        return [record for _, record in self._read() if fits(record)]

    def _find(self, id: str) -> Record | None:
        where = Where(
            "and",
            (
                Condition("external_id", "eq", hash_key(_ADAPTER, id)),
                Condition("scope", "eq", self._scope.key),
            ),
        )
        return next(
            iter(
                self._engine.list(
                    scope=self._scope, statuses=LISTED_STATUSES, where=where, limit=1
                ).records
            ),
            None,
        )


def _to_crew(memory: Record) -> MemoryRecord:
    """Convert a memory, with its text of today."""
    return MemoryRecord.model_validate({**memory.meta[ITEM]["data"], "content": memory.text})


def _make_filter(
    prefix: str | None, categories: Sequence[str] | None, metadata: Mapping[str, Any] | None
) -> Callable[[MemoryRecord], bool]:
    stem = (prefix or "/").rstrip("/")
    wanted_categories = set(categories or ())

    def fits(record: MemoryRecord) -> bool:
        is_in_scope = record.scope == stem or record.scope.startswith(stem + "/")
        has_category = not wanted_categories or bool(wanted_categories & set(record.categories))
        return (
            is_in_scope
            and has_category
            and all(record.metadata.get(name) == value for name, value in (metadata or {}).items())
        )

    return fits


def _key_vector(text: str) -> list[float]:
    """Make a vector of length 1 that equal texts alone have."""
    raw = [
        byte - 127.5 for byte in blake2b(text.encode("utf-8", "replace"), digest_size=64).digest()
    ]
    length = sum(value * value for value in raw) ** 0.5
    return [value / length for value in raw]
