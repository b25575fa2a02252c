"""Files to memory: what a hand changes, adds, moves and removes."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.vault.conftest import ALICE, Desk

from engrams.core import EdgeType, Kind, Status, Turn
from engrams.vault.files.changes import BY_HAND


def found(desk: Desk, query: str) -> list[str]:
    return [hit.record.text for hit in desk.engine.search(query, scope=ALICE).hits]


@pytest.mark.covers("S2.19", "S2.21")
def test_an_edit_while_nobody_runs_flows_in(desk: Desk) -> None:
    """A file changed between two runs changes what search finds, with an entry of its own in the
    history.
    """
    record = desk.add("My dentist is Doctor Brown.", settle=False)
    desk.engine.close()
    desk.edit(record, "Brown", "Green")
    desk.again()
    assert desk.get(record).text == "My dentist is Doctor Green."
    assert found(desk, "dentist")[0] == "My dentist is Doctor Green."
    last = desk.engine.history(record.id, scope=ALICE)[-1]
    assert (last.action, last.before["text"], last.actor) == (
        BY_HAND,
        "My dentist is Doctor Brown.",
        "hand",
    )
    assert "version: 2" in desk.file(record).read_text()
    assert desk.sync().total == 0


def test_front_matter_can_be_edited(desk: Desk) -> None:
    """Tags, importance, times, subject and the rest follow the front matter;
    a line taken away means the default.
    """
    record = desk.add("My dentist is Doctor Brown.", settle=False)
    desk.edit(
        record,
        "kind: note\n",
        "kind: fact\ntags: [health, 2024]\nimportance: 0.9\nvalid_from: 2024-05-01\ncategory:"
        " people\n",
    )
    desk.sync()
    now = desk.get(record)
    assert (now.kind, now.tags, now.importance, now.category) == (
        Kind.FACT,
        ("health", "2024"),
        0.9,
        "people",
    )
    assert now.valid_from and now.valid_from.year == 2024 and now.layer == "semantic"
    desk.edit(record, "importance: 0.9\n", "")
    desk.sync()
    assert desk.get(record).importance == 0.5


@pytest.mark.covers("S2.20")
def test_a_new_file_becomes_a_memory(desk: Desk) -> None:
    """A note dropped into a folder is found, learned from, and gets its front matter;
    the folder says whose it is.
    """
    desk.add("My dentist is Doctor Brown.", settle=False)
    new = desk.root / "entries/user/alice/facts/new home.md"
    new.write_text("I moved to Lisbon.\n")
    assert desk.sync().added == 1
    desk.engine.drain()
    desk.sync()
    assert "I moved to Lisbon." in found(desk, "Where did I move? Lisbon")
    assert new.read_text().startswith("---\nid: ") and new.read_text().endswith(
        "---\nI moved to Lisbon.\n"
    )
    facts = [record for record in desk.everything() if record.kind is Kind.FACT]
    assert any("Lisbon" in fact.text for fact in facts)
    bob = desk.root / "entries/user/bob/turns/assistant/hello.md"
    bob.parent.mkdir(parents=True)
    bob.write_text("How are you, Bob?")
    assert desk.sync().added == 1
    (turn,) = desk.engine.list(scope=("user", "bob")).records
    assert (turn.kind, turn.role, turn.scope.key) == (Kind.TURN, "assistant", "user/bob")


@pytest.mark.covers("S2.17")
def test_what_cannot_be_read_is_reported_and_left_alone(desks: Callable[..., Desk]) -> None:
    """Broken front matter, no id (where those are not adopted), no text, no UTF-8:
    told by check, untouched; the rest loads.
    """
    desk = desks(vault__adopt_new_files=False)
    record = desk.add("My dentist is Doctor Brown.", settle=False)
    folder = desk.root / "entries/user/alice/facts"
    bad = {
        "broken.md": b"---\nid: [\n---\ntext\n",
        "endless.md": b"---\nid: x\ntext\n",
        "noid.md": b"---\nkind: fact\n---\nNo id here.\n",
        "empty.md": b"---\nid: abcdef\n---\n\n",
        "latin.md": "---\nid: abcdeg\n---\nGrüße\n".encode("latin-1"),
        "wrong.md": b"---\nid: abcdeh\nimportance: very\n---\nx\n",
    }
    for name, data in bad.items():
        (folder / name).write_bytes(data)
    (folder / "good.md").write_text("---\nid: abcdei\n---\nThis one is good.\n")
    report = desk.sync()
    assert {path.rpartition("/")[2] for path in report.problems} == bad.keys()
    assert desk.get("abcdei").text == "This one is good." and desk.get(record)
    assert {name: (folder / name).read_bytes() for name in bad} == bad
    told = desk.engine.check()
    assert told["ok"] is False and len(told["vault"]["problems"]) == len(bad)
    for name in bad:
        (folder / name).unlink()
    assert desk.sync().problems == {} and desk.engine.check()["ok"] is True


@pytest.mark.covers("S2.20", "S2.16")
def test_removing_a_file_puts_its_memory_away(desk: Desk) -> None:
    """A file that a hand removed is a memory forgotten, whose tombstone can be read and brought
    back by moving the file.
    """
    record = desk.add("My dentist is Doctor Brown.", settle=False)
    where = desk.file(record)
    where.unlink()
    assert desk.sync().forgotten == 1
    assert desk.get(record).status is Status.FORGOTTEN and found(desk, "dentist") == []
    tomb = desk.file(record)
    assert tomb.relative_to(desk.root / "deleted") == where.relative_to(desk.root / "entries")
    tomb.rename(where)
    assert desk.sync().restored == 1
    assert desk.get(record).status is Status.ACTIVE and found(desk, "dentist")
    assert "status" not in where.read_text()
    where.unlink()
    desk.sync()
    desk.file(record).unlink()
    assert desk.sync().total == 0
    assert desk.get(record).status is Status.FORGOTTEN and desk.files() == []
    desk.engine.restore(record.id, scope=ALICE)
    desk.sync()
    assert desk.file(record).is_relative_to(desk.root / "entries")


def test_moving_a_file_moves_its_memory(desk: Desk) -> None:
    """Renamed, it is the same memory;
    in another scope's folder it is that scope's; another owner's folder is refused.
    """
    record = desk.add("My dentist is Doctor Brown.", settle=False)
    new = desk.file(record).with_name("dentist.md")
    desk.file(record).rename(new)
    assert desk.sync().moved == 1 and desk.file(record) == new
    assert len(desk.engine.history(record.id, scope=ALICE)) == 1
    target = desk.root / "entries/user/alice/project/teeth/facts/dentist.md"
    target.parent.mkdir(parents=True)
    new.rename(target)
    assert desk.sync().changed == 1
    assert desk.get(record).scope.key == "user/alice/project/teeth" and desk.file(record) == target
    bob = desk.root / "entries/user/bob/facts/dentist.md"
    bob.parent.mkdir(parents=True)
    target.rename(bob)
    assert "another owner" in "".join(desk.sync().problems.values())
    assert desk.get(record).status is Status.ACTIVE


def test_renaming_the_folder_of_a_scope_moves_all_of_it(desk: Desk) -> None:
    """A whole folder renamed while nobody runs keeps every memory, under its new scope."""
    scope = (*ALICE, "project", "old")
    ids = [
        desk.engine.add(f"Plan {word} is good.", scope=scope, settle=False).id
        for word in ("one", "two", "three")
    ]
    desk.sync()
    desk.engine.close()
    folder = desk.root / "entries/user/alice/project"
    (folder / "old").rename(folder / "new")
    desk.again()
    assert {desk.get(id).scope.key for id in ids} == {"user/alice/project/new"}
    assert {desk.get(id).status for id in ids} == {Status.ACTIVE}


def test_links_can_be_written_and_taken_away_by_hand(desk: Desk) -> None:
    """A link typed as editors complete it becomes an edge;
    removed it goes; one that leads nowhere stays in the file.
    """
    sister = desk.add("Anna is my sister.", settle=False)
    two = desk.add("Anna lives in Oslo.", settle=False)
    name = desk.file(two).stem
    desk.edit(
        sister,
        "kind: note\n",
        f'kind: note\nrelates_to:\n  - "[[{name}]]"\n  - "[[somewhere else]]"\n',
    )
    desk.sync()
    (edge,) = desk.engine.store.edges(sister.scope, [sister.id])
    assert (edge.source, edge.target, edge.type) == (sister.id, two.id, EdgeType.RELATES_TO)
    desk.engine.edit(sister.id, scope=ALICE, text="Anna is my older sister.")
    desk.sync()
    text = desk.file(sister).read_text()
    assert f"|{two.id}]]" in text and "[[somewhere else]]" in text
    desk.edit(sister, f'  - "[[{name}|{two.id}]]"\n', "")
    desk.sync()
    assert desk.engine.store.edges(sister.scope, [sister.id], (EdgeType.RELATES_TO,)) == ()


def test_one_id_in_two_files_is_a_problem_and_no_change(desk: Desk) -> None:
    """A copy of a file is reported;
    it neither replaces nor duplicates the memory, and without its id it is a new one.
    """
    record = desk.add("My dentist is Doctor Brown.", settle=False)
    copy = desk.file(record).with_name("copy.md")
    shutil.copy(desk.file(record), copy)
    copy.write_text(copy.read_text().replace("Brown", "Copy"))
    assert "copy.md" in "".join(desk.sync().problems)
    assert desk.get(record).text == "My dentist is Doctor Brown." and len(desk.everything()) == 1
    copy.write_text(
        "\n".join(line for line in copy.read_text().split("\n") if not line.startswith("id:"))
    )
    assert desk.sync().added == 1 and len(desk.everything()) == 2


def test_both_sides_changes_are_joined(desk: Desk) -> None:
    """An edit by hand and one by the engine before they met are merged:
    other fields, other lines; nothing is lost.
    """
    record = desk.add("Shopping:\nbread\nbutter\nmilk\ntea", settle=False)
    desk.engine.edit(
        record.id,
        scope=ALICE,
        text="Shopping:\nbread\nbutter\nmilk\ntea\nrice",
        fields={"importance": 0.9},
    )
    desk.edit(record, "bread", "dark bread")
    desk.edit(record, "kind: note\n", "kind: note\ntags: [home]\n")
    assert desk.sync().conflicts == 0
    now = desk.get(record)
    assert now.text == "Shopping:\ndark bread\nbutter\nmilk\ntea\nrice"
    assert (now.importance, now.tags) == (0.9, ("home",))
    assert now.text in desk.file(record).read_text() and desk.sync().total == 0


def test_what_cannot_be_joined_is_kept_in_sight(desk: Desk) -> None:
    """Two edits of one line:
    the hand's holds, the other lies in conflicts and in the history, and check tells.
    """
    record = desk.add("My dentist is Doctor Brown.", settle=False)
    desk.engine.edit(record.id, scope=ALICE, text="My dentist is Doctor Engine.")
    desk.edit(record, "Brown", "Hand")
    assert desk.sync().conflicts == 1
    assert desk.get(record).text == "My dentist is Doctor Hand."
    (conflict,) = (desk.root / "conflicts").rglob("*.md")
    assert "Doctor Engine" in conflict.read_text()
    assert any(
        entry.after.get("text") == "My dentist is Doctor Engine."
        for entry in desk.engine.history(record.id, scope=ALICE)
    )
    assert any("conflicts/" in problem for problem in desk.engine.check()["problems"])
    conflict.unlink()
    assert desk.engine.check()["ok"] is True
    assert (
        sum(stored.kind is record.kind and not stored.evidence for stored in desk.everything()) == 1
    )


def test_forgetting_and_editing_at_once_keeps_the_words(desk: Desk) -> None:
    """What memory put away while a hand changed its file is put away with the hand's words."""
    record = desk.add("My dentist is Doctor Brown.", settle=False)
    desk.engine.forget(record.id, scope=ALICE)
    desk.edit(record, "Brown", "Hand")
    desk.sync()
    assert desk.get(record).status is Status.FORGOTTEN and "Hand" in desk.file(record).read_text()
    other_record = desk.add("I like tea.", settle=False)
    desk.engine.edit(other_record.id, scope=ALICE, text="I like green tea.")
    desk.file(other_record).unlink()
    desk.sync()
    assert (
        desk.get(other_record).status is Status.FORGOTTEN
        and "green tea" in desk.file(other_record).read_text()
    )


