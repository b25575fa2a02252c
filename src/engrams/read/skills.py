"""Skills among the candidates: synthetic records from outside memory."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from engrams.ports import Pool, Seek, Skills, is_skill
from engrams.read.retrieve import join_pools
from engrams.types import Hit


def with_skills(pool: Pool, seek: Seek, skills: Skills) -> Pool:
    """Append candidates from the index of skills, with new session numbers."""
    found = skills.seek(seek)
    if not len(found.ids):
        return pool
    first = int(pool.sessions.max()) + 1 if len(pool.sessions) else 0
    both = join_pools(pool, replace(found, sessions=found.sessions + first))
    return both if pool.aging is None else replace(both, aging=np.concatenate([pool.aging, np.zeros(len(found.ids), np.bool_)]))


def skill_notes(hits: Sequence[Hit]) -> tuple[str, ...]:
    """Trace notes about skills among the hits."""
    return tuple(f"{hit.record.id} is no memory: it stands in {hit.record.provenance.files[0]}" for hit in hits if is_skill(hit.record.id))
