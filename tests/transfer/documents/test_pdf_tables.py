"""Tables of PDFs: rows become sentences with the names of their columns, and other text stays as it is."""

from __future__ import annotations

from collections.abc import Sequence

from tests.transfer.documents.test_hostile_documents import page, stream

from engrams.transfer.documents.document_readers import read_document

_COLUMNS = (50, 200, 300, 400)
_TOP = 700
_STEP = 20
_FONT = b"/Resources<</Font<</F1 5 0 R>>>>"
_HELVETICA = {5: b"<</Type/Font/Subtype/Type1/BaseFont/Helvetica/Encoding/WinAnsiEncoding>>"}


def make_pdf(placed: Sequence[tuple[int, int, str]]) -> bytes:
    """A PDF of one page with words at their places."""
    content = "".join(f"BT /F1 10 Tf {x} {y} Td ({text}) Tj ET\n" for x, y, text in placed)
    return page(stream(content.encode("cp1252")), _FONT, _HELVETICA)


def place(rows: Sequence[Sequence[str]], top: int = _TOP) -> list[tuple[int, int, str]]:
    """Cells at the places of their columns; empty ones are not drawn."""
    return [
        (x, top - number * _STEP, text)
        for number, row in enumerate(rows)
        for x, text in zip(_COLUMNS, row, strict=False)
        if text
    ]


def read_texts(placed: Sequence[tuple[int, int, str]]) -> list[str]:
    return [block.text for block in read_document(make_pdf(placed), "a.pdf").blocks]


def test_rows_are_told_with_the_names_of_their_columns() -> None:
    """Empty cells are left out; the text around the table stays where it stands."""
    table = place(
        [
            ("Item", "Owner", "Amount", "Note"),
            ("Rent", "Anna", "900", "monthly"),
            ("Water", "", "35.50", ""),
            ("Roof", "Per", "1,200", "once"),
        ]
    )
    texts = read_texts([(50, 750, "The costs of the flat."), *table, (50, 500, "So much for it.")])
    assert texts == [
        "The costs of the flat.",
        "Item: Rent; Owner: Anna; Amount: 900; Note: monthly",
        "Item: Water; Amount: 35.50",
        "Item: Roof; Owner: Per; Amount: 1,200; Note: once",
        "So much for it.",
    ]


def test_numbers_at_the_right_and_a_column_without_a_name_are_known() -> None:
    """A cell belongs to the name whose beginning, middle or end is nearest."""
    texts = read_texts(
        [
            *((x, 700, name) for x, name in ((200, "Hours"), (300, "Rate"), (400, "Total amount"))),
            *((x, 680, text) for x, text in ((50, "Body"), (214, "2"), (307, "150"), (444, "300"))),
            *((x, 660, text) for x, text in ((50, "Paint"), (305, "150"), (430, "2,250"))),
        ]
    )
    assert texts == [
        "Body; Hours: 2; Rate: 150; Total amount: 300",
        "Paint; Rate: 150; Total amount: 2,250",
    ]


def test_the_lines_of_one_cell_are_joined() -> None:
    """Cells are drawn one after the other, each with its own lines."""
    names = place([("Item", "Text", "Amount")])
    row = [(50, 680, "Roof"), (200, 680, "New tiles"), (200, 668, "of slate"), (300, 680, "900")]
    texts = read_texts([*names, *row, (50, 640, "Wall"), (300, 640, "40")])
    assert texts == [
        "Item: Roof; Text: New tiles of slate; Amount: 900",
        "Item: Wall; Amount: 40",
    ]


def test_what_only_looks_like_a_table_stays_text() -> None:
    """Pairs of a name and a value, columns of text, and formulas have no names of columns."""
    pairs = place([("Name", "Ann Berg", "Make", "Jeep"), ("Phone", "555 1234", "Trim", "Limited")])
    words = ("The hive", "is of cork", "and white")
    columns = place([words, ("The boat", "is of wood", "and blue"), words])
    formula = place([("x", "y", "z"), ("1", "2", "3"), ("40000", "50000", "60000")])
    for placed in (pairs, columns, formula):
        text = " ".join(read_texts(placed))
        assert text.split() == [word for _, _, cell in placed for word in cell.split()]


def test_a_page_of_many_rows_is_read_in_time() -> None:
    """Each row might begin a table; none is looked at for ever."""
    row = [(x, "Kept words") for x in _COLUMNS]
    placed = [(x, 40_000 - 12 * number, text) for number in range(3000) for x, text in row]
    assert len(" ".join(read_texts(placed)).split()) == 2 * len(placed)
