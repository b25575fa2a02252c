"""Pictures (PNG, JPEG, WebP, GIF, HEIC): size, time, place, and a small copy without metadata.

Of the metadata nothing but numbers is taken: the time and the place. Texts in it may be anybody's.
"""

from __future__ import annotations

import base64
import io
import re
import struct
import zipfile
from collections.abc import Mapping
from datetime import datetime
from typing import TYPE_CHECKING

from engrams.errors import ExtraError, InputError
from engrams.installation import install_hint
from engrams.transfer.documents.document_kinds import HEAD, find_media_type
from engrams.transfer.documents.read_document import ReadDocument, TextBlock

if TYPE_CHECKING:
    from PIL.Image import Exif, Image

_FORMATS: Mapping[str, str] = {
    "image/png": "PNG",
    "image/jpeg": "JPEG",
    "image/gif": "GIF",
    "image/webp": "WEBP",
    "image/heic": "HEIF",
}
"""Pillow's names of the formats. A file is read as what its first bytes say, and as nothing else."""
_MOST_PIXELS: Mapping[str, int] = {
    "image/png": 40_000_000,
    "image/jpeg": 110_000_000,
    "image/gif": 40_000_000,
    "image/webp": 16_000_000,
    "image/heic": 25_000_000,
}
"""Pixels of the largest picture, for which its decoder needs less than 300 MB."""
_MOST_PROGRESSIVE_PIXELS = 30_000_000
"""Pixels of the largest progressive JPEG, which cannot be decoded at an eighth of its size."""
_LARGE_PIXELS = 12_000_000
"""Pixels from which a picture is thinned out before it is made small, to need half the memory."""
_PREVIEW_SIDE = 1024
"""Pixels of the longer side of the small copy: enough for a model to read a page of text."""
_PREVIEW_QUALITY = 80
_POLYGLOT_HEAD = 1024
"""Bytes in which readers look for the beginning of a PDF or of a web page."""
_FOREIGN_START = re.compile(rb"%PDF-|<(?:!doctype|html|script|svg|\?php)\b", re.IGNORECASE)
_EXIF_PART = 0x8769
_GPS_PART = 0x8825
_TIME_TAGS = ((_EXIF_PART, 36867, 36881), (_EXIF_PART, 36868, 36882), (0, 306, 36880))
"""Parts and tags of the time and its offset: taken, digitised, changed (EXIF 3.0, table 8)."""
_TIME = re.compile(r"(1[89]\d\d|20\d\d):(\d\d):(\d\d)[ T](\d\d):(\d\d):(\d\d)")
_OFFSET = re.compile(r"[+-](?:0\d|1[0-4]):[0-5]\d")
_ODD_METADATA = (
    ValueError,
    TypeError,
    LookupError,
    SyntaxError,
    ArithmeticError,
    AttributeError,
    OSError,
    struct.error,
)
"""Errors of metadata that is damaged; the picture is read without it."""
_DAMAGED = (ValueError, TypeError, LookupError, SyntaxError, OSError, EOFError, struct.error)


def read(data: bytes) -> ReadDocument:
    """Read a picture. InputError: it is damaged, too large, or another kind of file as well."""
    media_type = find_media_type(data[:HEAD])
    _refuse_other_kinds(data)
    if media_type == "image/webp":
        _check_size(_read_webp_size(data), _MOST_PIXELS[media_type])
    opened = _open(data, media_type)
    is_progressive = bool(opened.info.get("progressive"))
    pixel_limit = _MOST_PROGRESSIVE_PIXELS if is_progressive else _MOST_PIXELS[media_type]
    width, height = opened.size
    _check_size((width, height), pixel_limit)
    taken_at, coordinates = _read_metadata(opened)
    try:
        preview = _make_preview(opened)
    except _DAMAGED as problem:
        raise InputError(
            f"The picture is damaged or cut off: {type(problem).__name__}.",
            hint="Get a fresh copy of it.",
        ) from None
    when = f", taken on {taken_at[:10]} at {taken_at[11:16]}" if taken_at else ""
    facts = TextBlock(f"Picture of {width} × {height} pixels{when}.")
    return ReadDocument(
        (facts,), written_at=taken_at, media=media_type, preview=preview, place=coordinates
    )


def read_upright(data: bytes, side: int) -> Image:
    """Read a picture as it is to be looked at, without metadata, ``side`` pixels long at most.

    ``read`` has checked it. InputError: it is damaged.
    """
    return _make_small(_open(data, find_media_type(data[:HEAD])), side)


def _refuse_other_kinds(data: bytes) -> None:
    """Refuse a file that other programs read as another kind. InputError: it is one."""
    foreign_kind = ""
    if zipfile.is_zipfile(io.BytesIO(data)):
        foreign_kind = "a zip"
    elif _FOREIGN_START.search(data[:_POLYGLOT_HEAD]):
        foreign_kind = "a page or a program"
    if foreign_kind:
        raise InputError(
            f"It is a picture and {foreign_kind} in one file.",
            hint="Open it in a program for pictures, and save it anew.",
        )


