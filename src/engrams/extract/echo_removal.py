"""Removal of injected context, so that it is not learned again."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator

from engrams.core import content_hash
from engrams.text.measures import word_count
from engrams.text.terms import tokens

_LEAST = 4
"""Minimum words of a piece: "yes, exactly" is no echo."""
_MOST = 20_000
"""Maximum characters: a longer text exceeds any context."""
_PIECE = re.compile(r"[^\n.!?。！？]*(?:[.!?。！？]+|\n|$)")


def fingerprint(text: str) -> str:
    """Hash a text, ignoring case, blanks and punctuation."""
    return content_hash(" ".join(tokens(text)))


def fingerprint_pieces(text: str) -> frozenset[str]:
    """Fingerprint a text, its lines and sentences of four words or more."""
    return frozenset(
        fingerprint(piece)
        for piece in {text, *text.splitlines(), *_split_sentences(text)}
        if word_count(piece) >= _LEAST
    )


def remove_echoes(text: str, echoes: Collection[str]) -> str:
    """Remove lines and sentences that are echoes.

    Empty where nothing else was in the text.
    """
    if not echoes or len(text) > _MOST:
        return text
    if fingerprint(text) in echoes:
        return ""
    kept = [line for line in text.splitlines(keepends=True) if not _is_echo(line, echoes)]
    return "".join(
        piece for line in kept for piece in _split_sentences(line) if not _is_echo(piece, echoes)
    ).strip()


def find_echoes(text: str, known: Collection[str]) -> tuple[str, ...]:
    """Return the text's fingerprints that are in ``known``, sorted."""
    return (
        tuple(sorted(fingerprint_pieces(text) & set(known))) if known and len(text) <= _MOST else ()
    )


def _is_echo(piece: str, echoes: Collection[str]) -> bool:
    return word_count(piece) >= _LEAST and fingerprint(piece) in echoes


def _split_sentences(text: str) -> Iterator[str]:
    return (found for found in _PIECE.findall(text) if found)
