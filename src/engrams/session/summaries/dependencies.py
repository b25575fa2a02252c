"""Dependencies that the parts of running summaries share."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from engrams.core import Kind, Receipt, Scope, Turn
from engrams.ports import ChatModel, Clock, Store, TokenCounter


class TurnWriter(Protocol):
    """Writer of turns, each ``external_id`` once in a scope."""

    def __call__(self, turns: Sequence[Turn], scope: Scope, kind: Kind) -> tuple[Receipt, ...]: ...


class ExtractionTrigger(Protocol):
    """Trigger that extracts a conversation's waiting turns now."""

    def __call__(self, *, scope: Scope, session: str) -> bool: ...


@dataclass(frozen=True, slots=True)
class SummaryDeps:
    """Dependencies of running summaries."""

    store: Store
    chat: ChatModel | None
    counter: TokenCounter
    clock: Clock
    write_turns: TurnWriter
    hasten_extraction: ExtractionTrigger
    has_daily_notes: bool
    """Whether the vault keeps notes of days, which flushed messages go into."""
