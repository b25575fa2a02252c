"""Ask a chat server with retries, corrections, meter and budget."""

from __future__ import annotations

import json
import logging
import math
import threading
import time
from dataclasses import field
from typing import assert_never

from engrams.core import Json
from engrams.errors import ModelError
from engrams.frozen_data import dataclass
from engrams.models.chat.adaptive_timeout import ModelLatencyTracker
from engrams.models.chat.port import (
    ChatServer,
    ChatServerRefusal,
    ChatServerReply,
    ChatServerRequest,
    JsonMode,
    ServerResult,
)
from engrams.models.chat.structured_output import (
    InvalidModelAnswer,
    JsonModeFallback,
    ValidModelAnswer,
    compose_correction,
    compose_messages,
    is_unusable,
    judge_reply,
    next_mode,
    unusable_error,
    wrap_schema,
)
from engrams.models.chat.upkeep_schedule import UpkeepSchedule
from engrams.models.chat.usage_meter import (
    DailyModelBudget,
    InMemoryModelUsageLedger,
    ModelUsageMeter,
    estimate_tokens,
    reserve_all,
)
from engrams.models.retry import RetryPolicy, with_retries
from engrams.ports import ChatAnswer, ChatMessage, ChatModelMeasurement, ChatRequest, ModelFollower

_LOG = logging.getLogger(__name__)
_CORRECTIONS = 3
_REFUSALS = 4
_CLOSED = "The model was closed."
_CITY: dict[str, Json] = {
    "type": "object",
    "properties": {"city": {"type": "string"}},
    "required": ["city"],
}
_MEASURED = 32
_FOR_PEOPLE = frozenset({"chat", "rerank"})


@dataclass(frozen=True, slots=True)
class ChatAnswerLimits:
    """Limits: ``timeout`` seconds for one answer, ``corrections`` of an unusable one."""

    timeout: float = 300.0
    corrections: int = _CORRECTIONS
    retry: RetryPolicy = field(default_factory=RetryPolicy)


@dataclass(slots=True)
class _AskRun:
    """State of one question: attempts, deadline, best partial answer."""

    ask: ChatRequest
    deadline: float
    calls: int = 0
    tokens: int = 0
    limit: int = 0
    messages: tuple[ChatMessage, ...] = ()
    partial: Json = field(default=None)
    mode: JsonMode = JsonMode.SCHEMA
    refusals: int = 0
    notes: list[str] = field(default_factory=list)

    def seconds_left(self) -> float:
        return self.deadline - time.monotonic()


