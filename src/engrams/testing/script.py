"""What a scripted model is asked, what it answers, and how it is told to fail."""

from __future__ import annotations

import re
import threading
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from engrams.errors import InputError
from engrams.testing.sample import sample_value
from engrams.types import Json

Route: TypeAlias = Literal["chat", "responses", "ollama", "embeddings", "embed", "rerank", "models", "tags", "other"]

_CONTENT_FAULTS = ("bad_json", "sloppy", "fenced", "prose", "thinking", "truncated", "wrong_ids", "empty", "deletes_only")
_TRANSPORT_FAULTS = ("html", "hang", "reset", "disconnect", "slow", "error")


@dataclass(frozen=True, slots=True)
class ScriptedFault:
    """One call that goes wrong.

    In what the model says: ``bad_json`` (hopeless), ``sloppy`` (single quotes, trailing commas), ``fenced``, ``prose`` (around it),
    ``thinking`` (a <think> block with JSON of its own before it), ``truncated``, ``wrong_ids`` (ids that nobody gave),
    ``empty``, ``deletes_only`` (every decision becomes a removal).

    In how it comes: ``http_<status>`` (``http_429`` with Retry-After: ``seconds``), ``html`` (200, not JSON), ``hang`` (answers after
    ``seconds``; 0: never, but ends when the server closes), ``reset`` (the connection is cut before an answer),
    ``disconnect`` (in the middle of it), ``slow`` (``seconds`` between pieces), ``error`` (an error object in the middle of a
    stream, or instead of the answer). A closed port is ``ScriptedModel.down``.
    """

    kind: str
    seconds: float = 0.0

    def __post_init__(self) -> None:
        if self.kind not in (*_CONTENT_FAULTS, *_TRANSPORT_FAULTS) and not re.fullmatch(r"http_[3-5]\d\d", self.kind):
            raise InputError(
                f"There is no fault {self.kind!r}.", hint=f"There are {', '.join(_CONTENT_FAULTS + _TRANSPORT_FAULTS)} and http_<status>."
            )

    @property
    def status(self) -> int:
        """The status it answers with; 0: not this kind."""
        return int(self.kind[5:]) if self.kind.startswith("http_") else 0

    @property
    def in_content(self) -> bool:
        return self.kind in _CONTENT_FAULTS


@dataclass(frozen=True, slots=True)
class ScriptedToolCall:
    """A call of a tool, with JSON or text as its arguments."""

    name: str
    arguments: Json


@dataclass(frozen=True, slots=True)
class ScriptedReply:
    """An answer in full. ``usage``: prompt and answer tokens (None: words counted). ``finish``: why it ended (empty: as usual)."""

    text: str = ""
    tools: tuple[ScriptedToolCall, ...] = ()
    usage: tuple[int, int] | None = None
    finish: str = ""


@dataclass(frozen=True, slots=True)
class ScriptedRequest:
    """What came in. ``headers``: names in lower case. ``body``: None where it was no JSON object."""

    route: Route
    method: str
    path: str
    headers: Mapping[str, str]
    body: Mapping[str, Json]

    @property
    def messages(self) -> tuple[tuple[str, str], ...]:
        """(role, text) of each message; of a Responses request its instructions and input."""
        given: list[Json] = list(self.body.get("messages") or [])
        if self.body.get("instructions"):
            given.append({"role": "system", "content": self.body["instructions"]})
        inputs = self.body.get("input") if self.route == "responses" else None
        given += [{"role": "user", "content": inputs}] if isinstance(inputs, str) else list(inputs or [])
        return tuple((str(part.get("role", "")), _content_text(part.get("content"))) for part in given if isinstance(part, Mapping))

    @property
    def text(self) -> str:
        """What the user said last."""
        return next((text for role, text in reversed(self.messages) if role == "user"), "")

    @property
    def prompt(self) -> str:
        """All messages, joined."""
        return "\n".join(text for _, text in self.messages)

    @property
    def model(self) -> str:
        return str(self.body.get("model") or "scripted")

    @property
    def stream(self) -> bool:
        return bool(self.body.get("stream", self.route == "ollama"))

    @property
    def tool(self) -> str:
        """The tool that must be called, empty where there is none."""
        choice = self.body.get("tool_choice")
        if isinstance(choice, Mapping):
            return str(choice.get("name") or (choice.get("function") or {}).get("name") or "")
        tools = self._tools()
        forced = choice == "required" or (self.route == "ollama" and not self.body.get("format"))
        return str(tools[0].get("name", "")) if tools and forced else ""

    @property
    def schema(self) -> Mapping[str, Json] | None:
        """The JSON schema that the answer must satisfy, by whatever way it was given; None: free text."""
        form = self.body.get("response_format") or (self.body.get("text") or {} if self.route == "responses" else {}).get("format")
        if isinstance(form, Mapping):
            found = form.get("schema") or (form.get("json_schema") or {}).get("schema")
            return found if isinstance(found, Mapping) else {"type": "object"}
        if isinstance(self.body.get("format"), Mapping):
            asked: Mapping[str, Json] = self.body["format"]
            return asked
        if self.body.get("format") == "json":
            return {"type": "object"}
        for tool in self._tools():
            if tool.get("name") == self.tool and isinstance(tool.get("parameters"), Mapping):
                parameters: Mapping[str, Json] = tool["parameters"]
                return parameters
        return None

    def _tools(self) -> list[Mapping[str, Json]]:
        tools = [tool for tool in self.body.get("tools") or [] if isinstance(tool, Mapping)]
        return [tool["function"] if isinstance(tool.get("function"), Mapping) else tool for tool in tools]


Answers: TypeAlias = "str | dict[str, Any] | list[Any] | ScriptedReply"
Answering: TypeAlias = Callable[[ScriptedRequest], Answers]


class AnswerScript:
    """Which answer comes next: the queue's, else that of the first rule that matches, else the callable's, else an echo."""

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
        """Forget the faults that are still queued."""
        with self._lock:
            self._faults.clear()

    def take_fault(self, request: ScriptedRequest) -> ScriptedFault | None:
        """The next fault for this request, taken off the queue."""
        with self._lock:
            for entry in self._faults:
                if entry[1] in ("", request.route) and entry[2].search(request.prompt):
                    self._faults.remove(entry)
                    return entry[0]
            return None

    def find_reply(self, request: ScriptedRequest) -> ScriptedReply:
        """The answer to a request; JSON goes where the request wants it."""
        found = self._find_answer(request)
        if isinstance(found, ScriptedReply):
            return found
        if request.tool:
            return ScriptedReply(tools=(ScriptedToolCall(request.tool, found),))
        return ScriptedReply(found if isinstance(found, str) else to_json(found))

    def _find_answer(self, request: ScriptedRequest) -> Answers:
        with self._lock:
            if self._queue:
                return self._queue.popleft()
            rule = next((answer for pattern, answer in self._rules if pattern.search(request.prompt)), self._answer)
        if rule is not None:
            return rule(request) if callable(rule) else rule
        if request.schema is not None:
            answer: Answers = sample_value(request.schema, request.text)
            return answer
        return f"echo: {request.text}"


def to_json(data: Json) -> str:
    """JSON as models write it."""
    import json

    return json.dumps(data, ensure_ascii=False)


def _content_text(content: Json) -> str:
    if isinstance(content, list):
        return "".join(str(part.get("text") or "") for part in content if isinstance(part, Mapping))
    return content if isinstance(content, str) else ""
