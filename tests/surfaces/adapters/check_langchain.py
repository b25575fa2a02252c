"""LangChain's own tests of retrievers, and what a document holds."""

import asyncio
import sys
from typing import Any

import pytest
from langchain_tests.integration_tests import RetrieversIntegrationTests

import engrams
from engrams.surfaces.adapters import LangChainRetriever

ANN = ("user", "ann")
MEMORY = engrams.open(store__url=":memory:")
for town in ("Oslo", "Bergen", "Lille", "Graz", "Porto"):
    MEMORY.add(f"I lived in {town} for a year.", scope=ANN)


class TestRetriever(RetrieversIntegrationTests):
    """The standard suite."""

    @property
    def retriever_constructor(self) -> Any:
        return LangChainRetriever

    @property
    def retriever_constructor_params(self) -> dict[str, Any]:
        return {"engine": MEMORY, "scope": ANN}

    @property
    def retriever_query_example(self) -> str:
        return "Where did I live?"


def test_a_document() -> None:
    """A document has the memory's id, and says when and by whom it was told; another owner gets none."""
    (found,) = LangChainRetriever(MEMORY, ANN, k=1).invoke("Did I live in Graz?")
    assert "Graz" in found.page_content and MEMORY.get(found.id, scope=ANN).text == found.page_content
    assert found.metadata["by"] == "user" and 0 < found.metadata["score"] <= 1
    assert LangChainRetriever(MEMORY, ("user", "bob")).invoke("Did I live in Graz?") == []
    assert asyncio.run(LangChainRetriever(MEMORY, ANN, k=1).ainvoke("Did I live in Graz?"))[0].id == found.id


if __name__ == "__main__":
    sys.exit(pytest.main([__file__, "-q", "-p", "no:cacheprovider", "-p", "no:benchmark"]))
