"""Memory as the proxy uses it: looked up within a deadline, kept off the path, and never a reason for a turn to fail."""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import Any

from engrams.engine import MemoryEngine
from engrams.surfaces.proxy.identity import Caller
from engrams.surfaces.proxy.request import Asked
from engrams.types import Context, Hit, Json, Scope, Turn

DRAIN_SECONDS = 10.0

_QUERY_END = 2000
_WARM = 3
_QUEUE = 64
_READERS = 2
_WRITERS = 2
_OWNERS = 10_000
"""Owners known to be warm; the oldest is let go, and may take longer once more."""

_log = logging.getLogger("engrams.proxy")


@dataclass(frozen=True, slots=True)
class Patience:
    """Seconds that a request waits for memory: for a lookup; for one of the first few of an owner, while its index and the code are
    still being loaded; and for what was said to be kept."""

    lookup: float = 0.15
    cold: float = 0.6
    journal: float = 0.5


USUAL = Patience()


@dataclass(frozen=True, slots=True)
class Memory:
    """What a request is given: text for its prompt (empty: nothing) and the hits in it; ``note`` says so in a header."""

    text: str
    hits: tuple[Hit, ...]
    note: str


class Recall:
    """The engine behind deadlines. What takes longer goes on in its thread, and the request without it."""

    def __init__(self, engine: MemoryEngine, patience: Patience = USUAL) -> None:
        self._engine = engine
        self._patience = patience
        self._readers = ThreadPoolExecutor(_READERS, "engrams-recall")
        self._writers = ThreadPoolExecutor(_WRITERS, "engrams-keep")
        self._looking = 0
        self._looks: Counter[Scope] = Counter()
        self._keeping: set[asyncio.Task[bool]] = set()
        self._counts: Counter[str] = Counter()

    def counts(self) -> Mapping[str, Json]:
        """Lookups by outcome, turns kept and lost, since the start."""
        return dict(self._counts)

    async def look(self, asked: Asked) -> Memory:
        """Memory for the request, or why there is none."""
        if asked.skip or asked.caller is None or asked.said is None:
            return self._without(asked.skip)
        owner = asked.caller.scope.owner
        seconds = self._patience.lookup if self._looks[owner] >= _WARM else max(self._patience.lookup, self._patience.cold)
        work = partial(self._context, asked.said.text, asked.caller)
        context, reason = await self._run(work, seconds)
        if context is None:
            return self._without(reason)
        self._looks[owner] += 1
        while len(self._looks) > _OWNERS:
            del self._looks[next(iter(self._looks))]
        return self._with(asked, context)

    async def search(self, query: str, scope: Scope, limit: int) -> tuple[Hit, ...] | None:
        """Hits for an answer made of memory alone; None: memory failed."""
        found, _ = await self._run(partial(self._engine.search, _short(query), scope=scope, limit=limit), DRAIN_SECONDS)
        return None if found is None else () if found.abstain else found.hits

    def keep(self, turns: Sequence[Turn], scope: Scope, after: asyncio.Task[bool] | None = None) -> asyncio.Task[bool]:
        """Journal turns off the path, those of ``after`` first."""
        task = asyncio.create_task(self._keep(tuple(turns), scope, after))
        self._keeping.add(task)
        task.add_done_callback(self._keeping.discard)
        return task

    async def settle(self, task: asyncio.Task[bool]) -> None:
        """Wait until it is kept, but not for a store that hangs."""
        if not task.done():
            await asyncio.wait({task}, timeout=self._patience.journal)

    async def warm(self, scope: Scope) -> None:
        """Load what the first lookup of this owner needs."""
        await self._run(partial(self._engine.explain, "hello", scope=scope, limit=1), DRAIN_SECONDS)

    async def close(self) -> None:
        """Wait for what is being kept."""
        if self._keeping:
            _, left = await asyncio.wait(set(self._keeping), timeout=DRAIN_SECONDS)
            if left:
                _log.error("%d turns were not stored before shutdown", len(left))
        self._readers.shutdown(wait=False, cancel_futures=True)
        self._writers.shutdown(wait=False)

    def _context(self, query: str, caller: Caller) -> Context:
        ask = partial(self._engine.context, _short(query), scope=caller.scope, session=caller.session)
        context = ask(limit=caller.top_k)
        above = sum(hit.score >= caller.threshold for hit in context.hits)
        return context if above == len(context.hits) else ask(limit=above)

    def _with(self, asked: Asked, context: Context) -> Memory:
        """Only what came near, and only what the conversation does not hold already."""
        known = all(asked.said_here(hit.record.text) for hit in context.hits)
        hits = () if context.abstain or known else context.hits
        text = context.text if hits else "\n\n".join(part for part in (context.prefix, context.summary) if part)
        note = f"used:{len(hits)}" if text else "none"
        self._counts["used" if text else "none"] += 1
        return Memory(text, hits, note)

    def _without(self, reason: str) -> Memory:
        self._counts[f"skipped:{reason}"] += 1
        return Memory("", (), f"skipped:{reason}")

    async def _run(self, work: Callable[[], Any], seconds: float) -> tuple[Any, str]:
        """Its result; None and a reason when there is none in time."""
        if self._looking >= _QUEUE:
            return None, "busy"
        future = asyncio.get_running_loop().run_in_executor(self._readers, work)
        self._looking += 1
        future.add_done_callback(self._looked)
        await asyncio.wait({future}, timeout=seconds)
        if not future.done():
            _log.warning("memory lookup took longer than %.2f s; the request went on without it", seconds)
            return None, "timeout"
        return (None, "error") if future.exception() else (future.result(), "")

    def _looked(self, future: asyncio.Future[Any]) -> None:
        self._looking -= 1
        if not future.cancelled() and (fault := future.exception()):
            _report("memory lookup failed", fault)

    async def _keep(self, turns: tuple[Turn, ...], scope: Scope, after: asyncio.Task[bool] | None) -> bool:
        if after is not None:
            await asyncio.wait({after})
        work = partial(self._engine.observe, turns, scope=scope)
        future = asyncio.get_running_loop().run_in_executor(self._writers, work)
        await asyncio.wait({future})
        fault = future.exception()
        if fault:
            _report("turns were not stored", fault)
        self._counts["lost" if fault else "kept"] += len(turns)
        return fault is None


def _short(query: str) -> str:
    """A pasted text says what it is about at its beginning and its end."""
    return query if len(query) <= 2 * _QUERY_END else f"{query[:_QUERY_END]}\n{query[-_QUERY_END:]}"


def _report(what: str, fault: BaseException) -> None:
    """The class and place of a fault, not its message: that may quote what was said."""
    place = fault.__traceback__
    while place is not None and place.tb_next is not None:
        place = place.tb_next
    where = f"{place.tb_frame.f_code.co_filename}:{place.tb_lineno}" if place else "?"
    _log.error("%s: %s at %s. %s", what, type(fault).__name__, where, getattr(fault, "hint", ""))
