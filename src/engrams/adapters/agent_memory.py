"""Agent memory: five calls, and two tools for any framework."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Literal

from engrams.adapters.item_journal import check_engine
from engrams.core import NO_META, Hit, Json, Kind, Meta, Record, Scope, ScopeInput, Status
from engrams.engine.agent_actions import ACTIONS, Action
from engrams.errors import EngramsError, InputError, NotFoundError, RefusedError

if TYPE_CHECKING:
    from engrams.engine import MemoryEngine


"""Characters of a memory that `search` returns at most."""
_CREATE_ONLY = "Remember something for later."
_MAX_RESULTS = 100


_TYPES: Mapping[str, Mapping[str, type]] = {
    "manage_memory": {"content": str, "action": str, "id": str},
    "search_memory": {"query": str, "limit": int},
}


class AgentMemory:
    """Manage one scope's memory for one agent.

    It needs no model, embedder or framework; nothing outside the scope is read or changed.

    ::

        memory = AgentMemory(engine, ("user", "alice"))
        agent.tools = [memory.manage_memory, memory.search_memory]

    A framework without tools from functions takes ``memory.schemas()`` and ``memory.call(…)``.
    """

    def __init__(
        self,
        engine: MemoryEngine,
        scope: ScopeInput,
        *,
        permitted: Collection[Action] = ACTIONS,
        variables: Mapping[str, str] | None = None,
    ) -> None:
        """Resolve the scope.

        ``scope``: labels, or templates (``("memories", "{user_id}")``) for ``variables``.
        ``permitted``: the actions of ``manage``. ScopeError: a variable is missing.
        """
        if unknown := set(permitted) - set(ACTIONS):
            raise InputError(
                f"There is no action {min(unknown)!r}.",
                hint=f"The actions are: {', '.join(ACTIONS)}.",
            )
        self.engine = check_engine(engine)
        self.scope = Scope.of(scope, **(variables or {}))
        self.permitted = tuple(action for action in ACTIONS if action in permitted)

    def manage(
        self, content: str = "", action: Action = "create", id: str = "", metadata: Meta = NO_META
    ) -> str:
        """Create, change or forget a memory; return its id.

        ``metadata``: kept as ``meta``, which filters see; of an update, added to what it has.
        InputError: creating with an id, changing or deleting without one, no content, no such
        action. RefusedError: not permitted, or the content holds a secret and ``write.secrets`` is
        ``refuse``. NotFoundError: no such memory in this scope.
        """
        if action in ACTIONS and action not in self.permitted:
            raise RefusedError(
                f"This agent may not {action} memories.",
                hint=f"It may: {', '.join(self.permitted) or 'nothing'}.",
            )
        record_id = self._get_visible(id).id if id and action in ("update", "delete") else id
        return self.engine.manage(content, action, record_id, scope=self.scope, metadata=metadata)

    def search(self, query: str, limit: int = 10) -> list[dict[str, Json]]:
        """Find memories that answer a query, best first.

        Each has id, score (0 to 1), a snippet of at most 500 characters, kind, time and speaker,
        and the facts learned from it (``facts``: id and text), where there are any.
        """
        # Anything but a number is refused by the engine.
        hit_limit = max(limit, 0) if isinstance(limit, int) else limit
        result = self.engine.search(query, scope=self.scope, limit=hit_limit)
        return [
            {**_describe_hit(hit), "score": round(hit.score, 4), **_facts_to_dict(hit)}
            for hit in result.hits
        ]

    def flush(
        self,
        messages: Sequence[Mapping[str, Any]],
        session: str = "",
        reason: Literal["trim", "overflow", "note"] = "trim",
    ) -> bool:
        """Store messages that leave the context; False: they hold nothing new.

        They are journaled, and written into the day's note if ``vault.enabled``.
        """
        return self.engine.flush(messages, scope=self.scope, session=session, reason=reason)

    def dream(self, days: int = 3, *, force: bool = False) -> bool:
        """Summarise today, then move lasting facts from recent notes into MEMORY.md.

        ``days``: at most 30. False: nothing new, or no notes because ``vault.enabled`` is off.
        ModelError: the chat model gave no plan that can be used; MEMORY.md stays.
        """
        return self.engine.dream(days, scope=self.scope, force=force)

    def format_for_injection(self, query: str = "", max_tokens: int | None = None) -> str:
        """Format memory as prompt text within a token budget.

        ``max_tokens`` None: ``read.context_tokens``. Empty if there is no memory.
        """
        return self.engine.format_for_injection(query, scope=self.scope, max_tokens=max_tokens)

    def deliver(
        self, query: str | Sequence[Mapping[str, Any]], session: str, max_tokens: int | None = None
    ) -> str:
        """Format the memory for one turn of a conversation, as ``delivery`` says.

        ``query``: the turn's text, or the messages so far. One turn late with ``delivery.mode``
        ``pending``; nothing twice.
        """
        return self.engine.deliver(query, scope=self.scope, session=session, tokens=max_tokens).text

    # ----------------------------------------------------------------------------------------------
    # tools

    def manage_memory(
        self, content: str = "", action: Action = "create", id: str = ""
    ) -> dict[str, Json]:
        """Remember something for later, or change or delete a memory.

        To change or delete, give the id that search_memory showed: that of one of its facts to
        delete only this.
        """
        try:
            return {"id": self.manage(content, action, id), "action": action}
        except EngramsError as problem:
            return _error_to_dict(problem)

    def search_memory(self, query: str, limit: int = 10) -> Json:
        """Search memories of earlier conversations.

        Use it before saying that something is not known.
        """
        try:
            return self.search(query, min(limit, _MAX_RESULTS) if isinstance(limit, int) else limit)
        except EngramsError as problem:
            return _error_to_dict(problem)

    def schemas(self) -> list[dict[str, Json]]:
        """Return both tools as JSON schemas, which speak of permitted actions only."""
        content = {
            "type": "string",
            "description": "One statement that stands on its own. Not needed to delete.",
        }
        action = {
            "type": "string",
            "enum": list(self.permitted),
            "description": "What to do; create if left out.",
        }
        id = {
            "type": "string",
            "description": "Of the memory to update or delete; never for create.",
        }
        query = {"type": "string", "description": "What to look for, in plain words."}
        limit = {"type": "integer", "minimum": 1, "maximum": _MAX_RESULTS, "default": 10}
        manage = _tool_schema(
            self.manage_memory, {"content": content, "action": action, "id": id}, []
        )
        find = _tool_schema(self.search_memory, {"query": query, "limit": limit}, ["query"])
        if self.permitted == ("create",):
            text = {"type": "string", "description": "One statement that stands on its own."}
            manage = _tool_schema(self.manage_memory, {"content": text}, ["content"], _CREATE_ONLY)
        return [manage, find] if self.permitted else [find]

    def call(self, name: str, arguments: str | Mapping[str, Any]) -> str:
        """Run a model's tool call; return JSON text, also for errors."""
        tools: dict[str, Callable[..., Json]] = {
            "manage_memory": self.manage_memory,
            "search_memory": self.search_memory,
        }
        try:
            if name not in tools:
                raise NotFoundError(
                    f"There is no tool {name!r}.", hint=f"The tools are: {', '.join(tools)}."
                )
            return json.dumps(tools[name](**_check_arguments(name, arguments)), ensure_ascii=False)
        except EngramsError as problem:
            return json.dumps(_error_to_dict(problem), ensure_ascii=False)

    def _get_visible(self, id: str) -> Record:
        """Get a record visible in this scope. NotFoundError: it is elsewhere."""
        record = self.engine.get(id, scope=self.scope)
        size = len(self.scope.labels)
        if (
            self.scope.is_owner
            or record.scope in self.scope.chain()
            or record.scope.labels[:size] == self.scope.labels
        ):
            return record
        raise NotFoundError(f"There is no memory {id!r} here.", hint="A search shows the ids.")