class RetryingServerChat:
    """Chat model over one server, with retries, JSON checks and budget.

    An answer, retries included, has ``limits.timeout`` seconds, or more where ``pace`` says so; a
    correction has them anew. One ``ask`` lasts at most its own ``timeout``, if it has one.
    """

    def __init__(
        self,
        server: ChatServer,
        budget: DailyModelBudget,
        *,
        limits: ChatAnswerLimits | None = None,
        modes: JsonModeFallback | None = None,
        meter: ModelUsageMeter | None = None,
        pace: ModelLatencyTracker | None = None,
        upkeep: UpkeepSchedule | None = None,
    ) -> None:
        self._server = server
        self._limits = limits or ChatAnswerLimits()
        self.pace = pace or ModelLatencyTracker(
            InMemoryModelUsageLedger(), server.name, self._limits.timeout
        )
        self._modes = modes or JsonModeFallback()
        self._closed = threading.Event()
        self._upkeep = upkeep
        self._reported = ""
        self.budget = budget
        self.meter = meter or ModelUsageMeter()

    @property
    def name(self) -> str:
        return self._server.name

    def ask(self, request: ChatRequest) -> ChatAnswer:
        """Return the model's answer; with a schema, its ``data`` satisfies it.

        ModelError: no answer came (``retryable``: one may come later), or none that could be used.
        BudgetError: the day's calls or tokens are used up.
        """
        if self._upkeep is None or request.purpose not in _FOR_PEOPLE:
            return self._ask(request)
        with self._upkeep.serve_person():
            return self._ask(request)

    def _ask(self, ask: ChatRequest) -> ChatAnswer:
        run = _AskRun(
            ask,
            math.inf if ask.timeout is None else time.monotonic() + ask.timeout,
            limit=ask.max_tokens,
            messages=ask.messages,
        )
        problem = ""
        for _ in range(1 + self._limits.corrections):
            reply = self._exchange(run)
            verdict = judge_reply(reply, ask.schema)
            match verdict:
                case ValidModelAnswer(text, data, note):
                    if ask.schema is not None:
                        self._modes.record_answer(run.mode, json=True)
                    notes = (*run.notes, note) if note else tuple(run.notes)
                    return ChatAnswer(
                        text=text,
                        data=data,
                        calls=run.calls,
                        tokens=run.tokens,
                        model=reply.model or self.name,
                        notes=notes,
                    )
                case InvalidModelAnswer():
                    problem = verdict.problem
                    self._prepare_correction(run, verdict, reply)
                case _:
                    assert_never(verdict)
        if run.partial is not None:
            text = json.dumps(run.partial, ensure_ascii=False)
            return ChatAnswer(
                text=text,
                data=run.partial,
                calls=run.calls,
                tokens=run.tokens,
                model=self.name,
                notes=tuple(run.notes),
                cut=True,
            )
        raise unusable_error(self.name, 1 + self._limits.corrections, ask.purpose, problem)

    def measure(self) -> ChatModelMeasurement:
        """Measure the model by two short questions.

        ModelError, BudgetError: it does not answer. An answer that is no JSON is no error.
        """
        day = self.budget.reserve(_MEASURED)
        try:
            found = self._server.probe(self.pace.allowed_seconds())
        finally:
            self.budget.settle_reservation(day, _MEASURED, _MEASURED)
        start = time.monotonic()
        try:
            self.ask(
                ChatRequest(
                    (ChatMessage("user", "Give the name of any city as JSON."),),
                    "doctor",
                    _CITY,
                    max_tokens=64,
                )
            )
            way = str(self._modes.current())
        except ModelError as problem:
            if not is_unusable(problem):
                raise
            way = ""
        return ChatModelMeasurement(
            found.first_seconds, time.monotonic() - start, way, found.context_tokens
        )

    def follow(self, model: str) -> None:
        """Use the model that others name, where the settings name none."""
        if isinstance(self._server, ModelFollower):
            self._server.follow(model)

    def close(self) -> None:
        """End waits and requests; running asks raise ModelError."""
        self._closed.set()
        self._server.close()

    def _prepare_correction(
        self, run: _AskRun, verdict: InvalidModelAnswer, reply: ChatServerReply
    ) -> None:
        ask = run.ask
        self.meter.add(ask.purpose, corrections=1)
        run.notes.append(f"asked again: {verdict.problem}"[:200])
        if ask.schema is not None:
            self._modes.record_answer(run.mode, json=verdict.json)
        if verdict.cut:
            run.limit = min(run.limit * 2, ask.max_tokens * 4)
        run.partial = verdict.partial if verdict.partial is not None else run.partial
        run.messages = compose_correction(ask.messages, reply.text, verdict.problem, ask.schema)

    def _exchange(self, run: _AskRun) -> ChatServerReply:
        """Get one reply, with retries, in the best mode the server takes."""
        if self._upkeep is not None:
            self._upkeep.wait_turn(self._closed)
        run.mode = self._modes.current()
        run.refusals = 0
        # A model that did not answer in time is not asked again at once: it may still be at work.
        deadline = (
            time.monotonic() + self.pace.allowed_seconds()
            if run.ask.timeout is None
            else run.deadline
        )
        try:
            reply = with_retries(
                lambda: self._send_accepted(run), self._limits.retry, deadline, self._closed
            )
        except ModelError as problem:
            self._log_once(problem)
            raise
        self._reported = ""
        return reply

    def _send_accepted(self, run: _AskRun) -> ChatServerReply:
        while run.refusals <= _REFUSALS:
            sent = self._send(run)
            match sent:
                case ChatServerReply():
                    return sent
                case ChatServerRefusal():
                    run.refusals += 1
                    run.mode = run.mode if sent.mode is None else next_mode(run.mode)
                case _:
                    assert_never(sent)
        raise ModelError(f"{self.name} refuses every form of request.", retryable=False)

    def _send(self, run: _AskRun) -> ServerResult:
        ask = run.ask
        mode = run.mode
        if self._closed.is_set():
            raise ModelError(_CLOSED, hint="Open a new engine.")
        allowed = self.pace.allowed_seconds()
        seconds = min(allowed, run.seconds_left())
        if seconds <= 0:
            raise ModelError(
                f"{self.name} took longer than {ask.timeout:.3g} seconds.",
                hint="Allow more time, or choose a smaller model.",
            )
        messages = compose_messages(run.messages, ask.schema, mode)
        schema = None if ask.schema is None else wrap_schema(ask.schema)
        call = ChatServerRequest(
            messages=messages,
            seconds=seconds,
            schema=schema,
            mode=mode,
            max_tokens=run.limit,
            temperature=ask.temperature,
        )
        prompt = sum(estimate_tokens(message.content) for message in messages)
        budgets = (*(self._upkeep.budgets() if self._upkeep else ()), self.budget)
        days = reserve_all(budgets, prompt + run.limit)
        used = 0
        failures = 1
        start = time.monotonic()
        try:
            sent = self._server.send(call)
            failures = 0
            if isinstance(sent, ChatServerReply):
                used = sent.tokens or prompt + estimate_tokens(sent.text)
            return sent
        finally:
            run.calls += 1
            run.tokens += used
            for budget, day in zip(budgets, days, strict=True):
                budget.settle_reservation(day, prompt + run.limit, used)
            self.meter.add(ask.purpose, calls=1, failures=failures, tokens=used)
            if ask.timeout is None:
                self.pace.record(time.monotonic() - start, allowed, answered=bool(used))

    def _log_once(self, problem: ModelError) -> None:
        """Log a permanent failure once, until a call succeeds."""
        if not problem.retryable and self._reported != problem.message:
            self._reported = problem.message
            _LOG.warning("%s %s", problem.message, problem.hint)
