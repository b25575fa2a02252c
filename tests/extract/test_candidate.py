"""Candidates: whose they are, and which are the same."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

import pytest
from tests.write.conftest import ALICE

from engrams.core import Evidence
from engrams.extract.candidate import CandidateStatement, canonical_subject
from engrams.extract.predicate_slots import canonical_predicate, is_single
from engrams.write.change_set import derived_id

MADE = CandidateStatement(
    "Alice lives in Paris",
    evidence=(Evidence("I live in Paris", "01h0qjasc0959jdbyfd901v7sz"),),
    said_at=datetime(2023, 5, 8, tzinfo=UTC),
)


@pytest.mark.covers("S4.11")
@pytest.mark.parametrize(("given", "subject"), [
    ("user", "user"), ("The User", "user"), ("I", "user"), ("alice", "user"), ("ALICE", "user"), ("Alice's sister", "user's sister"),
    ("user’s dog", "user's dog"), ("Bob", "Bob"), ("Bob's sister", "Bob's sister"), ("  Anna   Lee ", "Anna Lee"),
])  # fmt: skip
def test_the_owner_is_the_user_however_named(given: str, subject: str) -> None:
    """The owner's own name, "I" and "the user" are one subject; other people stay who they are."""
    assert canonical_subject(given, ALICE) == subject


def test_the_same_statement_of_the_same_source_is_the_same() -> None:
    """Key and id depend on words and sources, not on confidence, and rewording keeps them where the
    origin is kept.
    """
    assert replace(MADE, confidence=0.1).key == MADE.key
    assert replace(MADE, text="alice LIVES in paris").key == MADE.key
    assert replace(MADE, text="Alice lives in Rome").key != MADE.key
    assert replace(MADE, text="Alice lives in Rome", origin=MADE.text).key == MADE.key
    other = replace(MADE, evidence=(Evidence("I live in Paris", "01h0qjasc0959jdbyfd901v7ta"),))
    assert derived_id(other) != derived_id(MADE)
    assert derived_id(MADE) == derived_id(replace(MADE, importance=0.9))
    assert len(derived_id(MADE)) == 26
    assert derived_id(MADE)[:10] == MADE.sources[0][:10]


@pytest.mark.parametrize(("predicate", "subject", "value", "single"), [
    ("lives_in", "user", "", True), ("resides in", "user", "", True), ("favourite colour", "user", "", True), ("likes", "user", "",
    False), ("speaks", "user", "", False),
    ("is", "project deadline", "3 June", True), ("is", "server", "slow", False), ("is", "server", "db-7", True), ("is", "cat", "black",
    False), ("visited", "user", "Rome", False),
])  # fmt: skip
def test_which_slots_hold_one_value(predicate: str, subject: str, value: str, single: bool) -> None:
    """A home, a job, a favourite and a deadline are one at a time;
    tastes, languages and journeys are many.
    """
    assert is_single(predicate, subject, value) is single


def test_predicates_have_one_spelling() -> None:
    """Words for one meaning are one predicate."""
    assert (
        canonical_predicate("Works For")
        == canonical_predicate("works_at")
        == canonical_predicate("employer")
    )
    assert canonical_predicate("favourite colour") == "favorite_color"
    assert canonical_predicate("hates") == canonical_predicate("adores") == "likes"
    assert canonical_predicate("breeds_alpacas") == "breeds_alpacas"
