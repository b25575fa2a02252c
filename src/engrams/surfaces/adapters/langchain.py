"""Retriever of LangChain."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from langchain_core.callbacks import CallbackManagerForRetrieverRun
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever

from engrams.types import Hit, Scope, ScopeInput

if TYPE_CHECKING:
    from engrams.engine import MemoryEngine


class LangChainRetriever(BaseRetriever):
    """Memories of a scope as documents, best first."""

    engine: Any
    scope: Any
    k: int = 10

    def __init__(self, engine: MemoryEngine, scope: ScopeInput, *, k: int = 10, **fields: Any) -> None:
        """Retrieve from one scope.

        ``k``: documents at most. ``fields``: those of ``BaseRetriever``, such as ``tags``."""
        super().__init__(engine=engine, scope=Scope.of(scope), k=k, **fields)

    def _get_relevant_documents(self, query: str, *, run_manager: CallbackManagerForRetrieverRun, k: int | None = None) -> list[Document]:
        found = self.engine.search(query, scope=self.scope, limit=self.k if k is None else k)
        return [_to_document(hit) for hit in found.hits]


def _to_document(hit: Hit) -> Document:
    record = hit.record
    said = (record.valid_from or record.recorded_at).isoformat()
    told = {"score": hit.score, "kind": record.kind.value, "at": said, "by": record.speaker or record.role, "session": record.session}
    return Document(id=record.id, page_content=record.search_text, metadata={**told, **record.meta})
