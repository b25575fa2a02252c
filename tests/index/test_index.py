"""The in-memory index: the same scores as a plain computation, however it was filled."""

from __future__ import annotations

import math
import random
from datetime import UTC, datetime

import numpy as np
import pytest

from engrams.core import Kind, Scope
from engrams.index import IndexRow, OwnerSearchIndex, QueryWords
from engrams.ports import AsOf, CandidateSearchQuery, ScopeReach

OWNER = Scope(("user", "ann"))
EVERYTHING = ScopeReach(OWNER, (OWNER,), tree=True)
NOW = datetime(2026, 1, 1, tzinfo=UTC)
DIMENSION = 8


def row(number: int, terms: list[int], **changes: object) -> IndexRow:
    """A turn of session s, said ``number`` seconds after 1970."""
    rng = np.random.default_rng(number)
    vector = rng.standard_normal(DIMENSION).astype(np.float32)
    vector /= np.linalg.norm(vector)
    values: dict[str, object] = {
        "rowid": number,
        "changed": number,
        "id": f"m{number}",
        "scope": OWNER.key,
        "session": "s",
        "kind": "turn",
        "status": "active",
        "speaker": "Ann" if number % 2 else "Bob",
        "said_at": number * 1_000_000,
        "valid_from": None,
        "valid_to": None,
        "recorded_at": number * 1_000_000,
        "retired_at": None,
        "ended_at": None,
        "words": len(terms),
        "question": 0,
        "dated": 0,
        "importance": 0.5,
        "confidence": 1.0,
        "lexemes": np.array(terms, np.uint32).tobytes(),
        "vector": vector.tobytes(),
        "role": "user",
        "triggered": 0,
    }
    values.update(changes)
    return IndexRow(**values)  # type: ignore[arg-type]


def corpus(count: int, seed: int = 0) -> list[IndexRow]:
    rng = random.Random(seed)
    return [
        row(
            number,
            [rng.randrange(1, 30) for _ in range(rng.randrange(1, 15))],
            session=rng.choice(["s", "t", ""]),
        )
        for number in range(1, count + 1)
    ]


def seek(**changes: object) -> CandidateSearchQuery:
    vector = np.ones(DIMENSION, np.float32) / np.float32(math.sqrt(DIMENSION))
    values: dict[str, object] = {"reach": EVERYTHING, "now": NOW, "vector": vector, "model": "m"}
    return CandidateSearchQuery(**(values | changes))  # type: ignore[arg-type]


def scores(
    index: OwnerSearchIndex,
    terms: list[tuple[int, float]],
    request: CandidateSearchQuery | None = None,
    limit: int = 10**6,
) -> dict[str, tuple[float, ...]]:
    pool = index.pool(request or seek(), QueryWords(terms), None, limit)
    columns = zip(pool.cos, pool.cosctx, pool.bm, pool.bmctx, pool.bmses, strict=True)
    return {
        name: tuple(float(value) for value in values)
        for name, values in zip(pool.ids, columns, strict=True)
    }


def filled(rows: list[IndexRow]) -> OwnerSearchIndex:
    index = OwnerSearchIndex(DIMENSION)
    index.updates.apply(rows)
    return index


@pytest.mark.parametrize("size", [120, 900])
def test_row_by_row_equals_all_at_once(size: int) -> None:
    """Filling the index turn by turn gives the scores of filling it in one go, also in its form as
    a file.
    """
    rows = corpus(size)
    index = OwnerSearchIndex(DIMENSION)
    for row in rows:
        index.updates.apply([row])
    expected = scores(filled(rows), [(3, 1.0), (7, 1.0)])
    read = scores(index, [(3, 1.0), (7, 1.0)])
    for pool_scores in (
        read,
        scores(OwnerSearchIndex.from_segment(index.state.dump()), [(3, 1.0), (7, 1.0)]),
    ):
        assert pool_scores.keys() == expected.keys()
        for name, values in pool_scores.items():
            assert values == pytest.approx(expected[name], abs=1e-5)


