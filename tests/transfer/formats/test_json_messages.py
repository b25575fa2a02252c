"""Turns as JSON, plain lines, and what other memory systems export."""

from __future__ import annotations

import io
import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from engrams.core import Kind, Scope
from engrams.transfer import formats

SHARED = Path(__file__).parents[3] / "shared" / "data"


def test_jsonl_fields_and_their_other_names(load: Any) -> None:
    """Every spelling of a field is understood, and numbers count as names."""
    lines = [
        {
            "text": "a",
            "role": "user",
            "speaker": "Ann",
            "at": "2024-05-01T10:00:00+02:00",
            "session": 3,
            "id": 7,
            "caption": "cat",
        },
        {
            "content": [{"type": "text", "text": "b"}, {"type": "image"}],
            "role": "assistant",
            "date": "2024-05-01",
            "conversation_id": "c9",
        },
        {
            "message": {"role": "human", "content": "c"},
            "timestamp": 1714550400000,
            "metadata": {"x": [1]},
            "tags": ["t", 3, None],
        },
        {
            "message": "d",
            "name": "Bob",
            "created_at": "1:56 pm on 8 May, 2023",
            "conversation": "c9",
            "session": "s",
        },
    ]
    items, bad = load("\n".join(json.dumps(line) for line in lines))
    assert not bad
    a, b, c, d = (item.turn for item in items)
    assert (a.text, a.role, a.speaker, a.session, a.external_id, a.caption) == (
        "a",
        "user",
        "Ann",
        "3",
        "7",
        "cat",
    )
    assert a.at == datetime(2024, 5, 1, 8, tzinfo=UTC)
    assert (b.text, b.role, b.session, items[1].conversation) == ("b", "assistant", "c9", "c9")
    assert (c.text, c.role, c.meta, c.stated.tags) == ("c", "user", {"x": [1]}, ("t", "3"))
    assert c.at == datetime(2024, 5, 1, 8, tzinfo=UTC)
    assert (d.text, d.speaker, d.session, items[3].conversation) == ("d", "Bob", "s", "c9")
    assert d.at == datetime(2023, 5, 8, 13, 56, tzinfo=UTC)


def test_bad_lines_stand_alone(load: Any) -> None:
    """Lines that are no JSON, no object, without text or with a time nobody understands are named;
    the rest is read.
    """
    text = (
        '{"text":"one"}\nnot'
        ' json\n\n[1]\n{"role":"user"}\n{"text":"x","at":"whenever"}\n{"text":"two"}\n{"text":"cut'
    )
    items, bad = load(text)
    assert [item.turn.text for item in items] == ["one", "two"]
    assert [piece.line for piece in bad] == [2, 4, 5, 6, 8]
    assert all(piece.message for piece in bad)


def test_ids_stay_when_a_file_grows_or_is_mended(load: Any) -> None:
    """The ids of turns without one do not change when lines are appended or a broken line is
    repaired.
    """
    first, _ = load('{"text":"a"}\nbroken\n{"text":"a"}\n')
    again, _ = load('{"text":"a"}\n{"text":"b"}\n{"text":"a"}\n{"text":"c"}\n')
    ids = [item.turn.external_id for item in first]
    assert len(set(ids)) == 2
    assert [item.turn.external_id for item in again if item.turn.text == "a"] == ids


def test_lists_of_messages_are_conversations(load: Any) -> None:
    """Objects with ``messages``, one a line or in a list, are one conversation each."""
    talk = {
        "id": "t1",
        "messages": [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "hello"}],
    }
    other = {**talk, "id": "t2"}
    for content in (
        f"{json.dumps(talk)}\n{json.dumps(other)}\n",
        json.dumps([talk, other], indent=2),
    ):
        items, bad = load(content)
        assert not bad
        assert [item.conversation for item in items] == ["t1", "t1", "t2", "t2"]
        assert len({item.turn.external_id for item in items}) == 4


def test_json_list_of_turns_and_strings(load: Any) -> None:
    """A JSON list holds turns (objects) and memories (strings);
    so does a list under ``memories``.
    """
    for content in (
        ["plain", {"text": "said", "role": "user"}],
        {"memories": ["plain", {"text": "said", "role": "user"}]},
    ):
        items, bad = load(content)
        assert not bad
        assert [(item.turn.text, item.kind) for item in items] == [
            ("plain", Kind.NOTE),
            ("said", Kind.TURN),
        ]


@pytest.mark.parametrize(
    ("line", "kept"),
    [
        ("- milk", "milk"),
        ("* milk", "milk"),
        ("  + milk", "milk"),
        ("• milk", "milk"),
        ("1. milk", "milk"),
        ("12) milk", "milk"),
        ("(3) milk", "milk"),
        ("- [ ] milk", "milk"),
        ("[x] milk", "milk"),
        ("> milk", "milk"),
        ("milk - two", "milk - two"),
        ("-5 degrees", "-5 degrees"),
        ("1.5 litres of milk", "1.5 litres of milk"),
        ("2024. That year", "2024. That year"),
        ("*very* important", "*very* important"),
    ],
)
@pytest.mark.covers("S2.48")
def test_bullets_and_numbers_are_stripped(line: str, kept: str) -> None:
    """A line loses its bullet, number or check box, and nothing else."""
    assert [item.turn.text for item in formats.parse_memories(line)] == [kept]


