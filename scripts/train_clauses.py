"""Train the judge of clauses from labelled messages and write its weights.

    python scripts/train_clauses.py             train, print cross-validated figures, write the
    weights
    python scripts/train_clauses.py --dry-run   the figures only
    python scripts/train_clauses.py --refresh FOLDER  write the features of bench/clauses/talks.tsv
    anew, from the data sets in FOLDER; needed after a change of the reader or of the features

``bench/clauses/*.txt`` holds one message a line, or a frame of several, and fillings for it. Its parts stand between bars, each after its
label: K is kept, E says nothing, N is no statement of the speaker, C cannot stand alone.
``bench/clauses/talks.tsv`` labels clauses of data sets that are not in the repository: it holds
where each stands, its label and its features, so that training needs no text of them. A number as a
label is what an earlier judge thought, which had more labels of people's talk. The same data
give the same weights.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "src"))

from engrams.extract.rules.clause_judge import describe_clause  # noqa: E402
from engrams.extract.rules.hashed_judge import SLOTS, hash_features  # noqa: E402
from engrams.extract.rules.rule_extraction import read_clauses  # noqa: E402
from engrams.extract.rules.utterance import UtteranceContext  # noqa: E402

WEIGHTS = ROOT / "src/engrams/extract/rules/clauses.npz"
EVERYDAY_WEIGHTS = WEIGHTS.with_name("everyday.npz")
"""Of the judge of other languages, and of sentences that are read for the day that they name."""
MESSAGES = ROOT / "bench/clauses"
FRAMES = "dated"
"""Source that only the judge of everyday sentences learns from, as from every dated sentence."""
TALKS = MESSAGES / "talks.tsv"
FOLDS = 5
LIMITS = (0.3, 0.45, 0.5, 0.6, 0.7)
STEPS = 400
RATE = 0.05
RIDGE = 0.0005
FILLED = 3
"""Sentences that are made of a frame."""
Array: TypeAlias = np.ndarray[Any, np.dtype[np.float64]]


@dataclass(frozen=True, slots=True)
class LabelledClause:
    """A clause as the judge sees it, and whether it is to be kept."""

    slots: frozenset[int]
    share: float
    """1 if it is to be kept, 0 if not; between them what an earlier judge thought."""
    group: str
    """Conversation or message; a group lies in one fold."""
    quote: str
    source: str
    """File or data set."""


def read_speech(speaker: str, names: Sequence[str]) -> UtteranceContext:
    """Return the context of a message."""
    return UtteranceContext(
        speaker=speaker or "the user",
        subject=speaker or "user",
        said_at=datetime(2024, 5, 1, tzinfo=UTC),
        source="message",
        names=frozenset(name.lower() for name in names),
    )


def fill_frames(lines: Sequence[str]) -> Iterator[tuple[int, str]]:
    """Yield the number of each line and the line, with each of three fillings for ``{word}``.

    Lines of fillings begin with the word that they stand for.
    """
    fillings: dict[str, list[str]] = {}
    for number, line in enumerate(lines):
        if line.startswith("{"):
            word, _, values = line.partition(" ")
            fillings[word] = values.split("|")
        elif "{" not in line:
            yield number, line
        else:
            for turn in range(FILLED):
                yield number, _fill(line, fillings, number + turn)


def _fill(frame: str, fillings: Mapping[str, Sequence[str]], turn: int) -> str:
    for word, values in fillings.items():
        frame = frame.replace(word, values[turn % len(values)])
    return frame


def read_messages(path: Path) -> Iterator[LabelledClause]:
    """Read the clauses of a file of messages whose parts are labelled."""
    for number, line in fill_frames(path.read_text("utf-8").splitlines()):
        parts = [part.partition(":") for part in line.split("|") if part.strip()]
        text = "".join(words for _, _, words in parts).rstrip()
        starts = [sum(len(words) for _, _, words in parts[:index]) for index in range(len(parts))]
        for clause in read_clauses(text, read_speech("", ())):
            if clause.is_sure:
                continue
            middle = clause.start + max(1, len(clause.view.quote)) // 2
            index = max(index for index, start in enumerate(starts) if start <= middle)
            yield LabelledClause(
                frozenset(hash_features(describe_clause(clause.view))),
                float(parts[index][0].strip() == "K"),
                f"{path.stem}{number}",
                clause.view.quote,
                FRAMES if clause.view.is_dated else path.stem,
            )


def read_talks() -> Iterator[LabelledClause]:
    """Read the labelled clauses of talks."""
    for line in TALKS.read_text("utf-8").splitlines():
        if line.startswith("#"):
            continue
        data, conversation, item, _, label, features = line.split("\t")
        slots = frozenset(int(slot, 36) for slot in features.split(" "))
        share = {"K": 1.0, "E": 0.0}.get(label)
        share = float(label) if share is None else share
        yield LabelledClause(slots, share, conversation, f"{conversation} {item}", data)


def refresh_talks(folder: Path) -> None:
    """Write the features of the labelled clauses of talks; a clause that is gone loses its line."""
    texts: dict[tuple[str, str], tuple[str, UtteranceContext]] = {}
    for path in sorted(folder.glob("*_dev*.json")):
        for talk in json.loads(path.read_text("utf-8"))["conversations"]:
            speakers = {item["speaker"] for item in talk["items"]} - {"user", "assistant"}
            for item in talk["items"]:
                name = item["speaker"] if item["speaker"] in speakers else ""
                speech = read_speech(name, sorted(speakers))
                texts[talk["id"], str(item["id"])] = (item["text"], speech)
    lines = []
    for line in TALKS.read_text("utf-8").splitlines():
        if line.startswith("#"):
            lines.append(line)
            continue
        data, conversation, item, start, label = line.split("\t")[:5]
        text, speech = texts[conversation, item]
        views = [clause.view for clause in read_clauses(text, speech) if clause.start == int(start)]
        if views:
            slots = " ".join(
                np.base_repr(slot, 36) for slot in sorted(hash_features(describe_clause(views[0])))
            )
            lines.append("\t".join((data, conversation, item, start, label, slots)))
    TALKS.write_text("\n".join(lines) + "\n", "utf-8")
    print(f"{TALKS}: {len(lines)} lines")


def fit(clauses: Sequence[LabelledClause], ridge: float = RIDGE) -> tuple[Array, float]:
    """Fit a logistic regression with a ridge by Adam; return weights and base."""
    slots = np.concatenate([np.fromiter(clause.slots, int) for clause in clauses])
    rows = np.repeat(np.arange(len(clauses)), [len(clause.slots) for clause in clauses])
    labels = np.array([clause.share for clause in clauses])
    weights = np.zeros(SLOTS + 1)  # the last is the base
    mean = np.zeros_like(weights)
    square = np.zeros_like(weights)
    for step in range(1, STEPS + 1):
        odds = np.bincount(rows, weights[slots], len(clauses)) + weights[-1]
        slope = (1 / (1 + np.exp(-odds)) - labels) / len(clauses)
        gradient = np.append(np.bincount(slots, slope[rows], SLOTS), slope.sum())
        gradient[:-1] += ridge * weights[:-1]
        mean = 0.9 * mean + 0.1 * gradient
        square = 0.999 * square + 0.001 * gradient**2
        weights -= RATE * (mean / (1 - 0.9**step)) / (np.sqrt(square / (1 - 0.999**step)) + 1e-8)
    return weights[:-1], float(weights[-1])


def cross_validate(
    clauses: Sequence[LabelledClause], folds: Mapping[str, int], ridge: float = RIDGE
) -> Array:
    """Return each clause's probability by a judge that has not seen its fold.

    ``folds``: the fold of each group.
    """
    chances = np.zeros(len(clauses))
    for fold in sorted(set(folds.values())):
        weights, base = fit([clause for clause in clauses if folds[clause.group] != fold], ridge)
        for index, clause in enumerate(clauses):
            if folds[clause.group] == fold:
                odds = weights[list(clause.slots)].sum() + base
                chances[index] = 1 / (1 + np.exp(-odds))
    return chances


def report(clauses: Sequence[LabelledClause], chances: Array) -> None:
    """Print precision and recall at several probabilities, of each source and of all."""
    labels = np.array([clause.share == 1 for clause in clauses])
    sources = np.array([clause.source if clause.share in (0, 1) else "" for clause in clauses])
    for source in (*sorted(set(sources) - {""}), ""):
        chosen_source = sources == source if source else sources != ""
        shares = []
        for limit in LIMITS:
            chosen = (chances >= limit) & chosen_source
            right = (chosen & labels).sum()
            precision = right / max(1, chosen.sum())
            recall = right / max(1, (labels & chosen_source).sum())
            shares.append(f"{limit}: {precision:.2f} {recall:.2f}")
        kept = (labels & chosen_source).sum()
        print(f"{source or 'all':18} {chosen_source.sum():5} {kept:4} kept  {'  '.join(shares)}")


def write_weights(path: Path, clauses: Sequence[LabelledClause]) -> None:
    """Train a judge and write its weights."""
    weights, base = fit(clauses)
    np.savez_compressed(path, weights=weights.astype(np.float32), base=np.array([base]))


def main() -> int:
    """Train and write."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--dry-run", action="store_true")
    parser.add_argument("--refresh", type=Path, metavar="FOLDER")
    parser.add_argument("--errors", action="store_true", help="print what is judged wrongly")
    arguments = parser.parse_args()
    if arguments.refresh:
        refresh_talks(arguments.refresh)
    clauses = [clause for path in sorted(MESSAGES.glob("*.txt")) for clause in read_messages(path)]
    clauses += read_talks()
    groups = sorted({clause.group for clause in clauses})
    chances = cross_validate(clauses, {group: at % FOLDS for at, group in enumerate(groups)})
    print("precision and recall from each probability, by a judge that has not seen the message:")
    report(clauses, chances)
    sources = sorted({clause.source for clause in clauses})
    by_source = {clause.group: sources.index(clause.source) for clause in clauses}
    print("by a judge that has not seen the source:")
    report(clauses, cross_validate(clauses, by_source))
    if arguments.errors:
        for clause, chance in sorted(zip(clauses, chances, strict=True), key=lambda pair: pair[1]):
            if (chance >= 0.5) != clause.share:
                print(f"{chance:.2f} {'keep' if clause.share else 'drop'} {clause.quote}")
    if arguments.dry_run:
        return 0
    write_weights(WEIGHTS, [clause for clause in clauses if clause.source != FRAMES])
    write_weights(EVERYDAY_WEIGHTS, clauses)
    return 0


if __name__ == "__main__":
    sys.exit(main())
