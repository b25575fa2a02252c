"""What a Python program writes with the engine: roles, filters, contexts of a part, purges of a person."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import engrams
from engrams import MemoryEngine, Turn
from engrams.errors import InputError, SettingsError
from engrams.testing import temp_engine
from engrams.types import Kind

ANN = ("user", "ann")
BOB = ("user", "bob")


@pytest.fixture
def memory() -> Iterator[MemoryEngine]:
    with temp_engine() as opened:
        yield opened


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("human", "user"),
        ("ai", "assistant"),
        ("bot", "assistant"),
        ("developer", "system"),
        ("function", "tool"),
        ("model", "assistant"),
        ("User", "user"),
    ],
)
def test_roles_of_other_libraries_are_understood(
    memory: MemoryEngine, written: Any, meant: str
) -> None:
    """A role as LangChain and others name it is stored as the one that engrams knows."""
    receipt = memory.add(Turn("I live in Bath.", role=written), scope=ANN)
    (several,) = memory.observe([Turn("I play the oboe.", role=written)], scope=ANN)
    assert memory.get(receipt.id, scope=ANN).role == meant
    assert memory.get(several.id, scope=ANN).role == meant


def test_a_person_is_learned_from_by_any_name_of_the_role(memory: MemoryEngine) -> None:
    """What a "human" says is learned from as what a user says."""
    memory.add(Turn("I live in Bath.", role="human"), scope=ANN)  # type: ignore[arg-type]
    assert [fact.object for fact in memory.list(scope=ANN, kinds=["fact"]).records] == ["Bath"]


def test_a_page_of_a_list_is_gone_through_as_it_is(memory: MemoryEngine) -> None:
    """``for record in memory.list(…)`` yields the records of that page; an empty page is false."""
    assert not memory.list(scope=ANN)
    for text in ("I keep bees.", "I keep goats.", "I keep ducks."):
        memory.add(text, scope=ANN)
    page = memory.list(scope=ANN, limit=2)
    assert [record.text for record in page] == ["I keep ducks.", "I keep goats."]
    assert len(page) == 2
    assert [record.text for record in memory.list(scope=ANN, limit=2, after=page.next)] == [
        "I keep bees."
    ]


def test_a_folder_in_the_place_of_settings_is_refused(tmp_path: Path) -> None:
    """The error names how to give the home folder."""
    with pytest.raises(SettingsError, match="Settings are needed") as raised:
        engrams.open(str(tmp_path))  # type: ignore[arg-type]
    assert "home=" in str(raised.value.hint)


def test_an_unknown_role_is_refused(memory: MemoryEngine) -> None:
    """A role that nobody knows stores nothing; the error names the roles."""
    for store in (
        lambda turn: memory.add(turn, scope=ANN),
        lambda turn: memory.observe([turn], scope=ANN),
    ):
        with pytest.raises(InputError, match="banana") as caught:
            store(Turn("I live in Bath.", role="banana"))  # type: ignore[arg-type]
        assert "user" in caught.value.hint and "assistant" in caught.value.hint
    assert memory.list(scope=ANN).records == ()


def test_operators_in_a_filter(memory: MemoryEngine) -> None:
    """A dict of operators compares, as other memories write it."""
    for size in range(4):
        memory.add(Turn(f"Box {size} is in the cellar.", meta={"size": size}), scope=ANN)

    def sizes(where: dict[str, Any]) -> set[int]:
        found = memory.list(scope=ANN, kinds=["turn"], where=where).records
        return {record.meta["size"] for record in found}

    assert sizes({"meta.size": {"gte": 2}}) == {2, 3}
    assert sizes({"meta.size": {"gt": 0, "lt": 3}}) == {1, 2}
    assert sizes({"meta.size": {"in": [0, 3]}}) == {0, 3}
    hits = memory.search("box", scope=ANN, where={"meta.size": {"lte": 0}}).hits
    assert {hit.record.meta["size"] for hit in hits} == {0}


@pytest.mark.parametrize("operand", [{"like": 1}, {"gte": 1, "about": 2}, {}])
def test_an_unknown_operator_is_refused(memory: MemoryEngine, operand: dict[str, Any]) -> None:
    """An operator that does not exist is an error that names those that do."""
    for read in (
        lambda where: memory.search("box", scope=ANN, where=where),
        lambda where: memory.list(scope=ANN, where=where),
    ):
        with pytest.raises(InputError) as caught:
            read({"meta.size": operand})
        assert "gte" in caught.value.hint


def test_what_is_learned_has_the_metadata_of_its_message(memory: MemoryEngine) -> None:
    """A fact is found by the sender's metadata, as its message is."""
    memory.add(Turn("I'm allergic to nuts.", meta={"product": "T2"}), scope=ANN)
    memory.observe([Turn("I live in Bath.", meta={"product": "T3"})], scope=ANN)
    memory.drain()
    only_t2 = {"meta.product": "T2"}
    (hit,) = memory.search("allergies", scope=ANN, kinds=[Kind.FACT], where=only_t2).hits
    assert hit.record.object == "nuts"
    assert [
        fact.object for fact in memory.list(scope=ANN, kinds=["fact"], where=only_t2).records
    ] == ["nuts"]


def test_a_context_of_one_product(memory: MemoryEngine) -> None:
    """Nothing of a context with a filter is from elsewhere: neither profile nor hits nor messages."""
    for product, fruit in (("T2", "plums"), ("T3", "figs")):
        for text in (f"I am allergic to {fruit}.", f"The {fruit} order was sent back on Monday."):
            memory.add(Turn(text, meta={"product": product}, session=product), scope=ANN)
    memory.drain()
    context = memory.context(
        "What am I allergic to, and which order was sent back?",
        scope=ANN,
        session="T3",
        where={"meta.product": "T2"},
    )
    assert "plums" in context.prefix and "plums order" in context.text
    assert "figs" not in context.text
    assert "figs" in memory.context("What am I allergic to?", scope=ANN).text


def test_everything_of_a_person_is_erased(memory: MemoryEngine, tmp_path: Path) -> None:
    """One call erases all memories of an owner, of every status and scope, and proves it; others
    keep theirs.
    """
    with engrams.open(home=tmp_path / "home", jobs__workers=0) as home:
        for number in range(3):
            home.add(f"Zanzibar {number} is my code word.", scope=(*ANN, "project", f"p{number}"))
        forgotten = home.add("My zanzibar is lost.", scope=ANN)
        home.forget(forgotten.id, scope=ANN)
        home.add("I live in Bath.", scope=BOB)
        report = home.purge_all(ANN)
        assert report.proven, (report.remaining, report.places)
        assert [
            record.status
            for record in home.list(scope=ANN, statuses=["active", "forgotten"]).records
        ] == []
        assert home.list(scope=BOB).records != ()
        assert home.purge_all(ANN).proven, "a second call finds nothing and says so"
    words = b"".join(path.read_bytes() for path in (tmp_path / "home").rglob("*") if path.is_file())
    assert b"zanzibar" not in words.lower()


def test_a_part_of_a_person_is_erased(memory: MemoryEngine) -> None:
    """With a deeper scope only that part goes."""
    memory.add("The shed is green.", scope=(*ANN, "project", "shed"))
    memory.add("The boat is red.", scope=ANN)
    memory.purge_all((*ANN, "project", "shed"))
    assert [
        record.text
        for record in memory.list(scope=(*ANN, "project", "shed"), kinds=["note"]).records
    ] == ["The boat is red."]
