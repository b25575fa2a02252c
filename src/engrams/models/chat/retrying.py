"""Chat model over one server: retries, corrections, time-outs, budgets and a meter.

``RetryingServerChat.ask`` is the entry. It judges each answer and asks again where one is unusable
(``_ask``); each of these asks once more after a failure that may pass (``_exchange``), in the best
form that the server takes (``_send_accepted``); each single request is paid for and measured
(``_send``).
"""

from __future__ import annotations

import json
import logging
import math
import threading
import time
from dataclasses import dataclass, field
from typing import assert_never

from engrams.core import Json
from engrams.errors import ModelError, is_unusable
from engrams.models.chat.adaptive_timeout import ModelLatencyTracker
from engrams.models.chat.budget import DailyModelBudget, reserve_all
from engrams.models.chat.memory_ledger import InMemoryModelUsageLedger
from engrams.models.chat.port import (
    ChatServer,
    ChatServerRefusal,
    ChatServerReply,
    ChatServerRequest,
    RequestForm,
    ServerResult,
)
from engrams.models.chat.request_forms import RequestFormLadder
from engrams.models.chat.structured_output import (
    InvalidModelAnswer,
    ValidModelAnswer,
    compose_correction,
    compose_messages,
    judge_reply,
    unusable_error,
    wrap_schema,
)
from engrams.models.chat.upkeep_schedule import UpkeepSchedule
from engrams.models.chat.usage import ModelUsageMeter, estimate_tokens
from engrams.models.retry import RetryPolicy, with_retries
from engrams.ports import ChatAnswer, ChatMessage, ChatModelMeasurement, ChatRequest, ModelFollower

_LOG = logging.getLogger(__name__)
_CORRECTIONS = 3
_MOST_LIMIT_GROWTH = 4
"""Times the tokens asked for that an answer may get which was cut off."""
_CLOSED = "The model was closed."
_CITY_SCHEMA: dict[str, Json] = {
    "type": "object",
    "properties": {"city": {"type": "string"}},
    "required": ["city"],
}
"""Schema of the question by which a model's JSON is tried."""
_PROBE_TOKENS = 32
_PEOPLES_PURPOSES = frozenset({"chat", "rerank"})
"""Purposes of questions whose answer somebody waits for."""


@dataclass(frozen=True, slots=True)
class ChatAnswerLimits:
    """Limits of one answer."""

    timeout: float = 300.0
    """Seconds for one answer, retries included."""
    corrections: int = _CORRECTIONS
    """How often an unusable answer is asked for again."""
    retry: RetryPolicy = field(default_factory=RetryPolicy)


@dataclass(slots=True)
class _QuestionRun:
    """State of one question."""

    request: ChatRequest
    deadline: float
    """Time (monotonic) when all of it must be over; infinite where the question sets none."""
    messages: tuple[ChatMessage, ...]
    """Messages to send next: those of the question, or a correction."""
    max_tokens: int
    """Tokens of the next answer; more after one that was cut off."""
    calls: int = 0
    tokens: int = 0
    partial: Json = field(default=None)
    """Usable part of the last answer that has one. None: there is none."""
    is_partial_cut: bool = False
    """The part ends early, because the answer was cut off."""
    form: RequestForm = field(default_factory=RequestForm)
    """Form of the next request."""
    notes: list[str] = field(default_factory=list)

    def seconds_left(self) -> float:
        """Return the seconds until the deadline."""
        return self.deadline - time.monotonic()


