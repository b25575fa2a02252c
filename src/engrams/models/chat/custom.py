"""A user's function or OpenAI client as a chat server; ``wrap_model`` is the entry."""

from __future__ import annotations

import contextvars
import inspect
import json
import threading
from collections.abc import Callable, Mapping
from typing import Any

from engrams.core import Json
from engrams.errors import BudgetError, ModelError, SettingsError
from engrams.models.chat.openai import (
    CHANGEABLE_FIELDS,
    JSON_MODES,
    build_request,
    find_status,
    parse_reply,
)
from engrams.models.chat.port import (
    ChatServerProbe,
    ChatServerReply,
    ChatServerRequest,
    JsonMode,
    RequestField,
    RequestForm,
    ServerResult,
)
from engrams.models.chat.refused_fields import find_refusal
from engrams.models.chat.wire import to_messages
from engrams.models.error_quotes import quote_server
from engrams.models.http_errors import add_words, status_error
from engrams.ports import Clock

_MAX_SECONDS = 86_400.0
"""Time that a thread can be told to wait; infinity is too much."""
_CHANGEABLE_FIELDS = CHANGEABLE_FIELDS - {RequestField.STREAM}
"""A client returns a stream as an object of its own."""


class CallableChatServer:
    """Chat server over a user's function (the port ``ChatServer``).

    It is called as ``function(messages: list[dict]) -> str`` with messages ``{"role": …, "content":
    …}``. JSON is asked for in the prompt.
    """

    def __init__(self, function: Callable[[list[dict[str, str]]], Any]) -> None:
        self._function = function

    @property
    def name(self) -> str:
        """Name of the function."""
        return str(getattr(self._function, "__name__", type(self._function).__name__))

    @property
    def address(self) -> str:
        """Nothing: a function may be another one tomorrow."""
        return ""

    @property
    def json_modes(self) -> tuple[JsonMode, ...]:
        """The prompt alone: a function takes messages and nothing else."""
        return (JsonMode.PROMPT,)

    def send(self, request: ChatServerRequest) -> ServerResult:
        """Call the function. ModelError: it failed, took too long, or returned no text."""
        messages = to_messages(request)
        result, problem = run_with_deadline(
            lambda: self._function(messages), request.seconds, self.name
        )
        if isinstance(problem, ModelError | BudgetError):
            raise problem
        if problem is not None:
            raise ModelError(f"The function {self.name} failed ({type(problem).__name__}).")
        if isinstance(result, str):
            return ChatServerReply(result, model=self.name)
        if inspect.iscoroutine(result):
            result.close()  # never awaited: Python would warn of it
        raise ModelError(
            f"The function {self.name} returned {type(result).__name__} instead of text.",
            hint="It must return the answer.",
            retryable=False,
        )

    def probe(self, seconds: float, form: RequestForm) -> ChatServerProbe:  # noqa: ARG002 - a function streams nothing and tells nothing
        """Tell nothing: a function has no parts to measure."""
        return ChatServerProbe()

    def close(self) -> None:
        """Do nothing: there is nothing to close."""


class OpenAIClientChatServer:
    """Chat server over a client with ``chat.completions.create``, such as ``openai.OpenAI()``.

    The port ``ChatServer``.
    """

    def __init__(self, client: Any, model: str, clock: Clock) -> None:
        self._create = client.chat.completions.create
        self._model = model
        self._clock = clock

    @property
    def name(self) -> str:
        """Name of the model."""
        return self._model

    @property
    def address(self) -> str:
        """Nothing: the client's own server is not known."""
        return ""

    @property
    def json_modes(self) -> tuple[JsonMode, ...]:
        """All modes: the servers behind clients differ in which they take."""
        return JSON_MODES

    def send(self, request: ChatServerRequest) -> ServerResult:
        """Ask through the client; see ``ChatServer.send``."""
        body = build_request(request, self._model)
        response, problem = run_with_deadline(
            lambda: self._create(**body, timeout=request.seconds), request.seconds, self.name
        )
        if problem is not None:
            return self._handle_error(request, problem)
        answer = _to_json(response)
        status = find_status(200, answer)
        if status != 200:
            return self._handle_failure(request, status, {}, json.dumps(answer).encode())
        return parse_reply(self.name, answer, {})

    def probe(self, seconds: float, form: RequestForm) -> ChatServerProbe:  # noqa: ARG002 - the client's own server is not known
        """Tell nothing: the client belongs to the user."""
        return ChatServerProbe()

    def close(self) -> None:
        """Do nothing: the client belongs to the user."""

    def _handle_error(self, request: ChatServerRequest, problem: Exception) -> ServerResult:
        """Return the refusal in a client's error, or raise it as a ModelError."""
        status = getattr(problem, "status_code", None)
        if not isinstance(status, int):
            raise ModelError(f"The client for {self.name} failed ({type(problem).__name__}).")
        response = getattr(problem, "response", None)
        content = getattr(response, "content", b"")
        headers = {
            str(name).lower(): str(value)
            for name, value in dict(getattr(response, "headers", {}) or {}).items()
        }
        body = content if isinstance(content, bytes) else b""
        return self._handle_failure(request, status, headers, body)

    def _handle_failure(
        self, request: ChatServerRequest, status: int, headers: Mapping[str, str], body: bytes
    ) -> ServerResult:
        """Return the refusal in a server's answer, or raise it as a ModelError."""
        words = quote_server(body, [message.content for message in request.messages])
        error = add_words(
            status_error(self.name, status, headers, _parse(body), self._clock), words
        )
        refusal = find_refusal(request, _CHANGEABLE_FIELDS, status, words, error)
        if refusal is None:
            raise error
        return refusal


def run_with_deadline(
    work: Callable[[], Any], seconds: float, name: str
) -> tuple[Any, Exception | None]:
    """Run a user's code in a thread with a time limit; return its result and its exception.

    ModelError: it took longer than ``seconds``. The code runs on, because a thread cannot be
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
    thread.join(min(seconds, _MAX_SECONDS))
    if not results:
        raise ModelError(
            f"{name} gave no answer within {seconds:.3g} seconds.",
            hint="Raise `chat.timeout_seconds`.",
        )
    return results[0]


def wrap_model(
    chat: Any, clock: Clock, model: str = ""
) -> CallableChatServer | OpenAIClientChatServer:
    """Wrap a user's function or OpenAI client as a chat server.

    ``model``: name of the model to ask a client for. SettingsError: it is neither a function nor a
    synchronous OpenAI client, or a client without a model's name.
    """
    create = getattr(getattr(getattr(chat, "chat", None), "completions", None), "create", None)
    if any(
        inspect.iscoroutinefunction(inspect.unwrap(function))
        for function in (create, chat)
        if callable(function)
    ):
        raise SettingsError(
            "The chat model is asynchronous.",
            hint="Give a synchronous function or client, such as openai.OpenAI().",
        )
    if callable(create):
        if not model:
            raise SettingsError("A client needs the name of a model.", hint="Set `chat.model`.")
        return OpenAIClientChatServer(chat, model, clock)
    if callable(chat):
        return CallableChatServer(chat)
    raise SettingsError(
        f"{type(chat).__name__} cannot be used as a chat model.",
        hint="Give a function, an OpenAI client, or an object with ask().",
    )


def _to_json(response: Any) -> Json:
    """Return a client's response, a pydantic model, as JSON values."""
    dump = getattr(response, "model_dump", None)
    return dump() if callable(dump) else response


def _parse(body: bytes) -> Json:
    """Parse the body of an error; None: it is no JSON."""
    try:
        return json.loads(body)
    except (ValueError, RecursionError):
        return None
