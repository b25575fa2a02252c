"""Rerank with a local ONNX model that reads query and text together."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from engrams.errors import ModelError
from engrams.models.onnx_loader import FULL, SMALL, LoadedOnnxModel, load_onnx
from engrams.models.rerank.score import CANDIDATE, QUERY_TAIL, sigmoid
from engrams.ports import RerankRequest

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

_LONGEST = 512
_BATCH = 8


class CrossEncoderReranker:
    """Reranker of absolute relevance, sigmoid(logit); threads share it.

    A score means the same for every query. The model is loaded at the first use. ``model``: a
    folder with an ONNX file and tokenizer.json, or a model's name on the Hugging Face hub.
    ``timer``: seconds, monotonic.
    """

    def __init__(
        self,
        model: str,
        *,
        batch: int = _BATCH,
        threads: int = 0,
        timer: Callable[[], float] = time.monotonic,
    ) -> None:
        self._model_name = model
        self._batch = batch
        self._threads = threads
        self._timer = timer
        self._lock = threading.Lock()
        self._model: LoadedOnnxModel | None = None

    @property
    def name(self) -> str:
        return f"cross_encoder:{Path(self._model_name).name}"

    def warm(self) -> None:
        """Load the model now.

        ExtraError: the extra ``local`` is not installed. ModelError: it cannot be loaded.
        """
        with self._lock:
            if self._model is None:
                self._model = _load(self._model_name, self._threads)

    def rank(self, request: RerankRequest) -> tuple[float | None, ...]:
        """Score texts; None: not reached in time. Errors as in ``warm``."""
        deadline = self._timer() + request.seconds
        if not request.texts or request.seconds <= 0:
            return (None,) * len(request.texts)
        self.warm()
        query = request.query[-QUERY_TAIL:]
        scores: list[float | None] = []
        slowest = 0.0
        for start in range(0, len(request.texts), self._batch):
            began = self._timer()
            if began + slowest > deadline:
                break
            scores += self.score_pairs(
                query, [text[:CANDIDATE] for text in request.texts[start : start + self._batch]]
            )
            slowest = max(slowest, self._timer() - began)
        return (*scores, *(None,) * (len(request.texts) - len(scores)))

    def score_pairs(self, query: str, texts: Sequence[str]) -> list[float]:
        """Score texts beside a query, 0..1, in one batch; the model is loaded (``warm``).

        ModelError: the model failed, or gives no relevance.
        """
        import numpy as np

        model = self._model
        assert model is not None
        pairs = [(_replace_surrogates(query), _replace_surrogates(text)) for text in texts]
        encoded = model.tokenizer.encode_batch(pairs)
        columns = {
            "input_ids": "ids",
            "attention_mask": "attention_mask",
            "token_type_ids": "type_ids",
        }
        feed = {
            name: np.array([getattr(row, column) for row in encoded], dtype=np.int64)
            for name, column in columns.items()
            if name in model.inputs
        }
        try:
            logits = np.asarray(model.session.run([model.outputs[0]], feed)[0], dtype=np.float64)
        except Exception as problem:  # noqa: BLE001 - onnxruntime has no common error class
            raise ModelError(
                f"{self.name} failed ({type(problem).__name__}).", retryable=False
            ) from None
        return [sigmoid(logit) for logit in self._to_relevance(logits, len(texts))]

    def _to_relevance(self, logits: npt.NDArray[np.float64], count: int) -> list[float]:
        import numpy as np

        rows = (
            logits.reshape(count, -1)
            if logits.size and logits.size % count == 0
            else np.empty((count, 0))
        )
        if rows.shape[1] not in (1, 2) or np.isnan(rows).any():
            hint = "A cross-encoder gives one number for each pair; is this an embedding model?"
            raise ModelError(f"{self.name} gives no relevance.", hint=hint, retryable=False)
        # Of two classes (no, yes), the softmax of "yes" is the sigmoid of their difference.
        return [float(row[-1]) if len(row) == 1 else float(row[1] - row[0]) for row in rows]


def _replace_surrogates(text: str) -> str:
    return text.encode("utf-8", "replace").decode("utf-8")


def _load(name: str, threads: int) -> LoadedOnnxModel:
    files = (*SMALL, *FULL)
    loaded = load_onnx(name, files, fetched=files, threads=threads)
    loaded.tokenizer.enable_truncation(max_length=_LONGEST, strategy="longest_first")
    padding = loaded.tokenizer.padding or {}
    loaded.tokenizer.enable_padding(
        pad_id=padding.get("pad_id", 0), pad_token=padding.get("pad_token", "[PAD]")
    )
    return loaded
