"""The records of this home with their stamps, which lie beside them as states of the owner.

Ordinary writes know nothing of stamps. ``load`` finds by the history what changed since a record's
stamps were stored, and stamps that now. A commit stores records and their stamps in one transaction.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from engrams.core import Edge, Json, Record, Scope, Status
from engrams.core.clock import micros
from engrams.ports import OwnerStateRow, Store
from engrams.sync.record_state import (
    CONTENT,
    TRAVELLING_LINKS,
    Link,
    RecordState,
    is_link,
    list_changed_registers,
    list_known_links,
    list_links,
    name_links,
    pack_stamps,
    split_record,
    unpack_stamps,
)

STAMPS = "sync/"
"""Beginning of the names of the states that hold stamps."""
_TEXTS = frozenset({"text", "caption"})
_REDACT = "redact"
"""Action in the history of a record from which a purge took words."""


@dataclass(frozen=True, slots=True)
class LocalRecord:
    """A record of this home with its state."""

    record: Record
    links: tuple[Link, ...]
    state: RecordState | None
    """None: the record is purged."""
    row: OwnerStateRow
    """Stamps as they are stored."""
    is_due: bool
    """True: this home has changes of it that it did not tell yet."""

    @property
    def was_told(self) -> bool:
        """True for a record of which another device may have a state."""
        return "most" in self.row.data

    @property
    def is_told(self) -> bool:
        """True for a purged record of which the other devices know."""
        return bool(self.row.data.get("gone"))


class LocalRecords:
    """Reads the records of one owner with their states."""

    def __init__(self, store: Store, owner: Scope, actor: str) -> None:
        self._store = store
        self.owner = owner
        self.actor = actor
        """Who makes the changes of this home: the device, and how often its past was lost."""

    def load(self, ids: Sequence[str]) -> dict[str, LocalRecord]:
        """Load records by id; missing ones are left out."""
        return self.complete(self._store.get(self.owner, list(ids)))

    def complete(
        self, records: Iterable[Record], *, wanted_ids: Collection[str] | None = None
    ) -> dict[str, LocalRecord]:
        """Load what belongs to records, and stamp what changed since their stamps were stored.

        ``wanted_ids``: of other records only those that changed; None: all are wanted.
        """
        listed = list(records)
        live_ids = [record.id for record in listed if record.status is not Status.PURGED]
        edges = self._store.edges(self.owner, live_ids, tuple(TRAVELLING_LINKS)) if live_ids else ()
        by_source: dict[str, list[Edge]] = {}
        for edge in edges:
            by_source.setdefault(edge.source, []).append(edge)
        rows = self.load_rows([record.id for record in listed])
        completed = {}
        for record in listed:
            row = rows[record.id]
            links = list_links(by_source.get(record.id, ()))
            is_wanted = wanted_ids is None or record.id in wanted_ids
            if is_wanted or _may_have_changed(record, links, row.data):
                completed[record.id] = self._complete(record, links, row)
        return completed

    def load_rows(self, record_ids: Collection[str]) -> dict[str, OwnerStateRow]:
        """Load the stored stamps of records by id."""
        names = [STAMPS + record_id for record_id in record_ids]
        rows = self._store.load_states(self.owner, names)
        return {name.removeprefix(STAMPS): row for name, row in rows.items()}

    def _complete(self, record: Record, links: tuple[Link, ...], row: OwnerStateRow) -> LocalRecord:
        if record.status is Status.PURGED:
            return LocalRecord(record, (), None, row, is_due=not row.data.get("gone"))
        values = split_record(record, links)
        if "most" not in row.data:
            moment = record.recorded_at
            if record.version > 1 and (history := self._store.history(self.owner, record.id)):
                moment = history[-1].at
            stamp = micros(moment), self.actor
            state = RecordState(
                record.id, values, dict.fromkeys(values, stamp), {stamp[1]: stamp[0]}
            )
            return LocalRecord(record, links, state, row, is_due=True)
        stored = unpack_stamps(record.id, values, row.data)
        state = self._stamp_changes(record, stored, row.data)
        is_due = state is not stored or bool(row.data.get("due"))
        return LocalRecord(record, links, state, row, is_due)

    def _stamp_changes(
        self, record: Record, stored: RecordState, packed: Mapping[str, Json]
    ) -> RecordState:
        """Stamp the registers that changed since a record's stamps were stored."""
        values = stored.values
        links = {name for name in values if is_link(name)}
        changed: dict[str, int] = dict.fromkeys(links ^ list_known_links(packed), 0)
        text_actions = set()
        if record.version > packed["version"]:
            for entry in self._store.history(self.owner, record.id):
                if entry.version <= packed["version"]:
                    continue
                for name in entry.before.keys() | entry.after.keys():
                    registers = list_changed_registers(
                        name, entry.before.get(name), entry.after.get(name)
                    )
                    changed |= dict.fromkeys(registers, micros(entry.at))
                    if name in _TEXTS:
                        text_actions.add(entry.action)
        state = stored
        for name, moment in changed.items():
            stamp = stored.next_stamp(moment, self.actor)
            state = state.set_values({name: values.get(name)}, stamp)
        if CONTENT in changed:
            is_redacted = _REDACT in text_actions
            state = replace(
                state,
                redactions=state.redactions + is_redacted,
                is_cleaned=text_actions == {_REDACT},
            )
        return state

    def make_row(
        self, row: OwnerStateRow, state: RecordState, version: int, *, is_due: bool = False
    ) -> OwnerStateRow:
        """Make the row that stores the stamps of a record."""
        data = {"version": version, **({"due": 1} if is_due else {}), **pack_stamps(state)}
        return replace(row, data=data)

    def make_gone_row(self, row: OwnerStateRow) -> OwnerStateRow:
        """Make the row of a purged record of which the other devices know."""
        return replace(row, data={"gone": 1})

    def list_buried(self, record_ids: Collection[str]) -> set[str]:
        """List those memories that were purged, even if they never came here."""
        rows = self.load_rows(record_ids)
        return {record_id for record_id, row in rows.items() if self.is_gone(row)}

    def is_gone(self, row: OwnerStateRow) -> bool:
        """Return True for the row of a purged record of which the other devices know."""
        return bool(row.data.get("gone"))


def _may_have_changed(record: Record, links: Sequence[Link], packed: Mapping[str, Json]) -> bool:
    """Return False for a record that is as it was when its stamps were stored."""
    if record.status is Status.PURGED:
        return not packed.get("gone")
    is_same = packed.get("version") == record.version and not packed.get("due")
    return not is_same or name_links(links) != list_known_links(packed)
