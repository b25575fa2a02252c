"""The exchange format: out and in again."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engrams.core import (
    Edge,
    EdgeType,
    Evidence,
    HistoryEntry,
    Kind,
    Layer,
    Provenance,
    Record,
    Scope,
    Status,
    Tier,
)
from engrams.errors import InputError
from engrams.transfer import formats
from engrams.transfer.formats import engrams_jsonl

NOW = datetime(2024, 5, 1, 10, 0, 0, 123456, tzinfo=UTC)
OWNER = Scope(("user", "al/ice"))


def record(id: str = "01", **fields: Any) -> Record:
    """A record with every field set."""
    values: dict[str, Any] = {
        "scope": OWNER.within("project", "x%y"),
        "kind": Kind.FACT,
        "text": "Zoë lives in 京都\u2028now",
        "recorded_at": NOW,
        "layer": Layer.SEMANTIC,
        "tier": Tier.LONGTERM,
        "status": Status.SUPERSEDED,
        "role": "user",
        "speaker": "Zoë",
        "session": "s",
        "external_id": "e",
        "caption": "c",
        "valid_from": NOW - timedelta(days=3),
        "valid_to": NOW,
        "retired_at": NOW,
        "ended_at": NOW,
        "subject": "Zoë",
        "predicate": "lives_in",
        "object": "京都",
        "category": "home",
        "tags": ("a", "b"),
        "triggers": ("t",),
        "steps": ("1", "2"),
        "evidence": (Evidence("q", "s", "Zoë"),),
        "provenance": Provenance(
            channel="import", extractor="rules", prompt="p", reason="r", files=("f",)
        ),
        "importance": 0.1,
        "confidence": 1 / 3,
        "trust": 0.0,
        "strength": 0,
        "access_count": 4,
        "last_accessed": NOW,
        "superseded_by": "02",
        "summary": "s",
        "version": 9,
        "meta": {"k": [1, {"x": None}], "e": ""},
    }
    return Record(id=id, **(values | fields))


def test_export_and_import_give_equal_items(tmp_path: Path) -> None:
    """Records with every field, their history and edges, and edges of their own come back equal and
    in order.
    """
    edge = Edge(
        owner=OWNER, source="01", target="tag:a", type=EdgeType.HAS_TAG, weight=0.25, count=3
    )
    past = HistoryEntry(
        record="01",
        version=2,
        at=NOW,
        action="edit",
        actor="user",
        reason="why",
        before={"text": "old"},
        after={"text": "new", "tags": ["a"]},
    )
    loose = formats.ExportedEdge(Edge(OWNER, "topic:x", "topic:y", EdgeType.CO_OCCURS))
    items = [
        formats.ExportedRecord(record("01"), (edge,), (past,)),
        formats.ExportedRecord(
            Record(id="02", scope=OWNER, kind=Kind.NOTE, text="b", recorded_at=NOW)
        ),
        loose,
    ]
    path = tmp_path / "memory.jsonl"
    assert formats.write(path, items, header={"exported_at": NOW.isoformat()}) == 2
    assert json.loads(path.read_text("utf-8").split("\n")[0]) == {
        "engrams": 1,
        "exported_at": NOW.isoformat(),
    }
    assert formats.detect(path) == "engrams"
    assert list(formats.read(path)) == items


@pytest.mark.covers("S3.50")
@settings(max_examples=60, deadline=None)
@given(
    text=st.text(min_size=1),
    when=st.datetimes(timezones=st.just(UTC)),
    share=st.floats(0, 1),
    meta=st.dictionaries(
        st.text(),
        st.recursive(st.none() | st.booleans() | st.integers() | st.text(), st.lists, max_leaves=5),
    ),
)
def test_any_record_survives_the_trip(
    text: str, when: datetime, share: float, meta: dict[str, Any]
) -> None:
    """Whatever text, time, number and metadata a record has, writing and reading gives an equal
    one.
    """
    one = record(text=text, recorded_at=when, importance=share, meta=meta, valid_from=None)
    lines = "".join(line for line, _ in engrams_jsonl.to_lines([one], {})).split("\n")
    assert [
        item.record
        for item in engrams_jsonl.read(enumerate(lines, 1))
        if isinstance(item, formats.ExportedRecord)
    ] == [one]


@pytest.mark.covers("S3.50")
def test_a_second_export_is_the_same_file(tmp_path: Path) -> None:
    """Exporting what was imported gives the same bytes."""
    first = tmp_path / "a.jsonl"
    second = tmp_path / "b.jsonl"
    edges = (Edge(OWNER, "01", "02", EdgeType.SUPERSEDES),)
    formats.write(
        first, [formats.ExportedRecord(record("01"), edges), formats.ExportedRecord(record("02"))]
    )
    formats.write(
        second,
        [
            item
            for item in formats.read(first)
            if not isinstance(item, formats.UnreadablePiece | formats.ParsedTurn)
        ],
    )
    assert first.read_bytes() == second.read_bytes()


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"kind": "thought"}, "thought"),
        ({"scope": []}, "owner"),
        ({"scope": "alice"}, "scope"),
        ({"recorded_at": "soon"}, "soon"),
        ({"recorded_at": None}, "recorded_at"),
        ({"text": 3}, "text"),
        ({"importance": "high"}, "importance"),
        ({"version": True}, "version"),
        ({"tags": "a"}, "tags"),
        ({"tags": [1]}, "tags"),
        ({"meta": []}, "meta"),
        ({"evidence": [1]}, "evidence"),
        ({"provenance": {"files": "x"}}, "files"),
        ({"status": {}}, ""),
        ({"id": None}, "id"),
    ],
)
def test_wrong_fields_are_named(change: dict[str, Any], named: str, load: Any) -> None:
    """A record with a field of the wrong type is Bad, by line and field, and the next one is read."""
    lines = [
        {"engrams": 1},
        {"record": engrams_jsonl.record_to_json(record()) | change},
        {"record": engrams_jsonl.record_to_json(record("02"))},
    ]
    items, bad = load("\n".join(json.dumps(line, default=str) for line in lines))
    assert [item.record.id for item in items] == ["02"]
    assert [piece.line for piece in bad] == [2]
    assert named in bad[0].message


def test_pieces_that_belong_nowhere(load: Any) -> None:
    """History without its record is Bad, an edge without its record comes alone, unknown lines are
    Bad, unknown fields pass.
    """
    edge = {"owner": ["user", "al"], "source": "99", "target": "tag:x", "type": "has_tag"}
    past = {"record": "98", "version": 1, "at": NOW.isoformat(), "before": {}, "after": {}}
    lines = [
        {"engrams": 1},
        {"edge": edge},
        {"history": past},
        {"else": 1},
        {"record": engrams_jsonl.record_to_json(record()) | {"new_field": 1}},
        {"edge": {}},
    ]
    items, bad = load("\n".join(json.dumps(line) for line in lines))
    assert isinstance(items[0], formats.ExportedEdge)
    assert items[1].record == record()
    assert [piece.line for piece in bad] == [3, 4, 6]


def test_a_newer_format_is_refused(load: Any) -> None:
    """An export of a later format is not half read."""
    with pytest.raises(InputError, match="reads up to 1"):
        load('{"engrams": 2}\n{"record": {}}\n')


def test_an_export_that_fails_leaves_the_old_one(tmp_path: Path) -> None:
    """A file appears only when it is complete:
    what was there stays after a failure, and nothing lies beside it.
    """
    path = tmp_path / "memory.jsonl"
    formats.write(path, [record()])
    before = path.read_bytes()
    with pytest.raises(InputError):
        formats.write(path, [record(), record(meta={"x": object()})])
    assert path.read_bytes() == before
    assert [item.name for item in tmp_path.iterdir()] == ["memory.jsonl"]
    with pytest.raises(InputError, match="cannot be written"):
        formats.write(tmp_path / "no" / "such" / "folder.jsonl", [record()])


def test_markdown_is_a_folder_per_scope_and_a_file_per_day(tmp_path: Path) -> None:
    """Days, sessions, speakers, captions and statuses can be read, and stored text stays text."""
    talk = OWNER.within("conversation", "c")
    turns = [
        Record(
            id="1",
            scope=talk,
            kind=Kind.TURN,
            text="hello\n# <b>big</b>",
            recorded_at=NOW,
            role="user",
            session="s1",
        ),
        Record(
            id="2",
            scope=talk,
            kind=Kind.TURN,
            text="hi",
            recorded_at=NOW,
            role="assistant",
            speaker="Sol",
            session="s1",
            caption="a dog",
        ),
        Record(
            id="3",
            scope=talk,
            kind=Kind.TURN,
            text="next day",
            recorded_at=NOW + timedelta(days=1),
            role="user",
            session="s2",
        ),
        Record(
            id="4",
            scope=talk,
            kind=Kind.FACT,
            text="A lives in B",
            recorded_at=NOW,
            status=Status.FORGOTTEN,
            valid_to=NOW,
        ),
    ]
    assert formats.write(tmp_path / "out", turns, "markdown") == 4
    folder = tmp_path / "out" / "user" / "al%2Fice" / "conversation" / "c"
    assert sorted(item.name for item in folder.iterdir()) == ["2024-05-01.md", "2024-05-02.md"]
    assert (
        (folder / "2024-05-01.md").read_text("utf-8")
        == "# 2024-05-01\n\n## s1\n\n- 10:00 **user:** hello"
        "\n  # &lt;b>big&lt;/b>\n- 10:00 **Sol:** hi _[a dog]_\n\n"
        "## Memories\n\n- 10:00 _fact_ A lives in B _(until 2024-05-01)_ _(forgotten)_\n"
    )
    formats.write(tmp_path / "out", turns[:1], "markdown")
    assert (folder / "2024-05-01.md").read_text("utf-8").count("hello") == 1


@pytest.mark.parametrize(
    "label",
    [
        "..",
        ".",
        "a/../../b",
        "C:\\x",
        "CON",
        "con.txt",
        "x" * 199,
        "名" * 100,
        " a ",
        "%2F",
        "a\u202eb",
        "nul",
    ],
)
def test_markdown_stays_inside_its_folder(tmp_path: Path, label: str) -> None:
    """No scope label leads out of the folder or to a name that a system refuses, and no two share
    one.
    """
    scopes = [Scope(("user", label)), Scope(("user", "x" * 198 + "y")), Scope(("user", "/"))]
    formats.write(
        tmp_path / "out",
        [
            Record(id=str(n), scope=scope, kind=Kind.NOTE, text="t", recorded_at=NOW)
            for n, scope in enumerate(scopes)
        ],
        "markdown",
    )
    files = list(tmp_path.rglob("*.md"))
    assert len(files) == 3
    assert all(len(path.relative_to(tmp_path / "out").parts) == 3 for path in files)
