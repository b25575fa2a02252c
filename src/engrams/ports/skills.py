"""Port of read-only skills: searched like memories, shared by all owners."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from engrams.core import Json, Record
from engrams.ports.candidate_search import CandidatePool, CandidateSearchQuery


class SkillRecordSource(Protocol):
    """Port of skills: files found in searches and never stored.

    Every owner's reads see the same ones.
    """

    def seek(self, seek: CandidateSearchQuery) -> CandidatePool:
        """Find candidates among skills, scored as memories are.

        Whose memory ``seek`` reaches plays no part.
        """
        ...

    def get(self, ids: Sequence[str]) -> tuple[Record, ...]:
        """Existing skills of these ids."""
        ...

    def describe(self) -> Mapping[str, Json]:
        """Describe the folder: its path, the skills' names, and problems."""
        ...
