"""Topics of a scope: grouped, refreshed, merged and abstracted."""

from __future__ import annotations

import threading
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import fields, replace
from typing import TypeAlias

from engrams.core import Edge, EdgeType, Kind, Record, Scope, ScopeInput, Status, Tier, Topic
from engrams.frozen_data import dataclass
from engrams.ports import (
    TOPICS,
    ChatModel,
    Clock,
    Embedder,
    Job,
    RecordQuery,
    ScopeReach,
    Store,
    WriteBatch,
)
from engrams.ports import RecordChange as Edit
from engrams.read.corrected_words import mask_corrected
from engrams.read.request import visible_scopes as reach_of
from engrams.settings import TopicSettings
from engrams.upkeep.topics import topic_labels, topic_merging
from engrams.upkeep.topics.editor import TopicEditor, exact_reach, load_members, load_topics
from engrams.write.source_checks import check_sources

Names: TypeAlias = list[str]
Place: TypeAlias = ScopeInput

_PAGE = 500
_ALL = 1_000_000
_EXCLUDED = frozenset({Kind.GAP, Kind.SUMMARY})
_KINDS = tuple(kind for kind in Kind if kind not in _EXCLUDED)


@dataclass(frozen=True, slots=True)
class TopicChangeCounts:
    """Counts of changes.

    Memories that ``joined`` and ``left``; topics ``made``, ``split``, ``merged`` and ``named``;
    memories ``tagged``.
    """

    joined: int = 0
    left: int = 0
    made: int = 0
    split: int = 0
    merged: int = 0
    named: int = 0
    tagged: int = 0

    def __add__(self, other: TopicChangeCounts) -> TopicChangeCounts:
        return TopicChangeCounts(
            *(getattr(self, one.name) + getattr(other, one.name) for one in fields(self))
        )


@dataclass(frozen=True, slots=True)
class TopicGroup:
    """A topic with its active members, oldest first, and its links."""

    topic: Topic
    members: tuple[Record, ...]
    links: tuple[Edge, ...] = ()


