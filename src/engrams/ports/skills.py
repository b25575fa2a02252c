"""Knowledge that stands beside memory: found like it, but nobody's, and read-only."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from engrams.ports.search import Pool, Seek
from engrams.types import Json, Record

SKILL = "skill:"
"""What the id of a skill begins with; its name follows."""


def is_skill(id: str) -> bool:
    """Whether it is the id of a skill, and so of nothing that is stored."""
    return id.startswith(SKILL)


class Skills(Protocol):
    """Skills as records that are made when they are asked for; every owner's reads see the same ones."""

    def seek(self, seek: Seek) -> Pool:
        """Candidates among them, scored as memories are; whose memory ``seek`` reaches plays no part."""
        ...

    def get(self, ids: Sequence[str]) -> tuple[Record, ...]:
        """Those of these ids that there are."""
        ...

    def describe(self) -> Mapping[str, Json]:
        """``folder``, ``skills`` (their names), and ``problems``: what is left out, and why."""
        ...
