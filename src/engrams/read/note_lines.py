"""Lines of notes among memories: MEMORY.md in profiles, nothing twice."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import replace

from engrams.core import Hit, Kind, Record, Status, content_hash
from engrams.ports import (
    CORE_PIECE,
    NOTE_PIECE,
    Condition,
    RecordQuery,
    TokenCounter,
    Where,
)
from engrams.read.request import ReadDeps, ReadRequest
from engrams.text.terms import terms

_RULES = (Kind.CORRECTION, Kind.NEGATIVE, Kind.RULE, Kind.PROCEDURE)
_SAME = 0.85
"""Share of a line's words that another text has, numbers included, for the line to say nothing
more.
"""
_PIECES = 50
_MARK_TOKENS = 4


def add_core_lines(
    records: Sequence[Record],
    request: ReadRequest,
    deps: ReadDeps,
    tokens: int,
    counter: TokenCounter,
) -> list[Record]:
    """Add the lines of MEMORY.md that no statement says.

    They stand after the rules: in half of the room before the facts, the rest behind them.
    """
    said = [_words(record.text) for record in records]
    fresh = [
        line for line in _find_core_lines(request, deps) if not _is_said(_words(line.text), said)
    ]
    room = tokens // 2
    place = 0
    while (
        place < len(fresh) and (room := room - counter.count(fresh[place].text) - _MARK_TOKENS) >= 0
    ):
        place += 1
    rules = [record for record in records if record.kind in _RULES]
    return [
        *rules,
        *fresh[:place],
        *(record for record in records if record.kind not in _RULES),
        *fresh[place:],
    ]


def _find_core_lines(request: ReadRequest, deps: ReadDeps) -> list[Record]:
    """Find the lines of MEMORY.md in reach, each as a record."""
    if request.kinds and Kind.NOTE not in request.kinds:
        return []
    where = Where("and", (Condition("category", "eq", CORE_PIECE),))
    found = deps.records.find(
        RecordQuery(
            request.reach,
            (Kind.SUMMARY,),
            (Status.ACTIVE,),
            request.as_of,
            where=where,
            limit=_PIECES,
        )
    )
    pieces = sorted(
        (one for one in found.records if NOTE_PIECE in one.meta), key=lambda one: one.meta["lines"]
    )
    lines = {
        content_hash(text): (piece, text) for piece in pieces for text in split_note(piece.text)
    }
    return [
        replace(
            piece,
            id=f"{piece.id}:{name[:8]}",
            kind=Kind.NOTE,
            text=text,
            category="",
            meta={NOTE_PIECE: piece.meta[NOTE_PIECE]},
        )
        for name, (piece, text) in lines.items()
    ]


def find_note_echoes(hits: Sequence[Hit], asked: Collection[str]) -> dict[str, str]:
    """Map pieces of notes to hits that answer the same."""
    said = [
        (hit.record.id, _words(text))
        for hit in hits
        if NOTE_PIECE not in hit.record.meta
        for text in _texts(hit)
    ]
    out: dict[str, str] = {}
    for hit in hits:
        if NOTE_PIECE not in hit.record.meta:
            continue
        lines = [_words(text) for text in split_note(hit.record.text)]
        near = [words for words in lines if words & set(asked)] or lines
        twins = [
            next((name for name, other in said if _is_said(words, [other])), "") for words in near
        ]
        if near and all(twins):
            out[hit.record.id] = twins[0]
        else:
            said += [(hit.record.id, words) for words in lines]
    return out


def drop_said_lines(hits: Sequence[Hit], profile: Iterable[Record]) -> list[Hit]:
    """Leave out lines of notes that are said elsewhere.

    Left out too: hits that say no more than a line of the profile that stands there word for word.
    """
    profile = list(profile)
    lines = [_words(record.text) for record in profile if record.kind is Kind.NOTE]
    pieces = [hit for hit in hits if NOTE_PIECE in hit.record.meta]
    kept = [
        hit
        for hit in hits
        if NOTE_PIECE in hit.record.meta
        or not any(_words(hit.record.search_text) <= line for line in lines)
    ]
    if not pieces:
        return kept
    said = [_words(record.text) for record in profile]
    said += [
        _words(text) for hit in kept if NOTE_PIECE not in hit.record.meta for text in _texts(hit)
    ]
    shortened = {}
    for hit in pieces:
        fresh = [text for text in split_note(hit.record.text) if not _is_said(_words(text), said)]
        said += [_words(text) for text in fresh]
        shortened[hit.record.id] = replace(hit, record=replace(hit.record, text="\n".join(fresh)))
    merged = [shortened.get(hit.record.id, hit) for hit in kept]
    return [hit for hit in merged if hit.record.text or hit.record.caption]


def split_note(text: str) -> Iterator[str]:
    """Split a note into what its lines say, without headings and marks."""
    for line in map(str.strip, text.split("\n")):
        if line and not line.startswith(("#", "<!--")):
            yield line[2:].strip() if line.startswith(("- ", "* ", "+ ")) else line


def _texts(hit: Hit) -> Iterator[str]:
    yield hit.record.search_text
    for fact in hit.facts:
        yield fact.text


def _words(text: str) -> frozenset[str]:
    return frozenset(terms(text))


def _is_said(words: frozenset[str], said: Iterable[frozenset[str]]) -> bool:
    numbers = {word for word in words if any(char.isdigit() for char in word)}
    return any(numbers <= other and len(words & other) >= _SAME * len(words) for other in said)