def test_many_files_gone_at_once_are_asked_about(desk: Desk) -> None:
    """An emptied folder forgets nothing until it is accepted;
    then everything can still be brought back.
    """
    for number in range(40):
        desk.engine.add(f"Fact number {number}.", scope=ALICE, settle=False)
    desk.sync()
    files = desk.files()
    for path in files[:30]:
        path.unlink()
    report = desk.sync()
    assert (report.gone, report.forgotten) == (30, 0) and "30 of 40" in report.problems["entries"]
    assert len(desk.engine.list(scope=ALICE).records) == 40
    shutil.rmtree(desk.root / "entries")
    assert desk.sync().gone == 40
    assert desk.sync(accept=True).forgotten == 40
    assert desk.engine.list(scope=ALICE).records == () and len(desk.files()) == 40


def test_secrets_in_files_are_taken_out(desks: Callable[..., Desk]) -> None:
    """A key typed into a file does not reach memory and leaves the file;
    where secrets are refused it is reported.
    """
    key = "sk-proj-" + "a1B2c3D4e5F6g7H8" * 3
    desk = desks()
    record = desk.add("My dentist is Doctor Brown.", settle=False)
    desk.edit(record, "Brown", f"Brown, {key}")
    desk.sync()
    assert key not in desk.get(record).text and key not in desk.file(record).read_text()
    desk.again(write__secrets="refuse")
    desk.edit(record, "Brown", f"White {key}")
    assert desk.sync().problems and key not in desk.get(record).text


