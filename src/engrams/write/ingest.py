"""Storing of messages: read ``add`` from top to bottom.

The journal comes first: a message is durable before anything is asked of a model. Rules alone are
fast enough to learn before it is stored, so that message and facts take one transaction.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from engrams.core import CONFIRMED, Receipt, Scope, Turn, build_tag_edges
from engrams.errors import EngramsError, RefusedError
from engrams.extract.redaction import refuse_secrets
from engrams.frozen_data import dataclass, replace
from engrams.ports import EXTRACT, JobSpec, StorageUse, WriteBatch
from engrams.write.extraction_jobs import OwnExtraction, find_own_extraction
from engrams.write.guards import admit
from engrams.write.ingest_request import IngestDeps, IngestRequest
from engrams.write.journal import JournalEntry, journal
from engrams.write.working_tier import TierWriteResult

if TYPE_CHECKING:
    from engrams.write.digest import LearnedAhead
    from engrams.write.reconcile import DigestResult

__all__ = ["IngestDeps", "IngestRequest", "IngestResult", "add", "commit"]


@dataclass(frozen=True, slots=True)
class IngestResult:
    """Receipts of the turns of one write, and the work that is left to its caller."""

    receipts: tuple[Receipt, ...]
    """One for each turn, in order."""
    own_extraction: OwnExtraction | None = None
    """Job that the caller has to run; None: there is none, or a worker runs it."""
    is_learned: bool = False
    """What the turns say was stored with them, so that no extraction job waits."""


def add(request: IngestRequest, deps: IngestDeps) -> IngestResult:
    """Store turns in order, with the jobs that follow.

    They are durable when this returns. InputError: a turn is empty, too large or malformed; then
    none is stored. RefusedError: a single turn was refused, as by a secret. BudgetError: the
    owner's memory would grow beyond its quota.
    """
    request = replace(request, scope=request.scope.destination)
    admission = admit(request.turns, request.scope, deps.guards, is_live=request.is_live)
    if not admission.turns:
        return IngestResult(admission.join_receipts(()))
    turns = admission.turns
    if not request.is_let_in:
        turns = tuple(map(_drop_confirmation, turns))
    entry = journal(turns, request, deps)
    if not entry.puts:
        _raise_refusal(entry.receipts)
        return IngestResult(admission.join_receipts(entry.receipts))
    learned = None
    if entry.has_own_job:
        from engrams.write.digest import learn_ahead  # an observe needs no rules: they load late

        learned = learn_ahead(entry.records, deps.write)
    result = commit(entry, learned, request, deps)
    return replace(result, receipts=admission.join_receipts(result.receipts))


def commit(
    entry: JournalEntry, learned: LearnedAhead | None, request: IngestRequest, deps: IngestDeps
) -> IngestResult:
    """Store messages with what was learned from them, in one transaction.

    They are stored alone if nothing is learned yet, or if somebody changed meanwhile the memory
    that they were compared with. Then a job learns from them.
    """
    quota = deps.write.settings.quota
    batch = WriteBatch(
        request.channel or "user",
        "said",
        entry.now,
        puts=entry.puts,
        edges=tuple(
            edge for put in entry.puts for edge in build_tag_edges(put.record, put.record.tags)
        ),
        jobs=entry.jobs,
        sessions=entry.session_rows,
        quota=StorageUse(quota.records, quota.bytes),
    )
    digest = _choose_digest(learned, deps)
    outcome = _store_learned(batch, digest, request.scope, deps) if digest is not None else None
    if outcome is None:
        digest = None
        outcome = _store(batch, request.scope, deps)
    deps.spoken_sessions.note(entry.session_rows)
    jobs = entry.jobs if digest is None else _without_own(entry.jobs)
    # Behind these jobs the store lists those that the working tier and the digest added.
    job_ids = outcome.result.jobs[: len(jobs)]
    receipts = _complete_receipts(entry.receipts, outcome, jobs, deps)
    is_new = len(outcome.result.existing) < len(entry.puts)
    if digest is not None and is_new and not outcome.result.crisis:
        receipts = tuple(digest.complete(receipt, EXTRACT) for receipt in receipts)
        return IngestResult(receipts, is_learned=True)
    extraction = None if learned is None else learned.extraction
    own = find_own_extraction(jobs, job_ids, entry.records, entry.now, extraction)
    return IngestResult(receipts, own)


def _drop_confirmation(turn: Turn) -> Turn:
    """Leave out the key that makes foreign words the user's own."""
    if CONFIRMED not in turn.meta:
        return turn
    return replace(turn, meta={name: turn.meta[name] for name in turn.meta if name != CONFIRMED})


