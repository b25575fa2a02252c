"""The head of memory, kept elsewhere: the last change of each owner, in a file outside of the home.

A census that lies beside its rows goes back with them. Whoever puts an older copy of everything in
the place of memory cannot put back a file that lies elsewhere.
"""

from __future__ import annotations

import json
import logging
import os
from collections.abc import Iterable
from pathlib import Path
from threading import Lock

from engrams.core import Json
from engrams.store.sql.named_queries import SqlConnection, fetch_first
from engrams.store.sql.row_seals import RowSeals

_log = logging.getLogger(__name__)


class HeadFile:
    """Last changes by owner, in a file that is written after each commit."""

    def __init__(self, path: Path, seals: RowSeals) -> None:
        self._path = path
        self._seals = seals
        self._lock = Lock()

    def note(self, connection: SqlConnection, owner_key: str) -> None:
        """Note the last change of an owner. Where the file cannot be written, the log says so."""
        newest = fetch_first(connection, "newest_change", owner_key)
        if newest is None:
            return
        with self._lock:
            try:
                heads = self._read() or {}
                if heads.get(owner_key) == [*newest]:
                    return
                heads[owner_key] = [*newest]
                self._write(heads)
            except OSError as problem:
                _log.warning("%s cannot be written: %s.", self._path, problem)

    def find_difference(self, connection: SqlConnection, owner_key: str) -> str:
        """Say how an owner's memory is older than the file; empty: it is not."""
        heads = self._read()
        if heads is None:
            return "the file of their head was changed"
        if owner_key not in heads:
            return ""
        change, record_id = heads[owner_key]
        row = fetch_first(connection, "change_of", record_id, owner_key)
        if row is None or row[0] < change:
            return f"they went back to an earlier state than {self._path} names"
        return ""

    def list_owners(self) -> list[str]:
        """List the keys of the owners that the file names; none where it was changed."""
        return sorted(self._read() or ())

    def trust(self, connection: SqlConnection, owner_keys: Iterable[str]) -> None:
        """Trust the memory of owners as it is: what their last change is now is noted.

        A file that another program changed begins anew.
        """
        with self._lock:
            heads = self._read() or {}
            for owner_key in owner_keys:
                heads.pop(owner_key, None)
                if (newest := fetch_first(connection, "newest_change", owner_key)) is not None:
                    heads[owner_key] = [*newest]
            self._write(heads)

    def _read(self) -> dict[str, Json] | None:
        """Read the heads; None: another program wrote the file."""
        try:
            content = json.loads(self._path.read_text("utf-8"))
            heads = content["heads"]
            is_ours = bytes.fromhex(content["seal"]) == self._seal(heads)
        except FileNotFoundError:
            return {}
        except (OSError, ValueError, KeyError, TypeError):
            return None
        return heads if is_ours else None

    def _write(self, heads: dict[str, Json]) -> None:
        content = json.dumps({"heads": heads, "seal": self._seal(heads).hex()}, sort_keys=True)
        self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        fresh = self._path.with_name(f"{self._path.name}.{os.getpid()}.new")
        fresh.write_text(content, "utf-8")
        fresh.replace(self._path)

    def _seal(self, heads: dict[str, Json]) -> bytes:
        return self._seals.seal_values("head", sorted(heads.items()))
