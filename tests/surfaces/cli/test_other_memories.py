"""Imports from other memories through the command:
previewed, imported, asked about, undone as one.
"""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.surfaces.cli.conftest import Run
from tests.transfer.formats import samples
from tests.transfer.formats.samples import SAMPLES

from engrams.transfer import formats

Writer = Callable[[Path], Path]


def _file(name: str, suffix: str = ".json") -> Writer:
    def write(folder: Path) -> Path:
        path = folder / f"{name}{suffix}"
        content = SAMPLES[name]
        path.write_text(content if isinstance(content, str) else json.dumps(content))
        return path

    return write


SOURCES: dict[str, tuple[Writer, str, int, str, str]] = {
    "mem0": (_file("mem0"), "mem0", 2, "cello", "Plays the cello"),
    "mem0 history": (
        lambda folder: samples.write_mem0_history(folder / "history.db"),
        "mem0",
        2,
        "lives",
        "Lives in Berlin",
    ),
    "graphiti": (_file("graphiti"), "zep", 4, "where does Ann work", "Ann works at Globex"),
    "zep": (_file("zep"), "zep", 2, "Ann lives", "Ann lives in Lyon"),
    "letta": (_file("letta", ".af"), "letta", 5, "cat", "My cat is called Mia."),
    "cognee": (
        lambda folder: samples.write_cognee(folder / "dump"),
        "cognee",
        3,
        "nurse",
        "Ann: A nurse from Lyon",
    ),
    "hindsight": (
        lambda folder: samples.write_hindsight(folder / "a.zip"),
        "hindsight",
        3,
        "Google team",
        "Alice works at Google on the AI team",
    ),
    "honcho": (_file("honcho_conclusions"), "honcho", 1, "bees", "ann keeps bees"),
    "supermemory": (_file("supermemory"), "supermemory", 3, "beans grows", "Grows beans"),
    "memvara": (
        lambda folder: samples.write_memvara(folder / "m.db"),
        "memvara",
        4,
        "ann lives",
        "ann lives in Oslo",
    ),
    "basic-memory": (
        _file("basic_memory", ".md"),
        "basic_memory",
        7,
        "pour over fruit",
        "Pour over brings out the fruit #brewing",
    ),
    "langgraph": (_file("langgraph"), "langgraph", 2, "opera", "Likes opera"),
    "jcode": (_file("jcode"), "jcode", 5, "staging", "The staging database is called crane"),
    "agent-cli": (
        _file("agent_cli", ".md"),
        "agent_cli",
        1,
        "kayak",
        "The user owns a red kayak",
    ),
    "telegram": (
        _file("telegram"),
        "telegram",
        4,
        "bees",
        "I keep bees, see https://bees.example!",
    ),
    "claude": (_file("claude_memory"), "claude", 4, "marathons", "Runs marathons"),
    "chatgpt": (_file("chatgpt_memory"), "chatgpt", 1, "vegetarian", "User is vegetarian"),
}


WITHOUT_A_SOURCE = {"engrams", "turns", "json", "lines", "csv", "locomo", "mcp"}
"""Formats of no other memory; their tests are in `tests/transfer/formats`."""


def test_every_format_moves_in() -> None:
    """A new format has a reader, and a line in the table above."""
    for name in {*formats.FORMATS} - {"memvara"}:
        assert "A database of" not in str([*formats.read(io.StringIO("x"), name)]), name
    assert {source[1] for source in SOURCES.values()} == {*formats.FORMATS} - WITHOUT_A_SOURCE


@pytest.mark.parametrize("name", SOURCES)
def test_another_memory_moves_in_and_out(engrams: Any, tmp_path: Path, name: str) -> None:
    """A preview counts what the import then stores;
    it is found; importing again stores nothing; one undo takes all of it back.
    """
    write, format, number, query, text = SOURCES[name]
    path = str(write(tmp_path))
    preview = engrams("import", path, "--dry-run", "--json").json
    assert (preview["format"], preview["stored"], preview["bad"]) == (format, number, [])
    answer = engrams("import", path, "--json").json
    assert (answer["stored"], answer["bad"]) == (number, [])
    assert text in [hit["text"] for hit in engrams("search", query, "--json").json["hits"]]
    assert engrams("import", path, "--json").json["stored"] == 0
    assert engrams("import", "--undo", answer["id"], "--json").json["removed"] >= number
    assert not engrams("list", "--json", "--status", "active", "--status", "superseded").json[
        "records"
    ]


def test_what_ended_there_is_history_here(engrams: Any, tmp_path: Path) -> None:
    """A fact that another memory ended is not current; asked for its time, it is found."""
    engrams("import", str(_file("graphiti")(tmp_path)), "--json")
    assert "Ann works at Acme" not in [
        hit["text"] for hit in engrams("search", "Ann works", "--json").json["hits"]
    ]
    hits = engrams("search", "Ann works", "--history", "--json").json["hits"]
    old = next(hit for hit in hits if hit["text"] == "Ann works at Acme")
    assert (old["status"], old["valid_from"][:10], old["valid_to"][:10]) == (
        "superseded",
        "2020-03-01",
        "2024-12-01",
    )


