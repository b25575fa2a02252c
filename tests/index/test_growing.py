"""What was gathered of a view grows with what is added, loses what ends, and is gathered anew after
anything else.
"""

from __future__ import annotations

import random
from dataclasses import fields, replace

import numpy as np
import pytest
from tests.index.test_index import DIMENSION, NOW, OWNER, corpus, filled, row, seek

from engrams.core import Kind
from engrams.core.id_sequence import IdSequence
from engrams.index import IndexRow, OwnerSearchIndex, QueryWords, candidate_view
from engrams.ports import CandidatePool, ScopeReach

WORDS = QueryWords([(3, 1.0), (7, 1.0)])
SEEKS = (
    seek(),
    seek(kinds=(Kind.TURN,)),
    seek(reach=ScopeReach(OWNER, (OWNER,))),
    seek(history=True),
)


def same(pool: CandidatePool, expected: CandidatePool) -> None:
    """Two pools tell the same of the same candidates."""
    assert list(pool.ids) == list(expected.ids) and dict(pool.ids.positions) == dict(
        expected.ids.positions
    )
    for column in fields(CandidatePool):
        values = getattr(pool, column.name)
        right = getattr(expected, column.name)
        if isinstance(values, np.ndarray) and column.name != "voice":
            np.testing.assert_allclose(values, right, atol=1e-5, err_msg=column.name)


def copied(pool: CandidatePool) -> CandidatePool:
    """A pool with ids and arrays of its own."""
    values = {column.name: getattr(pool, column.name) for column in fields(CandidatePool)}
    arrays = {name: value.copy() for name, value in values.items() if isinstance(value, np.ndarray)}
    return replace(pool, ids=IdSequence(list(pool.ids)), **arrays)


@pytest.mark.parametrize("seed", range(4))
def test_a_view_that_grew_tells_what_a_fresh_one_does(seed: int) -> None:
    """Reads between additions, changes of state, new texts and removals, in any order:
    always as if all had been there at once.
    """
    dice = random.Random(seed)
    rows: dict[int, IndexRow] = {each.rowid: each for each in corpus(60, seed)}
    index = OwnerSearchIndex(DIMENSION)
    index.updates.apply(list(rows.values()))
    change = 1000
    earlier: list[tuple[CandidatePool, CandidatePool]] = []
    for _ in range(25):
        for request in dice.sample(SEEKS, 2):
            pool = index.pool(request, WORDS, None, 10**6)
            earlier.append((pool, copied(pool)))
        number = max(rows) + 1
        change = change + 10
        match dice.randrange(6):
            case 0:
                old = dice.choice(list(rows))
                rows[old] = rows[old]._replace(changed=change, status="superseded")
                index.updates.apply([rows[old]])
            case 1:
                old = dice.choice(list(rows))
                rows[old] = rows[old]._replace(
                    changed=change, lexemes=np.array([3, 9], np.uint32).tobytes()
                )
                index.updates.apply([rows[old]])
            case 2:
                old = dice.choice(list(rows))
                index.updates.apply([rows[old]._replace(changed=change, status="forgotten")])
                del rows[old]
            case _:
                sessions = ("s", "t", "")
                fresh = [
                    row(
                        number + more,
                        [dice.randrange(1, 30) for _ in range(5)],
                        session=dice.choice(sessions),
                        changed=change + more,
                    )
                    for more in range(dice.randrange(1, 4))
                ]
                rows.update({each.rowid: each for each in fresh})
                index.updates.apply(fresh)
    for pool, before in earlier:
        same(pool, before)
    for request in SEEKS:
        grown = index.pool(request, WORDS, None, 10**6)
        index._views.clear()
        same(grown, index.pool(request, WORDS, None, 10**6))


@pytest.mark.parametrize("seed", range(4))
def test_a_view_that_lost_some_keeps_the_rest(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Statements that end, or are believed less, between two reads cost no new look at all the
    others, and each read is as a fresh one.
    """
    dice = random.Random(seed)
    rows: dict[int, IndexRow] = {each.rowid: each for each in corpus(80, seed)}
    index = OwnerSearchIndex(DIMENSION)
    index.updates.apply(list(rows.values()))
    for request in SEEKS:
        index.pool(request, WORDS, None, 10**6)
    looked: list[int] = []
    gather = candidate_view.gather
    monkeypatch.setattr(
        candidate_view,
        "gather",
        lambda columns, slots: looked.append(len(slots)) or gather(columns, slots),
    )
    for step in range(1, 20):
        some = dice.sample([each for each in rows.values() if each.status == "active"], 2)
        ended = some[0]._replace(changed=1000 * step, status="superseded")
        doubted = some[1]._replace(changed=1000 * step + 1, confidence=0.3)
        fresh = [
            row(
                max(rows) + 1,
                [3, dice.randrange(1, 30)],
                session=dice.choice(("s", "")),
                changed=1000 * step + 2,
            )
        ]
        changed = [ended, doubted, *fresh[: dice.randrange(2)]]
        rows |= {each.rowid: each for each in changed}
        index.updates.apply(changed)
        looked.clear()
        pools = [index.pool(request, WORDS, None, 10**6) for request in SEEKS]
        assert max(looked, default=0) <= 2
        views = index._views
        index._views = {}
        for request, pool in zip(SEEKS, pools, strict=True):
            same(pool, index.pool(request, WORDS, None, 10**6))
        index._views = views


def test_what_runs_out_meanwhile_is_gathered_anew() -> None:
    """A statement whose time ends between two reads leaves the view, additions or not."""
    ends = row(1, [3], valid_to=int(NOW.timestamp() * 1e6) + 5_000_000)
    index = filled([ends, row(2, [3])])
    assert len(index.pool(seek(), WORDS, None, 100).ids) == 2
    index.updates.apply([row(3, [3])])
    later = replace(seek(), now=NOW.replace(second=10))
    assert list(index.pool(later, WORDS, None, 100).ids) == ["m2", "m3"]
