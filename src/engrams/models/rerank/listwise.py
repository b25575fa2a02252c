"""Rerank by asking a chat model twice which memories help now."""

from __future__ import annotations

import logging
import threading
import time
from collections import Counter, OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any, TypeAlias, assert_never

from engrams.errors import BudgetError, ModelError, is_unusable
from engrams.models.chat.json_repair import parse
from engrams.models.chat.schema_check import check
from engrams.models.rerank.score import CANDIDATE, QUERY_TAIL
from engrams.ports import (
    ChatAnswer,
    ChatMessage,
    ChatModel,
    ChatRequest,
    Clock,
    RerankRequest,
)
from engrams.prompts import load, quote

_LOG = logging.getLogger(__name__)
VOTES = 2
"""Rankings that the model is asked for; a memory counts that all of them name."""
_CONTEXT = 8000
"""Characters of a turn's query, which the last user text leads.

Of a longer query the tail is shown.
"""
_SESSIONS = 1000
"""Sessions whose judgements are remembered."""
_ANSWER_TOKENS = 512


class RelevanceJudgementStatus(StrEnum):
    """Outcomes of a judgement."""

    RAN = "ran"
    OPTED_OUT = "opted_out"
    CADENCE_CARRY = "cadence_carry"
    NO_BACKEND = "no_backend"
    ALL_FAILED = "all_failed"
    UNPARSEABLE = "unparseable"
    TRANSPORT_ERROR = "transport_error"


@dataclass(frozen=True, slots=True)
class RelevanceJudgementRequest:
    """Turn whose candidates are to be judged."""

    session: str
    """Name of the session, unique over all owners."""
    query: str
    candidates: tuple[tuple[str, str], ...]
    """Id and text of each candidate."""
    topic_changed: bool = False
    opted_out: bool = False
    """True: the caller wants no judgement."""
    seconds: float = 30.0
    """Time for all votes together."""


@dataclass(frozen=True, slots=True)
class RelevanceJudgement:
    """Judgement of the chat model on which memories help with a turn."""

    status: RelevanceJudgementStatus
    ids: tuple[str, ...] = ()
    """Memories that help. Unless ``status`` is ``ran``: those verified last that are candidates."""


@dataclass(frozen=True, slots=True)
class RelevanceJudgementSchedule:
    """Schedule of the questions to the model."""

    every: int = 3
    """Turns of a session from one judgement to the next."""
    limit: int = 5
    """Memories that one judgement may choose."""
    backoff: float = 30.0
    """Seconds without a question after a failure."""


@dataclass(frozen=True, slots=True)
class _RankingVote:
    """One ranking by the model."""

    indexes: tuple[int, ...]
    """Indexes of candidates, most helpful first."""


@dataclass(frozen=True, slots=True)
class _FailedVote:
    """Vote of the model that failed, with the reason."""

    status: RelevanceJudgementStatus
    problem: ModelError | BudgetError


_Ballot: TypeAlias = _RankingVote | _FailedVote


@dataclass(slots=True)
class _SessionJudgement:
    turn: int = 0
    """Number of the session's last turn, from 1."""
    judged: int = 0
    """Turn of its last judgement. 0: there was none."""
    verified: tuple[str, ...] = ()
    """Ids of the memories that this judgement chose."""


