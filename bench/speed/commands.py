"""Measure commands as people and agents run them: `python -m bench.speed.commands [--sizes
10000,100000] [--rounds N] [--json FILE]`.

Wall-clock and processor milliseconds of real processes, in turns, so that a machine that slows down
slows all of them. Budgets (quiet machine, two cores, 100,000 records): `engrams --help` 70 ms;
`engrams search` 350 ms without a server and 120 ms with one; a coding agent's hook 150 ms. Homes
are kept in `--folder` where one is given, and used again.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import Any

import engrams
from bench.speed import machine
from bench.speed.corpus import Corpus
from bench.speed.proxy import start_process
from bench.speed.timing import OWNER, to_turn

_ENTRY = (sys.executable, "-m", "engrams.program.entry")
_BATCH = 500
_SOCKET_SECONDS = 60.0
_EVENT = {"hook_event_name": "UserPromptSubmit", "cwd": "/tmp"}
_PLAIN = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
"""Environment in which Python keeps compiled modules, as it does where engrams is installed: the
first round compiles them.
"""
_BUDGETS = {"help": 70, "search": 350, "search, served": 120, "hook, served": 150}
"""Milliseconds at 100,000 records."""


def main(arguments: Sequence[str] | None = None) -> None:
    """Print a table, and the same as JSON."""
    asked = argparse.ArgumentParser(prog="python -m bench.speed.commands", description=__doc__)
    asked.add_argument("--sizes", default="10000,100000", help="records of the homes")
    asked.add_argument("--rounds", type=int, default=15)
    asked.add_argument("--folder", type=Path, help="where homes are kept, for the next time")
    asked.add_argument("--json", type=Path, help="where the figures go")
    given = asked.parse_args(arguments)
    with tempfile.TemporaryDirectory(prefix="engrams-bench-") as temporary:
        folder = given.folder or Path(temporary)
        sizes = [int(size) for size in given.sizes.split(",")]
        report = {"machine": machine.collect_facts(), "rounds": given.rounds}
        report["sizes"] = {size: measure(make_home(folder, size), given.rounds) for size in sizes}
    print(format_table(report))
    if given.json:
        given.json.write_text(json.dumps(report, indent=1) + "\n", "utf-8")


def make_home(folder: Path, size: int) -> Path:
    """Fill a home with turns, unless it is there."""
    home = folder / f"commands-{size}"
    if not (home / "memory.db").exists():
        lines = Corpus().lines(size)
        with engrams.open(home=str(home), write__extract="off", jobs__workers=0) as memory:
            while batch := [to_turn(line) for line in islice(lines, _BATCH)]:
                memory.observe(batch, scope=OWNER)
            memory.search("Where does Ada live?", scope=OWNER)  # writes the index file
    return home


def measure(home: Path, rounds: int) -> dict[str, dict[str, float]]:
    """Milliseconds of each command: median, spread, and processor time."""
    own = ("--home", str(home), "--user", OWNER[1])
    questions = Corpus(seed=7).questions(4 * rounds + 8)
    alone = {
        "python -c pass": lambda _: ([sys.executable, "-c", "pass"], ""),
        "help": lambda _: ([*_ENTRY, "--help"], ""),
        "search": lambda text: ([*_ENTRY, "search", *own, text], ""),
        "hook": lambda text: (
            [*_ENTRY, "hook", *own],
            json.dumps({**_EVENT, "session_id": "s1", "prompt": text}),
        ),
    }
    taken = _take_turns(alone, questions, rounds)
    with _serving(home):
        beside = {f"{name}, served": alone[name] for name in ("search", "hook")}
        taken |= _take_turns(beside, questions[2 * rounds :], rounds)
    return {name: _summarise(times) for name, times in taken.items()}


def _take_turns(
    calls: dict[str, Any], questions: Sequence[str], rounds: int
) -> dict[str, list[tuple[float, float]]]:
    """Run the commands one after another; the first round is not counted."""
    taken: dict[str, list[tuple[float, float]]] = {name: [] for name in calls}
    for number in range(rounds + 1):
        for name, call in calls.items():
            found = _time_command(*call(questions[number % len(questions)]))
            if number:
                taken[name].append(found)
    return taken


def _time_command(command: Sequence[str], stdin: str) -> tuple[float, float]:
    """Seconds of a process, by the clock and of processors."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    begun = time.perf_counter()
    subprocess.run(command, input=stdin.encode(), capture_output=True, check=True, env=_PLAIN)
    seconds = time.perf_counter() - begun
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return seconds, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def _summarise(times: Sequence[tuple[float, float]]) -> dict[str, float]:
    walls = sorted(1000 * wall for wall, _ in times)
    low, _, high = statistics.quantiles(walls, n=4) if len(walls) > 1 else (walls[0],) * 3
    figures = {"median": statistics.median(walls), "low": low, "high": high, "worst": walls[-1]}
    figures["processor"] = statistics.median(1000 * used for _, used in times)
    return {name: round(value, 1) for name, value in figures.items()}


@contextmanager
def _serving(home: Path) -> Iterator[None]:
    """Serve a home, until its socket answers."""
    settings = {"ENGRAMS_HOME": str(home), "ENGRAMS_USER": OWNER[1]}
    with start_process(*_ENTRY[1:], "serve", "--port", "0", environment=settings):
        until = time.monotonic() + _SOCKET_SECONDS
        while "a running server answered" not in _ask(home) and time.monotonic() < until:
            time.sleep(0.2)
        yield


def _ask(home: Path) -> str:
    command = [*_ENTRY, "search", "--home", str(home), "--user", OWNER[1], "--verbose", "harbour"]
    return subprocess.run(
        command, capture_output=True, text=True, check=True, env={**os.environ}
    ).stderr


def format_table(report: dict[str, Any]) -> str:
    """Report as aligned text."""
    facts = report["machine"]
    rows = [
        f"{facts['cpu']}, {facts['cores']} cores, Python {facts['python']}, load {facts['load']};"
        f" {report['rounds']} rounds, in ms"
    ]
    for size, found in report["sizes"].items():
        rows += [
            "",
            (
                f"{f'{size:,} records':24} {'median':>8} {'quartiles':>15} {'worst':>8}"
                f" {'processor':>10} {'budget':>8}"
            ),
        ]
        for name, one in found.items():
            spread = f"{one['low']:.0f}-{one['high']:.0f}"
            budget = _BUDGETS.get(name, "")
            rows.append(
                f"{name:24} {one['median']:>8.0f} {spread:>15} {one['worst']:>8.0f}"
                f" {one['processor']:>10.0f} {budget:>8}"
            )
    return "\n".join(rows)


if __name__ == "__main__":
    main()
