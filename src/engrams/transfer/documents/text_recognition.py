"""Text in pictures, and on the pages of scans, is recognised (OCR) in a process of its own.

``TextRecogniser`` is the entry. A picture that stands on its side or its head is turned until its text can be
read. A line of which the model is not sure is left out.
"""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from statistics import fmean, median
from typing import TYPE_CHECKING, Any

from engrams.errors import ExtraError
from engrams.installation import install_hint
from engrams.text.invisible import drop_invisible
from engrams.transfer.documents import limited_process

if TYPE_CHECKING:
    from PIL.Image import Image

OCR = "OCR"
"""Reader of the words of a picture, where a passage names it."""
_LIBRARY = "faster_paddle"
_SECONDS = 60.0
"""Longest time that one picture or page may take."""
_MOST_MEMORY = 2 << 30
_THREADS = 2
_LONGEST_SIDE = 2400
"""Pixels of a picture's longer side: a page has 200 to an inch."""
_LEAST_SIDE = 32
"""Pixels of a side below which a picture of a page is a line or a dot."""
_LEAST_CONFIDENCE = 0.6
"""Confidence of a line below which it is left out."""
_SURE = 0.85
"""Mean confidence from which a picture stands upright: turned text has 0.75 at most."""
_TURNS = (90, 180, 270)
_LEAST_COLUMN = 3
"""Lines of the shortest column."""
_COLUMN_CHARACTERS = 20
"""Characters of a column's usual line. Shorter ones are labels and prices, which belong together."""


class TextRecogniser:
    """A process that recognises text; the first picture starts it."""

    def __init__(self, seconds: float = _SECONDS) -> None:
        """Set the process up. ``seconds``: longest time of one picture or page."""
        self._process = limited_process.LimitedProcess(__name__, seconds)

    def close(self) -> None:
        """End the process."""
        self._process.close()

    def recognise(self, data: bytes, page: int = 0) -> list[str]:
        """Return the lines of a picture, or of a page of a PDF, from 1. InputError: it is damaged."""
        lines: list[str] = self._process.ask(data, str(page))["lines"]
        return lines


def is_installed() -> bool:
    """True where the library is there that recognises text."""
    return find_spec(_LIBRARY) is not None


def serve() -> None:
    """Recognise the pictures of standard input until it ends."""
    limited_process.serve(_recognise, _MOST_MEMORY)


@dataclass(frozen=True, slots=True)
class _RecognisedLine:
    """A line as the model found it; its place in pixels."""

    start: float
    top: float
    end: float
    bottom: float
    text: str
    confidence: float

    @property
    def middle(self) -> float:
        return (self.top + self.bottom) / 2

    @property
    def height(self) -> float:
        return self.bottom - self.top

    @property
    def is_tall(self) -> bool:
        return self.height > 1.5 * (self.end - self.start)


def _recognise(data: bytes, label: str) -> dict[str, Any]:
    page = int(label)
    images = _iter_page_images(data, page) if page else iter((_open_picture(data),))
    lines = [line for image in images for line in _read_image(image)]
    return {"lines": lines}


def _open_picture(data: bytes) -> Image:
    from engrams.transfer.documents.pictures import read_upright

    return read_upright(data, _LONGEST_SIDE)


def _iter_page_images(data: bytes, page: int) -> Iterator[Image]:
    from engrams.transfer.documents.pdf import iter_images

    for image in iter_images(data, page):
        image.thumbnail((_LONGEST_SIDE, _LONGEST_SIDE))
        if min(image.size) >= _LEAST_SIDE:
            yield image


def _read_image(image: Image) -> list[str]:
    """Read the lines of a picture, turned until they stand upright."""
    lines = _find_lines(image)
    if lines and _rate(lines) < _SURE:
        turned = (_find_lines(image.rotate(degrees, expand=True)) for degrees in _TURNS)
        lines = max((lines, *turned), key=_rate)
    sure_lines = [line for line in lines if line.confidence >= _LEAST_CONFIDENCE]
    return [text for text in map(_clean, _order(sure_lines)) if text]


