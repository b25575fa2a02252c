"""Requests, replies and faults of a scripted model, and sample answers."""

from __future__ import annotations

import json
import re
import threading
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from engrams.core import Json
from engrams.errors import InputError

Route: TypeAlias = Literal[
    "chat",
    "responses",
    "messages",
    "tokens",
    "ollama",
    "embeddings",
    "embed",
    "rerank",
    "decisions",
    "transcriptions",
    "models",
    "tags",
    "other",
]

_CONTENT_FAULTS = (
    "bad_json",
    "sloppy",
    "fenced",
    "prose",
    "thinking",
    "truncated",
    "wrong_ids",
    "empty",
    "deletes_only",
)
_TRANSPORT_FAULTS = ("html", "hang", "reset", "disconnect", "slow", "error")


Answers: TypeAlias = "str | dict[str, Any] | list[Any] | ScriptedReply"


_ACTIONS = ("action", "verdict", "event", "operation", "op", "decision")
_REMOVALS = ("remove", "delete", "drop", "discard")
_NOBODYS = 999_999
_DEEPEST = 16


@dataclass(frozen=True, slots=True)
class ScriptedFault:
    """Fault that a scripted model makes: status, delay, broken answer.

    In the content: ``bad_json`` (hopeless), ``sloppy`` (single quotes, trailing commas),
    ``fenced``, ``prose`` (around it), ``thinking`` (a <think> block with JSON of its own before
    it), ``truncated``, ``wrong_ids`` (unknown ids), ``empty``, ``deletes_only`` (every decision
    becomes a removal). In the transport: ``http_<status>`` (``http_429`` with Retry-After:
    ``seconds``), ``html`` (200, not JSON), ``hang`` (answers after ``seconds``; 0: never, but ends
    when the server closes), ``reset`` (the connection is cut before an answer), ``disconnect`` (in
    the middle of it), ``slow`` (``seconds`` between pieces), ``error`` (an error object in the
    middle of a stream, or instead of the answer). For a closed port see ``ScriptedModel.down``.
    """

    kind: str
    seconds: float = 0.0

    def __post_init__(self) -> None:
        if self.kind not in (*_CONTENT_FAULTS, *_TRANSPORT_FAULTS) and not re.fullmatch(
            r"http_[3-5]\d\d", self.kind
        ):
            raise InputError(
                f"There is no fault {self.kind!r}.",
                hint=(
                    f"There are {', '.join(_CONTENT_FAULTS + _TRANSPORT_FAULTS)} and http_<status>."
                ),
            )

    @property
    def status(self) -> int:
        """Return the HTTP status of the fault; 0 for other kinds."""
        return int(self.kind[5:]) if self.kind.startswith("http_") else 0

    @property
    def in_content(self) -> bool:
        return self.kind in _CONTENT_FAULTS


@dataclass(frozen=True, slots=True)
class ScriptedToolCall:
    """Hold a tool call with JSON or text as its arguments."""

    name: str
    arguments: Json


@dataclass(frozen=True, slots=True)
class ScriptedReply:
    """Full answer of the scripted model."""

    text: str = ""
    tools: tuple[ScriptedToolCall, ...] = ()
    usage: tuple[int, int] | None = None
    """Tokens of prompt and answer. None: their words are counted."""
    finish: str = ""
    """Reason why the answer ends. Empty: the usual one."""


