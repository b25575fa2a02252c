"""Ordered JSON items of a conversation, kept as turns of memory."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from inspect import iscoroutinefunction
from itertools import islice
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, TypeVar

from engrams.core import UNSEARCHED, Json, Kind, Record, Role, Scope, ScopeInput, Status, Turn
from engrams.errors import InputError, RefusedError
from engrams.ports import Condition, Where
from engrams.text.system_texts import remove_system_texts

if TYPE_CHECKING:
    from engrams.engine import MemoryEngine

ITEM = "item"
"""Metadata that holds an item of a framework, with the adapter's name."""

LISTED_STATUSES = (Status.ACTIVE, Status.ARCHIVED, Status.SUPERSEDED)
"""Statuses of the items that a framework gets back: neither forgotten nor purged."""

Order: TypeAlias = Literal["newest", "oldest"]

T = TypeVar("T")

_PAGE = 500
"""Records that one query lists."""
_MAX_SESSION_CHARS = 200


@dataclass(frozen=True, slots=True)
class FrameworkItem:
    """Message or entry of an agent framework, with its text."""

    data: Json
    """The item as the framework wrote it."""
    text: str
    role: Role = "user"
    is_speech: bool = True
    """A person or the agent said it.

    Other items (calls of tools, results, marks) are stored, but no search returns them.
    """
    key: str = ""
    """The framework's id of the item; an item with a known key is not stored again."""


def make_silent_item(data: Json, key: str = "") -> FrameworkItem:
    """Make an item that is stored but never found by search."""
    label = data.get("type") if isinstance(data, Mapping) else ""
    return FrameworkItem(data, f"[{label or 'item'}]", "tool", is_speech=False, key=key)


class FrameworkItemJournal:
    """Ordered items of one conversation, stored as turns of memory.

    Thread safe.
    """

    def __init__(
        self,
        engine: MemoryEngine,
        scope: ScopeInput,
        adapter: str,
        conversation_key: Mapping[str, str],
        session: str,
    ) -> None:
        """Open the journal of one conversation.

        ``conversation_key``: fields that distinguish it from the adapter's other conversations.
        ``session``: the session of its turns.
        """
        self._engine = check_engine(engine)
        self.scope = Scope.of(scope)
        self._mark = {"adapter": adapter, **conversation_key}
        self._session = session
        self._lock = threading.Lock()

    def append(self, items: Sequence[FrameworkItem]) -> None:
        """Store items in one durable write."""
        if not items:
            return
        turns = [self._to_turn(item) for item in items]
        if keys := {turn.external_id for turn in turns} - {""}:
            self._finish_erasing(keys)
        receipts = self._engine.write_turns(turns, self.scope, Kind.TURN)
        if self._engine.settings.enabled and any(
            receipt.outcome == "refused" for receipt in receipts
        ):
            raise RefusedError(
                "An item was not stored: it contains a secret.",
                hint="Remove it, or set `write.secrets` to redact.",
            )

    def read(self, limit: int | None = None) -> list[Json]:
        """Return the latest ``limit`` items (None: all), oldest first."""
        if limit is None:
            return [data for _, data in self._iter_items("oldest")]
        return [data for _, data in islice(self._iter_items("newest"), limit)][::-1]

    def pop(self) -> Json | None:
        """Erase the newest item and return it; None if there is none."""
        with self._lock:
            id, data = next(self._iter_items("newest"), ("", None))
            if id:
                self._engine.purge(id, scope=self.scope, later=True)
            return data

    def clear(self) -> None:
        """Erase every item, with what was learned from them alone."""
        with self._lock:
            if ids := [record.id for record in self._list_records("oldest")]:
                self._engine.purge(ids, scope=self.scope, later=True)

    def _to_turn(self, item: FrameworkItem) -> Turn:
        data = {**self._mark, "data": item.data}
        if item.is_speech and not (own_text := remove_system_texts(item.text)):
            return self._to_turn(make_silent_item(item.data, item.key))
        meta = (
            {ITEM: {**data, "text": own_text}} if item.is_speech else {ITEM: data, UNSEARCHED: True}
        )
        key = hash_key(*self._mark.values(), item.key) if item.key else ""
        return Turn(
            item.text,
            role=item.role,
            session=label_session(self._session),
            external_id=key,
            meta=meta,
        )

    def _finish_erasing(self, keys: Collection[str]) -> None:
        """Purge forgotten items with one of these keys, so that they can be stored again."""
        forgotten = self._list_records("oldest", (Status.FORGOTTEN,))
        if ids := [record.id for record in forgotten if record.external_id in keys]:
            self._engine.purge(ids, scope=self.scope)

    def _list_records(
        self, order: Order, statuses: Sequence[Status] = LISTED_STATUSES
    ) -> Iterator[Record]:
        return list_items(
            self._engine, self.scope, self._mark, order, session=self._session, statuses=statuses
        )

    def _iter_items(self, order: Order) -> Iterator[tuple[str, Json]]:
        """Yield ids and items.

        A record whose data was removed by hand is skipped.
        """
        for record in self._list_records(order):
            if "data" in record.meta[ITEM]:
                yield record.id, read_item(record)["data"]


