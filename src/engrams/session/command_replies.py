"""Replies to requests about memory, in the language of the request."""

from __future__ import annotations

import tomllib
from functools import cache
from pathlib import Path

_FALLBACK = "en"


def write_reply(key: str, language: str, **values: object) -> str:
    """Return a reply of ``command_replies.toml`` with its values filled in.

    ``language``: en, de, es, fr, zh or ja; any other is answered in English.
    """
    texts = _read_replies()[key]
    return texts.get(language, texts[_FALLBACK]).format(**values)


@cache
def _read_replies() -> dict[str, dict[str, str]]:
    path = Path(__file__).with_suffix(".toml")
    return tomllib.loads(path.read_text("utf-8"))
