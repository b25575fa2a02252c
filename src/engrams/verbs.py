"""Verbs of an agent's memory (001)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, get_args

from engrams.errors import InputError
from engrams.types import Context, Receipt, Record, Scope, ScopeInput

if TYPE_CHECKING:
    from engrams.ports import MemoryFiles
    from engrams.session.summary import ConversationSummaries

Action: TypeAlias = Literal["create", "update", "delete"]
ACTIONS: tuple[Action, ...] = get_args(Action)
FlushReason: TypeAlias = Literal["trim", "overflow", "note"]


class MemoryVerbs:
    """Verbs over the methods of an engine, which inherits them."""

    if TYPE_CHECKING:

        @property
        def vault(self) -> MemoryFiles | None: ...
        @property
        def summaries(self) -> ConversationSummaries: ...
        def add(self, what: str, *, scope: ScopeInput) -> Receipt: ...
        def edit(self, id: str, *, scope: ScopeInput, text: str, reason: str) -> Record: ...
        def forget(self, id: str, *, scope: ScopeInput, reason: str) -> Record: ...
        def context(self, query: str, *, scope: ScopeInput, tokens: int | None) -> Context: ...
        def drain(self) -> bool: ...

    def manage(self, content: str = "", action: Action = "create", id: str = "", *, scope: ScopeInput) -> str:
        """Create, change or forget a memory; return its id.

        InputError: creating with an id, changing or putting away without one, no content, no such action. RefusedError: the content holds a
        secret and ``write.secrets`` is ``refuse``. NotFoundError: no such memory of this owner."""
        if action not in ACTIONS:
            raise InputError(f"There is no action {action!r}.", hint=f"The actions are: {', '.join(ACTIONS)}.")
        if action == "create" and id:
            raise InputError("A new memory gets its id from memory.", hint="Leave the id out, or use the action update.")
        if action != "create" and not id:
            raise InputError(f"No memory to {action} was named.", hint="Give its id, as a search shows it.")
        if action != "delete" and not content.strip():
            raise InputError("There is nothing to remember.", hint="Give the content.")
        if action == "create":
            return self.add(content, scope=scope).id
        if action == "update":
            return self.edit(id, scope=scope, text=content, reason="an agent changed it").id
        return self.forget(id, scope=scope, reason="an agent put it away").id

    def flush(self, messages: Sequence[Mapping[str, Any]], *, scope: ScopeInput, session: str = "", reason: FlushReason = "trim") -> bool:
        """Store messages that leave the context; False: they hold nothing.

        They are journaled, and written into the day's note if ``vault.enabled``."""
        return self.summaries.flush(messages, scope=scope, session=session, reason=reason)

    def dream(self, days: int = 3, *, scope: ScopeInput, force: bool = False) -> bool:
        """Move lasting facts from recent notes into MEMORY.md.

        ``days``: at most 30. False: nothing new, or no notes because ``vault.enabled`` is off."""
        if self.vault is None:
            return False
        self.drain()
        return self.vault.dream(Scope.of(scope).owner, days, force=force)

    def format_for_injection(self, query: str = "", *, scope: ScopeInput, max_tokens: int | None = None) -> str:
        """Format memory as prompt text within a token budget.

        ``max_tokens`` None: ``read.context_tokens``. Empty if there is no memory."""
        return self.context(query, scope=scope, tokens=max_tokens).text
