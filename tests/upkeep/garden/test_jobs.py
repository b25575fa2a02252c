"""What each job of a cycle does, and that it can be taken back."""

from __future__ import annotations

import os
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest
from tests.upkeep.garden.conftest import ANN, BOB, Open, put

from engrams import MemoryEngine
from engrams.core import Edge, EdgeType, Evidence, Kind, Provenance, Record, Scope, Status
from engrams.errors import InputError, NotFoundError
from engrams.ports import ScopeReach, WriteBatch
from engrams.testing import SettableClock


def got(engine: MemoryEngine, id: str, scope: Scope = ANN) -> Record:
    """The memory as it is."""
    return engine.get(id, scope=scope)


def edges(
    engine: MemoryEngine, *ids: str, type: EdgeType = EdgeType.RELATES_TO
) -> list[tuple[str, str, float, int]]:
    """Links at any of these."""
    return sorted(
        (edge.source, edge.target, edge.weight, edge.count)
        for edge in engine.store.edges(ANN, ids, (type,))
    )


def whole(engine: MemoryEngine, scope: Scope = ANN) -> dict[str, Record]:
    """Everything of the owner's, without what only counts changes."""
    records = engine.list(scope=scope, statuses=tuple(Status), limit=1000).records
    return {record.id: replace(record, version=0) for record in records}


def link(
    engine: MemoryEngine, source: str, target: str, type: EdgeType, weight: float, count: int = 1
) -> None:
    """A link as if it had been made before."""
    engine.store.commit(
        WriteBatch(
            "test",
            "linked",
            engine.now(),
            edges=(
                Edge(
                    owner=ANN, source=source, target=target, type=type, weight=weight, count=count
                ),
            ),
        )
    )


def test_a_doubt_stays_with_what_is_merged(engine: MemoryEngine) -> None:
    """What a later statement may have ended is in doubt also under the words that remain."""
    doubted = put(engine, "Ann likes green tea very much", predicate="likes", object="green tea")
    kept = put(
        engine,
        "Ann likes green tea very very much",
        predicate="likes",
        object="green tea",
        strength=3,
    )
    news = put(engine, "Ann drinks coffee instead", predicate="notes")
    link(engine, news, doubted, EdgeType.MAY_OUTDATE, 0.6)
    engine.garden.run(ANN, ["merge"])
    assert edges(engine, kept, type=EdgeType.MAY_OUTDATE) == [(news, kept, 0.6, 1)]


@pytest.mark.covers("S3.55")
def test_what_says_the_same_becomes_one_and_keeps_everything(engine: MemoryEngine) -> None:
    """Above 0.95 the stronger one stays:
    strengths add up, links, tags and evidence come along, and the other can be read again.
    """
    weak = put(
        engine,
        "Ann likes green tea very much",
        predicate="likes",
        object="green tea",
        tags=("drinks",),
        confidence=0.9,
    )
    strong = put(
        engine,
        "Ann likes green tea very very much",
        predicate="likes",
        object="green tea",
        strength=3,
        confidence=0.7,
    )
    second = put(engine, "The bridge was closed", predicate="notes")
    far = put(engine, "Ann likes green tea very much", BOB, predicate="likes", object="green tea")
    link(engine, weak, second, EdgeType.RELATES_TO, 0.8, 4)
    noted = put(
        engine,
        "Ann likes green tea very very much",
        predicate="likes",
        object="green tea",
        strength=9,
        role="assistant",
    )
    report = engine.garden.run(ANN, ["merge"])
    assert got(engine, noted).status is Status.ACTIVE, "an assistant's note is not the user's words"
    assert (report.state, report.modified, report.compactions, dict(report.jobs)) == (
        "complete",
        2,
        1,
        {"merge": 1},
    )
    survivor = got(engine, strong)
    merged = got(engine, weak)
    assert (survivor.strength, survivor.confidence, survivor.tags, survivor.text) == (
        4,
        0.9,
        ("drinks",),
        "Ann likes green tea very very much",
    )
    assert {quote.source for quote in survivor.evidence} == {f"turn-{weak}", f"turn-{strong}"}
    assert (merged.status, merged.superseded_by) == (Status.SUPERSEDED, strong)
    assert edges(engine, strong) == [(*sorted((strong, second)), 0.8, 4)]
    assert edges(engine, strong, type=EdgeType.SUPERSEDES) == [(strong, weak, 1.0, 1)]
    assert got(engine, far, BOB).status is Status.ACTIVE
    assert [
        hit.record.id
        for hit in engine.search("What tea does Ann like?", scope=ANN).hits
        if "tea" in hit.record.text
    ] == [strong]
    undone = engine.garden.undo(ANN)
    assert set(undone.restored) == {weak, strong} and not undone.left
    assert (got(engine, weak).status, got(engine, strong).strength, got(engine, strong).tags) == (
        Status.ACTIVE,
        3,
        (),
    )
    assert edges(engine, strong) == [] and edges(engine, weak) == [(weak, second, 0.8, 4)]


