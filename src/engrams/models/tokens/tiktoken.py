"""Count tokens by a tiktoken vocabulary that is already on this machine."""

from __future__ import annotations

import logging
import os
import tempfile
from datetime import datetime, timedelta
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING

from engrams.models.tokens.estimate import estimate_tokens
from engrams.ports import Clock

if TYPE_CHECKING:
    from tiktoken import Encoding

_LOG = logging.getLogger(__name__)
_RETRY_DELAY = timedelta(seconds=600)

# The names under which tiktoken keeps the files. One that is not there is not fetched: counting
# must not wait for a network.
_FILES = {
    "cl100k_base": "9b5ad71b2ce5302211f9c61530b329a4922fc6a4",
    "o200k_base": "fb374d419588a4632f3f557e76b4b70aebbca790",
    "o200k_harmony": "fb374d419588a4632f3f557e76b4b70aebbca790",
}
ENCODINGS = tuple(_FILES)


class TiktokenTokenCounter:
    """TokenCounter by a tiktoken vocabulary; estimates, and retries later, without it."""

    def __init__(self, name: str, clock: Clock) -> None:
        """Set the encoding, one of ENCODINGS; loads nothing."""
        self.name = name
        self._clock = clock
        self._lock = Lock()
        self._encoding: Encoding | None = None
        self._retry_at: datetime | None = None

    def count(self, text: str) -> int:
        """Count tokens, special ones as plain text; 0 for empty text."""
        encoding = self._load_or_retry_later() if text else None
        return len(encoding.encode_ordinary(text)) if encoding else estimate_tokens(text)

    def _load_or_retry_later(self) -> Encoding | None:
        with self._lock:
            if self._encoding is None and (
                self._retry_at is None or self._clock() >= self._retry_at
            ):
                try:
                    self._encoding = _load(self.name)
                except (ImportError, OSError, ValueError) as problem:
                    self._retry_at = self._clock() + _RETRY_DELAY
                    _LOG.warning(
                        "Tokens are estimated: the vocabulary %s cannot be had (%s).",
                        self.name,
                        problem,
                    )
            return self._encoding


def _load(name: str) -> Encoding:
    import tiktoken

    if not (_cache_folder() / _FILES[name]).is_file():
        raise FileNotFoundError(f"it is not in {_cache_folder()}")
    return tiktoken.get_encoding(name)


def _cache_folder() -> Path:
    for variable in ("TIKTOKEN_CACHE_DIR", "DATA_GYM_CACHE_DIR"):
        if variable in os.environ:
            return Path(os.environ[variable])
    return Path(tempfile.gettempdir()) / "data-gym-cache"
