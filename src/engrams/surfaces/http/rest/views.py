"""Bodies that go out: numbers, work, the graph, sessions, settings, files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel

from engrams.ports import Job
from engrams.types import Edge, EdgeType, Kind, Record, Scope, Status, Tier

if TYPE_CHECKING:
    from engrams.build import Entry, Upload

_LABEL = 160


class Places(BaseModel):
    scopes: list[list[str]]


class Numbers(BaseModel):
    """``product``: by layer, under the names that people are shown. ``scope``: by scope key, the first hundred scopes.
    ``embedded``: the share (0..1) of what is not purged that has a vector of the current model."""

    status: dict[str, int]
    kind: dict[str, int]
    layer: dict[str, int]
    tier: dict[str, int]
    product: dict[str, int]
    scope: dict[str, int]
    active: int
    embedded: float
    embedder: str
    scopes: int


class Item(BaseModel):
    """What is in the working tier, not judged yet."""

    id: str
    source: str
    text: str
    importance: float


class State(BaseModel):
    """``tiers``: how many memories are where. ``detail``: what the running process holds besides, by tier; ``working``: its
    working tier, oldest first."""

    tiers: dict[str, int]
    layers: dict[str, int]
    detail: dict[str, Any]
    working: list[Item]


class Setting(BaseModel):
    """``value`` and ``default`` of a secret are only whether there is one."""

    name: str
    value: Any
    default: Any
    description: str
    secret: bool


class Shown(BaseModel):
    preset: str
    settings: list[Setting]


class Point(BaseModel):
    """One minute. Times of search are milliseconds, over all requests of that minute."""

    at: datetime
    requests: int
    errors: int
    writes: int
    searches: int
    search_p50: float
    search_p95: float


class Spent(BaseModel):
    """What the language model was asked today (UTC), by everybody; for those who may see it."""

    calls: int
    tokens: int


class Series(BaseModel):
    points: list[Point]
    spent: Spent


class Conversation(BaseModel):
    """``state``: absent, active, expired_unfinalized, interrupted or rotation_required. ``turns``: how many were finalised before
    this part of it. ``ended``: what its last end left behind."""

    id: str
    scope: list[str]
    state: str
    mode: str
    started_at: datetime | None
    last_active: datetime | None
    turns: int
    ended: dict[str, Any]


class Conversations(BaseModel):
    sessions: list[Conversation]


class Dead(BaseModel):
    id: str
    kind: str
    attempt: int
    error: str


class Task(Dead):
    """``due``: when it runs next."""

    state: str
    due: datetime
    created_at: datetime | None


class Work(BaseModel):
    """``jobs``: numbers of everybody's by kind and state; the rest: yours, and the server's own without their errors."""

    jobs: dict[str, dict[str, int]]
    lag_seconds: float
    dead: list[Dead]
    items: list[Task]


class Retried(BaseModel):
    retried: int


class Node(BaseModel):
    """``type``: memory, tag, topic or concept. The rest is a memory's."""

    id: str
    type: str
    label: str
    kind: Kind | None = None
    status: Status | None = None
    tier: Tier | None = None
    recorded_at: datetime | None = None
    importance: float | None = None


class Link(BaseModel):
    source: str
    target: str
    type: EdgeType
    weight: float
    count: int


class Graph(BaseModel):
    nodes: list[Node]
    edges: list[Link]
    more: bool


class Unread(BaseModel):
    line: int
    message: str


class Loaded(BaseModel):
    """``bad``: what could not be read, at most the first thousand; the rest was imported."""

    stored: int
    existing: int
    refused: int
    edges: int
    bad: list[Unread]
    scopes: dict[str, int]


class Event(BaseModel):
    """``actor``: a key's id, or local. ``owner``: whose memory, empty where it was nobody's. ``target``: the id of a memory.
    ``request``: the X-Request-Id of the answer."""

    at: datetime
    action: str
    actor: str
    owner: str
    target: str
    outcome: str
    request: str


class Trail(BaseModel):
    """``days``: those of which there is a log."""

    days: list[str]
    entries: list[Event]


def event(entry: Entry) -> Event:
    return Event.model_validate({name: getattr(entry, name) for name in Event.model_fields})


class Import(BaseModel):
    """``state``: receiving, waiting, running, failed (tried again, see the jobs) or done. ``received`` bytes of ``length`` (-1:
    not told and not whole yet); ``done`` pieces of ``total`` are imported; ``report``: what became of them, once it is done."""

    id: str
    scope: list[str]
    format: str
    name: str
    state: str
    length: int
    received: int
    done: int
    total: int
    error: str
    created_at: datetime
    report: Loaded | None


class Imports(BaseModel):
    imports: list[Import]


def upload(one: Upload, received: int) -> Import:
    report = None
    if one.report is not None:
        bad = [Unread(line=line, message=message) for line, message in one.report["bad"]]
        report = Loaded.model_validate({**one.report, "bad": bad})
    held = {name: getattr(one, name) for name in ("id", "format", "name", "state", "length", "done", "total", "error", "created_at")}
    return Import(**held, scope=list(Scope.parse(one.scope).labels), received=received, report=report)


def task(job: Job, error: str) -> Task:
    return Task(id=job.id, kind=job.kind, attempt=job.attempt, error=error, state=job.state, due=job.due, created_at=job.created_at)


def graph(nodes: Mapping[str, Record | None], edges: Sequence[Edge], more: bool) -> Graph:
    links = [Link(source=each.source, target=each.target, type=each.type, weight=round(each.weight, 6), count=each.count) for each in edges]
    return Graph(nodes=[_node(name, record) for name, record in nodes.items()], edges=links, more=more)


def _node(name: str, record: Record | None) -> Node:
    if record is None:
        sort, _, label = name.partition(":")
        return Node(id=name, type=sort if label else "memory", label=label or name)
    return Node(
        id=name,
        type="memory",
        label=record.text[:_LABEL],
        kind=record.kind,
        status=record.status,
        tier=record.tier,
        recorded_at=record.recorded_at,
        importance=round(record.importance, 6),
    )
