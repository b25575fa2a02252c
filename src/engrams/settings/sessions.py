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
            "When a conversation is learned from. turn: each turn. quiet: after"
            " `write.debounce_seconds`. batch: every `sessions.batch_turns`, when the topic changes"
            " and at the end. end: at the end. manual: when asked. auto: turn by rules, quiet by a"
            " model."
        ),
    )
    batch_turns: int = Field(
        12, ge=1, description="batch: turns after which a conversation is learned from."
    )
    min_chars: int = Field(200, ge=0, description="batch: characters below which it is not.")
    topic_change_turns: int = Field(
        4, ge=1, description="batch: turns there must be for a change of topic to count."
    )
    idle_minutes: float = Field(
        20.0, gt=0, description="Minutes without a message after which a session is over."
    )
    sweep_seconds: float = Field(
        30.0, gt=0, description="Seconds between two looks for such sessions."
    )
    episodes: bool = Field(
        True, description="Keep a short account of each session that had something in it."
    )
    min_turns: int = Field(
        3, ge=1, description="Substantive turns that make a session worth an account."
    )
    episode_chars: int = Field(600, ge=40, description="Most characters of the account.")
    end_on_close: Literal["led", "all"] = Field(
        "led",
        description=(
            "Sessions that end when the engine closes. led: those that a caller began. all: also"
            " those that turns began."
        ),
    )
    shutdown_seconds: float = Field(
        10.0,
        ge=0,
        description=(
            "At close: seconds for models and requests to be answered and for sessions to end. The"
            " rest is left to the next start."
        ),
    )
    mode: Literal["local", "synced"] = Field(
        "local",
        description=(
            "Where memory is kept. synced: as local, today. incognito, also called guest: nowhere."
        ),
        json_schema_extra={"also": "incognito guest"},
    )
    owner: Literal["person", "thread"] = Field(
        "person",
        description=(
            "Whose memory is meant where nobody is named. person: `user`, else the login. thread:"
            " the conversation's own."
        ),
    )
    recall: bool = Field(True, description="Recall facts for an owner who never decided about it.")


class SummarySettings(SettingsSection):
    """Running summary of a prompt, rolling summary of a conversation."""

    enabled: bool = Field(
        False,
        description="Update a rolling summary of each conversation after a model learned from it.",
    )
    max_tokens: int = Field(
        4000,
        ge=16,
        description="Tokens that the messages of a prompt may have, their summary included.",
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
        20_000, ge=1, description="Characters of a tool's result that an emergency trim leaves."
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
            "What is said enters a working tier first. Off: it is recent at once, and stays so."
        ),
    )
    working_size: int = Field(
        20, ge=1, le=10_000, description="Items in the working tier of a scope."
    )
    promote_importance: Share = Field(
        0.5, ge=0, le=1, description="Importance from which an item that leaves it becomes recent."
    )
    judge: bool = Field(
        True, description="Have the chat model, if there is one, judge the importance of each item."
    )
    condense: bool = Field(
        True, description="Have it put each item that becomes recent into a sentence."
    )
    tail_turns: int = Field(
        5,
        ge=0,
        description="Last turns of the conversation that stand in every context, word by word.",
    )
    duplicate_cosine: Share = Field(
        0.92, ge=0, le=1, description="Cosine from which a text repeats a recent one. 0: never."
    )
    hot_size: int = Field(20, ge=0, description="Memories in the hot buffer: those used lately.")
    hot_cosine: Share = Field(
        0.6, ge=0, le=1, description="Cosine from which one of them answers a query."
    )
    recent_size: int = Field(
        40,
        ge=0,
        description="Recent items of a scope beyond which the oldest become long-term. 0: no cap.",
    )
    check_turns: int = Field(
        20, ge=1, description="Turns of a scope after which its caps are checked."
    )
    sweep_seconds: float = Field(
        300.0, gt=0, description="Seconds between two sweeps of cold items to the long-term tier."
    )
    cold_decay: Share = Field(
        0.2,
        ge=0,
        le=1,
        description="exp(-age / `read.recency_days`) below which a recent item is cold.",
    )
    cold_minutes: float = Field(
        5.0, ge=0, description="Age in minutes below which nothing is cold."
    )
    pair_minutes: float = Field(
        10.0,
        ge=0,
        description="Minutes within which an answer belongs to the user's turn before it.",
    )


class ScopeCapSettings(SettingsSection):
    """Largest numbers of memories in a scope.

    What is over is archived and can be restored; 0: no cap.
    """

    facts: int = Field(
        0,
        ge=0,
        description="Facts, preferences and corrections of a scope; beyond, the least sure go.",
    )
    eviction: Literal["confidence", "hybrid"] = Field(
        "confidence",
        description=(
            "Which go first. hybrid: by 0.65 confidence, 0.25 recency, 0.1 use, with room kept for"
            " corrections."
        ),
    )
    rules: int = Field(
        0, ge=0, description="Rules, procedures and prohibitions of a scope; beyond, the oldest go."
    )
    entries: int = Field(
        0,
        description="Turns and facts of a conversation; beyond, the oldest go. 0 or less: no cap.",
    )
