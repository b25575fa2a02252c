"""Parts of memory that the messages of an event belong to.

``sort_turns`` makes turns of messages, by the scope that each is stored in.
"""

from __future__ import annotations

from collections.abc import Sequence

from engrams.core import NO_META, UNSEARCHED, Role, Scope, Turn
from engrams.frozen_data import dataclass
from engrams.surfaces.hook.events import HookEventMessage, message_key
from engrams.surfaces.hook.sentences_about_user import find_sentences_about_user, is_all_personal


@dataclass(frozen=True, slots=True)
class MessageScopes:
    """Parts of memory that an event may write to."""

    person: Scope
    """What holds for the user in every project."""
    project: Scope
    """Conversation; the person's own where projects are not kept apart."""
    work: Scope
    """Work on files, which belongs to their project in any case."""


def sort_turns(
    messages: Sequence[HookEventMessage], session: str, scopes: MessageScopes
) -> dict[Scope, list[Turn]]:
    """Return the turns of messages by scope, in order.

    Where projects are kept apart, a message that is only about the person is stored for the person.
    Of another message the sentences about the person are stored there besides, so that no other
    project misses them.
    """
    turns: dict[Scope, list[Turn]] = {}
    for message in messages:
        scope = scopes.work if message.of_project else scopes.project
        is_split = scopes.person != scopes.project and message.role == "user"
        personal = (
            find_sentences_about_user(message.text) if is_split and not message.of_project else ""
        )
        if personal and is_all_personal(message.text):
            scope = scopes.person
        elif personal:
            key = message_key(session, "user", personal)
            turns.setdefault(scopes.person, []).append(
                Turn(personal, "user", session=session, external_id=key)
            )
        turns.setdefault(scope, []).append(_to_turn(session, message))
    return turns


def _to_turn(session: str, message: HookEventMessage) -> Turn:
    role: Role
    if message.role == "assistant":
        role = "assistant"
    elif message.role == "tool":
        role = "tool"
    else:
        role = "user"
    meta = {UNSEARCHED: True} if message.is_passing else NO_META
    return Turn(message.text, role, session=session, external_id=message.key, meta=meta)
