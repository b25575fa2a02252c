"""``python -m bench.answers make DATA.json… --out DIR``, then ``judge DIR`` and ``report DIR``;
or ``cover DIR`` without a reader.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from bench.answers.contexts import find_python, make_engrams, make_hybrid
from bench.answers.report import cover_evidence, format_report
from bench.answers.sample import choose_questions
from bench.answers.sheets import read_contexts, read_key, read_values, write_run, write_sheet
from bench.quality.data import load_dataset
from bench.quality.systems import make_embedder


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.answers", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    make = commands.add_parser("make", help="write contexts and questions for readers")
    make.add_argument("data", type=Path, nargs="+", help="data sets")
    make.add_argument("--tokens", type=int, default=1200, help="budget of a context")
    make.add_argument(
        "--questions",
        type=int,
        default=0,
        help="how many in all, evenly over the categories (0: all)",
    )
    make.add_argument("--seed", type=int, default=1)
    make.add_argument("--out", type=Path, required=True, help="folder of the run")
    make.add_argument(
        "--source",
        action="append",
        default=[],
        metavar="NAME=CHECKOUT",
        help="the engrams of another checkout too",
    )
    make.add_argument("--only", default="engrams,hybrid", help="which of: engrams, hybrid")
    make.add_argument(
        "--embedder", default="builtin", help="builtin, or the folder of an ONNX model"
    )
    make.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="a setting of the engrams of this checkout",
    )
    for name, told in (
        ("judge", "write the judge's sheet from the answers"),
        ("report", "print the judge's scores"),
        ("cover", "print which share of the evidence the contexts show"),
    ):
        commands.add_parser(name, help=told).add_argument(
            "folder", type=Path, help="folder of the run"
        )
    options = parser.parse_args()
    {"make": _make, "judge": _judge, "report": _report, "cover": _cover}[options.command](options)


def _make(options: argparse.Namespace) -> None:
    asked = choose_questions(
        [load_dataset(path) for path in options.data], options.questions, options.seed
    )
    shared = ["--tokens", str(options.tokens), "--embedder", _full_path(options.embedder)]
    changes = [part for each in options.set for part in ("--set", each)]
    wanted = options.only.split(",")
    made = {}
    if "engrams" in wanted:
        made["engrams"] = make_engrams(asked, find_python(""), [*shared, *changes])
    for each in options.source:
        name, _, source = each.partition("=")
        made[name] = make_engrams(asked, find_python(source), shared)
    if "hybrid" in wanted:
        made["hybrid"] = make_hybrid(asked, options.tokens, make_embedder(options.embedder))
    for path in write_run(options.out, asked, made, options.seed):
        print(
            f"{path}: {len(asked)} questions for a reader, who writes"
            f" {path.with_name(path.name.replace('reader', 'answers'))}"
        )


def _full_path(embedder: str) -> str:
    return embedder if embedder in ("builtin", "null") else str(Path(embedder).absolute())


def _judge(options: argparse.Namespace) -> None:
    path, missing = write_sheet(options.folder)
    print(
        f"{path} for a judge, who writes {path.with_name('verdicts.jsonl')}; {missing} contexts"
        " have no answer yet"
    )


def _report(options: argparse.Namespace) -> None:
    scores = {
        id: float(score) for id, score in read_values(options.folder, "verdicts", "score").items()
    }
    print(format_report(read_key(options.folder), scores, "right answers, %"))


def _cover(options: argparse.Namespace) -> None:
    key = read_key(options.folder)
    contexts = read_contexts(options.folder)
    print(
        format_report(
            key,
            {row.id: cover_evidence(row.evidence, contexts[row.id]) for row in key},
            "words of the evidence shown, %",
        )
    )


if __name__ == "__main__":
    main()