def test_cosines_are_those_of_the_vectors() -> None:
    """The plain cosine is the dot product;
    the windowed one is that of the weighted sum of three turns.
    """
    rows = [row(number, [1]) for number in (1, 2, 3)]
    vectors = [np.frombuffer(each.vector or b"", np.float32) for each in rows]
    query = seek().vector
    assert query is not None
    pool_scores = scores(filled(rows), [])
    assert pool_scores["m3"][0] == pytest.approx(float(vectors[2] @ query), abs=1e-6)
    window = vectors[2] + 0.7 * vectors[1] + 0.5 * vectors[0]
    assert pool_scores["m3"][1] == pytest.approx(
        float(window @ query / np.linalg.norm(window)), abs=1e-6
    )


def test_bm25_is_the_formula_over_what_is_in_reach() -> None:
    """BM25 uses the statistics of the reach, and is divided by the most the query could score."""
    rows = corpus(60)
    mine = [each for each in rows if each.rowid % 3]
    index = filled(
        [each if each.rowid % 3 else each._replace(scope=f"{OWNER.key}/project/x") for each in rows]
    )
    pool_scores = scores(index, [(5, 1.0), (9, 1.0)], seek(reach=ScopeReach(OWNER, (OWNER,))))
    assert set(pool_scores) == {each.id for each in mine}
    texts = {each.id: np.frombuffer(each.lexemes, np.uint32).tolist() for each in mine}
    lengths = {name: len(words) for name, words in texts.items()}
    average = sum(lengths.values()) / len(lengths)
    spread = float(np.std(list(lengths.values()))) / average
    b = 0.25 if spread < 1 and average < 40 else 0.75
    idf = {}
    for term in (5, 9):
        frequency = sum(term in words for words in texts.values())
        idf[term] = math.log(1 + (len(texts) - frequency + 0.5) / (frequency + 0.5))
    for name, words in texts.items():
        scale = 0.9 * (1 - b + b * lengths[name] / average)
        want = sum(
            idf[term] * words.count(term) / (words.count(term) + scale) for term in idf
        ) / sum(idf.values())
        assert pool_scores[name][2] == pytest.approx(want, abs=1e-5)


def test_large_scopes_keep_the_best_of_each_source() -> None:
    """Above the exact limit the pool is small, and what it holds has the scores of the exact one."""
    index = filled(corpus(500))
    exact = scores(index, [(3, 1.0), (7, 1.0)])
    best = scores(index, [(3, 1.0), (7, 1.0)], seek(width=20), limit=100)
    assert 20 <= len(best) < 200
    assert max(exact, key=lambda name: exact[name][0]) in best
    assert max(exact, key=lambda name: exact[name][2]) in best
    for name, values in best.items():
        assert values == pytest.approx(exact[name], abs=1e-5)


def test_a_removed_record_is_gone_and_lends_nothing() -> None:
    """A forgotten turn is not found, and the turns after it are scored as if it had not been said,
    as in an index built later.
    """
    rows = [row(number, [number]) for number in (1, 2, 3)]
    index = filled(rows)
    index.updates.apply([row(2, [2], changed=4, status="forgotten")])
    pool_scores = scores(index, [(2, 1.0)])
    assert set(pool_scores) == {"m1", "m3"}
    first, third = (np.frombuffer(rows[number].vector or b"", np.float32) for number in (0, 2))
    window = third + 0.7 * first
    query = seek().vector
    assert pool_scores["m3"][1] == pytest.approx(
        float(window @ query / np.linalg.norm(window)), abs=1e-6
    )
    assert pool_scores["m3"][3] == 0
    assert pool_scores == scores(filled([rows[0], rows[2]]), [(2, 1.0)])
    index.updates.apply([row(2, [2], changed=5)])
    back = scores(index, [(2, 1.0)])
    anew = scores(filled(rows), [(2, 1.0)])
    assert all(back[name] == pytest.approx(values, abs=1e-6) for name, values in anew.items())


