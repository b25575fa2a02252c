"""Seals of rows: what another program changes behind the back of engrams is noticed at the read.

A seal binds all that a memory says of itself, with its owner and its id, to the key of the home. A
row whose seal does not fit was not written by engrams: reads leave it out and say so, and no write
takes it up. ``docs/decisions/0018`` tells what this promises, and what not.
"""

from __future__ import annotations

import json
import logging
import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache
from hashlib import blake2b
from operator import itemgetter
from typing import Any, TypeAlias

from engrams.core import Json, Meta, Record
from engrams.core.purge_certificate import issue
from engrams.errors import AlteredError, InputError, StoreError
from engrams.store.sql.json_encoders import make_encoder
from engrams.store.sql.row_conversion import ENUMS, FIELDS, REALS, decode_record, is_short
from engrams.text.text_caches import clear_caches, register_cache

Row: TypeAlias = tuple[Any, ...]

READ_COLUMNS = (*FIELDS, "owner", "seal")
"""Columns of a row that is read: the fields of the record, its owner and its seal."""
_ID_BYTES = 4
_MAC_BYTES = 12
_SUM_BYTES = 16
_FIELD_COUNT = len(FIELDS)
_USES = frozenset(map(FIELDS.index, ("access_count", "last_accessed")))
"""Positions that reads change: they are not sealed."""
_SEALED = tuple(position for position in range(_FIELD_COUNT) if position not in _USES)
_REALS = tuple(_SEALED.index(FIELDS.index(name)) for name in REALS)
"""Positions of real numbers among the sealed values: a store may give whole ones back as integers."""
_ENDS = ("retired_at", "valid_to", "ended_at")
_RESTORED = (
    *((FIELDS.index(name), str(value)) for name, values in ENUMS.items() for value in values),
    *((FIELDS.index(name), None) for name in _ENDS),
)
"""Positions with the values that a row may have had before another program hid it."""
_MAX_CACHED = 8192
_MAX_TOLD = 1000
"""Altered memories that are named in the log, each once."""
DOCTOR = "`engrams doctor` names what was changed, and says what can be done."
_NO_KEY = "Give this user permission to read `seal.key`: every process that writes needs it."
encode_values = make_encoder(json.JSONEncoder(separators=(",", ":")))
"""Encoder of what is hashed: it is the same for all releases."""
_pick_sealed = itemgetter(*_SEALED)
_log = logging.getLogger(__name__)


class _Included(threading.local):
    """Flag of a thread that reads altered rows, too."""

    is_on = False


