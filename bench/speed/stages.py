"""Stages, each run in a process of its own with clean memory and caches.

``python -m bench.speed.stages NAME JSON`` prints one JSON object.
"""

from __future__ import annotations

import itertools
import json
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import engrams
from bench.speed.ann import compare_searches as measure
from bench.speed.corpus import Corpus
from bench.speed.slow import measure_slow_model
from bench.speed.timing import OWNER, quantiles, time_call, to_turn

_BATCH = 100
_SETTLED = 20_000


def peak_mb() -> float:
    """Peak memory of this process."""
    return round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024, 1)


def ingest(home: str, size: int) -> dict[str, Any]:
    """Journal turns by the hundred and drain, up to ``size`` records.

    Records are turns and what was learned from them; large sizes are turns only. Two speakers
    repeat the same few statements, so that a new one meets as many older ones as reconciliation
    ever looks at: ``settle_per_second`` is its worst case.
    """
    settled = size <= _SETTLED
    lines = Corpus().lines(size)
    turns = 0
    held = 0
    writes = []
    settle = 0.0
    with engrams.open(
        home=home, jobs__workers=0, write__extract="auto" if settled else "off"
    ) as memory:
        while held < size:
            # A turn becomes two records at most here: half of what is missing is never too many.
            missing = max((size - held) // 2, 1) if settled else size - held
            for start in range(0, missing, _BATCH):
                batch = [
                    to_turn(line) for line in itertools.islice(lines, min(_BATCH, missing - start))
                ]
                turns += len(batch)
                writes.append(time_call(lambda batch=batch: memory.observe(batch, scope=OWNER)))
            settle += time_call(lambda: memory.drain(timeout=36_000))
            held = sum(memory.stats(OWNER)["status"].values())
        stats = memory.stats(OWNER)
    files = [path for path in Path(home).rglob("*") if path.is_file()]
    return {
        "records": held,
        "turns": turns,
        "journal_per_second": round(turns / sum(writes)),
        "batch_ms": quantiles(writes),
        "settle_per_second": round(turns / (sum(writes) + settle)) if settled else None,
        "db_bytes": sum(path.stat().st_size for path in files),
        "db_bytes_per_turn": round(sum(path.stat().st_size for path in files) / turns),
        "peak_mb": peak_mb(),
        "stats": stats,
    }


def load(home: str, size: int) -> dict[str, Any]:
    """Import one file of ``size`` turns."""
    file = Path(home) / "import.jsonl"
    file.parent.mkdir(parents=True, exist_ok=True)
    with file.open("w", encoding="utf-8") as out:
        for number, line in enumerate(Corpus().lines(size)):
            row = {
                "id": f"t{number}",
                "text": line.text,
                "role": "user",
                "speaker": line.speaker,
                "at": line.at.isoformat(),
                "session": line.session,
            }
            out.write(json.dumps(row) + "\n")
    with engrams.open(home=home, jobs__workers=0) as memory:
        seconds = time_call(lambda: memory.load(file, scope=OWNER))
    return {"turns": size, "per_second": round(size / seconds), "peak_mb": peak_mb()}


def ack(home: str, count: int) -> dict[str, Any]:
    """Single writes on a filled store: acknowledged, and settled by rules."""
    lines = list(Corpus(seed=2).lines(2 * count))
    result: dict[str, Any] = {}
    with engrams.open(home=home, jobs__workers=0) as memory:
        memory.add("warm up", scope=OWNER)
        for name, settle, some in (
            ("unsettled", False, lines[:count]),
            ("settled", True, lines[count:]),
        ):
            result[name] = quantiles(
                [
                    time_call(
                        lambda line=line, settle=settle: memory.add(
                            to_turn(line), scope=OWNER, settle=settle
                        )
                    )
                    for line in some
                ]
            )
        result["floor_fsync"] = quantiles(_time_fsync(Path(home) / "probe", count))

    return {**result, "slow_model": measure_slow_model(min(count, 200))}


def _time_fsync(path: Path, count: int) -> list[float]:
    """Seconds the disk takes to sync 4 kB, the floor of durable writes."""
    import os

    block = os.urandom(4096)
    seconds = []
    with path.open("wb") as file:
        for _ in range(count):
            start = time.perf_counter()
            file.write(block)
            file.flush()
            os.fsync(file.fileno())
            seconds.append(time.perf_counter() - start)
    path.unlink()
    return seconds


def search(home: str, count: int) -> dict[str, Any]:
    """Search an existing store; the first search loads the index."""
    questions = Corpus(seed=3).questions(count + 20)
    start = time.perf_counter()
    memory = engrams.open(home=home, jobs__workers=0)
    memory.search(questions[0], scope=OWNER)
    first = time.perf_counter() - start
    for question in questions[1:20]:
        memory.search(question, scope=OWNER)
    seconds = [
        time_call(lambda question=question: memory.search(question, scope=OWNER))
        for question in questions[20:]
    ]
    contexts = [
        time_call(lambda question=question: memory.context(question, scope=OWNER))
        for question in questions[20 : 20 + count // 4]
    ]
    embeds = [
        time_call(lambda question=question: memory.embedder.embed([question], "query"))
        for question in questions[20:]
    ]
    result = {
        "first_ms": round(1000 * first, 1),
        "search": quantiles(seconds),
        "context": quantiles(contexts),
        "embed": quantiles(embeds),
    }
    memory.close()
    return {**result, "peak_mb": peak_mb()}


def start(home: str, rounds: int) -> dict[str, Any]:
    """The command line from nothing:
    help, and a first search on an existing store. Medians over ``rounds`` processes.
    """
    command = str(Path(sys.executable).with_name("engrams"))
    calls = {
        "python_pass": [sys.executable, "-c", "pass"],
        "help": [command, "--help"],
        "search": [command, "search", "--home", home, "--user", "bench", "Where does Ada live?"],
    }
    result = {}
    for name, call in calls.items():
        subprocess.run(call, capture_output=True, check=True)
        seconds = [
            time_call(lambda call=call: subprocess.run(call, capture_output=True, check=True))
            for _ in range(rounds)
        ]
        result[name] = {
            "median_ms": round(1000 * statistics.median(seconds), 1),
            "worst_ms": round(1000 * max(seconds), 1),
        }
    return result


def ann(size: int) -> dict[str, Any]:
    """Compare the search by codes with the exact one."""

    return measure(size)


STAGES: dict[str, Callable[..., dict[str, Any]]] = {
    "ann": ann,
    "ingest": ingest,
    "load": load,
    "ack": ack,
    "search": search,
    "start": start,
}

if __name__ == "__main__":
    print(json.dumps(STAGES[sys.argv[1]](**json.loads(sys.argv[2]))))
