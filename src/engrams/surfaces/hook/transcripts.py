"""Transcripts of coding agents, read by each agent's own structure.

``read_transcript`` reads a file of Claude Code, Codex, Gemini CLI, Cursor or Copilot CLI into what
was said and which tools were used. opencode writes none. What an agent adds by itself (summaries
of a compaction, notifications, side conversations, errors of the API) is nobody's words.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field
from pathlib import Path
from typing import Any, TypeAlias

from engrams.frozen_data import dataclass
from engrams.surfaces.hook.agent_texts import own_words
from engrams.surfaces.hook.tool_use import AgentToolUse, ToolUseLog

Entry: TypeAlias = Mapping[str, Any]
"""One line of a transcript."""

_MAX_BYTES = 20_000_000
"""Bytes read at the end of the file."""
_CLAUDE_MARKS = (
    "isSidechain",
    "isMeta",
    "isCompactSummary",
    "isVisibleInTranscriptOnly",
    "isApiErrorMessage",
)
"""Fields of Claude Code's lines that nobody said in the main conversation."""
_PATCHED_FILE = re.compile(r"^\*\*\* (?:Add|Update|Delete) File: (.+)$", re.MULTILINE)
_MOVED_FILE = re.compile(r"^\*\*\* Move to: (.+)$", re.MULTILINE)
_EXIT_CODE = re.compile(
    r"(?:exit(?:ed)?(?: with)?[ _]code\"?:?\s+|Process exited with code )(-?\d+)", re.IGNORECASE
)


@dataclass(frozen=True, slots=True)
class AgentTranscript:
    """Main conversation of an agent's session."""

    messages: list[tuple[str, str]] = field(default_factory=list)
    """(role, text) of the user and the assistant, in order."""
    tool_uses: list[AgentToolUse] = field(default_factory=list)
    """Uses of tools that have a result, in order."""


def read_transcript(path: str) -> AgentTranscript:
    """Read an agent's transcript; an unreadable or unknown one is empty."""
    entries = read_entries(path)
    if any("payload" in entry for entry in entries[:20]):
        return _read_codex(entries)
    if len(entries) == 1 and isinstance(entries[0].get("messages"), list):
        is_subagent = entries[0].get("kind") == "subagent"
        return _read_gemini(
            [entry for entry in entries[0]["messages"] if isinstance(entry, dict)], is_subagent
        )
    if any(entry.get("type") == "gemini" or "projectHash" in entry for entry in entries[:50]):
        is_subagent = any(entry.get("kind") == "subagent" for entry in entries[:5])
        return _read_gemini(_replay_gemini(entries), is_subagent)
    if any("." in str(entry.get("type", "")) and "data" in entry for entry in entries[:50]):
        return _read_copilot(entries)
    if any("role" in entry and "type" not in entry for entry in entries[:20]):
        return _read_cursor(entries)
    return _read_claude(entries)


def read_entries(path: str) -> list[dict[str, Any]]:
    """Read the objects of a transcript's lines, or of a file that is one object.

    An unreadable file is empty: the agent may not have written it yet.
    """
    try:
        file = Path(path).expanduser()
        with file.open("rb") as opened:
            opened.seek(max(0, file.stat().st_size - _MAX_BYTES))
            content = opened.read()
    except (OSError, ValueError):
        return []
    lines = content.splitlines()
    # Gemini CLI's older files are one indented object.
    if lines and lines[0].strip() == b"{":
        lines = [content]
    entries = (_parse_entry(line) for line in lines)
    return [entry for entry in entries if entry is not None]


def _parse_entry(line: bytes) -> dict[str, Any] | None:
    try:
        entry = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return entry if isinstance(entry, dict) else None


def _read_claude(entries: Sequence[Entry]) -> AgentTranscript:
    messages: list[tuple[str, str]] = []
    log = ToolUseLog()
    for entry in entries:
        message = entry.get("message")
        role = entry.get("type")
        if role not in ("user", "assistant") or not isinstance(message, dict):
            continue
        if any(entry.get(mark) for mark in _CLAUDE_MARKS) or not _is_claude_speech(entry, message):
            continue
        content = message.get("content")
        text = own_words(_content_text(content), role)
        if text:
            messages.append((role, text))
            _note_speech(log, role, text)
        for part in content if isinstance(content, list) else ():
            match part:
                case {"type": "tool_use", "id": str(id), "name": str(name), "input": dict(values)}:
                    log.open(id, name, values)
                case {"type": "tool_result", "tool_use_id": str(id)}:
                    result = entry.get("toolUseResult", part.get("content"))
                    log.close(id, result, failed=bool(part.get("is_error")))
                case _:
                    pass
    return AgentTranscript(messages, log.uses)


