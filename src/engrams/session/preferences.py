"""What an owner decided once for every conversation: their rules, and whether facts are recalled."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING
from weakref import WeakValueDictionary

from engrams.errors import ConflictError
from engrams.ports import GARDEN_ROW, Batch, Change, Clock, Query, Reach, SessionRow, Store
from engrams.settings import Settings
from engrams.types import Kind, Receipt, Record, Scope, Turn, content_hash
from engrams.write import watermark
from engrams.write.edit import forget

if TYPE_CHECKING:
    from engrams.session.ingest import Journal

ROW = ":profile"
"""Where it is stored, among the owner's sessions."""
TAKEN = frozenset((ROW, watermark.ROW, GARDEN_ROW))
"""Rows of the owner's among the sessions; no session has such a name."""

RULES = (Kind.RULE, Kind.NEGATIVE, Kind.PROCEDURE)
"""What is told whether facts are recalled or not."""

_TRIES = 20


@dataclass(frozen=True, slots=True)
class Profile:
    """``rules``: the active ones, latest first. ``recall``: whether facts and accounts are recalled; rules always are."""

    rules: tuple[Record, ...]
    recall: bool


def recalls(row: SessionRow | None, settings: Settings) -> bool:
    """Whether facts are recalled for the owner of this row, or of none."""
    return settings.sessions.recall if row is None else bool(row.data.get("recall", settings.sessions.recall))


class Profiles:
    """One for each owner, changed by one caller at a time in this process, and by compare and swap between processes."""

    def __init__(self, store: Store, journal: Callable[[], Journal], clock: Clock, settings: Settings) -> None:
        self._store, self._journal, self._clock, self._settings = store, journal, clock, settings
        self._guard = threading.Lock()
        # Of an owner nobody works for, no lock is kept.
        self._locks: WeakValueDictionary[str, threading.RLock] = WeakValueDictionary()

    def get(self, scope: Scope) -> Profile:
        """Reading writes nothing: who never decided anything has the settings' default."""
        return Profile(self._rules(scope), self.recall(scope))

    def recall(self, scope: Scope, on: bool | None = None) -> bool:
        """Whether facts are recalled for this owner; with ``on``, decide it. What is so already is not written."""
        with self._lock(scope):
            for _ in range(_TRIES):
                row = self._store.load(scope.owner, ROW)
                now = recalls(row, self._settings)
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
        with self._lock(scope):
            known = {record.hash: record for record in self._rules(scope)}
            twin = known.get(content_hash(text))
            if twin is not None:
                change = Change(scope.owner, twin.id, {"strength": twin.strength + 1}, "bump")
                self._store.commit(Batch("user", "asked for again", self._clock(), changes=(change,)))
                return Receipt(twin.id, twin.scope, "duplicate", self._clock(), ("lexical",))
            return self._journal().write([Turn(text)], scope, Kind.RULE).receipts[0]

    def clear_rules(self, scope: Scope) -> int:
        """Put every rule of this owner away (``restore`` brings one back); how many. The recall toggle stays."""
        with self._lock(scope):
            rules = self._rules(scope)
            if rules:
                self._store.commit(forget(rules, self._clock(), "rules cleared"))
            return len(rules)

    def _rules(self, scope: Scope) -> tuple[Record, ...]:
        return self._store.find(Query(Reach(scope.owner, (scope.owner,), tree=True), RULES, limit=1000)).records

    def _lock(self, scope: Scope) -> threading.RLock:
        with self._guard:
            return self._locks.setdefault(scope.owner.key, threading.RLock())
