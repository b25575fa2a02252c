"""Finaliser: the job that ends a session.

Each step happens once however often it is tried. Remaining extraction is a job of its own.
Everything after it is one transaction with the session's row and the end of this job: a crash
before it repeats the work and stores nothing twice, a crash after it finds nothing left to do.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

from engrams.core import UNSEARCHED, Kind, Record, Scope
from engrams.errors import ModelError
from engrams.ports import (
    DAILY,
    EMBED,
    EXTRACT,
    Job,
    JobSpec,
    RecordChange,
    RecordQuery,
    ScopeReach,
    SessionRow,
    WriteBatch,
)
from engrams.read.paging import iter_records
from engrams.session.crisis_times import CRISIS, CRISIS_TIMES, find_crisis_turns
from engrams.session.ending.episodes import add_accounts, build_episodes
from engrams.session.ending.gap_closing import close_gaps
from engrams.session.ending.held_promotion import HeldStatementPromoter
from engrams.session.ending.session_end import SessionEnd
from engrams.session.extraction_queue import JobRunner
from engrams.session.lifecycle import is_lapsed
from engrams.write.guards import change_noted, find_noted
from engrams.write.source_checks import check_sources
from engrams.write.write_deps import WriteDeps

ACTOR = "session"
"""Actor of these changes, in the history of memories."""

_PAGE = 500
_MAX_JOBS = 10_000
_POSTPONEMENT = timedelta(seconds=1)
"""Time after which a session's end is tried again while another worker extracts from it."""


