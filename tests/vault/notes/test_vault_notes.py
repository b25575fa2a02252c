"""Daily notes, MEMORY.md, dreams, and what search knows of them."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import date, timedelta
from itertools import pairwise
from typing import Any

import pytest
from tests.vault.conftest import ALICE, Desk

from engrams import Turn
from engrams.core import Kind, Record, Scope
from engrams.errors import ConflictError, ModelError, NotFoundError
from engrams.ports import (
    DAILY,
    DREAM,
    ChatAnswer,
    ChatRequest,
    NoteFlushRequest,
    RecordQuery,
    ScopeReach,
)
from engrams.testing import SettableClock
from engrams.vault.notes import memory_md
from engrams.vault.notes import note_paths as paths
from engrams.vault.notes.text_chunks import estimate_tokens, split_chunks

OWNER = Scope(ALICE)


class Model:
    """A chat model that answers what it is told to, and remembers what it was asked."""

    name = "told"

    def __init__(self, *answers: Any) -> None:
        self.answers = list(answers)
        self.asked = []

    def ask(self, request: ChatRequest) -> ChatAnswer:
        self.asked.append(request)
        answer = self.answers.pop(0) if self.answers else "None"
        if isinstance(answer, Exception):
            raise answer
        return ChatAnswer(
            answer if isinstance(answer, str) else json.dumps(answer),
            None if isinstance(answer, str) else answer,
        )


@pytest.fixture
def clock() -> SettableClock:
    return SettableClock("2026-03-02T10:00")


@pytest.fixture
def make(desks: Callable[..., Desk], clock: SettableClock) -> Callable[..., Desk]:
    def made(*answers: Any, **settings: Any) -> Desk:
        model = Model(*answers) if answers else None
        desk = desks(
            f"h{len(answers)}{len(settings)}", clock=clock, write__extract="off", **settings
        )
        for part in (desk.vault.notes.daily, desk.vault.notes.dreams):
            part._chat = model
        desk.model = model  # type: ignore[attr-defined]
        return desk

    return made


def say(desk: Desk, *texts: str, role: Any = "user", **fields: Any) -> list[Record]:
    receipts = desk.engine.observe([Turn(text, role, **fields) for text in texts], scope=ALICE)
    return [desk.get(receipt.id) for receipt in receipts]


def note(desk: Desk, day: str = "2026-03-02") -> str:
    path = desk.root / paths.daily_path(OWNER, date.fromisoformat(day))
    return path.read_text() if path.exists() else ""


@pytest.mark.covers("S1.33", "S1.34", "S1.36")
def test_what_was_said_is_written_down_by_rules(make: Callable[..., Desk]) -> None:
    """Without a model at most ten statements go under a heading that gives the reason, in a file
    with the day as title.
    """
    desk = make()
    turns = say(
        desk,
        *[f"We decided to use plan number {number} for the house." for number in range(14)],
        "What is that?",
    )
    assert desk.vault.notes.daily.flush(NoteFlushRequest(OWNER, turns, "trim")) is True
    text = note(desk)
    assert text.startswith("# 2026-03-02\n\n## 10:00 trim\n\n- We decided")
    assert text.count("\n- ") == 10 and "What is that" not in text
    assert desk.vault.notes.daily.flush(NoteFlushRequest(OWNER, [])) is False
    more_turns = say(desk, "My sister Anna visits us in May this year.")
    assert desk.vault.notes.daily.flush(NoteFlushRequest(OWNER, more_turns, "overflow"))
    assert note(desk).count(
        "# 2026-03-02\n"
    ) == 1 and "## 10:00 overflow\n\n- My sister Anna" in note(desk)


@pytest.mark.covers("S1.35", "S1.36")
@pytest.mark.parametrize("nothing", ["", "None", " none. ", "无", "没有"])
def test_a_model_that_finds_nothing_writes_nothing(make: Callable[..., Desk], nothing: str) -> None:
    """An empty answer, None, or the same in Chinese writes no file;
    a model that fails leaves it to the rules.
    """
    desk = make(nothing, ModelError("down"))
    assert (
        desk.vault.notes.daily.flush(
            NoteFlushRequest(OWNER, say(desk, "We talked about this and that today."))
        )
        is False
    )
    assert note(desk) == ""
    assert (
        desk.vault.notes.daily.flush(
            NoteFlushRequest(OWNER, say(desk, "The new office is in Turin, near the river."))
        )
        is True
    )
    assert "- The new office is in Turin" in note(desk)


@pytest.mark.covers("S1.37")
def test_nothing_is_written_down_twice(make: Callable[..., Desk]) -> None:
    """The same turns are flushed once;
    what a timer said is left out; a day that did not change has one summary.
    """
    desk = make("- A new office.\n- Near the river.", "- An office in Turin.", "- One more thing.")
    turns = say(desk, "The new office is in Turin, near the river.")
    timer = say(desk, "Run the nightly report for everyone.", meta={"scheduled": True}) + say(
        desk, "The report is done.", role="assistant"
    )
    daily = desk.vault.notes.daily
    assert daily.flush(NoteFlushRequest(OWNER, turns + timer)) and not daily.flush(
        NoteFlushRequest(OWNER, turns + timer)
    )
    assert "nightly" not in str(desk.model.asked[0].messages)  # type: ignore[attr-defined]
    assert not daily.flush(NoteFlushRequest(OWNER, timer))
    day = date(2026, 3, 2)
    assert daily.summarise(OWNER, day) and not daily.summarise(OWNER, day)
    say(desk, "One more thing was said about Turin.")
    assert daily.summarise(OWNER, day)
    assert note(desk).count("daily summary") == 2 and not daily.summarise(
        OWNER, day - timedelta(days=1)
    )


def test_a_timers_answer_is_left_out_beside_other_sessions(make: Callable[..., Desk]) -> None:
    """What a timer said, and what a tool and the assistant answered to it, is in no summary, though
    somebody spoke in another session in between.
    """
    desk = make()
    say(desk, "Run the nightly report for everyone.", session="timer", meta={"scheduled": True})
    say(desk, "The new office is in Turin, near the river.", session="talk")
    say(desk, "Rows of the report were counted twice.", role="tool", session="timer")
    say(desk, "The nightly report has been sent out.", role="assistant", session="timer")
    assert desk.vault.notes.daily.summarise(OWNER, date(2026, 3, 2))
    assert "Turin" in note(desk)
    assert "report" not in note(desk)


@pytest.mark.covers("S1.38")
def test_owners_have_files_of_their_own(make: Callable[..., Desk]) -> None:
    """A user's notes lie below memory/users, apart from the others' and from the shared ones."""
    desk = make()
    for owner in (OWNER, Scope(("user", "../bob")), Scope(("shared",)), Scope(("team", "x"))):
        desk.vault.notes.daily.append(owner, date(2026, 3, 2), "note", ["- of " + owner.key])
    paths_found = {
        str(path.relative_to(desk.root)) for path in (desk.root / "memory").rglob("*.md")
    }
    assert {
        "memory/users/alice/2026-03-02.md",
        "memory/2026-03-02.md",
        "memory/team/x/2026-03-02.md",
    } < paths_found and len(paths_found) == 4
    assert all(
        path.resolve().is_relative_to(desk.root.resolve())
        for path in (desk.root / "memory").rglob("*.md")
    )
    assert note(desk).endswith("- of user/alice\n")


@pytest.mark.covers("S1.39", "S1.40", "S1.41", "S1.46")
def test_a_dream_by_rules(make: Callable[..., Desk], clock: SettableClock) -> None:
    """Notes of the days looked back at go into MEMORY.md, said once;
    without notes, or with the same ones, nothing happens.
    """
    desk = make()
    dreams = desk.vault.notes.dreams
    assert dreams.dream(OWNER) is None and not (desk.root / "memory").exists()
    memory = desk.root / paths.memory_path(OWNER)
    memory.parent.mkdir(parents=True)
    memory.write_text(
        "# Memory\n\n## Home\n\n- Lives in Berlin near the park.\n\n## Corrections\n\n- Her name is"
        " Anna, not Anne.\n"
    )
    desk.vault.notes.daily.append(
        OWNER,
        date(2026, 3, 2),
        "overflow",
        ["- Lives in Berlin near the park.", "- The dog is called Rex."],
    )
    desk.vault.notes.daily.append(OWNER, date(2026, 2, 1), "overflow", ["- Long ago."])
    assert dreams.dream(OWNER) is not None
    text = memory.read_text()
    assert text.index("## Corrections") < text.index("## Home") and text.count("Berlin") == 1
    assert "- The dog is called Rex." in text and "Long ago" not in text
    diary = desk.root / "memory/users/alice/dreams/2026-03-02.md"
    assert "in: The dog is called Rex." in diary.read_text()
    assert dreams.dream(OWNER) is None and dreams.dream(OWNER, force=True) is not None
    desk.sync()
    texts = "\n".join(hit.record.text for hit in desk.engine.search("dog Rex", scope=ALICE).hits)
    assert "called Rex" in texts and "Brought in" not in texts
    clock.forward(days=10)
    assert dreams.dream(OWNER, days=3) is None


def test_superseded_statements_are_dropped(make: Callable[..., Desk]) -> None:
    """What memory knows to hold no longer leaves MEMORY.md at the next dream; corrections stay."""
    desk = make()
    old = desk.engine.add("Lives in Paris now.", scope=ALICE, kind=Kind.FACT)
    desk.engine.forget(old.id, scope=ALICE)
    memory = desk.root / paths.memory_path(OWNER)
    memory.parent.mkdir(parents=True)
    memory.write_text("# Memory\n\n## Home\n\n- Lives in Paris now.\n- Has two cats.\n")
    desk.vault.notes.daily.append(OWNER, date(2026, 3, 2), "note", ["- Works at Acme."])
    desk.vault.notes.dreams.dream(OWNER)
    assert (
        "Paris" not in memory.read_text()
        and "two cats" in memory.read_text()
        and "Acme" in memory.read_text()
    )


@pytest.mark.covers("S1.39", "S1.42", "S1.44")
def test_a_dream_by_model(make: Callable[..., Desk]) -> None:
    """The model's items replace MEMORY.md, at most fifty of them;
    corrections it lost are put back; without items nothing changes.
    """
    many = [
        {"topic": "T", "text": f"Item number {number} is word{number} thing{number}."}
        for number in range(70)
    ]
    desk = make(
        {"diary": "Only a diary."}, {"items": many, "diary": "Tidied."}, vault__memory_items=50
    )
    memory = desk.root / paths.memory_path(OWNER)
    memory.parent.mkdir(parents=True)
    memory.write_text("# Memory\n\n## Corrections\n\n- Her name is Anna, not Anne.\n")
    before = memory.read_bytes()
    noted = [f"- {item['text']}" for item in many]
    desk.vault.notes.daily.append(OWNER, date(2026, 3, 2), "note", noted)
    with pytest.raises(ModelError, match="no items"):
        desk.vault.notes.dreams.dream(OWNER)
    assert memory.read_bytes() == before
    assert desk.vault.notes.dreams.dream(OWNER), (
        "a dream that failed leaves the notes to the next one"
    )
    items = memory_md.parse(memory.read_text())
    assert len(items) == 50 and any(item.is_correction and "Anna" in item.text for item in items)


@pytest.mark.covers("S1.43")
def test_a_dream_whose_model_fails_is_tried_again(
    make: Callable[..., Desk], clock: SettableClock
) -> None:
    """Three tries a minute apart; the notes count as dreamed of only after one succeeded."""
    down = ModelError("busy", retryable=True)
    desk = make(down, down, {"items": [{"topic": "Work", "text": "Works at Acme."}], "diary": "d"})
    desk.vault.notes.daily.append(OWNER, date(2026, 3, 2), "note", ["- Works at Acme."])
    desk.engine.store.enqueue([desk.vault.notes.schedule.next_job(OWNER, clock())], clock())
    clock.set("2026-03-02T23:56")
    for tried in (1, 2):
        desk.engine.drain(5)
        (job,) = [job for job in desk.engine.store.queue(("waiting",)) if job.kind == DREAM]
        assert (job.attempt, job.due) == (tried, clock() + timedelta(seconds=60))
        assert not (desk.root / paths.memory_path(OWNER)).exists()
        clock.forward(61)
    desk.engine.drain(5)
    assert "Works at Acme." in (desk.root / paths.memory_path(OWNER)).read_text()


@pytest.mark.covers("S1.44", "S1.45")
def test_dreams_come_by_clock_number_and_size(
    make: Callable[..., Desk], clock: SettableClock
) -> None:
    """A change plans the next dream for 23:55;
    so many notes, or so large ones, bring it at once; empty times never.
    """
    desk = make()
    desk.add("I like tea.", settle=False)
    (job,) = [job for job in desk.engine.store.queue(("waiting",)) if job.kind == DREAM]
    assert job.due.isoformat() == "2026-03-02T23:55:00+00:00"
    say(desk, "The new office is in Turin, near the river.")
    clock.set("2026-03-03T00:10")
    desk.engine.drain(5)
    assert "Turin" in note(desk) and "Turin" in (desk.root / paths.memory_path(OWNER)).read_text()
    settings = {"dream_at": "", "dream_files": 2, "dream_bytes": 0}
    for changed, count, expected in (
        (settings, 1, False),
        (settings, 2, True),
        ({"dream_at": "", "dream_bytes": 30}, 1, True),
        ({"dream_at": ""}, 3, False),
    ):
        desk.vault.deps.state.set_fact(f"dreamt:{OWNER.key}", "")
        for path in (desk.root / "memory").rglob("2026*.md"):
            path.unlink()
        for back in range(count):
            desk.vault.notes.daily.append(
                OWNER,
                (clock() - timedelta(days=back)).date(),
                "n",
                ["- Something long enough to count."],
            )
        schedule = desk.vault.notes.schedule
        object.__setattr__(schedule, "_deps", _with(desk.vault.deps, changed))
        spec = schedule.next_job(OWNER, clock())
        assert (spec is not None and spec.due == clock()) is expected


def _with(parts: Any, changed: dict[str, Any]) -> Any:
    from dataclasses import replace

    return replace(parts, settings=parts.settings.model_copy(update=changed))


def test_a_dream_can_wait_be_applied_and_undone(make: Callable[..., Desk]) -> None:
    """With confirmation a dream only plans;
    applied it writes, unless MEMORY.md changed meanwhile; undone it is as before.
    """
    desk = make(vault__dream_confirm=True)
    dreams = desk.vault.notes.dreams
    desk.vault.notes.daily.append(OWNER, date(2026, 3, 2), "note", ["- Works at Acme."])
    memory = desk.root / paths.memory_path(OWNER)
    assert dreams.dream(OWNER) and not memory.exists()
    plan = dreams.held_plan(OWNER)
    assert plan is not None and plan.added == ("Works at Acme.",)
    dreams.apply(plan)
    assert "Works at Acme." in memory.read_text() and dreams.held_plan(OWNER) is None
    with pytest.raises(ConflictError):
        dreams.apply(plan)
    dreams.undo(OWNER)
    assert not memory.exists()
    with pytest.raises(NotFoundError):
        dreams.undo(OWNER)
    dreams.dream(OWNER, force=True, confirm=False)
    memory.write_text("Mine.")
    with pytest.raises(ConflictError):
        dreams.undo(OWNER)


@pytest.mark.covers("S1.46", "S1.55")
def test_notes_are_searched_in_pieces(make: Callable[..., Desk]) -> None:
    """Notes are found by pieces that name their lines;
    an unchanged file is not read anew; a vanished one leaves search.
    """
    desk = make()
    memory = desk.root / paths.memory_path(OWNER)
    memory.parent.mkdir(parents=True)
    memory.write_text("# Memory\n\n## Pets\n\n- The parrot is called Zephyr.\n")
    desk.sync()
    assert desk.vault.notes.index.sync() == 0
    (hit,) = [
        hit
        for hit in desk.engine.search("parrot Zephyr", scope=ALICE).hits
        if "Zephyr" in hit.record.text
    ]
    assert hit.record.meta["note_file"] == "memory/users/alice/MEMORY.md" and hit.record.meta[
        "lines"
    ] == [1, 6]
    assert desk.files() == []
    memory.write_text(memory.read_text().replace("Zephyr", "Coco"))
    desk.sync()
    texts = [hit.record.text for hit in desk.engine.search("parrot", scope=ALICE).hits]
    assert len(texts) == 1 and "Coco" in texts[0]
    memory.unlink()
    desk.sync()
    assert desk.engine.search("parrot", scope=ALICE).hits == ()


@pytest.mark.covers("S1.55")
def test_texts_are_cut_into_overlapping_pieces() -> None:
    """Pieces of at most 500 tokens overlap by about 50;
    a line longer than that is split; every line is in some piece.
    """
    text = (
        "\n".join(f"Line {number} says something of middling length here." for number in range(400))
        + "\n"
        + "word " * 3000
    )
    chunks = list(split_chunks(text))
    assert all(estimate_tokens(piece.text) <= 500 + 60 for piece in chunks)
    for before, after in pairwise(chunks):
        assert after.first <= before.last + 1
    overlaps = [
        before.last - after.first + 1 for before, after in pairwise(chunks) if after.last < 400
    ]
    assert all(overlap >= 1 for overlap in overlaps)
    assert {number for piece in chunks for number in range(piece.first, piece.last + 1)} == set(
        range(1, 402)
    )
    assert "".join(piece.text for piece in chunks if piece.first == 401).count("word") >= 2900
    assert list(split_chunks("")) == []


@pytest.mark.covers("S1.56")
def test_a_note_that_cannot_be_embedded_is_tried_again(make: Callable[..., Desk]) -> None:
    """A note whose embedding fails is reported and not taken as read; the next sync does it."""
    desk = make()
    memory = desk.root / paths.memory_path(OWNER)
    memory.parent.mkdir(parents=True)
    memory.write_text("- The parrot is called Zephyr.\n")
    notes = desk.vault.notes.index
    good = notes._deps

    def failing(record: Record, values: dict[str, Any]) -> Any:
        raise ModelError("no embedder")

    from dataclasses import replace

    notes._deps = replace(good, callbacks=replace(good.callbacks, prepare=failing))
    assert notes.sync() == 0 and desk.problems() != {}
    notes._deps = good
    assert notes.sync() == 1 and desk.problems() == {}
    assert desk.engine.search("parrot", scope=ALICE).hits


def test_a_job_writes_what_it_is_told_to(make: Callable[..., Desk]) -> None:
    """A job of kind daily with ids and a reason writes them down;
    purged texts leave notes, diaries and search.
    """
    from engrams.ports import JobSpec

    desk = make()
    (turn,) = say(desk, "The secret garden is behind the old mill.")
    spec = JobSpec(DAILY, "k", {"owner": OWNER.key, "items": [turn.id], "reason": "session end"})
    desk.engine.store.enqueue([spec], desk.engine.now())
    desk.engine.drain(5)
    assert "session end\n\n- The secret garden" in note(desk)
    desk.vault.notes.dreams.dream(OWNER)
    desk.sync()
    erased = desk.engine.purge(turn.id, scope=ALICE)
    assert not any(erased.remaining.values())
    files_text = "".join(path.read_text() for path in desk.root.rglob("*.md"))
    assert "secret garden" not in files_text
    assert not [
        hit
        for hit in desk.engine.search("secret garden", scope=ALICE).hits
        if "secret garden" in hit.record.text
    ]
    page = desk.engine.store.find(
        RecordQuery(ScopeReach(OWNER, (OWNER,), tree=True), statuses=(), text="secret garden")
    )
    assert page.records == ()
