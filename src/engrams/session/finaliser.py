"""End of a session: extract the remainder, account, promote held statements, commit.

Each step happens once however often it is tried. Remaining extraction is a job of its own.
Everything after it is one transaction with the session's row and the end of this job: a crash
before it repeats the work and stores nothing twice, a crash after it finds nothing left to do.
"""

from __future__ import annotations

import logging
from collections.abc import Collection, Mapping, Sequence
from dataclasses import field, replace
from datetime import timedelta
from typing import TYPE_CHECKING

from engrams.core import (
    LAYER_OF,
    STATEMENT_KINDS,
    Edge,
    EdgeType,
    Kind,
    Provenance,
    Record,
    Scope,
    Status,
    Vector,
)
from engrams.core.ids import derive_id_at_time_of
from engrams.errors import EngramsError, ModelError
from engrams.frozen_data import dataclass
from engrams.ports import (
    DAILY,
    EMBED,
    EXTRACT,
    LEARNED,
    Job,
    JobSpec,
    NewRecord,
    OwnerStateRow,
    RecordChange,
    RecordQuery,
    ScopeReach,
    SessionRow,
    WriteBatch,
)
from engrams.read.corrected_words import mask_corrected
from engrams.session.extraction_queue import JobRunner
from engrams.session.held_review import HeldStatementReviewer, join_changes
from engrams.session.lifecycle import is_lapsed
from engrams.session.summary import SessionSummary, build_arc, find_substantive, select_turns
from engrams.text.terms import terms
from engrams.write.candidate_promotion import (
    HeldCandidateCluster,
    PromotionEvidence,
    cluster_held,
    promote_clusters,
    promotion_reason,
)
from engrams.write.dependencies import WriteDeps
from engrams.write.save_requests import change_noted, find_noted
from engrams.write.source_checks import check_sources

if TYPE_CHECKING:
    from engrams.ports.candidate_search import Floats

_log = logging.getLogger(__name__)
_PAGE = 500
_EARLIER = 1000
_SOON = timedelta(seconds=1)


@dataclass(slots=True)
class _SessionEnd:
    """Results gathered while one session is finalised."""

    owner: Scope
    row: SessionRow
    turns: list[Record]
    arcs: list[tuple[Scope, list[Record], SessionSummary]]
    changes: list[RecordChange]
    edges: list[Edge]
    ended: dict[str, list[str]]
    mark: OwnerStateRow | None = None
    jobs: list[JobSpec] = field(default_factory=list)


