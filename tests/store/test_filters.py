"""Filters: every operator on columns, lists, times and metadata, and what is refused."""

from __future__ import annotations

import operator
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.store.make import ALICE, BOB, START, add, at, reach, record, seek, texts

from engrams.core import Kind
from engrams.errors import InputError
from engrams.ports import Condition, RecordQuery, Store, Where


def only(field: str, op: Any, value: Any) -> Where:
    return Where("and", (Condition(field, op, value),))


@pytest.mark.covers("S2.33")
@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        (("speaker", "eq", "Ann"), "one"),
        (("speaker", "ne", "Ann"), "two three"),
        (("speaker", "in", ["Ann", "Bea"]), "one two"),
        (("speaker", "nin", ["Ann", "Bea"]), "three"),
        (("speaker", "in", []), ""),
        (("speaker", "nin", []), "one two three"),
        (("speaker", "gt", "B"), "two three"),
        (("speaker", "contains", "nn"), "one three"),
        (("speaker", "exists", True), "one two three"),
        (("speaker", "exists", False), ""),
        (("text", "contains", "w"), "two"),
        (("kind", "eq", Kind.NOTE), "two"),
        (("layer", "eq", "episodic"), "one two three"),
        (("id", "gte", ""), "one two three"),
        (("scope", "eq", ("user", "alice")), "one two three"),
        (("scope", "ne", "user/alice"), ""),
        (("importance", "gt", 0.2), "two three"),
        (("importance", "gte", 0.2), "one two three"),
        (("importance", "lt", 0.5), "one"),
        (("importance", "lte", 0.5), "one two"),
        (("strength", "eq", 5), "two"),
        (("strength", "in", [1, 5]), "one two three"),
        (("valid_from", "gt", at(days=1)), "two"),
        (("valid_from", "lte", at(days=1).isoformat()), "one"),
        (("valid_from", "eq", "2025-03-02T12:00:00+00:00"), "one"),
        (("valid_from", "ne", at(days=1)), "two three"),
        (("valid_from", "eq", None), "three"),
        (("valid_from", "exists", False), "three"),
        (("valid_from", "in", [at(days=2), START]), "two"),
        (("recorded_at", "gte", "2025-03-01"), "one two three"),
        (("tags", "contains", "red"), "one two"),
        (("tags", "contains", ["red", "big"]), "one"),
        (("tags", "in", ["big", "small"]), "one"),
        (("tags", "nin", ["big"]), "two three"),
        (("tags", "eq", ["red"]), "two"),
        (("tags", "ne", ["red"]), "one three"),
        (("tags", "exists", False), "three"),
        (("provenance.channel", "eq", "tool"), "three"),
        (("meta.n", "eq", 1), "one"),
        (("meta.n", "eq", "1"), "three"),
        (("meta.n", "eq", True), ""),
        (("meta.n", "ne", 1), "two three"),
        (("meta.n", "gt", 1), "two"),
        (("meta.n", "gte", 1), "one two"),
        (("meta.n", "lt", "2"), "three"),
        (("meta.n", "in", [1, "1"]), "one three"),
        (("meta.n", "in", [1, 2.5, "1", True]), "one two three"),
        (("meta.n", "nin", [1]), "two three"),
        (("meta.s", "contains", "b"), "one two"),
        (("meta.s", "contains", "%"), "two"),
        (("meta.s", "eq", ""), "three"),
        (("meta.b", "eq", True), "one"),
        (("meta.b", "eq", 1), ""),
        (("meta.b", "eq", False), "three"),
        (("meta.b", "exists", True), "one three"),
        (("meta.l", "contains", "x"), "one"),
        (("meta.l", "contains", 1), "one"),
        (("meta.l", "contains", True), "one"),
        (("meta.l", "contains", 0), ""),
        (("meta.l", "eq", []), "three"),
        (("meta.l", "eq", ["x", 1, True]), "one"),
        (("meta.z", "eq", None), "one two three"),
        (("meta.z", "exists", True), "one"),
        (("meta.user", "eq", {"1st": "y", "access-level": 3}), "one"),
        (("meta.user.access-level", "gte", 3), "one"),
        (("meta.user.1st", "eq", "y"), "one"),
        (("meta.user.missing.deeper", "eq", 1), ""),
        (("meta.s.deeper", "exists", True), ""),
        (("meta.ü", "eq", "ö"), "one"),
        (("meta.[0]", "exists", True), ""),
        (("meta.a b' OR 1=1 --", "exists", True), ""),
    ],
    ids=str,
)
def test_each_operator(filled: Store, condition: tuple[str, Any, Any], expected: str) -> None:
    """Every operator keeps what it says:
    values of one type compare, what is missing differs from everything.
    """
    assert texts(filled, where=only(*condition)) == expected.split()


@pytest.mark.covers("S2.33")
def test_conditions_join(filled: Store) -> None:
    """Several conditions on one field all apply;
    or and not join as deeply as needed; an empty filter is none.
    """
    between = Where(
        "and",
        (
            Condition("importance", "gt", 0.1),
            Condition("importance", "lt", 0.6),
            Condition("importance", "ne", 0.5),
        ),
    )
    assert texts(filled, where=between) == ["one"]
    either = Where("or", (Condition("speaker", "eq", "Ann"), Condition("meta.n", "eq", "1")))
    assert texts(filled, where=either) == ["one", "three"]
    assert texts(filled, where=Where("not", (either,))) == ["two"]
    both = Where("not", (Condition("speaker", "eq", "Ann"), Condition("importance", "gt", 0.5)))
    assert texts(filled, where=both) == ["one", "two", "three"]
    assert texts(
        filled, where=Where("and", (either, Where("not", (Condition("tags", "contains", "red"),))))
    ) == ["three"]
    for op in ("and", "or", "not"):
        assert texts(filled, where=Where(op, ())) == ["one", "two", "three"]
        assert texts(
            filled, where=Where("and", (Where(op, ()), Condition("speaker", "eq", "Ann")))
        ) == ["one"]


