"""Settings of sessions, their summaries and the tiers of memory."""

from __future__ import annotations

from typing import Literal, Self

from pydantic import Field, model_validator

from engrams.settings.section import SettingsSection, Share


class SessionSettings(SettingsSection):
    """Settings of conversations: idle time, extraction, ends."""

    trigger: Literal["auto", "turn", "quiet", "batch", "end", "manual"] = Field(
        "auto",
        description=(
            "When facts are extracted from a conversation. turn: after each turn. quiet: after"
            " `write.debounce_seconds`. batch: every `sessions.batch_turns`, when the topic"
            " changes and at the end. end: at the end. manual: on request. auto: turn with rules,"
            " quiet with a model."
        ),
    )
    batch_turns: int = Field(12, ge=1, description="batch: turns between two extractions.")
    min_chars: int = Field(200, ge=0, description="batch: fewest characters for an extraction.")
    topic_change_turns: int = Field(
        4, ge=1, description="batch: fewest turns before a change of topic counts."
    )
    idle_minutes: float = Field(
        20.0, gt=0, description="Minutes without a message after which a session ends."
    )
    sweep_seconds: float = Field(
        30.0, gt=0, description="Seconds between two checks for such sessions."
    )
    episodes: bool = Field(True, description="Store a short account of each session with content.")
    min_turns: int = Field(3, ge=1, description="Fewest substantive turns for an account.")
    episode_chars: int = Field(600, ge=40, description="Most characters of the account.")
    end_on_close: Literal["led", "all"] = Field(
        "led",
        description=(
            "Sessions that end when the engine closes. led: those that a caller began. all: also"
            " those that began with a turn."
        ),
    )
    shutdown_seconds: float = Field(
        10.0,
        ge=0,
        description=(
            "At close: most seconds for open requests, model calls and ends of sessions. The next"
            " start does the rest."
        ),
    )
    mode: Literal["local", "synced", "incognito"] = Field(
        "local",
        description=(
            "Place of the memory. local: on disk. synced: on disk, and a running server exchanges it"
            " with the person's other devices (`engrams sync`). incognito, also called guest: nowhere."
        ),
        json_schema_extra={"also": "guest"},
    )
    owner: Literal["person", "thread"] = Field(
        "person",
        description=(
            "Owner of the memory if a request names nobody. person: `user`, else the login name."
            " thread: the conversation."
        ),
    )
    recall: bool = Field(
        True, description="Recall facts for an owner who has not decided about it."
    )


class SummarySettings(SettingsSection):
    """Running summary of a prompt, rolling summary of a conversation."""

    enabled: bool = Field(
        False,
        description=(
            "Update a rolling summary of each conversation after a model has extracted facts from"
            " it."
        ),
    )
    max_tokens: int = Field(
        4000,
        ge=16,
        description="Most tokens of the messages in a prompt, with their summary.",
    )
    start_tokens: int = Field(
        0,
        ge=0,
        description="Tokens of messages from which they are summarised. 0: `summary.max_tokens`.",
    )
    tokens: int = Field(
        256, ge=1, description="Tokens of a summary; fewer than `summary.max_tokens`."
    )
    tool_characters: int = Field(
        20_000, ge=1, description="Characters of a tool's result that an emergency trim keeps."
    )

    @model_validator(mode="after")
    def _check_sizes(self) -> Self:
        if self.tokens >= self.max_tokens:
            raise ValueError("summary.tokens must be less than summary.max_tokens")
        return self


class TierSettings(SettingsSection):
    """The working, recent and long-term tier."""

    enabled: bool = Field(
        False,
        description=(
            "Put new messages into a working tier first. Off: they are recent at once and stay so."
        ),
    )
    working_size: int = Field(
        20, ge=1, le=10_000, description="Items in the working tier of a scope."
    )
    promote_importance: Share = Field(
        0.5,
        ge=0,
        le=1,
        description=("Least importance for an item that leaves the working tier to become recent."),
    )
    judge: bool = Field(
        True,
        description=("Let the chat model, if there is one, judge the importance of each item."),
    )
    condense: bool = Field(
        True,
        description=("Let the chat model write each item that becomes recent as one sentence."),
    )
    tail_turns: int = Field(
        5,
        ge=0,
        description=("Last turns of the conversation that are in every context, word by word."),
    )
    duplicate_cosine: Share = Field(
        0.92, ge=0, le=1, description="Cosine from which a text repeats a recent one. 0: never."
    )
    hot_size: int = Field(
        20, ge=0, description="Most memories in the hot buffer, which holds recently used ones."
    )
    hot_cosine: Share = Field(
        0.6, ge=0, le=1, description="Cosine from which a memory of the hot buffer answers a query."
    )
    recent_size: int = Field(
        40,
        ge=0,
        description=(
            "Most recent items of a scope. Beyond it, the oldest become long-term. 0: no cap."
        ),
    )
    check_turns: int = Field(
        20, ge=1, description="Turns of a scope after which its caps are checked."
    )
    sweep_seconds: float = Field(
        300.0,
        gt=0,
        description=("Seconds between two sweeps, which move cold items to the long-term tier."),
    )
    cold_decay: Share = Field(
        0.2,
        ge=0,
        le=1,
        description="A recent item is cold if exp(-age / `read.recency_days`) is lower.",
    )
    cold_minutes: float = Field(
        5.0, ge=0, description="Age in minutes up to which no item is cold."
    )
    pair_minutes: float = Field(
        10.0,
        ge=0,
        description="Most minutes between a user's turn and its answer.",
    )


class ScopeCapSettings(SettingsSection):
    """Largest numbers of memories in a scope.

    What is over is archived and can be restored; 0: no cap.
    """

    facts: int = Field(
        0,
        ge=0,
        description=(
            "Most facts, preferences and corrections of a scope. Beyond it, the least certain are"
            " archived. 0: no cap."
        ),
    )
    eviction: Literal["confidence", "hybrid"] = Field(
        "confidence",
        description=(
            "Order of removal. confidence: the least certain first. hybrid: by 0.65 confidence,"
            " 0.25 recency, 0.1 use, with room reserved for corrections."
        ),
    )
    rules: int = Field(
        0,
        ge=0,
        description=(
            "Most rules, procedures and prohibitions of a scope. Beyond it, the oldest are"
            " archived. 0: no cap."
        ),
    )
    entries: int = Field(
        0,
        description=(
            "Most turns and facts of a conversation. Beyond it, the oldest are forgotten. 0 or"
            " less: no cap."
        ),
    )
