"""Run one hook call: recall, store, answer."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Sequence
from typing import TYPE_CHECKING

from engrams.surfaces.hook.agentevents import (
    KEEP_EVENTS,
    RECALL_EVENTS,
    SECONDS,
    AgentHookEvent,
    HookCallOptions,
    HookEventMessage,
    format_reply,
    new_messages,
    parse_event,
    project_name,
)
from engrams.surfaces.hook.serverrecall import answer_by_server

if TYPE_CHECKING:
    from engrams.engine import MemoryEngine
    from engrams.settings import Settings
    from engrams.types import Scope, Turn

_LEARNING_SHARE = 0.4
"""Share of the time for extracting facts when no answer is awaited."""


def run_hook(call: HookCallOptions) -> int:
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


def answer_event(call: HookCallOptions, event: AgentHookEvent) -> str:
    """Recall memory for the event, store its messages, return the answer.

    A running server of the same home does it; without one the home is opened here."""
    messages = new_messages(event)
    served = answer_by_server(call, event, messages)
    return format_reply(event, answer_here(call, event, messages) if served is None else served)


def answer_here(call: HookCallOptions, event: AgentHookEvent, messages: Sequence[HookEventMessage]) -> str:
    """Answer the event with an engine opened in this process."""
    from engrams.build import open as open_engine
    from engrams.settings import load
    from engrams.types import Scope

    settings = load(call.settings).settings
    if not settings.enabled:
        return ""
    # An agent calls the hook many times in one session; its own event ends it.
    settings = settings.model_copy(update={"sessions": settings.sessions.model_copy(update={"end_on_close": "led"})})
    waits = event.name in RECALL_EVENTS
    late = settings.delivery.mode == "pending" and bool(event.session)
    scope, name = Scope(("user", settings.owner)), project_name(event, call.project)
    if waits:
        settings = _without_waiting(settings)
    with open_engine(settings, background=False) as engine:
        place = scope.within("project", name) if name else scope
        text = _recall(engine, event, place, call.tokens, late=late)
        if messages:
            # Recall comes first, so that new messages are not recalled.
            engine.observe([_to_turn(event.session, message) for message in messages], scope=place)
        # A session unknown to the store has no messages.
        if event.name == "SessionEnd" and event.session and engine.sessions.state(event.session, scope=place) != "absent":
            engine.sessions.end(event.session, scope=place)
        if not waits:
            engine.drain(call.seconds * _LEARNING_SHARE)
    return text


def _without_waiting(settings: Settings) -> Settings:
    """Settings of a process that an agent waits for.
    Facts are extracted at the end of its turn, no language model judges, and what is late is read by the next process."""
    update: dict[str, object] = {
        "jobs": settings.jobs.model_copy(update={"workers": 0}),
        "delivery": settings.delivery.model_copy(update={"mode": "sync"}),
    }
    if settings.rerank.provider == "listwise":
        update["rerank"] = settings.rerank.model_copy(update={"provider": "none"})
    return settings.model_copy(update=update)


def _recall(engine: MemoryEngine, event: AgentHookEvent, scope: Scope, tokens: int | None, *, late: bool) -> str:
    if event.name == "SessionStart":
        return engine.context("", scope=scope, tokens=tokens).text
    if event.name != "UserPromptSubmit" or not event.prompt:
        return ""
    if not late:
        made = engine.context(event.prompt, scope=scope, tokens=tokens)
    elif before := _last_prompt(engine, event.session, scope):
        made = engine.deliver(before, scope=scope, session=event.session, tokens=tokens)
    else:
        return ""
    # The stable profile was sent at the start of the session.
    return "" if made.abstain else made.tail


def _last_prompt(engine: MemoryEngine, session: str, scope: Scope) -> str:
    """User's message before this one, whose memories are delivered now."""
    from engrams.types import Kind, Status

    kept = (Status.ACTIVE, Status.ARCHIVED)
    page = engine.list(scope=scope, kinds=(Kind.TURN,), statuses=kept, session=session, order="newest", limit=20)
    return next((record.text for record in page.records if record.role == "user"), "")


def _to_turn(session: str, message: HookEventMessage) -> Turn:
    from engrams.types import Turn

    return Turn(message.text, "assistant" if message.role == "assistant" else "user", session=session, external_id=message.key)


def _answer_stdin(call: HookCallOptions, told: list[str]) -> None:
    try:
        event = parse_event(sys.stdin.buffer.read(), call.event)
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
    parser.add_argument("--event", default="")
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
    chosen = {name: value for name, value in settings.items() if value is not None}
    seconds = given.seconds if given.seconds > 0 else SECONDS
    return run_hook(HookCallOptions(chosen, given.project, given.tokens, seconds, given.event))
