"""Learning from use: access counts, confidence and links, in the background."""

from __future__ import annotations

import logging
import threading
from collections import Counter, deque
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from itertools import combinations
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from engrams.core import (
    LAYER_OF,
    Edge,
    EdgeType,
    Kind,
    Provenance,
    Record,
    Scope,
    SearchResult,
    Status,
    content_hash,
)
from engrams.core.ids import new_id
from engrams.errors import EngramsError
from engrams.frozen_data import dataclass
from engrams.ports import (
    SKILL,
    TOPICS,
    Clock,
    Embedder,
    JobSpec,
    NewRecord,
    RecordChange,
    RecordUse,
    Store,
    WriteBatch,
)
from engrams.read.floors import EDGE
from engrams.read.request import visible_scopes
from engrams.read.stages import KNOWN_HERE, SHOWN_BEFORE
from engrams.read.tier_routing import topic_cosines
from engrams.settings import Settings
from engrams.text.questions import asks_for_knowledge

if TYPE_CHECKING:
    from engrams.ports.candidate_search import Floats

Event = Literal["used", "unhelpful", "verified", "rejected"]
Recalled: TypeAlias = Callable[[Scope, Sequence[str]], None]

_log = logging.getLogger(__name__)
_GATHER_SECONDS = 0.5
"""Seconds in which uses are gathered into one write."""
_REST_SECONDS = 5.0
"""Pause after a write: each commit voids what the processes of this memory keep of their reads.

None where tiers wait for it.
"""
_MANY = 500
"""Waiting uses that end the pause."""
_MOST = 1000
"""Uses queued at most; the oldest are dropped, as counts are no memories."""
_OWNERS = 10_000
"""Owners with a search count, at most; the oldest count restarts."""
_TOGETHER = 12
"""Memories of one search linked with each other at most: 66 pairs."""
_STRONGER = 0.1


@dataclass(frozen=True, slots=True)
class SearchUsageEvent:
    """Use of one search: query, selected and rejected hits.

    Ids of selected hits, of those a reranker passed and rejected, and of all candidates. ``gap``:
    why a question found nothing, else empty.
    """

    query: str
    scope: Scope
    at: datetime
    hits: tuple[str, ...]
    verified: tuple[str, ...]
    rejected: tuple[str, ...]
    candidates: tuple[str, ...]
    gap: str
    session: str = ""

    @classmethod
    def from_search(
        cls, found: SearchResult, scope: Scope, at: datetime, session: str = ""
    ) -> SearchUsageEvent:
        """Extract the use from a search result."""
        kept = [hit for hit in found.hits if not hit.record.id.startswith(SKILL)]
        hits = tuple([hit.record.id for hit in kept])
        verified = tuple([hit.record.id for hit in kept if "rerank" in hit.parts])
        rows = [row for row in found.trace.rows if not row.id.startswith(SKILL)]
        rejected = tuple([row.id for row in rows if row.dropped.startswith("judged ")])
        candidates = tuple([row.id for row in rows])
        return cls(
            found.trace.query,
            scope,
            at,
            hits,
            verified,
            rejected,
            candidates,
            _find_gap(found, rejected),
            session,
        )


def _find_gap(found: SearchResult, rejected: Sequence[str]) -> str:
    """Say why a question found nothing.

    Empty: it was none, or what it asks for was shown or said in the conversation; a question said
    there answers none.
    """
    rows = found.trace.rows
    if not found.abstain or not rows or not asks_for_knowledge(found.trace.query):
        return ""
    if any(
        row.dropped == SHOWN_BEFORE
        or (row.dropped == KNOWN_HERE and not asks_for_knowledge(row.text))
        for row in rows
    ):
        return ""
    return "what came near was judged to be no answer" if rejected else "nothing came near"


def apply_event(record: Record, event: Event, at: datetime) -> dict[str, Any]:
    """Compute the fields that a use changes: access, confidence, strength.

    used and helpful: confidence + 0.05, strength + 1; used but not: confidence - 0.1; verified: +
    0.05; rejected: - 0.02. Confidence stays within 0..1. All but rejected are an access.
    """
    by: Mapping[str, float] = {"used": 0.05, "unhelpful": -0.1, "verified": 0.05, "rejected": -0.02}
    fields: dict[str, Any] = {
        "confidence": round(min(max(record.confidence + by[event], 0.0), 1.0), 6)
    }
    if event == "used":
        fields["strength"] = record.strength + 1
    if event != "rejected":
        fields |= {"access_count": record.access_count + 1, "last_accessed": at}
    return fields


