"""Exports for other programs, through the command:
each is read back by its reader or checked by its rules.
"""

from __future__ import annotations

import csv
import json
import re
from pathlib import Path
from typing import Any

import pytest

CHAT = [
    {
        "text": "I'm Ann. My sister Maria lives in Lisbon.",
        "speaker": "Ann",
        "role": "user",
        "session": "hello",
        "at": "2025-01-02T10:00:00Z",
    },
    {
        "text": "Nice to meet you, Ann.",
        "role": "assistant",
        "session": "hello",
        "at": "2025-01-02T10:00:05Z",
    },
    {
        "text": "Maria works at Acme with Paul.",
        "speaker": "Ann",
        "role": "user",
        "session": "hello",
        "at": "2025-01-02T10:01:00Z",
    },
]
HOSTILE = [
    '=HYPERLINK("http://evil") [[Home]] and ![[secrets]]',
    "```dataviewjs\nalert(1)\n``` <script>alert(2)</script> $= x$ %%hidden%% #tag",
    '../../etc/passwd: CON | a\\b \u202e reversed * ? " < >',
    "'=quoted already",
    "＝HYPERLINK in wide letters",
]


@pytest.fixture
def filled(engrams: Any, tmp_path: Path) -> Any:
    """A memory with a chat, facts with tags and validity, and hostile texts."""
    (tmp_path / "chat.jsonl").write_text("".join(json.dumps(line) + "\n" for line in CHAT))
    facts = [
        {
            "text": "Ann works at Globex",
            "kind": "fact",
            "tags": ["job"],
            "subject": "Ann",
            "predicate": "works_at",
            "object": "Globex",
            "id": "f1",
        },
        {
            "text": "Ann works at Initech",
            "kind": "fact",
            "valid_from": "2019-01-01",
            "valid_to": "2023-01-01",
            "id": "f2",
        },
        {"text": "Always answer in French", "kind": "rule", "id": "f3"},
        *(
            {"text": text, "kind": "note", "id": f"h{number}"}
            for number, text in enumerate(HOSTILE)
        ),
    ]
    (tmp_path / "facts.json").write_text(json.dumps(facts))
    for name in ("chat.jsonl", "facts.json"):
        assert engrams("import", str(tmp_path / name), "--json").code == 0
    return engrams


def _texts(engrams: Any, *arguments: str) -> set[str]:
    return {
        record["text"]
        for record in engrams("list", "--json", "--limit", "500", *arguments).json["records"]
    }


def test_a_table_comes_back(filled: Any, tmp_path: Path) -> None:
    """CSV holds what is current and what has ended;
    no cell is a formula; it is imported as it was.
    """
    before = _texts(filled)
    assert filled("export", str(tmp_path / "m.csv"), "--format", "csv", "--json").json[
        "records"
    ] > len(HOSTILE)
    with (tmp_path / "m.csv").open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert not [
        cell for row in rows for cell in row.values() if cell.startswith(("=", "+", "-", "@", "＝"))
    ]
    old = next(row for row in rows if row["text"] == "Ann works at Initech")
    assert (old["status"], old["valid_to"][:10]) == ("superseded", "2023-01-01")
    answer = filled("import", str(tmp_path / "m.csv"), "--user", "bob", "--json").json
    assert (answer["stored"], answer["bad"]) == (len(rows), [])
    assert _texts(filled, "--user", "bob") >= before
    globex = next(
        record
        for record in filled("list", "--json", "--user", "bob", "--tag", "job").json["records"]
    )
    assert (globex["subject"], globex["predicate"], globex["object"]) == (
        "Ann",
        "works_at",
        "Globex",
    )


def test_mem0_comes_back(filled: Any, tmp_path: Path) -> None:
    """mem0's shape holds the statements; our importer reads them back with their labels."""
    number = filled("export", str(tmp_path / "mem0.json"), "--format", "mem0", "--json").json[
        "records"
    ]
    exported = json.loads((tmp_path / "mem0.json").read_text())["results"]
    assert len(exported) == number and {item["user_id"] for item in exported} == {"ann"}
    assert next(record for record in exported if record["memory"] == "Ann works at Globex")[
        "categories"
    ] == ["job"]
    preview = filled("import", str(tmp_path / "mem0.json"), "--dry-run", "--json").json
    assert (preview["format"], preview["stored"], preview["bad"]) == ("mem0", number, [])


def test_langgraph_items_go_into_a_store(filled: Any, tmp_path: Path) -> None:
    """Each line is an item that LangGraph's own store takes, and that our importer reads."""
    number = filled(
        "export", str(tmp_path / "items.jsonl"), "--format", "langgraph", "--json"
    ).json["records"]
    items = [json.loads(line) for line in (tmp_path / "items.jsonl").read_text().splitlines()]
    assert len(items) == number
    for item in items:
        assert (
            all(label and "." not in label and "\0" not in label for label in item["namespace"])
            and item["namespace"][0] != "langgraph"
        )
    preview = filled("import", str(tmp_path / "items.jsonl"), "--dry-run", "--json").json
    assert (preview["format"], preview["stored"], preview["bad"]) == ("langgraph", number, [])
    base = pytest.importorskip("langgraph.store.memory")
    store = base.InMemoryStore()
    for item in items:
        store.put(tuple(item["namespace"]), item["key"], item["value"])
    assert {item.value["content"] for item in store.search(("memories", "ann"), limit=500)} >= {
        "Ann works at Globex",
        *HOSTILE,
    }


