"""Tools that forget in two steps, or mark as wrong."""

from __future__ import annotations

from typing import Annotated, Any

from mcp.server import MCPServer
from pydantic import Field

from engrams.core import Record, Status
from engrams.errors import InputError
from engrams.frozen_data import dataclass
from engrams.surfaces.mcp import outputs
from engrams.surfaces.mcp.preview_tokens import PreviewTokens
from engrams.surfaces.mcp.scoped_engine import (
    CHANGES,
    ERASES,
    READS,
    ScopedEngine,
    with_tool_errors,
)

_TOOLS = {"memory_forget_preview": READS, "memory_forget": ERASES, "memory_wrong": CHANGES}
_MOST = 500


@dataclass(frozen=True)
class ForgetCandidateOutput:
    id: str
    text: str


@dataclass(frozen=True)
class ForgetPreviewOutput:
    """Memories that go with the token, and messages they reach.

    ``token``: empty where nothing is sure to be meant; ``maybe``: memories that are near, and not
    covered by it.
    """

    token: str
    memories: list[ForgetCandidateOutput]
    maybe: list[ForgetCandidateOutput]
    sources: list[outputs.SourceEffectOutput]
    also_said_in: list[str]


@dataclass(frozen=True)
class ForgottenMemoriesOutput:
    """Ids of memories put away; memory_delete with restore brings each back."""

    forgotten: list[str]


class ForgetTools:
    """Serve forgetting in two steps, and marking as wrong."""

    def __init__(self, bound: ScopedEngine) -> None:
        self._bound = bound
        self._engine = bound.engine
        self._tokens = PreviewTokens(bound, "memory_forget_preview")

    def install(self, server: MCPServer[Any]) -> None:
        for name, hints in _TOOLS.items():
            server.add_tool(
                with_tool_errors(getattr(self, name)), annotations=hints, structured_output=True
            )

    def memory_forget_preview(
        self,
        query: Annotated[
            str,
            Field(
                max_length=200, description="A person, place or thing to forget everything about."
            ),
        ] = "",
        ids: Annotated[
            list[str] | None,
            Field(
                max_length=_MOST, description="Instead of a query, or beside it: ids of memories."
            ),
        ] = None,
    ) -> ForgetPreviewOutput:
        """Tell what would be forgotten about something. Changes nothing.

        Show it to the person, and call memory_forget with the token only if they say yes. Are some
        of maybe meant too, give their ids.
        """
        if not query.strip() and not ids:
            raise InputError("Give query or ids.")
        chosen = {one.id: one for one in map(self._bound.get, ids or ())}
        found = self._engine.find_about(query, scope=self._bound.root) if query.strip() else ()
        near = [
            one
            for one in found
            if self._bound.is_visible(one.record) and one.record.status is Status.ACTIVE
        ]
        chosen |= {one.record.id: one.record for one in near if one.certain}
        records = list(chosen.values())[:_MOST]
        report = self._engine.preview(list(chosen)[:_MOST], "forget", self._bound.root)
        return ForgetPreviewOutput(
            token=self._tokens.issue(records) if records else "",
            memories=[_to_candidate(one) for one in records],
            maybe=[_to_candidate(one.record) for one in near if one.record.id not in chosen],
            sources=[
                outputs.SourceEffectOutput(one.id, one.effect, list(one.quotes))
                for one in report.sources
            ],
            also_said_in=list(report.also_said_in),
        )

    def memory_forget(
        self,
        token: Annotated[
            str,
            Field(
                min_length=1,
                description="As memory_forget_preview gave it, after the person agreed.",
            ),
        ],
        reason: Annotated[str, Field(description="Why, for their history.")] = "",
    ) -> ForgottenMemoriesOutput:
        """Forget the previewed memories. No search finds them; each can be restored."""
        forgotten = []
        for id in self._tokens.redeem(token):
            # One that was derived from another of them is gone with it.
            if self._bound.get(id).status is not Status.FORGOTTEN:
                self._engine.forget(id, scope=self._bound.root, reason=reason)
            forgotten.append(id)
        return ForgottenMemoriesOutput(forgotten)

    def memory_wrong(
        self,
        id: Annotated[
            str,
            Field(
                min_length=1, description="The memory's id, or at least its first six characters."
            ),
        ],
        reason: Annotated[str, Field(description="Why, for its history.")] = "",
    ) -> outputs.ChangedMemoryOutput:
        """Mark a memory as wrong; no search finds it any more.

        Is what is right known, use memory_update. memory_delete with restore takes it back.
        """
        record = self._bound.get(id)
        report = self._engine.preview([record.id], "forget", self._bound.root)
        told = f"wrong: {reason}" if reason else "wrong"
        return outputs.to_changed(
            self._engine.forget(record.id, scope=self._bound.root, reason=told), report
        )


def _to_candidate(record: Record) -> ForgetCandidateOutput:
    return ForgetCandidateOutput(record.id, outputs.display_text(record))
