"""One hook call from its event to its answer. It never stands in the agent's way: no failure and no delay reaches it."""

from __future__ import annotations

import hashlib
import os
import sys
import threading
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from engrams.surfaces.hook import event as events
from engrams.surfaces.hook.event import HookEvent

if TYPE_CHECKING:
    from engrams.engine import MemoryEngine
    from engrams.types import Scope, Turn

SECONDS = 5.0
_LEARNING_SHARE = 0.4
"""Share of the time that learning from what was said may take, where nobody waits for an answer."""


@dataclass(frozen=True, slots=True)
class HookCall:
    """How a call is to be answered. ``settings``: dotted names to values, as ``engrams.settings.load`` takes them."""

    settings: dict[str, Any] = field(default_factory=dict)
    project: str = ""
    tokens: int | None = None
    seconds: float = SECONDS


def run_hook(call: HookCall) -> int:
    """Read the event from standard input, answer on standard output, and give 0, whatever happens.

    What goes wrong is told on standard error. After ``call.seconds`` the process ends without an answer.
    """
    told: list[str] = []
    worker = threading.Thread(target=_answer_stdin, args=(call, told), daemon=True)
    worker.start()
    worker.join(call.seconds)
    if worker.is_alive():
        _print_warning(f"memory took longer than {call.seconds:g} s; the agent goes on without it")
        sys.stderr.flush()
        # A thread that hangs in the store would keep the interpreter, and with it the agent, from going on.
        os._exit(0)
    try:
        sys.stdout.write("".join(told))
        sys.stdout.flush()
    except OSError:
        # Nobody listens any more. What is left in the buffer must not fail when the interpreter ends.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return 0


def answer_event(call: HookCall, event: HookEvent) -> str:
    """What a hook says: memory is read, and what was said is kept."""
    from engrams.build import open as open_engine
    from engrams.settings import load
    from engrams.types import Scope

    settings = load(call.settings).settings
    if not settings.enabled:
        return ""
    waits = event.name in events.RECALL_EVENTS
    scope, name = Scope(("user", settings.owner)), events.project_name(event, call.project)
    if waits:
        # The agent waits: what was said is learned from at the end of the turn.
        settings = settings.model_copy(update={"jobs": settings.jobs.model_copy(update={"workers": 0})})
    with open_engine(settings) as engine:
        place = scope.within("project", name) if name else scope
        text = _recall_and_keep(engine, event, place, call.tokens)
        # A session that the store does not know is one in which nothing was said.
        if event.name == "SessionEnd" and event.session and engine.sessions.state(event.session, scope=place) != "absent":
            engine.sessions.end(event.session, scope=place)
        if not waits:
            engine.drain(call.seconds * _LEARNING_SHARE)
    return events.format_reply(event, text)


def _recall_and_keep(engine: MemoryEngine, event: HookEvent, scope: Scope, tokens: int | None) -> str:
    """First what is known, so that what is said now is not told back; then what is said is kept."""
    text = ""
    if event.name == "SessionStart":
        text = engine.context("", scope=scope, tokens=tokens).text
    elif event.name == "UserPromptSubmit" and event.prompt:
        made = engine.context(event.prompt, scope=scope, tokens=tokens)
        # The stable profile was given when the session began.
        text = "" if made.abstain else made.tail
    turns = _new_turns(event)
    if turns:
        engine.observe(turns, scope=scope)
    return text


def _new_turns(event: HookEvent) -> list[Turn]:
    """What this event adds: the prompt, or all that the transcript has to say; what was kept before has the same id."""
    from engrams.surfaces.hook.transcript import read_messages

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


def _answer_stdin(call: HookCall, told: list[str]) -> None:
    try:
        event = events.parse_event(sys.stdin.buffer.read())
        if event is None:
            _print_warning("what came in is no event")
            return
        if event.name in (*events.RECALL_EVENTS, *events.KEEP_EVENTS):
            told.append(answer_event(call, event))
    except Exception as fault:  # noqa: BLE001 - whatever is wrong with memory, the agent must go on
        _print_warning(f"{type(fault).__name__}: {fault} {getattr(fault, 'hint', '')}".rstrip())


def _print_warning(text: str) -> None:
    sys.stderr.write(f"engrams hook: {text}\n")


def main(arguments: Sequence[str]) -> int:
    """``engrams hook``, read without the command line's own parser, which alone takes longer to load than the rest."""
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
            _print_warning(f"there is no option {' '.join(unknown)}; it is passed over")
    except argparse.ArgumentError as fault:
        _print_warning(f"{fault}; the agent goes on without memory")
        return 0
    pairs = dict(text.split("=", 1) for text in given.set if "=" in text)
    settings = {**pairs, "home": given.home, "preset": given.preset, "user": given.user, "test": given.test}
    seconds = given.seconds if given.seconds > 0 else SECONDS
    return run_hook(HookCall({name: value for name, value in settings.items() if value is not None}, given.project, given.tokens, seconds))