class RowSeals:
    """Seals under one key, and reads of rows that check them.

    ``key``: 32 bytes. Without one a seal is a digest that everybody can compute who knows its form:
    it tells of damage, of replayed and of swapped rows, and not of forgery. ``refuses``: a read that
    meets an altered row fails; otherwise it leaves the row out.
    """

    def __init__(self, key: bytes = b"", *, refuses: bool = False) -> None:
        self.refuses = refuses
        self._included = _Included()
        self.is_blind = False
        self.is_foreign = False
        """True: all rows have the seals of another key, which was told once."""
        self.changes: dict[str, int] = {}
        """Changes of the sums of tables in the present transaction, by table."""
        self._distrusted: set[tuple[str, str]] = set()
        """Keys of owners and ids of rows that are older than their history."""
        self._told: set[tuple[str, str]] = set()
        self._read_cached = register_cache(lru_cache(maxsize=_MAX_CACHED)(self.read_new))
        self.set_key(key)

    def set_key(self, key: bytes) -> None:
        """Use another key from now on."""
        self.is_blind = self.is_foreign = False
        self.key = key
        self._hashers: dict[str, blake2b] = {}
        self.key_id = name_key(key)
        self._told.clear()
        self._distrusted.clear()
        self._read_cached.cache_clear()

    def go_blind(self) -> None:
        """Check nothing from now on: this process may not read the key."""
        self.set_key(b"")
        self.is_blind = True

    def seal(self, columns: Sequence[Any], owner_key: str) -> bytes:
        """Seal the columns of a record, in the order of ``FIELDS``.

        InputError: a value is none that a row can hold.
        """
        if self.is_blind:
            raise StoreError("The key of the seals cannot be read.", hint=_NO_KEY)
        try:
            values = list(_pick_sealed(columns))
            for position in _REALS:
                values[position] = float(values[position])
        except (TypeError, ValueError) as problem:
            raise InputError(f"A number of the memory is none: {problem}.") from None
        return self.seal_values("row", [owner_key, values])

    def seal_values(self, kind: str, values: Json) -> bytes:
        """Seal values of one kind: the seal of another kind never fits."""
        try:
            data = encode_values(values).encode()
        except (TypeError, ValueError) as problem:
            raise InputError(f"A value of the memory cannot be stored: {problem}.") from None
        digest = self._find_hasher(kind, _MAC_BYTES).copy()
        digest.update(data)
        return self.key_id + digest.digest()

    def _find_hasher(self, kind: str, size: int) -> blake2b:
        """Find the keyed hash of a kind, which is copied for each value: that is quicker."""
        hasher = self._hashers.get(kind)
        if hasher is None:
            person = f"engrams {kind}".encode()
            hasher = blake2b(digest_size=size, key=self.key, person=person)
            self._hashers[kind] = hasher
        return hasher

    def certify(self, statement: Meta) -> Meta:
        """Issue a certificate of a statement, signed where there is a key."""
        return issue(statement, self.key)

    def hash_row(self, record_id: str, seal: bytes) -> int:
        """Hash the id and the seal of a row, for a sum over rows."""
        return self.hash_data(seal + record_id.encode())

    def hash_data(self, data: bytes) -> int:
        """Hash bytes, for a sum."""
        digest = self._find_hasher("sum", _SUM_BYTES).copy()
        digest.update(data)
        return int.from_bytes(digest.digest(), "big")

    def is_sound(self, row: Row) -> bool:
        """Test whether a row of ``READ_COLUMNS`` has the seal that it must have."""
        if self.is_blind:
            return True
        owner_key, seal = row[_FIELD_COUNT:]
        is_older = (owner_key, row[0]) in self._distrusted
        return not is_older and bytes(seal) == self.seal(row, owner_key)

    def restore(self, row: Row) -> Row | None:
        """Return the row that was sealed, where one state or end of it was changed since.

        The seal proves it: it fits to nothing else. None: something else was changed.
        """
        for position, value in _RESTORED:
            sealed_row = (*row[:position], value, *row[position + 1 :])
            if self.is_sound(sealed_row):
                return sealed_row
        return None

    @property
    def includes_altered(self) -> bool:
        """True where this thread reads altered rows, too."""
        return self._included.is_on

    @contextmanager
    def include_altered(self) -> Iterator[None]:
        """Let this thread read altered rows within the block; what it read is not kept."""
        was_on = self._included.is_on
        self._included.is_on = True
        try:
            yield
        finally:
            self._included.is_on = was_on
            clear_caches()

    def forgive(self) -> None:
        """Judge all rows by their seals alone again."""
        self.is_foreign = False
        self._distrusted.clear()
        self._told.clear()

    def distrust(self, owner_key: str, record_ids: Iterable[str]) -> None:
        """Take rows for altered that were put back to an earlier state."""
        self._distrusted.update((owner_key, record_id) for record_id in record_ids)
        self._read_cached.cache_clear()

    def read(self, row: Row) -> Record:
        """Decode a row of ``READ_COLUMNS``, from a cache where the very same row was read before.

        AlteredError: its seal does not fit. StoreError: it is damaged.
        """
        return self._read_cached(row) if is_short(row) else self.read_new(row)

    def read_new(self, row: Row) -> Record:
        """Decode a row that is not cached. Errors: as ``read``."""
        record = decode_record(row[:_FIELD_COUNT])
        if not self.is_sound(row) or record.scope.owner.key != row[_FIELD_COUNT]:
            raise describe_misfit(row)
        return record

    def read_all(self, rows: Iterable[Row]) -> list[Record]:
        """Decode rows without those that were altered, each of which is named in the log once.

        AlteredError: one was, and reads are to be refused.
        """
        return [record for _, record in self.read_keyed((None, row) for row in rows)]

    def read_keyed(self, rows: Iterable[tuple[Any, Row]]) -> list[tuple[Any, Record]]:
        """Decode rows as ``read_all`` does; each stays beside what it came with."""
        records = []
        for key, row in rows:
            try:
                records.append((key, self.read(row)))
            except AlteredError as problem:
                if self.includes_altered:
                    records.append((key, decode_record(row[:_FIELD_COUNT])))
                    continue
                if self.refuses:
                    raise
                self.tell(row, problem)
        return records

    def tell(self, row: Row, problem: AlteredError) -> None:
        """Name an altered row in the log, once."""
        name = (row[_FIELD_COUNT], row[0])
        if self.is_foreign:
            return
        if name not in self._told and len(self._told) < _MAX_TOLD:
            self._told.add(name)
            _log.warning(
                "%s It is left out of all answers; `engrams history %s` shows how it was.",
                problem.message,
                row[0],
            )


def describe_misfit(row: Row) -> AlteredError:
    """Describe a row whose seal does not fit."""
    return AlteredError(
        f"The memory {row[0]!r} was changed by another program: its seal does not fit.", hint=DOCTOR
    )


def name_key(key: bytes) -> bytes:
    """Name a key in four bytes; zeros: there is none."""
    if not key:
        return bytes(_ID_BYTES)
    return blake2b(key, digest_size=_ID_BYTES, person=b"engrams key").digest()
