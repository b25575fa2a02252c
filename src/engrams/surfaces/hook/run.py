"""Run one hook call: parse the event, recall, store, answer."""

from __future__ import annotations

import hashlib
import json
import os
import re
import sys
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from engrams.engine import MemoryEngine
    from engrams.types import Scope, Turn

SECONDS = 5.0
_LEARNING_SHARE = 0.4
"""Share of the time for extracting facts when no answer is awaited."""


@dataclass(frozen=True, slots=True)
class HookOptions:
    """Hold the options of a call.

    ``settings``: dotted names to values, as ``engrams.settings.load`` takes them."""

    settings: dict[str, Any] = field(default_factory=dict)
    project: str = ""
    tokens: int | None = None
    seconds: float = SECONDS


def run_hook(call: HookOptions) -> int:
    """Read the event, print the answer, and always return 0.

    Failures are reported on standard error. After ``call.seconds`` the process ends without an answer."""
    told: list[str] = []
    worker = threading.Thread(target=_answer_stdin, args=(call, told), daemon=True)
    worker.start()
    worker.join(call.seconds)
    if worker.is_alive():
        _print_warning(f"memory took longer than {call.seconds:g} s; the agent continues without it")
        sys.stderr.flush()
        # A thread that hangs in the store would block the interpreter, and with it the agent.
        os._exit(0)
    try:
        sys.stdout.write("".join(told))
        sys.stdout.flush()
    except OSError:
        # The reader has gone: the rest of the buffer must not fail when the interpreter ends.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return 0


def answer_event(call: HookOptions, event: HookEvent) -> str:
    """Recall memory for the event, store its messages, return the answer."""
    from engrams.build import open as open_engine
    from engrams.settings import load
    from engrams.types import Scope

    settings = load(call.settings).settings
    if not settings.enabled:
        return ""
    waits = event.name in RECALL_EVENTS
    scope, name = Scope(("user", settings.owner)), project_name(event, call.project)
    if waits:
        # The agent waits: facts are extracted at the end of its turn.
        settings = settings.model_copy(update={"jobs": settings.jobs.model_copy(update={"workers": 0})})
    with open_engine(settings, background=False) as engine:
        place = scope.within("project", name) if name else scope
        text = _recall_and_keep(engine, event, place, call.tokens)
        # A session unknown to the store has no messages.
        if event.name == "SessionEnd" and event.session and engine.sessions.state(event.session, scope=place) != "absent":
            engine.sessions.end(event.session, scope=place)
        if not waits:
            engine.drain(call.seconds * _LEARNING_SHARE)
    return format_reply(event, text)


def _recall_and_keep(engine: MemoryEngine, event: HookEvent, scope: Scope, tokens: int | None) -> str:
    """Recall first, so that new messages are not recalled."""
    text = ""
    if event.name == "SessionStart":
        text = engine.context("", scope=scope, tokens=tokens).text
    elif event.name == "UserPromptSubmit" and event.prompt:
        made = engine.context(event.prompt, scope=scope, tokens=tokens)
        # The stable profile was sent at the start of the session.
        text = "" if made.abstain else made.tail
    turns = _new_turns(event)
    if turns:
        engine.observe(turns, scope=scope)
    return text


def _new_turns(event: HookEvent) -> list[Turn]:
    """Build turns of this event; stable ids skip stored ones."""

    match event.name:
        case "UserPromptSubmit":
            said = [("user", event.prompt)]
        case "Stop" | "PreCompact" | "SessionEnd":
            said = [*read_messages(event.transcript), ("assistant", event.answer)]
        case _:
            said = []
    return [_to_turn(event.session, role, text) for role, text in dict.fromkeys(said) if text]


def _to_turn(session: str, role: str, text: str) -> Turn:
    from engrams.types import Turn

    digest = hashlib.blake2b("\x1e".join((session, role, text)).encode("utf-8", "surrogatepass"), digest_size=12).hexdigest()
    return Turn(text, "assistant" if role == "assistant" else "user", session=session, external_id=f"hook-{digest}")


def _answer_stdin(call: HookOptions, told: list[str]) -> None:
    try:
        event = parse_event(sys.stdin.buffer.read())
        if event is None:
            _print_warning("the input is no event")
            return
        if event.name in (*RECALL_EVENTS, *KEEP_EVENTS):
            told.append(answer_event(call, event))
    except Exception as fault:  # noqa: BLE001 - a failing memory must not stop the agent
        _print_warning(f"{type(fault).__name__}: {fault} {getattr(fault, 'hint', '')}".rstrip())


