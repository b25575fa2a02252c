"""Hold our retriever and our key-value store to the standard tests that LangChain publishes for
integrations.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from langchain_tests.integration_tests import (
    BaseStoreAsyncTests,
    BaseStoreSyncTests,
    RetrieversIntegrationTests,
)

import engrams
from engrams.adapters import LangChainRetriever, LangChainStore

ANN = ("user", "ann")


@pytest.fixture
def memory() -> Iterator[engrams.MemoryEngine]:
    with engrams.open(store__url=":memory:", jobs__workers=0) as engine:
        yield engine


class TestRetriever(RetrieversIntegrationTests):
    @pytest.fixture(autouse=True)
    def five_towns(self, memory: engrams.MemoryEngine) -> None:
        for town in ("Oslo", "Bergen", "Lille", "Graz", "Porto"):
            memory.add(f"I lived in {town} for a year.", scope=ANN)
        self.memory = memory

    @property
    def retriever_constructor(self) -> Any:
        return LangChainRetriever

    @property
    def retriever_constructor_params(self) -> dict[str, Any]:
        return {"engine": self.memory, "scope": ANN}

    @property
    def retriever_query_example(self) -> str:
        return "Where did I live?"


class TestStore(BaseStoreSyncTests[Any]):
    @pytest.fixture
    def kv_store(self, memory: engrams.MemoryEngine) -> LangChainStore:
        return LangChainStore(memory, ANN)

    @pytest.fixture
    def three_values(self) -> tuple[Any, Any, Any]:
        return "I lived in Oslo.", {"title": "Towns", "rating": 3}, [1, 2.5, None]


class TestAwaitedStore(BaseStoreAsyncTests[Any]):
    @pytest.fixture
    async def kv_store(self, memory: engrams.MemoryEngine) -> LangChainStore:
        return LangChainStore(memory, ANN)

    @pytest.fixture
    def three_values(self) -> tuple[Any, Any, Any]:
        return "I lived in Oslo.", {"title": "Towns", "rating": 3}, [1, 2.5, None]
