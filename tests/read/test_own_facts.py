"""Questions about oneself are answered by what was said of oneself, in the words of nobody else."""

from __future__ import annotations

from pathlib import Path

import pytest

import engrams
from engrams import Turn

ME = ("user", "marta")
OTHERS = (
    "My partner Joris still lives in Ghent, he comes over every second weekend.",
    "My brother works at Airbus.",
    "My daughter Mia is five.",
    "Meine Schwester wohnt in Ulm.",
    "Mi prima trabaja en Iberia.",
    "We painted the kitchen yellow.",
)
CASES = (
    ("I moved to Lyon two months ago.", "Where do I live?"),
    ("I moved to Lyon two months ago.", "Which city do I live in now?"),
    ("I'm a nurse at St. Luke's.", "Where do I work?"),
    ("I'm 34.", "How old am I?"),
    ("Ich bin nach Jena gezogen.", "Wo wohne ich?"),
    ("J'ai déménagé à Nantes.", "Où est-ce que j'habite ?"),
    ("Me mudé a Bilbao.", "¿Dónde vivo?"),
    ("我搬到成都了。", "我住在哪里？"),
    ("仙台に引っ越しました。", "私はどこに住んでいますか？"),
)


@pytest.mark.parametrize("preset", ["default", "proxy", "graph"])
@pytest.mark.parametrize(("said", "query"), CASES)
def test_what_one_said_of_oneself_answers_first(
    tmp_path: Path, preset: str, said: str, query: str
) -> None:
    """What somebody else is or has shares more words with the question, and does not answer it."""
    with engrams.open(home=tmp_path, jobs__workers=0, preset=preset) as memory:
        for text in (OTHERS[0], said, *OTHERS[1:]):
            memory.add(Turn(text, session="s"), scope=ME)
        memory.drain(10)
        best = memory.search(query, scope=ME).hits[0]
        assert said.rstrip(".。") in best.record.text
        if preset == "default":
            helpful = [hit.record.text for hit in memory.search(query, scope=ME).helpful]
            assert said in helpful
            assert not set(OTHERS) & set(helpful)


def test_a_question_that_names_somebody_is_not_about_oneself(tmp_path: Path) -> None:
    """The relative's own fact answers it."""
    with engrams.open(home=tmp_path, jobs__workers=0) as memory:
        for text in ("I live in Lyon.", "I work at Bosch.", *OTHERS):
            memory.add(Turn(text, session="s"), scope=ME)
        memory.drain(10)
        assert (
            "Airbus" in memory.search("Where does my brother work?", scope=ME).hits[0].record.text
        )
        assert "Ghent" in memory.search("Where does Joris live?", scope=ME).hits[0].record.text


def test_what_is_unknown_of_oneself_is_not_answered_by_others(tmp_path: Path) -> None:
    """Somebody else's employer is left out of a context for a question about one's own."""
    with engrams.open(home=tmp_path, jobs__workers=0) as memory:
        for text in OTHERS:
            memory.add(Turn(text, session="s"), scope=ME)
        memory.drain(10)
        context = memory.context("Where do I work?", scope=ME)
        recalled = context.text.replace(context.prefix, "")
        assert "Airbus" not in recalled
        assert "Iberia" not in recalled
