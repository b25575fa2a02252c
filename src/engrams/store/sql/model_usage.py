"""Daily counters of model calls and tokens."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date, datetime, timedelta

from engrams.core.usage_accounts import WINDOWS, RequestWindow
from engrams.store.sql.named_queries import (
    SqlConnection,
    execute,
    fetch_all,
    fetch_first,
    fetch_one,
)
from engrams.store.sql.row_conversion import decode_json, encode_json

_DAYS_KEPT = 8
_PACE_KEPT = 50
_WINDOW_KEPT: Mapping[RequestWindow, timedelta] = {
    "minute": timedelta(minutes=2),
    "day": timedelta(days=_DAYS_KEPT),
}


def add_spend(connection: SqlConnection, day: str, calls: int, tokens: int) -> tuple[int, int]:
    """Add to a day's counters; the new totals. Prunes old days."""
    total = int(fetch_one(connection, "spend", f"chat {day} calls", calls)[0])
    spent = int(fetch_one(connection, "spend", f"chat {day} tokens", tokens)[0])
    if total == calls:
        execute(
            connection,
            "prune_spent",
            f"chat {date.fromisoformat(day[:10]) - timedelta(days=_DAYS_KEPT)}",
        )
    return total, spent


def read_spend(connection: SqlConnection, day: str) -> tuple[int, int]:
    """Totals of a day."""
    names = f"chat {day} calls", f"chat {day} tokens"
    held = dict(fetch_all(connection, "spent_both", *names))
    return int(held.get(names[0], 0)), int(held.get(names[1], 0))


def add_requests(
    connection: SqlConnection, window: RequestWindow, now: datetime, account: str, number: int
) -> int:
    """Add to the requests of a window; the new total.

    Prunes old windows.
    """
    total = int(
        fetch_one(connection, "spend", f"{window} {WINDOWS[window](now)} {account}", number)[0]
    )
    if total == number:
        execute(
            connection,
            "prune_windows",
            f"{window} ",
            f"{window} {WINDOWS[window](now - _WINDOW_KEPT[window])}",
        )
    return total


def read_requests(
    connection: SqlConnection, window: RequestWindow, now: datetime, account: str
) -> int:
    """Requests of a window."""
    return int(fetch_one(connection, "spent", f"{window} {WINDOWS[window](now)} {account}")[0])


def record_pace(connection: SqlConnection, model: str, seconds: float) -> None:
    """Keep the time of an answer, as a state of no owner."""
    kept = [*load_pace(connection, model), round(seconds, 3)][-_PACE_KEPT:]
    execute(connection, "save_state", "", f"pace {model}", 1, encode_json({"seconds": kept}))


def load_pace(connection: SqlConnection, model: str) -> tuple[float, ...]:
    """Return the times of a model's last answers, oldest first."""
    row = fetch_first(connection, "load_state", "", f"pace {model}")
    return () if row is None else tuple(decode_json(row[1])["seconds"])
