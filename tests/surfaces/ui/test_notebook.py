"""The notebook and the timeline, as the API gives them."""

from __future__ import annotations

from datetime import UTC, datetime

import httpx2
import pytest
from tests.surfaces.ui.conftest import Served

from engrams.core import Kind, Turn

pytestmark = pytest.mark.slow


@pytest.mark.covers("S4.62")
def test_the_notebook_groups_by_topic_with_provenance(offline: Served) -> None:
    """What is known stands by whom and what it is about, else by category, each with the words it
    was learned from; turns are no part.
    """
    scope = ("user", "notes")
    offline.engine.observe(
        [
            Turn("I live in Lisbon."),
            Turn("I prefer tea over coffee."),
            Turn("My brother Tomás is a chef."),
        ],
        scope=scope,
    )
    assert offline.engine.drain()
    book = httpx2.get(offline.url + "/v1/notebook", headers={"x-engrams-user": "notes"}).json()
    found = {topic["topic"]: topic["memories"] for topic in book["topics"]}
    assert {"home", "preference", "Tomás"} == set(found)
    assert len(found["Tomás"]) == 2
    assert [memory["object"] for memory in found["home"]] == ["Lisbon"]
    for memories in found.values():
        for memory in memories:
            assert memory["kind"] != "turn" and memory["status"] == "active"
            assert memory["evidence"][0]["quote"] and memory["provenance"]["extractor"]
    rules = httpx2.get(
        offline.url + "/v1/notebook?layer=procedural", headers={"x-engrams-user": "notes"}
    ).json()
    assert rules == {"topics": []}


@pytest.mark.covers("S4.62")
def test_hidden_memories_are_left_out_before_the_limit(offline: Served) -> None:
    """Two visible memories are shown under a limit of two, though three hidden, newer ones came
    after them.
    """
    scope = ("user", "hides")
    for text in ("The cellar key is green.", "The attic key is red."):
        offline.engine.add(Turn(text), scope=scope, kind=Kind.NOTE)
    for number in range(3):
        offline.engine.add(
            Turn(f"Machine note number {number}.", meta={"hidden": True}),
            scope=scope,
            kind=Kind.NOTE,
        )
    book = httpx2.get(
        offline.url + "/v1/notebook?limit=2&layer=semantic", headers={"x-engrams-user": "hides"}
    ).json()
    shown = [memory["text"] for topic in book["topics"] for memory in topic["memories"]]
    assert len(shown) == 2
    assert not any("Machine note" in text for text in shown)


def test_a_piece_of_a_note_file_is_no_memory_of_the_notebook(offline: Served) -> None:
    """What the search knows from a daily note or a document is left out;
    a note that somebody gave stays.
    """
    scope = ("user", "files")
    offline.engine.add("The cellar key is green.", scope=scope, kind=Kind.NOTE)
    offline.engine.add(
        Turn("# 2026-11-22\n\n## 00:49 session end", meta={"note_file": "memory/2026-11-22.md"}),
        scope=scope,
        kind=Kind.NOTE,
    )
    book = httpx2.get(offline.url + "/v1/notebook", headers={"x-engrams-user": "files"}).json()
    assert [memory["text"] for topic in book["topics"] for memory in topic["memories"]] == [
        "The cellar key is green."
    ]


@pytest.mark.covers("S4.62")
def test_an_unknown_owner_has_an_empty_notebook(offline: Served) -> None:
    """Somebody nobody knows sees an empty view, not a failure and not another's memories."""
    offline.engine.add("The cellar key is green.", scope=("user", "known"))
    answer = httpx2.get(offline.url + "/v1/notebook", headers={"x-engrams-user": "unknown-one"})
    assert (answer.status_code, answer.json()) == (200, {"topics": []})
    assert httpx2.get(
        offline.url + "/v1/timeline", headers={"x-engrams-user": "unknown-one"}
    ).json() == {"points": [], "more": False}


def test_the_timeline_counts_by_when_it_was_said(offline: Served) -> None:
    """Equal pieces from the first memory to now, with every memory in exactly one of them."""
    scope = ("user", "times")
    for year in (2020, 2023, 2023):
        offline.engine.add(
            Turn(f"Something of {year}, number {year}.", at=datetime(year, 6, 1, tzinfo=UTC)),
            scope=scope,
            kind=Kind.NOTE,
        )
    line = httpx2.get(
        offline.url + "/v1/timeline?buckets=10", headers={"x-engrams-user": "times"}
    ).json()
    assert len(line["points"]) == 10
    assert line["points"][0]["at"].startswith("2020-06-01")
    stored = offline.engine.stats(scope)["layer"]
    assert sum(sum(point["added"].values()) for point in line["points"]) == sum(stored.values())
    assert line["points"][0]["added"] and not line["more"]
