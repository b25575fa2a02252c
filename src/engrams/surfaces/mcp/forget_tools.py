"""Tools that forget in two steps, or mark as wrong."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

from pydantic import Field

from engrams.core import Record, Status
from engrams.errors import InputError
from engrams.surfaces.mcp import outputs
from engrams.surfaces.mcp.preview_tokens import PreviewTokens
from engrams.surfaces.mcp.scoped_engine import (
    CHANGES,
    ERASES,
    READS,
    ScopedEngine,
)

if TYPE_CHECKING:
    from engrams.engine.answer_types import PurgeCandidate

_TOOLS = {"memory_forget_preview": READS, "memory_forget": ERASES, "memory_wrong": CHANGES}
_MAX_MEMORIES = 500


@dataclass(frozen=True)
class ForgetCandidateOutput:
    id: str
    text: str


@dataclass(frozen=True)
class ForgetPreviewOutput:
    """Memories that are forgotten with the token, and messages that they reach."""

    token: Annotated[str, Field(description="Empty where nothing is sure to be meant.")]
    memories: list[ForgetCandidateOutput]
    maybe: Annotated[
        list[ForgetCandidateOutput],
        Field(description="Memories that are near, and not covered by the token."),
    ]
    sources: list[outputs.SourceEffectOutput]
    also_said_in: list[str]


@dataclass(frozen=True)
class ForgottenMemoriesOutput:
    """Ids of memories put away; memory_delete with restore brings each back."""

    forgotten: list[str]


class ForgetTools:
    """Serve forgetting in two steps, and marking as wrong."""

    tools = _TOOLS

    def __init__(self, scoped: ScopedEngine) -> None:
        self._scoped = scoped
        self._engine = scoped.engine
        self._tokens = PreviewTokens(scoped, "memory_forget_preview")

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
                max_length=_MAX_MEMORIES,
                description="Instead of a query, or beside it: ids of memories.",
            ),
        ] = None,
    ) -> ForgetPreviewOutput:
        """Tell what would be forgotten about something. Changes nothing.

        Show it to the person, and call memory_forget with the token only if they say yes. Are some
        of maybe meant too, give their ids.
        """
        if not query.strip() and not ids:
            raise InputError("Give query or ids.")
        chosen = {record.id: record for record in map(self._scoped.get, ids or ())}
        candidates = self._find_candidates(query) if query.strip() else []
        chosen |= {
            candidate.record.id: candidate.record for candidate in candidates if candidate.certain
        }
        uncertain = [
            candidate.record for candidate in candidates if candidate.record.id not in chosen
        ]
        records = list(chosen.values())[:_MAX_MEMORIES]
        report = self._engine.preview(
            [record.id for record in records], "forget", self._scoped.root
        )
        return ForgetPreviewOutput(
            token=self._tokens.issue(records) if records else "",
            memories=[_to_candidate(record) for record in records],
            maybe=[_to_candidate(record) for record in uncertain],
            sources=outputs.to_effects(report),
            also_said_in=list(report.also_said_in),
        )

    def _find_candidates(self, query: str) -> list[PurgeCandidate]:
        """Find active memories about something, within the server's scope."""
        return [
            candidate
            for candidate in self._engine.find_about(query, scope=self._scoped.root)
            if self._scoped.is_visible(candidate.record)
            and candidate.record.status is Status.ACTIVE
        ]

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
            # One that was derived from another of them is forgotten with it.
            if self._scoped.get(id).status is not Status.FORGOTTEN:
                self._engine.forget(id, scope=self._scoped.root, reason=reason)
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
        record = self._scoped.get(id)
        report = self._engine.preview([record.id], "forget", self._scoped.root)
        full_reason = f"wrong: {reason}" if reason else "wrong"
        forgotten = self._engine.forget(record.id, scope=self._scoped.root, reason=full_reason)
        return outputs.to_changed(forgotten, report)


def _to_candidate(record: Record) -> ForgetCandidateOutput:
    return ForgetCandidateOutput(record.id, outputs.display_text(record))
