"""Gate, and extraction by rules, of one record: no store, no model."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import TypeAlias

from engrams.core import Kind, Record, StageDecision, Status
from engrams.extract.candidate import CandidateStatement, canonical_subject, covers_text
from engrams.extract.echo_removal import remove_echoes
from engrams.extract.gate import BRIEF, gate_text
from engrams.extract.rules import UtteranceContext, extract_statements
from engrams.frozen_data import dataclass
from engrams.settings import WriteSettings
from engrams.text.system_texts import remove_system_texts

HeardKey: TypeAlias = tuple[str, int, frozenset[str]]
"""A record's id and version, and the names of its conversation's speakers."""
Heard: TypeAlias = Mapping[HeardKey, list[CandidateStatement]]
NOTHING_HEARD: Heard = {}


@dataclass(frozen=True, slots=True)
class HearingTask:
    """Records to hear before their turn, and the speakers' names."""

    records: Sequence[Record]
    names: frozenset[str]
    settings: WriteSettings


def hear_records(task: HearingTask) -> Heard:
    """Find what rules extract from records, with what it depends on."""
    heard: dict[HeardKey, list[CandidateStatement]] = {}
    for record in task.records:
        own = gate_record(record, task.settings, (), (), [])
        if own is not None:
            heard[record.id, record.version, task.names] = extract_by_rules(own, task.names)
    return heard


def gate_record(
    record: Record,
    settings: WriteSettings,
    echoes: Collection[str],
    replies: Collection[str],
    decisions: list[StageDecision],
) -> Record | None:
    """Strip echoes from a record; None if nothing is to be learned.

    ``replies``: records that are understood by the question before them, however brief.
    """
    # A turn is learned from even if it left the working tier meanwhile.
    away = record.kind is Kind.TURN and record.status is Status.ARCHIVED
    if (record.status is not Status.ACTIVE and not away) or record.kind not in (
        Kind.TURN,
        Kind.EXCHANGE,
        Kind.NOTE,
    ):
        decisions.append(
            StageDecision("gate", "skip", f"{record.status} {record.kind}", record=record.id)
        )
        return None
    if record.kind is Kind.NOTE:
        return record
    if record.role not in settings.roles:
        decisions.append(
            StageDecision("gate", "skip", f"role {record.role or 'unknown'}", record=record.id)
        )
        return None
    injected = record.meta.get("echo")
    known = (
        {*echoes, *(mark for mark in injected if isinstance(mark, str))}
        if isinstance(injected, list | tuple)
        else echoes
    )
    own = remove_echoes(
        remove_system_texts(record.text) if "<" in record.text else record.text, known
    )
    refused = gate_text(own, min_words=settings.min_words) if settings.gate and own else None
    if refused is not None and refused.reason in BRIEF and record.id in replies:
        refused = None
    if refused is not None or not own:
        decisions.append(
            replace(
                refused or StageDecision("gate", "skip", "echo", record.text[:80]), record=record.id
            )
        )
        return None
    return record if own == record.text else replace(record, text=own)


def extract_by_rules(record: Record, names: frozenset[str]) -> list[CandidateStatement]:
    """Extract the statements of a record that the gate left."""
    named = record.speaker.strip()
    subject = canonical_subject(named, record.scope) if named else "user"
    speech = UtteranceContext(
        speaker=named or "the user",
        subject=subject,
        said_at=record.recorded_at,
        source=record.id,
        trust=record.trust,
        names=names,
    )
    found = [
        replace(candidate, subject=canonical_subject(candidate.subject, record.scope))
        for candidate in extract_statements(record.text, speech)
    ]
    if record.kind is Kind.NOTE and found and covers_text(record.text, found[0]):
        found[0] = replace(found[0], covers_source=True)
    return found
