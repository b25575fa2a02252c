"""engrams add FILE and engrams documents: a file in, found by page, and out of every place."""

from __future__ import annotations

from pathlib import Path

import pytest
from bench.documents import making
from tests.surfaces.cli.conftest import Run
from tests.transfer.documents import media_files

PAGES = [
    ["1. Parties", "The tenant is Anna Berg, and the landlord is Nordhem."],
    ["2. Pets", "The tenant may keep one quagga. Dogs need the consent of the landlord."],
]


@pytest.fixture
def lease(tmp_path: Path) -> Path:
    path = tmp_path / "papers" / "lease.pdf"
    path.parent.mkdir()
    path.write_bytes(making.make_pdf(PAGES, "Lease"))
    return path


def test_a_file_is_added_found_and_listed(
    engrams: Run, lease: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A path is a document, in a folder too; search, context, explain and JSON name its page."""
    assert "2 memories" in engrams("add", str(lease)).out
    monkeypatch.chdir(lease.parents[1])
    assert "2 already stored" in engrams("add", "papers/").out
    assert engrams("add", "papers").code == 0  # a word, not a folder
    assert "lease.pdf, p. 2" in engrams("search", "may I keep a quagga?").out
    (first, *_) = engrams("search", "may I keep a quagga?", "--json").json["hits"]
    place = first["document"]
    assert (place["label"], place["page"], place["heading"]) == ("lease.pdf, p. 2", 2, "2. Pets")
    assert engrams("documents", "--refresh", "--json").json == [
        {"name": "lease.pdf", "outcome": "unchanged", "problem": ""}
    ]
    assert "[lease.pdf, p. 2] “" in engrams("context", "may I keep a quagga?").out
    assert "lease.pdf, p. 2" in engrams("explain", "may I keep a quagga?").out
    (listed,) = engrams("documents", "--json").json
    assert (listed["name"], listed["title"], listed["passages"]) == ("lease.pdf", "Lease", 2)
    assert [
        row["document"]["page"] for row in engrams("documents", "lease.pdf", "--json").json
    ] == [
        1,
        2,
    ]


def test_a_sound_is_added_with_a_note(engrams: Run, tmp_path: Path) -> None:
    """The note is found, and belongs to a file."""
    memo = tmp_path / "memo.wav"
    memo.write_bytes(media_files.make_wav())
    assert engrams("add", str(memo), "--note", "The quagga sings.").code == 0
    (hit,) = engrams("search", "who sings?", "--json").json["hits"]
    assert (hit["document"]["label"], hit["document"]["media"]) == ("memo.wav", "audio/wav")
    assert "--note belongs" in engrams("add", "I like bees.", "--note", "x").err


def test_documents_and_texts_are_not_mixed(engrams: Run, lease: Path) -> None:
    """A file beside a text is refused, and a file with a key in its name is not read."""
    mixed = engrams("add", str(lease), "I like bees.")
    assert (mixed.code, "separate commands" in mixed.err) == (1, True)
    secret = lease.parent / "server.key"
    secret.write_text("the words of a key")
    assert "ignore rule" in engrams("add", str(secret)).err
    assert engrams("documents", "--json").json == []


def test_an_inner_address_is_refused(engrams: Run) -> None:
    """An address is a page to fetch, and none on this machine is; a sentence with one is a text."""
    refused = engrams("add", "http://127.0.0.1:1/secret")
    assert (refused.code != 0, "private network" in refused.err) == (True, True)
    assert engrams("add", "See http://127.0.0.1:1/secret for the plan.").code == 0


def test_a_purged_document_is_nowhere(engrams: Run, home: Path, lease: Path) -> None:
    """After a purge no file of the home holds its words, its earlier version's or its vectors'."""
    settings = ("--set", "vault.enabled=true", "--set", "vault.git=false")
    engrams("add", *settings, str(lease))
    lease.write_bytes(making.make_pdf([*PAGES, ["The tenant also keeps an okapi."]], "Lease"))
    engrams("add", *settings, str(lease))
    words = [b"quagga", b"okapi", b"Nordhem"]
    stored = [path for path in home.rglob("*") if path.is_file()]
    assert all(any(word in path.read_bytes() for path in stored) for word in words)
    engrams("documents", "lease.pdf", "--forget")
    assert engrams("documents", *settings, "lease.pdf", "--purge", stdin="no\n").code != 0
    command = ("documents", *settings, "lease.pdf", "--purge", "--confirm", "purge", "--json")
    erased = engrams(*command).json
    assert erased["proven"], erased
    left = [
        (path, word)
        for path in home.rglob("*")
        if path.is_file()
        for word in words
        if word in path.read_bytes()
    ]
    assert left == []
    assert engrams("documents", "lease.pdf").code == 3