def _print_warning(text: str) -> None:
    sys.stderr.write(f"engrams hook: {text}\n")


def main(arguments: Sequence[str]) -> int:
    """Run ``engrams hook`` without the slow command parser."""
    import argparse

    parser = argparse.ArgumentParser(prog="engrams hook", add_help=False, exit_on_error=False, allow_abbrev=False)
    parser.add_argument("--home")
    parser.add_argument("--preset")
    parser.add_argument("--user", "-u")
    parser.add_argument("--test", action="store_true", default=None)
    parser.add_argument("--project", default="")
    parser.add_argument("--tokens", type=int)
    parser.add_argument("--seconds", type=float, default=SECONDS)
    parser.add_argument("--set", action="append", default=[])
    try:
        given, unknown = parser.parse_known_args(list(arguments))
        if unknown:
            _print_warning(f"there is no option {' '.join(unknown)}; it is ignored")
    except argparse.ArgumentError as fault:
        _print_warning(f"{fault}; the agent continues without memory")
        return 0
    pairs = dict(text.split("=", 1) for text in given.set if "=" in text)
    settings = {**pairs, "home": given.home, "preset": given.preset, "user": given.user, "test": given.test}
    seconds = given.seconds if given.seconds > 0 else SECONDS
    return run_hook(
        HookOptions({name: value for name, value in settings.items() if value is not None}, given.project, given.tokens, seconds)
    )


RECALL_EVENTS = ("SessionStart", "UserPromptSubmit")
"""Events whose answer may carry text for the model."""

KEEP_EVENTS = ("UserPromptSubmit", "Stop", "PreCompact", "SessionEnd")
"""Events that bring new messages."""

_REMINDER = re.compile(r"<(system-reminder|local-command-\w+|command-\w+)>")
_COMMAND = re.compile(r"/[\w:-]+(?:\s|$)")


@dataclass(frozen=True, slots=True)
class HookEvent:
    """Hold one hook call.

    ``prompt``: the user's message; empty for the agent's own commands. ``answer``: the agent's last message."""

    name: str
    session: str = ""
    prompt: str = ""
    answer: str = ""
    transcript: str = ""
    folder: str = ""


def parse_event(raw: bytes) -> HookEvent | None:
    """Parse an event; None if it is none."""
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
    """Strip texts that the agent itself adds to a message."""
    from engrams.text.tagremoval import remove_tagged

    return remove_tagged(text, _REMINDER).strip()


def project_name(event: HookEvent, name: str) -> str:
    """Resolve ``.`` to the name of the agent's folder."""
    return Path(event.folder).name if name == "." else name


def format_reply(event: HookEvent, text: str) -> str:
    """Format the answer for standard output; empty for none."""
    if not text or event.name not in RECALL_EVENTS:
        return ""
    return json.dumps({"hookSpecificOutput": {"hookEventName": event.name, "additionalContext": text}})


def _text_field(body: Mapping[str, Any], name: str) -> str:
    value = body.get(name)
    return value if isinstance(value, str) else ""


_MAX_BYTES = 20_000_000
"""Bytes read at the end of the file."""


def read_messages(path: str) -> list[tuple[str, str]]:
    """Read (role, text) of user and agent messages, in order.

    Tool output and side conversations are skipped. An unreadable file is empty: the agent may not have written it yet."""
    try:
        file = Path(path).expanduser()
        with file.open("rb") as opened:
            opened.seek(max(0, file.stat().st_size - _MAX_BYTES))
            lines = opened.read().splitlines()
    except (OSError, ValueError):
        return []
    found = (_parse_message(line) for line in lines)
    return [message for message in found if message is not None]


def _parse_message(line: bytes) -> tuple[str, str] | None:
    try:
        entry = json.loads(line)
    except (ValueError, RecursionError):
        return None
    if not isinstance(entry, dict) or entry.get("type") not in ("user", "assistant") or entry.get("isSidechain") or entry.get("isMeta"):
        return None
    held = entry.get("message")
    text = strip_reminders(_content_text(held.get("content"))) if isinstance(held, dict) else ""
    return (entry["type"], text) if text else None


def _content_text(content: Any) -> str:
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else ()
    texts = (part.get("text") for part in parts if isinstance(part, dict) and part.get("type") == "text")
    return "\n".join(text for text in texts if isinstance(text, str))
