"""Chat servers that speak OpenAI's /v1/chat/completions, such as vLLM, LM Studio and gateways."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from engrams.core import Json
from engrams.errors import ModelError
from engrams.frozen_data import dataclass
from engrams.models.chat.port import (
    ChatServerProbe,
    ChatServerRefusal,
    ChatServerReply,
    ChatServerRequest,
    JsonMode,
    ServerResult,
)
from engrams.models.chat.wire import PROBE, find_context_tokens, to_messages
from engrams.models.http_client import HttpClient, HttpTimeouts, parse_address
from engrams.models.http_errors import mentions, status_error
from engrams.models.server_discovery import may_chat
from engrams.ports import Clock

DEFAULT_URL = "https://api.openai.com"
REFUSING_STATUSES = frozenset({400, 415, 422, 501})
"""Statuses by which servers refuse the form of a request."""
_TOOL = "answer"
"""Name of the tool, and of the schema, by which JSON is asked for."""


@dataclass(slots=True)
class ServerParameterSupport:
    """Parameters that a server takes; learned from its refusals, never unlearned."""

    limit: str = "max_tokens"
    """Name of the parameter that bounds the answer."""
    temperature: bool = True

    def learn(self, body: bytes) -> bool:
        """Note from a refusal that a parameter is not supported; False: it names none."""
        if self.limit == "max_tokens" and mentions(body, "max_completion_tokens"):
            self.limit = "max_completion_tokens"
            return True
        if self.temperature and mentions(body, "temperature") and mentions(body, "support"):
            self.temperature = False
            return True
        return False


class OpenAIChatServer:
    """One model on one server (the port ``ChatServer``)."""

    def __init__(
        self,
        model: str,
        clock: Clock,
        url: str = "",
        key: str = "",
        timeouts: HttpTimeouts | None = None,
    ) -> None:
        """Connect to a server; calls nothing.

        ``model``: empty: the one that is followed, or the first that the server lists and that
        chats. ``url``: with its version path (``http://localhost:8000/v1``); ``/v1`` is added where
        there is no path. SettingsError: it is no http(s) address.
        """
        base = parse_address(url or DEFAULT_URL)
        if "/" not in base.split("://", 1)[1]:
            base += "/v1"
        headers = {"authorization": f"Bearer {key.strip()}"} if key.strip() else {}
        self._client = HttpClient(base, headers, timeouts)
        self._model = model
        self._clock = clock
        self._support = ServerParameterSupport()
        self._found_model: str | None = None

    @property
    def name(self) -> str:
        """Name of the model; of the server, where the settings name none."""
        return self._model or self._client.host

    def send(self, request: ChatServerRequest) -> ServerResult:
        """Send one request; see ``ChatServer.send``."""
        model = self._model or self._find_model(request.seconds)
        response = self._client.post(
            "/chat/completions", build_request(request, model, self._support), request.seconds
        )
        if response.status == 200:
            return parse_reply(self.name, response.json(), self._clock)
        if response.status in REFUSING_STATUSES:
            refusal = parse_refusal(request, response.body, self._support)
            if refusal is not None:
                return refusal
        raise status_error(
            self.name, response.status, response.headers, response.json(), self._clock
        )

    def probe(self, seconds: float) -> ChatServerProbe:
        """Measure the model; see ``ChatServer.probe``."""
        body = build_request(PROBE, self._model, self._support) | {"stream": True}
        response = self._client.post("/chat/completions", body, seconds)
        facts = [entry for entry in self._list_models(seconds) if entry.get("id") == self._model]
        return ChatServerProbe(
            response.first_seconds if response.status == 200 else 0.0, find_context_tokens(facts)
        )

    def follow(self, model: str) -> None:
        """Ask this model from now on, where the settings name none."""
        self._found_model = model or self._found_model

    def close(self) -> None:
        """End running requests and close connections."""
        self._client.close()

    def _find_model(self, seconds: float) -> str:
        """Find the model followed, else the first that chats; empty: none."""
        if self._found_model is None:
            names = (str(entry.get("id", "")) for entry in self._list_models(seconds))
            self._found_model = next((name for name in names if may_chat(name)), "")
        return self._found_model

    def _list_models(self, seconds: float) -> Iterator[Mapping[str, Json]]:
        listing = self._client.get("/models", seconds).json()
        entries = listing.get("data") if isinstance(listing, Mapping) else None
        for entry in entries if isinstance(entries, list) else ():
            if isinstance(entry, Mapping):
                yield entry


def build_request(
    request: ChatServerRequest, model: str, support: ServerParameterSupport
) -> dict[str, Any]:
    """Build the body of /v1/chat/completions."""
    body: dict[str, Any] = {"messages": to_messages(request), support.limit: request.max_tokens}
    if model:
        body["model"] = model
    if request.temperature is not None and support.temperature:
        body["temperature"] = request.temperature
    schema = request.schema
    if schema is None or request.mode is JsonMode.PROMPT:
        return body
    if request.mode is JsonMode.TOOL:
        function = {"name": _TOOL, "description": "Give the answer.", "parameters": schema}
        body["tools"] = [{"type": "function", "function": function}]
        body["tool_choice"] = {"type": "function", "function": {"name": _TOOL}}
    else:
        named_schema = {"name": _TOOL, "schema": schema, "strict": is_strict(schema)}
        body["response_format"] = {"type": "json_schema", "json_schema": named_schema}
    return body


def is_strict(schema: Mapping[str, Json]) -> bool:
    """Return True where OpenAI's strict mode takes the schema.

    It demands of every object that all properties are required and no others allowed.
    """
    if isinstance(schema.get("properties"), Mapping) or schema.get("type") == "object":
        names = set(schema.get("properties", {}))
        if schema.get("additionalProperties") is not False:
            return False
        if set(schema.get("required", ())) != names:
            return False
    parts: list[Json] = [schema.get("items"), *schema.get("anyOf", ())]
    for group in ("properties", "$defs", "definitions"):
        parts.extend(dict(schema.get(group, {})).values())
    return all(is_strict(part) for part in parts if isinstance(part, Mapping))


def parse_refusal(
    request: ChatServerRequest, body: bytes, support: ServerParameterSupport
) -> ChatServerRefusal | None:
    """Find which JSON mode or parameter a server's error refuses; None: it speaks of neither."""
    if request.schema is not None:
        if request.mode is JsonMode.SCHEMA and mentions(
            body, "response_format", "schema", "structured", "grammar"
        ):
            return ChatServerRefusal(JsonMode.SCHEMA)
        if request.mode is JsonMode.TOOL and mentions(body, "tool", "function"):
            return ChatServerRefusal(JsonMode.TOOL)
    return ChatServerRefusal(None) if support.learn(body) else None


def parse_reply(name: str, body: Json, clock: Clock) -> ChatServerReply:
    """Parse a response body. ModelError: it holds no answer."""
    if not isinstance(body, Mapping):
        raise ModelError(
            f"{name} answered with something that is not JSON.",
            hint="Is `chat.url` the address of its API?",
        )
    choices = body.get("choices")
    choice = choices[0] if isinstance(choices, list) and choices else None
    message = choice.get("message") if isinstance(choice, Mapping) else None
    if not isinstance(choice, Mapping) or not isinstance(message, Mapping):
        error = body.get("error")
        if isinstance(error, Mapping):
            # Gateways report their upstream's failure under status 200, with the real status as the
            # code.
            code = error.get("code")
            status = code if isinstance(code, int) and 400 <= code < 600 else 502
            raise status_error(name, status, {}, body, clock)
        raise ModelError(
            f"{name} answered without a message.",
            hint="Is `chat.url` the address of an OpenAI-compatible API?",
        )
    usage = body.get("usage")
    tokens = usage.get("total_tokens") if isinstance(usage, Mapping) else 0
    return ChatServerReply(
        text=_find_tool_arguments(message) or _join_content(message.get("content")),
        tokens=tokens if isinstance(tokens, int) and tokens > 0 else 0,
        model=str(body.get("model") or name),
        cut=choice.get("finish_reason") == "length",
    )


def _join_content(content: Json) -> str:
    if isinstance(content, list):
        return "".join(str(part.get("text", "")) for part in content if isinstance(part, Mapping))
    return content if isinstance(content, str) else ""


def _find_tool_arguments(message: Mapping[str, Json]) -> str:
    """Return the arguments of the first tool call, which are the answer; empty: there is none."""
    calls = message.get("tool_calls")
    call = calls[0] if isinstance(calls, list) and calls else None
    function = call.get("function") if isinstance(call, Mapping) else None
    arguments = function.get("arguments") if isinstance(function, Mapping) else None
    return arguments if isinstance(arguments, str) else ""
