"""Embed texts with an ONNX model on this machine."""

from __future__ import annotations

import json
import os
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any, ClassVar

from engrams.errors import ModelError
from engrams.models.embed.families import Pooling, Purpose, add_prefixes, find_family, make_card
from engrams.models.onnx_loader import FULL, SMALL, LoadedOnnxModel, load_onnx
from engrams.ports import EmbedderCard
from engrams.settings import EmbedSettings

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from engrams.ports.models import Floats

_EXTRAS = ("config.json", "config_sentence_transformers.json", "1_Pooling/config.json")
_TOKENS = 256
_BYTES = 8 * _TOKENS * 4
_THREADS = 4
_POOLED = {"embedding", "sentence_embedding", "pooled", "embeddings"}


@dataclass(frozen=True, slots=True)
class _LoadedEmbedder:
    model: LoadedOnnxModel
    output: str
    pooling: Pooling
    card: EmbedderCard


class OnnxEmbedder:
    """Embedder port over onnxruntime; threads share it.

    The model is loaded at the first use. The graph takes ``input_ids`` and ``attention_mask`` (and
    ``token_type_ids`` or ``position_ids`` where it asks) and gives vectors [texts, dimension], or
    the last hidden state [texts, tokens, dimension], which is pooled here: as the folder's
    ``1_Pooling/config.json`` says, else as the model's family does, else by the mean. Texts are cut
    at 256 tokens.
    """

    incognito: ClassVar[bool] = True
    """True: no text that it embeds is kept anywhere."""

    def __init__(self, settings: EmbedSettings) -> None:
        """Set the model; ``settings.model``: a folder or a hub name."""
        self._settings = settings
        self._lock = Lock()
        self._model: _LoadedEmbedder | None = None

    @property
    def card(self) -> EmbedderCard:
        """Load the model and return its card.

        ExtraError: the extra ``local`` is not installed. ModelError: the model cannot be loaded.
        """
        return self._load_once().card

    def embed(self, texts: Sequence[str], purpose: Purpose = "document") -> Floats:
        """Return unit vectors, zero for a blank text; errors as for ``card``."""
        import numpy as np

        loaded = self._load_once()
        prefixed = [
            text.encode("utf-8", "replace")[:_BYTES].decode("utf-8", "ignore")
            for text in add_prefixes(loaded.card, texts, purpose)
        ]
        encoded = loaded.model.tokenizer.encode_batch([text or " " for text in prefixed])
        out = np.zeros((len(texts), loaded.card.dimension), dtype=np.float32)
        # Texts of like length together: a batch costs as much as its longest text.
        order = sorted(
            (index for index, text in enumerate(prefixed) if text),
            key=lambda index: len(encoded[index].ids),
        )
        for start in range(0, len(order), self._settings.batch_size):
            batch = order[start : start + self._settings.batch_size]
            out[batch] = _run(loaded, [encoded[index] for index in batch])
        return out

    def close(self) -> None:
        """Release the model; a later use loads it again."""
        with self._lock:
            self._model = None

    def _load_once(self) -> _LoadedEmbedder:
        with self._lock:
            if self._model is None:
                self._model = _load(self._settings)
            return self._model


def _run(loaded: _LoadedEmbedder, encoded: Sequence[Any]) -> Floats:
    import numpy as np

    width = max(len(row.ids) for row in encoded)
    shape = (len(encoded), width)
    feed = {
        "input_ids": np.zeros(shape, np.int64),
        "attention_mask": np.zeros(shape, np.int64),
        "token_type_ids": np.zeros(shape, np.int64),
    }
    for row_index, row in enumerate(encoded):
        feed["input_ids"][row_index, : len(row.ids)] = row.ids
        feed["attention_mask"][row_index, : len(row.ids)] = 1
    feed["position_ids"] = np.broadcast_to(np.arange(width, dtype=np.int64), shape)
    try:
        inputs = {name: values for name, values in feed.items() if name in loaded.model.inputs}
        output = loaded.model.session.run([loaded.output], inputs)[0]
    except Exception as problem:  # noqa: BLE001 - onnxruntime has no common error class
        raise ModelError(
            f"{loaded.card.id} failed ({type(problem).__name__}).", retryable=False
        ) from None
    states = np.asarray(output, dtype=np.float32)
    vectors = states if states.ndim == 2 else _pool(states, feed["attention_mask"], loaded.pooling)
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    if not np.isfinite(lengths).all():
        raise ModelError(
            f"{loaded.card.id} gave a vector with an invalid number.",
            hint="Download its files again.",
            retryable=False,
        )
    unit: Floats = vectors / np.maximum(lengths, np.float32(1e-12))
    return unit


