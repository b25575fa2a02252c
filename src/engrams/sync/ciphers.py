"""The cryptography of a synchronised memory, from the package ``cryptography`` alone.

A member has a key pair that opens what is wrapped for it (X25519), and one that signs (Ed25519). Keys
are derived by HKDF with SHA-256, everything is sealed by ChaCha20-Poly1305. Every sealed piece has a
key of its own, derived from a random salt or a fresh key pair, so its nonce may be zero.
"""

from __future__ import annotations

import secrets
from base64 import b32decode, b32encode
from binascii import Error as Base32Error
from dataclasses import dataclass
from hashlib import blake2b
from hmac import compare_digest

from engrams.errors import EncryptionError, ExtraError, InputError
from engrams.installation import install_hint

try:
    from cryptography.exceptions import InvalidSignature, InvalidTag
    from cryptography.hazmat.primitives.asymmetric.ed25519 import (
        Ed25519PrivateKey,
        Ed25519PublicKey,
    )
    from cryptography.hazmat.primitives.asymmetric.x25519 import (
        X25519PrivateKey,
        X25519PublicKey,
    )
    from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305
    from cryptography.hazmat.primitives.hashes import SHA256
    from cryptography.hazmat.primitives.kdf.hkdf import HKDF
except ImportError:
    raise ExtraError(
        "Synchronising devices needs the package cryptography.", hint=install_hint("encrypted")
    ) from None

KEY_BYTES = 32
SALT_BYTES = 16
SIGNATURE_BYTES = 64
_NONCE = bytes(12)
_ID_BYTES = 10
_CODE_BYTES = 20
"""160 random bits: nobody finds a code by trying."""
_CHECK_BYTES = 5
_GROUP = 4
_LOOKALIKES = str.maketrans("018", "OIB")


@dataclass(frozen=True, slots=True)
class MemberKeys:
    """The two private keys of a member."""

    opening: bytes
    """X25519: opens what was wrapped for the member."""
    signing: bytes
    """Ed25519."""

    @classmethod
    def make(cls) -> MemberKeys:
        """Make random keys."""
        return cls(secrets.token_bytes(KEY_BYTES), secrets.token_bytes(KEY_BYTES))

    @classmethod
    def from_code(cls, secret: bytes) -> MemberKeys:
        """Derive the keys of whoever has a code; the same ones each time."""
        return cls(derive_key(secret, b"opening key"), derive_key(secret, b"signing key"))

    @property
    def public_opening(self) -> bytes:
        return X25519PrivateKey.from_private_bytes(self.opening).public_key().public_bytes_raw()

    @property
    def public_signing(self) -> bytes:
        return Ed25519PrivateKey.from_private_bytes(self.signing).public_key().public_bytes_raw()

    @property
    def id(self) -> str:
        """Id of the member: a hash of its public keys, so that nobody can give it other ones."""
        return name_member(self.public_opening, self.public_signing)

    def sign(self, data: bytes) -> bytes:
        return Ed25519PrivateKey.from_private_bytes(self.signing).sign(data)

    def unwrap(self, wrapped: bytes, purpose: bytes) -> bytes:
        """Open what was wrapped for this member. EncryptionError: it was wrapped otherwise."""
        try:
            ephemeral = X25519PublicKey.from_public_bytes(wrapped[:KEY_BYTES])
            shared = X25519PrivateKey.from_private_bytes(self.opening).exchange(ephemeral)
        except ValueError:
            raise EncryptionError("A wrapped key is malformed.") from None
        own = self.public_opening
        return _decrypt(_pair_key(shared, wrapped[:KEY_BYTES], own), wrapped[KEY_BYTES:], purpose)


def wrap(data: bytes, public_opening: bytes, purpose: bytes) -> bytes:
    """Seal data so that only the owner of an X25519 key opens it."""
    ephemeral = X25519PrivateKey.generate()
    public = ephemeral.public_key().public_bytes_raw()
    shared = ephemeral.exchange(X25519PublicKey.from_public_bytes(public_opening))
    return public + _encrypt(_pair_key(shared, public, public_opening), data, purpose)


