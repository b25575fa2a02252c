"""Calls of an agent's memory over an engine (001)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, TypeAlias, get_args

from engrams.errors import InputError
from engrams.types import Scope, ScopeInput

if TYPE_CHECKING:
    from engrams.engine import MemoryEngine

Action: TypeAlias = Literal["create", "update", "delete"]
ACTIONS: tuple[Action, ...] = get_args(Action)
FlushReason: TypeAlias = Literal["trim", "overflow", "note"]


def manage(engine: MemoryEngine, content: str, action: Action, id: str, scope: ScopeInput) -> str:
    """Create, change or forget a memory; return its id."""
    if action not in ACTIONS:
        raise InputError(f"There is no action {action!r}.", hint=f"The actions are: {', '.join(ACTIONS)}.")
    if action == "create" and id:
        raise InputError("A new memory gets its id from memory.", hint="Leave the id out, or use the action update.")
    if action != "create" and not id:
        raise InputError(f"No memory to {action} was named.", hint="Give its id, as a search shows it.")
    if action != "delete" and not content.strip():
        raise InputError("There is nothing to remember.", hint="Give the content.")
    if action == "create":
        return engine.add(content, scope=scope).id
    if action == "update":
        return engine.edit(id, scope=scope, text=content, reason="an agent changed it").id
    return engine.forget(id, scope=scope, reason="an agent put it away").id


def dream(engine: MemoryEngine, days: int, scope: ScopeInput, force: bool) -> bool:
    """Move lasting facts from recent notes into MEMORY.md."""
    if engine.vault is None:
        return False
    engine.drain()
    return engine.vault.dream(Scope.of(scope).owner, days, force=force)
