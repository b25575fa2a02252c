"""Run one hook call: recall, store, answer."""

from __future__ import annotations

import argparse
import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from engrams.errors import InputError
from engrams.ipc.command_server import DeclinedCallError
from engrams.ipc.served_command import CURRENT
from engrams.settings.project_name import resolve_project
from engrams.surfaces.hook.event_names import HOOK_TIMEOUT_SECONDS, RECALL_EVENTS
from engrams.surfaces.hook.events import (
    AgentHookEvent,
    HookCallOptions,
    format_reply,
    new_messages,
    parse_event,
)

if TYPE_CHECKING:
    from engrams.core import Receipt, Scope
    from engrams.engine import MemoryEngine
    from engrams.settings import Settings
    from engrams.surfaces.hook.message_scopes import MessageScopes
    from engrams.surfaces.hook.recall import RecallTarget
    from engrams.surfaces.hook.session_ledger import SessionLedger

_LEARNING_SHARE = 0.4
"""Share of the time for extracting facts when no answer is awaited."""


def answer_event(call: HookCallOptions, event: AgentHookEvent) -> str:
    """Answer an event with an engine opened in this process.

    Recalls memory and stores the event's messages.
    """
    from engrams.composition import open as open_engine
    from engrams.settings import load

    settings = load(call.settings).settings
    if not settings.enabled:
        return ""
    # An agent calls the hook many times in one session; its own event ends it.
    opened = settings.model_copy(
        update={"sessions": settings.sessions.model_copy(update={"end_on_close": "led"})}
    )
    waits = event.name in RECALL_EVENTS
    with open_engine(_without_waiting(opened) if waits else opened, background=False) as engine:
        answer = answer_with(engine, call, event, settings)
        if not waits:
            engine.drain(call.seconds * _LEARNING_SHARE)
    return answer


def run_served(arguments: Sequence[str]) -> int:
    """Answer the event of a hook that asked this process.

    DeclinedCallError: the hook answers it itself.
    """
    from engrams.settings import load

    served = CURRENT.get()
    call = parse_arguments(arguments)
    event = parse_event(served.call.stdin.encode(), call.event) if served else None
    if served is None or event is None:
        raise DeclinedCallError("it is no event")
    if event.transcript and not _is_accessible(event.transcript):
        raise DeclinedCallError("the transcript cannot be read here")
    home = served.find_home(call.settings.get("home"))
    settings = load({**call.settings, "home": home}, served.call.environ).settings
    if not settings.enabled:
        return 0
    if (
        event.name in RECALL_EVENTS
        and _without_waiting(settings, workers=settings.jobs.workers) != settings
    ):
        raise DeclinedCallError("a language model or a turn before would have to be waited for")
    served.out.write(answer_with(served.open(settings, writes=False), call, event, settings))
    return 0


def _is_accessible(transcript: str) -> bool:
    """Return True for a file to read, or none yet."""
    try:
        Path(transcript).stat()
    except FileNotFoundError:
        return transcript.startswith("/")
    except (OSError, ValueError):
        return False
    return transcript.startswith("/") and os.access(transcript, os.R_OK)


def answer_with(
    engine: MemoryEngine, call: HookCallOptions, event: AgentHookEvent, settings: Settings
) -> str:
    """Recall for an event, store its messages, end its session; return what the agent reads."""
    from engrams.core import Scope
    from engrams.surfaces.hook.memory_requests import answer_request, frame_reply
    from engrams.surfaces.hook.message_scopes import MessageScopes
    from engrams.surfaces.hook.recall import RecallTarget
    from engrams.surfaces.hook.session_ledger import SessionLedger

    name = resolve_project(call.project, event.folder, settings.home)
    scope = Scope(("user", settings.owner))
    project_scope = scope.within("project", name) if name else scope
    # Without a project no code belongs to a memory.
    checkout = Path(event.folder) if name and os.path.isabs(event.folder) else None  # noqa: PTH117 - quick
    ledger = SessionLedger(settings.home.expanduser(), event.session)
    notice = answer_request(engine, event, project_scope, ledger)
    if notice:
        return format_reply(event, frame_reply(notice), notice)
    text = _recall(
        engine,
        event,
        RecallTarget(project_scope, checkout, call.tokens),
        ledger,
        late=settings.delivery.mode == "pending" and bool(event.session),
    )
    # Recall comes first, so that new messages are not recalled. Work on files belongs to their
    # project, whoever else reads it.
    folder = name or resolve_project(".", event.folder, settings.home)
    work_scope = scope.within("project", folder) if folder else project_scope
    scopes = MessageScopes(person=scope, project=project_scope, work=work_scope)
    receipts = _store_messages(engine, event, ledger, scopes, checkout)
    if event.prompt and any(receipt.outcome == "unsaved" for receipt in receipts):
        notice = engine.control.describe_receipt(event.prompt, receipts[0])
    match event.name:
        case "SessionStart":
            _take_in_unfinished(engine, event, ledger, scopes, checkout)
        case "UserPromptSubmit":
            ledger.open_turn(event.transcript, project_scope.key)
        case "Stop" | "SessionEnd":
            ledger.close_turn()
        case _:
            pass
    # A session unknown to the store has no messages.
    if (
        event.name == "SessionEnd"
        and event.session
        and engine.sessions.state(event.session, scope=project_scope) != "absent"
    ):
        engine.sessions.end(event.session, scope=project_scope)
    return format_reply(event, text, notice)


