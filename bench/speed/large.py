"""A scope of a million records, and as many records of many owners.

``python -m bench.speed.large [--size N] [--owners N]``. Stores stay under ``--home``, and a stopped
run resumes: only missing records are written. Each part runs in a process of its own. ``--fresh``
begins anew; ``--size 0`` or ``--owners 0`` leaves one part out.
"""

from __future__ import annotations

import argparse
import itertools
import json
import random
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import engrams
from bench.speed import machine
from bench.speed.corpus import Corpus
from bench.speed.timing import quantiles, time_call, to_turn
from engrams.models.embed.factory import choose_embedder
from engrams.ports import EmbedderCard
from engrams.settings import EmbedSettings

if TYPE_CHECKING:
    from engrams.ports.models import Floats

ROOT = Path(__file__).resolve().parents[2]
HOME = ROOT / "bench" / "out" / "large"
BUDGETS = {1_000: (5, 10), 10_000: (5, 10), 100_000: (10, 25), 1_000_000: (25, 60)}
"""Records in a scope -> budget of p50 and p95 of a search on two cores, in milliseconds."""

_RESIDENT = 1.2e3
"""Budget of a million records in memory, in MB."""

_BATCH = 1000


class WideEmbedder:
    """Builtin embedder rotated into more dimensions; cosines are unchanged."""

    def __init__(self, dimension: int) -> None:
        self._table = choose_embedder(EmbedSettings())
        self._dimension = dimension
        own = self._table.card
        self.card = EmbedderCard(
            f"{own.id}-in-{dimension}", dimension, floors=own.floors, inline=True
        )

    def embed(
        self, texts: Sequence[str], purpose: Literal["query", "document"] = "document"
    ) -> Floats:
        """float32 [len(texts), dimension]."""
        turned: Floats = self._table.embed(texts, purpose) @ self._turn
        return turned

    @cached_property
    def _turn(self) -> Floats:
        """Rotation, kept in a file: to make it takes longer than a search."""
        import numpy as np

        file = HOME.parent / f"turn-{self._dimension}.npy"
        if not file.exists():
            square = np.random.default_rng(11).standard_normal(
                (self._dimension, self._table.card.dimension)
            )
            file.parent.mkdir(parents=True, exist_ok=True)
            np.save(file, np.linalg.qr(square)[0].T.astype(np.float32))
        turn: Floats = np.load(file)
        return turn


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.speed.large", description=__doc__)
    parser.add_argument(
        "--home", type=Path, default=HOME, help="where the stores stay (2.5 GB a million)"
    )
    parser.add_argument("--size", type=int, default=1_000_000, help="records in one scope")
    parser.add_argument("--owners", type=int, default=1000, help="owners of --each records")
    parser.add_argument("--each", type=int, default=1000, help="records of one of many owners")
    parser.add_argument("--dimension", type=int, default=384, help="of the vectors, from 256 on")
    parser.add_argument("--queries", type=int, default=400, help="searches that are timed")
    parser.add_argument("--fresh", action="store_true", help="delete what an earlier run left")
    parser.add_argument(
        "--json",
        type=Path,
        default=ROOT / "bench" / "out" / "large.json",
        help="where the figures go",
    )
    given = parser.parse_args(arguments)
    if given.fresh:
        shutil.rmtree(given.home, ignore_errors=True)
    report = measure(
        given.home, given.size, (given.owners, given.each), given.dimension, given.queries
    )
    print(format_table(report))
    given.json.parent.mkdir(parents=True, exist_ok=True)
    given.json.write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")


def measure(
    home: Path, size: int, many: tuple[int, int], dimension: int = 384, queries: int = 400
) -> dict[str, Any]:
    """Measure both; ``many``: number of owners, and of records each."""
    report: dict[str, Any] = {"machine": machine.collect_facts(), "dimension": dimension}
    owners, each = many
    if size:
        place = str(home / f"one-{size}-{dimension}")
        report["fill"] = _run_part("fill", home=place, owners=1, each=size, dimension=dimension)
        report["one"] = {
            "records": size,
            **_run_part("scope", home=place, dimension=dimension, count=queries),
        }
    if owners:
        alone = str(home / f"alone-{each}-{dimension}")
        place = str(home / f"many-{owners}-{each}-{dimension}")
        _run_part("fill", home=alone, owners=1, each=each, dimension=dimension)
        report["fill_many"] = _run_part(
            "fill", home=place, owners=owners, each=each, dimension=dimension
        )
        report["alone"] = _run_part(
            "visits", home=alone, owners=1, dimension=dimension, count=queries
        )
        report["many"] = {
            "owners": owners,
            "each": each,
            **_run_part("visits", home=place, owners=owners, dimension=dimension, count=queries),
        }
    return report


