"""Extraction by rules from messages: no store, no model.

``extract_by_rules`` reads one message. ``extract_records`` reads some before it is their turn, in
a helper process: its task and its answer can be pickled.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeAlias

from engrams.core import UTC_OFFSET, Kind, Record
from engrams.core.clock import local_time
from engrams.extract.candidate import CandidateStatement, canonical_subject, covers_text
from engrams.extract.gate import gate_record
from engrams.extract.rules.rule_extraction import extract_statements
from engrams.extract.rules.utterance import UtteranceContext
from engrams.frozen_data import dataclass, replace
from engrams.settings import WriteSettings

RuleInput: TypeAlias = tuple[str, int, frozenset[str]]
"""All that decides what rules extract: a record's id and version, and the names of speakers."""
RuleStatements: TypeAlias = Mapping[RuleInput, list[CandidateStatement]]
"""Statements that rules extracted before it was their records' turn."""
NO_STATEMENTS: RuleStatements = {}


@dataclass(frozen=True, slots=True)
class RuleExtractionTask:
    """Records to extract from before it is their turn."""

    records: Sequence[Record]
    speaker_names: frozenset[str]
    """Names of the speakers of the conversation, lower case."""
    settings: WriteSettings


def extract_records(task: RuleExtractionTask) -> RuleStatements:
    """Extract statements from records by rules; those that the gate stops are left out."""
    statements: dict[RuleInput, list[CandidateStatement]] = {}
    for record in task.records:
        gated = gate_record(record, task.settings, (), [])
        if gated is not None:
            rule_input = (record.id, record.version, task.speaker_names)
            statements[rule_input] = extract_by_rules(gated, task.speaker_names)
    return statements


def extract_by_rules(record: Record, speaker_names: frozenset[str]) -> list[CandidateStatement]:
    """Extract the statements of a record that passed the gate."""
    speaker = record.speaker.strip()
    speech = UtteranceContext(
        speaker=speaker or "the user",
        subject=canonical_subject(speaker, record.scope) if speaker else "user",
        said_at=record.recorded_at,
        told_at=local_time(record.recorded_at, record.meta.get(UTC_OFFSET)),
        source=record.id,
        trust=record.trust,
        names=speaker_names,
        project=record.scope.find("project"),
    )
    candidates = [
        replace(candidate, subject=canonical_subject(candidate.subject, record.scope))
        for candidate in extract_statements(record.text, speech)
    ]
    if record.kind is Kind.NOTE and candidates and covers_text(record.text, candidates[0]):
        candidates[0] = replace(candidates[0], covers_source=True)
    return candidates
