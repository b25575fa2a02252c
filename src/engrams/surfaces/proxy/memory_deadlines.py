"""Memory behind deadlines, so that it never delays or fails a turn.

`TimeLimitedEngine` is what the chat routes know of memory. Lookups run in threads of their own, and
leave out an embedder or a reranker that is late. One that takes too long all the same goes on there,
while its request goes upstream without memory. Turns are stored in the background, and a request
waits for them only for a moment.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections import Counter
from collections.abc import Callable, Coroutine, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from engrams.core import (
    UNLEARNED,
    Context,
    Hit,
    Json,
    Kind,
    Receipt,
    Record,
    Scope,
    SearchResult,
    Status,
    Turn,
)
from engrams.engine import MemoryEngine
from engrams.errors import RefusedError
from engrams.ports import EmbedderCard, ModelFollower, RecordQuery, ScopeReach
from engrams.ports.command_permit import CommandPermit, hold_permit
from engrams.ports.read_time import limit_read_time
from engrams.surfaces.proxy.caller_identity import ChatCaller
from engrams.surfaces.proxy.chat_protocols import NOTE, PROFILE
from engrams.surfaces.proxy.chat_request import ParsedProxyRequest
from engrams.text.system_texts import remove_system_texts

if TYPE_CHECKING:
    from engrams.engine.answer_types import MemoryCommandResult
    from engrams.ports.models import Floats

DRAIN_SECONDS = 10.0
"""Wait for turns that are being stored at shutdown, and for lookups that nobody hurries."""

_QUERY_END_CHARS = 2000
"""Characters at each end of a long message that a lookup uses."""
_MAX_WAITING = 64
"""Lookups that run or wait; more are not begun."""
_MAX_PROFILE_IDS = 100
"""Ids in a header at most."""
_READERS = 8
"""Threads for lookups, most of which wait for an embedder where it is remote."""
_WRITERS = 2

_log = logging.getLogger("engrams.proxy")
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class MemoryDeadlines:
    """Seconds that a request waits for memory."""

    lookup: float = 1.5
    """For all of a lookup; ``serve.memory_seconds``."""

    journal: float = 2.0
    """For turns to be stored."""

    command: float = DRAIN_SECONDS
    """For a request about memory itself, and once more where it has begun to change memory."""


@dataclass(frozen=True, slots=True)
class RequestMemoryContext:
    """Memory for a request."""

    text: str
    """Text for the prompt; empty: there is none."""

    hits: tuple[Hit, ...]
    note: str
    """Value of the header NOTE."""

    profile: tuple[str, ...] = ()
    """Ids of the memories in the profile."""

    @property
    def headers(self) -> dict[str, str]:
        """Headers of the answer that tell what went into the prompt."""
        headers = {NOTE: self.note}
        if self.profile:
            headers[PROFILE] = ",".join(self.profile[:_MAX_PROFILE_IDS])
        return headers

    def with_notice(self, notice: str) -> RequestMemoryContext:
        """Return this memory with a notice after its text."""
        text = "\n\n".join(part for part in (self.text, notice) if part)
        return replace(self, text=text)


@dataclass(frozen=True, slots=True)
class CommandOutcome:
    """Outcome for a message that may be a request about memory itself."""

    result: MemoryCommandResult | None = None
    """Reply to the person; None: the message is for the model."""

    model_notice: str = ""
    """Text for the model's prompt: nothing was done. Empty: it would claim nothing."""


