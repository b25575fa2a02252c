"""Files that are not what they say, damaged, or made to do harm."""

from __future__ import annotations

import contextlib
import io
import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engrams.errors import InputError
from engrams.transfer import formats
from engrams.transfer.formats import FORMATS
from engrams.transfer.formats.json_stream import read_elements

TURN = json.dumps({"text": "schön 京都 🎉", "speaker": "Zoë"}, ensure_ascii=False)
DEEP = "[" * 100_000 + "]" * 100_000


@pytest.mark.parametrize(
    "encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "utf-32"]
)
@pytest.mark.parametrize("shape", [f"{TURN}\n{TURN}\n", f"[{TURN},\n{TURN}]"])
def test_every_unicode_encoding_reads(load: Any, encoding: str, shape: str) -> None:
    """UTF-8, UTF-16 and UTF-32, with a byte order mark or without, read the same."""
    items, bad = load(shape.encode(encoding))
    assert not bad
    assert [item.turn.text for item in items] == ["schön 京都 🎉"] * 2


def test_old_encodings_read(load: Any) -> None:
    """Latin-1 and Windows-1252 text reads, even in the middle of UTF-8."""
    items, _ = load(
        "caf\xe9 \x93quoted\x94\n".encode("latin-1") + "schön\n".encode() + b"gap \x81\n"
    )
    assert [item.turn.text for item in items] == ["café “quoted”", "schön", "gap \x81"]


def test_line_ends_of_every_system(load: Any) -> None:
    """CRLF, CR and LF end a line; U+2028 does not."""
    items, bad = load(b'{"text":"a"}\r\n{"text":"b"}\r{"text":"c \xe2\x80\xa8d"}\n')
    assert not bad
    assert [item.turn.text for item in items] == ["a", "b", "c \u2028d"]


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\n\n",
        b"\xef\xbb\xbf",
        b"[]",
        b"{}",
        b"[[]]",
        b"null",
        b"3",
        b"{",
        b"[",
        b'"',
        b"\xff\xfe",
    ],
)
def test_nothing_in_it_is_nothing(load: Any, content: bytes) -> None:
    """Files with nothing in them give no turns, whatever they are read as."""
    for named in ("auto", *FORMATS):
        items, _ = load(content, named)
        assert not [
            item for item in items if named not in ("auto", "lines", "json", "basic_memory")
        ]


@pytest.mark.parametrize(
    "wrap",
    [
        "{}",
        "[{}]",
        '{{"text":"a","metadata":{}}}',
        '{{"conversations":[{}]}}',
        '[{{"mapping":{}}}]',
    ],
)
@pytest.mark.slow
def test_deep_nesting_is_bad_not_fatal(load: Any, wrap: str) -> None:
    """Brackets nested a hundred thousand deep are a bad piece in every format."""
    for named in ("auto", *FORMATS):
        items, bad = load(wrap.format(DEEP), named)
        assert bad or named in ("auto", "lines", "basic_memory")
        assert all(
            len(item.turn.text) > 1000 for item in items if isinstance(item, formats.ParsedTurn)
        )


def test_bad_elements_between_good_ones() -> None:
    """A list goes on after an element that is broken, too deep, or has a number of ten thousand
    digits.
    """
    pieces = [
        '[{"a":1}, {"b": nope "]" , "\\"" }, ',
        DEEP,
        ', {"n": ',
        "9" * 10_000,
        '}, {"c":"',
        "\\",
        '"]',
        '"}, 5]',
    ]
    found = list(read_elements(pieces))
    assert [piece[1] for piece in found if isinstance(piece, tuple)] == [{"a": 1}, {"c": '"]'}, 5]
    assert len([piece for piece in found if isinstance(piece, formats.UnreadablePiece)]) == 3


@pytest.mark.parametrize("size", [1, 2, 7, 1000])
def test_pieces_of_any_size_give_the_same(size: int) -> None:
    """How a text is cut into pieces changes nothing."""
    values = [{"a": 'x\\"]}', "b": [1.5, -2e3, True, None]}, [], "é\u2028", 12345, {"k": {}}]
    text = " [" + " ,\n".join(json.dumps(value) for value in values) + "] \n{} "
    found = list(read_elements(text[at : at + size] for at in range(0, len(text), size)))
    assert [piece[1] for piece in found if isinstance(piece, tuple)] == [*values, {}]
    assert [piece[0] for piece in found if isinstance(piece, tuple)] == [1, 2, 3, 4, 5, 6]


@pytest.mark.parametrize(
    "text",
    [
        "[1,2",
        "[1,",
        '{"a":',
        '{"a":1',
        '{"list":[1,2',
        '{"list":[1,}',
        "[1 2]",
        "[,]",
        "]",
        "}",
        ":",
        '{"a" 1}',
        "nul",
    ],
)
def test_cut_or_broken_json_ends_with_a_reason(text: str) -> None:
    """Broken JSON gives what was whole before the break and at least one reason, and always ends."""
    assert any(
        isinstance(piece, formats.UnreadablePiece) for piece in read_elements([text], "list")
    )


def test_ten_megabytes_in_one_line(load: Any) -> None:
    """One enormous line is one item, or one bad piece, quickly."""
    items, _ = load(json.dumps({"text": "word " * 2_000_000}))
    assert len(items[0].turn.text) == 9_999_999
    items, bad = load('{"text":"' + "a" * 10_000_000)
    assert len(items) + len(bad) == 1
    items, _ = load("# " + " " * 10_000_000 + "x")
    items, _ = load("A: " + "b: " * 3_000_000 + "\n" + " " * 1_000_000 + "\nA: x")
    assert items


