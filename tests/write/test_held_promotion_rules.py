"""Held candidates: which are one, and what bears them out."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

import numpy as np
import pytest

from engrams.core import LAYER_OF, Evidence, Kind, Record, Scope, Status
from engrams.write.held_promotion_rules import (
    HeldCandidateCluster,
    PromotionEvidence,
    cluster_held,
    find_matching,
    is_same_statement,
    merge_cluster,
    promotion_reason,
)

SAID = datetime(2026, 1, 5, tzinfo=UTC)


def held(
    name: str, object: str, kind: Kind = Kind.PREFERENCE, predicate: str = "likes", **fields: object
) -> Record:
    made = Record(
        id=name,
        scope=Scope(("user", "alice")),
        kind=kind,
        text=f"The user {predicate} {object}",
        recorded_at=SAID,
        layer=LAYER_OF[kind],
        status=Status.CANDIDATE,
        subject="user",
        predicate=predicate,
        object=object,
        evidence=(Evidence(f"quote {name}", f"turn-{name}"),),
        meta={"hold": "commit_at_session_end"},
        session="s",
    )
    return replace(made, **fields)  # type: ignore[arg-type]


def turn(name: str) -> Record:
    return Record(
        id=f"turn-{name}",
        scope=Scope(("user", "alice")),
        kind=Kind.TURN,
        text=f"Well, quote {name}, you know",
        recorded_at=SAID,
    )


@pytest.mark.covers("S4.17")
@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        (held("a", "green tea"), held("b", "Green  Tea"), True),
        (held("a", "green tea"), held("b", "green tea", predicate="drinks"), True),
        (
            held("a", "long walks by the sea"),
            held("b", "walks by the sea", predicate="enjoys"),
            True,
        ),
        (
            held("a", "green tea with fresh mint and a lot of honey"),
            held("b", "mint honey sweets and green lemonade"),
            True,
        ),
        (held("a", "green tea"), held("b", "black tea"), False),
        (held("a", "tea"), held("b", "jazz"), False),
        (held("a", "tea"), held("b", "tea", meta={"polarity": False}), False),
        (held("a", "tea"), held("b", "tea", subject="user's sister"), False),
    ],
)
def test_what_says_the_same_is_one(one: Record, other: Record, same: bool) -> None:
    """Equal keys, objects that overlap by half or share three words;
    not what is denied, nor what is about another.
    """
    assert is_same_statement(one, other, {}) is is_same_statement(other, one, {}) is same
    assert len(cluster_held([one, other])) == (1 if same else 2)


@pytest.mark.covers("S4.17")
def test_nearness_in_meaning_needs_the_same_object() -> None:
    """With equal vectors, equal objects are one statement and different ones stay apart."""
    row = np.array([1, 0], np.float32)
    vectors = dict.fromkeys("abc", row)
    a = held("a", "nuts", predicate="allergic_to")
    b = held("b", "nuts", predicate="avoids")
    c = held("c", "shellfish", predicate="allergic_to")
    assert is_same_statement(a, b, vectors)
    assert not is_same_statement(a, c, vectors)


@pytest.mark.covers("S4.17")
def test_a_rule_speaks_for_what_it_overlaps() -> None:
    """Where a rule and a fact say one thing, the rule is kept."""
    fact = held("a", "answers in French")
    rule = held("b", "answer in French", Kind.RULE, "always", subject="assistant")
    (cluster,) = cluster_held([fact, rule])
    assert cluster.lead is rule and cluster.is_procedural


@pytest.mark.covers("S4.14", "S4.15")
@pytest.mark.parametrize(
    ("strength", "hold", "account", "earlier", "promoted"),
    [
        (2, "commit_at_session_end", (), False, True), (1, "commit_at_session_end", ("tea", "They drank tea."), False, True),
        (1, "commit_at_session_end", ("They drank tea.",), False, False), (1, "commit_at_session_end", (), True, True),
        (1, "commit_at_session_end", (), False, False), (2, "require_repetition", (), False, True),
        (1, "require_repetition", ("tea", "They drank tea."), False, False), (1, "require_repetition", (), True, True),
    ],
)  # fmt: skip
def test_what_bears_a_statement_out(
    strength: int, hold: str, account: tuple[str, ...], earlier: bool, promoted: bool
) -> None:
    """Said twice;
    or once, and twice in the account, or in an earlier session; repetition asks for more than an
    account.
    """
    one = held("a", "tea", strength=strength, meta={"hold": hold})
    before = (held("z", "tea", session="before"),) if earlier else ()
    assert (
        bool(
            promotion_reason(
                HeldCandidateCluster((one,)), PromotionEvidence((turn("a"),), account, before)
            )
        )
        is promoted
    )


@pytest.mark.covers("S4.14")
def test_a_statement_nobody_made_is_not_borne_out_by_an_account() -> None:
    """Without a turn in which it was said, the account alone promotes nothing."""
    assert not promotion_reason(
        HeldCandidateCluster((held("a", "tea"),)),
        PromotionEvidence((), ("tea", "They drank tea."), ()),
    )


@pytest.mark.covers("S4.16")
@pytest.mark.parametrize(("times", "confidence"), [(1, 0.0), (2, 0.6), (3, 0.9), (5, 0.9)])
def test_a_rule_must_have_been_given_twice(times: int, confidence: float) -> None:
    """Once is not enough whatever bears it out;
    from three times on it is sure; three quotes are kept at most.
    """
    members = tuple(
        held(f"r{at}", "answer in French", Kind.RULE, "always", confidence=0.7)
        for at in range(times)
    )
    (cluster,) = cluster_held(members)
    bearing = PromotionEvidence(
        tuple(turn(f"r{at}") for at in range(times)),
        ("answer in French", "They answer in French."),
        (held("z", "answer in French"),),
    )
    assert bool(promotion_reason(cluster, bearing)) is (times >= 2)
    if times >= 2:
        rule = merge_cluster(cluster)
        assert (rule.confidence, rule.strength, len(rule.evidence)) == (
            confidence,
            times,
            min(times, 3),
        )


@pytest.mark.covers("S4.61")
def test_what_matches_a_memory_is_found() -> None:
    """What was taken from a record, or says the same, goes with it; the rest stays."""
    same = held("b", "tea")
    other = held("c", "jazz")
    taken = held("d", "chess", evidence=(Evidence("x", "a"),))
    assert find_matching(held("a", "tea"), [same, other, taken]) == (same, taken)
