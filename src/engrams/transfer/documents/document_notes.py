"""Words that stand before a document's own: the user's note, and the place of a picture."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from engrams.core import Record
from engrams.errors import InputError
from engrams.transfer.documents.read_document import ReadDocument, TextBlock

MOST_NOTE = 800
"""Characters of the longest note: it and what a picture tells of itself are one passage."""


def check_note(note: str) -> str:
    """Return a note without blanks around it. InputError: it is too long."""
    stripped = note.strip()
    if len(stripped) > MOST_NOTE:
        raise InputError(
            f"The note has {len(stripped):,} characters; {MOST_NOTE} are the most.",
            hint="Store the longer text as a memory of its own.",
        )
    return stripped


def join_notes(earlier: str, note: str) -> str:
    """Put a note after an earlier one that does not hold it; the later one is cut where both are long."""
    if note in earlier:
        return earlier
    return f"{earlier}\n{note}".strip()[:MOST_NOTE]


def tell_more(document: ReadDocument, note: str, *, keeps_places: bool) -> ReadDocument:
    """Put the note before a document's words, and the place after a picture's, where it may be told."""
    blocks: Sequence[TextBlock] = document.blocks
    if document.place and keeps_places:
        facts = blocks[0]
        placed = f"{facts.text.removesuffix('.')}, at the place {document.place}."
        blocks = (replace(facts, text=placed), *blocks[1:])
    if note:
        blocks = (TextBlock(note), *blocks)
    return replace(document, blocks=blocks)


def read_note(first: Record) -> str:
    """Read the note of a picture or sound from its first passage: all but the last line."""
    return first.text.rpartition("\n")[0]
