"""Memory to files: where they are, what follows what, and what stands in the way."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.vault.conftest import ALICE, Desk

from engrams import Turn
from engrams.core import Kind, Record, Scope, Status
from engrams.errors import NotFoundError, StoreError
from engrams.vault.files import vault_paths as paths


def made(
    id: str,
    text: str = "Lives in Berlin.",
    scope: tuple[str, ...] = ALICE,
    kind: Kind = Kind.FACT,
    role: str = "user",
) -> Record:
    from datetime import UTC, datetime

    return Record(
        id=id,
        scope=Scope(scope),
        kind=kind,
        text=text,
        recorded_at=datetime(2026, 3, 2, 9, 15, tzinfo=UTC),
        role=role,
    )


@pytest.mark.covers("S2.13")
def test_every_kind_has_its_folder(desk: Desk) -> None:
    """A fact, what user and assistant said, a summary, an episode and a rule lie in folders that
    say so, below the scope's.
    """
    scope = (*ALICE, "conversation", "c1")
    desk.engine.observe(
        [Turn("I live in Berlin.", "user"), Turn("Nice city.", "assistant"), Turn("42", "tool")],
        scope=scope,
    )
    for kind in (Kind.SUMMARY, Kind.EPISODE, Kind.RULE, Kind.FACT):
        desk.engine.add(f"A {kind} of hers.", scope=scope, kind=kind, settle=False)
    desk.engine.drain()
    desk.sync()
    below = desk.root / "entries/user/alice/conversation/c1"
    assert {str(path.parent.relative_to(below)) for path in below.rglob("*.md")} == {
        "facts",
        "turns/user",
        "turns/assistant",
        "turns/other",
        "summaries",
        "episodes",
        "rules",
    }
    (turn,) = (below / "turns/assistant").iterdir()
    assert turn.name.startswith(f"{desk.engine.now():%Y-%m-%d}T") and "__nice-city__" in turn.name


@pytest.mark.covers("S2.14", "S2.18")
@pytest.mark.parametrize(
    "label",
    [
        "../x",
        "..",
        "/etc",
        "C:\\x",
        "con",
        "a" * 200,
        "Ärger 🙂",
        "x/y",
        ".hidden",
        "%2e%2e",
        "nul.txt",
        "日本",
    ],
)
def test_a_hostile_scope_stays_inside(desk: Desk, label: str) -> None:
    """Whatever a label says, its files lie below the root, in a folder that is visible and the
    scope's own.
    """
    scope = ("user", label)
    receipt = desk.engine.add("Something to remember.", scope=scope, settle=False)
    desk.sync()
    (file,) = desk.files()
    assert file.resolve().is_relative_to(desk.root.resolve())
    assert not any(
        part.startswith(".") or ":" in part or "\\" in part
        for part in file.relative_to(desk.root).parts
    )
    assert desk.engine.get(receipt.id, scope=scope).text in file.read_text("utf-8")
    assert {path.name.split("-")[0] for path in desk.home.iterdir()} <= {
        ".lock",
        "memory.db",
        "seal.key",
        "vault",
        "vault.db",
        "vault.lock",
    }


@pytest.mark.covers("S2.14")
def test_scopes_and_ids_of_one_slug_stay_apart() -> None:
    """Labels that differ in case, Unicode form or forbidden characters, and ids of one slug, have
    different names everywhere.
    """
    labels = [
        "alice",
        "Alice",
        "ALICE",
        "a/b",
        "a_b",
        "a:b",
        "e\u0301",
        "\u00e9",
        "facts",
        "turns",
        "x.",
        "x",
        "",
        "default",
    ]
    folders = [paths.scope_folder(Scope(("user", label))) for label in labels if label]
    assert len({paths.path_key(folder) for folder in folders}) == len(folders)
    taken_keys: set[str] = set()
    for id in [
        "01m7ysysbd7jvgsnhg0bs0gykp",
        "01m7ysysbd7jvgsnhg0bs1gykp",
        "../../etc/passwd",
        "..\\x",
        "a",
        "A",
        "\u00e9",
        "e\u0301",
        "x" * 500,
    ]:
        path = paths.new_path(made(id), taken_keys)
        assert (
            paths.path_key(path) not in taken_keys
            and path.startswith("entries/user/alice/facts/")
            and ".." not in path
        )
        taken_keys.add(paths.path_key(path))


def test_places_are_read_back() -> None:
    """A path tells scope, folder and deletion again, also below folders of the owner's own making."""
    assert paths.parse_location("entries/user/alice/facts/x.md") == paths.VaultFileLocation(
        "user/alice", "facts", False
    )
    assert paths.parse_location("deleted/user/alice/turns/user/x.md") == paths.VaultFileLocation(
        "user/alice", "turns/user", True
    )
    assert paths.parse_location("entries/user/alice/facts/home/x.md") == paths.VaultFileLocation(
        "user/alice", "facts", False
    )
    assert paths.parse_location("entries/user/x.md") is None
    assert paths.parse_location("memory/2026-01-01.md") is None
    for scope in [Scope(("user", "Ärger")), Scope(("turns", "user", "facts", "x"))]:
        path = paths.new_path(made("a", scope=scope.labels), ())
        location = paths.parse_location(path)
        assert location is not None and paths.find_scope(location.scope, [scope]) == scope
    assert paths.find_scope("user/bob", []) == Scope(("user", "bob"))
    assert paths.find_scope("user/_~12345678", []) is None


