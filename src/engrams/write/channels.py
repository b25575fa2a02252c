"""Channels by which texts come into memory, and the trust in them."""

from __future__ import annotations

from collections.abc import Mapping

TRUST: Mapping[str, float] = {
    "user": 1.0,
    "file": 0.95,
    "import": 0.9,
    "assistant": 0.6,
    "tool": 0.5,
    "system": 0.5,
    "web": 0.3,
    "document": 0.3,
}
"""Trust by channel, 0..1: the owner's files and imports nearly as much as the owner.

Least what others wrote: the web, and the documents that somebody gave.
"""
CHANNEL_OF_ROLE = {"user": "user", "assistant": "assistant", "system": "system", "tool": "tool"}
"""Channel of a turn for which none is named."""
OFFLINE_CHANNELS = frozenset(("import", "file", "vault", "document"))
"""Channels of turns that nobody says now: they open no session and pass no working tier."""
