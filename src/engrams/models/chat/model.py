"""A chat model as the engine sees it: retried, corrected, metered and held to a budget."""

from __future__ import annotations

import json
import logging
import threading
import time
from dataclasses import dataclass, field
from typing import assert_never

from engrams.errors import ModelError
from engrams.models.chat.budget import Budget
from engrams.models.chat.meter import Meter, estimate
from engrams.models.chat.protocol import Call, Declined, Reply, Sent, Server, Way
from engrams.models.chat.structured import Fit, Misfit, Ways, below, compose, correct, enveloped, judge, unusable
from engrams.models.retry import Retry, with_retries
from engrams.ports import Answer, Ask, Message
from engrams.types import Json

_LOG = logging.getLogger(__name__)
_CORRECTIONS = 3
_REFUSALS = 4
_CLOSED = "The model was closed."


@dataclass(frozen=True, slots=True)
class Limits:
    """``timeout``: seconds for one request. ``corrections``: how often the model may mend an unusable answer."""

    timeout: float = 60.0
    corrections: int = _CORRECTIONS
    retry: Retry = field(default_factory=Retry)


@dataclass(slots=True)
class _Run:
    """What one ask has used."""

    ask: Ask
    deadline: float
    calls: int = 0
    tokens: int = 0
    limit: int = 0
    messages: tuple[Message, ...] = ()
    rest: Json = field(default=None)
    way: Way = Way.SCHEMA
    refusals: int = 0

    def left(self) -> float:
        return self.deadline - time.monotonic()


class Model:
    """The Chat port over one server. Threads share it.

    One ``ask`` lasts at most its ``timeout``, waits and corrections included; one request at most ``limits.timeout``.
    """

    def __init__(
        self, server: Server, budget: Budget, *, limits: Limits | None = None, ways: Ways | None = None, meter: Meter | None = None
    ) -> None:
        self._server = server
        self._limits = limits or Limits()
        self._ways = ways or Ways()
        self._closed = threading.Event()
        self._reported = ""
        self.budget = budget
        self.meter = meter or Meter()

    @property
    def name(self) -> str:
        return self._server.name

    @property
    def way(self) -> Way:
        """How the server is asked for JSON at present."""
        return self._ways.now()

    def ask(self, ask: Ask) -> Answer:
        """The answer; with a schema, ``data`` satisfies it.

        ModelError: no answer came (``retryable``: one may come later), or none that could be used. BudgetError: the
        day's calls or tokens are used up.
        """
        run = _Run(ask, time.monotonic() + ask.timeout, limit=ask.max_tokens, messages=ask.messages)
        problem = ""
        for _ in range(1 + self._limits.corrections):
            reply = self._exchange(run)
            verdict = judge(reply, ask.schema)
            match verdict:
                case Fit(text, data):
                    if ask.schema is not None:
                        self._ways.settle(run.way, json=True)
                    return Answer(text, data, run.calls, run.tokens, reply.model or self.name)
                case Misfit():
                    problem = verdict.problem
                    self._prepare(run, verdict, reply)
                case _:
                    assert_never(verdict)
        if run.rest is not None:
            return Answer(json.dumps(run.rest, ensure_ascii=False), run.rest, run.calls, run.tokens, self.name)
        raise unusable(self.name, 1 + self._limits.corrections, problem)

    def close(self) -> None:
        """End waits and requests; asks under way raise ModelError."""
        self._closed.set()
        self._server.close()

    def _prepare(self, run: _Run, verdict: Misfit, reply: Reply) -> None:
        ask = run.ask
        self.meter.add(ask.purpose, corrections=1)
        if ask.schema is not None:
            self._ways.settle(run.way, json=verdict.json)
        if verdict.cut:
            run.limit = min(run.limit * 2, ask.max_tokens * 4)
        run.rest = verdict.rest if verdict.rest is not None else run.rest
        run.messages = correct(ask.messages, reply.text, verdict.problem, ask.schema)

    def _exchange(self, run: _Run) -> Reply:
        """Get one reply, in the best mode that the server takes, with retries."""
        run.way, run.refusals = self._ways.now(), 0
        try:
            reply = with_retries(lambda: self._send_accepted(run), self._limits.retry, run.deadline, self._closed)
        except ModelError as problem:
            self._report(problem)
            raise
        self._reported = ""
        return reply

    def _send_accepted(self, run: _Run) -> Reply:
        while run.refusals <= _REFUSALS:
            sent = self._send(run)
            match sent:
                case Reply():
                    return sent
                case Declined():
                    run.refusals += 1
                    run.way = run.way if sent.way is None else below(run.way)
                case _:
                    assert_never(sent)
        raise ModelError(f"{self.name} refuses every form of request.", retryable=False)

    def _send(self, run: _Run) -> Sent:
        ask, way = run.ask, run.way
        if self._closed.is_set():
            raise ModelError(_CLOSED, hint="Open a new engine.")
        seconds = min(self._limits.timeout, run.left())
        if seconds <= 0:
            raise ModelError(f"{self.name} took longer than {ask.timeout:.3g} seconds.", hint="Allow more time, or choose a smaller model.")
        messages = compose(run.messages, ask.schema, way)
        schema = None if ask.schema is None else enveloped(ask.schema)
        call = Call(messages, seconds, schema, way, run.limit, ask.temperature)
        prompt = sum(estimate(message.content) for message in messages)
        day = self.budget.reserve(prompt + run.limit)
        used, failures = 0, 1
        try:
            sent = self._server.send(call)
            failures = 0
            if isinstance(sent, Reply):
                used = sent.tokens or prompt + estimate(sent.text)
            return sent
        finally:
            run.calls += 1
            run.tokens += used
            self.budget.settle(day, prompt + run.limit, used)
            self.meter.add(ask.purpose, calls=1, failures=failures, tokens=used)

    def _report(self, problem: ModelError) -> None:
        """A permanent failure is logged once, until a call succeeds; the errors raised say the rest."""
        if not problem.retryable and self._reported != problem.message:
            self._reported = problem.message
            _LOG.warning("%s %s", problem.message, problem.hint)
