"""Request and response bodies of the API under /api."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

from pydantic import BaseModel, Field, StrictBool

from engrams.core import Kind
from engrams.surfaces.http.rest.requests import RequestBody


class AgentChatRequest(RequestBody):
    message: str = Field(min_length=1)


class AgentExplainRequest(RequestBody):
    query: str = Field(min_length=1)


class AgentSeedFactsRequest(RequestBody):
    facts: list[Annotated[str, Field(min_length=1)]] = Field(min_length=1, max_length=1000)


class RecallSwitchRequest(RequestBody):
    enabled: StrictBool


class AgentServiceInfoResponse(BaseModel):
    embed_model: str
    llm_model: str
    agents: list[str]


class AgentTraceCandidateResponse(BaseModel):
    """Candidate of a read.

    ``dropped``: why it was not selected, "below_sim_threshold" where it was under the floor.

    ``sim``, ``recency`` and ``importance`` are 0..1; ``parts`` add up to ``score``.
    """

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


class AgentTraceResponse(BaseModel):
    query: str
    rows: list[AgentTraceCandidateResponse]
    abstain: bool
    notes: list[str]


class SkippedTextResponse(BaseModel):
    text: str
    reason: str


class AgentChatResponse(BaseModel):
    """Reply of the agent; ``skipped``: texts not stored as memory, with reasons."""

    reply: str
    trace: AgentTraceResponse
    skipped: list[SkippedTextResponse]


class InFlightJobCountResponse(BaseModel):
    in_flight: int


class TopicGraphNodeResponse(BaseModel):
    id: str
    label: str
    member_count: int
    concept: bool


class TopicGraphEdgeResponse(BaseModel):
    source: str
    target: str
    relation: str
    weight: float


class TopicGraphResponse(BaseModel):
    nodes: list[TopicGraphNodeResponse]
    edges: list[TopicGraphEdgeResponse]


class AgentMemoryCountsResponse(BaseModel):
    """Number of memories by tier.

    ``l0``: the working tier, ``l1``: recent, ``registry``: long term; ``hot``: cached in this
    process; ``kg``: size of the graph.
    """

    l0: int
    l1: int
    hot: int
    registry: int
    kg: dict[str, int]
    caps: dict[str, int]


class AllAgentsResponse(BaseModel):
    agents: dict[str, AgentMemoryCountsResponse]
    kg: TopicGraphResponse


class LongTermMemoryResponse(BaseModel):
    id: str
    kind: Kind
    content: str
    importance: float
    created_at: datetime
    last_accessed: datetime | None
    access_count: int
    nodes: list[str]


class LongTermMemoryListResponse(BaseModel):
    rows: list[LongTermMemoryResponse]


class AgentUpkeepCountsResponse(BaseModel):
    """Counts of finished work by name."""

    done: dict[str, int]


class MemoryResetResponse(BaseModel):
    wiped: int
    remaining: int


class LayerCountsResponse(BaseModel):
    """Active memories by layer; ``names``: the layers' display names."""

    counts: dict[str, int]
    names: dict[str, str]
    recall_enabled: bool


class NumberedMemoryResponse(BaseModel):
    """Memory with its number ``n`` in the list, from 1."""

    n: int
    id: str
    kind: Kind
    text: str
    recorded_at: datetime


class NumberedMemoryListResponse(BaseModel):
    items: list[NumberedMemoryResponse]


class RecallSwitchResponse(BaseModel):
    recall_enabled: bool


class ForgottenMemoryResponse(BaseModel):
    id: str
    text: str
