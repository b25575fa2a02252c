"""Words that are looked for before a pattern is: a text that the pattern finds has one of them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from importlib import import_module
from itertools import product
from re import _constants as codes  # type: ignore[attr-defined]
from re import _parser as parser  # type: ignore[attr-defined]
from typing import Any

import pytest

from engrams.extract.rules import answer_rules, grave_news
from engrams.text.late_patterns import holds_any

GATES = (
    ("engrams.read.later_values", "_GONE", ("_CHANGE_WORDS",)),
    ("engrams.read.later_values", "_AWAY", ("_CHANGE_WORDS",)),
    ("engrams.read.later_values", "_CHANGED", ("_CHANGE_WORDS",)),
    ("engrams.read.relevance.text_traits", "_CLOSED", ("_CLOSED_WORDS",)),
    ("engrams.extract.machine_reports", "_TRACE", ("_NOISY",)),
    ("engrams.extract.machine_reports", "_BORROWED", ("_NOISY",)),
    ("engrams.extract.machine_reports", "_FAILURE", ("_NOISY",)),
    ("engrams.extract.rules.denied_events", "_TAKEN_BACK", ("_TAKEN_BACK_WORDS",)),
    ("engrams.extract.rules.clause_judge", "_LASTS", ("_LASTING_WORDS",)),
    ("engrams.extract.rules.announcements", "_FRAME", ("_WORDS",)),
    ("engrams.extract.rules.clause_dates", "_STARTING", ("_STARTING_WORDS",)),
    ("engrams.extract.rules.story_marks", "_OPENS", ("_WORDS",)),
    ("engrams.extract.rules.instructions", "_ALWAYS", ("_ALWAYS_WORDS",)),
    ("engrams.extract.rules.instructions", "_NEVER", ("_NEVER_WORDS",)),
    ("engrams.extract.rules.sentence_segmenter", "_MOCK_JOY", ("_JOY_WORDS", "_MOCKED_WORDS")),
    ("engrams.extract.rules.sentence_segmenter", "_FICTION", ("_FICTION_WORDS",)),
    ("engrams.extract.rules.sentence_segmenter", "_INVENTED", ("_INVENTED_WORDS",)),
)
"""Module, pattern, and the groups of words of which a text has to hold one each."""
_ASCII_ONLY = ("_LASTS",)
"""Patterns whose gate holds for texts in ASCII; others are searched without one."""
_MOST_JOINED = 4_000


def list_texts(items: Sequence[Any]) -> list[str]:
    """List texts that a parsed pattern may find, each alternative once, as short as they can be."""
    parts = [list_part(code, argument) for code, argument in items]
    count = 1
    for part in parts:
        count *= len(part)
    if count <= _MOST_JOINED:
        return ["".join(chosen) for chosen in product(*parts)]
    # Too many: each part's alternatives beside the first of the others.
    first = [part[0] for part in parts]
    return [
        "".join((*first[:index], text, *first[index + 1 :]))
        for index, part in enumerate(parts)
        for text in part
    ]


def list_part(code: Any, argument: Any) -> list[str]:
    """List the texts of one element of a pattern; what any character may stand for is a ``~``."""
    makers: dict[Any, Callable[[], list[str]]] = {
        codes.LITERAL: lambda: [chr(argument).lower()],
        codes.IN: lambda: list(list_set(argument)),
        codes.BRANCH: lambda: [text for items in argument[1] for text in list_texts(items)],
        codes.SUBPATTERN: lambda: list_texts(argument[3]),
        codes.ATOMIC_GROUP: lambda: list_texts(argument),
    }
    if code in makers:
        return makers[code]()
    if code in (codes.MAX_REPEAT, codes.MIN_REPEAT, codes.POSSESSIVE_REPEAT):
        least, _, items = argument
        return [text * least for text in list_texts(items)] if least else [""]
    if code is codes.ASSERT:
        return list_texts(argument[1])
    return ["~"] if code in (codes.ANY, codes.NOT_LITERAL) else [""]


def list_set(members: Sequence[Any]) -> Iterator[str]:
    """Yield the characters of a set; a space for its white space, ``~`` for its other classes."""
    for code, argument in members:
        if code is codes.LITERAL:
            yield chr(argument).lower()
        elif code is codes.RANGE:
            yield chr(argument[0]).lower()
        elif code is codes.NEGATE:
            yield "~"
            return
        else:
            yield " " if argument is codes.CATEGORY_SPACE else "~"


@pytest.mark.parametrize(("module", "pattern", "gates"), GATES)
def test_what_a_pattern_finds_passes_its_gate(
    module: str, pattern: str, gates: Sequence[str]
) -> None:
    """Each alternative of the pattern holds a word of its gate, which would hide it otherwise."""
    source = import_module(module)
    compiled: re.Pattern[str] = getattr(source, pattern)
    texts = list_texts(parser.parse(compiled.pattern, compiled.flags))
    if pattern in _ASCII_ONLY:
        texts = [text for text in texts if text.isascii()]
    assert texts
    hidden = [
        text
        for text in texts
        if not all(holds_any(text, getattr(source, words)) for words in gates)
    ]
    assert hidden == []


def test_news_of_a_loss_pass_their_gate() -> None:
    """Each alternative of the English pattern holds a word of its gate."""
    compiled = grave_news._compile_patterns("en")
    texts = list_texts(parser.parse(compiled.pattern, compiled.flags))
    assert [text for text in texts if not holds_any(text, grave_news._ENGLISH_WORDS)] == []


def test_wishes_of_how_to_answer_pass_their_gate() -> None:
    """In each language, each form of a wish holds a hint of that language."""
    hidden = [
        text
        for language in answer_rules._read_languages()
        for _, compiled in language.forms
        for text in list_texts(parser.parse(compiled.pattern, compiled.flags))
        if not holds_any(f"{text} ", language.hints)
    ]
    assert hidden == []
