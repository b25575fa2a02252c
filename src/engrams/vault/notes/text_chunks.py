"""Cut a text into overlapping chunks of lines."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

_TOKENS = 500
_OVERLAP = 50

_Part: TypeAlias = tuple[int, str, int]
"""Number of a line, the line or a part of it, and its tokens."""


@dataclass(frozen=True, slots=True)
class TextChunk:
    """Lines of a text that follow each other."""

    first: int
    """Number of the first line, from 1."""
    last: int
    """Number of the last line, which belongs to the chunk."""
    text: str


def estimate_tokens(text: str) -> int:
    """Estimate the tokens of a text: a quarter of its bytes."""
    return max(1, len(text.encode("utf-8", "replace")) // 4)


def split_chunks(
    text: str,
    count_tokens: Callable[[str], int] = estimate_tokens,
    size: int = _TOKENS,
    overlap: int = _OVERLAP,
) -> Iterator[TextChunk]:
    """Split a text into chunks of at most ``size`` tokens.

    Each begins with about the last ``overlap`` tokens of the one before. A line that is longer by
    itself is split.
    """
    parts: list[_Part] = []
    has_new = False
    for number, line in enumerate(text.split("\n"), 1):
        for part in _split_line(line, count_tokens, size):
            tokens = count_tokens(part)
            if parts and _sum_tokens(parts) + tokens > size:
                if has_new:
                    yield _join_parts(parts)
                while parts and (
                    _sum_tokens(parts) > overlap or _sum_tokens(parts) + tokens > size
                ):
                    parts.pop(0)
            parts.append((number, part, tokens))
            has_new = True
    if has_new and any(part.strip() for _, part, _ in parts):
        yield _join_parts(parts)


def _sum_tokens(parts: Sequence[_Part]) -> int:
    return sum(tokens for _, _, tokens in parts)


def _join_parts(parts: Sequence[_Part]) -> TextChunk:
    return TextChunk(parts[0][0], parts[-1][0], "\n".join(part for _, part, _ in parts))


def _split_line(line: str, count_tokens: Callable[[str], int], size: int) -> Iterator[str]:
    """Split a line into parts of at most ``size`` tokens, at blanks."""
    while count_tokens(line) > size:
        cut_index = max(1, len(line) * size // count_tokens(line))
        while cut_index > 1 and count_tokens(line[:cut_index]) > size:
            cut_index = cut_index * 9 // 10
        blank = line.rfind(" ", cut_index // 2, cut_index)
        if blank > 0:
            cut_index = blank
        yield line[:cut_index]
        line = line[cut_index:]
    yield line
