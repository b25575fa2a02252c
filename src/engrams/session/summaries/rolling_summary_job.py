"""Rolling summary: a job that brings a conversation's summary up to date with what was learned."""

from __future__ import annotations

from collections.abc import Sequence

from engrams import prompts
from engrams.core import EVICTED, Kind, Record, Scope, Status
from engrams.ports import Job, RecordQuery, ScopeReach
from engrams.session.summaries.dependencies import SummaryDeps
from engrams.session.summaries.message_window import keep_start
from engrams.session.summaries.summary_records import (
    MAX_COVERED,
    SummaryKey,
    SummaryRecords,
    SummaryUpdate,
)
from engrams.session.summaries.summary_request import ask_for_summary
from engrams.settings import SummarySettings

STATED = (Kind.FACT, Kind.PREFERENCE, Kind.PROCEDURE, Kind.CORRECTION, Kind.NEGATIVE, Kind.RULE)
"""Kinds that a rolling summary tells."""

_MAX_STATEMENTS = 500
"""Statements that a new summary is made of: the oldest."""


class RollingSummaryUpdater:
    """Handler of the job ``ROLL``."""

    def __init__(
        self, deps: SummaryDeps, records: SummaryRecords, settings: SummarySettings
    ) -> None:
        self._deps = deps
        self._records = records
        self._settings = settings

    def run_job(self, job: Job) -> None:
        """Update a conversation's summary with newly learned statements.

        Without news or a model it stays. ModelError, BudgetError: the model failed; the summary
        stays, and the job is tried again.
        """
        deps = self._deps
        key = SummaryKey(
            Scope.parse(job.payload["scope"]), str(job.payload.get("session", "")), "rolling"
        )
        current = self._records.find(key)
        covered_ids: list[str] = list(current.meta.get("ids", ())) if current else []
        covered = set(covered_ids)
        statements = [
            record
            for record in self._load_statements(key, list(job.payload.get("items", ())), current)
            if record.id not in covered
        ]
        if deps.chat is None or not self._settings.enabled or not statements:
            deps.store.finish(job.lease, deps.clock())
            return
        addition = "\n".join(f"- {prompts.quote(record.text)}" for record in statements)
        text = ask_for_summary(
            deps.chat, current.text if current else "", addition, self._settings.tokens
        )
        statement_ids = [record.id for record in statements]
        update = SummaryUpdate(
            text=keep_start(text, self._settings.tokens, deps.counter),
            meta={"ids": [*covered_ids, *statement_ids][-MAX_COVERED:]},
            sources=statements,
            lease=job.lease,
        )
        self._records.save(key, current, update)

    def _load_statements(
        self, key: SummaryKey, ids: Sequence[str], current: Record | None
    ) -> Sequence[Record]:
        """Load the statements of the job.

        For a new summary, and where the job names none, these are all of the conversation's.
        """
        owner = key.scope.owner
        needs_all = current is None or not ids
        if current is None:
            ids = [*self._records.list_retired_ids(key), *ids]
        records = {record.id: record for record in self._deps.store.get(owner, ids)}
        if needs_all:
            query = RecordQuery(
                ScopeReach(owner, (key.scope,)),
                STATED,
                session=key.session,
                order="oldest",
                limit=_MAX_STATEMENTS,
            )
            records |= {record.id: record for record in self._deps.store.find(query).records}
        # A statement over the conversation's cap is out of reach, and no less true.
        return [
            record
            for record in records.values()
            if record.kind in STATED and (record.status is Status.ACTIVE or EVICTED in record.meta)
        ]
