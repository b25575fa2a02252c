"""Places of a part of a text, kept without its words: ``find_span`` notes one, ``read_span`` reads it.

Another record can point into a text without holding a copy of words that may be purged.
"""

from __future__ import annotations

import zlib

TextSpan = list[int]
"""Start, end, and a checksum of the words: after an edit they are no longer there."""


def find_span(text: str, part: str) -> TextSpan:
    """Find where a part stands in a text; empty: nowhere."""
    start = text.find(part) if part else -1
    return [start, start + len(part), zlib.crc32(part.encode())] if start >= 0 else []


def read_span(text: str, span: object) -> str:
    """Read the words of a span; empty if the text was changed there, or for what is no span."""
    if not isinstance(span, list | tuple) or len(span) != 3:
        return ""
    start, end, checksum = span
    if not all(isinstance(value, int) for value in span):
        return ""
    words = text[start:end]
    return words if zlib.crc32(words.encode()) == checksum else ""
