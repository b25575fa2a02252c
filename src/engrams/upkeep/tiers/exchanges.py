"""Exchanges: turns paired with their answers, and made into one record of the long term. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from itertools import pairwise

from engrams.core import OUTDATES, Evidence, Kind, Meta, Provenance, Record, Tier
from engrams.core.ids import derive_id_at_time_of
from engrams.core.records import is_repeated_question
from engrams.text.text_spans import find_span, read_span

_QUOTE_CHARACTERS = 280


@dataclass(frozen=True, slots=True)
class TurnPair:
    """Question and answer; one of them may be missing."""

    user: Record | None
    agent: Record | None

    @property
    def halves(self) -> tuple[Record, ...]:
        return tuple(half for half in (self.user, self.agent) if half is not None)

    @property
    def key(self) -> str:
        """Stable key of the pair, so repeated moves make one exchange."""
        return f"exchange:{self.user.id if self.user else ''}:{self.agent.id if self.agent else ''}"

    def without(self, stored_ids: Iterable[str]) -> TurnPair:
        """Return the pair without the halves that an exchange holds already."""
        stored = set(stored_ids)
        user = self.user if self.user and self.user.id not in stored else None
        agent = self.agent if self.agent and self.agent.id not in stored else None
        return TurnPair(user, agent)


def pair_turns(
    records: Iterable[Record], conversation: Iterable[Record], minutes: float
) -> tuple[TurnPair, ...]:
    """Pair each message with the answer that follows it directly, at most ``minutes`` apart.

    ``conversation``: everything that was said between these turns, also what has left since: no
    answer is given to another message than its own. A turn without a partner is a pair by itself.
    A question that was left out because it was asked before is given to its answer, which is
    another one. Oldest first.
    """
    turns = {record.id: record for record in sorted(records, key=lambda record: record.story_key)}
    answers: dict[str, str] = {}
    repeated_questions: dict[str, Record] = {}
    for session_turns in _split_sessions(conversation):
        for message, reply in pairwise(session_turns):
            is_answer = message.role != "assistant" and reply.role == "assistant"
            is_near = reply.recorded_at - message.recorded_at <= timedelta(minutes=minutes)
            if not (is_answer and is_near and reply.id in turns):
                continue
            if message.id in turns:
                answers[message.id] = reply.id
            elif is_repeated_question(message):
                repeated_questions[reply.id] = message
    answer_ids = set(answers.values())
    pairs = []
    for turn in turns.values():
        if turn.id in answer_ids:
            continue
        if turn.role == "assistant":
            pairs.append(TurnPair(repeated_questions.get(turn.id), turn))
        else:
            pairs.append(TurnPair(turn, turns.get(answers.get(turn.id, ""))))
    return tuple(pairs)


def _split_sessions(conversation: Iterable[Record]) -> Iterable[Sequence[Record]]:
    """Split into sessions in the order of saying, without tools."""
    sessions: dict[str, list[Record]] = {}
    for record in sorted(conversation, key=lambda record: record.story_key):
        if record.role not in ("tool", "system"):
            sessions.setdefault(record.session, []).append(record)
    return sessions.values()


def build_exchange(pair: TurnPair) -> Record:
    """Build the exchange: both texts, first time, higher importance, summed use.

    Its id follows from the first half's, so that a repeated move makes the same exchange.
    """
    halves = pair.halves
    first = halves[0]
    user_text = pair.user.text if pair.user else ""
    agent_text = pair.agent.text if pair.agent else ""
    text = f"User: {user_text}\nAgent: {agent_text}".strip()
    access_times = [half.last_accessed for half in halves if half.last_accessed]
    return Record(
        id=derive_id_at_time_of(first.id, pair.key),
        scope=first.scope,
        kind=Kind.EXCHANGE,
        text=text,
        recorded_at=first.recorded_at,
        tier=Tier.LONGTERM,
        role=first.role,
        speaker=first.speaker,
        session=first.session,
        external_id=pair.key,
        caption=" ".join(half.caption for half in halves if half.caption),
        evidence=tuple(
            Evidence(half.text[:_QUOTE_CHARACTERS], half.id, half.speaker or half.role)
            for half in halves
        ),
        provenance=Provenance(first.provenance.channel, reason="what was said and answered"),
        importance=max(half.importance for half in halves),
        confidence=max(half.confidence for half in halves),
        trust=min(half.trust for half in halves),
        access_count=sum(half.access_count for half in halves),
        last_accessed=max(access_times, default=None),
        summary=" -> ".join(half.summary for half in halves if half.summary),
        meta={
            "said": [half.recorded_at.isoformat() for half in halves],
            **_carry_endings(halves, text),
        },
    )


def _carry_endings(halves: Iterable[Record], text: str) -> Meta:
    """Carry over what the turns end, or may, with the places of their words in the exchange."""
    endings = []
    for half in halves:
        for entry in half.meta.get(OUTDATES) or ():
            if isinstance(entry, Mapping):
                words = read_span(half.text, entry.get("words"))
                endings.append({**entry, "words": find_span(text, words)})
    return {OUTDATES: endings} if endings else {}