@pytest.mark.covers("S2.48")
def test_memories_by_hand() -> None:
    """A JSON list, ``{"memories"}``, a conversation per item and plain lines are understood;

    broken JSON is read as lines.
    """

    def texts(content: str, conversation: str = "default") -> list[tuple[str, str]]:
        return [
            (item.turn.text, item.conversation)
            for item in formats.parse_memories(content, conversation)
            if isinstance(item, formats.ParsedTurn)
        ]

    assert texts('["a", "b"]') == [("a", "default"), ("b", "default")]
    assert texts('{"memories": ["a", {"content": "b", "conversation_id": "work"}]}', "home") == [
        ("a", "home"),
        ("b", "work"),
    ]
    assert texts('[{"text": "a"}, {"memory": "b"}]') == [("a", "default"), ("b", "default")]
    assert texts('{"text": "alone"}') == [("alone", "default")]
    assert texts("- a\n\n2. b\r\n   \n") == [("a", "default"), ("b", "default")]
    assert texts('["a", "b"') == [('["a", "b"', "default")]
    assert texts('{"memories": 3}') == [('{"memories": 3}', "default")]
    assert texts("") == []
    assert texts("\ufeff- a") == [("a", "default")]
    assert [type(item) for item in formats.parse_memories('["a", 3, {"x": 1}]')] == [
        formats.ParsedTurn,
        formats.UnreadablePiece,
        formats.UnreadablePiece,
    ]
    assert {item.kind for item in formats.parse_memories("a\nb")} == {Kind.NOTE}


def test_markdown_headings_and_front_matter(load: Any) -> None:
    """Front matter and rules are no memories; a heading is kept with the lines below it."""
    items, _ = load("---\ntitle: x\n---\n# Home\n\n- likes tea\n---\n## Work ##\n1. uses vim\n🎉\n")
    assert [(item.turn.text, item.turn.meta.get("heading")) for item in items] == [
        ("likes tea", "Home"),
        ("uses vim", "Work"),
        ("🎉", "Work"),
    ]
    assert {item.kind for item in items} == {Kind.NOTE}


def test_chat_lines(load: Any) -> None:
    """Lines that read "Name:

    text" become turns with a speaker; a line without a name goes on with the one before.
    """
    items, bad = load(
        "Ann: hello\nBob: hi\nhow are you?\n**Ann:** fine\n[2024-05-01 10:00] Bob: good\nAssistant:"
        " noted\n"
    )
    assert not bad
    assert [(i.turn.role, i.turn.speaker, i.turn.text) for i in items] == [
        ("user", "Ann", "hello"),
        ("user", "Bob", "hi\nhow are you?"),
        ("user", "Ann", "fine"),
        ("user", "Bob", "good"),
        ("assistant", "", "noted"),
    ]
    assert items[3].turn.at == datetime(2024, 5, 1, 10, tzinfo=UTC)


def test_notes_with_colons_are_no_chat(load: Any) -> None:
    """A list of notes stays one even where some begin with a word and a colon."""
    items, _ = load(
        "Todo: buy milk\nWifi: hunter22\nhttps://example.org\nCall the dentist\nEggs are out\n"
    )
    assert {item.kind for item in items} == {Kind.NOTE}
    assert items[0].turn.text == "Todo: buy milk"


LOCOMO = {
    "sample_id": "conv-1",
    "qa": [{"question": "?", "answer": "!", "evidence": ["D1:1"]}],
    "conversation": {
        "speaker_a": "Ann",
        "speaker_b": "Bob",
        "session_2_date_time": "12:05 am on 3 June, 2023",
        "session_2": [{"speaker": "Bob", "dia_id": "D2:1", "text": "back again"}],
        "session_1_date_time": "1:56 pm on 8 May, 2023",
        "session_1": [
            {
                "speaker": "Ann",
                "dia_id": "D1:1",
                "text": "hi",
                "img_url": ["x"],
                "blip_caption": "a photo of a dog",
            },
            {"speaker": "Bob", "dia_id": "D1:2", "text": "hello"},
        ],
        "session_10": "none",
    },
}
ITEMS = [
    {
        "id": "1",
        "text": "hi",
        "speaker": "user",
        "session": s,
        "date": "2024-01-01T00:00:00",
        "caption": "",
    }
    for s in (1, 2)
]
FLAT = {
    "name": "x",
    "licence": "y",
    "conversations": [
        {"id": name, "items": ITEMS, "questions": [{"id": "q", "text": "?"}]}
        for name in ("a", "b", "a")
    ],
}


