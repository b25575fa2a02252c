"""Topics: how memories are grouped by what they are about, and how a read goes by tiers and topics."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from engrams.settings.section import Section, Share


class TopicSettings(Section):
    """Groups of memories that are about the same; made off the path."""

    on: bool = Field(False, description="Group memories by what they are about.")
    join: Share = Field(0.7, ge=0, le=1, description="Cosine to a topic's centre from which a memory joins it (000).")
    most: int = Field(20, ge=2, description="Members beyond which a topic is split, if it falls apart (000).")
    split: Share = Field(0.75, ge=0, le=1, description="Cosine at which its parts are told apart then (000).")
    merge: Share = Field(0.93, ge=0, le=1, description="Cosine of two centres from which topics are one, when asked to merge (000).")
    concept: Share = Field(0.5, ge=0, le=1, description="Cosine of centres from which topics share a concept, when asked for concepts.")
    every: int = Field(50, ge=0, description="Searches after which topics are brought up to date (003); 0: only when asked.")
    tier: Literal["any", "longterm"] = Field("any", description="Which memories are grouped (000: longterm).")
    names: Literal["text", "model"] = Field("model", description="text: the first 80 characters (000). model: 2 to 4 words, if one is set.")
    tags: bool = Field(False, description="Give a topic's memories the word they share as a tag, if they share none (003).")


class RouteSettings(Section):
    """Where a read looks."""

    by: Literal["all", "tiers"] = Field("all", description="tiers: recent memories first, older ones by topic where those are few (000).")
    recent: int = Field(10, ge=1, description="Recent memories that are looked at (000).")
    enough: int = Field(6, ge=0, description="So many recent ones that are near are enough: topics are not searched (000).")
    near: Share = Field(0.6, ge=0, le=1, description="Cosine that is near, for `read.floors.model`; others: what their card calls related.")
    nodes: int = Field(6, ge=1, description="Topics looked into, and those linked with them (000).")
    rows: int = Field(2, ge=1, description="Memories taken from each (000).")
