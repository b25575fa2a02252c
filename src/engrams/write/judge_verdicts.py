"""Decisions of a judge about new statements: is it the same, is it a change, or neither.

``ask_judge`` is the entry. What the judge is not sure about is left to the chat model, or to rules.
"""

from __future__ import annotations

from collections.abc import Sequence

from engrams.core import Record, StageDecision
from engrams.core.tellers_clock import told_at
from engrams.errors import ModelError
from engrams.extract.candidate import CandidateStatement
from engrams.frozen_data import dataclass
from engrams.ports import Judge, JudgeRequest
from engrams.settings import JudgeSettings
from engrams.write.model_verdicts import ModelReconcileDecision

_MAX_PAIRS = 200
"""Pairs of a new and a known statement in one request; each is two questions."""


@dataclass(frozen=True, slots=True)
class _PairVerdict:
    """Probabilities of one new statement beside one known one."""

    known_number: int
    """Number of the known statement, from 1."""
    same: float
    changes: float


def ask_judge(
    candidates: Sequence[CandidateStatement],
    known_statements: Sequence[Record],
    judge: Judge,
    settings: JudgeSettings,
    decisions: list[StageDecision],
) -> dict[int, ModelReconcileDecision]:
    """Return the decisions of which the judge is sure, by the number of the new statement.

    Empty where it fails, or where there are too many pairs.
    """
    if not candidates or not known_statements:
        return {}
    if len(candidates) * len(known_statements) > _MAX_PAIRS:
        return {}
    try:
        probabilities = judge.judge(
            JudgeRequest(
                text=_describe(candidates, known_statements),
                statements=tuple(_build_statements(len(candidates), len(known_statements))),
                seconds=settings.seconds,
            )
        )
    except ModelError as problem:
        decisions.append(
            StageDecision("reconcile", "repair", f"the judge failed: {problem.message}"[:200])
        )
        return {}
    sure_rows: dict[int, ModelReconcileDecision] = {}
    width = 2 * len(known_statements)
    for number in range(1, len(candidates) + 1):
        row = _decide(number, probabilities[(number - 1) * width : number * width], settings)
        if row is not None:
            sure_rows[number] = row
    return sure_rows


def _describe(candidates: Sequence[CandidateStatement], known_statements: Sequence[Record]) -> str:
    known_lines = "\n".join(
        f"K{number}. {record.text} (said {told_at(record):%Y-%m-%d})"
        for number, record in enumerate(known_statements, 1)
    )
    new_lines = "\n".join(
        f"N{number}. {candidate.text}" for number, candidate in enumerate(candidates, 1)
    )
    return f"Known statements:\n{known_lines}\n\nNew statements, said later:\n{new_lines}"


def _build_statements(new_count: int, known_count: int) -> list[str]:
    """Build two questions for each pair, all of one new statement together."""
    statements = []
    for new_number in range(1, new_count + 1):
        new_label = f"N{new_number}"
        for known_number in range(1, known_count + 1):
            known_label = f"K{known_number}"
            statements.append(f"{new_label} says nothing but what {known_label} says already.")
            statements.append(f"Since {new_label} is true, {known_label} is true no longer.")
    return statements


def _decide(
    number: int, probabilities: Sequence[float | None], settings: JudgeSettings
) -> ModelReconcileDecision | None:
    """Decide about one new statement; None: the judge is not sure of every pair."""
    verdicts: list[_PairVerdict] = []
    for known_number in range(1, len(probabilities) // 2 + 1):
        same = probabilities[2 * known_number - 2]
        changes = probabilities[2 * known_number - 1]
        if same is None or changes is None:
            return None
        verdicts.append(_PairVerdict(known_number, same, changes))
    is_sure = all(
        probability >= settings.threshold or probability <= 1 - settings.threshold
        for verdict in verdicts
        for probability in (verdict.same, verdict.changes)
    )
    if not is_sure:
        return None
    changed = tuple(
        verdict.known_number for verdict in verdicts if verdict.changes >= settings.threshold
    )
    if changed:
        return ModelReconcileDecision(
            new=number,
            verdict="replace",
            known=changed,
            confidence="high",
            reason="judged a change",
        )
    nearest = max(verdicts, key=lambda verdict: verdict.same)
    if nearest.same >= settings.threshold:
        return ModelReconcileDecision(
            new=number,
            verdict="keep",
            known=(nearest.known_number,),
            confidence="high",
            reason="judged the same",
        )
    return ModelReconcileDecision(
        new=number, verdict="add", confidence="high", reason="judged to be new"
    )
