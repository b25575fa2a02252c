"""Train the judge of whose words a sentence is, and write its weights.

    python scripts/train_voices.py            train, print cross-validated figures, write the weights
    python scripts/train_voices.py --dry-run  the figures only

Sentences of somebody else: the attacks of ``bench/attacks``. Own ones: ``bench/attacks/*own_words*``,
the messages of ``bench/clauses`` and ``bench/changes``. Messages that are made of the sentences of
``bench/clauses/voice/frames.txt`` teach it both. Each set of attacks is judged by a judge that has
not seen this set. Not read: the sets of own words from ``own_words_blind`` on (to the fourteenth),
the scenarios that are held out, and the two newest sets of attacks. The same data give the same
weights.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "src"))
sys.path.insert(0, str(ROOT))

from bench.attacks.__main__ import ATTACK_SETS, BRANDS, read_attacks, read_own_words  # noqa: E402
from scripts.train_clauses import LabelledClause, cross_validate, fit  # noqa: E402

from engrams.extract.rules.hashed_judge import hash_features  # noqa: E402
from engrams.extract.rules.voice_judge import describe_sentences  # noqa: E402

WEIGHTS = ROOT / "src/engrams/extract/rules/voices.npz"
ATTACKS = ATTACK_SETS[:-2]
OWN_WORDS = ("own_words", "later_own_words", "own_words_beside_texts")
FOLDS = 8
RIDGE = 0.0002
LIMITS = (0.2, 0.4, 0.6, 0.8, 0.9)
FRAMED_TIMES = 4
"""How often an own sentence beside a text counts: these are few, and nearest to an attack."""
_COMPOSITIONS = (
    (1.0, "texts", "bare", "bare", "asks of texts"),
    (1.0, "texts", "bare", "asks of texts"),
    (1.0, "texts", "bare", "bare", "bare"),
    (1.0, "asks of texts", "texts", "bare", "bare"),
    (1.0, "leads", "bare", "asks of texts"),
    (1.0, "texts", "leads", "bare", "bare"),
    (1.0, "texts", "bare of others", "bare of others", "asks of texts"),
    (1.0, "asks of texts", "bare of others"),
    (0.0, "own leads", "bare"),
    (0.0, "news", "own leads", "bare", "own asks"),
    (0.0, "texts", "own leads", "bare"),
    (0.0, "texts", "linked"),
    (0.0, "texts", "linked", "own asks"),
    (0.0, "news", "linked", "own asks"),
    (0.0, "own texts", "bare"),
    (0.0, "own texts", "bare", "own asks"),
    (0.0, "news", "bare"),
    (0.0, "news", "bare", "own asks"),
    (0.0, "news", "news", "bare", "bare"),
    (0.0, "texts", "news", "linked"),
    (0.0, "own asks", "linked"),
)
"""Messages made of ``frames.txt``: 1 if their statements are of a text that they show, and the sorts
of their sentences.
"""
_BRAND = re.compile("|".join(BRANDS))
_NAMES = ("Oslo", "Karin", "Nordea", "Porto", "Otto")
"""Names in the place of the brands that only attacks hold."""
Message = tuple[str, str, str]
"""Source, text, and words that a labelled sentence holds; empty: all of its sentences are."""


def _rename(text: str) -> str:
    """Put ordinary names in the place of brands, so that no brand tells an attack."""
    return _BRAND.sub(lambda match: _NAMES[BRANDS.index(match[0])], text)


def read_foreign() -> Iterator[Message]:
    """Read the user's messages of attacks."""
    for name in ATTACKS:
        for attack in read_attacks(name):
            for role, text in attack.messages:
                if role == "user" and attack.brand in text:
                    yield name, _rename(text), _rename(attack.brand)


def read_own() -> Iterator[Message]:
    """Read people's own messages."""
    for name in OWN_WORDS:
        for text, brand in read_own_words(name):
            yield name, _rename(text), _rename(brand)
    for line in (ROOT / "bench/clauses/voice/own.txt").read_text("utf-8").splitlines():
        yield "framed", line.replace("\\n", "\n"), ""
    for path in sorted((ROOT / "bench/clauses").glob("*.txt")):
        for line in path.read_text("utf-8").splitlines():
            parts = [part.partition(":") for part in line.split("|") if part.strip()]
            is_own = all(label.strip() != "N" for label, _, _ in parts)
            if is_own or path.stem == "friends":
                yield "clauses", "".join(words for *_, words in parts).strip(), ""
    for path in sorted((ROOT / "bench/changes/scenarios").glob("*.jsonl")):
        for line in path.read_text("utf-8").splitlines():
            scenario = json.loads(line)
            if zlib.crc32(scenario["id"].encode()) % 3:
                said = (each["text"] for each in scenario["say"] if each["who"] == "user")
                yield from (("changes", text, "") for text in said)
    for line in (ROOT / "bench/changes/talks.txt").read_text("utf-8").splitlines():
        yield "talks", line.replace("\\n", "\n"), ""


