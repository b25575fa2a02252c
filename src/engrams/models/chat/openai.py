"""Chat servers that speak OpenAI's /v1/chat/completions, such as vLLM, LM Studio and gateways."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
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
from engrams.models.chat.wire import (
    PROBE,
    find_context_tokens,
    join_server_version,
    to_messages,
)
from engrams.models.error_quotes import quote_server
from engrams.models.http_client import HttpClient, HttpTimeouts, parse_address
from engrams.models.http_errors import add_words, status_error
from engrams.models.server_discovery import may_chat
from engrams.ports import Clock

DEFAULT_URL = "https://api.openai.com"
JSON_MODES = tuple(JsonMode)
CHANGEABLE_FIELDS = frozenset(RequestField) - {RequestField.THINK}
_TOOL = "answer"
"""Name of the tool, and of the schema, by which JSON is asked for."""


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
        self._key = key.strip()
        headers = {"authorization": f"Bearer {self._key}"} if self._key else {}
        self._client = HttpClient(base, headers, timeouts)
        self._model = model
        self._clock = clock
        self._found_model: str | None = None

    @property
    def name(self) -> str:
        """Name of the model; of the server, where the settings name none."""
        return self._model or self._client.host

    @property
    def address(self) -> str:
        """Address of the server, and the model that the settings name."""
        return f"{self._client.url} {self._model}"

    @property
    def json_modes(self) -> tuple[JsonMode, ...]:
        """All modes: servers of this protocol differ in which they take."""
        return JSON_MODES

    def send(self, request: ChatServerRequest) -> ServerResult:
        """Send one request; see ``ChatServer.send``."""
        model = self._model or self._find_model(request.seconds)
        response = self._client.post(
            "/chat/completions", build_request(request, model), request.seconds
        )
        body = response.json()
        if response.status == 200 and request.form.stream:
            body = join_stream(response.body)
        status = find_status(response.status, body)
        if status == 200:
            return parse_reply(self.name, body, response.headers)
        texts = [message.content for message in request.messages]
        words = quote_server(response.body, texts, self._key)
        error = add_words(
            status_error(self.name, status, response.headers, body, self._clock), words
        )
        refusal = find_refusal(request, CHANGEABLE_FIELDS, status, words, error)
        if refusal is None:
            raise error
        return refusal

    def probe(self, seconds: float, form: RequestForm) -> ChatServerProbe:
        """Measure the model; see ``ChatServer.probe``."""
        body = build_request(replace(PROBE, form=form), self._model) | {"stream": True}
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


def build_request(request: ChatServerRequest, model: str) -> dict[str, Any]:
    """Build the body of /v1/chat/completions."""
    form = request.form
    body: dict[str, Any] = {"messages": to_messages(request)}
    if form.limit:
        body[str(form.limit)] = request.max_tokens
    if model:
        body["model"] = model
    if request.temperature is not None and form.temperature:
        body["temperature"] = request.temperature
    if form.stream:
        body["stream"] = True
    if request.schema is not None:
        body |= _build_json_demand(request.schema, form.json_mode)
    return body


def _build_json_demand(schema: Mapping[str, Json], mode: JsonMode) -> dict[str, Any]:
    """Build the fields that ask for JSON."""
    match mode:
        case JsonMode.SCHEMA:
            named_schema = {"name": _TOOL, "schema": schema, "strict": is_strict(schema)}
            return {"response_format": {"type": "json_schema", "json_schema": named_schema}}
        case JsonMode.OBJECT_SCHEMA:
            return {"response_format": {"type": "json_object", "schema": schema}}
        case JsonMode.TOOL:
            function = {"name": _TOOL, "description": "Give the answer.", "parameters": schema}
            return {
                "tools": [{"type": "function", "function": function}],
                "tool_choice": {"type": "function", "function": {"name": _TOOL}},
            }
        case JsonMode.OBJECT:
            return {"response_format": {"type": "json_object"}}
        case JsonMode.PROMPT:
            return {}


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


def find_status(status: int, body: Json) -> int:
    """Return the status of an answer.

    Gateways report their upstream's failure under status 200, with the real status as the code.
    """
    if status != 200 or not isinstance(body, Mapping) or body.get("choices"):
        return status
    error = body.get("error")
    if not isinstance(error, Mapping):
        return status
    code = error.get("code")
    return code if isinstance(code, int) and 400 <= code < 600 else 502


def parse_reply(name: str, body: Json, headers: Mapping[str, str]) -> ChatServerReply:
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
        version=join_server_version(headers, body),
    )


def join_stream(stream: bytes) -> Json:
    """Join the events of a streamed answer into the body of a whole one; None: it holds none."""
    body: dict[str, Any] = {}
    content = ""
    arguments = ""
    finish_reason = ""
    for line in stream.decode("utf-8", "replace").splitlines():
        event = _parse_event(line)
        if event is None:
            continue
        # An event may carry an error in place of an answer.
        body |= {key: value for key, value in event.items() if key != "choices" and value}
        choices = event.get("choices")
        choice = choices[0] if isinstance(choices, list) and choices else None
        if not isinstance(choice, Mapping):
            continue
        delta = choice.get("delta")
        if isinstance(delta, Mapping):
            content += _join_content(delta.get("content"))
            arguments += _find_tool_arguments(delta)
        finish_reason = str(choice.get("finish_reason") or finish_reason)
    if not body:
        return None
    if "error" in body:
        return body
    message: dict[str, Any] = {"content": content}
    if arguments:
        message["tool_calls"] = [{"function": {"arguments": arguments}}]
    return body | {"choices": [{"message": message, "finish_reason": finish_reason}]}


def _parse_event(line: str) -> Mapping[str, Json] | None:
    """Parse one line of a stream; None: it is no event with data."""
    if not line.startswith("data:"):
        return None
    try:
        event = json.loads(line.removeprefix("data:"))
    except (ValueError, RecursionError):
        return None
    return event if isinstance(event, Mapping) else None


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