def _store_messages(
    engine: MemoryEngine,
    event: AgentHookEvent,
    ledger: SessionLedger,
    scopes: MessageScopes,
    checkout: Path | None,
) -> list[Receipt]:
    """Store the new messages of an event, without requests about memory and their answers."""
    from engrams.core import is_blank
    from engrams.surfaces.hook.message_scopes import sort_turns

    event_messages = new_messages(
        event, ledger.request_keys, is_after_request=ledger.is_asking_memory
    )
    messages = [message for message in event_messages if not is_blank(message.text)]
    receipts: list[Receipt] = []
    for scope, turns in sort_turns(messages, event.session, scopes).items():
        receipts += engine.observe(turns, scope=scope, checkout=checkout)
    return receipts


def _take_in_unfinished(
    engine: MemoryEngine,
    event: AgentHookEvent,
    ledger: SessionLedger,
    scopes: MessageScopes,
    checkout: Path | None,
) -> None:
    """Store what crashed sessions of this project left in their transcripts.

    A session that still runs loses nothing by it: each message is stored once.
    """
    from engrams.surfaces.hook.session_ledger import SessionLedger

    for session, transcript in ledger.list_unfinished(scopes.project.key):
        end = AgentHookEvent("Stop", session, transcript=transcript, folder=event.folder)
        crashed = SessionLedger(engine.settings.home.expanduser(), session)
        _store_messages(engine, end, crashed, scopes, checkout)
        crashed.close_turn()


def _without_waiting(settings: Settings, workers: int = 0) -> Settings:
    """Settings of a process that an agent waits for.

    Facts are extracted at the end of the agent's turn, and no language model judges. The next
    process does the work that this one leaves.
    """
    update: dict[str, object] = {
        "jobs": settings.jobs.model_copy(update={"workers": workers}),
        "delivery": settings.delivery.model_copy(update={"mode": "sync"}),
    }
    if settings.rerank.provider == "listwise":
        update["rerank"] = settings.rerank.model_copy(update={"provider": "none"})
    return settings.model_copy(update=update)


def _recall(
    engine: MemoryEngine,
    event: AgentHookEvent,
    target: RecallTarget,
    ledger: SessionLedger,
    *,
    late: bool,
) -> str:
    from engrams.surfaces.hook.recall import SessionRecall

    if event.name not in RECALL_EVENTS:
        return ""
    recall = SessionRecall(engine, target, ledger)
    if event.name == "SessionStart":
        return recall.start(event)
    if not late:
        return recall.for_prompt(event)
    last_prompt = _last_prompt(engine, event.session, target.scope) if event.prompt else ""
    if not last_prompt:
        return ""
    recalled = engine.deliver(
        last_prompt,
        scope=target.scope,
        session=event.session,
        tokens=target.tokens,
        checkout=target.checkout,
    )
    # The stable profile was sent at the start of the session.
    return "" if recalled.abstain else recalled.tail


def _last_prompt(engine: MemoryEngine, session: str, scope: Scope) -> str:
    """Return the user's message before this one, whose memories are delivered now."""
    from engrams.core import Kind, Status

    statuses = (Status.ACTIVE, Status.ARCHIVED)
    page = engine.list(
        scope=scope,
        kinds=(Kind.TURN,),
        statuses=statuses,
        session=session,
        order="newest",
        limit=20,
    )
    return next((record.text for record in page.records if record.role == "user"), "")


def parse_arguments(arguments: Sequence[str]) -> HookCallOptions:
    """Parse the arguments without the slow command parser.

    InputError: they are wrong.
    """
    parser = argparse.ArgumentParser(
        prog="engrams hook", add_help=False, exit_on_error=False, allow_abbrev=False
    )
    parser.add_argument("--home")
    parser.add_argument("--preset")
    parser.add_argument("--user", "-u")
    parser.add_argument("--test", action="store_true", default=None)
    parser.add_argument("--verbose", action="store_true")
    parser.add_argument("--json", action="store_true", help="as it is: agents read JSON")
    parser.add_argument("--resident", action="store_true", help="read by the entry")
    parser.add_argument("--project", default="")
    parser.add_argument("--tokens", type=int)
    parser.add_argument("--event", default="")
    parser.add_argument("--seconds", type=float, default=HOOK_TIMEOUT_SECONDS)
    parser.add_argument("--set", action="append", default=[])
    try:
        options, unknown = parser.parse_known_args(list(arguments))
    except argparse.ArgumentError as fault:
        raise InputError(f"{fault}.", hint="The agent continues without memory.") from None
    if unknown:
        # Without a mistyped --project memory would cross projects.
        raise InputError(
            f"A hook takes no option {unknown[0]}.", hint="The agent continues without memory."
        )
    pairs = dict(text.split("=", 1) for text in options.set if "=" in text)
    settings = {
        **pairs,
        "home": options.home,
        "preset": options.preset,
        "user": options.user,
        "test": options.test,
    }
    chosen = {name: value for name, value in settings.items() if value is not None}
    seconds = options.seconds if options.seconds > 0 else HOOK_TIMEOUT_SECONDS
    return HookCallOptions(
        settings=chosen,
        project=options.project,
        tokens=options.tokens,
        seconds=seconds,
        event=options.event,
    )
