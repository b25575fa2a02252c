"""PrecisionMemBench by its own runner: does a search return the right memories, and only these?

    git clone https://github.com/tenurehq/precisionmembench && (cd precisionmembench && npm install)
    python -m bench.precision precisionmembench --cases

Needs Node.js 22. It starts ``engrams serve`` with default settings on an empty home, and registers it
as one more HTTP provider in a copy of the checkout's configuration, which it puts back at the end.
"""

from __future__ import annotations

import argparse
import json
import os
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.request import urlopen

from bench.precision.provider import serve_provider

_PROVIDER = "engrams"
_ENVIRONMENT = "ENGRAMS_PROVIDER_URL"
_REGISTRATION = {
    "envVar": _ENVIRONMENT,
    "defaultUrl": "http://127.0.0.1:1",
    "seedDelayMs": 0,
    "beliefToText": "canonical_name_aliases",
    "supportsUpdate": True,
}
_START_SECONDS = 60.0


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.precision", description=__doc__)
    parser.add_argument("checkout", type=Path, help="folder of the benchmark, after npm install")
    parser.add_argument("--set", action="append", default=[], metavar="NAME=VALUE")
    parser.add_argument("--cases", action="store_true", help="print every case that is not exact")
    options = parser.parse_args()
    checkout = options.checkout.resolve()
    with (
        tempfile.TemporaryDirectory(prefix="engrams-precision-") as home,
        serve_engrams(Path(home), options.set) as engrams_port,
        serve_provider(engrams_port) as port,
        register_provider(checkout),
    ):
        for suite in ("retrieval", "session-retrieval"):
            run_suite(checkout, suite, port)
    cases = json.loads((checkout / "fixtures/retrieval.cases.json").read_text("utf-8"))
    report = read_report(checkout, "retrieval")
    print_figures(cases, report["cases"], all_cases=options.cases)
    print_sessions(read_report(checkout, "session-retrieval")["cases"])


@contextmanager
def serve_engrams(home: Path, settings: Sequence[str]) -> Iterator[int]:
    """Start ``engrams serve`` on an empty home; yields its port."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = int(free.getsockname()[1])
    words = [sys.executable, "-m", "engrams.program.entry", "serve", "--port", str(port)]
    words += [word for setting in settings for word in ("--set", setting)]
    env = {**os.environ, "ENGRAMS_HOME": str(home), "ENGRAMS_SERVE__RATE_LIMIT": "0"}
    with (home / "serve.log").open("wb") as log:
        process = subprocess.Popen(words, env=env, stdout=log, stderr=log)
    try:
        limit = time.monotonic() + _START_SECONDS
        while not _is_ready(port):
            if process.poll() is not None or time.monotonic() > limit:
                raise SystemExit((home / "serve.log").read_text("utf-8"))
            time.sleep(0.1)
        yield port
    finally:
        process.terminate()
        process.wait(60)


def _is_ready(port: int) -> bool:
    try:
        with urlopen(f"http://127.0.0.1:{port}/ready", timeout=5):
            return True
    except OSError:
        return False


@contextmanager
def register_provider(checkout: Path) -> Iterator[None]:
    """Name engrams among the providers of the runner."""
    file = checkout / "providers.config.json"
    before = file.read_text("utf-8")
    file.write_text(json.dumps({**json.loads(before), _PROVIDER: _REGISTRATION}), "utf-8")
    try:
        yield
    finally:
        file.write_text(before, "utf-8")


def run_suite(checkout: Path, suite: str, port: int) -> None:
    """Run one suite of cases; a case that fails is a figure, and no error."""
    env = {
        **os.environ,
        "MEMORY_PROVIDER": _PROVIDER,
        "RESEED": "true",
        _ENVIRONMENT: f"http://127.0.0.1:{port}",
    }
    words = ["node_modules/.bin/ava", f"src/{suite}.external.eval.test.ts"]
    run = subprocess.run(words, cwd=checkout, env=env, capture_output=True, text=True, check=False)
    if not _find_report(checkout, suite).exists():
        raise SystemExit(run.stdout + run.stderr)


def read_report(checkout: Path, suite: str) -> Any:
    """Read what the runner wrote, and take the file away."""
    file = _find_report(checkout, suite)
    report = json.loads(file.read_text("utf-8"))
    file.unlink()
    return report


def _find_report(checkout: Path, suite: str) -> Path:
    return checkout / "test-results" / f"{suite}-report-{_PROVIDER}.json"


def print_figures(
    cases: Sequence[Mapping[str, Any]], rows: Sequence[Mapping[str, Any]], *, all_cases: bool
) -> None:
    """Print the runner's means, and how often nothing comes where nothing is expected."""
    answered = [row for row in rows if row["retrievalRecall"] is not None]
    asked = {case["caseId"]: case for case in cases}
    empty = [
        row for row in rows if row["retrievalRecall"] is None and _is_asked(asked[row["caseId"]])
    ]
    exact = [row for row in answered if row["passed"]]
    returned = [len(row["relevantBeliefs"]) for row in answered]
    precision = _mean([row["retrievalPrecision"] for row in answered])
    official = _mean(
        [row["retrievalPrecision"] for row in rows if row["retrievalPrecision"] is not None]
    )
    recall = _mean([row["retrievalRecall"] for row in answered])
    silent = sum(not row["relevantBeliefs"] for row in empty)
    print(f"cases with an answer      {len(answered)}, exactly right {len(exact)}")
    print(f"precision, recall         {precision:.2f}, {recall:.2f}")
    print(f"precision of the runner   {official:.2f} (with those for which nothing is right)")
    print(f"returned a case           {_mean(returned):.1f}")
    print(f"nothing where nothing is  {silent} of {len(empty)}")
    print(f"passed                    {sum(row['passed'] for row in rows)} of {len(rows)}")
    for row in rows if all_cases else ():
        if not row["passed"]:
            case = asked[row["caseId"]]
            wanted = (case["expect"].get("relevantBeliefs") or {}).get("shouldOnlyInclude")
            print(f"\n{row['caseId']}: {case['query'][:200]!r} in {', '.join(case['scope'])}")
            print(f"  wanted   {wanted}")
            print(f"  returned {row['relevantBeliefs']}")


def _is_asked(case: Mapping[str, Any]) -> bool:
    """True for a case that asks memory at all."""
    limit = (case.get("budget") or {}).get("maxBeliefs")
    return bool(case["query"].strip()) and limit != 0


def print_sessions(rows: Sequence[Mapping[str, Any]]) -> None:
    """Print the figures of conversations in which the subject drifts."""
    passed = sum(row["passed"] for row in rows)
    drift = _mean([row["driftScore"] for row in rows])
    print(f"turns of conversations    {passed} of {len(rows)} passed, drift {drift:.2f}")


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values) if values else 0.0


if __name__ == "__main__":
    main()
