"""The ports of memory itself, for components that use the engine from below."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol, Unpack

from engrams.core import Kind, Receipt, Record, Scope, SearchResult
from engrams.ports.record_queries import ListFields, RecordPage


class MemoryReader(Protocol):
    """Reads of memories by id, and page by page."""

    def get(self, id: str, *, scope: Scope) -> Record: ...

    def get_editable(self, id: str, scope: Scope) -> Record: ...

    def list(self, *, scope: Scope, **fields: Unpack[ListFields]) -> RecordPage: ...


class MemoryApi(Protocol):
    """Reads and writes as a person asks for them."""

    def add(self, content: str, *, scope: Scope, kind: Kind | None = None) -> Receipt: ...

    def forget(self, id: str, *, scope: Scope, reason: str = "") -> Record: ...

    def get(self, id: str, *, scope: Scope) -> Record: ...

    def list(self, *, scope: Scope, **fields: Unpack[ListFields]) -> RecordPage: ...

    def restore(self, id: str, *, scope: Scope) -> Record: ...

    def search(
        self,
        query: str,
        *,
        scope: Scope,
        limit: int | None = None,
        kinds: Sequence[Kind] = (),
    ) -> SearchResult: ...

    def stats(self, scope: Scope | None = None) -> dict[str, Any]: ...
