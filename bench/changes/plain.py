"""Tell short scenarios to a fresh memory, one line right after the other, as somebody new types:
``python -m bench.changes.plain``.

Counted are the changes of which the older line is closed, or marked as a context tells it, and the
traps in which nothing is; by language. ``--part held``: the third that nothing is tuned on, for the
last look only. The parts ``contrasts``, ``told_a`` and ``told_b`` are said days apart; nothing is
tuned on the last.
"""

from __future__ import annotations

import argparse
import tempfile
from collections import defaultdict
from datetime import timedelta

import engrams
from bench.changes.__main__ import SCOPE, interval
from bench.changes.data import NOON, Case, read_plain_cases
from engrams.core import Hit, Status, Turn

_SPACED = ("contrasts", "told_a", "told_b")
"""Files whose lines are said days apart."""
_FILES = {"train": "plain", "held": "plain_held", **dict(zip(_SPACED, _SPACED, strict=True))}
"""Files by the part that is asked for."""


def find_told(case: Case, *, is_spaced: bool = False) -> set[int]:
    """Return the places of the lines that memory tells to be over.

    ``is_spaced``: they are said as many days apart as the scenario says, else one after the other.
    """
    with tempfile.TemporaryDirectory() as home, engrams.open(home=home, jobs__workers=0) as memory:
        for position, text in enumerate(case["say"]):
            at = NOON + position * timedelta(days=case["days"]) if is_spaced else None
            memory.observe([Turn(text, at=at)], scope=SCOPE)
            memory.drain(30)
        found = [
            (at, hit)
            for at, text in enumerate(case["say"])
            for hit in memory.search(text, scope=SCOPE).hits
            if _is_of(hit, text)
        ]
        return {
            at
            for at, hit in found
            if hit.status is not Status.ACTIVE or (hit.outdated and hit.outdated.is_told)
        }


def _is_of(hit: Hit, text: str) -> bool:
    return hit.record.text.strip() == text.strip()


def main() -> None:
    """Run the scenarios and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--part", choices=tuple(_FILES), default="train")
    parser.add_argument("--missed", action="store_true", help="print what comes out wrong")
    given = parser.parse_args()
    right: dict[tuple[str, bool], list[bool]] = defaultdict(list)
    for case in read_plain_cases(_FILES[given.part]):
        told = find_told(case, is_spaced=given.part in _SPACED)
        ends = set(case["ends"])
        good = ends <= told if ends else not told
        for group in ("all", case["lang"]):
            right[group, bool(ends)].append(good)
        if given.missed and not good:
            print(" | ".join(case["say"]))
    print("| | changes told | traps left alone |\n|---|---|---|")
    for group in sorted({group for group, _ in right}):
        print(
            f"| {group} |"
            f" {' | '.join(interval(sum(some), len(some)) for some in (right[group, True], right[group, False]))} |"
        )


if __name__ == "__main__":
    main()
