"""What memory holds true after changes and traps: ``python -m bench.changes [--part held] [--file
work] [--set name=value]``.

Each scenario is said to a fresh memory with its times, then its question is asked. A scenario holds
when every text that is true is in a current hit, no current fact says what is over, the first hit
is no outdated sentence without a mark, and what must stay is current. ``told`` counts marks too: of
the outdated sentences among the first five hits, those that are closed or shown as possibly
outdated. The held-out part is for the last look only.
"""

from __future__ import annotations

import argparse
import tempfile
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from math import sqrt
from typing import Any

import engrams
from bench.changes.data import FILES, Case, holds_any, parse_moment, read_cases
from engrams.core import Hit, Kind, Status, Turn

SCOPE = ("user", "tester")
_SAID = (Kind.TURN, Kind.EXCHANGE)


@dataclass(frozen=True, slots=True)
class ScenarioResult:
    """Outcome of one scenario.

    ``shown``: no outdated sentence without a mark. ``stale``: outdated sentences among the hits;
    ``closed`` and ``marked`` ones. ``doubted``: any hit is marked or closed.
    """

    holds: bool
    shown: bool
    closed: int
    marked: int
    stale: int
    doubted: bool


def run_case(case: Case, settings: dict[str, Any]) -> ScenarioResult:
    """Say a scenario to a fresh memory and look at what is current."""
    with (
        tempfile.TemporaryDirectory() as home,
        engrams.open(home=home, jobs__workers=0, **settings) as memory,
    ):
        for line in case["say"]:
            role = line["who"] if line["who"] in ("user", "assistant") else "user"
            speaker = "" if line["who"] in ("user", "assistant") else line["who"]
            memory.observe(
                [Turn(line["text"], role, speaker, parse_moment(line["at"]), session="s")],
                scope=SCOPE,
            )
            memory.drain(30)
        as_of = parse_moment(case["as_of"]) if case["as_of"] else None
        hits = memory.search(case["ask"], scope=SCOPE, limit=5, as_of=as_of).hits
        kept = as_of is not None or all(
            _is_kept(memory.search(part, scope=SCOPE, limit=8).hits, part) for part in case["keep"]
        )
        return _judge(case, hits, kept)


def _is_kept(hits: tuple[Hit, ...], part: str) -> bool:
    return any(hit.status is Status.ACTIVE and holds_any(hit.record.text, [part]) for hit in hits)


def _judge(case: Case, hits: tuple[Hit, ...], kept: bool) -> ScenarioResult:
    seen = [(hit.record.kind, hit.record.text, hit.status) for hit in hits]
    seen += [(fact.kind, fact.text, fact.status) for hit in hits for fact in hit.facts]
    live = [(kind, text) for kind, text, status in seen if status is Status.ACTIVE]
    over = [hit for hit in hits if holds_any(hit.record.text, case["stale"])]
    open_ = [hit for hit in over if hit.status is Status.ACTIVE]
    good = (
        all(any(holds_any(text, [part]) for _, text in live) for part in case["now"])
        and not any(holds_any(text, case["stale"]) for kind, text in live if kind not in _SAID)
        and not (hits and hits[0] in open_)
        and kept
    )
    marked = sum(hit.outdated is not None and hit.outdated.is_told for hit in open_)
    doubted = any(hit.outdated is not None and hit.outdated.is_told for hit in hits)
    return ScenarioResult(
        good, marked == len(open_), len(over) - len(open_), marked, len(over), doubted
    )


def kind_of(case: Case) -> str:
    """Return change, trap or as_of."""
    if case["as_of"]:
        return "as_of"
    if case["stale"]:
        return "change"
    return "trap"


def interval(right: int, of: int) -> str:
    """Return a share with its 95 % interval (Wilson)."""
    if not of:
        return "none"
    share = right / of
    z = 1.96
    middle = share + z * z / (2 * of)
    half = z * sqrt(share * (1 - share) / of + z * z / (4 * of * of))
    low = (middle - half) / (1 + z * z / of)
    high = (middle + half) / (1 + z * z / of)
    return f"{share:.0%} ({low:.0%}-{high:.0%}) of {of}"


def group_names(name: str, case: Case) -> Iterator[str]:
    """Yield the rows of the table that a scenario counts in."""
    yield from (
        "all",
        f"file {name}",
        f"language {case['lang']}",
        f"{kind_of(case)}: {case['cat']}",
    )


def main() -> None:
    """Run the scenarios and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--part", choices=("train", "held"), default="train")
    parser.add_argument("--file", choices=FILES, action="append")
    parser.add_argument("--every", type=int, default=1, help="only every n-th scenario")
    parser.add_argument(
        "--set", action="append", default=[], help="a setting, such as write.changes.enabled=false"
    )
    given = parser.parse_args()
    settings = {
        name.replace(".", "__"): value for name, value in (each.split("=", 1) for each in given.set)
    }
    rows: dict[str, list[tuple[str, ScenarioResult]]] = defaultdict(list)
    for name in given.file or FILES:
        for case in read_cases(name, given.part)[:: given.every]:
            result = run_case(case, settings)
            for group in group_names(name, case):
                rows[group].append((kind_of(case), result))
    columns = (
        "changes recognised",
        "outdated closed or marked",
        "traps left alone",
        "traps without any mark",
        "as_of",
    )
    print(f"| | {' | '.join(columns)} | nothing outdated without a mark |")
    print("|---|---|---|---|---|---|---|")
    for group, results in sorted(rows.items()):
        by = {
            kind: [one for of, one in results if of == kind] for kind in ("change", "trap", "as_of")
        }
        shares = {
            kind: interval(sum(one.holds for one in some), len(some)) for kind, some in by.items()
        }
        over = sum(one.stale for one in by["change"])
        told = interval(sum(one.closed + one.marked for one in by["change"]), over)
        shown = interval(sum(one.shown for _, one in results), len(results))
        free = interval(sum(not one.doubted for one in by["trap"]), len(by["trap"]))
        print(
            f"| {group} | {shares['change']} | {told} | {shares['trap']} | {free} |"
            f" {shares['as_of']} | {shown} |"
        )


if __name__ == "__main__":
    main()