def _is_claude_speech(entry: Entry, message: Entry) -> bool:
    """True unless Claude Code made the message itself, or had it from another agent or a task."""
    origin = entry.get("origin")
    origin_kind = origin.get("kind") if isinstance(origin, dict) else None
    return origin_kind in (None, "human") and message.get("model") != "<synthetic>"


def _read_codex(entries: Sequence[Entry]) -> AgentTranscript:
    """Read a rollout. What the user typed is an event; items of the user's role hold more."""
    payloads = [
        (entry.get("type"), entry["payload"])
        for entry in entries
        if isinstance(entry.get("payload"), dict)
    ]
    is_subagent = any(
        kind == "session_meta"
        and isinstance(source := payload.get("source"), dict)
        and "subagent" in source
        for kind, payload in payloads
    )
    has_events = any(
        kind == "event_msg" and payload.get("type") == "user_message" for kind, payload in payloads
    )
    messages: list[tuple[str, str]] = []
    log = ToolUseLog()
    for kind, payload in payloads:
        role, text = _codex_message(str(kind), payload, has_events=has_events)
        text = own_words(text, role)
        if text and not (is_subagent and role == "user"):
            messages.append((role, text))
            _note_speech(log, role, text)
        if kind == "response_item":
            _log_codex_tool(payload, log)
    return AgentTranscript(messages, log.uses)


def _codex_message(kind: str, payload: Entry, *, has_events: bool) -> tuple[str, str]:
    """Return (role, text) of a line, with an empty text for other lines."""
    if kind == "event_msg" and payload.get("type") == "user_message":
        return "user", str(payload.get("message") or "")
    if kind != "response_item" or payload.get("type") != "message":
        return "", ""
    role = str(payload.get("role"))
    is_said = role == "assistant" or (role == "user" and not has_events)
    return (role, _content_text(payload.get("content"))) if is_said else ("", "")


def _log_codex_tool(payload: Entry, log: ToolUseLog) -> None:
    id = str(payload.get("call_id") or "")
    match payload:
        case {"type": "function_call", "name": str(name), "arguments": str(arguments)}:
            values = _parse_entry(arguments.encode("utf-8", "replace")) or {}
            log.open(id, name, {**values, "command": _codex_command(values)})
        case {"type": "local_shell_call", "action": dict(action)}:
            log.open(id, "shell", {"command": _codex_command(action)})
        case {"type": "custom_tool_call", "name": str(name), "input": str(patch)}:
            files = [*_PATCHED_FILE.findall(patch), *_MOVED_FILE.findall(patch)]
            log.open(id, name, {"paths": files, "patch": patch})
        case {"type": "function_call_output" | "custom_tool_call_output", "output": output}:
            text = _codex_output(output)
            exit_code = _EXIT_CODE.search(text[:400]) or _EXIT_CODE.search(text[-400:])
            log.close(id, text, failed=exit_code is not None and exit_code[1] != "0")
        case _:
            pass


def _codex_command(values: Entry) -> str:
    """Return a command as typed, without the shell that runs it."""
    command = values.get("command", values.get("cmd"))
    if isinstance(command, list):
        words = [str(word) for word in command]
        is_wrapped = len(words) == 3 and words[1] in ("-c", "-lc")
        return words[2] if is_wrapped else " ".join(words)
    return command if isinstance(command, str) else ""


def _codex_output(output: Any) -> str:
    if isinstance(output, dict):
        output = output.get("content") or output.get("output")
    if isinstance(output, list):
        return _content_text(output)
    text = output if isinstance(output, str) else ""
    document = _parse_entry(text.encode("utf-8", "replace")) if text.startswith("{") else None
    if document is None:
        return text
    metadata = document.get("metadata")
    code = metadata.get("exit_code", 0) if isinstance(metadata, dict) else 0
    return f"Exit code: {code}\n{document.get('output', '')}"


