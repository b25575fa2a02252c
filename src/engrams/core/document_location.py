"""Location of a passage: its document, and where in it the passage stands.

A passage carries it as metadata (``DOCUMENT``); answers of every door show the same fields.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict

from engrams.core.meta_keys import DOCUMENT
from engrams.core.records import Json, Kind, Record
from engrams.frozen_data import dataclass

_NUMBERS = frozenset({"part", "parts", "page", "slide"})
_REQUIRED = frozenset({"id", "name", "source", "version", "part", "parts"})
_NAMES = _REQUIRED | {"title", "page", "slide", "sheet", "heading", "media", "by"}


@dataclass(frozen=True, slots=True)
class DocumentLocation:
    """Location of a passage in its document."""

    id: str
    """Id of the document; the passages of all its versions have it as their session."""
    name: str
    """Name of the document, such as ``lease.pdf``; of a page of the web: its address."""
    source: str
    """Path or address that it was read from; of an upload its name."""
    version: str
    """Hash of the contents; a changed document has another one."""
    part: int
    """Number of the passage in its document, from 1."""
    parts: int
    """Number of passages of the document."""
    title: str = ""
    page: int = 0
    """Page of a PDF, from 1. 0: the document has no pages."""
    slide: int = 0
    """Slide of a presentation, from 1."""
    sheet: str = ""
    """Sheet of a workbook."""
    heading: str = ""
    """Headings above it, the outermost first, with `` › `` between them."""
    media: str = ""
    """Media type of a picture or sound, whose bytes are kept: ``image/png``."""
    by: str = ""
    """Name of the model whose words the passage has; ``OCR``: it read them in a picture.

    Empty: they are the document's.
    """

    @property
    def label(self) -> str:
        """Say where it stands: "lease.pdf, p. 3"."""
        if self.page:
            where = f"p. {self.page}"
        elif self.slide:
            where = f"slide {self.slide}"
        elif self.sheet:
            where = f"sheet {self.sheet}"
        else:
            where = self.heading.rpartition(" › ")[2]
        return f"{self.name}, {where}" if where else self.name

    def to_json(self) -> dict[str, Json]:
        """Return the fields that are set."""
        return {name: value for name, value in asdict(self).items() if value}


def read_location(record: Record) -> DocumentLocation | None:
    """Read the place of a passage; None: the memory is no passage of a document.

    A passage that somebody stored by hand may have metadata of another form: it has no place.
    """
    values = record.meta.get(DOCUMENT) if record.kind is Kind.PASSAGE else None
    if not isinstance(values, Mapping) or not _REQUIRED <= values.keys() <= _NAMES:
        return None
    is_sound = all(
        isinstance(value, int if name in _NUMBERS else str) for name, value in values.items()
    )
    return DocumentLocation(**values) if is_sound else None


def describe_location(record: Record) -> dict[str, Json] | None:
    """Return the place of a passage for an answer, with its label; None: it is no passage."""
    location = read_location(record)
    return {"label": location.label, **location.to_json()} if location is not None else None