# --------------------------------------------------------------------------------------------------
# steps of the commit


def _choose_digest(learned: LearnedAhead | None, deps: IngestDeps) -> DigestResult | None:
    """Return what can be stored with the messages; None: it takes a job.

    A turn that passes the working tier may be skipped there, so that nothing follows from it.
    """
    if learned is None or (deps.tier is not None and learned.extraction.has_candidates):
        return None
    return learned.digest


def _store_learned(
    batch: WriteBatch, digest: DigestResult, scope: Scope, deps: IngestDeps
) -> TierWriteResult | None:
    """Store messages with what follows from them; None: the memory changed meanwhile."""
    jobs = _without_own(batch.jobs)
    if digest.is_empty:
        follow_ups = tuple(replace(spec, fresh=True, calm=True) for spec in digest.batch.jobs)
        return _store(replace(batch, jobs=(*jobs, *follow_ups)), scope, deps)
    try:
        return _store(replace(batch, jobs=jobs, then=digest.batch), scope, deps)
    except EngramsError:
        # Nothing of the transaction is stored. Where the messages themselves are at fault, storing
        # them alone raises the error again.
        return None


def _store(batch: WriteBatch, scope: Scope, deps: IngestDeps) -> TierWriteResult:
    if deps.tier is None:
        return TierWriteResult(deps.write.store.commit(batch))
    return deps.tier.commit(batch, scope)


def _without_own(jobs: Sequence[JobSpec]) -> tuple[JobSpec, ...]:
    """Return the jobs without the one that the caller would run itself."""
    return tuple(spec for spec in jobs if spec.lease is None)


def _complete_receipts(
    receipts: Sequence[Receipt],
    outcome: TierWriteResult,
    jobs: Sequence[JobSpec],
    deps: IngestDeps,
) -> tuple[Receipt, ...]:
    """Say in each receipt what became of its turn. ``jobs``: those that were to be stored."""
    job_ids = outcome.result.jobs[: len(jobs)]
    pending = dict.fromkeys(spec.kind for spec, job_id in zip(jobs, job_ids, strict=True) if job_id)
    is_incognito = deps.write.settings.incognito
    return tuple(
        _complete_receipt(receipt, outcome, tuple(pending), is_incognito=is_incognito)
        for receipt in receipts
    )


def _complete_receipt(
    receipt: Receipt, outcome: TierWriteResult, pending: tuple[str, ...], *, is_incognito: bool
) -> Receipt:
    """Complete the receipt of one turn. ``pending``: kinds of the jobs that wait."""
    if receipt.outcome == "refused":
        return receipt
    skipped = outcome.skipped.get(receipt.id)
    if skipped is not None:
        receipt = replace(receipt, decisions=(*receipt.decisions, skipped), searchable=())
    existing_id = outcome.result.existing.get(receipt.id) or outcome.twins.get(receipt.id)
    if existing_id:
        return replace(receipt, id=existing_id, outcome="duplicate")
    if is_incognito:
        receipt = replace(receipt, outcome="incognito")
    return replace(receipt, pending=pending)


def _raise_refusal(receipts: Sequence[Receipt]) -> None:
    """Raise the RefusedError of a single turn that was refused."""
    if len(receipts) != 1 or receipts[0].outcome != "refused":
        return
    decisions = receipts[0].decisions
    reasons = ", ".join(dict.fromkeys(decision.reason for decision in decisions)) or "a secret"
    if any(decision.stage == "ignored" for decision in decisions):
        raise RefusedError(
            f"Not stored: an ignore file names its file ({reasons}).",
            hint="Change the ignore file.",
        )
    refuse_secrets(decisions)
    raise RefusedError(f"Not stored: {reasons}.")