def test_labels_places_and_triples_are_kept(engrams: Any, tmp_path: Path) -> None:
    """Categories are tags that filters see, an agent's memory lies in the agent's scope, a relation
    has its parts.
    """
    engrams("import", str(_file("mem0")(tmp_path)), "--json")
    (cello,) = engrams("list", "--tag", "music", "--json").json["records"]
    assert cello["scope"] == ["user", "ann", "agent", "tutor"]
    engrams("import", str(_file("zep")(tmp_path)), "--json")
    lyon = next(
        record
        for record in engrams("list", "--json").json["records"]
        if record["text"] == "Ann lives in Lyon"
    )
    assert (lyon["subject"], lyon["predicate"], lyon["object"]) == ("Ann", "lives_in", "Lyon")


def test_several_users_are_never_mixed(engrams: Any, tmp_path: Path) -> None:
    """A file of several users is refused until one is named;
    an unknown name is told the known ones.
    """
    path = tmp_path / "all.json"
    path.write_text(
        json.dumps(
            [{"id": name, "memory": f"{name} sings", "user_id": name} for name in ("al", "bo")]
        )
    )
    refused = engrams("import", str(path))
    assert refused.code == 1 and "2 users: al, bo" in refused.err and "--from-user" in refused.err
    assert "al, bo" in engrams("import", str(path), "--from-user", "cy").err
    assert engrams("import", str(path), "--from-user", "bo", "--json").json["stored"] == 1
    assert [record["text"] for record in engrams("list", "--json").json["records"]] == ["bo sings"]
    assert engrams("import", str(path), "--from-user", "*", "--json").json["stored"] == 1
    folder = tmp_path / "each"
    folder.mkdir()
    for name in ("al", "cy"):
        (folder / f"{name}.json").write_text(
            json.dumps([{"id": f"{name}2", "memory": f"{name} rows", "user_id": name}])
        )
    mixed = engrams("import", str(folder), "--json", "--skip-bad").json
    assert (mixed["stored"], mixed["rejected"]) == (1, 1) and "2 users: al, cy" in mixed["bad"][0][
        "message"
    ]


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ('{"agents": [{"name": "x"}], "blocks": [', "Line 1"),
        ('[{"observer_id": "a", "observed_id": "b", "content": "c", "id": "d"},\n oops]', "Line 2"),
        (
            '{"edges": [{"fact": "x", "name": "Y", "uuid": "1", "valid_at": "soon"}]}',
            "the time 'soon' is not understood",
        ),
    ],
)
def test_broken_files_are_refused(engrams: Any, tmp_path: Path, content: str, reason: str) -> None:
    """A broken file of another memory stores nothing, and the reason names the line or the field."""
    path = tmp_path / "x.json"
    path.write_text(content)
    finished = engrams("import", str(path))
    assert finished.code == 1 and reason in finished.err
    assert not engrams("list", "--json").json["records"]


def test_what_an_assistant_said_there_is_no_word_of_the_user(engrams: Any, tmp_path: Path) -> None:
    """A memory of mem0 keeps the role that it has there, in lists and in a context."""
    said = {
        "assistant": "Our insurance covers it, and claim CL-0912 is open.",
        "user": "I like jazz.",
    }
    rows = [
        {"id": f"m{number}", "memory": text, "role": role, "created_at": "2026-01-01T00:00:00Z"}
        for number, (role, text) in enumerate(said.items())
    ]
    file = tmp_path / "memories.json"
    file.write_text(json.dumps({"results": rows}), "utf-8")
    engrams("import", str(file), "--json")
    records = engrams("list", "--json").json["records"]
    assert {each["role"]: each["text"] for each in records} == said
    context = engrams("context", "Which claim is open?").out
    assert "CL-0912" in context and "user: Our insurance" not in context


def test_a_purge_takes_the_name_of_an_imported_file(
    engrams: Run, home: Path, tmp_path: Path
) -> None:
    """Once no memory of an import is left, its file's name is in no byte of the home either."""
    kept, erased = tmp_path / "kept-list.md", tmp_path / "divorce-plan.md"
    for file in (kept, erased):
        file.write_text(f"The garden of {file.stem} is open on Monday.\n", "utf-8")
        assert engrams("import", str(file)).code == 0
    ids = [
        record["id"]
        for record in engrams("list", "--json").json["records"]
        if "divorce" in record["text"]
    ]
    assert engrams("purge", *ids, "--confirm", "purge").code == 0
    bytes_of_home = b"".join(path.read_bytes() for path in home.rglob("*") if path.is_file())
    assert b"divorce" not in bytes_of_home and b"kept-list" in bytes_of_home
