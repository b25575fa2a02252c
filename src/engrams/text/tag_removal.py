"""Removal of tagged blocks from a text, in linear time."""

from __future__ import annotations

import re


def remove_tagged(text: str, opening: re.Pattern[str], instead: str = "") -> str:
    """Replace each block from an opening tag to its closing one.

    ``opening``: the tag, its name in group 1. A tag that is never closed stays.
    """
    pieces: list[str] = []
    unclosed: set[str] = set()
    at = 0
    for tag in opening.finditer(text):
        if tag.start() < at or tag[1] in unclosed:
            continue
        close = f"</{tag[1]}>"
        end = text.find(close, tag.end())
        if end < 0:
            unclosed.add(tag[1])
            continue
        pieces += (text[at : tag.start()], instead)
        at = end + len(close)
    return "".join((*pieces, text[at:]))
