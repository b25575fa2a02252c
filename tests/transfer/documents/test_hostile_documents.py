"""Files made to harm their reader: each is refused, or read within its limits."""

from __future__ import annotations

import io
import zipfile
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from bench.documents import making

from engrams.errors import InputError
from engrams.transfer.documents.read_document import MOST_CHARACTERS
from engrams.transfer.documents.reading_process import DocumentReadingProcess

_SECONDS = 20.0
_WORD = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
_XXE = '<!DOCTYPE d [<!ENTITY x SYSTEM "file:///etc/passwd">]>'
_LAUGHS = (
    '<!DOCTYPE d [<!ENTITY a "ha">'
    + "".join(f'<!ENTITY {chr(98 + n)} "{f"&{chr(97 + n)};" * 10}">' for n in range(12))
    + "]>"
)
_TEN_MB = 10 << 20


@pytest.fixture(scope="module")
def reading() -> Iterator[DocumentReadingProcess]:
    with DocumentReadingProcess(_SECONDS) as reading:
        yield reading


def replace_member(package: bytes, name: str, content: bytes | str) -> bytes:
    """The same zip with another content of one file."""
    files: dict[str, str | bytes] = {}
    with zipfile.ZipFile(io.BytesIO(package)) as archive:
        files |= {member: archive.read(member) for member in archive.namelist()}
    return making.make_zip({**files, name: content})


def word(body: str, head: str = "") -> bytes:
    """A Word document with a body of its own."""
    text = f'{head}<w:document xmlns:w="{_WORD}"><w:body>{body}</w:body></w:document>'
    return replace_member(making.make_docx(["x"]), "word/document.xml", text)


def pdf(objects: dict[int, bytes], trailer: bytes = b"/Root 1 0 R") -> bytes:
    """A PDF of raw objects, with a right table of them."""
    out = bytearray(b"%PDF-1.4\n")
    offsets = {}
    for number, content in objects.items():
        offsets[number] = len(out)
        out += b"%d 0 obj\n%s\nendobj\n" % (number, content)
    start = len(out)
    out += b"xref\n0 %d\n0000000000 65535 f \n" % (max(objects) + 1)
    for number in range(1, max(objects) + 1):
        out += b"%010d 00000 n \n" % offsets.get(number, 0)
    out += b"trailer<</Size %d%s>>\nstartxref\n%d\n%%%%EOF" % (max(objects) + 1, trailer, start)
    return bytes(out)


def page(content: bytes, resources: bytes = b"", more: dict[int, bytes] | None = None) -> bytes:
    """A PDF of one page."""
    return pdf(
        {
            1: b"<</Type/Catalog/Pages 2 0 R>>",
            2: b"<</Type/Pages/Kids[3 0 R]/Count 1>>",
            3: b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 9 9]/Contents 4 0 R" + resources + b">>",
            4: content,
            **(more or {}),
        }
    )


def stream(data: bytes, entries: bytes = b"") -> bytes:
    return b"<</Length %d%s>>stream\n%s\nendstream" % (len(data), entries, data)


def bomb() -> bytes:
    """300 MB of spaces, as a zip's file."""
    return b" " * (300 << 20)