@pytest.mark.covers("S2.33", "S1.62")
def test_a_filter_narrows_a_search_and_never_leaves_the_owner(filled: Store) -> None:
    """A search sees only what the filter allows, and no filter reaches another owner's records."""
    assert len(seek(filled, "two bob")) == 3
    assert len(seek(filled, "two bob", where=only("meta.n", "eq", 1))) == 1
    assert seek(filled, "two bob", where=only("speaker", "eq", "Zoe")) == {}
    assert (
        texts(
            filled,
            where=Where("or", (Condition("text", "eq", "bob"), Condition("scope", "eq", BOB))),
        )
        == []
    )


@pytest.mark.covers("S2.33")
@pytest.mark.parametrize(
    "condition",
    [
        ("speaker", "like", "x"),
        ("speaker", "$eq", "x"),
        ("colour", "eq", "x"),
        ("", "eq", "x"),
        ("meta", "eq", {}),
        ("meta.", "eq", 1),
        ("meta..x", "eq", 1),
        ('meta.a"b', "eq", 1),
        ("meta.a\\b", "eq", 1),
        ("meta.a\0b", "eq", 1),
        ("meta." + "x" * 600, "eq", 1),
        ("number", "eq", 1),
        ("owner", "eq", "user/bob"),
        ("lexemes", "exists", True),
        ("rowid; DROP TABLE records", "eq", 1),
        ("importance", "eq", "high"),
        ("importance", "gt", True),
        ("importance", "contains", 1),
        ("speaker", "eq", 3),
        ("speaker", "in", "Ann"),
        ("tags", "gt", "a"),
        ("tags", "contains", 3),
        ("valid_from", "gt", "soon"),
        ("valid_from", "gt", 3),
        ("meta.n", "gt", None),
        ("meta.n", "gt", [1]),
        ("meta.n", "exists", "yes"),
        ("meta.n", "in", 1),
        ("scope", "eq", ()),
        ("meta.n", "eq", object()),
    ],
    ids=lambda value: f"{value[0][:20]} {value[1]}",
)
def test_what_makes_no_sense_is_refused(store: Store, condition: tuple[str, Any, Any]) -> None:
    """An unknown field or operator, a hostile name and a value of the wrong sort are bad input,
    with a hint where to look.
    """
    with pytest.raises(InputError) as caught:
        store.find(RecordQuery(reach(), where=only(*condition)))
    assert caught.value.message


def test_unknown_words_name_the_known(store: Store) -> None:
    """The hint lists the operators, or the fields, that there are."""
    for condition, word in (
        (("speaker", "like", "x"), "contains"),
        (("colour", "eq", "x"), "speaker"),
    ):
        with pytest.raises(InputError) as caught:
            store.find(RecordQuery(reach(), where=only(*condition)))
        assert word in caught.value.hint


def test_a_filter_has_a_size(store: Store) -> None:
    """A filter nested or joined without end is refused before it reaches the database;
    long lists are fine.
    """
    deep = only("speaker", "eq", "x")
    for _ in range(40):
        deep = Where("not", (deep,))
    wide = Where("or", tuple(Condition("speaker", "eq", str(number)) for number in range(500)))
    for where in (deep, wide):
        with pytest.raises(InputError):
            store.find(RecordQuery(reach(), where=where))
    many = [str(number) for number in range(50_000)]
    assert (
        texts(
            store,
            where=Where("or", (Condition("speaker", "in", many), Condition("meta.x", "in", many))),
        )
        == []
    )


_VALUES = (
    st.none()
    | st.booleans()
    | st.integers(-3, 3)
    | st.sampled_from([0.5, 2.0])
    | st.sampled_from(["", "a", "ab", "1"])
)
_COMPARE = {"gt": operator.gt, "gte": operator.ge, "lt": operator.lt, "lte": operator.le}


def _sort(value: Any) -> str:
    return (
        "number"
        if isinstance(value, int | float) and not isinstance(value, bool)
        else type(value).__name__
    )


def _holds(have: Any, op: str, want: Any) -> bool:
    same = _sort(have) == _sort(want) and have == want
    if op in ("eq", "ne"):
        return same == (op == "eq")
    return _sort(have) == _sort(want) and _COMPARE[op](have, want)


@given(
    have=st.lists(_VALUES, min_size=1, max_size=6),
    op=st.sampled_from(["eq", "ne", "gt", "gte", "lt", "lte"]),
    want=_VALUES,
    negate=st.booleans(),
)
@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
def test_metadata_compares_as_python_does(
    store: Store, have: list[Any], op: str, want: Any, negate: bool
) -> None:
    """For any values, a condition on metadata and its negation hold exactly where Python says,
    types kept apart.
    """
    if op in _COMPARE and _sort(want) not in ("number", "str"):
        return
    session = f"{have}{op}{want}{negate}"
    add(
        store,
        *(
            record(f"{index}", ALICE, session=session, meta={} if value is None else {"v": value})
            for index, value in enumerate(have)
        ),
    )
    condition = only("meta.v", op, want)
    expected = [str(index) for index, value in enumerate(have) if _holds(value, op, want) != negate]
    seen = texts(store, session=session, where=Where("not", (condition,)) if negate else condition)
    assert sorted(set(seen)) == sorted(expected)
