"""Values under namespaces and keys, without the framework that asks for them."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from tests.adapters.fresh import read_home

import engrams
from engrams import MemoryEngine, admin
from engrams.adapters.item_journal import ITEM, read_item
from engrams.adapters.namespaced_items import (
    NamespacedItems,
    NamespacedItemWrite,
    describe_value,
    to_conditions,
)
from engrams.core import Scope
from engrams.errors import InputError, RefusedError
from engrams.testing import SettableClock, temp_engine

ANN = ("user", "ann")
BOB = ("user", "bob")
NOTES = ("memories", "ann")


@pytest.fixture
def clock() -> SettableClock:
    """A clock that stands until it is moved."""
    return SettableClock(datetime(2026, 3, 1, 9, tzinfo=UTC))


@pytest.fixture
def engine(clock: SettableClock) -> Iterator[MemoryEngine]:
    """An engine whose jobs run when the test says so."""
    with temp_engine(jobs__workers=0, clock=clock) as made:
        yield made


def put(
    items: NamespacedItems, namespace: tuple[str, ...], key: str, value: dict[str, Any], **more: Any
) -> None:
    items.write([NamespacedItemWrite(namespace, key, value, describe_value(value), **more)])


def values(
    items: NamespacedItems, prefix: tuple[str, ...], filter: dict[str, Any] | None = None
) -> list[Any]:
    return [
        read_item(record)["value"] for record in items.find(prefix, to_conditions(filter or {}))
    ]


def test_a_value_is_a_memory_of_its_scope(engine: MemoryEngine) -> None:
    """A value comes back as it was put, changed in place with its history, and any other door finds
    its words.
    """
    items = NamespacedItems(engine, ANN, "t")
    put(items, NOTES, "k", {"content": "Ann plays the cello", "n": 1})
    found = engine.search("cello", scope=ANN).hits[0].record
    assert (
        found.text == "content: Ann plays the cello\nn: 1"
        and not engine.search("cello", scope=BOB).hits
    )
    put(items, NOTES, "k", {"content": "Ann plays the viola"})
    record = items.get(NOTES, "k")
    assert (
        record is not None
        and record.id == found.id
        and record.meta[ITEM]["value"] == {"content": "Ann plays the viola"}
    )
    assert (
        "cello" not in str(engine.search("cello", scope=ANN).hits)
        and len(engine.history(found.id, scope=ANN)) == 2
    )
    assert items.get(NOTES, "other") is None and items.get(("memories", "bob"), "k") is None


def test_namespaces_of_one_owner_do_not_touch_each_other(engine: MemoryEngine) -> None:
    """Facts of one namespace end none of another, in one owner or, by a function, in owners of
    their own.
    """
    items = NamespacedItems(engine, ANN, "t")
    put(items, ("memories", "carl"), "home", {"content": "I live in Paris"})
    put(items, ("memories", "dora"), "home", {"content": "I live in Berlin"})
    engine.drain()
    found = {
        record.text for record, _ in items.search(("memories",), (), "Where do they live?", 10)
    }
    assert found == {"I live in Paris", "I live in Berlin"}
    mapped = NamespacedItems(engine, lambda namespace: ("user", namespace[1]), "m")
    put(mapped, ("memories", "emil"), "home", {"content": "I live in Oslo"})
    assert engine.search("Oslo", scope=("user", "emil")).hits and "Oslo" not in str(
        engine.search("Oslo", scope=ANN).hits
    )
    assert (
        values(mapped, ("memories", "emil")) == [{"content": "I live in Oslo"}]
        and values(mapped, ("memories", "ann")) == []
    )
    with pytest.raises(InputError, match="owner of the memory"):
        values(mapped, ("memories",))


def test_a_store_below_a_project_sees_only_what_is_below_it(engine: MemoryEngine) -> None:
    """A store of a deeper scope lists its own namespaces, and none of the project's neighbours."""
    own_items, other_items = (
        NamespacedItems(engine, Scope(ANN).within("project", name), "t") for name in ("x", "x2")
    )
    put(own_items, ("a",), "k", {"v": "here"})
    put(other_items, ("a",), "k", {"v": "there"})
    put(NamespacedItems(engine, ANN, "t"), ("a",), "k", {"v": "above"})
    assert values(own_items, ()) == [{"v": "here"}] and own_items.list_namespaces(()) == {("a",)}
    assert len(values(NamespacedItems(engine, ANN, "t"), ())) == 3


