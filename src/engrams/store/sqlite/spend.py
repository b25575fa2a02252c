"""Daily counters of model calls and tokens."""

from __future__ import annotations

from datetime import date, timedelta

import apsw

from engrams.store.sqlite.sql import execute, fetch_one

_DAYS_KEPT = 8


def add_spend(connection: apsw.Connection, day: str, calls: int, tokens: int) -> tuple[int, int]:
    """Add to a day's counters; the new totals. Prunes old days."""
    total = int(fetch_one(connection, "spend", f"chat {day} calls", calls)[0])
    spent = int(fetch_one(connection, "spend", f"chat {day} tokens", tokens)[0])
    if total == calls:
        execute(connection, "prune_spent", f"chat {date.fromisoformat(day) - timedelta(days=_DAYS_KEPT)}")
    return total, spent


def read_spend(connection: apsw.Connection, day: str) -> tuple[int, int]:
    """Totals of a day."""
    return int(fetch_one(connection, "spent", f"chat {day} calls")[0]), int(fetch_one(connection, "spent", f"chat {day} tokens")[0])
