"""Answers that satisfy a JSON schema: how to ask for one, and whether one is usable.

``compose_messages`` puts the schema into the prompt where the server does not take it,
``judge_reply`` checks an answer, and ``compose_correction`` asks again.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from engrams.core import Json
from engrams.errors import UNUSABLE_ANSWER, ModelError
from engrams.models.chat.json_repair import parse, strip_thoughts
from engrams.models.chat.port import SCHEMA_IN_PROMPT, ChatServerReply, JsonMode
from engrams.models.chat.schema_check import check
from engrams.models.chat.schema_mending import mend
from engrams.ports import ChatMessage

_QUOTED_CHARS = 4000
"""Characters of an unusable answer that a correction quotes."""
_NOTES = {"inside": "the JSON stood among other text", "repaired": "the JSON was repaired"}


@dataclass(frozen=True, slots=True)
class ValidModelAnswer:
    """Usable answer."""

    text: str
    data: Json = None
    """Data that satisfies the schema. None: no schema was asked for."""
    note: str = ""
    """Fault of its form that was mended. Empty: none."""


@dataclass(frozen=True, slots=True)
class InvalidModelAnswer:
    """Answer that must be given again."""

    problem: str
    """Sentence for the model that says what is wrong; quotes nothing of the answer."""
    json: bool = True
    """The answer held JSON."""
    cut: bool = False
    """The answer was cut off, so that it may need more tokens."""
    partial: Json = None
    """Valid part of an answer that was cut off, or has unusable list items. None: there is none."""


Verdict: TypeAlias = ValidModelAnswer | InvalidModelAnswer


def judge_reply(
    reply: ChatServerReply,
    schema: Mapping[str, Json] | None,
    *,
    may_be_empty: bool = False,
    keep_sound_items: bool = False,
) -> Verdict:
    """Check a reply against a schema; without one, any text is usable.

    ``may_be_empty``: a reply without text is usable, unless it was cut off. ``keep_sound_items``:
    a reply with unusable list items has a partial answer, without these.
    """
    text = strip_thoughts(reply.text.encode("utf-8", "replace").decode("utf-8"))
    if not text and (reply.cut or not may_be_empty):
        return InvalidModelAnswer("It is empty.", json=False, cut=reply.cut)
    if schema is None:
        return ValidModelAnswer(text)
    parsed = parse(reply.text, wrap_schema(schema))
    if parsed is None or not isinstance(parsed.data, dict | list):
        is_cut = parsed is not None or reply.cut
        return InvalidModelAnswer(
            "It was cut off." if is_cut else "It contains no JSON.",
            json=parsed is not None,
            cut=is_cut,
        )
    data = _replace_surrogates(parsed.data)
    if _needs_wrapping(schema) and isinstance(data, dict) and "value" in data:
        data = data["value"]
    problems = check(data, schema)
    if parsed.how == "cut":
        return InvalidModelAnswer(
            "It was cut off before its end.", cut=True, partial=None if problems else data
        )
    note = _NOTES.get(parsed.how, "")
    if problems:
        mended = mend(data, schema)
        if mended is None or mended.dropped:
            return InvalidModelAnswer(
                "; ".join(problems) + ".",
                cut=reply.cut,
                partial=mended.data if mended is not None and keep_sound_items else None,
            )
        data, note = mended.data, _NOTES["repaired"]
    if not note and text != reply.text.strip():
        note = "reasoning stood before the answer"
    return ValidModelAnswer(text, data, note)


def wrap_schema(schema: Mapping[str, Json]) -> Mapping[str, Json]:
    """Return the schema of an object: servers take no other, so lists travel as ``{"value": …}``."""
    if not _needs_wrapping(schema):
        return schema
    definitions = {key: schema[key] for key in ("$defs", "definitions") if key in schema}
    inner = {key: value for key, value in schema.items() if key not in definitions}
    outer: dict[str, Any] = {
        "type": "object",
        "properties": {"value": inner},
        "required": ["value"],
        "additionalProperties": False,
    }
    return outer | definitions


def compose_messages(
    messages: tuple[ChatMessage, ...], schema: Mapping[str, Json] | None, mode: JsonMode
) -> tuple[ChatMessage, ...]:
    """Return the messages, in the modes that need it with the schema in the system message."""
    if schema is None or mode not in SCHEMA_IN_PROMPT:
        return messages
    demand = f"Answer with {_describe_schema(schema)}"
    if messages and messages[0].role == "system":
        return (ChatMessage("system", f"{messages[0].content}\n\n{demand}"), *messages[1:])
    return (ChatMessage("system", demand), *messages)


def compose_correction(
    messages: tuple[ChatMessage, ...], answer: str, problem: str, schema: Mapping[str, Json] | None
) -> tuple[ChatMessage, ...]:
    """Return the messages that ask again, with the unusable answer and its problem.

    The schema is stated whatever the mode: a server that ignored it has not shown it to the model.
    """
    demand = f"That answer cannot be used. {problem}\nGive the whole answer again"
    demand += "." if schema is None else f", as {_describe_schema(schema)}"
    quoted = (ChatMessage("assistant", answer[:_QUOTED_CHARS]),) if answer.strip() else ()
    return (*messages, *quoted, ChatMessage("user", demand))


def unusable_error(name: str, tries: int, step: str, problem: str) -> ModelError:
    """Build the error for a model that never gave a usable answer.

    ``step``: the purpose of the question, such as ``extract`` or ``reconcile``.
    """
    error = ModelError(
        f"{name} gave no usable answer to the step {step} in {tries} tries. The last one:"
        f" {problem}",
        hint="A larger model, or one that supports JSON schemas, follows instructions better.",
    )
    error.add_note(UNUSABLE_ANSWER)
    return error


def _needs_wrapping(schema: Mapping[str, Json]) -> bool:
    return "$ref" not in schema and schema.get("type") != "object" and "properties" not in schema


def _describe_schema(schema: Mapping[str, Json]) -> str:
    return (
        "one JSON object and nothing else. It must satisfy this JSON schema:\n"
        f"{json.dumps(wrap_schema(schema), ensure_ascii=False)}"
    )


def _replace_surrogates(data: Json) -> Json:
    """Replace the lone surrogates that an escape can smuggle in; they cannot be stored."""
    text = json.dumps(data, ensure_ascii=False)
    encoded = text.encode("utf-8", "replace")
    return data if encoded.decode("utf-8") == text else json.loads(encoded)
