"""Links from what was found lead to what belongs with it."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from engrams.core import Edge, EdgeType, Scope, Status
from engrams.ports import RecordChange, WriteBatch
from engrams.read.link_expansion import FACTORS, LinkBonus, LinkCache, cascade_scores, link_bonuses
from engrams.settings import LinkExpansionSettings, load
from engrams.testing import temp_engine

OWNER = Scope(("user", "ann"))


class Links:
    """Edges in a list, asked for as the port is."""

    def __init__(self, *edges: tuple[str, str, EdgeType, float]) -> None:
        self._edges = [Edge(OWNER, *edge) for edge in edges]

    def edges(
        self, owner: Scope, nodes: Sequence[str], types: Sequence[EdgeType] = ()
    ) -> tuple[Edge, ...]:
        assert owner == OWNER
        return tuple(edge for edge in self._edges if edge.source in nodes or edge.target in nodes)

    def near(self, nodes: Sequence[str]) -> tuple[Edge, ...]:
        return self.edges(OWNER, nodes)


@pytest.mark.covers("S3.5")
def test_each_link_keeps_its_share() -> None:
    """The factors are those of the document; learned links keep their own weight, at most 1."""
    assert FACTORS[EdgeType.HAS_TAG] == 0.8
    assert FACTORS[EdgeType.IN_TOPIC] == 0.6
    assert FACTORS[EdgeType.SUPERSEDES] == 0.9
    assert FACTORS[EdgeType.DERIVED_FROM] == 0.7
    assert FACTORS[EdgeType.CONTRADICTS] == 0.3
    links = Links(("a", "b", EdgeType.RELATES_TO, 0.4), ("a", "c", EdgeType.CO_OCCURS, 7.0))
    scores = cascade_scores({"a": 1.0}, links.near, 1, 1.0)
    assert scores["b"] == pytest.approx(0.4)
    assert scores["c"] == pytest.approx(1.0)


@pytest.mark.covers("S3.6", "S3.7")
def test_a_step_multiplies_the_score_it_starts_from() -> None:
    """Depth 2 over a tag:

    0.8 * 0.7 for the tag, times 0.8 * 0.7 ** 2 for what else has it; the best path counts.
    """
    links = Links(
        ("a", "tag:x", EdgeType.HAS_TAG, 1),
        ("b", "tag:x", EdgeType.HAS_TAG, 1),
        ("a", "b", EdgeType.RELATES_TO, 0.01),
    )
    scores = cascade_scores({"a": 0.9}, links.near, 2, 0.7)
    assert scores["tag:x"] == pytest.approx(0.9 * 0.8 * 0.7)
    assert scores["b"] == pytest.approx(0.9 * 0.8 * 0.7 * 0.8 * 0.7**2)
    assert scores["a"] == 0.9


@pytest.mark.covers("S3.6")
def test_ten_seeds_lend_and_no_more() -> None:
    """In the graph preset two steps of 0.7 from the ten best;
    of twelve that match, the friends of the last two get nothing.
    """
    graph = load({"preset": "graph"}, environ={}).settings.graph
    assert (graph.depth, graph.seeds, graph.decay) == (2, 10, 0.7)
    with temp_engine(
        jobs__workers=0, write__extract="off", graph__seeds=graph.seeds, graph__depth=graph.depth
    ) as engine:
        keepers = [
            engine.add("gulls " * (13 - n) + "and sand " * n, scope=OWNER).id for n in range(12)
        ]
        friends = [engine.add(f"Bread rolls cost {n} crowns", scope=OWNER).id for n in range(12)]
        edges = tuple(
            Edge(OWNER, *pair, EdgeType.RELATES_TO, 1.0)
            for pair in zip(keepers, friends, strict=True)
        )
        engine.store.commit(WriteBatch("test", "link", engine.now(), edges=edges))
        rows = engine.explain("gulls", scope=OWNER, limit=50).trace.rows
        best = [row.id for row in rows if row.id in keepers][:10]
        lent = {row.id for row in rows if row.parts.get("linked", 0) > 0}
        assert lent & set(friends) == {friends[keepers.index(id)] for id in best}
        assert len({row.id for row in rows}) == len(rows), "each once, whatever ways lead to it"


@pytest.mark.covers("S3.7")
def test_depth_nought_is_the_seeds_alone() -> None:
    """Without steps nothing is added."""
    links = Links(("a", "b", EdgeType.RELATES_TO, 1))
    assert cascade_scores({"a": 0.5}, links.near, 0, 0.7) == {"a": 0.5}


@pytest.mark.covers("S3.8")
def test_topics_are_followed() -> None:
    """Members of one topic reach each other."""
    links = Links(("a", "topic:1", EdgeType.IN_TOPIC, 1), ("b", "topic:1", EdgeType.IN_TOPIC, 1))
    assert "b" in cascade_scores({"a": 1.0}, links.near, 2, 0.7)


def test_a_circle_ends() -> None:
    """Links that lead back change nothing and do not go round for ever."""
    links = Links(
        ("a", "b", EdgeType.RELATES_TO, 1),
        ("b", "c", EdgeType.RELATES_TO, 1),
        ("c", "a", EdgeType.RELATES_TO, 1),
    )
    scores = cascade_scores({"a": 1.0}, links.near, 3, 0.7)
    assert scores["a"] == 1.0
    assert 0 < scores["c"] < 1


def test_bonuses_are_a_share_from_better_seeds() -> None:
    """A linked memory gets a share of what the better one reaches it with."""
    links = Links(("a", "b", EdgeType.RELATES_TO, 1))
    bonuses = link_bonuses(
        {"a": 1.0},
        LinkCache(OWNER, links),
        LinkExpansionSettings(depth=1, decay=0.7, bonus=0.1),
    )
    assert bonuses == {"b": LinkBonus(pytest.approx(0.07), "a")}
    bonuses_of_both = link_bonuses(
        {"a": 1.0, "b": 0.5},
        LinkCache(OWNER, links),
        LinkExpansionSettings(depth=1, decay=0.7, bonus=0.1),
    )
    assert bonuses_of_both == {"b": LinkBonus(pytest.approx(0.07), "a")}, (
        "the better one lends, the lesser one does not lend back"
    )
    assert link_bonuses({"a": 1.0}, LinkCache(OWNER, links), LinkExpansionSettings(depth=0)) == {}


@pytest.mark.covers("S3.9")
def test_superseded_and_forgotten_memories_are_not_reached() -> None:
    """A link to something that no longer counts lends it nothing: it is not found."""
    with temp_engine(jobs__workers=0, write__extract="off") as engine:
        active = engine.add("The lighthouse keeper feeds the gulls", scope=OWNER)
        forgotten = engine.add("Unrelated words entirely", scope=OWNER)
        past = engine.add("More words of no relation", scope=OWNER)
        ends = tuple(
            Edge(
                owner=OWNER,
                source=active.id,
                target=receipt.id,
                type=EdgeType.RELATES_TO,
                weight=1.0,
            )
            for receipt in (forgotten, past)
        )
        engine.store.commit(WriteBatch("test", "link", engine.now(), edges=ends))
        assert len(engine.search("Who feeds the gulls?", scope=OWNER).hits) == 3
        engine.forget(forgotten.id, scope=OWNER)
        replaced = RecordChange(
            OWNER, past.id, {"status": Status.SUPERSEDED, "superseded_by": active.id}, "replace"
        )
        engine.store.commit(WriteBatch("test", "replace", engine.now(), changes=(replaced,)))
        result = engine.search("Who feeds the gulls?", scope=OWNER)
        assert [hit.record.id for hit in result.hits] == [active.id]
        assert {row.id for row in result.trace.rows} == {active.id}


def test_a_linked_memory_rises() -> None:
    """Of two memories that a query says nothing about, the one linked to the answer stands first,
    and the trace tells.
    """
    with temp_engine(jobs__workers=0, write__extract="off") as engine:
        first = engine.add("The lighthouse keeper feeds the gulls", scope=OWNER)
        plain = engine.add("Bread rolls cost two crowns", scope=OWNER)
        linked = engine.add("Bread rolls cost three crowns", scope=OWNER)
        edge = Edge(
            owner=OWNER, source=first.id, target=linked.id, type=EdgeType.RELATES_TO, weight=1.0
        )
        engine.store.commit(WriteBatch("test", "link", engine.now(), edges=(edge,)))
        result = engine.search("Who feeds the gulls?", scope=OWNER)
        order = [hit.record.id for hit in result.hits]
        assert order.index(linked.id) < order.index(plain.id)
        assert result.hits[order.index(linked.id)].parts["linked"] > 0


def test_the_parts_of_a_raised_score_add_up() -> None:
    """What stands above a better match because it replaces that match names the raise, and each
    score is the sum of its parts.
    """
    with temp_engine(jobs__workers=0) as engine:
        engine.add("I live in Paris, and where I live in Paris it is loud.", scope=OWNER)
        engine.add("We moved to Berlin.", scope=OWNER)
        engine.add(
            "I moved to Berlin in March, after all these years and a long search.", scope=OWNER
        )
        engine.drain(10)
        result = engine.search("Where in Paris do I live?", scope=OWNER)
        raised = [hit for hit in result.hits if "current" in hit.parts]
        assert raised
        assert raised[0].parts["current"] > 0
        for parts, score in [(hit.parts, hit.score) for hit in result.hits] + [
            (row.parts, row.score) for row in result.trace.rows
        ]:
            assert sum(parts.values()) == pytest.approx(score, abs=0.001)


def test_a_doubt_that_nobody_is_told_of_hides_none_that_is() -> None:
    """Of what may end a memory, that which readers are told of counts, though another came later."""
    links = Links(
        ("told", "a", EdgeType.MAY_OUTDATE, 0.9),
        ("untold", "a", EdgeType.MAY_OUTDATE, 0.34),
        ("untold", "b", EdgeType.MAY_OUTDATE, 0.34),
    )
    later = LinkCache(OWNER, links).find_later(["a", "b"])
    assert [edge.source for edge in later["a"]] == ["told"]
    assert [edge.source for edge in later["b"]] == ["untold"]