def test_an_edited_record_takes_its_old_place() -> None:
    """After an edit the new words are found, the old ones are not, and the session's order is kept."""
    index = filled([row(number, [number]) for number in (1, 2, 3)])
    index.updates.apply([row(2, [9], changed=4)])
    assert scores(index, [(2, 1.0)])["m2"][2] == 0
    pool_scores = scores(index, [(9, 1.0)])
    assert pool_scores["m2"][2] > 0
    assert pool_scores["m3"][3] > 0, "the turn after it sees the new words in its window"
    assert len(index) == 3


@pytest.mark.covers("S4.28")
def test_status_and_times_decide_what_is_seen() -> None:
    """Superseded records are not seen now, are seen as of a time when they held, and never before
    they were known.
    """
    second = 1_000_000
    index = filled(
        [
            row(
                100,
                [1],
                status="superseded",
                valid_from=100 * second,
                valid_to=200 * second,
                ended_at=200 * second,
            ),
            row(200, [1], valid_from=200 * second),
            row(300, [1], status="archived", retired_at=400 * second),
        ]
    )

    def at(valid: int, known_at: int) -> set[str]:
        moment = AsOf(datetime.fromtimestamp(valid, UTC), datetime.fromtimestamp(known_at, UTC))
        return set(scores(index, [(1, 1.0)], seek(as_of=moment)))

    assert set(scores(index, [(1, 1.0)])) == {"m200"}
    assert at(150, 150) == {"m100"}
    assert at(250, 250) == {"m200"}
    assert at(250, 150) == {"m100"}, "what we believed before we learned of the change"
    assert at(150, 250) == {"m100"}, "what we know now about then"
    assert at(350, 350) == {"m200", "m300"}
    assert at(50, 50) == set()
    assert set(scores(index, [(1, 1.0)], seek(history=True))) == {"m100", "m200", "m300"}


def test_kinds_scopes_and_filters_narrow_the_reach() -> None:
    """Only what is of the kind, in the scope and among the allowed rows is a candidate."""
    index = filled(
        [row(1, [1]), row(2, [1], kind="fact"), row(3, [1], scope=f"{OWNER.key}/project/x")]
    )
    assert set(scores(index, [(1, 1.0)], seek(kinds=(Kind.FACT,)))) == {"m2"}
    assert set(
        scores(
            index,
            [(1, 1.0)],
            seek(reach=ScopeReach(OWNER, (Scope((*OWNER.labels, "project", "x")),))),
        )
    ) == {"m3"}
    pool = index.pool(seek(), QueryWords([(1, 1.0)]), np.array([1, 3]), 100)
    assert set(pool.ids) == {"m1", "m3"}


def test_an_index_knows_of_triggers() -> None:
    """A search looks for triggered rules only where some record has a trigger;
    the index file says so too.
    """
    index = filled([row(1, [1])])
    assert not index.pool(seek(), QueryWords(), None, 10).has_triggers
    index.updates.apply([row(1, [1], triggered=1)])
    assert index.pool(seek(), QueryWords(), None, 10).has_triggers
    assert (
        OwnerSearchIndex.from_segment(index.state.dump())
        .pool(seek(), QueryWords(), None, 10)
        .has_triggers
    )


def test_empty_and_unknown_ask_for_nothing() -> None:
    """An empty index, unknown words, records without words or vectors: no error, zero scores."""
    assert scores(OwnerSearchIndex(DIMENSION), [(1, 1.0)]) == {}
    index = filled([row(1, [], vector=None), row(2, [4], vector=b"\0" * 12)])
    pool = index.pool(seek(), QueryWords([(99, 1.0)], 2.0), None, 100)
    assert sorted(pool.ids) == ["m1", "m2"]
    assert not pool.bm.any()
    assert not pool.embedded.any()
    assert not pool.cos.any()
