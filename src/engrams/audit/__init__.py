"""Who did what, and that somebody was in danger: logs that are always on and that no prompt ever reads. Nothing here knows how
memory is read or written."""

from __future__ import annotations

from engrams.audit.crisis import Crisis as Crisis
from engrams.audit.crisis import CrisisLog as CrisisLog
from engrams.audit.log import AuditLog as AuditLog
from engrams.audit.log import Entry as Entry
from engrams.ledger import home_of
from engrams.ports import Clock
from engrams.settings import Settings


def open_log(settings: Settings, clock: Clock) -> AuditLog:
    """The log of a home; in this process's memory only where memory is."""
    home = home_of(settings)
    return AuditLog(None if home is None else home / "audit", clock, settings.audit.days)


def open_crises(settings: Settings, clock: Clock) -> CrisisLog:
    """The safety log of a home; in this process's memory only where memory is."""
    return CrisisLog(home_of(settings), clock, settings.safety.days)
