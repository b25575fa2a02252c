"""Review of facts: archives outdated ones, merges related ones; undoable."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import field, replace
from datetime import datetime, timedelta
from typing import Any

from engrams import prompts
from engrams.core import (
    MERGED,
    DerivedMemory,
    Edge,
    EdgeType,
    Evidence,
    Kind,
    Provenance,
    Record,
    Scope,
    ScopeInput,
    Status,
)
from engrams.core.clock import parse_time
from engrams.core.ids import new_id
from engrams.errors import ConflictError
from engrams.frozen_data import dataclass
from engrams.ports import (
    EMBED,
    ChatMessage,
    ChatModel,
    ChatRequest,
    Clock,
    Embedder,
    Job,
    JobSpec,
    NewRecord,
    RecordChange,
    RecordQuery,
    ScopeReach,
    Store,
    WriteBatch,
)
from engrams.settings import ReviewSettings

ACTOR = "review"
MARK = "review"
"""Metadata key of reviewed facts: the review's id, for its undo."""

_FACTS = (Kind.FACT, Kind.PREFERENCE)
_ASKED = 60
_PAGE = 500
_MOST_EVIDENCE = 64
_NUMBER = re.compile(r"\d+(?:[.,:]\d+)*")

_OUTDATED: dict[str, Any] = {
    "type": "object",
    "properties": {
        "outdated": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {"id": {"type": "integer"}, "reason": {"type": "string"}},
                "required": ["id"],
            },
        }
    },
    "required": ["outdated"],
}
_GROUPS: dict[str, Any] = {
    "type": "object",
    "properties": {
        "groups": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {
                    "ids": {"type": "array", "items": {"type": "integer"}},
                    "text": {"type": "string"},
                },
                "required": ["ids", "text"],
            },
        }
    },
    "required": ["groups"],
}


@dataclass(frozen=True, slots=True)
class PlannedFactRemoval:
    record: Record
    reason: str


@dataclass(frozen=True, slots=True)
class PlannedFactMerge:
    sources: tuple[Record, ...]
    text: str