def test_a_fact_that_is_corrected_by_hand_takes_its_note_along(desk: Desk) -> None:
    """Its new object is the statement's, and the note that said only the old thing is superseded;
    put back, so is the note.
    """
    note = desk.add("I live in Paris.")
    (fact,) = (record for record in desk.everything() if record.kind is Kind.FACT)
    desk.edit(fact, "I live in Paris", "The user lives in Rome")
    desk.sync()
    assert (desk.get(fact).text, desk.get(fact).object) == ("The user lives in Rome", "Rome")
    assert desk.get(note).status is Status.SUPERSEDED and desk.get(note).superseded_by == fact.id
    assert (
        "object: Rome" in desk.file(fact).read_text()
        and "status: superseded" in desk.file(note).read_text()
    )
    assert found(desk, "Where do I live?") == ["The user lives in Rome"]
    desk.edit(fact, "The user lives in Rome", "The user has no home at all")
    desk.sync()
    assert (desk.get(fact).predicate, desk.get(fact).object) == ("", "")


def test_a_note_that_is_edited_by_hand_is_learned_from_again(desk: Desk) -> None:
    """What it no longer says goes, what it says now is learned, and what it says again comes back."""
    note = desk.add("I live in Paris.")

    def facts() -> list[str]:
        return [
            record.text
            for record in desk.everything()
            if record.kind is Kind.FACT and record.status is Status.ACTIVE
        ]

    assert facts() == ["I live in Paris"]
    for old, new in (("Paris", "Rome"), ("Rome", "Paris"), ("Paris", "Oslo")):
        desk.edit(note, f"I live in {old}.", f"I live in {new}.")
        desk.sync()
        desk.engine.drain()
        assert facts() == [f"I live in {new}"]
    desk.file(note).unlink()
    desk.sync()
    assert (
        facts() == []
        and desk.get(note).status is Status.FORGOTTEN
        and found(desk, "Where do I live?") == []
    )
    desk.engine.restore(note.id, scope=ALICE)
    desk.sync()
    assert facts() == ["I live in Oslo"]
    assert desk.engine.check()["ok"]


