"""Encodings of texts: recognised, and decoded with Windows-1252 in place of what is not UTF-8."""

from __future__ import annotations

import codecs

WESTERN = "engrams.western"
"""Name of the handler of errors that decodes bytes as Windows-1252 or Latin-1."""
_SAMPLE = 65_536
"""Bytes from which the encoding is recognised."""
_BOMS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)


def detect_encoding(start: bytes) -> tuple[str, int]:
    """Detect the encoding and the length of its byte order mark."""
    for mark, encoding in _BOMS:
        if start.startswith(mark):
            return encoding, len(mark)
    if len(start) >= 4:
        # UTF-16 without a mark: in Western text one byte of each two is zero.
        even_zeros = start[0::2].count(0) / len(start[0::2])
        odd_zeros = start[1::2].count(0) / len(start[1::2])
        if odd_zeros > 0.4 and even_zeros < 0.1:
            return "utf-16-le", 0
        if even_zeros > 0.4 and odd_zeros < 0.1:
            return "utf-16-be", 0
    return "utf-8", 0


def decode_text(data: bytes) -> str:
    """Decode a text in any encoding; its line ends become "\\n", and NULs are left out."""
    encoding, mark_length = detect_encoding(data[:_SAMPLE])
    text = data[mark_length:].decode(encoding, WESTERN)
    return text.replace("\r\n", "\n").replace("\r", "\n").replace("\0", "")


def _decode_western(problem: UnicodeError) -> tuple[str, int]:
    """Decode bytes that are not UTF-8 as Windows-1252 or Latin-1."""
    if not isinstance(problem, UnicodeDecodeError):
        raise problem
    raw = problem.object[problem.start : problem.end]
    try:
        return raw.decode("cp1252"), problem.end
    except UnicodeDecodeError:
        return raw.decode("latin-1"), problem.end


codecs.register_error(WESTERN, _decode_western)
