"""Any order of edits by hand, writes of memory, crashes and restarts comes to one state, and loses
neither side's words.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from tests.vault.conftest import ALICE, Desk, converged, nothing_lost

from engrams.core import Status

STEPS = ("replace", "link", "unlink", "fsync", "mkdir", "rename", "rmdir")
QUIET = {"write__extract": "off", "vault__max_missing_share": 1.0, "jobs__lease_seconds": 0.05}


class CrashError(BaseException):
    """The process is gone."""


@contextmanager
def crashing(after: int) -> Iterator[None]:
    """The operating system's calls on files end with the process, ``after`` of them from now."""
    patch = pytest.MonkeyPatch()
    steps_left = [after]

    def before(function: Callable[..., Any]) -> Callable[..., Any]:
        def step(*arguments: Any, **keywords: Any) -> Any:
            steps_left[0] -= 1
            if steps_left[0] < 0:
                raise CrashError
            return function(*arguments, **keywords)

        return step

    for name in STEPS:
        patch.setattr(os, name, before(getattr(os, name)))
    try:
        yield
    finally:
        patch.undo()


class World:
    """A desk, the words written on it, and what a hand took away unread."""

    def __init__(self, home: Path) -> None:
        self.desk = Desk(home, **QUIET)
        self.words: list[str] = []
        self.number = 0

    def word(self) -> str:
        self.number += 1
        return f"word{self.number}"

    def act(self, does: str, pick: int) -> None:
        desk = self.desk
        match does:
            case "sync":
                desk.sync()
            case "drain":
                desk.engine.drain(0.5)
            case "again":
                desk.again()
            case "crash":
                self.crash(pick)
            case "cut":
                self.cut(pick)
            case "hand" | "new" | "remove" | "rename" | "move":
                self.hand(does, pick, self.word())
            case _:
                self.memory(does, pick, self.word())

    def memory(self, does: str, pick: int, word: str) -> None:
        """What programs do."""
        engine = self.desk.engine
        records = self.desk.everything()
        active = [record for record in records if record.status is not Status.FORGOTTEN]
        forgotten = [record for record in records if record.status is Status.FORGOTTEN]
        match does:
            case "add":
                engine.add(f"Begins with {word}", scope=ALICE)
                self.words.append(word)
            case "edit" if active:
                record = active[pick % len(active)]
                engine.edit(record.id, scope=ALICE, text=f"{record.text}\n{word}")
                self.words.append(word)
            case "forget" if active:
                engine.forget(active[pick % len(active)].id, scope=ALICE)
            case "restore" if forgotten:
                engine.restore(forgotten[pick % len(forgotten)].id, scope=ALICE)

    def hand(self, does: str, pick: int, word: str) -> None:
        """What people do to the files."""
        facts = self.desk.root / "entries/user/alice/facts"
        files = [
            path
            for path in self.desk.files()
            if "entries" in path.relative_to(self.desk.root).parts
        ]
        if does == "new":
            facts.mkdir(parents=True, exist_ok=True)
            (facts / f"{word}.md").write_text(f"Begins with {word}\n", "utf-8")
            self.words.append(word)
            return
        if not files:
            return
        path = files[pick % len(files)]
        match does:
            case "hand":
                path.write_text(f"{path.read_text('utf-8').rstrip()}\n{word}\n", "utf-8")
                self.words.append(word)
            case "remove":
                unread = set(path.read_text("utf-8").split())
                self.words = [word for word in self.words if word not in unread]
                path.unlink()
            case "rename":
                path.rename(path.with_name(f"{word}.md"))
            case "move":
                target = (
                    self.desk.root / f"entries/user/alice/project/p{pick % 2}/facts" / path.name
                )
                target.parent.mkdir(parents=True, exist_ok=True)
                if not target.exists():
                    path.rename(target)

    def cut(self, after: int) -> None:
        """Another process syncs and ends midway; this one goes on."""
        with crashing(after), suppress(CrashError):
            self.desk.sync()

    def crash(self, after: int) -> None:
        """Sync until the process ends, and start again."""
        self.cut(after)
        # What a process that is gone does not do any more: finish its work.
        self.desk.vault._closed = True
        self.desk.again()


actions = st.lists(
    st.tuples(
        st.sampled_from(
            [
                "add",
                "add",
                "edit",
                "edit",
                "hand",
                "hand",
                "new",
                "forget",
                "restore",
                "remove",
                "rename",
                "move",
                "sync",
                "drain",
                "again",
            ]
            + ["crash", "cut"] * 3
        ),
        st.integers(0, 12),
    ),
    max_size=25,
)


