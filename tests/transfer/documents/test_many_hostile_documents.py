"""A table of harmful files, made by code: each is refused with what to do, or read within its limits."""

from __future__ import annotations

import io
import random
import resource
import time
import zipfile
from collections.abc import Callable, Iterator
from itertools import product
from pathlib import Path

import pytest
from bench.documents import making
from tests.transfer.documents.crafted_files import make_crafted_files

from engrams.core import Scope
from engrams.errors import InputError
from engrams.testing import temp_engine
from engrams.transfer.documents.reading_process import DocumentReadingProcess

_SECONDS = 20.0
_LINES = "Kept are these words, which are long enough for a page."
_EVIL = "/tmp/engrams-hostile"
"""Path that some of the files name; nothing may be written there."""

HONEST: dict[str, bytes] = {
    "a.pdf": making.make_pdf([[_LINES], [_LINES]], "Kept"),
    "a.docx": making.make_docx([(1, "Kept"), _LINES], "Kept"),
    "a.pptx": making.make_pptx([("Kept", [_LINES])], "Kept"),
    "a.xlsx": making.make_xlsx({"Kept": [["Item", "Sum"], [_LINES, 9]]}),
    "a.odt": making.make_odt([(1, "Kept"), _LINES]),
    "a.epub": making.make_epub([[(1, "Kept"), _LINES]], "Kept"),
    "a.html": making.make_html([(1, "Kept"), _LINES]),
    "a.eml": making.make_mail(
        "a@b.example", "c@d.example", "Kept", "Tue, 03 Mar 2026 09:15:00 +0100", [_LINES]
    ),
    "a.vcf": b"BEGIN:VCARD\r\nFN:Kept Holm\r\nEND:VCARD\r\n",
    "a.ics": b"BEGIN:VCALENDAR\r\nBEGIN:VEVENT\r\nSUMMARY:Kept\r\nEND:VEVENT\r\nEND:VCALENDAR\r\n",
    "a.md": making.make_markdown([(1, "Kept"), _LINES]),
    "a.txt": _LINES.encode(),
}
_PACKED = ("a.docx", "a.pptx", "a.xlsx", "a.odt", "a.epub")
_DOCTYPES = {
    "file": '<!DOCTYPE d [<!ENTITY x SYSTEM "file:///etc/passwd">]>',
    "address": '<!DOCTYPE d SYSTEM "http://127.0.0.1:1/evil.dtd">',
    "parameter": '<!DOCTYPE d [<!ENTITY % p SYSTEM "file:///etc/passwd"> %p;]>',
    "laughs": '<!DOCTYPE d [<!ENTITY a "ha">'
    + "".join(f'<!ENTITY {chr(98 + n)} "{f"&{chr(97 + n)};" * 10}">' for n in range(12))
    + "]>",
}
_GAMES = {
    "up": f"../../../..{_EVIL}",
    "root": _EVIL,
    "windows": "..\\..\\evil.txt",
    "drive": "C:\\evil.txt",
    "nul": "a\x00../evil.txt",
    "long": "x" * 5000,
}


def _map_members(package: bytes, change: Callable[[str, bytes], bytes]) -> bytes:
    with zipfile.ZipFile(io.BytesIO(package)) as archive:
        return making.make_zip(
            {name: change(name, archive.read(name)) for name in archive.namelist()}
        )


def _with_doctype(package: bytes, doctype: str) -> bytes:
    def change(name: str, data: bytes) -> bytes:
        is_xml = name.endswith((".xml", ".rels", ".opf", ".xhtml"))
        return doctype.encode() + data.replace(b"Kept", b"Kept &x;") if is_xml else data

    return _map_members(package, change)


def _inflate(package: bytes) -> bytes:
    """Each text of the package ends in 300 MB of blanks, which pack to nothing."""
    return _map_members(package, lambda _name, data: data + b" " * (60 << 20))


def _nest(package: bytes) -> bytes:
    """Zips within zips, ten deep, in a member of the package."""
    inner = making.make_zip({"bomb.txt": bytes(8 << 20)})
    for _ in range(10):
        inner = making.make_zip({f"{number}.zip": inner for number in range(4)})
    return _add_member(package, "word/embeddings/bomb.zip", inner)


