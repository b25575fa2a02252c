"""Ask servers that speak OpenAI's /v1/chat/completions, such as vLLM."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from engrams.core import Json
from engrams.errors import ModelError
from engrams.frozen_data import dataclass
from engrams.models.chat.port import (
    PROBE,
    ChatServerProbe,
    ChatServerRefusal,
    ChatServerReply,
    ChatServerRequest,
    JsonMode,
    ServerResult,
    find_context,
    mentions,
    to_messages,
)
from engrams.models.chat.schema_check import is_strict
from engrams.models.http_client import HttpClient, HttpTimeouts, parse_address
from engrams.models.retry import status_error
from engrams.models.server_discovery import may_chat
from engrams.ports import Clock

DEFAULT_URL = "https://api.openai.com"
_REFUSALS = {400, 415, 422, 501}
TOOL = "answer"


@dataclass(slots=True)
class ServerParameterSupport:
    """Parameters that a server takes; learned from its refusals, never unlearned."""

    limit: str = "max_tokens"
    temperature: bool = True

    def learn(self, body: bytes) -> bool:
        """Note from a refusal that a parameter is not supported."""
        if self.limit == "max_tokens" and mentions(body, "max_completion_tokens"):
            self.limit = "max_completion_tokens"
            return True
        if self.temperature and mentions(body, "temperature") and mentions(body, "support"):
            self.temperature = False
            return True
        return False


class OpenAIChatServer:
    """One model on one server."""

    def __init__(
        self,
        model: str,
        clock: Clock,
        url: str = "",
        key: str = "",
        waits: HttpTimeouts | None = None,
    ) -> None:
        """Connect to a server; calls nothing.

        ``url``: with its version path (``http://localhost:8000/v1``); ``/v1`` is added where there
        is no path. SettingsError: it is no http(s) address.
        """
        base = parse_address(url or DEFAULT_URL)
        if "/" not in base.split("://", 1)[1]:
            base += "/v1"
        self._client = HttpClient(
            base, {"authorization": f"Bearer {key.strip()}"} if key.strip() else {}, waits
        )
        self._model = model
        self._clock = clock
        self._dialect = ServerParameterSupport()
        self._found: str | None = None

    @property
    def name(self) -> str:
        return self._model or self._client.host

    def send(self, call: ChatServerRequest) -> ServerResult:
        model = self._model or self._find_model(call.seconds)
        response = self._client.post(
            "/chat/completions", build_request(call, model, self._dialect), call.seconds
        )
        if response.status == 200:
            return parse_reply(self.name, response.json(), self._clock)
        if response.status in _REFUSALS:
            refused = parse_refusal(call, response.body, self._dialect)
            if refused is not None:
                return refused
        raise status_error(
            self.name, response.status, response.headers, response.json(), self._clock
        )

    def probe(self, seconds: float) -> ChatServerProbe:
        body = build_request(PROBE, self._model, self._dialect) | {"stream": True}
        response = self._client.post("/chat/completions", body, seconds)
        listed = self._client.get("/models", seconds).json()
        models = listed.get("data") if isinstance(listed, Mapping) else None
        own = (
            [one for one in models if isinstance(one, Mapping) and one.get("id") == self._model]
            if isinstance(models, list)
            else []
        )
        return ChatServerProbe(
            response.first_seconds if response.status == 200 else 0.0, find_context(own)
        )

    def _find_model(self, seconds: float) -> str:
        """Find the model followed, else the first that chats; empty: none."""
        if self._found is None:
            listed = self._client.get("/models", seconds).json()
            models = listed.get("data") if isinstance(listed, Mapping) else None
            names = (
                [str(one.get("id", "")) for one in models if isinstance(one, Mapping)]
                if isinstance(models, list)
                else []
            )
            self._found = next((name for name in names if may_chat(name)), "")
        return self._found

    def follow(self, model: str) -> None:
        """Ask this model from now on, where the settings name none."""
        self._found = model or self._found

    def close(self) -> None:
        self._client.close()


def build_request(
    call: ChatServerRequest, model: str, dialect: ServerParameterSupport
) -> dict[str, Any]:
    """Build the body of /v1/chat/completions."""
    body: dict[str, Any] = {
        "messages": to_messages(call),
        dialect.limit: call.max_tokens,
    }
    if model:
        body["model"] = model
    if call.temperature is not None and dialect.temperature:
        body["temperature"] = call.temperature
    if call.schema is None or call.mode is JsonMode.PROMPT:
        return body
    if call.mode is JsonMode.TOOL:
        function = {"name": TOOL, "description": "Give the answer.", "parameters": call.schema}
        body["tools"] = [{"type": "function", "function": function}]
        body["tool_choice"] = {"type": "function", "function": {"name": TOOL}}
    else:
        form = {"name": TOOL, "schema": call.schema, "strict": is_strict(call.schema)}
        body["response_format"] = {"type": "json_schema", "json_schema": form}
    return body


def parse_refusal(
    call: ChatServerRequest, body: bytes, dialect: ServerParameterSupport
) -> ChatServerRefusal | None:
    """Find which JSON mode or parameter a server's error refuses."""
    if (
        call.schema is not None
        and call.mode is JsonMode.SCHEMA
        and mentions(body, "response_format", "schema", "structured", "grammar")
    ):
        return ChatServerRefusal(JsonMode.SCHEMA)
    if (
        call.schema is not None
        and call.mode is JsonMode.TOOL
        and mentions(body, "tool", "function")
    ):
        return ChatServerRefusal(JsonMode.TOOL)
    return ChatServerRefusal(None) if dialect.learn(body) else None


def parse_reply(name: str, body: Json, clock: Clock) -> ChatServerReply:
    """Parse a response body. ModelError: it holds no answer."""
    if not isinstance(body, Mapping):
        raise ModelError(
            f"{name} answered with something that is not JSON.",
            hint="Is `chat.url` the address of its API?",
        )
    choices = body.get("choices")
    first = choices[0] if isinstance(choices, list) and choices else None
    message = first.get("message") if isinstance(first, Mapping) else None
    if not isinstance(first, Mapping) or not isinstance(message, Mapping):
        error = body.get("error")
        if isinstance(error, Mapping):
            # Gateways report their upstream's failure under status 200, with the real status as the
            # code.
            code = error.get("code")
            raise status_error(
                name, code if isinstance(code, int) and 400 <= code < 600 else 502, {}, body, clock
            )
        raise ModelError(
            f"{name} answered without a message.",
            hint="Is `chat.url` the address of an OpenAI-compatible API?",
        )
    usage = body.get("usage")
    tokens = usage.get("total_tokens") if isinstance(usage, Mapping) else 0
    return ChatServerReply(
        text=_tool_arguments(message) or _join_content(message.get("content")),
        tokens=tokens if isinstance(tokens, int) and tokens > 0 else 0,
        model=str(body.get("model") or name),
        cut=first.get("finish_reason") == "length",
    )


def _join_content(content: Json) -> str:
    if isinstance(content, list):
        return "".join(str(part.get("text", "")) for part in content if isinstance(part, Mapping))
    return content if isinstance(content, str) else ""


def _tool_arguments(message: Mapping[str, Json]) -> str:
    calls = message.get("tool_calls")
    call = calls[0] if isinstance(calls, list) and calls else None
    function = call.get("function") if isinstance(call, Mapping) else None
    arguments = function.get("arguments") if isinstance(function, Mapping) else None
    return arguments if isinstance(arguments, str) else ""
