"""Owners whose rows a batch writes: their numbers of changes, and their quotas."""

from __future__ import annotations

import math

from engrams.core import Scope
from engrams.errors import BudgetError, StoreError
from engrams.ports import StorageUse
from engrams.store.sql.census import SealedRow, change_census
from engrams.store.sql.dialect import SqlDialect
from engrams.store.sql.named_queries import SqlConnection, execute, fetch_one
from engrams.store.sql.record_counts import measure_storage
from engrams.text.terms import TERM_SCHEME

_QUOTA_WORDS = (("records", "memories"), ("bytes", "bytes"))


class OwnerWrites:
    """Owners that one batch has entered.

    From its entry on, nobody else writes an owner's rows until the transaction ends.
    """

    def __init__(self, connection: SqlConnection, dialect: SqlDialect, quota: StorageUse) -> None:
        self._connection = connection
        self._dialect = dialect
        self._quota = quota
        self._last_changes: dict[str, int] = {}
        """Number of the last change, by owner's key."""
        self._used: dict[str, StorageUse] = {}
        """Storage before the batch, by owner's key; empty: there is no quota."""
        self._before: dict[str, list[SealedRow]] = {}
        """Rows as they were before the batch, by owner's key."""
        self._after: dict[str, dict[str, SealedRow]] = {}
        """Rows as they are then, by owner's key and id."""
        self.owner_key = ""
        """Key of the owner that was entered last."""

    def enter(self, owner: Scope) -> None:
        """Select an owner's rows for the next statements.

        StoreError: a newer engrams has split its texts into other words.
        """
        self.owner_key = owner.key
        self._dialect.enter(self._connection, owner.key)
        if owner.key in self._last_changes:
            return
        # Postgres tells the scheme of an owner's terms, too.
        last_change, *term_scheme = fetch_one(self._connection, "lock_owner")
        if term_scheme and term_scheme[0] > TERM_SCHEME:
            raise StoreError(
                "A newer engrams uses this database and splits texts into words in another way.",
                hint="Upgrade engrams on this machine.",
            )
        self._last_changes[owner.key] = int(last_change)
        if self._quota != StorageUse():
            self._used[owner.key] = measure_storage(self._connection, owner)

    def next_change(self) -> int:
        """Number the next change of the owner that was entered last."""
        self._last_changes[self.owner_key] += 1
        return self._last_changes[self.owner_key]

    def note_seal(self, record_id: str, old_seal: bytes, new_seal: bytes) -> None:
        """Note that a row of the owner that was entered last has another seal now.

        ``old_seal``: empty for a new row.
        """
        changed = self._after.setdefault(self.owner_key, {})
        if old_seal and record_id not in changed:
            row = SealedRow(record_id, old_seal)
            self._before.setdefault(self.owner_key, []).append(row)
        changed[record_id] = SealedRow(record_id, new_seal)

    def save(self) -> None:
        """Store the numbers of changes. BudgetError: an owner's memory grows beyond its quota."""
        for owner_key, last_change in self._last_changes.items():
            self._dialect.enter(self._connection, owner_key)
            execute(self._connection, "set_changes", last_change)
            if after := self._after.get(owner_key):
                before = self._before.get(owner_key, ())
                seals = self._dialect.seals
                change_census(self._connection, seals, owner_key, before, after.values())
            if owner_key in self._used:
                self._check_quota(owner_key)

    def _check_quota(self, owner_key: str) -> None:
        before = self._used[owner_key]
        after = measure_storage(self._connection, Scope.parse(owner_key))
        for name, words in _QUOTA_WORDS:
            limit = getattr(self._quota, name)
            used_before = getattr(before, name)
            used = getattr(after, name)
            # Whoever is beyond a quota that was lowered may still make memory smaller.
            if limit and used > max(limit, used_before):
                raise BudgetError(
                    f"Memory is full: {used_before:,} of {limit:,} {words} are used, and this"
                    f" would make {used:,}.",
                    hint=f"Erase some memories (`engrams purge`), or raise `quota.{name}`.",
                    retry_after=math.inf,
                )
