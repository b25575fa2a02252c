"""Topics of all scopes: listed, refreshed, merged, abstracted and named.

Memories of one scope are grouped; a topic never spans scopes. No model call holds a lock, so names
are given to the topics that are there when the answer comes.
"""

from __future__ import annotations

import threading
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from datetime import datetime
from typing import Any, TypeAlias

from engrams.core import Edge, EdgeType, Kind, Record, Scope, ScopeInput, Status, Tier, Topic
from engrams.ports import (
    TOPICS,
    ChatModel,
    Clock,
    Embedder,
    Job,
    RecordChange,
    RecordQuery,
    ScopeReach,
    Store,
    WriteBatch,
)
from engrams.read.corrected_words import mask_corrected
from engrams.read.paging import iter_pages
from engrams.read.request import visible_scopes
from engrams.settings import TopicSettings
from engrams.upkeep.topics import topic_labels, topic_merging, topic_tags
from engrams.upkeep.topics.editor import (
    ACTOR,
    TopicEditor,
    exact_reach,
    load_members,
    load_topics,
)
from engrams.write.source_checks import check_sources

Place: TypeAlias = ScopeInput

_PAGE = 500
_NO_LIMIT = 1_000_000
_EXCLUDED = frozenset({Kind.GAP, Kind.SUMMARY, Kind.PASSAGE})
_KINDS = tuple(kind for kind in Kind if kind not in _EXCLUDED)


@dataclass(frozen=True, slots=True)
class TopicChangeCounts:
    """Counts of changes. The names of its fields are on the wire."""

    joined: int = 0
    """Memories that were added to a topic."""
    left: int = 0
    """Memories that were removed from one."""
    made: int = 0
    """Topics that were begun."""
    split: int = 0
    """Topics that were split."""
    merged: int = 0
    """Topics that were merged into others."""
    named: int = 0
    """Topics that got another name."""
    tagged: int = 0
    """Memories that got a tag."""

    def __add__(self, other: TopicChangeCounts) -> TopicChangeCounts:
        return TopicChangeCounts(
            **{
                count.name: getattr(self, count.name) + getattr(other, count.name)
                for count in fields(self)
            }
        )


@dataclass(frozen=True, slots=True)
class TopicGroup:
    """A topic with its active members, oldest first, and its links."""

    topic: Topic
    members: tuple[Record, ...]
    links: tuple[Edge, ...] = ()


