"""Optional packages that encryption needs."""

from __future__ import annotations

from typing import Any

from engrams.errors import ExtraError
from engrams.installation import install_hint

_DRIVER = "pip install --force-reinstall --no-deps apsw-sqlite3mc"
"""The package replaces files of apsw, and so must be installed after it."""


def driver_hint() -> str:
    """Return the commands that install what encryption needs."""
    return f"{install_hint('encrypted')}, then {_DRIVER}"


def require_driver() -> None:
    """Raise ExtraError where the SQLite driver knows no ciphers."""
    import apsw

    if not hasattr(apsw, "mc_version"):
        raise ExtraError(
            "Encryption needs an SQLite driver with ciphers, and the installed driver has none.",
            hint=driver_hint(),
        )


def load_cipher() -> Any:
    """Load AES-GCM. ExtraError: cryptography is not installed."""
    try:
        from cryptography.hazmat.primitives.ciphers.aead import AESGCM
    except ImportError:
        raise ExtraError("Encryption needs the package cryptography.", hint=driver_hint()) from None
    return AESGCM
