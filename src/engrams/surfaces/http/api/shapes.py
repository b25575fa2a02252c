"""Bodies in and out."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any

from pydantic import BaseModel, Field, StrictBool

from engrams.surfaces.http.rest.requests import Body
from engrams.types import Kind


class Message(Body):
    message: str = Field(min_length=1)


class Question(Body):
    query: str = Field(min_length=1)


class Facts(Body):
    facts: list[Annotated[str, Field(min_length=1)]] = Field(min_length=1, max_length=1000)


class Recall(Body):
    enabled: StrictBool


class Meta(BaseModel):
    embed_model: str
    llm_model: str
    agents: list[str]


class Row(BaseModel):
    """One candidate. ``sim``, ``recency`` and ``importance`` are 0..1; ``dropped``: why it was not selected."""

    id: str
    text: str
    tier: str
    sim: float
    recency: float
    importance: float
    score: float
    selected: bool
    dropped: str


class Trace(BaseModel):
    query: str
    rows: list[Row]
    abstain: bool
    notes: list[str]


class Skipped(BaseModel):
    text: str
    reason: str


class Replied(BaseModel):
    """``skipped``: what of the exchange was not taken for memory, and why; the journal keeps all of it."""

    reply: str
    trace: Trace
    skipped: list[Skipped]


class Flight(BaseModel):
    in_flight: int


class Node(BaseModel):
    id: str
    label: str
    member_count: int
    concept: bool


class Edge(BaseModel):
    source: str
    target: str
    relation: str
    weight: float


class Graph(BaseModel):
    nodes: list[Node]
    edges: list[Edge]


class State(BaseModel):
    """``l0``: the working tier, ``l1``: recent, ``registry``: long term; ``hot``: at hand in this process; ``kg``: numbers."""

    l0: int
    l1: int
    hot: int
    registry: int
    kg: dict[str, int]
    caps: dict[str, int]


class States(BaseModel):
    agents: dict[str, State]
    kg: Graph


class Entry(BaseModel):
    id: str
    kind: Kind
    content: str
    importance: float
    created_at: datetime
    last_accessed: datetime | None
    access_count: int
    nodes: list[str]


class Registry(BaseModel):
    rows: list[Entry]


class Done(BaseModel):
    """What was done, in numbers."""

    done: dict[str, int]


class Wiped(BaseModel):
    wiped: int
    remaining: int


class Status(BaseModel):
    """``counts``: active memories by layer. ``names``: what people are shown for a layer."""

    counts: dict[str, int]
    names: dict[str, str]
    recall_enabled: bool


class Numbered(BaseModel):
    """``n``: its number in this list, from 1, as DELETE takes it."""

    n: int
    id: str
    kind: Kind
    text: str
    recorded_at: datetime


class Listed(BaseModel):
    items: list[Numbered]


class Toggled(BaseModel):
    recall_enabled: bool


class Gone(BaseModel):
    id: str
    text: str


Anything = dict[str, Any]
