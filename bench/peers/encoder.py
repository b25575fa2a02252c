"""The embedding model that every peer is given: an ONNX sentence model with mean pooling, such as
all-MiniLM-L6-v2.

Runs in the peers' environments, so it imports nothing of this project. It does what engrams does
with the same folder (256 tokens, unit vectors, texts of like length together), so that no
difference between the systems comes from here.
"""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

_TOKENS = 256
_BATCH = 32
_THREADS = 4
_GIVEN = "vectors.npy"
_TEXTS = "texts.json"


def load_encoder(folder: Path) -> Encoder | GivenVectors:
    """Load the model of a folder, or vectors that ``GivenVectors.write`` left."""
    return GivenVectors(folder) if (folder / _GIVEN).exists() else Encoder(folder)


class GivenVectors:
    """Vectors made before, by text: whoever embeds spends no time on it."""

    def __init__(self, folder: Path) -> None:
        import numpy as np

        self._vectors = np.load(folder / _GIVEN, mmap_mode="r")
        self._places = {
            text: place
            for place, text in enumerate(json.loads((folder / _TEXTS).read_text("utf-8")))
        }
        self.dimension = int(self._vectors.shape[1])

    @staticmethod
    def write(folder: Path, texts: Sequence[str], vectors: Any) -> None:
        """Write texts and their vectors, float32 [texts, dimension]."""
        import numpy as np

        folder.mkdir(parents=True, exist_ok=True)
        np.save(folder / _GIVEN, vectors)
        (folder / _TEXTS).write_text(json.dumps(list(texts)), "utf-8")

    def embed(self, texts: Sequence[str]) -> Any:
        """float32 [texts, dimension]; KeyError: there is none of a text.

        A text may come as JSON with one member: LangGraph and LangMem embed whole items.
        """
        return self._vectors[[self._find_place(text) for text in texts]]

    def _find_place(self, text: str) -> int:
        if text not in self._places:
            (text,) = json.loads(text).values()
        return self._places[text]

    def lists(self, texts: Sequence[str]) -> list[list[float]]:
        """Embed texts as lists of numbers."""
        found: list[list[float]] = self.embed(texts).tolist()
        return found


class Encoder:
    """Unit vectors of texts. Opening it loads the model."""

    def __init__(self, folder: Path) -> None:
        """``folder``: holds tokenizer.json and one ONNX file."""
        import onnxruntime
        import tokenizers

        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = min(_THREADS, os.cpu_count() or 1)
        options.log_severity_level = 3
        file = min(folder.glob("*.onnx"))
        self._session = onnxruntime.InferenceSession(
            str(file), options, providers=["CPUExecutionProvider"]
        )
        self._inputs = {part.name for part in self._session.get_inputs()}
        self._tokenizer = tokenizers.Tokenizer.from_file(str(folder / "tokenizer.json"))
        self._tokenizer.no_padding()
        self._tokenizer.enable_truncation(max_length=_TOKENS)
        self.dimension = len(self.embed(["a"])[0])

    def embed(self, texts: Sequence[str]) -> Any:
        """float32 [texts, dimension]."""
        import numpy as np

        encoded = self._tokenizer.encode_batch([text or " " for text in texts])
        order = sorted(range(len(texts)), key=lambda place: len(encoded[place].ids))
        parts = [
            self._run([encoded[place].ids for place in order[at : at + _BATCH]])
            for at in range(0, len(order), _BATCH)
        ]
        out = np.empty((len(texts), parts[0].shape[1]), np.float32)
        out[order] = np.concatenate(parts)
        return out

    def lists(self, texts: Sequence[str]) -> list[list[float]]:
        """Embed texts as lists of numbers."""
        found: list[list[float]] = self.embed(texts).tolist()
        return found

    def _run(self, rows: Sequence[Sequence[int]]) -> Any:
        import numpy as np

        shape = (len(rows), max(map(len, rows)))
        tokens = np.zeros(shape, np.int64)
        mask = np.zeros(shape, np.int64)
        for place, row in enumerate(rows):
            tokens[place, : len(row)] = row
            mask[place, : len(row)] = 1
        feed = {
            "input_ids": tokens,
            "attention_mask": mask,
            "token_type_ids": np.zeros(shape, np.int64),
        }
        states = self._session.run(
            None, {name: values for name, values in feed.items() if name in self._inputs}
        )[0]
        if states.ndim == 3:
            weights = mask[:, :, None].astype(np.float32)
            states = (states * weights).sum(axis=1) / weights.sum(axis=1)
        return states / np.maximum(np.linalg.norm(states, axis=1, keepdims=True), 1e-12)