@pytest.mark.covers("S2.16")
def test_forgetting_moves_the_file_and_restoring_moves_it_back(desk: Desk) -> None:
    """The tombstone's file lies under deleted with the same folder and name;
    nothing is destroyed, and restore undoes it.
    """
    record = desk.add("I live in Berlin.")
    before = desk.file(record)
    desk.engine.forget(record.id, scope=ALICE)
    desk.sync()
    after = desk.file(record)
    assert after.relative_to(desk.root / "deleted") == before.relative_to(desk.root / "entries")
    assert (
        not before.exists()
        and "status: forgotten" in after.read_text()
        and "Berlin" in after.read_text()
    )
    desk.engine.restore(record.id, scope=ALICE)
    desk.sync()
    assert desk.file(record) == before
    assert [path for path in desk.files() if "deleted" in path.parts] == []


@pytest.mark.covers("S2.47", "S2.16")
def test_what_is_over_a_limit_lies_with_the_deleted_and_can_be_brought_back(desk: Desk) -> None:
    """An evicted memory's file moves under deleted and nothing is destroyed;
    moved back by hand it is remembered again.
    """
    from engrams.ports import RecordChange, WriteBatch

    record = desk.add("I live in Berlin.", settle=False)
    fields = {
        "status": Status.ARCHIVED,
        "superseded_by": paths.REPLACED_BY_EVICTION,
        "retired_at": desk.engine.now(),
    }
    change = RecordChange(record.scope.owner, record.id, fields, "evict")
    desk.engine.store.commit(
        WriteBatch("engrams", "over the limit", desk.engine.now(), changes=(change,))
    )
    before = desk.file(record)
    desk.sync()
    after = desk.file(record)
    assert (
        after.relative_to(desk.root / "deleted") == before.relative_to(desk.root / "entries")
        and "Berlin" in after.read_text()
    )
    assert desk.engine.search("Berlin", scope=ALICE).hits == ()
    before.parent.mkdir(parents=True, exist_ok=True)
    after.rename(before)
    assert desk.sync().restored == 1
    assert (desk.get(record).status, desk.get(record).superseded_by) == (Status.ACTIVE, "")
    assert desk.engine.search("Berlin", scope=ALICE).hits


def test_a_change_keeps_the_name_and_what_the_owner_wrote(desk: Desk) -> None:
    """An edited memory keeps its file's name;
    lines that its owner added to the front matter stay.
    """
    record = desk.add("I like green tea.")
    desk.edit(record, "kind: note\n", "kind: note\nmood: calm # today\n")
    desk.sync()
    before = desk.file(record)
    desk.engine.edit(record.id, scope=ALICE, text="I like black tea.")
    desk.sync()
    assert desk.file(record) == before
    assert "mood: calm # today" in before.read_text() and "black tea" in before.read_text()


def test_links_between_files_follow_what_moves(desk: Desk) -> None:
    """A fact's file links to the file of what it was learned from by a relative path, also after
    that one moved.
    """
    desk.add("I live in Berlin.")
    fact = next(record for record in desk.everything() if record.kind is Kind.FACT)
    source = desk.file(fact.evidence[0].source)
    link = os.path.relpath(source.with_suffix(""), desk.file(fact).parent)
    assert f"[[{link}|" in desk.file(fact).read_text()
    new = source.parent / "mine" / "where i live.md"
    new.parent.mkdir()
    source.rename(new)
    assert desk.sync().moved == 1
    assert "[[mine/where i live|" in desk.file(fact).read_text()
    assert desk.get(fact).version == fact.version


