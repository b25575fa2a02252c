"""A tiny encoder as an ONNX file, written byte by byte:
each token's state is its row of a table.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from pathlib import Path

from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors

WORDS = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "cat", "dog", "query", "text", "nan")
DIMENSION = 4
FLOAT32 = 1
INT64 = 7
# [PAD] would drown everything if it were not masked; [CLS] and [SEP] point somewhere of their own.
ROWS = [
    [1000.0, 0, 0, 0], [0, 0, 0, 0], [0, 0, 0, 2], [0, 0, 0, -2], [6, 0, 0, 0], [0, 6, 0, 0], [0, 0, 6, 0],
    [3, 3, 0, 0], [float("nan")] * 4,
]  # fmt: skip


def _varint(value: int) -> bytes:
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    return bytes([*out, value])


def _number(field: int, value: int) -> bytes:
    return _varint(field << 3) + _varint(value)


def _bytes(field: int, *values: bytes | str) -> bytes:
    coded = [value.encode() if isinstance(value, str) else value for value in values]
    return b"".join(_varint(field << 3 | 2) + _varint(len(value)) + value for value in coded)


def _value(name: str, kind: int, shape: Sequence[str | int]) -> bytes:
    dims = b"".join(
        _bytes(1, _number(1, dim) if isinstance(dim, int) else _bytes(2, dim)) for dim in shape
    )
    return _bytes(1, name) + _bytes(2, _bytes(1, _number(1, kind) + _bytes(2, dims)))


def write(
    folder: Path, *, pooled: bool = False, types: bool = False, name: str = "model.onnx"
) -> Path:
    """An ONNX file and tokenizer.json.

    ``pooled``: it gives the mean itself. ``types``: it asks for token_type_ids.
    """
    flat = [value for row in ROWS for value in row]
    tensor = (
        _number(1, len(ROWS))
        + _number(1, DIMENSION)
        + _number(2, FLOAT32)
        + _bytes(8, "table")
        + _bytes(9, struct.pack(f"<{len(flat)}f", *flat))
    )
    nodes = [_bytes(1, "table", "input_ids") + _bytes(2, "last_hidden_state") + _bytes(4, "Gather")]
    if pooled:
        axes = _bytes(1, "axes") + _number(8, 1) + _number(20, 7)
        keep = _bytes(1, "keepdims") + _number(3, 0) + _number(20, 2)
        nodes.append(
            _bytes(1, "last_hidden_state")
            + _bytes(2, "embedding")
            + _bytes(4, "ReduceMean")
            + _bytes(5, axes, keep)
        )
    inputs = ["input_ids", "attention_mask", *(["token_type_ids"] if types else [])]
    output = (
        ("embedding", ("b", DIMENSION)) if pooled else ("last_hidden_state", ("b", "t", DIMENSION))
    )
    graph = _bytes(1, *nodes) + _bytes(2, "tiny") + _bytes(5, tensor)
    graph += b"".join(_bytes(11, _value(name, INT64, ("b", "t"))) for name in inputs) + _bytes(
        12, _value(output[0], FLOAT32, output[1])
    )
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).parent.mkdir(exist_ok=True)
    (folder / name).write_bytes(
        _number(1, 6) + _bytes(8, _bytes(1, "") + _number(2, 11)) + _bytes(7, graph)
    )
    tokenizer = Tokenizer(
        models.WordLevel({word: index for index, word in enumerate(WORDS)}, unk_token="[UNK]")
    )
    tokenizer.normalizer = normalizers.Lowercase()
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    # Files from hubs often pad to a fixed length; that must not reach the pooling.
    tokenizer.enable_padding(length=32)
    tokenizer.save(str(folder / "tokenizer.json"))
    return folder
