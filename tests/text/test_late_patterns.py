"""Patterns that are compiled when first used."""

from __future__ import annotations

import re
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import engrams
from engrams.text.late_patterns import late_alternatives, late_pattern

ROOT = Path(engrams.__file__).parent


def patterns(value: Any) -> Iterator[Any]:
    """The late patterns in a module's value."""
    if type(value).__name__ == "_LatePattern":
        yield value
    elif isinstance(value, dict):
        yield from (found for held in value.values() for found in patterns(held))
    elif isinstance(value, list | tuple):
        yield from (found for held in value for found in patterns(held))


def test_a_late_pattern_is_a_pattern() -> None:
    """Every method of a compiled pattern that is used answers the same."""
    late = late_pattern(r"(\w)(\d)", re.IGNORECASE)
    plain = re.compile(r"(\w)(\d)", re.IGNORECASE)
    assert late.findall("a1 B2") == plain.findall("a1 B2") and late.sub("x", "a1 B2") == "x x"
    assert [m.span() for m in late.finditer("a1 B2")] == [m.span() for m in plain.finditer("a1 B2")]
    assert (late.pattern, late.flags, bool(late.match("a1")), late.fullmatch("a12")) == (
        plain.pattern,
        plain.flags,
        True,
        None,
    )


def test_alternatives_find_what_each_of_them_does() -> None:
    """Bars within groups, sets and escapes stay where they are;
    alternatives at a word's edge are found only there.
    """
    some = (r"\bone\b|\btwo(?:x|\by)?", r"^\W*three|[|(]four", r"\bfive\|six|七", r"seven\b")
    joined = late_alternatives(*some)
    plain = re.compile("|".join(some))
    assert joined.pattern.count(r"\b(?:") == 1 and joined.pattern.startswith(
        r"\b(?:one\b|two(?:x|\by)?|five\|six)|"
    )
    texts = (
        "one",
        "bone",
        "a one",
        "twox",
        "two y",
        "atwo",
        "  three",
        "a three",
        "|four",
        "(four",
        "four",
        "five|six",
        "七",
        "aseven",
        "sevens",
    )
    assert [bool(joined.search(text)) for text in texts] == [
        bool(plain.search(text)) for text in texts
    ]


def test_every_late_pattern_compiles() -> None:
    """A wrong pattern is found here, not at somebody's first use of it."""
    files = [
        path
        for path in ROOT.rglob("*.py")
        if "late_pattern(" in path.read_text("utf-8") and path.name != "late_patterns.py"
    ]
    modules = [
        import_module(".".join(["engrams", *path.relative_to(ROOT).with_suffix("").parts]))
        for path in files
    ]
    found = [
        pattern
        for module in modules
        for value in vars(module).values()
        for pattern in patterns(value)
    ]
    assert len(found) > 90
    assert all(isinstance(pattern.groups, int) for pattern in found)