def test_purging_removes_files_and_quotes(desk: Desk) -> None:
    """A purged memory's file, and quotes of it in other files, are gone from the disk;
    the answer proves it.
    """
    desk.add("I live in Xanadu.")
    turn = next(record for record in desk.everything() if record.kind is Kind.NOTE)
    erased = desk.engine.purge(turn.id, scope=ALICE)
    assert erased.removed["files"] == 2 and not any(erased.remaining.values())
    contents = b"".join(
        path.read_bytes()
        for path in desk.home.rglob("*")
        if path.is_file() and "vault" in path.parts
    )
    assert b"Xanadu" not in contents
    assert desk.sync().total == 0
    with pytest.raises(NotFoundError):
        desk.engine.get("nothing-here", scope=ALICE)


def test_incognito_has_no_files(desks: Callable[..., Desk], tmp_path: Path) -> None:
    """With incognito, or a store in memory, no vault is made even where one is asked for."""
    import engrams

    for name, settings in (("a", {"incognito": True}), ("b", {"store__url": ":memory:"})):
        with engrams.open(home=tmp_path / name, vault__enabled=True, **settings) as memory:
            memory.add("A secret plan.", scope=ALICE)
        assert not (tmp_path / name).exists()


def test_a_vault_turned_on_later_gets_everything(desks: Callable[..., Desk]) -> None:
    """Memories from before the vault get their files, once."""
    desk = desks(vault__enabled=False)
    for number in range(30):
        desk.engine.add(f"Note number {number} of many.", scope=ALICE)
    desk.again(vault__enabled=True)
    assert desk.engine.drain(30)
    assert len(desk.files()) == len(desk.everything()) >= 30
    assert desk.sync().written == 0


def test_the_files_show_only_where_the_database_is_the_truth(desks: Callable[..., Desk]) -> None:
    """With truth = db a hand edit changes nothing;
    the next write puts it aside, where it can be read, and goes on.
    """
    desk = desks(vault__source_of_truth="db")
    record = desk.add("I like green tea.")
    desk.edit(record, "green", "red")
    assert desk.sync().total == 0 and desk.get(record).text == "I like green tea."
    desk.engine.edit(record.id, scope=ALICE, text="I like black tea.")
    desk.sync()
    assert "black tea" in desk.file(record).read_text()
    (conflict,) = (desk.root / "conflicts").rglob("*.md")
    assert "red tea" in conflict.read_text()


def test_a_folder_that_is_not_mounted_is_not_an_empty_one(desk: Desk) -> None:
    """Without its folder the vault neither forgets anything nor starts another one;
    the failure is visible and passes.
    """
    record = desk.add("I live in Berlin.")
    away = desk.root.with_name("away")
    desk.root.rename(away)
    with pytest.raises(StoreError):
        desk.sync()
    assert desk.engine.check()["ok"] is False
    desk.engine.add("I like tea very much.", scope=ALICE)
    desk.again()
    desk.root.mkdir()
    with pytest.raises(StoreError):
        desk.sync(accept=True)
    desk.root.rmdir()
    away.rename(desk.root)
    desk.sync()
    assert desk.get(record).status is Status.ACTIVE
    assert len(desk.files()) == len(desk.everything())
    assert desk.engine.check()["ok"] is True


def test_a_link_out_of_the_vault_is_not_followed(desk: Desk, tmp_path: Path) -> None:
    """A symbolic link among the files is neither read nor written through."""
    record = desk.add("I live in Berlin.")
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "x.md").write_text("---\nid: evil\n---\nread me\n")
    (desk.root / "entries/user/alice/facts/x.md").symlink_to(outside / "x.md")
    (desk.root / "entries/user/bob").symlink_to(outside, target_is_directory=True)
    desk.engine.add("Bob likes cake.", scope=("user", "bob"))
    with pytest.raises(StoreError):
        desk.sync()
    assert sorted(path.name for path in outside.iterdir()) == ["x.md"]
    (desk.root / "entries/user/bob").unlink()
    desk.sync()
    assert len(desk.everything()) == 2 and desk.get(record)
