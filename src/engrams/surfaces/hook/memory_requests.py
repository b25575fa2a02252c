"""Requests about memory in a prompt, such as "forget that …", answered before the model does.

A model would claim that it has forgotten something. ``answer_request`` lets memory do what was asked,
or ask back, and returns what it says. Neither the request nor the model's answer is stored.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from engrams.surfaces.hook.events import AgentHookEvent, message_key
from engrams.surfaces.hook.session_ledger import SessionLedger
from engrams.text.tag_escape import escape_tags

if TYPE_CHECKING:
    from engrams.core import Scope
    from engrams.engine import MemoryEngine

_FRAME = (
    "<memory_answer>\nThe user asked the memory, and it answered itself. Pass its answer on, and claim"
    " nothing else of the memory.\n{reply}\n</memory_answer>"
)


def answer_request(
    engine: MemoryEngine, event: AgentHookEvent, scope: Scope, ledger: SessionLedger
) -> str:
    """Carry out the request about memory that a prompt is; empty: it is none.

    An agent that drops what a hook says to a prompt is left alone: nobody would see the answer.
    """
    is_seen = event.style != "camel"
    is_on = engine.settings.serve.memory_requests and bool(event.session)
    if event.name != "UserPromptSubmit" or not event.prompt or not (is_seen and is_on):
        return ""
    result = engine.control.converse_beside_work(
        event.prompt, scope=scope, session=event.session, is_next=ledger.is_asking_memory
    )
    if result is None:
        ledger.note_work()
        return ""
    ledger.note_request(message_key(event.session, "user", event.prompt))
    ledger.add(result.pending["ids"] if result.pending else ())
    return result.reply


def frame_reply(reply: str) -> str:
    """Return what the model reads of memory's answer."""
    return _FRAME.format(reply=escape_tags(reply))
