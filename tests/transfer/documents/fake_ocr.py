"""A library that recognises text, as the process sees it that reads pictures: its answers are scripted.

The answers stand in a file beside it, by the size of the picture: lines as ``[left, top, right, bottom,
text, confidence]``. A picture without an answer has no text; ``null`` breaks the library.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

_LIBRARY = """
import io
import json
import os
import pathlib
from PIL import Image

class OcrEngine:
    def __init__(self, **options):
        assert options["model_size"] == "small"
        self.answers = json.loads(pathlib.Path(__file__).with_name("answers.json").read_text())

    def ocr(self, data):
        image = Image.open(io.BytesIO(data))
        lines = self.answers.get(f"{image.width}x{image.height}", [])
        if lines is None:
            os._exit(1)
        return {"bounds": {
            number: {
                "topLeftCoord": line[:2],
                "bottomRightCoord": line[2:4],
                "text": line[4],
                "confidence": line[5],
            }
            for number, line in enumerate(lines)
        }}
"""

Lines = Sequence[tuple[float, float, float, float, str, float]]


def install(
    folder: Path, monkeypatch: pytest.MonkeyPatch, answers: Mapping[str, Lines | None]
) -> None:
    """Install the library for this process and those that it starts."""
    (folder / "faster_paddle.py").write_text(_LIBRARY)
    (folder / "answers.json").write_text(json.dumps(answers))
    monkeypatch.syspath_prepend(folder)
    monkeypatch.setenv("PYTHONPATH", str(folder))


def write_down(*texts: str, confidence: float = 0.98) -> Lines:
    """Lines below each other."""
    return [
        (10, 30 * number, 10 + 9 * len(text), 30 * number + 20, text, confidence)
        for number, text in enumerate(texts)
    ]
