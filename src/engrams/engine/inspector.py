"""Read-only view of memories, links, topics, jobs and numbers: ``engine.inspect``."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields, replace
from datetime import datetime
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any, TypeAlias, Unpack

from engrams.core import (
    Edge,
    EdgeType,
    EntityNet,
    HistoryEntry,
    Hit,
    Meta,
    OutdatedMark,
    Record,
    Scope,
    ScopeInput,
    Status,
    Topic,
)
from engrams.engine.dependencies import EngineDeps
from engrams.engine.job_status import build_status, describe_job
from engrams.engine.lineage import prove_lineage, prove_moment
from engrams.engine.memory_stats import build_stats
from engrams.errors import AlteredError, InputError, NotFoundError, RefusedError
from engrams.ports import (
    EMBED,
    JOINED_SPACES,
    Condition,
    Job,
    JudgementCounter,
    ListFields,
    RecordPage,
    RecordQuery,
    ScopeReach,
    Where,
    is_skill,
)
from engrams.read.arguments import to_as_of, to_query_fields
from engrams.read.corrected_words import mask_corrected
from engrams.read.request import visible_scopes

if TYPE_CHECKING:
    from engrams.ports import Embedder
    from engrams.ports.candidate_search import Floats
    from engrams.read.embedder_fit import ComparedSeparations
    from engrams.read.entities.entity_index import EntityIndex

Place: TypeAlias = ScopeInput

_MIN_PREFIX = 6
"""Characters of the shortest prefix of an id that stands for the id."""
_MOST_ALIKE = 50
"""Ids with one beginning that are compared at most."""
_MAX_REPLACED = 1000
_PAGE = 500
"""Memories that one query of a whole scope reads."""
MAX_UNEMBEDDED = 1000
"""Memories without a vector that are counted at most."""
_QUERY_FIELDS = tuple(
    field.name for field in fields(RecordQuery) if field.name not in ("reach", "as_of")
)


class MemoryInspector:
    """Read-only view of a memory.

    Every call that touches memory names its owner. No call changes anything.
    """

    def __init__(self, deps: EngineDeps) -> None:
        self._deps = deps
        self._store = deps.store
        self._clock = deps.clock
        self._skills = deps.skills
        self._models = {
            "embedder": deps.embedder.card.id,
            "chat": deps.chat.name if deps.chat else "",
        }

    def get(self, id: str, *, scope: Place) -> Record:
        """Get one memory by its id, or by a unique prefix of six characters at least.

        Words that were corrected since are left out, here and in lists.
        """
        return mask_corrected(self._load(id, scope))

    def _load(self, id: str, scope: Place) -> Record:
        """Load a memory by its id or a unique prefix, with corrected words."""
        if not isinstance(id, str):
            raise InputError(
                "An id must be text.",
                hint="Give one id at a time; only `purge` and `used` take a list.",
            )
        owner = Scope.of(scope).owner
        records = self._store.get(owner, [id])
        if not records and self._skills is not None and is_skill(id):
            records = self._skills.get([id])
        if not records and len(id) >= _MIN_PREFIX:
            query = RecordQuery(
                visible_scopes(owner), statuses=tuple(Status), prefix=id, limit=_MOST_ALIKE
            )
            records = self._store.find(query).records
        if len(records) > 1:
            enough = _count_telling_characters([record.id for record in records])
            raise InputError(
                f"More than one memory begins with {id!r}.",
                hint=f"Give {enough} characters of the id: memories of one hour begin alike.",
            )
        if not records:
            hint = "`engrams list` shows the ids."
            if self._store.load_state(owner, JOINED_SPACES).data.get("names"):
                hint = f"{hint} Those of a space take `--space NAME`."
            if len(id) < _MIN_PREFIX:
                hint = (
                    f"An id has 26 letters and digits. Give {_MIN_PREFIX} or more of the first, as"
                    f" many as tell it from others. {hint}"
                )
            raise NotFoundError(f"There is no memory {id!r} here.", hint=hint)
        return records[0]

    def get_editable(self, id: str, scope: Place) -> Record:
        """Get a memory that may be changed. RefusedError: it is a skill."""
        record = self._load(id, scope)
        if is_skill(record.id):
            raise RefusedError(
                f"{record.id} is a skill, and read-only.",
                hint=f"Change or remove its file: {record.provenance.files[0]}",
            )
        return record

    def list_editable(self, ids: str | Sequence[str], scope: Place) -> tuple[Record, ...]:
        """Get memories that may be changed, by one id or several.

        InputError: no ids. RefusedError: one is a skill.
        """
        if not isinstance(ids, Iterable):
            raise InputError(
                f"Ids are needed, not {type(ids).__name__}.", hint="Give one id, or a list of ids."
            )
        listed_ids = [ids] if isinstance(ids, str) else ids
        return tuple(self.get_editable(id, scope) for id in listed_ids)

    def prove(self, id: str, *, scope: Place) -> Meta:
        """Issue a certificate of what a memory is made of: ids, hashes and doors, no text."""
        return prove_lineage(self._store, self._load(id, scope), self._clock)

    def prove_moment(self, as_of: datetime, *, scope: Place) -> Meta:
        """Issue a certificate of which memories of an owner were active at a time."""
        return prove_moment(self._store, Scope.of(scope).owner, as_of, self._clock)

    def list(self, *, scope: Place, **query_fields: Unpack[ListFields]) -> RecordPage:
        """List memories by their fields, newest first.

        ``query_fields``: fields of ``ports.RecordQuery``. InputError: an unknown field.
        """
        page = self._store.find(_build_query(scope, query_fields))
        return replace(page, records=tuple(map(mask_corrected, page.records)))

    def find_outdated(self, records: Iterable[Record], *, scope: Place) -> dict[str, OutdatedMark]:
        """Find which of some memories a later statement ends, or may end, by their ids.

        A list shows memories as they are stored: these are the marks that a search shows beside
        them. What is over by its own status has none.
        """
        from engrams.read.link_expansion import LinkCache
        from engrams.read.request import ReadRequest
        from engrams.read.succession import mark_outdated

        searched_scope = Scope.of(scope)
        hits = [
            Hit(record, 0.0, record.status) for record in records if record.status is Status.ACTIVE
        ]
        later = LinkCache(searched_scope.owner, self._store).find_later(
            [hit.record.id for hit in hits]
        )
        if not later:
            return {}
        ending_ids = {edge.source for edges in later.values() for edge in edges}
        endings = {
            record.id: record
            for record in self._store.get(searched_scope.owner, sorted(ending_ids))
        }
        request = ReadRequest("", searched_scope, self._clock(), limit=0)
        return {
            hit.record.id: hit.outdated
            for hit in mark_outdated(hits, later, endings, request)
            if hit.outdated is not None and hit.outdated.is_told
        }

    def count(self, *, scope: Place, **query_fields: Unpack[ListFields]) -> int:
        """Count the memories that ``list`` would find on all its pages."""
        return self._store.count(_build_query(scope, query_fields))

    def list_within(self, scope: Place, *, purged: bool = False) -> tuple[Record, ...]:
        """List all memories of a scope and below it, of every status, oldest first.

        Memories of the scopes above it are not among them. ``purged``: also what is left of purged
        memories.
        """
        reach = ScopeReach(Scope.of(scope).owner, (Scope.of(scope),), tree=True)
        statuses = tuple(status for status in Status if purged or status is not Status.PURGED)
        query = RecordQuery(reach, statuses=statuses, order="oldest", limit=_PAGE)
        records: list[Record] = []
        while True:
            page = self._store.find(query)
            records += page.records
            if not page.next:
                return tuple(records)
            query = replace(query, after=page.next)

    def compare_embedder(
        self, scope: Place, candidate: Embedder | None = None
    ) -> ComparedSeparations | None:
        """Compare memory's vectors with those of another embedder on an owner's newest turns.

        ``candidate``: None is the built-in table. The comparison says how well each tells turns that
        follow each other from turns of different sessions. None: there are too few of them. Errors
        as for ``Embedder.embed``.
        """
        from engrams.read.embedder_fit import compare_separations

        candidate = candidate or self._deps.plain
        if candidate is None:
            return None
        owner = Scope.of(scope).owner
        return compare_separations(
            self._store, self._store, owner, self._deps.embedder.card.id, candidate
        )

    def records(self, owner: Scope, ids: Sequence[str]) -> tuple[Record, ...]:
        """Get the existing ones of an owner's memories, in the order of ``ids``."""
        return tuple(map(mask_corrected, self._store.get(owner, ids)))

    def list_replaced(self, owner: Scope, ids: Sequence[str]) -> tuple[Record, ...]:
        """List the memories that these replaced; a message stands for its replaced facts."""
        reach = ScopeReach.of_owner(owner)
        derived = self._store.find(
            RecordQuery(reach, statuses=tuple(Status), sources=tuple(ids), limit=_MAX_REPLACED)
        ).records
        successors = [*ids, *(record.id for record in derived)]
        replaced = self._store.find(
            RecordQuery(
                reach,
                statuses=(Status.SUPERSEDED,),
                where=Where("and", (Condition("superseded_by", "in", successors),)),
                limit=_MAX_REPLACED,
            )
        ).records
        replaced_ids = {record.id for record in replaced}
        return tuple(
            record
            for record in replaced
            if replaced_ids.isdisjoint(quote.source for quote in record.evidence)
        )

    def history(self, id: str, *, scope: Place) -> tuple[HistoryEntry, ...]:
        """List every change of one memory, oldest first.

        Of a memory that another program changed, too: its earlier versions, not what it says now.
        """
        try:
            record = self.get(id, scope=scope)
        except (AlteredError, NotFoundError):
            with self._store.include_altered():
                record = self.get(id, scope=scope)
        return self._store.history(record.scope.owner, record.id)

    def edges(
        self, owner: Scope, nodes: Sequence[str], types: Sequence[EdgeType] = ()
    ) -> tuple[Edge, ...]:
        """List the links at any of ``nodes``, in either direction."""
        return self._store.edges(owner, nodes, tuple(types)) if nodes else ()

    def entities(self, scope: Place) -> EntityNet:
        """Find the people, places and other things that memories in the scope mention.

        They are derived from active memories, with their links; none of them is stored.
        """
        return self._entity_index.find(visible_scopes(Scope.of(scope)))

    @cached_property
    def _entity_index(self) -> EntityIndex:
        from engrams.read.entities.entity_index import EntityIndex

        return EntityIndex(self._store)

    def find_last_change(self, owner: Place) -> int:
        """Return a number that grows with every change of an owner's memory."""
        return self._store.find_change(Scope.of(owner).owner, 0)

    def topics(self, reach: ScopeReach) -> tuple[Topic, ...]:
        """List the topics in reach."""
        return self._store.topics(reach)

    def vectors(self, owner: Scope, ids: Sequence[str], model: str) -> Floats:
        """Return vectors of ``model`` as float32 [len(ids), dimension].

        A row is zeros where there is none.
        """
        return self._store.vectors(owner, ids, model)

    def scopes(self, owner: Place | None = None) -> tuple[Scope, ...]:
        """List the scopes that hold memories; of every owner with None."""
        return self._store.scopes(None if owner is None else Scope.of(owner).owner)

    def count_scopes(self, owner: Scope) -> Mapping[Scope, int]:
        """Count the active memories in each scope that holds memories."""
        return self._store.count_scopes(owner)

    def counts(self, reach: ScopeReach | None) -> Mapping[str, Mapping[str, int]]:
        """Count memories by status, kind, layer and tier, vectors by model."""
        return self._store.counts(reach)

    def jobs(self, states: Sequence[str] = (), limit: int = 100) -> tuple[Job, ...]:
        """List the jobs in these states (empty: in any), the earliest due first."""
        return self._store.queue(states, limit)

    def describe_job(self, job: Job) -> dict[str, Any]:
        """Describe a job: its work, age, next run and error."""
        return describe_job(job, self._clock(), self._deps.upkeep)

    def stats(self, scope: Place | None = None) -> dict[str, Any]:
        """Count memories, vectors, calls and tokens spent today."""
        counted_scope = None if scope is None else Scope.of(scope)
        return build_stats(
            self._store, counted_scope, self._deps.settings, self._models, self._clock()
        )

    def require_ready(self) -> None:
        """Raise StoreError where memory cannot be read, or has another schema."""
        self._store.require_ready()

    def status(self) -> dict[str, Any]:
        """Report jobs, dead ones with errors, and model use.

        ``judge``: how many judgements of relevance ended how, since the engine was opened.
        ``unembedded``: how many memories wait for a vector of the model in use, 1000 at most; words
        find them.
        """
        deps = self._deps
        judgements: Mapping[str, int] = {}
        if isinstance(deps.reranker, JudgementCounter):
            judgements = dict(deps.reranker.counts())
        state = build_status(self._store, deps.settings, self._models, self._clock(), deps.upkeep)
        embed_jobs = state["jobs"].get(EMBED, {})
        is_embedding = embed_jobs.get("waiting") or embed_jobs.get("running")
        return {
            **state,
            "judge": judgements,
            "unembedded": self._count_unembedded() if is_embedding else 0,
        }

    def _count_unembedded(self) -> int:
        card = self._deps.embedder.card
        return len(self._store.missing(card.id, "", MAX_UNEMBEDDED)) if card.dimension else 0


def _build_query(scope: Place, query_fields: ListFields) -> RecordQuery:
    """Build the query of a list. InputError: an unknown field, or a value that it cannot have."""
    arguments: dict[str, Any] = dict(query_fields)
    as_of = to_as_of(arguments.pop("as_of", None))
    return RecordQuery(
        visible_scopes(Scope.of(scope)),
        as_of=as_of,
        **to_query_fields(arguments, _QUERY_FIELDS),
    )


def _count_telling_characters(ids: Iterable[str]) -> int:
    """Count the first characters that tell each of some ids from the others."""
    return 1 + max(_count_common(*pair) for pair in pairwise(sorted(ids)))


def _count_common(first_id: str, second_id: str) -> int:
    """Count the characters with which two different ids begin alike."""
    pairs = zip(first_id, second_id, strict=True)
    return next(
        position
        for position, (first_character, second_character) in enumerate(pairs)
        if first_character != second_character
    )
