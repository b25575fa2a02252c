"""The port of skills: read-only knowledge in files, searched like memories by every owner."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from engrams.core import Json, Record
from engrams.ports.candidate_search import CandidatePool, CandidateSearchQuery

SKILL = "skill:"
"""Prefix of a skill's id; the skill's name follows."""


def is_skill(id: str) -> bool:
    """Return True for the id of a skill, which is never stored."""
    return id.startswith(SKILL)


class SkillRecordSource(Protocol):
    """Skills as records that a search finds and no store holds."""

    def seek(self, query: CandidateSearchQuery) -> CandidatePool:
        """Find candidates among skills, scored as memories are; the query's reach plays no part."""
        ...

    def get(self, ids: Sequence[str]) -> tuple[Record, ...]:
        """Return the existing ones of these skills."""
        ...

    def describe(self) -> Mapping[str, Json]:
        """Describe the folder: its path, the skills' names, and problems."""
        ...
