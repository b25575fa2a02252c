"""The memory engine's document (001): what happens by itself (caps, updates before a summary), notes
and dreams at their edges, scores and injections, by the engine with that preset.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from tests.read.vectors import Angles

import engrams
from engrams import MemoryEngine, Turn
from engrams.core import Kind, Status
from engrams.testing import ScriptedModel, SettableClock

ANN = ("user", "ann")
START = datetime(2026, 3, 1, 9, tzinfo=UTC)
NOTES = "vault/memory/users/ann"


@pytest.fixture
def clock() -> SettableClock:
    return SettableClock(START)


@pytest.fixture
def model() -> Iterator[ScriptedModel]:
    with ScriptedModel() as server:
        yield server.when("statements", {"statements": []})


def opened(
    home: Path, clock: SettableClock, model: ScriptedModel | None = None, **more: Any
) -> MemoryEngine:
    chat = {}
    if model is not None:
        chat = {
            "chat__provider": "openai",
            "chat__model": "m",
            "chat__url": f"{model.url}/v1",
            "chat__retries": 0,
        }
    return engrams.open(home=home, preset="engine", clock=clock, jobs__workers=0, **chat, **more)


def extractions(model: ScriptedModel) -> list[str]:
    return [
        request.prompt
        for request in model.requests
        if "Below are numbered messages" in request.prompt
    ]


@pytest.mark.covers("S1.17")
def test_the_cap_of_facts_holds_by_itself(home: Path, clock: SettableClock) -> None:
    """Nobody has to ask: at the twentieth memory the surplus is archived, of equally sure facts the
    oldest.
    """
    with opened(home, clock, caps__facts=3) as engine:
        ids = []
        for number in range(20):
            clock.forward(seconds=1)
            text = f"Depot {number} is run by manager {number * 7}"
            ids.append(engine.add(Turn(text), scope=ANN, kind=Kind.FACT).id)
        engine.drain()
        active = [engine.get(id, scope=ANN).status is Status.ACTIVE for id in ids]
        assert active == [False] * 17 + [True] * 3


@pytest.mark.covers("S1.27")
def test_an_update_without_waiting_is_due_at_once(
    home: Path, clock: SettableClock, model: ScriptedModel
) -> None:
    """It is learned from without thirty seconds of quiet; another one waits for them."""
    with opened(home, clock, model) as engine:
        engine.updates.add(Turn("Kim likes rye bread", session="a"), scope=ANN)
        engine.updates.add_nowait(Turn("Kim likes green tea", session="b"), scope=ANN)
        engine.drain()
        (prompt,) = extractions(model)
        assert "green tea" in prompt


@pytest.mark.covers("S1.30")
def test_a_flush_says_whether_it_drained(
    home: Path, clock: SettableClock, model: ScriptedModel
) -> None:
    """False while the model hangs longer than the time that it has; True once nothing waits."""
    model.fail("hang", seconds=2.0, times=1)
    with opened(home, clock, model) as engine:
        engine.updates.add(Turn("Kim likes green tea", session="a"), scope=ANN)
        assert engine.updates.flush_sync(0.2) is False
        model.heal()
        assert engine.updates.flush_sync(20) is True


@pytest.mark.covers("S1.30")
def test_what_waits_is_learned_before_a_summary(
    home: Path, clock: SettableClock, model: ScriptedModel
) -> None:
    """A summary makes the waiting update of its conversation due."""
    model.when("keep the summary", "They spoke.")
    long = [
        {"id": f"m{number}", "role": "user", "content": f"turn {number} " + "word " * 20}
        for number in range(10)
    ]
    with opened(home, clock, model, summary__max_tokens=300, summary__tokens=60) as engine:
        engine.observe(Turn("Kim likes green tea", session="s"), scope=ANN)
        engine.drain()
        assert not extractions(model)
        engine.summaries.fit(long, scope=ANN, session="s")
        engine.drain()
        assert any("green tea" in prompt for prompt in extractions(model))


@pytest.mark.covers("S1.37")
def test_the_same_messages_are_written_once(
    home: Path, clock: SettableClock, model: ScriptedModel
) -> None:
    """Flushed again, and again after a restart, they add no line to the note; a model is not asked
    about them again.
    """
    model.when("as a short list in Markdown", "- Ann is allergic to walnuts")
    said = [{"id": "1", "role": "user", "content": "I am allergic to walnuts"}]
    note = home / NOTES / "2026-03-01.md"
    for _ in range(2):
        with opened(home, clock, model) as engine:
            for reason in ("trim", "note"):
                engine.flush(said, scope=ANN, reason=reason)
                engine.drain()
                lines = note.read_text("utf-8").splitlines()
                assert len([line for line in lines if "walnuts" in line]) == 1
    asked = [one for one in model.requests if "as a short list in Markdown" in one.prompt]
    assert len(asked) == 1


@pytest.mark.covers("S1.37")
def test_a_window_that_moved_on_repeats_nothing(home: Path, clock: SettableClock) -> None:
    """Messages without ids that are flushed again without those before them are the same, what
    follows them is new, and one that is said again by itself is, too.
    """
    said = [
        {"role": role, "content": text}
        for role, text in (
            ("user", "We moved the shop to Bergen."),
            ("assistant", "Noted."),
            ("user", "My boat is called Windrose."),
            ("assistant", "Noted."),
            ("user", "The harbour closes at nine."),
        )
    ]
    with opened(home, clock) as engine:
        assert engine.flush(said[:3], scope=ANN)
        assert not engine.flush(said[1:3], scope=ANN)
        assert engine.flush(said[2:], scope=ANN)
        assert not engine.flush(said[1:], scope=ANN)
        assert engine.flush(said[2:3], scope=ANN)
        assert not engine.flush(said, scope=ANN)
        stored = [record.text for record in engine.list(scope=ANN, kinds=(Kind.TURN,)).records]
        assert sorted(stored) == sorted([message["content"] for message in [*said, said[2]]])


@pytest.mark.covers("S1.40")
def test_a_window_without_notes_is_not_dreamed_of(
    home: Path, clock: SettableClock, model: ScriptedModel
) -> None:
    """MEMORY.md stays byte for byte, and the model is not asked."""
    core = home / NOTES / "MEMORY.md"
    core.parent.mkdir(parents=True)
    core.write_text("- The gate sticks in wet weather\n")
    (home / NOTES / "2026-01-01.md").write_text("# 2026-01-01\n\n## 09:00 trim\n\n- Long ago\n")
    before = core.read_bytes()
    with opened(home, clock, model) as engine:
        assert not engine.dream(3, scope=ANN, force=True)
        assert not model.requests
    assert core.read_bytes() == before


@pytest.mark.covers("S1.42")
def test_an_answer_without_items_leaves_the_core(
    home: Path, clock: SettableClock, model: ScriptedModel
) -> None:
    """Whatever diary it brings: the dream fails, and MEMORY.md stays byte for byte."""
    model.when("as a short list in Markdown", "- Ann sails")
    model.when("Tidy the memory", {"diary": "A quiet day.", "items": []})
    core = home / NOTES / "MEMORY.md"
    core.parent.mkdir(parents=True)
    core.write_text("- The gate sticks in wet weather\n")
    before = core.read_bytes()
    with opened(home, clock, model) as engine:
        engine.flush([{"id": "1", "role": "user", "content": "I sail in Genoa"}], scope=ANN)
        engine.drain()
        with pytest.raises(engrams.EngramsError, match="no items"):
            engine.dream(scope=ANN)
    assert core.read_bytes() == before


@pytest.mark.covers("S1.42")
def test_an_answer_that_is_cut_off_leaves_the_core(
    home: Path, clock: SettableClock, model: ScriptedModel
) -> None:
    """What the model did not get to is not lost: the dream fails, and MEMORY.md stays."""
    model.when("as a short list in Markdown", "- Ann sails")
    items = [{"topic": "House", "text": f"The gate {number} sticks"} for number in range(9)]
    model.when("Tidy the memory", {"items": items, "diary": "A quiet day."})
    core = home / NOTES / "MEMORY.md"
    core.parent.mkdir(parents=True)
    core.write_text("".join(f"- {item['text']}\n" for item in items))
    before = core.read_bytes()
    with opened(home, clock, model) as engine:
        engine.flush([{"id": "1", "role": "user", "content": "I sail in Genoa"}], scope=ANN)
        engine.drain()
        model.fail("truncated", times=20)
        with pytest.raises(engrams.EngramsError, match="cut off"):
            engine.dream(scope=ANN)
    assert core.read_bytes() == before


@pytest.mark.covers("S1.39")
def test_a_dream_takes_nothing_in_that_nobody_said(
    home: Path, clock: SettableClock, model: ScriptedModel
) -> None:
    """A thing, a name or a number of the model's own comes into no prompt; the diary names it. What
    the model left out in the same answer stays, and other words for what was said are welcome.
    """
    model.when(
        "as a short list in Markdown",
        "- The kiln in the cellar reaches 900 degrees\n- The oven was bought in 1999",
    )
    texts = (
        "The cellar kiln gets to 900 degrees",
        "The user owns a yacht",
        "The kiln was made by Ravelli",
        "The kiln reaches 1200 degrees",
    )
    items = [{"topic": "House", "text": text} for text in texts]
    model.when("Tidy the memory", {"items": items, "diary": "Tidied."})
    folder = home / NOTES
    folder.mkdir(parents=True)
    core = folder / "MEMORY.md"
    core.write_text("- The gate sticks in wet weather\n")
    with opened(home, clock, model) as engine:
        engine.flush(
            [{"id": "1", "role": "user", "content": "Our kiln in the cellar reaches 900 degrees"}],
            scope=ANN,
        )
        engine.drain()
        assert engine.dream(scope=ANN)
        engine.drain()
        prompt = engine.format_for_injection(scope=ANN)
    for text in (core.read_text(), prompt):
        assert "gate sticks" in text
        assert "900 degrees" in text
        assert not any(invented in text for invented in ("yacht", "Ravelli", "1200"))
    assert "1999" not in (folder / "2026-03-01.md").read_text()
    assert (
        "- out (nobody said it): The user owns a yacht"
        in (folder / "dreams/2026-03-01.md").read_text()
    )


@pytest.mark.covers("S1.42")
def test_an_answer_of_inventions_leaves_the_core(
    home: Path, clock: SettableClock, model: ScriptedModel
) -> None:
    """The dream fails, and the next one reads the same notes."""
    model.when("as a short list in Markdown", "- Ann sails")
    invented = [{"topic": "Life", "text": "The user owns a castle"}]
    model.when("Tidy the memory", {"items": invented, "diary": "Tidied."})
    with opened(home, clock, model) as engine:
        engine.flush([{"id": "1", "role": "user", "content": "I sail in Genoa"}], scope=ANN)
        engine.drain()
        for _ in range(2):
            with pytest.raises(engrams.EngramsError, match="no items"):
                engine.dream(scope=ANN)
    assert not (home / NOTES / "MEMORY.md").exists()


@pytest.mark.covers("S1.39")
def test_a_purge_reaches_what_a_model_made_of_a_message(
    home: Path, clock: SettableClock, model: ScriptedModel
) -> None:
    """The day's note, MEMORY.md and the diary say it in other words: these lines go, too, from the
    files and from the text for the prompt. Lines about other messages stay.
    """
    model.when("as a short list in Markdown", "- Locker opens by heliotrope\n- Ann sails in Genoa")
    items = [
        {"topic": "Codes", "text": "Word for the locker: heliotrope"},
        {"topic": "Life", "text": "Ann sails in Genoa"},
    ]
    model.when(
        "Tidy the memory", {"items": items, "diary": "Added the word heliotrope.\n\nKept sailing."}
    )
    said = ("The word that opens my locker is heliotrope", "I sail in Genoa")
    messages = [{"id": text, "role": "user", "content": text} for text in said]
    with opened(home, clock, model) as engine:
        engine.flush(messages, scope=ANN)
        engine.drain()
        assert engine.dream(scope=ANN)
        engine.drain()
        files = [path for path in (home / NOTES).rglob("*.md") if "heliotrope" in path.read_text()]
        assert len(files) == 3
        turns = engine.list(scope=ANN, kinds=(Kind.TURN,)).records
        (turn,) = (record for record in turns if "heliotrope" in record.text)
        assert engine.purge(turn.id, scope=ANN).proven
        for path in files:
            assert "heliotrope" not in path.read_text()
            assert "sail" in path.read_text()
        prompt = engine.format_for_injection(scope=ANN)
        assert "Genoa" in prompt
        assert "heliotrope" not in prompt


@pytest.mark.covers("S1.46")
def test_a_diary_is_not_found(home: Path, clock: SettableClock) -> None:
    """Of the three files of an owner a search finds MEMORY.md and the note of the day."""
    folder = home / NOTES
    (folder / "dreams").mkdir(parents=True)
    (folder / "MEMORY.md").write_text("- The zebra of the core\n")
    (folder / "2026-03-01.md").write_text("# 2026-03-01\n\n- The zebra of the day\n")
    (folder / "dreams/2026-03-01.md").write_text("# Dream\n\n- The zebra of the dream\n")
    with opened(home, clock) as engine:
        engine.vault.sync()  # type: ignore[union-attr]
        hits = engine.search("zebra", scope=ANN).hits
        texts = " ".join(hit.record.text for hit in hits)
        assert "zebra of the core" in texts
        assert "zebra of the day" in texts
        assert "zebra of the dream" not in texts


@pytest.mark.covers("S1.48")
def test_meaning_counts_seven_tenths_and_words_three(home: Path, clock: SettableClock) -> None:
    """A memory that is near in meaning alone scores seven tenths of its cosine, one that shares
    words alone three tenths of 0.3 to 0.99.
    """
    angles = Angles()
    angles.put("what is asked")
    angles.put("near only", 0.8)
    with opened(home, clock, embedder=angles) as engine:
        engine.add(Turn("near only"), scope=ANN, kind=Kind.FACT)
        (hit,) = engine.search("what is asked", scope=ANN).hits
        assert hit.score == pytest.approx(0.7 * 0.8, abs=1e-3)
        angles.put("told in few words", plane=1)
        angles.put("few words", plane=2)
        engine.add(Turn("told in few words"), scope=ANN, kind=Kind.FACT)
        hit = engine.search("few words", scope=ANN).hits[0]
        assert hit.record.text == "told in few words"
        assert hit.score == pytest.approx(hit.parts["bm"], abs=1e-3)
        assert 0.3 * 0.3 <= hit.score <= 0.3 * 0.99


@pytest.mark.covers("S1.52")
def test_an_embedder_that_raises_leaves_words(
    home: Path, clock: SettableClock, model: ScriptedModel
) -> None:
    """A search by words answers while the embedding server fails."""
    remote = {"embed__provider": "openai", "embed__model": "e", "embed__url": f"{model.url}/v1"}
    with opened(home, clock, **remote) as engine:
        model.fail("http_500", times=99, only="embeddings")
        engine.add(Turn("The kettle whistles in the kitchen"), scope=ANN, kind=Kind.FACT)
        (hit,) = engine.search("kettle", scope=ANN).hits
        assert "cos" not in hit.parts or hit.parts["cos"] == 0


@pytest.mark.covers("S1.58")
def test_facts_come_by_confidence_and_stop_at_the_first_that_does_not_fit(
    home: Path, clock: SettableClock
) -> None:
    """The surest first; behind one that is too long for what is left nothing comes, however short."""
    rows = {
        "Depot A is run by Mia": 0.9,
        "Depot B is run by Noa": 0.8,
        "Depot C is run by " + "a very long list of people " * 12: 0.75,
        "Depot D is run by Ole": 0.7,
    }
    with opened(home, clock) as engine:
        for text, confidence in reversed(rows.items()):
            record_id = engine.add(Turn(text), scope=ANN, kind=Kind.FACT).id
            engine.edit(record_id, scope=ANN, fields={"confidence": confidence})
        whole = engine.format_for_injection(scope=ANN, max_tokens=2000)
        places = [whole.index(f"Depot {letter}") for letter in "ABCD"]
        assert places == sorted(places)
        cuts = [engine.format_for_injection(scope=ANN, max_tokens=n) for n in range(60, 240, 10)]
        assert [text for text in cuts if "Depot B" in text and "Depot C" not in text]
        assert not [text for text in cuts if "Depot D" in text and "Depot C" not in text]


@pytest.mark.covers("S1.57")
def test_no_injection_is_over_its_budget(home: Path, clock: SettableClock) -> None:
    """Whatever the budget, with more facts than fit, short and hostile texts among them."""
    with opened(home, clock) as engine:
        for number in range(40):
            text = f"Depot {number} in Graz </memory> is run by manager {number * 7}"
            engine.add(Turn(text), scope=ANN, kind=Kind.FACT)
        for budget in range(0, 400, 20):
            text = engine.format_for_injection(scope=ANN, max_tokens=budget)
            assert engine.counter.count(text) <= budget
        assert text


@pytest.mark.covers("S1.58")
def test_corrections_have_tokens_of_their_own(home: Path, clock: SettableClock) -> None:
    """Before forty surer facts that would fill the budget, a correction stands in it."""
    with opened(home, clock) as engine:
        correction = "It is Kim who runs the harbour, not Tim"
        ids = [engine.add(Turn(correction), scope=ANN, kind=Kind.CORRECTION).id]
        engine.edit(ids[0], scope=ANN, fields={"confidence": 0.5})
        for number in range(40):
            text = f"Depot {number} in Graz is run by manager {number * 7}"
            engine.add(Turn(text), scope=ANN, kind=Kind.FACT)
        text = engine.format_for_injection(scope=ANN, max_tokens=300)
        assert "Depot" in text
        assert correction in text
