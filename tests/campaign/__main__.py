"""Attack homes for some minutes: ``python -m tests.campaign --minutes 60``; exit code 1 where
anything failed.

Kills, damage, full disks, clocks, other tenants and hostile texts, each followed by a look at
everything that was acknowledged. ``--seed`` and the number of a series decide what happens;
``--series N`` repeats one.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import signal
import sys
import tempfile
import time
import traceback
from collections import defaultdict
from pathlib import Path
from typing import Any

from tests.campaign import ordinary, segments, series, tampering
from tests.campaign.series import Result, warm_up

SERIES = {
    "homes": series.run_series,
    "ordinary": ordinary.run_series,
    "segments": segments.run_series,
    "tampering": tampering.run_series,
}
COLUMNS = (
    "events",
    "acknowledged",
    "lost",
    "doubled",
    "risen",
    "empty",
    "leaks",
    "superlinear",
    "alarms",
    "unnoticed",
    "errors",
)


def parse(words: list[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.campaign", description=__doc__)
    parser.add_argument(
        "--minutes", type=float, default=60.0, help="how long to go on (default: 60)"
    )
    parser.add_argument("--events", type=int, help="stop after so many events")
    parser.add_argument("--seed", type=int, default=1, help="what happens is drawn from it")
    parser.add_argument(
        "--jobs", type=int, default=min(4, os.cpu_count() or 2), help="series at the same time"
    )
    parser.add_argument(
        "--at",
        choices=SERIES,
        default="homes",
        help="what is attacked: homes, or the files of their search indexes; tampering: rows, bytes"
        " and files are edited by another program; ordinary: nothing is, and nobody may say so",
    )
    parser.add_argument("--series", type=int, help="only this series, once")
    parser.add_argument("--only", default="", help="only events whose name begins so")
    parser.add_argument("--keep", type=Path, help="where homes that failed are kept")
    parser.add_argument("--json", type=Path, help="write the table and the failures to this file")
    return parser.parse_args(words)


def start_model() -> tuple[int, str]:
    """The scripted upstream, a process that nobody kills."""
    from engrams.testing import ScriptedModel

    out, into = os.pipe()
    parent = os.getpid()
    child = os.fork()
    if not child:
        with ScriptedModel(answer=lambda _: "Noted.") as model:
            os.write(into, model.url.encode())
            while os.getppid() == parent:
                time.sleep(0.2)
        os._exit(0)
    os.close(into)
    return child, os.read(out, 200).decode()


def work(slot: int, options: argparse.Namespace, folder: Path, upstream: str, until: float) -> None:
    """One process: series after series, each result a line in its file."""
    with (folder / f"results-{slot}.jsonl").open("a", buffering=1) as results:
        number = slot
        left = options.events and -(-options.events // options.jobs)
        while time.monotonic() < until and left != 0:
            if options.series is not None:
                number = options.series
            place = folder / f"series-{number}"
            place.mkdir()
            for result in SERIES[options.at](
                f"{options.seed}/{number}", place, options.keep, upstream, options.only
            ):
                results.write(result.to_json() + "\n")
                left = left and left - 1
                if result.failed:
                    print(f"FAILED seed {options.seed} series {number}: {result}", flush=True)
                if left == 0 or (time.monotonic() > until and options.series is None):
                    break
            shutil.rmtree(place, ignore_errors=True)
            if options.series is not None:
                return
            number += options.jobs


def main(words: list[str] | None = None) -> int:
    options = parse(words)
    for name in [name for name in os.environ if name.startswith("ENGRAMS_")]:
        del os.environ[name]
    shared = "/dev/shm" if Path("/dev/shm").is_dir() else None
    folder = Path(tempfile.mkdtemp(prefix="engrams-campaign-", dir=shared))
    os.environ["ENGRAMS_HOME"] = str(folder / "home-of-no-one")
    options.keep = (
        options.keep or Path(tempfile.gettempdir()) / f"engrams-campaign-{os.getpid()}"
    ).absolute()
    start = time.monotonic()
    until = start + options.minutes * 60
    model, upstream = start_model()
    warm_up(folder / "warm")
    slots = []
    for slot in range(1 if options.series is not None else options.jobs):
        child = os.fork()
        if not child:
            code = 1
            try:
                work(slot, options, folder, upstream, until)
                code = 0
            except BaseException:  # its end is told here, as nothing is after it
                traceback.print_exc()
            finally:
                os._exit(code)
        slots.append(child)
    broken = 0
    try:
        for child in slots:
            broken += os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) != 0
    finally:
        os.kill(model, signal.SIGKILL)
    results = [
        Result.from_json(line)
        for path in sorted(folder.glob("results-*.jsonl"))
        for line in path.read_text("utf-8").splitlines()
    ]
    shutil.rmtree(folder, ignore_errors=True)
    return report(results, options, time.monotonic() - start, broken)


def report(results: list[Result], options: argparse.Namespace, seconds: float, broken: int) -> int:
    """Print the table, write the file; 1 where anything failed."""
    rows: dict[str, dict[str, int]] = defaultdict(lambda: dict.fromkeys(COLUMNS, 0))
    for result in results:
        for name in (result.kind, result.kind.partition(":")[0] + ", all", "everything"):
            for column, count in result.counts().items():
                rows[name][column] += count
    rows = {
        name: rows[name] for name in sorted(rows, key=lambda name: (name == "everything", name))
    }
    print(f"{'':24}" + "".join(column.rjust(14) for column in COLUMNS))
    for name, row in rows.items():
        print(f"{name:24}" + "".join(f"{row[column]:14,}" for column in COLUMNS))
    failures = [result for result in results if result.failed]
    print(
        f"{seconds / 60:.1f} minutes, seed {options.seed}; {len(failures)} failures"
        + (f" (homes: {options.keep})" if failures else "")
    )
    if options.json:
        options.json.parent.mkdir(parents=True, exist_ok=True)
        told: dict[str, Any] = {
            "seed": options.seed,
            "minutes": round(seconds / 60, 1),
            "table": rows,
        }
        told["failures"] = [json.loads(result.to_json()) for result in failures]
        options.json.write_text(json.dumps(told, indent=1) + "\n", "utf-8")
    if broken:
        print(f"{broken} of the campaign's own processes ended with an error.", file=sys.stderr)
    return 1 if failures or broken or not results else 0


if __name__ == "__main__":
    random.seed(0)
    sys.exit(main())
