"""The house rules on size and names; every offender is printed."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from scripts import house

ROOT = Path(__file__).resolve().parents[1]
SOURCE = ROOT / "src" / "engrams"
FORBIDDEN = {"utils", "util", "helpers", "helper", "common", "base", "manager", "managers", "service", "services", "misc"}


def report(offenders: list[str]) -> None:
    if offenders:
        pytest.fail("\n" + "\n".join(offenders), pytrace=False)


def test_files_are_short() -> None:
    """No Python file of the package, tests, benches or scripts is longer than 400 lines."""
    report(house.long_files())


def test_functions_are_short() -> None:
    """No function of the package is longer than 60 lines."""
    report(house.long_functions())


def test_functions_take_few_parameters() -> None:
    """No function of the package takes more than 8 parameters; a command of the command line may."""
    report(house.wide_functions())


def test_names_are_one_plain_word() -> None:
    """Modules and folders of the package are named by one lower-case word, and none by a word that says nothing."""
    offenders = []
    for path in SOURCE.rglob("*"):
        name = path.stem
        if "__pycache__" in path.parts or name == "__init__" or not (path.is_dir() or path.suffix == ".py"):
            continue
        if not (name.isascii() and name.isalnum() and name == name.lower()) and name != "__main__":
            offenders.append(f"{path.relative_to(ROOT)}: a name is one lower-case word")
        if name in FORBIDDEN:
            offenders.append(f"{path.relative_to(ROOT)}: {name!r} says nothing about what is inside")
    report(offenders)


def test_classes_have_names_of_their_own() -> None:
    """No two classes of the package bear one name."""
    report(house.repeated_classes())


def test_docstrings_open_with_a_verb_or_a_noun() -> None:
    """No docstring of the package opens with a question word."""
    report(house.question_docstrings())


def test_docstrings_have_a_short_first_line() -> None:
    """The first line of a docstring has twelve words at most."""
    report(house.long_docstrings())


def test_imports_have_no_circles() -> None:
    """No modules of the package or the benches import each other."""
    report(house.import_circles())


def test_every_setting_is_explained() -> None:
    """Each setting has a text, without a document's number in it."""
    report(house.unexplained_settings())


@pytest.mark.slow  # `make check` looks as well
def test_nothing_is_dead() -> None:
    """Everything in the package is used in the package, or stands in the whitelist with its reason."""
    report(house.dead_code())


def test_tests_mirror_the_tree() -> None:
    """A folder of tests is named after the package it tests, or is one of those that test several."""
    several = {"flows", "campaign", "faults", "bench", "acceptance"}
    folders = [path.relative_to(ROOT / "tests") for path in (ROOT / "tests").rglob("*") if path.is_dir() and path.name != "__pycache__"]
    lost = [path for path in folders if path.parts[0] not in several and not (SOURCE / path).is_dir()]
    report([f"tests/{path}: there is no src/engrams/{path}" for path in lost])


def test_nothing_is_left_to_do() -> None:
    """No reminder to finish something and no stub stands in the package."""
    offenders = []
    for path in house.python_files("src"):
        for number, line in enumerate(path.read_text("utf-8").splitlines(), 1):
            if re.search(r"\b(TODO|FIXME|XXX)\b|raise NotImplementedError", line):
                offenders.append(f"{path.relative_to(ROOT)}:{number} {line.strip()}")
    report(offenders)


def test_every_test_says_what_it_checks() -> None:
    """Every test has a docstring that states the behaviour."""
    found = [one for one in house.definitions("tests") if one.name.startswith("test_") and one.kind == "function"]
    report([f"{one.place} {one.name} has no docstring" for one in found if not one.summary])
