"""Bodies that go out."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from pydantic import BaseModel

from engrams.surfaces.http.rest.errors import plain
from engrams.types import HistoryEntry, Receipt, Record

_LABELS = {"user": "user_id", "agent": "agent_id", "project": "app_id", "conversation": "run_id"}
_EVENTS = {"stored": "ADD", "redacted": "ADD", "incognito": "ADD", "duplicate": "NONE", "refused": "NONE"}
_CHANGES = {"add": "ADD", "forget": "DELETE", "purge": "DELETE"}


class Item(BaseModel):
    id: str
    memory: str
    user_id: str | None = None
    agent_id: str | None = None
    app_id: str | None = None
    run_id: str | None = None
    metadata: dict[str, Any] | None = None
    categories: list[str]
    created_at: datetime
    updated_at: datetime
    score: float | None = None


class Items(BaseModel):
    results: list[Item]


class Page(Items):
    """``count``: how many there are as far as this page shows."""

    count: int
    next: str | None
    previous: str | None


class Event(BaseModel):
    id: str
    memory: str
    event: str


class Events(BaseModel):
    results: list[Event]


class Said(BaseModel):
    message: str


class Change(BaseModel):
    id: str
    memory_id: str
    old_memory: str | None
    new_memory: str | None
    event: str
    created_at: datetime
    updated_at: datetime


class Entity(BaseModel):
    id: str
    name: str
    type: str


class Entities(BaseModel):
    results: list[Entity]
    count: int


class Pong(BaseModel):
    """Organisation and project are there because clients insist on them."""

    status: str = "ok"
    user_email: str | None = None
    org_id: str = "engrams"
    project_id: str = "engrams"


def item(record: Record, score: float | None = None) -> Item:
    """The innermost of two labels of one name speaks: a user of an application's key is who they say."""
    labels = record.scope.labels
    pairs = {name: value for name, value in zip(labels[::2], labels[1::2], strict=False) if name in _LABELS}
    named: dict[str, Any] = {_LABELS[name]: value for name, value in pairs.items()}
    at = record.recorded_at
    return Item(
        id=record.id,
        memory=record.text,
        metadata=plain(dict(record.meta)) or None,
        categories=list(record.tags),
        created_at=at,
        updated_at=record.retired_at or at,
        score=None if score is None else round(float(score), 6),
        **named,
    )


def events(receipt: Receipt, text: str) -> list[Event]:
    """What a write did: the text itself, and what was learned from it."""
    own = [Event(id=receipt.id, memory=text if receipt.outcome != "refused" else "", event=_EVENTS[receipt.outcome])]
    return own + [Event(id=each.id, memory=each.text, event="UPDATE" if each.replaces else "ADD") for each in receipt.derived if each.id]


def change(record: Record, entry: HistoryEntry) -> Change:
    return Change(
        id=f"{record.id}.{entry.version}",
        memory_id=record.id,
        old_memory=_text(entry.before),
        new_memory=_text(entry.after),
        event=_CHANGES.get(entry.action, "UPDATE"),
        created_at=record.recorded_at,
        updated_at=entry.at,
    )


def _text(side: Mapping[str, Any]) -> str | None:
    value = side.get("text")
    return value if isinstance(value, str) else None
