"""Links of turns within their sessions: the two before, and the one after."""

from __future__ import annotations

from array import array

import numpy as np

from engrams.index.columns import IndexColumns
from engrams.index.slots import Slots

LINK_COLUMNS = ("before", "before2", "after")


def chain_sessions(columns: IndexColumns, last_slots: array[int], slots: Slots) -> Slots:
    """Link the sessions of some slots anew, by row number.

    Returns the slots whose links changed. ``last_slots``: last slot of each session by its number,
    or -1; brought up to date. A slot that is not alive is in no session.
    """
    session_column = columns["session"]
    is_affected = np.zeros(len(last_slots), np.bool_)
    is_affected[session_column[slots]] = True
    members = np.flatnonzero(is_affected[session_column] & columns["alive"])
    members = members[np.lexsort((columns["rowid"][members], session_column[members]))]
    # Two of no session before and one after, so that each member has neighbours: member i stands
    # at i + 2.
    padded_sessions = np.concatenate([[-1, -1], session_column[members], [-1]])
    padded_slots = np.concatenate([[-1, -1], members, [-1]])
    sessions = padded_sessions[2:-1]
    has_before = padded_sessions[1:-2] == sessions
    has_before2 = padded_sessions[:-3] == sessions
    has_after = padded_sessions[3:] == sessions
    links = {
        "before": np.where(has_before, padded_slots[1:-2], -1),
        "before2": np.where(has_before2, padded_slots[:-3], -1),
        "after": np.where(has_after, padded_slots[3:], -1),
    }
    is_changed = np.zeros(len(members), np.bool_)
    for name in LINK_COLUMNS:
        is_changed |= columns[name][members] != links[name]
        columns[name][members] = links[name]
    for number in np.flatnonzero(is_affected).tolist():
        last_slots[number] = -1
    for number, slot in zip(
        sessions[~has_after].tolist(), members[~has_after].tolist(), strict=True
    ):
        last_slots[number] = slot
    return members[is_changed]
