"""Plain text and Markdown: paragraphs, headings, lists, tables, and the title in front matter."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from engrams.text.binary_detection import refuse_binary
from engrams.text.text_encodings import decode_text, detect_encoding
from engrams.transfer.documents.read_document import (
    ReadDocument,
    TextBlock,
    check_length,
    describe_table,
)

_FENCE_MARK = "---"
_MOST_FRONT_MATTER = 20_000
"""Characters of front matter that are read as such."""
_HEADING = re.compile(r" {0,3}(#{1,6})\s+(.*?)\s*#*\s*$")
_UNDERLINE = re.compile(r" {0,3}(=+|-{2,})\s*$")
_RULE = re.compile(r"[-*_\s]{3,}")
_CODE_FENCE = re.compile(r"\s*(```|~~~)")
_ITEM = re.compile(r"\s*(?:[-*+•]|\d{1,3}[.)])\s+")
_ROW_RULE = re.compile(r"[\s|:-]+")
_LINK = re.compile(r"!?\[([^\[\]]*)\]\([^()]*\)")
_EMPHASIS = re.compile(r"(\*\*|__|`)(?=\S)(.{1,300}?)(?<=\S)\1")


def _decode(data: bytes) -> str:
    """Decode a plain text. InputError: it is none, or in an encoding that is not known."""
    refuse_binary(data, detect_encoding(data)[0])
    text = decode_text(data)
    check_length(len(text))
    return text


def read_plain(data: bytes) -> ReadDocument:
    """Read a plain text, or source code: blank lines part its paragraphs."""
    paragraphs = re.split(r"\n\s*\n", _decode(data))
    blocks = [TextBlock(text) for paragraph in paragraphs if (text := paragraph.strip())]
    return ReadDocument(blocks)


def read_markdown(data: bytes) -> ReadDocument:
    """Read Markdown, with the title of its front matter."""
    lines = _decode(data).split("\n")
    title, start = _read_front_matter(lines)
    return ReadDocument([*_read_blocks(lines[start:])], title)


def _read_front_matter(lines: Sequence[str]) -> tuple[str, int]:
    """Return the title of the front matter, and the number of its lines."""
    if lines[0].rstrip() != _FENCE_MARK or _FENCE_MARK not in map(str.rstrip, lines[1:200]):
        return "", 0
    end = next(number for number, line in enumerate(lines[1:], 1) if line.rstrip() == _FENCE_MARK)
    text = "\n".join(lines[1:end])
    if len(text) > _MOST_FRONT_MATTER:
        return "", end + 1
    import yaml  # most texts have no front matter

    try:
        values = yaml.safe_load(text)
    except (yaml.YAMLError, ValueError, RecursionError):
        return "", end + 1
    title = values.get("title") if isinstance(values, dict) else ""
    return (" ".join(title.split()) if isinstance(title, str) else ""), end + 1


def _read_blocks(lines: Sequence[str]) -> Iterator[TextBlock]:
    paragraph: list[str] = []
    rows: list[str] = []
    in_code = False
    for line in [*lines, ""]:
        is_row = not in_code and line.lstrip().startswith("|")
        if rows and not is_row:
            yield from _read_table(rows)
            rows = []
        if _CODE_FENCE.match(line):
            in_code = not in_code
            continue
        heading = None if in_code else _HEADING.match(line)
        is_underlined = bool(not in_code and len(paragraph) == 1 and _UNDERLINE.match(line))
        if is_underlined:
            level = 1 if line.lstrip().startswith("=") else 2
            yield TextBlock(_strip_marks(paragraph.pop()), level)
            continue
        ends = not line.strip() or is_row or heading or _ITEM.match(line)
        if ends and paragraph and not in_code:
            yield TextBlock(_strip_marks("\n".join(paragraph)))
            paragraph = []
        if is_row:
            rows.append(line)
        elif heading:
            if text := _strip_marks(heading[2]):
                yield TextBlock(text, len(heading[1]))
        elif line.strip() and not _RULE.fullmatch(line):
            paragraph.append(line.rstrip())
    if paragraph:  # code without an end
        yield TextBlock("\n".join(paragraph))


def _read_table(lines: Sequence[str]) -> Iterator[TextBlock]:
    rows = [line.strip().strip("|").split("|") for line in lines if not _ROW_RULE.fullmatch(line)]
    yield from (TextBlock(_strip_marks(text)) for text in describe_table(rows))


def _strip_marks(text: str) -> str:
    """Strip the marks of links and emphasis; their words stay."""
    return _EMPHASIS.sub(r"\2", _LINK.sub(r"\1", text)).strip()
