"""Request and response bodies of the API under /api."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

from pydantic import BaseModel, Field, StrictBool

from engrams.core import Kind, Status
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
    """Candidate of a read."""

    id: str
    text: str
    tier: str
    sim: float = Field(description="Similarity to the query, 0..1.")
    recency: float = Field(description="0..1.")
    importance: float = Field(description="0..1.")
    score: float
    selected: bool
    dropped: str = Field(
        description='Why it was not selected: "below_sim_threshold" where it was under the floor.'
    )
    parts: dict[str, float] = Field(description="They add up to the score.")
    status: Status
    ended: str = Field(
        description="By which words it is over, or may be. Empty: it holds, or was not selected."
    )


class AgentTraceResponse(BaseModel):
    query: str
    min_sim: float = Field(
        description="Least `sim` of a selected memory, as converted for the embedder in use."
    )
    rows: list[AgentTraceCandidateResponse]
    abstain: bool
    notes: list[str]


class SkippedTextResponse(BaseModel):
    text: str
    reason: str


class AgentChatResponse(BaseModel):
    """Reply of the agent."""

    reply: str
    trace: AgentTraceResponse
    skipped: list[SkippedTextResponse] = Field(
        description="Texts that were not stored as memory, with reasons."
    )


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
    """Number of memories by tier."""

    l0: int = Field(description="Working tier.")
    l1: int = Field(description="Recent tier.")
    hot: int = Field(description="Cached in this process.")
    registry: int = Field(description="Long-term tier.")
    kg: dict[str, int] = Field(description="Size of the graph.")
    caps: dict[str, int]


class LongTermMemoryResponse(BaseModel):
    id: str
    kind: Kind
    content: str
    importance: float
    created_at: datetime
    last_accessed: datetime | None
    access_count: int
    nodes: list[str]


class AgentTierItemResponse(BaseModel):
    """Memory in the working tier or the hot buffer."""

    id: str
    source: str = Field(
        description=(
            "user and agent: said here. promoted_l1 and promoted_l2: a copy of a recalled memory."
            " hot: recalled lately."
        )
    )
    content: str
    importance: float


class AgentTierContentsResponse(BaseModel):
    """Memories in each tier; of l1 and the registry the newest."""

    l0: list[AgentTierItemResponse] = Field(description="Working tier, oldest first.")
    l1: list[LongTermMemoryResponse] = Field(description="Recent tier.")
    hot: list[AgentTierItemResponse] = Field(description="Cached here, least used first.")
    registry: list[LongTermMemoryResponse] = Field(description="Long-term tier.")


class AllAgentsResponse(BaseModel):
    agents: dict[str, AgentMemoryCountsResponse]
    tiers: dict[str, AgentTierContentsResponse]
    kg: TopicGraphResponse


class LongTermMemoryListResponse(BaseModel):
    rows: list[LongTermMemoryResponse]


class AgentUpkeepCountsResponse(BaseModel):
    """Counts of finished work by name."""

    done: dict[str, int]


class MemoryResetResponse(BaseModel):
    wiped: int
    remaining: int


class LayerCountsResponse(BaseModel):
    """Active memories by layer."""

    counts: dict[str, int]
    names: dict[str, str] = Field(description="Display names of the layers.")
    recall_enabled: bool


class NumberedMemoryResponse(BaseModel):
    """Memory with its number in the list."""

    n: int = Field(description="From 1.")
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
