"""The house rules on names and order; every offender is printed."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from scripts import house

ROOT = Path(__file__).resolve().parents[1]
SOURCE = ROOT / "src" / "engrams"
FORBIDDEN = {
    "utils",
    "util",
    "helpers",
    "helper",
    "common",
    "base",
    "manager",
    "managers",
    "service",
    "services",
    "misc",
}


def report(offenders: list[str], remedy: str) -> None:
    """Fail with what is wrong, and with what to do about it."""
    if offenders:
        pytest.fail("\n".join(["", remedy, *offenders]), pytrace=False)


def test_names_are_plain_words() -> None:
    """Modules and folders of the package are named in snake_case, and none by a word that says
    nothing.
    """
    offenders = []
    for path in SOURCE.rglob("*"):
        name = path.stem
        if "__pycache__" in path.parts or name in ("__init__", "__main__"):
            continue
        if not (path.is_dir() or path.suffix == ".py"):
            continue
        if not re.fullmatch(r"[a-z][a-z0-9]*(_[a-z0-9]+)*", name):
            offenders.append(f"{path.relative_to(ROOT)}: a name is in snake_case")
        if name in FORBIDDEN:
            offenders.append(
                f"{path.relative_to(ROOT)}: {name!r} says nothing about what is inside"
            )
    report(offenders, "Name these files and folders after their subject:")


def test_constants_stand_before_code() -> None:
    """No literal constant of the package stands behind a function or class."""
    report(
        house.late_constants(),
        "Move these constants above the first function or class of their file:",
    )


def test_vague_names_only_become_fewer() -> None:
    """The package has at most as many vague bindings as the ratchet holds."""
    assert house.count_vague() <= house.read_ratchet(), (
        "Rename what you added: a variable says what it holds, and is no pronoun or participle;"
        " `python scripts/house.py --list` shows them all."
    )


def test_classes_have_names_of_their_own() -> None:
    """No two classes of the package bear one name."""
    report(
        house.repeated_classes(),
        "Give one of the classes another name; a class name is used once in src:",
    )


def test_docstrings_open_with_a_verb_or_a_noun() -> None:
    """No docstring of the package opens with a question word."""
    report(house.question_docstrings(), "Begin these docstrings with a verb or a noun:")


def test_imports_have_no_circles() -> None:
    """No modules of the package or the benches import each other."""
    report(
        house.import_circles(), "These modules import each other; move what both need below them:"
    )


def test_every_setting_is_explained() -> None:
    """Each setting has a text, without a document's number in it."""
    report(house.unexplained_settings(), "Describe these settings in their Field:")


def test_tests_mirror_the_tree() -> None:
    """A folder of tests is named after the package it tests, or is one of those that test several."""
    several = {"flows", "campaign", "faults", "bench", "acceptance", "models_real", "mutants"}
    folders = [
        path.relative_to(ROOT / "tests")
        for path in (ROOT / "tests").rglob("*")
        if path.is_dir() and path.name != "__pycache__"
    ]
    lost = [
        path for path in folders if path.parts[0] not in several and not (SOURCE / path).is_dir()
    ]
    report(
        [f"tests/{path}: there is no src/engrams/{path}" for path in lost],
        "Move these tests to the folder of the package that they test:",
    )


def test_nothing_is_left_to_do() -> None:
    """No reminder to finish something and no stub stands in the package."""
    offenders = []
    for path in house.python_files("src"):
        for number, line in enumerate(path.read_text("utf-8").splitlines(), 1):
            if re.search(r"\b(TODO|FIXME|XXX)\b|raise NotImplementedError", line):
                offenders.append(f"{path.relative_to(ROOT)}:{number} {line.strip()}")
    report(offenders, "Finish these, or take them out:")


def test_every_test_says_what_it_checks() -> None:
    """Every test has a docstring that states the behaviour."""
    tests = [
        item
        for item in house.definitions("tests")
        if item.name.startswith("test_") and item.kind == "function"
    ]
    missing = [f"{item.location} {item.name}" for item in tests if not item.summary]
    report(missing, "Say in a docstring which behaviour these tests check:")
