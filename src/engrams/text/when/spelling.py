"""The spelling that grammars match: one character for one, so that places in the text stay what they are."""

from __future__ import annotations

import re
import unicodedata

MARKS = re.compile("[\u0300-\u036f]")
_TABLE: dict[int, str] = {
    code: unicodedata.normalize("NFD", chr(code))[0].lower()
    for code in range(0xC0, 0x250)
    if unicodedata.normalize("NFD", chr(code))[0].isascii()
}
_TABLE |= dict.fromkeys((0x2018, 0x2019, 0x02BC, 0xFF07), "'") | dict.fromkeys((0xA0, 0x202F, 0x2009, 0x3000), " ")
_TABLE |= {0xFF10 + digit: str(digit) for digit in range(10)}


def fold(text: str) -> str:
    """Lower case, accents of Latin letters off, plain apostrophes and blanks. The same length, except for composed marks."""
    low = text.translate(_TABLE)
    lowered = low.lower()
    if len(lowered) != len(low):
        lowered = "".join(char.lower() if len(char.lower()) == 1 else char for char in low)
    if MARKS.search(lowered):
        return MARKS.sub("", lowered)
    return lowered