def test_a_line_without_end_is_dropped_as_it_comes(
    monkeypatch: pytest.MonkeyPatch, load: Any
) -> None:
    """A line over the limit is named and let go; the lines after it are read."""
    monkeypatch.setattr("engrams.transfer.formats.decode.LIMIT", 2_000_000)
    items, bad = load('{"text":"a"}\n' + "x" * 5_000_000 + '\n{"text":"b"}')
    assert [item.turn.text for item in items] == ["a", "b"]
    assert [piece.line for piece in bad] == [2]


def test_an_element_without_end_is_dropped(monkeypatch: pytest.MonkeyPatch, load: Any) -> None:
    """A list element over the limit is named."""
    monkeypatch.setattr("engrams.transfer.formats.json_stream.LIMIT", 2_000_000)
    items, bad = load('[{"text":"a"}, {"text":"' + "x" * 9_000_000 + '"}, {"text":"b"}]', "json")
    assert [item.turn.text for item in items] == ["a", "b"]
    assert len(bad) == 1


@pytest.mark.parametrize(
    "value",
    [
        {"text": {"text": {"text": "x"}}},
        {"text": [[["x"]]]},
        {"text": "x", "at": [], "speaker": {}, "role": 5, "session": 1e400, "id": True},
        {"text": "x", "at": 1e300},
        {"text": "x", "at": -1e17},
        {"text": "x", "at": "0001-01-01T00:00:00+14:00"},
        {"text": "x", "at": "99 Zug 2024"},
        {"text": "x", "at": "31 Feb 2024"},
        {"text": "x", "at": True},
        {"text": "\0\ud800", "speaker": "\ud800"},
        {"messages": [1, None, {"content": None}]},
        {"mapping": {"a": {"message": []}}, "current_node": "a"},
        {
            "mapping": {
                "a": {
                    "message": {
                        "author": {"role": "user"},
                        "content": {"content_type": "text", "parts": "x"},
                    }
                }
            },
            "current_node": "a",
        },
        {"chat_messages": [{"sender": "human", "content": 3, "text": 4}]},
        {"conversations": [3, {"items": [None, 3, {"text": "x", "date": {}}]}]},
        {"conversation": {"session_1": [None], "session_2": 3}},
        {"results": [None, {"id": 1, "memory": 3}], "relations": [3]},
        {"entities": [3, {"name": 3, "observations": "x"}], "relations": 4},
        {"record": 3},
        {"edge": {"type": []}},
        {"engrams": "x"},
    ],
)
def test_wrong_types_anywhere(load: Any, value: Any) -> None:
    """Values of the wrong type become bad pieces or are passed over in every format;
    nothing is raised but InputError.
    """
    for named in ("auto", *FORMATS):
        for content in (json.dumps(value), json.dumps([value, value]), json.dumps(value, indent=1)):
            try:
                items, _ = load(content, named)
            except InputError:
                assert "engrams" in content
                continue
            assert all(
                item.turn.external_id and item.turn.text
                for item in items
                if isinstance(item, formats.ParsedTurn)
            )


@settings(max_examples=150, deadline=None)
@given(st.binary(max_size=400))
def test_no_bytes_at_all_raise(content: bytes) -> None:
    """Random bytes read as every format give pieces, or InputError."""
    for named in ("auto", *FORMATS):
        with contextlib.suppress(InputError):
            list(formats.read(io.BytesIO(content), named))


def test_files_that_cannot_be_read_say_why(tmp_path: Any) -> None:
    """A missing file, a folder and an unknown format are errors with a hint."""
    for path in (tmp_path / "none.json", tmp_path, "a\0b"):
        with pytest.raises(InputError) as caught:
            list(formats.read(path))
        assert caught.value.hint
    with pytest.raises(InputError, match="no format"):
        list(formats.read(tmp_path, "yaml"))


@pytest.mark.parametrize(
    ("content", "format"),
    [
        ("[ ] buy milk\n[x] call mum", "lines"),
        ("[10:00] Ann: hi", "lines"),
        ("{{mustache}} is a template", "lines"),
        ('{"text": "a"}', "turns"),
        ('{"text": "a", "conversation": "x"}\n{"text": "b"}', "turns"),
        ('broken\n{"text": "a"}\n{"text": "b"}', "turns"),
        ('["a"]', "json"),
        ('{"memories": []}', "json"),
        ('[{"role": "user", "content": "the \\"mapping\\": is"}]', "json"),
        ('{"note": "the word mapping", "text": "x"}\n', "turns"),
        ('[{"mapping": {', "chatgpt"),
        ('[{"uuid": "1", "chat_messages": [', "claude"),
        ('{"engrams": 1}', "engrams"),
        ("just words", "lines"),
        ("", "lines"),
    ],
)
def test_formats_are_told_by_their_contents(save: Any, content: str, format: str) -> None:
    """The name of a file does not matter; what begins like JSON but is none is text."""
    assert formats.detect(save(content, "anything.bin")) == format


@pytest.mark.parametrize("before", [0, 2])
def test_a_csv_cell_without_end_is_refused_with_its_line(load: Any, before: int) -> None:
    """More than the reader takes: the reason and the line, and nothing after it is guessed."""
    table = "text\n" + "Said well.\n" * before + "a" * 131_073 + "\nSaid later.\n"
    items, bad = load(table.encode(), "csv")
    assert len(items) == before
    assert [(piece.line, "131,072 characters" in piece.message, piece.broken) for piece in bad] == [
        (before + 2, True, True)
    ]