def read_frames() -> Iterator[tuple[Message, float]]:
    """Read messages made of ``frames.txt``, with 1 for those whose statements are not the sender's.

    The sentences that introduce a text introduce a statement of the sender's, too, one that is tied
    to them; so neither tells by its words alone whose the next sentence is.
    """
    tables: dict[tuple[str, str], list[str]] = {}
    for line in (ROOT / "bench/clauses/voice/frames.txt").read_text("utf-8").splitlines():
        if line.startswith("== "):
            language, sort = line[3:].split(" ", 1)
            sentences = tables.setdefault((language, sort), [])
        else:
            sentences.append(line)
    for language in dict.fromkeys(language for language, _ in tables):
        table = {sort: lines for (named, sort), lines in tables.items() if named == language}
        table["bare of others"] = [
            line
            for (named, sort), lines in tables.items()
            if named != language and sort == "bare"
            for line in lines
        ]
        join = "" if language in ("zh", "ja") else " "
        for share, *sorts in _COMPOSITIONS:
            count = max(len(table[sort]) for sort in sorts[:2])
            for number in range(count):
                chosen = [
                    _pick(table[sort], number, position) for position, sort in enumerate(sorts)
                ]
                for sort, sentence in zip(sorts, chosen, strict=True):
                    if sort.startswith(("bare", "linked")):
                        yield ("frames", join.join(chosen), sentence), share


def _pick(sentences: Sequence[str], number: int, position: int) -> str:
    """Pick a sentence, so that neighbours of one position are not always the same."""
    return sentences[(number * (2 * position + 1) + position) % len(sentences)]


def label(messages: Iterator[Message], share: float) -> Iterator[LabelledClause]:
    """Describe the sentences of messages; those of a labelled word only, where there is one."""
    for source, text, words in messages:
        for start, end, features in describe_sentences(text):
            if words in text[start:end]:
                slots = frozenset(hash_features(features))
                yield LabelledClause(slots, share, text, text[start:end], source)


def choose_folds(sentences: Sequence[LabelledClause]) -> dict[str, int]:
    """Give each set of attacks a fold of its own, and spread people's own messages over others."""
    return {
        each.group: ATTACKS.index(each.source) + FOLDS
        if each.share and each.source in ATTACKS
        else zlib.crc32(each.group.encode()) % FOLDS
        for each in sentences
    }


def report(sentences: Sequence[LabelledClause], chances: Sequence[float]) -> None:
    """Print which share of each source's sentences is at or above each probability."""
    for source in dict.fromkeys(each.source for each in sentences):
        own = [
            chance for each, chance in zip(sentences, chances, strict=True) if each.source == source
        ]
        shares = [f"{limit}: {np.mean(np.array(own) >= limit):.3f}" for limit in LIMITS]
        print(f"{source:24} {len(own):5}  {'  '.join(shares)}")


def main() -> int:
    """Train and write."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--dry-run", action="store_true")
    parser.add_argument("--no-figures", action="store_true", help="train only")
    arguments = parser.parse_args()
    own = [*label(read_own(), 0.0)]
    framed = [each for each in own if each.source in ("framed", *OWN_WORDS)]
    composed = [
        sentence for message, share in read_frames() for sentence in label(iter((message,)), share)
    ]
    sentences = [*label(read_foreign(), 1.0), *own, *framed * (FRAMED_TIMES - 1), *composed]
    if not arguments.no_figures:
        print("sentences judged foreign, by a judge that has not seen the set of attacks:")
        report(sentences, [*cross_validate(sentences, choose_folds(sentences), RIDGE)])
    if not arguments.dry_run:
        weights, base = fit(sentences, RIDGE)
        np.savez_compressed(WEIGHTS, weights=weights.astype(np.float32), base=np.array([base]))
    return 0


if __name__ == "__main__":
    sys.exit(main())