class RetryingServerChat:
    """Chat model over one server; threads share it.

    An answer, retries included, has ``limits.timeout`` seconds, or more where ``pace`` says so; a
    correction has them anew. One ``ask`` lasts at most its own ``timeout``, if it has one.
    """

    def __init__(
        self,
        server: ChatServer,
        budget: DailyModelBudget,
        *,
        limits: ChatAnswerLimits | None = None,
        forms: RequestFormLadder | None = None,
        pace: ModelLatencyTracker | None = None,
        upkeep: UpkeepSchedule | None = None,
    ) -> None:
        """Set up the model; calls nothing.

        ``upkeep``: gives way to people, and has a budget of its own; None: nothing is upkeep.
        """
        self._server = server
        self._limits = limits or ChatAnswerLimits()
        self._forms = forms or RequestFormLadder(server.json_modes)
        self._upkeep = upkeep
        self._closed = threading.Event()
        self._logged_problem = ""
        self.budget = budget
        self.meter = ModelUsageMeter()
        self.pace = pace or ModelLatencyTracker(
            InMemoryModelUsageLedger(), server.name, self._limits.timeout
        )

    @property
    def name(self) -> str:
        """Name of the model."""
        return self._server.name

    def ask(self, request: ChatRequest) -> ChatAnswer:
        """Return the model's answer; with a schema, its ``data`` satisfies it.

        ModelError: no answer came (``retryable``: one may come later), or none that could be used.
        BudgetError: the day's calls or tokens are used up.
        """
        if self._upkeep is None or request.purpose not in _PEOPLES_PURPOSES:
            return self._ask(request)
        with self._upkeep.serve_person():
            return self._ask(request)

    def measure(self) -> ChatModelMeasurement:
        """Measure the model by two short questions.

        ModelError, BudgetError: it does not answer. An answer that is no JSON is no error.
        """
        day = self.budget.reserve(_PROBE_TOKENS)
        try:
            probe = self._server.probe(self.pace.allowed_seconds(), self._forms.current())
        finally:
            self.budget.settle_reservation(day, _PROBE_TOKENS, _PROBE_TOKENS)
        start = time.monotonic()
        try:
            self._ask_for_city()
            json_mode = str(self._forms.current().json_mode)
        except ModelError as problem:
            if not is_unusable(problem):
                raise
            json_mode = ""
        return ChatModelMeasurement(
            first_seconds=probe.first_seconds,
            seconds=time.monotonic() - start,
            json=json_mode,
            context_tokens=probe.context_tokens,
            refusals=self._forms.refusals(),
        )

    def _ask_for_city(self) -> None:
        """Ask a question whose answer is JSON, in lower forms while the server fails at each."""
        question = ChatRequest(
            (ChatMessage("user", "Give the name of any city as JSON."),),
            "doctor",
            _CITY_SCHEMA,
            max_tokens=64,
        )
        # A mode is given up after it failed twice alike.
        for _ in range(2 * len(self._server.json_modes)):
            try:
                self.ask(question)
            except ModelError:
                if not self._forms.is_searching():
                    raise
            else:
                return

    def follow(self, model: str) -> None:
        """Use the model that others name, where the settings name none."""
        if isinstance(self._server, ModelFollower):
            self._server.follow(model)

    def close(self) -> None:
        """End waits and requests; running asks raise ModelError."""
        self._closed.set()
        self._server.close()

    def _ask(self, request: ChatRequest) -> ChatAnswer:
        """Ask, and ask again while the answer is unusable."""
        deadline = math.inf if request.timeout is None else time.monotonic() + request.timeout
        run = _QuestionRun(request, deadline, request.messages, request.max_tokens)
        problem = ""
        tries = 1 + self._limits.corrections
        for _ in range(tries):
            reply = self._exchange(run)
            verdict = judge_reply(
                reply,
                request.schema,
                may_be_empty=request.may_be_empty,
                keep_sound_items=request.keep_sound_items,
            )
            match verdict:
                case ValidModelAnswer():
                    if request.schema is not None:
                        self._forms.record_json(run.form.json_mode, is_json=True)
                    if verdict.note:
                        run.notes.append(verdict.note)
                    return ChatAnswer(
                        text=verdict.text,
                        data=verdict.data,
                        calls=run.calls,
                        tokens=run.tokens,
                        model=reply.model or self.name,
                        notes=tuple(run.notes),
                    )
                case InvalidModelAnswer():
                    problem = verdict.problem
                    self._prepare_correction(run, verdict, reply)
                case _:
                    assert_never(verdict)
        if run.partial is None:
            raise unusable_error(self.name, tries, request.purpose, problem)
        return ChatAnswer(
            text=json.dumps(run.partial, ensure_ascii=False),
            data=run.partial,
            calls=run.calls,
            tokens=run.tokens,
            model=self.name,
            notes=tuple(run.notes),
            cut=run.is_partial_cut,
        )

    def _prepare_correction(
        self, run: _QuestionRun, verdict: InvalidModelAnswer, reply: ChatServerReply
    ) -> None:
        """Note what was wrong with an answer, and compose the messages that ask again."""
        request = run.request
        self.meter.add(request.purpose, corrections=1)
        run.notes.append(f"asked again: {verdict.problem}"[:200])
        if request.schema is not None:
            self._forms.record_json(run.form.json_mode, is_json=verdict.json)
        if verdict.cut:
            run.max_tokens = min(run.max_tokens * 2, request.max_tokens * _MOST_LIMIT_GROWTH)
        if verdict.partial is not None:
            run.partial = verdict.partial
            run.is_partial_cut = verdict.cut
        run.messages = compose_correction(
            request.messages, reply.text, verdict.problem, request.schema
        )

    def _exchange(self, run: _QuestionRun) -> ChatServerReply:
        """Get one reply, with retries, in the best form the server takes."""
        if self._upkeep is not None:
            self._upkeep.wait_turn(self._closed)
        run.form = self._forms.current()
        # A model that did not answer in time is not asked again at once: it may still be at work.
        deadline = run.deadline
        if run.request.timeout is None:
            deadline = time.monotonic() + self.pace.allowed_seconds()
        try:
            reply = with_retries(
                lambda: self._send_accepted(run), self._limits.retry, deadline, self._closed
            )
        except ModelError as problem:
            self._log_once(problem)
            raise
        self._logged_problem = ""
        return reply

    def _send_accepted(self, run: _QuestionRun) -> ChatServerReply:
        """Send a request in lower forms while the server refuses its form."""
        with_schema = run.request.schema is not None
        while True:
            result = self._send(run)
            match result:
                case ChatServerReply():
                    self._forms.record_answer(run.form, result.version, with_schema=with_schema)
                    return result
                case ChatServerRefusal():
                    lower_form = self._forms.step_down(run.form, result, with_schema=with_schema)
                    if lower_form is None:
                        if with_schema and not result.fields:
                            run.form = self._forms.next_after_failure(run.form, result.error)
                        raise result.error
                    run.form = lower_form
                case _:
                    assert_never(result)

    def _send(self, run: _QuestionRun) -> ServerResult:
        """Send one request, within its time and the budgets."""
        request = run.request
        if self._closed.is_set():
            raise ModelError(_CLOSED, hint="Open a new engine.")
        allowed_seconds = self.pace.allowed_seconds()
        seconds = min(allowed_seconds, run.seconds_left())
        if seconds <= 0:
            raise ModelError(
                f"{self.name} took longer than {request.timeout:.3g} seconds.",
                hint="Allow more time, or choose a smaller model.",
            )
        messages = compose_messages(run.messages, request.schema, run.form.json_mode)
        prompt_tokens = sum(estimate_tokens(message.content) for message in messages)
        reserved_tokens = prompt_tokens + run.max_tokens
        budgets = (*(self._upkeep.budgets() if self._upkeep else ()), self.budget)
        days = reserve_all(budgets, reserved_tokens, prompt_tokens)
        used_tokens = 0
        failures = 1
        start = time.monotonic()
        try:
            result = self._server.send(
                ChatServerRequest(
                    messages=messages,
                    seconds=seconds,
                    schema=None if request.schema is None else wrap_schema(request.schema),
                    form=run.form,
                    max_tokens=run.max_tokens,
                    temperature=request.temperature,
                )
            )
            if isinstance(result, ChatServerReply) or result.fields:
                failures = 0
            if isinstance(result, ChatServerReply):
                used_tokens = result.tokens or prompt_tokens + estimate_tokens(result.text)
            return result
        finally:
            run.calls += 1
            run.tokens += used_tokens
            for budget, day in zip(budgets, days, strict=True):
                budget.settle_reservation(day, reserved_tokens, used_tokens)
            self.meter.add(request.purpose, calls=1, failures=failures, tokens=used_tokens)
            # A question with a time of its own may have had too little of it to tell anything.
            if request.timeout is None:
                self.pace.record(
                    time.monotonic() - start, allowed_seconds, answered=bool(used_tokens)
                )

    def _log_once(self, problem: ModelError) -> None:
        """Log a permanent failure once, until a call succeeds."""
        if not problem.retryable and self._logged_problem != problem.message:
            self._logged_problem = problem.message
            _LOG.warning("%s %s", problem.message, problem.hint)
