"""Manual links and tags between memories, and recall along them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from datetime import datetime
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
from engrams.forget.dependents import GOING_ON
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
from engrams.read.link_expansion import cascade_scores
from engrams.read.request import visible_scopes
from engrams.settings import LinkExpansionSettings
from engrams.write.related_statements import durable_scope

Mode = Literal["recent", "semantic", "cascade"]

WEIGHT = 0.5
DEPTH = 2
LIMIT = 10

_BY_HAND = "user"
_DEEPEST = 5
_PAGE = 500


class LinkService:
    """Links and tags, reached as ``engine.links``.

    Every call is bound to its scope: another owner's ids do not exist.
    """

    def __init__(
        self,
        reader: MemoryReader,
        search: Callable[[str, Scope, int], SearchResult],
        store: Store,
        clock: Clock,
        settings: LinkExpansionSettings,
    ) -> None:
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
            raise InputError(f"A weight is a number from 0 to 1, not {weight!r}.")
        edge = self._make_edge(source, target, Scope.of(scope), type, weight)
        now = self._clock()
        self._store.commit(
            WriteBatch(
                _BY_HAND, "linked", now, changes=self._replace_target(edge, now), edges=(edge,)
            )
        )
        return edge

    def unlink(
        self, source: str, target: str, *, scope: ScopeInput, type: str = EdgeType.RELATES_TO
    ) -> bool:
        """Remove a link. False: there was none."""
        edge = self._make_edge(source, target, Scope.of(scope), type, WEIGHT)
        known = self._store.edges(edge.owner, [edge.source], (edge.type,))
        if not any((one.source, one.target) == (edge.source, edge.target) for one in known):
            return False
        back = (
            ()
            if edge.type is not EdgeType.SUPERSEDES
            else self._store.get(edge.owner, [edge.target])
        )
        fields = {"status": Status.ACTIVE, **GOING_ON}
        changes = tuple(
            RecordChange(edge.owner, one.id, fields, "restore")
            for one in back
            if one.superseded_by == edge.source
        )
        self._store.commit(
            WriteBatch(_BY_HAND, "unlinked", self._clock(), changes=changes, unlink=(edge,))
        )
        return True

    def tag(self, id: str, tags: str | Sequence[str], *, scope: ScopeInput) -> Record:
        """Add tags to a memory, keeping its others."""
        record = self._reader.get_editable(id, Scope.of(scope))
        given = _clean_tags(tags)
        return self._set_tags(
            record, tuple(dict.fromkeys((*record.tags, *given))), "tag", Scope.of(scope)
        )

    def untag(self, id: str, tags: str | Sequence[str], *, scope: ScopeInput) -> Record:
        """Remove tags from a memory; missing ones are ignored."""
        record = self._reader.get_editable(id, Scope.of(scope))
        given = _clean_tags(tags)
        return self._set_tags(
            record, tuple(one for one in record.tags if one not in given), "untag", Scope.of(scope)
        )

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
        if not 1 <= depth <= _DEEPEST:
            raise InputError(f"depth is 1 to {_DEEPEST}, not {depth}.")
        record = self._reader.get(id, scope=Scope.of(scope))
        found = self._run_cascade({record.id: 1.0}, Scope.of(scope), depth, limit + 1)
        return tuple(each for each in found if each.record.id != record.id)[:limit]

    def recall(
        self, query: str = "", *, scope: ScopeInput, mode: Mode | None = None, limit: int = LIMIT
    ) -> tuple[RelatedMemory, ...]:
        """Recall memories by ``mode``, best first.

        recent: the newest, whatever the query. semantic: search hits. cascade: search hits and
        memories linked to them. Default: cascade where there is a query, else recent.
        """
        place = Scope.of(scope)
        chosen = mode or ("cascade" if query.strip() else "recent")
        if limit < 1:
            return ()
        match chosen:
            case "recent":
                return tuple(
                    RelatedMemory(record, 1.0)
                    for record in self._reader.list(scope=place, limit=limit).records
                )
            case "semantic" | "cascade":
                hits = self._search(query, place, limit).hits
                if chosen == "semantic":
                    return tuple(RelatedMemory(hit.record, hit.score) for hit in hits)
                return self._run_cascade(
                    {hit.record.id: hit.score for hit in hits}, place, DEPTH, limit
                )
            case _:
                raise InputError(
                    f"There is no mode {chosen!r}.", hint="recent, semantic or cascade."
                )

    def _run_cascade(
        self, seeds: dict[str, float], scope: Scope, depth: int, limit: int
    ) -> tuple[RelatedMemory, ...]:
        """Spread scores from the seeds over links; returns active memories, best first."""

        def near(nodes: Sequence[str]) -> tuple[Edge, ...]:
            return self._store.edges(scope.owner, nodes)

        scores = cascade_scores(seeds, near, depth, self._settings.decay)
        ranked = sorted(
            (node for node in scores if ":" not in node), key=lambda node: (-scores[node], node)
        )
        sees = visible_scopes(scope)
        found: list[RelatedMemory] = []
        for start in range(0, len(ranked), _PAGE):
            records = self._store.get(scope.owner, ranked[start : start + _PAGE])
            found += [
                RelatedMemory(one, scores[one.id])
                for one in records
                if one.status is Status.ACTIVE and (sees.tree or one.scope in sees.scopes)
            ]
            if len(found) >= limit:
                break
        return tuple(found[:limit])

    def _make_edge(self, source: str, target: str, scope: Scope, type: str, weight: float) -> Edge:
        try:
            kind = EdgeType(type)
        except ValueError:
            raise InputError(
                f"There is no link type {type!r}.", hint=f"The types are: {', '.join(EdgeType)}."
            ) from None
        first, second = (self._reader.get_editable(id, scope) for id in (source, target))
        if first.id == second.id:
            raise InputError("A memory cannot be linked to itself.")
        places = [durable_scope(one.scope) for one in (first, second)]
        if places[0] not in places[1].chain() and places[1] not in places[0].chain():
            raise RefusedError(
                "Memories of two projects cannot be linked.",
                hint="Move one of them, or add it again without a project.",
            )
        if any(one.status is Status.PURGED for one in (first, second)):
            raise RefusedError("A purged memory cannot be linked.")
        return Edge(
            owner=scope.owner, source=first.id, target=second.id, type=kind, weight=float(weight)
        )

    def _replace_target(self, edge: Edge, now: datetime) -> tuple[RecordChange, ...]:
        """Build the change that supersedes the target of such a link."""
        found = (
            self._store.get(edge.owner, [edge.target]) if edge.type is EdgeType.SUPERSEDES else ()
        )
        fields = {
            "status": Status.SUPERSEDED,
            "valid_to": now,
            "ended_at": now,
            "superseded_by": edge.source,
        }
        return tuple(
            RecordChange(edge.owner, one.id, fields, "supersede")
            for one in found
            if one.status is Status.ACTIVE
        )

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
        new, gone = diff_tag_edges(record, tags)
        self._store.commit(
            WriteBatch(
                _BY_HAND,
                f"{action} by hand",
                self._clock(),
                changes=(change,),
                edges=new,
                unlink=gone,
            )
        )
        return self._reader.get(record.id, scope=scope)


def _clean_tags(tags: str | Sequence[str]) -> tuple[str, ...]:
    """Clean tags, each once. InputError: none, or an invalid one."""
    given = [tags] if isinstance(tags, str) else list(tags)
    cleaned = [" ".join(drop_unstorable(each).split()) for each in given if isinstance(each, str)]
    if not given or len(cleaned) != len(given) or not all(cleaned):
        raise InputError(
            "A tag must be one or a few words.", hint="Give at least one visible character."
        )
    return require_short_tags(tuple(dict.fromkeys(cleaned)))
