"""Chains of the lines of the audit log: each has a seal over itself and the seal before it.

A line that is changed, added or taken away does not fit. The ledger of the home's files knows the
first and the last seal of each day, so a day that is gone or cut off is noticed, too. A crash
between a line and the ledger leaves lines that fit behind the last.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from engrams.encryption.seal_keys import seal_fields

_KIND = "audit"
_NONCE_BYTES = 16
Chain = dict[str, Any]
"""``start`` and ``last``: seals; ``size``: bytes of the day's file behind the last."""
Lines = Callable[[str], Iterable[bytes]]
"""Lines of a day's file, decrypted; none where there is no file."""


def extend(key: bytes, chain: Chain, events: Iterable[dict[str, Any]]) -> list[bytes]:
    """Seal events behind a chain's last line; return their lines."""
    lines = []
    for event in events:
        chain["last"] = _seal_line(key, event, chain["last"])
        lines.append(json.dumps({**event, "seal": chain["last"]}).encode())
    return lines


def open_chain(key: bytes, audit: dict[str, Any], day: str, size: int, read: Lines) -> Chain:
    """Return the chain of a day in the ledger; a new one begins at the end of the day's file.

    ``size``: of the file. Lines of a process that died before it noted them are taken up.
    """
    audit.setdefault("since", day)
    days = audit.setdefault("days", {})
    if day not in days:
        start = secrets.token_hex(_NONCE_BYTES)
        days[day] = {"start": start, "last": start, "size": size}
    chain: Chain = days[day]
    if chain["size"] != size:
        *_, last = chain["last"], *_follow(key, chain["last"], read(day))
        chain["last"] = last or chain["last"]
    return chain


def find_break(key: bytes, audit: dict[str, Any], days: Iterable[str], read: Lines) -> str:
    """Say where the log was changed; empty: nowhere. ``days``: those of which there is a file."""
    chains: dict[str, Chain] = audit.get("days", {})
    for day in sorted({*chains, *(day for day in days if day >= audit.get("since", "~"))}):
        chain = chains.get(day)
        if chain is None:
            return f"{day}.jsonl was added"
        seals = [chain["start"], *_follow(key, chain["start"], read(day))]
        if not seals[-1]:
            return f"lines of {day}.jsonl were changed, added or taken away"
        if chain["last"] not in seals:
            return f"lines of {day}.jsonl are gone"
    return ""


def _follow(key: bytes, seal: str, lines: Iterable[bytes]) -> Iterator[str]:
    """Yield the seal of each line that fits behind the one before; "" and no more: one does not.

    Lines before the first that fits are older. A line that a crash cut off is none.
    """
    is_begun = False
    for line in lines:
        try:
            event = dict(json.loads(line))
        except (ValueError, TypeError):
            continue
        line_seal = event.pop("seal", "")
        if line_seal and line_seal == _seal_line(key, event, seal):
            seal = line_seal
            is_begun = True
            yield seal
        elif is_begun:
            yield ""
            return


def _seal_line(key: bytes, event: dict[str, Any], before: str) -> str:
    return seal_fields(key, _KIND, {"event": event, "before": before})
