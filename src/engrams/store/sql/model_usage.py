"""Counters of model calls, tokens and requests by day or minute; times of a model's answers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from datetime import date, datetime, timedelta

from engrams.core import Json
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
_PACES_KEPT = 50
"""Times of answers that are kept for a model."""
_REASONS_KEPT = 50
"""Reasons of mistakes that are counted for a model, the most frequent ones."""
_WINDOW_KEPT: Mapping[RequestWindow, timedelta] = {
    "minute": timedelta(minutes=2),
    "day": timedelta(days=_DAYS_KEPT),
}


def add_spend(connection: SqlConnection, day: str, calls: int, tokens: int) -> tuple[int, int]:
    """Add to a day's counters; return the new totals of calls and tokens.

    ``day``: a date in ISO 8601, perhaps with more behind it. Old days are pruned.
    """
    total_calls = int(fetch_one(connection, "spend", _name_calls(day), calls)[0])
    total_tokens = int(fetch_one(connection, "spend", _name_tokens(day), tokens)[0])
    if total_calls == calls:
        # The first of a day.
        oldest = date.fromisoformat(day[:10]) - timedelta(days=_DAYS_KEPT)
        execute(connection, "prune_spent", f"chat {oldest}")
    return total_calls, total_tokens


def read_spend(connection: SqlConnection, day: str) -> tuple[int, int]:
    """Read a day's totals of calls and tokens."""
    totals = dict(fetch_all(connection, "spent_both", _name_calls(day), _name_tokens(day)))
    return int(totals.get(_name_calls(day), 0)), int(totals.get(_name_tokens(day), 0))


def _name_calls(day: str) -> str:
    return f"chat {day} calls"


def _name_tokens(day: str) -> str:
    return f"chat {day} tokens"


def add_requests(
    connection: SqlConnection, window: RequestWindow, now: datetime, account: str, number: int
) -> int:
    """Add to the requests of an account in the current window; return the new total.

    Old windows are pruned.
    """
    total = int(fetch_one(connection, "spend", _name_requests(window, now, account), number)[0])
    if total == number:
        oldest = f"{window} {WINDOWS[window](now - _WINDOW_KEPT[window])}"
        execute(connection, "prune_windows", f"{window} ", oldest)
    return total


def read_requests(
    connection: SqlConnection, window: RequestWindow, now: datetime, account: str
) -> int:
    """Read the requests of an account in the current window."""
    return int(fetch_one(connection, "spent", _name_requests(window, now, account))[0])


def _name_requests(window: RequestWindow, now: datetime, account: str) -> str:
    return f"{window} {WINDOWS[window](now)} {account}"


def record_pace(connection: SqlConnection, model: str, seconds: float) -> None:
    """Add the time of an answer, as a state of no owner."""
    paces = [*load_pace(connection, model), round(seconds, 3)][-_PACES_KEPT:]
    execute(connection, "save_state", "", f"pace {model}", 1, encode_json({"seconds": paces}))


def load_pace(connection: SqlConnection, model: str) -> tuple[float, ...]:
    """Return the seconds of a model's last answers, oldest first."""
    row = fetch_first(connection, "load_state", "", f"pace {model}")
    return () if row is None else tuple(decode_json(row[1])["seconds"])


def count_mistakes(connection: SqlConnection, model: str, numbers: Mapping[str, int]) -> None:
    """Add to the mistakes of a model, as a state of no owner."""
    total = Counter(load_mistakes(connection, model))
    total.update(numbers)
    most_frequent = dict(total.most_common(_REASONS_KEPT))
    execute(connection, "save_state", "", f"mistakes {model}", 1, encode_json(most_frequent))


def load_mistakes(connection: SqlConnection, model: str) -> Mapping[str, int]:
    """Return the mistakes of a model by reason."""
    row = fetch_first(connection, "load_state", "", f"mistakes {model}")
    return {} if row is None else dict(decode_json(row[1]))


def save_server_form(connection: SqlConnection, address: str, form: Mapping[str, Json]) -> None:
    """Store the form of request that a model server takes, as a state of no owner."""
    execute(connection, "save_state", "", f"form {address}", 1, encode_json(dict(form)))


def load_server_form(connection: SqlConnection, address: str) -> Mapping[str, Json] | None:
    """Return the form of request that a model server takes; None: it is not known."""
    row = fetch_first(connection, "load_state", "", f"form {address}")
    if row is None:
        return None
    form: Mapping[str, Json] = decode_json(row[1])
    return form