@dataclass(frozen=True, slots=True)
class ReceivedModelRequest:
    """Request that the scripted model received."""

    route: Route
    method: str
    path: str
    headers: Mapping[str, str]
    """Name in lower case -> value."""
    body: Mapping[str, Json]
    """Empty if the body was no JSON object. Of a form: its fields."""
    file: bytes = b""
    """File of a form."""

    @property
    def messages(self) -> tuple[tuple[str, str], ...]:
        """Return (role, text) of each message, with instructions and input."""
        parts: list[Json] = list(self.body.get("messages") or [])
        if order := self.body.get("instructions") or self.body.get("system"):
            parts.insert(0, {"role": "system", "content": order})
        inputs = self.body.get("input") if self.route == "responses" else None
        parts += (
            [{"role": "user", "content": inputs}] if isinstance(inputs, str) else list(inputs or [])
        )
        return tuple(
            (str(part.get("role", "")), _content_text(part.get("content")))
            for part in parts
            if isinstance(part, Mapping)
        )

    @property
    def text(self) -> str:
        """Return the last user message."""
        return next((text for role, text in reversed(self.messages) if role == "user"), "")

    @property
    def prompt(self) -> str:
        """Join all messages."""
        return "\n".join(text for _, text in self.messages)

    @property
    def images(self) -> tuple[str, ...]:
        """Return the addresses of the pictures in all messages."""
        contents = [
            message.get("content")
            for message in self.body.get("messages") or []
            if isinstance(message, Mapping)
        ]
        return tuple(
            str((part.get("image_url") or {}).get("url", ""))
            for content in contents
            if isinstance(content, list)
            for part in content
            if isinstance(part, Mapping) and part.get("type") == "image_url"
        )

    @property
    def model(self) -> str:
        return str(self.body.get("model") or "scripted")

    @property
    def stream(self) -> bool:
        return bool(self.body.get("stream", self.route == "ollama"))

    @property
    def tool(self) -> str:
        """Return the tool that must be called; empty without one."""
        choice = self.body.get("tool_choice")
        if isinstance(choice, Mapping) and choice.get("type") not in ("any", "auto"):
            return str(choice.get("name") or (choice.get("function") or {}).get("name") or "")
        tools = self._tools()
        forced = choice in ("required", {"type": "any"}) or (
            self.route == "ollama" and not self.body.get("format")
        )
        return str(tools[0].get("name", "")) if tools and forced else ""

    @property
    def schema(self) -> Mapping[str, Json] | None:
        """Return the JSON schema of the answer; None: free text."""
        form = self.body.get("response_format") or (
            self.body.get("text") or {} if self.route == "responses" else {}
        ).get("format")
        if isinstance(form, Mapping):
            answer_schema = form.get("schema") or (form.get("json_schema") or {}).get("schema")
            return answer_schema if isinstance(answer_schema, Mapping) else {"type": "object"}
        if isinstance(self.body.get("format"), Mapping):
            schema_of_format: Mapping[str, Json] = self.body["format"]
            return schema_of_format
        if self.body.get("format") == "json":
            return {"type": "object"}
        for tool in self._tools():
            parameters = tool.get("parameters") or tool.get("input_schema")
            if tool.get("name") == self.tool and isinstance(parameters, Mapping):
                return parameters
        return None

    def _tools(self) -> list[Mapping[str, Json]]:
        tools = [tool for tool in self.body.get("tools") or [] if isinstance(tool, Mapping)]
        return [
            tool["function"] if isinstance(tool.get("function"), Mapping) else tool
            for tool in tools
        ]


Answering: TypeAlias = Callable[[ReceivedModelRequest], Answers]


class ScriptedAnswerChooser:
    """Choose the next answer: queue, then rules, then callable, then echo."""

    def __init__(self, answer: Answering | None = None) -> None:
        self._lock = threading.Lock()
        self._queue: deque[Answers] = deque()
        self._rules: list[tuple[re.Pattern[str], Answers | Answering]] = []
        self._faults: deque[tuple[ScriptedFault, str, re.Pattern[str]]] = deque()
        self._answer = answer

    def say(self, *answers: Answers) -> None:
        with self._lock:
            self._queue.extend(answers)

    def when(self, pattern: str, answer: Answers | Answering) -> None:
        with self._lock:
            self._rules.append((re.compile(pattern, re.DOTALL), answer))

    def fail(self, fault: ScriptedFault, times: int, only: str, when: str) -> None:
        with self._lock:
            self._faults.extend([(fault, only, re.compile(when, re.DOTALL))] * times)

    def heal(self) -> None:
        """Drop the queued faults."""
        with self._lock:
            self._faults.clear()

    def take_fault(self, request: ReceivedModelRequest) -> ScriptedFault | None:
        """Take the next fault for this request off the queue."""
        with self._lock:
            for entry in self._faults:
                if entry[1] in ("", request.route) and entry[2].search(request.prompt):
                    self._faults.remove(entry)
                    return entry[0]
            return None

    def find_reply(self, request: ReceivedModelRequest) -> ScriptedReply:
        """Return the reply to a request; JSON becomes its tool call."""
        answer = self._find_answer(request)
        if isinstance(answer, ScriptedReply):
            return answer
        if request.tool:
            return ScriptedReply(tools=(ScriptedToolCall(request.tool, answer),))
        return ScriptedReply(answer if isinstance(answer, str) else to_json(answer))

    def _find_answer(self, request: ReceivedModelRequest) -> Answers:
        with self._lock:
            if self._queue:
                return self._queue.popleft()
            rule = next(
                (answer for pattern, answer in self._rules if pattern.search(request.prompt)),
                self._answer,
            )
        if rule is not None:
            return rule(request) if callable(rule) else rule
        if request.schema is not None:
            answer: Answers = sample_value(request.schema, request.text)
            return answer
        return f"echo: {request.text}"


@dataclass(frozen=True, slots=True)
class ScriptedExchange:
    """A reply with its request, and the number that its ids are made of."""

    request: ReceivedModelRequest
    reply: ScriptedReply
    number: int

    @property
    def usage(self) -> tuple[int, int]:
        if self.reply.usage is not None:
            return self.reply.usage
        answer = " ".join(
            [self.reply.text, *(arguments_text(tool.arguments) for tool in self.reply.tools)]
        )
        return len(self.request.prompt.split()), len(answer.split())

    @property
    def finish(self) -> str:
        return self.reply.finish or ("tool_calls" if self.reply.tools else "stop")


def arguments_text(arguments: Json) -> str:
    """Return a tool's arguments as text."""
    return arguments if isinstance(arguments, str) else to_json(arguments)


