"""Sessions of all owners: begun, kept alive, ended, looked up; reached as ``engine.sessions``."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from datetime import timedelta
from threading import Lock
from typing import TypeAlias

from engrams.core import Kind, Receipt, Scope, ScopeInput, Turn, drop_unstorable
from engrams.errors import ConflictError, InputError, NotFoundError, ScopeError
from engrams.ports import EXTRACT, JobSpec, ScopeReach, SessionRow
from engrams.session.crisis_times import CRISIS, note_crisis
from engrams.session.end_requests import IdleSessionSweeper, SessionEndRequester
from engrams.session.extraction_queue import JobRunner
from engrams.session.lifecycle import (
    SessionInfo,
    SessionPhase,
    require_active,
    state_of,
    to_session,
)
from engrams.session.open_questions import OpenQuestionLog
from engrams.session.owner_settings import OwnerSettings, OwnerSettingsStore
from engrams.session.response_threads import ResponseThreadLog
from engrams.write import ingest, privacy_modes
from engrams.write.extraction_jobs import make_update_key
from engrams.write.ingest_request import IngestDeps, IngestRequest
from engrams.write.privacy_modes import PrivacyMode
from engrams.write.session_rows import MAX_OPEN_SESSIONS, SessionKey

Place: TypeAlias = ScopeInput

_MAX_CHARACTERS = 200
"""Characters of a session's name, and of a crisis."""
_MAX_JOBS = 10_000
_MAX_ATTEMPTS = 5
"""Attempts to take a session over from callers who do the same."""


