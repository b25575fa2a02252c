"""Memory behind deadlines, so that it never delays or fails a turn."""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import Callable, Coroutine, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from functools import partial
from typing import TYPE_CHECKING, Any

from engrams.core import Context, Hit, Json, Kind, Scope, Turn
from engrams.engine import MemoryEngine
from engrams.frozen_data import dataclass
from engrams.ports import EmbedderCard, ModelFollower
from engrams.surfaces.proxy.caller_identity import ChatCaller
from engrams.surfaces.proxy.chat_protocols import NOTE, PROFILE
from engrams.surfaces.proxy.chat_request import ParsedProxyRequest
from engrams.text.system_texts import remove_system_texts

if TYPE_CHECKING:
    from engrams.ports.models import Floats

DRAIN_SECONDS = 10.0

_QUERY_END = 2000
_COLD_LOOKUPS = 3
_MAX_WAITING = 64
_PROFILE_IDS = 100
"""Ids in a header at most."""
_READERS = 2
_WRITERS = 2
_OWNERS = 10_000
"""Owners known to be warm; the oldest is dropped and may take longer once more."""

_log = logging.getLogger("engrams.proxy")


@dataclass(frozen=True, slots=True)
class MemoryDeadlines:
    """Seconds that a request waits for memory.

    ``lookup``: for a lookup; ``cold``: for the first lookups of an owner, while its index is
    loaded; ``journal``: for turns to be stored.
    """

    lookup: float = 0.15
    cold: float = 0.6
    journal: float = 0.5


DEFAULT_DEADLINES = MemoryDeadlines()


@dataclass(frozen=True, slots=True)
class RequestMemoryContext:
    """Memory for a request: prompt text, its hits, and the header note.

    ``profile``: ids of the memories in the profile.
    """

    text: str
    hits: tuple[Hit, ...]
    note: str
    profile: tuple[str, ...] = ()

    @property
    def headers(self) -> dict[str, str]:
        """Headers of the answer that tell what went into the prompt."""
        return {
            NOTE: self.note,
            **({PROFILE: ",".join(self.profile[:_PROFILE_IDS])} if self.profile else {}),
        }