def test_equal_values_under_different_keys_stay_apart(engine: MemoryEngine) -> None:
    """Two keys with the same text are two items; removing one leaves the other."""
    items = NamespacedItems(engine, ANN, "t")
    for key in ("a", "b"):
        put(items, ("n",), key, {"content": "I live in Oslo with my dog"})
    assert len(values(items, ("n",))) == 2 and items.get(("n",), "a") is not None
    items.write([NamespacedItemWrite(("n",), "b", None)])
    assert items.get(("n",), "a") is not None and items.get(("n",), "b") is None


def test_odd_names_stay_apart(engine: MemoryEngine) -> None:
    """Long labels, line breaks, slashes and wildcards in namespaces and keys address one item each."""
    items = NamespacedItems(engine, ANN, "t")
    names = [
        ("a",),
        ("a\n",),
        ("a" * 300,),
        ("a" * 300, "b"),
        ("a/b",),
        ("a", "b"),
        ("%",),
        ("*",),
        (" a ",),
    ]
    for number, name in enumerate(names):
        put(items, name, "k/\n" * 100, {"n": number})
    assert [items.get(name, "k/\n" * 100).meta[ITEM]["value"]["n"] for name in names] == list(
        range(len(names))
    )  # type: ignore[union-attr]
    assert items.list_namespaces(()) == set(names)
    assert {value["n"] for value in values(items, ("a",))} == {0, 5}


def test_filters_reach_into_values(engine: MemoryEngine) -> None:
    """Plain values, operators, nested and dotted keys, lists and odd numbers filter;
    hostile keys are refused.
    """
    items = NamespacedItems(engine, ANN, "t")
    put(items, ("n",), "1", {"n": 1, "user": {"access-level": "high"}, "tags": ["x"], "on": True})
    put(
        items,
        ("n",),
        "2",
        {"n": 2.5, "user": {"access-level": "low"}, "tags": ["x", "y"], "on": False},
    )
    for filter, expected in (
        ({"n": 1}, {1}),
        ({"n": {"$gt": 1}}, {2.5}),
        ({"n": {"$gte": 1, "$lt": float("inf")}}, {1, 2.5}),
        ({"n": {"$lt": 10**100}}, {1, 2.5}),
        ({"n": float("nan")}, set()),
        ({"n": {"$ne": 1}}, {2.5}),
        ({"user.access-level": "low"}, {2.5}),
        ({"user": {"access-level": {"$ne": "low"}}}, {1}),
        ({"tags": ["x"]}, {1}),
        ({"on": True, "n": 1}, {1}),
        ({"on": None}, set()),
    ):
        assert {value["n"] for value in values(items, ("n",), filter)} == expected, filter
    for wrong in ({"a' OR '1'='1": 1}, {'a"': 1}, {"": 1}, {"n": {"$like": 1}}):
        with pytest.raises(ValueError, match=r"Invalid filter key|Unsupported operator"):
            to_conditions(wrong)


def test_values_without_words_are_no_memories_to_search(engine: MemoryEngine) -> None:
    """Numbers and switches, and what is put without a text, come back by their key and are found by
    no search.
    """
    items = NamespacedItems(engine, ANN, "t")
    put(items, ("state",), "counter", {"count": 3, "on": True})
    items.write([NamespacedItemWrite(("state",), "hidden", {"content": "Ann plays the cello"})])
    assert len(values(items, ("state",))) == 2
    assert not engine.search("count", scope=ANN).hits and not engine.search("cello", scope=ANN).hits
    assert describe_value({}) == describe_value({"n": [1, None]}) == ""
    assert describe_value({"a": {"b": ["x", "y"]}, "c": [{"d": "z"}]}) == "a b: x, y\nc d: z"


