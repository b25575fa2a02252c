"""The memory engine's document (001):
eviction, review, queue, notes and damage, by the engine with that preset and its command.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from tests.acceptance.process import run

import engrams
from engrams import MemoryEngine, Turn
from engrams.core import Kind, Status
from engrams.core import clock as clocks
from engrams.errors import ClosedError, InputError, RefusedError
from engrams.ports import Clock
from engrams.testing import ReceivedModelRequest, ScriptedModel, SettableClock

ANN = ("user", "ann")
BOB = ("user", "bob")
START = datetime(2026, 3, 1, 9, tzinfo=UTC)


@pytest.fixture
def clock() -> SettableClock:
    return SettableClock(START)


@pytest.fixture
def model() -> Iterator[ScriptedModel]:
    with ScriptedModel() as server:
        yield server.when("statements", {"statements": []})


def opened(
    home: Path, clock: Clock, model: ScriptedModel | None = None, **more: Any
) -> MemoryEngine:
    chat = (
        {}
        if model is None
        else {
            "chat__provider": "openai",
            "chat__model": "m",
            "chat__url": f"{model.url}/v1",
            "chat__retries": 0,
        }
    )
    return engrams.open(
        **{"home": home, "preset": "engine", "clock": clock, "jobs__workers": 0, **chat, **more}
    )


def put(engine: MemoryEngine, *texts: str, kind: Kind = Kind.FACT, **fields: Any) -> list[str]:
    ids = [engine.add(Turn(text), scope=ANN, kind=kind).id for text in texts]
    for id in ids:
        engine.edit(id, scope=ANN, fields={"category": "knowledge", **fields})
    return ids


def left(engine: MemoryEngine, ids: list[str]) -> list[bool]:
    return [engine.get(id, scope=ANN).status is Status.ACTIVE for id in ids]


@pytest.mark.covers("S1.18")
@pytest.mark.parametrize(
    ("order", "kept"), [("confidence", [True, False]), ("hybrid", [False, True])]
)
def test_eviction_by_confidence_or_by_worth(
    home: Path, clock: SettableClock, order: str, kept: list[bool]
) -> None:
    """By confidence the surer one stays;
    by worth one that is new and was used beats one that is surer and 400 days old.
    """
    with opened(home, clock, caps__facts=1, caps__eviction=order) as engine:
        old = put(engine, "Kim sails on Sundays", confidence=0.8)
        clock.forward(days=400)
        new = put(engine, "Kim bakes rye bread", confidence=0.65)
        engine.used(new, scope=ANN)
        engine.tiers.enforce(ANN)
        assert left(engine, [*old, *new]) == kept


@pytest.mark.covers("S1.18")
def test_eviction_keeps_corrections(home: Path, clock: SettableClock) -> None:
    """Ten corrections at least have a place of their own, the surest of them."""
    with opened(home, clock, caps__facts=20, caps__eviction="hybrid") as engine:
        facts = put(engine, *(f"Kim has tool number {n}" for n in range(20)), confidence=0.9)
        unsure = [
            put(engine, f"It is Kim{n}, not Tim{n}", kind=Kind.CORRECTION, confidence=0.01 * n)[0]
            for n in range(12)
        ]
        engine.tiers.enforce(ANN)
        assert left(engine, unsure) == [False] * 2 + [True] * 10
        assert sum(left(engine, facts)) == 10


def test_an_evicted_fact_can_be_restored(home: Path, clock: SettableClock) -> None:
    """Eviction only archives: ``restore`` brings a fact back, and says so of what needs none."""
    with opened(home, clock, caps__facts=3) as engine:
        ids = [put(engine, f"Kim owns tool number {n}", confidence=0.1 * n)[0] for n in range(1, 5)]
        engine.tiers.enforce(ANN)
        assert engine.get(ids[0], scope=ANN).status is Status.ARCHIVED
        assert engine.restore(ids[0], scope=ANN).status is Status.ACTIVE
        assert ids[0] in {hit.record.id for hit in engine.search("tool number 1", scope=ANN).hits}
        with pytest.raises(RefusedError) as refused:
            engine.restore(ids[0], scope=ANN)
        assert refused.value.hint


@pytest.mark.covers("S1.21")
def test_old_facts_are_reviewed(home: Path, clock: SettableClock, model: ScriptedModel) -> None:
    """Older than ninety days, three at least, corrections never;
    whatever the model names, ten at most go.
    """
    with opened(home, clock, model) as engine:
        assert engine.settings.review.stale
        put(engine, "It is Kim, not Tim", kind=Kind.CORRECTION)
        ids = put(engine, "Kim packs for Oslo", "Kim was born in Ghent")
        clock.forward(days=91)
        assert engine.review.plan(ANN, merge=False).is_empty
        ids += put(engine, *(f"Kim's plan number {n}" for n in range(18)))
        clock.forward(days=89)
        assert engine.review.plan(ANN, merge=False).is_empty
        assert not model.requests
        clock.forward(days=2)
        model.say({"outdated": [{"id": n, "reason": "over"} for n in range(1, 21)]})
        plan = engine.review.plan(ANN, merge=False)
        assert "Tim" not in model.requests[-1].prompt
        assert len(engine.review.apply(plan)) == 10
        assert sum(left(engine, ids)) == 10


@pytest.mark.covers("S1.22")
def test_related_facts_are_merged_where_it_is_on(
    home: Path, clock: SettableClock, model: ScriptedModel
) -> None:
    """Off by default;
    of a category with eight facts, three groups at most; the merged one lists its sources and can
    be undone.
    """
    with opened(home, clock, model) as engine:
        assert not engine.settings.review.merge
    with opened(home, clock, model, review__merge=True) as engine:
        put(
            engine,
            "Kim has a boat",
            "Kim has a kayak",
            *(f"Kim owns tool number {n}" for n in range(5)),
        )
        assert engine.review.plan(ANN, stale=False).is_empty
        assert not model.requests
        put(engine, "Kim sings in a choir")
        known = [
            record.text
            for record in engine.list(scope=ANN, kinds=(Kind.FACT,), order="oldest").records
        ]
        model.when("Kim has a boat", merge_answer)
        plan = engine.review.plan(ANN, stale=False)
        assert len(plan.merges) == 3
        told = engine.review.apply(plan)
        made = engine.get(told[0].id, scope=ANN)
        assert len(made.meta["merged_from"]) == 2
        assert {engine.get(id, scope=ANN).status for id in made.meta["merged_from"]} == {
            Status.SUPERSEDED
        }
        engine.review.undo(ANN, plan.id)
        assert [
            record.text
            for record in engine.list(scope=ANN, kinds=(Kind.FACT,), order="oldest").records
        ] == known


def merge_answer(request: ReceivedModelRequest) -> Any:
    """Four pairs, each with the words of both."""
    rows = re.findall(r'^(\d+)\. "(.*)"$', request.prompt, re.MULTILINE)
    pairs = zip(rows[::2], rows[1::2], strict=False)
    return {
        "groups": [
            {"ids": [int(one[0]), int(two[0])], "text": f"{one[1]}; {two[1]}"} for one, two in pairs
        ]
    }


@pytest.mark.covers("S1.29")
def test_what_comes_in_meanwhile_is_learned_once_afterwards(
    home: Path, model: ScriptedModel
) -> None:
    """While an update runs, the next one of its thread waits, due to nobody;
    then it runs exactly once.
    """
    model.fail("hang", seconds=0.5)
    with opened(home, clocks.now, model, jobs__workers=2) as engine:
        engine.updates.add_nowait(Turn("Kim likes green tea", session="s"), scope=ANN)
        assert model.wait(1)
        engine.updates.add_nowait(Turn("Kim likes rye bread", session="s"), scope=ANN)
        assert engine.updates.flush_sync()
    asked = [
        request.prompt
        for request in model.requests
        if "Below are numbered messages" in request.prompt
    ]
    assert len(asked) == 2
    assert "rye bread" not in asked[0]
    assert not re.findall(r"(?m)^\[\d+\].*green tea", asked[1])


@pytest.mark.covers("S1.32")
def test_a_delayed_update_takes_the_place_of_the_one_before(
    home: Path, clock: SettableClock, model: ScriptedModel
) -> None:
    """The same thread again:
    only the later wish counts; a shutdown drains, or cancels and keeps the turns.
    """
    with opened(home, clock, model) as engine:
        engine.updates.add(Turn("Kim likes green tea", session="s"), scope=ANN, after=100)
        engine.updates.add(Turn("Kim likes rye bread", session="s"), scope=ANN, after=200)
        clock.forward(seconds=150)
        engine.drain()
        assert not model.requests
        clock.forward(seconds=51)
        engine.drain()
        assert len(model.requests) == 1
        with pytest.raises(InputError):
            engine.updates.add(Turn("x y z"), scope=ANN, after=-1)
        engine.updates.add(Turn("Lou likes plums", session="t"), scope=ANN)
        assert engine.updates.shutdown()
        assert len(model.requests) == 2
        engine.updates.add(Turn("Lou likes pears", session="t"), scope=ANN)
        assert engine.updates.shutdown(cancel=True)
        assert engine.updates.waiting() == 0
        assert len(model.requests) == 2
        assert len(engine.list(scope=ANN, kinds=(Kind.TURN,)).records) == 4
    with pytest.raises(ClosedError):
        engine.observe(Turn("too late"), scope=ANN)


@pytest.mark.covers("S1.43")
def test_a_dream_whose_model_fails_is_tried_again(
    home: Path, clock: SettableClock, model: ScriptedModel
) -> None:
    """Three tries a minute apart; the notes count as dreamed of only after one succeeded."""
    model.when("as a short list in Markdown", "- Ann sails").when(
        "Tidy the memory", {"items": [{"topic": "Life", "text": "Ann sails"}], "diary": "d"}
    )
    core = home / "vault/memory/users/ann/MEMORY.md"
    with opened(home, clock, model) as engine:
        engine.flush([{"id": "1", "role": "user", "content": "I sail in Genoa"}], scope=ANN)
        engine.drain()
        model.fail("http_503", times=2, when="Tidy the memory")
        clock.set("2026-03-01T23:56")
        for tried in (1, 2):
            engine.drain()
            assert not core.exists(), tried
            tried_now = len([r for r in model.requests if "Tidy the memory" in r.prompt])
            assert tried_now == tried
            clock.forward(seconds=30)
            engine.drain()
            assert len([r for r in model.requests if "Tidy the memory" in r.prompt]) == tried
            clock.forward(seconds=31)
        engine.drain()
        assert "Ann sails" in core.read_text()


@pytest.mark.covers("S1.39", "S1.43")
def test_a_night_without_a_dream_is_dreamt_the_next(
    home: Path, clock: SettableClock, model: ScriptedModel
) -> None:
    """A night on which every try fails costs nothing: the next dream reads its day too, and the one
    after that reads a day again.
    """
    model.when("Tidy the memory", {"items": [{"topic": "Life", "text": "Ann sails"}], "diary": "d"})
    with opened(home, clock, model) as engine:
        for day in (1, 2, 3):
            clock.set(f"2026-03-0{day}T09:00")
            said = f"Ann caught {day} herrings"
            model.when(f"(?s)as a short list in Markdown.*{said}", f"- {said}")
            engine.manage(said, scope=ANN)
            engine.drain()
            clock.set(f"2026-03-0{day}T23:56")
            if day == 1:
                model.fail("http_503", times=9, when="Tidy the memory")
            for _ in range(4):
                engine.drain()
                clock.forward(seconds=61)
            model.heal()
        dreams = [r.prompt for r in model.requests if "Tidy the memory" in r.prompt]
        first, _, _, second, third = dreams
        assert "1 herrings" in first
        assert "1 herrings" in second
        assert "2 herrings" in second
        assert "3 herrings" in third and "2 herrings" not in third


@pytest.mark.covers("S1.9")
def test_too_much_to_summarise_is_cut_to_its_end(
    home: Path, clock: SettableClock, model: ScriptedModel
) -> None:
    """The model gets the last of it, and a note says so; nothing fails."""
    model.when("summary", "They spoke.")
    said = [{"id": f"m{n}", "role": "user", "content": f"w{n} " * 400} for n in range(1, 31)]
    with opened(home, clock, model, summary__enabled=True) as engine:
        fitted = engine.summaries.fit(said, scope=ANN, session="s")
    prompt = model.requests[0].prompt
    assert fitted.summary == "They spoke."
    assert "w1 w1" not in prompt
    assert any("cut to its last" in note for note in fitted.notes)


@pytest.mark.covers("S1.55")
def test_notes_are_found_in_pieces_that_name_their_lines(home: Path, clock: SettableClock) -> None:
    """A long file, and a line that is overlong, is found by pieces;
    a changed file is read anew, a removed one leaves the search.
    """
    core = home / "vault/memory/users/ann/MEMORY.md"
    core.parent.mkdir(parents=True)
    lines = [f"- Item {n} says something of middling length here." for n in range(300)]
    core.write_text("\n".join([*lines, "- The parrot is called Zephyr.", "word " * 3000, ""]))
    with opened(home, clock) as engine:

        def found(query: str) -> list[Any]:
            engine.vault.sync()  # type: ignore[union-attr]
            return [
                hit.record
                for hit in engine.search(query, scope=ANN).hits
                if hit.record.meta.get("note_file")
            ]

        pieces = found("parrot called Zephyr")
        assert "Zephyr" in pieces[0].text
        assert pieces[0].meta["note_file"] == "memory/users/ann/MEMORY.md"
        first, last = pieces[0].meta["lines"]
        assert first <= 301 <= last
        assert max(engine.counter.count(piece.text) for piece in found("word")) <= 600
        core.write_text(core.read_text().replace("Zephyr", "Coco"))
        assert "Coco" in found("parrot")[0].text
        core.unlink()
        assert not found("parrot")


@pytest.mark.covers("S1.56")
def test_a_note_that_could_not_be_embedded_is_tried_again(
    home: Path, clock: SettableClock, model: ScriptedModel
) -> None:
    """With an embedding server that fails the note is found by words at most;
    once it is well, the next sync finds it by meaning.
    """
    core = home / "vault/memory/users/ann/MEMORY.md"
    core.parent.mkdir(parents=True)
    core.write_text("- The parrot is called Zephyr.\n")
    remote = {"embed__provider": "openai", "embed__model": "e", "embed__url": f"{model.url}/v1"}
    with opened(home, clock, **remote) as engine:
        model.fail("http_500", times=20, only="embed")
        engine.vault.sync()  # type: ignore[union-attr]
        model.heal()
        clock.forward(hours=1)
        engine.vault.sync()  # type: ignore[union-attr]
        engine.drain()
        found = [
            hit
            for hit in engine.search("parrot", scope=ANN).hits
            if hit.record.meta.get("note_file")
        ]
        assert found[0].parts.get("cos", 0) > 0


@pytest.mark.covers("S1.54")
def test_a_damaged_database_is_set_aside_and_what_it_holds_comes_back(home: Path) -> None:
    """The command says that it was damaged, keeps the damaged file, and lists what could be read;
    the next write works.
    """
    run(
        home,
        "--preset",
        "engine",
        arguments=("add", *(f"Parcel r{place} waits at dock {place}" for place in range(9))),
    )
    file = home / "memory.db"
    whole = file.read_bytes()
    file.write_bytes(b"\0" * 100 + whole[100:])
    told = run(home, "--preset", "engine", arguments=("list",))
    assert "was damaged" in told
    assert "Parcel r1" in told
    assert list(home.glob("memory.db.corrupt-*"))
    assert "stored" in run(home, "--preset", "engine", arguments=("add", "A new parcel"))
