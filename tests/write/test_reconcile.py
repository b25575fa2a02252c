"""The write flow as a whole: once is enough, nothing is lost, and everything has its reason."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Literal

import pytest
from tests.write.conftest import ALICE, Talk, digest_records

from engrams.core import EdgeType, Kind, Status, Turn
from engrams.errors import ConflictError, ModelError
from engrams.extract.echo_removal import fingerprint
from engrams.ports import EmbedderCard, RecordChange, RecordQuery, ScopeReach, WriteBatch
from engrams.testing import HashEmbedder


class Broken:
    """An embedder that always fails."""

    card = EmbedderCard("broken", 8)

    def embed(
        self, texts: Sequence[str], purpose: Literal["query", "document"] = "document"
    ) -> Any:
        raise ModelError("the embedder is down")


def everything(talk: Talk) -> list[tuple[object, ...]]:
    return [
        (r.id, r.status, r.text, r.strength, r.version, r.valid_to) for r in talk.facts(*Status)
    ]


@pytest.mark.parametrize(
    "text",
    [
        "I live in Paris",
        "I hate pizza",
        "No, it's Berlin, not Paris",
        "In 2015 I moved to Rome",
        "I no longer live in Paris",
        "I live in Paris, France",
    ],
)
def test_a_repeated_job_stores_nothing_twice(talk: Talk, text: str) -> None:
    """Learning from the same turns again changes nothing: no record, no strength, no edge."""
    talk.say("I live in Paris", "I love pizza")
    journaled = talk.put(text)
    talk.store.commit(digest_records(journaled.records, talk.deps).batch)
    before = everything(talk)
    again = digest_records(journaled.records, talk.deps)
    talk.store.commit(again.batch)
    assert everything(talk) == before


def test_a_repeat_after_later_changes_brings_nothing_back(talk: Talk) -> None:
    """A job that runs again long after does not revive what was superseded, forgotten or purged
    since.
    """
    first = talk.put("I live in Paris")
    talk.store.commit(digest_records(first.records, talk.deps).batch)
    talk.say("I moved to Berlin")
    assert digest_records(first.records, talk.deps).is_empty
    (home,) = talk.facts()
    talk.store.purge(ALICE, [home.id], talk.now)
    assert talk.journaled is not None
    assert digest_records(talk.journaled.records, talk.deps).is_empty


def test_derived_facts_name_their_source(talk: Talk) -> None:
    """A fact has a literal quote, an edge to the turn it came from, and an id that the same turn
    gives again.
    """
    journaled = talk.put("Well, I live in Paris, you know")
    digest = digest_records(journaled.records, talk.deps)
    talk.store.commit(digest.batch)
    (turn,) = journaled.records
    (fact,) = talk.facts()
    assert fact.evidence[0].quote == "I live in Paris"
    assert fact.evidence[0].source == turn.id
    assert fact.external_id.startswith(f"x:{turn.id}:")
    assert (fact.id, turn.id, EdgeType.DERIVED_FROM) in {
        (edge.source, edge.target, edge.type) for edge in talk.store.edges(ALICE, [fact.id])
    }
    assert digest.derived_by_source[turn.id] == digest.derived


def test_a_note_that_says_one_thing_goes_with_it(talk: Talk) -> None:
    """A note that is wholly one superseded statement is superseded with it;
    a turn, and a note that says more, stay.
    """
    talk.say("I live in Paris", kind=Kind.NOTE)
    talk.say("I love pizza")
    talk.say(
        "I work at Google. The office has a red door and a lovely view of the bridge.",
        kind=Kind.NOTE,
    )
    talk.say("I moved to Berlin", kind=Kind.NOTE)
    talk.say("I hate pizza")
    talk.say("I left Google")
    reach = ScopeReach(ALICE, (ALICE,), tree=True)
    states = {
        record.text: record
        for record in talk.store.find(
            RecordQuery(reach, (Kind.NOTE, Kind.TURN), tuple(Status), limit=50)
        ).records
    }
    paris = states["I live in Paris"]
    assert (paris.status, paris.valid_to is not None, bool(paris.superseded_by)) == (
        Status.SUPERSEDED,
        True,
        True,
    )
    assert states["I love pizza"].status is Status.ACTIVE
    assert all(
        record.status is Status.ACTIVE
        for text, record in states.items()
        if text != "I live in Paris"
    )


@pytest.mark.covers("S4.27")
def test_a_supersession_is_one_batch(talk: Talk) -> None:
    """The new fact and the end of the old one are in one batch, which asks that the old one be
    unchanged.
    """
    talk.say("I live in Paris")
    (old,) = talk.facts()
    digest = digest_records(talk.put("I moved to Berlin").records, talk.deps)
    (change,) = digest.batch.changes
    assert (change.id, change.expect, change.action) == (old.id, old.version, "supersede")
    assert len(digest.batch.puts) == 1
    assert digest.batch.reason


def test_held_candidates_are_stored_and_not_retrievable(talk: Talk) -> None:
    """A candidate that waits is a row with status candidate; saying it again makes it active."""
    digest = talk.say(
        "I am a failure at cooking, I am a failure", "My grandfather passed away in March"
    )
    assert {record.status for record in talk.facts(*Status)} <= {Status.CANDIDATE, Status.ACTIVE}
    assert all(derived.verdict == "hold" for derived in digest.derived if "failure" in derived.text)


@pytest.mark.covers("S4.15")
def test_repetition_makes_a_held_candidate_active(talk: Talk) -> None:
    """What was held becomes active when it is said again in another session;
    within its own it waits for the end.
    """
    talk.say("I have been enjoying tea")
    assert [record.status for record in talk.facts(*Status)] == [Status.CANDIDATE]
    talk.say("I have been enjoying tea")
    assert [(record.status, record.strength) for record in talk.facts(*Status)] == [
        (Status.CANDIDATE, 2)
    ]
    talk.say(Turn("I have been enjoying tea", session="s2"))
    assert [(record.status, record.strength) for record in talk.facts(*Status)] == [
        (Status.ACTIVE, 3)
    ]


@pytest.mark.covers("S4.5", "S4.7")
def test_a_loss_is_stored_at_once(talk: Talk) -> None:
    """What somebody lost must not be got wrong: it waits for no second telling."""
    talk.say("My father passed away last week.", "Remember that I live in Paris.")
    assert sorted(talk.texts()) == ["I live in Paris", "My father passed away last week"]
    assert talk.facts(Status.CANDIDATE) == []


@pytest.mark.covers("S4.9")
def test_what_nobody_reviewed_stays_held_however_often_it_is_said(talk: Talk) -> None:
    """With the policy left to a model that is not there, repeating a statement does not store it."""
    talk.settings = talk.settings.model_copy(
        update={"write": talk.settings.write.model_copy(update={"policy": "llm"})}
    )
    for session in ("s1", "s2", "s3"):
        talk.say(Turn("I live in Paris", session=session))
    assert [record.status for record in talk.facts(*Status)] == [Status.CANDIDATE]


@pytest.mark.parametrize(("turn", "reason"), [
    (Turn("hi there"), "small_talk"), (Turn("Connection error."), "noise"), (Turn("forget that"), "control"), (Turn("I live in Paris",
    role="assistant"), "role assistant"),
])  # fmt: skip
def test_what_is_not_learned_from_says_why(talk: Talk, turn: Turn, reason: str) -> None:
    """A skipped turn has a decision with the reason and its record; the journal keeps the turn."""
    journaled = talk.put(turn)
    digest = digest_records(journaled.records, talk.deps)
    assert [
        (decision.stage, decision.reason, decision.record) for decision in digest.decisions
    ] == [("gate", reason, journaled.records[0].id)]
    assert digest.is_empty
    assert talk.store.get(ALICE, [journaled.records[0].id])


@pytest.mark.covers("S0.5")
def test_an_explicit_note_skips_the_gate(talk: Talk) -> None:
    """A note is taken as a statement however short it is."""
    digest = talk.say("ok", kind=Kind.NOTE)
    assert all(decision.stage != "gate" for decision in digest.decisions)


def test_what_was_injected_is_not_learned_again(talk: Talk) -> None:
    """A turn that repeats an injected text teaches nothing."""
    text = "The user lives in Paris since May"
    (record,) = talk.put(text).records
    echoed = replace(record, meta={"echo": [fingerprint(text)]})
    assert digest_records([echoed], talk.deps).is_empty


def test_off_means_off(talk: Talk) -> None:
    """With extraction off, turns are journaled and nothing is derived."""
    talk.settings = talk.settings.model_copy(
        update={"write": talk.settings.write.model_copy(update={"extract": "off"})}
    )
    assert talk.say("I live in Paris").derived == ()


def test_asking_for_a_model_without_one_says_so(talk: Talk) -> None:
    """With extraction set to llm and no model, learning fails with a hint instead of doing
    something else.
    """
    talk.settings = talk.settings.model_copy(
        update={"write": talk.settings.write.model_copy(update={"extract": "llm"})}
    )
    with pytest.raises(ModelError) as caught:
        talk.say("I live in Paris")
    assert caught.value.hint
    assert not caught.value.retryable


@pytest.mark.covers("S4.59")
def test_a_failing_embedder_stores_the_fact_without_a_vector(talk: Talk) -> None:
    """The fact is stored and findable; a decision says that its vector is to come."""
    journaled = talk.put("I live in Paris")
    digest = digest_records(journaled.records, replace(talk.deps, embedder=Broken()))
    assert [put.vector for put in digest.batch.puts] == [None]
    assert ("embed", "later") in [
        (decision.stage, decision.verdict) for decision in digest.decisions
    ]


def test_facts_have_vectors_where_there_is_an_embedder(talk: Talk) -> None:
    """With an embedder, each new fact is stored with its vector."""
    journaled = talk.put("I live in Paris")
    embedder = HashEmbedder()
    digest = digest_records(journaled.records, replace(talk.deps, embedder=embedder))
    (put,) = digest.batch.puts
    assert put.vector is not None
    assert (put.vector.record, put.vector.model, put.vector.dimension) == (
        put.record.id,
        embedder.card.id,
        embedder.card.dimension,
    )


def test_nothing_in_nothing_out(talk: Talk) -> None:
    """No records, no batch."""
    assert digest_records((), talk.deps).is_empty


@pytest.mark.parametrize(
    "text",
    [
        "I " * 3000,
        "\u202e I live in Paris",
        "I live in 🏴‍☠️",
        "я живу в Париже",
        "'; drop table records; --",
        "{{7*7}} %s ${x}",
        "I live in " + "P" * 50_000,
    ],
)
def test_hostile_turns_are_learned_from_without_harm(talk: Talk, text: str) -> None:
    """Any text goes through the whole flow and commits."""
    talk.say(text)
    talk.say("I live in Paris")
    assert "Paris" in [record.object for record in talk.facts()]


def test_a_change_in_between_is_noticed(talk: Talk) -> None:
    """A batch made before somebody else changed the old fact is refused, and made anew it succeeds."""
    talk.say("I live in Paris")
    journaled = talk.put("I moved to Berlin")
    stale = digest_records(journaled.records, talk.deps)
    (old,) = talk.facts()
    talk.store.commit(
        WriteBatch(
            "user",
            "edit",
            talk.now,
            changes=(RecordChange(ALICE, old.id, {"importance": 0.9}, "edit"),),
        )
    )
    with pytest.raises(ConflictError):
        talk.store.commit(stale.batch)
    talk.store.commit(digest_records(journaled.records, talk.deps).batch)
    assert [record.object for record in talk.facts()] == ["Berlin"]
