"""Tiers: what is at hand, what is recent, what is for the long term, and how much of each there may be."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from engrams.settings.section import Section, Share


class TierSettings(Section):
    """The way of what was said, from the working tier down (000), and caps on what is kept in reach."""

    on: bool = Field(False, description="What is said enters a working tier first; off: it is recent at once, and stays so.")
    working: int = Field(20, ge=1, le=10_000, description="Items of the working tier, a scope (000).")
    promote: Share = Field(0.5, ge=0, le=1, description="Importance from which an item that leaves it becomes recent (000).")
    judge: bool = Field(True, description="Have the chat model, if there is one, judge each item's importance (000).")
    condense: bool = Field(True, description="Have it put each item that becomes recent into a sentence (000).")
    tail: int = Field(5, ge=0, description="Last items of the conversation that are in every context, word by word (000).")
    duplicate: Share = Field(
        0.92, ge=0, le=1, description="Cosine from which a text repeats a recent one (000), for `read.floors.model`; 0: never."
    )
    hot: int = Field(20, ge=0, description="Memories kept at hand because they were used lately (000).")
    near: Share = Field(0.6, ge=0, le=1, description="Cosine from which one at hand answers a query (000), for `read.floors.model`.")
    recent: int = Field(40, ge=0, description="Recent items of a scope beyond which the oldest go to the long term (000); 0: no cap.")
    every: int = Field(20, ge=1, description="Turns of a scope after which caps are looked at (000).")
    sweep_seconds: float = Field(300.0, gt=0, description="How often what went cold is swept to the long term (000).")
    cold: Share = Field(0.2, ge=0, le=1, description="exp(-age/tau), tau `read.recency_days`, below which a recent item is cold (000).")
    cold_minutes: float = Field(5.0, ge=0, description="Age in minutes below which nothing is cold (000).")
    pair_minutes: float = Field(10.0, ge=0, description="Minutes within which an answer belongs to what the user said.")


class CapSettings(Section):
    """How much stays in reach of a scope. What is over is put away and can be brought back; 0: no cap."""

    facts: int = Field(0, ge=0, description="Facts, preferences and corrections of a scope (001: 500); beyond, the least sure go.")
    evict: Literal["confidence", "hybrid"] = Field(
        "confidence", description="hybrid: 0.65 confidence, 0.25 recency, 0.1 use, and room kept for corrections (001)."
    )
    rules: int = Field(0, ge=0, description="Rules, procedures and prohibitions of a scope (004: 20); beyond, the oldest go.")
    entries: int = Field(0, description="Turns and facts of a conversation (002: 500); beyond, the oldest go. 0 or less: no cap.")
