"""What a coding agent tells its hooks, and the answers that it reads. Standard library only."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

RECALL_EVENTS = ("SessionStart", "UserPromptSubmit")
"""The events whose answer may carry text for the model."""

KEEP_EVENTS = ("UserPromptSubmit", "Stop", "PreCompact", "SessionEnd")
"""The events after which something new was said."""

_REMINDER = re.compile(r"<(system-reminder|local-command-\w+|command-\w+)>.*?</\1>", re.DOTALL)
_COMMAND = re.compile(r"/[\w:-]+(?:\s|$)")


@dataclass(frozen=True, slots=True)
class HookEvent:
    """One call. ``said``: what the user typed; empty also for the agent's own commands. ``answer``: the agent's last message."""

    name: str
    session: str = ""
    prompt: str = ""
    answer: str = ""
    transcript: str = ""
    folder: str = ""


def parse_event(raw: bytes) -> HookEvent | None:
    """None: it is no event."""
    try:
        body = json.loads(raw.decode("utf-8", "replace"))
    except (ValueError, RecursionError):
        return None
    if not isinstance(body, dict):
        return None
    prompt = strip_reminders(_text_field(body, "prompt"))
    return HookEvent(
        name=_text_field(body, "hook_event_name"),
        session=_text_field(body, "session_id"),
        prompt="" if _COMMAND.match(prompt) else prompt,
        answer=strip_reminders(_text_field(body, "last_assistant_message")),
        transcript=_text_field(body, "transcript_path"),
        folder=_text_field(body, "cwd"),
    )


def strip_reminders(text: str) -> str:
    """A message without what the agent itself puts into it."""
    return _REMINDER.sub("", text).strip()


def project_name(event: HookEvent, name: str) -> str:
    """The project that a name means: itself, or for ``.`` the folder that the agent works in."""
    return Path(event.folder).name if name == "." else name


def format_reply(event: HookEvent, text: str) -> str:
    """What goes to standard output; empty: nothing to add."""
    if not text or event.name not in RECALL_EVENTS:
        return ""
    return json.dumps({"hookSpecificOutput": {"hookEventName": event.name, "additionalContext": text}})


def _text_field(body: Mapping[str, Any], name: str) -> str:
    value = body.get(name)
    return value if isinstance(value, str) else ""
