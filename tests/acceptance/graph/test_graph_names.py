"""Clusters of preset `graph` have names wherever they are shown, in words that memory still holds."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import httpx2
import pytest
from tests.read.vectors import Angles
from tests.surfaces.http.running import running

from engrams.program.registry import create_app
from engrams.testing import ScriptedModel, temp_engine

HEADERS = {"x-engrams-user": "ann"}
TEXTS = ("A train to Oslo", "A tram to the harbour")


@pytest.fixture
def model() -> Iterator[ScriptedModel]:
    with ScriptedModel() as server:
        yield server


def grouped(url: str, ask: str = "train or tram") -> list[str]:
    """Add two memories of one cluster, and search as often as it takes until clusters are made;
    ids.
    """
    ids = [
        httpx2.post(url + "/v1/memories", json={"text": text, "kind": "fact"}, headers=HEADERS)
        for text in TEXTS
    ]
    for _ in range(50):
        httpx2.post(url + "/v1/search", json={"query": ask}, headers=HEADERS)
    return [str(answer.json()["results"][0]["id"]) for answer in ids]


def shown(url: str) -> tuple[list[str], list[str]]:
    """The labels of clusters in the graph, and the topics of the notebook."""
    graph: dict[str, Any] = httpx2.get(
        url + "/v1/graph", params={"view": "memories"}, headers=HEADERS
    ).json()
    book = httpx2.get(url + "/v1/notebook", headers=HEADERS).json()
    return [node["label"] for node in graph["nodes"] if node["type"] == "topic"], [
        topic["topic"] for topic in book["topics"]
    ]


def angles() -> Angles:
    made = Angles()
    for place, text in enumerate((*TEXTS, "A bus to Oslo")):
        made.put(text, 1.0 - place / 20)
    return made


@pytest.mark.slow
def test_a_cluster_is_shown_by_the_name_the_model_gave(model: ScriptedModel) -> None:
    """The graph and the notebook say "Ways through town", no id."""
    model.when("names", {"names": [{"id": 1, "name": "Ways through town"}]})
    chat = {
        "chat__provider": "openai",
        "chat__model": "m",
        "chat__url": model.url,
        "write__policy": "off",
    }
    with (
        temp_engine(preset="graph", embedder=angles(), **chat) as engine,
        running(create_app(engine, engine.settings)) as url,
    ):
        grouped(url)
        assert engine.drain()
        assert shown(url) == (["Ways through town"], ["Ways through town"])


@pytest.mark.slow
def test_a_name_quotes_nothing_that_was_forgotten_or_edited() -> None:
    """Rules name a cluster by a member; edited or forgotten, its old words are in no name."""
    fixed: dict[str, Any] = {"topics__names": "text", "topics__tags": False, "preset": "graph"}
    with (
        temp_engine(embedder=angles(), **fixed) as engine,
        running(create_app(engine, engine.settings)) as url,
    ):
        first, _ = grouped(url)
        assert engine.drain()
        assert shown(url) == ([TEXTS[0]], [TEXTS[0]])
        httpx2.patch(
            f"{url}/v1/memories/{first}", json={"text": "A bus to Oslo"}, headers=HEADERS
        ).raise_for_status()
        assert shown(url) == (["A bus to Oslo"], ["A bus to Oslo"])
        httpx2.delete(f"{url}/v1/memories/{first}", headers=HEADERS).raise_for_status()
        assert shown(url) == ([TEXTS[1]], [TEXTS[1]])
