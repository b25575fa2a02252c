"""Order of turns within their sessions, after one left or came back."""

from __future__ import annotations

from array import array

import numpy as np
import numpy.typing as npt

from engrams.index.columns import IndexColumns

_LINKS = ("before", "before2", "after", "place")


def chain_sessions(
    columns: IndexColumns, lasts: array[int], slots: npt.NDArray[np.int64]
) -> npt.NDArray[np.int64]:
    """Link the sessions of some slots anew, by row number.

    Returns the slots whose links changed. ``lasts``: last slot of each session by its number, or
    -1; brought up to date. What is not alive is in no session.
    """
    sessions = columns["session"]
    asked = np.zeros(len(lasts), np.bool_)
    asked[sessions[slots]] = True
    found = np.flatnonzero(asked[sessions] & columns["alive"])
    found = found[np.lexsort((columns["rowid"][found], sessions[found]))]
    # Two of no session on either side, so that each slot has neighbours.
    codes = np.concatenate([[-1, -1], sessions[found], [-1]])
    chain = np.concatenate([[-1, -1], found, [-1]])
    here = codes[2:-1]
    follows = np.append(here[1:] == here[:-1], False) if len(found) else np.zeros(0, np.bool_)
    begins = np.flatnonzero(codes[1:-2] != here)
    fresh = {
        "before": np.where(codes[1:-2] == here, chain[1:-2], -1),
        "before2": np.where(codes[:-3] == here, chain[:-3], -1),
        "after": np.where(follows, chain[3:], -1),
        "place": np.arange(len(found)) - np.repeat(begins, np.diff(np.append(begins, len(found)))),
    }
    changed = np.zeros(len(found), np.bool_)
    for name in _LINKS:
        changed |= columns[name][found] != fresh[name]
        columns[name][found] = fresh[name]
    for code in np.flatnonzero(asked).tolist():
        lasts[code] = -1
    for code, slot in zip(here[~follows].tolist(), found[~follows].tolist(), strict=True):
        lasts[code] = slot
    return found[changed]
