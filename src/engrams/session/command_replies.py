"""Replies to requests about memory and receipts of messages, in the language of the person."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Sequence
from functools import cache
from pathlib import Path

_FALLBACK = "en"


def write_reply(key: str, language: str, **values: object) -> str:
    """Return a reply of ``command_replies.toml`` with its values filled in.

    ``language``: en, de, es, fr, zh or ja; any other is answered in English.
    """
    texts = _read_replies()[key]
    return texts.get(language, texts[_FALLBACK]).format(**values)


def is_reply(text: str, keys: Sequence[str]) -> str:
    """Return the language in which a text is one of these replies; empty: it is none of them."""
    for key in keys:
        for language, pattern in _compile_replies(key).items():
            if pattern.fullmatch(text.strip()):
                return language
    return ""


@cache
def _compile_replies(key: str) -> dict[str, re.Pattern[str]]:
    """Compile one reply, with any values, in each language."""
    patterns = {}
    for language, template in _read_replies()[key].items():
        parts = re.split(r"\{\w+\}", template.strip())
        patterns[language] = re.compile(".+".join(map(re.escape, parts)), re.DOTALL)
    return patterns


@cache
def _read_replies() -> dict[str, dict[str, str]]:
    path = Path(__file__).with_suffix(".toml")
    return tomllib.loads(path.read_text("utf-8"))