def _run_part(name: str, **given: Any) -> dict[str, Any]:
    """Run one part in its own process; progress goes to standard error."""
    command = [sys.executable, "-m", "bench.speed.large", "--part", name, json.dumps(given)]
    done = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode:
        sys.exit(f"{name} failed; the next run goes on from here")
    result: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return result


def scope_of(number: int) -> tuple[str, str]:
    return ("user", f"u{number}")


def fill(home: str, owners: int, each: int, dimension: int) -> dict[str, Any]:
    """Write missing turns, a thousand in a transaction, journaled and embedded.

    All turns differ. Nothing is extracted, and no job runs: ended sessions would become episodes,
    and the scope grow.
    """
    lines = (to_turn(line) for line in Corpus().lines(owners * each))
    start = time.perf_counter()
    written = 0
    with engrams.open(
        home=home, embedder=WideEmbedder(dimension), jobs__workers=0, write__extract="off"
    ) as memory:
        for number in range(owners):
            mine = itertools.islice(lines, each)
            held = memory.stats(scope_of(number))["kind"].get("turn", 0)
            for some in _batches(itertools.islice(mine, held, None)):
                memory.observe(some, scope=scope_of(number))
                written += len(some)
                _print_progress(number * each + held, owners * each, written, start)
                held += len(some)
    seconds = time.perf_counter() - start
    print(file=sys.stderr)
    size = sum(path.stat().st_size for path in Path(home).rglob("*") if path.is_file())
    rate = round(written / seconds) if written else None
    return {
        "records": owners * each,
        "written": written,
        "seconds": round(seconds, 1),
        "per_second": rate,
        "db_bytes": size,
    }


def _batches(turns: Iterable[engrams.Turn]) -> Iterator[list[engrams.Turn]]:
    rest = iter(turns)
    while some := list(itertools.islice(rest, _BATCH)):
        yield some


def _print_progress(held: int, whole: int, written: int, start: float) -> None:
    rate = written / max(time.perf_counter() - start, 1e-9)
    left = (whole - held) / rate / 60
    print(
        f"\rwriting: {held:,} of {whole:,}, {rate:,.0f}/s, {left:.1f} min left ",
        end="",
        file=sys.stderr,
        flush=True,
    )


