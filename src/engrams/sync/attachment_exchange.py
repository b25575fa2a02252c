"""Files of pictures and sounds on all devices of a person: sealed, signed, and named by their contents.

A file of the place is ``MAGIC``, name of the key, salt and ciphertext (``ciphers.seal``), signature, as a
segment is. Its number is a keyed hash of the contents' hash: devices see which files the place has, and
the place learns nothing but sizes. ``AttachmentExchange.run`` is the entry.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from engrams.core import Kind, Record, Status
from engrams.errors import EncryptionError
from engrams.ports import AttachmentStore, Condition, RecordQuery, ScopeReach, Store, Where
from engrams.sync import ciphers
from engrams.sync.identity import DeviceIdentity
from engrams.sync.membership import MemberList
from engrams.sync.places import Place, PlaceFile

MAGIC = b"engrams attachment 1\n"
_NAME_BYTES = 10
_DIGEST_BYTES = 16
_LENGTH_BYTES = 4
_NUMBERS = 10**12
"""A file's number has at most twelve digits."""
_BATCH_BYTES = 4_000_000
"""Bytes that are carried to the place at once."""
_TOLD_STATUSES = tuple(status for status in Status if status is not Status.PURGED)
_MAX_PASSAGES = 100


@dataclass(frozen=True, slots=True)
class SealedFile:
    """A file as devices tell it."""

    digest: str
    data: bytes
    preview: bytes


def pack(file: SealedFile, place_file: PlaceFile, key: bytes, identity: DeviceIdentity) -> bytes:
    """Pack, seal and sign a file."""
    length = len(file.preview).to_bytes(_LENGTH_BYTES, "big")
    content = bytes.fromhex(file.digest) + length + file.preview + file.data
    purpose = _purpose(identity.memory, place_file)
    sealed = bytes.fromhex(ciphers.name_key(key)) + ciphers.seal(key, content, purpose)
    return MAGIC + sealed + identity.keys.sign(purpose + sealed)


def unpack(
    packed: bytes, place_file: PlaceFile, memory: str, public_signing: bytes, keys: Iterable[bytes]
) -> SealedFile:
    """Check and open a file. EncryptionError: it is not whole, or not what its name says."""
    sealed = packed[len(MAGIC) : -ciphers.SIGNATURE_BYTES]
    purpose = _purpose(memory, place_file)
    signature = packed[-ciphers.SIGNATURE_BYTES :]
    key_name = sealed[:_NAME_BYTES].hex()
    key = next((key for key in keys if ciphers.name_key(key) == key_name), None)
    is_whole = packed.startswith(MAGIC) and ciphers.is_signed(
        purpose + sealed, signature, public_signing
    )
    if not is_whole or key is None:
        raise EncryptionError("A file is not whole, or is not what its name says.")
    content = ciphers.unseal(key, sealed[_NAME_BYTES:], purpose)
    start = _DIGEST_BYTES + _LENGTH_BYTES
    preview_end = start + int.from_bytes(content[_DIGEST_BYTES:start], "big")
    data = content[preview_end:]
    digest = hashlib.blake2b(data, digest_size=_DIGEST_BYTES).digest()
    if content[:_DIGEST_BYTES] != digest or number_file(key, digest.hex()) != place_file.number:
        raise EncryptionError("A file has other contents than its name says.")
    return SealedFile(digest.hex(), data, content[start:preview_end])


def number_file(key: bytes, digest: str) -> int:
    """Number a file by its contents; only who has the key knows which file a number is of."""
    name_key = ciphers.derive_key(key, b"attachment name")
    hashed = hashlib.blake2b(bytes.fromhex(digest), key=name_key, digest_size=8).digest()
    return int.from_bytes(hashed, "big") % _NUMBERS


def _purpose(memory: str, file: PlaceFile) -> bytes:
    return f"attachment {memory} {file.member} {file.number}".encode()


@dataclass(frozen=True, slots=True)
class AttachmentExchangeDeps:
    """Memory of this home, and how files travel."""

    store: Store
    attachments: AttachmentStore
    max_bytes: int
    """Largest file that travels."""
    is_secret: Callable[[Record], bool]
    """True for a memory that stays on this device."""


