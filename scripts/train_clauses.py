"""Train the judge of clauses from labelled messages and write its weights.

    python scripts/train_clauses.py             train, print cross-validated figures, write the
    weights
    python scripts/train_clauses.py --dry-run   the figures only
    python scripts/train_clauses.py --more FILE  train on further labelled clauses too: JSON with
    text, quote, speaker, names, keep and group of each

``bench/clauses/*.txt`` holds one message a line. Its parts stand between bars, each after its
label: K is kept, E says nothing, N is no statement of the speaker, C cannot stand alone. The same
data give the same weights.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "src"))

from engrams.extract.rules import UtteranceContext  # noqa: E402
from engrams.extract.rules.clause_judge import SLOTS, hash_features  # noqa: E402
from engrams.extract.rules.rule_extraction import read_clauses  # noqa: E402

WEIGHTS = ROOT / "src/engrams/extract/rules/judge.npz"
MESSAGES = ROOT / "bench/clauses"
FOLDS = 5
STEPS = 250
RATE = 0.05
RIDGE = 0.003
Array: TypeAlias = np.ndarray[Any, np.dtype[np.float64]]


@dataclass(frozen=True, slots=True)
class LabelledClause:
    """A clause as the judge sees it, and whether it is to be kept."""

    slots: frozenset[int]
    is_kept: bool
    group: str
    """Conversation or message; a group lies in one fold."""
    quote: str


def read_speech(speaker: str, names: Sequence[str]) -> UtteranceContext:
    """Return the context of a message."""
    return UtteranceContext(
        speaker=speaker or "the user",
        subject=speaker or "user",
        said_at=datetime(2024, 5, 1, tzinfo=UTC),
        source="message",
        names=frozenset(name.lower() for name in names),
    )


def read_messages(path: Path) -> Iterator[LabelledClause]:
    """Read the clauses of a file of messages whose parts are labelled."""
    for number, line in enumerate(path.read_text("utf-8").splitlines()):
        parts = [part.partition(":") for part in line.split("|") if part.strip()]
        text = "".join(words for _, _, words in parts).rstrip()
        starts = [sum(len(words) for _, _, words in parts[:index]) for index in range(len(parts))]
        for clause in read_clauses(text, read_speech("", ())):
            if clause.is_sure:
                continue
            middle = clause.start + max(1, len(clause.view.quote)) // 2
            index = max(index for index, start in enumerate(starts) if start <= middle)
            yield LabelledClause(
                frozenset(hash_features(clause.view)),
                parts[index][0].strip() == "K",
                f"{path.stem}{number}",
                clause.view.quote,
            )


def read_labels(path: Path) -> Iterator[LabelledClause]:
    """Read further labelled clauses; each is found again in its message."""
    rows: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for row in json.loads(path.read_text("utf-8")):
        rows.setdefault((row["text"], row["speaker"]), []).append(row)
    for (text, speaker), labels in rows.items():
        clauses = read_clauses(text, read_speech(speaker, labels[0]["names"]))
        views = {clause.view.quote: clause.view for clause in reversed(clauses)}
        for row in labels:
            view = views.get(row["quote"])
            if view is not None:
                yield LabelledClause(
                    frozenset(hash_features(view)), row["keep"], row["group"], row["quote"]
                )


def to_matrix(clauses: Sequence[LabelledClause]) -> tuple[Array, Array]:
    """Return features and labels."""
    rows = np.zeros((len(clauses), SLOTS))
    for index, clause in enumerate(clauses):
        rows[index, list(clause.slots)] = 1
    return rows, np.array([clause.is_kept for clause in clauses], float)


def fit(rows: Array, labels: Array) -> tuple[Array, float]:
    """Fit a logistic regression with a ridge by Adam; return weights and base."""
    used = np.flatnonzero(rows.any(axis=0))
    rows = np.hstack([rows[:, used], np.ones((len(rows), 1))])
    weights = np.zeros(rows.shape[1])
    mean = np.zeros_like(weights)
    square = np.zeros_like(weights)
    for step in range(1, STEPS + 1):
        chance = 1 / (1 + np.exp(-rows @ weights))
        gradient = rows.T @ (chance - labels) / len(rows)
        gradient[:-1] += RIDGE * weights[:-1]
        mean = 0.9 * mean + 0.1 * gradient
        square = 0.999 * square + 0.001 * gradient**2
        weights -= RATE * (mean / (1 - 0.9**step)) / (np.sqrt(square / (1 - 0.999**step)) + 1e-8)
    whole = np.zeros(SLOTS)
    whole[used] = weights[:-1]
    return whole, float(weights[-1])


def cross_validate(clauses: Sequence[LabelledClause]) -> Array:
    """Return each clause's probability by a judge that has not seen its group."""
    rows, labels = to_matrix(clauses)
    groups = sorted({clause.group for clause in clauses})
    folds = {group: index % FOLDS for index, group in enumerate(groups)}
    fold_of = np.array([folds[clause.group] for clause in clauses])
    chances = np.zeros(len(clauses))
    for fold in range(FOLDS):
        weights, base = fit(rows[fold_of != fold], labels[fold_of != fold])
        chances[fold_of == fold] = 1 / (1 + np.exp(-(rows[fold_of == fold] @ weights + base)))
    return chances


def report(clauses: Sequence[LabelledClause], chances: Array) -> None:
    """Print precision and recall at several probabilities."""
    labels = np.array([clause.is_kept for clause in clauses])
    print(f"{len(clauses)} clauses, {labels.sum()} kept")
    for limit in (0.3, 0.45, 0.5, 0.65, 0.7, 0.8):
        chosen = chances >= limit
        right = (chosen & labels).sum()
        precision = right / max(1, chosen.sum())
        print(f"from {limit}: precision {precision:.3f}, recall {right / labels.sum():.3f}")


def main() -> int:
    """Train and write."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--dry-run", action="store_true")
    parser.add_argument("--more", type=Path)
    parser.add_argument("--errors", action="store_true", help="print what is judged wrongly")
    arguments = parser.parse_args()
    clauses = [clause for path in sorted(MESSAGES.glob("*.txt")) for clause in read_messages(path)]
    if arguments.more:
        clauses += read_labels(arguments.more)
    chances = cross_validate(clauses)
    report(clauses, chances)
    if arguments.errors:
        for clause, chance in sorted(zip(clauses, chances, strict=True), key=lambda pair: pair[1]):
            if (chance >= 0.5) != clause.is_kept:
                print(f"{chance:.2f} {'keep' if clause.is_kept else 'drop'} {clause.quote}")
    if arguments.dry_run:
        return 0
    weights, base = fit(*to_matrix(clauses))
    np.savez_compressed(WEIGHTS, weights=weights.astype(np.float32), base=np.array([base]))
    return 0


if __name__ == "__main__":
    sys.exit(main())