def _pool(states: Floats, mask: npt.NDArray[np.int64], pooling: Pooling) -> Floats:
    """Pool [texts, tokens, dimension] to [texts, dimension]; padding is on the right."""
    import numpy as np

    if pooling == "cls":
        first: Floats = states[:, 0]
        return first
    if pooling == "last":
        last: Floats = states[np.arange(len(states)), mask.sum(axis=1) - 1]
        return last
    weights = mask[:, :, None].astype(np.float32)
    pooled: Floats = (states * weights).sum(axis=1) / np.maximum(weights.sum(axis=1), np.float32(1))
    return pooled


def _load(settings: EmbedSettings) -> _LoadedEmbedder:
    name = settings.model
    local_folder = Path(settings.model).expanduser()
    if not local_folder.is_dir() and "/" not in name and not name.startswith((".", "~")):
        name = f"sentence-transformers/{name}"
    model = load_onnx(
        name, (*FULL, *SMALL), fetched=(*_EXTRAS, *FULL), threads=min(_THREADS, os.cpu_count() or 1)
    )
    folder = model.folder
    model.tokenizer.no_padding()
    model.tokenizer.enable_truncation(max_length=_TOKENS)
    output = next((part for part in model.outputs if part in _POOLED), model.outputs[0])
    name = Path(settings.model).name if folder == local_folder else settings.model
    base = make_card(
        f"onnx:{name}-{_fingerprint(model.file)}",
        f"{settings.model} {_read_json(folder / 'config.json').get('_name_or_path', '')}",
    )
    loaded = _LoadedEmbedder(model, output, _find_pooling(folder, name), base)
    return replace(loaded, card=_fill_card(loaded, settings.query_prefix))


def _fill_card(loaded: _LoadedEmbedder, query_prefix: str | None) -> EmbedderCard:
    """Fill the card with the folder's prompts and the graph's real dimension."""
    prompts = _read_json(loaded.model.folder / "config_sentence_transformers.json").get("prompts")
    prompt_texts = prompts if isinstance(prompts, Mapping) else {}
    query = (
        str(prompt_texts.get("query") or loaded.card.query_prefix)
        if query_prefix is None
        else query_prefix
    )
    document = str(
        prompt_texts.get("document") or prompt_texts.get("passage") or loaded.card.document_prefix
    )
    probed = replace(loaded.card, query_prefix=query, document_prefix=document)
    return replace(probed, dimension=_run(loaded, [loaded.model.tokenizer.encode("a")]).shape[1])


def _fingerprint(file: Path) -> str:
    """Fingerprint a file, to tell models of one name apart."""
    size = file.stat().st_size
    with file.open("rb") as stream:
        mark = zlib.crc32(stream.read(65_536), size & 0xFFFFFFFF)
        stream.seek(max(0, size - 1_048_576))
        return f"{zlib.crc32(stream.read(), mark):08x}"


def _find_pooling(folder: Path, model: str) -> Pooling:
    config = _read_json(folder / "1_Pooling" / "config.json")
    if config.get("pooling_mode_cls_token"):
        return "cls"
    if config.get("pooling_mode_lasttoken"):
        return "last"
    return "mean" if config else find_family(model).pooling


def _read_json(path: Path) -> Mapping[str, Any]:
    if not path.is_file():
        return {}
    try:
        data = json.loads(path.read_text("utf-8"))
    except ValueError:
        raise ModelError(
            f"{path} is not valid JSON.", hint="Download the model's files again.", retryable=False
        ) from None
    return data if isinstance(data, Mapping) else {}