def _clean(text: str) -> str:
    return " ".join(drop_invisible(text).split())


def _rate(lines: Sequence[_RecognisedLine]) -> float:
    """Rate a reading by the confidence in its characters; lines that run downwards count less."""
    if not lines:
        return 0.0
    confidence = fmean(
        (line.confidence for line in lines), weights=[len(line.text) for line in lines]
    )
    is_turned = sum(line.is_tall for line in lines) * 2 > len(lines)
    return confidence - 0.2 * is_turned


def _find_lines(image: Image) -> list[_RecognisedLine]:
    out = io.BytesIO()
    image.convert("RGB").save(out, "PNG", compress_level=1)
    bounds = _load_engine().ocr(out.getvalue())["bounds"]
    return [
        _RecognisedLine(start, top, end, bottom, bound["text"], bound["confidence"])
        for bound in bounds.values()
        if bound["text"].strip()
        for start, top in (bound["topLeftCoord"],)
        for end, bottom in (bound["bottomRightCoord"],)
    ]


@cache
def _load_engine() -> Any:
    try:
        from faster_paddle import OcrEngine
    except ImportError:
        raise ExtraError(
            "Reading the text of pictures needs faster-paddle.", hint=install_hint("ocr")
        ) from None
    return OcrEngine(model_size="small", threads=_THREADS)


def _order(lines: Sequence[_RecognisedLine]) -> Iterator[str]:
    """Yield the lines of a page from top to bottom, one column after the other."""
    gutter = _find_gutter(lines)
    band: list[_RecognisedLine] = []
    for line in sorted(lines, key=lambda line: line.middle):
        if gutter and line.start < gutter < line.end:
            yield from _order_band(band, gutter)
            yield line.text
            band = []
        else:
            band.append(line)
    yield from _order_band(band, gutter)


def _order_band(lines: Sequence[_RecognisedLine], gutter: float) -> Iterator[str]:
    """Yield the lines between two that go across a page, those left of the gutter first."""
    yield from _join_rows([line for line in lines if not gutter or line.end <= gutter])
    yield from _join_rows([line for line in lines if gutter and line.end > gutter])


def _join_rows(lines: Sequence[_RecognisedLine]) -> Iterator[str]:
    """Join what stands side by side, such as a label and its price."""
    row: list[_RecognisedLine] = []
    for line in lines:
        if row and not _stands_beside(line, row):
            yield _join_row(row)
            row = []
        row.append(line)
    if row:
        yield _join_row(row)


def _stands_beside(line: _RecognisedLine, row: Sequence[_RecognisedLine]) -> bool:
    first = row[0]
    is_level = abs(line.middle - first.middle) < 0.5 * min(line.height, first.height)
    return is_level and all(
        line.start >= neighbour.end or line.end <= neighbour.start for neighbour in row
    )


def _join_row(row: Sequence[_RecognisedLine]) -> str:
    return " ".join(line.text for line in sorted(row, key=lambda line: line.start))


def _find_gutter(lines: Sequence[_RecognisedLine]) -> float:
    """Find where the gap between two columns of text is; 0: there is one column."""
    best = (0.0, 0.0)
    for line in lines:
        gutter = line.end + 1
        first_column = [neighbour for neighbour in lines if neighbour.end <= gutter]
        second_column = [neighbour for neighbour in lines if neighbour.start >= gutter]
        crossing = len(lines) - len(first_column) - len(second_column)
        if _is_column(first_column) and _is_column(second_column) and 4 * crossing <= len(lines):
            best = max(best, (1 / (1 + crossing), gutter))
    return best[1]


def _is_column(lines: Sequence[_RecognisedLine]) -> bool:
    return (
        len(lines) >= _LEAST_COLUMN
        and median(len(line.text) for line in lines) >= _COLUMN_CHARACTERS
    )