def _open(data: bytes, media_type: str) -> Image:
    """Open a picture without decoding it. InputError: it is damaged. ExtraError: no library."""
    try:
        from PIL import Image as images  # noqa: N813 - an optional part, which only pictures need
    except ImportError:
        raise ExtraError(
            f"Reading a {_FORMATS[media_type]} picture needs Pillow.",
            hint=install_hint("documents"),
        ) from None
    if media_type == "image/heic":
        _register_heic()
    images.MAX_IMAGE_PIXELS = None  # checked here, with a limit for each format
    try:
        return images.open(io.BytesIO(data), formats=[_FORMATS[media_type]])
    except _DAMAGED as problem:
        raise InputError(
            f"The {_FORMATS[media_type]} picture is damaged: {type(problem).__name__}.",
            hint="Get a fresh copy of it.",
        ) from None


def _register_heic() -> None:
    try:
        from pillow_heif import register_heif_opener
    except ImportError:
        raise ExtraError(
            "Reading HEIC pictures needs pillow-heif.", hint=install_hint("documents")
        ) from None
    register_heif_opener(thumbnails=False)


def _check_size(size: tuple[int, int], pixel_limit: int) -> None:
    """Check the size of a picture before it is decoded. InputError: it is too large, or nothing."""
    width, height = size
    if width < 1 or height < 1 or width * height > pixel_limit:
        raise InputError(
            f"The picture has {width:,} × {height:,} pixels; {pixel_limit:,} in all are the most.",
            hint="Make it smaller, then add that.",
        )


def _read_webp_size(data: bytes) -> tuple[int, int]:
    """Read the size of a WebP (RFC 9649), whose decoder takes memory for it as soon as it opens."""
    chunk = data[12:16]
    if chunk == b"VP8X" and len(data) >= 30:
        return (
            1 + int.from_bytes(data[24:27], "little"),
            1 + int.from_bytes(data[27:30], "little"),
        )
    if chunk == b"VP8L" and len(data) >= 25:
        bits = int.from_bytes(data[21:25], "little")
        return 1 + (bits & 0x3FFF), 1 + (bits >> 14 & 0x3FFF)
    if chunk == b"VP8 " and len(data) >= 30:
        return (
            int.from_bytes(data[26:28], "little") & 0x3FFF,
            int.from_bytes(data[28:30], "little") & 0x3FFF,
        )
    raise InputError("The picture is damaged or cut off.", hint="Get a fresh copy of it.")


def _make_preview(opened: Image) -> str:
    """Decode the first picture of a file, and return a small JPEG of it as base64."""
    out = io.BytesIO()
    _make_small(opened, _PREVIEW_SIDE).save(out, "JPEG", quality=_PREVIEW_QUALITY)
    return base64.b64encode(out.getvalue()).decode()


def _make_small(opened: Image, side: int) -> Image:
    """Decode the first picture of a file, turned upright, with a longer side of ``side`` at most."""
    from PIL import Image as images  # noqa: N813
    from PIL import ImageOps

    opened.draft("RGB", (side, side))  # a JPEG is decoded at a fraction of its size
    opened.load()
    small = opened
    if small.width * small.height > _LARGE_PIXELS:
        share = 2 * side / max(small.size)
        size = (max(1, int(small.width * share)), max(1, int(small.height * share)))
        small = small.resize(size, images.Resampling.NEAREST)
    small.thumbnail((side, side))
    upright = ImageOps.exif_transpose(small)
    if upright.has_transparency_data:
        layer = upright.convert("RGBA")
        upright = images.new("RGB", layer.size, "white")
        upright.paste(layer, mask=layer.getchannel("A"))
    clean = images.new("RGB", upright.size)  # a picture of its own carries no metadata along
    clean.paste(upright.convert("RGB"))
    return clean


def _read_metadata(opened: Image) -> tuple[str, str]:
    """Read when (ISO 8601) and where a picture was taken; empty: it does not tell, or not soundly."""
    try:
        exif = opened.getexif()
        taken_at = _find_time(exif)
    except _ODD_METADATA:
        return "", ""
    try:
        return taken_at, _find_place(exif)
    except _ODD_METADATA:
        return taken_at, ""


def _find_time(exif: Exif) -> str:
    for part, time_tag, offset_tag in _TIME_TAGS:
        values = exif.get_ifd(part) if part else exif
        match = _TIME.match(str(values.get(time_tag, "")))
        if match is None:
            continue
        offset = _OFFSET.match(str(values.get(offset_tag, "")))
        taken_at = "{}-{}-{}T{}:{}:{}".format(*match.groups())
        datetime.fromisoformat(taken_at)  # there may be no such day
        return taken_at + (offset.group() if offset else "")
    return ""


def _find_place(exif: Exif) -> str:
    values = exif.get_ifd(_GPS_PART)
    if not {1, 2, 3, 4} <= values.keys():
        return ""
    latitude = _to_degrees(values[2], is_negative=values[1] == "S")
    longitude = _to_degrees(values[4], is_negative=values[3] == "W")
    if abs(latitude) > 90 or abs(longitude) > 180:
        return ""
    return f"{latitude:.4f}, {longitude:.4f}"


def _to_degrees(parts: tuple[float, float, float], *, is_negative: bool) -> float:
    degrees, minutes, seconds = map(float, parts)
    total = degrees + minutes / 60 + seconds / 3600
    return -total if is_negative else total
