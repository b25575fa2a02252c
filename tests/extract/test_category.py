"""What statements are about, and which of them make a user's profile."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import pytest

from engrams import MemoryEngine
from engrams.core import Kind, Record, Scope, Turn
from engrams.extract.candidate import normalize_category
from engrams.read.profile_filter import fits_profile
from engrams.settings import load
from engrams.testing import ScriptedModel, SettableClock, temp_engine

ANN = ("user", "ann")
START = datetime(2026, 3, 1, 9, tzinfo=UTC)


@pytest.fixture
def model() -> Iterator[ScriptedModel]:
    """A scripted model."""
    with ScriptedModel() as server:
        yield server.when("decisions", {"decisions": []})


@pytest.fixture
def engine(model: ScriptedModel) -> Iterator[MemoryEngine]:
    """An engine that learns with it, at once."""
    with temp_engine(
        clock=SettableClock(START),
        jobs__workers=0,
        chat__provider="openai",
        chat__model="m",
        chat__url=f"{model.url}/v1",
        write__debounce_seconds=0.0,
    ) as made:
        yield made


def row(text: str, **fields: Any) -> dict[str, Any]:
    """A statement as a model gives it."""
    return {
        "turn": 1,
        "text": text,
        "quote": text,
        "subject": "user",
        "predicate": text.split()[1],
        "object": text,
        **fields,
    }


@pytest.mark.covers("S1.19")
def test_the_six_categories(engine: MemoryEngine, model: ScriptedModel) -> None:
    """A model's category is kept in one spelling, a missing one follows from the kind, and the
    model is asked for one of the six.
    """
    text = "I want to run a marathon"
    for number, (given, kind, kept) in enumerate(
        (
            ("goal", "fact", "goal"),
            ("Goals", "fact", "goal"),
            ("BEHAVIOUR", "fact", "behavior"),
            ("context", "fact", "context"),
            ("", "preference", "preference"),
            ("", "correction", "correction"),
            ("", "rule", "behavior"),
            ("", "fact", "knowledge"),
            ("gardening", "fact", "gardening"),
        )
    ):
        said = f"{text} number {number}"
        model.say({"statements": [row(said, category=given, kind=kind, predicate=f"p{number}")]})
        engine.observe(Turn(said), scope=ANN)
        engine.drain()
        made = engine.list(scope=ANN, predicates=(f"p{number}",)).records
        assert [record.category for record in made] == [kept], given
    asked = model.requests[0].prompt
    assert all(
        word in asked
        for word in ("preference", "knowledge", "context", "behavior", "goal", "correction")
    )
    assert normalize_category("  Goals ", Kind.FACT) == "goal"


@pytest.mark.covers("S1.19")
def test_a_correction_says_what_to_avoid(engine: MemoryEngine, model: ScriptedModel) -> None:
    """What a correction asks to be avoided is kept with it, and stands in its line of a prompt,
    escaped.
    """
    text = "No, deploy with make ship, never with git push"
    model.say(
        {
            "statements": [
                row(text, kind="correction", category="correction", avoid="git push </memory>")
            ]
        }
    )
    engine.observe(Turn(text), scope=ANN)
    engine.drain()
    (made,) = engine.list(scope=ANN, kinds=(Kind.CORRECTION,)).records
    assert made.meta["avoid"] == "git push </memory>"
    assert "(avoid: git push &lt;/memory&gt;)" in engine.context("", scope=ANN).text


def fact(**fields: Any) -> Record:
    """A fact about the user that lasts."""
    values: dict[str, Any] = {
        "kind": Kind.FACT,
        "text": "x",
        "recorded_at": START,
        "subject": "user",
        "category": "knowledge",
        **fields,
    }
    return Record(id="01", scope=Scope(values.pop("place", ANN)), **values)


@pytest.mark.covers("S1.20")
@pytest.mark.parametrize(
    ("fields", "admitted"),
    [
        ({}, True),
        ({"subject": "user's sister"}, True),
        ({"kind": Kind.PREFERENCE, "category": "preference"}, True),
        ({"kind": Kind.CORRECTION, "category": "correction"}, True),
        ({"place": (*ANN, "conversation", "c1")}, True),
        ({"kind": Kind.RULE, "subject": ""}, True),
        ({"subject": ""}, False),
        ({"subject": "Kim"}, False),
        ({"subject": "users"}, False),
        ({"category": ""}, False),
        ({"category": "context"}, False),
        ({"category": "event"}, False),
        ({"place": (*ANN, "project", "x")}, False),
        ({"place": (*ANN, "project", "x", "conversation", "c1")}, False),
        ({"valid_to": START}, False),
        ({"meta": {"event": True}}, False),
        ({"meta": {"hearsay": True}}, False),
        ({"meta": {"modality": "wish"}}, False),
        ({"meta": {"temporal": {"until": "session"}}}, False),
        ({"meta": {"effect": "ends"}}, False),
    ],
)
def test_the_gate_of_the_profile(fields: dict[str, Any], admitted: bool) -> None:
    """About the user, lasting, descriptive: whatever is not known to be all three stays out."""
    assert fits_profile(fact(**fields), Scope(("user", "ann"))) is admitted


@pytest.mark.covers("S1.20")
def test_only_what_passes_the_gate_enters_the_profile() -> None:
    """With `read.profile` user, as by default, others' facts are found by a search only."""
    assert load({}, environ={}).settings.read.profile == "user"
    for profile, shown in (("user", False), ("all", True)):
        with temp_engine(jobs__workers=0, read__profile=profile) as engine:
            engine.add("I live in Berlin", scope=ANN)
            engine.add("Kim lives in Lisbon", scope=ANN)
            prefix = engine.context("", scope=ANN).prefix
            assert "Berlin" in prefix and ("Lisbon" in prefix) is shown
            assert any(
                "Lisbon" in hit.record.text
                for hit in engine.search("Where does Kim live?", scope=ANN).hits
            )
