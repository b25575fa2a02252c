"""``python -m bench.agents.hooks``: how long do a coding agent's hooks take, and is any lost?

Runs real processes on a new home without a server, as an agent does. First the hooks of one session,
one after the other: median and worst of each event. Then those of several agents at once, ``--agents``
× ``--hooks``: the slowest, the prompts that are not stored, and the processes that are left when the
time without a call is over. ``--alone`` starts hooks as older installations have them, without the
process that stays.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import statistics
import subprocess
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from tempfile import TemporaryDirectory

import engrams
from engrams.core import Kind

_IDLE_SECONDS = 5
_LIMIT_SECONDS = 60
_FACTS = 300


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.agents.hooks", description=__doc__)
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--agents", type=int, default=3)
    parser.add_argument("--hooks", type=int, default=42)
    parser.add_argument("--alone", action="store_true", help="no process stays between hooks")
    options = parser.parse_args()
    with TemporaryDirectory() as folder:
        home = Path(folder) / "home"
        fill(home)
        bench = HookBench(home, is_resident=not options.alone)
        for event in ("SessionStart", "UserPromptSubmit", "Stop"):
            times = [bench.send(event, f"one-{number}", number) for number in range(options.rounds)]
            print(f"{event:17} {describe(times)}, first {times[0]:.0f} ms")
        bench.wait_for_end()
        report_at_once(bench, options.agents, options.hooks)


def fill(home: Path) -> None:
    """Fill a home with messages of a project."""
    with engrams.open(home=home, jobs__workers=0) as engine:
        turns = [
            engrams.Turn(f"Worker {number} reads the queue harbour-{number} of shard {number % 7}.")
            for number in range(_FACTS)
        ]
        engine.observe(turns, scope=("user", "ann", "project", "shop"))
        engine.drain(60)


class HookBench:
    """Hooks of one home, as processes."""

    def __init__(self, home: Path, *, is_resident: bool) -> None:
        self.home = home
        stay = ["--resident"] if is_resident else []
        command = [sys.executable, "-m", "engrams.program.entry", "hook", *stay, "--verbose"]
        self._command = [*command, "--home", str(home), "--user", "ann", "--project", "."]
        self._environment = {**os.environ, "ENGRAMS_SERVE__RESIDENT_SECONDS": str(_IDLE_SECONDS)}
        self.pids: set[int] = set()
        self.warnings: list[str] = []

    def send(self, event: str, session: str, number: int) -> float:
        """Run one hook; return its milliseconds."""
        body = {
            "hook_event_name": event,
            "session_id": session,
            "cwd": "/src/shop",
            "prompt": f"In {session} the ticket {number} is about the harbour of shard {number % 7}.",
            "last_assistant_message": f"Answer {number} of {session}.",
        }
        begun = time.perf_counter()
        finished = subprocess.run(
            self._command,
            input=json.dumps(body),
            capture_output=True,
            text=True,
            timeout=_LIMIT_SECONDS,
            env=self._environment,
            check=True,
        )
        milliseconds = (time.perf_counter() - begun) * 1000
        if match := re.search(r"answered \(process (\d+)\)", finished.stderr):
            self.pids.add(int(match[1]))
        if "engrams hook:" in finished.stderr:
            self.warnings.append(finished.stderr)
        return milliseconds

    def wait_for_end(self) -> list[int]:
        """Wait until the processes that stayed must have ended; return those that have not."""
        deadline = time.monotonic() + 4 * _IDLE_SECONDS
        while self.list_running() and time.monotonic() < deadline:
            time.sleep(0.2)
        return self.list_running()

    def list_running(self) -> list[int]:
        """List the processes that answered and still run."""
        return [pid for pid in self.pids if Path(f"/proc/{pid}").exists()]


def report_at_once(bench: HookBench, agents: int, hooks: int) -> None:
    """Run the hooks of several agents at once, and print what became of them."""

    def run_agent(agent: int) -> list[float]:
        return [
            bench.send(
                ("UserPromptSubmit", "Stop", "UserPromptSubmit")[number % 3],
                f"agent-{agent}",
                number,
            )
            for number in range(hooks)
        ]

    with ThreadPoolExecutor(agents) as pool:
        times = [value for values in pool.map(run_agent, range(agents)) for value in values]
    remaining = bench.wait_for_end()
    with engrams.open(home=bench.home, jobs__workers=0) as engine:
        page = engine.list(scope=("user", "ann"), limit=1000, kinds=(Kind.TURN,))
        texts = {record.text for record in page.records}
    prompts = [
        f"In agent-{agent} the ticket {number} is about the harbour of shard {number % 7}."
        for agent in range(agents)
        for number in range(hooks)
        if number % 3 != 1
    ]
    lost = sum(prompt not in texts for prompt in prompts)
    slow = sum(value > 1000 for value in times)
    print(
        f"{agents} x {hooks} at once  {describe(times)}; over 1 s: {slow}; lost: {lost} of {len(prompts)};"
        f" warnings: {len(bench.warnings)}; processes left: {len(remaining)}"
    )


def describe(times: Sequence[float]) -> str:
    """Say median, 95 % and worst."""
    ordered = sorted(times)
    late = ordered[min(len(ordered) - 1, int(len(ordered) * 0.95))]
    return (
        f"p50 {statistics.median(ordered):4.0f} ms, p95 {late:4.0f} ms, worst {ordered[-1]:4.0f} ms"
    )


if __name__ == "__main__":
    main()
