"""Chat model whose answers are kept, for a digest that reconciles again."""

from __future__ import annotations

from engrams.errors import BudgetError, ModelError
from engrams.ports import Answer, Ask, Chat, Message


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
