"""Prose of a message, apart from the code that it carries."""

from __future__ import annotations

import re

from engrams.text.measures import word_count

_CODE = re.compile(r"```.*?(?:```|\Z)|~~~.*?(?:~~~|\Z)", re.DOTALL)
_FEWEST_WORDS = 5
"""Words of prose from which it stands for the whole message."""


def strip_code(text: str) -> str:
    """Return a message without its code blocks, as it is embedded.

    A message says in its prose what it is about; a listing of many lines would outweigh that. A
    text of code with fewer than five words beside it stays whole.
    """
    if "```" not in text and "~~~" not in text:
        return text
    prose = _CODE.sub("\n", text).strip()
    return prose if word_count(prose) >= _FEWEST_WORDS else text
