"""basic-memory: Markdown notes with observations and relations.

A note has YAML front matter with a ``permalink``; ``- [category] text #tag (context)`` is an
observation about the note's title, ``- relation [[Target]] (context)`` a relation of it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

import yaml

from engrams.core import Kind, StatedFields, Turn
from engrams.transfer.formats.file_head import FileHead
from engrams.transfer.formats.foreign_objects import (
    ForeignObject,
    make_statement,
    normalize_predicate,
    state_relation,
)
from engrams.transfer.formats.foreign_values import clean_label, derive_id, parse_moment
from engrams.transfer.formats.pieces import ForeignPiece, ParsedTurn, TextLine, UnreadablePiece
from engrams.transfer.formats.plain_text import strip_prefix

_FRONT_MATTER = re.compile(r"---[ \t]*\n(?:(?!---)[^\n]*\n)*?permalink:[^\n]*\n")
"""Beginning of a note, up to its permalink."""
_FENCE = "---"
_HEADING = re.compile(r"^\s{0,3}#{1,6}\s+(?P<text>.*?)\s*#*$")
_ITEM = re.compile(r"^\s*[-*+]\s+(?P<text>\S.*)$")
_CATEGORY = re.compile(r"^\[(?P<name>[^\[\]()]+)\]\s+(?P<text>\S.*)$")
_TASK = re.compile(r"[xX]|[^\w]")
"""Content of a check box, which looks like a category."""
_CLOCK = re.compile(r"\d{1,3}:\d{2}\b.*")
"""Time in brackets, which looks like a category too."""
_RELATION = re.compile(
    r"^(?P<name>[^\[\]]*?)\s*\[\[(?P<target>[^\[\]|]+)(?:\|[^\[\]]*)?\]\]\s*(?:\((?P<context>.*)\))?$"
)
_CONTEXT = re.compile(r"^(?P<text>.*\S)\s*\((?P<context>[^()]*)\)$")
_TAG = re.compile(r"(?:^|\s)#([^\s#]+)")
_SPAN = re.compile(
    r"^@(?P<kind>\w*)(?:[\[(](?P<start>[^,\])]*),(?P<end>[^\])]*)[\])]|:?\"(?P<quoted>[^\"]+)\"|:?(?P<day>\d{4}-[\d-]+))\s+(?P<text>\S.*)$"
)
"""Time before an observation: ``@valid[2024-01-01,2024-06-30]``, ``@"2024-05-01"`` or a day."""
_ENDING_SPANS = ("effective", "valid", "")
"""Kinds of spans after which a statement is not true any more."""


def recognises(head: FileHead) -> bool:
    """Recognise a note by the permalink in its front matter, in a file of Markdown or unnamed."""
    is_markdown = head.has_suffix(".md", ".markdown") or not head.has_name
    return is_markdown and _FRONT_MATTER.match(head.text) is not None


@dataclass(slots=True)
class _NoteReader:
    """One note, read line by line."""

    title: str
    link: str
    """Permalink, or the title."""
    at: datetime | None
    tags: tuple[str, ...]
    heading: str = ""
    """Heading above the line that is being read; empty under the title."""
    prose: list[str] = field(default_factory=list)
    """Lines of the paragraph that is being read."""
    text_counts: dict[str, int] = field(default_factory=dict)
    """How often each text was read so far; tells repetitions apart."""

    def read_line(self, line: str) -> Iterator[ParsedTurn]:
        """Yield the paragraph that a line ends, and the item that it holds."""
        heading = _HEADING.match(line)
        item = _ITEM.match(line)
        if heading or item or not line.strip():
            yield from self.end_paragraph()
        if heading:
            self.heading = heading["text"] if heading["text"] != self.title else ""
        elif item:
            yield self._read_item(item["text"].strip())
        elif line.strip():
            self.prose.append(line.strip())

    def end_paragraph(self) -> Iterator[ParsedTurn]:
        """Yield the paragraph so far as a note."""
        text = " ".join(self.prose)
        self.prose.clear()
        if text.strip("-=*_` "):
            yield self._make(text, StatedFields(tags=self.tags), kind=Kind.NOTE)

    def _read_item(self, text: str) -> ParsedTurn:
        """Read a list item: an observation, a relation, or just a note."""
        category = _CATEGORY.match(text)
        if category:
            name = category["name"].strip()
            if not (_TASK.fullmatch(name) or _CLOCK.fullmatch(name)):
                return self._read_observation(name, category["text"].strip())
        relation = _RELATION.match(text)
        if relation:
            return self._read_relation(relation)
        if _TAG.search(text):
            return self._read_observation("", text)
        return self._make(strip_prefix(text) or text, StatedFields(tags=self.tags), kind=Kind.NOTE)

    def _read_relation(self, relation: re.Match[str]) -> ParsedTurn:
        predicate = normalize_predicate(relation["name"].strip(" *_\"'")) or "links_to"
        words, stated = state_relation(self.title, predicate, clean_label(relation["target"]))
        return self._make(words, stated, relation["context"])

    def _read_observation(self, category: str, text: str) -> ParsedTurn:
        valid_from = valid_to = None
        span = _SPAN.match(text)
        times = _read_span(span) if span else None
        if span and times:
            valid_from, valid_to = times
            text = span["text"]
        context = _CONTEXT.match(text)
        if context:
            text = context["text"]
        stated = StatedFields(
            subject=self.title,
            category=category,
            tags=tuple(dict.fromkeys((*self.tags, *_TAG.findall(text)))),
            valid_from=valid_from,
            valid_to=valid_to,
        )
        return self._make(text, stated, context["context"] if context else "")

    def _make(
        self, text: str, stated: StatedFields, context: str | None = "", kind: Kind = Kind.FACT
    ) -> ParsedTurn:
        self.text_counts[text] = self.text_counts.get(text, 0) + 1
        meta: dict[str, Any] = {
            "title": self.title,
            "heading": self.heading,
            "context": context or "",
        }
        turn = Turn(
            text,
            at=self.at,
            external_id=derive_id("basic-memory", self.link, text, self.text_counts[text]),
            meta={name: value for name, value in meta.items() if value},
            stated=stated,
        )
        return make_statement(turn, kind=kind)


def read(lines: Iterable[TextLine]) -> Iterator[ForeignPiece]:
    """Yield observations and relations as facts, other text as notes."""
    front_matter: list[str] = []  # with its opening fence
    note: _NoteReader | None = None
    for line in lines:
        if isinstance(line, UnreadablePiece):
            yield line
            continue
        text = line[1]
        is_fence = text.strip() == _FENCE
        if note is not None:
            yield from note.read_line(text)
        elif front_matter and is_fence:
            note = _open_note(front_matter[1:])
        elif front_matter or is_fence:
            front_matter.append(text)
        elif text.strip():
            note = _open_note([])
            yield from note.read_line(text)
    if note is not None:
        yield from note.end_paragraph()
    elif front_matter:
        yield UnreadablePiece(1, "The front matter does not end.", broken=True)


def _open_note(front_matter: list[str]) -> _NoteReader:
    """Read the front matter, every value as text; damaged front matter counts as empty."""
    try:
        values = yaml.load("\n".join(front_matter), yaml.BaseLoader)  # noqa: S506 - makes nothing but text, lists and mappings
    except yaml.YAMLError:
        values = None
    fields = ForeignObject(1, values if isinstance(values, dict) else {})
    permalink = fields.label("permalink")
    title = fields.label("title") or permalink.rpartition("/")[2].replace("-", " ") or "note"
    try:
        at = parse_moment(fields.label("created", "created_at", "date", "modified") or None)
    except ValueError:
        at = None
    return _NoteReader(
        title=title,
        link=permalink or title,
        at=at,
        tags=tuple(tag.lstrip("#") for tag in fields.labels("tags")),
    )


def _read_span(span: re.Match[str]) -> tuple[datetime | None, datetime | None] | None:
    """Read when a statement held; None: these are no times."""
    if span["start"] is not None:
        texts = [span["start"], span["end"]]
    else:
        texts = [span["quoted"] or span["day"], None]
    try:
        start, end = (parse_moment(text.strip() or None) if text else None for text in texts)
    except ValueError:
        return None
    return start, end if span["kind"] in _ENDING_SPANS else None
