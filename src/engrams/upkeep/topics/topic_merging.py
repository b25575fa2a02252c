"""Merged topics, and concepts over topics. Builds the writes; commits nothing."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING

import numpy as np

from engrams.core import Edge, EdgeType, Scope, Topic
from engrams.ports import LinkStore, WriteBatch
from engrams.upkeep.topics.cluster import link_groups, mean, normalise_rows
from engrams.upkeep.topics.editor import ACTOR, make_topic_id

if TYPE_CHECKING:
    from engrams.ports.candidate_search import Floats

NameGroups = Callable[[Sequence[Sequence[str]]], Sequence[str]]
"""Names groups of texts; empty: no name."""


def merge_topics(
    graph: LinkStore, topics: Sequence[Topic], floor: float, at: datetime
) -> tuple[WriteBatch, int]:
    """Build the write that merges similar topics; returns it with their number."""
    merged_into: dict[str, str] = {}
    changed_topics: list[Topic] = []
    for indices in link_groups(_stack_centres(topics), floor):
        group = sorted(
            (topics[index] for index in indices), key=lambda topic: (-topic.members, topic.id)
        )
        largest, *smaller = group
        merged_into |= {topic.id: largest.id for topic in smaller}
        changed_topics.append(_merge_into(largest, group, at))
        changed_topics += [replace(topic, members=0) for topic in smaller]
    if not merged_into:
        return WriteBatch(ACTOR, "merged", at), 0
    owner = topics[0].scope.owner
    edges = graph.edges(owner, [*merged_into, *dict.fromkeys(merged_into.values())])
    batch = WriteBatch(
        ACTOR,
        "merged",
        at,
        edges=_move_edges(edges, merged_into),
        topics=tuple(changed_topics),
    )
    return batch, len(merged_into)


def _merge_into(largest: Topic, group: Sequence[Topic], at: datetime) -> Topic:
    """Return the largest topic with the members of all, around the mean of all members."""
    total = sum(topic.members for topic in group)
    weighted_sum = sum(np.frombuffer(topic.centroid, np.float32) * topic.members for topic in group)
    centroid = np.asarray(weighted_sum / total, np.float32).tobytes()
    return replace(largest, members=total, centroid=centroid, at=at)


def _move_edges(edges: Sequence[Edge], merged_into: dict[str, str]) -> tuple[Edge, ...]:
    """Move edges of merged topics; weights and counts add up."""
    weights: dict[tuple[str, str, EdgeType], float] = {}
    added_counts: dict[tuple[str, str, EdgeType], int] = {}
    for edge in edges:
        source = merged_into.get(edge.source, edge.source)
        target = merged_into.get(edge.target, edge.target)
        if edge.type is EdgeType.CO_OCCURS:
            source, target = min(source, target), max(source, target)
        if source == target:
            continue
        key = (source, target, edge.type)
        # Membership is not a matter of degree.
        is_membership = edge.type is EdgeType.IN_TOPIC
        weights[key] = 1.0 if is_membership else weights.get(key, 0.0) + edge.weight
        if (edge.source, edge.target) != (source, target):
            # A store adds the given count to the stored one, so only moved counts are given.
            added_counts[key] = added_counts.get(key, 0) + edge.count
    return tuple(
        Edge(edges[0].owner, *key, weights[key], count) for key, count in added_counts.items()
    )


def abstract_concepts(
    scope: Scope,
    topics: Sequence[Topic],
    old_concepts: Sequence[Topic],
    floor: float,
    name_groups: NameGroups,
    at: datetime,
) -> tuple[WriteBatch | None, list[Topic]]:
    """Build the write that replaces all concepts; returns both. None: there is nothing to write."""
    groups = [
        [topics[index] for index in indices]
        for indices in link_groups(_stack_centres(topics), floor)
    ]
    names = name_groups([[topic.label for topic in group] for group in groups])
    concepts = []
    edges = []
    for group, name in zip(groups, names, strict=True):
        largest = max(group, key=lambda topic: (topic.members, topic.id))
        concept = Topic(
            id=make_topic_id("concept", (scope.key, *sorted(topic.id for topic in group))),
            scope=scope,
            label=name or largest.label,
            members=len(group),
            model=largest.model,
            centroid=mean(normalise_rows(_stack_centres(group))).tobytes(),
            at=at,
            named=bool(name),
        )
        concepts.append(concept)
        edges += [
            Edge(scope.owner, concept.id, topic.id, EdgeType.ABSTRACTED_FROM) for topic in group
        ]
    concept_ids = {concept.id for concept in concepts}
    removed = [replace(topic, members=0) for topic in old_concepts if topic.id not in concept_ids]
    if not concepts and not removed:
        return None, []
    batch = WriteBatch(ACTOR, "abstracted", at, edges=tuple(edges), topics=(*removed, *concepts))
    return batch, concepts


def _stack_centres(topics: Sequence[Topic]) -> Floats:
    if not topics:
        return np.zeros((0, 1), np.float32)
    return np.stack([np.frombuffer(topic.centroid, np.float32) for topic in topics])
