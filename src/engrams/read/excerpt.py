"""Excerpts of long texts."""

from __future__ import annotations

from collections.abc import Sequence


def cut_excerpt(text: str, words: Sequence[str], characters: int = 500) -> str:
    """Cut a long text around the first of the words."""
    if len(text) <= characters:
        return text
    low = text.casefold() if len(text.casefold()) == len(text) else text.lower()
    found = [place for word in words if (place := low.find(word)) >= 0]
    start = max(0, min(min(found, default=0) - characters // 4, len(text) - characters))
    cut = text[start : start + characters]
    if start:
        cut = "…" + cut[1:]
    return cut[:-1] + "…" if start + characters < len(text) else cut
