"""Request and response bodies of the API under /api."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

from pydantic import BaseModel, Field, StrictBool

from engrams.surfaces.http.rest.requests import RequestBody
from engrams.types import Kind


class AgentMessage(RequestBody):
    message: str = Field(min_length=1)


class AgentQuestion(RequestBody):
    query: str = Field(min_length=1)


class AgentFacts(RequestBody):
    facts: list[Annotated[str, Field(min_length=1)]] = Field(min_length=1, max_length=1000)


class RecallSwitchRequest(RequestBody):
    enabled: StrictBool


class AgentServiceInfo(BaseModel):
    embed_model: str
    llm_model: str
    agents: list[str]


class RetrievalTraceRow(BaseModel):
    """Candidate of a read; ``dropped`` says why it was not selected.

    ``sim``, ``recency`` and ``importance`` are 0..1; ``parts`` add up to ``score``."""

    id: str
    text: str
    tier: str
    sim: float
    recency: float
    importance: float
    score: float
    selected: bool
    dropped: str
    parts: dict[str, float]


class RetrievalTrace(BaseModel):
    query: str
    rows: list[RetrievalTraceRow]
    abstain: bool
    notes: list[str]


class SkippedText(BaseModel):
    text: str
    reason: str


class AgentReply(BaseModel):
    """Reply of the agent; ``skipped``: texts not stored as memory, with reasons."""

    reply: str
    trace: RetrievalTrace
    skipped: list[SkippedText]


class JobsInFlight(BaseModel):
    in_flight: int


class TopicGraphNode(BaseModel):
    id: str
    label: str
    member_count: int
    concept: bool


class TopicGraphEdge(BaseModel):
    source: str
    target: str
    relation: str
    weight: float


class TopicGraph(BaseModel):
    nodes: list[TopicGraphNode]
    edges: list[TopicGraphEdge]


class AgentMemoryCounts(BaseModel):
    """Number of memories by tier.

    ``l0``: the working tier, ``l1``: recent, ``registry``: long term; ``hot``: cached in this process; ``kg``: size of the graph."""

    l0: int
    l1: int
    hot: int
    registry: int
    kg: dict[str, int]
    caps: dict[str, int]


class AgentOverview(BaseModel):
    agents: dict[str, AgentMemoryCounts]
    kg: TopicGraph


class LongTermMemoryItem(BaseModel):
    id: str
    kind: Kind
    content: str
    importance: float
    created_at: datetime
    last_accessed: datetime | None
    access_count: int
    nodes: list[str]


class LongTermMemoryList(BaseModel):
    rows: list[LongTermMemoryItem]


class AgentJobResult(BaseModel):
    """Counts of finished work by name."""

    done: dict[str, int]


class ResetResult(BaseModel):
    wiped: int
    remaining: int


class MemoryStatusResponse(BaseModel):
    """Active memories by layer; ``names``: the layers' display names."""

    counts: dict[str, int]
    names: dict[str, str]
    recall_enabled: bool


class NumberedMemory(BaseModel):
    """Memory with its number ``n`` in the list, from 1."""

    n: int
    id: str
    kind: Kind
    text: str
    recorded_at: datetime


class NumberedList(BaseModel):
    items: list[NumberedMemory]


class RecallAnswer(BaseModel):
    recall_enabled: bool


class ForgottenMemory(BaseModel):
    id: str
    text: str
