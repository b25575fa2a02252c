"""Chat model whose answers are kept until their result is stored."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Callable, Mapping
from dataclasses import asdict, replace
from typing import Any

from engrams.errors import BudgetError, ModelError
from engrams.ports import ChatAnswer, ChatModel, ChatRequest


class AnswerCachingChat:
    """Chat model that answers each question once, for all processes.

    Answers are stored before they are used, but for those that were cut; failures are remembered in
    this process only.
    """

    def __init__(
        self, chat: ChatModel, kept: Mapping[str, Any], save: Callable[[Mapping[str, Any]], None]
    ) -> None:
        """Set up the model with the answers of an earlier run.

        ``save``: stores answers, and the ids of what they may quote.
        """
        self._chat = chat
        self._save = save
        self._answers: dict[str, Any] = dict(kept.get("answers", {}))
        self._about: set[str] = set(kept.get("about", ()))
        self._failed: dict[str, ModelError | BudgetError] = {}
        self._lock = threading.Lock()

    @property
    def name(self) -> str:
        return self._chat.name

    def ask(self, request: ChatRequest) -> ChatAnswer:
        key = _hash_question(request)
        if key in self._failed:
            raise self._failed[key]
        if key in self._answers:
            known = self._answers[key]
            return replace(ChatAnswer(**known), notes=tuple(known["notes"]))
        try:
            answer = self._chat.ask(request)
        except (ModelError, BudgetError) as problem:
            self._failed[key] = problem
            raise
        if answer.cut:
            return answer
        with self._lock:
            self._answers[key] = asdict(answer)
            self._about.update(request.about)
            self._save({"about": sorted(self._about), "answers": self._answers})
        return answer


def _hash_question(ask: ChatRequest) -> str:
    said = (
        [str(len(ask.messages)), ask.key]
        if ask.key
        else [f"{one.role} {one.content}" for one in ask.messages]
    )
    return hashlib.blake2b(
        "\x1f".join([ask.purpose, *said]).encode("utf-8", "surrogatepass"), digest_size=12
    ).hexdigest()