class MemoryTopics:
    """Topics of all scopes. Thread safe; no model call holds a lock.

    Only the job ``TOPICS`` starts by itself, after a number of searches.
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

    def run_job(self, job: Job) -> None:
        """Refresh the topics of every scope of an owner."""
        for scope in self._store.scopes(Scope.parse(job.key)):
            self._refresh_scope(scope)
        self._store.finish(job.lease, self._clock())

    # ----------------------------------------------------------------------------------------------
    # looking

    def list(self, scope: Place, limit: int = 200) -> tuple[TopicGroup, ...]:
        """List topics in reach with active members, largest first."""
        return self._load_groups(visible_scopes(Scope.of(scope)), limit)

    def labels(self, scope: Place, ids: Collection[str]) -> Mapping[str, str]:
        """Map topics in reach to their labels.

        A concept only if a model named it.
        """
        if not ids:
            return {}
        reach = visible_scopes(Scope.of(scope))
        topics = [topic for topic in self._store.topics(reach) if topic.id in ids]
        groups = self._group_members(reach.owner, [topic for topic in topics if not topic.concept])
        concepts = {topic.id: topic.label for topic in topics if topic.concept and topic.named}
        return concepts | {group.topic.id: group.topic.label for group in groups}

    def concepts(self, scope: Place) -> tuple[tuple[Topic, tuple[str, ...]], ...]:
        """Return concepts in reach, each with the ids of its topics."""
        reach = visible_scopes(Scope.of(scope))
        concepts = [topic for topic in self._store.topics(reach) if topic.concept]
        if not concepts:
            return ()
        edges = self._store.edges(
            reach.owner, [concept.id for concept in concepts], (EdgeType.ABSTRACTED_FROM,)
        )
        return tuple(
            (concept, tuple(edge.target for edge in edges if edge.source == concept.id))
            for concept in concepts
        )

    def orphans(self, scope: Place, limit: int = 100) -> tuple[Record, ...]:
        """Return memories without a topic; topic search misses them until ``refresh``."""
        orphans: list[Record] = []
        for member_scope in self._list_scopes(scope):
            for page in self._iter_groupable(member_scope):
                edges = self._store.edges(
                    member_scope.owner, [record.id for record in page], (EdgeType.IN_TOPIC,)
                )
                grouped_ids = {edge.source for edge in edges}
                orphans += [record for record in page if record.id not in grouped_ids]
                if len(orphans) >= limit:
                    return tuple(orphans[:limit])
        return tuple(orphans)

    # ----------------------------------------------------------------------------------------------
    # changing

    def refresh(self, scope: Place) -> TopicChangeCounts:
        """Remove stale members, add new memories, split large topics."""
        return sum(
            (self._refresh_scope(member_scope) for member_scope in self._list_scopes(scope)),
            TopicChangeCounts(),
        )

    def dedupe(self, scope: Place) -> TopicChangeCounts:
        """Merge topics of one scope with nearly equal centres."""
        at = self._clock()
        merged = 0
        with self._lock:
            for member_scope in self._list_scopes(scope):
                topics, _ = load_topics(self._store, member_scope, self._embedder.card.id)
                batch, number = topic_merging.merge_topics(
                    self._store, topics, self._settings.merge_cosine, at
                )
                merged += number
                if number:
                    self._store.commit(batch)
        return TopicChangeCounts(merged=merged)

    def abstract(self, scope: Place) -> tuple[Topic, ...]:
        """Replace concepts over near topics, named by the model if any."""
        all_concepts: list[Topic] = []
        for member_scope in self._list_scopes(scope):
            topics, _ = load_topics(self._store, member_scope, self._embedder.card.id)
            old_concepts = [
                topic for topic in self._store.topics(exact_reach(member_scope)) if topic.concept
            ]
            batch, concepts = topic_merging.abstract_concepts(
                member_scope,
                topics,
                old_concepts,
                self._settings.concept_cosine,
                self._name_groups,
                self._clock(),
            )
            if batch is not None:
                self._store.commit(batch)
            all_concepts += concepts
        return tuple(all_concepts)

    # ----------------------------------------------------------------------------------------------
    # groups with their members

    def _load_groups(self, reach: ScopeReach, limit: int) -> tuple[TopicGroup, ...]:
        topics = sorted(
            (topic for topic in self._store.topics(reach) if not topic.concept),
            key=lambda topic: (-topic.members, topic.id),
        )[:limit]
        return self._group_members(reach.owner, topics)

    def _group_members(self, owner: Scope, topics: Sequence[Topic]) -> tuple[TopicGroup, ...]:
        """Load the members of topics; topics without an active member are left out."""
        member_ids = load_members(self._store, owner, topics)
        all_ids = [id for ids in member_ids.values() for id in ids]
        records = {record.id: mask_corrected(record) for record in self._store.get(owner, all_ids)}
        edges = self._store.edges(owner, list(member_ids)) if member_ids else ()
        links = [edge for edge in edges if edge.type is not EdgeType.IN_TOPIC]
        groups = []
        for topic in topics:
            members = tuple(
                records[id]
                for id in member_ids[topic.id]
                if id in records and self._is_groupable(records[id], topic.scope)
            )
            if not members:
                continue
            label = topic.label
            if not topic.named:
                label = topic_labels.update_label(label, members)
            topic_links = tuple(edge for edge in links if topic.id in (edge.source, edge.target))
            groups.append(TopicGroup(replace(topic, label=label), members, topic_links))
        return tuple(groups)

    # ----------------------------------------------------------------------------------------------
    # refreshing

    def _refresh_scope(self, scope: Scope) -> TopicChangeCounts:
        """Refresh the topics of exactly this scope, page by page, then name them."""
        card = self._embedder.card
        if not card.dimension:
            return TopicChangeCounts()
        with self._lock:
            editor = TopicEditor(self._store, scope, card, self._clock())
            grouped = editor.index_members()
            existing_ids: set[str] = set()
            counts = TopicChangeCounts()
            for page in self._iter_groupable(scope):
                existing_ids.update(record.id for record in page)
                ungrouped = [record for record in page if record.id not in grouped]
                counts += self._add_members(editor, ungrouped)
                self._commit_changes(editor)
            counts += TopicChangeCounts(left=editor.remove_missing(existing_ids))
            self._commit_changes(editor)
        return counts + self._name_and_tag(scope)

    def _add_members(self, editor: TopicEditor, records: Sequence[Record]) -> TopicChangeCounts:
        """Add memories that have a vector to topics, and split those that grow too large."""
        if not records:
            return TopicChangeCounts()
        section = self._settings
        owner = records[0].scope.owner
        rows = self._store.vectors(owner, [record.id for record in records], self._embedder.card.id)
        joined = 0
        begun = 0
        for record, row in zip(records, rows, strict=True):
            if row.any():
                begun += editor.add_to_nearest_or_new(record, row, section.join_cosine)
                joined += 1
        texts = {record.id: topic_labels.label_by_text(record) for record in records}
        split = editor.split_large(section.max_members, section.split_cosine, texts)
        return TopicChangeCounts(joined=joined, made=begun, split=split)

    def _commit_changes(self, editor: TopicEditor) -> None:
        batch = editor.build_batch()
        if batch is not None:
            self._store.commit(batch)

    # ----------------------------------------------------------------------------------------------
    # naming

    def _name_and_tag(self, scope: Scope) -> TopicChangeCounts:
        """Name unnamed topics, and tag members that share no tag."""
        section = self._settings
        if section.names == "text" and not section.tags:
            return TopicChangeCounts()
        card = self._embedder.card
        at = self._clock()
        groups = [
            group
            for group in self._load_groups(exact_reach(scope), _NO_LIMIT)
            if len(group.members) > 1 and group.topic.model == card.id
        ]
        changed_fields: tuple[tuple[str, dict[str, Any]], ...] = ()
        edges: tuple[Edge, ...] = ()
        if section.tags:
            changed_fields, edges = topic_tags.infer_tags([group.members for group in groups])
        renamed: Sequence[Topic] = ()
        sources: Sequence[Record] = ()
        if section.names == "model":
            unnamed = [group for group in groups if not group.topic.named]
            member_ids = dict.fromkeys(record.id for group in unnamed for record in group.members)
            # Loaded as they are stored, before the model is asked: a name must not outlive a text
            # that was changed or purged meanwhile.
            sources = self._store.get(scope.owner, list(member_ids))
            renamed = self._rename_groups(unnamed)
        if renamed or changed_fields:
            changes = (
                *check_sources(scope.owner, sources, self._store),
                *(RecordChange(scope.owner, id, values, "tag") for id, values in changed_fields),
            )
            self._commit_names(scope, renamed, changes, edges, at)
        return TopicChangeCounts(named=len(renamed), tagged=len(changed_fields))

    def _rename_groups(self, groups: Sequence[TopicGroup]) -> Sequence[Topic]:
        """Return the topics whose label changes: the model's, else what members share."""
        names = self._name_groups([[record.text for record in group.members] for group in groups])
        renamed = []
        for group, name in zip(groups, names, strict=True):
            shared_words = topic_labels.label_by_words(
                [topic_labels.label_by_text(record) for record in group.members]
            )
            tag = topic_tags.find_common_tag(group.members)
            label = name or shared_words or tag or group.topic.label
            if label != group.topic.label or name:
                renamed.append(replace(group.topic, label=label, named=bool(name)))
        return renamed

    def _commit_names(
        self,
        scope: Scope,
        renamed: Sequence[Topic],
        changes: tuple[RecordChange, ...],
        edges: tuple[Edge, ...],
        at: datetime,
    ) -> None:
        """Store labels and tags; topics that went while the model was asked are left out."""
        with self._lock:
            current = {topic.id: topic for topic in self._store.topics(exact_reach(scope))}
            topics = tuple(
                replace(current[topic.id], label=topic.label, named=topic.named)
                for topic in renamed
                if topic.id in current
            )
            self._store.commit(
                WriteBatch(ACTOR, "named", at, changes=changes, edges=edges, topics=topics)
            )

    def _name_groups(self, texts: Sequence[Sequence[str]]) -> Sequence[str]:
        if self._chat is None or not texts:
            return [""] * len(texts)
        return topic_labels.name_groups(texts, self._chat)

    # ----------------------------------------------------------------------------------------------
    # what is grouped

    def _list_scopes(self, scope: Place) -> Sequence[Scope]:
        """List the scopes that hold memories, in reach of this one."""
        reach = visible_scopes(Scope.of(scope))
        prefixes = tuple(f"{visible.key}/" for visible in reach.scopes)
        return [
            stored
            for stored in self._store.scopes(reach.owner)
            if stored in reach.scopes or (reach.tree and stored.key.startswith(prefixes))
        ]

    def _iter_groupable(self, scope: Scope) -> Iterator[Sequence[Record]]:
        """Yield pages of groupable memories of exactly this scope, oldest first."""
        query = RecordQuery(exact_reach(scope), _KINDS, order="oldest", limit=_PAGE)
        for page in iter_pages(self._store, query):
            yield [record for record in page if self._is_groupable(record, scope)]

    def _is_groupable(self, record: Record, scope: Scope) -> bool:
        is_in_tier = self._settings.tier == "any" or record.tier is Tier.LONGTERM
        return (
            is_in_tier
            and record.status is Status.ACTIVE
            and record.kind not in _EXCLUDED
            and record.scope == scope
        )