@pytest.mark.covers("S3.55")
def test_very_many_of_the_same_are_merged_cycle_by_cycle(opened: Open) -> None:
    """No more in one cycle than is set, each with some of its nearest only;
    in the end one is left, said as often as all.
    """
    engine = opened(garden__max_changes=30)
    for number in range(80):
        put(
            engine,
            "Ann waters the plants",
            predicate="waters",
            object="plants",
            session=f"s{number}",
        )
    merged = []
    while engine.garden.plan(ANN, ["merge"]).steps:
        merged.append(engine.garden.run(ANN, ["merge"]).compactions)
    assert max(merged) <= 30 and sum(merged) == 79
    (remaining,) = engine.list(scope=ANN).records
    assert remaining.strength == 80


@pytest.mark.covers("S3.55")
@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("Ann pays 40 euros for the gym", "Ann pays 45 euros for the gym"),
        ("Ann does eat fish", "Ann does not eat fish"),
        ("Ann met Kim in Ghent last week", "Ann met Lou in Ghent last week"),
        ("The meeting is on Monday morning", "The meeting is on Friday morning"),
    ],
)
def test_a_number_a_name_a_day_or_a_not_keeps_them_apart(
    engine: MemoryEngine, first: str, second: str
) -> None:
    """However near their meaning is."""
    put(engine, first)
    put(engine, second)
    assert engine.garden.plan(ANN, ["merge"]).steps == ()


def test_an_absorbed_memory_goes_with_the_one_it_went_into(engine: MemoryEngine) -> None:
    """A purge of the one erases the other, for it says the same;
    forgetting and restoring take it along.
    """
    first = put(
        engine, "Ann lives near the old harbour", predicate="lives_near", object="old harbour"
    )
    second = put(
        engine,
        "Ann lives near the old harbour.",
        predicate="lives_near",
        object="the old harbour",
        strength=2,
    )
    engine.garden.run(ANN, ["merge"])
    engine.forget(second, scope=ANN)
    assert {got(engine, id).status for id in (first, second)} == {Status.FORGOTTEN}
    engine.restore(second, scope=ANN)
    assert (got(engine, first).status, got(engine, second).status) == (
        Status.SUPERSEDED,
        Status.ACTIVE,
    )
    erased = engine.purge(second, scope=ANN)
    assert not any(erased.remaining.values())
    assert "harbour" not in "".join(
        record.text for record in engine.list(scope=ANN, statuses=tuple(Status)).records
    )


@pytest.mark.covers("S3.56")
def test_what_nobody_believes_and_nobody_repeated_is_put_away(
    engine: MemoryEngine, clock: SettableClock
) -> None:
    """Below 0.05 and said once, both, and a day old; nothing is erased."""
    removed = put(engine, "Ann might like jazz", confidence=0.049)
    twice = put(engine, "Ann might like opera", confidence=0.01, strength=2)
    sure = put(engine, "Ann likes folk", confidence=0.05)
    clock.forward(hours=23)
    assert engine.garden.plan(ANN, ["prune"]).steps == ()
    clock.forward(hours=1)
    young = put(engine, "Ann might like rock", confidence=0.01)
    engine.garden.run(ANN, ["prune"])
    assert [got(engine, id).status for id in (removed, twice, sure, young)] == [
        Status.ARCHIVED,
        *[Status.ACTIVE] * 3,
    ]
    assert got(engine, removed).text == "Ann might like jazz"
    engine.garden.undo(ANN)
    assert got(engine, removed).status is Status.ACTIVE


