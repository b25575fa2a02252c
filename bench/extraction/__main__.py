"""Precision and recall of extraction without a model: ``python -m bench.extraction [--show tune]``.

``labels.tsv`` names turns of the data in ``../shared/data`` by id and says in key words which
statements each holds; the texts themselves are read from there. Statements marked ``+`` count for
recall; a candidate that matches any label of its turn, ``~`` included, counts as right.
Conversations are halved: the rules were tuned on one half only.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from engrams.extract import policy
from engrams.extract.candidate import CandidateStatement
from engrams.extract.gate import gate_text
from engrams.extract.rules.rule_extraction import extract_statements, is_explicit
from engrams.extract.rules.utterance import UtteranceContext
from engrams.settings import WriteSettings
from engrams.text.terms import terms, tokens

HERE = Path(__file__).parent
DATA = HERE.parents[1].parent / "shared" / "data"
OUT = HERE.parent / "out" / "extraction.json"
HELD = frozenset(("conv-41", "conv-43", "100K_2", "100K_3"))


@dataclass(frozen=True)
class Label:
    core: bool
    subject: str
    predicate: tuple[str, ...]
    object: tuple[str, ...]


@dataclass
class ExtractionTally:
    turns: int = 0
    core: int = 0
    found: int = 0
    made: int = 0
    right: int = 0
    seconds: list[float] = field(default_factory=list)

    def to_row(self) -> dict[str, float]:
        ordered = sorted(self.seconds)
        return {
            "turns": self.turns,
            "core": self.core,
            "candidates": self.made,
            "precision": round(self.right / self.made, 3) if self.made else 0.0,
            "recall": round(self.found / self.core, 3) if self.core else 0.0,
            "ms_mean": round(1000 * sum(ordered) / len(ordered), 3) if ordered else 0.0,
            "ms_p95": round(1000 * ordered[int(len(ordered) * 0.95)], 3) if ordered else 0.0,
        }


def read_labels() -> dict[tuple[str, str], list[Label]]:
    found: dict[tuple[str, str], list[Label]] = defaultdict(list)
    for line in (HERE / "labels.tsv").read_text("utf-8").splitlines():
        if not line or line.startswith("#"):
            continue
        parts = line.split("\t")
        labels = found[parts[0], parts[1]]
        if parts[2] != "-":
            labels.append(
                Label(
                    parts[2] == "+",
                    parts[3],
                    tuple(parts[4].split(",")),
                    tuple(parts[5].split(",")),
                )
            )
    return found


def read_turns(
    wanted: Iterable[tuple[str, str]],
) -> dict[tuple[str, str], tuple[dict[str, str], frozenset[str]]]:
    asked = set(wanted)
    found = {}
    for name in ("locomo_dev.json", "beam_dev.json"):
        for conversation in json.loads((DATA / name).read_text("utf-8"))["conversations"]:
            names = frozenset(item["speaker"].lower() for item in conversation["items"]) - {
                "user",
                "assistant",
            }
            for item in conversation["items"]:
                if (conversation["id"], str(item["id"])) in asked:
                    found[conversation["id"], str(item["id"])] = (item, names)
    return found


def extract_candidates(
    item: dict[str, str], names: frozenset[str], settings: WriteSettings
) -> list[CandidateStatement]:
    """Candidates that the write flow would store for one turn."""
    if gate_text(item["text"], min_words=settings.min_words) is not None:
        return []
    person = item["speaker"] not in ("user", "assistant")
    said = datetime.fromisoformat(item["date"]).replace(tzinfo=UTC)
    speech = UtteranceContext(
        speaker=item["speaker"] if person else "the user",
        subject=item["speaker"] if person else "user",
        said_at=said,
        source="r",
        trust=1.0,
        names=names,
    )
    explicit = is_explicit(item["text"])
    kept = []
    for candidate in extract_statements(item["text"], speech):
        ruling = policy.decide(
            candidate, mode="rules", explicit=explicit, floor=settings.min_confidence
        )
        if ruling.action != "drop" and (candidate.predicate or candidate.effect != "corrects"):
            kept.append(candidate)
    return kept


def matches(candidate: CandidateStatement, label: Label) -> bool:
    words = f"{candidate.text} {candidate.predicate.replace('_', ' ')} {candidate.object}"
    have = set(tokens(words)) | set(terms(words))

    def named(word: str) -> bool:
        return word in have or any(term in have for term in terms(word))

    about = (
        label.subject == "*"
        or label.subject.lower() in f"{candidate.subject} {candidate.text}".lower()
    )
    return (
        about
        and any(named(word) for word in label.predicate)
        and all(any(named(one) for one in word.split("/")) for word in label.object)
    )


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument(
        "--show",
        choices=("tune", "held"),
        help="print every miss and every wrong candidate of that half",
    )
    asked = parser.parse_args()
    if not DATA.is_dir():
        print(f"The data is not here: {DATA}")
        return 1
    labels = read_labels()
    turns = read_turns(labels)
    settings = WriteSettings()
    tallies = {"tune": ExtractionTally(), "held": ExtractionTally()}
    for key, wanted in labels.items():
        half = "held" if key[0] in HELD else "tune"
        item, names = turns[key]
        started = time.thread_time()
        made = extract_candidates(item, names, settings)
        tally = tallies[half]
        tally.seconds.append(time.thread_time() - started)
        right = [
            candidate for candidate in made if any(matches(candidate, label) for label in wanted)
        ]
        missed = [
            label
            for label in wanted
            if label.core and not any(matches(candidate, label) for candidate in made)
        ]
        tally.turns += 1
        tally.core += sum(label.core for label in wanted)
        tally.found += sum(label.core for label in wanted) - len(missed)
        tally.made += len(made)
        tally.right += len(right)
        if asked.show == half and (missed or len(right) < len(made)):
            print(f"{key[0]} {key[1]}: {item['text'][:400]!r}")
            for candidate in made:
                print(
                    f"   {'ok ' if candidate in right else 'BAD'} [{candidate.predicate}]"
                    f" {candidate.text} ({candidate.confidence})"
                )
            for label in missed:
                print(
                    f"   MISSED {label.subject} {'|'.join(label.predicate)}"
                    f" {' '.join(label.object)}"
                )
    rows = {half: tally.to_row() for half, tally in tallies.items()}
    print(f"{'half':6}" + "".join(f"{name:>12}" for name in next(iter(rows.values()))))
    for half, row in rows.items():
        print(f"{half:6}" + "".join(f"{value:>12}" for value in row.values()))
    OUT.parent.mkdir(exist_ok=True)
    OUT.write_text(json.dumps(rows, indent=2) + "\n", "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
