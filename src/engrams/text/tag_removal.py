"""Removal of tagged blocks from a text, in linear time."""

from __future__ import annotations

import re


def remove_tagged(text: str, opening: re.Pattern[str], instead: str = "") -> str:
    """Replace each block from an opening tag to its closing one.

    ``opening``: the tag, its name in group 1. A tag that is never closed stays.
    """
    kept: list[str] = []
    unclosed: set[str] = set()
    at = 0
    for found in opening.finditer(text):
        if found.start() < at or found[1] in unclosed:
            continue
        close = f"</{found[1]}>"
        end = text.find(close, found.end())
        if end < 0:
            unclosed.add(found[1])
            continue
        kept += (text[at : found.start()], instead)
        at = end + len(close)
    return "".join((*kept, text[at:]))