class TimeLimitedEngine:
    """Engine calls with deadlines; late lookups go on in their thread."""

    def __init__(
        self, engine: MemoryEngine, deadlines: MemoryDeadlines = DEFAULT_DEADLINES
    ) -> None:
        self._engine = engine
        self.peers = engine.peers
        self._deadlines = deadlines
        self._readers = ThreadPoolExecutor(_READERS, "engrams-recall")
        self._embedders = ThreadPoolExecutor(1, "engrams-embed")
        self._writers = ThreadPoolExecutor(_WRITERS, "engrams-keep")
        self._waiting = 0
        self._lookups: Counter[Scope] = Counter()
        self._storing: set[asyncio.Task[bool]] = set()
        self._counts: Counter[str] = Counter()
        self._tell = self.peers.share("chat model", self._follow)

    def counts(self) -> Mapping[str, Json]:
        """Count lookups by outcome, and turns stored and lost."""
        return dict(self._counts)

    async def find_memory(self, chat_request: ParsedProxyRequest) -> RequestMemoryContext:
        """Find memory for the request, or the reason for none."""
        if chat_request.skip_reason or chat_request.caller is None or chat_request.question is None:
            return self._skip_memory(chat_request.skip_reason)
        owner = chat_request.caller.scope.owner
        seconds = (
            self._deadlines.lookup
            if self._lookups[owner] >= _COLD_LOOKUPS
            else max(self._deadlines.lookup, self._deadlines.cold)
        )
        said = chat_request.envelope.messages if chat_request.envelope else ()
        work = partial(
            self._build_context,
            chat_request.question.text,
            chat_request.caller,
            [one for one in said if isinstance(one, dict)],
        )
        context, reason = await self._run(work, seconds)
        if context is None:
            return self._skip_memory(reason)
        self._lookups[owner] += 1
        while len(self._lookups) > _OWNERS:
            del self._lookups[next(iter(self._lookups))]
        return self._use_context(chat_request, context)

    def follow(self, model: str) -> None:
        """Use the client's chat model for memory that has none."""
        if isinstance(self._engine.chat_model, ModelFollower):
            self._follow(model)
            self._tell(model)

    def _follow(self, model: str) -> None:
        if isinstance(self._engine.chat_model, ModelFollower):
            self._engine.chat_model.follow(model)

    async def search(self, query: str, scope: Scope, limit: int) -> tuple[Hit, ...] | None:
        """Search for an offline answer; None: memory failed."""
        found, _ = await self._run(
            partial(self._engine.search, _shorten(query), scope=scope, limit=limit), DRAIN_SECONDS
        )
        if found is None:
            return None
        hits: tuple[Hit, ...] = found.hits
        return () if found.abstain else hits

    @property
    def embedder(self) -> EmbedderCard:
        """Facts about memory's embedder."""
        return self._engine.embedder.card

    async def embed(self, texts: Sequence[str]) -> Floats | None:
        """Embed texts, float32 [len(texts), dimension]; None: it failed.

        In a thread of its own: many texts hold up no lookup.
        """
        found: Floats | None = (
            await self._run(
                partial(self._engine.embedder.embed, texts), DRAIN_SECONDS, self._embedders
            )
        )[0]
        return found

    async def learn_thread(self, chat_request: ParsedProxyRequest) -> bool:
        """Look up the session of a response that another process gave."""
        if not (thread := chat_request.unknown_thread) or chat_request.caller is None:
            return False
        find = partial(
            self._engine.sessions.responses.find, thread, chat_request.caller.scope.owner
        )
        session = (await self._run(find, self._deadlines.lookup))[0]
        if session:
            chat_request.learn_thread(session)
        return bool(session)

    async def note_answer(self, chat_request: ParsedProxyRequest, id: str) -> None:
        """Keep an answer's id, which the next request may name anywhere."""
        if chat_request.note_answer(id) and (caller := chat_request.caller) is not None:
            note = partial(
                self._engine.sessions.responses.note, id, caller.session, caller.scope.owner
            )
            await self.wait_stored(self._track(self._write(note)))

    def store(
        self, turns: Sequence[Turn], scope: Scope, after: asyncio.Task[bool] | None = None
    ) -> asyncio.Task[bool]:
        """Store turns in the background, after those of ``after``."""
        return self._track(self._store(tuple(turns), scope, after))

    def store_question(self, chat_request: ParsedProxyRequest) -> asyncio.Task[bool] | None:
        """Store the user's turn in the background; None: there is none."""
        if chat_request.caller is None or chat_request.question is None:
            return None
        return self.store([chat_request.question], chat_request.caller.scope)

    def _track(self, work: Coroutine[Any, Any, bool]) -> asyncio.Task[bool]:
        task = asyncio.create_task(work)
        self._storing.add(task)
        task.add_done_callback(self._storing.discard)
        return task

    def describe_excess(self, turn: Turn | None) -> str:
        """Say that a turn is too long to be stored, else nothing."""
        size = len(turn.text.strip().encode("utf-8", "replace")) if turn else 0
        most = self._engine.settings.limits.text_bytes
        return f"{size} bytes; limits.text_bytes is {most}" if size > most else ""

    async def wait_stored(self, task: asyncio.Task[bool] | None) -> None:
        """Wait until the turns are stored, up to the deadline."""
        if task is not None and not task.done():
            await asyncio.wait({task}, timeout=self._deadlines.journal)

    def serve_person(self) -> AbstractContextManager[None]:
        """Hold upkeep by the same model off meanwhile."""
        return self._engine.work.serve_person()

    async def warm(self, scope: Scope) -> None:
        """Load what the first lookup and the first turn need."""
        await self._run(partial(self._engine.explain, "hello", scope=scope, limit=1), DRAIN_SECONDS)
        await self._run(partial(self._engine.write_turns, (), scope, Kind.TURN), DRAIN_SECONDS)

    async def close(self) -> None:
        """Wait for turns being stored."""
        if self._storing:
            _, left = await asyncio.wait(set(self._storing), timeout=DRAIN_SECONDS)
            if left:
                _log.error("%d turns were not stored before shutdown", len(left))
        for threads in (self._readers, self._embedders):
            threads.shutdown(wait=False, cancel_futures=True)
        self._writers.shutdown(wait=False)

    def _build_context(
        self, query: str, caller: ChatCaller, said: Sequence[Mapping[str, Json]]
    ) -> Context:
        if self._engine.settings.delivery.by_turn:
            return self._engine.deliver(
                said, scope=caller.scope, session=caller.session, limit=caller.top_k
            )
        ask = partial(
            self._engine.context, _shorten(query), scope=caller.scope, session=caller.session
        )
        context = ask(limit=caller.top_k)
        above = sum(hit.score >= caller.threshold for hit in context.hits)
        return context if above == len(context.hits) else ask(limit=above)

    def _use_context(
        self, chat_request: ParsedProxyRequest, context: Context
    ) -> RequestMemoryContext:
        """Drop irrelevant memories and those the conversation already holds."""
        known = chat_request.contains_all([hit.record.text for hit in context.hits])
        hits = () if context.abstain or known else context.hits
        text = (
            context.text
            if hits
            else "\n\n".join(part for part in (context.prefix, context.summary) if part)
        )
        note = f"used:{len(hits)}" if text else "none"
        self._counts["used" if text else "none"] += 1
        return RequestMemoryContext(text, hits, note, context.standing if context.prefix else ())

    def _skip_memory(self, reason: str) -> RequestMemoryContext:
        self._counts[f"skipped:{reason}"] += 1
        return RequestMemoryContext("", (), f"skipped:{reason}")

    async def _run(
        self, work: Callable[[], Any], seconds: float, threads: ThreadPoolExecutor | None = None
    ) -> tuple[Any, str]:
        """Run in a thread; None and a reason without a timely result."""
        if self._waiting >= _MAX_WAITING:
            return None, "busy"
        future = asyncio.get_running_loop().run_in_executor(threads or self._readers, work)
        self._waiting += 1
        future.add_done_callback(self._end_lookup)
        await asyncio.wait({future}, timeout=seconds)
        if not future.done():
            _log.warning(
                "memory lookup took longer than %.2f s; the request went on without it", seconds
            )
            return None, "timeout"
        return (None, "error") if future.exception() else (future.result(), "")

    def _end_lookup(self, future: asyncio.Future[Any]) -> None:
        self._waiting -= 1
        if not future.cancelled() and (fault := future.exception()):
            _log_fault("memory lookup failed", fault)

    async def _store(
        self, turns: tuple[Turn, ...], scope: Scope, after: asyncio.Task[bool] | None
    ) -> bool:
        if after is not None:
            await asyncio.wait({after})
        kept = [turn for turn in turns if not self.describe_excess(turn)]
        if len(kept) < len(turns):
            _log.warning(
                "a message was passed on and not stored: %s",
                next(filter(None, map(self.describe_excess, turns))),
            )
            self._counts["too_long"] += len(turns) - len(kept)
        if not kept:
            return True
        done = await self._write(partial(self._engine.observe, kept, scope=scope))
        self._counts["kept" if done else "lost"] += len(kept)
        return done

    async def _write(self, work: Callable[[], object]) -> bool:
        future = asyncio.get_running_loop().run_in_executor(self._writers, work)
        await asyncio.wait({future})
        if fault := future.exception():
            _log_fault("turns were not stored", fault)
        return fault is None


def _shorten(query: str) -> str:
    """Keep a person's own words; of a pasted text beginning and end."""
    query = remove_system_texts(query) or query
    return query if len(query) <= 2 * _QUERY_END else f"{query[:_QUERY_END]}\n{query[-_QUERY_END:]}"


def _log_fault(what: str, fault: BaseException) -> None:
    """Log a fault's class and place; its message may quote a turn."""
    place = fault.__traceback__
    while place is not None and place.tb_next is not None:
        place = place.tb_next
    where = f"{place.tb_frame.f_code.co_filename}:{place.tb_lineno}" if place else "?"
    _log.error("%s: %s at %s. %s", what, type(fault).__name__, where, getattr(fault, "hint", ""))
