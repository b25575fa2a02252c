"""Settings of sessions, tiers, topics and the jobs that tend memory."""

from __future__ import annotations

from typing import Literal, Self, get_args

from pydantic import Field, model_validator

from engrams.settings.core import SettingsSection, Share

Job = Literal[
    "sessions",
    "embed",
    "verify",
    "merge",
    "conflicts",
    "prune",
    "links",
    "strengthen",
    "topics",
    "tags",
    "agent",
]
JOBS: tuple[Job, ...] = get_args(Job)
"""The jobs of a garden cycle, in their order."""
UpkeepJob = Literal["dream", "garden", "review", "summary"]
_SPAN = r"([01]\d|2[0-3]):[0-5]\d-([01]\d|2[0-3]):[0-5]\d"


class JobSettings(SettingsSection):
    """Settings of background jobs: workers, retries, leases."""

    workers: int = Field(4, ge=0, le=64, description="Worker threads. 0: jobs run only when asked.")
    processes: int = Field(
        1,
        ge=0,
        le=64,
        description=(
            "Processes that learn from a large import; one of them writes. 1: no others are"
            " started. 0: as many as there are cores where engrams is a program of its own, 1 in a"
            " program that uses the library."
        ),
    )
    max_attempts: int = Field(
        5, ge=1, description="Attempts after which a job waits in the dead-letter list."
    )
    max_queued: int = Field(
        1000, ge=1, description="Updates that may wait before `updates.add` refuses more."
    )
    backoff_seconds: float = Field(
        2.0, ge=0, description="Seconds before the first retry; doubles each time, up to an hour."
    )
    lease_seconds: float = Field(
        60.0,
        gt=0,
        description="Seconds after which a dead worker's job is taken over; a living one renews.",
    )
    poll_seconds: float = Field(
        1.0,
        gt=0,
        description="Seconds after which idle workers look for jobs that nobody told them of.",
    )
    owner_share: Share = Field(
        1.0,
        gt=0,
        le=1,
        description=(
            "Largest part of a process's workers that one owner's jobs may hold; `engrams work`:"
            " 0.5. 1: no limit."
        ),
    )


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


class TopicSettings(SettingsSection):
    """Clusters of memories about one thing, made off the path."""

    enabled: bool = Field(False, description="Group memories into topics.")
    join_cosine: Share = Field(
        0.7, ge=0, le=1, description="Cosine to a topic's centre from which a memory joins it."
    )
    max_members: int = Field(
        20, ge=2, description="Members beyond which a topic is split, if it falls apart."
    )
    split_cosine: Share = Field(
        0.75, ge=0, le=1, description="Cosine at which its parts are told apart then."
    )
    merge_cosine: Share = Field(
        0.93, ge=0, le=1, description="Cosine of two centres from which two topics are one."
    )
    concept_cosine: Share = Field(
        0.5, ge=0, le=1, description="Cosine of centres from which topics share a concept."
    )
    refresh_searches: int = Field(
        50, ge=0, description="Searches after which topics are updated. 0: only when asked."
    )
    tier: Literal["any", "longterm"] = Field("any", description="Memories that are grouped.")
    names: Literal["text", "model"] = Field(
        "model",
        description=(
            "Labels. text: the first 80 characters. model: 2 to 4 words by the chat model, if one"
            " is set."
        ),
    )
    tags: bool = Field(
        False, description="Tag a topic's memories with the word they share, if they share no tag."
    )


class UpkeepSettings(SettingsSection):
    """Hours and budgets of work that may wait for them.

    What a person starts by hand (`engrams garden run`) starts at once.
    """

    jobs: tuple[UpkeepJob, ...] = Field(
        get_args(UpkeepJob),
        description=(
            "Work that keeps to them, of: dream, garden, review (of facts), summary (rolling"
            " summaries and short forms)."
        ),
    )
    hours: str = Field(
        "",
        pattern=rf"^({_SPAN}(, ?{_SPAN})*)?$",
        description=(
            "Hours of the day (UTC) in which it runs, such as 22:00-06:00, with commas between"
            " several. Empty: any."
        ),
    )
    daily_calls: int = Field(
        0,
        ge=0,
        description=(
            "Most calls of the chat model that it makes a day (UTC). 0: no limit of its own."
        ),
    )
    daily_tokens: int = Field(
        0,
        ge=0,
        description=(
            "Most tokens of the chat model that it uses a day (UTC). 0: no limit of its own."
        ),
    )
    quiet_seconds: float = Field(
        5.0,
        ge=0,
        description=(
            "Seconds that it pauses after somebody got an answer of the same model; it always does"
            " before."
        ),
    )


