"""Editor of the topics of one scope: loads them, groups memories, and builds the write."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING

import numpy as np

from engrams.core import Edge, EdgeType, Record, Scope, Topic
from engrams.ports import EmbedderCard, ScopeReach, Store, WriteBatch
from engrams.upkeep.topics.cluster import TopicCentres, group_rows, mean
from engrams.upkeep.topics.topic_labels import label_by_text

if TYPE_CHECKING:
    from engrams.ports.candidate_search import Floats

ACTOR = "topics"
"""Actor of these changes, in the history."""


def make_topic_id(kind: str, parts: Iterable[str]) -> str:
    """Return a stable id of the parts, so repetition makes one topic."""
    return f"{kind}:{hashlib.blake2b(chr(31).join(parts).encode(), digest_size=8).hexdigest()}"


def exact_reach(scope: Scope) -> ScopeReach:
    return ScopeReach(scope.owner, (scope,))


def load_topics(store: Store, scope: Scope, model: str) -> tuple[list[Topic], list[Topic]]:
    """Load the scope's topics of this model, and those of other models."""
    topics = [topic for topic in store.topics(exact_reach(scope)) if not topic.concept]
    current = [topic for topic in topics if topic.model == model]
    stale = [topic for topic in topics if topic.model != model]
    return current, stale


def load_members(store: Store, owner: Scope, topics: Sequence[Topic]) -> dict[str, list[str]]:
    """Load member ids by topic, oldest first."""
    member_ids: dict[str, list[str]] = {topic.id: [] for topic in topics}
    if not member_ids:
        return {}
    for edge in store.edges(owner, list(member_ids), (EdgeType.IN_TOPIC,)):
        if edge.target in member_ids:
            member_ids[edge.target].append(edge.source)
    return {topic_id: sorted(ids) for topic_id, ids in member_ids.items()}  # ids sort by time


class TopicEditor:
    """Editable topics and members of a scope, with the write they need.

    A topic is known by its index here, in ``topics``, ``members`` and the centres alike; it keeps it
    when it is emptied.
    """

    def __init__(self, store: Store, scope: Scope, card: EmbedderCard, at: datetime) -> None:
        self._store = store
        self._scope = scope
        self._model = card.id
        self._at = at
        self.topics, stale = load_topics(store, scope, card.id)
        # A topic without members is deleted by the store.
        self._removed = [replace(topic, members=0) for topic in stale]
        member_ids = load_members(store, scope.owner, self.topics)
        self.members = [member_ids[topic.id] for topic in self.topics]
        """Ids of members by index of their topic, oldest first."""
        self._centres = TopicCentres(card.dimension)
        for topic in self.topics:
            self._centres.add(np.frombuffer(topic.centroid, np.float32), topic.members)
        self._changed: set[int] = set()
        self._edges: list[Edge] = []
        self._unlink: list[Edge] = []

    def index_members(self) -> dict[str, int]:
        """Map each member to the index of its topic."""
        return {id: index for index, ids in enumerate(self.members) for id in ids}

    def remove_missing(self, existing: Collection[str]) -> int:
        """Remove members outside ``existing``; returns how many. Centres and labels follow."""
        removed_count = 0
        for index, ids in enumerate(self.members):
            missing = [id for id in ids if id not in existing]
            if missing:
                removed_count += len(missing)
                self._unlink += [self._make_edge(id, index) for id in missing]
                self._set_members(index, [id for id in ids if id in existing])
        return removed_count

    def add_to_nearest_or_new(self, record: Record, row: Floats, floor: float) -> bool:
        """Add a memory to the nearest topic, or to a new one. True: it is new."""
        index = self._centres.nearest(row, floor)
        if index >= 0:
            self._centres.join(index, row)
        else:
            topic_id = make_topic_id("topic", (self._scope.key, record.id))
            index = self._add_topic(topic_id, label_by_text(record), row, 1)
        self.members[index].append(record.id)
        self._edges.append(self._make_edge(record.id, index))
        self._changed.add(index)
        return self._centres.members[index] == 1

    def split_large(self, max_members: int, floor: float, texts: Mapping[str, str]) -> int:
        """Split changed topics of more than ``max_members``; returns how many.

        ``floor``: cosine at which members stay together. ``texts``: labels by member id, where
        they are known.
        """
        split_count = 0
        for index in sorted(self._changed):
            ids = self.members[index]
            if len(ids) <= max_members:
                continue
            rows = self._store.vectors(self._scope.owner, ids, self._model)
            groups = group_rows(rows, floor)
            if len(groups) < 2:
                continue
            split_count += 1
            self._remove_topic(index)
            for group in groups:
                self._add_part(
                    self.topics[index].id, [ids[row] for row in group], mean(rows[group]), texts
                )
        return split_count

    def _remove_topic(self, index: int) -> None:
        """Empty a topic that is about to be split."""
        topic = self.topics[index]
        self._removed.append(replace(topic, members=0))
        self._edges = [edge for edge in self._edges if edge.target != topic.id]
        self._centres.put(index, self._centres.centre(index), 0)
        self._changed.discard(index)
        self.members[index] = []

    def _add_part(
        self, split_id: str, ids: list[str], centre: Floats, texts: Mapping[str, str]
    ) -> None:
        """Add a topic for a part of a split one."""
        topic_id = make_topic_id("topic", (split_id, ids[0]))
        label = texts.get(ids[0]) or self._load_label(ids[0])
        index = self._add_topic(topic_id, label, centre, len(ids))
        self.members[index] = ids
        self._edges += [self._make_edge(id, index) for id in ids]
        self._changed.add(index)

    def build_batch(self) -> WriteBatch | None:
        """Build the write of all changes since the last call; None: none."""
        topics = [*self._removed, *(self._to_topic(index) for index in sorted(self._changed))]
        if not topics and not self._unlink:
            return None
        batch = WriteBatch(
            ACTOR,
            "grouped",
            self._at,
            edges=tuple(self._edges),
            unlink=tuple(self._unlink),
            topics=tuple(topics),
        )
        self._changed = set()
        self._removed = []
        self._edges = []
        self._unlink = []
        return batch

    def _to_topic(self, index: int) -> Topic:
        return replace(
            self.topics[index],
            members=len(self.members[index]),
            centroid=self._centres.centre(index).astype(np.float32).tobytes(),
            at=self._at,
        )

    def _add_topic(self, id: str, label: str, centre: Floats, members: int) -> int:
        index = self._centres.add(centre, members)
        self.topics.append(
            Topic(
                id=id,
                scope=self._scope,
                label=label,
                members=members,
                model=self._model,
                centroid=b"",
                at=self._at,
            )
        )
        self.members.append([])
        return index

    def _set_members(self, index: int, ids: list[str]) -> None:
        """Replace the members; the centre and the label follow."""
        rows = self._store.vectors(self._scope.owner, ids, self._model)
        self._centres.put(index, mean(rows) if ids else self._centres.centre(index), len(ids))
        self.members[index] = ids
        self._changed.add(index)
        if ids:
            label = self._load_label(ids[0])
            self.topics[index] = replace(self.topics[index], label=label, named=False)

    def _load_label(self, id: str) -> str:
        return label_by_text(self._store.get(self._scope.owner, [id])[0])

    def _make_edge(self, id: str, index: int) -> Edge:
        return Edge(self._scope.owner, id, self.topics[index].id, EdgeType.IN_TOPIC)
