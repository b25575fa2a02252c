"""Whose memory it is where nobody says."""

from __future__ import annotations

import getpass


def login() -> str:
    """The name of whoever runs this; ``me`` where there is none, as in a bare container."""
    try:
        return getpass.getuser() or "me"
    except (OSError, KeyError, ImportError):
        return "me"
