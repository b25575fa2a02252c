"""Read notes of basic-memory: Markdown with observations and relations."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import field
from datetime import datetime
from typing import Any

import yaml

from engrams.core import Kind, StatedFields, Turn
from engrams.frozen_data import dataclass
from engrams.transfer.formats.field_parsers import clean_label, derive_id, parse_moment
from engrams.transfer.formats.parsed_items import ParsedTurn, UnreadablePiece
from engrams.transfer.formats.plain_text import strip_prefix
from engrams.transfer.formats.source_objects import (
    SourceObject,
    make_statement,
    predicate_name,
    state_relation,
)

_FRONT = "---"
_HEADING = re.compile(r"^\s{0,3}#{1,6}\s+(?P<text>.*?)\s*#*$")
_ITEM = re.compile(r"^\s*[-*+]\s+(?P<text>\S.*)$")
_CATEGORY = re.compile(r"^\[(?P<name>[^\[\]()]+)\]\s+(?P<text>\S.*)$")
_TASK = re.compile(r"[xX]|[^\w]")
_CLOCK = re.compile(r"\d{1,3}:\d{2}\b.*")
_RELATION = re.compile(
    r"^(?P<name>[^\[\]]*?)\s*\[\[(?P<target>[^\[\]|]+)(?:\|[^\[\]]*)?\]\]\s*(?:\((?P<context>.*)\))?$"
)
_CONTEXT = re.compile(r"^(?P<text>.*\S)\s*\((?P<context>[^()]*)\)$")
_TAG = re.compile(r"(?:^|\s)#([^\s#]+)")
_SPAN = re.compile(
    r"^@(?P<kind>\w*)(?:[\[(](?P<start>[^,\])]*),(?P<end>[^\])]*)[\])]|:?\"(?P<quoted>[^\"]+)\"|:?(?P<day>\d{4}-[\d-]+))\s+(?P<text>\S.*)$"
)
_ENDS = ("effective", "valid", "")
"""Kinds of spans after which a statement is not true any more."""


@dataclass(slots=True)
class _NoteReader:
    """One note: its front matter, and the text that is being read."""

    title: str
    link: str
    at: datetime | None
    tags: tuple[str, ...]
    heading: str = ""
    prose: list[str] = field(default_factory=list)
    seen: dict[str, int] = field(default_factory=dict)

    def read_line(self, text: str) -> Iterator[ParsedTurn]:
        """Yield what a line ends or holds."""
        heading = _HEADING.match(text)
        item = _ITEM.match(text)
        if heading or item or not text.strip():
            yield from self.end_paragraph()
        if heading:
            self.heading = heading["text"] if heading["text"] != self.title else ""
        elif item:
            yield self._read_item(item["text"].strip())
        elif text.strip():
            self.prose.append(text.strip())

    def end_paragraph(self) -> Iterator[ParsedTurn]:
        """Yield the paragraph so far as a note."""
        text = " ".join(self.prose)
        self.prose.clear()
        if text.strip("-=*_` "):
            yield self._make(text, StatedFields(tags=self.tags), kind=Kind.NOTE)

    def _read_item(self, text: str) -> ParsedTurn:
        category = _CATEGORY.match(text)
        if category and (
            _TASK.fullmatch(category["name"].strip()) or _CLOCK.fullmatch(category["name"].strip())
        ):
            category = None
        relation = None if category else _RELATION.match(text)
        if relation:
            name = predicate_name(relation["name"].strip(" *_\"'")) or "links_to"
            target = clean_label(relation["target"])
            words, stated = state_relation(self.title, name, target)
            return self._make(words, stated, relation["context"])
        if not category and not _TAG.search(text):
            return self._make(
                strip_prefix(text) or text, StatedFields(tags=self.tags), kind=Kind.NOTE
            )
        return self._read_observation(
            category["name"].strip() if category else "",
            category["text"].strip() if category else text,
        )

    def _read_observation(self, category: str, text: str) -> ParsedTurn:
        start = end = None
        if (span := _SPAN.match(text)) and (read := _read_span(span)):
            (start, end) = read
            text = span["text"]
        context = _CONTEXT.match(text)
        words = context["text"] if context else text
        tags = tuple(dict.fromkeys((*self.tags, *_TAG.findall(words))))
        stated = StatedFields(
            subject=self.title, category=category, tags=tags, valid_from=start, valid_to=end
        )
        return self._make(words, stated, context["context"] if context else "")

    def _make(
        self, text: str, stated: StatedFields, context: str | None = "", kind: Kind = Kind.FACT
    ) -> ParsedTurn:
        self.seen[text] = self.seen.get(text, 0) + 1
        meta: dict[str, Any] = {
            "title": self.title,
            "heading": self.heading,
            "context": context or "",
        }
        turn = Turn(
            text,
            at=self.at,
            external_id=derive_id("basic-memory", self.link, text, self.seen[text]),
            meta={name: value for name, value in meta.items() if value},
            stated=stated,
        )
        return make_statement(turn, kind=kind)


def read(
    lines: Iterable[tuple[int, str] | UnreadablePiece],
) -> Iterator[ParsedTurn | UnreadablePiece]:
    """Yield observations and relations as facts, other text as notes."""
    source = iter(lines)
    front: list[str] = []
    note: _NoteReader | None = None
    for line in source:
        if isinstance(line, UnreadablePiece):
            yield line
        elif note is not None:
            yield from note.read_line(line[1])
        elif line[1].strip() == _FRONT and front:
            note = _read_front(front[1:])
        elif front or line[1].strip() == _FRONT:
            front.append(line[1])
        elif line[1].strip():
            note = _read_front([])
            yield from note.read_line(line[1])
    if note is not None:
        yield from note.end_paragraph()
    elif front:
        yield UnreadablePiece(1, "The front matter does not end.", broken=True)


def _read_front(lines: list[str]) -> _NoteReader:
    """Read the front matter, every value as text."""
    try:
        held = yaml.load("\n".join(lines), yaml.BaseLoader)  # noqa: S506 - makes nothing but text, lists and mappings
    except yaml.YAMLError:
        held = None
    found = SourceObject(1, held if isinstance(held, dict) else {})
    title = (
        found.label("title")
        or found.label("permalink").rpartition("/")[2].replace("-", " ")
        or "note"
    )
    try:
        at = parse_moment(found.label("created", "created_at", "date", "modified") or None)
    except ValueError:
        at = None
    return _NoteReader(
        title,
        found.label("permalink") or title,
        at,
        tuple(tag.lstrip("#") for tag in found.labels("tags")),
    )


def _read_span(span: re.Match[str]) -> tuple[datetime | None, datetime | None] | None:
    """Read when a statement held; None: these are no times."""
    ends = (
        [span["start"], span["end"]]
        if span["start"] is not None
        else [span["quoted"] or span["day"], None]
    )
    try:
        start, end = (parse_moment(text.strip() or None) if text else None for text in ends)
    except ValueError:
        return None
    return start, end if span["kind"] in _ENDS else None
