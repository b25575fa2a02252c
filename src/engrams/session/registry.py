"""Sessions with a beginning and an end: ``MemoryEngine.sessions``."""

from __future__ import annotations

import time
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from datetime import timedelta
from threading import Lock
from typing import TypeAlias

from engrams.core import Kind, Receipt, Scope, ScopeInput, Turn, drop_unstorable
from engrams.errors import ConflictError, InputError, NotFoundError, ScopeError
from engrams.ports import EXTRACT, Job, JobSpec, ScopeReach, SessionRow
from engrams.session.extraction_queue import JobRunner
from engrams.session.lifecycle import (
    IdleSessionSweeper,
    SessionInfo,
    SessionPhase,
    make_finalise_job,
    require_active,
    state_of,
    to_session,
)
from engrams.session.owner_settings import OwnerSettings, OwnerSettingsStore
from engrams.session.response_threads import ResponseThreadLog
from engrams.write import ingest, privacy_modes
from engrams.write.extraction_jobs import make_update_key
from engrams.write.ingest_request import IngestDeps, IngestRequest
from engrams.write.privacy_modes import PrivacyMode
from engrams.write.session_rows import MAX_OPEN_SESSIONS, SessionKey

Place: TypeAlias = ScopeInput

_LONGEST = 200
_PAUSE = 0.05
"""Seconds between two looks at a job that another worker has."""
_TRIES = 5


