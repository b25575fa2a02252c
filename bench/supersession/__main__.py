"""False and missed supersession: ``python -m bench.supersession [--show tune]``.

``pairs.tsv`` holds two statements of one person, the second said ten days after the first, and what
should become of the first: ``update`` (it is over or was wrong), ``same``, ``coexist`` or
``unrelated`` (it stays). Each pair goes through the whole write flow on a store of its own. Pairs
are halved by a hash of their text; the rules were tuned on one half only.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
from collections import Counter
from datetime import UTC, datetime, timedelta
from pathlib import Path

from engrams.core import STATEMENT_KINDS, Kind, Record, Scope, Status, Turn
from engrams.models.embed.null import NullEmbedder
from engrams.ports import NewRecord, RecordQuery, ScopeReach, WriteBatch
from engrams.settings import Settings, StoreSettings
from engrams.store.sqlite import SqliteStore
from engrams.write.extraction import extract_candidates
from engrams.write.reconcile import reconcile_extraction
from engrams.write.turn_conversion import TurnConverter
from engrams.write.write_deps import WriteDeps

HERE = Path(__file__).parent
OUT = HERE.parent / "out" / "supersession.json"
START = datetime(2024, 5, 6, 9, 30, tzinfo=UTC)
SCOPE = Scope.of(("user", "tester"))


def pick_half(older: str, newer: str) -> str:
    return (
        "held"
        if hashlib.blake2b(f"{older}|{newer}".encode(), digest_size=2).digest()[0] % 2
        else "tune"
    )


def run_pair(older: str, newer: str) -> tuple[bool, list[Record]]:
    """Learn both; whether the first was superseded, and all records."""
    now = START
    settings = Settings()
    store = SqliteStore.open(":memory:", StoreSettings(), lambda: now)
    deps = WriteDeps(store, NullEmbedder(), lambda: now, settings)
    first: set[str] = set()
    for text in (older, newer):
        converter = TurnConverter(SCOPE, Kind.TURN, "", now, settings)
        record = converter.convert(Turn(text, session="s")).record
        assert record is not None
        store.commit(WriteBatch("bench", "journal", now, puts=(NewRecord(record),)))
        learned = reconcile_extraction(extract_candidates([record], deps), deps)
        store.commit(learned.batch)
        first = first or {derived.id for derived in learned.derived}
        refined = {
            old
            for derived in learned.derived
            if derived.verdict == "refine"
            for old in derived.replaces
        }
        now += timedelta(days=10)
    records = store.find(
        RecordQuery(ScopeReach(SCOPE, (SCOPE,)), STATEMENT_KINDS, tuple(Status), limit=100)
    ).records
    store.close()
    gone = {
        record.id for record in records if record.id in first and record.status is Status.SUPERSEDED
    } - refined
    return bool(gone), list(records)


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument(
        "--show", choices=("tune", "held"), help="print every wrong pair of that half"
    )
    asked = parser.parse_args()
    counts: dict[str, Counter[str]] = {"tune": Counter(), "held": Counter()}
    for line in (HERE / "pairs.tsv").read_text("utf-8").splitlines():
        if line.startswith("#") or not line.strip():
            continue
        label, older, newer = line.split("\t")
        part = pick_half(older, newer)
        gone, records = run_pair(older, newer)
        counts[part][label] += 1
        wrong = gone != (label == "update")
        counts[part][f"{label}_wrong"] += wrong
        if wrong and asked.show == part:
            print(f"{label}: {older!r} / {newer!r}")
            for record in records:
                print(
                    f"     {record.status:10} [{record.subject}|{record.predicate}|{record.object}]"
                    f" {record.text}"
                )
    rows = {}
    for part, count in counts.items():
        stays = count["same"] + count["coexist"] + count["unrelated"]
        false = count["same_wrong"] + count["coexist_wrong"] + count["unrelated_wrong"]
        missed = count["update_wrong"]
        rows[part] = {
            "updates": count["update"],
            "missed": missed,
            "missed_rate": round(missed / count["update"], 3),
            "others": stays,
            "false": false,
            "false_rate": round(false / stays, 3),
        }
    print(f"{'half':6}" + "".join(f"{name:>13}" for name in next(iter(rows.values()))))
    for part, row in rows.items():
        print(f"{part:6}" + "".join(f"{value:>13}" for value in row.values()))
    OUT.parent.mkdir(exist_ok=True)
    OUT.write_text(json.dumps(rows, indent=2) + "\n", "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
