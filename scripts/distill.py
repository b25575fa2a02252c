"""Make the built-in embedding table out of a sentence encoder.

    python scripts/distill.py MODEL_FOLDER OUT_FOLDER --wordnet /usr/share/wordnet

MODEL_FOLDER: all-MiniLM-L6-v2 as ONNX with tokenizer.json (inputs input_ids, attention_mask; output
[texts, 384] or the last hidden state). OUT_FOLDER gets vocabulary.txt, table.npy (int8) and
scale.npy. Needs the extra ``local``, numpy, and the WordNet 3.0 database files (Debian:
wordnet-base). About 30 minutes on two cores.

1. A start: every word piece goes alone through the encoder, is projected to 256 dimensions and
  weighted by a / (a + p),
   p from its Zipf rank (smooth inverse frequency).
2. The fit: the sum of a text's rows shall point where the encoder puts the text (loss: 1 - cosine;
  Adam), over generic
   texts: glosses and examples of WordNet, package descriptions, docstrings and sentences made up
   here from word lists.
   The weight of a word comes out as the length of its row. This is what makes the table nearly as
   good as the encoder.
3. int8 with a scale for each row.
"""

from __future__ import annotations

import argparse
import ast
import random
import re
import subprocess
import sysconfig
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from sentences import invent  # type: ignore[import-not-found]

from engrams.models.embed.onnx import OnnxEmbedder
from engrams.models.embed.static import WordPieceTokenizer
from engrams.settings import EmbedSettings

DIMENSION = 256
# Below it BERT's vocabulary holds special and unused entries only.
FIRST = 999
LONGEST = 64
SMOOTH = 1e-4
RATE = 0.02
Ids = list[np.ndarray[Any, Any]]


def glosses(wordnet: Path, rng: random.Random) -> Iterator[str]:
    """The gloss of every synset, mostly after its word, and the example sentences."""
    for part in ("noun", "verb", "adj", "adv"):
        for line in (wordnet / f"data.{part}").read_text("latin-1").splitlines():
            if line.startswith("  "):
                continue
            head, _, gloss = line.partition("|")
            word = re.sub(r"\(.*?\)", "", head.split()[4].replace("_", " "))
            first, *examples = (piece.strip() for piece in re.split(r';\s*(?=")', gloss))
            yield (f"{word}: {first}" if rng.random() < 0.6 else first)[:250]
            yield from (example.strip('" ;') for example in examples if len(example) > 12)


def lexicon(wordnet: Path, part: str, rank: dict[str, int]) -> list[str]:
    """The words of a part of speech that are a frequent word piece of their own."""
    words = (
        line.split()[0]
        for line in (wordnet / f"index.{part}").read_text("latin-1").splitlines()
        if line[0] != " "
    )
    return [
        word
        for word in words
        if word.isalpha() and len(word) > 2 and rank.get(word, 10**6) < 20_000
    ]


def descriptions() -> Iterator[str]:
    """The first paragraph of each package description that apt knows."""
    listing = subprocess.run(
        ["apt-cache", "dumpavail"], capture_output=True, text=True, check=True
    ).stdout
    for short, long in re.findall(
        r"^Description(?:-en)?: (.*)\n((?: .*\n)*)", listing, re.MULTILINE
    ):
        text = re.sub(r"\s+", " ", long.split("\n .\n")[0]).strip()[:250]
        yield text if len(text) > 30 else short


def docstrings() -> Iterator[str]:
    """The first paragraph of each docstring of the standard library."""
    root = Path(sysconfig.get_paths()["stdlib"])
    for path in sorted(root.rglob("*.py")):
        if {"site-packages", "test", "tests", "lib2to3"} & set(path.relative_to(root).parts):
            continue
        for node in ast.walk(ast.parse(path.read_bytes())):
            if isinstance(node, ast.FunctionDef | ast.ClassDef | ast.Module) and (
                text := ast.get_docstring(node)
            ):
                yield re.sub(r"\s+", " ", text.split("\n\n")[0]).strip()[:250]


def gather(wordnet: Path, vocabulary: Sequence[str], rng: random.Random) -> list[str]:
    """All texts to learn from, each once, in random order."""
    rank = {word: place for place, word in enumerate(vocabulary)}
    plain = list(glosses(wordnet, rng))
    words = {part: lexicon(wordnet, part, rank) for part in ("noun", "verb", "adj")}
    names = [word.capitalize() for word in vocabulary[1996:12_000] if word.isalpha()]
    made = list(invent(rng, words, names, 90_000))
    pool = made + plain
    turns = [" ".join(rng.choices(pool, k=rng.choice((2, 2, 3)))) for _ in range(40_000)]
    technical = [text for text in (*descriptions(), *docstrings()) if len(text) > 30]
    rng.shuffle(technical)
    texts = list(dict.fromkeys([*plain, *made, *turns, *technical[:30_000]]))
    rng.shuffle(texts)
    return texts


