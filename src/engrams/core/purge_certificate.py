"""Certificates of purges: what was erased, when, where it was looked for, and what was found.

A certificate has ids and numbers and no word of a memory. Everybody can check its digest, and with
the package cryptography its signature, without the home that gave it.
"""

from __future__ import annotations

import json
from hashlib import blake2b

from engrams.core.records import Json, Meta
from engrams.errors import InputError

_SIGNED = "signed"
"""Part of a certificate that its digest is of."""
_SEED_PURPOSE = b"engrams sign"


def issue(statement: Meta, key: bytes) -> Meta:
    """Issue a certificate of a statement, signed by a key of 32 bytes where that can be done.

    Without a key, or without the package cryptography, it has a digest and no signature.
    """
    data = _encode(statement)
    certificate = {_SIGNED: statement, "digest": blake2b(data, digest_size=32).hexdigest()}
    signature, public_key = _sign(data, key)
    return {**certificate, "signature": signature, "public_key": public_key}


def find_fault(certificate: Json, public_key: str = "") -> str:
    """Say what is wrong with a certificate; empty: nothing is.

    ``public_key``: the one that it must be signed by, in hexadecimal digits; empty: its own.
    InputError: it is no certificate.
    """
    try:
        data = _encode(certificate[_SIGNED])
        digest = certificate["digest"]
        signature = bytes.fromhex(certificate["signature"])
        own_key = certificate["public_key"]
    except (KeyError, TypeError, ValueError):
        raise InputError("This is no certificate of engrams.") from None
    if blake2b(data, digest_size=32).hexdigest() != digest:
        return "its content was changed"
    if public_key and own_key != public_key:
        return "it was signed by another key"
    if not signature:
        return "it is not signed" if public_key else ""
    return "" if _is_signed(data, signature, own_key) else "its signature does not fit"


def _sign(data: bytes, key: bytes) -> tuple[str, str]:
    """Sign by Ed25519; return signature and public key in hexadecimal digits."""
    if not key:
        return "", ""
    try:
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
    except ImportError:
        return "", ""
    seed = blake2b(b"", key=key, digest_size=32, person=_SEED_PURPOSE).digest()
    private_key = Ed25519PrivateKey.from_private_bytes(seed)
    return private_key.sign(data).hex(), private_key.public_key().public_bytes_raw().hex()


def _is_signed(data: bytes, signature: bytes, public_key: str) -> bool:
    """Check a signature. ExtraError: the package cryptography is not installed."""
    from engrams.errors import ExtraError
    from engrams.installation import install_hint

    try:
        from cryptography.exceptions import InvalidSignature
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
    except ImportError:
        raise ExtraError(
            "A signature needs the package cryptography.", hint=install_hint("encrypted")
        ) from None
    try:
        Ed25519PublicKey.from_public_bytes(bytes.fromhex(public_key)).verify(signature, data)
    except (InvalidSignature, ValueError):
        return False
    return True


def _encode(statement: Json) -> bytes:
    return json.dumps(statement, sort_keys=True, separators=(",", ":")).encode()
