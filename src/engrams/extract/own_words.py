"""A message's own words, and its foreign parts with their reasons.

Enter at ``split_own_words``, which the gate asks before anything is learned from a message, and
which the quarantine asks to show what was kept out.
"""

from __future__ import annotations

from collections.abc import Sequence

from engrams.core import CONFIRMED, FOREIGN, OWN_WORDS, Kind, Record
from engrams.extract.candidate import USER, canonical_subject
from engrams.frozen_data import dataclass
from engrams.text.foreign_parts import (
    ForeignPart,
    cut_parts,
    find_foreign_parts,
    find_third_person,
)
from engrams.text.reported_speech import find_reported_clauses

_SPEAKERS = ("user", "")
"""Roles of people, who paste. What a tool or an assistant says is its own as a whole."""
_REPORTED = "what somebody else says of the sender"
_DOUBTED = "words that the message shows, by what stands around them"


@dataclass(frozen=True, slots=True)
class ForeignText:
    """Part of a message that nothing is learned from, because it is not its sender's."""

    reason: str
    """Such as "a forwarded message"."""
    text: str

    @property
    def statement(self) -> str:
        """The text without the request that introduces it in its first line: "Summarise this:"."""
        first_line, _, following = self.text.partition("\n")
        _, colon, words = first_line.partition(":")
        return f"{words}\n{following}".strip() if colon else self.text


@dataclass(frozen=True, slots=True)
class SplitMessage:
    """A message's text, split by whose words they are."""

    own_words: str
    foreign: tuple[ForeignText, ...]
    """Foreign parts, in order."""


def split_own_words(record: Record, text: str) -> SplitMessage:
    """Split a message's text into its sender's own words and its foreign parts.

    ``text``: of the record, or what is left of it without echoes. A text that a person let in is
    own as a whole.
    """
    if record.meta.get(CONFIRMED):
        return SplitMessage(text, ())
    if record.meta.get(FOREIGN):
        reason = str(record.meta[FOREIGN])
        return SplitMessage("", (ForeignText(reason, text.strip()),))
    foreign: list[ForeignText] = []
    own_part = record.meta.get(OWN_WORDS)
    if isinstance(own_part, str) and own_part in text and own_part != text:
        other_parts = text.replace(own_part, " ", 1).strip()
        foreign.append(ForeignText("other parts of the message", other_parts))
        text = own_part
    parts: tuple[ForeignPart, ...] = ()
    if record.role in _SPEAKERS:
        parts = find_foreign_parts(text)
        if record.kind is Kind.TURN:
            parts += find_third_person(text)
            parts += _find_reported(text)
            parts += _find_doubted(record, text, parts)
    foreign += [ForeignText(part.reason, text[part.start : part.end].strip()) for part in parts]
    own_words = cut_parts(text, parts) if parts else text
    return SplitMessage(own_words, tuple(foreign))


def _find_reported(text: str) -> tuple[ForeignPart, ...]:
    return tuple(
        ForeignPart(clause.start, clause.end, _REPORTED) for clause in find_reported_clauses(text)
    )


def _find_doubted(
    record: Record, text: str, parts: Sequence[ForeignPart]
) -> tuple[ForeignPart, ...]:
    """Find sentences, outside of foreign parts, that are likely of a text which a message shows."""
    # Loaded here: a tool's output and a document need no judge.
    from engrams.extract.rules.voice_judge import find_doubted_sentences

    speaker = record.speaker.strip()
    if speaker and canonical_subject(speaker, record.scope) != USER:
        return ()
    return tuple(
        ForeignPart(sentence.start, sentence.end, _DOUBTED)
        for sentence in find_doubted_sentences(text)
        if not any(part.start < sentence.end and sentence.start < part.end for part in parts)
    )
