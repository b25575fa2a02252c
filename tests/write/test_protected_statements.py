"""Statements on health, diet, safety and identity end only by a statement on that very thing."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from tests.text.comparison.test_statement_comparison import ModelTalk, make_row
from tests.write.conftest import Talk

from engrams.core import Kind, Record, Scope
from engrams.extract.candidate import CandidateStatement
from engrams.write.protected_statements import may_end


def make_record(text: str, subject: str, predicate: str, value: str, category: str) -> Record:
    return Record(
        id="r1",
        scope=Scope.of(("user", "alice")),
        kind=Kind.FACT,
        text=text,
        recorded_at=datetime(2026, 1, 5, tzinfo=UTC),
        subject=subject,
        predicate=predicate,
        object=value,
        category=category,
    )


COELIAC = make_record("Nora is coeliac", "Nora", "is", "coeliac", "health")
NUTS = make_record("I'm allergic to nuts", "user", "allergic_to", "nuts", "health")
RUNS = make_record("I run on Mondays", "user", "runs", "on Mondays", "activity")


@pytest.mark.parametrize(
    ("text", "subject", "predicate", "value", "record", "expected"),
    [
        ("They brought gluten cakes", "they", "brought", "cakes", COELIAC, False),
        ("Nora ate a cake", "Nora", "ate", "cake", COELIAC, False),
        ("Nora is not coeliac after all", "Nora", "is", "coeliac", COELIAC, True),
        ("I can eat nuts again", "user", "can_eat", "nuts", NUTS, True),
        ("I'm allergic to pollen", "user", "allergic_to", "pollen", NUTS, True),
        ("I eat out on Fridays", "user", "eats_out", "Fridays", NUTS, False),
        ("I swim now", "user", "swims", "", RUNS, True),
    ],
)
def test_what_may_end_a_statement(
    text: str, subject: str, predicate: str, value: str, record: Record, expected: bool
) -> None:
    """One of the same subject that fills its slot or names it; others end by anything."""
    candidate = CandidateStatement(text, subject=subject, predicate=predicate, object=value)
    assert may_end(candidate, record) is expected


def test_a_model_cannot_end_an_allergy_by_something_else() -> None:
    """Both statements stand, although the model replaces the first one."""
    with ModelTalk(verdict="replace") as talk:
        talk.hear(make_row("I'm allergic to nuts", "allergic_to", "nuts", "health"))
        talk.hear(make_row("I had a great dinner at Luigi's", "had", "dinner", "health"))
        assert talk.questions == 1
        assert [record.object for record in talk.facts()] == ["nuts", "dinner"]


def test_a_model_ends_an_allergy_by_a_statement_on_it() -> None:
    """The later word on the same thing holds."""
    with ModelTalk(verdict="replace") as talk:
        talk.hear(make_row("I'm allergic to nuts", "allergic_to", "nuts", "health"))
        talk.hear(make_row("My nuts allergy is cured", "cured_of", "nuts", "health"))
        assert [record.text for record in talk.facts()] == ["My nuts allergy is cured"]


def test_a_form_of_address_leaves_the_name(talk: Talk) -> None:
    """Who asks to be called something else keeps the name."""
    for text in ("My name is Tom.", "Actually my name is Thomas.", "Please call me Captain."):
        talk.say(text)
    assert {record.object for record in talk.facts()} == {"Thomas", "Captain"}
