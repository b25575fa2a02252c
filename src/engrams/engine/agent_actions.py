"""Actions of an agent on its memory, and their checks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, TypeAlias, get_args

from engrams.core import NO_META, Meta, Record, Status
from engrams.errors import InputError, RefusedError

Action: TypeAlias = Literal["create", "update", "delete"]
ACTIONS: tuple[Action, ...] = get_args(Action)
FlushReason: TypeAlias = Literal["trim", "overflow", "note"]


def check_action(content: str, action: Action, id: str, metadata: Meta = NO_META) -> None:
    """Refuse an unknown action, and one without what it needs."""
    if action not in ACTIONS:
        raise InputError(
            f"There is no action {action!r}.", hint=f"The actions are: {', '.join(ACTIONS)}."
        )
    if action == "create" and id:
        raise InputError(
            "engrams chooses the id of a new memory.",
            hint="Leave the id out, or use the action update.",
        )
    if action != "create" and not id:
        raise InputError(
            f"The id of the memory to {action} is missing.", hint="Give its id. A search shows ids."
        )
    if not isinstance(metadata, Mapping):
        raise InputError(
            "The metadata is not an object.",
            hint='Give names and values, such as {"source": "chat"}.',
        )
    if not isinstance(content, str):
        raise InputError(f"The content is text, not {type(content).__name__}.")
    if action != "delete" and not content.strip():
        raise InputError("There is nothing to remember.", hint="Give the content.")


def check_updatable(record: Record) -> None:
    """Refuse new words for a forgotten memory: they would be stored and never found."""
    if record.status is Status.FORGOTTEN:
        raise RefusedError(
            f"The memory {record.id} is forgotten.", hint="Restore it first, or create a new one."
        )
