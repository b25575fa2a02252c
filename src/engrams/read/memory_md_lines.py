"""Lines of notes among memories: those of MEMORY.md stand in profiles, and nothing is shown twice.

``add_core_lines`` serves profiles, ``find_note_echoes`` searches, ``drop_repeated_lines`` contexts. A
line says nothing more where another text has its numbers and nearly all of its words.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import replace

from engrams.core import Hit, Kind, Record, Status, content_hash
from engrams.ports import CORE_PIECE, NOTE_PIECE, Condition, RecordQuery, Where
from engrams.read.dependencies import ReadDeps
from engrams.read.request import ReadRequest
from engrams.read.token_budget import TokenBudget
from engrams.text.terms import terms

_RULE_KINDS = (Kind.CORRECTION, Kind.NEGATIVE, Kind.RULE, Kind.PROCEDURE)
_SAME = 0.85
"""Share of a line's words that another text has, numbers included, for the line to say nothing
more.
"""
_MOST_PIECES = 50
_MARK_TOKENS = 4
"""Tokens of the number and line break of a line."""


def add_core_lines(
    records: Sequence[Record], request: ReadRequest, deps: ReadDeps, budget: TokenBudget
) -> list[Record]:
    """Add the lines of MEMORY.md that no statement says.

    They stand after the rules: in half of the room before the facts, the rest behind them.
    """
    statements = [_words(record.text) for record in records]
    lines = [
        line
        for line in _find_core_lines(request, deps)
        if not _is_said(_words(line.text), statements)
    ]
    room = budget.tokens // 2
    fitting = 0
    for line in lines:
        room -= budget.counter.count(line.text) + _MARK_TOKENS
        if room < 0:
            break
        fitting += 1
    rules = [record for record in records if record.kind in _RULE_KINDS]
    facts = [record for record in records if record.kind not in _RULE_KINDS]
    return [*rules, *lines[:fitting], *facts, *lines[fitting:]]


def _find_core_lines(request: ReadRequest, deps: ReadDeps) -> list[Record]:
    """Find the lines of MEMORY.md in reach, each as a record."""
    if request.kinds and Kind.NOTE not in request.kinds:
        return []
    page = deps.records.find(
        RecordQuery(
            request.reach,
            (Kind.SUMMARY,),
            (Status.ACTIVE,),
            request.as_of,
            where=Where("and", (Condition("category", "eq", CORE_PIECE),)),
            limit=_MOST_PIECES,
        )
    )
    pieces = [record for record in page.records if NOTE_PIECE in record.meta]
    pieces.sort(key=lambda piece: piece.meta["lines"])
    # By hash: a line that stands twice counts once, where it stands last.
    lines = {
        content_hash(line): (piece, line) for piece in pieces for line in split_note(piece.text)
    }
    return [
        replace(
            piece,
            id=f"{piece.id}:{line_hash[:8]}",
            kind=Kind.NOTE,
            text=line,
            category="",
            meta={NOTE_PIECE: piece.meta[NOTE_PIECE]},
        )
        for line_hash, (piece, line) in lines.items()
    ]


def find_note_echoes(hits: Sequence[Hit], query_terms: Collection[str]) -> dict[str, str]:
    """Map pieces of notes to hits that answer the same."""
    texts = [
        (hit.record.id, _words(text))
        for hit in hits
        if NOTE_PIECE not in hit.record.meta
        for text in _texts(hit)
    ]
    echoes: dict[str, str] = {}
    for hit in hits:
        if NOTE_PIECE not in hit.record.meta:
            continue
        lines = [_words(line) for line in split_note(hit.record.text)]
        relevant = [words for words in lines if words & set(query_terms)] or lines
        sayers = [_find_sayer(words, texts) for words in relevant]
        if relevant and all(sayers):
            echoes[hit.record.id] = sayers[0]
        else:
            texts += [(hit.record.id, words) for words in lines]
    return echoes


def _find_sayer(words: frozenset[str], texts: Sequence[tuple[str, frozenset[str]]]) -> str:
    """Find the id of the first text that says a line; empty: none does."""
    return next((record_id for record_id, text in texts if _is_said(words, [text])), "")


def drop_repeated_lines(hits: Sequence[Hit], profile: Sequence[Record]) -> list[Hit]:
    """Leave out lines of notes that are said elsewhere.

    Left out too: hits that say no more than a line of the profile that stands there word for word.
    """
    profile_lines = [_words(record.text) for record in profile if record.kind is Kind.NOTE]
    unrepeated = [
        hit
        for hit in hits
        if NOTE_PIECE in hit.record.meta
        or not any(_words(hit.record.search_text) <= line for line in profile_lines)
    ]
    if not any(NOTE_PIECE in hit.record.meta for hit in hits):
        return unrepeated
    texts = [_words(record.text) for record in profile]
    for hit in unrepeated:
        if NOTE_PIECE not in hit.record.meta:
            texts += map(_words, _texts(hit))
    shortened = []
    for hit in unrepeated:
        if NOTE_PIECE not in hit.record.meta:
            shortened.append(hit)
            continue
        lines = [line for line in split_note(hit.record.text) if not _is_said(_words(line), texts)]
        texts += map(_words, lines)
        shortened.append(replace(hit, record=replace(hit.record, text="\n".join(lines))))
    return [hit for hit in shortened if hit.record.text or hit.record.caption]


def split_note(text: str) -> Iterator[str]:
    """Split a note into what its lines say, without headings and marks."""
    for line in map(str.strip, text.split("\n")):
        says_something = any(map(str.isalnum, line))
        if says_something and not line.startswith(("#", "<!--", "```", "~~~")):
            yield line[2:].strip() if line.startswith(("- ", "* ", "+ ")) else line


def _texts(hit: Hit) -> Iterator[str]:
    yield hit.record.search_text
    for fact in hit.facts:
        yield fact.text


def _words(text: str) -> frozenset[str]:
    return frozenset(terms(text))


def _is_said(words: frozenset[str], texts: Iterable[frozenset[str]]) -> bool:
    """True if one of the texts has a line's numbers and nearly all of its words."""
    numbers = {word for word in words if any(char.isdigit() for char in word)}
    return any(numbers <= text and len(words & text) >= _SAME * len(words) for text in texts)
