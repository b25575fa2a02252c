"""A tiny cross-encoder as an ONNX file, written byte by byte:
the sum of a weight for each word of the second text.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from pathlib import Path

from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors

SPECIAL = ("[PAD]", "[UNK]", "[CLS]", "[SEP]")
INT = 2
INTS = 7
FLOAT32 = 1
INT64 = 7


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


def _node(kind: str, inputs: list[str], output: str, attributes: bytes = b"") -> bytes:
    return _bytes(1, *inputs) + _bytes(2, output) + _bytes(4, kind) + attributes


def _attribute(name: str, value: int | list[int]) -> bytes:
    if isinstance(value, int):
        return _bytes(5, _bytes(1, name) + _number(3, value) + _number(20, INT))
    return _bytes(
        5, _bytes(1, name) + b"".join(_number(8, item) for item in value) + _number(20, INTS)
    )


def _value(name: str, kind: int, shape: tuple[str | int, ...]) -> bytes:
    dims = b"".join(
        _bytes(1, _number(1, dim) if isinstance(dim, int) else _bytes(2, dim)) for dim in shape
    )
    return _bytes(1, name) + _bytes(2, _bytes(1, _number(1, kind) + _bytes(2, dims)))


def write(folder: Path, weights: Mapping[str, float], *, head: str = "one") -> Path:
    """model.onnx and tokenizer.json.

    ``head``: one (a logit), two (two classes), many (a number a token), nan.
    """
    words = [*SPECIAL, *weights]
    # Padding has a weight of its own: only the attention mask keeps it out.
    table = [
        100.0,
        0.0,
        0.0,
        0.0,
        *(float("nan") if head == "nan" else weight for weight in weights.values()),
    ]
    tensor = (
        _number(1, len(table))
        + _number(2, FLOAT32)
        + _bytes(8, "table")
        + _bytes(9, struct.pack(f"<{len(table)}f", *table))
    )
    nodes = [
        _node("Gather", ["table", "input_ids"], "each"),
        _node("Mul", ["token_type_ids", "attention_mask"], "second"),
        _node("Cast", ["second"], "mask", _attribute("to", FLOAT32)),
        _node("Mul", ["each", "mask"], "tokens"),
        _node("ReduceSum", ["tokens"], "sum", _attribute("axes", [1]) + _attribute("keepdims", 1)),
        _node("Neg", ["sum"], "against"),
        _node("Concat", ["against", "sum"], "classes", _attribute("axis", 1)),
    ]
    output = {"one": "sum", "nan": "sum", "two": "classes", "many": "tokens"}[head]
    names = ("input_ids", "attention_mask", "token_type_ids")
    graph = _bytes(1, *nodes) + _bytes(2, "tiny") + _bytes(5, tensor)
    graph += b"".join(_bytes(11, _value(name, INT64, ("batch", "tokens"))) for name in names)
    graph += _bytes(
        12,
        _value(output, FLOAT32, ("batch", {"one": 1, "nan": 1, "two": 2, "many": "tokens"}[head])),
    )
    model = _number(1, 6) + _bytes(8, _bytes(1, "") + _number(2, 11)) + _bytes(7, graph)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "model.onnx").write_bytes(model)
    tokenizer = Tokenizer(
        models.WordLevel({word: index for index, word in enumerate(words)}, unk_token="[UNK]")
    )
    tokenizer.normalizer = normalizers.Lowercase()
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]",
        pair="[CLS] $A [SEP] $B:1 [SEP]:1",
        special_tokens=[("[CLS]", 2), ("[SEP]", 3)],
    )
    tokenizer.save(str(folder / "tokenizer.json"))
    return folder
