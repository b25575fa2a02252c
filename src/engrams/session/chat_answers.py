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
    """Answer of the chat model, and the memories in its prompt.

    ``context``: all that memory added (None: nothing was looked up). ``model``: the name that the
    server gave.
    """

    text: str
    hits: tuple[Hit, ...] = ()
    context: Context | None = None
    model: str = ""


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

    The person's words are stored before the model is asked. SettingsError: no model. InputError: no
    message of a person.
    """
    model = memory.chat_model
    if model is None:
        raise SettingsError(
            "There is no chat model to answer.", hint="Set chat.provider, chat.url and chat.model."
        )
    given: list[Meta] = (
        [{"role": "user", "content": messages}] if isinstance(messages, str) else list(messages)
    )
    last = next(
        (place for place in range(len(given) - 1, -1, -1) if given[place].get("role") == "user"), -1
    )
    said = str(given[last].get("content") or "") if last >= 0 else ""
    if is_blank(said):
        raise InputError("Nobody asks anything.", hint="Give a message with the role user.")
    context = (
        None if limit == 0 else _recall(memory, given[: last + 1], said, scope, session, limit)
    )
    memory.observe(Turn(said, session=session), scope=scope)
    prompt = [
        ChatMessage(str(one.get("role", "user")), str(one.get("content") or "")) for one in given
    ]
    if context is not None and context.text:
        prompt[last] = ChatMessage("user", f"{_OPEN}\n{context.text}\n{_CLOSE}\n\n{said}")
    answer = model.ask(ChatRequest(tuple(prompt), "chat", temperature=None))
    if not is_blank(answer.text):
        memory.observe(Turn(answer.text, role="assistant", session=session), scope=scope)
    return AnsweredChat(
        answer.text, context.hits if context and not context.abstain else (), context, answer.model
    )


def _recall(
    memory: ChatMemory,
    given: Sequence[Meta],
    said: str,
    scope: Scope,
    session: str,
    limit: int | None,
) -> Context:
    if session and memory.settings.delivery.by_turn:
        return memory.deliver(given, scope=scope, session=session, limit=limit)
    return memory.context(said, scope=scope, session=session, limit=limit)