class SessionRegistry:
    """Sessions of all owners, kept in the store. Thread safe.

    Turns that name a session begin it by themselves, and it ends by itself when nobody speaks;
    these methods are for callers that lead a session. A session belongs to an owner: the same name
    under another owner is another session.
    """

    def __init__(self, ingest_deps: IngestDeps, runner: JobRunner) -> None:
        deps = ingest_deps.write
        settings = deps.settings
        self._ingest_deps = ingest_deps
        self._store = deps.store
        self._clock = deps.clock
        self._settings = settings
        self._runner = runner
        self._incognito = ingest_deps.guards.incognito
        # The end of a session asks the model: nobody waits for that unasked.
        self._has_model = deps.chat is not None
        self.responses = ResponseThreadLog(deps.store)
        """Sessions of model responses."""
        self.open_questions = OpenQuestionLog(deps.store, deps.clock)
        """Questions that requests about memory asked back."""
        self._idle = timedelta(minutes=settings.sessions.idle_minutes)
        self._preferences = OwnerSettingsStore(deps.store, self._write_rule, deps.clock, settings)
        self._ends = SessionEndRequester(deps.store, deps.clock, settings, runner)
        self._lock = Lock()
        # Sessions that callers of this process began: they end with it.
        self._begun_here: dict[SessionKey, Scope] = {}
        # Incognito sessions are known to this process alone; nothing of them is stored.
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
        session_scope = Scope.of(scope)
        owner = session_scope.owner
        session_id = _clean_name(session)
        if self._lowers_to_incognito(mode):
            return self._begin_incognito(session_scope, session_id)
        row = self._store.load(owner, session_id)
        state = state_of(row, self._clock(), self._idle)
        if row is not None and state in (SessionPhase.EXPIRED, SessionPhase.INTERRUPTED):
            self._ends.run_end(owner, session_id, "idle" if row.state == "active" else "api")
        saved = self._take_over(session_scope, session_id, crisis)
        with self._lock:
            self._begun_here[owner.key, session_id] = session_scope
            while len(self._begun_here) > MAX_OPEN_SESSIONS:
                del self._begun_here[next(iter(self._begun_here))]
        return to_session(saved, self._clock(), self._idle)

    def touch(
        self, session: str, *, scope: Place, token: int | None = None, crisis: str = ""
    ) -> SessionInfo:
        """Keep a session alive; its new ``token`` is for the next step.

        NotFoundError: no such session. ConflictError: it has lapsed, is being ended, has ended, or
        ``token`` is outdated. ``crisis``: the caller's own description of the situation; the
        session's account repeats it. That of a session which no turn named yet counts from its first
        turn in this process on, though NotFoundError is raised.
        """
        owner = Scope.of(scope).owner
        session_id = _clean_name(session)
        incognito_session = self._incognito_sessions.get((owner.key, session_id))
        if incognito_session is not None:
            return incognito_session
        row = self._store.load(owner, session_id)
        now = self._clock()
        if row is None and crisis:
            self._note_early_crisis(Scope.of(scope), session_id, crisis[:_MAX_CHARACTERS])
        require_active(session_id, state_of(row, now, self._idle))
        if row is None:  # for mypy: `require_active` has raised
            raise NotFoundError
        _check_token(row, token)
        touched = replace(
            row,
            last_active=max(now, row.last_active),
            data=note_crisis(row, crisis[:_MAX_CHARACTERS], now),
        )
        return to_session(self._store.save(touched, row.token), now, self._idle)

    def end(
        self, session: str, *, scope: Place, token: int | None = None, wait: bool | None = None
    ) -> SessionInfo:
        """End a session: extract, keep an account, promote supported statements.

        It happens once for each part, whoever asks. ``wait``: until that is done; None: where no
        model is asked. Without waiting it is a job. NotFoundError, ConflictError: as in ``touch``.
        """
        session_scope = Scope.of(scope)
        owner = session_scope.owner
        session_id = _clean_name(session)
        incognito_session = self._incognito_sessions.pop((owner.key, session_id), None)
        if incognito_session is not None:
            self._incognito.end(session_scope, session_id)
            return replace(incognito_session, state=SessionPhase.ROTATION)
        if self._settings.incognito and self._store.load(owner, session_id) is None:
            # Nothing was stored of it, so there is nothing to finalise.
            incognito_session = self._describe_incognito(session_scope, session_id)
            return replace(incognito_session, state=SessionPhase.ROTATION)
        row = self._load_row(owner, session_id)
        _check_token(row, token)
        with self._lock:
            self._begun_here.pop((owner.key, session_id), None)
        if row.state != "closed":
            if wait or (wait is None and not self._has_model):
                self._ends.run_end(owner, session_id, "end", until_done=True)
            else:
                self._ends.request_end(owner, session_id, "end")
        return self.get(session_id, scope=session_scope)

    def learn(self, session: str, *, scope: Place) -> None:
        """Extract from everything said so far, now, as ``sessions.trigger = "manual"`` needs."""
        session_scope = Scope.of(scope).destination
        key = make_update_key(session_scope, session)
        waiting = self._store.queue(("waiting",), _MAX_JOBS)
        if not any(job.kind == EXTRACT and job.key == key for job in waiting):
            return
        # The same key again: the waiting job is due now, as at the end of the session.
        payload = {"scope": session_scope.key, "items": [], "end": True}
        (job_id,) = self._store.enqueue((JobSpec(EXTRACT, key, payload),), self._clock())
        if self._has_model:
            self._runner.wake()
        else:
            self._runner.run_job(job_id)

    # ----------------------------------------------------------------------------------------------
    # looking

    def state(self, session: str, *, scope: Place) -> SessionPhase:
        """Return absent, active, expired_unfinalized, interrupted or rotation_required."""
        owner = Scope.of(scope).owner
        session_id = _clean_name(session)
        if (owner.key, session_id) in self._incognito_sessions:
            return SessionPhase.ACTIVE
        return state_of(self._store.load(owner, session_id), self._clock(), self._idle)

    def get(self, session: str, *, scope: Place) -> SessionInfo:
        """Return one session. NotFoundError: there is none."""
        owner = Scope.of(scope).owner
        session_id = _clean_name(session)
        incognito_session = self._incognito_sessions.get((owner.key, session_id))
        if incognito_session is not None:
            return incognito_session
        return to_session(self._load_row(owner, session_id), self._clock(), self._idle)

    def list(self, *, scope: Place, limit: int = 100) -> tuple[SessionInfo, ...]:
        """List sessions of a scope (of an owner: all scopes), latest first."""
        listed_scope = Scope.of(scope)
        now = self._clock()
        if listed_scope.is_owner:
            reach = ScopeReach(listed_scope.owner, (listed_scope,), tree=True)
        else:
            reach = ScopeReach(listed_scope.owner, listed_scope.chain())
        return tuple(to_session(row, now, self._idle) for row in self._store.sessions(reach, limit))

    # ----------------------------------------------------------------------------------------------
    # modes and profile

    def mode(self, name: str) -> AbstractContextManager[None]:
        """Enter a privacy mode: ``with memory.sessions.mode("incognito"):``.

        Incognito calls keep nothing and find nothing. A mode not lower than the configured one
        changes nothing. InputError: unknown mode.
        """
        return privacy_modes.incognito() if self._lowers_to_incognito(name) else nullcontext()

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
        requested = IdleSessionSweeper(self._store, self._clock, self._settings).sweep()
        if requested:
            self._runner.wake()
        return requested

    def request_ends(self) -> tuple[str, ...]:
        """Enqueue the ends of the sessions that began in this process; returns the jobs' ids.

        Jobs that do not run in time are left to the next process.
        """
        with self._lock:
            begun_here = {**self._ingest_deps.spoken_sessions.list(), **self._begun_here}
            self._begun_here = {}
        self._incognito_sessions.clear()
        return self._ends.request_ends(
            (scope, session_id) for (_, session_id), scope in begun_here.items()
        )

    @property
    def _configured_mode(self) -> PrivacyMode:
        if self._settings.incognito:
            return PrivacyMode.INCOGNITO
        return PrivacyMode(self._settings.sessions.mode)

    def _lowers_to_incognito(self, mode: str | None) -> bool:
        """Test whether a mode makes something incognito that is not so by its settings."""
        resolved = privacy_modes.resolve_mode(self._configured_mode, mode)
        return resolved is PrivacyMode.INCOGNITO and not self._settings.incognito

    def _take_over(self, scope: Scope, session_id: str, crisis: str) -> SessionRow:
        """Save the session with a new token; ended ones begin a part."""
        for _ in range(_MAX_ATTEMPTS):
            now = self._clock()
            row = self._store.load(scope.owner, session_id) or SessionRow(
                id=session_id,
                scope=scope,
                state="active",
                started_at=now,
                last_active=now,
                data={"mode": self._configured_mode.value},
            )
            if row.state == "closing":
                require_active(session_id, SessionPhase.INTERRUPTED)
            taken_over = replace(
                row,
                state="active",
                started_at=now if row.state == "closed" else row.started_at,
                last_active=max(now, row.last_active),
                data=note_crisis(row, crisis[:_MAX_CHARACTERS], now),
            )
            try:
                return self._store.save(taken_over, row.token)
            except ConflictError:
                continue  # it changed since it was read
        raise ConflictError(
            f"The session {session_id!r} is taken over by other callers again and again."
        )

    def _note_early_crisis(self, scope: Scope, session_id: str, crisis: str) -> None:
        """Note a crisis for the first turn of a session that memory does not know."""
        now = self._clock()
        row = SessionRow(
            id=session_id,
            scope=scope,
            state="active",
            started_at=now,
            last_active=now,
            data={CRISIS: crisis},
        )
        data = note_crisis(replace(row, data={}), crisis, now) if row.is_in_crisis else {}
        self._ingest_deps.early_crises.note(scope.owner, session_id, data)

    def _begin_incognito(self, scope: Scope, session_id: str) -> SessionInfo:
        info = self._describe_incognito(scope, session_id)
        self._incognito.mark_incognito(scope, session_id)
        return self._incognito_sessions.setdefault((scope.owner.key, session_id), info)

    def _describe_incognito(self, scope: Scope, session_id: str) -> SessionInfo:
        now = self._clock()
        return SessionInfo(
            id=session_id,
            scope=scope,
            state=SessionPhase.ACTIVE,
            mode=PrivacyMode.INCOGNITO.value,
            started_at=now,
            last_active=now,
        )

    def _write_rule(self, text: str, scope: Scope) -> Receipt:
        request = IngestRequest((Turn(text),), scope, Kind.RULE)
        return ingest.add(request, self._ingest_deps).receipts[0]

    def _load_row(self, owner: Scope, session_id: str) -> SessionRow:
        row = self._store.load(owner, session_id)
        if row is None:
            require_active(session_id, SessionPhase.ABSENT)
            raise NotFoundError  # for mypy: `require_active` has raised
        return row


def _clean_name(session: str) -> str:
    """Clean a session name. InputError: empty or too long."""
    name = "".join(char for char in drop_unstorable(session) if char.isprintable()).strip()
    if not name or len(name) > _MAX_CHARACTERS:
        raise InputError(
            f"A session's name must have 1 to {_MAX_CHARACTERS} visible characters.",
            hint="Give it another name.",
        )
    return name


def _check_token(row: SessionRow, token: int | None) -> None:
    """Raise ConflictError where another caller has taken the session over since."""
    if token is not None and token != row.token:
        raise ConflictError(
            f"The session {row.id!r} was taken over (token {row.token}, not {token})."
        )
