"""Chat model whose answers are saved until what came of them is stored.

A job that is interrupted and run again asks the model nothing twice.
"""

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

    Answers are saved before they are used, except those that were cut off. Failures are remembered
    in this process only.
    """

    def __init__(
        self,
        chat: ChatModel,
        saved: Mapping[str, Any],
        save: Callable[[Mapping[str, Any]], None],
    ) -> None:
        """Set up the model with the answers of an earlier run.

        ``saved``: what ``save`` was given then. ``save``: stores the answers, with the ids of the
        records that they may quote.
        """
        self._chat = chat
        self._save = save
        self._answers: dict[str, Any] = dict(saved.get("answers", {}))
        self._quoted_ids: set[str] = set(saved.get("about", ()))
        self._failures: dict[str, ModelError | BudgetError] = {}
        self._lock = threading.Lock()

    @property
    def name(self) -> str:
        return self._chat.name

    def ask(self, request: ChatRequest) -> ChatAnswer:
        """Return the saved answer, or ask the model and save its answer."""
        question = _hash_question(request)
        if question in self._failures:
            raise self._failures[question]
        if question in self._answers:
            saved = self._answers[question]
            return replace(ChatAnswer(**saved), notes=tuple(saved["notes"]))
        try:
            answer = self._chat.ask(request)
        except (ModelError, BudgetError) as problem:
            self._failures[question] = problem
            raise
        if answer.cut:
            return answer
        with self._lock:
            self._answers[question] = asdict(answer)
            self._quoted_ids.update(request.about)
            self._save({"about": sorted(self._quoted_ids), "answers": self._answers})
        return answer


def _hash_question(request: ChatRequest) -> str:
    """Hash a question by its key if it has one, else by its messages."""
    if request.key:
        parts = [str(len(request.messages)), request.key]
    else:
        parts = [f"{message.role} {message.content}" for message in request.messages]
    return hashlib.blake2b(
        "\x1f".join([request.purpose, *parts]).encode("utf-8", "surrogatepass"), digest_size=12
    ).hexdigest()