def _error_to_dict(problem: EngramsError) -> dict[str, Json]:
    return {"error": problem.message, "hint": problem.hint}


def _facts_to_dict(hit: Hit) -> dict[str, Json]:
    facts = [
        {"id": fact.id, "text": fact.text} for fact in hit.facts if fact.status is Status.ACTIVE
    ]
    return {"facts": facts} if facts else {}


def _describe_hit(hit: Hit) -> dict[str, Json]:
    record = hit.record
    moment: datetime = (record.valid_from or record.recorded_at).astimezone(UTC)
    kind: Kind = record.kind
    return {
        "id": record.id,
        "snippet": hit.snippet,
        "kind": kind.value,
        "at": moment.isoformat(),
        "by": record.speaker or record.role,
    }


def _tool_schema(
    tool: Callable[..., Any],
    properties: Mapping[str, Json],
    required: list[str],
    description: str = "",
) -> dict[str, Json]:
    """Describe a callable as a tool; without ``description`` by its docstring."""
    parameters = {
        "type": "object",
        "properties": dict(properties),
        "required": required,
        "additionalProperties": False,
    }
    function = {
        "name": tool.__name__,
        "description": description or " ".join((tool.__doc__ or "").split()),
        "parameters": parameters,
    }
    return {"type": "function", "function": function}


def _check_arguments(name: str, arguments: str | Mapping[str, Any]) -> dict[str, Any]:
    """Parse and check a model's arguments; nulls are dropped."""
    try:
        data = json.loads(arguments or "{}") if isinstance(arguments, str) else dict(arguments)
    except (TypeError, ValueError):
        raise InputError("The arguments are not JSON.", hint="Give one JSON object.") from None
    if not isinstance(data, dict):
        raise InputError("The arguments are not a JSON object.", hint="Give one JSON object.")
    argument_types = _TYPES[name]
    # JSON has one kind of number: some models write 3.0.
    data = {
        key: int(value) if isinstance(value, float) and value.is_integer() else value
        for key, value in data.items()
    }
    for key, value in data.items():
        if key not in argument_types:
            raise InputError(
                f"{name} takes no {key!r}.", hint=f"It takes: {', '.join(argument_types)}."
            )
        if value is not None and (
            not isinstance(value, argument_types[key]) or isinstance(value, bool)
        ):
            raise InputError(
                f"{key} is {'a whole number' if argument_types[key] is int else 'a text'}.",
                hint="See the tool's schema.",
            )
    if name == "search_memory" and not data.get("query"):
        raise InputError("The query is missing.", hint="Give the query.")
    return {key: value for key, value in data.items() if value is not None}