class ListwiseReranker:
    """Reranker that also keeps each session's last judgement; threads share it."""

    def __init__(
        self, chat: ChatModel | None, clock: Clock, pace: RelevanceJudgementSchedule | None = None
    ) -> None:
        self._chat = chat
        self._clock = clock
        self._pace = pace or RelevanceJudgementSchedule()
        self._lock = threading.Lock()
        self._sessions: OrderedDict[str, _SessionJudgement] = OrderedDict()
        self._counts: Counter[RelevanceJudgementStatus] = Counter()
        self._failed_at: datetime | None = None
        self._reported = ""

    @property
    def name(self) -> str:
        return f"listwise:{self._chat.name if self._chat else 'none'}"

    def judge(self, case: RelevanceJudgementRequest) -> RelevanceJudgement:
        """Judge the candidates of a turn; model failures never raise.

        The model is called on a session's first turn, when the topic changed, and every third turn;
        in between, and when it fails, the memories verified last are kept.
        """
        if case.opted_out:
            return self._count(RelevanceJudgement(RelevanceJudgementStatus.OPTED_OUT))
        if self._chat is None:
            return self._count(RelevanceJudgement(RelevanceJudgementStatus.NO_BACKEND))
        texts = dict(case.candidates)
        turn, is_due, carried = self._begin_turn(case, texts)
        if not is_due:
            return self._count(RelevanceJudgement(RelevanceJudgementStatus.CADENCE_CARRY, carried))
        ballots = self._collect_votes(
            self._chat, case.query, tuple(texts.values()), (self._pace.limit, case.seconds)
        )
        status = self._record_outcome(ballots)
        if status is not RelevanceJudgementStatus.RAN:
            return self._count(RelevanceJudgement(status, carried))
        consensus = _find_consensus(
            [ballot for ballot in ballots if isinstance(ballot, _RankingVote)]
        )
        ids = tuple(tuple(texts)[index] for index in consensus[: self._pace.limit])
        self._remember(case.session, turn, ids)
        return self._count(RelevanceJudgement(RelevanceJudgementStatus.RAN, ids))

    def rank(self, request: RerankRequest) -> tuple[float | None, ...]:
        """Score the texts by two votes; all None without a verdict.

        A text that every vote names scores above 0.5, in its order; one that a single vote names
        0.25; others 0. Without a session it asks the model each time, except within the backoff;
        the turn of a session is judged as ``judge`` does.
        """
        nothing = (None,) * len(request.texts)
        if request.session:
            return self._rank_turn(request)
        if self._chat is None:
            self._count(RelevanceJudgement(RelevanceJudgementStatus.NO_BACKEND))
            return nothing
        if not request.texts or request.seconds <= 0 or self._is_backing_off():
            self._count(RelevanceJudgement(RelevanceJudgementStatus.CADENCE_CARRY))
            return nothing
        ballots = self._collect_votes(
            self._chat, request.query, request.texts, (len(request.texts), request.seconds)
        )
        status = self._record_outcome(ballots)
        self._count(RelevanceJudgement(status))
        if status is not RelevanceJudgementStatus.RAN:
            return nothing
        votes = [ballot for ballot in ballots if isinstance(ballot, _RankingVote)]
        consensus = _find_consensus(votes)
        scores = {index: 0.25 for vote in votes for index in vote.indexes}
        scores |= {
            index: 1.0 - 0.5 * order / len(request.texts) for order, index in enumerate(consensus)
        }
        return tuple(scores.get(index, 0.0) for index in range(len(request.texts)))

    def _rank_turn(self, rank: RerankRequest) -> tuple[float | None, ...]:
        """Score texts that help above 0.5, others 0.

        All are None before the first verdict of a session.
        """
        case = RelevanceJudgementRequest(
            rank.session,
            rank.query,
            tuple(zip(rank.ids, rank.texts, strict=True)),
            rank.topic_changed,
            seconds=rank.seconds,
        )
        judgement = self.judge(case)
        with self._lock:
            session = self._sessions.get(rank.session)
        if session is None or not session.judged:
            return (None,) * len(rank.texts)
        scores = {
            record_id: 1.0 - 0.5 * order / len(rank.ids)
            for order, record_id in enumerate(judgement.ids)
        }
        return tuple(scores.get(record_id, 0.0) for record_id in rank.ids)

    def counts(self) -> Mapping[str, int]:
        """Count the judgements by status."""
        with self._lock:
            return {status.value: self._counts[status] for status in RelevanceJudgementStatus}

    def forget(self, session: str) -> None:
        """Drop the judgements of a session."""
        with self._lock:
            self._sessions.pop(session, None)

    def _begin_turn(
        self, case: RelevanceJudgementRequest, texts: Mapping[str, str]
    ) -> tuple[int, bool, tuple[str, ...]]:
        backing_off = self._is_backing_off()
        with self._lock:
            session = self._sessions.setdefault(case.session, _SessionJudgement())
            self._sessions.move_to_end(case.session)
            while len(self._sessions) > _SESSIONS:
                self._sessions.popitem(last=False)
            session.turn += 1
            is_due = (
                session.judged == 0
                or case.topic_changed
                or session.turn - session.judged >= self._pace.every
            )
            carried = tuple(record_id for record_id in session.verified if record_id in texts)
            return session.turn, is_due and bool(texts) and not backing_off, carried

    def _remember(self, id: str, turn: int, verified: tuple[str, ...]) -> None:
        with self._lock:
            session = self._sessions.get(id)
            if session is not None and turn > session.judged:
                session.judged = turn
                session.verified = verified

    def _is_backing_off(self) -> bool:
        with self._lock:
            # A clock that was set back must not make the pause longer.
            return (
                self._failed_at is not None
                and 0 <= (self._clock() - self._failed_at).total_seconds() < self._pace.backoff
            )

    def _count(self, judgement: RelevanceJudgement) -> RelevanceJudgement:
        with self._lock:
            self._counts[judgement.status] += 1
        return judgement

    def _record_outcome(self, ballots: Sequence[_Ballot]) -> RelevanceJudgementStatus:
        failed_vote = next((ballot for ballot in ballots if isinstance(ballot, _FailedVote)), None)
        with self._lock:
            if failed_vote is None:
                self._failed_at = None
                self._reported = ""
                return RelevanceJudgementStatus.RAN
            self._failed_at = self._clock()
            is_lasting = (
                isinstance(failed_vote.problem, BudgetError) or not failed_vote.problem.retryable
            )
            if is_lasting and self._reported != failed_vote.problem.message:
                self._reported = failed_vote.problem.message
                _LOG.warning(
                    "Memories are not judged: %s %s",
                    failed_vote.problem.message,
                    failed_vote.problem.hint,
                )
        return failed_vote.status

    def _collect_votes(
        self, chat: ChatModel, query: str, texts: Sequence[str], bounds: tuple[int, float]
    ) -> list[_Ballot]:
        """Ask for votes up to the first lost or empty one."""
        limit, seconds = bounds
        deadline = time.monotonic() + seconds
        ballots: list[_Ballot] = []
        for number in range(VOTES):
            # The second vote sees the list upside down: a position in a list must not decide.
            order = range(len(texts)) if number % 2 == 0 else range(len(texts) - 1, -1, -1)
            ballot = _ask_vote(
                chat, query, [texts[index] for index in order], (limit, deadline - time.monotonic())
            )
            match ballot:
                case _RankingVote():
                    ballots.append(_RankingVote(tuple(order[index] for index in ballot.indexes)))
                    if not ballot.indexes:
                        break
                case _FailedVote():
                    ballots.append(ballot)
                    break
                case _:
                    assert_never(ballot)
        return ballots


