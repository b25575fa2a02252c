"""Recorded answers of a model are replayed through a whole engine and held against gold."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from bench.model import data, recorded
from bench.model.data import conversation_ids, read_conversation
from bench.model.pace import PAUSES, measure_pace
from bench.model.recorded import RecordingError
from bench.model.replay import replay
from bench.model.score import Score, score, share, summarise

QUICK = ("de-umzug", "en-climb")


def replayed(id: str) -> Score:
    conversation = read_conversation(id)
    return score(conversation, replay(conversation))


@pytest.mark.parametrize("id", QUICK)
def test_a_conversation_is_learned_from_a_model(id: str) -> None:
    """What should be remembered is, what changed has changed, and nothing is that must not be."""
    found = replayed(id)
    assert share(found.precision) >= 0.95, found.wrong
    assert share(found.recall) >= 0.9, found.missed
    assert share(found.updates) >= 0.95, found.stale
    assert share(found.dates) >= 0.95
    assert not found.leaked
    assert share(found.calls_per_turn) <= 0.2


@pytest.mark.slow
def test_all_conversations_reach_their_targets() -> None:
    """Over all recorded conversations: the figures that the guide gives."""
    scores = [replayed(id) for id in conversation_ids()]
    figures = {name: row["value"] for name, row in summarise(scores).items()}
    assert figures["precision"] >= 0.95, [one.wrong for one in scores]
    assert figures["recall"] >= 0.9, [one.missed for one in scores]
    assert figures["updates"] >= 0.95, [one.stale for one in scores]
    assert figures["forbidden"] == 1, [one.leaked for one in scores]
    assert figures["calls_per_turn"] <= 0.2


def test_talk_at_a_persons_pace_costs_less_than_half() -> None:
    """A message a minute, learned from in its pauses:
    less than half the calls and tokens of half a minute of quiet.
    """
    before, now = (measure_pace(read_conversation("en-climb"), quiet) for quiet in PAUSES)
    assert now.calls < before.calls / 2
    assert now.tokens < before.tokens / 2


@pytest.fixture
def copied(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Copies of one conversation and its recording, in folders of their own."""
    for folder in ("conversations", "recordings"):
        (tmp_path / folder).mkdir()
        shutil.copy(data.HERE / folder / "en-climb.json", tmp_path / folder)
    monkeypatch.setattr(data, "CONVERSATIONS", tmp_path / "conversations")
    monkeypatch.setattr(recorded, "RECORDINGS", tmp_path / "recordings")
    return tmp_path


@pytest.mark.parametrize(
    ("folder", "before", "after", "told"),
    [
        ("conversations", "splint or tape", "splint", "showed something else"),
        ("recordings", '"extract": "', '"extract": "0', "extract.md is not the one"),
        ("recordings", '"step": "arc 2"', '"step": "arc 9"', "no step 'arc 2'"),
    ],
)
def test_a_prompt_that_changed_says_where_to_look(
    copied: Path, folder: str, before: str, after: str, told: str
) -> None:
    """Other words in a prompt, in what it shows, or a new step:
    the error names the file and the command that records anew.
    """
    file = copied / folder / "en-climb.json"
    file.write_text(file.read_text("utf-8").replace(before, after), "utf-8")
    with pytest.raises(RecordingError, match=told) as caught:
        replay(read_conversation("en-climb"))
    assert str(copied / "recordings" / "en-climb.json") in caught.value.message
    assert "python -m bench.model record --only en-climb" in caught.value.hint


def test_recording_anew_takes_the_prompt_of_today(copied: Path) -> None:
    """After ``record`` the same answers fit the prompt that changed."""
    file = copied / "conversations" / "en-climb.json"
    file.write_text(file.read_text("utf-8").replace("splint or tape", "splint"), "utf-8")
    replay(read_conversation("en-climb"), record=True)
    replay(read_conversation("en-climb"))


def test_an_answer_quotes_only_what_its_prompt_shows(copied: Path) -> None:
    """A recorded statement that rests on words the prompt does not hold is refused, unless it is
    marked as the model's mistake.
    """
    file = copied / "recordings" / "en-climb.json"
    file.write_text(
        file.read_text("utf-8").replace(
            '"quote": "Vegetarian since forever"', '"quote": "I eat no meat"'
        ),
        "utf-8",
    )
    with pytest.raises(RecordingError, match="I eat no meat"):
        replay(read_conversation("en-climb"))
