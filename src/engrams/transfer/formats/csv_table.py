"""Read CSV and TSV: a memory or message each row."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator

from engrams.core import Kind
from engrams.transfer.formats.json_messages import TEXT_FIELDS, read_value
from engrams.transfer.formats.parsed_items import ParsedTurn, UnreadablePiece
from engrams.transfer.formats.statement_export import is_guarded

_SEPARATORS = ",;\t|"


def read(
    lines: Iterable[tuple[int, str] | UnreadablePiece],
) -> Iterator[ParsedTurn | UnreadablePiece]:
    """Yield the rows of a table; its first line names the columns."""
    texts = (line[1] + "\n" for line in lines if not isinstance(line, UnreadablePiece))
    first = next(texts, "")
    separator = max(_SEPARATORS, key=first.count)
    rows = csv.reader(texts, delimiter=separator, strict=True)
    try:
        names = [
            name.strip().casefold() for name in next(csv.reader([first], delimiter=separator), [])
        ]
        if first.strip() and not set(names) & set(TEXT_FIELDS):
            known = ", ".join(name for name in names if name)[:200]
            yield UnreadablePiece(
                1,
                f"No column is named {' or '.join(TEXT_FIELDS)}; the columns are {known}.",
                broken=True,
            )
            return
        for place, row in enumerate(rows, 1):
            line = rows.line_num + 1
            if len(row) > len(names):
                yield UnreadablePiece(
                    line,
                    f"This row has {len(row)} columns; the first line names {len(names)}.",
                    broken=True,
                )
            elif any(cell.strip() for cell in row):
                cells = (cell[1:] if is_guarded(cell) else cell for cell in row)
                yield from read_value(
                    dict(zip(names, cells, strict=False)), place, line=line, kind=Kind.NOTE
                )
    except csv.Error as problem:
        long = f"A cell of this row has more than {csv.field_size_limit():,} characters."
        yield UnreadablePiece(
            rows.line_num + 1,
            long if "limit" in str(problem) else f"This row is not CSV: {problem}.",
            broken=True,
        )