def is_signed(data: bytes, signature: bytes, public_signing: bytes) -> bool:
    try:
        Ed25519PublicKey.from_public_bytes(public_signing).verify(signature, data)
    except (InvalidSignature, ValueError):
        return False
    return True


def name_member(public_opening: bytes, public_signing: bytes) -> str:
    keys = public_opening + public_signing
    return blake2b(keys, digest_size=_ID_BYTES, person=b"engrams member").hexdigest()


def seal(key: bytes, data: bytes, purpose: bytes) -> bytes:
    """Seal data with a key that is used for more than this; ``purpose`` is needed to open it."""
    salt = secrets.token_bytes(SALT_BYTES)
    return salt + _encrypt(derive_key(key, purpose, salt), data, purpose)


def unseal(key: bytes, sealed: bytes, purpose: bytes) -> bytes:
    """Open what ``seal`` sealed. EncryptionError: another key or purpose, or changed bytes."""
    salt = sealed[:SALT_BYTES]
    return _decrypt(derive_key(key, purpose, salt), sealed[SALT_BYTES:], purpose)


def derive_key(key: bytes, purpose: bytes, salt: bytes = b"") -> bytes:
    return HKDF(SHA256(), KEY_BYTES, salt or None, b"engrams sync " + purpose).derive(key)


def name_key(key: bytes) -> str:
    """Return a public name of a key, which fits no other key."""
    return blake2b(key, digest_size=_ID_BYTES, person=b"engrams sync key").hexdigest()


def prove_code(secret: bytes, memory: str) -> str:
    """Prove that whoever knows a code names this memory, and not the place in its stead."""
    return blake2b(memory.encode(), key=derive_key(secret, b"memory"), digest_size=32).hexdigest()


def fits_code(proof: str, secret: bytes, memory: str) -> bool:
    return compare_digest(proof.encode(), prove_code(secret, memory).encode())


def make_code() -> bytes:
    return secrets.token_bytes(_CODE_BYTES)


def write_code(secret: bytes) -> str:
    """Write a code as groups of letters and digits, with a check of typing errors."""
    letters = b32encode(secret + _check(secret)).decode()
    return "-".join(letters[at : at + _GROUP] for at in range(0, len(letters), _GROUP))


def read_code(text: str) -> bytes:
    """Read a code; case, spaces and hyphens do not matter. InputError: it is mistyped."""
    letters = "".join(text.upper().replace("-", " ").split()).translate(_LOOKALIKES)
    try:
        data = b32decode(letters)
    except Base32Error:
        data = b""
    secret, check = data[:_CODE_BYTES], data[_CODE_BYTES:]
    if len(secret) != _CODE_BYTES or check != _check(secret):
        raise InputError(
            "This code is mistyped or incomplete.",
            hint="Copy it again as `engrams sync pair`, `engrams sync init` or `engrams space invite`"
            " showed it.",
        )
    return secret


def _check(secret: bytes) -> bytes:
    return blake2b(secret, digest_size=_CHECK_BYTES, person=b"engrams code").digest()


def _pair_key(shared: bytes, ephemeral: bytes, recipient: bytes) -> bytes:
    return derive_key(shared, b"wrap", ephemeral + recipient)


def _encrypt(key: bytes, data: bytes, purpose: bytes) -> bytes:
    return ChaCha20Poly1305(key).encrypt(_NONCE, data, purpose)


def _decrypt(key: bytes, sealed: bytes, purpose: bytes) -> bytes:
    try:
        return ChaCha20Poly1305(key).decrypt(_NONCE, sealed, purpose)
    except (InvalidTag, ValueError):
        raise EncryptionError(
            "A piece of a synchronised memory has another key, or was changed."
        ) from None