def _add_member(package: bytes, name: str, data: bytes) -> bytes:
    target = io.BytesIO(package)
    with zipfile.ZipFile(target, "a", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(zipfile.ZipInfo(name), data)
    return target.getvalue()


def _add_link(package: bytes) -> bytes:
    """A symbolic link to a file of the machine, as Unix zips have them."""
    info = zipfile.ZipInfo("word/link.xml")
    info.external_attr = 0o120777 << 16
    target = io.BytesIO(package)
    with zipfile.ZipFile(target, "a") as archive:
        archive.writestr(info, "/etc/passwd")
    return target.getvalue()


def _flip(data: bytes, seed: int) -> bytes:
    """One byte in fifty is another one."""
    chance = random.Random(seed)
    flipped = bytearray(data)
    for _ in range(max(1, len(data) // 50)):
        flipped[chance.randrange(len(data))] = chance.randrange(256)
    return bytes(flipped)


def _make_files() -> Iterator[tuple[str, Callable[[], bytes]]]:
    """Yield the name of each file, and what makes it."""
    for (name, data), share in product(HONEST.items(), (1, 4, 9)):
        yield f"cut{share}-{name}", lambda data=data, share=share: data[: len(data) * share // 10]
    for (name, data), seed in product(HONEST.items(), range(3)):
        yield f"flip{seed}-{name}", lambda data=data, seed=seed: _flip(data, seed)
    for (name, data), ending in product(HONEST.items(), ("pdf", "docx")):
        yield f"called-{name}.{ending}", lambda data=data: data
    for name, (label, doctype) in product(_PACKED, _DOCTYPES.items()):
        yield (
            f"{label}-{name}",
            lambda name=name, doctype=doctype: _with_doctype(HONEST[name], doctype),
        )
    for name, (label, game) in product(_PACKED, _GAMES.items()):
        yield (
            f"{label}-{name}",
            lambda name=name, game=game: _add_member(HONEST[name], game, b"evil"),
        )
    for name in _PACKED:
        yield f"inflate-{name}", lambda name=name: _inflate(HONEST[name])
        yield f"nest-{name}", lambda name=name: _nest(HONEST[name])
        yield f"link-{name}", lambda name=name: _add_link(HONEST[name])
    for (first, data), (second, other) in product(
        list(HONEST.items())[:3], list(HONEST.items())[3:7]
    ):
        yield f"both-{second}-{first}", lambda data=data, other=other: data + other
    yield "columns.html", lambda: b"<html><table><tr>" + b"<td>Kept" * 1_000_000
    yield "columns.md", lambda: b"Kept\n\n" + b"|a" * 1_000_000 + b"|\n" + b"|-" * 1_000_000
    yield "columns.txt", lambda: b"Kept," * 1_000_000
    yield (
        "mime.eml",
        lambda: (
            b"From: a@b.c\nTo: d@e.f\nSubject: Kept.\nMIME-Version: 1.0\n"
            + b"".join(
                b"Content-Type: multipart/mixed; boundary=b%d\n\n--b%d\n" % (n, n)
                for n in range(3000)
            )
            + b"Content-Type: text/plain\n\nhello"
        ),
    )
    yield (
        "giant.png",
        lambda: b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + (0x7FFFFFFF).to_bytes(4, "big") * 2 + bytes(9),
    )
    for name, make in make_crafted_files(Path(_EVIL)).items():
        yield f"crafted-{name}", make


FILES = list(_make_files())


@pytest.mark.slow
def test_no_file_of_the_table_does_harm(tmp_path: Path) -> None:
    """Time and memory have their limits, nothing else is read or written, and each error has a hint."""
    assert len(FILES) >= 200
    assert len({name for name, _ in FILES}) == len(FILES)
    refused: dict[str, InputError] = {}
    with DocumentReadingProcess(_SECONDS) as reading:
        for name, make in FILES:
            data = make()
            started = time.monotonic()
            try:
                document = reading.read(data, name)
            except InputError as problem:
                refused[name] = problem
            else:
                text = "\n".join(block.text for block in document.blocks)
                assert "root:" not in text and "evil.dtd" not in text, name
            assert time.monotonic() - started < _SECONDS + 10, name
            assert not Path(_EVIL).exists(), name
        assert reading.read(HONEST["a.md"], "a.md").title == ""
    assert 40 <= len(refused) < len(FILES)
    assert [name for name, problem in refused.items() if not problem.hint] == []
    most_bytes = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024
    assert most_bytes < 1 << 30


@pytest.mark.slow
def test_a_folder_of_the_table_is_added_whole(tmp_path: Path) -> None:
    """The files of the table are one import: what can be read is stored, and the rest is named."""
    folder = tmp_path / "files"
    folder.mkdir()
    for number, (name, make) in enumerate(FILES):
        if not name.startswith(("inflate", "nest", "columns", "crafted")):
            (folder / f"{number}-{name[-60:]}").write_bytes(make())
    before = set(tmp_path.rglob("*"))
    with temp_engine() as engine:
        counts = engine.documents.watch(folder, Scope(("user", "ann"))).update()
        assert counts.stored > 50
        assert all(message.partition(": ")[2] for _, message in counts.bad)
        texts = "\n".join(
            record.text
            for record in engine.list(scope=("user", "ann"), kinds=("passage",), limit=1000).records
        )
        assert "root:" not in texts
    assert set(tmp_path.rglob("*")) == before
    assert not Path(_EVIL).exists()
