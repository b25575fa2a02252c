"""Guards of a write: which turns are not stored at all.

Memory is off, the session is incognito, or the message asks not to be saved. Enter at ``admit``.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from engrams.core import Receipt, Scope, StageDecision, Turn
from engrams.frozen_data import dataclass
from engrams.write.ingest_request import IngestDeps, IngestRequest

_OFF = StageDecision("switch", "refused", "memory is off: the setting `enabled` is false")
_UNSAVED = StageDecision("privacy", "skip", "not saved, as the message asks")


@dataclass(frozen=True, slots=True)
class Admission:
    """Turns that may be stored, and receipts of the others."""

    turns: tuple[Turn, ...]
    """Those that may be stored, in order."""
    barred: tuple[Receipt | None, ...]
    """For each turn of the request the receipt of one that is not stored, or None."""

    def join_receipts(self, receipts: Sequence[Receipt]) -> tuple[Receipt, ...]:
        """Return the receipts of all turns, in order; ``receipts``: of those that were admitted."""
        admitted = iter(receipts)
        return tuple(receipt or next(admitted) for receipt in self.barred)


def admit(request: IngestRequest, deps: IngestDeps) -> Admission:
    """Bar turns that must not be stored. InputError: a field of one has the wrong type."""
    now = deps.write.clock()
    for turn in request.turns:
        turn.check_types()
    if not deps.write.settings.enabled:
        refusal = Receipt("", request.scope, "refused", now, decisions=(_OFF,))
        return Admission((), tuple(refusal for _ in request.turns))
    asks_not_to_save = deps.no_save_requests.mark(request.turns, request.scope)
    pairs = list(zip(request.turns, asks_not_to_save, strict=True))
    barred = tuple(
        _bar(turn, request.scope, now, deps, is_unsaved=is_unsaved) for turn, is_unsaved in pairs
    )
    if request.is_live:
        unsaved = [
            turn
            for turn, receipt in zip(request.turns, barred, strict=True)
            if receipt is not None and receipt.outcome == "unsaved"
        ]
        deps.no_save_requests.note_bare(unsaved, request.scope)
    admitted = (
        turn for turn, receipt in zip(request.turns, barred, strict=True) if receipt is None
    )
    return Admission(tuple(admitted), barred)


def _bar(
    turn: Turn, scope: Scope, now: datetime, deps: IngestDeps, *, is_unsaved: bool
) -> Receipt | None:
    """Return the receipt of a turn that must not be stored; None: it may be."""
    if deps.incognito.is_silent(scope, turn.session):
        return Receipt("", scope, "incognito", now)
    if is_unsaved:
        return Receipt("", scope, "unsaved", now, decisions=(_UNSAVED,))
    return None
