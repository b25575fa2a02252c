"""Compared systems: engrams by five doors, plain BM25, and a plain hybrid of words and meaning."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from itertools import groupby
from pathlib import Path
from typing import Protocol

import engrams
from bench.inject.worlds import World, WorldPrompt, WorldTurn
from bench.quality.data import Item
from bench.quality.systems import Bm25System, RrfSystem, System, make_embedder
from engrams.core import Context, Hit, Record, Scope, Status, Turn
from engrams.errors import EngramsError
from engrams.surfaces.hook.agent_texts import asks_nothing
from engrams.surfaces.hook.events import AgentHookEvent
from engrams.surfaces.hook.recall import RecallTarget, SessionRecall
from engrams.surfaces.hook.session_ledger import SessionLedger

DOORS = ("nearest", "search", "context", "deliver", "hook")
"""nearest: every hit of a search. search: those of which it says that they help. context: what
``engine.context`` renders. deliver: the same for the conversation so far. hook: what the
hook of coding agents gives for the first prompt of a session, whose start has the profile.
"""
BASELINES = ("bm25", "hybrid")
_ANSWER_CHARACTERS = 500
_CHARACTERS_PER_TOKEN = 4


@dataclass(frozen=True, slots=True)
class ShownItem:
    """One item that was put into a prompt."""

    sources: frozenset[str]
    """Messages that it is, or was learned from."""
    characters: int
    is_marked: bool
    """It is said to be over, or to be perhaps."""


@dataclass(frozen=True, slots=True)
class Injection:
    """Everything that a system put into one prompt."""

    items: tuple[ShownItem, ...]
    tokens: int
    """Of the items, without the profile."""
    profile: tuple[frozenset[str], ...] = ()
    """Sources of each statement of the profile."""
    profile_tokens: int = 0


class InjectionSystem(Protocol):
    """A memory that holds one world."""

    def inject(self, prompt: WorldPrompt, door: str) -> Injection: ...

    def close(self) -> None: ...


@dataclass(slots=True)
class EngramsWorld:
    """engrams by its public API, on a fresh home that heard one world message by message."""

    world: World
    settings: dict[str, object] = field(default_factory=dict)
    limit: int = 10
    """Hits of a search."""
    tokens: int = 1000
    """Budget of a context."""
    engine: engrams.MemoryEngine = field(init=False)
    _folder: tempfile.TemporaryDirectory[str] = field(init=False)
    now: datetime = field(init=False)
    """Time that the clock of this memory shows."""
    _turn_ids: dict[str, str] = field(default_factory=dict)
    """Id of a stored message -> id of the message of the world."""

    def __post_init__(self) -> None:
        """Tell the world's sessions, each followed by an hour in which memory learns from it."""
        self._folder = tempfile.TemporaryDirectory(prefix="engrams-inject-")
        self.now = self.world.turns[0].at
        arguments = {name.replace(".", "__"): value for name, value in self.settings.items()}
        self.engine = engrams.open(
            home=Path(self._folder.name),
            clock=lambda: self.now,
            jobs__workers=0,
            **arguments,  # type: ignore[arg-type]
        )
        for (scope, _), group in groupby(self.world.turns, lambda turn: (turn.scope, turn.session)):
            self._tell(scope, list(group))
        self.now = self.world.turns[-1].at + timedelta(hours=2)
        self.engine.drain(300)

    def _tell(self, scope: tuple[str, ...], turns: Sequence[WorldTurn]) -> None:
        self.now = turns[-1].at + timedelta(seconds=30)
        receipts = self.engine.observe(list(map(_to_turn, turns)), scope=scope)
        for turn, receipt in zip(turns, receipts, strict=True):
            if receipt.id:
                self._turn_ids.setdefault(receipt.id, turn.id)
        self.now += timedelta(hours=1)
        self.engine.drain(120)

    def inject(self, prompt: WorldPrompt, door: str) -> Injection:
        """Ask for one prompt by one door."""
        self.now = prompt.at
        if door in ("nearest", "search"):
            result = self.engine.search(prompt.text, scope=prompt.scope, limit=self.limit)
            hits = result.hits if door == "nearest" else result.helpful
            items = self._list_items(hits)
            return Injection(items, _estimate_tokens(items))
        if door == "hook":
            return self._inject_by_hook(prompt)
        return self._inject_context(self._read_context(prompt, door), prompt)

    def _inject_by_hook(self, prompt: WorldPrompt) -> Injection:
        """Start a session of a coding agent, which is given a profile, and send it the prompt."""
        ledger = SessionLedger(Path(self._folder.name), prompt.id)
        target = RecallTarget(Scope(prompt.scope), checkout=None, tokens=None)
        recall = SessionRecall(self.engine, target, ledger)
        start = recall.start(AgentHookEvent("SessionStart", prompt.id, source="startup"))
        standing = [self.engine.get(name, scope=prompt.scope) for name in ledger.ids]
        event = AgentHookEvent("UserPromptSubmit", prompt.id, prompt=prompt.text)
        context = recall.find_helpful(event, prompt.before)
        is_shown = not (asks_nothing(prompt.text) or context.abstain)
        return Injection(
            items=self._list_items(context.hits) if is_shown else (),
            tokens=context.tokens if is_shown else 0,
            profile=tuple(map(self.find_sources, standing)),
            profile_tokens=len(start) // _CHARACTERS_PER_TOKEN,
        )

    def _read_context(self, prompt: WorldPrompt, door: str) -> Context:
        if door == "deliver":
            messages = [*prompt.before, {"role": "user", "content": prompt.text}]
            return self.engine.deliver(
                messages, scope=prompt.scope, session=prompt.id, tokens=self.tokens
            )
        return self.engine.context(prompt.text, scope=prompt.scope, tokens=self.tokens)

    def _inject_context(self, context: Context, prompt: WorldPrompt) -> Injection:
        is_shown = bool(context.tail)
        tail_tokens = round(context.tokens * len(context.tail) / max(1, len(context.text)))
        records = [self.engine.get(name, scope=prompt.scope) for name in context.standing]
        return Injection(
            items=self._list_items(context.hits) if is_shown else (),
            tokens=tail_tokens if is_shown else 0,
            profile=tuple(map(self.find_sources, records)),
            profile_tokens=context.tokens - tail_tokens,
        )

    def _list_items(self, hits: Iterable[Hit]) -> tuple[ShownItem, ...]:
        return tuple(map(self._to_item, hits))

    def _to_item(self, hit: Hit) -> ShownItem:
        characters = len(hit.record.text)
        if hit.record.role == "assistant":
            characters = min(characters, _ANSWER_CHARACTERS)
        is_marked = hit.status is not Status.ACTIVE
        if hit.outdated is not None:
            is_marked = is_marked or hit.outdated.is_told
        return ShownItem(self.find_sources(hit.record), characters, is_marked)

    def find_sources(self, record: Record) -> frozenset[str]:
        """Find the messages that a record is, or was learned from."""
        if not record.evidence:
            return frozenset((record.external_id,)) - {""}
        sources = {self._find_turn(quote.source, record) for quote in record.evidence}
        return frozenset(sources - {""})

    def _find_turn(self, source: str, record: Record) -> str:
        if source in self._turn_ids or not source:
            return self._turn_ids.get(source, "")
        try:
            return self.engine.get(source, scope=record.scope.owner).external_id
        except EngramsError:
            return ""

    def close(self) -> None:
        self.engine.close()
        self._folder.cleanup()


