"""Word tables kept as text files in a folder ``vocabulary`` beside the module that uses them."""

from __future__ import annotations

from pathlib import Path


def read_vocabulary(module_file: str, table: str) -> str:
    """Return the text of a word table.

    ``module_file``: ``__file__`` of the module beside whose folder ``vocabulary`` it lies.
    ``table``: the file's name without ``.txt``. FileNotFoundError: the installation is incomplete.
    """
    path = Path(module_file).with_name("vocabulary") / f"{table}.txt"
    return path.read_text("utf-8")
