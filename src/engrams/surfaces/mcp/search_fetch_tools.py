"""Tool profile ``search``: the two tools of research clients."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from pydantic import Field

from engrams.core.meta_keys import describe_speaker
from engrams.surfaces.mcp import outputs
from engrams.surfaces.mcp.profile import McpProfile
from engrams.surfaces.mcp.scoped_engine import READS, ScopedEngine

_TITLE_CHARS = 80
_TOOLS = {"search": READS, "fetch": READS}


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
    """Tools ``search`` and ``fetch`` for MCP clients that expect just these two.

    ``search`` returns ids of ``read.limit`` hits at most, ``fetch`` the text of one. Both see only the
    memory of ``scoped``.
    """

    tools = _TOOLS

    def __init__(self, scoped: ScopedEngine) -> None:
        self._scoped = scoped

    def search(
        self, query: Annotated[str, Field(description="What to look for, in your own words.")]
    ) -> SearchHitListOutput:
        """Find memories that answer a question, best first."""
        result = self._scoped.engine.search(
            query, scope=self._scoped.root, checkout=self._scoped.checkout
        )
        hits = [
            SearchHitOutput(
                id=hit.record.id,
                title=_short_title(outputs.display_text(hit.record)),
                url=f"memory://{hit.record.id}",
            )
            for hit in result.hits
        ]
        return SearchHitListOutput(hits)

    def fetch(
        self, id: Annotated[str, Field(description="An id that search gave.", min_length=1)]
    ) -> FetchedMemoryOutput:
        """Return the full text of one memory."""
        record = self._scoped.find(id)
        text = outputs.display_text(record)
        metadata = {
            "kind": str(record.kind),
            "status": str(record.status),
            "recorded_at": record.recorded_at.isoformat(),
        }
        if record.speaker or record.role:
            metadata["speaker"] = describe_speaker(record) or record.role
        return FetchedMemoryOutput(
            id=record.id,
            title=_short_title(text),
            text=text,
            url=f"memory://{record.id}",
            metadata=metadata,
        )


def _short_title(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _TITLE_CHARS else line[: _TITLE_CHARS - 1].rstrip() + "…"


PROFILE = McpProfile(
    instructions=("Long-term memory of one person: search it, then fetch what looks right."),
    families=(SearchFetchTools,),
)
