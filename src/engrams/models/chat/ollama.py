"""Ask Ollama's /api/chat, which takes a JSON schema as ``format``."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from engrams.core import Json
from engrams.errors import ModelError
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
from engrams.models.chat.usage_meter import estimate_tokens
from engrams.models.http_client import HttpClient, HttpTimeouts, parse_address
from engrams.models.retry import status_error
from engrams.ports import Clock

DEFAULT_URL = "http://localhost:11434"
_WINDOW = 4096
_LARGEST_WINDOW = 131_072


class OllamaChatServer:
    """One model on one Ollama server."""

    def __init__(
        self,
        model: str,
        clock: Clock,
        url: str = "",
        key: str = "",
        waits: HttpTimeouts | None = None,
    ) -> None:
        """Connect to the root of a server; calls nothing.

        SettingsError: ``url`` is no http(s) address.
        """
        base = parse_address(url or DEFAULT_URL).removesuffix("/v1").removesuffix("/api")
        self._client = HttpClient(
            base, {"authorization": f"Bearer {key.strip()}"} if key.strip() else {}, waits
        )
        self._model = model
        self._clock = clock
        self._thinks = True

    @property
    def name(self) -> str:
        return self._model

    def send(self, call: ChatServerRequest) -> ServerResult:
        response = self._client.post("/api/chat", self._request(call), call.seconds)
        if response.status == 200:
            return _parse_reply(self._model, response.json())
        if response.status in (400, 501):
            if (
                call.schema is not None
                and call.mode is JsonMode.SCHEMA
                and mentions(response.body, "format", "schema", "grammar")
            ):
                return ChatServerRefusal(JsonMode.SCHEMA)
            if (
                call.schema is not None
                and call.mode is JsonMode.TOOL
                and mentions(response.body, "tool")
            ):
                return ChatServerRefusal(JsonMode.TOOL)
            if self._thinks and mentions(response.body, "think"):
                self._thinks = False
                return ChatServerRefusal(None)
        raise status_error(
            self._model, response.status, response.headers, response.json(), self._clock
        )

    def probe(self, seconds: float) -> ChatServerProbe:
        response = self._client.post("/api/chat", self._request(PROBE) | {"stream": True}, seconds)
        told = self._client.post("/api/show", {"model": self._model}, seconds).json()
        facts = told.get("model_info") if isinstance(told, Mapping) else None
        return ChatServerProbe(
            response.first_seconds if response.status == 200 else 0.0, find_context(facts)
        )

    def close(self) -> None:
        self._client.close()

    def _request(self, call: ChatServerRequest) -> dict[str, Any]:
        options: dict[str, Any] = {"num_predict": call.max_tokens}
        if call.temperature is not None:
            options["temperature"] = call.temperature
        window = (
            sum(estimate_tokens(message.content) for message in call.messages) + call.max_tokens
        )
        if window > _WINDOW:
            # The server cuts a longer prompt without a word. Powers of two, because it reloads the
            # model at each change.
            options["num_ctx"] = min(1 << (window - 1).bit_length(), _LARGEST_WINDOW)
        body: dict[str, Any] = {
            "model": self._model,
            "messages": to_messages(call),
            "stream": False,
            "options": options,
        }
        if self._thinks:
            body["think"] = False
        if call.schema is not None and call.mode is JsonMode.SCHEMA:
            body["format"] = call.schema
        elif call.schema is not None and call.mode is JsonMode.TOOL:
            function = {
                "name": "answer",
                "description": "Give the answer.",
                "parameters": call.schema,
            }
            body["tools"] = [{"type": "function", "function": function}]
        return body


def _parse_reply(name: str, body: Json) -> ChatServerReply:
    message = body.get("message") if isinstance(body, Mapping) else None
    if not isinstance(message, Mapping):
        raise ModelError(
            f"{name} answered without a message.",
            hint="Is `chat.url` the address of an Ollama server?",
        )
    calls = message.get("tool_calls")
    call = calls[0] if isinstance(calls, list) and calls else None
    function = call.get("function") if isinstance(call, Mapping) else None
    arguments = function.get("arguments") if isinstance(function, Mapping) else None
    counts = [body.get(part) for part in ("prompt_eval_count", "eval_count")]
    return ChatServerReply(
        text=json.dumps(arguments)
        if isinstance(arguments, Mapping)
        else str(message.get("content") or ""),
        tokens=sum(count for count in counts if isinstance(count, int)),
        model=str(body.get("model") or name),
        cut=body.get("done_reason") == "length",
    )
