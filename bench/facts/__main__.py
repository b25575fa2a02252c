"""``python -m bench.facts make DATA.json… --out DIR``, then ``report DIR``.

``make`` tells each conversation to a fresh memory without a model, draws statements, dates, marks,
closings and messages at random, and writes ``DIR/sheet.jsonl``: lines of ``id``, ``what``,
``shown`` (what memory says), ``source`` (the message it rests on), ``before``, ``after`` and
``later``. Marks are those that readers are told of, stored or seen in a context. A reader writes ``DIR/verdicts.jsonl``: lines
of ``id`` and ``verdict``:

- statement: ``right``, ``empty`` (true, and nobody will ever need it), ``broken`` (right, with
  words that are cut or wrong), ``wrong``
- date: ``right``, ``wrong``, ``unclear``
- mark, closing: ``right``, ``arguable``, ``wrong``
- message: ``none`` (says nothing lasting), ``learned``, ``missed``, ``partly``; judge what is
  lasting before reading ``learned``

``report`` prints shares with Wilson intervals (95 %) by data set, and which share of the contexts
shows a mark.
"""

from __future__ import annotations

import argparse
import json
import random
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import asdict
from math import sqrt
from pathlib import Path

from bench.facts.draw import Drawn, read_talk
from bench.quality.data import load_dataset

KINDS = ("statement", "date", "mark", "closing", "message")
VERDICTS = {
    "statement": ("right", "empty", "broken", "wrong"),
    "date": ("right", "wrong", "unclear"),
    "mark": ("right", "arguable", "wrong"),
    "closing": ("right", "arguable", "wrong"),
    "message": ("none", "learned", "partly", "missed"),
}
SHEET = "sheet.jsonl"
COUNTS = "counts.json"
_Z = 1.96


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m bench.facts",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    commands = parser.add_subparsers(dest="command", required=True)
    make = commands.add_parser("make", help="draw a sheet for a reader")
    make.add_argument("data", type=Path, nargs="+", help="data sets")
    make.add_argument("--out", type=Path, required=True, help="folder of the run")
    make.add_argument("--talks", default="", help="ids of conversations, by commas (all)")
    make.add_argument("--seed", type=int, default=1)
    for kind, number in zip(KINDS, (100, 40, 40, 30, 60), strict=True):
        make.add_argument(f"--{kind}s", type=int, default=number, help=f"how many {kind}s")
    make.add_argument("--set", action="append", default=[], metavar="NAME=VALUE")
    report = commands.add_parser("report", help="print the shares of a reader's verdicts")
    report.add_argument("folder", type=Path)
    options = parser.parse_args()
    if options.command == "make":
        _make(options)
    else:
        print(format_report(options.folder))


def _make(options: argparse.Namespace) -> None:
    settings = dict(item.split("=", 1) for item in options.set)
    wanted = {name for name in options.talks.split(",") if name}
    by_kind: dict[str, list[Drawn]] = defaultdict(list)
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    for path in options.data:
        data = load_dataset(path)
        for talk in data.talks:
            if wanted and talk.id not in wanted:
                continue
            findings = read_talk(data.name, talk, settings)
            counts[data.name]["contexts"] += findings.contexts
            counts[data.name]["marked_contexts"] += findings.marked_contexts
            for drawn in findings.drawn:
                by_kind[drawn.what].append(drawn)
                counts[data.name][drawn.what] += 1
    chance = random.Random(options.seed)
    rows = []
    for kind in KINDS:
        number = min(getattr(options, f"{kind}s"), len(by_kind[kind]))
        chosen = chance.sample(by_kind[kind], number)
        rows += [{"id": f"{kind}-{at}", **asdict(drawn)} for at, drawn in enumerate(chosen, 1)]
    options.out.mkdir(parents=True, exist_ok=True)
    sheet = options.out / SHEET
    sheet.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), "utf-8")
    (options.out / COUNTS).write_text(json.dumps(counts, indent=1), "utf-8")
    print(f"{sheet}: {len(rows)} rows for a reader, who writes {options.out / 'verdicts.jsonl'}")


def format_report(folder: Path) -> str:
    """Shares of each verdict, by kind and data set.

    SystemExit: a verdict that the kind does not have, or an id that the sheet lacks.
    """
    rows = {row["id"]: row for row in _read_lines(folder / SHEET)}
    verdicts: dict[tuple[str, str], list[str]] = defaultdict(list)
    for line in _read_lines(folder / "verdicts.jsonl"):
        row = rows.get(line.get("id", ""))
        if row is None or line.get("verdict") not in VERDICTS[row["what"]]:
            raise SystemExit(f"verdicts.jsonl: not an id and verdict of this sheet: {line}")
        for data in (row["data"], "all"):
            verdicts[row["what"], data].append(line["verdict"])
    lines = []
    for kind in KINDS:
        for (what, data), given in sorted(verdicts.items()):
            if what == kind:
                shares = "  ".join(
                    f"{verdict} {format_share(given.count(verdict), len(given))}"
                    for verdict in VERDICTS[kind]
                )
                lines.append(f"{kind:10} {data:16} {len(given):4}  {shares}")
    counts = json.loads((folder / COUNTS).read_text("utf-8"))
    for data, count in counts.items():
        share = format_share(count["marked_contexts"], count["contexts"])
        lines.append(f"contexts with a mark, {data}: {share} of {count['contexts']}")
    return "\n".join(lines)


def format_share(count: int, total: int) -> str:
    """A share in percent with its interval (Wilson 1927, 95 %)."""
    if not total:
        return "-"
    share = count / total
    spread = 1 + _Z**2 / total
    middle = (share + _Z**2 / (2 * total)) / spread
    half = _Z * sqrt(share * (1 - share) / total + _Z**2 / (4 * total**2)) / spread
    low = max(0.0, middle - half)
    high = min(1.0, middle + half)
    return f"{100 * share:.0f} % ({100 * low:.0f}-{100 * high:.0f})"


def _read_lines(path: Path) -> Sequence[dict[str, str]]:
    if not path.exists():
        raise SystemExit(f"{path} is missing")
    return [json.loads(line) for line in path.read_text("utf-8").splitlines() if line.strip()]


if __name__ == "__main__":
    main()