class TimeLimitedEngine:
    """Engine calls with deadlines; late lookups go on in their thread."""

    def __init__(self, engine: MemoryEngine, deadlines: MemoryDeadlines | None = None) -> None:
        self._engine = engine
        self.peers = engine.peers
        self._deadlines = deadlines or MemoryDeadlines(lookup=engine.settings.serve.memory_seconds)
        self._readers = ThreadPoolExecutor(_READERS, "engrams-recall")
        self._embedders = ThreadPoolExecutor(1, "engrams-embed")
        self._writers = ThreadPoolExecutor(_WRITERS, "engrams-keep")
        self._waiting = 0
        self._storing: set[asyncio.Task[bool]] = set()
        self._counts: Counter[str] = Counter()
        self._follow_at_peers = self.peers.share("chat model", self._follow)

    def counts(self) -> Mapping[str, Json]:
        """Count lookups by outcome, and turns stored and lost."""
        return dict(self._counts)

    async def find_memory(self, chat_request: ParsedProxyRequest) -> RequestMemoryContext:
        """Find memory for the request, or the reason for none."""
        if chat_request.skip_reason or chat_request.caller is None or chat_request.question is None:
            return self._skip_memory(chat_request.skip_reason)
        seconds = self._deadlines.lookup
        messages = chat_request.envelope.messages if chat_request.envelope else ()
        work = partial(
            self._build_context,
            chat_request.question.text,
            chat_request.caller,
            [message for message in messages if isinstance(message, dict)],
            time.monotonic() + seconds,
        )
        context, reason = await self._run(work, seconds)
        if context is None:
            return self._skip_memory(reason)
        return self._use_context(chat_request, context)

    def follow(self, model: str) -> None:
        """Use the client's chat model for memory that has none."""
        if isinstance(self._engine.chat_model, ModelFollower):
            self._follow(model)
            self._follow_at_peers(model)

    def _follow(self, model: str) -> None:
        if isinstance(self._engine.chat_model, ModelFollower):
            self._engine.chat_model.follow(model)

    async def search(self, query: str, scope: Scope, limit: int) -> tuple[Hit, ...] | None:
        """Search for an offline answer; None: memory failed."""
        result: SearchResult | None
        result, _ = await self._run(
            partial(self._engine.search, _shorten(query), scope=scope, limit=limit), DRAIN_SECONDS
        )
        if result is None:
            return None
        return result.quotable

    async def is_recall_on(self, scope: Scope) -> bool:
        """Return the owner's recall setting; True where memory failed, as the search then tells."""
        is_on, _ = await self._run(partial(self._engine.control.recall, scope), DRAIN_SECONDS)
        return is_on is not False

    def describe_receipt(self, text: str, receipt: Receipt) -> str:
        """Say in the language of a message what was noted of it."""
        return self._engine.control.describe_receipt(text, receipt)

    async def run_command(
        self, chat_request: ParsedProxyRequest, *, answers_questions: bool = False
    ) -> CommandOutcome:
        """Carry out a request about memory itself, if the question is one.

        ``answers_questions``: also a question that a model would answer from memory. Where memory
        fails or is late nothing is changed any more, and the reply says so: a model would claim that
        all is done.
        """
        question = chat_request.question
        caller = chat_request.caller
        if question is None or caller is None:
            return CommandOutcome()
        control = self._engine.control
        last_answer = chat_request.last_answer
        # With the history at hand other messages need no look: they drop an open question.
        if last_answer is not None and not control.may_be_request(question.text):
            return CommandOutcome(model_notice=control.describe_undone(question.text, last_answer))
        permit = CommandPermit()
        work = partial(
            control.converse,
            question.text,
            scope=caller.scope,
            session=caller.session,
            last_answer=last_answer,
            conversation=chat_request.first_message_hash,
            answers_questions=answers_questions,
        )
        result, is_done = await self._run_command_in_time(work, permit)
        if not is_done:
            result = control.answer_failure(
                question.text, last_answer, is_begun=not permit.give_up()
            )
        if result is not None:
            self._counts["command"] += is_done
            return CommandOutcome(result)
        notice = control.describe_undone(question.text, last_answer, is_late=not is_done)
        return CommandOutcome(model_notice=notice)

    async def _run_command_in_time(
        self, work: Callable[[], MemoryCommandResult | None], permit: CommandPermit
    ) -> tuple[MemoryCommandResult | None, bool]:
        """Run a request about memory; the result, and whether it came in time and without an error.

        One that is late and has begun to change memory gets as much time again.
        """

        def run() -> MemoryCommandResult | None:
            with hold_permit(permit):
                return work()

        future = self._start(run, self._readers)
        if future is None:
            return None, False
        await asyncio.wait({future}, timeout=self._deadlines.command)
        if not future.done() and not permit.give_up():
            await asyncio.wait({future}, timeout=self._deadlines.command)
        if not future.done() or future.exception():
            return None, False
        return future.result(), True

    @property
    def embedder(self) -> EmbedderCard:
        """Facts about memory's embedder."""
        return self._engine.embedder.card

    async def embed(self, texts: Sequence[str]) -> Floats | None:
        """Embed texts, float32 [len(texts), dimension]; None: it failed.

        In a thread of its own: many texts hold up no lookup.
        """
        vectors: Floats | None
        vectors, _ = await self._run(
            partial(self._engine.embedder.embed, texts), DRAIN_SECONDS, self._embedders
        )
        return vectors

    async def learn_thread(self, chat_request: ParsedProxyRequest) -> bool:
        """Look up the session of a response that another process gave."""
        thread_id = chat_request.unknown_thread
        if not thread_id or chat_request.caller is None:
            return False
        find = partial(
            self._engine.sessions.responses.find, thread_id, chat_request.caller.scope.owner
        )
        session, _ = await self._run(find, self._deadlines.lookup)
        if session:
            chat_request.learn_thread(session)
        return bool(session)

    async def date_question(self, chat_request: ParsedProxyRequest) -> ParsedProxyRequest:
        """Tell a question without ids and history from the same words said at another time.

        Within ``serve.resend_seconds`` they are the same request, sent again.
        """
        if chat_request.caller is None or chat_request.question is None or chat_request.has_history:
            return chat_request
        dated, _ = await self._run(
            partial(self._date_question, chat_request), self._deadlines.lookup
        )
        return dated or chat_request.at_time(f"at {self._engine.now().timestamp()}")

    def _date_question(self, chat_request: ParsedProxyRequest) -> ParsedProxyRequest:
        """Give a question the id of its time, or that of the request it repeats; blocking."""
        now = self._engine.now()
        seconds = self._engine.settings.serve.resend_seconds
        if not seconds:
            return chat_request.at_time(f"at {now.timestamp()}")
        number = int(now.timestamp() // seconds)
        # A request sent again may come in the next span of time already.
        earlier = chat_request.at_time(f"at {number - 1}")
        assert earlier.question is not None
        assert earlier.caller is not None
        scope = earlier.caller.scope.destination
        query = RecordQuery(
            ScopeReach(scope.owner, (scope,)),
            statuses=tuple(Status),
            external_id=earlier.question.external_id,
            limit=1,
        )
        for record in self._engine.store.find(query).records:
            if now - record.recorded_at <= timedelta(seconds=seconds):
                return earlier
        return chat_request.at_time(f"at {number}")

    async def note_answer(self, chat_request: ParsedProxyRequest, response_id: str) -> None:
        """Store an answer's id, which the next request may name at any process."""
        caller = chat_request.caller
        if chat_request.note_answer(response_id) and caller is not None:
            note = partial(
                self._engine.sessions.responses.note,
                response_id,
                caller.session,
                caller.scope.owner,
            )
            await self.wait_stored(self._track(self._write(note)))

    def store(
        self, turns: Sequence[Turn], scope: Scope, after: asyncio.Task[bool] | None = None
    ) -> asyncio.Task[bool]:
        """Store turns in the background, after those of ``after``."""
        return self._track(self._store(tuple(turns), scope, after))

    async def learn(self, turn: Turn, scope: Scope) -> Receipt | None:
        """Store a turn and learn from it by rules; None: it could not be stored."""
        if await self.describe_unsaved(turn):
            return None
        receipt: Receipt | None
        receipt, _ = await self._run(
            partial(self._engine.add, turn, scope=scope), DRAIN_SECONDS, self._writers
        )
        self._counts["kept" if receipt is not None else "lost"] += 1
        return receipt

    def store_question(self, chat_request: ParsedProxyRequest) -> asyncio.Task[bool] | None:
        """Store the user's turn in the background; None: there is none."""
        if chat_request.caller is None or chat_request.question is None:
            return None
        question = chat_request.question
        if not self._engine.settings.serve.learn_unanswered:
            question = replace(question, meta={**question.meta, UNLEARNED: True})
        return self.store([question], chat_request.caller.scope)

    async def find_question(self, chat_request: ParsedProxyRequest) -> Record | None:
        """Find the question in memory; None: its sender may have asked that it is not stored."""
        question = chat_request.question
        if question is None or chat_request.caller is None:
            return None
        scope = chat_request.caller.scope.destination
        query = RecordQuery(
            ScopeReach(scope.owner, (scope,)),
            statuses=tuple(Status),
            external_id=question.external_id,
            limit=1,
        )
        page, _ = await self._run(partial(self._engine.store.find, query), self._deadlines.journal)
        return page.records[0] if page is not None and page.records else None

    def store_answer(
        self, chat_request: ParsedProxyRequest, turn: Turn, after: asyncio.Task[bool] | None
    ) -> asyncio.Task[bool]:
        """Store an answer in the background, after its question; that one is learned from now."""
        return self._track(self._store_answer(chat_request, turn, after))

    async def _store_answer(
        self, chat_request: ParsedProxyRequest, turn: Turn, after: asyncio.Task[bool] | None
    ) -> bool:
        assert chat_request.caller is not None
        scope = chat_request.caller.scope
        is_stored = await self._store((turn,), scope, after)
        question = chat_request.question
        if question is not None and not self._engine.settings.serve.learn_unanswered:
            release = partial(self._engine.updates.release, question.external_id, scope=scope)
            await self._write(release)
        return is_stored

    def _track(self, work: Coroutine[Any, Any, bool]) -> asyncio.Task[bool]:
        task = asyncio.create_task(work)
        self._storing.add(task)
        task.add_done_callback(self._storing.discard)
        return task

    async def describe_unsaved(self, turn: Turn | None) -> str:
        """Return the reason why a turn may not be stored; empty: it may.

        It is too long, or the settings refuse a secret in it.
        """
        excess = self.describe_excess(turn)
        if turn is None or excess or not self._engine.settings.write.refuses:
            return excess
        try:
            await asyncio.to_thread(self._engine.check_storable, turn.text)
        except RefusedError as refusal:
            return refusal.message
        return ""

    def describe_excess(self, turn: Turn | None) -> str:
        """Return the reason why a turn is too long to be stored; empty: it is not."""
        if turn is None:
            return ""
        size = len(turn.text.strip().encode("utf-8", "replace"))
        max_bytes = self._engine.settings.limits.text_bytes
        return f"{size} bytes; limits.text_bytes is {max_bytes}" if size > max_bytes else ""

    async def wait_stored(self, task: asyncio.Task[bool] | None) -> None:
        """Wait until the turns are stored, up to the deadline."""
        if task is not None and not task.done():
            await asyncio.wait({task}, timeout=self._deadlines.journal)

    def serve_person(self) -> AbstractContextManager[None]:
        """Let upkeep leave the model to a person while the block runs."""
        return self._engine.work.serve_person()

    async def warm(self, scope: Scope) -> None:
        """Load what the first lookup and the first turn need."""
        await self._run(partial(self._engine.explain, "hello", scope=scope, limit=1), DRAIN_SECONDS)
        await self._run(partial(self._engine.write_turns, (), scope, Kind.TURN), DRAIN_SECONDS)

    async def close(self) -> None:
        """Wait for turns being stored."""
        if self._storing:
            _, unfinished = await asyncio.wait(set(self._storing), timeout=DRAIN_SECONDS)
            if unfinished:
                _log.error("%d turns were not stored before shutdown", len(unfinished))
        for threads in (self._readers, self._embedders):
            threads.shutdown(wait=False, cancel_futures=True)
        self._writers.shutdown(wait=False)

    def _build_context(
        self,
        query: str,
        caller: ChatCaller,
        messages: Sequence[Mapping[str, Json]],
        deadline: float,
    ) -> Context:
        """Build the text of memory by ``deadline`` (``time.monotonic``); blocking."""
        with limit_read_time(deadline):
            return self._read_context(query, caller, messages)

    def _read_context(
        self, query: str, caller: ChatCaller, messages: Sequence[Mapping[str, Json]]
    ) -> Context:
        if self._engine.settings.delivery.by_turn:
            return self._engine.deliver(
                messages, scope=caller.scope, session=caller.session, limit=caller.top_k
            )
        build = partial(
            self._engine.context,
            _shorten(query),
            scope=caller.scope,
            session=caller.session,
            before=_messages_before(messages),
        )
        context = build(limit=caller.top_k)
        above_threshold = sum(hit.score >= caller.threshold for hit in context.hits)
        return context if above_threshold == len(context.hits) else build(limit=above_threshold)

    def _use_context(
        self, chat_request: ParsedProxyRequest, context: Context
    ) -> RequestMemoryContext:
        """Leave out irrelevant memories, and those that the conversation itself contains."""
        is_repeated = chat_request.contains_all([hit.record.text for hit in context.hits])
        hits = () if context.abstain or is_repeated else context.hits
        if hits:
            text = context.text
        else:
            text = "\n\n".join(part for part in (context.prefix, context.summary) if part)
        gap = _find_gap(context)
        if gap:
            note = f"partial:{len(hits)}:{gap}"
        else:
            note = f"used:{len(hits)}" if text else "none"
        outcome = "used" if text else "none"
        self._counts[f"partial:{gap}" if gap else outcome] += 1
        return RequestMemoryContext(text, hits, note, context.standing if context.prefix else ())

    def _skip_memory(self, reason: str) -> RequestMemoryContext:
        self._counts[f"skipped:{reason}"] += 1
        return RequestMemoryContext("", (), f"skipped:{reason}")

    async def _run(
        self, work: Callable[[], Any], seconds: float, threads: ThreadPoolExecutor | None = None
    ) -> tuple[Any, str]:
        """Run in a thread; None and a reason without a timely result."""
        future = self._start(work, threads or self._readers)
        if future is None:
            return None, "busy"
        await asyncio.wait({future}, timeout=seconds)
        if not future.done():
            _log.warning(
                "memory lookup took longer than %.2f s; the request went on without it", seconds
            )
            return None, "timeout"
        return (None, "error") if future.exception() else (future.result(), "")

    def _start(
        self, work: Callable[[], T], threads: ThreadPoolExecutor
    ) -> asyncio.Future[T] | None:
        """Begin work in a thread; None: too much waits already."""
        if self._waiting >= _MAX_WAITING:
            return None
        future = asyncio.get_running_loop().run_in_executor(threads, work)
        self._waiting += 1
        future.add_done_callback(self._end_lookup)
        return future

    def _end_lookup(self, future: asyncio.Future[Any]) -> None:
        self._waiting -= 1
        error = None if future.cancelled() else future.exception()
        if error is not None:
            _log_error("memory lookup failed", error)

    async def _store(
        self, turns: tuple[Turn, ...], scope: Scope, after: asyncio.Task[bool] | None
    ) -> bool:
        if after is not None:
            await asyncio.wait({after})
        storable = []
        for turn in turns:
            reason = await self.describe_unsaved(turn)
            if reason:
                _log.warning("a message was passed on and not stored: %s", reason)
                self._counts["too_long" if self.describe_excess(turn) else "refused"] += 1
            else:
                storable.append(turn)
        if not storable:
            return True
        is_stored = await self._write(partial(self._engine.observe, storable, scope=scope))
        self._counts["kept" if is_stored else "lost"] += len(storable)
        return is_stored

    async def _write(self, work: Callable[[], object]) -> bool:
        future = asyncio.get_running_loop().run_in_executor(self._writers, work)
        await asyncio.wait({future})
        error = future.exception()
        if error is not None:
            _log_error("turns were not stored", error)
        return error is None


def _find_gap(context: Context) -> str:
    """Name the model that a lookup had to do without; empty: it had all."""
    missing = context.trace.missing if context.trace is not None else ()
    return missing[0] if missing else ""


def _messages_before(messages: Sequence[Mapping[str, Json]]) -> Sequence[Mapping[str, Json]]:
    """Messages before the last one of the user."""
    last = max(
        (index for index, message in enumerate(messages) if message.get("role") == "user"),
        default=0,
    )
    return messages[:last]


def _shorten(query: str) -> str:
    """Keep a person's own words; of a pasted text beginning and end."""
    query = remove_system_texts(query) or query
    if len(query) <= 2 * _QUERY_END_CHARS:
        return query
    return f"{query[:_QUERY_END_CHARS]}\n{query[-_QUERY_END_CHARS:]}"


def _log_error(text: str, error: BaseException) -> None:
    """Log an error's class and line of code; its message may quote a turn."""
    frame = error.__traceback__
    while frame is not None and frame.tb_next is not None:
        frame = frame.tb_next
    line = f"{frame.tb_frame.f_code.co_filename}:{frame.tb_lineno}" if frame else "?"
    _log.error("%s: %s at %s. %s", text, type(error).__name__, line, getattr(error, "hint", ""))
