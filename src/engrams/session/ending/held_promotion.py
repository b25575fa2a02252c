"""Held statements at a session's end: promoted where something bears them out, dropped, or kept."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from engrams.core import STATEMENT_KINDS, Record, Status
from engrams.errors import EngramsError
from engrams.ports import LEARNED, RecordChange, RecordQuery
from engrams.session.ending.held_review import HeldStatementReviewer, join_changes
from engrams.session.ending.session_end import SessionEnd
from engrams.write.held_promotion_rules import (
    HeldCandidateCluster,
    PromotionEvidence,
    cluster_held,
    promote_clusters,
    promotion_reason,
)
from engrams.write.write_deps import WriteDeps

if TYPE_CHECKING:
    from engrams.ports.candidate_search import Floats

_log = logging.getLogger(__name__)
_MAX_HELD = 1000
_MAX_EARLIER = 1000
"""Statements of earlier sessions that may bear out held ones."""
_UNWANTED = "asked not to keep what was said"
_OF_CRISIS = "said in a crisis"


class HeldStatementPromoter:
    """Decides what becomes of the statements that a session holds back."""

    def __init__(self, deps: WriteDeps) -> None:
        self._deps = deps
        self._store = deps.store
        self._embedder = deps.embedder
        self._clock = deps.clock
        self.reviewer = HeldStatementReviewer(deps)
        """Asks the model about statements that it has not judged yet."""

    def resolve_held(self, end: SessionEnd, *, is_unwanted: bool) -> None:
        """Add to the session's end what becomes of its held statements.

        ``is_unwanted``: somebody asked not to keep what was said; then all of them are dropped.
        """
        query = RecordQuery(
            end.reach, STATEMENT_KINDS, (Status.CANDIDATE,), session=end.row.id, limit=_MAX_HELD
        )
        statements = self._store.find(query).records
        if is_unwanted:
            self._drop(end, statements, _UNWANTED)
            return
        self._drop(end, [record for record in statements if end.is_of_crisis(record)], _OF_CRISIS)
        statements = tuple(record for record in statements if not end.is_of_crisis(record))
        review = self.reviewer.review(statements)
        end.changes += review.changes
        end.dropped_ids += review.dropped
        if review.unjudged:
            end.jobs.append(self.reviewer.make_job(end.owner))
        if review.still_held:
            self._promote(end, review.still_held, review.ready)

    def _promote(self, end: SessionEnd, statements: Sequence[Record], ready: set[str]) -> None:
        """Promote the clusters that have a reason; the others stay held."""
        vectors = self._load_vectors(end, statements)
        evidence = PromotionEvidence(
            transcript=end.turns,
            account=[
                text for scope_account in end.accounts for text in scope_account.account.statements
            ],
            earlier=self._load_earlier(end),
            vectors=vectors,
        )
        promoted = []
        for cluster in cluster_held(statements, vectors):
            is_ready = any(record.id in ready for record in cluster.members)
            reason = "reviewed" if is_ready else promotion_reason(cluster, evidence)
            if reason:
                promoted.append((cluster, reason))
        promoted_ids = {record.id for cluster, _ in promoted for record in cluster.members}
        end.held_ids += [record.id for record in statements if record.id not in promoted_ids]
        if promoted:
            self._add_promotions(end, promoted, statements)

    def _add_promotions(
        self,
        end: SessionEnd,
        promoted: Sequence[tuple[HeldCandidateCluster, str]],
        statements: Sequence[Record],
    ) -> None:
        end.learned_state = self._store.load_state(end.owner, LEARNED)
        batch = promote_clusters(promoted, statements, self._deps).to_batch(
            "session", "borne out at the session's end", {}
        )
        end.changes = join_changes(end.changes, batch.changes)
        end.edges += batch.edges
        end.jobs += batch.jobs
        end.promoted_ids += [cluster.lead.id for cluster, _ in promoted]

    def drop_learned_in_crisis(self, end: SessionEnd) -> None:
        """Forget what was learned from a crisis before it was reported."""
        if not end.crisis_turns:
            return
        query = RecordQuery(end.reach, STATEMENT_KINDS, session=end.row.id, limit=_MAX_HELD)
        learned = self._store.find(query).records
        self._drop(end, [record for record in learned if end.is_of_crisis(record)], _OF_CRISIS)

    def _drop(self, end: SessionEnd, statements: Sequence[Record], reason: str) -> None:
        for record in statements:
            fields = {
                "status": Status.FORGOTTEN,
                "retired_at": self._clock(),
                "meta": {**record.meta, "was": record.status.value, "dropped": reason},
            }
            end.changes.append(
                RecordChange(
                    owner=end.owner,
                    id=record.id,
                    fields=fields,
                    action="drop",
                    reason=reason,
                    expect=record.version,
                )
            )
            end.dropped_ids.append(record.id)

    def _load_vectors(self, end: SessionEnd, records: Sequence[Record]) -> Mapping[str, Floats]:
        card = self._embedder.card
        if not card.dimension:
            return {}
        ids = [record.id for record in records]
        rows = self._store.vectors(end.owner, ids, card.id)
        return dict(zip(ids, rows, strict=True)) if rows.shape[1] == card.dimension else {}

    def _load_earlier(self, end: SessionEnd) -> Sequence[Record]:
        """Load statements of earlier sessions; none where the read fails."""
        begun_at = end.turns[0].recorded_at if end.turns else end.row.started_at
        query = RecordQuery(
            end.reach, STATEMENT_KINDS, (Status.ACTIVE, Status.CANDIDATE), limit=_MAX_EARLIER
        )
        try:
            page = self._store.find(query)
        except EngramsError as problem:
            _log.warning("what was said in earlier sessions could not be read: %s", problem.message)
            return ()
        return [
            record
            for record in page.records
            if record.session and record.session != end.row.id and record.recorded_at < begun_at
        ]
