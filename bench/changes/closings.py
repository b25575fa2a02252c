"""List what the detector closes or marks in real conversations: ``python -m bench.changes.closings
DATA.json… [--set name=value]``.

Each conversation is told to a fresh memory; what was closed or marked is listed in
``bench/out/closings.tsv`` (data set, conversation, closed or marked, probability, day and text of
the older and of the newer statement), for somebody to read, and counted.
"""

from __future__ import annotations

import argparse
import csv
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, TypeAlias

from bench.quality.data import Talk, load_dataset
from bench.quality.systems import OWNER, EngramsSystem, make_embedder
from engrams import MemoryEngine
from engrams.core import EdgeType, Kind, Record, Status

OUT = Path("bench/out/closings.tsv")
_ENDS = (EdgeType.SUPERSEDES, EdgeType.MAY_OUTDATE)
Row: TypeAlias = tuple[str, str, str, str, str, str]


def find_ends(talk: Talk, settings: dict[str, str]) -> Iterator[Row]:
    """Tell a conversation to a fresh memory and yield what it closes or marks."""
    system = EngramsSystem(
        make_embedder("builtin"),
        **{name.replace(".", "__"): value for name, value in settings.items()},
    )
    try:
        system.fill(talk.items)
        engine = system.engine
        said = {record.id: record for record in _list(engine, kinds=(Kind.TURN, Kind.NOTE))}
        names = list(said)
        edges = {
            (edge.source, edge.target): edge
            for start in range(0, len(names), 200)
            for edge in engine.store.edges(OWNER, names[start : start + 200], _ENDS)
        }
        for edge in sorted(edges.values(), key=lambda one: -one.weight):
            old = said.get(edge.target)
            new = said.get(edge.source)
            if old and new:
                kind = "closed" if edge.type is EdgeType.SUPERSEDES else "marked"
                yield (
                    talk.id,
                    old.speaker or old.role,
                    kind,
                    f"{edge.weight:.2f}",
                    _show(old),
                    _show(new),
                )
        for fact in _list(engine, statuses=(Status.SUPERSEDED,)):
            source = fact.evidence[0].source if fact.evidence else ""
            if (new := said.get(fact.superseded_by)) and (weight := edges.get((new.id, source))):
                yield (
                    talk.id,
                    fact.subject,
                    "fact closed",
                    f"{weight.weight:.2f}",
                    _show(fact),
                    _show(new),
                )
    finally:
        system.close()


def _list(engine: MemoryEngine, **fields: Any) -> Iterator[Record]:
    after = ""
    while True:
        page = engine.list(scope=OWNER, limit=500, after=after, **fields)
        yield from page.records
        if not (after := page.next):
            return


def _show(record: Record) -> str:
    return f"{record.recorded_at:%Y-%m-%d}: {' '.join(record.text.split())}"


def main() -> None:
    """Run the conversations, write the list and print the counts."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", nargs="+", type=Path)
    parser.add_argument(
        "--set", action="append", default=[], help="a setting, such as write.changes.mark_at=0.4"
    )
    given = parser.parse_args()
    settings = dict(each.split("=", 1) for each in given.set)
    OUT.parent.mkdir(parents=True, exist_ok=True)
    with OUT.open("w", encoding="utf-8", newline="") as file:
        table = csv.writer(file, delimiter="\t")
        table.writerow(("data", "conversation", "speaker", "what", "probability", "older", "newer"))
        print(
            "| data | messages | statements closed | facts closed | statements marked"
            " |\n|---|---|---|---|---|"
        )
        for path in given.data:
            data = load_dataset(path)
            rows = [row for talk in data.talks for row in find_ends(talk, settings)]
            table.writerows((data.name, *row) for row in rows)
            counts = Counter(row[2] for row in rows)
            items = sum(len(talk.items) for talk in data.talks)
            print(
                f"| {data.name} | {items} | {counts['closed']} | {counts['fact closed']} |"
                f" {counts['marked']} |"
            )
    print(f"\nwritten to {OUT}")


if __name__ == "__main__":
    main()
