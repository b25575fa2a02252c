"""The form in which everybody sees a statement."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from engrams.core import Evidence, Kind, Provenance, Record, Scope
from engrams.core.statement_form import form_statement, is_quotation, render_statement

SAID_AT = datetime(2026, 2, 15, 18, tzinfo=UTC)


def make_statement(text: str, triple: str = "", **fields: Any) -> Record:
    """Make a statement that rules learned of its own words; ``triple``: parts between bars."""
    subject, predicate, value = triple.split("|") if triple else ("", "", "")
    made = Record(
        id="r",
        scope=Scope.of(("user", "ann")),
        kind=Kind.FACT,
        text=text,
        recorded_at=SAID_AT,
        role="user",
        subject=subject,
        predicate=predicate,
        object=value,
        evidence=(Evidence(text, "turn"),),
        provenance=Provenance("user", "rules"),
    )
    return replace(made, **fields)


def make_time(words: str, start: str, end: str, **fields: Any) -> dict[str, Any]:
    return {
        "times": [
            {"text": words, "start": start, "end": end, "grain": "day", "sure": 0.9, **fields}
        ]
    }


def test_a_clause_is_quoted_with_its_triple_and_its_day() -> None:
    """What was understood stands before the words."""
    moved = make_statement("I moved to Berlin", "user|lives_in|Berlin")
    assert (
        render_statement(moved) == 'user LIVES_IN Berlin — "I moved to Berlin" (15 February 2026)'
    )


def test_without_a_triple_a_clause_has_its_speaker() -> None:
    """A name where there is one, else the role."""
    plain = make_statement("I could  not sleep\nat all")
    assert render_statement(plain) == '"I could not sleep at all" (user, 15 February 2026)'
    named = replace(plain, speaker="Ann")
    assert render_statement(named).endswith("(Ann, 15 February 2026)")


@pytest.mark.parametrize(
    "fields",
    [
        {"evidence": (Evidence("I moved to Berlin", "turn"),)},
        {"provenance": Provenance("user")},
        {"text": "The user lives in Bern"},
    ],
    ids=["model", "explicit", "edited"],
)
def test_sentences_stand_as_they_are(fields: dict[str, Any]) -> None:
    """What a model wrote, what was given, and what was edited is no quotation."""
    record = replace(make_statement("The user lives in Berlin", "user|lives_in|Berlin"), **fields)
    assert not is_quotation(record)
    assert render_statement(record) == f"{record.text} (said 15 February 2026)"


@pytest.mark.parametrize(
    ("predicate", "meta", "shown"),
    [
        ("likes", {"polarity": False}, "NOT_LIKES"),
        ("hates", {"polarity": False}, "HATES"),
        ("does_not_eat", {"polarity": False}, "DOES_NOT_EAT"),
        ("likes", {"effect": "ends"}, "NO_LONGER_LIKES"),
        ("no_longer_likes", {"effect": "ends", "polarity": False}, "NO_LONGER_LIKES"),
        ("likes", {}, "LIKES"),
    ],
)
def test_a_triple_never_says_the_opposite(predicate: str, meta: dict[str, Any], shown: str) -> None:
    """Negation and end are part of what is read."""
    record = make_statement("Clara hates olives", f"Clara|{predicate}|olives", meta=meta)
    assert form_statement(record).triple == f"Clara {shown} olives"


def test_a_rule_has_no_triple() -> None:
    """Who always does what is in its words."""
    rule = make_statement("always use tabs", "assistant|always|use tabs", kind=Kind.RULE)
    assert form_statement(rule).triple == ""


@pytest.mark.parametrize(
    ("meta", "days"),
    [
        (
            make_time("on the 27th", "2026-02-27T00:00+00:00", "2026-02-28T00:00+00:00"),
            "said 15 February 2026; 27 February 2026",
        ),
        (
            make_time("on 27 February 2026", "2026-02-27T00:00+00:00", "2026-02-28T00:00+00:00"),
            "15 February 2026",
        ),
        (
            make_time("today", "2026-02-15T00:00+00:00", "2026-02-16T00:00+00:00"),
            "15 February 2026",
        ),
        (
            make_time("in May", "2026-05-01T00:00+00:00", "2026-06-01T00:00+00:00", grain="month"),
            "said 15 February 2026; May 2026",
        ),
        (
            make_time(
                "next week", "2026-02-16T00:00+00:00", "2026-02-23T00:00+00:00", grain="week"
            ),
            "said 15 February 2026; 16 February 2026 to 22 February 2026",
        ),
        (
            make_time(
                "for four years",
                "2022-01-01T00:00+00:00",
                "2023-01-01T00:00+00:00",
                grain="year",
                role="since",
            ),
            "said 15 February 2026; since 2022",
        ),
        (
            make_time("Friday", "2026-02-20T00:00+00:00", "2026-02-21T00:00+00:00", sure=0.5),
            "15 February 2026",
        ),
        ({"times": [{"text": "on Mondays", "start": None, "sure": 0.9}]}, "15 February 2026"),
        ({"times": [{"text": "x", "start": "tomorrow", "sure": 0.9}]}, "15 February 2026"),
        ({"times": "every Monday"}, "15 February 2026"),
        ({"times": ["Monday", {"start": 3, "sure": "very"}]}, "15 February 2026"),
    ],
)
def test_a_time_is_shown_where_the_words_do_not_tell_it(meta: dict[str, Any], days: str) -> None:
    """The day of the telling, and beside it the day that is meant, if the words leave it open."""
    record = make_statement("My MRI scan is soon", "user|scan|soon", meta=meta)
    assert form_statement(record).about == days