def split_words(text: str) -> list[str]:
    """Split a text into the pieces of a stream."""
    return re.findall(r"\S+\s*|\s+", text)


def to_json(data: Json) -> str:
    """Write JSON as models do."""
    import json

    return json.dumps(data, ensure_ascii=False)


def _content_text(content: Json) -> str:
    if isinstance(content, list):
        return "".join(str(part.get("text") or "") for part in content if isinstance(part, Mapping))
    return content if isinstance(content, str) else ""


def sample_value(schema: Mapping[str, Json], text: str = "") -> Any:
    """Build a deterministic value that satisfies a schema.

    Required properties, first alternatives, least numbers; strings hold ``text``.
    """
    return _build_sample(schema, text, schema, 0)


def _build_sample(schema: Json, text: str, root: Mapping[str, Json], depth: int) -> Any:
    if not isinstance(schema, Mapping) or depth > _DEEPEST:
        return None
    if "$ref" in schema:
        node: Json = root
        for name in str(schema["$ref"]).split("/")[1:]:
            node = node[name]
        return _build_sample(node, text, root, depth + 1)
    for word in ("const", "default"):
        if word in schema:
            return schema[word]
    for word in ("enum", "anyOf", "oneOf"):
        if schema.get(word):
            first = schema[word][0]
            return first if word == "enum" else _build_sample(first, text, root, depth + 1)
    return _sample_by_type(schema, text, root, depth)


def _sample_by_type(
    schema: Mapping[str, Json], text: str, root: Mapping[str, Json], depth: int
) -> Any:
    kind = schema.get("type", "object" if "properties" in schema else "string")
    match kind[0] if isinstance(kind, list) else kind:
        case "object":
            properties = schema.get("properties", {})
            return {
                name: _build_sample(properties.get(name, {}), text, root, depth + 1)
                for name in schema.get("required", ())
            }
        case "array":
            return [
                _build_sample(schema.get("items", {}), text, root, depth + 1)
                for _ in range(schema.get("minItems", 0))
            ]
        case "integer" | "number":
            return schema.get("minimum", min(0, schema.get("maximum", 0)))
        case "boolean":
            return False
        case "null":
            return None
        case _:
            return (text or "text")[: schema.get("maxLength", 200)].ljust(
                schema.get("minLength", 0), "."
            )


def spoil_text(text: str, kind: str, schema: Mapping[str, Json] | None) -> str:
    """Apply a fault to the answer; non-JSON is spoiled as text."""
    match kind:
        case "bad_json":
            return "Certainly { the answer would be :: [ as I said, } but"
        case "sloppy":
            return _write_sloppy(text)
        case "fenced":
            return f"```json\n{text}\n```"
        case "prose":
            return (
                f"Sure! Here is what you asked for [as JSON]:\n\n{text}\n\nLet me know {{anytime}}"
                " if you need more."
            )
        case "thinking":
            return (
                f'<think>\nPerhaps {{"facts": ["not this"], "ids": [1]}}? No.\n</think>\n\n{text}'
            )
        case "truncated":
            return text[: len(text) * 2 // 3]
        case "empty":
            return ""
        case "wrong_ids":
            return _map_values(text, _replace_id)
        case "deletes_only":
            words = {word for word in _all_strings(schema) if word.lower() in _REMOVALS}
            removal = min(words, default="remove")
            return _map_values(
                text,
                lambda key, value: removal if key in _ACTIONS and isinstance(value, str) else value,
            )
        case _:
            return text


def _replace_id(key: str, value: Json) -> Json:
    if not (key in ("id", "ids", "target", "targets", "replaces") or key.endswith(("_id", "_ids"))):
        return value
    if isinstance(value, list):
        return [_NOBODYS if isinstance(item, int) else "nobodys" for item in value] or [_NOBODYS]
    return _NOBODYS if isinstance(value, int) else "nobodys"


def _map_values(text: str, change: Any) -> str:
    try:
        data = json.loads(text)
    except ValueError:
        return text

    def walk(value: Json, key: str) -> Json:
        value = change(key, value)
        if isinstance(value, dict):
            return {name: walk(inner, name) for name, inner in value.items()}
        return [walk(inner, "") for inner in value] if isinstance(value, list) else value

    return json.dumps(walk(data, ""), ensure_ascii=False)


def _write_sloppy(text: str) -> str:
    """Write JSON with Python quotes and a trailing comma."""
    try:
        data = json.loads(text)
    except ValueError:
        return text
    sloppy = repr(data)
    return f"{sloppy[:-1]},{sloppy[-1]}" if isinstance(data, dict | list) and data else sloppy


def _all_strings(schema: Json) -> Iterator[str]:
    if isinstance(schema, Mapping):
        for value in schema.values():
            yield from _all_strings(value)
    elif isinstance(schema, list):
        for value in schema:
            yield from _all_strings(value)
    elif isinstance(schema, str):
        yield schema
