"""The folder opens as an Obsidian vault:
its links lead somewhere, its settings are its own, and what it adds stays.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import yaml
from tests.vault.conftest import ALICE, Desk

from engrams.core import Kind, Status

LINK = re.compile(r"\[\[([^\]|]+)(?:\|[^\]]*)?\]\]")


def links(value: object) -> Iterator[str]:
    """Every link in a property, however deep."""
    if isinstance(value, str):
        yield from LINK.findall(value)
    elif isinstance(value, list | dict):
        for item in value if isinstance(value, list) else value.values():
            yield from links(item)


def resolved(root: Path, source: Path, link: str) -> Path | None:
    """The note that Obsidian opens:
    by the path from this note, from the vault, or by its name where only one has it.
    """
    for base in (source.parent, root):
        path = (base / f"{link}.md").resolve()
        if path.exists():
            return path
    linked = [path for path in root.rglob("*.md") if path.stem == link]
    return linked[0] if len(linked) == 1 else None


def test_properties_are_yaml_and_links_lead_to_notes(desk: Desk) -> None:
    """Front matter is one YAML mapping with an alias, and each link in it leads to the note of the
    memory it names.
    """
    desk.add("I live in Paris.")
    desk.add("I moved to Berlin.", scope=(*ALICE, "project", "x"))
    desk.engine.forget(desk.add("My car is red.").id, scope=ALICE)
    desk.sync()
    count = 0
    for path in desk.files():
        head = path.read_text("utf-8").split("---\n")[1]
        values = yaml.safe_load(head)
        assert isinstance(values, dict) and values["aliases"] == [values["id"]]
        for name, value in values.items():
            for link in links(value):
                target = resolved(desk.root, path, link)
                assert target is not None, (path, name, link)
                count += 1
    assert count >= 3


def test_what_obsidian_adds_stays_and_is_no_memory(desk: Desk) -> None:
    """Its folder of settings, tags and properties of one's own, and notes elsewhere are left as
    they are.
    """
    record = desk.add("My dentist is Doctor Brown.", settle=False)
    (desk.root / ".obsidian").mkdir()
    (desk.root / ".obsidian/app.json").write_text("{}")
    (desk.root / "Home.md").write_text("# My start page\n")
    desk.edit(record, "kind: note\n", "kind: note\ncssclasses: [wide]\nrating: 5\n")
    desk.edit(record, "Brown.", "Brown. See [[Home]] #health")
    assert desk.sync().changed == 1
    desk.engine.edit(record.id, scope=ALICE, fields={"importance": 0.9})
    desk.sync()
    text = desk.file(record).read_text("utf-8")
    assert (
        "cssclasses: [wide]\nrating: 5\n" in text
        and "importance: 0.9" in text
        and "[[Home]] #health" in text
    )
    assert (desk.root / "Home.md").read_text() == "# My start page\n" and (
        desk.root / ".obsidian/app.json"
    ).read_text() == "{}"
    assert [record.kind for record in desk.everything()] == [Kind.NOTE]


def test_its_trash_is_a_way_to_forget(desk: Desk) -> None:
    """A note that Obsidian moves to its trash is put away;
    moved back out, it is remembered again.
    """
    record = desk.add("My dentist is Doctor Brown.", settle=False)
    file = desk.file(record)
    trash = desk.root / ".trash"
    trash.mkdir()
    file.rename(trash / file.name)
    desk.sync()
    assert desk.get(record).status is Status.FORGOTTEN
    (trash / file.name).rename(file)
    desk.sync()
    assert desk.get(record).status is Status.ACTIVE and len(desk.files()) == 1
