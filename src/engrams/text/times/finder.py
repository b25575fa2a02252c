"""Find the times that a text mentions."""

from __future__ import annotations

import re
from bisect import bisect_left
from dataclasses import replace
from datetime import UTC, datetime, tzinfo
from functools import cache
from importlib import import_module

from engrams.text.text_caches import text_cache
from engrams.text.times.calendar_math import BEGIN, END
from engrams.text.times.grammar import DatePart, Piece, TimeGrammar, TimeRuleMatch, compile_rule
from engrams.text.times.interval import EARLIEST, LATEST, TimeDirection, TimeSpan
from engrams.text.times.interval_join import DateNode, ScannedTimeText, compose_nodes
from engrams.text.times.language import (
    CJK,
    DIGITS,
    JAPANESE,
    MARKS,
    TRIGGERS,
    WORDS,
    count_votes,
    fold,
    trigger_languages,
)

_MODULES = {
    "en": "english",
    "de": "german",
    "es": "spanish",
    "fr": "french",
    "zh": "chinese",
    "ja": "japanese",
}
_PLAIN = {"pt": "portuguese", "it": "italian", "nl": "dutch", "ru": "russian", "ko": "korean"}
_UNSPACED = ("zh", "ja", "ko")
_MAX_CACHED = 2_000
"""Characters of the longest text whose pieces are cached."""
_KANA = re.compile("[\u3041-\u309f\u30a1-\u30fa]")
_HANGUL = re.compile("[\uac00-\ud7a3]")


def find_times(
    text: str, now: datetime, direction: TimeDirection = "as told"
) -> tuple[TimeSpan, ...]:
    """Find times in ``text``, in order, without overlaps.

    English, German, Spanish, French, Chinese, Japanese; simple ones in Portuguese, Italian, Dutch,
    Russian, Korean.

    ``now``: when it was said; days begin at midnight of its zone (UTC where it names none), weeks
    on Monday. A date without a year is the last one, or the coming one where its clause speaks of
    the future; ``direction`` takes one or the other for all of them. 05/07/2023 is May 7 in English
    text and 5 July elsewhere. A winter is named after the year in which it begins. Vague times ("a
    few years ago") are wide ranges, "recently" the last thirty days; a duration ("for three years")
    is not a time. Never raises on any text.
    """
    low = _to_low(text)
    words = set(WORDS.findall(low))
    cjk = not text.isascii() and CJK.search(low) is not None
    digits = DIGITS.search(low) is not None
    if not (cjk or digits) and words.isdisjoint(TRIGGERS):
        return ()
    if len(low) != len(text):
        return _find_unmarked(text, now, direction)
    zone = now.tzinfo or UTC
    nodes: list[DateNode] = []
    for name, found_pieces in _scan_cached(text) if len(text) <= _MAX_CACHED else _scan(text):
        pieces = [
            _to_local(piece, zone)
            if isinstance(piece, DatePart) and piece.span is not None and piece.span.start.tzinfo
            else piece
            for piece in found_pieces
        ]
        nodes += compose_nodes(
            pieces, ScannedTimeText(low, _load_grammar(name), now.replace(tzinfo=None), direction)
        )
    return _to_spans(nodes, text, zone)


@text_cache(2048)
def _scan_cached(text: str) -> tuple[tuple[str, list[Piece]], ...]:
    """Scan a text, cached: it is indexed first, and learned from later."""
    return _scan(text)


def _scan(text: str) -> tuple[tuple[str, list[Piece]], ...]:
    """Read the pieces of times by grammar, whenever the text was said."""
    low = _to_low(text)
    cjk = not text.isascii() and CJK.search(low) is not None
    digits = DIGITS.search(low) is not None
    near = _candidate_starts(low)
    grammar_pieces = []
    for name in _choose_grammars(set(WORDS.findall(low)), low, digits=digits, cjk=cjk):
        grammar = _load_grammar(name)
        starts = [at for at, head in near if head in grammar.heads or not head.isalpha()]
        if pieces := _read_pieces(low, text, grammar, None if name in _UNSPACED else starts):
            grammar_pieces.append((name, pieces))
    return tuple(grammar_pieces)


def _to_low(text: str) -> str:
    return text.lower() if text.isascii() else fold(text)


def _choose_grammars(words: set[str], low: str, *, digits: bool, cjk: bool) -> list[str]:
    triggered = trigger_languages(words & TRIGGERS)
    names: list[str] = []
    if triggered or digits:
        counts = count_votes(words)
        most_votes = max(counts.values())
        best = "en" if counts["en"] == most_votes else max(counts, key=lambda name: counts[name])
        names = [
            name
            for name, sure in triggered.items()
            if counts[name] + 3 * sure >= most_votes
            and (sure or counts[name] or name not in _PLAIN)
        ]
        if (digits or not names) and best not in names:
            names.append(best)
    if cjk:
        if _HANGUL.search(low):
            return [*names, "ko"]
        names += [] if _KANA.search(low) else ["zh"]
        names += ["ja"] if JAPANESE.search(low) else []
    return names


