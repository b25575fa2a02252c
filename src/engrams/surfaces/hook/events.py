"""Read the events of coding agents, and format the answers they take."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import field
from typing import Any, Literal, TypeAlias

from engrams.frozen_data import dataclass, replace
from engrams.surfaces.hook.agent_texts import is_passing, list_echoes, own_words
from engrams.surfaces.hook.event_names import (
    CLAUDE_NAMES,
    HOOK_TIMEOUT_SECONDS,
    RECALL_EVENTS,
    TOOL_EVENT,
)
from engrams.surfaces.hook.tool_use import AgentToolUse, describe_work
from engrams.surfaces.hook.transcripts import read_transcript

AnswerStyle: TypeAlias = Literal["nested", "snake", "camel"]
"""Form of an answer: ``hookSpecificOutput`` (Claude Code, Codex, Gemini), ``additional_context``
(Cursor), camel case (Copilot).
"""


@dataclass(frozen=True, slots=True)
class HookCallOptions:
    """Options of one hook call."""

    settings: dict[str, Any] = field(default_factory=dict)
    """Dotted names -> values, as ``engrams.settings.load`` takes them."""
    project: str = ""
    tokens: int | None = None
    seconds: float = HOOK_TIMEOUT_SECONDS
    """Time limit of the call."""
    event: str = ""
    """Name of the event, for agents whose events carry none."""


@dataclass(frozen=True, slots=True)
class AgentHookEvent:
    """Event that a coding agent sent to the hook."""

    name: str
    """Claude Code's name of the event."""
    session: str = ""
    prompt: str = ""
    """The user's message; empty for a command of the agent, such as ``/clear``."""
    answer: str = ""
    """The agent's last message."""
    transcript: str = ""
    """Path of the file in which the agent writes the conversation."""
    folder: str = ""
    """Working folder of the agent."""
    tool: AgentToolUse | None = None
    source: str = ""
    """Why a session starts: ``startup``, ``resume``, ``clear`` or ``compact``."""
    agent_name: str = ""
    """The agent's own name of the event, which its answer repeats."""
    style: AnswerStyle = "nested"
    """Form of the answer that the agent takes."""


def parse_event(raw: bytes, default_name: str = "") -> AgentHookEvent | None:
    """Parse a hook event's JSON; None if it is none.

    ``default_name``: its name, for agents whose events carry none.
    """
    try:
        body = json.loads(raw.decode("utf-8", "replace"))
    except (ValueError, RecursionError):
        return None
    if not isinstance(body, dict):
        return None
    agent_name = _text_field(body, "hook_event_name") or default_name
    prompt = own_words(_text_field(body, "prompt"))
    roots = body.get("workspace_roots")
    first_root = roots[0] if isinstance(roots, list) and roots and isinstance(roots[0], str) else ""
    return AgentHookEvent(
        name=CLAUDE_NAMES.get(agent_name, agent_name),
        session=_text_field(body, "session_id", "conversation_id", "sessionId"),
        prompt=prompt,
        answer=own_words(
            _text_field(body, "last_assistant_message", "prompt_response", "text"), "assistant"
        ),
        transcript=_text_field(body, "transcript_path", "transcriptPath"),
        folder=_text_field(body, "cwd") or first_root,
        tool=_parse_tool(body) if CLAUDE_NAMES.get(agent_name, agent_name) == TOOL_EVENT else None,
        source=_text_field(body, "source"),
        agent_name=agent_name,
        style=_find_style(body),
    )


def _find_style(body: Mapping[str, Any]) -> AnswerStyle:
    if "sessionId" in body:
        return "camel"
    return "snake" if "conversation_id" in body else "nested"


@dataclass(frozen=True, slots=True)
class HookEventMessage:
    """New message of a hook event, to be stored."""

    role: str
    text: str
    key: str
    """External id: the same each time that the message is sent."""
    of_project: bool = False
    """True: it is about the project's files, and so belongs to the project."""
    is_echo: bool = False
    """True for a short answer to what was no question: it repeats what was said or done."""

    @property
    def is_passing(self) -> bool:
        """True for an order, an announcement or an echo, which is stored but never recalled."""
        return self.is_echo or is_passing(self.text, self.role)


