"""MemoryEngine: the one door to memory."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from engrams.clock import utc
from engrams.components import Rooms
from engrams.errors import ClosedError, InputError, NotFoundError, RefusedError
from engrams.ports import (
    EMBED,
    TOPICS,
    AsOf,
    Chat,
    Clock,
    Closable,
    Embedder,
    Erased,
    Page,
    Query,
    Reranker,
    Skills,
    Store,
    TokenCounter,
    Where,
)
from engrams.read import context as contexts
from engrams.read import flow as reading
from engrams.read.request import ReadDeps, ReadRequest, visible_scopes
from engrams.session.delivery import ContextDelivery
from engrams.settings import Settings
from engrams.tend import report
from engrams.tend.backfill import Backfill
from engrams.tend.runner import Handler, WorkerPool
from engrams.tend.usage import UsageTracker
from engrams.types import Context, Found, HistoryEntry, Kind, Meta, Receipt, Record, Scope, Status, Turn, conversation
from engrams.write import edit

if TYPE_CHECKING:
    from engrams.session.ingest import TurnIngest
    from engrams.session.updates import UpdateQueue
    from engrams.tend.transfer import LoadReport

Place: TypeAlias = Scope | str | Sequence[str]
Moment: TypeAlias = datetime | AsOf | None
Progress: TypeAlias = Callable[[int, int], None]

_PREFIX = 6


@dataclass(frozen=True, slots=True)
class Parts:
    """What an engine is made of; ``build.open`` puts it together."""

    settings: Settings
    store: Store
    embedder: Embedder
    chat: Chat | None
    counter: TokenCounter
    clock: Clock
    reranker: Reranker | None = None
    handlers: Mapping[str, Handler] = field(default_factory=dict)
    skills: Skills | None = None


class MemoryEngine(Rooms):
    """Durable, layered, explainable memory. Thread safe; several processes may work on one home.

    A ``scope`` is a Scope, a tuple such as ``("user", "alice", "project", "x")``, or one string. An owner-only scope reads
    everything the owner has; a deeper one reads itself and the scopes above it. ``as_of`` on any read is a time, or an
    ``AsOf(valid=…, known=…)``.
    """

    def __init__(self, parts: Parts) -> None:
        self.settings = parts.settings
        self.embedder = parts.embedder
        self.chat_model = parts.chat
        self.counter = parts.counter
        self._store, self._clock = parts.store, parts.clock
        store, section, models = parts.store, parts.settings, (parts.embedder, parts.counter)
        judge = (section.rerank, parts.reranker)
        self._deps = ReadDeps(store, store, store, *models, section.read, section.graph, *judge, self._near, skills=parts.skills)
        self._parts = parts
        backfill = Backfill(parts.store, parts.embedder, parts.clock, parts.settings.embed.batch_size)
        group: Handler = lambda job: self.topics.run(job)  # noqa: E731, PLW0108 - loaded by the first such job
        handlers = {EMBED: backfill.run, TOPICS: group, **self._chores, **parts.handlers}
        self._runner = WorkerPool(parts.store, handlers, parts.clock, parts.settings.jobs, self._first(backfill.ask), self._timers)
        self._usage = UsageTracker(parts.store, parts.embedder, parts.clock, parts.settings, self._recalled)
        self._delivery = ContextDelivery(parts.settings.delivery, parts.embedder, parts.counter, parts.clock)
        self._closed = False

    # ------------------------------------------------------------------------------------------------------- writing

    def add(self, what: str | Turn, *, scope: Place, kind: Kind | None = None, settle: bool = True) -> Receipt:
        """Remember a statement. It is durable and searchable when this returns.

        With ``settle`` what rules can tell from it (facts, what they replace) is in the receipt too; a model's part is
        always a job. InputError: empty, or over ``limits.text_bytes``. RefusedError: it holds a secret and
        ``write.secrets`` is ``refuse``.
        """
        turn = Turn(what) if isinstance(what, str) else what
        default = Kind.NOTE if isinstance(what, str) else Kind.TURN
        at_once = settle and self._digest.inline
        written = self._ready().write([turn], Scope.of(scope), kind or default, hold=at_once)
        if not at_once or not written.job:
            self._runner.wake()
            return written.receipts[0]
        job = self._runner.run(written.job)
        return self._digest.complete_receipt(written.receipts[0], job.id if job else "")

    def observe(self, turns: Turn | Sequence[Turn], *, scope: Place) -> tuple[Receipt, ...]:
        """Journal what was said, in one durable write. Never waits for extraction, whatever model is configured."""
        some = [turns] if isinstance(turns, Turn) else list(turns)
        return self.take(some, Scope.of(scope), Kind.TURN) if some else ()

    def take(self, turns: Sequence[Turn], scope: Scope, kind: Kind, channel: str = "") -> tuple[Receipt, ...]:
        """``observe`` for other kinds and channels: what imports and adapters write through."""
        written = self._ready().write(turns, scope, kind, channel=channel)
        self._runner.wake()
        return written.receipts

    def edit(
        self, id: str, *, scope: Place, text: str | None = None, fields: Meta | None = None, expect: int | None = None, reason: str = ""
    ) -> Record:
        """Change a memory's text or other fields. ConflictError: its version is no longer ``expect``."""
        record = self.stored(id, scope)
        values = edit.validate_fields(record, dict(fields or {}) if text is None else {**(fields or {}), "text": text})
        values, vectors = self._journal.prepare_edit(record, values)
        self._store.commit(edit.build_edit(record, values, vectors, self._clock(), reason, expect))
        self._runner.wake()
        return self.get(record.id, scope=scope)

    def forget(self, id: str, *, scope: Place, reason: str = "") -> Record:
        """Put a memory away: no read finds it until ``restore``. What was derived from it alone goes with it."""
        record = self.stored(id, scope)
        if record.status is Status.PURGED:
            raise RefusedError("It is purged already.")
        gone = [record, *edit.find_dependents(record, self._store)]
        self._store.commit(edit.build_forget(gone, self._clock(), reason))
        edit.release_merged(gone, self._store, self._clock())
        self._dropped(record.scope.owner, [each.id for each in gone])
        return self.get(record.id, scope=scope)

    def restore(self, id: str, *, scope: Place) -> Record:
        """Undo ``forget``."""
        record = self.stored(id, scope)
        if record.status is not Status.FORGOTTEN:
            raise RefusedError(f"It is not forgotten: its status is {record.status}.")
        self._store.commit(edit.build_restore([record, *edit.find_dependents(record, self._store)], self._clock()))
        return self.get(record.id, scope=scope)

    def purge(self, ids: str | Sequence[str], *, scope: Place) -> Erased:
        """Erase memories, and what was derived from them alone, everywhere; the answer is the proof."""
        owner = Scope.of(scope).owner
        some = [self.stored(each, scope) for each in ([ids] if isinstance(ids, str) else ids)]
        every = {r.id: r for record in some for r in (record, *edit.find_dependents(record, self._store))}
        self._dropped(owner, tuple(every))
        edit.release_merged(tuple(every.values()), self._open(), self._clock())
        erased = self._open().purge(owner, tuple(every), self._clock())
        self._purged(owner)
        return erased

    # ------------------------------------------------------------------------------------------------------- reading

    def search(
        self,
        query: str,
        *,
        scope: Place,
        limit: int | None = None,
        as_of: Moment = None,
        kinds: Sequence[Kind] = (),
        where: Where | None = None,
        history: bool = False,
    ) -> Found:
        """The memories that answer ``query``, best first, with the trace of how they were chosen."""
        found = self.explain(query, scope=scope, limit=limit, as_of=as_of, kinds=kinds, where=where, history=history)
        if as_of is None:
            self._usage.note(found, Scope.of(scope))
        return found

    def explain(
        self,
        query: str,
        *,
        scope: Place,
        limit: int | None = None,
        as_of: Moment = None,
        kinds: Sequence[Kind] = (),
        where: Where | None = None,
        history: bool = False,
    ) -> Found:
        """``search``, with the same filters, without any effect on what is remembered about use."""
        place, number = Scope.of(scope), self._number(limit)
        return self._read(ReadRequest(query, place, self._clock(), number, moment_of(as_of), tuple(kinds), where, history))

    def used(self, ids: str | Sequence[str], *, scope: Place, helpful: bool = True) -> None:
        """Say which memories an answer used and whether they helped: their confidence and strength follow."""
        some = [self.stored(each, scope) for each in ([ids] if isinstance(ids, str) else ids)]
        self._usage.record_feedback(some, Scope.of(scope).owner, helpful)

    def context(
        self, query: str, *, scope: Place, tokens: int | None = None, limit: int | None = None, as_of: Moment = None, session: str = ""
    ) -> Context:
        """Memory as text for a prompt, never over ``tokens`` by the configured counter. With ``summary.enabled`` the summary of the
        conversation comes first: of ``scope``, if it is one, or of this session of it."""
        number = self.settings.read.limit if limit is None else limit
        place, now = Scope.of(scope), as_of is None
        latest, summary = (self._tail(place), self._summary(place, session)) if now else ((), "")
        return self._rendered(ReadRequest(query, place, self._clock(), number, moment_of(as_of), last_turns=latest, summary=summary), tokens)

    def deliver(self, query: str, *, scope: Place, session: str, tokens: int | None = None) -> Context:
        """``context`` for one turn of a conversation, as ``delivery`` is set: at once, or what was found during the turn before;
        without what this conversation was shown lately or said itself."""
        self._open()
        place = Scope.of(scope)
        hushed = self._modes.is_silent(place, session)
        own = session if self.settings.delivery.shown_minutes or hushed else ""
        first = not hushed and self._delivery.is_first_turn(f"{place.key}|{session}")

        def read(known: frozenset[str]) -> Context:
            asked = ReadRequest(query, place, self._clock(), self.settings.read.limit, already_shown=known, session=own, catch_up=first)
            asked = asked if hushed else replace(asked, summary=self._summary(place, session))
            return self._rendered(asked, tokens)

        return read(frozenset()) if hushed else self._delivery.deliver(f"{place.key}|{session}", query, read)

    def get(self, id: str, *, scope: Place) -> Record:
        """One memory of this owner by its id, or by the first characters of it (six at least) where only one has them."""
        owner = Scope.of(scope).owner
        found = self._open().get(owner, [id]) or self._skill(id)
        if not found and len(id) >= _PREFIX:
            found = self._open().find(Query(visible_scopes(owner), statuses=tuple(Status), prefix=id, limit=2)).records
        if len(found) > 1:
            raise InputError(f"More than one memory begins with {id!r}.", hint="Give more of the id.")
        if not found:
            raise NotFoundError(f"There is no memory {id!r} here.", hint="`engrams list` shows the ids.")
        return found[0]

    def list(self, *, scope: Place, **fields: Any) -> Page:
        """Memories by what they are, newest first. ``fields``: those of ``ports.Query``."""
        moment = moment_of(fields.pop("as_of", None))
        try:
            query = Query(visible_scopes(Scope.of(scope)), as_of=moment, **fields)
        except TypeError as problem:
            raise InputError(f"list does not take that: {problem}.") from None
        return self._open().find(query)

    def history(self, id: str, *, scope: Place) -> tuple[HistoryEntry, ...]:
        """Every change of one memory, oldest first."""
        record = self.get(id, scope=scope)
        return self._open().history(record.scope.owner, record.id)

    # ------------------------------------------------------------------------------------------- in, out and upkeep

    def load(
        self, source: Path | str | Iterable[Any], *, scope: Place, format: str = "auto", progress: Progress | None = None
    ) -> LoadReport:
        """Import a file (``-``: standard input). What cannot be read is in the report; doing it twice stores nothing twice."""
        from engrams.tend.transfer import load

        self._open()
        return load(source, Scope.of(scope), self, format, progress)

    def dump(self, path: Path, *, scope: Place, format: Literal["jsonl", "markdown"] = "jsonl", progress: Progress | None = None) -> int:
        """Export everything in the scope; how many memories were written."""
        from engrams.tend.transfer import dump

        return dump(path, visible_scopes(Scope.of(scope)), self._open(), format, progress)

    def scopes(self, owner: Place | None = None) -> tuple[Scope, ...]:
        """The scopes that hold memories."""
        return self._open().scopes(None if owner is None else Scope.of(owner).owner)

    def stats(self, scope: Place | None = None) -> dict[str, Any]:
        """Numbers of memories by status, kind, layer and tier; of vectors by model; calls and tokens spent today."""
        return report.build_stats(self._open(), None if scope is None else Scope.of(scope), self._parts.settings, self._models, self._clock())

    def status(self) -> dict[str, Any]:
        """The jobs: numbers by kind and state, the oldest waiting, every dead one with its error; calls and tokens spent today."""
        return report.build_status(self._open(), self._parts.settings, self._models, self._clock())

    def retry(self, ids: Sequence[str] = ()) -> int:
        """Dead jobs back to waiting (all of them without ids); how many."""
        number = self._open().retry(ids, self._clock())
        self._runner.wake()
        return number

    def drain(self, timeout: float = 30, progress: Progress | None = None) -> bool:
        """Do the work that is due, here and now. True: nothing due is left."""
        self._open()
        self._usage.flush()
        done = self._runner.drain(timeout, progress)
        if self.vault is not None:
            self.vault.write()
        return done

    def check(self, repair: bool = False) -> Mapping[str, Any]:
        """The state of the store's files; ``repair`` mends what can be rebuilt."""
        return self._open().check(repair)

    @cached_property
    def updates(self) -> UpdateQueue:
        """The queue of what is to be learned, for callers that steer it themselves."""
        from engrams.session.updates import UpdateQueue

        return UpdateQueue(self._ready(), self._store, self._runner, self._clock, self.settings.jobs)

    # ------------------------------------------------------------------------------------------------------- plumbing

    @property
    def store(self) -> Store:
        return self._open()

    @property
    def vault(self) -> Any:
        """Memory as files, an ``engrams.vault.Vault``; None where ``vault.enabled`` is off."""
        return getattr(self._open(), "vault", None)

    @property
    def work(self) -> WorkerPool:
        return self._runner

    def now(self) -> datetime:
        return self._clock()

    def close(self) -> None:
        """Let running jobs finish and close the store; what waits goes on in the next process. Twice is once. A model that takes
        longer than ``sessions.shutdown_seconds`` is cut off; its job waits."""
        if not self._closed:
            self._closed = True
            self._delivery.close()
            self._usage.close()
            cut = self.chat_model.close if isinstance(self.chat_model, Closable) else None
            self._runner.close(self.settings.sessions.shutdown_seconds, cut)
            self._settled()
            if cut is not None:
                cut()
            self._store.close()

    def __enter__(self) -> MemoryEngine:
        return self

    def __exit__(self, *problem: object) -> None:
        self.close()

    @property
    def _models(self) -> dict[str, str]:
        return {"embedder": self.embedder.card.id, "chat": self.chat_model.name if self.chat_model else ""}

    def _summary(self, scope: Scope, session: str) -> str:
        """The rolling summary of a conversation, where there is one."""
        if not self.settings.summary.enabled:
            return ""
        from engrams.session.summary import find_summary

        record = find_summary(self._open(), *conversation(scope, session))
        return record.text if record else ""

    def _number(self, limit: int | None) -> int:
        return self.settings.read.limit if limit is None else min(limit, self.settings.limits.results)

    def _read(self, request: ReadRequest) -> Found:
        self._open()
        return reading.search(self._allowed(request), self._deps)

    def _rendered(self, request: ReadRequest, tokens: int | None) -> Context:
        self._open()
        section = self.settings.read
        total = (section.context_tokens if tokens is None else tokens) if self._allowed(request) is request else 0
        made = contexts.build_context(self._ruled(request), self._deps, contexts.ContextBudget(total, section.prefix_tokens, self.counter))
        if made.trace is not None and request.as_of is None:
            self._usage.note(Found(made.hits, made.trace, made.abstain), request.scope)
        return self._given(request.scope, made)

    def _ready(self) -> TurnIngest:
        self._open()
        return self._journal

    def _open(self) -> Store:
        if self._closed:
            raise ClosedError
        return self._store


def moment_of(value: Moment) -> AsOf | None:
    """One time stands for both."""
    if value is None:
        return None
    if isinstance(value, AsOf):
        return AsOf(*(part and utc(part) for part in (value.valid, value.known)))
    return AsOf(utc(value), utc(value))