class MemoryTopics:
    """Topics of all scopes. Thread safe; no model call holds a lock.

    Only ``run`` is started by itself, after a number of searches.
    """

    kind = TOPICS

    def __init__(
        self,
        store: Store,
        embedder: Embedder,
        chat: ChatModel | None,
        clock: Clock,
        settings: TopicSettings,
    ) -> None:
        self._store = store
        self._embedder = embedder
        self._chat = chat
        self._clock = clock
        self._settings = settings
        self._lock = threading.Lock()

    def run(self, job: Job) -> None:
        """Refresh the topics of every scope of an owner."""
        for scope in self._store.scopes(Scope.parse(job.key)):
            self._refresh(scope)
        self._store.finish(job.lease, self._clock())

    # ----------------------------------------------------------------------------------------------
    # looking

    def list(self, scope: Place, limit: int = 200) -> tuple[TopicGroup, ...]:
        """List topics in reach with active members, largest first."""
        return self._load_groups(reach_of(Scope.of(scope)), limit)

    def labels(self, scope: Place, ids: Collection[str]) -> Mapping[str, str]:
        """Map topics in reach to their labels.

        A concept only if a model named it.
        """
        reach = reach_of(Scope.of(scope))
        found = [topic for topic in self._store.topics(reach) if topic.id in ids] if ids else []
        groups = self._group_members(reach.owner, [topic for topic in found if not topic.concept])
        concepts = {topic.id: topic.label for topic in found if topic.concept and topic.named}
        return concepts | {group.topic.id: group.topic.label for group in groups}

    def concepts(self, scope: Place) -> tuple[tuple[Topic, tuple[str, ...]], ...]:
        """Return concepts in reach, each with the ids of its topics."""
        reach = reach_of(Scope.of(scope))
        found = [topic for topic in self._store.topics(reach) if topic.concept]
        edges = (
            self._store.edges(
                reach.owner, [topic.id for topic in found], (EdgeType.ABSTRACTED_FROM,)
            )
            if found
            else ()
        )
        return tuple(
            (topic, tuple(edge.target for edge in edges if edge.source == topic.id))
            for topic in found
        )

    def orphans(self, scope: Place, limit: int = 100) -> tuple[Record, ...]:
        """Return memories without a topic; topic search misses them until ``refresh``."""
        found: list[Record] = []
        for each in self._list_scopes(scope):
            for page in self._iter_pages(each):
                inside = {
                    edge.source
                    for edge in self._store.edges(
                        each.owner, [one.id for one in page], (EdgeType.IN_TOPIC,)
                    )
                }
                found += [record for record in page if record.id not in inside]
                if len(found) >= limit:
                    return tuple(found[:limit])
        return tuple(found)

    # ----------------------------------------------------------------------------------------------
    # tending

    def refresh(self, scope: Place) -> TopicChangeCounts:
        """Remove stale members, add new memories, split large topics."""
        return sum((self._refresh(each) for each in self._list_scopes(scope)), TopicChangeCounts())

    def dedupe(self, scope: Place) -> TopicChangeCounts:
        """Merge topics of one scope with nearly equal centres."""
        at = self._clock()
        merged = 0
        with self._lock:
            for each in self._list_scopes(scope):
                topics, _ = load_topics(self._store, each, self._embedder.card.id)
                batch, number = topic_merging.merge_topics(
                    self._store, topics, self._settings.merge_cosine, at
                )
                merged += number
                if number:
                    self._store.commit(batch)
        return TopicChangeCounts(merged=merged)

    def abstract(self, scope: Place) -> tuple[Topic, ...]:
        """Replace concepts over near topics, named by the model if any."""
        made: list[Topic] = []
        for each in self._list_scopes(scope):
            topics, _ = load_topics(self._store, each, self._embedder.card.id)
            old = tuple(topic for topic in self._store.topics(exact_reach(each)) if topic.concept)
            batch, fresh = topic_merging.abstract_concepts(
                each, topics, old, self._settings.concept_cosine, self._name_groups, self._clock()
            )
            if batch is not None:
                self._store.commit(batch)
            made += fresh
        return tuple(made)

    # ----------------------------------------------------------------------------------------------
    # plumbing

    def _load_groups(self, reach: ScopeReach, limit: int) -> tuple[TopicGroup, ...]:
        topics = sorted(
            (one for one in self._store.topics(reach) if not one.concept),
            key=lambda one: (-one.members, one.id),
        )[:limit]
        return self._group_members(reach.owner, topics)

    def _group_members(self, owner: Scope, topics: Sequence[Topic]) -> tuple[TopicGroup, ...]:
        known = load_members(self._store, owner, topics)
        records = {
            one.id: mask_corrected(one)
            for one in self._store.get(owner, [name for names in known.values() for name in names])
        }
        between = self._store.edges(owner, list(known)) if known else ()
        links = [edge for edge in between if edge.type is not EdgeType.IN_TOPIC]
        groups = []
        for topic in topics:
            names = known[topic.id]
            members = tuple(
                records[name]
                for name in names
                if name in records and self._is_groupable(records[name], topic.scope)
            )
            if members:
                label = (
                    topic.label if topic.named else topic_labels.update_label(topic.label, members)
                )
                groups.append(
                    TopicGroup(
                        replace(topic, label=label),
                        members,
                        tuple(edge for edge in links if topic.id in (edge.source, edge.target)),
                    )
                )
        return tuple(groups)

    def _refresh(self, scope: Scope) -> TopicChangeCounts:
        card = self._embedder.card
        if not card.dimension:
            return TopicChangeCounts()
        with self._lock:
            board = TopicEditor(self._store, scope, card, self._clock())
            placed = board.place_by_member()
            seen = set[str]()
            change = TopicChangeCounts()
            for page in self._iter_pages(scope):
                seen.update(record.id for record in page)
                change += self._assign(
                    board, [record for record in page if record.id not in placed]
                )
                self._write(board)
            change += TopicChangeCounts(left=board.remove_missing(seen))
            self._write(board)
        return change + self._label(scope)

    def _assign(self, board: TopicEditor, records: Sequence[Record]) -> TopicChangeCounts:
        if not records:
            return TopicChangeCounts()
        section = self._settings
        owner = records[0].scope.owner
        rows = self._store.vectors(owner, [record.id for record in records], self._embedder.card.id)
        joined = made = 0
        for record, row in zip(records, rows, strict=True):
            if row.any():
                made += board.add_member(record, row, section.join_cosine)
                joined += 1
        texts = {record.id: topic_labels.label_by_text(record) for record in records}
        return TopicChangeCounts(
            joined=joined,
            made=made,
            split=board.split_large(section.max_members, section.split_cosine, texts),
        )

    def _label(self, scope: Scope) -> TopicChangeCounts:
        """Name unnamed topics, and tag members that share no tag."""
        section = self._settings
        if section.names == "text" and not section.tags:
            return TopicChangeCounts()
        card = self._embedder.card
        at = self._clock()
        groups = [
            group
            for group in self._load_groups(exact_reach(scope), _ALL)
            if len(group.members) > 1 and group.topic.model == card.id
        ]
        edits, edges = (
            topic_merging.infer_tags([group.members for group in groups])
            if section.tags
            else ((), ())
        )
        renamed: list[Topic] = []
        read: Sequence[Record] = ()
        if section.names == "model":
            bare = [group for group in groups if not group.topic.named]
            read = self._store.get(
                scope.owner, list(dict.fromkeys(one.id for group in bare for one in group.members))
            )
            given = self._name_groups([[record.text for record in group.members] for group in bare])
            for group, name in zip(bare, given, strict=True):
                shown = name or topic_labels.find_common_tag(group.members) or group.topic.label
                if shown != group.topic.label or name:
                    renamed.append(replace(group.topic, label=shown, named=bool(name)))
        if renamed or edits:
            tags = tuple(Edit(scope.owner, id, values, "tag") for id, values in edits)
            changes = (*check_sources(scope.owner, read, self._store), *tags)
            with self._lock:
                current = {topic.id: topic for topic in self._store.topics(exact_reach(scope))}
                fresh = tuple(
                    replace(current[one.id], label=one.label, named=one.named)
                    for one in renamed
                    if one.id in current
                )
                self._store.commit(
                    WriteBatch("topics", "named", at, changes=changes, edges=edges, topics=fresh)
                )
        return TopicChangeCounts(named=len(renamed), tagged=len(edits))

    def _name_groups(self, texts: Sequence[Sequence[str]]) -> Names:
        return (
            topic_labels.name_groups(texts, self._chat)
            if self._chat is not None and texts
            else [""] * len(texts)
        )

    def _write(self, board: TopicEditor) -> None:
        batch = board.build_batch()
        if batch is not None:
            self._store.commit(batch)

    def _list_scopes(self, scope: Place) -> Sequence[Scope]:
        reach = reach_of(Scope.of(scope))
        below = tuple(f"{scope.key}/" for scope in reach.scopes)
        every = self._store.scopes(reach.owner)
        return [
            one
            for one in every
            if one in reach.scopes or (reach.tree and one.key.startswith(below))
        ]

    def _iter_pages(self, scope: Scope) -> Iterator[Sequence[Record]]:
        """Yield pages of groupable memories of exactly this scope, oldest first."""
        after = ""
        while True:
            page = self._store.find(
                RecordQuery(exact_reach(scope), _KINDS, order="oldest", after=after, limit=_PAGE)
            )
            yield [record for record in page.records if self._is_groupable(record, scope)]
            if not page.next:
                return
            after = page.next

    def _is_groupable(self, record: Record, scope: Scope) -> bool:
        wanted = self._settings.tier == "any" or record.tier is Tier.LONGTERM
        return (
            wanted
            and record.status is Status.ACTIVE
            and record.kind not in _EXCLUDED
            and record.scope == scope
        )
