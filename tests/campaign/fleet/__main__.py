"""Attack a fleet on Postgres: ``python -m tests.campaign.fleet --minutes 20``; exit code 1 where
anything failed.

Two APIs and two workers on one server; processes of all three are killed or stopped, connections
end, are cut and stall, while clients write at one API and read at the other. Afterwards the
database itself is looked at.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import sys
import tempfile
import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import psycopg
from tests.campaign.fleet.clients import Client, Tally
from tests.campaign.fleet.members import Fleet

SETTLES = 120.0
"""Seconds in which all jobs must be done when nobody disturbs them."""


def parse(words: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.campaign.fleet", description=__doc__)
    parser.add_argument(
        "--minutes", type=float, default=20.0, help="how long to go on (default: 20)"
    )
    parser.add_argument("--every", type=float, default=1.8, help="seconds between two disturbances")
    parser.add_argument("--clients", type=int, default=8, help="clients at the same time")
    parser.add_argument("--seed", type=int, default=1, help="what happens is drawn from it")
    parser.add_argument("--json", type=Path, help="write the counts to this file")
    parser.add_argument("--keep", type=Path, help="where logs of a run that failed are kept")
    return parser.parse_args(words)


def main(words: list[str] | None = None) -> int:
    options = parse(words)
    for name in [name for name in os.environ if name.startswith("ENGRAMS_")]:
        del os.environ[name]
    folder = Path(tempfile.mkdtemp(prefix="engrams-fleet-"))
    fleet = Fleet(folder, options.seed)
    tally = Tally()
    over = threading.Event()
    pool = ThreadPoolExecutor(options.clients)
    begun = time.monotonic()
    try:
        fleet.start()
        clients = [Client(number, fleet, tally, options.seed) for number in range(options.clients)]
        running = [pool.submit(client.run, over) for client in clients]
        until = time.monotonic() + options.minutes * 60
        while time.monotonic() < until:
            due = time.monotonic() + options.every
            fleet.disturb()
            time.sleep(max(due - time.monotonic(), 0))
        over.set()
        for client in running:
            client.result(700)
        fleet.wait_ready()
        left = wait_for_jobs(fleet)
        found = look(fleet, tally, left)
    finally:
        over.set()
        fleet.close()
    return report(options, fleet, tally, found, time.monotonic() - begun)


def wait_for_jobs(fleet: Fleet) -> Counter[str]:
    """Wait until nothing due is left; jobs by state that are, or that failed for good."""
    limit = time.monotonic() + SETTLES
    while True:
        with psycopg.connect(fleet.direct) as connection:
            # What is due in an hour is planned, not stuck.
            text = """SELECT state, count(*) FROM engrams.jobs WHERE state = 'dead' OR state = 'running'
                OR (state = 'waiting' AND due < (extract(epoch FROM now()) + 60) * 1000000) GROUP BY state"""
            left = Counter(dict(connection.execute(text).fetchall()))
        if not (left["waiting"] or left["running"]) or time.monotonic() > limit:
            return left
        time.sleep(0.5)


def look(fleet: Fleet, tally: Tally, left: Counter[str]) -> dict[str, int]:
    """Compare the rows of the database with what was acknowledged."""
    said = Counter[str]()
    learned = Counter[tuple[str, str]]()
    foreign = 0
    with psycopg.connect(fleet.direct) as connection:
        for owner, kind, key, text in connection.execute(
            "SELECT owner, kind, external_id, text FROM engrams.records"
        ):
            held = [word.strip(".") for word in text.split() if word.strip(".") in tally.tried]
            foreign += any(f"user/{tally.tried[word]}" != owner for word in held)
            if kind in ("note", "turn"):
                said.update({key} if key.partition(":")[0] in tally.tried else held)
            else:
                learned.update((word, text) for word in held)
    own = Counter(key.partition(":")[0] for key in said.elements())
    known = {word for word, _ in learned}
    tally.problems += [f"lost: {key}" for key in tally.acknowledged if not own[key]][:20]
    tally.problems += [f"twice: {key}" for key, number in own.items() if number > 1][:20]
    tally.problems += [
        f"learned twice: {text}" for (_, text), number in learned.items() if number > 1
    ][:20]
    tally.problems += [f"not learned: {key}" for key in tally.acknowledged if key not in known][:20]
    return {
        "acknowledged": len(tally.acknowledged),
        "lost": sum(not own[key] for key in tally.acknowledged),
        "twice": sum(number > 1 for number in own.values()),
        "learned": len(known),
        "learned twice": sum(number > 1 for number in learned.values()),
        "not learned": sum(key not in known for key in tally.acknowledged),
        "foreign rows": foreign,
        "jobs stuck": left["waiting"] + left["running"],
        "jobs failed": left["dead"],
    }


def report(
    options: argparse.Namespace, fleet: Fleet, tally: Tally, found: dict[str, int], seconds: float
) -> int:
    """Print and write the counts; 1 where anything failed."""
    told: dict[str, Any] = {
        "minutes": round(seconds / 60, 1),
        "seed": options.seed,
        "kills": fleet.kills,
    }
    told |= {
        "events": dict(sorted(fleet.events.items())),
        "clients": dict(sorted(tally.counts.items())),
        "database": found,
    }
    told["problems"] = fleet.problems + tally.problems
    for name in ("events", "clients", "database"):
        print(f"{name}:")
        for what, number in told[name].items():
            print(f"  {what:24}{number:10,}")
    print(
        f"{told['minutes']} minutes, seed {options.seed}: {told['kills']} kills,"
        f" {len(told['problems'])} problems"
    )
    for problem in told["problems"][:40]:
        print(f"  {problem}")
    if options.json:
        options.json.parent.mkdir(parents=True, exist_ok=True)
        options.json.write_text(json.dumps(told, indent=1) + "\n", "utf-8")
    folder = fleet.apis[0].log.parent
    if told["problems"] and options.keep:
        options.keep.mkdir(parents=True, exist_ok=True)
        for log in folder.glob("*.log"):
            shutil.copy(log, options.keep)
    shutil.rmtree(folder, ignore_errors=True)
    return 1 if told["problems"] or not tally.counts["reads of own writes"] else 0


if __name__ == "__main__":
    sys.exit(main())
