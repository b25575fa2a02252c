"""Jobs that write the rolling summary of a conversation anew. They load no rules."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from engrams.core import RUNNING, Record, Scope, conversation
from engrams.ports import ROLL, JobSpec
from engrams.write.write_deps import WriteDeps


def plan_new_summary(record: Record, deps: WriteDeps) -> tuple[JobSpec, ...]:
    """Plan a new summary of the conversation that an edited record belongs to."""
    key = conversation(record.scope, record.session)
    if deps.chat is None or not deps.settings.summary.enabled or key == (record.scope.owner, ""):
        return ()
    return (plan_summary(*key, [], deps),)


def plan_renewed_summaries(records: Iterable[Record]) -> tuple[JobSpec, ...]:
    """Plan an update of each rolling summary among records that go or come back."""
    keys = {
        (record.scope, record.session)
        for record in records
        if record.meta.get(RUNNING) == "rolling"
    }
    return tuple(_make_summary_job(scope, session, []) for scope, session in sorted(keys))


def plan_summary(scope: Scope, session: str, ids: list[str], deps: WriteDeps) -> JobSpec:
    """Plan the update of a conversation's summary by new statements; ``ids``: theirs."""
    job = _make_summary_job(scope, session, ids)
    return replace(job, attempts=deps.settings.jobs.max_attempts)


def _make_summary_job(scope: Scope, session: str, ids: list[str]) -> JobSpec:
    payload = {"scope": scope.key, "session": session, "items": ids}
    return JobSpec(ROLL, f"{scope.key}|{session}", payload)
