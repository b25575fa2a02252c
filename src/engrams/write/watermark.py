"""Optimistic lock: each digest advances the owner's watermark, or retries."""

from __future__ import annotations

from datetime import datetime

from engrams.errors import BudgetError, ConflictError, ModelError
from engrams.ports import Answer, Ask, Chat, Message, SessionRow, Sessions
from engrams.types import Scope

ROW = ":learned"
"""Reserved session name under which the watermark is stored."""


def load_watermark(owner: Scope, store: Sessions, now: datetime) -> SessionRow:
    """Load the owner's watermark, creating it if missing.
    A batch that carries it raises ConflictError if another digest of this owner was stored since."""
    row = store.load(owner, ROW)
    if row is not None:
        return row
    try:
        return store.save(SessionRow(ROW, owner, "closed", now, now), expect=0)
    except ConflictError:
        return load_watermark(owner, store, now)  # somebody else made it this moment


class CachedChat:
    """Chat model that answers each question once, failures included."""

    def __init__(self, chat: Chat) -> None:
        self._chat = chat
        self._said: dict[tuple[str, tuple[Message, ...]], Answer | ModelError | BudgetError] = {}

    @property
    def name(self) -> str:
        return self._chat.name

    def ask(self, ask: Ask) -> Answer:
        key = (ask.purpose, ask.messages)
        if key not in self._said:
            try:
                self._said[key] = self._chat.ask(ask)
            except (ModelError, BudgetError) as problem:
                self._said[key] = problem
        said = self._said[key]
        if isinstance(said, Answer):
            return said
        raise said
