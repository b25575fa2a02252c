"""Look at the files of search indexes:
the answers with them and without, and what is left in them of what was purged.
"""

from __future__ import annotations

import random
import shutil
from collections.abc import Iterable, Iterator
from contextlib import closing, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
from tests.campaign.ledger import OWNERS, Expected, owner_of, query_for, text_of
from tests.campaign.process import ask
from tests.campaign.world import World

import engrams
from engrams import encryption
from engrams.core import Scope
from engrams.index.segment_file import SegmentFileError, map_segment
from engrams.models.embed.static import BuiltinEmbedder
from engrams.ports import CandidatePool, CandidateSearchQuery, ScopeReach
from engrams.settings import StoreSettings
from engrams.store.sqlite import SqliteStore
from engrams.store.sqlite.index_file_folder import name_owner
from engrams.text.terms import terms

MOMENT = datetime(2040, 1, 1, tzinfo=UTC)
"""Time of the searches that are compared: nothing expires between two of them."""
FLOATS = (
    "cos",
    "cosctx",
    "cosnext",
    "bm",
    "bmctx",
    "bmses",
    "times",
    "words",
    "importance",
    "confidence",
)
NEAR = 2e-4
"""Largest difference of scores that were summed in another order."""
_DEPTH = 1000
"""Hits of a search for a key: memories are much alike, and long ones rank behind short ones."""
_ASKED = 8
"""Keys that a look asks for, each in the state that it should be in, and as many queries that are
compared.
"""


def folder_of(home: Path) -> Path:
    return home / "memory.db.index"


def files_of(home: Path, owner: str = "") -> list[Path]:
    """Index files of a home, finished ones and others."""
    stem = name_owner(f"user/{owner}") if owner else ""
    with suppress(OSError):
        return sorted(path for path in folder_of(home).iterdir() if path.name.startswith(stem))
    return []


def verify(world: World, place: Path, *, exact: bool) -> list[str]:
    """Look at copies of a home that nobody uses; what is wrong, in words.

    ``exact``: its vectors are not coded, and scores are the same whoever built the index.
    """
    if not (world.home / "memory.db").exists():
        return []
    expected = world.ledger.expect()
    mapped = world.copy(place / "mapped")
    bare = world.copy(place / "bare")
    for one in (mapped, bare):
        one.dice = random.Random(f"{world.number}")
    remove_files(bare.home)
    try:
        return [
            *_problems(
                ask(
                    lambda: [
                        *_traces(mapped.home, expected),
                        *(_compare(mapped, bare) if exact else ()),
                    ]
                ),
                "compare",
            ),
            *_problems(ask(lambda: [*_ask_for_keys(mapped, expected)]), "search"),
        ]
    finally:
        for one in (mapped, bare):
            shutil.rmtree(one.home, ignore_errors=True)


def remove_files(home: Path) -> None:
    path = folder_of(home)
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def _problems(told: Any, what: str) -> list[str]:
    if isinstance(told, dict):
        return [f"{what}: {told.get('raised') or told.get('hung')}"]
    return [f"{what}: {problem}" for problem in told]


# --------------------------------------------------------------------------------------------------
# answers


def _compare(mapped: World, bare: World) -> Iterator[str]:
    """Compare the scores of every candidate with those of an index that was built from the store."""
    for owner in OWNERS:
        yield from (
            f"{owner}, {problem}"
            for problem in differences(pools(mapped, owner), pools(bare, owner))
        )


def differences(one: Iterable[CandidatePool], other: Iterable[CandidatePool]) -> list[str]:
    """The first difference of each pair of pools."""
    found = [_differ(first, second) for first, second in zip(one, other, strict=True)]
    return [f"query {number}: {problem}" for number, problem in enumerate(found) if problem]


def _open(home: Path) -> SqliteStore:
    return SqliteStore.open(home / "memory.db", StoreSettings(), lambda: MOMENT)


def pools(world: World, owner: str, store: Any = None) -> Iterator[CandidatePool]:
    """Candidates of queries that are the same for the same content:
    words and vectors of records.
    """
    who = Scope(("user", owner))
    with closing(_open(world.home)) as own:
        reach = ScopeReach(who, (who,), tree=True)
        with own._database.reading() as connection:
            rows = connection.execute(_VECTORS, (who.key,)).fetchall()
        for number, (text, model, data) in enumerate(
            world.dice.sample(rows, min(_ASKED, len(rows)))
        ):
            vector = np.frombuffer(data, np.float32)
            query = CandidateSearchQuery(
                reach, MOMENT, _weigh(text), vector=vector, model=model, history=bool(number % 2)
            )
            yield (store or own).seek(query)


_VECTORS = """SELECT r.text, m.name, v.data
FROM records AS r JOIN vectors AS v ON v.record = r.number JOIN models AS m ON m.id = v.model
WHERE r.owner = ? AND r.status = 'active' ORDER BY r.number"""


