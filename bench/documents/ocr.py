"""Words that are read right in twelve pictures of text, and the seconds that each takes.

``python -m bench.documents.ocr [--reader rapidocr]``: the pictures are drawn here: a screenshot, a
whiteboard, a receipt, letters and pages in six languages, tilted, pale and on its side. The reader is
engrams' own process, or another library (``rapidocr``, ``rapidocr_onnxruntime``) where that is installed.
It needs the packages of ``requirements/ocr.txt``: ``make .make/ocr``, then ``PYTHONPATH=.cache/ocr``.
"""

from __future__ import annotations

import argparse
import importlib
import resource
import time
from collections.abc import Callable
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path

from bench.documents.ocr_pictures import OcrFunction, count_right, draw_all
from engrams.transfer.documents.text_recognition import TextRecogniser

_FONT = "cvttf_NotoSansCJK_Regular"
_PACKAGES = {
    "engrams": ("faster-paddle",),
    "rapidocr": ("rapidocr", "onnxruntime", "opencv-python-headless", "numpy", "shapely"),
    "rapidocr_onnxruntime": ("rapidocr-onnxruntime", "onnxruntime", "opencv-python", "numpy"),
}
"""Packages that each reader brings along; the large ones."""


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.documents.ocr", description=__doc__)
    parser.add_argument("--reader", choices=[*_PACKAGES], default="engrams")
    options = parser.parse_args()
    pictures = draw_all(_find_font())
    read = _READERS[options.reader]()
    read(pictures[0].data)  # the model is loaded before time is taken
    print("| picture | words right | of | seconds |\n|---|---:|---:|---:|")
    right_sum = total_sum = 0
    seconds_sum = 0.0
    for picture in pictures:
        start = time.perf_counter()
        text = read(picture.data)
        seconds = time.perf_counter() - start
        right, total = count_right(picture.text, text)
        print(f"| {picture.name} | {right} | {total} | {seconds:.1f} |")
        right_sum += right
        total_sum += total
        seconds_sum += seconds
    print(f"| all | {right_sum} | {total_sum} | {seconds_sum:.1f} |")
    who = resource.RUSAGE_CHILDREN if options.reader == "engrams" else resource.RUSAGE_SELF
    if options.reader == "engrams":
        _recogniser.close()
    usage = resource.getrusage(who)
    memory = usage.ru_maxrss / 1024
    processor = (usage.ru_utime + usage.ru_stime) / len(pictures)
    size = sum(map(_measure_package, _PACKAGES[options.reader])) / 1e6
    print(
        f"\n{options.reader}: {size:.0f} MB on disk, {memory:.0f} MB of memory at most,"
        f" {processor:.1f} s of processor time a picture"
    )


_recogniser = TextRecogniser()


def _open_engrams() -> OcrFunction:
    return lambda data: "\n".join(_recogniser.recognise(data))


def _open_rapidocr() -> OcrFunction:
    engine = importlib.import_module("rapidocr").RapidOCR()
    return lambda data: "\n".join(engine(data).txts or ())


def _open_rapidocr_onnxruntime() -> OcrFunction:
    engine = importlib.import_module("rapidocr_onnxruntime").RapidOCR()
    return lambda data: "\n".join(line[1] for line in engine(data)[0] or ())


_READERS: dict[str, Callable[[], OcrFunction]] = {
    "engrams": _open_engrams,
    "rapidocr": _open_rapidocr,
    "rapidocr_onnxruntime": _open_rapidocr_onnxruntime,
}


def _find_font() -> Path:
    spec = find_spec(_FONT)
    if spec is None or spec.origin is None:
        raise SystemExit(f"{_FONT} is missing: make .make/ocr, then PYTHONPATH=.cache/ocr")
    return next(Path(spec.origin).parent.glob("*.otf"))


def _measure_package(name: str) -> int:
    """Return the bytes of a package's files."""
    files = metadata.files(name) or ()
    return sum(
        path.stat().st_size for file in files if (path := Path(str(file.locate()))).is_file()
    )


if __name__ == "__main__":
    main()
