"""Web pages: their headings, paragraphs, lists and tables, without menus, scripts and hidden text."""

from __future__ import annotations

import re
from html.parser import HTMLParser

from engrams.text.text_encodings import decode_text
from engrams.transfer.documents.read_document import (
    ReadDocument,
    TextBlock,
    check_length,
    describe_table,
)

_SKIPPED = frozenset(
    """
    aside audio button canvas datalist embed footer form frame head iframe map math menu nav noscript object script select style svg
    template textarea video
    """.split()
)
"""Elements that are no text of the page."""
_VOID = frozenset(
    "area base br col embed hr img input link meta param source track wbr frame".split()
)
"""Elements without an end."""
_BLOCKS = frozenset(
    """
    address article blockquote body caption center dd details div dl dt fieldset figcaption figure h1 h2 h3 h4 h5 h6 header hgroup hr
    html li main ol p pre section summary table tbody td tfoot th thead title tr ul br
    """.split()
)
_HEADING = re.compile(r"h[1-6]")
_MAIN = ("main", "article")
_HIDDEN = re.compile(r"display\s*:\s*none|visibility\s*:\s*hidden", re.IGNORECASE)


def read(data: bytes) -> ReadDocument:
    """Read a web page. InputError: it is no text."""
    return read_markup(decode_text(data))


def read_markup(markup: str) -> ReadDocument:
    """Read a page's markup; where it names its main part, only that is read."""
    reading = _PageReading()
    reading.feed(markup)
    reading.close()
    reading.end_block()
    has_main = any(is_main for _, is_main in reading.blocks)
    blocks = [block for block, is_main in reading.blocks if is_main or not has_main]
    return ReadDocument(blocks, " ".join("".join(reading.title).split()))


class _PageReading(HTMLParser):
    """Blocks of a page that is being read."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.blocks: list[tuple[TextBlock, bool]] = []
        """Blocks, and whether each stands in the main part."""
        self.title: list[str] = []
        self._in_title = False
        self._parts: list[str] = []
        """Text of the block that is being read."""
        self._level = 0
        self._skipped: list[str] = []
        """Elements that are open, from one that is skipped on."""
        self._main_depth = 0
        self._rows: list[list[str]] | None = None
        """Rows of the table that is being read."""
        self._size = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Begin an element."""
        if tag == "title" and not self.title:
            self._in_title = True
            return
        if self._skipped:
            if tag not in _VOID:
                self._skipped.append(tag)
            return
        if tag == "body":  # ends a head that was left open
            self._skipped.clear()
        values = {name: value or "" for name, value in attrs}
        is_hidden = (
            "hidden" in values
            or values.get("aria-hidden") == "true"
            or bool(_HIDDEN.search(values.get("style", "")))
        )
        if (tag in _SKIPPED or is_hidden) and tag not in _VOID and tag != "head":
            self._skipped.append(tag)
            return
        if tag in _BLOCKS:
            self._begin_block(tag)
        self._main_depth += tag in _MAIN

    def handle_endtag(self, tag: str) -> None:
        """End an element."""
        if tag == "title":
            self._in_title = False
            return
        if self._skipped:
            if tag in self._skipped:
                while self._skipped.pop() != tag:
                    pass
            return
        if tag in _BLOCKS:
            self._end_element(tag)
        if tag in _MAIN:
            self._main_depth = max(0, self._main_depth - 1)

    def handle_data(self, data: str) -> None:
        """Take text."""
        if self._in_title:
            self.title.append(data)
        elif not self._skipped:
            self._size += len(data)
            check_length(self._size)
            self._parts.append(data)

    def end_block(self) -> None:
        """End the block that is being read."""
        text = " ".join("".join(self._parts).split())
        self._parts.clear()
        if text:
            self.blocks.append((TextBlock(text, self._level), self._main_depth > 0))

    def _begin_block(self, tag: str) -> None:
        if self._rows is not None and tag not in ("table", "tr", "td", "th"):
            self._parts.append(" ")
            return
        if tag in ("td", "th") and self._rows:
            self._parts.clear()
            return
        self.end_block()
        if tag == "table" and self._rows is None:
            self._rows = []
        elif tag == "tr" and self._rows is not None:
            self._rows.append([])
        self._level = int(tag[1]) if _HEADING.fullmatch(tag) else 0

    def _end_element(self, tag: str) -> None:
        if self._rows is None:
            self.end_block()
            self._level = 0
            return
        if tag in ("td", "th") and self._rows:
            self._rows[-1].append("".join(self._parts))
            self._parts.clear()
        elif tag == "table":
            rows = self._rows
            self._rows = None
            self._parts.clear()
            is_main = self._main_depth > 0
            self.blocks += [(TextBlock(text), is_main) for text in describe_table(rows)]
