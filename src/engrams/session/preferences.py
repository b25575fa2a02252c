"""What an owner decided once for every conversation: their rules, and whether facts are recalled."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, replace
from weakref import WeakValueDictionary

from engrams.errors import ConflictError
from engrams.ports import GARDEN_ROW, Batch, Change, Clock, Query, Reach, SessionRow, Store
from engrams.settings import Settings
from engrams.types import Kind, Receipt, Record, Scope, content_hash
from engrams.write import watermark
from engrams.write.edit import build_forget

ROW = ":profile"
"""Where it is stored, among the owner's sessions."""
RESERVED_NAMES = frozenset((ROW, watermark.ROW, GARDEN_ROW))
"""Rows of the owner's among the sessions; no session has such a name."""

RULE_KINDS = (Kind.RULE, Kind.NEGATIVE, Kind.PROCEDURE)
"""What is told whether facts are recalled or not."""

_TRIES = 20


@dataclass(frozen=True, slots=True)
class OwnerProfile:
    """``rules``: the active ones, latest first. ``recall``: whether facts and accounts are recalled; rules always are."""

    rules: tuple[Record, ...]
    recall: bool


def is_recall_on(row: SessionRow | None, settings: Settings) -> bool:
    """Whether facts are recalled for the owner of this row, or of none."""
    return settings.sessions.recall if row is None else bool(row.data.get("recall", settings.sessions.recall))


class OwnerPreferences:
    """One for each owner, changed by one caller at a time in this process, and by compare and swap between processes."""

    def __init__(self, store: Store, write_rule: Callable[[str, Scope], Receipt], clock: Clock, settings: Settings) -> None:
        self._store, self._write_rule, self._clock, self._settings = store, write_rule, clock, settings
        self._guard = threading.Lock()
        # Of an owner nobody works for, no lock is kept.
        self._locks: WeakValueDictionary[str, threading.RLock] = WeakValueDictionary()

    def get(self, scope: Scope) -> OwnerProfile:
        """Reading writes nothing: who never decided anything has the settings' default."""
        return OwnerProfile(self._load_rules(scope), self.recall(scope))

    def recall(self, scope: Scope, on: bool | None = None) -> bool:
        """Whether facts are recalled for this owner; with ``on``, decide it. What is so already is not written."""
        with self._owner_lock(scope):
            for _ in range(_TRIES):
                row = self._store.load(scope.owner, ROW)
                now = is_recall_on(row, self._settings)
                if on is None or (on is now):
                    return now
                moment = self._clock()
                fresh = SessionRow(ROW, scope.owner, "closed", moment, moment) if row is None else replace(row, last_active=moment)
                try:
                    self._store.save(replace(fresh, data={**fresh.data, "recall": on}), expect=row.token if row else 0)
                except ConflictError:
                    continue  # another process decided something else of it: look again
                return on
        raise ConflictError("The profile is changed by others all the time.")

    def save_rule(self, text: str, scope: Scope) -> Receipt:
        """Add a rule. The same one again strengthens the one that is there."""
        with self._owner_lock(scope):
            known = {record.hash: record for record in self._load_rules(scope)}
            twin = known.get(content_hash(text))
            if twin is not None:
                change = Change(scope.owner, twin.id, {"strength": twin.strength + 1}, "bump")
                self._store.commit(Batch("user", "asked for again", self._clock(), changes=(change,)))
                return Receipt(twin.id, twin.scope, "duplicate", self._clock(), ("lexical",))
            return self._write_rule(text, scope)

    def clear_rules(self, scope: Scope) -> int:
        """Put every rule of this owner away (``restore`` brings one back); how many. The recall toggle stays."""
        with self._owner_lock(scope):
            rules = self._load_rules(scope)
            if rules:
                self._store.commit(build_forget(rules, self._clock(), "rules cleared"))
            return len(rules)

    def _load_rules(self, scope: Scope) -> tuple[Record, ...]:
        return self._store.find(Query(Reach(scope.owner, (scope.owner,), tree=True), RULE_KINDS, limit=1000)).records

    def _owner_lock(self, scope: Scope) -> threading.RLock:
        with self._guard:
            return self._locks.setdefault(scope.owner.key, threading.RLock())