def check_engine(engine: MemoryEngine) -> MemoryEngine:
    """Return the engine.

    InputError: it is no engine, or the engine for asyncio.
    """
    observe = getattr(type(engine), "observe", None)
    if observe is None or iscoroutinefunction(observe):
        hint = "Give the engine that engrams.open returns: adapters run it on threads themselves."
        raise InputError(
            f"An adapter takes a MemoryEngine, not {type(engine).__name__}.", hint=hint
        )
    return engine


async def run_to_end(function: Callable[..., T], *arguments: Any) -> T:
    """Run a change in a thread; a cancelled call waits for its end.

    The caller that sees ``CancelledError`` so knows that the change is complete.
    """
    task = asyncio.ensure_future(asyncio.to_thread(function, *arguments))
    cancelled = False
    while not task.done():
        try:
            await asyncio.wait({task})
        except asyncio.CancelledError:
            cancelled = True
    if cancelled:
        raise asyncio.CancelledError
    return task.result()


def list_items(
    engine: MemoryEngine,
    scope: Scope,
    mark: Mapping[str, str],
    order: Order = "oldest",
    *,
    session: str = "",
    **fields: Any,
) -> Iterator[Record]:
    """Yield an adapter's records of exactly this scope, page by page.

    ``mark``: the adapter, and fields of its items that must be equal. ``session``: that of all its
    items; it makes the query quick.
    """
    equal_fields = tuple(
        Condition(f"meta.{ITEM}.{name}", "eq", value) for name, value in mark.items()
    )
    where = Where("and", (Condition("scope", "eq", scope.key), *equal_fields))
    return list_matching(
        engine,
        scope,
        where,
        order,
        **({"session": label_session(session)} if session else {}),
        **fields,
    )


def list_matching(
    engine: MemoryEngine, scope: Scope, where: Where, order: Order, **fields: Any
) -> Iterator[Record]:
    """Yield the matching records in reach of a scope, page by page."""
    after = ""
    page_size = min(_PAGE, engine.settings.limits.results)
    filters = {"statuses": LISTED_STATUSES, **fields}
    while True:
        page = engine.list(
            scope=scope, where=where, order=order, after=after, limit=page_size, **filters
        )
        yield from page.records
        if not page.next:
            return
        after = page.next


def read_item(record: Record) -> dict[str, Json]:
    """Return the item in a record's metadata.

    Where the memory's text was edited since (in a file, on the page), the item has the new text.
    """
    item: dict[str, Json] = record.meta[ITEM]
    original_text = item.get("text") or record.text
    if original_text == record.text:
        return item
    return dict(_replace_texts(item, original_text, record.text))


def _replace_texts(value: Json, old_text: str, new_text: str) -> Json:
    match value:
        case str():
            return value.replace(old_text, new_text)
        case dict():
            return {name: _replace_texts(part, old_text, new_text) for name, part in value.items()}
        case list():
            return [_replace_texts(part, old_text, new_text) for part in value]
        case _:
            return value


def label_session(name: str) -> str:
    """Make a valid session name of any text."""
    is_valid = name.isprintable() and name.strip() == name and len(name) <= _MAX_SESSION_CHARS
    return name if is_valid else hash_key(name)


def hash_key(*parts: str) -> str:
    """Hash a key of any length and characters to an external id."""
    return blake2b("\0".join(parts).encode("utf-8", "replace"), digest_size=20).hexdigest()


def join_texts(content: Json) -> str:
    """Join the texts of a message's parts; other parts have none."""
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list | tuple) else ()
    texts = (part.get("text") or part.get("refusal") for part in parts if isinstance(part, Mapping))
    return "\n".join(text for text in texts if isinstance(text, str))
