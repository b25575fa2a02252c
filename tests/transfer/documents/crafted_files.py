"""Files that an attacker crafts by hand, each with one trick of its own: what makes each, by its name."""

from __future__ import annotations

import io
import struct
import warnings
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path

from bench.documents import making
from tests.transfer.documents.test_hostile_documents import (
    page,
    pdf,
    replace_member,
    stream,
    word,
)

_LINE = "Kept are these words, which are long enough for a page."
_KEPT_PDF = making.make_pdf([[_LINE]], "Kept")
_KEPT_WORD = making.make_docx([(1, "Kept"), _LINE], "Kept")
_WORD_BODY = "<w:p><w:r><w:t>Kept.</w:t></w:r></w:p>"
_RELATIONS = "http://schemas.openxmlformats.org/package/2006/relationships"
_GIANT_PICTURE = (
    b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + struct.pack(">II", 0x7FFFFFFF, 0x7FFFFFFF) + bytes(9)
)
_MAIL = b"From: a@b.c\nTo: d@e.f\nSubject: Kept.\nMIME-Version: 1.0\n"


def _make_doubling_forms() -> bytes:
    """Each form draws the next one twice, thirty deep: a billion drawings."""
    forms = {
        number: stream(
            b"/F Do /F Do",
            b"/Type/XObject/Subtype/Form/BBox[0 0 9 9]/Resources<</XObject<</F %d 0 R>>>>"
            % (number + 1),
        )
        for number in range(5, 35)
    }
    return page(stream(b"/F Do"), b"/Resources<</XObject<</F 5 0 R>>>>", forms)


def _make_page_with_font(font: bytes, more: dict[int, bytes] | None = None) -> bytes:
    text = stream(b"BT /F1 9 Tf (Kept are these words) Tj ET")
    return page(text, b"/Resources<</Font<</F1 5 0 R>>>>", {5: font, **(more or {})})


def _make_map(lines: bytes) -> bytes:
    return stream(b"/CIDInit /ProcSet findresource begin begincmap\n" + lines + b"\nendcmap end")


def _make_overlapping_zip() -> bytes:
    """Twenty thousand names of one and the same packed text."""
    packed = zlib.compressobj(9, zlib.DEFLATED, -15)
    text = b"a" * (1 << 20)
    data = packed.compress(text) + packed.flush()
    checksum = zlib.crc32(text)
    local = struct.pack(
        "<4sHHHHHIIIHH", b"PK\3\4", 20, 0, 8, 0, 0, checksum, len(data), len(text), 17, 0
    )
    body = local + b"word/document.xml" + data
    entries = b""
    for number in range(20_000):
        name = b"word/document.xml" if number == 0 else b"word/media%07d" % number
        entries += struct.pack(
            "<4sHHHHHHIIIHHHHHII", b"PK\1\2", 20, 20, 0, 8, 0, 0, checksum, len(data), len(text),
            len(name), 0, 0, 0, 0, 0, 0,
        ) + name  # fmt: skip
    end = struct.pack("<4sHHHHIIH", b"PK\5\6", 0, 0, 20_000, 20_000, len(entries), len(body), 0)
    return body + entries + end


def _patch_central(package: bytes, offset: int, value: bytes) -> bytes:
    """Change bytes of every entry of a zip's list of contents."""
    data = bytearray(package)
    start = data.find(b"PK\1\2")
    while start >= 0:
        data[start + offset : start + offset + len(value)] = value
        start = data.find(b"PK\1\2", start + 4)
    return bytes(data)


def _double_member() -> bytes:
    """Two files of one name: readers differ about which counts."""
    target = io.BytesIO(_KEPT_WORD)
    with warnings.catch_warnings(), zipfile.ZipFile(target, "a") as archive:
        warnings.simplefilter("ignore")  # zipfile tells of the second name
        archive.writestr(zipfile.ZipInfo("word/document.xml"), "<a/>")
    return target.getvalue()


