"""Learning with a chat model: ``python -m bench.model [--only ID] [--show]``, ``… record [--only
ID]``, ``… pace``.

Long conversations with gold go through a whole engine, with a model that gives recorded answers
over HTTP. ``record`` takes the prompts that the product sends today as those that the recordings
answer, and prints those that have no answer yet. ``pace`` counts calls and tokens of talk at a
person's pace.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from bench.model.data import conversation_ids, read_conversation
from bench.model.pace import format_pace
from bench.model.recorded import RecordingError
from bench.model.replay import replay
from bench.model.score import FIGURES, Score, score, share, summarise

OUT = Path(__file__).parents[1] / "out" / "model.json"
TARGETS = {"precision": "≥ .95", "recall": "≥ .90", "updates": "≥ .95", "calls_per_turn": "≤ .20"}


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m bench.model", description=__doc__.split("\n\n")[1]
    )
    parser.add_argument("action", nargs="?", choices=("score", "record", "pace"), default="score")
    parser.add_argument(
        "--only", action="append", metavar="ID", help="a conversation; may be repeated"
    )
    parser.add_argument(
        "--show", action="store_true", help="say what is wrong, missed, stale or leaked"
    )
    asked = parser.parse_args()
    if asked.action == "pace":
        print(format_pace())
        return 0
    scores = []
    failed = False
    for id in asked.only or conversation_ids():
        conversation = read_conversation(id)
        try:
            scores.append(
                score(conversation, replay(conversation, record=asked.action == "record"))
            )
        except RecordingError as problem:
            print(f"{problem.message}\n{problem.hint}")
            failed = True
    if scores:
        print(format_table(scores))
        for one in scores if asked.show else ():
            _show(one)
        if asked.action == "score" and not asked.only:
            OUT.parent.mkdir(exist_ok=True)
            rows = {"all": summarise(scores), "conversations": [_to_row(one) for one in scores]}
            OUT.write_text(json.dumps(rows, indent=2, ensure_ascii=False) + "\n", "utf-8")
    return int(failed)


def format_table(scores: list[Score]) -> str:
    titles = (
        "turns",
        "precision",
        "recall",
        "updates",
        "dates",
        "leaked",
        "calls",
        "a turn",
        "tokens",
    )
    lines = [f"{'':16}" + "".join(f"{title:>10}" for title in titles)]
    for one in scores:
        shares = [f"{right}/{of}" for right, of in (getattr(one, name) for name in FIGURES[:4])]
        leaks = one.forbidden[1] - one.forbidden[0]
        cells = (
            one.turns,
            *shares,
            leaks,
            one.calls,
            f"{share(one.calls_per_turn):.2f}",
            f"{share(one.tokens_per_turn):.0f}",
        )
        lines.append(f"{one.id:16}" + "".join(f"{cell:>10}" for cell in cells))
    lines.append("")
    for name, row in summarise(scores).items():
        figures = (
            f"{row['value']:>9.3f}   95 % {row['low']:.3f} to {row['high']:.3f}  "
            f" {TARGETS.get(name, '')}"
        )
        lines.append(f"{name.replace('_', ' '):16}{figures}".rstrip())
    return "\n".join(lines)


def _show(one: Score) -> None:
    for name in ("wrong", "missed", "stale", "leaked"):
        for text in getattr(one, name):
            print(f"{one.id}: {name}: {text}")


def _to_row(one: Score) -> dict[str, object]:
    names = (*FIGURES, "forbidden", "turns", "wrong", "missed", "stale", "leaked")
    return {"id": one.id, **{name: getattr(one, name) for name in names}}


if __name__ == "__main__":
    sys.exit(main())
