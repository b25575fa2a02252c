"""Pictures and sounds for tests, made by hand or by Pillow."""

from __future__ import annotations

import io
import struct
import zlib
from typing import Any


def make_picture(form: str = "PNG", size: tuple[int, int] = (40, 30), **options: Any) -> bytes:
    """A picture of one colour; ``taken``, ``place``: its metadata."""
    from PIL import Image

    taken = options.pop("taken", "")
    place = options.pop("place", None)
    image = Image.new("RGB", size, options.pop("color", (200, 40, 60)))
    exif = Image.Exif()
    if taken:
        exif[306] = "2001:01:01 00:00:00"
        exif.get_ifd(0x8769)[36867] = taken
    if place:
        exif.get_ifd(0x8825).update(place)
    if taken or place:
        options["exif"] = exif
    out = io.BytesIO()
    image.save(out, form, **options)
    return out.getvalue()


def make_wav(seconds: int = 2, told: int | None = None) -> bytes:
    """Silence at 8,000 bytes a second; ``told``: bytes of data that its header tells of."""
    data = bytes([128]) * (8000 * seconds)
    told = len(data) if told is None else told
    form = struct.pack("<4sIHHIIHH", b"fmt ", 16, 1, 1, 8000, 8000, 1, 8)
    body = b"WAVE" + form + struct.pack("<4sI", b"data", told) + data
    return b"RIFF" + struct.pack("<I", len(body)) + body


def make_mp3(frames: int = 100) -> bytes:
    """Frames of MPEG 1, layer III, at 128 kilobits and 44,100 hertz, after an ID3 tag."""
    frame = b"\xff\xfb\x90\x00" + bytes(413)
    return b"ID3\x04\0\0\0\0\0\x0a" + bytes(10) + frame * frames


def make_m4a(seconds: int = 5) -> bytes:
    """An M4A without sound, whose header tells how long it lasts."""
    header = bytes(12) + struct.pack(">II", 1000, 1000 * seconds) + bytes(80)
    return (
        _box(b"ftyp", b"M4A \0\0\0\0M4A mp42")
        + _box(b"moov", _box(b"mvhd", header))
        + _box(b"mdat", bytes(64))
    )


def make_ogg(seconds: int = 3) -> bytes:
    """An Opus file of two pages."""
    return _page(0, b"OpusHead" + bytes(11)) + _page(48_000 * seconds, bytes(100))


def make_png(width: int, height: int, pixels: bytes = b"", *chunks: bytes) -> bytes:
    """A PNG that tells of any size, with any packed pixels."""
    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return (
        b"\x89PNG\r\n\x1a\n"
        + make_chunk(b"IHDR", header)
        + b"".join(chunks)
        + make_chunk(b"IDAT", pixels)
        + make_chunk(b"IEND", b"")
    )


def make_chunk(kind: bytes, data: bytes) -> bytes:
    """A chunk of a PNG."""
    check = struct.pack(">I", zlib.crc32(kind + data))
    return struct.pack(">I", len(data)) + kind + data + check


def _box(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data) + 8) + kind + data


def _page(position: int, data: bytes) -> bytes:
    return b"OggS\0\0" + struct.pack("<QIII", position, 1, 0, 0) + bytes([1, len(data)]) + data
