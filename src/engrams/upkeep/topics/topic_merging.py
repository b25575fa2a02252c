"""Merged topics, concepts over topics, and inferred tags."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

import numpy as np

from engrams.core import Edge, EdgeType, Record, Scope, Topic
from engrams.ports import LinkStore, WriteBatch
from engrams.upkeep.topics import topic_labels
from engrams.upkeep.topics.cluster import link_groups, mean, normalise_rows
from engrams.upkeep.topics.editor import make_topic_id


def merge_topics(
    graph: LinkStore, topics: Sequence[Topic], floor: float, at: datetime
) -> tuple[WriteBatch, int]:
    """Build the write that merges similar topics; returns it with their number."""
    into: dict[str, str] = {}
    rows: list[Topic] = []
    for places in link_groups(_stack_centres(topics), floor):
        group = sorted(
            (topics[place] for place in places), key=lambda topic: (-topic.members, topic.id)
        )
        into |= {topic.id: group[0].id for topic in group[1:]}
        total = sum(topic.members for topic in group)
        centre = (
            sum(np.frombuffer(topic.centroid, np.float32) * topic.members for topic in group)
            / total
        )
        rows.append(
            replace(
                group[0], members=total, centroid=np.asarray(centre, np.float32).tobytes(), at=at
            )
        )
        rows += [replace(topic, members=0) for topic in group[1:]]
    if not into:
        return WriteBatch("topics", "merged", at), 0
    owner = topics[0].scope.owner
    edges = graph.edges(owner, [*into, *dict.fromkeys(into.values())])
    return WriteBatch(
        "topics", "merged", at, edges=_move_edges(edges, into), topics=tuple(rows)
    ), len(into)


def _move_edges(edges: Sequence[Edge], into: dict[str, str]) -> tuple[Edge, ...]:
    """Move edges of merged topics; weights and counts add up."""
    sums: dict[tuple[str, str, EdgeType], tuple[float, int]] = {}
    fresh: dict[tuple[str, str, EdgeType], int] = {}
    for edge in edges:
        ends = into.get(edge.source, edge.source), into.get(edge.target, edge.target)
        if edge.type is EdgeType.CO_OCCURS:
            ends = (min(ends), max(ends))
        if ends[0] == ends[1]:
            continue
        key = (*ends, edge.type)
        weight, count = sums.get(key, (0.0, 0))
        whole = 1.0 if edge.type is EdgeType.IN_TOPIC else weight + edge.weight
        sums[key] = (whole, count + edge.count)
        if (edge.source, edge.target) != ends:
            fresh[key] = fresh.get(key, 0) + edge.count
    # A store adds the given count to the stored one.
    return tuple(Edge(edges[0].owner, *key, sums[key][0], count) for key, count in fresh.items())


def abstract_concepts(
    scope: Scope,
    topics: Sequence[Topic],
    old: Sequence[Topic],
    floor: float,
    named: Callable[[Sequence[Sequence[str]]], list[str]],
    at: datetime,
) -> tuple[WriteBatch | None, list[Topic]]:
    """Build the write that replaces all concepts; returns both."""
    groups = [
        [topics[place] for place in places] for places in link_groups(_stack_centres(topics), floor)
    ]
    names = named([[topic.label for topic in group] for group in groups])
    made = []
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
        made.append(concept)
        edges += [
            Edge(scope.owner, concept.id, topic.id, EdgeType.ABSTRACTED_FROM) for topic in group
        ]
    gone = [
        replace(topic, members=0)
        for topic in old
        if topic.id not in {concept.id for concept in made}
    ]
    if not made and not gone:
        return None, []
    return WriteBatch("topics", "abstracted", at, edges=tuple(edges), topics=(*gone, *made)), made


def infer_tags(
    groups: Sequence[Sequence[Record]],
) -> tuple[tuple[tuple[str, dict[str, Any]], ...], tuple[Edge, ...]]:
    """Infer a tag for each group without a common one.

    Returns (id, changed fields) of the records, and the links to the tags.
    """
    edits: dict[str, dict[str, Any]] = {}
    edges: list[Edge] = []
    for records in groups:
        shared = set.intersection(*(set(record.tags) for record in records))
        word = "" if shared else topic_labels.infer_tag([record.text for record in records])
        for record in records if word else ():
            edits[record.id] = {"tags": (*record.tags, word)}
            edges.append(Edge(record.scope.owner, record.id, f"tag:{word}", EdgeType.HAS_TAG))
    return tuple(edits.items()), tuple(edges)


def _stack_centres(topics: Sequence[Topic]) -> Any:
    if not topics:
        return np.zeros((0, 1), np.float32)
    return np.stack([np.frombuffer(topic.centroid, np.float32) for topic in topics])
