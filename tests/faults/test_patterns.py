"""Regular expressions: each takes linear time for strings pumped from its own parse tree."""

from __future__ import annotations

import ast
import importlib
import pkgutil
import re
import re._constants as code
import re._parser as parser
import signal
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

import engrams

SOURCE = Path(engrams.__file__).parent
REPRESENTATIVES = "a0A \t\n\u00a0,.-_'\"(<:/#*|\u4e00\u200b"
LARGE = 12_000
GROWTH = 8
FLOOR = 0.025
"""Four times the text may take eight times as long, or 25 milliseconds."""
CUT = 9.0
"""Seconds noted for a pass that was cut off."""
QUICK = ("text", "read", "write", "extract")
"""Folders whose patterns the shorter test reads."""
MANY = 30
"""A repetition of less is no loop."""

BOUNDED = {
    "extract/command_parser.py": 400,
    "read/cues/name_mentions.py:_OPENING": 6,
    "read/cues/first_person.py:_OBJECT": 24,
    "text/questions.py": 300,
    "text/measures.py:_OTHER_SENTENCE": 400,
    "text/terms.py:_ORDINAL": 64,
    "text/times/grammar.py:_LAST_WORD": 24,
    "text/times/grammar.py:both": 60,
    "text/times/grammar.py:to": 60,
    "write/change_detection/features.py": 2000,
    "extract/rules/": 1000,
    "extract/rules/english_reader.py": 140,
    "extract/rules/instructions.py:_STEPS": 6000,
    "extract/rules/languages/other_words.py": 6000,
    "extract/rules/languages/other_words.py:_LAST_TASK": 200,
}
"""Largest text, in characters, that the code hands to some patterns; the rules read sentence by
sentence.
"""


@dataclass(frozen=True)
class Pattern:
    """Compiled expression, its name and the methods called on it."""

    place: str
    made: re.Pattern[Any]
    searched: bool

    @property
    def most(self) -> int:
        known = [key for key in BOUNDED if self.place.startswith(key)]
        return BOUNDED[max(known, key=len)] if known else sys.maxsize

    def seconds(self, text: str) -> float:
        """Processor time of one pass over a text; more than 0.3 s is cut off."""
        given = text if isinstance(self.made.pattern, str) else text.encode("utf-8", "replace")
        before = time.process_time()
        signal.setitimer(signal.ITIMER_VIRTUAL, 0.3)
        try:
            if self.searched:
                for _ in self.made.finditer(given):
                    pass
            else:
                self.made.match(given)
        except TimeoutError:
            return CUT
        finally:
            signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        return time.process_time() - before


def collect_patterns(folders: tuple[str, ...]) -> list[Pattern]:
    """Compile anew what the modules of some folders compile, with the names it has there."""
    sources = {path: path.read_text() for path in SOURCE.rglob("*.py")}
    seen: list[tuple[Path, int, re.Pattern[Any]]] = []
    compile_once = re.compile

    def spy(pattern: Any, flags: int = 0) -> re.Pattern[Any]:
        made = compile_once(pattern, flags)
        frame = sys._getframe(1)
        seen.append((Path(frame.f_code.co_filename), frame.f_lineno, made))
        return made

    loaded = {
        name: sys.modules.pop(name)
        for name in list(sys.modules)
        if name.partition(".")[0] == "engrams"
    }
    re.compile = spy  # type: ignore[assignment]
    try:
        for folder in folders:
            for module in pkgutil.walk_packages(
                [str(SOURCE / folder)], ".".join(("engrams", *filter(None, [folder]), ""))
            ):
                if not module.name.endswith("__main__"):
                    importlib.import_module(module.name)
    finally:
        re.compile = compile_once
        for name in [name for name in sys.modules if name.partition(".")[0] == "engrams"]:
            del sys.modules[name]
        sys.modules.update(loaded)
    names = {path: dict(_name_lines(text)) for path, text in sources.items()}
    everything = "\n".join(sources.values())
    found = []
    for path, line, made in seen:
        if path in sources:
            name = names[path].get(line, "")
            calls = (
                set(
                    re.findall(
                        rf"\b{name}\.(\w+)\(", sources[path] if name.startswith("_") else everything
                    )
                )
                if name
                else set()
            )
            # Times in scripts with blanks are matched where words begin; only the others are
            # searched for.
            spaced = name == "scanner" and made.pattern.startswith("(?<!")
            anchored = spaced or (bool(calls) and calls <= {"match", "fullmatch"})
            found.append(Pattern(f"{path.relative_to(SOURCE)}:{name or line}", made, not anchored))
    return found


def _name_lines(text: str) -> Iterator[tuple[int, str]]:
    """Yield each line of an assignment or a named argument, with its name."""
    for node in ast.walk(ast.parse(text)):
        named: ast.expr | None = None
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            name = node.targets[0].id
            named = node.value
        elif isinstance(node, ast.keyword) and node.arg:
            name = node.arg
            named = node.value
        if (
            named is not None
            and isinstance(named, ast.Call)
            and ast.unparse(named.func) == "re.compile"
        ):
            for line in range(named.lineno, (named.end_lineno or named.lineno) + 1):
                yield line, name


# --------------------------------------------------------------------------------------------------
# pumping


def pump_strings(pattern: re.Pattern[Any], depth: int) -> list[tuple[str, str]]:
    """List heads and bodies to repeat: what a loop matches, after what leads to it."""
    given = (
        pattern.pattern if isinstance(pattern.pattern, str) else pattern.pattern.decode("latin-1")
    )
    tree = parser.parse(
        given, pattern.flags | (0 if isinstance(pattern.pattern, str) else re.ASCII)
    )
    found = {("", char) for char in REPRESENTATIVES} if depth > 1 else set()
    for choice in range(depth):
        whole = _sample(tree, choice)
        found |= {("", whole), ("", whole + " "), ("", whole[:-1])}
    for head, body in _find_loops(tree, ""):
        found |= {("", head), ("", head + " ")}
        for choice in range(depth):
            one = _sample(body, choice)
            found |= {(head, one), ("", head + one)}
            found |= {("", one), (head, f" {one}"), (head, f"{one} ")} if depth > 1 else set()
    return sorted((head, body) for head, body in found if body)


