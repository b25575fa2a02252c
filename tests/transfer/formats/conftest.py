"""Files as other systems write them."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from engrams.transfer import formats


@pytest.fixture
def save(tmp_path: Path) -> Callable[..., Path]:
    """Write bytes, text or a JSON value to a fresh file."""

    def write(content: Any, name: str = "file.txt") -> Path:
        path = tmp_path / name
        if isinstance(content, bytes):
            path.write_bytes(content)
        else:
            path.write_text(
                content if isinstance(content, str) else json.dumps(content), encoding="utf-8"
            )
        return path

    return write


@pytest.fixture
def load(
    save: Callable[..., Path],
) -> Callable[..., tuple[list[Any], list[formats.UnreadablePiece]]]:
    """The items of a content, and what was bad in it."""

    def read(content: Any, format: str = "auto") -> tuple[list[Any], list[formats.UnreadablePiece]]:
        pieces = list(formats.read(save(content), format))
        return [p for p in pieces if not isinstance(p, formats.UnreadablePiece)], [
            p for p in pieces if isinstance(p, formats.UnreadablePiece)
        ]

    return read
