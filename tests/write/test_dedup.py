"""Dedup: the same statement once; a number, name, date or negation makes another one."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from engrams.core import Kind, Record, Scope
from engrams.extract.candidate import CandidateStatement
from engrams.text.comparison.statement_comparison import differ_in_detail
from engrams.write.reconcile_rules import (
    find_exact,
    find_near_duplicate,
    jaccard,
)

SAID = datetime(2023, 5, 8, tzinfo=UTC)


def record(
    text: str, value: str = "x", predicate: str = "likes", subject: str = "user", **meta: object
) -> Record:
    return Record(
        id="r1",
        scope=Scope.of(("user", "alice")),
        kind=Kind.FACT,
        text=text,
        recorded_at=SAID,
        subject=subject,
        predicate=predicate,
        object=value,
        meta=meta,
    )


def candidate(
    text: str,
    value: str = "x",
    predicate: str = "likes",
    subject: str = "user",
    polarity: bool = True,
) -> CandidateStatement:
    return CandidateStatement(
        text, subject=subject, predicate=predicate, object=value, polarity=polarity, said_at=SAID
    )


@pytest.mark.covers("S4.23", "S1.16")
@pytest.mark.parametrize(
    ("old", "new"),
    [
        (
            record("The user lives in Berlin", "Berlin", "lives_in"),
            candidate("the user  lives in berlin", "Berlin", "lives_in"),
        ),
        (
            record("The user lives in Berlin", "Berlin", "lives_in"),
            candidate("The user moved to Berlin", "Berlin", "lives_in"),
        ),
        (
            record("The user loves dogs", "dogs"),
            candidate("The user likes a dog", "the dog", "loves"),
        ),
    ],
)
def test_the_same_statement_is_known(old: Record, new: CandidateStatement) -> None:
    """Equal words, or an equal subject, predicate and object, are the same statement."""
    assert find_exact(new, [old]) is old


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (
            record("The user loves pizza", "pizza"),
            candidate("The user hates pizza", "pizza", polarity=False),
        ),
        (
            record("The user loves pizza", "pizza"),
            candidate("Anna loves pizza", "pizza", subject="Anna"),
        ),
        (
            record("The user loves pizza", "pizza"),
            candidate("The user plays pizza", "pizza", "plays"),
        ),
        (
            record("The user no longer works at X", "X", "works_at", effect="ends"),
            candidate("The user works at X", "X", "works_at"),
        ),
    ],
)
def test_another_polarity_subject_or_predicate_is_another_statement(
    old: Record, new: CandidateStatement
) -> None:
    """A contrary, somebody else's, or what is over is not the same."""
    assert find_exact(new, [old]) is None


LONG = (
    "one of the seven books that the user keeps on the shelf beside the old green lamp in the hall"
    " is about whales and ships"
)
WORDS = LONG.split()


@pytest.mark.covers("S4.24")
def test_the_threshold_is_exact() -> None:
    """At an overlap of 0.85 a statement of the same triple is the same; just below it is new."""
    base = " ".join(f"w{letter}" for letter in "abcdefghijklmnopq")
    seventeen_of_twenty = f"{base} xa xb xc"
    assert jaccard(base, seventeen_of_twenty) == 0.85
    assert find_near_duplicate(candidate(seventeen_of_twenty), [record(base)], 0.85) is not None
    assert find_near_duplicate(candidate(f"{base} xa xb xc xd"), [record(base)], 0.85) is None
    assert find_near_duplicate(candidate(seventeen_of_twenty), [record(base)], 0.851) is None
    assert (
        find_near_duplicate(candidate(seventeen_of_twenty, predicate="plays"), [record(base)], 0.85)
        is None
    )


@pytest.mark.parametrize(
    ("change", "to"),
    [
        ("is", "is not"),
        ("seven", "nine"),
        ("old green", "1950 green"),
        ("whales", "Anna whales"),
        ("keeps", "never keeps"),
        ("hall", "hall since March"),
    ],
)
def test_small_words_that_change_everything_keep_statements_apart(change: str, to: str) -> None:
    """However alike, a difference in a negation, number, name or date makes a new statement."""
    assert differ_in_detail(LONG, LONG.replace(change, to))
    assert find_near_duplicate(candidate(LONG.replace(change, to)), [record(LONG)], 0.5) is None
    assert (
        find_near_duplicate(candidate(LONG.replace("old", "ancient")), [record(LONG)], 0.85)
        is not None
    )


def test_names_and_numbers_in_another_order_are_a_distinct_detail() -> None:
    """Who lent to whom, and from what to what, is no detail to drop;
    other words may change places.
    """
    assert differ_in_detail("Tilda lent Ruth her red bicycle.", "Ruth lent Tilda her red bicycle.")
    assert differ_in_detail("We went from 3 to 5 nodes.", "We went from 5 to 3 nodes.")
    known = [record("The user moved from Postgres to Oracle")]
    assert find_near_duplicate(candidate("The user moved from Oracle to Postgres"), known) is None
    assert not differ_in_detail("Now I live in Bergen.", "I live in Bergen now.")
    assert not differ_in_detail("The team has 5.", "The team has 5")


@pytest.mark.covers("S4.38")
@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("我住在北京的一个小公寓里面", "我住在北京的一个小公寓里"),
        ("Я люблю читать книги по вечерам дома", "я люблю читать книги по вечерам дома!"),
        ("Ich trinke gern schwarzen Kaffee", "ich trinke gern schwarzen kaffee"),
    ],
)
def test_other_scripts_overlap_too(one: str, other: str) -> None:
    """Chinese, Cyrillic and accented texts have words to compare."""
    assert jaccard(one, other) >= 0.85
    assert jaccard(one, "nothing of the kind") == 0
    assert jaccard("", "") == 0
