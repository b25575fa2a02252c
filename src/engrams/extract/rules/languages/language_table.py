"""The table that describes one language."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from engrams.frozen_data import dataclass


@dataclass(frozen=True, slots=True)
class LanguageTable:
    """Sentence forms and words of one language.

    ``cue``: a pattern for the first person. ``hypothetical``: a pattern for sentences that state no
    fact. ``relatives``, ``favorites`` and ``properties``: words and their English. A row of
    ``forms``: predicate, category, pattern, then ``no``, ``changes`` or ``ends``.
    """

    code: str
    cue: str
    hypothetical: str
    relatives: Mapping[str, str]
    favorites: Mapping[str, str]
    properties: Mapping[str, str]
    forms: Sequence[tuple[str, ...]]