def run(acts: list[tuple[str, int]]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        world = World(Path(folder) / "home")
        try:
            for does, pick in acts:
                world.act(does, pick)
            converged(world.desk)
            nothing_lost(world.desk, world.words)
        finally:
            world.desk.engine.close()


EDITED_MIDWAY = [
    ("add", 0),
    ("sync", 0),
    ("remove", 0),
    ("sync", 0),
    ("restore", 0),
    ("cut", 2),
    ("hand", 0),
]
"""A hand edits the file of a restored memory while it stands in two folders."""


@settings(max_examples=12, deadline=None, suppress_health_check=list(HealthCheck))
@example(EDITED_MIDWAY)
@given(actions)
def test_any_order_converges(acts: list[tuple[str, int]]) -> None:
    """Whatever happens in whatever order, in the end files and memory say the same and every word
    is still somewhere.
    """
    run(acts)


@pytest.mark.slow
@settings(max_examples=600, deadline=None, suppress_health_check=list(HealthCheck))
@given(actions)
def test_any_order_converges_at_length(acts: list[tuple[str, int]]) -> None:
    """The same, for 600 orders."""
    run(acts)


def test_our_own_words_are_never_taken_for_a_hand_s(desk: Desk) -> None:
    """A write cut short at any step, and another one before anybody looks:
    the newer words hold, and nothing is put aside.
    """
    desk.again(**QUIET)
    record = desk.add("Begun.", settle=False)
    for step in range(14):
        desk.engine.edit(record.id, scope=ALICE, text=f"Old words {step}.")
        with crashing(step), suppress(CrashError):
            desk.vault.write()
        desk.engine.edit(record.id, scope=ALICE, text=f"New words {step}.")
        desk.sync()
        assert desk.get(record).text == f"New words {step}."
        desk.engine.forget(record.id, scope=ALICE)
        with crashing(step), suppress(CrashError):
            desk.vault.write()
        desk.engine.restore(record.id, scope=ALICE)
        converged(desk)
        assert desk.get(record).status is Status.ACTIVE and len(desk.files()) == 1
    assert not list((desk.root / "conflicts").rglob("*.md"))


@pytest.mark.parametrize("does", ["edit", "forget"])
def test_a_hand_that_saves_in_the_very_moment_loses_nothing(
    desk: Desk, monkeypatch: pytest.MonkeyPatch, does: str
) -> None:
    """Saved between our last look at a file and its replacement or removal:
    the hand's words are kept, as are memory's.
    """
    desk.again(**QUIET)
    record = desk.add("First line\nlast line", settle=False)
    path = desk.file(record)
    replace = os.replace
    saved = []

    def late(source: Any, target: Any, **keywords: Any) -> None:
        if path in (Path(source), Path(target)) and not saved:
            saved.append(
                path.write_text(
                    path.read_text("utf-8").replace("last line", "last line\nbyhand"), "utf-8"
                )
            )
        replace(source, target, **keywords)

    if does == "edit":
        desk.engine.edit(record.id, scope=ALICE, text="bymemory\nFirst line\nlast line")
    else:
        desk.engine.forget(record.id, scope=ALICE)
    monkeypatch.setattr(os, "replace", late)
    desk.vault.write()
    monkeypatch.undo()
    assert saved
    converged(desk)
    words = "\n".join(
        [
            desk.get(record).text,
            *(path.read_text("utf-8") for path in (desk.root / "conflicts").rglob("*.md")),
        ]
    )
    assert "byhand" in words and ("bymemory" in words or does == "forget")


@pytest.mark.parametrize("step", [6, 7])
def test_a_hand_goes_on_in_the_old_file_of_a_move_cut_short(desk: Desk, step: int) -> None:
    """Our own copy of it goes: it does not stay as a second file of the same memory."""
    desk.again(**QUIET)
    record = desk.add("Begun.", settle=False)
    desk.engine.forget(record.id, scope=ALICE)
    with crashing(step), suppress(CrashError):
        desk.vault.write()
    assert len(desk.files()) == 2
    old = next(path for path in desk.files() if "entries" in path.relative_to(desk.root).parts)
    old.write_text(f"{old.read_text('utf-8').rstrip()}\nbyhand\n", "utf-8")
    converged(desk)
    assert len(desk.files()) == 1 and not desk.problems()
    assert "byhand" in desk.get(record).text
