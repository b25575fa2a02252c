"""Console entry of `engrams hook`: ask a running server, else answer here.

Loaded by every hook call: only small modules of the standard library.
"""

from __future__ import annotations

import json
import os
import sys
import threading
import time
from collections.abc import Sequence
from typing import Any

from engrams.ipc.command_client import CommandClient, find_option
from engrams.surfaces.hook.event_names import (
    CLAUDE_NAMES,
    HOOK_TIMEOUT_SECONDS,
    KEEP_EVENTS,
    RECALL_EVENTS,
    TOOL_EVENT,
)

_RESIDENT = "engrams.program.resident"
"""Module of the process that keeps a home open between events."""
_POLL_SECONDS = 0.02


def main(arguments: Sequence[str]) -> int:
    """Read the event, print the answer, and always return 0.

    Failures are reported on standard error. After `--seconds` the process ends without an answer.
    """
    seconds = _read_seconds(arguments)
    answers: list[str] = []
    worker = threading.Thread(target=_answer_stdin, args=(arguments, seconds, answers), daemon=True)
    worker.start()
    worker.join(seconds)
    if worker.is_alive():
        _print_warning(f"memory took longer than {seconds:g} s; the agent continues without it")
        sys.stderr.flush()
        # A thread that hangs in the store would block the interpreter, and with it the agent.
        os._exit(0)
    try:
        sys.stdout.write("".join(answers))
        sys.stdout.flush()
    except OSError:
        # The reader has gone: the rest of the buffer must not fail when the interpreter ends.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return 0


def _print_warning(text: str) -> None:
    """Print a warning to standard error."""
    sys.stderr.write(f"engrams hook: {text}\n")


def _answer_stdin(arguments: Sequence[str], seconds: float, answers: list[str]) -> None:
    try:
        raw = sys.stdin.buffer.read()
        if _is_answered(raw, arguments):
            answers.append(_ask_server(arguments, raw, seconds))
    except Exception as fault:  # noqa: BLE001 - a failing memory must not stop the agent
        _print_warning(f"{type(fault).__name__}: {fault} {getattr(fault, 'hint', '')}".rstrip())


def _ask_server(arguments: Sequence[str], raw: bytes, seconds: float) -> str:
    """Return the answer of a running server; answer in this process if there is none."""
    client = CommandClient(
        ["hook", *arguments],
        find_option(arguments, "--home"),
        raw.decode("utf-8", "replace"),
        seconds / 2,
    )
    answer = client.ask()
    if answer is None and not client.met_server and "--resident" in arguments:
        answer = await_resident(client, arguments, seconds)
    if "--verbose" in arguments:
        sys.stderr.write(client.describe_answer(answered=answer is not None))
    if answer is not None:
        sys.stderr.write(answer["err"])
        return str(answer["out"])
    from engrams.surfaces.hook.events import parse_event
    from engrams.surfaces.hook.run import answer_event, parse_arguments

    call = parse_arguments(arguments)
    event = parse_event(raw, call.event)
    return "" if event is None else answer_event(call, event)


def await_resident(
    client: CommandClient, arguments: Sequence[str], seconds: float
) -> dict[str, Any] | None:
    """Start the process that keeps the home open, and ask it; None: it is not ready in time.

    Several hooks that start at once wait for the same one. After half of the time the hook opens the
    home itself.
    """
    if not client.has_home():
        return None
    is_started = False
    deadline = time.monotonic() + seconds / 2
    while time.monotonic() < deadline:
        # Again while another one holds the lock: it may be ending.
        is_started = is_started or _start_resident(client, arguments)
        time.sleep(_POLL_SECONDS)
        answer = client.ask()
        if answer is not None or client.met_server:
            return answer
    return None


def _start_resident(client: CommandClient, arguments: Sequence[str]) -> bool:
    """Start the process that keeps the home open; False: another one holds its lock.

    The lock is handed over to it: of hooks that start at once only one starts a process, which takes
    a while on a busy machine.
    """
    lock = client.take_resident_lock()
    if lock is None:
        return False
    import subprocess

    try:
        subprocess.Popen(  # noqa: S603 - this program, detached from the agent
            [sys.executable, "-m", _RESIDENT, str(lock), *arguments],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
            pass_fds=(lock,),
        )
    finally:
        os.close(lock)
    return True


def _is_answered(raw: bytes, arguments: Sequence[str]) -> bool:
    """Check that the input is an event to act on.

    A tool use is not, if the agent writes a transcript: the event at the end of the turn reads it
    there.
    """
    try:
        body = json.loads(raw.decode("utf-8", "replace"))
    except (ValueError, RecursionError):
        body = None
    if not isinstance(body, dict):
        _print_warning("the input is no event")
        return False
    event = body.get("hook_event_name") or find_option(arguments, "--event")
    name = CLAUDE_NAMES.get(event, event) if isinstance(event, str) else ""
    is_in_transcript = event == TOOL_EVENT and (
        body.get("transcript_path") or body.get("transcriptPath")
    )
    return name in (*RECALL_EVENTS, *KEEP_EVENTS) and not is_in_transcript


def _read_seconds(arguments: Sequence[str]) -> float:
    try:
        seconds = float(find_option(arguments, "--seconds") or HOOK_TIMEOUT_SECONDS)
    except ValueError:
        return HOOK_TIMEOUT_SECONDS
    return seconds if seconds > 0 else HOOK_TIMEOUT_SECONDS
