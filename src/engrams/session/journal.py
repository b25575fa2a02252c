"""What was said, made durable: one transaction for the turns, their index entries, their vectors and the work to come."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

from engrams.errors import RefusedError
from engrams.ports import EMBED, EXTRACT, Batch, Clock, Committed, Embedder, JobSpec, Store
from engrams.settings import Settings
from engrams.types import Kind, Receipt, Record, Scope, Turn, Vector, clean_text
from engrams.write import flow
from engrams.write.journal import clean_secrets

_HOLD = timedelta(seconds=20)
"""How long a job waits for the caller that means to run it at once, before any worker may."""


@dataclass(frozen=True, slots=True)
class Written:
    """Receipts, and the job that the caller may run at once (empty: none)."""

    receipts: tuple[Receipt, ...]
    job: str = ""


class Journal:
    """Turns to records. Zero model calls, except an embedder that is fast enough to run inside a write."""

    def __init__(self, store: Store, embedder: Embedder, clock: Clock, settings: Settings) -> None:
        self._store, self._embedder, self._clock, self._settings = store, embedder, clock, settings
        self._deps = flow.Deps(store, settings.write, settings.limits, clock, store, embedder)

    def write(self, turns: Sequence[Turn], scope: Scope, kind: Kind, *, channel: str = "", hold: bool = False) -> Written:
        """Store them, in order. ``hold``: the extraction job is left for the caller to run first."""
        now = self._clock()
        if not self._settings.enabled:
            return Written(tuple(Receipt("", scope, "refused", now) for _ in turns))
        journaled = flow.journal(turns, scope, self._deps, kind=kind, channel=channel)
        if len(turns) == 1 and not journaled.records:
            found = ", ".join(dict.fromkeys(decision.reason for decision in journaled.receipts[0].decisions)) or "a secret"
            raise RefusedError(f"Not stored: it holds {found}.", hint="Take it out, or set `write.secrets` to redact.")
        puts = tuple(replace(put, dedup=kind is Kind.NOTE) for put in journaled.puts)
        jobs = self._jobs(journaled, scope, now, hold)
        done = self._store.commit(Batch(channel or "user", "said", now, puts=puts, jobs=jobs)) if puts else Committed()
        waiting = {job.kind: name for job, name in zip(jobs, done.jobs, strict=True)}
        receipts = tuple(self._receipt(receipt, done, tuple(waiting)) for receipt in journaled.receipts)
        return Written(receipts, "" if done.existing else waiting.get(EXTRACT, ""))

    def prepared(self, record: Record, fields: dict[str, Any]) -> tuple[dict[str, Any], tuple[Vector, ...]]:
        """An edit's fields, its text cleaned and rid of secrets, and the new vector where the text changed."""
        for name in ("text", "caption", "summary"):
            if fields.get(name):
                fields = {**fields, name: self._cleaned(clean_text(fields[name], self._settings.limits.text_bytes))}
        card = self._embedder.card
        if not {"text", "caption"} & set(fields) or not card.inline or not card.dimension:
            return fields, ()
        row = self._embedder.embed([replace(record, **fields).search_text])[0]
        return fields, (Vector(record.id, card.id, card.dimension, row.tobytes()),)

    def _cleaned(self, text: str) -> str:
        kept, decisions = clean_secrets(text, self._settings.write)
        if any(decision.verdict == "refused" for decision in decisions):
            raise RefusedError("Not stored: it holds a secret.", hint="Take it out, or set `write.secrets` to redact.")
        return kept

    def _jobs(self, journaled: flow.Journaled, scope: Scope, now: datetime, hold: bool) -> tuple[JobSpec, ...]:
        section = self._settings.write
        records, tries = journaled.records, self._settings.jobs.retries
        jobs = []
        learn = [record.id for record in records if record.role in section.speakers or record.kind is Kind.NOTE]
        if learn and section.extract != "off":
            model = self._settings.chat.provider != "none" and section.extract in ("auto", "llm")
            # A model looks at a conversation in quiet moments; rules look at each write, so their work is never merged.
            key = f"{scope.key}|{records[0].session}" if model else f"{scope.key}|{learn[0]}"
            due = now + timedelta(seconds=section.debounce) if model else now + _HOLD if hold else None
            jobs.append(JobSpec(EXTRACT, key, {"scope": scope.key, "items": learn}, due, debounce=model, attempts=tries))
        if self._embedder.card.dimension and any(put.vector is None for put in journaled.puts):
            jobs.append(JobSpec(EMBED, self._embedder.card.id, attempts=tries))
        return tuple(jobs)

    def _receipt(self, receipt: Receipt, done: Committed, waiting: tuple[str, ...]) -> Receipt:
        if receipt.outcome == "refused":
            return receipt
        known = done.existing.get(receipt.id)
        if known:
            return replace(receipt, id=known, outcome="duplicate")
        return replace(receipt, outcome="incognito" if self._settings.incognito else receipt.outcome, pending=waiting)
