"""Optional packages that encryption needs."""

from __future__ import annotations

from typing import Any

from engrams.errors import ExtraError
from engrams.installation import install_hint

_RESTORE_DRIVER = (
    "Another program installed the package apsw, which has the same module without ciphers. Run"
    " `pip uninstall --yes apsw`, then"
    " `pip install --force-reinstall --no-deps apsw-sqlite3mc`."
)


def require_driver() -> None:
    """Raise ExtraError where the SQLite driver knows no ciphers."""
    import apsw

    if not hasattr(apsw, "mc_version"):
        raise ExtraError(
            "Encryption needs an SQLite driver with ciphers, and the installed driver has none.",
            hint=_RESTORE_DRIVER,
        )


def load_cipher() -> Any:
    """Load AES-GCM. ExtraError: cryptography is not installed."""
    try:
        from cryptography.hazmat.primitives.ciphers.aead import AESGCM
    except ImportError:
        raise ExtraError(
            "Encryption needs the package cryptography.", hint=install_hint("encrypted")
        ) from None
    return AESGCM
