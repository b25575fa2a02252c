"""A document cut into passages along its structure, as memories to store.

A passage ends with its page, slide, sheet or section, and where the next block would make it longer
than ``_MOST_CHARACTERS``: about 220 tokens. A longer paragraph is cut at its sentences.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime

from engrams.core import DOCUMENT, UNLEARNED, Kind, Turn
from engrams.core.document_location import DocumentLocation
from engrams.transfer.documents.read_document import ReadDocument, TextBlock
from engrams.transfer.formats import ParsedTurn

_MOST_CHARACTERS = 900
_SENTENCE_END = re.compile(r"(?<=[.!?。！？;；])\s+|(?<=[。！？])|\n+")
_MOST_HEADING = 120
_BETWEEN = " › "


@dataclass(frozen=True, slots=True)
class DocumentSource:
    """The document that is read, and how often its contents were stored before."""

    id: str
    name: str
    source: str
    version: str
    copy: int = 0
    """Number of earlier copies of these contents that are no longer current."""


@dataclass(frozen=True, slots=True)
class Passage:
    """A part of a document."""

    text: str
    first: TextBlock
    """The block that says where it stands."""
    headings: tuple[str, ...] = ()
    """Headings above it, the outermost first."""


def cut_passages(document: ReadDocument) -> list[Passage]:
    """Cut a document into passages, in order."""
    return [*_Cutting().cut(document.blocks)]


def to_turns(document: ReadDocument, source: DocumentSource) -> list[ParsedTurn]:
    """Make a memory of each passage.

    Its words are the document's: the role is a tool's, and nothing is learned from it.
    """
    passages = cut_passages(document)
    written_at = _parse_time(document.written_at)
    turns = []
    for number, passage in enumerate(passages, 1):
        heading = _BETWEEN.join(passage.headings)
        location = DocumentLocation(
            id=source.id,
            name=source.name,
            source=source.source,
            version=source.version,
            part=number,
            parts=len(passages),
            title=document.title[:_MOST_HEADING],
            page=passage.first.page,
            slide=passage.first.slide,
            sheet=passage.first.sheet,
            heading=heading,
            media=document.media,
            by=passage.first.by,
        )
        turn = Turn(
            text=passage.text,
            role="tool",
            at=written_at,
            session=source.id,
            external_id=f"{source.version}:{source.copy}:{number}",
            caption=_describe_location(location),
            meta={DOCUMENT: location.to_json(), UNLEARNED: True},
        )
        turns.append(ParsedTurn(turn, kind=Kind.PASSAGE))
    return turns


def _describe_location(location: DocumentLocation) -> str:
    """Name what a passage belongs to, in words that a search finds."""
    name = re.split(r"[/\\]", location.name)[-1]
    words = (location.title or name, location.sheet, location.heading)
    return _BETWEEN.join(dict.fromkeys(filter(None, words)))


def _parse_time(text: str) -> datetime | None:
    if not text:
        return None
    moment = datetime.fromisoformat(text)
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


@dataclass
class _Cutting:
    """Passage that is being filled, and the headings above it."""

    headings: list[TextBlock] = field(default_factory=list)
    is_bare: bool = False
    """Nothing stands under the last heading yet."""
    texts: list[str] = field(default_factory=list)
    first: TextBlock | None = None
    size: int = 0

    def cut(self, blocks: Sequence[TextBlock]) -> Iterator[Passage]:
        for block in blocks:
            if self._moves_on(block):
                yield from self._end()
            if block.level:
                if self.is_bare and block.level <= self.headings[-1].level:
                    yield self._cut_bare_heading()
                self._enter(block)
                continue
            self.is_bare = False
            for text in _split_long(block.text):
                if self.size + len(text) > _MOST_CHARACTERS:
                    yield from self._end()
                self.first = self.first or block
                self.texts.append(text)
                self.size += len(text) + 1
        yield from self._end()
        if self.is_bare:
            yield self._cut_bare_heading()

    def _moves_on(self, block: TextBlock) -> bool:
        """True for a block of another page, slide, sheet or section."""
        first = self.first or block
        current_unit = (first.page, first.slide, first.sheet, first.by)
        return bool(block.level) or current_unit != (
            block.page,
            block.slide,
            block.sheet,
            block.by,
        )

    def _enter(self, heading: TextBlock) -> None:
        """Begin the section of a heading; it ends those of its level and below."""
        while self.headings and self.headings[-1].level >= heading.level:
            self.headings.pop()
        self.headings.append(replace(heading, text=heading.text[:_MOST_HEADING]))
        self.is_bare = True

    def _cut_bare_heading(self) -> Passage:
        """Make a passage of a heading with nothing under it: a slide may have only its title."""
        *above, heading = self.headings
        return Passage(heading.text, heading, tuple(block.text for block in above))

    def _end(self) -> Iterator[Passage]:
        if self.first is not None:
            headings = tuple(heading.text for heading in self.headings)
            yield Passage("\n".join(self.texts), self.first, headings)
        self.texts = []
        self.first = None
        self.size = 0


def _split_long(text: str) -> Iterator[str]:
    """Split a paragraph that is too long at its sentences, and those at their words."""
    if len(text) <= _MOST_CHARACTERS:
        yield text
        return
    part = ""
    for sentence in _SENTENCE_END.split(text):
        for piece in _split_at_words(sentence):
            if part and len(part) + len(piece) >= _MOST_CHARACTERS:
                yield part
                part = ""
            part = f"{part} {piece}" if part else piece
    if part.strip():
        yield part


def _split_at_words(sentence: str) -> Iterator[str]:
    while len(sentence) > _MOST_CHARACTERS:
        cut = sentence.rfind(" ", _MOST_CHARACTERS // 2, _MOST_CHARACTERS)
        cut = cut if cut > 0 else _MOST_CHARACTERS
        yield sentence[:cut].strip()
        sentence = sentence[cut:]
    if sentence.strip():
        yield sentence.strip()
