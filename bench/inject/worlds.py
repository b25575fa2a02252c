"""Worlds of the bench: what somebody told an assistant over months, and prompts that follow.

A world is a file of JSON lines: a head, messages (``turn``) and prompts; docs/guides/measure.md
describes its fields. Those of ``worlds/`` are this project's own.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Any, Literal

OWN_WORLDS = Path(__file__).with_name("worlds")


@dataclass(frozen=True, slots=True)
class WorldTurn:
    """One message of a world."""

    id: str
    role: Literal["user", "assistant"]
    text: str
    at: datetime
    session: str
    scope: tuple[str, ...]
    speaker: str = ""


@dataclass(frozen=True, slots=True)
class WorldPrompt:
    """One prompt of a world, with the messages that belong into it."""

    id: str
    text: str
    at: datetime
    scope: tuple[str, ...]
    before: tuple[dict[str, str], ...]
    """Messages of the conversation so far, as a chat client sends them."""
    needed: tuple[frozenset[str], ...]
    """Messages without which the answer is worse; any id of a set will do."""
    helpful: frozenset[str]
    stale: frozenset[str]
    """Messages that are out of date, and must not be shown as current."""
    is_silent: bool
    """Nothing at all belongs into this prompt."""
    type: str
    """direct, implicit, vague, paraphrase, crosslang, changed, history, several, nearmiss, unsaid,
    task or social.
    """

    @property
    def right(self) -> frozenset[str]:
        """Ids of all messages that may be shown."""
        return self.helpful.union(*self.needed)


@dataclass(frozen=True, slots=True)
class World:
    """Messages and prompts of one owner."""

    name: str
    language: str
    kind: str
    """personal, family or coding."""
    half: str
    """tune or dev: settings may be chosen by it; held: it only reports."""
    scope: tuple[str, ...]
    standing: frozenset[str]
    """Messages that are never wrong, such as a rule for every answer."""
    turns: tuple[WorldTurn, ...]
    prompts: tuple[WorldPrompt, ...]


def read_worlds(paths: Iterable[Path], half: str = "") -> list[World]:
    """Read the worlds of files and folders, those of one half only where it is named."""
    files: list[Path] = []
    for path in paths:
        files += sorted(path.rglob("*.jsonl")) if path.is_dir() else [path]
    worlds = [_read_world(file) for file in files]
    return [world for world in worlds if not half or world.half == half]


def cut_young(world: World, messages: int, seed: int) -> list[World]:
    """Cut a world into one for each prompt, as a memory of its first days looks.

    It has so many messages: those that the prompt needs or that are out of date, and others drawn
    by chance from its scope.
    """
    generator = random.Random(seed)
    young_worlds: list[World] = []
    for prompt in world.prompts:
        wanted = {min(names) for names in prompt.needed} | prompt.stale
        rest = [
            turn.id
            for turn in world.turns
            if turn.scope == prompt.scope and turn.id not in wanted | prompt.right
        ]
        generator.shuffle(rest)
        kept = wanted | set(rest[: max(messages - len(wanted), 0)])
        turns = tuple(turn for turn in world.turns if turn.id in kept)
        if turns:
            young_worlds.append(replace(world, turns=turns, prompts=(prompt,)))
    return young_worlds


def _read_world(file: Path) -> World:
    rows = [json.loads(line) for line in file.read_text("utf-8").splitlines()]
    head = rows[0]
    scope = tuple(head["scope"])
    return World(
        name=head["world"],
        language=head["lang"],
        kind=head["kind"],
        half=head["half"],
        scope=scope,
        standing=frozenset(head.get("standing", ())),
        turns=tuple(_parse_turn(row["turn"], scope) for row in rows if "turn" in row),
        prompts=tuple(_parse_prompt(row["prompt"], scope) for row in rows if "prompt" in row),
    )


def _parse_turn(row: dict[str, Any], scope: tuple[str, ...]) -> WorldTurn:
    return WorldTurn(
        id=row["id"],
        role=row["role"],
        text=row["text"],
        at=datetime.fromisoformat(row["at"]),
        session=row["session"],
        scope=tuple(row.get("scope", scope)),
        speaker=row.get("speaker", ""),
    )


def _parse_prompt(row: dict[str, Any], scope: tuple[str, ...]) -> WorldPrompt:
    before = tuple(
        {"role": message["role"], "content": message["text"]} for message in row.get("before", ())
    )
    helpful = [name for names in row["helpful"] for name in names.split("|")]
    return WorldPrompt(
        id=row["id"],
        text=row["text"],
        at=datetime.fromisoformat(row["at"]),
        scope=tuple(row.get("scope", scope)),
        before=before,
        needed=tuple(frozenset(names.split("|")) for names in row["needed"]),
        helpful=frozenset(helpful),
        stale=frozenset(row["stale"]),
        is_silent=row["silent"],
        type=row["type"],
    )
