"""Prompts: loading, hashes, placeholders, quoting."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engrams.errors import InputError
from engrams.prompts import PromptTemplate, load, quote


def test_a_prompt_is_loaded_by_name_once() -> None:
    """A prompt has its name, its text and a hash of the text;
    loading it again gives the same object.
    """
    prompt = load("rerank")
    assert prompt is load("rerank")
    assert prompt.name == "rerank"
    assert len(prompt.hash) == 16
    assert prompt.text == prompt.text.strip() != ""


@pytest.mark.parametrize(
    "name",
    ["", "nope", "../prompts/rerank", "rerank.md", "/etc/passwd", "RERANK", "re\0rank", "x" * 500],
)
def test_an_unknown_name_is_an_input_error(name: str) -> None:
    """Names that are no prompt, paths among them, raise InputError."""
    with pytest.raises(InputError):
        load(name)


def test_the_rerank_prompt_wants_its_three_values() -> None:
    """The placeholders of the rerank prompt are exactly query, candidates and limit."""
    text = load("rerank").render(query="Q1", candidates="C1", limit="5")
    assert "{{" not in text
    assert all(value in text for value in ("Q1", "C1", "at most 5"))
    for values in (
        {},
        {"query": "q"},
        {"query": "q", "candidates": "c", "limit": "1", "more": "x"},
    ):
        with pytest.raises(InputError, match="candidates, limit, query"):
            load("rerank").render(**values)


@given(st.text(), st.text())
def test_values_cannot_break_a_prompt(one: str, other: str) -> None:
    """Whatever the values hold, braces and back-references included, they stand in the text as they
    are.
    """
    assert (
        PromptTemplate("p", "a {{one}} b {{other}} c {{one}}").render(one=one, other=other)
        == f"a {one} b {other} c {one}"
    )
    assert (
        PromptTemplate("p", "{{a}}{{b}}").render(a="{{b}}\\g<0>", b="{{a}}") == "{{b}}\\g<0>{{a}}"
    )


@given(st.text(alphabet=st.characters()))
def test_quoted_text_is_one_closed_line(text: str) -> None:
    """A quoted text is one line that begins and ends with its only bare quotes, and holds no angle
    brackets.
    """
    quoted = quote(text)
    assert quoted[0] == quoted[-1] == '"'
    inner = quoted[1:-1].replace("\\\\", "").replace('\\"', "")
    assert not {'"', "<", ">"} & set(inner)
    assert len(quoted.splitlines()) == 1
