"""Identity of a call, for the ids of what it stores."""

from __future__ import annotations

from contextvars import ContextVar
from datetime import datetime

from engrams.frozen_data import dataclass

IDENTITY: ContextVar[CallIdentity | None] = ContextVar("call_identity", default=None)
"""The call that runs here; None: no server was asked."""


@dataclass(frozen=True, slots=True)
class CallIdentity:
    """Key and time of a call: what a command stores gets its ids from them.

    They are the same in the server that was asked and in the caller that runs the command itself
    after a broken link, so that nothing is stored twice.
    """

    key: str
    at: datetime
    reason: str = ""
    """Reason why no server answered; for people."""
