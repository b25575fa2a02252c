"""Segments: what one device tells the others, sealed and signed, in files that are written once.

``MAGIC``, name of the key (10 bytes), salt and ciphertext (``ciphers.seal``), signature (64 bytes). The
seal and the signature name memory, device and number. So no segment can be taken for another one, and
one that is not whole yet does not open.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from engrams.core import Json
from engrams.errors import EncryptionError, InputError
from engrams.sync import ciphers
from engrams.sync.ciphers import MemberKeys
from engrams.sync.places import PlaceFile

MAGIC = b"engrams segment 1\n"
_NAME_BYTES = 10
_LEVEL = 6
_LARGEST = 1 << 30
"""Bytes that a segment may hold when it is unpacked."""


@dataclass(frozen=True, slots=True)
class Segment:
    """File in which one device tells the others something."""

    device: str
    number: int
    label: str
    """Name that the person gave the device."""
    written_at: str
    applied: Mapping[str, Json]
    """Segments of other devices that it had applied by then, as ``AppliedSegments`` packs them."""
    purged_ids: tuple[str, ...] = ()
    """Ids of memories that were purged."""
    records: tuple[Mapping[str, Json], ...] = ()
    """States of memories: ``id``, ``values`` and ``stamps``."""
    retired: tuple[tuple[int, int], ...] = ()
    """Own segments that went because later ones tell the same, as runs of the first and the last."""
    lost: tuple[tuple[int, int], ...] = ()
    """Own segments that the place lost, and whose content later ones told again, as such runs."""
    asks: bool = False
    """True: the device waits for all to say that they applied this segment."""

    @property
    def path(self) -> str:
        return PlaceFile(self.device, self.number, "seg").path


def pack(segment: Segment, memory: str, key: bytes, signer: MemberKeys) -> bytes:
    """Pack, seal and sign a segment."""
    content = {
        "label": segment.label,
        "at": segment.written_at,
        "applied": dict(segment.applied),
        "gone": list(segment.purged_ids),
        "records": list(segment.records),
        "retired": [list(run) for run in segment.retired],
        "lost": [list(run) for run in segment.lost],
        "asks": segment.asks,
    }
    data = json.dumps(content, ensure_ascii=False, separators=(",", ":"))
    packed = zlib.compress(data.encode("utf-8", "surrogatepass"), _LEVEL)
    purpose = _purpose(memory, segment.device, segment.number)
    sealed = bytes.fromhex(ciphers.name_key(key)) + ciphers.seal(key, packed, purpose)
    return MAGIC + sealed + signer.sign(purpose + sealed)


def unpack(
    data: bytes,
    memory: str,
    device: str,
    number: int,
    public_signing: bytes,
    find_key: Callable[[str], bytes],
) -> Segment:
    """Check and open a segment.

    ``find_key``: finds a key of the memory by its name. EncryptionError: the file is not whole, is no
    segment of this device and number, or its key is not here. InputError: the device wrote something
    else.
    """
    sealed = data[len(MAGIC) : -ciphers.SIGNATURE_BYTES]
    purpose = _purpose(memory, device, number)
    signature = data[-ciphers.SIGNATURE_BYTES :]
    is_whole = data.startswith(MAGIC) and ciphers.is_signed(
        purpose + sealed, signature, public_signing
    )
    if not is_whole:
        raise EncryptionError("A segment is not whole, or is not what its name says.")
    key = find_key(sealed[:_NAME_BYTES].hex())
    packed = ciphers.unseal(key, sealed[_NAME_BYTES:], purpose)
    try:
        unpacked = zlib.decompressobj().decompress(packed, _LARGEST)
        content = json.loads(unpacked.decode("utf-8", "surrogatepass"))
        return _read_content(content, device, number)
    except (KeyError, TypeError, ValueError, AttributeError, zlib.error):
        raise InputError("A segment does not hold what segments hold.") from None


def _read_content(content: Mapping[str, Json], device: str, number: int) -> Segment:
    return Segment(
        device=device,
        number=number,
        label=content["label"],
        written_at=content["at"],
        applied=content["applied"],
        purged_ids=tuple(content["gone"]),
        records=tuple(content["records"]),
        # Earlier versions of engrams did not write these.
        retired=tuple((first, last) for first, last in content.get("retired", ())),
        lost=tuple((first, last) for first, last in content.get("lost", ())),
        asks=content.get("asks", False),
    )


def _purpose(memory: str, device: str, number: int) -> bytes:
    return f"segment {memory} {device} {number}".encode()


class AppliedSegments:
    """Numbers of the segments of each device that were applied; they may come in any order."""

    def __init__(self, packed: Mapping[str, Json] | None = None) -> None:
        self._last: dict[str, int] = {}
        """Number up to which all of a device were applied."""
        self._beyond: dict[str, set[int]] = {}
        for device, (last, beyond) in (packed or {}).items():
            self._last[device] = int(last)
            self._beyond[device] = {int(number) for number in beyond}

    def has(self, device: str, number: int) -> bool:
        return number <= self._last.get(device, 0) or number in self._beyond.get(device, ())

    def add(self, device: str, number: int) -> None:
        beyond = self._beyond.setdefault(device, set())
        beyond.add(number)
        last = self._last.get(device, 0)
        while last + 1 in beyond:
            last += 1
            beyond.discard(last)
        self._last[device] = last

    def add_run(self, device: str, first: int, last: int) -> None:
        """Note that segments from the first to the last have nothing to apply."""
        for number in range(max(first, self._last.get(device, 0) + 1), last + 1):
            self.add(device, number)

    def find_last(self, device: str) -> int:
        """Return the highest number that was applied of a device; 0: none was."""
        return max(self._last.get(device, 0), *self._beyond.get(device, ()), 0)

    def pack(self) -> dict[str, Json]:
        return {
            device: [last, sorted(self._beyond.get(device, ()))]
            for device, last in sorted(self._last.items())
        }


def pack_numbers(numbers: Iterable[int]) -> tuple[tuple[int, int], ...]:
    """Pack numbers as runs of the first and the last."""
    runs: list[tuple[int, int]] = []
    for number in sorted(numbers):
        if runs and runs[-1][1] == number - 1:
            runs[-1] = runs[-1][0], number
        else:
            runs.append((number, number))
    return tuple(runs)


def unpack_numbers(runs: Iterable[Sequence[int]]) -> set[int]:
    return {number for first, last in runs for number in range(first, last + 1)}
