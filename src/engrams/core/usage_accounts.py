"""Accounts and windows by which the use of models and of the API is counted."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextvars import ContextVar
from datetime import datetime
from hashlib import blake2b
from typing import Literal, TypeAlias

CHARGED_OWNER: ContextVar[str] = ContextVar("engrams_charged_owner", default="")
"""Key of the owner for whom a model is asked here, and whose quota pays. Empty: no quota does."""

RequestWindow: TypeAlias = Literal["minute", "day"]

WINDOWS: Mapping[RequestWindow, Callable[[datetime], str]] = {
    "minute": lambda now: f"{now:%Y-%m-%dT%H:%M}",
    "day": lambda now: f"{now:%Y-%m-%d}",
}
"""Name of the window that a moment (UTC) lies in; names sort by time."""


def name_account(name: str) -> str:
    """Return the account of an owner or key: a hash, so that a ledger names nobody."""
    return blake2b(name.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()
