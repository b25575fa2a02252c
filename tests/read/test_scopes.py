"""Which scopes a read sees, how many candidates it looks at, and what it may be filtered by (002)."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest

from engrams import MemoryEngine
from engrams.core import Kind, Layer, Record, Scope, Status, Turn
from engrams.errors import InputError
from engrams.ports import Condition, NewRecord, Where, WriteBatch
from engrams.testing import SettableClock, temp_engine

ANN = ("user", "ann")
GLOBAL = Scope(ANN)
TALK = Scope((*ANN, "conversation", "c1"))
OTHER = Scope((*ANN, "conversation", "c2"))
START = datetime(2026, 3, 1, 9, tzinfo=UTC)


@pytest.fixture
def engine() -> Iterator[MemoryEngine]:
    with temp_engine(
        preset="proxy",
        vault__enabled=False,
        jobs__workers=0,
        write__extract="off",
        clock=SettableClock(START),
    ) as opened:
        yield opened


def put(
    engine: MemoryEngine,
    id: str,
    text: str,
    scope: Scope = TALK,
    kind: Kind = Kind.NOTE,
    **fields: object,
) -> Record:
    record = Record(id, scope, kind, text, START, **fields)  # type: ignore[arg-type]
    engine.store.commit(WriteBatch("test", "add", START, puts=(NewRecord(record),)))
    return record


@pytest.mark.covers("S2.25")
def test_a_conversation_reads_itself_and_what_is_global_each_once(engine: MemoryEngine) -> None:
    """Nothing of another conversation;
    ids come once, also where the conversation is the global scope itself.
    """
    put(engine, "own", "The harbour at dawn")
    put(engine, "everywhere", "Boats in the harbour", GLOBAL)
    put(engine, "elsewhere", "Harbour fees went up", OTHER)
    assert sorted(hit.record.id for hit in engine.search("harbour", scope=TALK).hits) == [
        "everywhere",
        "own",
    ]
    assert len(TALK.chain()) == 2
    rows = [row.id for row in engine.explain("harbour", scope=TALK).trace.rows]
    assert len(rows) == len(set(rows))
    assert len(GLOBAL.chain()) == 1
    ids = [hit.record.id for hit in engine.search("harbour", scope=GLOBAL).hits]
    assert len(ids) == len(set(ids))


@pytest.mark.covers("S2.26")
def test_three_candidates_for_each_hit_wanted_in_each_scope(engine: MemoryEngine) -> None:
    """With a limit of 2: six for one scope, twelve for a conversation and what is global."""
    for n in range(30):
        put(engine, f"g{n:02}", f"The harbour, note {n}", GLOBAL)
        put(engine, f"t{n:02}", f"The harbour, remark {n}")
    assert len(engine.explain("harbour", scope=TALK, limit=2).trace.rows) == 12
    with temp_engine(
        preset="proxy", vault__enabled=False, jobs__workers=0, write__extract="off"
    ) as second:
        for n in range(30):
            put(second, f"g{n:02}", f"The harbour, note {n}", GLOBAL)
        assert len(second.explain("harbour", scope=GLOBAL, limit=2).trace.rows) == 6


@pytest.mark.covers("S2.26")
def test_summaries_are_no_candidates_unless_asked_for(engine: MemoryEngine) -> None:
    """They stand in the prompt on their own; a search for that kind finds them."""
    put(engine, "s", "The harbour, the harbour, and the harbour", kind=Kind.SUMMARY)
    put(engine, "n", "A note on the harbour")
    assert [row.id for row in engine.explain("harbour", scope=TALK).trace.rows] == ["n"]
    assert [
        hit.record.id for hit in engine.search("harbour", scope=TALK, kinds=(Kind.SUMMARY,)).hits
    ] == ["s"]


@pytest.mark.covers("S2.55")
@pytest.mark.parametrize(
    ("field", "op", "value", "expected"),
    [
        ("role", "eq", "assistant", {"b"}),
        ("role", "eq", "memory", {"e"}),
        ("role", "ne", "memory", {"a", "b", "c", "d"}),
        ("role", "in", ["memory", "assistant"], {"b", "e"}),
        ("role", "nin", ["memory", "assistant"], {"a", "c", "d"}),
        ("scope", "eq", TALK.key, {"a", "b", "c", "e"}),
        ("scope", "eq", list(OTHER.labels), {"d"}),
        ("session", "eq", "s1", {"a"}),
        ("recorded_at", "gte", START + timedelta(days=2), {"d"}),
        ("kind", "eq", "summary", {"c"}),
        ("meta.summary_kind", "eq", "short", {"c"}),
        ("superseded_by", "eq", "b", {"a"}),
        ("superseded_by", "exists", False, {"b", "c", "d", "e"}),
    ],
)
def test_what_the_index_can_be_filtered_by(
    field: str, op: str, value: object, expected: set[str]
) -> None:
    """Who said it, in which conversation, when, which kind of summary, and what replaced it."""
    with temp_engine(
        jobs__workers=0, write__extract="off", clock=SettableClock(START + timedelta(days=9))
    ) as engine:
        put(
            engine,
            "a",
            "The harbour at dawn",
            role="user",
            session="s1",
            superseded_by="b",
            status=Status.SUPERSEDED,
        )
        put(engine, "b", "Boats in a harbour", role="assistant")
        put(engine, "c", "Harbours are loud", kind=Kind.SUMMARY, meta={"summary_kind": "short"})
        put(engine, "e", "The harbour freezes", kind=Kind.FACT, layer=Layer.SEMANTIC, role="user")
        later = Record(
            id="d",
            scope=OTHER,
            kind=Kind.NOTE,
            text="Harbour fees",
            recorded_at=START + timedelta(days=3),
        )
        engine.store.commit(WriteBatch("test", "add", START, puts=(NewRecord(later),)))
        where = Where("and", (Condition(field, op, value),))  # type: ignore[arg-type]
        result = engine.search("harbour", scope=GLOBAL, where=where, history=True)
        assert {hit.record.id for hit in result.hits} == expected
        explained = engine.explain("harbour", scope=GLOBAL, where=where, history=True)
        assert {hit.record.id for hit in explained.hits} == expected


def test_explain_takes_the_filters_of_search_and_finds_the_same() -> None:
    """Kinds, conditions and history narrow both alike."""
    with temp_engine(jobs__workers=0, write__extract="off") as engine:
        engine.add("A harbour note", scope=ANN)
        engine.observe(Turn("A harbour turn", speaker="Zoe"), scope=ANN)
        where = Where("and", (Condition("speaker", "eq", "Zoe"),))
        for query in (
            {"kinds": (Kind.TURN,)},
            {"where": where},
            {"kinds": (Kind.NOTE,), "history": True},
        ):
            shown = [hit.record.id for hit in engine.explain("harbour", scope=ANN, **query).hits]  # type: ignore[arg-type]
            assert len(shown) == 1
            assert shown == [
                hit.record.id for hit in engine.search("harbour", scope=ANN, **query).hits
            ]  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "value",
    [
        5,
        0,
        True,
        None,
        1.5,
        [],
        [1],
        [None],
        {},
        {"a": 1},
        {"x"},
        b"a",
        ["a", 5],
        [""],
        "",
        ["x" * 300],
    ],
)
def test_a_scope_condition_of_any_shape_is_answered_or_refused(value: object) -> None:
    """A number, a map or a list of numbers is not a scope: said so, and nothing else happens."""
    with temp_engine(jobs__workers=0, write__extract="off") as engine:
        engine.add("A harbour note", scope=ANN)
        for op in ("eq", "ne", "in", "gt"):
            with contextlib.suppress(InputError):
                engine.search(
                    "harbour", scope=ANN, where=Where("and", (Condition("scope", op, value),))
                )  # type: ignore[arg-type]
    with temp_engine(jobs__workers=0) as engine, pytest.raises(InputError, match="is not a scope"):
        engine.list(scope=ANN, where=Where("and", (Condition("scope", "eq", 5),)))
