"""Promotion of held candidates at the end of a session."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field, replace
from typing import TYPE_CHECKING

from engrams.core import EdgeType, Evidence, Layer, Record, Status
from engrams.extract.candidate import CandidateStatement, Effect
from engrams.extract.policy import StoragePolicyDecision, has_support
from engrams.extract.predicate_slots import canonical_predicate, is_single
from engrams.frozen_data import dataclass
from engrams.text.normalize import fold
from engrams.text.terms import terms
from engrams.write.change_set import DigestChangeSet
from engrams.write.dependencies import WriteDeps
from engrams.write.write_pipeline import reconcile_candidate

if TYPE_CHECKING:
    from engrams.ports.candidate_search import Floats

_HELD = ("hold", "awaits", "review")
_OVERLAP = 0.5
_SHARED = 3
_CLOSE = 0.8
_QUOTES = 3
_HIGH = 0.9
_SURE = 3
"""Confidence of a rule given three times, and that count."""


@dataclass(frozen=True, slots=True)
class HeldCandidateCluster:
    """Held candidates that say one thing, the leading one first."""

    members: tuple[Record, ...]

    @property
    def lead(self) -> Record:
        return self.members[0]

    @property
    def is_procedural(self) -> bool:
        return self.lead.layer is Layer.PROCEDURAL

    @property
    def support(self) -> int:
        """Number of times it was said."""
        return sum(record.strength for record in self.members)

    @property
    def needs_repetition(self) -> bool:
        return any(record.meta.get("hold") == "require_repetition" for record in self.members)


@dataclass(frozen=True, slots=True)
class PromotionEvidence:
    """Earlier and current records that may support held candidates.

    ``transcript``: turns of the session; ``account``: parts of its account; ``earlier``: statements
    of earlier sessions; ``vectors``: by record id.
    """

    transcript: Sequence[Record] = ()
    account: Sequence[str] = ()
    earlier: Sequence[Record] = ()
    vectors: Mapping[str, Floats] = field(default_factory=dict)


def cluster_held(
    held: Sequence[Record], vectors: Mapping[str, Floats] | None = None
) -> tuple[HeldCandidateCluster, ...]:
    """Group held candidates by meaning, in order of first mention.

    A procedural record leads its cluster.
    """
    groups: list[list[Record]] = []
    for record in sorted(held, key=lambda one: one.story_key):
        group = next(
            (
                group
                for group in groups
                if any(is_same_statement(record, one, vectors or {}) for one in group)
            ),
            None,
        )
        if group is None:
            groups.append([record])
        else:
            group.append(record)
    return tuple(
        HeldCandidateCluster(
            tuple(
                sorted(group, key=lambda one: (one.layer is not Layer.PROCEDURAL, -one.confidence))
            )
        )
        for group in groups
    )


def is_same_statement(one: Record, other: Record, vectors: Mapping[str, Floats]) -> bool:
    """Compare two held statements by key, words or vectors.

    The same key; or objects that overlap by half or by three words; or equal objects that are near
    in meaning. Near in meaning alone is not enough: "allergic to nuts" and "allergic to shellfish"
    stay apart. A denial never equals an affirmation.
    """
    rules = one.layer is Layer.PROCEDURAL, other.layer is Layer.PROCEDURAL
    about = fold(one.subject) == fold(other.subject)
    if one.meta.get("polarity") != other.meta.get("polarity") or (
        not about and rules[0] == rules[1]
    ):
        return False
    equal = bool(one.object) and fold(one.object) == fold(other.object)
    if (
        equal
        and about
        and canonical_predicate(one.predicate) == canonical_predicate(other.predicate)
    ):
        return True
    mine = _object_terms(one)
    theirs = _object_terms(other)
    both = len(mine & theirs)
    if both and (both >= _SHARED or both >= _OVERLAP * len(mine | theirs)):
        return True
    near = vectors.get(one.id), vectors.get(other.id)
    return (
        equal and near[0] is not None and near[1] is not None and float(near[0] @ near[1]) >= _CLOSE
    )


def find_matching(record: Record, held: Sequence[Record]) -> tuple[Record, ...]:
    """Find held records that repeat or quote the record."""
    return tuple(
        one
        for one in held
        if one.id != record.id
        and (
            record.id in {quote.source for quote in one.evidence}
            or (_object_terms(record) and is_same_statement(one, record, {}))
        )
    )


def promotion_reason(cluster: HeldCandidateCluster, bearing: PromotionEvidence) -> str:
    """Return why a cluster is promoted; empty: it stays held.

    A rule must have been given twice; for others support decides.
    """
    if any(record.meta.get("review") for record in cluster.members):
        return ""
    support = cluster.support
    if cluster.is_procedural:
        return f"given {support} times" if support >= 2 else ""
    transcript = sum(_is_said_in(cluster, turn) for turn in bearing.transcript)
    account = sum(_mentions(cluster.lead, part) for part in bearing.account)
    earlier = sum(
        any(is_same_statement(one, member, bearing.vectors) for member in cluster.members)
        for one in bearing.earlier
    )
    if not has_support(
        support,
        repetition=cluster.needs_repetition,
        transcript=transcript,
        arc=account,
        earlier=earlier,
    ):
        return ""
    return (
        f"support: said {support}, in the session's account {account}, in earlier sessions"
        f" {earlier}"
    )


def merge_cluster(cluster: HeldCandidateCluster) -> Record:
    """Merge a cluster into its lead, with all quotes and strength."""
    quotes: dict[tuple[str, str], Evidence] = {
        (item.quote, item.source): item for one in cluster.members for item in one.evidence
    }
    evidence = tuple(quotes.values())
    lead = cluster.lead
    if not cluster.is_procedural:
        return replace(
            lead,
            evidence=evidence,
            strength=cluster.support,
            confidence=max(one.confidence for one in cluster.members),
        )
    confidence = (
        max(lead.confidence, _HIGH) if cluster.support >= _SURE else min(lead.confidence, 0.6)
    )
    return replace(
        lead, evidence=evidence[:_QUOTES], strength=cluster.support, confidence=confidence
    )


def promote_clusters(
    promoted: Sequence[tuple[HeldCandidateCluster, str]], held: Sequence[Record], deps: WriteDeps
) -> DigestChangeSet:
    """Return the changes that make each cluster one active memory.

    ``held``: every held candidate; they do not see each other. The batch holds changes only:
    repeating it after a crash asks for the same ones, and raises a conflict where they were made.
    """
    first = held[0]
    changes = DigestChangeSet(first.scope.owner, first.scope, deps.clock())
    changes.originals = {record.id: record for record in held}
    # Archived here, so that held candidates do not match each other.
    changes.current = {record.id: replace(record, status=Status.ARCHIVED) for record in held}
    for cluster, why in promoted:
        _promote_cluster(cluster, why, deps, changes)
    for record in held:
        if record.id not in changes.actions:
            changes.current[record.id] = record
    return changes


def to_candidate(record: Record) -> CandidateStatement:
    """Convert a held record back to a candidate."""
    meta = record.meta
    effect: Effect = meta.get("effect") or (
        "changes" if meta.get("event") and record.category != "event" else "states"
    )
    return CandidateStatement(
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
        covers_source=bool(meta.get("whole")),
        evidence=record.evidence,
        confidence=record.confidence,
        importance=record.importance,
        trust=record.trust,
        said_at=record.recorded_at,
        valid_from=record.valid_from,
        valid_to=record.valid_to,
        effective_at=record.recorded_at,
        extractor=record.provenance.extractor,
        prompt=record.provenance.prompt,
        reason=record.provenance.reason,
        id=record.id,
    )


def _promote_cluster(
    cluster: HeldCandidateCluster, why: str, deps: WriteDeps, changes: DigestChangeSet
) -> None:
    whole = merge_cluster(cluster)
    lead = cluster.lead
    changes.scope = lead.scope
    candidate = to_candidate(whole)
    name = changes.apply(
        reconcile_candidate(candidate, lead, deps, changes),
        StoragePolicyDecision("commit_now", why),
        lead,
    )
    new = changes.created.pop(lead.id, None)
    if new is None:
        # Known by now: the existing memory was reinforced and supersedes this one.
        changes.current[lead.id] = replace(lead, status=Status.SUPERSEDED, superseded_by=name)
    else:
        meta = {key: value for key, value in lead.meta.items() if key not in _HELD}
        changes.current[lead.id] = replace(
            lead,
            status=new.status,
            valid_from=new.valid_from,
            valid_to=new.valid_to,
            ended_at=new.ended_at,
            superseded_by=new.superseded_by,
            evidence=whole.evidence,
            strength=max(whole.strength, new.strength),
            confidence=whole.confidence,
            meta=meta,
        )
    for key in [
        key
        for key in changes.edges
        if key[0] in (lead.id, name) and key[2] is EdgeType.DERIVED_FROM
    ]:
        del changes.edges[key]  # they were made when it was held
    changes.actions[lead.id] = ("promote", why)
    for other in cluster.members[1:]:
        changes.current[other.id] = replace(other, status=Status.SUPERSEDED, superseded_by=name)
        changes.actions[other.id] = ("merge", "says the same")


def _object_terms(record: Record) -> frozenset[str]:
    return frozenset(terms(record.object or record.text))


def _is_said_in(cluster: HeldCandidateCluster, turn: Record) -> bool:
    return any(
        item.source == turn.id or (item.quote and item.quote in turn.text)
        for one in cluster.members
        for item in one.evidence
    )


def _mentions(record: Record, part: str) -> bool:
    """True if a part shares half the record's object terms."""
    words = _object_terms(record)
    return bool(words) and 2 * len(words & set(terms(part))) >= len(words)
