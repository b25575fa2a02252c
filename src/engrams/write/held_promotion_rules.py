"""Promotion of held candidates at the end of a session."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from engrams.core import EdgeType, Evidence, Layer, Record, Status
from engrams.extract.candidate import CandidateStatement, Effect
from engrams.extract.policy import StoragePolicyDecision, has_support
from engrams.extract.predicate_slots import canonical_predicate, is_single
from engrams.text.comparison.statement_comparison import are_opposite
from engrams.text.normalize import fold
from engrams.text.terms import terms
from engrams.write.candidate_reconciler import CandidateReconciler
from engrams.write.change_set import DigestChangeSet
from engrams.write.write_deps import WriteDeps

if TYPE_CHECKING:
    from engrams.ports.candidate_search import Floats

_HOLDING_META = ("hold", "awaits", "review")
"""Metadata of a statement that is held, and not stored yet."""
_MIN_OVERLAP = 0.5
_MIN_SHARED = 3
"""Share, and number, of object terms from which two statements say the same."""
_MIN_COSINE = 0.8
_MAX_RULE_QUOTES = 3
_HIGH_CONFIDENCE = 0.9
_LOW_CONFIDENCE = 0.6
_CERTAIN_SUPPORT = 3
"""Times from which a repeated rule has high confidence; before, it has low confidence at most."""


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
    """Texts and statements that may support held candidates."""

    transcript: Sequence[Record] = ()
    """Turns of the session."""
    account: Sequence[str] = ()
    """Parts of the session's account."""
    earlier: Sequence[Record] = ()
    """Statements of earlier sessions."""
    vectors: Mapping[str, Floats] = field(default_factory=dict)
    """Unit vectors by record id."""


def cluster_held(
    held_records: Sequence[Record], vectors: Mapping[str, Floats] | None = None
) -> tuple[HeldCandidateCluster, ...]:
    """Group held candidates by meaning, in order of first mention.

    A procedural record leads its cluster.
    """
    groups: list[list[Record]] = []
    for record in sorted(held_records, key=lambda record: record.story_key):
        for group in groups:
            if any(is_same_statement(record, member, vectors or {}) for member in group):
                group.append(record)
                break
        else:
            groups.append([record])
    return tuple(
        HeldCandidateCluster(
            tuple(
                sorted(
                    group,
                    key=lambda record: (
                        record.layer is not Layer.PROCEDURAL,
                        -record.confidence,
                    ),
                )
            )
        )
        for group in groups
    )


def is_same_statement(record_a: Record, record_b: Record, vectors: Mapping[str, Floats]) -> bool:
    """Compare two held statements by key, words or vectors.

    The same key; or objects that overlap by half or by three words; or equal objects that are near
    in meaning. Near in meaning alone is not enough: "allergic to nuts" and "allergic to shellfish"
    stay apart. A denial never equals an affirmation, nor one of two opposites the other.
    """
    is_same_layer = (record_a.layer is Layer.PROCEDURAL) == (record_b.layer is Layer.PROCEDURAL)
    is_same_subject = fold(record_a.subject) == fold(record_b.subject)
    if record_a.meta.get("polarity") != record_b.meta.get("polarity"):
        return False
    if is_same_layer and not is_same_subject:
        return False
    if is_same_layer and are_opposite(record_a.text, record_b.text):
        return False
    is_same_object = bool(record_a.object) and fold(record_a.object) == fold(record_b.object)
    is_same_predicate = canonical_predicate(record_a.predicate) == canonical_predicate(
        record_b.predicate
    )
    if is_same_object and is_same_subject and is_same_predicate:
        return True
    terms_a = _object_terms(record_a)
    terms_b = _object_terms(record_b)
    shared = len(terms_a & terms_b)
    if shared and (shared >= _MIN_SHARED or shared >= _MIN_OVERLAP * len(terms_a | terms_b)):
        return True
    vector_a = vectors.get(record_a.id)
    vector_b = vectors.get(record_b.id)
    if not is_same_object or vector_a is None or vector_b is None:
        return False
    return float(vector_a @ vector_b) >= _MIN_COSINE


def find_matching(record: Record, held_records: Sequence[Record]) -> tuple[Record, ...]:
    """Find held records that repeat or quote the record."""
    return tuple(
        candidate
        for candidate in held_records
        if candidate.id != record.id
        and (
            record.id in {item.source for item in candidate.evidence}
            or (_object_terms(record) and is_same_statement(candidate, record, {}))
        )
    )


