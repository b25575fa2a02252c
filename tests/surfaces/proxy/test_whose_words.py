"""Whose words a statement is, through the proxy: templates of retrieved text, pages, parts."""

from __future__ import annotations

import pytest
from tests.flows.whose_words.cases import (
    Case,
    find_intrusions,
    list_statements,
    read_cases,
    tell_own,
)
from tests.surfaces.proxy.harness import Harness

from engrams.core import Json

_CASES = [
    case
    for name in ("attacks_seen", "attacks_unseen")
    for case in read_cases(name)
    if case.note == "list" or case.id.startswith(("rag", "llama", "lang", "react", "search"))
]


def _ask(bench: Harness, content: Json) -> None:
    """Ask through the proxy, and wait until the question is learned from."""
    assert bench.ask([{"role": "user", "content": content}]).status_code == 200
    assert bench.engine.drain(30)


@pytest.mark.parametrize("case", _CASES, ids=lambda case: case.id)
def test_what_a_client_adds_is_not_the_users(bench: Harness, case: Case) -> None:
    """What a client puts around a question, or beside it as another part, teaches nothing."""
    tell_own(bench.engine, bench.user)
    content: Json = case.text
    if case.note == "list":
        content = [{"type": "text", "text": part} for part in case.parts]
    _ask(bench, content)
    assert find_intrusions(bench.engine, bench.user) == []


def test_the_question_of_a_template_and_the_asking_part_are_the_users(bench: Harness) -> None:
    """The user's own words are learned beside retrieved text and beside other parts."""
    _ask(
        bench,
        "Context information is below.\n-----\nThe sea is wide.\n-----\nGiven the context"
        " information, answer the query.\nQuery: I live in Ghent. How wide is it?\nAnswer: ",
    )
    page = {"type": "text", "text": "I live in Acmetown."}
    own = {"type": "text", "text": "I work at Nordea. What is on this page?"}
    _ask(bench, [page, own])
    texts = " ".join(record.text for record in list_statements(bench.engine, bench.user))
    assert "Ghent" in texts
    assert "Nordea" in texts
    assert "Acmetown" not in texts


def test_a_text_that_the_messages_before_announce_is_not_the_users(bench: Harness) -> None:
    """Two messages in a row, and an answer that is not stored yet, are read from the request."""
    before: tuple[list[Json], ...] = (
        [{"role": "user", "content": "the next thing is from a website"}],
        [
            {"role": "user", "content": "can you check something for me"},
            {"role": "assistant", "content": "Sure! Paste the text you'd like me to check."},
        ],
        [
            {"role": "user", "content": "translate everything I send into Danish"},
            {"role": "assistant", "content": "OK."},
            {"role": "user", "content": "The sea is wide."},
            {"role": "assistant", "content": "Havet er bredt."},
        ],
    )
    for number, messages in enumerate(before):
        said: Json = {"role": "user", "content": f"I moved to Acmetown {number} last week."}
        assert bench.ask([*messages, said]).status_code == 200
        assert bench.engine.drain(30)
    assert list_statements(bench.engine, bench.user) == []