def test_locomo_in_its_first_layout(load: Any) -> None:
    """Sessions come in their numbers' order with their date; questions are not read."""
    items, bad = load([LOCOMO, {**LOCOMO, "sample_id": "conv-2"}])
    assert [i.turn.external_id for i in items] == ["D1:1", "D1:2", "D2:1"] * 2
    assert [i.conversation for i in items] == ["conv-1"] * 3 + ["conv-2"] * 3
    assert items[0].turn.caption == "a photo of a dog"
    assert items[0].turn.at == datetime(2023, 5, 8, 13, 56, tzinfo=UTC)
    assert items[2].turn.at == datetime(2023, 6, 3, 0, 5, tzinfo=UTC)
    assert len({i.turn.session for i in items}) == 4
    assert [piece.message for piece in bad] == [
        "Session 10 of conv-1 is no list.",
        "Session 10 of conv-2 is no list.",
    ]
    alone, _ = load(LOCOMO)
    assert alone == items[:3]


def test_locomo_in_the_flat_layout(load: Any) -> None:
    """Each conversation has its own name even where ids repeat, and no two share a session."""
    items, bad = load(FLAT)
    assert not bad
    assert [i.conversation for i in items] == ["a", "a", "b", "b", "a#2", "a#2"]
    assert len({i.turn.session for i in items}) == 6
    assert {(i.turn.role, i.turn.speaker) for i in items} == {("user", "")}


@pytest.mark.parametrize("name", ["locomo_dev.json", "beam_dev.json"])
def test_measuring_data_reads_whole(name: str) -> None:
    """Every item of the measuring data comes through with its id."""
    path = SHARED / name
    if not path.is_file():
        pytest.skip("the measuring data is not here")
    wanted = [
        (talk["id"], item["id"])
        for talk in json.loads(path.read_text("utf-8"))["conversations"]
        for item in talk["items"]
    ]
    assert [(item.conversation, item.turn.external_id) for item in formats.read(path)] == wanted


def _triple(item: Any) -> tuple[str, str, str]:
    stated = item.turn.stated
    return stated.subject, stated.predicate, stated.object


def test_mem0_exports(load: Any) -> None:
    """Memories come as facts with their id and time, relations as triples, from an object and from
    a list.
    """
    extra = {"user_id": "al", "metadata": {"k": 1}, "categories": ["food"]}
    memory = {"id": "m1", "memory": "Likes tea", "created_at": "2024-07-20T01:30:36-07:00", **extra}
    relation = {"source": "al", "relationship": "lives_in", "target": "Rome"}
    items, bad = load({"results": [memory, {"id": "m2", "memory": ""}], "relations": [relation]})
    assert items[0].turn.external_id == "m1"
    assert items[0].turn.meta == {"user_id": "al", "k": 1}
    assert items[0].turn.stated.tags == ("food",)
    assert items[0].turn.at == datetime(2024, 7, 20, 8, 30, 36, tzinfo=UTC)
    assert (*_triple(items[1]), items[1].turn.text) == (
        "al",
        "lives_in",
        "Rome",
        "al lives in Rome",
    )
    assert len(bad) == 1
    alone, _ = load([memory])
    assert alone == items[:1]


def test_mcp_memory_server_files(load: Any) -> None:
    """Entities and relations become facts, from the server's file and from what it answers."""
    entity = {
        "type": "entity",
        "name": "Ann",
        "entityType": "person",
        "observations": ["likes tea", "Ann plays chess"],
    }
    empty = {"type": "entity", "name": "Acme", "entityType": "company", "observations": []}
    relation = {"type": "relation", "from": "Ann", "to": "Acme", "relationType": "works_at"}
    items, bad = load(
        "\n".join(
            json.dumps(x) for x in (entity, empty, relation, {"type": "entity"}, {"type": "x"})
        )
    )
    assert [i.turn.text for i in items] == [
        "Ann: likes tea",
        "Ann plays chess",
        "Acme is a company",
        "Ann works at Acme",
    ]
    assert _triple(items[3]) == ("Ann", "works_at", "Acme")
    assert {i.kind for i in items} == {Kind.FACT}
    assert len(bad) == 2
    graph, _ = load(json.dumps({"entities": [entity, empty], "relations": [relation]}, indent=2))
    assert graph == items


def test_conversation_names_fit_a_scope(load: Any) -> None:
    """However a source names its conversations, the name can be a scope's label, and long names
    stay different.
    """
    names = ["x" * 500, "x" * 499 + "y", "a\u0007\ud800b", 7]
    items, bad = load(json.dumps([{"text": "t", "conversation": name} for name in names]))
    assert not bad
    assert len({item.conversation for item in items}) == 4
    for item in items:
        Scope(("user", "al")).within("conversation", item.conversation)


def test_streams_are_read_once_through() -> None:
    """An open stream of bytes or of text gives what the file gives."""
    text = '{"text":"ä"}\n{"text":"b"}\n'
    assert [i.turn.text for i in formats.read(io.BytesIO(text.encode()))] == ["ä", "b"]
    assert [i.turn.text for i in formats.read(io.StringIO(text))] == ["ä", "b"]