def _ask_vote(
    chat: ChatModel, query: str, texts: Sequence[str], bounds: tuple[int, float]
) -> _Ballot:
    limit, seconds = bounds
    shape = _answer_schema(len(texts))
    lines = "\n".join(
        f"{number}. {quote(text[:CANDIDATE])}" for number, text in enumerate(texts, 1)
    )
    prompt = load("rerank").render(
        query=quote(query if len(query) <= _CONTEXT else query[-QUERY_TAIL:]),
        candidates=lines,
        limit=str(min(limit, len(texts))),
    )
    try:
        if seconds <= 0:
            raise ModelError("There was no time for a second vote.")
        answer = chat.ask(
            ChatRequest(
                (ChatMessage("user", prompt),),
                "rerank",
                shape,
                max_tokens=_ANSWER_TOKENS,
                timeout=seconds,
            )
        )
    except BudgetError as problem:
        return _FailedVote(RelevanceJudgementStatus.ALL_FAILED, problem)
    except ModelError as problem:
        if is_unusable(problem):
            return _FailedVote(RelevanceJudgementStatus.UNPARSEABLE, problem)
        return _FailedVote(
            RelevanceJudgementStatus.TRANSPORT_ERROR
            if problem.retryable
            else RelevanceJudgementStatus.ALL_FAILED,
            problem,
        )
    numbers = _parse_numbers(answer, shape)
    if numbers is None:
        return _FailedVote(
            RelevanceJudgementStatus.UNPARSEABLE,
            ModelError("The answer names no memories.", hint="Choose a larger model."),
        )
    return _RankingVote(tuple(number - 1 for number in dict.fromkeys(numbers)))


def _parse_numbers(answer: ChatAnswer, shape: Mapping[str, Any]) -> list[int] | None:
    data = answer.data
    if data is None:
        # A Chat that knows no schemas.
        parsed = parse(answer.text, shape)
        data = parsed.data if parsed is not None and parsed.how != "cut" else None
    if isinstance(data, list):
        data = {"ids": data}
    if check(data, shape):
        return None
    numbers: list[int] = data["ids"]
    return numbers


def _answer_schema(count: int) -> dict[str, Any]:
    numbers = {"type": "array", "items": {"type": "integer", "minimum": 1, "maximum": count}}
    return {
        "type": "object",
        "properties": {"ids": numbers},
        "required": ["ids"],
        "additionalProperties": False,
    }


def _find_consensus(votes: Sequence[_RankingVote]) -> list[int]:
    """Return the indexes that every vote names, by mean rank."""
    agreed = (
        set(votes[0].indexes).intersection(*(vote.indexes for vote in votes[1:]))
        if votes
        else set()
    )
    return sorted(
        agreed, key=lambda index: (sum(vote.indexes.index(index) for vote in votes), index)
    )
