"""Changes to the topics of one scope."""

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


def make_topic_id(kind: str, parts: Iterable[str]) -> str:
    """Return a stable id of the parts, so repetition makes one topic."""
    return f"{kind}:{hashlib.blake2b(chr(31).join(parts).encode(), digest_size=8).hexdigest()}"


def exact_reach(scope: Scope) -> ScopeReach:
    return ScopeReach(scope.owner, (scope,))


def load_topics(store: Store, scope: Scope, model: str) -> tuple[list[Topic], list[Topic]]:
    """Load the scope's topics of this model, and those of other models."""
    topics = [topic for topic in store.topics(exact_reach(scope)) if not topic.concept]
    return [topic for topic in topics if topic.model == model], [
        topic for topic in topics if topic.model != model
    ]


def load_members(store: Store, owner: Scope, topics: Sequence[Topic]) -> dict[str, list[str]]:
    """Load member ids by topic, oldest first."""
    found: dict[str, list[str]] = {topic.id: [] for topic in topics}
    for edge in store.edges(owner, list(found), (EdgeType.IN_TOPIC,)) if found else ():
        if edge.target in found:
            found[edge.target].append(edge.source)
    return {name: sorted(ids) for name, ids in found.items()}


class TopicEditor:
    """Editable topics and members of a scope, with the write they need."""

    def __init__(self, store: Store, scope: Scope, card: EmbedderCard, at: datetime) -> None:
        self._store = store
        self._scope = scope
        self._model = card.id
        self._at = at
        self.topics, stale = load_topics(store, scope, card.id)
        self._gone = [replace(topic, members=0) for topic in stale]
        known = load_members(store, scope.owner, self.topics)
        self.members = [known[topic.id] for topic in self.topics]
        self._centres = TopicCentres(card.dimension)
        for topic in self.topics:
            self._centres.add(np.frombuffer(topic.centroid, np.float32), topic.members)
        self._changed: set[int] = set()
        self._edges: list[Edge] = []
        self._unlink: list[Edge] = []

    def place_by_member(self) -> dict[str, int]:
        """Map each member to the index of its topic."""
        return {name: place for place, names in enumerate(self.members) for name in names}

    def remove_missing(self, stay: Collection[str]) -> int:
        """Remove members outside ``stay``; returns how many. Centres and labels follow."""
        left = 0
        for place, names in enumerate(self.members):
            gone = [name for name in names if name not in stay]
            if gone:
                left += len(gone)
                self._unlink += [self._make_edge(name, place) for name in gone]
                self._set_members(place, [name for name in names if name in stay])
        return left

    def add_member(self, record: Record, row: Floats, floor: float) -> bool:
        """Add a memory to the nearest topic, or begin one. True: begun."""
        place = self._centres.nearest(row, floor)
        if place >= 0:
            self._centres.join(place, row)
        else:
            place = self._add_topic(
                make_topic_id("topic", (self._scope.key, record.id)), label_by_text(record), row, 1
            )
        self.members[place].append(record.id)
        self._edges.append(self._make_edge(record.id, place))
        self._changed.add(place)
        return self._centres.members[place] == 1

    def split_large(self, most: int, floor: float, texts: Mapping[str, str]) -> int:
        """Split changed topics of more than ``most`` members; returns how many."""
        done = 0
        for place in sorted(self._changed):
            names = self.members[place]
            if len(names) <= most:
                continue
            rows = self._store.vectors(self._scope.owner, names, self._model)
            parts = group_rows(rows, floor)
            if len(parts) < 2:
                continue
            done += 1
            old = self.topics[place].id
            self._gone.append(replace(self.topics[place], members=0))
            self._edges = [edge for edge in self._edges if edge.target != old]
            self._centres.put(place, self._centres.centre(place), 0)
            self._changed.discard(place)
            self.members[place] = []
            for part in parts:
                some = [names[one] for one in part]
                fresh = self._add_topic(
                    make_topic_id("topic", (old, some[0])),
                    texts.get(some[0]) or self._load_label(some[0]),
                    mean(rows[part]),
                    len(part),
                )
                self.members[fresh] = some
                self._edges += [self._make_edge(name, fresh) for name in some]
                self._changed.add(fresh)
        return done

    def rename(self, place: int, label: str, named: bool) -> None:
        self.topics[place] = replace(self.topics[place], label=label, named=named)
        self._changed.add(place)

    def build_batch(self) -> WriteBatch | None:
        """Build the write of all changes since the last call; None: none."""
        topics = [*self._gone, *(self._to_topic(place) for place in sorted(self._changed))]
        if not topics and not self._unlink:
            return None
        batch = WriteBatch(
            "topics",
            "grouped",
            self._at,
            edges=tuple(self._edges),
            unlink=tuple(self._unlink),
            topics=tuple(topics),
        )
        self._changed = set()
        self._gone = []
        self._edges = []
        self._unlink = []
        return batch

    def _to_topic(self, place: int) -> Topic:
        return replace(
            self.topics[place],
            members=len(self.members[place]),
            centroid=self._centres.centre(place).astype(np.float32).tobytes(),
            at=self._at,
        )

    def _add_topic(self, id: str, label: str, centre: Floats, members: int) -> int:
        place = self._centres.add(centre, members)
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
        return place

    def _set_members(self, place: int, names: list[str]) -> None:
        rows = self._store.vectors(self._scope.owner, names, self._model)
        self._centres.put(place, mean(rows) if names else self._centres.centre(place), len(names))
        self.members[place] = names
        self._changed.add(place)
        if names:
            self.rename(place, self._load_label(names[0]), False)

    def _load_label(self, name: str) -> str:
        return label_by_text(self._store.get(self._scope.owner, [name])[0])

    def _make_edge(self, name: str, place: int) -> Edge:
        return Edge(self._scope.owner, name, self.topics[place].id, EdgeType.IN_TOPIC)
