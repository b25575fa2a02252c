"""Retriever and key-value store of LangChain."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from langchain_core.callbacks import CallbackManagerForRetrieverRun
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever
from langchain_core.stores import BaseStore

from engrams.adapters.item_journal import ITEM, read_item
from engrams.adapters.namespaced_items import NamespacedItems, NamespacedItemWrite, describe_value
from engrams.core import Hit, Scope, ScopeInput

if TYPE_CHECKING:
    from engrams.engine import MemoryEngine


class LangChainRetriever(BaseRetriever):
    """Memories of a scope as documents, best first."""

    engine: Any
    scope: Any
    k: int = 10

    def __init__(
        self, engine: MemoryEngine, scope: ScopeInput, *, k: int = 10, **fields: Any
    ) -> None:
        """Retrieve from one scope.

        ``k``: documents at most. ``fields``: those of ``BaseRetriever``, such as ``tags``.
        """
        super().__init__(engine=engine, scope=Scope.of(scope), k=k, **fields)

    def _get_relevant_documents(
        self, query: str, *, run_manager: CallbackManagerForRetrieverRun, k: int | None = None
    ) -> list[Document]:
        result = self.engine.search(query, scope=self.scope, limit=self.k if k is None else k)
        return [_to_document(hit) for hit in result.hits]


class LangChainStore(BaseStore[str, Any]):
    """JSON values under keys, for chains that take a ``BaseStore``.

    A value with words is a memory like any other, found by every search.
    """

    def __init__(self, engine: MemoryEngine, scope: ScopeInput, *, name: str = "store") -> None:
        """Keep the values of one store in a scope.

        ``name``: tells it from the other stores of the scope.
        """
        self._items = NamespacedItems(engine, scope, "langchain")
        self._namespace = (name,)

    def mget(self, keys: Sequence[str]) -> list[Any]:
        """Return the value of each key; None where there is none."""
        records = (self._items.get(self._namespace, key) for key in keys)
        return [
            None if record is None else read_item(record)["value"]["value"] for record in records
        ]

    def mset(self, key_value_pairs: Sequence[tuple[str, Any]]) -> None:
        """Store JSON values.

        RefusedError: one holds a secret and ``write.secrets`` is ``refuse``.
        """
        pairs = [
            (self._namespace, key, {"value": value}, describe_value(value))
            for key, value in key_value_pairs
        ]
        self._items.write([NamespacedItemWrite(*pair) for pair in pairs])

    def mdelete(self, keys: Sequence[str]) -> None:
        """Erase values, with what was learned from them alone."""
        self._items.write([NamespacedItemWrite(self._namespace, key, None) for key in keys])

    def yield_keys(self, *, prefix: str | None = None) -> Iterator[str]:
        """Yield the keys that begin so, all without ``prefix``."""
        keys = (str(record.meta[ITEM]["key"]) for record in self._items.find(self._namespace))
        yield from (key for key in keys if key.startswith(prefix or ""))


def _to_document(hit: Hit) -> Document:
    record = hit.record
    said_at = (record.valid_from or record.recorded_at).isoformat()
    fields = {
        "score": hit.score,
        "kind": record.kind.value,
        "at": said_at,
        "by": record.speaker or record.role,
        "session": record.session,
    }
    return Document(
        id=record.id, page_content=record.search_text, metadata={**fields, **record.meta}
    )
