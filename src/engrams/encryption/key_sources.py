"""Outer key of a home: from a passphrase, a key file or the system's keyring."""

from __future__ import annotations

import hashlib
import os
import secrets
import stat
import sys
from collections.abc import Mapping
from getpass import getpass
from importlib import import_module
from pathlib import Path
from typing import Any

from engrams.encryption.header import KEY_BYTES, EncryptionHeader, new_header
from engrams.errors import EncryptionError, ExtraError
from engrams.installation import install_hint
from engrams.settings import EncryptionSettings

VARIABLE = "ENGRAMS_PASSPHRASE"
_SERVICE = "engrams"
_COST = {"n": 1 << 15, "r": 8, "p": 1, "maxmem": 64 << 20}
"""Parameters of scrypt: 32 MB and some 0.1 s for each attempt."""
_MIN_FILE_CHARS = 16
_typed: dict[str, str] = {}
"""Salt of a home's header -> passphrase that was typed in this process."""


def read_outer_key(
    header: EncryptionHeader, settings: EncryptionSettings, *, ask: bool = True
) -> bytes:
    """Read the outer key, which wraps the data keys of a home.

    ``ask``: ask for a passphrase on the terminal. EncryptionError: it is missing.
    """
    if header.kind == "passphrase":
        return derive_key(header, _find_passphrase(header, settings, ask=ask))
    if header.kind == "file":
        return derive_key(header, read_key_file(Path(settings.key_file or header.place)))
    return derive_key(header, _read_entry(header.place))


def derive_key(header: EncryptionHeader, secret: str) -> bytes:
    """Derive the outer key; a passphrase is stretched by scrypt."""
    salt = bytes.fromhex(header.salt)
    if header.kind == "passphrase":
        return hashlib.scrypt(
            secret.encode("utf-8", "surrogatepass"), salt=salt, dklen=KEY_BYTES, **_COST
        )
    return hashlib.blake2b(
        secret.encode("utf-8", "surrogatepass"), digest_size=KEY_BYTES, salt=salt
    ).digest()


def make_source(settings: EncryptionSettings, passphrase: str) -> tuple[EncryptionHeader, bytes]:
    """Make a header with a new secret, and its outer key."""
    if settings.key == "passphrase":
        if not passphrase:
            raise EncryptionError(
                "A passphrase is needed.",
                hint=f"Set {VARIABLE}, or run the command on a terminal, which asks for it.",
            )
        header = new_header("passphrase", "")
        return header, derive_key(header, passphrase)
    if settings.key == "file":
        if not settings.key_file:
            raise EncryptionError(
                "No key file is named.", hint="Set encryption.key_file, or give --key-file FILE."
            )
        path = Path(settings.key_file).expanduser().absolute()
        header = new_header("file", str(path))
        if not path.exists():
            _make_key_file(path)
        return header, derive_key(header, read_key_file(path))
    header = new_header("keyring", f"home-{secrets.token_hex(8)}")
    secret = secrets.token_hex(KEY_BYTES)
    _call_keyring("set_password", _SERVICE, header.place, secret)
    return header, derive_key(header, secret)


def drop_source(header: EncryptionHeader) -> None:
    """Delete a keyring entry that no home needs any more."""
    if header.kind == "keyring":
        _call_keyring("delete_password", _SERVICE, header.place)


def read_key_file(path: Path) -> str:
    """Read a key file.

    EncryptionError: it is missing, short or open to others.
    """
    path = path.expanduser()
    try:
        mode = path.stat().st_mode
        text = path.read_bytes().decode("latin-1").strip()
    except OSError as problem:
        raise EncryptionError(
            f"The key file {path} cannot be read: {problem.strerror or problem}.",
            hint="Set encryption.key_file to the file with the key.",
        ) from None
    if os.name == "posix" and stat.S_IMODE(mode) & 0o077:
        raise EncryptionError(
            f"The key file {path} can be read by others.", hint=f"chmod 600 {path}"
        )
    if len(text) < _MIN_FILE_CHARS:
        raise EncryptionError(
            f"The key file {path} is too short to be a key.",
            hint=f"It needs {_MIN_FILE_CHARS} characters at least.",
        )
    return text


def typed_passphrases() -> dict[str, str]:
    """Return the passphrases that were typed in this process, for processes that it starts."""
    return dict(_typed)


def remember_passphrases(typed: Mapping[str, str]) -> None:
    """Take over passphrases that were typed in the process that started this one."""
    _typed.update(typed)


def ask_passphrase(prompt: str, *, twice: bool = False) -> str:
    """Ask on the terminal; empty where there is none."""
    if not (sys.stdin and sys.stdin.isatty() and sys.stderr.isatty()):
        return ""
    text = getpass(f"{prompt}: ", sys.stderr)
    if twice and text != getpass("Again: ", sys.stderr):
        raise EncryptionError(
            "The two passphrases differ.", hint="Nothing was changed; run the command again."
        )
    return text


def _find_passphrase(header: EncryptionHeader, settings: EncryptionSettings, *, ask: bool) -> str:
    passphrase = settings.passphrase or os.environ.get(VARIABLE, "") or _typed.get(header.salt, "")
    if not passphrase and ask:
        passphrase = ask_passphrase("Passphrase of this home")
        if passphrase:
            _typed[header.salt] = passphrase
    if not passphrase:
        raise EncryptionError(
            "This home is encrypted, and its passphrase is missing.",
            hint=f"Set {VARIABLE}, or run the command on a terminal, which asks for it.",
        )
    return passphrase


def _make_key_file(path: Path) -> None:
    try:
        path.parent.mkdir(parents=True, mode=0o700, exist_ok=True)
        with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
            file.write(secrets.token_hex(KEY_BYTES) + "\n")
            file.flush()
            os.fsync(file.fileno())
    except OSError as problem:
        raise EncryptionError(
            f"The key file {path} cannot be made: {problem.strerror or problem}.",
            hint="Name a file that this user can write.",
        ) from None


def _read_entry(name: str) -> str:
    secret = _call_keyring("get_password", _SERVICE, name)
    if not secret:
        raise EncryptionError(
            f"This home is encrypted, and the system's keyring has no entry {_SERVICE}/{name}.",
            hint=(
                "Log in as the user who encrypted it, with the keyring unlocked; or restore a"
                " backup that has a passphrase."
            ),
        )
    return str(secret)


def _call_keyring(name: str, *values: str) -> Any:
    try:
        keyring = import_module("keyring")
        errors = import_module("keyring.errors")
    except ImportError:
        raise ExtraError(
            "The system's keyring needs the package keyring.", hint=install_hint("encrypted")
        ) from None
    try:
        return getattr(keyring, name)(*values)
    except (errors.KeyringError, RuntimeError) as problem:
        if isinstance(problem, errors.PasswordDeleteError):
            return None
        raise EncryptionError(
            f"The system's keyring cannot be used: {problem}.",
            hint=(
                "Unlock it, or keep the key elsewhere: engrams encrypt --key passphrase, or --key"
                " file --key-file FILE."
            ),
        ) from None