def test_time_to_live(engine: MemoryEngine, clock: SettableClock) -> None:
    """What outlived its minutes is not returned, and a sweep purges it; reading lets it live on."""
    items = NamespacedItems(engine, ANN, "t")
    for key in ("read", "unread", "for ever"):
        put(items, ("n",), key, {"content": f"It is {key}"}, ttl=None if key == "for ever" else 10)
    clock.forward(minutes=6)
    items.refresh(
        [record for record in (items.get(("n",), "read"), items.get(("n",), "for ever")) if record]
    )
    clock.forward(minutes=6)
    assert items.get(("n",), "unread") is None and items.get(("n",), "read") is not None
    assert {value["content"] for value in values(items, ())} == {"It is read", "It is for ever"}
    assert items.sweep() == 1 and items.sweep() == 0
    put(items, ("n",), "read", {"content": "It stays"})
    clock.forward(days=9)
    assert items.get(("n",), "read") is not None and items.sweep() == 0


def test_vectors_rank_by_the_nearest_field(engine: MemoryEngine) -> None:
    """Of an item's vectors the nearest counts;
    items without any are not ranked; another dimension is refused.
    """
    items = NamespacedItems(engine, ANN, "t")
    put(items, ("n",), "two", {"content": "two"}, vectors=[[1.0, 0, 0], [0, 2.0, 0]])
    put(items, ("n",), "one", {"content": "one"}, vectors=[[1.0, 1.0, 0]])
    put(items, ("n",), "none", {"content": "none"})
    ranked = items.rank(("n",), (), [0, 5, 0])
    assert [record.meta[ITEM]["key"] for record, _ in ranked] == ["two", "one"]
    assert [score for _, score in ranked] == pytest.approx([1, 0.7071], abs=1e-3)
    with pytest.raises(InputError, match="dimensions"):
        items.rank(("n",), (), [1.0, 0, 0, 0])


def test_other_distances_rank_too(engine: MemoryEngine) -> None:
    """An inner product counts lengths, a distance counts what is between;
    both see vectors as they were given.
    """
    items = NamespacedItems(engine, ANN, "t")
    put(items, ("n",), "short", {"content": "short"}, vectors=[[1.0, 0.0]])
    put(items, ("n",), "long", {"content": "long"}, vectors=[[3.0, 4.0]])
    for distance, expected in (
        ("inner_product", {"long": 6.0, "short": 2.0}),
        ("l2", {"short": -1.0, "long": -(17**0.5)}),
    ):
        ranked = items.rank(("n",), (), [2.0, 0.0], distance)
        assert [record.meta[ITEM]["key"] for record, _ in ranked] == list(expected)
        assert [score for _, score in ranked] == pytest.approx(list(expected.values()), abs=1e-2)


def test_what_is_over_is_listed_where_that_is_asked_for(
    engine: MemoryEngine, clock: SettableClock
) -> None:
    """With `omit_expired` false an item whose time is over is got and listed until a sweep, and
    never found by a search.
    """
    items = NamespacedItems(engine, ANN, "t", {"omit_expired": False})
    put(items, ("n",), "k", {"content": "It is over soon"}, ttl=0.5)
    clock.forward(minutes=1)
    assert items.get(("n",), "k") is not None and len(values(items, ("n",))) == 1
    assert items.search(("n",), (), "What is over?", 5) == []
    assert items.sweep() == 1 and items.get(("n",), "k") is None


