"""Answers of the chat model with what memory recalls."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from engrams.core import Context, Hit, Meta, Receipt, Scope, Turn, is_blank
from engrams.errors import InputError, SettingsError
from engrams.frozen_data import dataclass
from engrams.ports import ChatMessage, ChatModel, ChatRequest
from engrams.settings import Settings

_OPEN = "<memory_context>"
_CLOSE = "</memory_context>"


@dataclass(frozen=True, slots=True)
class AnsweredChat:
    """Answer of the chat model, and the memories in its prompt."""

    text: str
    hits: tuple[Hit, ...] = ()
    context: Context | None = None
    """All that memory added; None: nothing was looked up."""
    model: str = ""
    """Name that the model's server gave."""


class ChatMemory(Protocol):
    """Memory that a chat reads and writes: the engine."""

    settings: Settings
    chat_model: ChatModel | None

    def context(
        self, query: str, *, scope: Scope, limit: int | None = None, session: str = ""
    ) -> Context: ...

    def deliver(
        self,
        query: str | Sequence[Turn | Meta],
        *,
        scope: Scope,
        session: str,
        limit: int | None = None,
    ) -> Context: ...

    def observe(self, turns: Turn, *, scope: Scope) -> tuple[Receipt, ...]: ...


def answer_chat(
    memory: ChatMemory,
    messages: str | Sequence[Meta],
    scope: Scope,
    session: str,
    limit: int | None,
) -> AnsweredChat:
    """Ask the model with memory before the person's last words; store both.

    The person's words are stored before the model is asked, as those of the message's ``name`` if it
    has one. SettingsError: no model. InputError: no message of a person.
    """
    model = memory.chat_model
    if model is None:
        raise SettingsError(
            "There is no chat model to answer.", hint="Set chat.provider, chat.url and chat.model."
        )
    sent: list[Meta] = (
        [{"role": "user", "content": messages}] if isinstance(messages, str) else list(messages)
    )
    last = max(
        (index for index, message in enumerate(sent) if message.get("role") == "user"), default=-1
    )
    question = str(sent[last].get("content") or "") if last >= 0 else ""
    if is_blank(question):
        raise InputError("There is no question.", hint="Give a message with the role user.")
    context = None
    if limit != 0:
        context = _recall(memory, sent[: last + 1], scope, session, limit)
    speaker = str(sent[last].get("name") or "")
    memory.observe(Turn(question, speaker=speaker, session=session), scope=scope)
    prompt = [
        ChatMessage(str(message.get("role", "user")), str(message.get("content") or ""))
        for message in sent
    ]
    if context is not None and context.text:
        prompt[last] = ChatMessage("user", f"{_OPEN}\n{context.text}\n{_CLOSE}\n\n{question}")
    answer = model.ask(ChatRequest(tuple(prompt), "chat", temperature=None))
    if not is_blank(answer.text):
        memory.observe(Turn(answer.text, role="assistant", session=session), scope=scope)
    hits = context.hits if context is not None and not context.abstain else ()
    return AnsweredChat(answer.text, hits, context, answer.model)


def _recall(
    memory: ChatMemory, messages: Sequence[Meta], scope: Scope, session: str, limit: int | None
) -> Context:
    """Recall what belongs to the last message, without repeats where contexts go by turn."""
    if session and memory.settings.delivery.by_turn:
        return memory.deliver(messages, scope=scope, session=session, limit=limit)
    question = str(messages[-1].get("content") or "")
    return memory.context(question, scope=scope, session=session, limit=limit)