def _make_nested_mails(depth: int) -> bytes:
    head = b"From: a@b.c\nTo: d@e.f\nSubject: Kept.\nMIME-Version: 1.0\nContent-Type: message/rfc822\n\n"
    return head * depth + _MAIL + b"\nhello there, Kept."


def _attach(count: int, data: bytes, name: bytes) -> bytes:
    part = (
        b"--b\nContent-Type: application/octet-stream\nContent-Disposition: attachment; filename=%s\n\n"
        % name
    )
    return (
        _MAIL
        + b"Content-Type: multipart/mixed; boundary=b\n\n--b\n\nKept.\n"
        + (part + data + b"\n") * count
        + b"--b--\n"
    )


def _replace_in_odt(body: str) -> bytes:
    return replace_member(
        making.make_odt(["x"]),
        "content.xml",
        f'<d xmlns:t="urn:t" xmlns:x="http://www.w3.org/1999/xlink"><text>{body}</text></d>',
    )


def _replace_in_epub(body: str) -> bytes:
    package = making.make_epub([[(1, "Kept"), _LINE]], "Kept")
    with zipfile.ZipFile(io.BytesIO(package)) as archive:
        name = next(name for name in archive.namelist() if name.endswith(".xhtml"))
    return replace_member(package, name, f"<html><body>{body}</body></html>")


def _replace_cells(strings: str, cells: str) -> bytes:
    package = making.make_xlsx({"A": [["a", "b"], ["Kept", "c"]]})
    package = replace_member(package, "xl/sharedStrings.xml", f"<sst>{strings}</sst>")
    return replace_member(package, "xl/worksheets/sheet1.xml", f"<w>{cells}</w>")


