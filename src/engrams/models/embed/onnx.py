"""An embedding model on this machine, as ONNX: a folder, or a name on the Hugging Face hub."""

from __future__ import annotations

import json
import os
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any, ClassVar

from engrams.errors import ExtraError, ModelError
from engrams.models.embed.cards import Pooling, Purpose, card, known, prefixed
from engrams.ports import Card
from engrams.settings import EmbedSettings

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from engrams.ports.models import Floats

_FILES = (
    "model.onnx",
    "onnx/model.onnx",
    "model_int8.onnx",
    "onnx/model_int8.onnx",
    "model_quantized.onnx",
    "onnx/model_quantized.onnx",
    "onnx/model_qint8_avx512_vnni.onnx",
)
_EXTRAS = ("tokenizer.json", "config.json", "config_sentence_transformers.json", "1_Pooling/config.json")
_TOKENS = 256
_BYTES = 8 * _TOKENS * 4
_THREADS = 4
_POOLED = {"embedding", "sentence_embedding", "pooled", "embeddings"}


@dataclass(frozen=True, slots=True)
class _Loaded:
    session: Any
    tokenizer: Any
    inputs: frozenset[str]
    output: str
    pooling: Pooling
    card: Card


class OnnxEmbedder:
    """The Embedder port over onnxruntime. Loaded at the first use; threads share it.

    The graph takes ``input_ids`` and ``attention_mask`` (and ``token_type_ids`` or ``position_ids`` where it asks) and
    gives vectors [texts, dimension], or the last hidden state [texts, tokens, dimension], which is pooled here: as the
    folder's ``1_Pooling/config.json`` says, else as the model's family does, else by the mean. Texts are cut at 256 tokens.
    """

    incognito: ClassVar[bool] = True
    """It keeps nothing of what it sees."""

    def __init__(self, settings: EmbedSettings) -> None:
        """``settings.model``: the folder or hub name."""
        self._settings = settings
        self._lock = Lock()
        self._model: _Loaded | None = None

    @property
    def card(self) -> Card:
        """Loads the model. ExtraError: the extra ``local`` is not installed. ModelError: it cannot be loaded."""
        return self._loaded().card

    def embed(self, texts: Sequence[str], purpose: Purpose = "document") -> Floats:
        """Unit vectors, zero for a blank text. Errors as for ``card``."""
        import numpy as np

        model = self._loaded()
        wanted = [text.encode("utf-8", "replace")[:_BYTES].decode("utf-8", "ignore") for text in prefixed(model.card, texts, purpose)]
        encoded = model.tokenizer.encode_batch([text or " " for text in wanted])
        out = np.zeros((len(texts), model.card.dimension), dtype=np.float32)
        # Texts of like length together: a batch costs as much as its longest text.
        order = sorted((place for place, text in enumerate(wanted) if text), key=lambda place: len(encoded[place].ids))
        for start in range(0, len(order), self._settings.batch_size):
            places = order[start : start + self._settings.batch_size]
            out[places] = _run(model, [encoded[place] for place in places])
        return out

    def close(self) -> None:
        """Let the model go; a later use loads it again."""
        with self._lock:
            self._model = None

    def _loaded(self) -> _Loaded:
        with self._lock:
            if self._model is None:
                self._model = _load(self._settings)
            return self._model


def _run(model: _Loaded, encoded: Sequence[Any]) -> Floats:
    import numpy as np

    width = max(len(row.ids) for row in encoded)
    shape = (len(encoded), width)
    feed = {
        "input_ids": np.zeros(shape, np.int64),
        "attention_mask": np.zeros(shape, np.int64),
        "token_type_ids": np.zeros(shape, np.int64),
    }
    for place, row in enumerate(encoded):
        feed["input_ids"][place, : len(row.ids)] = row.ids
        feed["attention_mask"][place, : len(row.ids)] = 1
    feed["position_ids"] = np.broadcast_to(np.arange(width, dtype=np.int64), shape)
    try:
        found = model.session.run([model.output], {name: values for name, values in feed.items() if name in model.inputs})[0]
    except Exception as problem:  # noqa: BLE001  onnxruntime has no common error class
        raise ModelError(f"{model.card.id} failed ({type(problem).__name__}).", retryable=False) from None
    states = np.asarray(found, dtype=np.float32)
    vectors = states if states.ndim == 2 else _pool(states, feed["attention_mask"], model.pooling)
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    if not np.isfinite(lengths).all():
        raise ModelError(f"{model.card.id} gave a vector that is no number.", hint="Fetch its files again.", retryable=False)
    unit: Floats = vectors / np.maximum(lengths, np.float32(1e-12))
    return unit


def _pool(states: Floats, mask: npt.NDArray[np.int64], pooling: Pooling) -> Floats:
    """[texts, tokens, dimension] to [texts, dimension]; padding is on the right."""
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


