"""The sample conversation, from its file to answers."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime

import pytest

import engrams
from engrams import demo
from engrams.core import Kind, Status

HOME = ("user", "mina")


@pytest.fixture(scope="module")
def memory(tmp_path_factory: pytest.TempPathFactory) -> Iterator[engrams.MemoryEngine]:
    """The sample, imported and settled."""
    with engrams.open(home=tmp_path_factory.mktemp("sample")) as engine:
        engine.load(demo.sample_path(), scope=HOME)
        assert engine.drain(timeout=120)
        yield engine


def rows() -> list[dict[str, str]]:
    return [json.loads(line) for line in demo.sample_path().read_text("utf-8").splitlines()]


def found(memory: engrams.MemoryEngine, question: str, limit: int = 10) -> list[str]:
    """External ids of the turns that a search brings, directly or as the source of a fact."""
    ids = []
    for hit in memory.search(question, scope=HOME, limit=limit).hits:
        sources = (
            [hit.record]
            if hit.record.external_id
            else [memory.get(item.source, scope=HOME) for item in hit.record.evidence]
        )
        ids += [source.external_id for source in sources]
    return list(dict.fromkeys(ids))


def test_the_sample_is_what_it_says() -> None:
    """At least 120 turns in 12 sessions over a year, two people and an assistant, unique ids,
    questions that fit.
    """
    turns = rows()
    ids = [turn["id"] for turn in turns]
    assert len(turns) >= 120
    assert len(ids) == len(set(ids))
    assert len({turn["session"] for turn in turns}) >= 12
    assert {turn["speaker"] for turn in turns} == {"Mina", "Theo", "Sol"}
    assert [turn["at"] for turn in turns] == sorted(turn["at"] for turn in turns)
    questions = demo.load_questions()
    assert len(questions) == 25
    assert sum(not question.answerable for question in questions) == 5
    assert all(
        set(question.evidence) <= set(ids) and question.answerable == bool(question.evidence)
        for question in questions
    )


def test_every_turn_is_stored_as_it_was_said(memory: engrams.MemoryEngine) -> None:
    """The import keeps text, speaker, time, session and caption of every turn."""
    stored = {
        record.external_id: record
        for record in memory.list(
            scope=HOME, kinds=(Kind.TURN,), statuses=tuple(Status), limit=1000
        ).records
    }
    assert len(stored) == len(rows())
    for turn in rows():
        record = stored[turn["id"]]
        said = datetime.fromisoformat(turn["at"])
        assert (record.text, record.speaker, record.session, record.recorded_at) == (
            turn["text"],
            turn["speaker"],
            turn["session"],
            said,
        )
        assert record.caption == turn.get("caption", "")


def test_importing_again_stores_nothing_twice(memory: engrams.MemoryEngine) -> None:
    """A second import of the same file adds no turn."""
    memory.load(demo.sample_path(), scope=HOME)
    assert len(
        memory.list(scope=HOME, kinds=(Kind.TURN,), statuses=tuple(Status), limit=1000).records
    ) == len(rows())


def test_questions_find_their_turns(memory: engrams.MemoryEngine) -> None:
    """Nine of ten questions about what was said find a turn that answers them among the first ten."""
    asked = [question for question in demo.load_questions() if question.answerable]
    missed = [
        question.text
        for question in asked
        if not set(question.evidence) & set(found(memory, question.text))
    ]
    assert len(missed) <= len(asked) // 10, missed


def test_answers_stand_out_from_what_was_never_said(memory: engrams.MemoryEngine) -> None:
    """The best score of a question with an answer is, in the middle, above that of one without."""
    best: dict[bool, list[float]] = {True: [], False: []}
    for question in demo.load_questions():
        hits = memory.search(question.text, scope=HOME, limit=1).hits
        best[question.answerable].append(hits[0].score if hits else 0.0)
    middle = {kind: sorted(scores)[len(scores) // 2] for kind, scores in best.items()}
    assert middle[True] > middle[False]


@pytest.mark.parametrize(
    ("day", "town"),
    [(datetime(2025, 12, 1, tzinfo=UTC), "Leipzig"), (None, "Hamburg")],
    ids=["in December", "today"],
)
def test_a_question_has_the_answer_of_its_day(
    memory: engrams.MemoryEngine, day: datetime | None, town: str
) -> None:
    """Where they live depends on the day that is asked about."""
    hits = memory.search(
        "Which city do Mina and Theo live in?", scope=HOME, as_of=day, limit=10
    ).hits
    assert any(town in hit.record.text for hit in hits)
    assert day is None or not any("Hamburg" in hit.record.text for hit in hits)


def test_a_turn_in_another_script_is_found_in_it(memory: engrams.MemoryEngine) -> None:
    """Chinese and Spanish questions find the Chinese and Spanish turns."""
    assert "s05-01" in found(memory, "妈妈从哪里来?", limit=3)
    assert "s12-01" in found(memory, "¿Cuándo es el examen de español?", limit=3)


def test_a_picture_is_found_by_its_caption(memory: engrams.MemoryEngine) -> None:
    """What a picture shows is searchable."""
    assert "s07-01" in found(memory, "photo of harbour cranes in the fog", limit=3)


def test_nobody_else_sees_it(memory: engrams.MemoryEngine) -> None:
    """Another owner finds nothing of it, by search, listing or id."""
    other = ("user", "someone else")
    assert memory.search("Where do Mina and Theo live?", scope=other).hits == ()
    assert memory.list(scope=other).records == ()
    with pytest.raises(engrams.EngramsError):
        memory.get(memory.list(scope=HOME, limit=1).records[0].id, scope=other)
