"""Tool profile ``search``: the two tools of research clients."""

from __future__ import annotations

from typing import Annotated, Any

from mcp.server import MCPServer
from pydantic import Field

from engrams.frozen_data import dataclass
from engrams.surfaces.mcp import outputs
from engrams.surfaces.mcp.profile import McpProfile
from engrams.surfaces.mcp.scoped_engine import READS, ScopedEngine, with_tool_errors

_TITLE = 80


@dataclass(frozen=True)
class SearchHitOutput:
    id: str
    title: str
    url: str


@dataclass(frozen=True)
class SearchHitListOutput:
    results: list[SearchHitOutput]


@dataclass(frozen=True)
class FetchedMemoryOutput:
    id: str
    title: str
    text: str
    url: str
    metadata: dict[str, str]


class SearchFetchTools:
    """Serve search, which returns ids, and fetch, which returns texts."""

    def __init__(self, bound: ScopedEngine) -> None:
        self._bound = bound

    def install(self, server: MCPServer[Any]) -> None:
        for call in (self.search, self.fetch):
            server.add_tool(with_tool_errors(call), annotations=READS, structured_output=True)

    def search(
        self, query: Annotated[str, Field(description="What to look for, in your own words.")]
    ) -> SearchHitListOutput:
        """Find memories that answer a question, best first."""
        found = self._bound.engine.search(query, scope=self._bound.root)
        hits = [hit.record for hit in found.hits]
        return SearchHitListOutput(
            [
                SearchHitOutput(
                    record.id,
                    _short_title(outputs.display_text(record)),
                    f"memory://{record.id}",
                )
                for record in hits
            ]
        )

    def fetch(
        self, id: Annotated[str, Field(description="An id that search gave.", min_length=1)]
    ) -> FetchedMemoryOutput:
        """Return the full text of one memory."""
        record = self._bound.get(id)
        text = outputs.display_text(record)
        told_by = {
            "kind": str(record.kind),
            "status": str(record.status),
            "recorded_at": record.recorded_at.isoformat(),
        }
        if record.speaker or record.role:
            told_by["speaker"] = record.speaker or record.role
        return FetchedMemoryOutput(
            id=record.id,
            title=_short_title(text),
            text=text,
            url=f"memory://{record.id}",
            metadata=told_by,
        )


def _short_title(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _TITLE else line[: _TITLE - 1].rstrip() + "…"


PROFILE = McpProfile(
    instructions=("Long-term memory of one person: search it, then fetch what looks right."),
    families=(SearchFetchTools,),
)