def _load(settings: EmbedSettings) -> _Loaded:
    try:
        import onnxruntime
        import tokenizers
    except ImportError:
        raise ExtraError("A model on this machine needs onnxruntime and tokenizers.", hint="pip install 'engrams[local]'") from None
    folder = _folder(settings.model)
    file = _file(folder, settings.model)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = min(_THREADS, os.cpu_count() or 1)
    options.log_severity_level = 3
    try:
        tokenizer = tokenizers.Tokenizer.from_file(str(folder / "tokenizer.json"))
        session = onnxruntime.InferenceSession(str(file), options, providers=["CPUExecutionProvider"])
    except Exception as problem:  # noqa: BLE001  neither library has a common error class
        hint = "Fetch its files again: an ONNX file and tokenizer.json."
        raise ModelError(f"The model in {folder} cannot be loaded ({type(problem).__name__}).", hint=hint, retryable=False) from None
    tokenizer.no_padding()
    tokenizer.enable_truncation(max_length=_TOKENS)
    outputs = session.get_outputs()
    output = next((part.name for part in outputs if part.name in _POOLED), outputs[0].name)
    model = Path(settings.model).name if folder == Path(settings.model).expanduser() else settings.model
    base = card(f"onnx:{model}-{_print(file)}", f"{settings.model} {_json(folder / 'config.json').get('_name_or_path', '')}")
    loaded = _Loaded(session, tokenizer, frozenset(part.name for part in session.get_inputs()), output, _pooling(folder, model), base)
    return replace(loaded, card=_described(loaded, folder, settings.query_prefix))


def _described(model: _Loaded, folder: Path, query_prefix: str | None) -> Card:
    """The card with what the folder says, and the dimension that the graph really gives."""
    prompts = _json(folder / "config_sentence_transformers.json").get("prompts")
    said = prompts if isinstance(prompts, Mapping) else {}
    query = str(said.get("query") or model.card.query_prefix) if query_prefix is None else query_prefix
    document = str(said.get("document") or said.get("passage") or model.card.document_prefix)
    probed = replace(model.card, query_prefix=query, document_prefix=document)
    return replace(probed, dimension=_run(model, [model.tokenizer.encode("a")]).shape[1])


def _folder(name: str) -> Path:
    folder = Path(name).expanduser()
    if folder.is_dir():
        return folder
    if folder.is_absolute() or name.startswith((".", "~")) or name.count("/") > 1:
        raise ModelError(
            f"There is no folder {name}.", hint="Set `embed.model` to a folder with a model, or to a hub name.", retryable=False
        )
    try:
        from huggingface_hub import snapshot_download
    except ImportError:
        raise ExtraError(f"Fetching {name!r} from the hub needs huggingface_hub.", hint="pip install huggingface_hub") from None
    try:
        return Path(snapshot_download(name if "/" in name else f"sentence-transformers/{name}", allow_patterns=[*_EXTRAS, *_FILES[:2]]))
    except (OSError, ValueError) as problem:
        raise ModelError(
            f"The model {name!r} is no folder here and cannot be fetched from the hub ({type(problem).__name__}).",
            hint="Fetch it on a connected machine and set `embed.model` to its folder.",
            retryable=False,
        ) from None


def _file(folder: Path, name: str) -> Path:
    others = sorted(folder.glob("*.onnx"))
    file = next((folder / known for known in _FILES if (folder / known).is_file()), others[0] if len(others) == 1 else None)
    if file is None or not (folder / "tokenizer.json").is_file():
        hint = "Give a folder that holds one ONNX file and tokenizer.json."
        raise ModelError(f"{name} holds no ONNX model with a tokenizer.json.", hint=hint, retryable=False)
    return file


def _print(file: Path) -> str:
    """A short fingerprint: another model under the same name must not be taken for this one."""
    size = file.stat().st_size
    with file.open("rb") as stream:
        mark = zlib.crc32(stream.read(65_536), size & 0xFFFFFFFF)
        stream.seek(max(0, size - 1_048_576))
        return f"{zlib.crc32(stream.read(), mark):08x}"


def _pooling(folder: Path, model: str) -> Pooling:
    said = _json(folder / "1_Pooling" / "config.json")
    if said.get("pooling_mode_cls_token"):
        return "cls"
    if said.get("pooling_mode_lasttoken"):
        return "last"
    return "mean" if said else known(model).pooling


def _json(path: Path) -> Mapping[str, Any]:
    if not path.is_file():
        return {}
    try:
        found = json.loads(path.read_text("utf-8"))
    except ValueError:
        raise ModelError(f"{path} is not valid JSON.", hint="Fetch the model's files again.", retryable=False) from None
    return found if isinstance(found, Mapping) else {}
