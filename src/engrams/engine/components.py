"""Components of an engine: its parts, each made on first access, and the handlers of its jobs.

This is the one place where a part gets its dependencies. A part is imported when it is made, so that
a command loads only the parts that it uses. ``MemoryEngine`` shows the public ones as properties.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from engrams.core import Kind, Receipt, Record, Scope, Turn, Vector
from engrams.engine.dependencies import EngineDeps
from engrams.engine.inspector import MemoryInspector
from engrams.engine.lazy_part import LazyPart
from engrams.engine.memory_reads import ConversationState, MemoryReads
from engrams.engine.shared_reads import SharedReads
from engrams.errors import EngramsError
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
    PURGE,
    REVIEW,
    ROLL,
    SWEEP,
    TOPICS,
    WAKE,
    WEBHOOK,
    AttachmentStore,
    Job,
    PurgeReport,
)
from engrams.read.dependencies import ReadDeps
from engrams.read.embedder_fit import EmbedderFits
from engrams.read.query_vectors import QueryVectors
from engrams.session.delivery import ContextDeliverer
from engrams.spaces import SpaceRegistry
from engrams.upkeep.job_lease import keep_lease
from engrams.upkeep.job_worker import Handler, JobWorkerPool, WorkDiscovery
from engrams.upkeep.planned_fact_start import begin_planned
from engrams.upkeep.usage.usage_tracker import MemoryUsageTracker
from engrams.upkeep.vector_backfill import VectorBackfillJobHandler

if TYPE_CHECKING:
    from engrams.engine.memory_code import MemoryCode
    from engrams.engine.memory_links import MemoryLinks
    from engrams.engine.memory_spaces import MemorySpaces
    from engrams.forget.edits import MemoryEditor
    from engrams.forget.memory_forgetter import MemoryForgetter
    from engrams.forget.purge import MemoryPurger
    from engrams.session.ending.finaliser import SessionFinaliser
    from engrams.session.extraction_queue import ExtractionQueue
    from engrams.session.registry import SessionRegistry
    from engrams.session.summaries.summariser import ConversationSummariser
    from engrams.sync.attachment_exchange import AttachmentExchangeDeps
    from engrams.sync.device_sync import MemorySync
    from engrams.transfer.documents.library import DocumentLibrary
    from engrams.transfer.imports.runs import ImportRunRegistry
    from engrams.transfer.webhooks.delivery import WebhookDeliverer
    from engrams.upkeep.change_detection_job import ChangeDetectionJobHandler
    from engrams.upkeep.extraction_job import ExtractionJobHandler
    from engrams.upkeep.fact_review.reviewer import FactReviewer
    from engrams.upkeep.garden.garden import MemoryGarden
    from engrams.upkeep.nearness_calibration import ThresholdCalibrator
    from engrams.upkeep.tiers.memory_tiers import MemoryTiers
    from engrams.upkeep.topics import MemoryTopics
    from engrams.write.extraction_jobs import OwnExtraction
    from engrams.write.ingest_request import IngestDeps, IngestRequest
    from engrams.write.privacy_modes import IncognitoSessions
    from engrams.write.prompt_fingerprints import InjectedContextFingerprints
    from engrams.write.reconcile import DigestResult
    from engrams.write.working_tier import WorkingTier
    from engrams.write.write_deps import WriteDeps

_EXCHANGE_SECONDS = 20.0
"""Seconds between two exchanges with the other devices of a person."""
_WEBHOOK_SECONDS = 2.0
"""Seconds between two looks for changed memories that web hooks ask for."""


class EngineComponents:
    """Parts of one engine. A part never gets the engine, but ports, settings and functions."""

    def __init__(self, deps: EngineDeps) -> None:
        self.deps = deps
        self._backfill = VectorBackfillJobHandler(
            deps.store,
            deps.embedder,
            deps.clock,
            deps.settings.embed,
            deps.settings.topics,
            self._follow_vectors,
        )
        # Made here and not lazily: nearly every call of an engine uses these.
        self.inspect = MemoryInspector(deps)
        self.read_deps = _make_read_deps(deps)
        self.runner = JobWorkerPool(
            deps.store,
            {**self._make_handlers(), **deps.handlers},
            deps.clock,
            deps.settings.jobs,
            WorkDiscovery(at_start=self._plan_work, periodic=self._make_timers()),
            deps.upkeep,
        )
        self.usage = MemoryUsageTracker(
            deps.store,
            deps.embedder,
            deps.clock,
            deps.settings,
            self._keep_recalled if deps.settings.tiers.enabled else None,
        )
        self.delivery = ContextDeliverer(
            deps.settings.delivery,
            self.read_deps.query_vectors,
            deps.counter,
            deps.clock,
            deps.peers,
        )

    def close(self, cut_models: Callable[[], object] | None) -> None:
        """Stop jobs, end sessions and empty the working tier.

        ``cut_models``: cuts off models that do not answer in time; None: they cannot be cut off.
        """
        self.runner.close(
            self.deps.settings.sessions.shutdown_seconds, cut_models, self._request_session_ends
        )
        self.deps.helpers.close()
        if EngineComponents.working.is_made(self):
            self.working.close()

    def _request_session_ends(self) -> Sequence[str]:
        """Request the end of sessions of this process; return the ids of the jobs that end them."""
        has_spoken = EngineComponents.ingest_deps.is_made(self) and bool(
            self.ingest_deps.spoken_sessions.list()
        )
        if has_spoken or EngineComponents.sessions.is_made(self):
            return self.sessions.request_ends()
        return ()

    # ----------------------------------------------------------------------------------------------
    # reading

    @LazyPart
    def reads(self) -> MemoryReads:
        """Searches and contexts."""
        conversations = ConversationState(self.privacy, self.injected, self._find_working_tier)
        return MemoryReads(self.deps, self.read_deps, conversations, self.usage)

    @LazyPart
    def space_registry(self) -> SpaceRegistry:
        """Members of spaces, and their roles."""
        return SpaceRegistry(self.deps.store, self.deps.clock)

    @LazyPart
    def shared_reads(self) -> SharedReads:
        """Searches and contexts that include the spaces of whoever asks."""
        return SharedReads(self.reads, self.space_registry, self.deps.counter, self.usage)

    @LazyPart
    def spaces(self) -> MemorySpaces:
        """Memories that several people share, with their members and roles."""
        from engrams.engine.memory_spaces import MemorySpaces

        return MemorySpaces(
            self.space_registry, self.deps.store, self.purge_all, lambda: self.sync.spaces
        )

    @LazyPart
    def code(self) -> MemoryCode:
        """Memories compared with the code that they name."""
        from engrams.engine.memory_code import MemoryCode

        return MemoryCode(self.deps.store, self.deps.code)

    @LazyPart
    def links(self) -> MemoryLinks:
        """Links and tags by hand, and the memories they lead to."""
        from engrams.engine.memory_links import MemoryLinks

        return MemoryLinks(
            self.inspect,
            self.reads.search_without_links,
            self.deps.store,
            self.deps.clock,
            self.deps.settings,
        )

    # ----------------------------------------------------------------------------------------------
    # writing

    @LazyPart
    def write_deps(self) -> WriteDeps:
        """Dependencies of every step of the write flow."""
        from engrams.write.write_deps import WriteDeps

        deps = self.deps
        return WriteDeps(
            deps.store, deps.embedder, deps.clock, deps.settings, deps.chat, judge=deps.judge
        )

    @LazyPart
    def ingest_deps(self) -> IngestDeps:
        """Dependencies of ``engrams.write.ingest``."""
        from engrams.write.announced_texts import AnnouncedTextLog
        from engrams.write.guards import NoSaveRequestLog, WriteGuards
        from engrams.write.ingest_request import IngestDeps
        from engrams.write.session_rows import EarlyCrisisTable, SpokenSessionLog

        return IngestDeps(
            write=self.write_deps,
            guards=WriteGuards(
                self.write_deps,
                self.privacy,
                NoSaveRequestLog(self.deps.store, self.deps.peers),
                AnnouncedTextLog(self.deps.peers),
            ),
            injected=self.injected,
            spoken_sessions=SpokenSessionLog(self.deps.settings),
            early_crises=EarlyCrisisTable(self.deps.peers),
            tier=self.working if self._has_limits else None,
        )

    @LazyPart
    def extraction(self) -> ExtractionJobHandler:
        """Extraction of statements from messages."""
        from engrams.upkeep.extraction_job import ExtractionJobHandler

        return ExtractionJobHandler(self.write_deps, self.deps.helpers)

    @LazyPart
    def changes(self) -> ChangeDetectionJobHandler:
        """Detection of statements that later messages end."""
        from engrams.upkeep.change_detection_job import ChangeDetectionJobHandler

        return ChangeDetectionJobHandler(self.write_deps, self.deps.plain, self.deps.helpers)

    @LazyPart
    def updates(self) -> ExtractionQueue:
        """Queue of turns to extract from, for callers that steer it."""
        from engrams.session.extraction_queue import ExtractionQueue

        return ExtractionQueue(self.ingest_deps, self.runner)

    @LazyPart
    def imports(self) -> ImportRunRegistry:
        """Imports of an owner: listed, and undone as a whole."""
        from engrams.transfer.imports.importer import ImportTarget
        from engrams.transfer.imports.runs import ImportRunRegistry

        settings = self.deps.settings
        target = ImportTarget(
            write_turns=self.write_turns,
            store=self.deps.store,
            clock=self.deps.clock,
            ignore_root=Path(settings.write.ignore_root or "."),
            quota=settings.quota,
            edit=self.editor.edit,
            redact_name=self._redact_name,
            attachments=self.attachments,
            keeps_places=settings.documents.picture_places,
            recognises_text=settings.documents.ocr == "auto",
            media_models=self.deps.media_models,
        )
        return ImportRunRegistry(target, self.purge, self.privacy.is_silent)

    @LazyPart
    def attachments(self) -> AttachmentStore | None:
        """Files of pictures and sounds; None: they are not kept."""
        return None if self.deps.attachments is None else self.deps.attachments()

    def _redact_name(self, name: str) -> str:
        from engrams.extract.redaction import redact_text  # loaded by an import, not by a list

        return redact_text(name, self.deps.settings.write)[0]

    @LazyPart
    def documents(self) -> DocumentLibrary:
        """Documents as wholes: added, listed, forgotten, erased."""
        from engrams.transfer.documents.library import DocumentLibrary

        return DocumentLibrary(
            self.deps.store,
            self.imports,
            lambda: self.forgetter,
            self.purge,
            allow_private=self.deps.settings.serve.allow_private_webhooks,
        )

    def write_turns(
        self, turns: Sequence[Turn], scope: Scope, kind: Kind, channel: str = ""
    ) -> tuple[Receipt, ...]:
        """Journal turns in one write and wake the workers."""
        from engrams.write import ingest
        from engrams.write.ingest_request import IngestRequest

        request = IngestRequest(tuple(turns), scope, kind, channel)
        receipts = ingest.add(request, self.ingest_deps).receipts
        self.retract_said_before(request, receipts)
        self.runner.wake()
        return receipts

    def retract_said_before(self, request: IngestRequest, receipts: Sequence[Receipt]) -> None:
        """Forget what messages of a live write ask to forget, or not to save."""
        from engrams.extract.memory_requests import is_about_before

        if not request.is_live or not any(is_about_before(turn.text) for turn in request.turns):
            return
        from engrams.forget.retractions import retract_said_before

        retract_said_before(request.turns, receipts, request.scope, self.deps.store, self.forgetter)

    def run_own_extraction(self, own: OwnExtraction) -> DigestResult | None:
        """Run the extraction that a caller leased with its write; None: a worker tries it again."""
        return self.runner.run_leased(own.job, partial(self.extraction.run_own, own))

    # ----------------------------------------------------------------------------------------------
    # forgetting

    @LazyPart
    def editor(self) -> MemoryEditor:
        """Edits of memories."""
        from engrams.forget.edits import MemoryEditor

        return MemoryEditor(self.write_deps)

    @LazyPart
    def forgetter(self) -> MemoryForgetter:
        """Forgetting and restoring of memories."""
        from engrams.forget.memory_forgetter import ForgetDeps, MemoryForgetter

        return MemoryForgetter(
            ForgetDeps(
                store=self.deps.store,
                clock=self.deps.clock,
                min_words=self.deps.settings.write.min_words,
                drop_cached=self.drop_from_tiers,
            )
        )

    @LazyPart
    def purger(self) -> MemoryPurger:
        """Erasure of memories."""
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

    def purge(self, ids: str | Sequence[str], scope: Scope, git: bool) -> PurgeReport:
        """Erase memories for good, with their words wherever they stand."""
        with self.deps.store.include_altered():
            records = self.inspect.list_editable(ids, scope)
            return self.purger.purge(records, scope.owner, git=git)

    def purge_all(self, scope: Scope, git: bool = False) -> PurgeReport:
        """Erase everything of a scope and below it for good, of every status."""
        with self.deps.store.include_altered():
            records = self.inspect.list_within(scope, purged=git)
            return self.purger.purge(records, scope.owner, git=git)

    def drop_from_tiers(self, owner: Scope, ids: Sequence[str]) -> None:
        """Drop memories from this process's working tier and hot buffer."""
        working = self._find_working_tier()
        if working is not None:
            working.drop(owner, ids)

    def _follow_vectors(self, vectors: Sequence[tuple[Scope, Vector]]) -> None:
        """Compare messages of the working tier by their new vectors."""
        working = self._find_working_tier()
        if working is not None:
            working.archive_repetitions(vectors)

    def _drop_purged(self, owner: Scope, ids: Sequence[str]) -> None:
        """Drop memories being purged, and garden reports that may quote them."""
        self.drop_from_tiers(owner, ids)
        store = self.deps.store
        if store.load_state(owner, GARDEN_STATE).token or WAKE in store.workload():
            self.garden.clear_reports(owner)

    # ----------------------------------------------------------------------------------------------
    # devices

    @LazyPart
    def sync(self) -> MemorySync:
        """One memory on several devices."""
        from engrams.sync.device_sync import MemorySync
        from engrams.sync.exchange import ExchangeDeps
        from engrams.sync.space_sync import SpaceSync

        settings = self.deps.settings
        exchange_deps = ExchangeDeps(
            store=self.deps.store,
            clock=self.deps.clock,
            purge=self._purge_told,
            forget=self._forget_told,
            redact=self._redact_told,
            holds_secret=self._holds_secret,
            secret_rules=settings.write.describe_treatments(),
            make_vectors=self._make_quick_vectors,
            after=self._follow_exchange,
            files=self._find_travelling_files(),
        )
        spaces = SpaceSync(exchange_deps, settings, self.space_registry, self.purge_all)
        return MemorySync(exchange_deps, settings, spaces)

    def _find_travelling_files(self) -> AttachmentExchangeDeps | None:
        from engrams.sync.attachment_exchange import AttachmentExchangeDeps

        max_bytes = self.deps.settings.documents.sync_bytes
        if self.attachments is None or not max_bytes:
            return None
        return AttachmentExchangeDeps(
            self.deps.store, self.attachments, max_bytes, self._holds_secret
        )

    def _make_quick_vectors(self, records: Sequence[Record]) -> Mapping[str, Vector]:
        """Embed texts where the embedder is quick; else the backfill does it later."""
        from engrams.write.record_vectors import embed_records

        card = self.deps.embedder.card
        return embed_records(records, self.deps.embedder)[0] if card.inline else {}

    def _purge_told(self, records: Sequence[Record]) -> None:
        """Purge what another device purged."""
        with self.deps.store.include_altered():
            self.purger.purge(records, records[0].scope.owner)

    def _forget_told(self, records: Sequence[Record]) -> None:
        """Forget what rests on a memory that was forgotten on another device."""
        self.forgetter.forget(records, records[0].scope.owner, "it rests on a forgotten memory")

    def _redact_told(self, records: Sequence[Record]) -> None:
        """Take from earlier versions the secrets that another device took from the memories."""
        from engrams.forget.secret_scan import plan_history_redaction

        with self.deps.store.include_altered():
            plan = plan_history_redaction(records, records[0].scope.owner, self.deps.store)
            if plan.order.quotes:
                self.purger.carry_out(plan)

    def _holds_secret(self, record: Record) -> bool:
        from engrams.forget.secret_scan import holds_secret

        return holds_secret(record, self.deps.settings.write)

    def _exchange(self) -> None:
        """Exchange memory with the other devices, where this home is one."""
        # Its place may be away for a while, and a command may exchange at this moment.
        with suppress(EngramsError):
            if self.sync.is_on or self.sync.spaces.is_on:
                self.sync.now()

    def _follow_exchange(self) -> None:
        self._backfill.enqueue_if_missing()
        self.runner.wake()

    # ----------------------------------------------------------------------------------------------
    # sessions

    @LazyPart
    def sessions(self) -> SessionRegistry:
        """Conversations with an end; privacy modes; preferences of an owner."""
        from engrams.session.registry import SessionRegistry

        return SessionRegistry(self.ingest_deps, self.runner)

    @LazyPart
    def finaliser(self) -> SessionFinaliser:
        """Ends of sessions: episode, held statements, daily note."""
        from engrams.session.ending.finaliser import SessionFinaliser

        return SessionFinaliser(self.write_deps, self.runner)

    @LazyPart
    def privacy(self) -> IncognitoSessions:
        """Conversations of this process that leave no trace."""
        from engrams.write.privacy_modes import IncognitoSessions

        return IncognitoSessions(are_all=self.deps.settings.sessions.mode == "incognito")

    @LazyPart
    def injected(self) -> InjectedContextFingerprints:
        """Fingerprints of memory that was put into prompts, so that its echo is not learned."""
        from engrams.write.prompt_fingerprints import InjectedContextFingerprints

        return InjectedContextFingerprints(self.deps.peers)

    @LazyPart
    def summaries(self) -> ConversationSummariser:
        """Summaries of a prompt's older messages, and of what a conversation taught."""
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

    @LazyPart
    def working(self) -> WorkingTier:
        """The working tier and the hot buffer of this process."""
        from engrams.write.working_tier import WorkingTier

        return WorkingTier(self.write_deps, self.deps.peers)

    def _find_working_tier(self) -> WorkingTier | None:
        """Return the working tier; None: neither this process nor a peer put anything into it."""
        has_items = EngineComponents.working.is_made(self) or self.deps.peers.is_waiting("working")
        return self.working if has_items else None

    def _keep_recalled(self, scope: Scope, ids: Sequence[str]) -> None:
        self.working.keep_recalled(scope, ids)

    # ----------------------------------------------------------------------------------------------
    # upkeep

    @LazyPart
    def nearness(self) -> ThresholdCalibrator:
        """Floors of owners from which memories are near, and their calibration."""
        from engrams.upkeep.nearness_calibration import ThresholdCalibrator

        deps = self.deps
        return ThresholdCalibrator(
            deps.store,
            deps.embedder.card,
            deps.clock,
            deps.settings.read.abstain,
            self.reads.measure_nearness,
        )

    @LazyPart
    def tiers(self) -> MemoryTiers:
        """The working, recent and long-term tier, and what moves between them."""
        from engrams.upkeep.tiers.long_term_move import LongTermMover
        from engrams.upkeep.tiers.memory_tiers import MemoryTiers

        deps = self.deps
        mover = LongTermMover(
            deps.store, deps.embedder, deps.clock, deps.settings, self.topics.refresh
        )
        return MemoryTiers(deps.store, deps.chat, deps.clock, deps.settings, self.working, mover)

    @LazyPart
    def topics(self) -> MemoryTopics:
        """Clusters of memories about one thing."""
        from engrams.upkeep.topics import MemoryTopics

        deps = self.deps
        return MemoryTopics(deps.store, deps.embedder, deps.chat, deps.clock, deps.settings.topics)

    @LazyPart
    def review(self) -> FactReviewer:
        """Review of old facts by the chat model."""
        from engrams.upkeep.fact_review.reviewer import FactReviewer

        deps = self.deps
        return FactReviewer(deps.store, deps.embedder, deps.chat, deps.clock, deps.settings.review)

    @LazyPart
    def webhooks(self) -> WebhookDeliverer:
        """Delivery of changed memories to web hooks."""
        from engrams.transfer.webhooks.delivery import WebhookDeliverer

        return WebhookDeliverer(
            self.deps.store, self.deps.clock, self.deps.settings.serve.allow_private_webhooks
        )

    @LazyPart
    def garden(self) -> MemoryGarden:
        """Upkeep of an owner's whole memory between conversations."""
        from engrams.upkeep.garden.cycle import GardenDeps
        from engrams.upkeep.garden.garden import MemoryGarden

        deps = self.deps
        garden_deps = GardenDeps(
            store=deps.store,
            embedder=deps.embedder,
            chat=deps.chat,
            clock=deps.clock,
            settings=deps.settings,
            chores={
                "sessions": lambda _owner: self._sweep_idle_sessions(),
                "embed": lambda _owner: int(self._backfill.enqueue_if_missing()),
                "topics": self._refresh_topics,
            },
            search=self.reads.find_ids,
            code=deps.code,
        )
        return MemoryGarden(garden_deps, self.runner.run_job)

    def _refresh_topics(self, owner: Scope) -> int:
        """Update an owner's topics; return the number of changes."""
        if not self.deps.settings.topics.enabled:
            return 0
        refreshed = self.topics.refresh(owner)
        merged = self.topics.dedupe(owner)
        return refreshed.joined + refreshed.left + merged.merged

    def _sweep_idle_sessions(self) -> int:
        """Request the end of sessions in which nobody spoke for long; return how many."""
        from engrams.session.end_requests import IdleSessionSweeper

        deps = self.deps
        return IdleSessionSweeper(deps.store, deps.clock, deps.settings).sweep()

    # ----------------------------------------------------------------------------------------------
    # jobs

    def _make_handlers(self) -> dict[str, Handler]:
        """Map kinds of jobs to their handlers.

        A part is made by the first job that needs it: so its handler is looked up when a job runs.
        """
        find_handlers: dict[str, Callable[[], Handler]] = {
            CHANGES: lambda: self.changes.run,
            EXTRACT: lambda: self.extraction.run,
            FINALISE: lambda: self.finaliser.run_job,
            POLICY: lambda: self.finaliser.run_review_job,
            PURGE: lambda: self.purger.run,
            REVIEW: lambda: self.review.run_job,
            ROLL: lambda: self.summaries.run_job,
            TOPICS: lambda: self.topics.run_job,
            WEBHOOK: lambda: self.webhooks.run,
            **dict.fromkeys((GARDEN, WAKE), lambda: self.garden.run_job),
            **dict.fromkeys((JUDGE, CONDENSE, ENFORCE, SWEEP), lambda: self.tiers.run_job),
        }
        return {
            BEGIN: partial(begin_planned, store=self.deps.store, clock=self.deps.clock),
            EMBED: self._backfill.run_job,
            **{kind: partial(_run_by, find) for kind, find in find_handlers.items()},
        }

    def _make_timers(self) -> dict[Callable[[], object], float]:
        """Map functions that look for work to the seconds between two calls."""
        is_synced = self.deps.settings.sessions.mode == "synced"
        return {
            **({self._exchange: _EXCHANGE_SECONDS} if is_synced else {}),
            self._sweep_idle_sessions: self.deps.settings.sessions.sweep_seconds,
            self.webhooks.look: _WEBHOOK_SECONDS,
        }

    def _plan_work(self) -> None:
        """Look for work that a process before this one left."""
        self._backfill.enqueue_if_missing()
        if self._has_limits:
            self.tiers.schedule_sweep()

    @property
    def _has_limits(self) -> bool:
        """True where the number of memories in a scope or tier is limited."""
        caps = self.deps.settings.caps
        tiers = self.deps.settings.tiers
        return bool(tiers.enabled or caps.facts or caps.rules or caps.entries > 0)


def _make_read_deps(deps: EngineDeps) -> ReadDeps:
    settings = deps.settings
    return ReadDeps(
        records=deps.store,
        search=deps.store,
        links=deps.store,
        embedder=deps.embedder,
        query_vectors=QueryVectors(deps.embedder, settings.embed.query_seconds),
        embedder_fits=EmbedderFits(deps.store, deps.store, deps.embedder, deps.plain),
        counter=deps.counter,
        settings=settings.read,
        link_settings=settings.graph,
        rerank_settings=settings.rerank,
        reranker=deps.reranker,
        skills=deps.skills,
        code=deps.code,
        query_chars=settings.limits.query_chars,
        states=deps.store,
        most_rules=settings.caps.rules,
        hide_questions=settings.write.questions == "log",
    )


def _run_by(find_handler: Callable[[], Handler], job: Job) -> object:
    """Run a job by a handler that is looked up now."""
    return find_handler()(job)
