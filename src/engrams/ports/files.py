"""What writes memory down in files for people to read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from typing import Literal, Protocol, TypeAlias

from engrams.types import Record, Scope

DAILY = "daily"
"""The kind of the job that flushes later, for a caller that must not wait. Payload: ``owner`` (a scope's key), ``items`` (ids of
stored records), ``reason``. Only where ``vault.enabled`` is there anyone to do it."""

Reason: TypeAlias = Literal["trim", "overflow", "session end", "daily summary", "note"]
"""Why something is written down; it becomes the heading."""


@dataclass(frozen=True, slots=True)
class Flush:
    """What to write down: turns, oldest first. ``day``: whose note they go into (None: today, UTC)."""

    owner: Scope
    records: Sequence[Record]
    reason: Reason = "overflow"
    day: date | None = None


class Notes(Protocol):
    """Daily notes; ``MemoryEngine.vault`` is one, or None."""

    def flush(self, asked: Flush) -> bool:
        """Append to the owner's note of the day, under the reason. False: nothing to say, or said before.

        Waits for the chat model where one is set; falls back to rules when it fails.
        """
        ...
