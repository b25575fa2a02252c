"""Links and tags by hand."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import pytest

from engrams.core import EdgeType, Kind
from engrams.engine import MemoryEngine
from engrams.errors import InputError, NotFoundError, RefusedError
from engrams.testing import temp_engine

ANN = ("user", "ann")
BOB = ("user", "bob")


@pytest.fixture
def engine() -> Iterator[MemoryEngine]:
    with temp_engine(write__extract="off") as opened:
        yield opened


def note(engine: MemoryEngine, text: str, scope: tuple[str, ...] = ANN) -> str:
    return engine.add(text, scope=scope, kind=Kind.NOTE).id


def edges(engine: MemoryEngine, *ids: str) -> set[tuple[str, str, str, float, int]]:
    from engrams.core import Scope

    return {
        (edge.source, edge.target, edge.type.value, edge.weight, edge.count)
        for edge in engine.store.edges(Scope(ANN), ids)
    }


@pytest.mark.covers("S3.47")
def test_a_link_weighs_a_half_unless_told(engine: MemoryEngine) -> None:
    """The default weight is 0.5 and the default type relates_to;
    a second time sets the weight and counts.
    """
    tea = note(engine, "Ann drinks green tea.")
    pot = note(engine, "The pot is blue.")
    edge = engine.links.link(tea, pot, scope=ANN)
    assert (edge.source, edge.target, edge.type, edge.weight) == (
        tea,
        pot,
        EdgeType.RELATES_TO,
        0.5,
    )
    assert edges(engine, tea) == {(tea, pot, "relates_to", 0.5, 1)}
    engine.links.link(tea, pot, scope=ANN, weight=0.9)
    assert edges(engine, tea) == {(tea, pot, "relates_to", 0.9, 2)}
    assert engine.links.unlink(tea, pot, scope=ANN) is True
    assert engine.links.unlink(tea, pot, scope=ANN) is False
    assert edges(engine, tea, pot) == set()


@pytest.mark.covers("S3.47")
def test_what_cannot_be_linked(engine: MemoryEngine) -> None:
    """Unknown ids, another owner's, itself, a wrong type or weight are errors, and no link is made."""
    tea = note(engine, "Ann drinks green tea.")
    pot = note(engine, "The pot is blue.")
    bobs = note(engine, "Bob has a cat.", BOB)
    for unknown_id in ("nothing-like-this", bobs, "../x", "tag:x"):
        with pytest.raises(NotFoundError):
            engine.links.link(tea, unknown_id, scope=ANN)
    with pytest.raises(InputError, match="itself"):
        engine.links.link(tea, tea, scope=ANN)
    for wrong in (
        {"type": "loves"},
        {"weight": 1.5},
        {"weight": -0.1},
        {"weight": float("nan")},
        {"weight": True},
    ):
        with pytest.raises(InputError):
            engine.links.link(tea, pot, scope=ANN, **wrong)
    engine.purge(pot, scope=ANN)
    with pytest.raises(RefusedError):
        engine.links.link(tea, pot, scope=ANN)
    assert edges(engine, tea, pot) == set()


@pytest.mark.covers("S3.48")
def test_tags_are_counted(engine: MemoryEngine) -> None:
    """Tagging twice counts once, untagging takes one away, and a tag that nothing has is gone;
    so it is after an edit.
    """
    tea = note(engine, "Ann drinks green tea.")
    pot = note(engine, "The pot is blue.")
    assert engine.links.tag(tea, ["kitchen", " hot  drinks "], scope=ANN).tags == (
        "kitchen",
        "hot drinks",
    )
    engine.links.tag(tea, "kitchen", scope=ANN)
    engine.links.tag(pot, "kitchen", scope=ANN)
    assert engine.links.tags(ANN) == {"kitchen": 2, "hot drinks": 1}
    assert engine.links.untag(tea, ["hot drinks", "never had"], scope=ANN).tags == ("kitchen",)
    assert engine.links.tags(ANN) == {"kitchen": 2}
    engine.edit(tea, scope=ANN, fields={"tags": ["green"]})
    assert engine.links.tags(ANN) == {"green": 1, "kitchen": 1}
    assert {(source, target) for source, target, *_ in edges(engine, tea, pot)} == {
        (tea, "tag:green"),
        (pot, "tag:kitchen"),
    }
    assert [entry.action for entry in engine.history(tea, scope=ANN)] == [
        "add",
        "tag",
        "untag",
        "edit",
    ]


@pytest.mark.covers("S3.48")
def test_a_memory_that_goes_takes_its_links_along(engine: MemoryEngine) -> None:
    """Forgotten, its tags no longer count and nothing leads to it, until it is restored;
    purged, its links are gone.
    """
    tea = note(engine, "Ann drinks green tea.")
    pot = note(engine, "The pot is blue.")
    engine.links.tag(tea, "kitchen", scope=ANN)
    engine.links.tag(pot, "kitchen", scope=ANN)
    engine.links.link(pot, tea, scope=ANN)
    engine.forget(tea, scope=ANN)
    assert engine.links.tags(ANN) == {"kitchen": 1}
    assert engine.links.related(pot, scope=ANN) == ()
    engine.restore(tea, scope=ANN)
    assert engine.links.tags(ANN) == {"kitchen": 2}
    assert [related.record.id for related in engine.links.related(pot, scope=ANN)] == [tea]
    engine.purge(tea, scope=ANN)
    assert engine.links.tags(ANN) == {"kitchen": 1}
    assert edges(engine, tea) == set()