def promotion_reason(cluster: HeldCandidateCluster, evidence: PromotionEvidence) -> str:
    """Return why a cluster is promoted; empty: it stays held.

    A rule must have been given twice; for others support decides.
    """
    if any(record.meta.get("review") for record in cluster.members):
        return ""
    support = cluster.support
    if cluster.is_procedural:
        return f"given {support} times" if support >= 2 else ""
    transcript = sum(_is_said_in(cluster, turn) for turn in evidence.transcript)
    account = sum(_is_mentioned(cluster.lead, part) for part in evidence.account)
    earlier = sum(
        any(is_same_statement(record, member, evidence.vectors) for member in cluster.members)
        for record in evidence.earlier
    )
    is_supported = has_support(
        support,
        repetition=cluster.needs_repetition,
        transcript=transcript,
        arc=account,
        earlier=earlier,
    )
    if not is_supported:
        return ""
    return (
        f"support: said {support}, in the session's account {account}, in earlier sessions"
        f" {earlier}"
    )


def merge_cluster(cluster: HeldCandidateCluster) -> Record:
    """Merge a cluster into its lead, with all quotes and strength."""
    quotes: dict[tuple[str, str], Evidence] = {
        (item.quote, item.source): item for member in cluster.members for item in member.evidence
    }
    evidence = tuple(quotes.values())
    lead = cluster.lead
    if not cluster.is_procedural:
        return replace(
            lead,
            evidence=evidence,
            strength=cluster.support,
            confidence=max(member.confidence for member in cluster.members),
        )
    if cluster.support >= _CERTAIN_SUPPORT:
        confidence = max(lead.confidence, _HIGH_CONFIDENCE)
    else:
        confidence = min(lead.confidence, _LOW_CONFIDENCE)
    return replace(
        lead,
        evidence=evidence[:_MAX_RULE_QUOTES],
        strength=cluster.support,
        confidence=confidence,
    )


def promote_clusters(
    promoted: Sequence[tuple[HeldCandidateCluster, str]],
    held_records: Sequence[Record],
    deps: WriteDeps,
) -> DigestChangeSet:
    """Return the changes that make each cluster one active memory.

    ``held_records``: every held candidate; they do not see each other. The batch holds changes only:
    repeating it after a crash asks for the same ones, and raises a conflict where they were made.
    """
    first = held_records[0]
    changes = DigestChangeSet(first.scope.owner, first.scope, deps.clock())
    changes.originals = {record.id: record for record in held_records}
    # Archived here, so that held candidates do not match each other.
    changes.current = {
        record.id: replace(record, status=Status.ARCHIVED) for record in held_records
    }
    reconciler = CandidateReconciler(deps, changes)
    for cluster, reason in promoted:
        _promote_cluster(cluster, reason, reconciler, changes)
    for record in held_records:
        if record.id not in changes.actions:
            changes.current[record.id] = record
    changes.plan_caps(deps.settings.caps, deps.settings.jobs.max_attempts)
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
    cluster: HeldCandidateCluster,
    reason: str,
    reconciler: CandidateReconciler,
    changes: DigestChangeSet,
) -> None:
    """Make a cluster one active memory: its lead, unless a stored statement says the same."""
    merged = merge_cluster(cluster)
    lead = cluster.lead
    changes.scope = lead.scope
    outcome = reconciler.reconcile(to_candidate(merged), lead)
    result_id = changes.apply(outcome, StoragePolicyDecision("commit_now", reason), lead)
    remade = changes.created.pop(lead.id, None)
    if remade is None:
        # Known by now: the existing memory was reinforced and supersedes this one.
        changes.current[lead.id] = replace(lead, status=Status.SUPERSEDED, superseded_by=result_id)
    else:
        changes.current[lead.id] = replace(
            lead,
            status=remade.status,
            valid_from=remade.valid_from,
            valid_to=remade.valid_to,
            ended_at=remade.ended_at,
            superseded_by=remade.superseded_by,
            evidence=merged.evidence,
            strength=max(merged.strength, remade.strength),
            confidence=merged.confidence,
            meta={key: value for key, value in lead.meta.items() if key not in _HOLDING_META},
        )
    # The edges to its sources were made when it was held.
    for key in list(changes.edges):
        source_id, _, edge_type = key
        if source_id in (lead.id, result_id) and edge_type is EdgeType.DERIVED_FROM:
            del changes.edges[key]
    changes.actions[lead.id] = ("promote", reason)
    for member in cluster.members[1:]:
        changes.current[member.id] = replace(
            member, status=Status.SUPERSEDED, superseded_by=result_id
        )
        changes.actions[member.id] = ("merge", "says the same")


def _object_terms(record: Record) -> frozenset[str]:
    return frozenset(terms(record.object or record.text))


def _is_said_in(cluster: HeldCandidateCluster, turn: Record) -> bool:
    return any(
        item.source == turn.id or (item.quote and item.quote in turn.text)
        for member in cluster.members
        for item in member.evidence
    )


def _is_mentioned(record: Record, text: str) -> bool:
    """True if a text has half the record's object terms."""
    object_terms = _object_terms(record)
    return bool(object_terms) and 2 * len(object_terms & set(terms(text))) >= len(object_terms)