class AttachmentExchange:
    """Exchange of files with the place, after memories were exchanged."""

    def __init__(
        self,
        deps: AttachmentExchangeDeps,
        identity: DeviceIdentity,
        members: MemberList,
        carrier: Place,
    ) -> None:
        self._deps = deps
        self._identity = identity
        self._place = carrier
        self._devices = {member.id: member for member in members.list_devices()}
        self._keys = tuple(_open_keys(members, identity))
        current = members.find_current_key()
        self._current_key = members.open_key(current.name, identity.keys) if current else b""

    def run(self, files: Iterable[PlaceFile], skipped: set[PlaceFile]) -> int:
        """Send what the place has not, take what this home has not; return the bytes sent.

        ``files``: those of the place. ``skipped``: files that were read and are of no memory here; those
        of this run are added.
        """
        owner = self._identity.owner
        sizes = self._deps.attachments.measure(owner)
        listed = [file for file in files if file.kind == "att" and file.member in self._devices]
        own_numbers = {number_file(key, digest): digest for digest in sizes for key in self._keys}
        for file in listed:
            if file.number not in own_numbers and file not in skipped:
                self._take(file, skipped)
        present = {own_numbers[file.number] for file in listed if file.number in own_numbers}
        unsent = [
            digest
            for digest, size in sizes.items()
            if digest not in present and size <= self._deps.max_bytes
        ]
        return self._send(unsent)

    def _take(self, file: PlaceFile, skipped: set[PlaceFile]) -> None:
        """Keep a file that a memory is made of. An own file of no memory leaves the place."""
        owner = self._identity.owner
        packed = self._place.read(file) or b""
        signing = self._devices[file.member].signing
        try:
            sealed_file = unpack(packed, file, self._identity.memory, signing, self._keys)
        except EncryptionError:
            return
        is_wanted = bool(self._find_passages(sealed_file.digest))
        if is_wanted and len(sealed_file.data) <= self._deps.max_bytes:
            self._deps.attachments.write(
                owner, sealed_file.digest, sealed_file.data, sealed_file.preview
            )
        elif not is_wanted and file.member == self._identity.device:
            self._place.remove([file])
        else:
            skipped.add(file)

    def _send(self, digests: Sequence[str]) -> int:
        """Write files to the place, several at once; return their bytes."""
        sent_bytes = 0
        batch: dict[PlaceFile, bytes] = {}
        for digest in digests:
            sealed_file = self._read(digest)
            if sealed_file is None:
                continue
            number = number_file(self._current_key, digest)
            place_file = PlaceFile(self._identity.device, number, "att")
            batch[place_file] = pack(sealed_file, place_file, self._current_key, self._identity)
            if sum(map(len, batch.values())) >= _BATCH_BYTES:
                self._place.write(batch)
                sent_bytes += sum(map(len, batch.values()))
                batch = {}
        if batch:
            self._place.write(batch)
        return sent_bytes + sum(map(len, batch.values()))

    def _read(self, digest: str) -> SealedFile | None:
        """Read a file of this home that may travel."""
        owner = self._identity.owner
        passages = self._find_passages(digest)
        data = self._deps.attachments.read(owner, digest) if passages else None
        if data is None or any(map(self._deps.is_secret, passages)):
            return None
        preview = self._deps.attachments.read_preview(owner, digest) or b""
        return SealedFile(digest, data, preview)

    def _find_passages(self, digest: str) -> Sequence[Record]:
        """Find memories that are made of a file."""
        where = Where("and", (Condition("meta.document.version", "eq", digest),))
        reach = ScopeReach.of_owner(self._identity.owner)
        query = RecordQuery(
            reach, (Kind.PASSAGE,), _TOLD_STATUSES, where=where, limit=_MAX_PASSAGES
        )
        return self._deps.store.find(query).records


def _open_keys(members: MemberList, identity: DeviceIdentity) -> Iterator[bytes]:
    """Open the keys of the memory that this device was given."""
    for name in members.keys:
        try:
            yield members.open_key(name, identity.keys)
        except EncryptionError:
            continue