@pytest.mark.covers("S3.45")
def test_related_goes_two_steps(engine: MemoryEngine) -> None:
    """Links are followed both ways, two deep by default, nearest first;
    tags join memories; at most ten.
    """
    ids = [note(engine, f"Statement number {number} of a chain.") for number in range(5)]
    for first, second in pairwise(ids):
        engine.links.link(second, first, scope=ANN)
    assert [related.record.id for related in engine.links.related(ids[0], scope=ANN)] == ids[1:3]
    assert [
        related.record.id for related in engine.links.related(ids[0], scope=ANN, depth=5)
    ] == ids[1:]
    assert len(engine.links.related(ids[2], scope=ANN, depth=1, limit=1)) == 1
    tagged = [note(engine, f"Member {number} of a club.") for number in range(12)]
    for id in tagged:
        engine.links.tag(id, "club", scope=ANN)
    members = engine.links.related(tagged[0], scope=ANN)
    assert len(members) == 10 and {related.record.id for related in members} < set(tagged)
    for depth in (0, 6):
        with pytest.raises(InputError):
            engine.links.related(ids[0], scope=ANN, depth=depth)


@pytest.mark.covers("S3.45")
def test_recall_has_three_modes(engine: MemoryEngine) -> None:
    """recent gives the newest, semantic what the query means, cascade also what links lead to;
    ten by default.
    """
    rex = note(engine, "The dog Rex is a greyhound.")
    vet = note(engine, "Doctor Miller works in Lund on Fridays.")
    engine.links.link(rex, vet, scope=ANN)
    for number in range(12):
        note(engine, f"Invoice {number} was paid in full.")
    recall = engine.links.recall
    assert len(recall(scope=ANN)) == len(recall("dog greyhound", scope=ANN, mode="recent")) == 10
    assert recall(scope=ANN)[0].record.text == "Invoice 11 was paid in full."
    semantic = recall("dog greyhound", scope=ANN, mode="semantic", limit=1)
    assert [related.record.id for related in semantic] == [rex]
    cascade = [related.record.id for related in recall("dog greyhound", scope=ANN, limit=2)]
    assert (
        cascade[0] == rex
        and recall("dog greyhound", scope=ANN, mode="cascade", limit=2)[0].record.id == rex
    )
    assert vet in [related.record.id for related in recall("dog greyhound", scope=ANN)]
    assert recall("x", scope=ANN, limit=0) == ()
    with pytest.raises(InputError, match="mode"):
        recall("x", scope=ANN, mode="psychic")  # type: ignore[arg-type]


def test_a_scope_sees_itself_and_those_above(engine: MemoryEngine) -> None:
    """What a link leads to in another project is not shown in this one;
    two projects are never linked with each other.
    """
    project_scope = (*ANN, "project", "p")
    other_scope = (*ANN, "project", "q")
    first = note(engine, "Plan of p.", project_scope)
    two = note(engine, "Plan of q.", other_scope)
    top = note(engine, "Plan of all.")
    for target in (first, two):
        engine.links.link(top, target, scope=ANN)
    with pytest.raises(RefusedError, match="two projects"):
        engine.links.link(first, two, scope=ANN)
    assert [related.record.id for related in engine.links.related(first, scope=project_scope)] == [
        top
    ]
    assert len(engine.links.related(first, scope=ANN)) == 2


@pytest.mark.parametrize("tag", ["", "  ", "\0", "x" * 201, [], ["ok", ""], [5]])
def test_what_is_no_tag(engine: MemoryEngine, tag: object) -> None:
    """Nothing visible, too long, or no text at all is refused."""
    tea = note(engine, "Ann drinks green tea.")
    with pytest.raises(InputError):
        engine.links.tag(tea, tag, scope=ANN)  # type: ignore[arg-type]
    assert engine.get(tea, scope=ANN).tags == ()


def test_odd_tags(engine: MemoryEngine) -> None:
    """Other scripts, separators, colons and lone surrogates are tags like others."""
    tea = note(engine, "Ann drinks green tea.")
    odd = ["東京", "a/b:c", "مرحبا", "😀", "a\ud800b", "'; --"]
    engine.links.tag(tea, odd, scope=ANN)
    assert sorted(engine.links.tags(ANN)) == sorted(
        ["東京", "a/b:c", "مرحبا", "😀", "a?b", "'; --"]
    )


@pytest.mark.covers("S3.9", "S3.46")
def test_a_forgotten_memory_leads_to_nothing(engine: MemoryEngine) -> None:
    """What only its links reached is related no more, and is again when it is restored."""
    tea = note(engine, "Ann drinks green tea.")
    pot = note(engine, "The pot is blue.")
    shelf = note(engine, "The shelf is made of oak.")
    engine.links.link(tea, pot, scope=ANN, weight=0.9)
    engine.links.link(pot, shelf, scope=ANN, weight=0.9)
    for change, expected in ((None, [pot, shelf]), ("forget", []), ("restore", [pot, shelf])):
        if change:
            getattr(engine, change)(pot, scope=ANN)
        related = engine.links.related(tea, scope=ANN)
        assert [memory.record.id for memory in related] == expected, change
