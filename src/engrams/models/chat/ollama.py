"""Chat through Ollama's /api/chat, which takes a JSON schema as ``format``."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from engrams.core import Json
from engrams.errors import ModelError
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
from engrams.models.chat.usage import estimate_tokens
from engrams.models.chat.wire import PROBE, find_context_tokens, to_messages
from engrams.models.error_quotes import quote_server
from engrams.models.http_client import HttpClient, HttpTimeouts, parse_address
from engrams.models.http_errors import add_words, status_error
from engrams.ports import Clock

DEFAULT_URL = "http://localhost:11434"
_DEFAULT_CONTEXT = 4096
"""Tokens of a prompt and its answer that every Ollama takes."""
_MAX_CONTEXT = 131_072
_JSON_MODES = (JsonMode.SCHEMA, JsonMode.TOOL, JsonMode.OBJECT, JsonMode.PROMPT)
_CHANGEABLE_FIELDS = frozenset({RequestField.JSON, RequestField.SYSTEM, RequestField.THINK})


class OllamaChatServer:
    """One model on one Ollama server (the port ``ChatServer``)."""

    def __init__(
        self,
        model: str,
        clock: Clock,
        url: str = "",
        key: str = "",
        timeouts: HttpTimeouts | None = None,
    ) -> None:
        """Connect to the root of a server; calls nothing.

        SettingsError: ``url`` is no http(s) address.
        """
        base = parse_address(url or DEFAULT_URL).removesuffix("/v1").removesuffix("/api")
        self._key = key.strip()
        headers = {"authorization": f"Bearer {self._key}"} if self._key else {}
        self._client = HttpClient(base, headers, timeouts)
        self._model = model
        self._clock = clock

    @property
    def name(self) -> str:
        """Name of the model."""
        return self._model

    @property
    def address(self) -> str:
        """Address of the server, and the model."""
        return f"{self._client.url} {self._model}"

    @property
    def json_modes(self) -> tuple[JsonMode, ...]:
        """``format`` with a schema, tools, ``format: json``, and the prompt."""
        return _JSON_MODES

    def send(self, request: ChatServerRequest) -> ServerResult:
        """Send one request; see ``ChatServer.send``."""
        response = self._client.post("/api/chat", self._build_body(request), request.seconds)
        body = response.json()
        if response.status == 200:
            return _parse_reply(self._model, body)
        texts = [message.content for message in request.messages]
        words = quote_server(response.body, texts, self._key)
        error = add_words(
            status_error(self._model, response.status, response.headers, body, self._clock), words
        )
        refusal = find_refusal(request, _CHANGEABLE_FIELDS, response.status, words, error)
        if refusal is None:
            raise error
        return refusal

    def probe(self, seconds: float, form: RequestForm) -> ChatServerProbe:
        """Measure the model; see ``ChatServer.probe``."""
        body = self._build_body(replace(PROBE, form=form)) | {"stream": True}
        response = self._client.post("/api/chat", body, seconds)
        description = self._client.post("/api/show", {"model": self._model}, seconds).json()
        facts = description.get("model_info") if isinstance(description, Mapping) else None
        return ChatServerProbe(
            response.first_seconds if response.status == 200 else 0.0, find_context_tokens(facts)
        )

    def close(self) -> None:
        """End running requests and close connections."""
        self._client.close()

    def _build_body(self, request: ChatServerRequest) -> dict[str, Any]:
        options: dict[str, Any] = {"num_predict": request.max_tokens}
        if request.temperature is not None:
            options["temperature"] = request.temperature
        prompt_tokens = sum(estimate_tokens(message.content) for message in request.messages)
        needed_tokens = prompt_tokens + request.max_tokens
        if needed_tokens > _DEFAULT_CONTEXT:
            # The server cuts a longer prompt without a word. Powers of two, because it reloads the
            # model at each change.
            options["num_ctx"] = min(1 << (needed_tokens - 1).bit_length(), _MAX_CONTEXT)
        body: dict[str, Any] = {
            "model": self._model,
            "messages": to_messages(request),
            "stream": False,
            "options": options,
        }
        if request.form.think:
            body["think"] = False
        if request.schema is not None:
            body |= _build_json_demand(request.schema, request.form.json_mode)
        return body


def _build_json_demand(schema: Mapping[str, Json], mode: JsonMode) -> dict[str, Any]:
    """Build the fields that ask for JSON."""
    match mode:
        case JsonMode.SCHEMA:
            return {"format": schema}
        case JsonMode.TOOL:
            function = {"name": "answer", "description": "Give the answer.", "parameters": schema}
            return {"tools": [{"type": "function", "function": function}]}
        case JsonMode.OBJECT | JsonMode.OBJECT_SCHEMA:
            return {"format": "json"}
        case JsonMode.PROMPT:
            return {}


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
    if isinstance(arguments, Mapping):
        text = json.dumps(arguments)
    else:
        text = str(message.get("content") or "")
    counts = [body.get(field) for field in ("prompt_eval_count", "eval_count")]
    return ChatServerReply(
        text=text,
        tokens=sum(count for count in counts if isinstance(count, int)),
        model=str(body.get("model") or name),
        cut=body.get("done_reason") == "length",
    )