class UsageSettings(SettingsSection):
    """Learning from the use of memories, off the read path."""

    enabled: bool = Field(True, description="Count the use of what a search returned.")
    co_occurs_cosine: Share = Field(
        0.0,
        ge=0,
        le=1,
        description="Cosine from which memories found together are linked. 0: none are.",
    )
    related_weight: Share = Field(
        0.0,
        ge=0,
        le=1,
        description="Weight of a new link between memories that helped together. 0: none.",
    )
    gaps: bool = Field(False, description="Record questions for which nothing was near.")


class ReviewSettings(SettingsSection):
    """Review of old facts by a chat model.

    Nothing is erased, and a review can be undone.
    """

    stale: bool = Field(
        False, description="Let the chat model say which old facts are out of date."
    )
    merge: bool = Field(False, description="Let it merge related facts of a large category.")
    confirm: bool = Field(False, description="A review waits until somebody applies its plan.")
    delay_hours: float = Field(
        24.0,
        gt=0,
        description="Hours after something was learned until an owner's facts are reviewed.",
    )
    old_days: int = Field(90, ge=1, description="Age in days from which a fact is old.")
    min_old: int = Field(3, ge=1, description="Fewest old facts to ask about.")
    max_removed: int = Field(10, ge=1, description="Most facts archived in one review.")
    min_category: int = Field(
        8, ge=2, description="Fewest facts of a category for some of them to be merged."
    )
    max_merges: int = Field(3, ge=1, description="Most merged facts a review makes.")
    max_sources: int = Field(8, ge=2, description="Most facts that go into a merged one.")


class GardenSettings(SettingsSection):
    """Upkeep of an owner's whole memory, off the path.

    Nothing is erased, and the last cycles can be undone.
    """

    enabled: bool = Field(
        False, description="Start cycles automatically. `engrams garden run` works without."
    )
    jobs: tuple[Job, ...] = Field(JOBS, description=f"Jobs of a cycle, of: {', '.join(JOBS)}.")
    trigger_hours: float = Field(
        24.0,
        ge=0,
        description="Hours after something was learned until a cycle starts. 0: never for that.",
    )
    idle_minutes: float = Field(
        0.0, ge=0, description="Minutes of quiet after which one starts. 0: never for that."
    )
    trigger_memories: int = Field(
        0,
        ge=0,
        description="Active memories of an owner beyond which one starts. 0: never for that.",
    )
    quiet_minutes: float = Field(
        5.0, ge=0, description="A cycle waits while somebody spoke within this many minutes."
    )
    confirm: bool = Field(
        False, description="Merges and archiving wait for `engrams garden run`; the rest is done."
    )
    conflicts: Literal["ask", "auto"] = Field(
        "ask",
        description="ask: contradictions wait for a decision. auto: the newer statement holds.",
    )
    merge_cosine: Share = Field(
        0.95, ge=0, le=1, description="Cosine above which two statements of the same are merged."
    )
    prune_confidence: Share = Field(
        0.05, ge=0, le=1, description="Confidence below which a memory said only once is archived."
    )
    prune_hours: float = Field(24.0, ge=0, description="Age in hours from which it may be.")
    decay: bool = Field(
        False,
        description="Let age, use and trust lower that confidence, each kind at its own pace.",
    )
    link_weight: Share = Field(
        0.6, ge=0, le=1, description="Weight of a link between memories of different sessions."
    )
    link_after_searches: int = Field(
        3, ge=1, description="Searches that found two memories together until their link grows."
    )
    file_root: str = Field(
        "", description="Folder of the files that facts may rest on. Empty: files are not checked."
    )
    missing_file_factor: Share = Field(
        0.5,
        ge=0,
        le=1,
        description="Factor on a fact's confidence when its file is gone or has changed.",
    )
    max_changes: int = Field(200, ge=1, description="Most changes of one job in one cycle.")
    model_steps: int = Field(6, ge=1, description="Most answers of the chat model in one cycle.")
    model_tokens: int = Field(
        10_000, ge=0, description="Most tokens of the chat model in one cycle. 0: no model."
    )
    budget_share: Share = Field(
        0.2, ge=0, le=1, description="Share of the day's remaining tokens that a cycle may use."
    )
    min_pause_minutes: float = Field(
        5.0, gt=0, description="Shortest pause in minutes that the model may ask for."
    )
    max_pause_minutes: float = Field(
        120.0, gt=0, description="Longest pause in minutes, and the one where no limits are known."
    )
    pause_minutes: float = Field(
        30.0, gt=0, description="Pause in minutes where the model named none."
    )
