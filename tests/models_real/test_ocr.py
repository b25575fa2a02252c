"""The library that recognises text, as engrams runs it: in a process with limits, without the network."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from tests.models_real.conftest import ROOT

from engrams.transfer.documents.text_recognition import TextRecogniser

LIBRARY = ROOT / ".cache/ocr"
FONT = LIBRARY / "cvttf_NotoSansCJK_Regular/NotoSansCJKtc-Regular.otf"
LEAST = {"whiteboard": 0.9, "low contrast": 0.9}
"""Share of the words of a picture that is read right at least; of others 0.95."""


@pytest.fixture
def recogniser(monkeypatch: pytest.MonkeyPatch) -> Iterator[TextRecogniser]:
    """A recogniser with the real library; a proxy that is nowhere stands for the network."""
    if not FONT.is_file():
        pytest.skip("the library is not installed: `make .make/ocr`")
    monkeypatch.setenv("PYTHONPATH", str(LIBRARY))
    monkeypatch.setenv("HTTPS_PROXY", "http://127.0.0.1:9")
    monkeypatch.setattr(sys, "path", [*sys.path, str(LIBRARY)])
    with closing(TextRecogniser()) as recogniser:
        yield recogniser


def test_pictures_of_text_are_read(recogniser: TextRecogniser) -> None:
    """A screenshot, a whiteboard, a receipt, six languages, tilted, pale, on its side, and a page."""
    ocr_pictures = pytest.importorskip("bench.documents.ocr_pictures")
    for picture in ocr_pictures.draw_all(Path(FONT)):
        read = "\n".join(recogniser.recognise(picture.data))
        right, total = ocr_pictures.count_right(picture.text, read)
        assert right >= LEAST.get(picture.name, 0.95) * total, (picture.name, read)


def test_a_page_of_a_scan_is_read_in_order(recogniser: TextRecogniser) -> None:
    """Its lines come from top to bottom, and a picture without text has none."""
    ocr_pictures = pytest.importorskip("bench.documents.ocr_pictures")
    image = pytest.importorskip("PIL.Image")
    page = ocr_pictures.draw_all(Path(FONT))[-1]
    lines = recogniser.recognise(page.data)
    numbers = [int(line.partition(".")[0]) for line in lines]
    assert numbers == [*range(1, 41)]
    out = ocr_pictures.io.BytesIO()
    image.new("RGB", (600, 400), "white").save(out, "PDF")
    assert recogniser.recognise(out.getvalue(), 1) == []