def make_crafted_files(evil: Path) -> dict[str, Callable[[], bytes]]:
    """Return what makes each file; ``evil``: path that no reader may touch."""
    target = str(evil)
    return {
        # Files of two kinds at once
        "gif-and.pdf": lambda: b"GIF89a/*" + bytes(40) + _KEPT_PDF,
        "page-and.pdf": lambda: b"<html><script>steal()</script><!--" + _KEPT_PDF + b"-->",
        "program-and.docx": lambda: b"MZ" + bytes(510) + _KEPT_WORD,
        "zip-and.html": lambda: _KEPT_WORD + b"<html><p>Kept.</p></html>",
        "script-and.pdf": lambda: b"#!/bin/sh\ntouch %s\nexit\n" % target.encode() + _KEPT_PDF,
        "mail-and.pdf": lambda: _MAIL + b"\n" + _KEPT_PDF,
        # PDFs that lead round in circles, or promise too much
        "parents.pdf": lambda: pdf(
            {
                1: b"<</Type/Catalog/Pages 2 0 R>>",
                2: b"<</Type/Pages/Kids[3 0 R]/Count 1/Parent 3 0 R>>",
                3: b"<</Type/Pages/Kids[2 0 R 2 0 R]/Count 2/Parent 2 0 R>>",
            }
        ),
        "previous.pdf": lambda: _KEPT_PDF.replace(b"trailer\n<<", b"trailer\n<</Prev 9 ").replace(
            b"trailer<<", b"trailer<</Prev 9 "
        ),
        "doubling.pdf": _make_doubling_forms,
        "contents.pdf": lambda: page(b"[4 0 R 4 0 R]"),
        "length.pdf": lambda: page(b"<</Length 4 0 R>>stream\nBT (Kept) Tj ET\nendstream"),
        "arrays.pdf": lambda: page(stream(b"[" * 200_000)),
        "dictionaries.pdf": lambda: page(b"<</A" * 50_000),
        "operands.pdf": lambda: page(stream(b"1 " * 3_000_000)),
        "states.pdf": lambda: page(stream(b"q " * 1_000_000)),
        "widths.pdf": lambda: _make_page_with_font(
            b"<</Type/Font/Subtype/Type0/Encoding/Identity-H/DescendantFonts[6 0 R]>>",
            {6: b"<</Type/Font/Subtype/CIDFontType2/W[0 2000000000 1]/DW 1>>"},
        ),
        "map.pdf": lambda: _make_page_with_font(
            b"<</Type/Font/Subtype/Type1/BaseFont/A/ToUnicode 6 0 R>>",
            {6: _make_map(b"1 beginbfrange\n<0000> <ffffffff> <0041>\nendbfrange")},
        ),
        "filters.pdf": lambda: page(
            stream(
                zlib.compress(zlib.compress(zlib.compress(b" " * (64 << 20), 9), 9), 9),
                b"/Filter[/FlateDecode/FlateDecode/FlateDecode]",
            )
        ),
        "run-length.pdf": lambda: page(stream(b"\x81 " * 2_000_000, b"/Filter/RunLengthDecode")),
        "columns.pdf": lambda: page(
            stream(
                zlib.compress(bytes(9999)),
                b"/Filter/FlateDecode/DecodeParms<</Predictor 12/Columns 2147483647>>",
            )
        ),
        "picture.pdf": lambda: page(
            stream(b"/I Do BT (Kept are these words) Tj ET"),
            b"/Resources<</XObject<</I 5 0 R>>>>",
            {
                5: stream(
                    b"x",
                    b"/Subtype/Image/Width 2147483647/Height 2147483647/Filter/DCTDecode",
                )
            },
        ),
        "launch.pdf": lambda: _KEPT_PDF.replace(
            b"<</Type/Catalog", b"<</OpenAction<</S/Launch/F(%s)>>/Type/Catalog" % target.encode()
        ),
        "title.pdf": lambda: making.make_pdf([[_LINE]], "Kept " * 200_000),
        # Zips that lie
        "overlap.docx": _make_overlapping_zip,
        "double.docx": _double_member,
        "sizes.docx": lambda: _patch_central(_KEPT_WORD, 24, b"\xff\xff\xff\x7f"),
        "small.docx": lambda: _patch_central(_KEPT_WORD, 24, b"\1\0\0\0"),
        "method.docx": lambda: _patch_central(_KEPT_WORD, 10, b"\x63\0"),
        "secret.docx": lambda: _patch_central(_KEPT_WORD, 8, b"\1\0"),
        "place.docx": lambda: _patch_central(_KEPT_WORD, 42, b"\xff\xff\xff\x7f"),
        # Office files with what is run or fetched elsewhere
        "macro.docm": lambda: replace_member(
            _KEPT_WORD, "word/vbaProject.bin", b'Sub AutoOpen()\nShell "touch %s"' % target.encode()
        ),
        "field.docx": lambda: word(
            _WORD_BODY
            + f'<w:p><w:r><w:instrText>DDEAUTO c:\\\\cmd.exe "/k touch {target}"</w:instrText></w:r></w:p>'
        ),
        "include.docx": lambda: word(
            _WORD_BODY
            + '<x:include xmlns:x="http://www.w3.org/2001/XInclude" href="file:///etc/passwd" parse="text"/>'
        ),
        "chunk.docx": lambda: replace_member(
            _KEPT_WORD,
            "word/_rels/document.xml.rels",
            f'<Relationships xmlns="{_RELATIONS}"><Relationship Id="a" Target="file:///etc/passwd"/>'
            '<Relationship Id="b" Target="../../../../../../etc/passwd"/></Relationships>',
        ),
        "wide.docx": lambda: word(
            "<w:tbl>" + "<w:tr>" + "<w:tc><w:p/></w:tc>" * 50_000 + "</w:tr></w:tbl>" + _WORD_BODY
        ),
        "tables.docx": lambda: word(
            "<w:tbl><w:tr><w:tc>" * 5000 + _WORD_BODY + "</w:tc></w:tr></w:tbl>" * 5000
        ),
        "utf16.docx": lambda: replace_member(
            _KEPT_WORD,
            "word/document.xml",
            '<?xml version="1.0" encoding="utf-16"?><!DOCTYPE d [<!ENTITY x SYSTEM "file:///etc/passwd">]><d>&x;</d>'.encode(
                "utf-16"
            ),
        ),
        "giant.docx": lambda: replace_member(_KEPT_WORD, "word/media/image1.png", _GIANT_PICTURE),
        "formula.xlsx": lambda: _replace_cells(
            f"<si><t>Kept</t></si><si><t>=cmd|'/c touch {target}'!A1</t></si>",
            '<row><c r="A1" t="s"><v>0</v></c><c r="B1" t="s"><v>1</v></c></row>',
        ),
        "repeated.xlsx": lambda: _replace_cells(
            f"<si><t>{'a' * 30_000}</t></si>",
            "<row>" + '<c t="s"><v>0</v></c>' * 5000 + "</row>",
        ),
        "rows.xlsx": lambda: _replace_cells("<si><t>Kept</t></si>", '<row r="1048576"/>' * 100_000),
        # Open documents and books
        "sections.odt": lambda: _replace_in_odt(
            "<t:section>" * 50_000 + "<t:p>Kept.</t:p>" + "</t:section>" * 50_000
        ),
        "lists.odt": lambda: _replace_in_odt(
            "<t:list><t:list-item>" * 20_000
            + "<t:p>Kept.</t:p>"
            + "</t:list-item></t:list>" * 20_000
        ),
        "spaces.odt": lambda: _replace_in_odt('<t:p>Kept.<t:s t:c="2000000000"/></t:p>'),
        "link.odt": lambda: _replace_in_odt(
            '<t:p>Kept.<t:a x:href="file:///etc/passwd">here</t:a></t:p>'
        ),
        "script.odt": lambda: replace_member(
            making.make_odt([_LINE]),
            "Basic/Standard/Module1.xml",
            f"Shell(&quot;touch {target}&quot;)",
        ),
        "deep.epub": lambda: _replace_in_epub("<div>" * 100_000 + "Kept." + "</div>" * 100_000),
        "script.epub": lambda: _replace_in_epub("<p>Kept.</p><script>steal()</script>"),
        # Mails, cards and texts
        "mails.eml": lambda: _make_nested_mails(2000),
        "attachments.eml": lambda: _attach(500, b"Kept.", b"a.txt"),
        "bomb.eml": lambda: _attach(
            3, making.make_zip({"word/document.xml": b" " * (60 << 20)}), b"a.docx"
        ),
        "names.eml": lambda: _attach(3, b"Kept.", f"../../../..{target}".encode()),
        "headers.eml": lambda: (
            b"From: a@b.c\nTo: d@e.f\nSubject: Kept.\n" + b"X: y\n" * 300_000 + b"\nhi"
        ),
        "messages.mbox": lambda: (
            b"From a Mon Jan 01 00:00:00 2026\nFrom: a@b.c\nTo: d@e.f\nSubject: Kept.\n\nhi\n\n"
            * 2000
        ),
        "forever.ics": lambda: (
            b"BEGIN:VCALENDAR\nBEGIN:VEVENT\nSUMMARY:Kept\nRRULE:FREQ=SECONDLY;COUNT=999999999\nEND:VEVENT\nEND:VCALENDAR\n"
        ),
        "photo.vcf": lambda: (
            b"BEGIN:VCARD\nFN:Kept Holm\nPHOTO:" + b"QUFB" * 5_000_000 + b"\nEND:VCARD\n"
        ),
        "quotes.md": lambda: b">" * 200_000 + b" Kept.",
        "links.md": lambda: b"Kept. " + b"![a](" * 200_000,
        "tables.html": lambda: b"<html>" + b"<table><tr><td>" * 50_000 + b"Kept.",
        "picture.html": lambda: (
            b"<html><p>Kept.</p><img src='data:image/png;base64," + b"QUFB" * 3_000_000 + b"'>"
        ),
        "seven.txt": lambda: "Kept. ".encode("utf-7") + b"+ADw-script+AD4-" * 1000,
    }
