"""Tool profile ``erase``: memories gone for good, in two steps."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from pydantic import Field

from engrams.core import Record
from engrams.surfaces.mcp import outputs
from engrams.surfaces.mcp.preview_tokens import PreviewTokens
from engrams.surfaces.mcp.profile import McpProfile
from engrams.surfaces.mcp.scoped_engine import ERASES, READS, ScopedEngine

_TOOLS = {"find_about": READS, "preview_purge": READS, "purge": ERASES}
_MAX_MEMORIES = 500

Ids = Annotated[
    list[str],
    Field(
        min_length=1,
        max_length=_MAX_MEMORIES,
        description="Ids of memories, or their first six characters.",
    ),
]


@dataclass(frozen=True)
class PurgeCandidateOutput:
    """Memory that may be meant; certain: it names it."""

    id: str
    text: str
    certain: bool


@dataclass(frozen=True)
class PurgeCandidatesOutput:
    memories: list[PurgeCandidateOutput]


@dataclass(frozen=True)
class PurgePreviewOutput:
    """Memories that go; the token is for one purge, within five minutes."""

    token: str
    memories: list[PurgeCandidateOutput]
    sources: list[outputs.SourceEffectOutput]
    also_said_in: list[str]


@dataclass(frozen=True)
class PurgePlaceOutput:
    name: str
    looked: int
    left: int
    advice: str


@dataclass(frozen=True)
class PurgeOutput:
    """Report of a purge; proven: every place was checked again."""

    proven: bool
    removed: dict[str, int]
    places: list[PurgePlaceOutput]


class PurgeTools:
    """Serve purges, each only after a preview that named what goes."""

    tools = _TOOLS

    def __init__(self, scoped: ScopedEngine) -> None:
        self._scoped = scoped
        self._engine = scoped.engine
        self._tokens = PreviewTokens(scoped, "preview_purge")

    def find_about(
        self,
        about: Annotated[
            str, Field(min_length=1, max_length=200, description="A person, a place or a thing.")
        ],
    ) -> PurgeCandidatesOutput:
        """Find memories about somebody or something, for preview_purge. Changes nothing."""
        candidates = self._engine.find_about(about, scope=self._scoped.root)
        return PurgeCandidatesOutput(
            [
                _to_candidate(candidate.record, candidate.certain)
                for candidate in candidates
                if self._scoped.is_visible(candidate.record)
            ]
        )

    def preview_purge(self, ids: Ids) -> PurgePreviewOutput:
        """Tell what a purge erases. Changes nothing.

        Show it to the person, and call purge with the token only if they say yes.
        """
        records = {record.id: record for record in map(self._scoped.get, ids)}
        report = self._engine.preview(list(records), "purge", self._scoped.root)
        return PurgePreviewOutput(
            token=self._tokens.issue(list(records.values())),
            memories=[_to_candidate(record, True) for record in records.values()],
            sources=outputs.to_effects(report),
            also_said_in=list(report.also_said_in),
        )

    def purge(
        self,
        token: Annotated[
            str, Field(description="As preview_purge gave it, after the person agreed.")
        ],
        git: Annotated[
            bool, Field(description="Also from the git history of the files, which is rewritten.")
        ] = False,
    ) -> PurgeOutput:
        """Erase the previewed memories for good, everywhere. It cannot be undone."""
        ids = self._tokens.redeem(token)
        report = self._engine.purge(ids, scope=self._scoped.root, git=git)
        places = [
            PurgePlaceOutput(store.name, store.looked, store.left, store.advice)
            for store in report.places
        ]
        return PurgeOutput(report.proven, dict(report.removed), places)


def _to_candidate(record: Record, certain: bool) -> PurgeCandidateOutput:
    return PurgeCandidateOutput(record.id, record.text, certain)


PROFILE = McpProfile(
    instructions=(
        "Erasing memories of one person for good, only when they ask for it: preview, show them"
        " what goes, ask, then purge."
    ),
    families=(PurgeTools,),
)