class SessionFinaliser:
    """Handler of the finalise job."""

    def __init__(
        self,
        deps: WriteDeps,
        runner: JobRunner,
    ) -> None:
        self._deps = deps
        self._store = deps.store
        self._embedder = deps.embedder
        self._chat = deps.chat
        self._clock = deps.clock
        self._settings = deps.settings
        self._runner = runner
        self._idle = timedelta(minutes=deps.settings.sessions.idle_minutes)
        self._reviewer = HeldStatementReviewer(deps)

    def review(self, job: Job) -> None:
        """Ask the model again about statements that it failed to judge."""
        self._reviewer.run(job)

    def run(self, job: Job) -> None:
        """Finalise the job's session, unless it became active again."""
        owner = Scope.parse(job.payload["owner"])
        name = job.payload["session"]
        why = job.payload.get("why", "api")
        row = self._store.load(owner, name)
        if row is None or (
            row.state == "active"
            and (
                why == "late"
                or (why == "idle" and not is_lapsed(row.last_active, self._clock(), self._idle))
            )
        ):
            self._store.finish(job.lease, self._clock())
            return
        row = self._mark_closing(row)
        end = _SessionEnd(
            owner=owner,
            row=row,
            turns=self._load_transcript(owner, row),
            arcs=[],
            changes=[],
            edges=[],
            ended={"episodes": [], "promoted": [], "dropped": [], "held": []},
        )
        if not self._extract_remainder(end):
            self._postpone(job)
            return
        forbidden = name in find_noted(self._store, owner)
        if (
            not forbidden
            and self._settings.sessions.episodes
            and not self._settings.incognito
            and row.state == "closing"
        ):
            self._build_arcs(end)
        if self._runner.is_cut_off:
            raise ModelError(
                "The program ends before the model answered.",
                hint="The next start ends the session.",
                retryable=True,
            )
        self._resolve_held(end, forbidden=forbidden)
        self._close_gaps(end)
        self._commit_end(job, end, why)
        if forbidden:
            change_noted(self._store, owner, lambda known: [one for one in known if one != name])

    # ----------------------------------------------------------------------------------------------
    # steps

    @property
    def _has_daily_notes(self) -> bool:
        section = self._settings
        return section.vault.enabled and section.vault.daily and not section.is_volatile

    def _mark_closing(self, row: SessionRow) -> SessionRow:
        """Mark the session as closing; ConflictError where somebody spoke meanwhile."""
        if row.state != "active":
            return row
        marked = replace(row, state="closing")
        self._store.commit(WriteBatch("session", "ending", self._clock(), sessions=(marked,)))
        return replace(marked, token=row.token + 1)

    def _load_transcript(self, owner: Scope, row: SessionRow) -> list[Record]:
        query = RecordQuery(
            ScopeReach(owner, (owner,), tree=True),
            (Kind.TURN, Kind.EXCHANGE),
            session=row.id,
            order="oldest",
            limit=_PAGE,
        )
        found: list[Record] = []
        page = self._store.find(replace(query, after=str(row.data.get("start", ""))))
        while page.records:
            found += page.records
            if not page.next:
                break
            page = self._store.find(replace(query, after=page.next))
        return select_turns(found)

    def _extract_remainder(self, end: _SessionEnd) -> bool:
        """Run waiting extraction of these turns here; False: another worker has some."""
        if self._settings.sessions.trigger == "manual":
            return True
        ids = {turn.id for turn in end.turns}
        pending = [
            one
            for one in self._store.queue(("waiting", "running"), 10_000)
            if one.kind == EXTRACT and ids & _item_ids(one)
        ]
        for one in pending:
            if one.state == "waiting":
                spec = JobSpec(
                    EXTRACT, one.key, {"scope": one.payload["scope"], "items": [], "end": True}
                )
                (name,) = self._store.enqueue((spec,), self._clock())
                self._runner.run(name)
        return not any(
            one.kind == EXTRACT and ids & _item_ids(one)
            for one in self._store.queue(("running",), 10_000)
        )

    def _postpone(self, job: Job) -> None:
        """Enqueue the job again in a moment; this counts as no failure."""
        now = self._clock()
        again = JobSpec(
            job.kind, job.key, job.payload, now + _SOON, attempts=self._settings.jobs.max_attempts
        )
        self._store.commit(
            WriteBatch("session", "waiting for extraction", now, jobs=(again,), finish=(job.lease,))
        )

    def _build_arcs(self, end: _SessionEnd) -> None:
        section = self._settings.sessions
        for scope in dict.fromkeys(turn.scope for turn in end.turns):
            turns = [
                mask_corrected(turn)
                for turn in end.turns
                if turn.scope == scope and turn.status is Status.ACTIVE
            ]
            if len(find_substantive(turns)) < section.min_turns:
                continue
            arc, problem = build_arc(turns, self._chat, section.episode_chars)
            if problem:
                _log.warning("the account of a session is by rules: %s", problem)
            if arc is not None and arc.summary:
                end.arcs.append((scope, turns, arc))

    def _resolve_held(self, end: _SessionEnd, *, forbidden: bool) -> None:
        reach = ScopeReach(end.owner, (end.owner,), tree=True)
        held = list(
            self._store.find(
                RecordQuery(
                    reach,
                    STATEMENT_KINDS,
                    (Status.CANDIDATE,),
                    session=end.row.id,
                    limit=1000,
                )
            ).records
        )
        if forbidden:
            self._drop_held(end, held, "asked not to keep what was said")
            return
        reviewed = self._reviewer.review(held)
        end.changes += reviewed.changes
        end.ended["dropped"] += reviewed.dropped
        if reviewed.unjudged:
            end.jobs.append(self._reviewer.make_job(end.owner))
        held = reviewed.held
        if not held:
            return
        vectors = self._load_vectors(end.owner, held)
        bearing = PromotionEvidence(
            end.turns,
            [part for _, _, arc in end.arcs for part in arc.statements],
            self._load_earlier(end, reach),
            vectors,
        )
        found = [
            (cluster, _review_reason(cluster, reviewed.ready) or promotion_reason(cluster, bearing))
            for cluster in cluster_held(held, vectors)
        ]
        promoted = [(cluster, why) for cluster, why in found if why]
        gone = {one.id for cluster, _ in promoted for one in cluster.members}
        end.ended["held"] += [one.id for one in held if one.id not in gone]
        if promoted:
            end.mark = self._store.load_state(end.owner, LEARNED)
            batch = promote_clusters(promoted, held, self._deps).to_batch(
                "session", "borne out at the session's end", {}
            )
            end.changes = join_changes(end.changes, batch.changes)
            end.edges += batch.edges
            end.ended["promoted"] += [cluster.lead.id for cluster, _ in promoted]

    def _drop_held(self, end: _SessionEnd, records: Sequence[Record], why: str) -> None:
        for record in records:
            fields = {
                "status": Status.FORGOTTEN,
                "retired_at": self._clock(),
                "meta": {**record.meta, "was": "candidate", "dropped": why},
            }
            end.changes.append(
                RecordChange(
                    owner=end.owner,
                    id=record.id,
                    fields=fields,
                    action="drop",
                    expect=record.version,
                )
            )
            end.ended["dropped"].append(record.id)

    def _load_vectors(self, owner: Scope, records: Sequence[Record]) -> Mapping[str, Floats]:
        card = self._embedder.card
        if not card.dimension:
            return {}
        ids = [record.id for record in records]
        rows = self._store.vectors(owner, ids, card.id)
        return dict(zip(ids, rows, strict=True)) if rows.shape[1] == card.dimension else {}

    def _load_earlier(self, end: _SessionEnd, reach: ScopeReach) -> Sequence[Record]:
        """Load statements of earlier sessions; none where the read fails."""
        begun = end.turns[0].recorded_at if end.turns else end.row.started_at
        try:
            page = self._store.find(
                RecordQuery(
                    reach,
                    STATEMENT_KINDS,
                    (Status.ACTIVE, Status.CANDIDATE),
                    limit=_EARLIER,
                )
            )
        except EngramsError as problem:
            _log.warning("what was said in earlier sessions could not be read: %s", problem.message)
            return ()
        return [
            one
            for one in page.records
            if one.session and one.session != end.row.id and one.recorded_at < begun
        ]

    def _close_gaps(self, end: _SessionEnd) -> None:
        """Archive knowledge gaps that this session answered."""
        reach = ScopeReach(end.owner, (end.owner,), tree=True)
        gaps = self._store.find(
            RecordQuery(reach, (Kind.GAP,), (Status.CANDIDATE,), limit=100)
        ).records
        if not gaps:
            return
        learned = self._store.find(
            RecordQuery(reach, STATEMENT_KINDS, session=end.row.id, limit=1000)
        ).records
        known = [set(terms(record.text)) for record in learned]
        for gap in gaps:
            asked = set(terms(gap.text))
            if asked and any(2 * len(asked & words) >= len(asked) for words in known):
                end.changes.append(
                    RecordChange(
                        owner=end.owner,
                        id=gap.id,
                        fields={"status": Status.ARCHIVED},
                        action="answered",
                        expect=gap.version,
                    )
                )

    def _commit_end(self, job: Job, end: _SessionEnd, why: str) -> None:
        """Commit everything with the session's row and the end of the job."""
        now = self._clock()
        puts, edges = self._build_episodes(end)
        jobs = list(end.jobs)
        if self._embedder.card.dimension and any(put.vector is None for put in puts):
            jobs.append(
                JobSpec(EMBED, self._embedder.card.id, attempts=self._settings.jobs.max_attempts)
            )
        if end.turns and self._has_daily_notes:
            payload = {
                "owner": end.owner.key,
                "items": [turn.id for turn in end.turns],
                "reason": "session end",
            }
            jobs.append(
                JobSpec(
                    DAILY,
                    f"{end.owner.key}|{end.row.id}",
                    payload,
                    attempts=self._settings.jobs.max_attempts,
                )
            )
        row = self._build_closed_row(end, why) if end.row.state == "closing" else None
        told = {turn.id for _, turns, _ in end.arcs for turn in turns}
        changes = (
            *check_sources(end.owner, [turn for turn in end.turns if turn.id in told], self._store),
            *end.changes,
        )
        self._store.commit(
            WriteBatch(
                actor="session",
                reason="session ended",
                at=now,
                puts=puts,
                changes=changes,
                edges=(*edges, *end.edges),
                jobs=tuple(jobs),
                finish=(job.lease,),
                sessions=(row,) if row else (),
                states=(end.mark,) if end.mark else (),
            )
        )

    def _build_closed_row(self, end: _SessionEnd, why: str) -> SessionRow:
        data = dict(end.row.data)
        if end.turns:
            data |= {"start": end.turns[-1].id, "turns": int(data.get("turns", 0)) + len(end.turns)}
        data["ended"] = {"at": self._clock().isoformat(), "why": why, **end.ended}
        data.pop("crisis", None)
        return replace(end.row, state="closed", data=data)

    def _build_episodes(self, end: _SessionEnd) -> tuple[tuple[NewRecord, ...], tuple[Edge, ...]]:
        crisis = str(end.row.data.get("crisis", "none"))
        records = [
            _build_episode(scope, turns, arc, end.row.id, crisis) for scope, turns, arc in end.arcs
        ]
        end.ended["episodes"] += [record.id for record in records]
        edges = [
            Edge(end.owner, one.id, source, EdgeType.DERIVED_FROM)
            for one in records
            for source in {item.source for item in one.evidence}
        ]
        return tuple(
            NewRecord(record, vector=self._embed_episode(record)) for record in records
        ), tuple(edges)

    def _embed_episode(self, record: Record) -> Vector | None:
        """Embed an account; None on failure, which a job retries."""
        card = self._embedder.card
        if not card.dimension:
            return None
        try:
            row = self._embedder.embed([record.search_text], "document")[0]
        except ModelError as problem:
            _log.warning("the account of a session has no vector yet: %s", problem.message)
            return None
        return (
            Vector(record.id, card.id, card.dimension, row.astype("<f4").tobytes())
            if row.any()
            else None
        )


def _build_episode(
    scope: Scope, turns: Sequence[Record], arc: SessionSummary, session: str, crisis: str
) -> Record:
    """Build the episode record; the id is stable for a session part."""
    last = turns[-1]
    return Record(
        id=derive_id_at_time_of(last.id, f"episode\x1f{scope.key}\x1f{session}\x1f{turns[0].id}"),
        scope=scope,
        kind=Kind.EPISODE,
        text=arc.summary,
        recorded_at=last.recorded_at,
        layer=LAYER_OF[Kind.EPISODE],
        session=session,
        valid_from=turns[0].recorded_at,
        tags=arc.themes,
        evidence=arc.evidence,
        provenance=Provenance("session", arc.extractor, arc.prompt, "session end"),
        meta={"arc": arc.to_metadata(turns, crisis)},
    )


def _review_reason(cluster: HeldCandidateCluster, ready: Collection[str]) -> str:
    return "reviewed" if any(one.id in ready for one in cluster.members) else ""


def _item_ids(job: Job) -> set[str]:
    return {item for item in job.payload.get("items", ()) if isinstance(item, str)}
