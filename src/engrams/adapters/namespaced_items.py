"""JSON values under namespaces and keys, kept as memories."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, TypeAlias

from engrams.adapters.item_journal import ITEM, LISTED_STATUSES, hash_key, list_matching
from engrams.adapters.item_vectors import Distance, encode_vectors, score_vectors
from engrams.core import UNSEARCHED, Json, Kind, Record, Role, Scope, ScopeInput, Status, Turn
from engrams.errors import InputError, RefusedError
from engrams.ports import Condition, Where

if TYPE_CHECKING:
    from engrams.engine import MemoryEngine

Namespace: TypeAlias = tuple[str, ...]
ScopeOf: TypeAlias = "ScopeInput | Callable[[Namespace], ScopeInput]"
"""One scope below which every namespace has its own, or a function of a namespace (and of its
beginnings) that gives its scope.
"""

_OPERATORS: Mapping[str, Any] = {
    "$eq": "eq",
    "$ne": "ne",
    "$gt": "gt",
    "$gte": "gte",
    "$lt": "lt",
    "$lte": "lte",
}
_FILTER_KEY = re.compile(r"[\w.-]+")
_MAX_LABEL_CHARS = 150
_ANY = tuple(status for status in Status if status is not Status.PURGED)
_REFRESH_SHARE = 0.05
"""Share of its time to live by which an item's end must move to be written again, if it lives for a
minute or longer.
"""


@dataclass(frozen=True, slots=True)
class NamespacedItemWrite:
    """A value to store under a key."""

    namespace: Namespace
    key: str
    value: Mapping[str, Any] | None
    """None: remove the item."""
    text: str = ""
    """Text that searches match. Empty: no search finds the item."""
    vectors: Sequence[Sequence[float]] = ()
    """Embeddings of its indexed fields."""
    ttl: float | None = None
    """Minutes to live. None: no end."""


class NamespacedItems:
    """Key-value items under namespaces, stored as memories.

    Each is one memory: the value in its metadata, the text as people read it, its end
    (``valid_to``) by its time to live.
    """

    def __init__(
        self,
        engine: MemoryEngine,
        scope: ScopeOf,
        adapter: str,
        ttl: Mapping[str, Any] | None = None,
    ) -> None:
        """Store items of an adapter in a scope.

        ``ttl``: with ``omit_expired`` false in it, expired items are listed until a sweep purges
        them; searches never find them.
        """
        self._engine = engine
        self._scope = scope if callable(scope) else Scope.of(scope)
        self._adapter = adapter
        self._ttl = ttl or {}

    def get(self, namespace: Namespace, key: str) -> Record | None:
        """Return an item's record.

        None: there is none, or its time is over.
        """
        record = next(iter(self._find_current(namespace, key)), None)
        is_expired = (
            record is not None
            and record.valid_to is not None
            and record.valid_to <= self._engine.now()
        )
        return None if is_expired and self._omits_expired else record

    def write(self, writes: Sequence[NamespacedItemWrite]) -> None:
        """Store and remove items; a key's last write counts.

        Removed items are purged. RefusedError: an item holds a secret and ``write.secrets`` is
        ``refuse``.
        """
        removed_ids: dict[Scope, list[str]] = {}
        new_items: dict[tuple[Scope, Kind], list[tuple[NamespacedItemWrite, Turn]]] = {}
        for write in {(write.namespace, write.key): write for write in writes}.values():
            existing = self._find_current(write.namespace, write.key)
            if write.value is not None and existing and existing[0].status is Status.ACTIVE:
                self._edit(existing.pop(0), write)
            elif write.value is not None:
                turn = self._make_turn(
                    write,
                    existing[0].meta[ITEM]["created"]
                    if existing
                    else self._engine.now().isoformat(),
                )
                new_items.setdefault((self._locate(write.namespace), _get_kind(write)), []).append(
                    (write, turn)
                )
            for record in existing:
                removed_ids.setdefault(record.scope.owner, []).append(record.id)
        for (scope, kind), items in new_items.items():
            self._write_fresh(scope, kind, items)
        for owner, ids in removed_ids.items():
            self._engine.purge(ids, scope=owner, later=True)

    def find(self, prefix: Namespace, where: Sequence[Condition | Where] = ()) -> Iterator[Record]:
        """Yield the items below a namespace, newest first."""
        return list_matching(
            self._engine, self._get_owner(prefix), self._make_where(prefix, where), "newest"
        )

    def search(
        self, prefix: Namespace, where: Sequence[Condition | Where], query: str, limit: int
    ) -> list[tuple[Record, float]]:
        """Find the items that answer a query by the engine's own ranking."""
        result = self._engine.search(
            query, scope=self._get_owner(prefix), where=self._make_where(prefix, where), limit=limit
        )
        return [(hit.record, hit.score) for hit in result.hits]

    def rank(
        self,
        prefix: Namespace,
        where: Sequence[Condition | Where],
        vector: Sequence[float],
        distance: Distance = "cosine",
    ) -> list[tuple[Record, float]]:
        """Rank the items that have vectors by their nearest one."""
        indexed = Condition(f"meta.{ITEM}.vectors", "exists", True)
        records = self.find(prefix, [*where, indexed])
        scored = [
            (record, score_vectors(record.meta[ITEM], vector, distance)) for record in records
        ]
        return sorted(scored, key=lambda pair: -pair[1])

    def list_namespaces(self, prefix: Namespace) -> set[Namespace]:
        """List the namespaces below one, at any depth."""
        return {tuple(record.meta[ITEM]["namespace"].split(".")) for record in self.find(prefix)}

    def refresh(self, records: Sequence[Record]) -> None:
        """Extend the time to live of items that were read."""
        for record in records:
            ttl = record.meta[ITEM]["ttl"]
            if ttl is not None and record.valid_to is not None:
                end = self._get_end(ttl)
                if end - record.valid_to > timedelta(
                    minutes=ttl * _REFRESH_SHARE if ttl >= 1 else 0
                ):
                    self._engine.edit(
                        record.id, scope=record.scope, fields={"valid_to": end}, reason="read"
                    )

    def sweep(self) -> int:
        """Purge the items whose time is over; return how many."""
        expired = Condition("valid_to", "lte", self._engine.now())
        number = 0
        owners = (
            dict.fromkeys(scope.owner for scope in self._engine.scopes())
            if callable(self._scope)
            else [self._scope.owner]
        )
        for owner in owners:
            where = Where(
                "and",
                (
                    Condition(f"meta.{ITEM}.adapter", "eq", self._adapter),
                    *self._bound_scope(),
                    expired,
                ),
            )
            if ids := [record.id for record in list_matching(self._engine, owner, where, "oldest")]:
                self._engine.purge(ids, scope=owner, later=True)
                number += len(ids)
        return number

    def _edit(self, record: Record, write: NamespacedItemWrite) -> None:
        fields = {
            "kind": _get_kind(write),
            "valid_to": None if write.ttl is None else self._get_end(write.ttl),
            "meta": self._build_meta(write, record.meta[ITEM]["created"]),
        }
        self._engine.edit(
            record.id,
            scope=record.scope,
            text=_get_label(write),
            fields=fields,
            reason=f"{self._adapter} put",
        )

    def _build_meta(self, write: NamespacedItemWrite, created: str) -> dict[str, Json]:
        item = {
            "adapter": self._adapter,
            "namespace": ".".join(write.namespace),
            "key": write.key,
            "value": dict(write.value or {}),
            "ttl": write.ttl,
            "created": created,
            "updated": self._engine.now().isoformat(),
        }
        vectors = encode_vectors(write.vectors) if write.vectors else {}
        return (
            {ITEM: {**item, **vectors, "text": write.text}}
            if write.text
            else {ITEM: {**item, **vectors}, UNSEARCHED: True}
        )

    def _write_fresh(
        self, scope: Scope, kind: Kind, items: Sequence[tuple[NamespacedItemWrite, Turn]]
    ) -> None:
        receipts = self._engine.write_turns([turn for _, turn in items], scope, kind)
        for (write, _), receipt in zip(items, receipts, strict=True):
            if receipt.outcome == "refused" and self._engine.settings.enabled:
                raise RefusedError(
                    f"Not stored: {write.key!r:.80} contains a secret.",
                    hint="Remove it, or change `write.secrets` or `write.secrets_of`.",
                )
            if receipt.outcome == "duplicate":  # another process stored it in the meantime
                self._edit(self._engine.get(receipt.id, scope=scope), write)
            elif write.ttl is not None and receipt.id:
                self._engine.edit(
                    receipt.id,
                    scope=scope,
                    fields={"valid_to": self._get_end(write.ttl)},
                    reason="time to live",
                )

    def _make_turn(self, write: NamespacedItemWrite, created: str) -> Turn:
        """Make a turn under a free one of a key's two ids.

        A forgotten or superseded record occupies its id until it is purged, so an item that is put
        again takes the other id.
        """
        existing = self._find_records(write.namespace, write.key, _ANY)
        free_ids = [
            id
            for id in self._make_ids(write.namespace, write.key)
            if id not in {record.external_id for record in existing}
        ]
        if not free_ids:
            replaceable = [
                record for record in existing if record.status is Status.FORGOTTEN
            ] or existing[1:]
            self._engine.purge(
                [record.id for record in replaceable], scope=replaceable[0].scope.owner
            )
            free_ids = [replaceable[0].external_id]
        role: Role = "user" if write.text else "tool"
        return Turn(
            _get_label(write),
            role=role,
            external_id=free_ids[0],
            meta=self._build_meta(write, created),
        )

    def _find_current(self, namespace: Namespace, key: str) -> list[Record]:
        """Find an item's records, newest first; the first is the item."""
        return self._find_records(namespace, key, LISTED_STATUSES)

    def _find_records(
        self, namespace: Namespace, key: str, statuses: Sequence[Status]
    ) -> list[Record]:
        scope = self._locate(namespace)
        records = list[Record]()
        for id in self._make_ids(namespace, key):
            page = self._engine.list(scope=scope, external_id=id, statuses=statuses)
            records += [record for record in page.records if record.scope == scope]
        return sorted(records, key=lambda record: record.id, reverse=True)

    def _make_ids(self, namespace: Namespace, key: str) -> tuple[str, str]:
        external_id = hash_key(self._adapter, ".".join(namespace), key)
        return external_id, f"{external_id}-2"

    def _locate(self, namespace: Namespace) -> Scope:
        """Return the scope of a namespace's items."""
        if isinstance(self._scope, Scope):
            return self._scope.within("namespace", _get_scope_label(namespace))
        return _call_scope(self._scope, namespace)

    def _get_owner(self, prefix: Namespace) -> Scope:
        return (
            self._scope if isinstance(self._scope, Scope) else _call_scope(self._scope, prefix)
        ).owner

    def _bound_scope(self) -> tuple[Condition, ...]:
        """Conditions for records below the scope; none are needed for an owner's scope.

        ``0`` is the character after ``/``: the range holds every key that begins with the scope's.
        """
        if not isinstance(self._scope, Scope) or self._scope.is_owner:
            return ()
        return (
            Condition("scope", "gte", f"{self._scope.key}/"),
            Condition("scope", "lt", f"{self._scope.key}0"),
        )

    def _make_where(self, prefix: Namespace, conditions: Sequence[Condition | Where]) -> Where:
        field = f"meta.{ITEM}.namespace"
        name = ".".join(prefix)
        below_prefix = Where(
            "and", (Condition(field, "gte", f"{name}."), Condition(field, "lt", f"{name}/"))
        )
        in_prefix = (Where("or", (Condition(field, "eq", name), below_prefix)),) if prefix else ()
        unexpired = Where(
            "or",
            (
                Condition("valid_to", "exists", False),
                Condition("valid_to", "gt", self._engine.now()),
            ),
        )
        unexpired_only = (unexpired,) if self._omits_expired else ()
        return Where(
            "and",
            (
                Condition(f"meta.{ITEM}.adapter", "eq", self._adapter),
                *self._bound_scope(),
                *in_prefix,
                *unexpired_only,
                *conditions,
            ),
        )

    @property
    def _omits_expired(self) -> bool:
        return self._ttl.get("omit_expired") is not False

    def _get_end(self, ttl: float) -> datetime:
        return self._engine.now() + timedelta(minutes=ttl)