class SessionFinaliser:
    """Handler of the jobs ``FINALISE`` and ``POLICY``."""

    def __init__(self, deps: WriteDeps, runner: JobRunner) -> None:
        self._deps = deps
        self._store = deps.store
        self._clock = deps.clock
        self._settings = deps.settings
        self._runner = runner
        self._idle = timedelta(minutes=deps.settings.sessions.idle_minutes)
        self._promoter = HeldStatementPromoter(deps)

    def run_review_job(self, job: Job) -> None:
        """Ask the model again about statements that it failed to judge: the job ``POLICY``."""
        self._promoter.reviewer.run_job(job)

    def run_job(self, job: Job) -> None:
        """Finalise the job's session, unless it became active again."""
        owner = Scope.parse(job.payload["owner"])
        session = job.payload["session"]
        why = job.payload.get("why", "api")
        row = self._store.load(owner, session)
        if row is None or self._is_active_again(row, why):
            self._store.finish(job.lease, self._clock())
            return
        row = self._mark_closing(row)
        transcript = self._load_transcript(owner, row)
        end = SessionEnd(owner, row, transcript, find_crisis_turns(row, transcript))
        if not self._extract_remainder(end):
            self._postpone(job)
            return
        is_unwanted = session in find_noted(self._store, owner)
        if not is_unwanted and self._keeps_account(row):
            add_accounts(end, self._deps)
        if self._runner.is_cut_off:
            raise ModelError(
                "The program ends before the model answered.",
                hint="The next start ends the session.",
                retryable=True,
            )
        self._promoter.drop_learned_in_crisis(end)
        self._promoter.resolve_held(end, is_unwanted=is_unwanted)
        close_gaps(end, self._store)
        self._commit_end(job, end, why)
        if is_unwanted:
            change_noted(
                self._store,
                owner,
                lambda noted: [
                    noted_session for noted_session in noted if noted_session != session
                ],
            )

    # ----------------------------------------------------------------------------------------------
    # steps

    def _is_active_again(self, row: SessionRow, why: str) -> bool:
        """Test for a session that somebody took up after its end was asked for."""
        if row.state != "active":
            return False
        if why == "idle":
            return not is_lapsed(row.last_active, self._clock(), self._idle)
        return why == "late"

    def _mark_closing(self, row: SessionRow) -> SessionRow:
        """Mark the session as closing; ConflictError where somebody spoke meanwhile."""
        if row.state != "active":
            return row
        marked = replace(row, state="closing")
        self._store.commit(WriteBatch(ACTOR, "ending", self._clock(), sessions=(marked,)))
        return replace(marked, token=row.token + 1)

    def _load_transcript(self, owner: Scope, row: SessionRow) -> list[Record]:
        """Load the turns of the session's part, behind the last one that was finalised."""
        query = RecordQuery(
            ScopeReach(owner, (owner,), tree=True),
            (Kind.TURN, Kind.EXCHANGE),
            session=row.id,
            order="oldest",
            after=str(row.data.get("start", "")),
            limit=_PAGE,
        )
        return list(iter_records(self._store, query))

    def _extract_remainder(self, end: SessionEnd) -> bool:
        """Run waiting extraction of these turns here; False: another worker has some."""
        if self._settings.sessions.trigger == "manual":
            return True
        turn_ids = {turn.id for turn in end.turns}
        for job in self._store.queue(("waiting", "running"), _MAX_JOBS):
            if job.state == "waiting" and _extracts_from(job, turn_ids):
                # The same key again: the waiting job learns that the session ends, and is due now.
                payload = {"scope": job.payload["scope"], "items": [], "end": True}
                (job_id,) = self._store.enqueue(
                    (JobSpec(EXTRACT, job.key, payload),), self._clock()
                )
                self._runner.run_job(job_id)
        return not any(
            _extracts_from(job, turn_ids) for job in self._store.queue(("running",), _MAX_JOBS)
        )

    def _postpone(self, job: Job) -> None:
        """Enqueue the job again in a moment; this counts as no failure."""
        now = self._clock()
        again = JobSpec(
            job.kind,
            job.key,
            job.payload,
            now + _POSTPONEMENT,
            attempts=self._settings.jobs.max_attempts,
        )
        self._store.commit(
            WriteBatch(ACTOR, "waiting for extraction", now, jobs=(again,), finish=(job.lease,))
        )

    def _keeps_account(self, row: SessionRow) -> bool:
        # A row that is closed already was ended before: only late statements are left to it.
        return (
            self._settings.sessions.episodes
            and not self._settings.incognito
            and row.state == "closing"
        )

    def _commit_end(self, job: Job, end: SessionEnd, why: str) -> None:
        """Commit everything with the session's row and the end of the job."""
        now = self._clock()
        puts, edges = build_episodes(end, self._deps.embedder)
        jobs = list(end.jobs)
        card = self._deps.embedder.card
        if card.dimension and any(put.vector is None for put in puts):
            jobs.append(JobSpec(EMBED, card.id, attempts=self._settings.jobs.max_attempts))
        if end.turns and self._has_daily_notes:
            jobs.append(self._make_note_job(end))
        told_ids = {turn.id for scope_account in end.accounts for turn in scope_account.turns}
        told_turns = [turn for turn in end.turns if turn.id in told_ids]
        checks = check_sources(end.owner, told_turns, self._store)
        is_closing = end.row.state == "closing"
        self._store.commit(
            WriteBatch(
                actor=ACTOR,
                reason="session ended",
                at=now,
                puts=puts,
                changes=(*checks, *map(_set_aside, end.crisis_turns), *end.changes),
                edges=(*edges, *end.edges),
                jobs=tuple(jobs),
                finish=(job.lease,),
                sessions=(self._build_closed_row(end, why),) if is_closing else (),
                states=(end.learned_state,) if end.learned_state else (),
            )
        )

    @property
    def _has_daily_notes(self) -> bool:
        settings = self._settings
        return settings.vault.enabled and settings.vault.daily and not settings.is_volatile

    def _make_note_job(self, end: SessionEnd) -> JobSpec:
        payload = {
            "owner": end.owner.key,
            "items": [turn.id for turn in end.turns if turn not in end.crisis_turns],
            "reason": "session end",
        }
        return JobSpec(
            DAILY,
            f"{end.owner.key}|{end.row.id}",
            payload,
            attempts=self._settings.jobs.max_attempts,
        )

    def _build_closed_row(self, end: SessionEnd, why: str) -> SessionRow:
        """Build the row of the ended session. Its ``ended`` is on the wire."""
        data = dict(end.row.data)
        if end.turns:
            data["start"] = end.turns[-1].id
            data["turns"] = int(data.get("turns", 0)) + len(end.turns)
        data["ended"] = {
            "at": self._clock().isoformat(),
            "why": why,
            "episodes": end.episode_ids,
            "promoted": end.promoted_ids,
            "dropped": end.dropped_ids,
            "held": end.held_ids,
        }
        data.pop(CRISIS, None)
        data.pop(CRISIS_TIMES, None)
        return replace(end.row, state="closed", data=data)


def _set_aside(turn: Record) -> RecordChange:
    """Keep a message of a crisis, and show it in no later prompt."""
    return RecordChange(
        turn.scope.owner,
        turn.id,
        {"meta": {**turn.meta, UNSEARCHED: True}},
        "set_aside",
        reason="said in a crisis",
    )


def _extracts_from(job: Job, turn_ids: set[str]) -> bool:
    """Test for a job that extracts from one of these turns."""
    item_ids = {item for item in job.payload.get("items", ()) if isinstance(item, str)}
    return job.kind == EXTRACT and bool(turn_ids & item_ids)