@pytest.mark.covers("S3.56")
def test_corrections_and_what_a_person_said_come_last(opened: Open, clock: SettableClock) -> None:
    """With room for two of four, those that were inferred go, however little the others are
    believed.
    """
    engine = opened(garden__max_changes=2)
    correction = put(
        engine,
        "It is Kim, not Tim",
        kind=Kind.CORRECTION,
        confidence=0.0,
        provenance=Provenance("user", "rules"),
    )
    stated = put(engine, "Ann is tall", confidence=0.0, provenance=Provenance("user"))
    inferred = [
        put(engine, f"Ann owns {pet}", confidence=0.04, provenance=Provenance("user", "rules"))
        for pet in ("a cat", "a car")
    ]
    clock.forward(days=2)
    assert [step.ids[0] for step in engine.garden.plan(ANN, ["prune"]).steps] == inferred
    engine.garden.run(ANN, ["prune"])
    assert {got(engine, id).status for id in (correction, stated)} == {Status.ACTIVE}


@pytest.mark.covers("S3.56")
def test_age_counts_where_it_is_set_to(opened: Open, clock: SettableClock) -> None:
    """What was inferred is hardly believed after a hundred days; what was stated is, and by itself
    age puts nothing away.
    """
    put(opened(), "Ann is busy", meta={"hearsay": True})
    fading = opened(garden__decay=True)
    inferred = put(fading, "Ann is busy", meta={"hearsay": True})
    put(fading, "Ann is tall", provenance=Provenance("user"))
    put(fading, "Ann owns a cat", provenance=Provenance("user", "rules"))
    clock.forward(days=100)
    assert [step.ids for step in fading.garden.plan(ANN, ["prune"]).steps] == [(inferred,)]
    assert fading.garden.plan(ANN, ["merge"]).steps == ()


@pytest.mark.covers("S3.57")
def test_conflicts_wait_for_somebody(engine: MemoryEngine, clock: SettableClock) -> None:
    """Two values of one slot, or two that are marked, are shown and left as they are, until
    somebody decides; either way.
    """
    first = put(engine, "Ann lives in Ghent", predicate="lives_in", object="Ghent")
    clock.forward(days=1)
    second = put(engine, "Ann lives in Bruges", predicate="lives_in", object="Bruges")
    loud = put(engine, "The dog barks all night")
    quiet = put(engine, "The dog never barks")
    link(engine, loud, quiet, EdgeType.CONTRADICTS, 1.0)
    report = engine.garden.run(ANN, ["conflicts"])
    assert (report.conflicts, report.modified) == (2, 0)
    keeps = {
        (conflict.earlier.id, conflict.later.id): conflict.keep
        for conflict in engine.garden.conflicts(ANN)
    }
    assert keeps == {(first, second): second, (loud, quiet): quiet}
    assert engine.garden.decide(loud, quiet, scope=ANN) is None
    dropped = engine.garden.decide(first, second, scope=ANN, keep=first)
    assert dropped is not None and (dropped.id, dropped.status, dropped.superseded_by) == (
        second,
        Status.SUPERSEDED,
        first,
    )
    assert engine.garden.conflicts(ANN) == () and {
        got(engine, id).status for id in (first, loud, quiet)
    } == {Status.ACTIVE}
    engine.garden.undo(ANN)
    assert got(engine, second).status is Status.ACTIVE
    with pytest.raises(InputError):
        engine.garden.decide(first, second, scope=ANN, keep=loud)
    with pytest.raises(NotFoundError):
        engine.garden.decide(first, "nobody", scope=ANN)


@pytest.mark.covers("S3.57")
def test_conflicts_are_settled_where_that_is_set(opened: Open, clock: SettableClock) -> None:
    """The later one holds from when it was said, and a read of the past still finds the other;
    what is trusted less does not win.
    """
    engine = opened(garden__conflicts="auto")
    first = put(engine, "Ann lives in Ghent", predicate="lives_in", object="Ghent")
    trusted = put(
        engine, "Kim lives in Rome", subject="Kim", predicate="lives_in", object="Rome", trust=1.0
    )
    between = clock() + timedelta(hours=1)
    clock.forward(days=1)
    second = put(engine, "Ann lives in Bruges", predicate="lives_in", object="Bruges")
    spoken_id = put(
        engine, "Kim lives in Pisa", subject="Kim", predicate="lives_in", object="Pisa", trust=0.3
    )
    clock.forward(days=1)
    engine.garden.run(ANN, ["conflicts"])
    assert [got(engine, id).status for id in (first, second)] == [Status.SUPERSEDED, Status.ACTIVE]
    assert [got(engine, id).status for id in (trusted, spoken_id)] == [
        Status.ACTIVE,
        Status.SUPERSEDED,
    ]
    before = engine.search("Where does Ann live?", scope=ANN, as_of=between).hits
    assert first in {hit.record.id for hit in before} and second not in {
        hit.record.id for hit in before
    }


