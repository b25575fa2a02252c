"""Documents beside conversations: what somebody said is not lost among their passages."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

from engrams.core import Kind, Turn
from engrams.testing import SettableClock, temp_engine

ANN = ("user", "ann")
NOON = datetime(2026, 3, 2, 12, tzinfo=UTC)
QUESTION = "When is the boiler in the cellar serviced?"


def write_manual(folder: Path) -> Path:
    """A manual that says "boiler", "cellar" and "serviced" on each of its pages."""
    manual = folder / "manual.md"
    pages = [
        f"## Valve {number}\n\nThe boiler in the cellar is serviced by valve {number}, which a boiler"
        f" in a cellar needs when it is serviced at level {number}.\n"
        for number in range(12)
    ]
    manual.write_text("# Manual\n\n" + "\n".join(pages), "utf-8")
    return manual


def test_a_message_stands_before_the_passages_that_say_the_same_words(tmp_path: Path) -> None:
    """However many they are; where the documents alone are asked, they keep their scores."""
    with temp_engine(jobs__workers=0) as engine:
        engine.add_document(write_manual(tmp_path), scope=ANN)
        alone = engine.search(QUESTION, scope=ANN, limit=3).hits
        assert {hit.record.kind for hit in alone} == {Kind.PASSAGE}
        said = engine.add("They come to service the boiler in May.", scope=ANN).id
        beside = engine.search(QUESTION, scope=ANN, limit=3).hits
        assert beside[0].record.id == said
        assert {hit.record.kind for hit in beside[1:]} == {Kind.PASSAGE}
        documents = engine.search(QUESTION, scope=ANN, limit=3, kinds=(Kind.PASSAGE,)).hits
        assert {hit.record.kind for hit in documents} == {Kind.PASSAGE}
        assert documents[0].score > beside[1].score


def test_the_day_of_an_import_is_not_the_day_of_a_document(tmp_path: Path) -> None:
    """Only the date that a document names answers a question about a day."""
    letter = tmp_path / "letter.eml"
    with temp_engine(jobs__workers=0, clock=SettableClock(NOON)) as engine:
        sent_at = engine.now().strftime("%a, %d %b %Y 00:00:00 +0000")
        letter.write_text(
            f"From: bob@example.org\nDate: {sent_at}\n\nThe fence gets painted.\n", "utf-8"
        )
        engine.add_document(write_manual(tmp_path), scope=ANN)
        said = engine.add("We planted two apple trees.", scope=ANN).id
        hits = engine.search("What did we do today?", scope=ANN, limit=20).hits
        assert hits[0].record.id == said
        assert {hit.record.id for hit in hits if hit.parts.get("date")} == {said}
        engine.add_document(letter, scope=ANN)
        hits = engine.search("What did we do today?", scope=ANN, limit=20).hits
        dated = {hit.record.text for hit in hits if hit.parts.get("date")}
        assert any("fence" in text for text in dated)


def test_people_answer_what_is_asked_of_them_between_passages(tmp_path: Path) -> None:
    """A question about the asker shows what they said, however many passages have its words; and a
    correction that shares no word with it still takes the place of what it corrects.
    """
    handbook = tmp_path / "handbook.md"
    pages = [
        f"## Part {number}\n\nThis is where teams live and work: part {number} tells what you do for"
        f" work in a base, where a base is and who lives in base {number}.\n"
        for number in range(60)
    ]
    handbook.write_text("# Handbook\n\n" + "\n".join(pages), "utf-8")
    with temp_engine(jobs__workers=0) as engine:
        engine.add_document(handbook, scope=ANN)
        said = (
            "I'm an electrician by trade, mostly old houses.",
            "currently based in Valencia, Ruzafa to be precise",
            "gave back the keys to the Valencia flat today. Graz from here on in, wish me luck",
        )
        for days, text in enumerate(said):
            turn = Turn(text, "user", "", NOON + timedelta(days=days), session="s")
            engine.observe([turn], scope=ANN)
            engine.drain(10)
        work = engine.search("What do I do for work?", scope=ANN, limit=4).hits
        assert said[0] in [hit.record.text for hit in work[:2]]
        homes = [
            hit.record.text for hit in engine.search("Where am I based?", scope=ANN, limit=4).hits
        ]
        assert said[2] in homes
        assert said[1] not in homes[: homes.index(said[2])]
        impersonal = engine.search("Where is a base?", scope=ANN, limit=4).hits
        assert impersonal[0].record.kind is Kind.PASSAGE


def test_people_answer_where_hits_are_chosen_for_variety(tmp_path: Path) -> None:
    """Variety chooses among the hits and leaves them in their order."""
    handbook = tmp_path / "handbook.md"
    trades = ("nurses", "bakers", "sailors", "teachers", "pilots", "farmers", "miners", "singers")
    pages = [
        f"## {trade}\n\nWhat do {trade} do for work? This part tells what work {trade} do, and what"
        " you do for it.\n"
        for trade in trades
    ]
    handbook.write_text("# Handbook\n\n" + "\n".join(pages), "utf-8")
    with temp_engine(jobs__workers=0, read__mmr_lambda=0.7) as engine:
        engine.add_document(handbook, scope=ANN)
        text = "I'm an electrician by trade, mostly old houses."
        engine.observe([Turn(text, "user", "", NOON, session="s")], scope=ANN)
        engine.drain(10)
        work = engine.search("What do I do for work?", scope=ANN, limit=3).hits
        assert work[0].record.text == text
        assert work[1].record.kind is Kind.PASSAGE