class SessionRegistry:
    """Sessions of all owners, kept in the store. Thread safe.

    Turns that name a session begin it by themselves, and it ends by itself when nobody speaks;
    these methods are for callers that lead a session. A session belongs to an owner: the same name
    under another owner is another session.
    """

    def __init__(
        self,
        ingest_deps: IngestDeps,
        runner: JobRunner,
    ) -> None:
        deps = ingest_deps.write
        self._ingest_deps = ingest_deps
        self._store = deps.store
        self._clock = deps.clock
        self._settings = deps.settings
        self._runner = runner
        self.responses = ResponseThreadLog(deps.store)
        """Sessions of model responses."""
        self._incognito = ingest_deps.incognito
        self._model = deps.chat is not None
        self._idle = timedelta(minutes=deps.settings.sessions.idle_minutes)
        self._preferences = OwnerSettingsStore(
            deps.store, self._write_rule, deps.clock, deps.settings
        )
        self._lock = Lock()
        self._begun_here: dict[SessionKey, Scope] = {}
        self._incognito_sessions: dict[SessionKey, SessionInfo] = {}

    # ----------------------------------------------------------------------------------------------
    # leading

    @staticmethod
    def owner(user_id: str = "", session_id: str = "") -> Scope:
        """Return the owner scope: the user's, else the session's own.

        ScopeError (a ValueError): neither is named; nothing is shared by default. With a user,
        memory lasts from session to session.
        """
        if user_id and user_id.strip():
            return Scope(("user", user_id))
        if session_id and session_id.strip():
            return Scope(("session", session_id))
        raise ScopeError(
            "Neither a user nor a session is named.", hint="Give a user_id, or a session_id."
        )

    def begin(
        self, session: str, *, scope: Place, mode: str | None = None, crisis: str = ""
    ) -> SessionInfo:
        """Begin a session, or take it over from its previous leader.

        A lapsed or ended session continues with its next part, after what was finalised. ``mode``:
        incognito (guest) keeps nothing of it; nothing raises the configured mode. ConflictError:
        another caller is ending it right now.
        """
        place = Scope.of(scope)
        name = _clean_name(session)
        if (
            privacy_modes.resolve_mode(self._configured_mode, mode) is PrivacyMode.INCOGNITO
            and not self._settings.incognito
        ):
            return self._begin_incognito(place, name)
        row = self._store.load(place.owner, name)
        if row is not None and state_of(row, self._clock(), self._idle) in (
            SessionPhase.EXPIRED,
            SessionPhase.INTERRUPTED,
        ):
            self._request_end(place, name, "idle" if row.state == "active" else "api", wait=True)
        saved = self._take_over(place, name, crisis)
        with self._lock:
            self._begun_here[place.owner.key, name] = place
            while len(self._begun_here) > MAX_OPEN_SESSIONS:
                del self._begun_here[next(iter(self._begun_here))]
        return to_session(saved, self._clock(), self._idle)

    def touch(
        self, session: str, *, scope: Place, token: int | None = None, crisis: str = ""
    ) -> SessionInfo:
        """Keep a session alive; its new ``token`` is for the next step.

        NotFoundError: no such session. ConflictError: it has lapsed, is being ended, has ended, or
        ``token`` is outdated. ``crisis``: the caller's own description of the situation; the
        session's account repeats it.
        """
        place = Scope.of(scope)
        name = _clean_name(session)
        if (quiet := self._incognito_sessions.get((place.owner.key, name))) is not None:
            return quiet
        row = self._store.load(place.owner, name)
        now = self._clock()
        require_active(name, state_of(row, now, self._idle))
        if row is None:  # for mypy: `require_active` has raised
            raise NotFoundError
        if token is not None and token != row.token:
            raise ConflictError(
                f"The session {name!r} was taken over (token {row.token}, not {token})."
            )
        kept = replace(row, last_active=max(now, row.last_active), data=_with_crisis(row, crisis))
        return to_session(self._store.save(kept, row.token), now, self._idle)

    def end(
        self, session: str, *, scope: Place, token: int | None = None, wait: bool | None = None
    ) -> SessionInfo:
        """End a session: extract, keep an account, promote supported statements.

        It happens once for each part, whoever asks. ``wait``: until that is done; None: where no
        model is asked. Without waiting it is a job. NotFoundError, ConflictError: as in ``touch``.
        """
        place = Scope.of(scope)
        name = _clean_name(session)
        quiet = self._incognito_sessions.pop((place.owner.key, name), None)
        if quiet is not None:
            self._incognito.end(place, name)
            return replace(quiet, state=SessionPhase.ROTATION)
        row = self._load_row(place, name)
        if token is not None and token != row.token:
            raise ConflictError(
                f"The session {name!r} was taken over (token {row.token}, not {token})."
            )
        with self._lock:
            self._begun_here.pop((place.owner.key, name), None)
        if row.state != "closed":
            self._request_end(
                place, name, "end", wait=not self._model if wait is None else wait, whole=bool(wait)
            )
        return self.get(name, scope=place)

    def learn(self, session: str, *, scope: Place) -> None:
        """Extract from everything said so far, now, as ``sessions.trigger = "manual"`` needs."""
        place = Scope.of(scope)
        key = make_update_key(place, session)
        if any(
            job.kind == EXTRACT and job.key == key
            for job in self._store.queue(("waiting",), 10_000)
        ):
            (name,) = self._store.enqueue(
                (JobSpec(EXTRACT, key, {"scope": place.key, "items": [], "end": True}),),
                self._clock(),
            )
            if self._model:
                self._runner.wake()
            else:
                self._runner.run(name)

    # ----------------------------------------------------------------------------------------------
    # looking

    def state(self, session: str, *, scope: Place) -> SessionPhase:
        """Return absent, active, expired_unfinalized, interrupted or rotation_required."""
        place = Scope.of(scope)
        name = _clean_name(session)
        if (place.owner.key, name) in self._incognito_sessions:
            return SessionPhase.ACTIVE
        return state_of(self._store.load(place.owner, name), self._clock(), self._idle)

    def get(self, session: str, *, scope: Place) -> SessionInfo:
        """Return one session. NotFoundError: there is none."""
        place = Scope.of(scope)
        name = _clean_name(session)
        quiet = self._incognito_sessions.get((place.owner.key, name))
        return (
            quiet
            if quiet is not None
            else to_session(self._load_row(place, name), self._clock(), self._idle)
        )

    def list(self, *, scope: Place, limit: int = 100) -> tuple[SessionInfo, ...]:
        """List sessions of a scope (of an owner: all scopes), latest first."""
        place = Scope.of(scope)
        now = self._clock()
        reach = (
            ScopeReach(place.owner, (place,), tree=True)
            if place.is_owner
            else ScopeReach(place.owner, place.chain())
        )
        return tuple(to_session(row, now, self._idle) for row in self._store.sessions(reach, limit))

    # ----------------------------------------------------------------------------------------------
    # modes and profile

    def mode(self, name: str) -> AbstractContextManager[None]:
        """Enter a privacy mode: ``with memory.sessions.mode("incognito"):``.

        Incognito calls keep nothing and find nothing. A mode not lower than the configured one
        changes nothing. InputError: unknown mode.
        """
        low = (
            privacy_modes.resolve_mode(self._configured_mode, name) is PrivacyMode.INCOGNITO
            and not self._settings.incognito
        )
        return privacy_modes.incognito() if low else nullcontext()

    def recall(self, scope: Place, on: bool | None = None) -> bool:
        """Return whether facts are recalled for this owner; ``on`` sets it."""
        return self._preferences.recall(Scope.of(scope), on)

    def profile(self, scope: Place) -> OwnerSettings:
        """Return the owner's rules and recall setting."""
        return self._preferences.get(Scope.of(scope))

    def save_rule(self, text: str, *, scope: Place) -> Receipt:
        """Add a rule for every conversation; the recall setting stays."""
        return self._preferences.save_rule(text, Scope.of(scope))

    def clear_rules(self, *, scope: Place) -> int:
        """Forget every rule; returns how many. The recall setting stays."""
        return self._preferences.clear_rules(Scope.of(scope))

    # ----------------------------------------------------------------------------------------------
    # plumbing

    def sweep(self) -> int:
        """Enqueue the end of idle and interrupted sessions; returns how many.

        Idle means ``sessions.idle_minutes`` without a turn. Runs every ``sessions.sweep_seconds``
        while there are workers.
        """
        asked = IdleSessionSweeper(self._store, self._clock, self._settings).sweep()
        if asked:
            self._runner.wake()
        return asked

    def request_ends(self) -> tuple[str, ...]:
        """Enqueue the ends of the sessions that began in this process; returns the jobs' ids.

        Jobs that do not run in time are left to the next process.
        """
        with self._lock:
            begun = {**self._ingest_deps.spoken_sessions.list(), **self._begun_here}
            self._begun_here = {}
        self._incognito_sessions.clear()
        specs = [
            make_finalise_job(scope.owner, session, "shutdown", self._settings)
            for (_, session), scope in begun.items()
            if self._is_open(scope, session)
        ]
        return tuple(self._store.enqueue(specs, self._clock())) if specs else ()

    @property
    def _configured_mode(self) -> PrivacyMode:
        return (
            PrivacyMode.INCOGNITO
            if self._settings.incognito
            else PrivacyMode(self._settings.sessions.mode)
        )

    def _take_over(self, place: Scope, name: str, crisis: str) -> SessionRow:
        """Save the session with a new token; ended ones begin a part."""
        for _ in range(_TRIES):
            now = self._clock()
            row = self._store.load(place.owner, name) or SessionRow(
                id=name,
                scope=place,
                state="active",
                started_at=now,
                last_active=now,
                data={"mode": self._configured_mode.value},
            )
            if row.state == "closing":
                require_active(name, SessionPhase.INTERRUPTED)
            started = now if row.state == "closed" else row.started_at
            fresh = replace(
                row,
                state="active",
                started_at=started,
                last_active=max(now, row.last_active),
                data=_with_crisis(row, crisis),
            )
            try:
                return self._store.save(fresh, row.token)
            except ConflictError:
                continue  # it changed since it was read
        raise ConflictError(f"The session {name!r} is taken over by other callers again and again.")

    def _begin_incognito(self, place: Scope, name: str) -> SessionInfo:
        now = self._clock()
        made = SessionInfo(
            id=name,
            scope=place,
            state=SessionPhase.ACTIVE,
            mode=PrivacyMode.INCOGNITO.value,
            started_at=now,
            last_active=now,
        )
        self._incognito.mark_incognito(place, name)
        return self._incognito_sessions.setdefault((place.owner.key, name), made)

    def _request_end(
        self, place: Scope, name: str, why: str, *, wait: bool, whole: bool = False
    ) -> None:
        spec = make_finalise_job(place.owner, name, why, self._settings)
        (job,) = self._store.enqueue((spec,), self._clock())
        if not wait:
            self._runner.wake()
            return
        self._runner.run(job)
        # A worker may have it, or learn from the last turns first; what failed is tried again
        # later, without a caller who waits.
        while (
            whole
            and (left := self._find_job(spec)) is not None
            and not left.error
            and not self._runner.is_cut_off
        ):
            time.sleep(_PAUSE)
            self._runner.run(left.id)

    def _find_job(self, spec: JobSpec) -> Job | None:
        found = self._store.queue(("waiting", "running"), 10_000)
        return next((job for job in found if (job.kind, job.key) == (spec.kind, spec.key)), None)

    def _write_rule(self, text: str, scope: Scope) -> Receipt:
        request = IngestRequest((Turn(text),), scope, Kind.RULE)
        return ingest.add(request, self._ingest_deps).receipts[0]

    def _load_row(self, place: Scope, name: str) -> SessionRow:
        row = self._store.load(place.owner, name)
        if row is None:
            require_active(name, SessionPhase.ABSENT)
            raise NotFoundError
        return row

    def _is_open(self, place: Scope, name: str) -> bool:
        row = self._store.load(place.owner, name)
        return row is not None and row.state != "closed"


def _clean_name(session: str) -> str:
    """Clean a session name. InputError: empty or too long."""
    name = "".join(char for char in drop_unstorable(session) if char.isprintable()).strip()
    if not name or len(name) > _LONGEST:
        raise InputError(
            f"A session's name is 1 to {_LONGEST} visible characters.", hint="Give it another name."
        )
    return name


def _with_crisis(row: SessionRow, crisis: str) -> dict[str, object]:
    return {**row.data, "crisis": crisis[:_LONGEST]} if crisis else dict(row.data)