def new_messages(
    event: AgentHookEvent, request_keys: Collection[str] = (), *, is_after_request: bool = False
) -> list[HookEventMessage]:
    """List the new messages of an event; stable keys prevent duplicates.

    ``request_keys``: keys of requests about memory, which are left out with their answers.
    ``is_after_request``: the event's answer answers one, whether or not a transcript tells it.
    """
    messages_said: list[tuple[str, str]] = []
    work_done: list[tuple[str, str]] = []
    match event.name:
        case "UserPromptSubmit":
            messages_said = [("user", event.prompt)]
        case "Stop" | "PreCompact" | "SessionEnd":
            transcript = read_transcript(event.transcript)
            last_answer = "" if is_after_request else event.answer
            messages_said = [*transcript.messages, ("assistant", last_answer)]
            tool_uses = transcript.tool_uses
            if request_keys:
                messages_said = _leave_out(messages_said, event.session, request_keys)
                tool_uses = [
                    replace(use, prompt="")
                    if message_key(event.session, "user", use.prompt) in request_keys
                    else use
                    for use in tool_uses
                ]
            work_done = describe_work(tool_uses, event.folder)
        case "PostToolUse" if event.tool:
            work_done = describe_work([event.tool], event.folder)
    labelled = [(role, text, False) for role, text in messages_said] + [
        (role, text, True) for role, text in work_done
    ]
    echoes = list_echoes(messages_said)
    return [
        HookEventMessage(
            role,
            text,
            message_key(event.session, role, text),
            of_project,
            role == "assistant" and text in echoes,
        )
        for role, text, of_project in dict.fromkeys(labelled)
        if text
    ]


def _leave_out(
    messages: Sequence[tuple[str, str]], session: str, request_keys: Collection[str]
) -> list[tuple[str, str]]:
    """Leave out requests about memory, and what was said up to the next message of the user."""
    own_messages: list[tuple[str, str]] = []
    is_request = False
    for role, text in messages:
        if role == "user":
            is_request = message_key(session, role, text) in request_keys
        if not is_request:
            own_messages.append((role, text))
    return own_messages


def _parse_tool(body: Mapping[str, Any]) -> AgentToolUse:
    """Read the tool use of an event."""
    arguments = body.get("tool_input", body.get("toolArgs"))
    arguments = arguments if isinstance(arguments, dict) else body
    result = body.get("tool_response", body.get("toolResult"))
    return AgentToolUse(
        _text_field(body, "tool_name", "toolName") or "edit", arguments, result, "error" in body
    )


def message_key(session: str, role: str, text: str) -> str:
    """Return the external id of a message, the same each time that it is sent."""
    joined = "\x1e".join((session, role, text)).encode("utf-8", "surrogatepass")
    return f"hook-{hashlib.blake2b(joined, digest_size=12).hexdigest()}"


def format_reply(event: AgentHookEvent, text: str, notice: str = "") -> str:
    """Format the answer for standard output; empty for none.

    ``text``: for the model. ``notice``: for the person, where the agent shows one; the model has to
    pass it on where not.
    """
    if not (text or notice) or event.name not in RECALL_EVENTS:
        return ""
    match event.style:
        case "nested":
            return json.dumps(_format_nested(event, text, notice))
        case "snake":
            return json.dumps({"continue": True, "additional_context": text or notice})
        case "camel":
            return json.dumps({"additionalContext": text}) if text else ""


def _format_nested(event: AgentHookEvent, text: str, notice: str) -> dict[str, Any]:
    answer: dict[str, Any] = {}
    if notice:
        answer["systemMessage"] = f"engrams: {notice}"
    if text:
        name = event.agent_name or event.name
        answer["hookSpecificOutput"] = {"hookEventName": name, "additionalContext": text}
    return answer


def _text_field(body: Mapping[str, Any], *names: str) -> str:
    values = (body.get(name) for name in names)
    return next((value for value in values if isinstance(value, str) and value), "")
