"""Owner-wide preferences: standing rules, and whether facts are recalled."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import replace
from weakref import WeakValueDictionary

from engrams.core import RULE_KINDS, Receipt, Record, Scope, content_hash
from engrams.errors import ConflictError
from engrams.forget.memory_forgetter import build_tombstone_batch
from engrams.frozen_data import dataclass
from engrams.ports import (
    PREFERENCES,
    Clock,
    OwnerStateRow,
    RecordChange,
    RecordQuery,
    ScopeReach,
    Store,
    WriteBatch,
)
from engrams.settings import Settings

_MAX_ATTEMPTS = 20
_MAX_RULES = 1000


@dataclass(frozen=True, slots=True)
class OwnerSettings:
    """Rules and recall setting of an owner."""

    rules: tuple[Record, ...]
    """Active ones, latest first."""
    recall: bool
    """Whether facts and episodes are recalled; rules always are."""


def is_recall_on(row: OwnerStateRow, settings: Settings) -> bool:
    """Return whether the owner of this row recalls facts."""
    return bool(row.data.get("recall", settings.sessions.recall))


class OwnerSettingsStore:
    """Preferences by owner, changed under a lock and by compare and swap."""

    def __init__(
        self,
        store: Store,
        write_rule: Callable[[str, Scope], Receipt],
        clock: Clock,
        settings: Settings,
    ) -> None:
        self._store = store
        self._write_rule = write_rule
        self._clock = clock
        self._settings = settings
        self._guard = threading.Lock()
        # Locks live only while somebody holds them.
        self._locks: WeakValueDictionary[str, threading.RLock] = WeakValueDictionary()

    def get(self, scope: Scope) -> OwnerSettings:
        """Load the settings of an owner; reading writes nothing."""
        return OwnerSettings(self._load_rules(scope), self.recall(scope))

    def recall(self, scope: Scope, on: bool | None = None) -> bool:
        """Return whether facts are recalled for this owner; ``on`` sets it."""
        with self._owner_lock(scope):
            for _ in range(_MAX_ATTEMPTS):
                row = self._store.load_state(scope.owner, PREFERENCES)
                current = is_recall_on(row, self._settings)
                if on is None or (on is current):
                    return current
                try:
                    self._store.save_state(
                        replace(row, data={**row.data, "recall": on}), expect=row.token
                    )
                except ConflictError:
                    continue  # another process changed it: retry
                return on
        raise ConflictError("The profile keeps changing: too many concurrent writers.")

    def save_rule(self, text: str, scope: Scope) -> Receipt:
        """Add a rule; an identical rule is strengthened instead."""
        with self._owner_lock(scope):
            rules = {record.hash: record for record in self._load_rules(scope)}
            same_rule = rules.get(content_hash(text))
            if same_rule is None:
                return self._write_rule(text, scope)
            now = self._clock()
            fields = {"strength": same_rule.strength + 1}
            change = RecordChange(scope.owner, same_rule.id, fields, "bump")
            self._store.commit(WriteBatch("user", "asked for again", now, changes=(change,)))
            return Receipt(
                id=same_rule.id,
                scope=same_rule.scope,
                outcome="duplicate",
                recorded_at=now,
                searchable=("lexical",),
            )

    def clear_rules(self, scope: Scope) -> int:
        """Forget every rule of this owner (``restore`` undoes it); returns how many."""
        with self._owner_lock(scope):
            rules = self._load_rules(scope)
            if rules:
                self._store.commit(build_tombstone_batch(rules, self._clock(), "rules cleared"))
            return len(rules)

    def _load_rules(self, scope: Scope) -> tuple[Record, ...]:
        reach = ScopeReach(scope.owner, (scope.owner,), tree=True)
        return self._store.find(RecordQuery(reach, RULE_KINDS, limit=_MAX_RULES)).records

    def _owner_lock(self, scope: Scope) -> threading.RLock:
        with self._guard:
            return self._locks.setdefault(scope.owner.key, threading.RLock())
