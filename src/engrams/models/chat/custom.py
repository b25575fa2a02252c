"""Wrap a user's function or OpenAI client as a chat server."""

from __future__ import annotations

import contextvars
import inspect
import threading
from collections.abc import Callable, Mapping
from typing import Any

from engrams.core import Json
from engrams.errors import BudgetError, ModelError, SettingsError
from engrams.models.chat.openai import (
    ServerParameterSupport,
    build_request,
    parse_refusal,
    parse_reply,
)
from engrams.models.chat.port import (
    ChatServerProbe,
    ChatServerReply,
    ChatServerRequest,
    ServerResult,
    to_messages,
)
from engrams.models.retry import status_error
from engrams.ports import Clock

_REFUSALS = {400, 415, 422, 501}
_LONGEST = 86_400.0


class CallableChatServer:
    """Chat server over a user's function.

    It is called as ``function(messages: list[dict]) -> str`` with messages ``{"role": …, "content":
    …}``. JSON is asked for in the prompt.
    """

    def __init__(self, function: Callable[[list[dict[str, str]]], Any]) -> None:
        self._function = function

    @property
    def name(self) -> str:
        return str(getattr(self._function, "__name__", type(self._function).__name__))

    def send(self, call: ChatServerRequest) -> ServerResult:
        messages = to_messages(call)
        text, problem = run_with_deadline(lambda: self._function(messages), call.seconds, self.name)
        if isinstance(problem, ModelError | BudgetError):
            raise problem
        if problem is not None:
            raise ModelError(f"The function {self.name} failed ({type(problem).__name__}).")
        if isinstance(text, str):
            return ChatServerReply(text, model=self.name)
        if inspect.iscoroutine(text):
            text.close()
        raise ModelError(
            f"The function {self.name} returned {type(text).__name__} instead of text.",
            hint="It must return the answer.",
            retryable=False,
        )

    def probe(self, seconds: float) -> ChatServerProbe:  # noqa: ARG002 - a function streams nothing and tells nothing
        """Tell nothing: a function has no parts to measure."""
        return ChatServerProbe()

    def close(self) -> None:
        """Do nothing: there is nothing to close."""


class OpenAIClientChatServer:
    """Chat server over a client with ``chat.completions.create``, such as ``openai.OpenAI()``."""

    def __init__(self, client: Any, model: str, clock: Clock) -> None:
        self._create = client.chat.completions.create
        self._model = model
        self._clock = clock
        self._dialect = ServerParameterSupport()

    @property
    def name(self) -> str:
        return self._model

    def send(self, call: ChatServerRequest) -> ServerResult:
        body = build_request(call, self._model, self._dialect)
        answer, problem = run_with_deadline(
            lambda: self._create(**body, timeout=call.seconds), call.seconds, self.name
        )
        if problem is not None:
            return self._handle_error(call, problem)
        return parse_reply(self.name, _to_json(answer), self._clock)

    def probe(self, seconds: float) -> ChatServerProbe:  # noqa: ARG002 - the client's own server is not known
        """Tell nothing: the client belongs to the user."""
        return ChatServerProbe()

    def close(self) -> None:
        """Do nothing: the client belongs to the user."""

    def _handle_error(self, call: ChatServerRequest, problem: Exception) -> ServerResult:
        status = getattr(problem, "status_code", None)
        if not isinstance(status, int):
            raise ModelError(f"The client for {self.name} failed ({type(problem).__name__}).")
        response = getattr(problem, "response", None)
        content = getattr(response, "content", b"")
        body = content if isinstance(content, bytes) else b""
        refused = parse_refusal(call, body, self._dialect) if status in _REFUSALS else None
        if refused is not None:
            return refused
        headers = {
            str(name).lower(): str(value)
            for name, value in dict(getattr(response, "headers", {}) or {}).items()
        }
        error = getattr(problem, "body", None)
        raise status_error(
            self.name,
            status,
            headers,
            {"error": error} if isinstance(error, Mapping) else None,
            self._clock,
        )


def run_with_deadline(
    work: Callable[[], Any], seconds: float, name: str
) -> tuple[Any, Exception | None]:
    """Run a user's function in a thread with a time limit.

    After ``seconds`` a ModelError is raised and the code runs on, because a thread cannot be
    stopped.
    """
    results: list[tuple[Any, Exception | None]] = []

    def run() -> None:
        try:
            results.append((work(), None))
        except Exception as problem:  # noqa: BLE001 - foreign code may raise anything
            results.append((None, problem))

    thread = threading.Thread(
        target=contextvars.copy_context().run, args=(run,), name="engrams-injected", daemon=True
    )
    thread.start()
    thread.join(min(seconds, _LONGEST))
    if not results:
        raise ModelError(
            f"{name} gave no answer within {seconds:.3g} seconds.",
            hint="Raise `chat.timeout_seconds`.",
        )
    return results[0]


def wrap_model(
    thing: Any, clock: Clock, model: str = ""
) -> CallableChatServer | OpenAIClientChatServer:
    """Wrap a user's function or OpenAI client as a chat server.

    SettingsError: it is neither a function nor a synchronous OpenAI client, or a client without a
    model's name.
    """
    create = getattr(getattr(getattr(thing, "chat", None), "completions", None), "create", None)
    if any(
        inspect.iscoroutinefunction(inspect.unwrap(call))
        for call in (create, thing)
        if callable(call)
    ):
        raise SettingsError(
            "The chat model is asynchronous.",
            hint="Give a synchronous function or client, such as openai.OpenAI().",
        )
    if callable(create):
        if not model:
            raise SettingsError("A client needs the name of a model.", hint="Set `chat.model`.")
        return OpenAIClientChatServer(thing, model, clock)
    if callable(thing):
        return CallableChatServer(thing)
    raise SettingsError(
        f"{type(thing).__name__} cannot be used as a chat model.",
        hint="Give a function, an OpenAI client, or an object with ask().",
    )


def _to_json(answer: Any) -> Json:
    dump = getattr(answer, "model_dump", None)
    return dump() if callable(dump) else answer