@pytest.mark.covers("S2.11", "S2.20")
@pytest.mark.parametrize("mode", ["auto", "poll"])
def test_the_watcher_follows_edits(desks: Callable[..., Desk], mode: str) -> None:
    """With the watcher on, created, changed and removed files show in search without a restart;
    it is off by default.
    """
    desk = desks()
    record = desk.add("My dentist is Doctor Brown.", settle=False)
    assert desk.vault._watcher is None
    desk.again(vault__watch=mode, vault__poll_seconds=0.1)
    new = desk.root / "entries/user/alice/project/x/facts/new.md"

    def until(expected: Callable[[], bool]) -> None:
        end = time.monotonic() + 20
        while not expected():
            assert time.monotonic() < end
            time.sleep(0.02)

    time.sleep(0.2)
    desk.edit(record, "Brown", "Watched")
    until(lambda: found(desk, "dentist") == ["My dentist is Doctor Watched."])
    new.parent.mkdir(parents=True)
    new.write_text("The meeting is on Monday.")
    until(lambda: "The meeting is on Monday." in found(desk, "meeting"))
    desk.file(record).unlink()
    until(lambda: desk.get(record).status is Status.FORGOTTEN)
    desk.engine.close()


@pytest.mark.covers("S2.11", "S2.20")
def test_a_file_removed_while_it_is_written_is_forgotten(
    desks: Callable[..., Desk], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A hand that removes a new file before its writing is noted is followed as later;
    the watcher sees it, and so does a sync.
    """
    desk = desks(vault__watch="auto", write__extract="off")
    replace = os.replace
    quick: list[str] = []

    def removed_at_once(source: str | Path, target: str | Path) -> None:
        replace(source, target)
        if Path(target).suffix == ".md" and "entries" in Path(target).parts and not quick:
            quick.append(Path(target).name)
            Path(target).unlink()

    monkeypatch.setattr(os, "replace", removed_at_once)
    gone_record = desk.add("My dentist is Doctor Brown.", settle=False)
    monkeypatch.undo()
    kept_record = desk.add("The meeting is on Monday.", settle=False)
    desk.sync()
    assert (
        quick
        and desk.get(gone_record).status is Status.FORGOTTEN
        and desk.get(kept_record).status is Status.ACTIVE
    )
    assert gone_record.text not in found(desk, "Who is my dentist?")
    assert desk.engine.check()["ok"]


@pytest.mark.covers("S2.18")
def test_temporary_and_hidden_files_are_ignored(desk: Desk) -> None:
    """Editors' swap, backup and hidden files, and other formats, are no memories."""
    record = desk.add("My dentist is Doctor Brown.", settle=False)
    folder = desk.file(record).parent
    for name in (
        ".x.md.swp",
        "x.md~",
        "~x.md",
        ".hidden.md",
        "#x.md#",
        "x.tmp",
        "notes.txt",
        ".obsidian/app.md",
        "x.md.tmp",
    ):
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text("Not a memory.")
    report = desk.sync()
    assert (report.total, report.problems) == (0, {})


BOTH = "I'm allergic to cashews and I live in Berlin."


@pytest.mark.parametrize("does", ["edit", "remove", "move away"])
@pytest.mark.parametrize("number", [1, 2])
def test_a_fact_changed_by_hand_reaches_what_was_said(desk: Desk, does: str, number: int) -> None:
    """A message loses the corrected words, one by one or both in one look;
    nothing of it is left, and it goes; a move back restores it.
    """
    message_id = desk.engine.observe(Turn(BOTH, session="s"), scope=ALICE)[0].id
    desk.engine.drain()
    desk.sync()
    first, two = sorted(
        (record for record in desk.everything() if record.evidence),
        key=lambda record: "Berlin" in record.text,
    )
    for fact, old, new in ((first, "cashews", "pecans"), (two, "Berlin", "Bonn"))[:number]:
        where = desk.file(fact)
        if does == "edit":
            desk.edit(fact, old, new)
        elif does == "remove":
            where.unlink()
        else:
            (tomb := desk.root / "deleted" / where.relative_to(desk.root / "entries")).parent.mkdir(
                parents=True, exist_ok=True
            )
            where.rename(tomb)
    desk.sync()
    shown = desk.engine.context(
        "Where do I live, and what am I allergic to?", scope=ALICE, session="other"
    ).text
    assert "cashews" not in shown
    assert ("Berlin" in shown) is (number == 1)
    assert ("pecans" in shown) is (does == "edit")
    assert (desk.get(message_id).status is Status.FORGOTTEN) is (does != "edit" and number == 2)
    if does == "move away":
        for fact in (first, two)[:number]:
            tomb = desk.file(fact)
            tomb.rename(desk.root / "entries" / tomb.relative_to(desk.root / "deleted"))
            desk.sync()
        shown = desk.engine.context(
            "Where do I live, and what am I allergic to?", scope=ALICE, session="other"
        ).text
        assert "cashews" in shown and "Berlin" in shown
    assert desk.sync().total == 0


def test_what_follows_from_a_removed_file_has_its_own_reason(desk: Desk) -> None:
    """Only the memory whose file went says so in its history; what rested on it says that."""
    message = desk.add("I live in Berlin.", settle=True)
    (fact,) = [record for record in desk.everything() if record.evidence]
    desk.file(fact).unlink()
    desk.sync()
    reasons = [desk.engine.history(id, scope=ALICE)[-1].reason for id in (fact.id, message.id)]
    assert reasons == ["its file was removed by hand", "what it said was forgotten"]


@pytest.mark.parametrize(
    "damage", ["cut off", "written twice", "of no role", "of a flipped byte", "of a lost line end"]
)
def test_a_torn_file_changes_no_memory(desk: Desk, damage: str) -> None:
    """A file that a write left cut off or doubled is named, and so are a role that nobody has and a
    head whose first line is damaged; the memory stays as it was. A person's shorter text ends with a line break.
    """
    record = desk.add("Nora lives in Oslo since 2005.", settle=False)
    file = desk.file(record)
    data = file.read_bytes()
    file.write_bytes(
        {
            "cut off": data[: data.index(b"Nora") + 4],
            "written twice": data * 2,
            "of no role": data.replace(b"said_by: user", b"said_by: uter"),
            "of a flipped byte": b"-x" + data[2:],
            "of a lost line end": data.replace(b"---\n", b"---", 1),
        }[damage]
    )
    report = desk.sync()
    assert desk.get(record).text == "Nora lives in Oslo since 2005."
    assert len(report.problems) == 1
    file.write_bytes(data[: data.index(b"Nora") + 4] + b"\n")
    desk.sync()
    assert desk.get(record).text == "Nora"
