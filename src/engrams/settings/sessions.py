"""Sessions: when a conversation is over, when it is learned from, and what is left of it."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from engrams.settings.section import Section


class SessionSettings(Section):
    """Conversations with a beginning and an end."""

    trigger: Literal["auto", "turn", "quiet", "batch", "end", "manual"] = Field(
        "auto",
        description="When a conversation is learned from. turn: each turn. quiet: after write.debounce. batch: every so many turns, when "
        "the topic changes and at the end. end: at the end. manual: when asked. auto: turn by rules, quiet by a model.",
    )
    every: int = Field(12, ge=1, description="batch: turns after which it is learned from (003).")
    least: int = Field(200, ge=0, description="batch: characters below which it is not (003).")
    change: int = Field(4, ge=1, description="batch: turns there must be for a change of topic to count (003).")
    idle_minutes: float = Field(20.0, gt=0, description="Minutes without a word after which a session is over (004).")
    sweep_seconds: float = Field(30.0, gt=0, description="How often is looked for such (004).")
    episodes: bool = Field(True, description="Keep a short account of each session that had something in it.")
    substantive: int = Field(3, ge=1, description="Turns with something in them that make one worth an account (004).")
    summary: int = Field(600, ge=40, description="Most characters of the account (004).")
    shutdown_seconds: float = Field(10.0, ge=0, description="At close: time for models to answer and sessions begun here to end.")
    mode: Literal["local", "synced"] = Field("local", description="Where memory is kept; synced is the same today (004).")
    recall: bool = Field(True, description="Whether facts are recalled for an owner who never said (004: no).")