def _find_loops(tree: Any, head: str) -> Iterator[tuple[str, Any]]:
    for op, value in tree:
        if op in (code.MAX_REPEAT, code.MIN_REPEAT, code.POSSESSIVE_REPEAT):
            if value[1] >= MANY:
                yield head, value[2]
            yield from _find_loops(value[2], head)
        elif op is code.BRANCH:
            for branch in value[1]:
                yield from _find_loops(branch, head)
        elif op in (code.SUBPATTERN, code.ATOMIC_GROUP, code.ASSERT, code.ASSERT_NOT):
            yield from _find_loops(value if op is code.ATOMIC_GROUP else value[-1], head)
        head += _sample([(op, value)], 0)


def _sample(tree: Any, choice: int) -> str:
    """Build a text that the tree matches; ``choice`` picks among characters and branches."""
    made = ""
    for op, value in tree:
        match op:
            case code.LITERAL:
                made += chr(value)
            case code.NOT_LITERAL:
                made += next(char for char in REPRESENTATIVES if ord(char) != value)
            case code.ANY:
                made += "a"
            case code.IN:
                fitting = _fitting(value)
                made += fitting[choice % len(fitting)] if fitting else "?"
            case code.BRANCH:
                made += _sample(value[1][choice % len(value[1])], choice // len(value[1]))
            case code.SUBPATTERN:
                made += _sample(value[-1], choice)
            case code.ATOMIC_GROUP:
                made += _sample(value, choice)
            case code.MAX_REPEAT | code.MIN_REPEAT | code.POSSESSIVE_REPEAT:
                made += _sample(value[2], choice) * (value[0] or (choice + 1) % 2)
    return made


def _fitting(items: Any) -> str:
    """List characters of a class, of each sort one."""
    kinds = {
        code.CATEGORY_DIGIT: r"\d",
        code.CATEGORY_NOT_DIGIT: r"\D",
        code.CATEGORY_SPACE: r"\s",
        code.CATEGORY_NOT_SPACE: r"\S",
        code.CATEGORY_WORD: r"\w",
        code.CATEGORY_NOT_WORD: r"\W",
    }
    own = [
        chr(value if op is code.LITERAL else value[0])
        for op, value in items
        if op in (code.LITERAL, code.RANGE)
    ]
    found = ""
    for char in dict.fromkeys((*REPRESENTATIVES, *own)):
        hit = any(
            (op is code.LITERAL and ord(char) == value)
            or (op is code.RANGE and value[0] <= ord(char) <= value[1])
            or (op is code.CATEGORY and re.match(kinds[value], char) is not None)
            for op, value in items
        )
        found += char if hit != any(op is code.NEGATE for op, _ in items) else ""
    return found


def find_slow(pattern: Pattern, depth: int) -> str:
    """Describe a string for which a pattern takes more than linear time; empty: none."""
    for head, body in pump_strings(pattern.made, depth):
        for tail in ("\0",) if depth == 1 else ("", "\0"):

            def fill(size: int, head: str = head, body: str = body, tail: str = tail) -> str:
                return head + body * ((size - len(head)) // len(body) + 1) + tail

            large = min(LARGE, pattern.most)
            if pattern.seconds(fill(large // 4)) < FLOOR / 10:
                continue
            last = pattern.seconds(fill(large))
            pairs = [
                (pattern.seconds(fill(large)), pattern.seconds(fill(large // 4)))
                for _ in range(5 if FLOOR < last < CUT else 0)
            ]
            if last >= CUT or (
                pairs and all(much > FLOOR and much > GROWTH * little for much, little in pairs)
            ):
                return (
                    f"{pattern.place}: {head!r} + {body!r} * n takes {last * 1000:.0f} ms for"
                    f" {large} characters"
                )
    return ""


@pytest.fixture(autouse=True)
def alarm() -> Iterator[None]:
    def stop(_number: int, _frame: FrameType | None) -> None:
        raise TimeoutError

    before = signal.signal(signal.SIGVTALRM, stop)
    yield
    signal.signal(signal.SIGVTALRM, before)


@pytest.mark.slow
def test_pumping_finds_slow_patterns() -> None:
    """The pumps find polynomial and exponential patterns, and clear linear ones."""
    for text in (r"\s*,?\s+and", r"(?:a+)+$", r"\w+@", r"<[^>]*>", r"(?:^|\n)\W*x"):
        # A busy machine may hide it once.
        assert any(find_slow(Pattern("x", re.compile(text), True), 2) for _ in range(5)), text
    for text in (r"(?<!\s)\s++and", r"\bwhere\b", r"[^\n]*(?:\n|\Z)"):
        assert not find_slow(Pattern("x", re.compile(text), True), 2), text


@pytest.mark.slow
def test_patterns_take_linear_time() -> None:
    """Each pattern that reads memories takes linear time for its likeliest pumps."""
    patterns = collect_patterns(QUICK)
    assert len(patterns) > 200
    assert [slow for pattern in patterns if (slow := find_slow(pattern, 1))] == []


@pytest.mark.slow
def test_patterns_take_linear_time_for_every_pump() -> None:
    """Each pattern takes linear time for every pump of its parse tree."""
    patterns = collect_patterns(("",))
    assert len(patterns) > 250
    assert [slow for pattern in patterns if (slow := find_slow(pattern, 10))] == []