@pytest.mark.covers("S3.59")
def test_a_fact_whose_file_is_gone_or_changed_is_doubted(
    opened: Open, clock: SettableClock, tmp_path: Path
) -> None:
    """Its confidence is lowered, once for each change, and it stays;
    files outside the folder are never looked at.
    """
    for name in ("kept.py", "edited.py", "lost.py"):
        (tmp_path / name).write_text("x")
        os.utime(tmp_path / name, (clock().timestamp() - 60,) * 2)
    engine = opened(garden__file_root=str(tmp_path))
    unchanged, edited, lost = (
        put(engine, f"{name} holds x", provenance=Provenance("tool", files=(name,)))
        for name in ("kept.py", "edited.py", "lost.py")
    )
    outside = put(
        engine,
        "secrets",
        provenance=Provenance(
            "tool", files=("/etc/passwd", "../gone", "/nowhere", "a\0b", "x" * 5000, ".")
        ),
    )
    clock.forward(hours=1)
    os.utime(tmp_path / "edited.py", (clock().timestamp(),) * 2)
    (tmp_path / "lost.py").unlink()
    engine.garden.run(ANN, ["verify"])
    assert [got(engine, id).confidence for id in (unchanged, edited, lost, outside)] == [
        1.0,
        0.5,
        0.5,
        1.0,
    ]
    assert {got(engine, id).status for id in (edited, lost)} == {Status.ACTIVE}
    assert got(engine, lost).meta["stale"]["files"] == {"lost.py": "gone"}
    assert engine.garden.plan(ANN, ["verify"]).steps == ()
    os.utime(tmp_path / "edited.py", (clock().timestamp() + 60,) * 2)
    engine.garden.run(ANN, ["verify"])
    assert [got(engine, id).confidence for id in (edited, lost)] == [0.25, 0.5]


@pytest.mark.covers("S3.61")
def test_sessions_are_linked_and_links_grow_with_use(engine: MemoryEngine) -> None:
    """What is near and of different sessions is linked;
    what searches find together is linked more and more; each job by its name.
    """
    first = put(engine, "Ann trains for the marathon in Ghent", session="s1")
    two = put(engine, "Ann runs the Ghent marathon in May", session="s2")
    same = put(engine, "Ann bought shoes for the marathon in Ghent", session="s1")
    assert engine.garden.run(ANN, ["links"]).jobs["links"] >= 1
    assert (*sorted((first, two)), 0.6, 1) in edges(engine, first, two)
    assert not [edge for edge in edges(engine, first) if same in edge[:2]]
    link(engine, *sorted((first, same)), EdgeType.CO_OCCURS, 3.0)
    link(engine, *sorted((first, two)), EdgeType.CO_OCCURS, 6.0)
    assert engine.garden.run(ANN, ["strengthen"]).jobs["strengthen"] == 2
    weights = {pair[:2]: pair[2] for pair in edges(engine, first)}
    assert weights == {tuple(sorted((first, two))): 0.7, tuple(sorted((first, same))): 0.6}
    assert engine.garden.run(ANN, ["strengthen"]).jobs["strengthen"] == 0
    engine.garden.undo(ANN)
    assert {pair[:2]: pair[2:] for pair in edges(engine, first)} == {
        tuple(sorted((first, two))): (0.6, 1)
    }


@pytest.mark.covers("S3.61")
def test_tags_that_mean_the_same_become_one_and_orphans_go(engine: MemoryEngine) -> None:
    """The spelling most used stays;
    a link to a tag that a memory does not have goes; undone, all is as before.
    """
    tagged = [
        put(engine, f"Ann read {number} novels", tags=tags)
        for number, tags in enumerate((("book",), ("book",), ("Books", "fun")))
    ]
    for id in tagged:
        for tag in got(engine, id).tags:
            link(engine, id, f"tag:{tag}", EdgeType.HAS_TAG, 1.0)
    link(engine, tagged[0], "tag:gone", EdgeType.HAS_TAG, 1.0)
    before = whole(engine), edges(engine, *tagged, type=EdgeType.HAS_TAG)
    engine.garden.run(ANN, ["tags"])
    assert engine.links.tags(ANN) == {"book": 3, "fun": 1}
    assert {edge[1] for edge in edges(engine, *tagged, type=EdgeType.HAS_TAG)} == {
        "tag:book",
        "tag:fun",
    }
    engine.garden.undo(ANN)
    assert (whole(engine), edges(engine, *tagged, type=EdgeType.HAS_TAG)) == before