@cache
def _load_grammar(name: str) -> TimeGrammar:
    if name in _PLAIN:
        from engrams.text.times.simple_grammars import make_grammar

        return make_grammar(_PLAIN[name])
    loaded = import_module(f"engrams.text.times.{_MODULES[name]}").GRAMMAR
    assert isinstance(loaded, TimeGrammar)
    return loaded


def _candidate_starts(low: str) -> list[tuple[int, str]]:
    tokens = [(m.start(), m[0]) for m in WORDS.finditer(low)]
    near: set[int] = set()
    for index, (at, word) in enumerate(tokens):
        if word in TRIGGERS or (word[0].isdigit() and DIGITS.match(low, at)):
            near.update(range(index - 6, index + 4))
    return [(at, word[:3]) for index, (at, word) in enumerate(tokens) if index in near]


def _read_pieces(
    low: str, text: str, grammar: TimeGrammar, starts: list[int] | None
) -> list[Piece]:
    """Read pieces left to right; without ``starts`` try every position."""
    pieces: list[Piece] = []
    at = 0
    places = iter(starts) if starts is not None else None
    while True:
        if places is None:
            match = grammar.scanner.search(low, at)
        else:
            start = next((position for position in places if position >= at), None)
            match = grammar.scanner.match(low, start) if start is not None else None
            if match is None and start is not None:
                continue
        if match is None:
            return pieces
        pattern, handler = grammar.rules[(match.lastindex or 1) - 1]
        m = compile_rule(pattern).match(low, match.start())
        piece = handler(TimeRuleMatch(m, text)) if m else None
        at = match.start() + 1 if piece is None else max(piece.end, match.start() + 1)
        if piece is not None:
            pieces.append(piece)


def _to_local(piece: Piece, zone: tzinfo) -> Piece:
    """Move a date of another zone into the text's."""
    if not isinstance(piece, DatePart) or piece.span is None or not piece.span.start.tzinfo:
        return piece
    span = piece.span
    try:
        start = span.start.astimezone(zone)
        end = span.end.astimezone(zone)
    except OverflowError:  # first or last day of the calendar: ignore the zone
        start = span.start
        end = span.end
    return replace(
        piece, span=span._replace(start=start.replace(tzinfo=None), end=end.replace(tzinfo=None))
    )


def _to_spans(nodes: list[DateNode], text: str, zone: tzinfo) -> tuple[TimeSpan, ...]:
    """Sort spans by position; of two that overlap keep the longer."""
    spans: list[TimeSpan] = []
    for node in sorted(nodes, key=lambda node: (node.at - node.end, node.at)):
        index = bisect_left(spans, node.at, key=_span_start)
        before = spans[index - 1 : index]
        after = spans[index : index + 1]
        if (
            node.span is None
            or (before and before[0].at + len(before[0].text) > node.at)
            or (after and after[0].at < node.end)
        ):
            continue
        start = _to_utc(node.span.start, zone)
        end = _to_utc(node.span.end, zone)
        if start < end:
            raw = text[node.at : node.end]
            at = node.at + len(raw) - len(raw.lstrip())
            spans.insert(
                index,
                TimeSpan(
                    start=start,
                    end=end,
                    grain=node.span.grain,
                    text=raw.strip(),
                    at=at,
                    recurs=node.recurs,
                ),
            )
    return tuple(spans)


def _span_start(span: TimeSpan) -> int:
    return span.at


def _to_utc(moment: datetime, zone: tzinfo) -> datetime:
    if moment == BEGIN:
        return EARLIEST
    if moment == END:
        return LATEST
    try:
        return moment.replace(tzinfo=zone).astimezone(UTC)
    except OverflowError:
        return EARLIEST if moment.year < 5000 else LATEST


def _find_unmarked(text: str, now: datetime, direction: TimeDirection) -> tuple[TimeSpan, ...]:
    """Find times without combining marks; map them to the original."""
    places = [at for at, char in enumerate(text) if not MARKS.match(char)]
    bare = "".join(text[at] for at in places)
    spans = []
    for span in find_times(bare, now, direction):
        last = places[span.at + len(span.text) - 1]
        first = places[span.at]
        stop = last + 1
        while stop < len(text) and MARKS.match(text[stop]):
            stop += 1
        spans.append(
            TimeSpan(
                start=span.start,
                end=span.end,
                grain=span.grain,
                text=text[first:stop],
                at=first,
                recurs=span.recurs,
            )
        )
    return tuple(spans)
