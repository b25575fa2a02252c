"""Candidate pools joined, and narrowed to some of their candidates.

Both are cuts through all columns of a pool, so a new column of ``CandidatePool`` belongs into the
list here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from engrams.core.id_sequence import IdSequence
from engrams.ports import CandidatePool, CandidateSearchQuery, SkillRecordSource

if TYPE_CHECKING:
    from engrams.ports.candidate_search import Integers

_COLUMNS = (
    "cos",
    "cosctx",
    "cosnext",
    "bm",
    "bmctx",
    "bmses",
    "embedded",
    "times",
    "words",
    "question",
    "dated",
    "passage",
    "undated",
    "importance",
    "confidence",
    "identified",
)
"""Columns that mean the same in every pool; ``voice`` means positions in the pool's own voices."""


def take_candidates(pool: CandidatePool, positions: Sequence[int]) -> CandidatePool:
    """Narrow a pool to the candidates at some positions, in this order."""
    rows = np.array(positions, np.int64)
    columns: dict[str, Any] = {name: getattr(pool, name)[rows] for name in (*_COLUMNS, "voice")}
    return replace(pool, ids=IdSequence([pool.ids[position] for position in positions]), **columns)


def join_pools(first: CandidatePool, second: CandidatePool) -> CandidatePool:
    """Concatenate two pools."""
    voices = list(dict.fromkeys((*first.voices, *second.voices)))
    columns: dict[str, Any] = {
        name: np.concatenate([getattr(first, name), getattr(second, name)]) for name in _COLUMNS
    }
    return replace(
        first,
        ids=IdSequence([*first.ids, *second.ids]),
        voices=voices,
        voice=np.concatenate([_renumber_voices(first, voices), _renumber_voices(second, voices)]),
        total=first.total + second.total,
        exact=first.exact and second.exact,
        **columns,
    )


def _renumber_voices(pool: CandidatePool, voices: Sequence[tuple[str, str]]) -> Integers:
    """Positions of a pool's voices among those of both pools, by candidate."""
    if not len(pool.voice):
        return np.zeros(0, np.int64)
    numbers = {voice: number for number, voice in enumerate(voices)}
    renumbered: Integers = np.array([numbers[voice] for voice in pool.voices], np.int64)
    return renumbered[pool.voice]


def add_skills(
    pool: CandidatePool, query: CandidateSearchQuery, skills: SkillRecordSource
) -> CandidatePool:
    """Append candidates from the index of skills."""
    skill_pool = skills.seek(query)
    if not len(skill_pool.ids):
        return pool
    joined = join_pools(pool, skill_pool)
    if pool.aging is None:
        return joined
    aging = np.concatenate([pool.aging, np.zeros(len(skill_pool.ids), np.bool_)])
    return replace(joined, aging=aging)