def to_conditions(
    filter: Mapping[str, Any], path: str = f"meta.{ITEM}.value"
) -> list[Condition | Where]:
    """Convert a filter such as ``{"score": {"$gt": 3}, "user.name": "Ann"}``.

    InputError: an unknown operator, or a key with other signs than letters, digits, ``_``, ``.``
    and ``-``.
    """
    conditions: list[Condition | Where] = []
    for key, value in filter.items():
        if not isinstance(key, str) or not _FILTER_KEY.fullmatch(key):
            raise InputError(
                f"Invalid filter key: {key!r:.100}",
                hint="Letters, digits, underscores, dots and hyphens make a key.",
            )
        field = f"{path}.{key}"
        if not isinstance(value, Mapping) or not value:
            conditions.append(_make_condition(field, "$eq", value))
        elif any(isinstance(name, str) and name.startswith("$") for name in value):
            conditions += [_make_condition(field, name, operand) for name, operand in value.items()]
        else:
            conditions += to_conditions(value, field)
    return conditions


def describe_value(value: Json) -> str:
    """Write a value as people read it; empty without words."""
    lines = list(_iter_lines(value, ""))
    if not any(isinstance(text, str) and any(map(str.isalpha, text)) for _, text in lines):
        return ""
    return (
        str(lines[0][1])
        if len(lines) == 1
        else "\n".join(f"{name}: {text}" for name, text in lines if name)
    )


