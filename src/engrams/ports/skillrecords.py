"""Port of read-only skills: searched like memories, shared by all owners."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from engrams.ports.candidatesearch import CandidatePool, CandidateSearchQuery
from engrams.types import Json, Record


class SkillRecordSource(Protocol):
    """Skills as records made on demand.
    Every owner's reads see the same ones."""

    def seek(self, seek: CandidateSearchQuery) -> CandidatePool:
        """Find candidates among skills, scored as memories are.
        Whose memory ``seek`` reaches plays no part."""
        ...

    def get(self, ids: Sequence[str]) -> tuple[Record, ...]:
        """Existing skills of these ids."""
        ...

    def describe(self) -> Mapping[str, Json]:
        """``folder``, ``skills`` (their names), and ``problems``: what is left out, and why."""
        ...
