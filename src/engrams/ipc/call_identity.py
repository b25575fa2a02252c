"""Identity of a call, for the ids of what it stores."""

from __future__ import annotations

from contextvars import ContextVar
from datetime import datetime

from engrams.frozen_data import dataclass

IDENTITY: ContextVar[CallIdentity | None] = ContextVar("call_identity", default=None)
"""The call that runs here; None: it was asked of no server."""


@dataclass(frozen=True, slots=True)
class CallIdentity:
    """Key and time of a call, and why no server answered it.

    Key and time are the same in the server that was asked and in the caller that runs the command
    itself after a broken link.
    """

    key: str
    at: datetime
    reason: str = ""
