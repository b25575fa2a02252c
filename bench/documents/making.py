"""Documents of each kind, made in code: for the bench and the tests."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Iterable, Mapping, Sequence
from email.message import EmailMessage
from xml.sax.saxutils import escape, quoteattr

_WORD = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
_SHEET = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
_DRAWING = "http://schemas.openxmlformats.org/drawingml/2006/main"
_SLIDES = "http://schemas.openxmlformats.org/presentationml/2006/main"
_RELATIONS = "http://schemas.openxmlformats.org/package/2006/relationships"
_OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_TEXT = "urn:oasis:names:tc:opendocument:xmlns:text:1.0"
_TABLE = "urn:oasis:names:tc:opendocument:xmlns:table:1.0"
_DOCUMENT = "urn:oasis:names:tc:opendocument:xmlns:office:1.0"
_MANIFEST = '<manifest xmlns="urn:oasis:names:tc:opendocument:xmlns:manifest:1.0"/>'

Block = str | tuple[int, str] | Sequence[Sequence[str]]
"""A paragraph; the level and text of a heading; or the rows of a table."""


def make_zip(files: Mapping[str, str | bytes]) -> bytes:
    """Make a zip of files, in their order."""
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return target.getvalue()


def make_pdf(pages: Sequence[Sequence[str]], title: str = "") -> bytes:
    """Make a PDF with a font of its own program; each page has lines of text."""
    objects: list[bytes] = [b"<</Type/Catalog/Pages 2 0 R>>"]
    page_numbers = [4 + 2 * index for index in range(len(pages))]
    kids = " ".join(f"{number} 0 R" for number in page_numbers)
    objects.append(f"<</Type/Pages/Kids[{kids}]/Count {len(pages)}>>".encode())
    objects.append(b"<</Type/Font/Subtype/Type1/BaseFont/Helvetica/Encoding/WinAnsiEncoding>>")
    for number, lines in zip(page_numbers, pages, strict=True):
        objects.append(
            f"<</Type/Page/Parent 2 0 R/MediaBox[0 0 595 842]/Resources<</Font<</F1 3 0 R>>>>"
            f"/Contents {number + 1} 0 R>>".encode()
        )
        shown = b"".join(
            b"(" + _escape_pdf(line).encode("cp1252", "replace") + b") Tj T*\n" for line in lines
        )
        content = b"BT /F1 11 Tf 14 TL 50 800 Td\n" + shown + b"ET"
        objects.append(b"<</Length %d>>stream\n%s\nendstream" % (len(content), content))
    info = len(objects) + 1
    objects.append(f"<</Title({_escape_pdf(title)})>>".encode("cp1252", "replace"))
    body = io.BytesIO(b"")
    body.write(b"%PDF-1.4\n")
    offsets = []
    for number, content in enumerate(objects, 1):
        offsets.append(body.tell())
        body.write(b"%d 0 obj\n%s\nendobj\n" % (number, content))
    start = body.tell()
    body.write(b"xref\n0 %d\n0000000000 65535 f \n" % (len(objects) + 1))
    body.write(b"".join(b"%010d 00000 n \n" % offset for offset in offsets))
    body.write(
        b"trailer<</Size %d/Root 1 0 R/Info %d 0 R>>\nstartxref\n%d\n%%%%EOF"
        % (len(objects) + 1, info, start)
    )
    return body.getvalue()


def _escape_pdf(text: str) -> str:
    return text.replace("\\", r"\\").replace("(", r"\(").replace(")", r"\)")


def make_docx(blocks: Sequence[Block], title: str = "") -> bytes:
    """Make a Word document whose headings have the names of styles in German."""
    styles = "".join(
        f'<w:style w:styleId="berschrift{level}"><w:name w:val="heading {level}"/></w:style>'
        for level in range(1, 5)
    )
    return make_zip(
        {
            "[Content_Types].xml": "<Types/>",
            "docProps/core.xml": f"<p xmlns:dc='d'><dc:title>{escape(title)}</dc:title></p>",
            "word/styles.xml": f'<w:styles xmlns:w="{_WORD}">{styles}</w:styles>',
            "word/document.xml": f'<w:document xmlns:w="{_WORD}"><w:body>'
            f"{''.join(map(_word_block, blocks))}</w:body></w:document>",
        }
    )


def _word_block(block: Block) -> str:
    if isinstance(block, str):
        return _word_paragraph(block)
    if isinstance(block, tuple) and isinstance(block[0], int):
        style = f'<w:pPr><w:pStyle w:val="berschrift{block[0]}"/></w:pPr>'
        return _word_paragraph(str(block[1]), style)
    rows = (
        "<w:tr>" + "".join(f"<w:tc>{_word_paragraph(cell)}</w:tc>" for cell in row) + "</w:tr>"
        for row in block
        if not isinstance(row, int)
    )
    return f"<w:tbl>{''.join(rows)}</w:tbl>"


def _word_paragraph(text: str, style: str = "") -> str:
    return f"<w:p>{style}<w:r><w:t>{escape(text)}</w:t></w:r></w:p>"


def make_pptx(slides: Sequence[tuple[str, Sequence[str]]], notes: str = "") -> bytes:
    """Make a presentation; each slide has a title and lines, the first one ``notes``, too."""
    listed = "".join(
        f'<p:sldId id="{255 + number}" r:id="r{number}"/>' for number in range(1, len(slides) + 1)
    )
    files: dict[str, str | bytes] = {
        "[Content_Types].xml": "<Types/>",
        "ppt/presentation.xml": f'<p:presentation xmlns:p="{_SLIDES}" xmlns:r="{_OFFICE}">'
        f"<p:sldIdLst>{listed}</p:sldIdLst></p:presentation>",
        "ppt/_rels/presentation.xml.rels": _relations(
            {f"r{number}": f"slides/slide{number}.xml" for number in range(1, len(slides) + 1)}
        ),
    }
    for number, (title, lines) in enumerate(slides, 1):
        shapes = _shape(title, "title") + "".join(_shape(line, "body") for line in lines)
        files[f"ppt/slides/slide{number}.xml"] = (
            f'<p:sld xmlns:p="{_SLIDES}" xmlns:a="{_DRAWING}">{shapes}</p:sld>'
        )
    if notes:
        files["ppt/slides/_rels/slide1.xml.rels"] = _relations(
            {"n1": "../notesSlides/notesSlide1.xml"}
        )
        files["ppt/notesSlides/notesSlide1.xml"] = (
            f'<p:notes xmlns:p="{_SLIDES}" xmlns:a="{_DRAWING}">{_shape(notes, "body")}</p:notes>'
        )
    return make_zip(files)


def _shape(text: str, role: str) -> str:
    return (
        f'<p:sp><p:nvSpPr><p:nvPr><p:ph type="{role}"/></p:nvPr></p:nvSpPr>'
        f"<p:txBody><a:p><a:r><a:t>{escape(text)}</a:t></a:r></a:p></p:txBody></p:sp>"
    )


def _relations(targets: Mapping[str, str]) -> str:
    listed = "".join(
        f'<Relationship Id="{name}" Type="x" Target={quoteattr(target)}/>'
        for name, target in targets.items()
    )
    return f'<Relationships xmlns="{_RELATIONS}">{listed}</Relationships>'


def make_xlsx(sheets: Mapping[str, Sequence[Sequence[str | float]]]) -> bytes:
    """Make a workbook; texts are shared strings, and a number above 30,000 is shown as a date."""
    strings: list[str] = []
    files: dict[str, str | bytes] = {"[Content_Types].xml": "<Types/>"}
    for number, rows in enumerate(sheets.values(), 1):
        body = "".join(
            f"<row>{''.join(_cell(value, column, line, strings) for column, value in enumerate(row))}</row>"
            for line, row in enumerate(rows, 1)
        )
        files[f"xl/worksheets/sheet{number}.xml"] = (
            f'<worksheet xmlns="{_SHEET}"><sheetData>{body}</sheetData></worksheet>'
        )
    listed = "".join(
        f'<sheet name={quoteattr(name)} sheetId="{number}" r:id="r{number}"/>'
        for number, name in enumerate(sheets, 1)
    )
    files["xl/workbook.xml"] = (
        f'<workbook xmlns="{_SHEET}" xmlns:r="{_OFFICE}"><sheets>{listed}</sheets></workbook>'
    )
    files["xl/_rels/workbook.xml.rels"] = _relations(
        {f"r{number}": f"worksheets/sheet{number}.xml" for number in range(1, len(sheets) + 1)}
    )
    files["xl/sharedStrings.xml"] = (
        f'<sst xmlns="{_SHEET}">'
        + "".join(f"<si><t>{escape(text)}</t></si>" for text in strings)
        + "</sst>"
    )
    files["xl/styles.xml"] = (
        f'<styleSheet xmlns="{_SHEET}"><cellXfs><xf numFmtId="0"/><xf numFmtId="14"/></cellXfs>'
        "</styleSheet>"
    )
    return make_zip(files)


def _cell(value: str | float, column: int, line: int, strings: list[str]) -> str:
    place = f'r="{chr(65 + column)}{line}"'
    if isinstance(value, str):
        strings.append(value)
        return f'<c {place} t="s"><v>{len(strings) - 1}</v></c>'
    style = ' s="1"' if value > 30_000 else ""
    return f"<c {place}{style}><v>{value}</v></c>"


def make_odt(blocks: Sequence[Block], title: str = "") -> bytes:
    """Make a text of OpenDocument."""
    body = "".join(map(_open_block, blocks))
    return make_zip(
        {
            "mimetype": "application/vnd.oasis.opendocument.text",
            "META-INF/manifest.xml": _MANIFEST,
            "meta.xml": f"<m xmlns:dc='d'><dc:title>{escape(title)}</dc:title></m>",
            "content.xml": f'<office:d xmlns:office="{_DOCUMENT}" xmlns:text="{_TEXT}"'
            f' xmlns:table="{_TABLE}"><office:body><office:text>{body}</office:text>'
            "</office:body></office:d>",
        }
    )


def _open_block(block: Block) -> str:
    if isinstance(block, str):
        return f"<text:p>{escape(block)}</text:p>"
    if isinstance(block, tuple) and isinstance(block[0], int):
        return f'<text:h text:outline-level="{block[0]}">{escape(str(block[1]))}</text:h>'
    rows = (
        "<table:table-row>"
        + "".join(
            f"<table:table-cell><text:p>{escape(cell)}</text:p></table:table-cell>" for cell in row
        )
        + "</table:table-row>"
        for row in block
        if not isinstance(row, int)
    )
    return f"<table:table>{''.join(rows)}</table:table>"


def make_html(blocks: Sequence[Block], title: str = "", menu: str = "") -> bytes:
    """Make a web page with a menu before its main part, and a script after it."""
    body = "".join(map(_page_block, blocks))
    return (
        f"<!doctype html><html><head><title>{escape(title)}</title><style>p {{}}</style></head>"
        f"<body><nav>{escape(menu)}</nav><main>{body}</main><script>var x = 'no text';</script>"
        "</body></html>"
    ).encode()


def _page_block(block: Block) -> str:
    if isinstance(block, str):
        return f"<p>{escape(block)}</p>"
    if isinstance(block, tuple) and isinstance(block[0], int):
        return f"<h{block[0]}>{escape(str(block[1]))}</h{block[0]}>"
    rows = (
        "<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>"
        for row in block
        if not isinstance(row, int)
    )
    return f"<table>{''.join(rows)}</table>"


def make_epub(chapters: Sequence[Sequence[Block]], title: str) -> bytes:
    """Make a book of chapters."""
    names = [f"c{number}" for number in range(1, len(chapters) + 1)]
    items = "".join(
        f'<item id="{name}" href="{name}.xhtml" media-type="application/xhtml+xml"/>'
        for name in names
    )
    spine = "".join(f'<itemref idref="{name}"/>' for name in names)
    files: dict[str, str | bytes] = {
        "mimetype": "application/epub+zip",
        "META-INF/container.xml": '<c><rootfiles><rootfile full-path="OPS/book.opf"/></rootfiles></c>',
        "OPS/book.opf": f'<package xmlns:dc="d"><metadata><dc:title>{escape(title)}</dc:title>'
        f"</metadata><manifest>{items}</manifest><spine>{spine}</spine></package>",
    }
    for name, blocks in zip(names, chapters, strict=True):
        files[f"OPS/{name}.xhtml"] = make_html(blocks, title)
    return make_zip(files)


def make_mail(sender: str, to: str, subject: str, day: str, paragraphs: Iterable[str]) -> bytes:
    """Make a mail with an attachment; ``day``: such as "Tue, 03 Mar 2026 09:15:00 +0100"."""
    message = EmailMessage()
    message["From"] = sender
    message["To"] = to
    message["Date"] = day
    message["Subject"] = subject
    message.set_content("\n\n".join(paragraphs))
    message.add_attachment(b"%PDF", maintype="application", subtype="pdf", filename="plan.pdf")
    return message.as_bytes()


def make_markdown(blocks: Sequence[Block], title: str = "") -> bytes:
    """Make Markdown with front matter."""
    parts = [f"---\ntitle: {title}\n---"]
    for block in blocks:
        if isinstance(block, str):
            parts.append(block)
        elif isinstance(block, tuple) and isinstance(block[0], int):
            parts.append(f"{'#' * block[0]} {block[1]}")
        else:
            rows = [f"| {' | '.join(row)} |" for row in block if not isinstance(row, int)]
            columns = rows[0].count("|") - 1
            parts.append("\n".join([rows[0], f"|{'---|' * columns}", *rows[1:]]))
    return "\n\n".join(parts).encode()
