"""Components of an engine, each created on first access."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field, replace
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING

from engrams.core import Context, Kind, Receipt, Record, Scope, SearchResult, Turn, conversation
from engrams.core.process_peers import ProcessPeers
from engrams.engine.inspector import MemoryInspector
from engrams.frozen_data import dataclass
from engrams.ports import (
    BEGIN,
    CHANGES,
    CONDENSE,
    EMBED,
    ENFORCE,
    EXTRACT,
    FINALISE,
    GARDEN,
    GARDEN_STATE,
    JUDGE,
    POLICY,
    PREFERENCES,
    PURGE,
    REVIEW,
    ROLL,
    SWEEP,
    TOPICS,
    WAKE,
    WEBHOOK,
    ChatModel,
    Clock,
    Embedder,
    HomeFileCleaner,
    MemoryFiles,
    Reranker,
    SkillRecordSource,
    Store,
    TokenCounter,
    UpkeepGatekeeper,
    is_skill,
)
from engrams.ports.hot_memories import HotMemories
from engrams.read import prompt_context
from engrams.read.arguments import check_count
from engrams.read.corrected_words import mask_corrected
from engrams.read.dependencies import ReadDeps
from engrams.read.request import ReadRequest
from engrams.read.search import search
from engrams.session.delivery import ContextDeliverer
from engrams.settings import Settings
from engrams.upkeep.helper_processes import HelperProcesses
from engrams.upkeep.job_lease import keep_lease
from engrams.upkeep.job_worker import Handler, JobWorkerPool, WorkDiscovery
from engrams.upkeep.planned_fact_start import begin_planned
from engrams.upkeep.usage.usage_tracker import MemoryUsageTracker
from engrams.upkeep.vector_backfill import VectorBackfillJobHandler

if TYPE_CHECKING:
    from engrams.engine.memory_links import MemoryLinks
    from engrams.forget.edits import MemoryEditor
    from engrams.forget.forgetting import MemoryForgetter
    from engrams.forget.purge import MemoryPurger
    from engrams.session.ending.finaliser import SessionFinaliser
    from engrams.session.extraction_queue import ExtractionQueue
    from engrams.session.registry import SessionRegistry
    from engrams.session.summaries.summariser import ConversationSummariser
    from engrams.transfer.imports.runs import ImportRunRegistry
    from engrams.transfer.imports.undo import PurgeFunction
    from engrams.transfer.webhooks.delivery import WebhookDeliverer
    from engrams.upkeep.calibration import ThresholdCalibrator
    from engrams.upkeep.change_detection_job import ChangeDetectionJobHandler
    from engrams.upkeep.extraction_job import ExtractionJobHandler
    from engrams.upkeep.fact_review.reviewer import FactReviewer
    from engrams.upkeep.garden.garden import MemoryGarden
    from engrams.upkeep.tiers.memory_tiers import MemoryTiers
    from engrams.upkeep.topics import MemoryTopics
    from engrams.write.dependencies import WriteDeps
    from engrams.write.extraction_jobs import OwnExtraction
    from engrams.write.fingerprints import InjectedContextFingerprints
    from engrams.write.ingest_request import IngestDeps
    from engrams.write.privacy_modes import IncognitoSessions
    from engrams.write.reconcile import DigestResult
    from engrams.write.working_tier import WorkingTier


@dataclass(frozen=True, slots=True)
class EngineDeps:
    """Ports that an engine works with; ``engrams.open`` puts them together.

    ``files``: memory as files, where a vault is on. ``home``: what a purge cleans beside the store.
    ``plain``: the embedder that the detector of changes was trained with. ``peers``: other
    processes of the same server.
    """

    settings: Settings
    store: Store
    embedder: Embedder
    chat: ChatModel | None
    counter: TokenCounter
    clock: Clock
    upkeep: UpkeepGatekeeper
    reranker: Reranker | None = None
    handlers: Mapping[str, Handler] = field(default_factory=dict)
    skills: SkillRecordSource | None = None
    files: MemoryFiles | None = None
    home: Callable[[], HomeFileCleaner] | None = None
    plain: Embedder | None = None
    helpers: HelperProcesses = field(default_factory=HelperProcesses)
    peers: ProcessPeers = field(default_factory=ProcessPeers)


class EngineComponents:
    """Components of one engine (sessions, tiers, garden, …), imported when used."""

    def __init__(self, deps: EngineDeps) -> None:
        settings = deps.settings
        store = deps.store
        clock = deps.clock
        embedder = deps.embedder
        self.deps = deps
        models = {"embedder": embedder.card.id, "chat": deps.chat.name if deps.chat else ""}
        self.inspect = MemoryInspector(
            store, clock, settings, models, deps.skills, deps.upkeep, deps.reranker
        )
        tiers = settings.tiers.enabled
        self.read_deps = ReadDeps(
            records=store,
            search=store,
            links=store,
            embedder=embedder,
            counter=deps.counter,
            settings=settings.read,
            link_settings=settings.graph,
            rerank_settings=settings.rerank,
            reranker=deps.reranker,
            skills=deps.skills,
            query_chars=settings.limits.query_chars,
            states=store,
            hide_questions=settings.write.questions == "log",
        )
        self._backfill = VectorBackfillJobHandler(store, embedder, clock, settings.embed.batch_size)
        handlers = {**self._make_handlers(), **deps.handlers}
        discovery = WorkDiscovery(at_start=self._plan_work, periodic=self._make_timers())
        self.runner = JobWorkerPool(store, handlers, clock, settings.jobs, discovery, deps.upkeep)
        self.usage = MemoryUsageTracker(
            store, embedder, clock, settings, self._keep_recalled if tiers else None
        )
        self.delivery = ContextDeliverer(
            settings.delivery, embedder, deps.counter, clock, deps.peers
        )

    # ----------------------------------------------------------------------------------------------
    # reading

    def search(self, request: ReadRequest) -> SearchResult:
        """Search, without counting use."""
        return search(self._with_session_state(request), self.read_deps)

    def _with_session_state(self, request: ReadRequest) -> ReadRequest:
        """Tell a read what only this process knows: private conversations and hot memories."""
        settings = self.deps.settings
        silent = not settings.enabled or self.privacy.is_silent(request.scope, request.session)
        hot = None
        if settings.tiers.enabled:
            hot = (
                self.working.copy_hot(request.scope)
                if self._has_working
                else HotMemories({}, settings.tiers.hot_cosine)
            )
        return replace(request, is_silent=silent, hot=hot)

    def search_by_text(self, query: str, scope: Scope, limit: int) -> SearchResult:
        """Search and count the use of what was found."""
        found = self.search(ReadRequest(query, scope, self.deps.clock(), limit))
        self.usage.note_search(found, scope)
        return found

    def build_context(self, request: ReadRequest, tokens: int | None) -> Context:
        """Render memory for a prompt.

        Its use is counted, and it is fingerprinted so that its echo is not extracted again.
        """
        section = self.deps.settings.read
        request = self._with_session_state(request)
        if request.is_silent:
            total = 0
        elif tokens is None:
            total = section.context_tokens
        else:
            total = check_count(tokens, "tokens")
        share = section.prefix_share if request.text.strip() else 1.0
        budget = prompt_context.ContextTokenBudget(
            total, min(section.prefix_tokens, int(share * total)), self.deps.counter
        )
        made = prompt_context.build_context(
            self._restrict_to_rules(request), self.read_deps, budget
        )
        if made.trace is not None and request.as_of is None:
            self.usage.note_search(
                SearchResult(made.hits, made.trace, made.abstain), request.scope, request.session
            )
        if made.prefix or made.tail:
            self.injected.add_context(request.scope, made)
        return made

    def _restrict_to_rules(self, request: ReadRequest) -> ReadRequest:
        """Limit a read to rules where its owner turned recall off."""
        from engrams.session import owner_settings

        if owner_settings.is_recall_on(
            self.deps.store.load_state(request.scope.owner, PREFERENCES), self.deps.settings
        ):
            return request
        return replace(request, kinds=owner_settings.RULE_KINDS, catch_up=False)

    def find_tail(self, scope: Scope) -> tuple[Record, ...]:
        """Return the last turns of a conversation, which every context shows."""
        return tuple(map(mask_corrected, self.working.tail(scope))) if self._has_working else ()

    def find_summary(self, scope: Scope, session: str) -> str:
        """Return the rolling summary of a conversation; empty without one."""
        if not self.deps.settings.summary.enabled:
            return ""
        from engrams.session.summaries.summary_records import find_summary

        record = find_summary(self.deps.store, *conversation(scope, session))
        return record.text if record else ""

    # ----------------------------------------------------------------------------------------------
    # writing

    def write_turns(
        self, turns: Sequence[Turn], scope: Scope, kind: Kind, channel: str = ""
    ) -> tuple[Receipt, ...]:
        """Journal turns in one write and wake the workers."""
        from engrams.write import ingest
        from engrams.write.ingest_request import IngestRequest

        request = IngestRequest(tuple(turns), scope, kind, channel)
        receipts = ingest.add(request, self.ingest_deps).receipts
        self.runner.wake()
        return receipts

    def drop_from_tiers(self, owner: Scope, ids: Sequence[str]) -> None:
        """Drop memories from this process's working tier and hot buffer."""
        if self._has_working:
            self.working.drop(owner, ids)

    # ----------------------------------------------------------------------------------------------
    # forgetting

    @cached_property
    def editor(self) -> MemoryEditor:
        from engrams.forget.edits import MemoryEditor

        return MemoryEditor(self.write_deps)

    @cached_property
    def forgetter(self) -> MemoryForgetter:
        from engrams.forget.forgetting import ForgetDeps, MemoryForgetter

        return MemoryForgetter(
            ForgetDeps(
                store=self.deps.store,
                clock=self.deps.clock,
                min_words=self.deps.settings.write.min_words,
                drop_cached=self.drop_from_tiers,
            )
        )

    @cached_property
    def purger(self) -> MemoryPurger:
        from engrams.forget.purge import MemoryPurger, PurgeDeps

        deps = self.deps
        return MemoryPurger(
            PurgeDeps(
                store=deps.store,
                embedder=deps.embedder,
                clock=deps.clock,
                drop_cached=self._drop_purged,
                home=deps.home,
            ),
            deps.settings.write.min_words,
            partial(keep_lease, deps.store, deps.clock),
        )

    def _drop_purged(self, owner: Scope, ids: Sequence[str]) -> None:
        """Drop memories being purged, and garden reports that may quote them."""
        self.drop_from_tiers(owner, ids)
        if (
            self.deps.store.load_state(owner, GARDEN_STATE).token
            or WAKE in self.deps.store.workload()
        ):
            self.garden.clear_reports(owner)

    def close(self, cut: Callable[[], object] | None) -> None:
        """Stop jobs, end sessions, empty the working tier; ``cut`` stops models."""

        def request_ends() -> Sequence[str]:
            has_spoken = "ingest_deps" in self.__dict__ and bool(
                self.ingest_deps.spoken_sessions.list()
            )
            return self.sessions.request_ends() if has_spoken or "sessions" in self.__dict__ else ()

        self.runner.close(self.deps.settings.sessions.shutdown_seconds, cut, request_ends)
        self.deps.helpers.close()
        if "working" in self.__dict__:
            self.working.close()

    @cached_property
    def write_deps(self) -> WriteDeps:
        """Dependencies of every step of the write flow."""
        from engrams.write.dependencies import WriteDeps

        deps = self.deps
        return WriteDeps(deps.store, deps.embedder, deps.clock, deps.settings, deps.chat)

    @cached_property
    def ingest_deps(self) -> IngestDeps:
        """Dependencies of ``engrams.write.ingest``."""
        from engrams.write.guards import NoSaveRequestLog, WriteGuards
        from engrams.write.ingest_request import IngestDeps
        from engrams.write.session_rows import SpokenSessionLog

        return IngestDeps(
            write=self.write_deps,
            guards=WriteGuards(
                self.write_deps, self.privacy, NoSaveRequestLog(self.deps.store, self.deps.peers)
            ),
            injected=self.injected,
            spoken_sessions=SpokenSessionLog(self.deps.settings),
            tier=self.working if self._has_limits else None,
        )

    @cached_property
    def extraction(self) -> ExtractionJobHandler:
        from engrams.upkeep.extraction_job import ExtractionJobHandler

        return ExtractionJobHandler(self.write_deps, self.deps.helpers)

    def run_own_extraction(self, own: OwnExtraction) -> DigestResult | None:
        """Run the extraction that a caller leased with its write; None: a worker tries it again."""
        return self.runner.run_leased(own.job, partial(self.extraction.run_own, own))

    @cached_property
    def changes(self) -> ChangeDetectionJobHandler:
        from engrams.upkeep.change_detection_job import ChangeDetectionJobHandler

        return ChangeDetectionJobHandler(self.write_deps, self.deps.plain, self.deps.helpers)

    @cached_property
    def updates(self) -> ExtractionQueue:
        from engrams.session.extraction_queue import ExtractionQueue

        return ExtractionQueue(self.ingest_deps, self.runner)

    # ----------------------------------------------------------------------------------------------
    # sessions

    @cached_property
    def sessions(self) -> SessionRegistry:
        from engrams.session.registry import SessionRegistry

        return SessionRegistry(self.ingest_deps, self.runner)

    @cached_property
    def finaliser(self) -> SessionFinaliser:
        from engrams.session.ending.finaliser import SessionFinaliser

        return SessionFinaliser(self.write_deps, self.runner)

    @cached_property
    def privacy(self) -> IncognitoSessions:
        from engrams.write.privacy_modes import IncognitoSessions

        return IncognitoSessions()

    @cached_property
    def injected(self) -> InjectedContextFingerprints:
        from engrams.write.fingerprints import InjectedContextFingerprints

        return InjectedContextFingerprints(self.deps.peers)

    @cached_property
    def summaries(self) -> ConversationSummariser:
        from engrams.session.summaries.dependencies import SummaryDeps
        from engrams.session.summaries.summariser import ConversationSummariser

        deps = self.deps
        summary_deps = SummaryDeps(
            store=deps.store,
            chat=deps.chat,
            counter=deps.counter,
            clock=deps.clock,
            write_turns=self.write_turns,
            hasten_extraction=self.updates.hasten,
            has_daily_notes=deps.files is not None,
        )
        return ConversationSummariser(summary_deps, deps.settings.summary)

    # ----------------------------------------------------------------------------------------------
    # upkeep

    @cached_property
    def working(self) -> WorkingTier:
        from engrams.write.working_tier import WorkingTier

        return WorkingTier(self.write_deps, self.deps.peers)

    @cached_property
    def nearness(self) -> ThresholdCalibrator:
        from engrams.upkeep.calibration import ThresholdCalibrator

        def measure(text: str, owner: Scope) -> float:
            return self.search(ReadRequest(text, owner, deps.clock(), 1)).nearness

        deps = self.deps
        return ThresholdCalibrator(
            deps.store, deps.embedder.card, deps.clock, deps.settings.read.abstain, measure
        )

    @cached_property
    def tiers(self) -> MemoryTiers:
        from engrams.upkeep.tiers.long_term_move import LongTermMover
        from engrams.upkeep.tiers.memory_tiers import MemoryTiers

        deps = self.deps
        mover = LongTermMover(
            deps.store, deps.embedder, deps.clock, deps.settings, self.topics.refresh
        )
        return MemoryTiers(deps.store, deps.chat, deps.clock, deps.settings, self.working, mover)

    @cached_property
    def topics(self) -> MemoryTopics:
        from engrams.upkeep.topics import MemoryTopics

        return MemoryTopics(
            self.deps.store,
            self.deps.embedder,
            self.deps.chat,
            self.deps.clock,
            self.deps.settings.topics,
        )

    @cached_property
    def links(self) -> MemoryLinks:
        from engrams.engine.memory_links import MemoryLinks

        return MemoryLinks(
            self.inspect,
            self.search_by_text,
            self.deps.store,
            self.deps.clock,
            self.deps.settings.graph,
        )

    @cached_property
    def review(self) -> FactReviewer:
        from engrams.upkeep.fact_review.reviewer import FactReviewer

        return FactReviewer(
            self.deps.store,
            self.deps.embedder,
            self.deps.chat,
            self.deps.clock,
            self.deps.settings.review,
        )

    @cached_property
    def webhooks(self) -> WebhookDeliverer:
        from engrams.transfer.webhooks.delivery import WebhookDeliverer

        return WebhookDeliverer(
            self.deps.store, self.deps.clock, self.deps.settings.serve.allow_private_webhooks
        )

    def make_imports(self, purge: PurgeFunction) -> ImportRunRegistry:
        """Build the registry of imports, whose undo purges memories."""
        from engrams.transfer.imports.importer import ImportTarget
        from engrams.transfer.imports.runs import ImportRunRegistry

        root = Path(self.deps.settings.write.ignore_root or ".")
        target = ImportTarget(
            write_turns=self.write_turns,
            store=self.deps.store,
            clock=self.deps.clock,
            ignore_root=root,
            quota=self.deps.settings.quota,
        )
        return ImportRunRegistry(target, purge, self.privacy.is_silent)

    @cached_property
    def garden(self) -> MemoryGarden:
        from engrams.session.end_requests import IdleSessionSweeper
        from engrams.upkeep.garden.cycle import Chore, GardenDeps
        from engrams.upkeep.garden.garden import MemoryGarden

        deps = self.deps
        chores: dict[str, Chore] = {
            "sessions": lambda _: IdleSessionSweeper(deps.store, deps.clock, deps.settings).sweep(),
            "embed": lambda _: int(self._backfill.enqueue_if_missing()),
            "topics": self._refresh_topics,
        }
        parts = GardenDeps(
            store=deps.store,
            embedder=deps.embedder,
            chat=deps.chat,
            clock=deps.clock,
            settings=deps.settings,
            chores=chores,
            search=self._find_ids,
        )
        return MemoryGarden(parts, self.runner.run_job)

    def _refresh_topics(self, owner: Scope) -> int:
        if not self.deps.settings.topics.enabled:
            return 0
        moved = self.topics.refresh(owner)
        merged = self.topics.dedupe(owner)
        return moved.joined + moved.left + merged.merged

    def _find_ids(self, owner: Scope, query: str) -> list[str]:
        found = self.search(ReadRequest(query, owner, self.deps.clock(), 20))
        return [hit.record.id for hit in found.hits if not is_skill(hit.record.id)]

    def _make_handlers(self) -> dict[str, Handler]:
        """Map job kinds to handlers, loaded by their first job."""
        return {
            EMBED: self._backfill.run_job,
            PURGE: lambda job: self.purger.run(job),  # noqa: PLW0108 - created by its first job
            EXTRACT: lambda job: self.extraction.run(job),  # noqa: PLW0108 - created by its first job
            BEGIN: lambda job: begin_planned(job, self.deps.store, self.deps.clock),
            CHANGES: lambda job: self.changes.run(job),  # noqa: PLW0108 - created by its first job
            FINALISE: lambda job: self.finaliser.run_job(job),  # noqa: PLW0108 - created by its first job
            TOPICS: lambda job: self.topics.run_job(job),  # noqa: PLW0108 - created by its first job
            POLICY: lambda job: self.finaliser.run_review_job(job),  # noqa: PLW0108 - created by its first job
            ROLL: lambda job: self.summaries.run_job(job),  # noqa: PLW0108 - created by its first job
            WEBHOOK: lambda job: self.webhooks.run(job),  # noqa: PLW0108 - created by its first job
            REVIEW: lambda job: self.review.run_job(job),  # noqa: PLW0108 - created by its first job
            **dict.fromkeys((GARDEN, WAKE), lambda job: self.garden.run_job(job)),  # noqa: PLW0108 - as these
            **dict.fromkeys((JUDGE, CONDENSE, ENFORCE, SWEEP), lambda job: self.tiers.run_job(job)),  # noqa: PLW0108 - as these
        }

    def _make_timers(self) -> dict[Callable[[], object], float]:
        """List periodic functions that look for work, with periods in seconds."""
        from engrams.session.end_requests import IdleSessionSweeper

        sweep = IdleSessionSweeper(self.deps.store, self.deps.clock, self.deps.settings).sweep
        return {sweep: self.deps.settings.sessions.sweep_seconds, self.webhooks.look: 2.0}

    def _plan_work(self) -> None:
        self._backfill.enqueue_if_missing()
        if self._has_limits:
            self.tiers.schedule_sweep()

    @property
    def _has_limits(self) -> bool:
        caps = self.deps.settings.caps
        tiers = self.deps.settings.tiers
        return bool(tiers.enabled or caps.facts or caps.rules or caps.entries > 0)

    def _keep_recalled(self, scope: Scope, ids: Sequence[str]) -> None:
        self.working.keep_recalled(scope, ids)

    @property
    def _has_working(self) -> bool:
        return "working" in self.__dict__ or self.deps.peers.is_waiting("working")
