"""Sound (WAV, MP3, M4A, OGG): checked by its header, which tells how long it lasts.

Nothing is decoded. Titles and other texts in the files are not read: they may be anybody's.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from engrams.errors import InputError
from engrams.transfer.documents.document_kinds import HEAD, find_media_type
from engrams.transfer.documents.read_document import ReadDocument, TextBlock

_UNKNOWN_SIZE = (0, 0xFFFFFFFF)
"""Sizes that a recorder writes which cannot go back to the beginning of its file."""
_MOST_CHUNKS = 1000
_SEARCHED_BYTES = 1 << 16
"""Bytes in which the first frame of an MP3 or the last page of an OGG is looked for."""
_LONGEST_SECONDS = 1_000_000
_MP3_KILOBITS: Mapping[bool, tuple[int, ...]] = {
    True: (0, 32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320),
    False: (0, 8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160),
}
"""Bit rates of layer III of MPEG version 1, and of version 2, by their number in a frame's header."""
_MP3_HERTZ: Mapping[bool, tuple[int, ...]] = {
    True: (44100, 48000, 32000),
    False: (22050, 24000, 16000),
}


def read(data: bytes) -> ReadDocument:
    """Read how long a sound lasts. InputError: it is damaged or cut off."""
    media_type = find_media_type(data[:HEAD])
    seconds = _READERS[media_type](data)
    length = f" of {_describe_length(seconds)}" if 0 < seconds < _LONGEST_SECONDS else ""
    return ReadDocument((TextBlock(f"Sound{length}."),), media=media_type)


def _describe_length(seconds: float) -> str:
    whole = max(1, round(seconds))
    hours, seconds_left = divmod(whole, 3600)
    parts = ((hours, "h"), (seconds_left // 60, "min"), (seconds_left % 60, "s"))
    return " ".join(f"{number} {unit}" for number, unit in parts if number)


def _read_wav(data: bytes) -> float:
    """Read the seconds of a WAV. InputError: its header tells of more than there is."""
    position = 12
    rate = 0
    for _ in range(_MOST_CHUNKS):
        head = data[position : position + 8]
        if len(head) < 8:
            break
        size = int.from_bytes(head[4:], "little")
        if head[:4] == b"fmt ":
            rate = int.from_bytes(data[position + 16 : position + 20], "little")
        elif head[:4] == b"data":
            byte_count = len(data) - position - 8
            if size in _UNKNOWN_SIZE:
                size = byte_count
            if not rate or size > byte_count:
                raise _make_cut_off()
            return size / rate
        position += 8 + size + size % 2
    raise _make_cut_off()


def _read_mp3(data: bytes) -> float:
    """Guess the seconds of an MP3 by the bit rate of its first frame."""
    start = 0
    if data.startswith(b"ID3"):
        # Each byte of the size has seven bits (ID3v2.4, 3.1).
        start = 10 + sum(
            (byte & 0x7F) << shift for byte, shift in zip(data[6:10], (21, 14, 7, 0), strict=False)
        )
    for position in range(start, min(start + _SEARCHED_BYTES, len(data) - 4)):
        if data[position] != 0xFF:
            continue
        length, kilobits = _read_frame(data[position : position + 4])
        following = data[position + length : position + length + 4]
        is_last = position + length == len(data)
        if length and (is_last or (len(following) == 4 and _read_frame(following)[0])):
            return (len(data) - position) * 8 / (kilobits * 1000)
    raise _make_cut_off()


def _read_frame(header: bytes) -> tuple[int, int]:
    """Read the bytes of an MP3's frame and its kilobits a second; 0, 0: it is no frame."""
    version = header[1] >> 3 & 3
    number = header[2] >> 4
    rate_number = header[2] >> 2 & 3
    is_layer_3 = header[0] == 0xFF and header[1] & 0xE6 == 0xE2
    if not is_layer_3 or version == 1 or number in (0, 15) or rate_number == 3:
        return 0, 0
    is_first_version = version == 3
    kilobits = _MP3_KILOBITS[is_first_version][number]
    hertz = _MP3_HERTZ[is_first_version][rate_number] // (2 if version == 0 else 1)
    factor = 144_000 if is_first_version else 72_000
    return factor * kilobits // hertz + (header[2] >> 1 & 1), kilobits


def _read_m4a(data: bytes) -> float:
    """Read the seconds of an M4A from its `mvhd` box (ISO/IEC 14496-12)."""
    boxes = _list_boxes(data, 0, len(data))
    if b"moov" not in boxes or b"mdat" not in boxes:
        raise _make_cut_off()
    start, end = boxes[b"moov"]
    begin, stop = _list_boxes(data, start, end).get(b"mvhd", (0, 0))
    header = data[begin:stop]
    is_long = header[:1] == b"\1"
    position = 20 if is_long else 12
    width = 8 if is_long else 4
    scale = int.from_bytes(header[position : position + 4], "big")
    duration = int.from_bytes(header[position + 4 : position + 4 + width], "big")
    return duration / scale if scale else 0.0


def _list_boxes(data: bytes, start: int, end: int) -> dict[bytes, tuple[int, int]]:
    """List the contents of the boxes of a part. InputError: one reaches beyond its end."""
    boxes: dict[bytes, tuple[int, int]] = {}
    for _ in range(_MOST_CHUNKS):
        if start + 8 > end:
            break
        size = int.from_bytes(data[start : start + 4], "big")
        head = 8
        if size == 1:
            size = int.from_bytes(data[start + 8 : start + 16], "big")
            head = 16
        elif size == 0:
            size = end - start
        if size < head or start + size > end:
            raise _make_cut_off()
        boxes.setdefault(data[start + 4 : start + 8], (start + head, start + size))
        start += size
    return boxes


def _read_ogg(data: bytes) -> float:
    """Read the seconds of an OGG from the position that its last page tells (RFC 3533)."""
    first = data[:256]
    vorbis = first.find(b"\x01vorbis")
    hertz = 48_000
    if vorbis >= 0:
        hertz = int.from_bytes(first[vorbis + 12 : vorbis + 16], "little")
    last = data.rfind(b"OggS", max(0, len(data) - _SEARCHED_BYTES))
    page = data[last:] if last > 0 else b""
    segments = page[26] if len(page) > 27 else 0
    table = page[27 : 27 + segments]
    if not segments or len(page) < 27 + segments + sum(table):
        raise _make_cut_off()
    position = int.from_bytes(page[6:14], "little")
    return position / hertz if hertz else 0.0


def _make_cut_off() -> InputError:
    return InputError(
        "The sound is damaged, or cut off: its header tells of more than there is.",
        hint="Get a fresh copy of it.",
    )


_READERS: Mapping[str, Callable[[bytes], float]] = {
    "audio/wav": _read_wav,
    "audio/mpeg": _read_mp3,
    "audio/mp4": _read_m4a,
    "audio/ogg": _read_ogg,
}
