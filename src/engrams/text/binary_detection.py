"""Recognise contents that are not text, and say what they are instead."""

from __future__ import annotations

import unicodedata

from engrams.errors import InputError

_DOCUMENTS = (
    (b"%PDF-", "a PDF document"),
    (b"{\\rtf", "an RTF document"),
    (b"SQLite format 3\0", "a SQLite database"),
    (b"<!doctype html", "a web page (HTML)"),
    (b"<html", "a web page (HTML)"),
    (b"<?xml", "an XML document"),
)
"""Beginnings that never are memories, in lower case where letters matter."""

_SIGNATURES = (
    (b"\x89PNG", "a PNG picture"),
    (b"\xff\xd8\xff", "a JPEG picture"),
    (b"GIF8", "a GIF picture"),
    (b"\x7fELF", "a program"),
    (b"MZ", "a program"),
    (b"\xcf\xfa\xed\xfe", "a program"),
    (b"\x1f\x8b", "a gzip archive"),
    (b"BZh", "a bzip2 archive"),
    (b"\xfd7zXZ", "an xz archive"),
    (b"7z\xbc\xaf", "a 7z archive"),
    (b"\x28\xb5\x2f\xfd", "a zstd archive"),
    (b"Rar!", "a RAR archive"),
    (b"ID3", "a sound file"),
    (b"OggS", "a sound file"),
    (b"fLaC", "a sound file"),
    (b"RIFF", "a sound, video or picture file"),
    (b"PAR1", "a Parquet table"),
    (b"\xd0\xcf\x11\xe0", "an Office document"),
)
"""Beginnings of binary files; some of them, such as MZ, may begin a text too."""
_CONTROLS = bytes({*range(32), 127} - set(b"\t\n\v\f\r\b\x1b"))
_CONTROL_SHARE = 0.02
"""Share of control characters from which contents are no text."""
_INVALID_SHARE = 0.3
"""Share of bytes that are not UTF-8 from which a text is in no encoding that is known here."""
_TOLERATED = 3
"""Odd characters that any short text may have."""
_SAMPLE = 4096
_HINT = (
    "Import text, Markdown, JSON, JSONL, CSV, or a chat export; turn anything else into text first."
)


def refuse_binary(start: bytes, encoding: str) -> None:
    """Check the first bytes of a text. InputError: they are no text."""
    lowered = start[:64].lstrip(b"\xef\xbb\xbf \t\r\n").lower()
    kind = next((name for mark, name in _DOCUMENTS if lowered.startswith(mark.lower())), "")
    if not kind and is_binary(start, encoding):
        kind = next((name for mark, name in _SIGNATURES if start.startswith(mark)), "a binary file")
    if kind:
        raise InputError(f"It is {kind}, not text.", hint=_HINT)
    if encoding == "utf-8" and _count_invalid(start) > _INVALID_SHARE * len(start) + _TOLERATED:
        raise InputError(
            "Its characters are neither UTF-8 nor Western (Windows-1252).",
            hint="Save it as UTF-8, then import it.",
        )


def is_binary(data: bytes, encoding: str) -> bool:
    """Check for more control characters than any text holds."""
    if encoding != "utf-8":
        text = data[:_SAMPLE].decode(encoding, "replace")
        control_count = sum(
            unicodedata.category(char) in ("Cc", "Cn", "Co", "Cs") and char not in "\t\r\n\f"
            for char in text
        )
        return control_count > _CONTROL_SHARE * len(text) + _TOLERATED
    control_count = len(data) - len(data.translate(None, _CONTROLS))
    return control_count > _CONTROL_SHARE * len(data) + _TOLERATED


def _count_invalid(start: bytes) -> int:
    """Count the bytes that are not UTF-8."""
    return len(start) - len(start.decode("utf-8", "ignore").encode())
