"""Header of an encrypted home: the file ``encryption.json`` with its wrapped keys.

Files are encrypted with a random data key. The header holds it, wrapped (AES-GCM) with an outer key
that comes from a passphrase, a key file or the system's keyring.
"""

from __future__ import annotations

import json
import os
import secrets
from dataclasses import asdict, replace
from pathlib import Path
from typing import TypeAlias

from engrams.encryption.driver import load_cipher
from engrams.errors import EncryptionError
from engrams.frozen_data import dataclass

HEADER = "encryption.json"
FORMAT = 1
KEY_BYTES = 32
_NONCE = 12

DataKey: TypeAlias = bytes | None
"""Key of the files; None: they are plain."""


_WRONG = {
    "passphrase": "The passphrase is wrong.",
    "file": "The key file does not fit this home.",
    "keyring": "The key in the system's keyring does not fit this home.",
}
_WRONG_HINT = {
    "passphrase": (
        "Set ENGRAMS_PASSPHRASE to the passphrase of this home, or run the command on a terminal,"
        " which asks for it."
    ),
    "file": "Point encryption.key_file at the file that this home was encrypted with.",
    "keyring": (
        "Unlock the keyring of the user who encrypted this home, or restore the entry that `engrams"
        " encrypt --status` names."
    ),
}


@dataclass(frozen=True, slots=True)
class EncryptionHeader:
    """Contents of the header. Its wrapped keys are hex; an empty one stands for plain files."""

    kind: str
    """Source of the outer key: passphrase, file or keyring."""
    place: str
    """Path of the key file, or name of the entry in the keyring; empty for a passphrase."""
    salt: str
    """Salt of the outer key, 16 bytes as hex."""
    now: str
    """Wrapped key that files have."""
    before: str | None = None
    """Wrapped key of files that a change has not reached yet. None: no change is under way."""
    format: int = FORMAT

    @property
    def is_changing(self) -> bool:
        """True while a change of the key is under way, or was cut short."""
        return self.before is not None


def new_header(kind: str, place: str) -> EncryptionHeader:
    """Make a header without keys."""
    return EncryptionHeader(kind, place, secrets.token_hex(16), "")


def read_header(home: Path) -> EncryptionHeader | None:
    """Read a home's header; None: the home is plain.

    EncryptionError: it is damaged.
    """
    path = home / HEADER
    try:
        text = path.read_text("utf-8")
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (OSError, UnicodeDecodeError) as problem:
        raise EncryptionError(
            f"{path} cannot be read: {problem}.", hint="Give this user the right to read it."
        ) from None
    try:
        header = EncryptionHeader(**json.loads(text))
        bytes.fromhex(header.salt + header.now + (header.before or ""))
    except (ValueError, TypeError, AttributeError) as problem:
        raise EncryptionError(
            f"{path} is damaged: {problem}.",
            hint="Restore it from a backup. Without it, this home cannot be opened.",
        ) from None
    if header.format > FORMAT:
        raise EncryptionError(
            f"{path} was written by a newer engrams.", hint="Upgrade engrams on this machine."
        )
    return header


def write_header(home: Path, header: EncryptionHeader, *, new: bool = False) -> bool:
    """Write a header, whole or not at all.

    ``new``: only where the home has none. False: another process was first.
    """
    path = home / HEADER
    new_path = home / f".{HEADER}.{os.getpid()}"
    handle = os.open(new_path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(handle, "w", encoding="utf-8") as file:
        file.write(encode_header(header))
        file.flush()
        os.fsync(file.fileno())
    try:
        if new:
            # A link fails where the name is taken; a rename would replace the other header.
            os.link(new_path, path)
            new_path.unlink()
        else:
            new_path.replace(path)
    except FileExistsError:
        new_path.unlink()
        return False
    sync_folder(home)
    return True


def encode_header(header: EncryptionHeader) -> str:
    """Encode a header as the text of its file."""
    return json.dumps(asdict(header), indent=1)


def sync_folder(folder: Path) -> None:
    """Make changed names durable, where folders can be synced."""
    if os.name == "posix":
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def wrap_keys(
    header: EncryptionHeader, outer: bytes, now: DataKey, *before: DataKey
) -> EncryptionHeader:
    """Return a header with these keys, wrapped with the ``outer`` one."""
    return replace(
        header, now=_wrap(outer, now), before=_wrap(outer, before[0]) if before else None
    )


def unwrap_keys(header: EncryptionHeader, outer: bytes) -> tuple[DataKey, ...]:
    """Unwrap the keys of a header, the present one first.

    EncryptionError: ``outer`` is wrong.
    """
    wrapped = (header.now,) if header.before is None else (header.now, header.before)
    return tuple(_unwrap(outer, bytes.fromhex(text), header) for text in wrapped)


def _wrap(outer: bytes, key: DataKey) -> str:
    if key is None:
        return ""
    nonce = secrets.token_bytes(_NONCE)
    wrapped: bytes = load_cipher()(outer).encrypt(nonce, key, b"engrams key")
    return (nonce + wrapped).hex()


def _unwrap(outer: bytes, wrapped: bytes, header: EncryptionHeader) -> DataKey:
    if not wrapped:
        return None
    cipher = load_cipher()(outer)
    from cryptography.exceptions import InvalidTag

    try:
        return bytes(cipher.decrypt(wrapped[:_NONCE], wrapped[_NONCE:], b"engrams key"))
    except (InvalidTag, ValueError):
        raise EncryptionError(
            _WRONG[header.kind].format(header.place), hint=_WRONG_HINT[header.kind]
        ) from None
