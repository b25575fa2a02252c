"""Hostile strings: a query takes time that grows with its length, and no more."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

import engrams
from engrams import MemoryEngine

OWNER = ("user", "ada")
FAMILIES = {
    "spaces": ("where", " "), "tabs": ("where", "\t"), "newlines": ("where", "\n"), "no-break": ("where", "\u00a0"), "and": ("", "and "),
    "parens": ("", "("), "quotes": ("", '"'), "digits": ("", "7"), "dots": ("", "."), "dashes": ("", "-"), "dates": ("", "1/"),
    "commas": ("", "a,"), "cjk": ("", "我"), "marks": ("e", "\u0301"), "zwj": ("", "👩\u200d"), "rtl": ("", "שלום "), "at": ("", "@"),
    "url": ("http://", "a/"), "dollar": ("", "$"), "percent": ("", "%"), "key": ("", "key="), "brackets": ("", "[["), "braces": ("", "{{"),
    "entity": ("", "&lt;"), "backslash": ("", "\\"), "apostrophe": ("", "'"), "the": ("", "the "), "yesno": ("", "yes no "),
    "months": ("", "january "), "years": ("", "1999 "), "ago": ("", "ago "), "my": ("", "my "), "base64": ("", "aGVsbG8"),
    "hex": ("", "deadbeef"), "phone": ("", "555-1234 "), "no": ("", "no "), "nul": ("", "\0"), "word": ("", "x"), "mixed": ("", "aBcD "),
    "underscore": ("", "_"), "semicolon": ("", ";"),
}  # fmt: skip


def make(name: str, size: int) -> str:
    head, body = FAMILIES[name]
    return head + body * ((size - len(head)) // len(body)) + "x"


@pytest.fixture(scope="module")
def memory(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MemoryEngine]:
    home: Path = tmp_path_factory.mktemp("linear") / "home"
    with engrams.open(home=home) as made:
        made.add("Ada lives in Oslo and works at the harbour.", scope=OWNER)
        made.search("where", scope=OWNER)
        yield made


@pytest.mark.parametrize("name", FAMILIES)
def test_searches(memory: MemoryEngine, name: str) -> None:
    """A search for 1, 10 or 100 kB of anything takes less than two seconds."""
    for size in (1_000, 10_000, 100_000):
        start = time.perf_counter()
        memory.search(make(name, size), scope=OWNER)
        assert time.perf_counter() - start < 2, size


def test_a_long_query_is_cut_with_a_note(memory: MemoryEngine) -> None:
    """Of a query of megabytes head and tail are used, which the trace notes."""
    found = memory.search("padding " * 200_000 + "where does Ada live?", scope=OWNER)
    assert found.hits
    assert any("characters" in note for note in found.trace.notes)
