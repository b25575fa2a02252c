"""Escapes of tags: stored text that is put into a prompt can neither close nor open a frame."""

from __future__ import annotations

import re

_TAG_START = re.compile(r"<\s*[/!?|]|<[^\W\d]")
"""Beginning of a tag, of a comment, or of a token of a chat's template."""


def escape_tags(text: str) -> str:
    """Escape angle brackets and ampersands of a text that holds a tag.

    Any other text is returned as it is: a model would repeat the escapes of "B&B", "a -> b" and
    "n < 5".
    """
    if not _TAG_START.search(text):
        return text
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
