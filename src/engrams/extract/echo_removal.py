"""Fingerprints of memory that was put into a prompt, and its removal from what is said next.

A message that repeats what the prompt showed teaches nothing new.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator

from engrams.core import content_hash
from engrams.text.measures import word_count
from engrams.text.terms import tokens

_MIN_WORDS = 4
"""Words that a piece has at least: "yes, exactly" is no echo."""
_MAX_CHARACTERS = 20_000
"""Characters of a text that is looked at: no context is longer."""
_SENTENCE = re.compile(r"[^\n.!?。！？]*(?:[.!?。！？]+|\n|$)")


def fingerprint(text: str) -> str:
    """Hash a text, ignoring case, blanks and punctuation."""
    return content_hash(" ".join(tokens(text)))


def fingerprint_pieces(text: str) -> frozenset[str]:
    """Fingerprint a text, and its lines and sentences of four words or more."""
    return frozenset(
        fingerprint(piece)
        for piece in {text, *text.splitlines(), *_split_sentences(text)}
        if word_count(piece) >= _MIN_WORDS
    )


def remove_echoes(text: str, echoes: Collection[str]) -> str:
    """Remove the lines and sentences whose fingerprints are among ``echoes``.

    Empty if nothing else was in the text.
    """
    if not echoes or len(text) > _MAX_CHARACTERS:
        return text
    if fingerprint(text) in echoes:
        return ""
    lines = [line for line in text.splitlines(keepends=True) if not _is_echo(line, echoes)]
    return "".join(
        sentence
        for line in lines
        for sentence in _split_sentences(line)
        if not _is_echo(sentence, echoes)
    ).strip()


def find_echoes(text: str, prompt_fingerprints: Collection[str]) -> tuple[str, ...]:
    """Return those fingerprints that pieces of the text have, sorted."""
    if not prompt_fingerprints or len(text) > _MAX_CHARACTERS:
        return ()
    return tuple(sorted(fingerprint_pieces(text) & set(prompt_fingerprints)))


def _is_echo(piece: str, echoes: Collection[str]) -> bool:
    return word_count(piece) >= _MIN_WORDS and fingerprint(piece) in echoes


def _split_sentences(text: str) -> Iterator[str]:
    return (sentence for sentence in _SENTENCE.findall(text) if sentence)
