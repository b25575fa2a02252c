"""Tool profile ``erase``: memories gone for good, in two steps."""

from __future__ import annotations

from typing import Annotated, Any

from mcp.server import MCPServer
from pydantic import Field

from engrams.frozen_data import dataclass
from engrams.surfaces.mcp import outputs
from engrams.surfaces.mcp.preview_tokens import PreviewTokens
from engrams.surfaces.mcp.profile import McpProfile
from engrams.surfaces.mcp.scoped_engine import ERASES, READS, ScopedEngine, with_tool_errors

_TOOLS = {"find_about": READS, "preview_purge": READS, "purge": ERASES}
_MOST = 500

Ids = Annotated[
    list[str],
    Field(
        min_length=1,
        max_length=_MOST,
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

    def __init__(self, bound: ScopedEngine) -> None:
        self._bound = bound
        self._engine = bound.engine
        self._tokens = PreviewTokens(bound, "preview_purge")

    def install(self, server: MCPServer[Any]) -> None:
        for name, hints in _TOOLS.items():
            server.add_tool(
                with_tool_errors(getattr(self, name)), annotations=hints, structured_output=True
            )

    def find_about(
        self,
        about: Annotated[
            str, Field(min_length=1, max_length=200, description="A person, a place or a thing.")
        ],
    ) -> PurgeCandidatesOutput:
        """Find memories about somebody or something, for preview_purge. Changes nothing."""
        found = self._engine.find_about(about, scope=self._bound.root)
        return PurgeCandidatesOutput(
            [
                _to_candidate(one.record, one.certain)
                for one in found
                if self._bound.is_visible(one.record)
            ]
        )

    def preview_purge(self, ids: Ids) -> PurgePreviewOutput:
        """Tell what a purge erases. Changes nothing.

        Show it to the person, and call purge with the token only if they say yes.
        """
        records = list({one.id: one for one in map(self._bound.get, ids)}.values())
        report = self._engine.preview([one.id for one in records], "purge", self._bound.root)
        sources = [
            outputs.SourceEffectOutput(one.id, one.effect, list(one.quotes))
            for one in report.sources
        ]
        return PurgePreviewOutput(
            self._tokens.issue(records),
            [_to_candidate(one, True) for one in records],
            sources,
            list(report.also_said_in),
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
        done = self._engine.purge(self._tokens.redeem(token), scope=self._bound.root, git=git)
        places = [
            PurgePlaceOutput(one.name, one.looked, one.left, one.advice) for one in done.places
        ]
        return PurgeOutput(done.proven, dict(done.removed), places)


def _to_candidate(record: Any, certain: bool) -> PurgeCandidateOutput:
    return PurgeCandidateOutput(record.id, record.text, certain)


PROFILE = McpProfile(
    instructions=(
        "Erasing memories of one person for good, only when they ask for it: preview, show them"
        " what goes, ask, then purge."
    ),
    families=(PurgeTools,),
)
