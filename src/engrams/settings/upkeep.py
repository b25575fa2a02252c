"""Settings of background jobs and of the upkeep of memory."""

from __future__ import annotations

from typing import Literal, get_args

from pydantic import Field

from engrams.settings.section import SettingsSection, Share

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
"""Hours of a day, such as 22:00-06:30."""


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
        description=(
            "Let age, use and trust lower that confidence where a memory was inferred, not where it"
            " was stated."
        ),
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
