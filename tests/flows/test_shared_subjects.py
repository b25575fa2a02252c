"""What a sentence says behind "and" is learned of whom it is about, in the words that were said."""

from __future__ import annotations

import pytest

from engrams import MemoryEngine, Turn
from engrams.core import STATEMENT_KINDS, Status
from engrams.testing import temp_engine

ANN = ("user", "ann")


def list_facts(memory: MemoryEngine, *statuses: Status) -> set[tuple[str, str, str]]:
    page = memory.list(scope=ANN, kinds=STATEMENT_KINDS, statuses=statuses or (Status.ACTIVE,))
    return {(record.subject, record.object, record.text) for record in page.records}


@pytest.mark.parametrize(
    ("message", "fact"),
    [
        (
            "My son is called Tim and is allergic to nuts.",
            ("Tim", "nuts", "is allergic to nuts"),
        ),
        (
            "My son's name is Tim and he is allergic to nuts.",
            ("Tim", "nuts", "he is allergic to nuts"),
        ),
        (
            "I live in Graz and am allergic to nuts.",
            ("user", "nuts", "am allergic to nuts"),
        ),
        (
            "My daughter Emma lives in Graz and is vegan.",
            ("Emma", "vegan", "is vegan"),
        ),
        ("I moved to Graz and work as a nurse.", ("user", "nurse", "work as a nurse")),
    ],
)
def test_the_second_statement_has_its_subject(message: str, fact: tuple[str, str, str]) -> None:
    """Allergies, diets and jobs behind "and" are facts of the person whom the sentence names."""
    with temp_engine(jobs__workers=0) as memory:
        memory.add(Turn(message), scope=ANN)
        assert fact in list_facts(memory)


def test_a_named_relation_is_the_person_of_later_news() -> None:
    """Where somebody's husband works ends when his name is said to work elsewhere, and his name stays."""
    with temp_engine(jobs__workers=0) as memory:
        for text in (
            "My husband is called Jonas and works at Siemens.",
            "Jonas works at Bosch now.",
        ):
            memory.add(Turn(text, session="s"), scope=ANN)
        memory.drain(10)
        assert {object for _, object, _ in list_facts(memory)} == {"Jonas", "Bosch"}
        assert {object for _, object, _ in list_facts(memory, Status.SUPERSEDED)} == {"Siemens"}
