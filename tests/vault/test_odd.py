"""Odd names and odd bytes:
file systems that tell names apart, or not, and texts that no editor wrote.
"""

from __future__ import annotations

import sys
import unicodedata

import pytest
from tests.vault.conftest import ALICE, Desk, converged

from engrams.errors import InputError


@pytest.mark.covers("S2.14")
@pytest.mark.parametrize("names", [("Dog.md", "dog.md"), ("caf\u00e9.md", "cafe\u0301.md")])
@pytest.mark.parametrize("together", [True, False])
def test_names_that_other_file_systems_cannot_tell_apart(
    desk: Desk, names: tuple[str, str], together: bool
) -> None:
    """Of two such files one is a memory;
    the other is told of and untouched, and with another name it is remembered too.
    """
    desk.again(write__extract="off")
    desk.add("Begun.")
    facts = desk.root / "entries/user/alice/facts"
    for number, name in enumerate(names):
        if (facts / name).exists():
            pytest.skip("this file system does not tell them apart either")
        (facts / name).write_text(f"Text number {number}.\n", "utf-8")
        if not together:
            desk.sync()
    desk.sync()
    (problem,) = desk.problems().items()
    file = desk.root / problem[0]
    assert "only in case or Unicode form" in problem[1] and file.read_text("utf-8") in (
        "Text number 0.\n",
        "Text number 1.\n",
    )
    assert len(desk.everything()) == 2
    file.rename(file.with_name("other.md"))
    desk.sync()
    assert {record.text for record in desk.everything()} == {
        "Begun.",
        "Text number 0.",
        "Text number 1.",
    }
    converged(desk)


def test_a_name_in_another_case_is_the_same_memory(desk: Desk) -> None:
    """A file whose name changed in case or Unicode form alone keeps its memory and the new name."""
    record = desk.add("Caf\u00e9 in the old town.", settle=False)
    for change in (str.upper, lambda name: unicodedata.normalize("NFD", name)):
        path = desk.file(record)
        path.rename(path.with_name(change(path.stem) + ".md"))
        desk.sync()
        assert len(desk.everything()) == len(desk.files()) == 1 and desk.problems() == {}
    converged(desk)


@pytest.mark.skipif(sys.platform != "linux", reason="names are text there")
def test_a_name_that_is_no_text_is_told_and_stops_nothing(desk: Desk) -> None:
    """A file or folder whose name is not UTF-8 is reported and left alone;
    everything else goes on.
    """
    facts = desk.root / "entries/user/alice/facts"
    desk.add("Begun.", settle=False)
    (facts / "\udcff\udcfe.md").write_bytes(b"name is no text\n")
    (facts / "\udcff").mkdir()
    (facts / "good.md").write_text("A good one.\n", "utf-8")
    report = desk.sync()
    assert (
        report.added == 1
        and len(report.problems) == 2
        and all("UTF-8" in problem for problem in report.problems.values())
    )
    assert (
        not desk.engine.check()["ok"]
        and (facts / "\udcff\udcfe.md").read_bytes() == b"name is no text\n"
    )


@pytest.mark.parametrize(
    "text", ["a\0b", "a\ud800b", "\u202eabc\u2066", "a\u2028b\x85c", "\ufeffbom", "x" * 900_000]
)
def test_odd_texts_are_alike_in_memory_and_file(desk: Desk, text: str) -> None:
    """What memory makes of NUL, lone surrogates, marks, separators and a very long line is what its
    file gives back.
    """
    record = desk.add(text, settle=False)
    converged(desk)
    desk.engine.close()
    for path in desk.home.glob("memory.db*"):
        path.unlink()
    desk.again()
    assert desk.get(record.id).text == record.text
    converged(desk)


def test_a_text_that_is_too_long_leaves_no_file(desk: Desk) -> None:
    """Ten megabytes in one line are refused before anything is written."""
    with pytest.raises(InputError):
        desk.add("x" * 10_000_000, settle=False)
    desk.sync()
    assert desk.files() == []


@pytest.mark.covers("S2.17")
def test_odd_files_are_read_or_told_of(desk: Desk) -> None:
    """NUL in a file, a line of 10 MB, surrogates as bytes, UTF-16:
    each is a memory or a problem with a reason, and untouched then.
    """
    facts = desk.root / "entries/user/alice/facts"
    desk.add("Begun.", settle=False)
    bad = {
        "surrogate.md": "a\ud800b".encode("utf-8", "surrogatepass"),
        "wide.md": "hello".encode("utf-16"),
        "huge.md": b"z" * 10_000_000,
    }
    for name, data in {**bad, "nul.md": b"nul \0 here\n", "long.md": b"y" * 900_000}.items():
        (facts / name).write_bytes(data)
    report = desk.sync()
    assert report.added == 2 and {path.rpartition("/")[2] for path in report.problems} == bad.keys()
    assert {name: (facts / name).read_bytes() for name in bad} == bad
    for name in bad:
        (facts / name).unlink()
    converged(desk)
    assert any(record.text == "y" * 900_000 for record in desk.engine.list(scope=ALICE).records)
