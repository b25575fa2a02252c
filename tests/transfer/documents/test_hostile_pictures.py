"""Pictures and sounds made to harm their reader: each is refused with its reason, or read."""

from __future__ import annotations

import io
import struct
import zipfile
import zlib
from collections.abc import Callable, Iterator

import pytest
from tests.transfer.documents import media_files
from tests.transfer.documents.media_files import make_chunk, make_picture, make_png, make_wav

from engrams.errors import InputError
from engrams.transfer.documents.reading_process import DocumentReadingProcess

pytest.importorskip("PIL", reason="pictures need Pillow")

_SECONDS = 30.0
_MEBIBYTE = 1 << 20


@pytest.fixture(scope="module")
def reading() -> Iterator[DocumentReadingProcess]:
    with DocumentReadingProcess(_SECONDS) as reading:
        yield reading


def join_zip(data: bytes) -> bytes:
    """A file, and a zip behind it."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        archive.writestr("evil.py", "print(1)")
    return data + out.getvalue()


def make_bomb() -> bytes:
    """A PNG of 60,000 × 60,000 black pixels."""
    row = zlib.compressobj(9)
    packed = b"".join(row.compress(bytes(180_001)) for _ in range(200)) + row.flush()
    return make_png(60_000, 60_000, packed)


def make_large() -> bytes:
    """A PNG as large as one may be, of one colour."""
    return make_picture("PNG", (8000, 5000))


def make_long_gif(frames: int = 10_000) -> bytes:
    """A GIF of many frames."""
    head = b"GIF89a" + struct.pack("<HHBBB", 2, 2, 0x80, 0, 0) + b"\0\0\0\xff\xff\xff"
    frame = b"!\xf9\x04\0\x01\0\0\0," + struct.pack("<HHHHB", 0, 0, 2, 2, 0) + b"\x02\x02\x4c\x01\0"
    return head + frame * frames + b";"


def with_exif(text: bytes) -> bytes:
    """A JPEG whose metadata says any text in place of its time."""
    from PIL import Image

    exif = Image.Exif()
    exif[306] = text.decode("latin-1")
    exif[270] = text.decode("latin-1")
    out = io.BytesIO()
    Image.new("RGB", (20, 20)).save(out, "JPEG", exif=exif)
    return out.getvalue()


def webp(width: int, height: int) -> bytes:
    """The header of a WebP of any size."""
    size = (width - 1).to_bytes(3, "little") + (height - 1).to_bytes(3, "little")
    return b"RIFF" + struct.pack("<I", 22) + b"WEBPVP8X" + struct.pack("<I", 10) + bytes(4) + size


REFUSED: dict[str, tuple[Callable[[], bytes], str]] = {
    "empty.png": (lambda: b"", "empty"),
    "blank.jpg": (lambda: b"   \n", "empty"),
    "bomb.png": (make_bomb, "pixels"),
    "told.png": (lambda: make_png(40_001, 1000), "pixels"),
    "flat.png": (lambda: make_png(2_000_000_000, 1), "pixels"),
    "nothing.png": (lambda: make_png(0, 10), "pixels|damaged"),
    "magic.png": (lambda: b"\x89PNG\r\n\x1a\n", "damaged"),
    "half.png": (lambda: make_picture("PNG", (90, 90))[:60], "damaged|cut off"),
    "half.jpg": (lambda: make_picture("JPEG", (400, 300))[:800], "cut off"),
    "half.webp": (lambda: make_picture("WEBP", (400, 300))[:40], "damaged|cut off"),
    "noise.jpg": (lambda: b"\xff\xd8\xff" + bytes(range(256)) * 9, "damaged"),
    "noise.gif": (lambda: b"GIF89a" + bytes(range(256)) * 9, "damaged|cut off|pixels"),
    "large.webp": (lambda: webp(16_000, 16_000), "pixels"),
    "polyglot.jpg": (lambda: join_zip(make_picture("JPEG")), "a zip"),
    "polyglot.gif": (lambda: join_zip(make_picture("GIF")), "a zip"),
    "polyglot.wav": (lambda: b"%PDF-1.4" + make_wav(), "PDF"),
    "pdf.png": (lambda: make_png(2, 2, b"", make_chunk(b"tEXt", b"a\0%PDF-1.4")), "program"),
    "page.gif": (lambda: b"GIF89a/*<script>alert(1)</script>*/", "program"),
    "drawing.png": (lambda: b'<svg xmlns="x"><script>alert(1)</script></svg>', "SVG"),
    "tagged.jpg": (lambda: b'<?xml version="1.0"?><svg onload="x()"/>', "SVG"),
    "liar.wav": (lambda: make_wav(1, told=1 << 30), "cut off"),
    "header.wav": (lambda: make_wav(1)[:30], "cut off"),
    "cut.m4a": (lambda: media_files.make_m4a()[:70], "cut off"),
    "loop.m4a": (lambda: b"\0\0\0\x14ftypM4A \0\0\0\0M4A \0\0\0\1moov" + bytes(60), "cut off"),
    "cut.ogg": (lambda: media_files.make_ogg()[:60], "cut off"),
    "tag.mp3": (lambda: b"ID3\4\0\0\x7f\x7f\x7f\x7f" + bytes(90), "cut off"),
    "film.mp4": (lambda: b"\0\0\0\x18ftypisom" + bytes(90), "not read"),
}
READ: dict[str, Callable[[], bytes]] = {
    "large.png": make_large,
    "long.gif": make_long_gif,
    "packed.png": lambda: make_png(900, 900, b"not zlib"),
    "script.jpg": lambda: with_exif(b"javascript:alert(1)"),
    "nul.jpg": lambda: with_exif(b"2026:05:01\0 14:03:00"),
    "rtl.jpg": lambda: with_exif("2026\u202e:05:01".encode()),
    "day.jpg": lambda: make_picture("JPEG", taken="2026:02:31 25:61:61"),
    "place.jpg": lambda: make_picture("JPEG", place={1: "N", 2: (1e9, 0, 0), 3: "E", 4: (0, 0, 0)}),
    "texts.png": lambda: make_png(
        1, 1, zlib.compress(bytes(4)), *[make_chunk(b"tEXt", b"a\0" + bytes(9)) for _ in range(999)]
    ),
    "endless.wav": lambda: make_wav(1, told=0xFFFFFFFF),
}


@pytest.mark.parametrize("name", REFUSED)
def test_a_harmful_file_is_refused(reading: DocumentReadingProcess, name: str) -> None:
    """The reason tells what is wrong with it, and the process reads the next one."""
    make, reason = REFUSED[name]
    with pytest.raises(InputError, match=reason):
        reading.read(make(), name)


@pytest.mark.parametrize("name", READ)
def test_an_odd_file_is_read(reading: DocumentReadingProcess, name: str) -> None:
    """Nothing of its texts is taken: only numbers that make a time or a place."""
    document = reading.read(READ[name](), name)
    (facts,) = document.blocks
    assert facts.text.startswith(("Picture of ", "Sound of "))
    assert (document.written_at, document.place) == ("", "")
