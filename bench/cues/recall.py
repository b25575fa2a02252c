"""Contribution of each cue to retrieval, with a small encoder and BM25.

Prints evidence recall at 10 and NDCG at 10, in per cent.

Usage: ``python bench/cues/recall.py DATA.json MODEL_FOLDER [conversation ...]``. The model folder
holds ``model*.onnx`` (inputs ``input_ids``, ``attention_mask``; output ``embedding``, unit length)
and ``tokenizer.json``. Weights are fixed, not fitted here.
"""

from __future__ import annotations

import argparse
import json
import math
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import onnxruntime
from measure import said_at
from tokenizers import Tokenizer

from engrams.read.cues import QueryCues, parse_query, score_dates, score_speakers
from engrams.text.terms import terms
from engrams.text.times import find_times

Floats = npt.NDArray[np.float32]


class CachedEncoder:
    def __init__(self, folder: Path) -> None:
        self.tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
        self.tokenizer.enable_truncation(256)
        self.tokenizer.enable_padding()
        self.session = onnxruntime.InferenceSession(str(next(folder.glob("model*.onnx"))))
        self.known: dict[str, Floats] = {}

    def __call__(self, texts: Sequence[str]) -> Floats:
        new = sorted(
            {text for text in texts if text not in self.known}, key=lambda text: (len(text), text)
        )
        for first in range(0, len(new), 64):
            batch = self.tokenizer.encode_batch(new[first : first + 64])
            ids = np.array([row.ids for row in batch], np.int64)
            mask = np.array([row.attention_mask for row in batch], np.int64)
            for text, vector in zip(
                new[first:],
                self.session.run(["embedding"], {"input_ids": ids, "attention_mask": mask})[0],
                strict=False,
            ):
                self.known[text] = vector
        return np.stack([self.known[text] for text in texts])


class Bm25Scorer:
    """BM25 (k1 0.9, b 0.25) divided by the most a query could score."""

    def __init__(self, texts: Sequence[str]) -> None:
        self.rows = [Counter(terms(text)) for text in texts]
        self.length = np.array([sum(row.values()) for row in self.rows], np.float32)
        self.postings: dict[str, list[int]] = defaultdict(list)
        for index, row in enumerate(self.rows):
            for term in row:
                self.postings[term].append(index)

    def __call__(self, query: str) -> Floats:
        scores = np.zeros(len(self.rows), np.float32)
        most = 0.0
        for term in set(terms(query)):
            found = self.postings.get(term, [])
            weight = math.log(1 + (len(self.rows) - len(found) + 0.5) / (len(found) + 0.5))
            most += weight * 1.9
            for index in found:
                count = self.rows[index][term]
                scores[index] += (
                    weight
                    * count
                    * 1.9
                    / (count + 0.9 * (0.75 + 0.25 * self.length[index] / self.length.mean()))
                )
        return scores / most if most else scores


@dataclass
class TalkData:
    cosine: Callable[[str], Floats]
    words: Bm25Scorer
    times: npt.NDArray[np.float64]
    speakers: list[str]
    dated: Floats


def score_variants(cues: QueryCues, talk: TalkData) -> dict[str, Floats]:
    plain = talk.cosine(cues.query)
    dense = talk.cosine(cues.dense_text)
    lexical = talk.words(cues.lexical_text)
    both = 5.0 * dense + 3.0 * lexical
    speaker = both + 1.5 * score_speakers(cues, talk.speakers)
    date = speaker + 3.0 * score_dates(cues.spans, talk.times)
    return {
        "cos of the query": plain,
        "cos of dense": dense,
        "BM25 of the query": talk.words(cues.query),
        "BM25 of lexical": lexical,
        "both": both,
        "+ speaker": speaker,
        "+ date": date,
        "+ when": date + 1.5 * float(cues.wants_time) * talk.dated,
    }


def measure_recall(scores: Floats, evidence: Sequence[int]) -> tuple[float, float]:
    order = {int(index): rank for rank, index in enumerate(np.argsort(-scores, kind="stable")[:10])}
    places = [order[index] for index in evidence if index in order]
    ideal = sum(1 / math.log2(rank + 2) for rank in range(min(len(evidence), 10)))
    return len(places) / len(evidence), sum(1 / math.log2(rank + 2) for rank in places) / ideal


def run(
    data: Mapping[str, Any], encoder: CachedEncoder
) -> dict[tuple[str, str], list[tuple[float, float]]]:
    items = data["items"]
    texts = [
        f"{item['text']} [{item['caption']}]" if item["caption"] else item["text"] for item in items
    ]
    vectors = encoder(texts)
    talk = TalkData(
        lambda text: vectors @ encoder([text])[0],
        Bm25Scorer(texts),
        np.array([said_at(item).timestamp() for item in items]),
        [item["speaker"] for item in items],
        np.array([bool(find_times(item["text"], said_at(item))) for item in items], np.float32),
    )
    place = {item["id"]: index for index, item in enumerate(items)}
    now = max(map(said_at, items)) + timedelta(days=1)
    known = Counter(talk.speakers)
    rows: dict[tuple[str, str], list[tuple[float, float]]] = defaultdict(list)
    for question in data["questions"]:
        evidence = [place[name] for name in question["evidence"] if name in place]
        if not evidence or str(question["category"]) == "5":
            continue
        cues = parse_query(question["text"], now, known)
        for name, scores in score_variants(cues, talk).items():
            result = measure_recall(scores, evidence)
            rows[name, "all"].append(result)
            if cues.spans:
                rows[name, "dated"].append(result)
    return rows


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", type=Path)
    parser.add_argument("model", type=Path)
    parser.add_argument("only", nargs="*")
    given = parser.parse_args(arguments)
    encoder = CachedEncoder(given.model)
    total: dict[tuple[str, str], list[tuple[float, float]]] = defaultdict(list)
    for data in json.loads(given.data.read_text("utf-8"))["conversations"]:
        if not given.only or data["id"] in given.only:
            for key, rows in run(data, encoder).items():
                total[key] += rows
    for (name, which), rows in total.items():
        found, gain = (100 * float(np.mean([row[place] for row in rows])) for place in (0, 1))
        print(f"{name:18} {which:6} n {len(rows):4}  R@10 {found:5.1f}  NDCG@10 {gain:5.1f}")


if __name__ == "__main__":
    main()