def _to_turn(turn: WorldTurn) -> Turn:
    return Turn(
        turn.text,
        turn.role,
        speaker=turn.speaker,
        at=turn.at,
        session=turn.session,
        external_id=turn.id,
    )


class BaselineWorld:
    """A plain ranking over the messages in reach, of which always the best few are shown."""

    def __init__(self, world: World, name: str, top: int = 3) -> None:
        """``name``: bm25 or hybrid; ``top``: items that are shown."""
        self._top = top
        self._turns = {turn.id: turn for turn in world.turns}
        self._system: System = (
            Bm25System() if name == "bm25" else RrfSystem(make_embedder("builtin"))
        )
        self._system.fill(list(map(_to_bench_item, world.turns)))

    def inject(self, prompt: WorldPrompt, door: str) -> Injection:  # noqa: ARG002 - a baseline has one door
        """Show the best few messages in reach."""
        ranked = self._system.search(prompt.text, len(self._turns))
        visible = [name for name in ranked if is_visible(self._turns[name].scope, prompt.scope)]
        items = tuple(
            ShownItem(frozenset((name,)), len(self._turns[name].text), is_marked=False)
            for name in visible[: self._top]
        )
        return Injection(items, _estimate_tokens(items))

    def close(self) -> None:
        self._system.close()


def _to_bench_item(turn: WorldTurn) -> Item:
    return Item(turn.id, turn.text, turn.speaker, turn.session, turn.at.isoformat())


def is_visible(scope: tuple[str, ...], reader: tuple[str, ...]) -> bool:
    """Test whether a reader sees a scope: its own and those above; an owner sees everything."""
    if scope[:2] != reader[:2]:
        return False
    return len(reader) == 2 or reader[: len(scope)] == scope


def _estimate_tokens(items: Iterable[ShownItem]) -> int:
    return sum(item.characters for item in items) // _CHARACTERS_PER_TOKEN
