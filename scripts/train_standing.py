"""Train the judge of sentences of a project from labelled ones and write its weights.

    python scripts/train_standing.py            train, print cross-validated figures, write the
    weights
    python scripts/train_standing.py --dry-run  the figures only

``bench/clauses/standing/*.txt`` holds one sentence a line: ``+`` holds for good, ``-`` belongs to
the moment. The sentences of ``bench/agents/data`` that are for tuning are read besides. The same data give the
same weights.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "src"))
sys.path.insert(0, str(ROOT))

from bench.agents.__main__ import DATA, read_sentences  # noqa: E402
from scripts.train_clauses import (  # noqa: E402
    FOLDS,
    LabelledClause,
    cross_validate,
    fit,
    report,
)

from engrams.extract.rules.hashed_judge import hash_features  # noqa: E402
from engrams.extract.rules.project_rules import find_form  # noqa: E402
from engrams.extract.rules.standing_judge import JudgedSentence, describe_sentence  # noqa: E402

WEIGHTS = ROOT / "src/engrams/extract/rules/standing.npz"
SENTENCES = ROOT / "bench/clauses/standing"
FOR_TUNING = ("passing", "tone_dev", "orders")


def read_labels() -> Iterator[tuple[str, bool, str]]:
    """Read each sentence, whether it holds for good, and its source."""
    for path in sorted(SENTENCES.glob("*.txt")):
        for line in path.read_text("utf-8").splitlines():
            label, _, text = line.partition(" ")
            if label in ("+", "-"):
                yield text, label == "+", path.stem
    for name in FOR_TUNING:
        for sentence in read_sentences(DATA / f"{name}.txt"):
            yield sentence.text, bool(sentence.words), name


def read_examples() -> Iterator[LabelledClause]:
    """Read the sentences as the judge sees them."""
    for number, (text, holds, source) in enumerate(read_labels()):
        judged = JudgedSentence(text, has_form=find_form(text).kind is not None)
        slots = frozenset(hash_features(describe_sentence(judged)))
        yield LabelledClause(slots, float(holds), f"{source}{number}", text, source)


def main() -> int:
    """Train and write."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--dry-run", action="store_true")
    parser.add_argument("--errors", action="store_true", help="print what is judged wrongly")
    arguments = parser.parse_args()
    examples = [*read_examples()]
    folds = {example.group: at % FOLDS for at, example in enumerate(examples)}
    chances = cross_validate(examples, folds)
    print("precision and recall from each probability, by a judge that has not seen the sentence:")
    report(examples, chances)
    if arguments.errors:
        for example, chance in sorted(
            zip(examples, chances, strict=True), key=lambda pair: pair[1]
        ):
            if (chance >= 0.5) != example.share:
                print(f"{chance:.2f} {'holds' if example.share else 'passes'} {example.quote}")
    if not arguments.dry_run:
        weights, base = fit(examples)
        np.savez_compressed(WEIGHTS, weights=weights.astype(np.float32), base=np.array([base]))
    return 0


if __name__ == "__main__":
    sys.exit(main())