def _iter_lines(value: Json, name: str) -> Iterator[tuple[str, Json]]:
    match value:
        case Mapping():
            for key, item in value.items():
                yield from _iter_lines(item, f"{name} {key}".strip())
        case list() | tuple() if all(isinstance(item, str) for item in value):
            yield name or "list", ", ".join(value)
        case list() | tuple():
            for item in value:
                yield from _iter_lines(item, name)
        case None:
            return
        case _:
            yield name or "value", value


def _make_condition(field: str, name: str, value: Json) -> Condition:
    if name not in _OPERATORS:
        raise InputError(
            f"Unsupported operator: {name!r:.40}", hint=f"Operators: {', '.join(_OPERATORS)}."
        )
    if isinstance(value, float) and math.isnan(value):
        return Condition(field, "nin" if name == "$ne" else "in", [])
    exceeds_int64 = isinstance(value, int) and not isinstance(value, bool) and abs(value) >= 1 << 63
    return Condition(field, _OPERATORS[name], float(value) if exceeds_int64 else value)


def _call_scope(scope_of: Callable[[Namespace], ScopeInput], namespace: Namespace) -> Scope:
    try:
        return Scope.of(scope_of(namespace))
    except (IndexError, KeyError):
        raise InputError(
            f"The namespace {namespace!r} does not determine the owner of the memory.",
            hint="Give more of its labels.",
        ) from None


def _get_scope_label(namespace: Namespace) -> str:
    name = ".".join(namespace)
    plain = name.strip() == name and name.isprintable() and len(name) <= _MAX_LABEL_CHARS
    return (
        name
        if plain
        else "".join(filter(str.isprintable, name))[:_MAX_LABEL_CHARS] + "~" + hash_key(name)
    )


def _get_kind(write: NamespacedItemWrite) -> Kind:
    return Kind.NOTE if write.text else Kind.TURN


def _get_label(write: NamespacedItemWrite) -> str:
    return write.text or f"{'.'.join(write.namespace)}: {write.key}"
