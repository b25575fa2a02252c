"""The table that describes one language."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from engrams.frozen_data import dataclass


@dataclass(frozen=True, slots=True)
class LanguageTable:
    """Sentence forms and words of one language.

    ``user``: the user's name in sentences. ``relative_of``: "{article} {relative} of {name}".
    ``cue``: a pattern for the first person. ``hypothetical``: a pattern for sentences that state no
    fact. ``relatives``, ``favorites`` and ``properties``: words and their English. ``articles``:
    the relatives that each goes with. ``contractions``: what grammar makes of the words put
    together. A row of ``forms``: predicate, category, pattern, the sentence about a third person,
    then ``no``, ``changes`` or ``ends``.
    """

    code: str
    user: str
    relative_of: str
    cue: str
    hypothetical: str
    relatives: Mapping[str, str]
    articles: Mapping[str, str]
    contractions: Mapping[str, str]
    favorites: Mapping[str, str]
    properties: Mapping[str, str]
    forms: Sequence[tuple[str, ...]]
