"""Which promised behaviours are seen at a door: ``python scripts/spec.py [PAGE] [--json]
[--strict]``.

PAGE lists them, one a line: ``- S2.27 [doc] …``; by default ``../shared/spec/acceptance.md`` beside
the checkout. A test names what it covers by ``@pytest.mark.covers("S2.27")``. Tests in
``tests/acceptance/`` stand at a door: the running program with the document's preset, or the public
class. Other tests are inner ones; ``tests/spec.toml`` gives the reason where they are enough, and
where an item does not apply to engrams.
"""

from __future__ import annotations

import argparse
import ast
import json
import re
import sys
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
DOORS = "tests/acceptance/"
STATES = ("door", "inner", "open", "not applicable")
_ITEM = re.compile(r"^- (S\d+\.\d+) (.*)$", re.MULTILINE)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "page", nargs="?", type=Path, default=ROOT.parent / "shared" / "spec" / "acceptance.md"
    )
    parser.add_argument("--json", action="store_true", help="the same as JSON")
    parser.add_argument("--strict", action="store_true", help="exit with 1 where something is open")
    given = parser.parse_args(arguments)
    if not given.page.is_file():
        print(f"There is no list of promises at {given.page}: nothing to compare with.")
        return 0
    items = dict(_ITEM.findall(given.page.read_text("utf-8")))
    tests = covering()
    told: dict[str, dict[str, str]] = tomllib.loads(
        (ROOT / "tests" / "spec.toml").read_text("utf-8")
    )
    rows = [row(number, text, tests.get(number, []), told) for number, text in items.items()]
    unknown = sorted({*tests, *told["not_applicable"], *told["inner"]} - set(items), key=order)
    if given.json:
        print(json.dumps({"items": rows, "unknown": unknown}, indent=1, ensure_ascii=False))
    else:
        print(table(rows, unknown))
    return int(given.strict and any(one["state"] == "open" for one in rows))


def row(
    number: str, text: str, tests: list[str], told: Mapping[str, Mapping[str, str]]
) -> dict[str, object]:
    doors = [test for test in tests if test.startswith(DOORS)]
    without = told["not_applicable"].get(number, "")
    if doors:
        state = "door"
    elif tests:
        state = "inner"
    elif without:
        state = "not applicable"
    else:
        state = "open"
    return {
        "item": number,
        "state": state,
        "text": text,
        "tests": doors or tests,
        "reason": without or told["inner"].get(number, ""),
    }


def covering() -> dict[str, list[str]]:
    """Item -> the tests that carry its number."""
    found: dict[str, list[str]] = {}
    for path in sorted((ROOT / "tests").rglob("test_*.py")):
        for name, numbers in marks(ast.parse(path.read_text("utf-8"))):
            for number in numbers:
                found.setdefault(number, []).append(
                    f"{path.relative_to(ROOT)}::{name}" if name else str(path.relative_to(ROOT))
                )
    return found


def marks(tree: ast.Module) -> Iterator[tuple[str, list[str]]]:
    """Tests, by name, and the items that their marks (or their module's, by the empty name) carry."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            for item in node.decorator_list:
                yield node.name, numbers(item)
        elif isinstance(node, ast.Assign) and any(
            isinstance(one, ast.Name) and one.id == "pytestmark" for one in node.targets
        ):
            yield "", [each for part in ast.walk(node.value) for each in numbers(part)]
        elif (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Attribute)
            and node.func.attr == "param"
        ):
            yield (
                "param",
                [
                    each
                    for word in node.keywords
                    for part in ast.walk(word.value)
                    for each in numbers(part)
                ],
            )


def numbers(node: ast.AST) -> list[str]:
    """The arguments of ``pytest.mark.covers(…)``."""
    if (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr == "covers"
    ):
        return [str(one.value) for one in node.args if isinstance(one, ast.Constant)]
    return []


def order(number: str) -> tuple[int, int]:
    source, _, place = number.removeprefix("S").partition(".")
    return int(source), int(place or 0)


def table(rows: Sequence[dict[str, object]], unknown: Sequence[str]) -> str:
    lines = []
    for one in rows:
        tests = one["tests"]
        assert isinstance(tests, list)
        found = (
            f"{len(tests)} test{'s' * (len(tests) != 1)}: {tests[0]}"
            if tests
            else str(one["text"])[:110]
        )
        lines.append(f"{one['item']:7} {one['state']:15} {one['reason'] or found}")
    counts = {state: sum(one["state"] == state for one in rows) for state in STATES}
    bare = sum(one["state"] == "inner" and not one["reason"] for one in rows)
    doors, *others = (f"{count} {state}" for state, count in counts.items())
    others[0] += f" ({bare} without a reason)" if bare else ""
    lines += ["", ", ".join([doors.replace("door", "at a door"), *others])]
    lines += [f"Not in the list: {', '.join(unknown)}"] if unknown else []
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
