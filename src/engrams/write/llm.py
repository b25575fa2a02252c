"""Extraction and reconciliation by a chat model."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from engrams.ports import Chat
from engrams.types import Cost, Decision, Record
from engrams.write.candidate import Candidate
from engrams.write.persist import Ledger
from engrams.write.policy import Ruling


def extract(records: Sequence[Record], chat: Chat, batch: int, decisions: list[Decision]) -> tuple[dict[str, list[Candidate]], Cost]:
    raise NotImplementedError


def reconcile(
    record: Record,
    ruled: Sequence[tuple[Candidate, Ruling]],
    chat: Chat,
    neighbours: Callable[[Candidate], list[Record]],
    ledger: Ledger,
) -> Cost:
    raise NotImplementedError
