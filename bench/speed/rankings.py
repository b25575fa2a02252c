"""Rankings of a thousand searches, to compare two versions of the code.

``python -m bench.speed.rankings HOME FILE`` writes ids and scores that searches of every sort find
in a home; where FILE exists already, it compares with it and tells each search that found something
else, or in another order. Run it with the code before a change and after it.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import engrams
from bench.speed.corpus import Corpus
from bench.speed.timing import OWNER
from engrams.core import Kind
from engrams.testing import SettableClock

_NOW = datetime(2026, 3, 1, 9, tzinfo=UTC)
_DEEPER = (*OWNER, "project", "garden")
_SORTS: tuple[dict[str, Any], ...] = (
    {},
    {"as_of": "2024-09-01"},
    {"kinds": (Kind.FACT, Kind.PREFERENCE)},
    {"history": True},
    {"where": {"speaker": "Ada"}},
    {"limit": 40},
    {"scope": _DEEPER},
)
"""Sorts of searches, beside the plain one; each is asked one time in twenty."""


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.speed.rankings", description=__doc__)
    parser.add_argument(
        "home", help="home whose owner user/bench is searched (bench.speed.curve makes such ones)"
    )
    parser.add_argument("file", type=Path, help="rankings; compared with where it exists")
    parser.add_argument("--queries", type=int, default=1000, help="number of searches")
    given = parser.parse_args()
    found = [*_rank(given.home, given.queries)]
    if not given.file.exists():
        given.file.write_text(json.dumps(found, ensure_ascii=False, indent=0) + "\n", "utf-8")
        return
    before = json.loads(given.file.read_text("utf-8"))[: given.queries]
    other = [(one, two) for one, two in zip(before, found, strict=True) if one != two]
    for one, two in other[:5]:
        print(f"{one}\n{two}\n")
    print(f"{len(found) - len(other):,} of {len(found):,} searches found the same")
    sys.exit(bool(other))


def _rank(home: str, queries: int) -> Iterator[list[Any]]:
    texts = Corpus(seed=5).questions(queries)
    with engrams.open(
        home=home, clock=SettableClock(_NOW), jobs__workers=0, usage__enabled=False
    ) as memory:
        for number, text in enumerate(texts):
            sort = (
                {"scope": OWNER, **_SORTS[number % 20 % len(_SORTS)]}
                if number % 20 < len(_SORTS)
                else {"scope": OWNER}
            )
            result = memory.search(text, **sort)
            rows = [
                [
                    hit.record.id,
                    round(hit.score, 5),
                    str(hit.status),
                    [fact.id for fact in hit.facts],
                ]
                for hit in result.hits
            ]
            yield [
                text,
                rows,
                round(result.nearness, 5),
                result.abstain,
                [row.id for row in result.trace.rows],
            ]


if __name__ == "__main__":
    main()
