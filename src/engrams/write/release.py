"""Held candidates that are borne out become memories: each meets what is known by now, as if it had just been said."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from engrams.types import EdgeType, Record, Status
from engrams.write.candidate import Candidate, Effect
from engrams.write.changeset import Ledger
from engrams.write.deps import Deps
from engrams.write.neighbours import meet
from engrams.write.policy import Ruling
from engrams.write.promote import Cluster, merged
from engrams.write.reconcile import Meeting
from engrams.write.slots import is_single

_HELD = ("hold", "awaits", "review")


def release(promoted: Sequence[tuple[Cluster, str]], held: Sequence[Record], deps: Deps) -> Ledger:
    """A ledger in which each cluster is one active memory; ``held``: every candidate, of which none is known to the others.

    Its batch holds changes only: doing it again after a crash asks for the same ones, and a conflict where they were made.
    """
    first = held[0]
    ledger = Ledger(first.scope.owner, first.scope, deps.clock())
    ledger.before = {record.id: record for record in held}
    # Out of sight while the others meet what is known: two that were held are no news to each other.
    ledger.seen = {record.id: replace(record, status=Status.ARCHIVED) for record in held}
    for cluster, why in promoted:
        _release(cluster, why, deps, ledger)
    for record in held:
        if record.id not in ledger.actions:
            ledger.seen[record.id] = record
    return ledger


def candidate_of(record: Record) -> Candidate:
    """What a held record says, as a candidate again."""
    meta = record.meta
    effect: Effect = meta.get("effect") or ("changes" if meta.get("event") and record.category != "event" else "states")
    return Candidate(
        text=record.text,
        kind=record.kind,
        subject=record.subject,
        predicate=record.predicate,
        object=record.object,
        category=record.category,
        polarity=meta.get("polarity", True),
        modality=meta.get("modality", "asserted"),
        effect=effect,
        single=is_single(record.predicate, record.subject, record.object),
        hearsay=bool(meta.get("hearsay")),
        whole=bool(meta.get("whole")),
        evidence=record.evidence,
        confidence=record.confidence,
        importance=record.importance,
        trust=record.trust,
        said_at=record.recorded_at,
        valid_from=record.valid_from,
        valid_to=record.valid_to,
        settled=record.recorded_at,
        extractor=record.provenance.extractor,
        prompt=record.provenance.prompt,
        reason=record.provenance.reason,
        id=record.id,
    )


def _release(cluster: Cluster, why: str, deps: Deps, ledger: Ledger) -> None:
    whole, lead = merged(cluster), cluster.lead
    ledger.scope = lead.scope
    candidate = candidate_of(whole)
    off = deps.settings.reconcile == "off"
    meeting = Meeting("add", candidate, reason="reconcile off") if off else meet(candidate, lead, deps, ledger)
    name = ledger.apply(meeting, Ruling("commit_now", why), lead)
    new = ledger.fresh.pop(lead.id, None)
    if new is None:
        # It is known by now: the memory that says so was strengthened, and stands for this one.
        ledger.seen[lead.id] = replace(lead, status=Status.SUPERSEDED, superseded_by=name)
    else:
        meta = {key: value for key, value in lead.meta.items() if key not in _HELD}
        ledger.seen[lead.id] = replace(
            lead, status=new.status, valid_from=new.valid_from, valid_to=new.valid_to, ended_at=new.ended_at,
            superseded_by=new.superseded_by, evidence=whole.evidence, strength=max(whole.strength, new.strength),
            confidence=whole.confidence, meta=meta,
        )  # fmt: skip
    for key in [key for key in ledger.edges if key[0] in (lead.id, name) and key[2] is EdgeType.DERIVED_FROM]:
        del ledger.edges[key]  # they were made when it was held
    ledger.actions[lead.id] = ("promote", why)
    for other in cluster.members[1:]:
        ledger.seen[other.id] = replace(other, status=Status.SUPERSEDED, superseded_by=name)
        ledger.actions[other.id] = ("merge", "says the same")
