"""Read the events of coding agents, and format the answers they take."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import field
from pathlib import Path
from typing import Any, Literal, TypeAlias

from engrams.frozen_data import dataclass
from engrams.surfaces.hook.event_names import NAMES, RECALL_EVENTS, SECONDS, TOOL_EVENT
from engrams.surfaces.hook.tool_use import AgentToolUse, describe_work, read_tool_uses
from engrams.text.system_texts import remove_system_texts

AnswerStyle: TypeAlias = Literal["nested", "snake", "camel"]
"""Form of an answer: ``hookSpecificOutput`` (Claude Code, Codex, Gemini), ``additional_context``
(Cursor), camel case (Copilot).
"""

_COMMAND = re.compile(r"/[\w:-]+(?:\s|$)")


_MAX_BYTES = 20_000_000
"""Bytes read at the end of the file."""


@dataclass(frozen=True, slots=True)
class HookCallOptions:
    """Options of one hook call: settings, project, tokens, time limit, event.

    ``settings``: dotted names to values, as ``engrams.settings.load`` takes them. ``event``: name
    of an event that carries none.
    """

    settings: dict[str, Any] = field(default_factory=dict)
    project: str = ""
    tokens: int | None = None
    seconds: float = SECONDS
    event: str = ""


@dataclass(frozen=True, slots=True)
class AgentHookEvent:
    """Event that a coding agent sent to the hook.

    ``name``: as Claude Code calls it. ``prompt``: the user's message; empty for the agent's own
    commands. ``answer``: the agent's last message. ``tool``: a tool that was used, as a
    transcript's entries hold it. ``said``: the agent's own name of the event, and ``style`` the
    form of answer it takes.
    """

    name: str
    session: str = ""
    prompt: str = ""
    answer: str = ""
    transcript: str = ""
    folder: str = ""
    tool: AgentToolUse | None = None
    said: str = ""
    style: AnswerStyle = "nested"


def parse_event(raw: bytes, named: str = "") -> AgentHookEvent | None:
    """Parse a hook event's JSON; None if it is none.

    ``named``: its name, for agents whose events carry none.
    """
    try:
        body = json.loads(raw.decode("utf-8", "replace"))
    except (ValueError, RecursionError):
        return None
    if not isinstance(body, dict):
        return None
    said = _text_field(body, "hook_event_name") or named
    prompt = remove_system_texts(_text_field(body, "prompt"))
    roots = body.get("workspace_roots")
    first_root = roots[0] if isinstance(roots, list) and roots and isinstance(roots[0], str) else ""
    return AgentHookEvent(
        name=NAMES.get(said, said),
        session=_text_field(body, "session_id", "conversation_id", "sessionId"),
        prompt="" if _COMMAND.match(prompt) else prompt,
        answer=remove_system_texts(
            _text_field(body, "last_assistant_message", "prompt_response", "text")
        ),
        transcript=_text_field(body, "transcript_path", "transcriptPath"),
        folder=_text_field(body, "cwd") or first_root,
        tool=_parse_tool(body) if NAMES.get(said, said) == TOOL_EVENT else None,
        said=said,
        style="camel"
        if "sessionId" in body
        else "snake"
        if "conversation_id" in body
        else "nested",
    )


@dataclass(frozen=True, slots=True)
class HookEventMessage:
    """New message found in a hook event, to be stored.

    ``key``: the same whenever it is sent. ``of_project``: it is about the project's files, whoever
    asks.
    """

    role: str
    text: str
    key: str
    of_project: bool = False


def new_messages(event: AgentHookEvent) -> list[HookEventMessage]:
    """List the new messages of an event; stable keys prevent duplicates."""
    said: list[tuple[str, str]] = []
    done: list[tuple[str, str]] = []
    match event.name:
        case "UserPromptSubmit":
            said = [("user", event.prompt)]
        case "Stop" | "PreCompact" | "SessionEnd":
            entries = read_entries(event.transcript)
            said = [*list_messages(entries), ("assistant", event.answer)]
            done = describe_work(read_tool_uses(entries), event.folder)
        case "PostToolUse" if event.tool:
            done = describe_work([event.tool], event.folder)
    messages = [(role, text, False) for role, text in said] + [
        (role, text, True) for role, text in done
    ]
    return [
        HookEventMessage(role, text, _message_key(event.session, role, text), of_project)
        for role, text, of_project in dict.fromkeys(messages)
        if text
    ]


def _parse_tool(body: Mapping[str, Any]) -> AgentToolUse:
    """Read the tool use that an event tells of."""
    given = body.get("tool_input", body.get("toolArgs"))
    given = given if isinstance(given, dict) else body
    result = body.get("tool_response", body.get("toolResult"))
    return AgentToolUse(
        _text_field(body, "tool_name", "toolName") or "edit", given, result, "error" in body
    )


def _message_key(session: str, role: str, text: str) -> str:
    joined = "\x1e".join((session, role, text)).encode("utf-8", "surrogatepass")
    return f"hook-{hashlib.blake2b(joined, digest_size=12).hexdigest()}"


def format_reply(event: AgentHookEvent, text: str) -> str:
    """Format the answer for standard output; empty for none."""
    if not text or event.name not in RECALL_EVENTS:
        return ""
    match event.style:
        case "nested":
            return json.dumps(
                {
                    "hookSpecificOutput": {
                        "hookEventName": event.said or event.name,
                        "additionalContext": text,
                    }
                }
            )
        case "snake":
            return json.dumps({"continue": True, "additional_context": text})
        case "camel":
            return json.dumps({"additionalContext": text})


def _text_field(body: Mapping[str, Any], *names: str) -> str:
    found = (body.get(name) for name in names)
    return next((value for value in found if isinstance(value, str) and value), "")


def read_entries(path: str) -> list[dict[str, Any]]:
    """Read the entries of a transcript's main conversation.

    An unreadable file is empty: the agent may not have written it yet.
    """
    try:
        file = Path(path).expanduser()
        with file.open("rb") as opened:
            opened.seek(max(0, file.stat().st_size - _MAX_BYTES))
            lines = opened.read().splitlines()
    except (OSError, ValueError):
        return []
    found = (_parse_entry(line) for line in lines)
    return [entry for entry in found if entry is not None]


def _parse_entry(line: bytes) -> dict[str, Any] | None:
    try:
        entry = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return (
        None
        if not isinstance(entry, dict) or entry.get("isSidechain") or entry.get("isMeta")
        else entry
    )


def list_messages(entries: Sequence[Mapping[str, Any]]) -> list[tuple[str, str]]:
    """List (role, text) of user and agent messages, in order.

    Tool output is skipped.
    """
    found = (_read_message(entry) for entry in entries)
    return [message for message in found if message is not None]


def _read_message(entry: Mapping[str, Any]) -> tuple[str, str] | None:
    # Claude Code says "user" and "message", Copilot "user.message" and "data".
    role = str(entry.get("type", "")).removesuffix(".message")
    held = entry.get("message", entry.get("data"))
    if role not in ("user", "assistant") or not isinstance(held, dict):
        return None
    text = remove_system_texts(_content_text(held.get("content")))
    return (role, text) if text else None


def _content_text(content: Any) -> str:
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else ()
    texts = (
        part.get("text") for part in parts if isinstance(part, dict) and part.get("type") == "text"
    )
    return "\n".join(text for text in texts if isinstance(text, str))
