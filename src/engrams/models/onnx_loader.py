"""Load ONNX models and tokenizers from a folder or the hub."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from engrams.errors import ExtraError, ModelError
from engrams.installation import install_hint

FULL = ("model.onnx", "onnx/model.onnx")
SMALL = (
    "model_int8.onnx",
    "onnx/model_int8.onnx",
    "model_quantized.onnx",
    "onnx/model_quantized.onnx",
    "onnx/model_qint8_avx512_vnni.onnx",
)


@dataclass(frozen=True, slots=True)
class LoadedOnnxModel:
    """Loaded model; ``inputs`` and ``outputs`` are names in its graph."""

    folder: Path
    file: Path
    session: Any
    tokenizer: Any
    inputs: frozenset[str]
    outputs: tuple[str, ...]


def load_onnx(
    name: str, files: Sequence[str], *, fetched: Sequence[str], threads: int
) -> LoadedOnnxModel:
    """Load the first of ``files`` in a folder, or its only one.

    A ``name`` that is no folder is fetched from the Hugging Face hub, but only the ``fetched``
    files and tokenizer.json. ``threads``: 0 for all cores. ExtraError: a package is not installed.
    ModelError: there is no such model, or it cannot be loaded.
    """
    try:
        import onnxruntime
        import tokenizers
    except ImportError:
        raise ExtraError(
            "A model on this machine needs onnxruntime and tokenizers.", hint=install_hint("local")
        ) from None
    folder = _find_folder(name, fetched)
    onnx_files = sorted(folder.glob("*.onnx"))
    file = next(
        (folder / path for path in files if (folder / path).is_file()),
        onnx_files[0] if len(onnx_files) == 1 else None,
    )
    if file is None or not (folder / "tokenizer.json").is_file():
        hint = "Give a folder with one ONNX file and tokenizer.json."
        raise ModelError(
            f"{name} contains no ONNX model with a tokenizer.json.", hint=hint, retryable=False
        )
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.log_severity_level = 3
    try:
        tokenizer = tokenizers.Tokenizer.from_file(str(folder / "tokenizer.json"))
        session = onnxruntime.InferenceSession(
            str(file), options, providers=["CPUExecutionProvider"]
        )
    except Exception as problem:  # noqa: BLE001 - neither library has a common error class
        hint = "Fetch its files again: an ONNX file and tokenizer.json."
        raise ModelError(
            f"The model in {folder} cannot be loaded ({type(problem).__name__}).",
            hint=hint,
            retryable=False,
        ) from None
    inputs, outputs = (
        [part.name for part in parts] for parts in (session.get_inputs(), session.get_outputs())
    )
    return LoadedOnnxModel(
        folder=folder,
        file=file,
        session=session,
        tokenizer=tokenizer,
        inputs=frozenset(inputs),
        outputs=tuple(outputs),
    )


def _find_folder(name: str, fetched: Sequence[str]) -> Path:
    folder = Path(name).expanduser()
    if folder.is_dir():
        return folder
    if folder.is_absolute() or name.startswith((".", "~")) or name.count("/") > 1:
        raise ModelError(
            f"There is no folder {name}.",
            hint="Give a folder with a model, or a name on the hub.",
            retryable=False,
        )
    try:
        from huggingface_hub import snapshot_download
    except ImportError:
        raise ExtraError(
            f"Downloading {name!r} from the hub needs huggingface_hub.",
            hint="pip install huggingface_hub",
        ) from None
    try:
        return Path(snapshot_download(name, allow_patterns=["tokenizer.json", *fetched]))
    except (OSError, ValueError) as problem:
        raise ModelError(
            f"The model {name!r} is not a folder here and cannot be downloaded from the hub"
            f" ({type(problem).__name__}).",
            hint="Download it on a connected machine and give its folder.",
            retryable=False,
        ) from None