@pytest.mark.covers("S3.61")
def test_clusters_are_merged_where_there_are_topics(opened: Open) -> None:
    """The job `topics` groups what is new and makes like topics one;
    without topics it does nothing.
    """
    engine = opened(topics__enabled=True, topics__names="text", topics__refresh_searches=0)
    for number in range(4):
        put(engine, f"Ann waters the roses in garden {number}")
    assert engine.garden.run(ANN, ["topics"]).jobs["topics"] >= 4
    assert engine.store.topics(ScopeReach(ANN, (ANN,), tree=True))
    assert opened().garden.run(ANN, ["topics"]).jobs["topics"] == 0


@pytest.mark.covers("S3.63")
def test_a_plan_changes_nothing_and_says_what_the_cycle_then_does(
    engine: MemoryEngine, clock: SettableClock
) -> None:
    """The dry run names every change; the cycle makes those; its undo leaves memory as it was."""
    put(engine, "Ann plays the cello every day", predicate="plays", object="cello")
    put(engine, "Ann plays the cello every day!", predicate="plays", object="the cello")
    put(engine, "Ann may like tuna", confidence=0.01)
    put(engine, "Ann was a nurse", tags=("jobs",))
    put(engine, "Ann is a baker", tags=("job",))
    put(engine, "Ann was a cook", tags=("job",))
    clock.forward(days=2)
    before = whole(engine)
    plan = engine.garden.plan(ANN)
    assert whole(engine) == before and engine.garden.reports(ANN) == ()
    assert {step.verb for step in plan.steps} >= {"merge", "archive", "tag"}
    report = engine.garden.run(ANN)
    assert report.modified == len({change.id for step in plan.steps for change in step.changes})
    changed = {id for id, record in whole(engine).items() if record != before[id]}
    assert changed == {change.id for step in plan.steps for change in step.changes}
    undone = engine.garden.undo(ANN)
    assert set(undone.restored) == changed and whole(engine) == before
    with pytest.raises(NotFoundError):
        engine.garden.undo(ANN)


@pytest.mark.covers("S3.63")
def test_what_was_changed_since_is_left_and_named(engine: MemoryEngine) -> None:
    """An undo never takes back somebody's own edit."""
    first = put(engine, "Ann sings in the choir", predicate="sings", object="choir")
    second = put(engine, "Ann sings in the choir!", predicate="sings", object="choir", strength=2)
    engine.garden.run(ANN, ["merge"])
    engine.edit(second, scope=ANN, text="Ann sings in the big choir")
    undone = engine.garden.undo(ANN)
    assert (undone.restored, undone.left) == ((first,), (second,))
    assert (
        got(engine, second).text == "Ann sings in the big choir"
        and got(engine, first).status is Status.ACTIVE
    )


def test_a_purge_leaves_nothing_to_undo_to(engine: MemoryEngine) -> None:
    """What was purged since stays purged;
    the quote it lent is gone from the one that took it in.
    """
    first = put(
        engine,
        "Ann keeps bees",
        predicate="keeps",
        object="bees",
        evidence=(Evidence("I keep bees", "t1"),),
    )
    second = put(
        engine,
        "Ann keeps bees!",
        predicate="keeps",
        object="bees",
        strength=2,
        evidence=(Evidence("my bees", "t2"),),
    )
    engine.garden.run(ANN, ["merge"])
    engine.purge(first, scope=ANN)
    undone = engine.garden.undo(ANN)
    assert undone.left == (first,) and got(engine, first).status is Status.PURGED
    assert got(engine, second).status is Status.ACTIVE


def test_another_owners_memory_is_never_touched(engine: MemoryEngine, clock: SettableClock) -> None:
    """Neither by a cycle nor by an undo; a scope below the owner's stands for the owner."""
    mine = put(engine, "Ann may like jazz", confidence=0.01)
    theirs = put(engine, "Bob may like jazz", BOB, confidence=0.01)
    clock.forward(days=2)
    engine.garden.run(("user", "ann", "project", "x"), ["prune"])
    assert (got(engine, mine).status, got(engine, theirs, BOB).status) == (
        Status.ARCHIVED,
        Status.ACTIVE,
    )
    with pytest.raises(NotFoundError):
        engine.garden.undo(BOB)


def test_an_unknown_job_is_named(engine: MemoryEngine) -> None:
    """With those there are."""
    with pytest.raises(InputError, match="weed"):
        engine.garden.run(ANN, ["weed"])
