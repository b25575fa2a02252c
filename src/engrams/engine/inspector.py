"""Read-only view of memories, links, topics, jobs and numbers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeAlias

from engrams.core import (
    Edge,
    EdgeType,
    EntityNet,
    HistoryEntry,
    Record,
    Scope,
    ScopeInput,
    Status,
    Topic,
)
from engrams.engine.job_status import build_status, describe_job
from engrams.engine.memory_stats import build_stats
from engrams.errors import InputError, NotFoundError, RefusedError
from engrams.ports import (
    Clock,
    Condition,
    Job,
    JudgementCounter,
    RecordPage,
    RecordQuery,
    Reranker,
    ScopeReach,
    SkillRecordSource,
    Store,
    UpkeepGatekeeper,
    Where,
    is_skill,
)
from engrams.read.arguments import to_as_of, to_query_fields
from engrams.read.corrected_words import mask_corrected
from engrams.read.request import visible_scopes
from engrams.settings import Settings

if TYPE_CHECKING:
    from engrams.ports.candidate_search import Floats
    from engrams.read.entities.entity_index import EntityIndex

Place: TypeAlias = ScopeInput

_PREFIX = 6
_FIELDS = tuple(each.name for each in fields(RecordQuery) if each.name not in ("reach", "as_of"))


class MemoryInspector:
    """Read-only view, reached as ``engine.inspect``.

    Every call that touches memory names its owner; nothing here changes anything.
    """

    def __init__(
        self,
        store: Store,
        clock: Clock,
        settings: Settings,
        models: Mapping[str, str],
        skills: SkillRecordSource | None,
        upkeep: UpkeepGatekeeper,
        reranker: Reranker | None = None,
    ) -> None:
        self._store = store
        self._clock = clock
        self._settings = settings
        self._models = models
        self._skills = skills
        self._upkeep = upkeep
        self._reranker = reranker

    def get(self, id: str, *, scope: Place) -> Record:
        """One memory by its id or a unique prefix.

        A prefix has six characters at least. Words corrected since are left out, here and in lists.
        """
        return mask_corrected(self._load(id, scope))

    def _load(self, id: str, scope: Place) -> Record:
        if not isinstance(id, str):
            raise InputError(
                "An id is text.", hint="Give one id at a time; only `purge` and `used` take a list."
            )
        owner = Scope.of(scope).owner
        found = self._store.get(owner, [id]) or (
            self._skills.get([id]) if self._skills is not None and is_skill(id) else ()
        )
        if not found and len(id) >= _PREFIX:
            found = self._store.find(
                RecordQuery(visible_scopes(owner), statuses=tuple(Status), prefix=id, limit=2)
            ).records
        if len(found) > 1:
            raise InputError(
                f"More than one memory begins with {id!r}.", hint="Give more of the id."
            )
        if not found:
            short = (
                ""
                if len(id) >= _PREFIX
                else f"An id has 26 letters and digits; its first {_PREFIX} are enough. "
            )
            raise NotFoundError(
                f"There is no memory {id!r} here.", hint=f"{short}`engrams list` shows the ids."
            )
        return found[0]

    def get_editable(self, id: str, scope: Place) -> Record:
        """A memory that may be changed.

        RefusedError: it is a skill.
        """
        record = self._load(id, scope)
        if is_skill(record.id):
            raise RefusedError(
                f"{record.id} is a skill, and read-only.",
                hint=f"Change or remove its file: {record.provenance.files[0]}",
            )
        return record

    def list_editable(self, ids: str | Sequence[str], scope: Place) -> tuple[Record, ...]:
        """Memories that may be changed, of one id or several.

        InputError: no ids.
        """
        if not isinstance(ids, Iterable):
            raise InputError(
                f"Ids are needed, not {type(ids).__name__}.", hint="Give one id, or a list of ids."
            )
        return tuple(
            self.get_editable(each, scope) for each in ([ids] if isinstance(ids, str) else ids)
        )

    def list(self, *, scope: Place, **given: Any) -> RecordPage:
        """Memories by their fields, newest first.

        ``given``: those of ``ports.RecordQuery``. InputError: an unknown field.
        """
        moment = to_as_of(given.pop("as_of", None))
        page = self._store.find(
            RecordQuery(
                visible_scopes(Scope.of(scope)), as_of=moment, **to_query_fields(given, _FIELDS)
            )
        )
        return replace(page, records=tuple(map(mask_corrected, page.records)))

    def records(self, owner: Scope, ids: Sequence[str]) -> tuple[Record, ...]:
        """Existing memories of an owner, in the order of ``ids``."""
        return tuple(map(mask_corrected, self._store.get(owner, ids)))

    def list_replaced(self, owner: Scope, ids: Sequence[str]) -> tuple[Record, ...]:
        """List what these had replaced, facts as their messages."""
        reach = ScopeReach(owner, (owner,), tree=True)
        every = tuple(Status)
        made = self._store.find(
            RecordQuery(reach, statuses=every, sources=tuple(ids), limit=1000)
        ).records
        by = Where("and", (Condition("superseded_by", "in", [*ids, *(one.id for one in made)]),))
        found = {
            one.id: one
            for one in self._store.find(
                RecordQuery(reach, statuses=(Status.SUPERSEDED,), where=by, limit=1000)
            ).records
        }
        return tuple(
            one
            for one in found.values()
            if found.keys().isdisjoint(quote.source for quote in one.evidence)
        )

    def history(self, id: str, *, scope: Place) -> tuple[HistoryEntry, ...]:
        """Every change of one memory, oldest first."""
        record = self.get(id, scope=scope)
        return self._store.history(record.scope.owner, record.id)

    def edges(
        self, owner: Scope, nodes: Sequence[str], types: Sequence[EdgeType] = ()
    ) -> tuple[Edge, ...]:
        """Links at any of ``nodes``, in either direction."""
        return self._store.edges(owner, nodes, tuple(types)) if nodes else ()

    def entities(self, scope: Place) -> EntityNet:
        """The people, places and other things that memories in the scope mention.

        They are derived from active memories, with their links; nothing of them is stored.
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
        """The topics in reach."""
        return self._store.topics(reach)

    def vectors(self, owner: Scope, ids: Sequence[str], model: str) -> Floats:
        """Vectors of ``model`` in the order of ``ids``.

        Rows × dimension, float32; zeros where there is none.
        """
        return self._store.vectors(owner, ids, model)

    def scopes(self, owner: Place | None = None) -> tuple[Scope, ...]:
        """The scopes that hold memories; of every owner with None."""
        return self._store.scopes(None if owner is None else Scope.of(owner).owner)

    def count_scopes(self, owner: Scope) -> Mapping[Scope, int]:
        """Count the active memories in each scope that holds memories."""
        return self._store.count_scopes(owner)

    def counts(self, reach: ScopeReach | None) -> Mapping[str, Mapping[str, int]]:
        """Count memories by status, kind, layer and tier, vectors by model."""
        return self._store.counts(reach)

    def jobs(self, states: Sequence[str] = (), limit: int = 100) -> tuple[Job, ...]:
        """Jobs in these states (any, without), the earliest due first."""
        return self._store.queue(states, limit)

    def describe_job(self, job: Job) -> dict[str, Any]:
        """Describe what a job does, its age, next run and error."""
        return describe_job(job, self._clock(), self._upkeep)

    def stats(self, scope: Place | None = None) -> dict[str, Any]:
        """Count memories, vectors, calls and tokens spent today."""
        place = None if scope is None else Scope.of(scope)
        return build_stats(self._store, place, self._settings, self._models, self._clock())

    def require_ready(self) -> None:
        """Raise StoreError where memory cannot be read, or has another schema."""
        self._store.require_ready()

    def status(self) -> dict[str, Any]:
        """Report jobs, dead ones with errors, and model use.

        ``judge``: how many judgements of relevance ended how, since the engine was opened.
        """
        judged: Mapping[str, int] = (
            dict(self._reranker.counts()) if isinstance(self._reranker, JudgementCounter) else {}
        )
        return {
            **build_status(self._store, self._settings, self._models, self._clock(), self._upkeep),
            "judge": judged,
        }