def pieces(teacher: OnnxEmbedder, count: int) -> np.ndarray[Any, Any]:
    """Each piece alone, [CLS] piece [SEP], through the encoder."""
    model = teacher._load_once()  # noqa: SLF001 - the bare model, without its cache
    rows = []
    for start in range(0, count, 512):
        numbers = np.arange(start, min(start + 512, count))
        ids = np.stack([np.full_like(numbers, 101), numbers, np.full_like(numbers, 102)], axis=1)
        found = model.session.run(
            [model.output], {"input_ids": ids, "attention_mask": np.ones_like(ids)}
        )[0]
        rows.append(found if found.ndim == 2 else found.mean(axis=1))
    return unit(np.concatenate(rows).astype(np.float32))


def unit(rows: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    return rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-9)


def zipf(count: int) -> np.ndarray[Any, Any]:
    """a / (a + p) with p the frequency of the word of that rank;
    the vocabulary is sorted by frequency.
    """
    rank = np.maximum(np.arange(count) - FIRST + 1, 1)
    return SMOOTH / (SMOOTH + 1 / (rank * np.log(count)))


def sums(
    table: np.ndarray[Any, Any], ids: Ids
) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    flat = np.concatenate(ids)
    starts = np.cumsum([0, *(len(row) for row in ids[:-1])])
    return flat, np.add.reduceat(table[flat], starts, axis=0)


def fit(
    table: np.ndarray[Any, Any],
    ids: Ids,
    target: np.ndarray[Any, Any],
    rng: np.random.Generator,
    epochs: int,
) -> None:
    """Adam on 1 - cosine, in place; the last 6,000 texts are held out to watch it."""
    batch = 1024
    held = 6000
    training = np.arange(len(ids) - held)
    first = np.zeros_like(table)
    second = np.zeros_like(table)
    rate = RATE * float(np.abs(table[FIRST:]).mean())
    steps = epochs * (len(training) // batch)
    step = 0
    for epoch in range(epochs):
        rng.shuffle(training)
        for start in range(0, len(training) - batch + 1, batch):
            chosen = training[start : start + batch]
            rows = [ids[place] for place in chosen]
            flat, total = sums(table, rows)
            length = np.maximum(np.linalg.norm(total, axis=1, keepdims=True), 1e-6)
            here = total / length
            pull = -target[chosen] / batch
            slope = (pull - (pull * here).sum(axis=1, keepdims=True) * here) / length
            # Sum the slopes of each piece's occurrences.
            owner = np.repeat(np.arange(batch), [len(row) for row in rows])
            order = np.argsort(flat, kind="stable")
            edges = np.flatnonzero(np.r_[True, np.diff(flat[order]) != 0])
            slopes = np.add.reduceat(slope[owner[order]], edges, axis=0)
            touched = flat[order][edges]
            step += 1
            first *= 0.9
            second *= 0.999
            first[touched] += 0.1 * slopes
            second[touched] += 0.001 * slopes**2
            move = (first / (1 - 0.9**step)) / (np.sqrt(second / (1 - 0.999**step)) + 1e-12)
            table -= rate * (1 - 0.95 * step / steps) * move
        watched = (unit(sums(table, ids[-held:])[1]) * target[-held:]).sum(axis=1).mean()
        print(
            f"epoch {epoch + 1}: cosine to the encoder {watched:.4f} on texts held out", flush=True
        )


def timed(what: str, work: Callable[[], Any]) -> Any:
    start = time.perf_counter()
    found = work()
    print(f"{what}: {time.perf_counter() - start:.0f} s", flush=True)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("model", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--wordnet", type=Path, required=True)
    parser.add_argument("--epochs", type=int, default=3)
    given = parser.parse_args()
    rng = random.Random(0)
    teacher = OnnxEmbedder(EmbedSettings(provider="onnx", model=str(given.model)))
    known = teacher._load_once().tokenizer.get_vocab()  # noqa: SLF001 - the pieces one by one are no text to embed
    vocabulary = sorted(known, key=known.__getitem__)
    alone = timed("pieces", lambda: pieces(teacher, len(vocabulary)))
    texts = gather(given.wordnet, vocabulary, rng)
    print(f"{len(texts)} texts", flush=True)
    target = timed("texts", lambda: teacher.embed(texts))
    _, vectors = np.linalg.eigh(target.T @ target)
    basis = vectors[:, ::-1][:, :DIMENSION]
    table = (alone @ basis) * zipf(len(vocabulary))[:, None]
    table[:FIRST] = 0
    tokenizer = WordPieceTokenizer(known)
    ids = [np.array(tokenizer.ids(text)[:LONGEST], dtype=np.int64) for text in texts]
    whole = [place for place, row in enumerate(ids) if len(row)]
    timed(
        "fit",
        lambda: fit(
            table,
            [ids[place] for place in whole],
            unit(target[whole] @ basis),
            np.random.default_rng(0),
            given.epochs,
        ),
    )
    kept = table[FIRST:]
    scale = np.maximum(np.abs(kept).max(axis=1), 1e-9) / 127
    given.out.mkdir(parents=True, exist_ok=True)
    np.save(given.out / "table.npy", np.round(kept / scale[:, None]).astype(np.int8))
    np.save(given.out / "scale.npy", scale.astype(np.float32))
    (given.out / "vocabulary.txt").write_text("\n".join(vocabulary[FIRST:]) + "\n", "utf-8")


if __name__ == "__main__":
    main()