def scope(home: str, dimension: int, count: int) -> dict[str, Any]:
    """Search one large scope: first search, others, and memory."""
    questions = Corpus(seed=3).questions(count + 20)
    who = scope_of(0)
    before = resident_mb()
    with engrams.open(home=home, embedder=WideEmbedder(dimension), jobs__workers=0) as memory:
        print("loading the index", file=sys.stderr)
        first = time_call(lambda: memory.search(questions[0], scope=who))
        for question in questions[1:20]:
            memory.search(question, scope=who)
        seconds = [
            time_call(lambda question=question: memory.search(question, scope=who))
            for question in questions[20:]
        ]
        held = resident_mb()
        contexts = [
            time_call(lambda question=question: memory.context(question, scope=who))
            for question in questions[20 : 20 + count // 4]
        ]
    memory_mb = {"before": before, "after": held, "most": _read_status_mb("VmHWM")}
    return {
        "first_s": round(first, 2),
        "search": quantiles(seconds),
        "context": quantiles(contexts),
        "memory_mb": memory_mb,
    }


def visits(home: str, owners: int, dimension: int, count: int) -> dict[str, Any]:
    """Search one owner after the other.

    ``cold``: each owner's first search, in a warm process; ``warm``: later ones. For one owner
    alone, cold is a fresh engine for each search, as its index would still be loaded otherwise.
    """
    pick = random.Random(5)
    visited = pick.sample(range(owners), min(owners, count)) if owners > 1 else [0] * count
    pairs = list(zip(visited, Corpus(seed=4).questions(len(visited)), strict=True))
    warming = Corpus(seed=6).questions(20)
    embedder = WideEmbedder(dimension)
    if owners == 1:
        with engrams.open(home=home, embedder=embedder, jobs__workers=0) as memory:
            memory.search(warming[0], scope=scope_of(0))
        cold = []
        for _, question in pairs[:50]:
            with engrams.open(home=home, embedder=embedder, jobs__workers=0) as memory:
                cold.append(
                    time_call(
                        lambda memory=memory, question=question: memory.search(
                            question, scope=scope_of(0)
                        )
                    )
                )
    with engrams.open(home=home, embedder=embedder, jobs__workers=0) as memory:
        for question in warming:
            memory.search(question, scope=scope_of(visited[0]))
        if owners > 1:
            cold = [
                time_call(lambda who=who, what=what: memory.search(what, scope=scope_of(who)))
                for who, what in pairs[1:]
            ]
        for _ in range(2):  # the first round meets code and pages for the first time too
            warm = [
                time_call(lambda who=who, what=what: memory.search(what, scope=scope_of(who)))
                for who, what in pairs
            ]
    return {
        "visited": len(set(visited)),
        "cold": quantiles(cold),
        "warm": quantiles(warm),
        "memory_mb": {"after": resident_mb()},
    }


def resident_mb() -> float:
    """Resident memory of this process."""
    return _read_status_mb("VmRSS")


def _read_status_mb(name: str) -> float:
    """Figure of /proc/self/status in MB; 0 without such a file."""
    file = Path("/proc/self/status")
    lines = file.read_text("utf-8").splitlines() if file.is_file() else []
    return next(
        (
            round(int(line.split()[1]) * 1024 / 1e6, 1)
            for line in lines
            if line.startswith(f"{name}:")
        ),
        0.0,
    )


def format_table(report: dict[str, Any]) -> str:
    """Report as aligned text, beside the budgets."""
    facts = report["machine"]
    machine_line = (
        f"{facts['cpu']}, {facts['cores']} cores, {facts['memory_gb']} GB, load {facts['load']} at"
        " the start"
    )
    lines = [f"{machine_line}; {report['dimension']}-d vectors", ""]
    lines += _format_one(report["one"], report["fill"]) if "one" in report else []
    lines += (
        _format_many(report["many"], report["alone"], report["fill_many"])
        if "many" in report
        else []
    )
    return "\n".join(lines)


def _format_one(one: dict[str, Any], filled: dict[str, Any]) -> list[str]:
    size = one["records"]
    held = one["memory_mb"]
    wanted = next(
        (f"(budget {p50} and {p95})" for most, (p50, p95) in BUDGETS.items() if size <= most), ""
    )
    million = (held["after"] - held["before"]) / size * 1e6
    lines = [
        (
            f"one scope of {size:,}: written {_format_rate(filled)},"
            f" {filled['db_bytes'] / 1e6:,.0f} MB on disk, loaded in {one['first_s']:.1f} s"
        ),
        f"  search   p50 {one['search']['p50']:.1f} ms, p95 {one['search']['p95']:.1f} ms {wanted}",
        f"  context  p50 {one['context']['p50']:.1f} ms, p95 {one['context']['p95']:.1f} ms",
        f"  memory   {held['after']:,.0f} MB resident, most {held['most']:,.0f} MB while loading",
    ]
    if size >= 100_000:  # below, the process itself weighs more than what it holds
        lines.append(
            f"           {million:,.0f} MB a million records, what was there before not counted"
            f" (budget {_RESIDENT:,.0f})"
        )
    return lines


def _format_many(many: dict[str, Any], alone: dict[str, Any], filled: dict[str, Any]) -> list[str]:
    lines = [
        (
            f"{many['owners']:,} owners of {many['each']:,}: written {_format_rate(filled)},"
            f" {filled['db_bytes'] / 1e6:,.0f} MB on disk"
        ),
        f"  {many['visited']:,} of them visited, {many['memory_mb']['after']:,.0f} MB resident",
    ]
    for name, said in (("warm", "again"), ("cold", "the first search of an owner")):
        lines.append(
            f"  {said:29} p50 {many[name]['p50']:6.1f} ms, p95 {many[name]['p95']:6.1f} ms; "
            f"one owner alone p50 {alone[name]['p50']:6.1f} ms, p95 {alone[name]['p95']:6.1f} ms"
        )
    return lines


def _format_rate(filled: dict[str, Any]) -> str:
    return f"at {filled['per_second']:,}/s" if filled["per_second"] else "before"


PARTS: dict[str, Callable[..., dict[str, Any]]] = {"fill": fill, "scope": scope, "visits": visits}

if __name__ == "__main__":
    if sys.argv[1:2] == ["--part"]:
        print(json.dumps(PARTS[sys.argv[2]](**json.loads(sys.argv[3]))))
    else:
        main()
