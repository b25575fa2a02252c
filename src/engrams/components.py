"""What lies behind the engine's door: rooms that are opened when they are first entered, and cost nothing until then."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, cast

from engrams.errors import RefusedError
from engrams.ports import (
    CONDENSE,
    ENFORCE,
    EXTRACT,
    FINALISE,
    GARDEN,
    GARDEN_ROW,
    JUDGE,
    SWEEP,
    WAKE,
    Chat,
    Clock,
    Embedder,
    Job,
    Skills,
    Store,
    is_skill,
)
from engrams.settings import Settings
from engrams.types import Context, Record, Scope

if TYPE_CHECKING:
    from engrams.ports.search import Floats
    from engrams.read.request import ReadDeps, ReadRequest
    from engrams.session.commands import MemoryControl
    from engrams.session.finalise import SessionFinaliser
    from engrams.session.ingest import TurnIngest
    from engrams.session.injected import InjectedFingerprints
    from engrams.session.privacy import IncognitoSessions
    from engrams.session.sessions import SessionRegistry
    from engrams.session.working import WorkingTier
    from engrams.tend.digest import DigestJob
    from engrams.tend.garden.garden import MemoryGarden
    from engrams.tend.links import MemoryLinks
    from engrams.tend.runner import Handler, WorkerPool
    from engrams.tend.tiers import MemoryTiers
    from engrams.tend.topics import MemoryTopics


class Rooms:
    """The rooms of a MemoryEngine, which gives them its store, models, clock and settings."""

    settings: Settings
    embedder: Embedder
    chat_model: Chat | None
    _store: Store
    _clock: Clock
    _runner: WorkerPool
    _deps: ReadDeps

    @cached_property
    def links(self) -> MemoryLinks:
        """Links and tags by hand, and what they lead to."""
        from engrams.tend.links import MemoryLinks

        return MemoryLinks(cast("Any", self), self._store, self._clock, self.settings.graph)

    @cached_property
    def control(self) -> MemoryControl:
        """Requests about memory itself, in words."""
        from engrams.session.commands import MemoryControl

        return MemoryControl(cast("Any", self), self.sessions)

    @cached_property
    def topics(self) -> MemoryTopics:
        """Memories grouped by what they are about."""
        from engrams.tend.topics import MemoryTopics

        return MemoryTopics(self._store, self.embedder, self.chat_model, self._clock, self.settings.topics)

    @cached_property
    def tiers(self) -> MemoryTiers:
        """What is at hand, recent and for the long term, and what moves between."""
        from engrams.tend.sweep import TierMover
        from engrams.tend.tiers import MemoryTiers

        moves = TierMover(self._store, self.embedder, self._clock, self.settings, self.topics.refresh)
        return MemoryTiers(self._store, self.chat_model, self._clock, self.settings, self._working, moves)

    @cached_property
    def garden(self) -> MemoryGarden:
        """What looks after all of an owner's memory between conversations."""
        from engrams.session.timeout import IdleSweeper
        from engrams.tend.backfill import Backfill
        from engrams.tend.garden.cycle import Chore, GardenDeps
        from engrams.tend.garden.garden import MemoryGarden

        idle = IdleSweeper(self._store, self._clock, self.settings)
        backfill = Backfill(self._store, self.embedder, self._clock, self.settings.embed.batch_size)
        chores: dict[str, Chore] = {"sessions": lambda _: idle.sweep(), "embed": lambda _: int(backfill.ask()), "topics": self._regroup}
        parts = GardenDeps(self._store, self.embedder, self.chat_model, self._clock, self.settings, chores, self._named)
        return MemoryGarden(parts, self._runner.run)

    def _purged(self, owner: Scope) -> None:
        """What was said of this owner's memory may tell of what was purged."""
        if self._store.load(owner, GARDEN_ROW) is not None or WAKE in self._store.workload():
            self.garden.clear_reports(owner)

    def _regroup(self, owner: Scope) -> int:
        """Topics brought up to date, and like ones made one; how many memories and topics moved."""
        if not self.settings.topics.enabled:
            return 0
        moved, merged = self.topics.refresh(owner), self.topics.dedupe(owner)
        return moved.joined + moved.left + merged.merged

    def _named(self, owner: Scope, query: str) -> list[str]:
        """Ids of what a search finds, of which use learns nothing."""
        return [hit.record.id for hit in cast("Any", self).explain(query, scope=owner, limit=20).hits if not is_skill(hit.record.id)]

    # ---------------------------------------------------------------------------------------------------------- sessions

    @cached_property
    def sessions(self) -> SessionRegistry:
        """Conversations with a beginning and an end; modes; what an owner decided for all of them."""
        from engrams.session.sessions import SessionRegistry

        known, model = self._modes, self.chat_model is not None
        return SessionRegistry(self._store, self._clock, self.settings, self._runner, known=known, journal=lambda: self._journal, model=model)

    @cached_property
    def _modes(self) -> IncognitoSessions:
        from engrams.session.privacy import IncognitoSessions

        return IncognitoSessions()

    @cached_property
    def _echoes(self) -> InjectedFingerprints:
        from engrams.session.injected import InjectedFingerprints

        return InjectedFingerprints()

    @cached_property
    def _finalise(self) -> SessionFinaliser:
        from engrams.session.finalise import SessionFinaliser

        return SessionFinaliser(self._store, self.embedder, self.chat_model, self._clock, self.settings, self._runner.run)

    @property
    def _timers(self) -> dict[Callable[[], object], float]:
        """What looks for work again and again, and how often, in seconds."""
        from engrams.session.timeout import IdleSweeper

        return {IdleSweeper(self._store, self._clock, self.settings).sweep: self.settings.sessions.sweep_seconds}

    def _ruled(self, request: ReadRequest) -> ReadRequest:
        """The request, or one for rules alone: its owner wants nothing else recalled."""
        from engrams.session import preferences

        if preferences.is_recall_on(self._store.load(request.scope.owner, preferences.ROW), self.settings):
            return request
        return replace(request, kinds=preferences.RULE_KINDS, catch_up=False)

    def _allowed(self, request: ReadRequest) -> ReadRequest:
        """The request, or one that finds nothing: memory is off, or this call is to leave no trace."""
        if self.settings.enabled and not self._modes.is_silent(request.scope, request.session):
            return request
        return replace(request, text="", limit=0)

    @property
    def skills(self) -> Skills | None:
        """Knowledge beside memory; None where there is no folder of it."""
        return self._deps.skills

    def _skill(self, id: str) -> tuple[Record, ...]:
        return self.skills.get([id]) if self.skills is not None and is_skill(id) else ()

    def stored(self, id: str, scope: Scope | str | Sequence[str]) -> Record:
        """A memory that may be changed, as ``get`` finds it. RefusedError: it is a skill."""
        record: Record = cast("Any", self).get(id, scope=scope)
        if is_skill(record.id):
            raise RefusedError(f"{record.id} is a skill, and read-only.", hint=f"Change or remove its file: {record.provenance.files[0]}")
        return record

    def _given(self, scope: Scope, made: Context) -> Context:
        """A context on its way into a prompt: what comes back of it is not taken for news."""
        if made.prefix or made.tail:
            self._echoes.add_context(scope, made)
        return made

    # The write side compiles a hundred patterns: a process that only searches does not pay for them.

    @cached_property
    def _journal(self) -> TurnIngest:
        from engrams.session.ingest import TurnIngest

        parts = (self._store, self.embedder, self._clock, self.settings, self._working)
        return TurnIngest(*parts, model=self.chat_model is not None, modes=self._modes, echoes=self._echoes)

    @cached_property
    def _digest(self) -> DigestJob:
        from engrams.tend.digest import DigestJob

        return DigestJob(self._store, self.embedder, self.chat_model, self._clock, self.settings)

    # --------------------------------------------------------------------------------------------------- the working tier

    @cached_property
    def _working(self) -> WorkingTier:
        from engrams.session.working import WorkingTier

        return WorkingTier(self._store, self.embedder, self._clock, self.settings, model=self.chat_model is not None)

    @property
    def _chores(self) -> dict[str, Handler]:
        """The handlers of jobs, which load nothing before the first one comes."""

        def run(job: Job) -> None:
            self.tiers.run(job)

        def learn(job: Job) -> None:
            self._digest.run(job)

        def finalise(job: Job) -> None:
            self._finalise.run(job)

        def tend(job: Job) -> None:
            self.garden.run_job(job)

        tiers = dict.fromkeys((JUDGE, CONDENSE, ENFORCE, SWEEP), run)
        return {EXTRACT: learn, FINALISE: finalise, GARDEN: tend, WAKE: tend, **tiers}

    def _first(self, ask: Callable[[], object]) -> Callable[[], None]:
        """What is looked for before the first job."""

        def look() -> None:
            ask()
            caps = self.settings.caps
            if self.settings.tiers.enabled or caps.facts or caps.rules or caps.entries > 0:
                self.tiers.schedule_sweep()

        return look

    @property
    def _recalled(self) -> Callable[[Scope, Sequence[str]], None] | None:
        """Where selected memories are told of, for they are at hand from then on."""

        def tell(scope: Scope, ids: Sequence[str]) -> None:
            self._working.keep_recalled(scope, ids)

        return tell if self.settings.tiers.enabled else None

    @property
    def _near(self) -> Callable[[Scope, Floats | None], Mapping[str, float]] | None:
        """What is at hand and near a query; nothing is, before anything was said or selected."""

        def look(scope: Scope, vector: Floats | None) -> Mapping[str, float]:
            return self._working.find_near(scope, vector) if "_working" in self.__dict__ else {}

        return look if self.settings.tiers.enabled else None

    def _tail(self, scope: Scope) -> tuple[Record, ...]:
        """The last of what was said, for every context."""
        return self._working.tail(scope) if "_working" in self.__dict__ else ()

    def _settled(self) -> None:
        """The sessions begun here end, and nothing stays in the working tier of a process that ends."""
        if "sessions" in self.__dict__:
            self.sessions.close()
        if "_working" in self.__dict__:
            self._working.close()

    def _dropped(self, owner: Scope, ids: Sequence[str]) -> None:
        """These are not at hand any more."""
        if "_working" in self.__dict__:
            self._working.drop(owner, ids)
