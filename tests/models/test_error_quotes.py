"""What a server says of an error is shown without keys and without the words of the request."""

from __future__ import annotations

import json

import pytest

from engrams.models.error_quotes import MAX_QUOTED_CHARS, quote_server

REQUEST = ("You are brief.", "My sister Olga lives in Turin, and I say response_format.")


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (b"", ""),
        (b"{}", ""),
        (b"Internal Server Error", "Internal Server Error"),
        (b"<html><head><style>p {}</style></head><p>Bad gateway</p>", "Bad gateway"),
        (b'{"error": "tools are not supported"}', "tools are not supported"),
        (b'{"detail": [{"loc": ["body", "seed"], "msg": "extra"}]}', "body seed extra"),
        (b'{"error": {"message": "Unknown: \'response_format\'"}}', "Unknown: 'response_format'"),
        ("参数错误".encode(), "参数错误"),
    ],
)
def test_the_sentences_of_an_error_are_found(body: bytes, words: str) -> None:
    """In the forms in which servers give them; words of the protocol stay."""
    assert quote_server(body, REQUEST) == words


@pytest.mark.parametrize(
    "quotation",
    [
        REQUEST[1],
        repr(f"[user]\n{REQUEST[1]}"),
        json.dumps(f"x\nOlga\n{REQUEST[1]}"),
        REQUEST[1][:23],
        REQUEST[1][5:],
        "OLGA, Turin",
    ],
)
def test_no_word_of_the_request_is_shown(quotation: str) -> None:
    """However it is quoted: whole, escaped, cut within a word, or in other letters."""
    words = quote_server(json.dumps({"error": f"Failed at {quotation}"}).encode(), REQUEST)
    assert words.startswith("Failed at")
    lowered = words.lower()
    assert not any(word in lowered for word in ("olga", "turin", "sister", "lives", "ister", "tur"))


def test_scripts_without_spaces_are_left_out() -> None:
    """A piece of a Chinese sentence is no word of it."""
    words = quote_server("错误: 我喜欢茶".encode(), ["我喜欢茶"])
    assert "喜欢" not in words
    assert words.startswith("错误")


@pytest.mark.parametrize(
    "secret",
    [
        "Bearer abc.def-ghi",
        "sk-proj-abcdefgh1234",
        "api_key=topsecret",
        "https://joe:hunter2@host/",
        "A1b2C3d4E5f6G7h8I9j0K1l2M3",
    ],
)
def test_keys_are_left_out(secret: str) -> None:
    """Keys by their beginnings and names, logins in addresses, and long mixed words."""
    words = quote_server(f"refused {secret}".encode(), [])
    hidden = ("abc.def", "abcdefgh", "topsecret", "hunter2", "A1b2C3")
    assert not any(piece in words for piece in hidden)
    assert quote_server(b"the key plainword is wrong", [], "plainword") == "the key … is wrong"


def test_it_is_cut() -> None:
    """A long error ends with an ellipsis."""
    words = quote_server(b"word " * 1000, [])
    assert len(words) == MAX_QUOTED_CHARS
    assert words.endswith("…")