def test_an_agent_file_comes_back(filled: Any, tmp_path: Path) -> None:
    """Statements are lines of blocks that exist, rules apart;
    messages follow the system's; the importer reads all of it.
    """
    number = filled("export", str(tmp_path / "ann.af"), "--format", "letta", "--json").json[
        "records"
    ]
    exported = json.loads((tmp_path / "ann.af").read_text())
    (agent,) = exported["agents"]
    blocks = {block["id"]: block for block in exported["blocks"]}
    assert agent["block_ids"] == list(blocks) and all(
        len(block["value"]) <= block["limit"] for block in blocks.values()
    )
    assert "Always answer in French" in next(
        block["value"] for block in blocks.values() if block["label"] == "rules"
    )
    assert [message["role"] for message in agent["messages"]] == [
        "system",
        "user",
        "assistant",
        "user",
    ]
    assert set(agent["in_context_message_ids"]) <= {message["id"] for message in agent["messages"]}
    preview = filled("import", str(tmp_path / "ann.af"), "--dry-run", "--json").json
    assert (preview["format"], preview["stored"], preview["bad"]) == ("letta", number, [])


def _check_links(vault: Path) -> set[str]:
    """Every link of every note names a note; returns the links."""
    links = {
        target
        for note in vault.rglob("*.md")
        for target in re.findall(
            r"(?<!\\)\[\[([^\]|]+)(?:\|[^\]]*)?\]\]", note.read_text(encoding="utf-8")
        )
    }
    assert links and all((vault / f"{link}.md").is_file() for link in links), links
    return links


def test_a_vault_for_obsidian(filled: Any, tmp_path: Path) -> None:
    """Notes of people stand beside those of memories and talks;
    links work; hostile texts stay words; names are safe everywhere.
    """
    vault = tmp_path / "vault"
    number = filled("export", str(vault), "--format", "obsidian", "--json").json["records"]
    assert number == len([*vault.glob("Memories/*.md")]) + len(CHAT)
    assert {"People/Maria", "Conversations/hello"} <= _check_links(vault)
    maria = (vault / "People" / "Maria.md").read_text()
    assert "## Known" in maria and "Lisbon" in maria and "Memories/" in maria
    for path in vault.rglob("*.md"):
        assert len(path.name.encode()) < 120 and not re.search(
            r'[<>:"\\|?*#^\[\]%\x00-\x1f\u202e]', path.name
        )
        body = path.read_text().split("%% Below")[0]
        assert (
            "<script" not in body
            and not re.search(r"^\s*```", body, re.MULTILINE)
            and "![[" not in body
        )
    assert not (tmp_path / "etc").exists()


def test_a_vault_is_written_anew(filled: Any, tmp_path: Path) -> None:
    """Again, nothing is doubled:
    notes of erased memories go, foreign files stay, and so does what was written below the mark.
    """
    vault = tmp_path / "vault"
    filled("export", str(vault), "--format", "obsidian")
    first = {path.relative_to(vault): path.read_text() for path in vault.rglob("*.md")}
    filled("export", str(vault), "--format", "obsidian")
    assert {path.relative_to(vault): path.read_text() for path in vault.rglob("*.md")} == first
    (vault / "Mine.md").write_text("my own note")
    maria = vault / "People" / "Maria.md"
    maria.write_text(maria.read_text() + "Call her on Sunday.\n")
    record_id = next(
        record
        for record in filled("list", "--json").json["records"]
        if record["text"] == "Ann works at Globex"
    )
    assert filled("purge", record_id["id"], "--confirm", "purge").code == 0
    filled("export", str(vault), "--format", "obsidian")
    assert (
        "Call her on Sunday." in maria.read_text()
        and (vault / "Mine.md").read_text() == "my own note"
    )
    assert not [path for path in vault.rglob("*.md") if "Globex" in path.read_text()]
    _check_links(vault)
    other_home = tmp_path / "other"
    other_home.mkdir()
    (other_home / "x.md").write_text("mine")
    assert filled("export", str(other_home), "--format", "obsidian").code == 1


def test_a_database_of_engrams_is_no_export(engrams: Any, home: Path) -> None:
    """To import memory's own file is refused with the commands that move it."""
    engrams("add", "The gate is green.")
    finished = engrams("import", str(home / "memory.db"))
    assert finished.code == 1
    assert "It is a database of engrams." in finished.err
    assert "engrams backup" in finished.err