@dataclass(frozen=True, slots=True)
class FactReviewPlan:
    """Planned removals and merges. ``notes``: what is left out, and why."""

    id: str
    owner: Scope
    removals: tuple[PlannedFactRemoval, ...] = ()
    merges: tuple[PlannedFactMerge, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def is_empty(self) -> bool:
        return not (self.removals or self.merges)


@dataclass(frozen=True, slots=True)
class _ReviewFacts:
    """Active facts by scope and category, without protected ones."""

    facts: tuple[Record, ...] = ()
    groups: dict[tuple[Scope, str], list[Record]] = field(default_factory=dict)


class FactReviewer:
    """Review of one owner's facts; holds no lock while a model works.

    Changes made meanwhile make ``apply`` raise.
    """

    def __init__(
        self,
        store: Store,
        embedder: Embedder,
        chat: ChatModel | None,
        clock: Clock,
        settings: ReviewSettings,
    ) -> None:
        self._store = store
        self._embedder = embedder
        self._chat = chat
        self._clock = clock
        self._settings = settings

    def run(self, job: Job) -> None:
        """Plan and apply a review, unless plans need confirmation."""
        owner = Scope.parse(job.payload["owner"])
        plan = FactReviewPlan("", owner) if self._settings.confirm else self.plan(owner)
        if plan.is_empty:
            self._store.finish(job.lease, self._clock())
        else:
            self.apply(plan, job.lease)

    def plan(
        self, owner: ScopeInput, *, stale: bool | None = None, merge: bool | None = None
    ) -> FactReviewPlan:
        """Plan a review without changing anything; needs a chat model.

        ``stale``, ``merge``: which parts (None: as configured). ModelError, BudgetError: the model
        failed.
        """
        now = self._clock()
        chat = self._chat
        place = Scope.of(owner).owner
        plan = FactReviewPlan(new_id(now), place)
        if chat is None:
            return replace(plan, notes=("there is no chat model",))
        found = self._load_facts(place)
        notes: list[str] = []
        removals: tuple[PlannedFactRemoval, ...] = ()
        if self._settings.stale if stale is None else stale:
            removals = self._find_outdated(chat, found.facts, now)
        merges: list[PlannedFactMerge] = []
        if self._settings.merge if merge is None else merge:
            gone = {removal.record.id for removal in removals}
            for records in found.groups.values():
                left = [record for record in records if record.id not in gone]
                if (
                    len(left) >= self._settings.min_category
                    and len(merges) < self._settings.max_merges
                ):
                    merges += self._find_merges(chat, left, notes)[
                        : self._settings.max_merges - len(merges)
                    ]
        return replace(plan, removals=removals, merges=tuple(merges), notes=tuple(notes))

    def apply(self, plan: FactReviewPlan, lease: str = "") -> tuple[DerivedMemory, ...]:
        """Apply a plan in one transaction; returns the results by fact.

        ConflictError: one of its facts changed since.
        """
        now = self._clock()
        changes: list[RecordChange] = []
        puts: list[NewRecord] = []
        edges: list[Edge] = []
        results: list[DerivedMemory] = []
        for removal in plan.removals:
            record = removal.record
            fields = {"status": Status.ARCHIVED, "meta": {**record.meta, MARK: plan.id}}
            changes.append(
                RecordChange(
                    owner=plan.owner,
                    id=record.id,
                    fields=fields,
                    action="review",
                    expect=record.version,
                )
            )
            results.append(
                DerivedMemory(
                    id=record.id,
                    kind=record.kind,
                    text=record.text,
                    verdict="remove",
                    replaces=(),
                    reason=removal.reason,
                )
            )
        for merge in plan.merges:
            new = build_merged(merge, plan.id, now)
            puts.append(NewRecord(new))
            for source in merge.sources:
                fields = {
                    "status": Status.SUPERSEDED,
                    "superseded_by": new.id,
                    "meta": {**source.meta, MARK: plan.id},
                }
                changes.append(
                    RecordChange(
                        owner=plan.owner,
                        id=source.id,
                        fields=fields,
                        action="merge",
                        expect=source.version,
                    )
                )
                edges += [
                    Edge(plan.owner, new.id, source.id, type)
                    for type in (EdgeType.SUPERSEDES, EdgeType.DERIVED_FROM)
                ]
            results.append(
                DerivedMemory(
                    id=new.id,
                    kind=new.kind,
                    text=new.text,
                    verdict="refine",
                    replaces=tuple(source.id for source in merge.sources),
                    reason="merged",
                )
            )
        card = self._embedder.card
        jobs = (JobSpec(EMBED, card.id),) if puts and card.dimension else ()
        reasons = "; ".join(
            dict.fromkeys(removal.reason for removal in plan.removals if removal.reason)
        )
        finish = (lease,) if lease else ()
        self._store.commit(
            WriteBatch(
                actor=ACTOR,
                reason=reasons[:240] or "merged",
                at=now,
                puts=tuple(puts),
                changes=tuple(changes),
                edges=tuple(edges),
                jobs=jobs,
                finish=finish,
            )
        )
        return tuple(results)

    def undo(self, owner: ScopeInput, id: str) -> int:
        """Undo a review; returns how many memories were restored or archived.

        ConflictError: one of them changed since.
        """
        now = self._clock()
        own = Scope.of(owner).owner
        query = RecordQuery(
            ScopeReach(own, (own,), tree=True),
            statuses=(Status.ACTIVE, Status.ARCHIVED, Status.SUPERSEDED),
            order="oldest",
        )
        changed = [record for record in self._iter_records(query) if record.meta.get(MARK) == id]
        changes = []
        for record in changed:
            meta = {name: value for name, value in record.meta.items() if name != MARK}
            if (
                MERGED in record.meta
                and not record.superseded_by
                and record.status is Status.ACTIVE
            ):
                fields: dict[str, Any] = {
                    "status": Status.ARCHIVED,
                    "meta": {**record.meta, MARK: ""},
                }
            elif record.status is not Status.ACTIVE:
                fields = {"status": Status.ACTIVE, "superseded_by": "", "meta": meta}
            else:
                raise ConflictError(
                    f"The memory {record.id} was changed since.",
                    hint="Fix it by hand: `engrams show` prints its history.",
                )
            changes.append(
                RecordChange(
                    owner=own, id=record.id, fields=fields, action="undo", expect=record.version
                )
            )
        if changes:
            self._store.commit(WriteBatch(ACTOR, "undone", now, changes=tuple(changes)))
        return len(changes)

    def _find_outdated(
        self, chat: ChatModel, facts: Sequence[Record], now: datetime
    ) -> tuple[PlannedFactRemoval, ...]:
        section = self._settings
        old = sorted(
            (fact for fact in facts if now - last_said_at(fact) > timedelta(days=section.old_days)),
            key=lambda fact: (last_said_at(fact), fact.id),
        )
        if len(old) < section.min_old:
            return ()
        # Of many facts a part per day, so that each has its turn.
        start = now.toordinal() * _ASKED % len(old) if len(old) > _ASKED else 0
        asked = (old[start:] + old[:start])[:_ASKED]
        listed = "\n".join(
            f"{number}. {prompts.quote(fact.text)} ({last_said_at(fact):%Y-%m-%d})"
            for number, fact in enumerate(asked, 1)
        )
        text = prompts.load("review").render(
            today=f"{now:%Y-%m-%d}", facts=listed, limit=str(section.max_removed)
        )
        rows = chat.ask(ChatRequest((ChatMessage("user", text),), "review", _OUTDATED)).data[
            "outdated"
        ]
        picked = {
            row["id"]: str(row.get("reason") or "out of date")[:200]
            for row in rows
            if 1 <= row["id"] <= len(asked)
        }
        return tuple(
            PlannedFactRemoval(asked[number - 1], reason)
            for number, reason in list(picked.items())[: section.max_removed]
        )

    def _find_merges(
        self, chat: ChatModel, records: Sequence[Record], notes: list[str]
    ) -> list[PlannedFactMerge]:
        asked = list(records[:_ASKED])
        section = self._settings
        listed = "\n".join(
            f"{number}. {prompts.quote(fact.text)}" for number, fact in enumerate(asked, 1)
        )
        text = prompts.load("merge").render(
            groups=str(section.max_merges), sources=str(section.max_sources), facts=listed
        )
        rows = chat.ask(
            ChatRequest((ChatMessage("user", text),), "merge", _GROUPS, max_tokens=2048)
        ).data["groups"]
        taken: set[int] = set()
        found = []
        for row in rows:
            ids = [number for number in dict.fromkeys(row["ids"]) if 1 <= number <= len(asked)]
            sources = tuple(asked[number - 1] for number in ids)
            merged_text = " ".join(str(row["text"]).split())
            if why := self._find_refusal(sources, merged_text, bool(taken & set(ids))):
                notes.append(f"not merged: {why}")
                continue
            taken |= set(ids)
            found.append(PlannedFactMerge(sources, merged_text))
        return found

    def _find_refusal(self, sources: Sequence[Record], text: str, taken: bool) -> str:
        """Return why a merge is refused; empty: allowed."""
        if not 2 <= len(sources) <= self._settings.max_sources:
            return f"{len(sources)} facts"
        if taken:
            return "a fact is in two groups"
        if len({(source.kind, source.subject) for source in sources}) > 1:
            return "they are about different things"
        missing = {number for source in sources for number in _NUMBER.findall(source.text)} - set(
            _NUMBER.findall(text)
        )
        if missing or not text:
            return f"the text lacks {', '.join(sorted(missing)) or 'everything'}"
        return ""

    def _load_facts(self, owner: Scope) -> _ReviewFacts:
        query = RecordQuery(
            ScopeReach(owner, (owner,), tree=True), _FACTS, (Status.ACTIVE,), order="oldest"
        )
        found = _ReviewFacts(
            tuple(record for record in self._iter_records(query) if record.category != "correction")
        )
        for record in found.facts:
            found.groups.setdefault((record.scope, record.category), []).append(record)
        return found

    def _iter_records(self, query: RecordQuery) -> Iterator[Record]:
        after = ""
        while True:
            page = self._store.find(replace(query, after=after, limit=_PAGE))
            yield from page.records
            if not page.next:
                return
            after = page.next


def last_said_at(record: Record) -> datetime:
    """Return the latest time of saying, repetitions included."""
    again = [
        parse_time(str(entry["at"]))
        for entry in record.meta.get("reinforcements", ())
        if isinstance(entry, dict) and entry.get("at")
    ]
    return max([record.recorded_at, *again])


def build_merged(merge: PlannedFactMerge, plan: str, now: datetime) -> Record:
    """Build the merged fact, with the evidence and names of its sources."""
    newest = max(merge.sources, key=lambda source: source.story_key)
    begun = [source.valid_from for source in merge.sources]
    quotes = [item for source in merge.sources for item in source.evidence]
    names = [Evidence("", source.id) for source in merge.sources]
    return replace(
        newest,
        id=new_id(now),
        text=merge.text,
        external_id="",
        predicate="",
        object="",
        valid_from=None if None in begun else min(moment for moment in begun if moment),
        tags=tuple(dict.fromkeys(tag for source in merge.sources for tag in source.tags)),
        evidence=tuple(dict.fromkeys([*names, *quotes]))[:_MOST_EVIDENCE],
        provenance=Provenance(
            newest.provenance.channel, ACTOR, prompts.load("merge").hash, "merged"
        ),
        importance=max(source.importance for source in merge.sources),
        confidence=min(source.confidence for source in merge.sources),
        trust=min(source.trust for source in merge.sources),
        strength=max(source.strength for source in merge.sources),
        access_count=0,
        last_accessed=None,
        summary="",
        version=1,
        meta={MERGED: [source.id for source in merge.sources], MARK: plan},
    )
