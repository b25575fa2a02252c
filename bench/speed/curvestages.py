"""Stages of the curve, each in a process of its own: ``python -m bench.speed.curvestages NAME
JSON`` prints one JSON object.

Nothing of engrams is imported before the clock starts: what opening takes has its imports in it, as
that of the peers has theirs.
"""

from __future__ import annotations

import json
import random
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bench.speed.corpus import Corpus

if TYPE_CHECKING:
    from engrams.engine import MemoryEngine

WARMING = 20
"""Searches before those that count."""
_VISITED = 100
"""Owners whose searches are timed."""


def _open(home: str, dimension: int) -> MemoryEngine:
    import engrams
    from bench.speed.large import WideEmbedder

    return engrams.open(
        home=home, embedder=WideEmbedder(dimension), jobs__workers=0, write__extract="off"
    )


def pick_owners(owners: int, count: int) -> list[int]:
    """Numbers of owners, a hundred different ones at most, by turns."""
    some = random.Random(5).sample(range(owners), min(owners, _VISITED))
    return [some[number % len(some)] for number in range(count)]


def first(home: str, dimension: int, owners: int, seed: int) -> dict[str, float]:
    """Open a home and search once."""
    from bench.speed.timing import take_medians, time_both

    question = Corpus(seed=3 + seed).questions(1)[0]
    owner = random.Random(seed).randrange(owners)
    held: list[MemoryEngine] = []
    opened = time_both(lambda: held.append(_open(home, dimension)))
    with held[0] as memory:
        found = time_both(lambda: memory.search(question, scope=("user", f"u{owner}")))
        return take_medians("open", [opened]) | take_medians("first", [found]) | read_memory()


def warm(home: str, dimension: int, owners: int, count: int) -> dict[str, float]:
    """Search, with what that takes in memory; then write and search in turn."""
    from bench.speed.timing import take_medians, time_both, to_turn

    questions = Corpus(seed=5).questions(2 * count + WARMING)
    lines = Corpus(seed=6).lines(count)
    visited = [("user", f"u{number}") for number in pick_owners(owners, count)]
    with _open(home, dimension) as memory:
        for place, question in enumerate(questions[2 * count :]):
            memory.search(question, scope=visited[place % count])
        visits = [
            time_both(lambda who=who, what=what: memory.search(what, scope=who))
            for who, what in _pair(visited, questions[count:])
        ]
        searches = [
            time_both(lambda who=who, what=what: memory.search(what, scope=who))
            for who, what in _pair(visited, questions)
        ]
        memory_mb = read_memory()
        adds = []
        reads = []
        for line, who, question in zip(lines, visited, questions[count:], strict=False):
            adds.append(
                time_both(
                    lambda line=line, who=who: memory.add(to_turn(line), scope=who, settle=False)
                )
            )
            reads.append(
                time_both(lambda who=who, question=question: memory.search(question, scope=who))
            )
    times = {"visit": visits, "search": searches, "after_write": reads, "add": adds}
    return memory_mb | {
        name: value
        for key, some in times.items()
        for name, value in take_medians(key, some).items()
    }


def _pair(
    visited: list[tuple[str, str]], questions: list[str]
) -> list[tuple[tuple[str, str], str]]:
    return list(zip(visited, questions, strict=False))


def read_memory(process: int | str = "self") -> dict[str, float]:
    """Resident memory of a process in MB, and the part that belongs to files.

    Zeros where the system does not tell.
    """
    try:
        lines = Path(f"/proc/{process}/status").read_text("utf-8").splitlines()
    except OSError:
        lines = []
    told = {
        line.split(":")[0]: int(line.split()[1]) * 1024 / 1e6
        for line in lines
        if line.startswith(("VmRSS", "RssFile"))
    }
    return {
        "resident_mb": round(told.get("VmRSS", 0), 1),
        "shared_mb": round(told.get("RssFile", 0), 1),
    }


STAGES: dict[str, Callable[..., dict[str, Any]]] = {"first": first, "warm": warm}

if __name__ == "__main__":
    print(json.dumps(STAGES[sys.argv[1]](**json.loads(sys.argv[2]))))