def _replay_gemini(entries: Sequence[Entry]) -> list[Entry]:
    """Return the messages of a log of lines, without those that were taken back."""
    messages: list[Entry] = []
    for entry in entries:
        if isinstance(target := entry.get("$rewindTo"), str):
            ids = [message.get("id") for message in messages]
            messages = messages[: ids.index(target)] if target in ids else messages
        elif "type" in entry and "id" in entry:
            messages = [message for message in messages if message.get("id") != entry["id"]]
            messages.append(entry)
    return messages


def _read_gemini(entries: Sequence[Entry], is_subagent: bool) -> AgentTranscript:
    """Read the messages of a session of Gemini CLI; notes of the program are left out."""
    messages: list[tuple[str, str]] = []
    log = ToolUseLog()
    for number, entry in enumerate(entries):
        role = {"user": "user", "gemini": "assistant"}.get(str(entry.get("type")), "")
        if not role:
            continue
        shown = entry.get("displayContent") or entry.get("content")
        text = own_words(_content_text(shown), role)
        if text and not (is_subagent and role == "user"):
            messages.append((role, text))
            _note_speech(log, role, text)
        calls = entry.get("toolCalls")
        for index, call in enumerate(calls if isinstance(calls, list) else ()):
            if isinstance(call, dict) and isinstance(call.get("args"), dict):
                id = str(call.get("id") or f"{number}.{index}")
                log.open(id, str(call.get("name")), call["args"])
                result = call.get("resultDisplay") or call.get("result")
                log.close(id, result, failed=call.get("status") not in ("success", None))
    return AgentTranscript(messages, log.uses)


def _read_cursor(entries: Sequence[Entry]) -> AgentTranscript:
    """Read a transcript of Cursor, which has no results of tools."""
    return AgentTranscript(list(_list_cursor_messages(entries)))


def _list_cursor_messages(entries: Sequence[Entry]) -> Iterator[tuple[str, str]]:
    for entry in entries:
        role, message = entry.get("role"), entry.get("message")
        if role not in ("user", "assistant") or not isinstance(message, dict):
            continue
        if text := own_words(_content_text(message.get("content")), role):
            yield role, text


def _read_copilot(entries: Sequence[Entry]) -> AgentTranscript:
    """Read the events of Copilot CLI; those of subagents name the call that began them."""
    messages: list[tuple[str, str]] = []
    log = ToolUseLog()
    for entry in entries:
        data = entry.get("data")
        kind = str(entry.get("type"))
        is_side = entry.get("agentId") or (
            isinstance(data, dict)
            and (data.get("parentToolCallId") or data.get("parentAgentTaskId"))
        )
        if not isinstance(data, dict) or is_side:
            continue
        role = kind.removesuffix(".message")
        if role in ("user", "assistant") and kind.endswith(".message"):
            is_typed = role == "assistant" or data.get("source") in (None, "", "user")
            text = own_words(_content_text(data.get("content")), role) if is_typed else ""
            if text:
                messages.append((role, text))
                _note_speech(log, role, text)
        elif kind == "tool.execution_start" and isinstance(data.get("arguments"), dict):
            log.open(str(data.get("toolCallId")), str(data.get("toolName")), data["arguments"])
        elif kind == "tool.execution_complete":
            failed = data.get("success") is False
            error = data.get("error")
            result = error.get("message") if isinstance(error, dict) else data.get("result")
            if isinstance(result, dict):
                result = result.get("detailedContent") or result.get("content")
            log.close(str(data.get("toolCallId")), result, failed=failed)
    return AgentTranscript(messages, log.uses)


def _note_speech(log: ToolUseLog, role: str, text: str) -> None:
    """Note what the next uses of tools are for, or what the agent said before them."""
    if role == "user":
        log.prompt = text
    else:
        log.remark = text


def _content_text(content: Any) -> str:
    """Join the texts of a message's parts; images, thoughts and tools have none."""
    if isinstance(content, str):
        return content
    if isinstance(content, dict):
        content = [content]
    parts = content if isinstance(content, list) else ()
    texts = (
        part.get("text")
        for part in parts
        if isinstance(part, dict)
        and part.get("type") in ("text", "input_text", "output_text", None)
    )
    return "\n".join(text for text in texts if isinstance(text, str))
