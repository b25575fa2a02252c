"""Break promises on purpose, one at a time: ``python -m tests.mutants``; exit code 1 where a test
did not notice.

Each mutant is applied in a copy of the tree, and the acceptance test that claims the promise must
fail by an assertion. Results are kept in a folder (``--work``), so an interrupted run goes on.
"""

from __future__ import annotations

import argparse
import os
import random
import sys
import time
import tomllib
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from tests.mutants.catalogue import Mutant, load
from tests.mutants.runner import FolderInUseError, Result, Runner

ROOT = Path(__file__).resolve().parents[2]
COLUMNS = 110
SHARE = 10
"""One of so many is taken by ``--tenth``."""


def main(words: Sequence[str] | None = None) -> int:
    """Run the chosen mutants, print what is wrong, and return the exit code."""
    options = parse(words)
    mutants = choose(load(Path(__file__).parent), options)
    if not mutants:
        print("No mutant is named so.")
        return 1
    started = time.monotonic()
    runner = Runner(ROOT, options.work, near=options.near)

    def tell(mutant: Mutant, result: Result) -> None:
        if result.verdict != "killed" or options.verbose:
            print(line(mutant, result), flush=True)

    try:
        results = runner.run(mutants, options.jobs, tell)
    except FolderInUseError as error:
        print(error)
        return 1
    print(summary(results, time.monotonic() - started))
    for item, reason in reasons().items():
        print(f"{item} has no mutant: {reason}")
    return int(any(result.verdict != "killed" for _, result in results))


def parse(words: Sequence[str] | None) -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(prog="python -m tests.mutants", description=__doc__)
    parser.add_argument("items", nargs="*", help="only these: S2.27, S2 or the key of a mutant")
    parser.add_argument("--jobs", type=int, default=min(2, os.cpu_count() or 1))
    parser.add_argument("--tenth", action="store_true", help="a random tenth, by --seed")
    parser.add_argument("--seed", type=int, default=None, help="default: drawn, and printed")
    parser.add_argument(
        "--near",
        action="store_true",
        help="earlier results hold while the changed file is the same",
    )
    parser.add_argument(
        "--work",
        type=Path,
        default=ROOT / ".cache" / "mutants",
        help="folder for the results and the copies; one outside outlives the checkout",
    )
    parser.add_argument("--verbose", action="store_true", help="print those that were killed too")
    return parser.parse_args(words)


def choose(mutants: list[Mutant], options: argparse.Namespace) -> list[Mutant]:
    """Return the mutants that the options name, or a random tenth of them."""
    if options.items:
        mutants = [
            mutant
            for mutant in mutants
            if any(
                word in (mutant.item, mutant.key, mutant.item.partition(".")[0])
                for word in options.items
            )
        ]
    if options.tenth and mutants:
        seed = random.randrange(10**6) if options.seed is None else options.seed
        print(f"A random tenth, --seed {seed}")
        mutants = random.Random(seed).sample(mutants, max(1, len(mutants) // SHARE))
    return mutants


def line(mutant: Mutant, result: Result) -> str:
    """Return the report of one mutant."""
    head = f"{result.verdict.upper():12} {mutant.key} ({result.seconds} s) {mutant.untrue}"
    if result.verdict == "killed":
        detail = result.detail.replace("\n", " ")[:COLUMNS]
        return f"{head}\n{'':13}by {mutant.test}\n{'':13}{detail}"
    return f"{head}\n{'':13}{mutant.at}\n{'':13}{mutant.test}\n{result.detail}".rstrip()


def summary(results: Sequence[tuple[Mutant, Result]], seconds: float) -> str:
    """Return the counts of verdicts, and of items with a mutant by document."""
    verdicts = Counter(result.verdict for _, result in results)
    documents = Counter(item.partition(".")[0] for item in {mutant.item for mutant, _ in results})
    counted = ", ".join(f"{count} {verdict}" for verdict, count in verdicts.most_common())
    items = ", ".join(f"{name} {count}" for name, count in sorted(documents.items()))
    return (
        f"{len(results)} mutants: {counted}; items {sum(documents.values())} ({items});"
        f" {seconds / 60:.1f} minutes"
    )


def reasons() -> dict[str, str]:
    """Return the items that do not apply to engrams, each with the reason."""
    table = tomllib.loads((ROOT / "tests" / "spec.toml").read_text("utf-8"))
    return dict(table["not_applicable"])


if __name__ == "__main__":
    sys.exit(main())
