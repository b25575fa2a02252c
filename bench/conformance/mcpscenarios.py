"""MCP's own conformance scenarios, run by Node against our server class."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from bench.conformance.suites import SuiteResult

NAME = "MCP server"
SOURCE = "@modelcontextprotocol/conformance@0.1.16"
NODE = "node@22"
"""The suite asks for this version of Node; it comes as a package too."""
DESELECTED: Mapping[str, str] = {
    "server-sse-polling": (
        "the server keeps no events for a stream that breaks off; a client calls again"
    ),
}
_RESULT = re.compile(r"(?:server-)?(.+)-\d{4}-\d\d-\d\dT.*")
"""Folder of a scenario's result: its name and a time."""
FIXTURES = Path(__file__).with_name("shims") / "serve_mcp.py"


def find_obstacle() -> str:
    """Say why the scenarios cannot run here; empty if they can."""
    return (
        ""
        if shutil.which("npm")
        else f"{NAME}: not run: npm, which fetches {SOURCE}, is not installed."
    )


def run_scenarios(folder: Path) -> SuiteResult:
    """Run every scenario; one passes with a check that succeeded and none that failed."""
    start = time.perf_counter()
    folder.mkdir(parents=True, exist_ok=True)
    subprocess.run(
        [
            "npm",
            "install",
            "--silent",
            "--no-audit",
            "--no-fund",
            "--prefix",
            str(folder),
            NODE,
            SOURCE,
        ],
        check=True,
    )
    out = folder / "out"
    shutil.rmtree(out, ignore_errors=True)
    binaries = folder / "node_modules" / ".bin"
    env = {**os.environ, "PATH": f"{binaries}{os.pathsep}{os.environ['PATH']}"}
    with serving(folder) as url:
        command = [
            str(binaries / "conformance"),
            "server",
            "--url",
            url,
            "--suite",
            "all",
            "-o",
            str(out),
        ]
        done = subprocess.run(
            command, check=False, cwd=folder, env=env, capture_output=True, text=True
        )
    (folder / "output.txt").write_text(done.stdout + done.stderr, "utf-8")
    passed = {
        _RESULT.sub(r"\1", path.parent.name): is_passed(path) for path in out.glob("*/checks.json")
    }
    if not passed:
        sys.exit(f"{NAME}: no scenario ran.\n{done.stdout[-3000:]}{done.stderr[-3000:]}")
    failed = tuple(
        sorted(name for name, good in passed.items() if not good and name not in DESELECTED)
    )
    seconds = round(time.perf_counter() - start, 1)
    return SuiteResult(
        NAME, SOURCE, sum(passed.values()), len(passed), failed, len(DESELECTED), seconds
    )


def is_passed(checks: Path) -> bool:
    states = {each["status"] for each in json.loads(checks.read_text("utf-8"))}
    return "SUCCESS" in states and "FAILURE" not in states


@contextmanager
def serving(folder: Path) -> Iterator[str]:
    """URL of the fixture server, which runs as a process of its own."""
    env = {**os.environ, "ENGRAMS_HOME": str(folder / "home"), "HOME": str(folder)}
    process = subprocess.Popen(
        [sys.executable, str(FIXTURES)],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        env=env,
    )
    try:
        yield (process.stdout.readline() if process.stdout else "").strip()
    finally:
        process.terminate()
        process.wait(20)
