"""Section of a Markdown page with the memory of a project, and the edits that people made in it.

``render_section`` writes the section, ``replace_section`` puts it into a page, and ``read_edits`` reads
back what somebody changed there. Each line ends with the id of its memory and a hash of its text, so
that an edit of the line is told from a change of the memory.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from engrams.core import Kind, Record, content_hash
from engrams.core.code_anchors import CodeVerdict
from engrams.core.tellers_clock import told_at

BEGIN = "<!-- engrams: this section is kept by `engrams project page`; edits of its lines are taken over -->"
_END = "<!-- engrams: end {ids} -->"
_BEGIN_MARK = re.compile(r"^<!-- engrams: this section .*-->[ \t]*$", re.MULTILINE)
_END_MARK = re.compile(r"^<!-- engrams: end(?P<ids>[ \w]*)-->[ \t]*$", re.MULTILINE)
_LINE = re.compile(r"^[-*] (?P<text>.*?)\s*<!-- (?P<id>\w{26}) (?P<hash>\w{8}) -->.*$")
_NEW_LINE = re.compile(r"^[-*] (?P<text>\S.*?)\s*$")
_DAY = re.compile(r"^\d{4}-\d\d-\d\d: ")
_HEADING = re.compile(r"^#+ (?P<title>.+?)\s*$")
_SOLVED = re.compile(r"^`.+` failed \(.*\) and worked again", re.DOTALL)
DECISION = "decision"
"""Category of decisions."""

RULES = "Rules"
DECISIONS = "Decisions"
FIXES = "Fixes"
FACTS = "Facts"
_TITLES = (RULES, DECISIONS, FIXES, FACTS)
_RULE_KINDS = (Kind.RULE, Kind.NEGATIVE, Kind.PROCEDURE, Kind.CORRECTION, Kind.PREFERENCE)


class _SectionMarks(NamedTuple):
    """Comments around the section of a page."""

    begin: re.Match[str]
    end: re.Match[str]
    """Also has the ids of the memories that the section showed."""


@dataclass(frozen=True, slots=True)
class PageEdits:
    """Changes that people made in a section."""

    changed: Mapping[str, str]
    """Id -> new text."""
    removed: tuple[str, ...]
    """Ids whose line is gone."""
    added: tuple[tuple[str, str], ...]
    """Title of the part, text of each new line."""

    @property
    def is_empty(self) -> bool:
        """True if nobody changed anything."""
        return not (self.changed or self.removed or self.added)


def find_title(record: Record) -> str:
    """Return the part of the page that a memory belongs to; empty for none."""
    if record.category == DECISION:
        return DECISIONS
    if record.kind in _RULE_KINDS:
        return RULES
    if record.role == "tool":
        return FIXES if _SOLVED.match(record.text) else ""
    return FACTS if record.kind in (Kind.FACT, Kind.NOTE) else ""


def render_section(
    records: Iterable[tuple[Record, CodeVerdict | None]], root: str, *, name: str
) -> str:
    """Write the section: rules, decisions with their days, fixes, facts.

    ``root``: folder of the checkout, which is taken out of paths.
    """
    parts: dict[str, list[str]] = {}
    ids = []
    for record, verdict in records:
        title = find_title(record)
        if title:
            parts.setdefault(title, []).append(_render_line(record, verdict, root))
            ids.append(record.id)
    body = "\n\n".join(
        f"### {title}\n\n" + "\n".join(parts[title]) for title in _TITLES if title in parts
    )
    end = _END.format(ids=" ".join(ids)).replace("  ", " ")
    content = body or "Nothing yet."
    return f"{BEGIN}\n## What is known about {name}\n\n{content}\n\n{end}\n"


def _render_line(record: Record, verdict: CodeVerdict | None, root: str) -> str:
    text = show_text(record, root)
    day = f"{told_at(record):%Y-%m-%d}: " if record.category == DECISION else ""
    note = f" *({verdict.note})*" if verdict is not None and verdict.note else ""
    return f"- {day}{text} <!-- {record.id} {_hash(text)} -->{note}"


def show_text(record: Record, root: str) -> str:
    """Return a memory's text on one line, with paths below the checkout's root."""
    text = " ".join(record.text.split()).replace("-->", "→")
    return text.replace(f"{root}/", "") if root else text


def _find_marks(page: str) -> _SectionMarks | None:
    """Find the comments around the section; None: the page has none."""
    begin = _BEGIN_MARK.search(page)
    end = _END_MARK.search(page)
    if begin is None or end is None or begin.start() > end.start():
        return None
    return _SectionMarks(begin, end)


def replace_section(page: str, section: str) -> str:
    """Put the section into a page, in the place of the one before, else at its end."""
    marks = _find_marks(page)
    if marks is not None:
        before = page[: marks.begin.start()]
        after = page[marks.end.end() :]
        return before + section.rstrip("\n") + after
    if not page.strip():
        return section
    return f"{page.rstrip()}\n\n{section}"


def read_edits(page: str) -> PageEdits:
    """Read what people changed in the section of a page; nothing where there is none."""
    marks = _find_marks(page)
    if marks is None:
        return PageEdits({}, (), ())
    title = ""
    changed: dict[str, str] = {}
    seen_ids: set[str] = set()
    added: list[tuple[str, str]] = []
    for line in page[marks.begin.end() : marks.end.start()].splitlines():
        heading = _HEADING.match(line)
        if heading is not None:
            title = heading["title"]
        elif (match := _LINE.match(line)) is not None:
            seen_ids.add(match["id"])
            text = _DAY.sub("", match["text"])
            if text and _hash(text) != match["hash"]:
                changed[match["id"]] = text
        elif title in _TITLES and (match := _NEW_LINE.match(line)) is not None:
            added.append((title, _DAY.sub("", match["text"])))
    removed = [memory_id for memory_id in marks.end["ids"].split() if memory_id not in seen_ids]
    return PageEdits(changed, tuple(removed), tuple(added))


def is_on_page(records: Sequence[Record], text: str, root: str) -> bool:
    """True if one of the memories is shown with this text."""
    return any(show_text(record, root) == text for record in records)


def _hash(text: str) -> str:
    return content_hash(text)[:8]
