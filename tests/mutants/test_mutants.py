"""The runner of mutants on a tree of one function, and the anchors of all mutants."""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from scripts import spec
from tests.mutants.catalogue import AnchorError, Mutant, load
from tests.mutants.runner import Result, Runner

ROOT = Path(__file__).resolve().parents[2]
MUTANTS = load(Path(__file__).parent)
CODE = """LIMIT = 3


class Box:
    def size(self, wide):
        if wide:
            return 2
        return 1


def size(name):
    return {"a": 1}[name]
"""
TEST = """from box_of_mutants import LIMIT, Box, size


def test_wide():
    assert Box().size(True) == 2


def test_limit_or_not():
    assert LIMIT > 0


def test_lookup():
    assert size("a") == 1


def test_red():
    assert Box().size(False) == 7
"""
PLUGIN = (Path(__file__).parent / "verdict.py").read_text("utf-8")


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A package of one module with a test beside it."""
    root = tmp_path / "tree"
    for name, text in {
        "src/box_of_mutants.py": CODE,
        "tests/sizes/test_box.py": TEST,
        "tests/mutants/verdict.py": PLUGIN,
    }.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    return root


def box(at: str, old: str, new: str, test: str = "test_wide", error: str = "") -> Mutant:
    node = f"tests/sizes/test_box.py::{test}"
    return Mutant("S0.1", "The size is wrong.", f"box_of_mutants:{at}", old, new, node, error)


def run(tree: Path, *mutants: Mutant) -> list[Result]:
    runner = Runner(tree, tree.parent / "work", package="box_of_mutants")
    return [result for _, result in runner.run(mutants, 2, lambda *_: None)]


@pytest.mark.slow
def test_verdicts(tree: Path) -> None:
    """A mutant is killed by an assertion or by the error that it names, and by nothing else."""
    verdicts = {
        box("Box.size", "return 2", "return 3"): "killed",
        box("Box.size", "return 1", "return 4"): "survived",
        box("LIMIT", "3", "4", "test_limit_or_not"): "survived",
        box("LIMIT", "3", "0", "test_limit_or_not"): "killed",
        box("Box.size", "return 2", "return nothing"): "wrong error",
        box("size", '"a"', '"b"', "test_lookup", "KeyError"): "killed",
        box("size", '"a"', '"b"', "test_lookup"): "wrong error",
        box("LIMIT", "3", "nothing"): "no import",
        box("Box.size", "return 2", "return ("): "no anchor",
        box("Box.size", "return 5", "return 3"): "no anchor",
        box("Box.size", "return", "yield"): "no anchor",
        box("Box.width", "return 2", "return 3"): "no anchor",
        box("Box.size", "return 1", "return 4", "test_red"): "red before",
    }
    results = run(tree, *verdicts)
    assert [result.verdict for result in results] == list(verdicts.values())
    assert (tree / "src" / "box_of_mutants.py").read_text() == CODE, (
        "the tree itself is not touched"
    )


@pytest.mark.slow
def test_earlier_results_hold_until_something_changes(
    tree: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same source, test and mutant are not run again; another test is."""
    mutant = box("Box.size", "return 2", "return 3")
    assert [result.verdict for result in run(tree, mutant)] == ["killed"]
    counted: list[str] = []
    actual = Runner._run_test

    def count(self: Runner, copy: Path, test: str, *more: Any) -> Result:
        counted.append(test)
        return actual(self, copy, test, *more)

    monkeypatch.setattr(Runner, "_run_test", count)
    assert [result.verdict for result in run(tree, mutant)] == ["killed"]
    assert not counted
    test = tree / "tests" / "sizes" / "test_box.py"
    test.write_text(TEST.replace("== 2", ">= 2"))
    assert [result.verdict for result in run(tree, mutant)] == ["survived"]
    assert len(counted) == 2, "once without the change, once with it"


def test_several_lines_need_no_indent(tree: Path) -> None:
    """Text of several lines is indented as the code is."""
    mutant = box("Box.size", "if wide:\n    return 2", "if wide:\n    return 5")
    assert "            return 5\n        return 1" in mutant.apply(tree)
    with pytest.raises(AnchorError, match="stands 2 times"):
        box("Box.size", "return ", "pass").apply(tree)


@cache
def claims() -> dict[str, list[str]]:
    """Return the items that each test function claims."""
    claimed: dict[str, list[str]] = {}
    for file in (ROOT / "tests" / "acceptance").rglob("test_*.py"):
        for name, items in spec.marks(ast.parse(file.read_text("utf-8"))):
            claimed.setdefault(f"{file.relative_to(ROOT)}::{name}", []).extend(items)
    return claimed


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.key)
def test_every_mutant_has_its_code_and_its_test(mutant: Mutant) -> None:
    """The anchor matches once, the change compiles, and the test claims the promise."""
    assert mutant.apply(ROOT) != mutant.file(ROOT).read_text("utf-8")
    assert mutant.item in claims().get(mutant.test.partition("[")[0], [])


def test_no_two_mutants_are_the_same() -> None:
    """Keys are unique: results are kept by them."""
    keys = [mutant.key for mutant in MUTANTS]
    assert sorted(set(keys)) == sorted(keys)