def make_pairs(likeness: Mapping[str, float], floor: float) -> tuple[tuple[str, str], ...]:
    """Pair the best dozen nodes from the floor on, ids ordered."""
    near = sorted(
        (name for name, cosine in likeness.items() if cosine >= floor - EDGE),
        key=lambda name: -likeness[name],
    )[:_TOGETHER]
    return tuple(combinations(sorted(near), 2))


class MemoryUsageTracker:
    """Gathers uses and writes them in the background. Thread safe."""

    def __init__(
        self,
        store: Store,
        embedder: Embedder,
        clock: Clock,
        settings: Settings,
        then: Recalled | None = None,
    ) -> None:
        """Set up the tracker. ``then``: called with the ids each search selected."""
        self._then = then
        self._store = store
        self._embedder = embedder
        self._clock = clock
        self._settings = settings
        self._waiting: deque[SearchUsageEvent] = deque(maxlen=_MOST)
        self._lock = threading.Lock()
        self._writing = threading.Lock()
        self._wake = threading.Event()
        self._stop = threading.Event()
        self._hurry = threading.Event()
        self._thread: threading.Thread | None = None
        self._searches: Counter[Scope] = Counter()

    def note(self, found: SearchResult, scope: Scope, session: str = "") -> None:
        """Queue the use of a search; returns at once."""
        section = self._settings.usage
        use = SearchUsageEvent.from_search(found, scope, self._clock(), session)
        if (
            not section.enabled
            or not self._settings.enabled
            or not (use.hits or (use.gap and section.gaps))
        ):
            return
        with self._lock:
            self._waiting.append(use)
            if len(self._waiting) >= _MANY:
                self._hurry.set()
            if self._thread is None and self._settings.jobs.workers and not self._stop.is_set():
                self._thread = threading.Thread(
                    target=self._run_writer, name="engrams-usage", daemon=True
                )
                self._thread.start()
        self._wake.set()

    def record_feedback(self, records: Sequence[Record], owner: Scope, helpful: bool) -> None:
        """Record whether memories helped; helpful ones are linked with each other."""
        at = self._clock()
        changes = tuple(
            RecordChange(
                owner, one.id, apply_event(one, "used" if helpful else "unhelpful", at), "used"
            )
            for one in records
        )
        with self._writing:
            edges = self._link_related(owner, [one.id for one in records]) if helpful else ()
            self._store.commit(
                WriteBatch(
                    "usage",
                    "helped" if helpful else "did not help",
                    at,
                    changes=changes,
                    edges=edges,
                )
            )

    def flush(self) -> None:
        """Write queued uses now; failures are logged only."""
        with self._writing:
            with self._lock:
                uses = list(self._waiting)
                self._waiting.clear()
            for owner in dict.fromkeys(use.scope.owner for use in uses):
                mine = [use for use in uses if use.scope.owner == owner]
                try:
                    self._write(owner, mine)
                    if self._then is not None:
                        for use in mine:
                            self._then(use.scope, use.hits)
                except EngramsError as problem:
                    _log.warning("uses were not counted: %s", problem.message)
                except Exception:  # noqa: BLE001 - the edge of the flow: counting must end neither its thread nor the caller's close
                    _log.exception("uses were not counted")

    def close(self) -> None:
        self._stop.set()
        self._wake.set()
        self._hurry.set()
        with self._lock:
            thread = self._thread
        if thread is not None:
            thread.join(timeout=10)
        self.flush()

    def _run_writer(self) -> None:
        while not self._stop.is_set():
            self._wake.wait()
            self._stop.wait(_GATHER_SECONDS)
            self._wake.clear()
            self._hurry.clear()
            self.flush()
            if self._then is None and not self._stop.is_set():
                self._hurry.wait(_REST_SECONDS)

    def _write(self, owner: Scope, uses: Sequence[SearchUsageEvent]) -> None:
        counts = Counter(name for use in uses for name in use.hits)
        last = {name: use.at for use in uses for name in use.hits}
        counted = tuple(
            RecordUse(owner, name, times, last[name]) for name, times in sorted(counts.items())
        )
        fields: dict[str, dict[str, Any]] = {}
        edges: dict[tuple[str, str, EdgeType], Edge] = {}
        for use in uses:
            for edge in (*self._link_candidates(use, edges), *self._apply_verdicts(use, fields)):
                edges[edge.source, edge.target, edge.type] = edge
        changes = tuple(
            RecordChange(owner, name, values, "used") for name, values in fields.items()
        )
        puts = tuple(put for use in uses if use.gap for put in self._make_gap(use))
        jobs = self._make_topic_jobs(owner, len(uses))
        if counted or puts or edges or jobs:
            made = tuple(edges.values())
            at = uses[-1].at
            self._store.commit(
                WriteBatch(
                    "usage",
                    "searched",
                    at,
                    puts=puts,
                    changes=changes,
                    uses=counted,
                    edges=made,
                    jobs=jobs,
                )
            )

    def _make_topic_jobs(self, owner: Scope, searches: int) -> tuple[JobSpec, ...]:
        """Build the topic refresh job, due every so many searches."""
        section = self._settings.topics
        if not section.enabled or not section.refresh_searches:
            return ()
        self._searches[owner] += searches
        while len(self._searches) > _OWNERS:
            del self._searches[next(iter(self._searches))]
        if self._searches[owner] < section.refresh_searches:
            return ()
        self._searches[owner] %= section.refresh_searches
        return (JobSpec(TOPICS, owner.key),)

    def _link_candidates(
        self, use: SearchUsageEvent, made: Mapping[tuple[str, str, EdgeType], Edge]
    ) -> tuple[Edge, ...]:
        floor = self._settings.usage.co_occurs_cosine
        if not floor or not self._embedder.card.dimension:
            return ()
        query = self._embedder.embed([use.query], "query")[0]
        linked = (
            *make_pairs(self._score_candidates(use, query), floor),
            *make_pairs(self._score_topics(use.scope, query), floor),
        )
        known = self._load_weights(use.scope.owner, linked, EdgeType.CO_OCCURS)
        known |= {
            (edge.source, edge.target): edge.weight
            for edge in made.values()
            if edge.type is EdgeType.CO_OCCURS
        }
        return tuple(
            Edge(use.scope.owner, *pair, EdgeType.CO_OCCURS, known.get(pair, 0.0) + 1.0)
            for pair in linked
        )

    def _score_candidates(self, use: SearchUsageEvent, query: Floats) -> dict[str, float]:
        rows = self._store.vectors(use.scope.owner, use.candidates, self._embedder.card.id)
        if rows.shape[1] != len(query):
            return {}
        return dict(zip(use.candidates, (float(each) for each in rows @ query), strict=True))

    def _score_topics(self, scope: Scope, query: Floats) -> dict[str, float]:
        if not self._settings.topics.enabled:
            return {}
        return topic_cosines(
            [one for one in self._store.topics(visible_scopes(scope)) if not one.concept],
            query,
            self._embedder.card.id,
        )

    def _apply_verdicts(
        self, use: SearchUsageEvent, fields: dict[str, dict[str, Any]]
    ) -> tuple[Edge, ...]:
        if not self._settings.usage.related_weight or not (use.verified or use.rejected):
            return ()
        judged = self._store.get(use.scope.owner, (*use.rejected, *use.verified))
        known = {record.id: record for record in judged if record.status is not Status.PURGED}
        for name, record in known.items():
            fields[name] = {
                "confidence": apply_event(
                    record, "rejected" if name in use.rejected else "verified", use.at
                )["confidence"]
            }
        return self._link_related(use.scope.owner, [name for name in use.verified if name in known])

    def _link_related(self, owner: Scope, ids: Sequence[str]) -> tuple[Edge, ...]:
        """Link memories; known links grow by a tenth, to 1 at most."""
        start = self._settings.usage.related_weight
        linked = make_pairs(dict.fromkeys(ids, 1.0), 0.0) if start else ()
        known = self._load_weights(owner, linked, EdgeType.RELATES_TO)
        return tuple(
            Edge(
                owner,
                *pair,
                EdgeType.RELATES_TO,
                min(known[pair] + _STRONGER, 1.0) if pair in known else start,
            )
            for pair in linked
        )

    def _load_weights(
        self, owner: Scope, linked: Sequence[tuple[str, str]], type: EdgeType
    ) -> dict[tuple[str, str], float]:
        names = tuple(dict.fromkeys(name for pair in linked for name in pair))
        return (
            {
                (edge.source, edge.target): edge.weight
                for edge in self._store.edges(owner, names, (type,))
            }
            if names
            else {}
        )

    def _make_gap(self, use: SearchUsageEvent) -> tuple[NewRecord, ...]:
        from engrams.extract.memory_requests import forbids_storage
        from engrams.write.turn_conversion import clean_secrets

        text, decisions = clean_secrets(use.query, self._settings.write)
        if (
            not self._settings.usage.gaps
            or forbids_storage(use.query)
            or any(decision.verdict == "refused" for decision in decisions)
        ):
            return ()
        record = Record(
            id=new_id(use.at),
            scope=use.scope,
            kind=Kind.GAP,
            text=text[:2000],
            recorded_at=use.at,
            layer=LAYER_OF[Kind.GAP],
            status=Status.CANDIDATE,
            session=use.session,
            external_id=f"gap:{content_hash(text)}",
            provenance=Provenance("usage", reason=use.gap),
        )
        return (NewRecord(record),)