REFUSED: dict[str, tuple[str, Callable[[], bytes]]] = {
    "bomb.docx": (
        "unpacks",
        lambda: replace_member(making.make_docx(["x"]), "word/document.xml", bomb()),
    ),
    "members.docx": (
        "files inside",
        lambda: making.make_zip(
            {"word/document.xml": "<a/>", **{f"m{n}": "" for n in range(20_001)}}
        ),
    ),
    "xxe.docx": ("document type", lambda: word("<w:p><w:r><w:t>&x;</w:t></w:r></w:p>", _XXE)),
    "xxe.xlsx": (
        "document type",
        lambda: replace_member(
            making.make_xlsx({"A": [["a", "b"]]}),
            "xl/sharedStrings.xml",
            f"{_XXE}<sst><si><t>&x;</t></si></sst>",
        ),
    ),
    "xxe.pptx": (
        "document type",
        lambda: replace_member(
            making.make_pptx([("a", [])]), "ppt/slides/slide1.xml", f"{_XXE}<p>&x;</p>"
        ),
    ),
    "xxe.odt": (
        "document type",
        lambda: replace_member(making.make_odt(["x"]), "content.xml", f"{_XXE}<d>&x;</d>"),
    ),
    "xxe.epub": (
        "document type",
        lambda: replace_member(
            making.make_epub([["x"]], "t"), "OPS/book.opf", f"{_XXE}<package>&x;</package>"
        ),
    ),
    "laughs.docx": ("document type", lambda: word("<w:p><w:r><w:t>&m;</w:t></w:r></w:p>", _LAUGHS)),
    "laughs.odt": (
        "document type",
        lambda: replace_member(making.make_odt(["x"]), "content.xml", f"{_LAUGHS}<d>&m;</d>"),
    ),
    "quadratic.docx": (
        "document type",
        lambda: word("&a;" * 100_000, f'<!DOCTYPE d [<!ENTITY a "{"a" * 100_000}">]>'),
    ),
    "unclosed.docx": (
        "damaged",
        lambda: replace_member(making.make_docx(["x"]), "word/document.xml", "<a><b>"),
    ),
    "truncated.docx": ("damaged", lambda: making.make_docx(["x"])[:300]),
    "empty.zip.docx": ("no document|no text", lambda: making.make_zip({})),
    "program.pdf": ("no document|no text|binary", lambda: b"MZ" + bytes(range(256)) * 40),
    "picture.pdf": ("picture", lambda: b"BM" + bytes(200)),
    "noise.pdf": ("damaged", lambda: b"%PDF-1.7\n" + bytes(range(256)) * 100),
    "truncated.pdf": (
        "damaged|no text|scan",
        lambda: making.make_pdf([["A long line of text."]])[:200],
    ),
    "nopages.pdf": ("no text|scan|damaged", lambda: pdf({1: b"<</Type/Catalog>>"})),
    "ring.pdf": (
        "damaged|no text|scan|memory or time",
        lambda: pdf(
            {1: b"<</Type/Catalog/Pages 2 0 R>>", 2: b"<</Type/Pages/Kids[2 0 R]/Count 1>>"}
        ),
    ),
    "count.pdf": (
        "damaged|no text|scan|pages",
        lambda: pdf(
            {1: b"<</Type/Catalog/Pages 2 0 R>>", 2: b"<</Type/Pages/Kids[]/Count 999999999>>"}
        ),
    ),
    "form-ring.pdf": (
        "scan|damaged|no text|memory or time",
        lambda: page(
            stream(b"/F Do"),
            b"/Resources<</XObject<</F 5 0 R>>>>",
            {
                5: stream(
                    b"/F Do",
                    b"/Type/XObject/Subtype/Form/BBox[0 0 9 9]/Resources<</XObject<</F 5 0 R>>>>",
                )
            },
        ),
    ),
    "inflate.pdf": (
        "damaged|memory or time|scan|no text",
        lambda: page(stream(zlib.compress(bomb(), 9), b"/Filter/FlateDecode")),
    ),
    "long.txt": ("characters", lambda: b"word " * (MOST_CHARACTERS // 5 + 10)),
    "nul.txt": ("no document", lambda: b"a\x00\x00b" + b" words" * 900),
    "scripts.html": ("no text", lambda: b"<html><script>steal()</script><style>p{}</style></html>"),
    "no-end.vcf": ("no contacts", lambda: b"BEGIN:VCARD\n" + b"FN:Ann\n" * 200_000),
    "empty.ics": ("no appointments", lambda: b"BEGIN:VCALENDAR\nEND:VCALENDAR\n"),
    "alarms.ics": ("no appointments", lambda: b"BEGIN:VCALENDAR\n" + b"BEGIN:VALARM\n" * 100_000),
    "only-files.eml": (
        "no text",
        lambda: (
            b"From: a@b.c\nTo: d@e.f\nSubject: x\nMIME-Version: 1.0\nContent-Type: application/pdf\n\nJVBERi0="
        ),
    ),
    "locked.epub": (
        "locked",
        lambda: making.make_zip(
            {"mimetype": "application/epub+zip", "META-INF/rights.xml": "<a/>"}
        ),
    ),
    "outside.epub": (
        "damaged|no text|names no contents",
        lambda: making.make_zip(
            {
                "mimetype": "application/epub+zip",
                "META-INF/container.xml": '<c><rootfile full-path="../../../../etc/passwd"/></c>',
            }
        ),
    ),
}
"""Files that are refused, each with the reason (any of several)."""

READ: dict[str, Callable[[], bytes]] = {
    "picture.docx": lambda: replace_member(
        making.make_docx(["Kept."]), "word/media/image1.bmp", bytes(64 << 20)
    ),
    "macro.docx": lambda: replace_member(
        making.make_docx(["Kept."]), "word/vbaProject.bin", b"Sub AutoOpen()"
    ),
    "outside.docx": lambda: replace_member(
        making.make_docx(["Kept."]), "../../../tmp/evil", b"evil"
    ),
    "deep.docx": lambda: word(
        "<w:sdt>" * 20_000 + "<w:p><w:r><w:t>Kept.</w:t></w:r></w:p>" + "</w:sdt>" * 20_000
    ),
    "nul.docx": lambda: making.make_docx(["Kept."]),
    "far.xlsx": lambda: replace_member(
        making.make_xlsx({"A": [["Kept.", "b"]]}),
        "xl/worksheets/sheet1.xml",
        '<w><row><c r="XFD1048576" t="s"><v>99999999999</v></c><c r="A1" t="s"><v>0</v></c></row></w>',
    ),
    "wide.odt": lambda: replace_member(
        making.make_odt(["x"]),
        "content.xml",
        '<d xmlns:t="t"><spreadsheet><t:table t:name="S"><t:table-row t:number-rows-repeated="1000000000">'
        '<t:table-cell t:number-columns-repeated="1000000000"><t:p>Kept.</t:p></t:table-cell></t:table-row>'
        "</t:table></spreadsheet></d>",
    ),
    "links.pptx": lambda: replace_member(
        making.make_pptx([("Kept.", [])]),
        "ppt/slides/_rels/slide1.xml.rels",
        '<R xmlns="http://schemas.openxmlformats.org/package/2006/relationships"><Relationship Id="a"'
        ' Target="file:///etc/passwd" TargetMode="External"/><Relationship Id="b" Target="../../../etc/passwd"/></R>',
    ),
    "script.pdf": lambda: making.make_pdf([["Kept. Some more words here."]]).replace(
        b"<</Type/Catalog",
        b"<</OpenAction<</S/JavaScript/JS(app.launchURL('http://x'))>>/Type/Catalog",
    ),
    "both.pdf": lambda: (
        making.make_pdf([["Kept. Some more words here."]]) + making.make_zip({"a": "b"})
    ),
    "document.docx": lambda: making.make_pdf([["Kept. Some more words here."]]),
    "page.txt": lambda: making.make_html(["Kept."]),
    "deep.html": lambda: b"<html>" + b"<div>" * 200_000 + b"Kept." + b"</div>" * 200_000,
    "attributes.html": lambda: b"<html><p " + b"a=b " * 200_000 + b">Kept.</p>",
    "entities.html": lambda: (
        b"<!DOCTYPE html [<!ENTITY x SYSTEM 'file:///etc/passwd'>]><html><p>Kept. &x;</p>"
    ),
    "frame.html": lambda: (
        b"<html><p>Kept.</p><iframe src='file:///etc/passwd'></iframe><img src=x onerror=e()>"
    ),
    "line.txt": lambda: b"Kept. " + b"x" * _TEN_MB,
    "markup.html": lambda: b"<html><p>Kept.</p>" + b"<" * (1 << 18),
    "comment.html": lambda: b"<html><p>Kept.</p><!--" + b"- " * (1 << 18),
    "emphasis.md": lambda: b"Kept. " + b"**a" * (1 << 20),
    "brackets.md": lambda: b"Kept.\n\n" + b"[" * (1 << 20),
    "bars.md": lambda: b"Kept.\n\n" + b"|" * (1 << 20),
    "aliases.md": lambda: (
        b"---\na: &a [x,x,x,x,x,x,x,x,x]\n"
        + b"".join(
            b"%c: &%c [%s]\n" % (n, n, b",".join([b"*%c" % (n - 1)] * 9)) for n in range(98, 110)
        )
        + b"title: [*m]\n---\nKept."
    ),
    "python.md": lambda: (
        b"---\ntitle: !!python/object/apply:os.system ['touch /tmp/engrams-canary']\n---\nKept."
    ),
    "options.vcf": lambda: b"BEGIN:VCARD\nTEL" + b";" * 50_000 + b"\nFN:Kept.\nEND:VCARD\n",
    "nested.eml": lambda: (
        b"From: a@b.c\nTo: d@e.f\nSubject: Kept.\nMIME-Version: 1.0\n"
        + b"".join(
            b"Content-Type: multipart/mixed; boundary=b%d\n\n--b%d\n" % (n, n) for n in range(80)
        )
        + b"Content-Type: text/plain\n\nhello"
    ),
    "header.eml": lambda: (
        b"From: a@b.c\nTo: d@e.f\nSubject: Kept.\nX-Long: " + b"y" * (1 << 20) + b"\n\nhello there"
    ),
    "charset.eml": lambda: (
        b"From: a@b.c\nTo: d@e.f\nSubject: Kept.\nContent-Type: text/plain; charset=rot13\n\nhello there\n\nmore"
    ),
    "names.eml": lambda: making.make_mail(
        "a@b.c", "d@e.f", "Kept.", "Tue, 03 Mar 2026 09:15:00 +0100", ["Hello."]
    ).replace(b"plan.pdf", b"../../../../tmp/plan.pdf"),
    "many.mbox": lambda: (
        b"From a Mon Jan 01 00:00:00 2026\nFrom: a@b.c\nTo: d@e.f\nSubject: Kept.\n\nhello\n\n"
        * 500
    ),
}
"""Files that are read: their words come out, and nothing else happens."""


@pytest.mark.parametrize("name", REFUSED)
def test_a_harmful_file_is_refused(reading: DocumentReadingProcess, name: str) -> None:
    """The error says why, the hint says what to do, and the next file is read as ever."""
    reason, make = REFUSED[name]
    with pytest.raises(InputError, match=reason) as problem:
        reading.read(make(), name)
    assert problem.value.hint


@pytest.mark.parametrize("name", READ)
def test_a_suspect_file_gives_its_words_alone(reading: DocumentReadingProcess, name: str) -> None:
    """What a suspect file says is read; nothing is run, and no other file is."""
    document = reading.read(READ[name](), name)
    texts = [document.title, *(block.text for block in document.blocks)]
    assert any("Kept." in text for text in texts)
    assert not any("root:" in text or "steal" in text for text in texts)
    assert not Path("/tmp/engrams-canary").exists()
    assert not Path("/tmp/evil").exists()


def test_a_file_that_never_ends_is_cut_off() -> None:
    """A reader that takes too long is ended, and the next document has a new one."""
    with DocumentReadingProcess(0.05) as reading, pytest.raises(InputError, match="memory or time"):
        reading.read(b"word " * (2 << 20), "long.txt")
    with DocumentReadingProcess() as reading:
        assert reading.read(b"Kept.", "a.txt").blocks[0].text == "Kept."


def test_the_reader_has_no_modules_of_the_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A module beside the documents is not taken for one of the reader's."""
    (tmp_path / "pypdf.py").write_text("raise SystemExit('run')")
    (tmp_path / "json.py").write_text("raise SystemExit('run')")
    monkeypatch.chdir(tmp_path)
    with DocumentReadingProcess() as reading:
        document = reading.read(making.make_pdf([["Kept. Some more words here."]]), "a.pdf")
    assert document.blocks[0].text == "Kept. Some more words here."


def test_a_file_of_more_than_the_limit_is_not_sent(reading: DocumentReadingProcess) -> None:
    """More than 100 MB are refused before they are read."""
    with pytest.raises(InputError, match="is the most"):
        reading.read(bytes((100 << 20) + 1), "large.bin")
