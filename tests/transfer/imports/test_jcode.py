"""jcode's own files come in whole: kinds, tags, links, strength, and what is no longer true."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from engrams.core import EdgeType, Kind, Scope, Status
from engrams.testing import temp_engine

ANN = ("user", "ann")


def make_entry(
    entry_id: str, content: str, category: Any = "fact", **fields: Any
) -> dict[str, Any]:
    """An entry with the fields that jcode always writes."""
    return {
        "id": entry_id,
        "category": category,
        "content": content,
        "tags": [],
        "created_at": "2026-02-01T10:00:00Z",
        "updated_at": "2026-03-05T10:00:00Z",
        "access_count": 2,
        "source": "session_fox",
        "trust": "high",
        "strength": 1,
        "active": True,
        "confidence": 0.8,
        **fields,
    }


ENTRIES = [
    make_entry("mem_1", "The staging database is called crane", tags=["staging"], strength=4),
    make_entry("mem_2", "Prefers tabs over spaces", "preference"),
    make_entry("mem_3", "Tests use sqlite in memory", active=False, superseded_by="mem_4"),
    make_entry("mem_4", "Tests use Postgres in a container", "correction"),
    make_entry("mem_5", "Cut a release with make ship", {"custom": "Release"}),
]
EDGES = {
    "mem_1": [
        {"target": "tag:database", "kind": "has_tag"},
        {"target": "mem_4", "kind": "relates_to", "weight": 0.4},
        {"target": "cluster:7", "kind": "in_cluster"},
        {"target": "mem_99", "kind": "relates_to", "weight": 0.9},
    ],
    "mem_4": [{"target": "mem_3", "kind": "supersedes"}],
}
GRAPH = {
    "graph_version": 2,
    "memories": {entry["id"]: entry for entry in ENTRIES},
    "tags": {},
    "clusters": {},
    "edges": EDGES,
    "metadata": {"retrieval_count": 3},
}


@pytest.mark.parametrize("preset", ["default", "graph"])
def test_a_graph_comes_in_whole(tmp_path: Path, preset: str) -> None:
    """Each memory keeps its kind, category, tags, strength, confidence, time and session; its links
    lead to the same memories; what was replaced is history.
    """
    folder = tmp_path / ".jcode" / "memory"
    folder.mkdir(parents=True)
    folder.joinpath("graph.json").write_text(json.dumps(GRAPH), "utf-8")
    with temp_engine(preset=preset, jobs__workers=0) as engine:
        counts = engine.load(folder, scope=ANN)
        assert (counts.stored, counts.edges, counts.bad) == (5, 2, [])
        records = {
            record.external_id: record
            for record in engine.list(scope=ANN, statuses=[*Status], limit=50).records
        }
        kinds = {external_id: record.kind for external_id, record in records.items()}
        assert kinds == {
            "mem_1": Kind.FACT,
            "mem_2": Kind.PREFERENCE,
            "mem_3": Kind.FACT,
            "mem_4": Kind.CORRECTION,
            "mem_5": Kind.FACT,
        }
        crane = records["mem_1"]
        assert (crane.strength, crane.confidence, crane.session) == (4, 0.8, "session_fox")
        assert set(crane.tags) == {"staging", "database"}
        assert crane.recorded_at.isoformat() == "2026-02-01T10:00:00+00:00"
        assert records["mem_5"].category == "release"
        assert records["mem_3"].status is Status.SUPERSEDED
        assert [record.status for record in records.values()].count(Status.ACTIVE) == 4
        stored_edges = engine.inspect.edges(Scope(ANN), [crane.id, records["mem_4"].id])
        edges = {(edge.source, edge.target, edge.type, edge.weight) for edge in stored_edges}
        assert (crane.id, records["mem_4"].id, EdgeType.RELATES_TO, 0.4) in edges
        assert (records["mem_4"].id, records["mem_3"].id, EdgeType.SUPERSEDES, 1.0) in edges
        again = engine.load(folder, scope=ANN)
        assert (again.stored, again.existing) == (0, 5)


def test_a_store_of_entries_and_a_list_come_in_too(tmp_path: Path) -> None:
    """The older ``global.json`` with a list of entries, and a bare list of them, are read alike."""
    for content in ({"entries": ENTRIES, "metadata": {"version": "1"}}, ENTRIES):
        file = tmp_path / "global.json"
        file.write_text(json.dumps(content), "utf-8")
        with temp_engine(jobs__workers=0) as engine:
            counts = engine.load(file, scope=ANN)
            assert (counts.stored, counts.bad) == (5, [])
            superseded = engine.list(scope=ANN, statuses=[Status.SUPERSEDED]).records
            assert [record.external_id for record in superseded] == ["mem_3"]


@pytest.mark.covers("S3.23", "S3.35", "S3.36")
def test_use_repetitions_and_triggers_come_in(tmp_path: Path) -> None:
    """How often an entry was used and repeated stays with it, and so does what brings it up. What
    took an entry's place is linked with it, though no edge of the file says so.
    """
    repeated = {"session_id": "s2", "message_index": 4, "timestamp": "2026-01-03T10:00:00Z"}
    procedure = {
        "trigger": "cut a release",
        "steps": ["run the tests", "make ship"],
        "prerequisites": ["the VPN is up"],
        "warnings": ["never on Fridays"],
    }
    entries = [
        make_entry("m1", "The queue is RabbitMQ", access_count=7, reinforcements=[repeated]),
        make_entry("m2", "Keep logs structured", "negative", trigger_patterns=["println!"]),
        make_entry("m3", "Release", "procedure", **procedure),
        make_entry("m4", "Tests use sqlite", active=False, superseded_by="m1"),
        make_entry("m5", "Tests are fast", reinforcements=[{"timestamp": "soon"}]),
    ]
    file = tmp_path / "global.json"
    file.write_text(json.dumps({"entries": entries}), "utf-8")
    with temp_engine(preset="graph", jobs__workers=0) as engine:
        counts = engine.load(file, scope=ANN)
        assert (counts.stored, counts.edges, len(counts.bad)) == (4, 1, 1)
        records = {
            record.external_id: record
            for record in engine.list(scope=ANN, statuses=[*Status]).records
        }
        queue = records["m1"]
        assert queue.access_count == 7
        assert queue.meta["reinforcements"] == [
            {"session": "s2", "at": "2026-01-03T10:00:00+00:00", "message_index": 4}
        ]
        (edge,) = engine.inspect.edges(Scope(ANN), [queue.id], (EdgeType.SUPERSEDES,))
        assert (edge.source, edge.target) == (queue.id, records["m4"].id)
        found = engine.search('println!("{x}")', scope=ANN).hits
        assert [hit.record.external_id for hit in found][:1] == ["m2"]
        text = engine.context("Please cut a release today", scope=ANN).text
        assert "Before: the VPN is up" in text and "Warning: never on Fridays" in text
        assert "1) run the tests; 2) make ship" in text


def test_an_odd_entry_is_named_and_the_rest_comes_in(tmp_path: Path) -> None:
    """An entry without a text, with an odd time or without an id is left out with its reason."""
    odd = [
        make_entry("mem_6", ""),
        make_entry("mem_7", "Deploys on Friday", created_at="soon"),
        make_entry("", "Nobody's"),
    ]
    file = tmp_path / "graph.json"
    memories = {str(number): entry for number, entry in enumerate([*odd, *ENTRIES])}
    edges: dict[str, Any] = {"3": "x", "4": [7, {"kind": "relates_to"}]}
    file.write_text(json.dumps({"graph_version": 2, "memories": memories, "edges": edges}), "utf-8")
    with temp_engine(jobs__workers=0) as engine:
        counts = engine.load(file, scope=ANN)
        assert counts.stored == 5 and len(counts.bad) == 3
        reasons = " ".join(reason for _, reason in counts.bad)
        assert "no text" in reasons and "no id" in reasons and "soon" in reasons