def _weigh(text: str) -> tuple[tuple[str, float], ...]:
    return tuple((term, 1.0) for term in [*dict.fromkeys(terms(text))][:6])


def _differ(one: CandidatePool, other: CandidatePool) -> str:
    """The first difference of two pools, whatever their order."""
    if set(one.ids) != set(other.ids) or one.total != other.total:
        return (
            f"{len(one.ids)} candidates of {one.total} with the file, {len(other.ids)} of"
            f" {other.total} without"
        )
    places = [other.ids.positions[name] for name in one.ids]
    for name in FLOATS:
        far = np.abs(getattr(one, name) - getattr(other, name)[places])
        if far.size and far.max() > NEAR:
            place = int(far.argmax())
            return (
                f"{name} of {one.ids[place]} is {getattr(one, name)[place]} with the file,"
                f" {getattr(other, name)[places][place]} without"
            )
    voices = [[pool.voices[code] for code in pool.voice] for pool in (one, other)]
    if voices[0] != [voices[1][place] for place in places]:
        return "another speaker"
    return ""


def _ask_for_keys(world: World, expected: Expected) -> Iterator[str]:
    with world.open() as memory:
        yield from ask_for_keys(world, memory, expected)


def ask_for_keys(world: World, memory: engrams.MemoryEngine, expected: Expected) -> Iterator[str]:
    """Ask for some keys, each by the query that only it answers."""
    gone = (expected.purged - expected.returning) | (expected.forgotten - expected.unsure)
    for keys, there in ((expected.active, True), (gone, False)):
        for key in world.dice.sample(sorted(keys), min(_ASKED, len(keys))):
            found = memory.search(query_for(key), scope=("user", owner_of(key)), limit=_DEPTH)
            if any(key in hit.record.text.split() for hit in found.hits) != there:
                yield f"{key} is {'not ' if there else ''}found among {len(found.hits)} hits"


# --------------------------------------------------------------------------------------------------
# traces


def _traces(home: Path, expected: Expected) -> Iterator[str]:
    """Find what is left of purged memories:
    letters in any file; ids, numbers of words and vectors in those of indexes.
    """
    gone = sorted(expected.purged - expected.left - expected.returning - expected.unsure)
    words = [*map(str.encode, gone)]
    for path in sorted(home.rglob("*")):
        if path.is_file() and not path.is_symlink() and ".git" not in path.parts:
            data = path.read_bytes()
            if held := [word.decode() for word in words if word in data]:
                yield f"{path.relative_to(home)} holds {held[:5]}, which were purged"
    files = [path for path in files_of(home) if path.is_file()]
    if encryption.find_keys(home) is not None:
        yield from (f"{path.name} stands in an encrypted home" for path in files)
    elif files:
        with (
            closing(SqliteStore.open(home / "memory.db", StoreSettings(), lambda: MOMENT)) as store,
            store._database.reading() as connection,
        ):
            ids, numbers, vectors, marks = (
                {value for (value,) in connection.execute(statement)} for statement in _HELD
            )
        made = (
            {row.tobytes() for row in BuiltinEmbedder().embed([text_of(key) for key in gone])}
            - vectors
            if gone
            else set()
        )
        for path in files:
            # A file that a purge could not remove, and said so, counts no more.
            if (
                not (expected.left or expected.purging - expected.purged)
                or _read_mark(path) in marks
            ):
                yield from _traces_in(path, ids, numbers, made)


_MARKS = "SELECT value FROM counters WHERE name LIKE 'index %'"
_HELD = (
    "SELECT id FROM records WHERE status = 'purged'",
    "SELECT id FROM lexicon",
    "SELECT data FROM vectors",
    _MARKS,
)


def _read_mark(path: Path) -> int:
    """Mark of an index file; 0 where it is damaged."""
    with suppress(OSError, SegmentFileError, ValueError, KeyError):
        return int(map_segment(path).notes["key"][3])
    return 0


def _traces_in(path: Path, ids: set[str], numbers: set[int], vectors: set[bytes]) -> Iterator[str]:
    """Find purged ids and vectors in the bytes of an index file, and numbers of words that the
    store has no more.
    """
    data = path.read_bytes()
    if held := [name for name in ids if name.encode() in data]:
        yield f"{path.name} holds {len(held)} ids of purged memories, as {held[0]}"
    if left := sum(vector in data for vector in vectors):
        yield f"{path.name} holds {left} vectors of purged memories"
    with suppress(OSError, SegmentFileError, ValueError, KeyError):
        arrays = map_segment(path).arrays
        if "terms" in arrays and (unknown := set(arrays["terms"].tolist()) - numbers):
            yield f"{path.name} holds {len(unknown)} numbers of words that the store has no more"
