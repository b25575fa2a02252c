"""Get answers that satisfy a schema, by the best JSON mode."""

from __future__ import annotations

import json
import threading
from collections.abc import Mapping
from typing import Any, TypeAlias

from engrams.core import Json
from engrams.errors import ModelError
from engrams.frozen_data import dataclass
from engrams.models.chat.json_repair import parse, strip_thoughts
from engrams.models.chat.port import ChatServerReply, JsonMode
from engrams.models.chat.schema_check import check
from engrams.ports import ChatMessage

_ORDER = (JsonMode.SCHEMA, JsonMode.TOOL, JsonMode.PROMPT)
_SILENT = 2
_QUOTED = 4000
_NOTES = {"inside": "the JSON stood among other text", "repaired": "the JSON was repaired"}
_UNPARSEABLE = "the answers did not satisfy the schema"


class JsonModeFallback:
    """Best JSON mode that works with one server, found by falling back."""

    def __init__(self, first: JsonMode = JsonMode.SCHEMA) -> None:
        self._lock = threading.Lock()
        self._place = _ORDER.index(first)
        self._silent = 0

    def current(self) -> JsonMode:
        return _ORDER[self._place]

    def record_answer(self, mode: JsonMode, *, json: bool) -> None:
        """Keep the mode that an answer came by; drop those above it.

        A refusal alone proves nothing, because it may speak of a schema only in quoting the prompt.
        Some servers accept a schema and ignore it: two answers in a row without any JSON count as a
        refusal.
        """
        with self._lock:
            place = max(self._place, _ORDER.index(mode))
            self._silent = 0 if json or place != self._place else self._silent + 1
            if self._silent >= _SILENT and place + 1 < len(_ORDER):
                place = place + 1
                self._silent = 0
            self._place = place


def next_mode(mode: JsonMode) -> JsonMode:
    """Return the next mode to try."""
    return _ORDER[min(_ORDER.index(mode) + 1, len(_ORDER) - 1)]


@dataclass(frozen=True, slots=True)
class ValidModelAnswer:
    """Usable answer; ``data`` is None where no schema was asked for.

    ``note``: what was wrong with its form.
    """

    text: str
    data: Json = None
    note: str = ""


@dataclass(frozen=True, slots=True)
class InvalidModelAnswer:
    """Answer that must be given again.

    ``problem`` quotes nothing of it. ``json``: it held some. ``partial``: what was complete and
    valid in an answer that was cut off, None where nothing was.
    """

    problem: str
    json: bool = True
    cut: bool = False
    partial: Json = None


Verdict: TypeAlias = ValidModelAnswer | InvalidModelAnswer


def judge_reply(reply: ChatServerReply, schema: Mapping[str, Json] | None) -> Verdict:
    """Check a reply against a schema."""
    text = strip_thoughts(reply.text.encode("utf-8", "replace").decode("utf-8"))
    if not text:
        return InvalidModelAnswer("It is empty.", json=False, cut=reply.cut)
    if schema is None:
        return ValidModelAnswer(text)
    parsed = parse(reply.text, wrap_schema(schema))
    if parsed is None or not isinstance(parsed.data, dict | list):
        return InvalidModelAnswer(
            "It was cut off." if parsed or reply.cut else "It holds no JSON.",
            json=bool(parsed),
            cut=bool(parsed) or reply.cut,
        )
    data = _replace_surrogates(parsed.data)
    if "value" in data and _needs_wrapping(schema) and isinstance(data, dict):
        data = data["value"]
    problems = check(data, schema)
    if parsed.how == "cut":
        return InvalidModelAnswer(
            "It was cut off before its end.", cut=True, partial=None if problems else data
        )
    if problems:
        return InvalidModelAnswer("; ".join(problems) + ".", cut=reply.cut)
    note = _NOTES.get(parsed.how, "") or (
        "reasoning stood before the answer" if text != reply.text.strip() else ""
    )
    return ValidModelAnswer(text, data, note)


def wrap_schema(schema: Mapping[str, Json]) -> Mapping[str, Json]:
    """Wrap a schema into an object's: lists travel as ``{"value": …}``."""
    if not _needs_wrapping(schema):
        return schema
    inner = {key: value for key, value in schema.items() if key not in ("$defs", "definitions")}
    outer: dict[str, Any] = {
        "type": "object",
        "properties": {"value": inner},
        "required": ["value"],
        "additionalProperties": False,
    }
    return outer | {key: schema[key] for key in ("$defs", "definitions") if key in schema}


def compose_messages(
    messages: tuple[ChatMessage, ...], schema: Mapping[str, Json] | None, mode: JsonMode
) -> tuple[ChatMessage, ...]:
    """Add the wanted JSON to the messages, in the mode ``prompt``."""
    if schema is None or mode is not JsonMode.PROMPT:
        return messages
    wanted = (
        "Answer with one JSON object and nothing else. It must satisfy this JSON"
        f" schema:\n{_dump(wrap_schema(schema))}"
    )
    if messages and messages[0].role == "system":
        return (ChatMessage("system", f"{messages[0].content}\n\n{wanted}"), *messages[1:])
    return (ChatMessage("system", wanted), *messages)


def compose_correction(
    messages: tuple[ChatMessage, ...], answer: str, problem: str, schema: Mapping[str, Json] | None
) -> tuple[ChatMessage, ...]:
    """Ask again, with the unusable answer and its problem."""
    again = f"That answer cannot be used. {problem}\nGive the whole answer again"
    if schema is not None:
        # Stated here whatever the mode: a server that ignored the schema has not shown it to the
        # model.
        again += (
            ", as one JSON object and nothing else. It must satisfy this JSON"
            f" schema:\n{_dump(wrap_schema(schema))}"
        )
    quoted = (ChatMessage("assistant", answer[:_QUOTED]),) if answer.strip() else ()
    return (*messages, *quoted, ChatMessage("user", again if schema is not None else again + "."))


def unusable_error(name: str, tries: int, step: str, problem: str) -> ModelError:
    """Build the error for a model that never gave a usable answer.

    ``step``: the purpose of the question, such as ``extract`` or ``reconcile``.
    """
    error = ModelError(
        f"{name} gave no usable answer to the step {step} in {tries} tries. The last one:"
        f" {problem}",
        hint="A larger model, or one that supports JSON schemas, follows instructions better.",
    )
    error.add_note(_UNPARSEABLE)
    return error


def is_unusable(error: ModelError) -> bool:
    """Return True where the model answered, but never usably."""
    return _UNPARSEABLE in getattr(error, "__notes__", ())


def _needs_wrapping(schema: Mapping[str, Json]) -> bool:
    return "$ref" not in schema and schema.get("type") != "object" and "properties" not in schema


def _dump(schema: Mapping[str, Json]) -> str:
    return json.dumps(schema, ensure_ascii=False)


def _replace_surrogates(data: Json) -> Json:
    """Replace the lone surrogates that an escape can smuggle in."""
    text = json.dumps(data, ensure_ascii=False)
    kept = text.encode("utf-8", "replace")
    return data if kept.decode("utf-8") == text else json.loads(kept)
