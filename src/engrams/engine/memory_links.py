"""Links and tags that a person sets by hand, and recall along links.

``MemoryEngine.links`` is a ``MemoryLinks``. The CLI (``link``, ``tag``, ``related``, ``recall``) and
the MCP tools call it. Links that memory sets by itself come from upkeep.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime
from itertools import islice
from typing import Literal

from engrams.core import (
    Edge,
    EdgeType,
    Record,
    RelatedMemory,
    Scope,
    ScopeInput,
    SearchResult,
    Status,
    drop_unstorable,
)
from engrams.errors import InputError, RefusedError
from engrams.extract.redaction import redact_labels
from engrams.forget.dependents import GOING_ON, find_learned
from engrams.forget.edit_fields import require_short_tags
from engrams.forget.edits import diff_tag_edges
from engrams.ports import (
    Clock,
    Condition,
    MemoryReader,
    RecordChange,
    Store,
    Where,
    WriteBatch,
)
from engrams.read.link_expansion import cascade_scores, find_gone_ids
from engrams.read.request import visible_scopes
from engrams.read.time_limits import out_of_season
from engrams.settings import Settings
from engrams.text.normalize import fold

Mode = Literal["recent", "semantic", "cascade"]

WEIGHT = 0.5
"""Weight of a link where the caller names none, 0 to 1."""
DEPTH = 2
"""Steps along links where the caller names none."""
LIMIT = 10

_ACTOR = "user"
_MAX_DEPTH = 5
_PAGE = 500


class MemoryLinks:
    """Links and tags, reached as ``engine.links``.

    Every call is bound to its scope: another owner's ids do not exist.
    """

    def __init__(
        self,
        reader: MemoryReader,
        search: Callable[[str, Scope, int], SearchResult],
        store: Store,
        clock: Clock,
        settings: Settings,
    ) -> None:
        """Set up the links. ``search``: searches without following links."""
        self._reader = reader
        self._search = search
        self._store = store
        self._clock = clock
        self._settings = settings

    def link(
        self,
        source: str,
        target: str,
        *,
        scope: ScopeInput,
        type: str = EdgeType.RELATES_TO,
        weight: float = WEIGHT,
    ) -> Edge:
        """Link two memories; repeating sets the weight (0 to 1) and counts.

        With ``supersedes`` the source takes the target's place; ``unlink`` undoes that.
        NotFoundError: an id is unknown. InputError: it is a link to itself, or of no known type or
        weight.
        """
        if isinstance(weight, bool) or not 0 <= weight <= 1:
            raise InputError(f"A weight must be a number from 0 to 1, not {weight!r}.")
        edge = self._make_edge(source, target, Scope.of(scope), type, weight)
        now = self._clock()
        self._store.commit(
            WriteBatch(
                _ACTOR, "linked", now, changes=self._replace_target(edge, now), edges=(edge,)
            )
        )
        return edge

    def unlink(
        self, source: str, target: str, *, scope: ScopeInput, type: str = EdgeType.RELATES_TO
    ) -> bool:
        """Remove a link. False: there was none."""
        edge = self._make_edge(source, target, Scope.of(scope), type, WEIGHT)
        existing = self._store.edges(edge.owner, [edge.source], (edge.type,))
        if not any((link.source, link.target) == (edge.source, edge.target) for link in existing):
            return False
        changes = self._restore_target(edge)
        self._store.commit(
            WriteBatch(_ACTOR, "unlinked", self._clock(), changes=changes, unlink=(edge,))
        )
        return True

    def tag(self, id: str, tags: str | Sequence[str], *, scope: ScopeInput) -> Record:
        """Add tags to a memory, keeping its others; secrets in them are redacted.

        RefusedError: the settings refuse a secret in one.
        """
        record = self._reader.get_editable(id, Scope.of(scope))
        added = redact_labels(_clean_tags(tags), self._settings.write)
        return self._set_tags(
            record, tuple(dict.fromkeys((*record.tags, *added))), "tag", Scope.of(scope)
        )

    def untag(self, id: str, tags: str | Sequence[str], *, scope: ScopeInput) -> Record:
        """Remove tags from a memory; missing ones are ignored."""
        record = self._reader.get_editable(id, Scope.of(scope))
        removed = _clean_tags(tags)
        remaining = tuple(tag for tag in record.tags if tag not in removed)
        return self._set_tags(record, remaining, "untag", Scope.of(scope))

    def tags(self, scope: ScopeInput) -> dict[str, int]:
        """Count active memories by tag, most used first."""
        where = Where("and", (Condition("tags", "exists", True),))
        counts: Counter[str] = Counter()
        after = ""
        while True:
            page = self._reader.list(
                scope=Scope.of(scope), where=where, order="oldest", after=after, limit=_PAGE
            )
            counts.update(tag for record in page.records for tag in record.tags)
            if not page.next:
                return dict(sorted(counts.items(), key=lambda item: (-item[1], item[0])))
            after = page.next

    def related(
        self, id: str, *, scope: ScopeInput, depth: int = DEPTH, limit: int = LIMIT
    ) -> tuple[RelatedMemory, ...]:
        """Return active memories within ``depth`` (1 to 5) links, nearest first."""
        if not 1 <= depth <= _MAX_DEPTH:
            raise InputError(f"depth must be 1 to {_MAX_DEPTH}, not {depth}.")
        record = self._reader.get(id, scope=Scope.of(scope))
        # One more than asked for: the memory itself is among them, and is left out.
        reached = self._run_cascade({record.id: 1.0}, Scope.of(scope), depth, limit + 1)
        return tuple(related for related in reached if related.record.id != record.id)[:limit]

    def recall(
        self, query: str = "", *, scope: ScopeInput, mode: Mode | None = None, limit: int = LIMIT
    ) -> tuple[RelatedMemory, ...]:
        """Recall memories by ``mode``, best first.

        - ``recent``: the newest, whatever the query.
        - ``semantic``: what a search finds by itself, without links.
        - ``cascade``: that, and memories linked to it. Of several with the same words the best one.

        Default: ``cascade`` where there is a query, else ``recent``.
        """
        searched_scope = Scope.of(scope)
        chosen = mode or ("cascade" if query.strip() else "recent")
        if limit < 1:
            return ()
        match chosen:
            case "recent":
                newest = islice(self._iterate_newest(searched_scope), limit)
                return tuple(RelatedMemory(record, 1.0) for record in newest)
            case "semantic":
                hits = self._search(query, searched_scope, limit).hits
                return tuple(RelatedMemory(hit.record, hit.score) for hit in hits)
            case "cascade":
                hits = self._search(query, searched_scope, limit).hits
                seeds = {hit.record.id: hit.score for hit in hits}
                return self._run_cascade(seeds, searched_scope, DEPTH, limit)
            case _:
                raise InputError(
                    f"There is no mode {chosen!r}.", hint="recent, semantic or cascade."
                )

    def _iterate_newest(self, scope: Scope) -> Iterator[Record]:
        """Yield active memories in season, newest first."""
        after = ""
        while True:
            page = self._reader.list(scope=scope, after=after, limit=_PAGE)
            yield from filter(self._is_in_season, page.records)
            if not page.next:
                return
            after = page.next

    def _is_in_season(self, record: Record) -> bool:
        return not out_of_season(record, self._settings.read.seasons)

    def _run_cascade(
        self, seeds: dict[str, float], scope: Scope, depth: int, limit: int
    ) -> tuple[RelatedMemory, ...]:
        """Spread scores from the seeds over links; returns active memories in season, best first."""

        def load_edges(nodes: Sequence[str]) -> tuple[Edge, ...]:
            reached = [node for node in nodes if node not in seeds]
            gone_ids = find_gone_ids(scope.owner, reached, self._store)
            return self._store.edges(scope.owner, [node for node in nodes if node not in gone_ids])

        scores = cascade_scores(seeds, load_edges, depth, self._settings.graph.decay)
        # Nodes with a colon are tags and topics, which links lead through but which are no memory.
        ranked = sorted(
            (node for node in scores if ":" not in node), key=lambda node: (-scores[node], node)
        )
        reach = visible_scopes(scope)
        related: list[RelatedMemory] = []
        for start in range(0, len(ranked), _PAGE):
            records = self._store.get(scope.owner, ranked[start : start + _PAGE])
            related += [
                RelatedMemory(record, scores[record.id])
                for record in records
                if record.status is Status.ACTIVE
                and (reach.tree or record.scope in reach.scopes)
                and self._is_in_season(record)
            ]
            # A message and the statement that was learned from it often have the same words.
            best_by_text: dict[str, RelatedMemory] = {}
            for memory in related:
                best_by_text.setdefault(fold(memory.record.text), memory)
            related = [*best_by_text.values()]
            if len(related) >= limit:
                break
        return tuple(related[:limit])

    def _make_edge(self, source: str, target: str, scope: Scope, type: str, weight: float) -> Edge:
        try:
            edge_type = EdgeType(type)
        except ValueError:
            raise InputError(
                f"There is no link type {type!r}.", hint=f"The types are: {', '.join(EdgeType)}."
            ) from None
        first, second = (self._reader.get_editable(id, scope) for id in (source, target))
        if first.id == second.id:
            raise InputError("A memory cannot be linked to itself.")
        first_scope = first.scope.durable
        second_scope = second.scope.durable
        if first_scope not in second_scope.chain() and second_scope not in first_scope.chain():
            raise RefusedError(
                "Memories of two projects cannot be linked.",
                hint="Move one of them, or add it again without a project.",
            )
        if Status.PURGED in (first.status, second.status):
            raise RefusedError("A purged memory cannot be linked.")
        return Edge(
            owner=scope.owner,
            source=first.id,
            target=second.id,
            type=edge_type,
            weight=float(weight),
        )

    def _replace_target(self, edge: Edge, now: datetime) -> tuple[RecordChange, ...]:
        """Build the changes that supersede the target of a ``supersedes`` link, and its statements."""
        if edge.type is not EdgeType.SUPERSEDES:
            return ()
        fields = {
            "status": Status.SUPERSEDED,
            "valid_to": now,
            "ended_at": now,
            "superseded_by": edge.source,
        }
        return tuple(
            RecordChange(edge.owner, record.id, fields, "supersede")
            for record in self._find_target_records(edge)
            if record.status is Status.ACTIVE and record.id != edge.source
        )

    def _restore_target(self, edge: Edge) -> tuple[RecordChange, ...]:
        """Build the changes that undo ``_replace_target``."""
        if edge.type is not EdgeType.SUPERSEDES:
            return ()
        fields = {"status": Status.ACTIVE, **GOING_ON}
        return tuple(
            RecordChange(edge.owner, record.id, fields, "restore")
            for record in self._find_target_records(edge)
            if record.superseded_by == edge.source
        )

    def _find_target_records(self, edge: Edge) -> Iterator[Record]:
        """Find the target of a link, and the statements that were learned from it alone."""
        for target in self._store.get(edge.owner, [edge.target]):
            yield target
            yield from find_learned(target, self._store)

    def _set_tags(self, record: Record, tags: tuple[str, ...], action: str, scope: Scope) -> Record:
        if tags == record.tags:
            return record
        if record.status is Status.PURGED:
            raise RefusedError("A purged memory has no tags.")
        change = RecordChange(
            owner=record.scope.owner,
            id=record.id,
            fields={"tags": tags},
            action=action,
            expect=record.version,
        )
        added, removed = diff_tag_edges(record, tags)
        self._store.commit(
            WriteBatch(
                _ACTOR,
                f"{action} by hand",
                self._clock(),
                changes=(change,),
                edges=added,
                unlink=removed,
            )
        )
        return self._reader.get(record.id, scope=scope)


def _clean_tags(tags: str | Sequence[str]) -> tuple[str, ...]:
    """Clean tags, each once. InputError: none, or an invalid one."""
    texts = [tags] if isinstance(tags, str) else list(tags)
    cleaned = [" ".join(drop_unstorable(text).split()) for text in texts if isinstance(text, str)]
    if not texts or len(cleaned) != len(texts) or not all(cleaned):
        raise InputError(
            "A tag must be one or a few words.", hint="Give at least one visible character."
        )
    return require_short_tags(tuple(dict.fromkeys(cleaned)))
