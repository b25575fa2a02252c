"""Show memories by topic with their sources, for people."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from engrams.ports import Query, Reach, Store
from engrams.types import EdgeType, Kind, Record, Scope, Status
from engrams.vault.storewrapper import PIECE

_KINDS = (Kind.FACT, Kind.PREFERENCE, Kind.PROCEDURE, Kind.CORRECTION, Kind.NEGATIVE, Kind.RULE, Kind.NOTE)
_PAGE = 500
_OTHER = "Other"


@dataclass(frozen=True, slots=True)
class NotebookLine:
    """One memory and the quotes it rests on."""

    id: str
    text: str
    kind: Kind
    sources: tuple[str, ...]
    quotes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class NotebookPage:
    """One topic and its lines."""

    topic: str
    lines: tuple[NotebookLine, ...]


def build_notebook(store: Store, owner: Scope, limit: int = 200) -> tuple[NotebookPage, ...]:
    """List an owner's visible memories by topic, newest first.

    At most ``limit`` of them; hidden ones (``meta.hidden``) do not count. An unknown owner has an empty notebook.
    """
    records = _find_visible(store, owner, limit)
    topics = _find_topics(store, owner, records)
    pages: dict[str, list[NotebookLine]] = {}
    for record in records:
        sources = tuple(dict.fromkeys(quote.source for quote in record.evidence if quote.source)) or record.provenance.files
        line = NotebookLine(record.id, record.text, record.kind, sources, tuple(quote.quote for quote in record.evidence if quote.quote))
        pages.setdefault(topics.get(record.id) or _category_name(record), []).append(line)
    order = sorted(pages, key=lambda topic: (topic == _OTHER, -len(pages[topic]), topic))
    return tuple(NotebookPage(topic, tuple(pages[topic])) for topic in order)


def _find_visible(store: Store, owner: Scope, limit: int) -> list[Record]:
    found: list[Record] = []
    after = ""
    while len(found) < limit:
        page = store.find(Query(Reach(owner, (owner,), tree=True), _KINDS, (Status.ACTIVE,), after=after, limit=_PAGE))
        found += [record for record in page.records if not record.meta.get("hidden") and PIECE not in record.meta]
        if not page.next:
            break
        after = page.next
    return found[:limit]


def _find_topics(store: Store, owner: Scope, records: Sequence[Record]) -> dict[str, str]:
    edges = store.edges(owner, [record.id for record in records], (EdgeType.IN_TOPIC,)) if records else ()
    best: dict[str, tuple[float, str]] = {}
    for edge in edges:
        best[edge.source] = max(best.get(edge.source, (-1.0, "")), (edge.weight, edge.target.removeprefix("topic:")))
    return {id: topic for id, (_, topic) in best.items()}


def _category_name(record: Record) -> str:
    name = record.category or (record.tags[0] if record.tags else "")
    return name.replace("_", " ").strip().capitalize() or _OTHER