def test_what_is_removed_is_gone(home: Path) -> None:
    """A removed value, also what it was before, is gone from every read at once;
    when its job has run no byte of it is in the home.
    """
    with engrams.open(home=str(home), jobs__workers=0) as engine:
        items = NamespacedItems(engine, ANN, "t")
        put(items, NOTES, "k", {"content": "I live in Zanzibar"})
        put(items, NOTES, "k", {"content": "I live in Ouagadougou"})
        put(items, NOTES, "kept", {"content": "My kettle is green"})
        engine.drain()
        items.write(
            [NamespacedItemWrite(NOTES, "k", None), NamespacedItemWrite(NOTES, "never there", None)]
        )
        assert items.get(NOTES, "k") is None and items.get(NOTES, "kept") is not None
        assert "live in" not in str(engine.search("Where do I live?", scope=ANN).hits)
        for number in range(3):  # put and removed before the first purge has run
            put(items, NOTES, "k", {"content": f"Back in Timbuktu {number}"})
            assert items.get(NOTES, "k").meta[ITEM]["value"] == {
                "content": f"Back in Timbuktu {number}"
            }  # type: ignore[union-attr]
            items.write([NamespacedItemWrite(NOTES, "k", None)])
            assert items.get(NOTES, "k") is None
        put(items, NOTES, "k", {"content": "Back again"})
        engine.drain()
        assert values(items, NOTES) == [
            {"content": "Back again"},
            {"content": "My kettle is green"},
        ]
    remaining_bytes = read_home(home)
    assert (
        b"Zanzibar" not in remaining_bytes
        and b"Ouagadougou" not in remaining_bytes
        and b"Timbuktu" not in remaining_bytes
        and b"kettle" in remaining_bytes
    )


def test_what_is_forgotten_elsewhere_is_not_there(engine: MemoryEngine) -> None:
    """A value forgotten at another door is not returned;
    putting it again keeps the new one only.
    """
    items = NamespacedItems(engine, ANN, "t")
    put(items, NOTES, "k", {"content": "Ann plays the cello"})
    record = items.get(NOTES, "k")
    assert record is not None
    engine.forget(record.id, scope=ANN)
    assert items.get(NOTES, "k") is None and values(items, ()) == []
    put(items, NOTES, "k", {"content": "Ann plays the viola"})
    assert values(items, ()) == [{"content": "Ann plays the viola"}]


def test_a_refused_secret_is_told() -> None:
    """With ``write.secrets`` refuse a value with a secret raises instead of vanishing;
    with redact the value comes back without it.
    """
    key = "sk-proj-" + "a1B2c3D4e5F6g7H8" * 3
    for mode in ("refuse", "redact"):
        with temp_engine(jobs__workers=0, write__secrets=mode) as engine:
            items = NamespacedItems(engine, ANN, "t")
            if mode == "refuse":
                with pytest.raises(RefusedError):
                    put(items, NOTES, "k", {"content": f"The key is {key}"})
                assert items.get(NOTES, "k") is None
            else:
                put(items, NOTES, "k", {"content": f"The key is {key}"})
                assert values(items, NOTES) and key not in str(values(items, NOTES))


def test_edits_of_other_doors_are_in_the_value(home: Path) -> None:
    """A text that is edited elsewhere is so in the value, also rebuilt from the files alone, until
    the next put.
    """
    settings = {"home": str(home), "jobs__workers": 0, "vault__enabled": True, "vault__git": False}
    with engrams.open(**settings) as engine:
        items = NamespacedItems(engine, ANN, "t")
        put(items, NOTES, "k", {"content": "Ann plays the cello"})
        put(items, NOTES, "n", {"count": 3})
        engine.edit(items.get(NOTES, "k").id, scope=ANN, text="Ann plays the viola")  # type: ignore[union-attr]
        assert values(items, NOTES) == [{"count": 3}, {"content": "Ann plays the viola"}]
        put(items, NOTES, "k", {"content": "Ann plays the tuba"})
        assert values(items, NOTES) == [{"count": 3}, {"content": "Ann plays the tuba"}]
        admin.get_vault(engine).sync()
        (file,) = (path for path in home.rglob("*.md") if "kind: note" in path.read_text())
        head, _, body = file.read_text().rpartition("---")
        file.write_text(f"{head}---{body.replace('tuba', 'harp')}")
        admin.get_vault(engine).sync()
        assert values(items, NOTES) == [{"count": 3}, {"content": "Ann plays the harp"}]
    for path in home.glob("memory.db*"):
        path.unlink()
    with engrams.open(**settings) as engine:
        admin.get_vault(engine).sync()
        assert values(NamespacedItems(engine, ANN, "t"), NOTES) == [
            {"count": 3},
            {"content": "Ann plays the harp"},
        ]
