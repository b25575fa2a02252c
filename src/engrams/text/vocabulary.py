"""Word tables kept as text files in a folder ``vocabulary`` beside the module that uses them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

_PART = re.compile(r"\$[a-z]\w*")
_UNSPACED = re.compile("[\u3040-\u30ff\u4e00-\u9fff]")


def read_vocabulary(module_file: str, table: str) -> str:
    """Return the text of a word table.

    ``module_file``: ``__file__`` of the module beside whose folder ``vocabulary`` it lies.
    ``table``: the file's name without ``.txt``. FileNotFoundError: the installation is incomplete.
    """
    path = Path(module_file).with_name("vocabulary") / f"{table}.txt"
    return path.read_text("utf-8")


@cache
def word_pattern(module_file: str, table: str) -> re.Pattern[str]:
    """Compile a table of words and phrases, which may be patterns, into one that finds any of them.

    Alternatives are separated by a bar, as are lines. A line of a script without spaces, such as
    Chinese, is found within words; the others only as whole words.
    """
    lines = [line for line in read_vocabulary(module_file, table).splitlines() if line]
    spaced = "|".join(line for line in lines if not _UNSPACED.search(line))
    pieces = [line for line in lines if _UNSPACED.search(line)]
    return re.compile("|".join((rf"\b(?:{spaced})(?!\w)", *pieces)))


def read_patterns(module_file: str, folder: str, table: str, **parts: str) -> str:
    """Read a table of patterns, one or several a line, as one group of alternatives.

    ``folder``: folder of tables within ``vocabulary``. ``parts``: what stands for ``{name}`` in it.
    """
    lines = read_vocabulary(module_file, f"{folder}/{table}").splitlines()
    pattern = f"(?:{'|'.join(line for line in lines if line)})"
    for name, part in parts.items():
        pattern = pattern.replace(f"{{{name}}}", part)
    return pattern


def read_rows(module_file: str, table: str) -> Iterator[str]:
    """Yield the lines of a table without comments; an indented line goes on the one before it."""
    text = read_vocabulary(module_file, table).replace("\n  ", " ")
    yield from (line for line in text.splitlines() if line and not line.startswith("#"))


def read_forms(module_file: str, table: str) -> dict[str, list[tuple[str, str]]]:
    """Read a table of sentence forms: kind and pattern of each line, by the language before them.

    The columns are parted by tabs; without a language the key is empty. A kind ``$name`` defines what
    stands for ``$name`` in later patterns of its language; it is among the result, too.
    """
    forms: dict[str, list[tuple[str, str]]] = {}
    for row in read_rows(module_file, table):
        *language, kind, pattern = row.split("\t")
        lines = forms.setdefault("".join(language), [])
        parts = dict(lines)
        lines.append((kind, _PART.sub(lambda match: parts.get(match[0], match[0]), pattern)))  # noqa: B023 - used at once
    return forms


def read_classes(module_file: str, table: str) -> dict[str, frozenset[str]]:
    """Read a table of named word lists: each line is a name, a colon and words."""
    rows = (row.partition(":") for row in read_rows(module_file, table))
    return {name: frozenset(words.split()) for name, _, words in rows}


def word_set(text: str) -> frozenset[str]:
    """Split a text at blanks into a set of words."""
    return frozenset(text.split())
