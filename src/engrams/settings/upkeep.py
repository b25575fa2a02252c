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

    workers: int = Field(4, ge=0, le=64, description="Worker threads. 0: jobs run only on request.")
    processes: int = Field(
        1,
        ge=0,
        le=64,
        description=(
            "Processes that extract facts from a large import; one of them writes. 1: only this"
            " process. 0: one for each core if engrams runs as a program of its own, 1 in a"
            " program that uses the library."
        ),
    )
    max_attempts: int = Field(
        5,
        ge=1,
        description=("Attempts after which a job has failed and waits in the dead-letter list."),
    )
    max_queued: int = Field(
        1000, ge=1, description="Most waiting updates. Beyond it, `updates.add` refuses more."
    )
    backoff_seconds: float = Field(
        2.0, ge=0, description="Seconds before the first retry; doubles each time, up to an hour."
    )
    lease_seconds: float = Field(
        60.0,
        gt=0,
        description=(
            "Seconds until a dead worker's job is taken over. A live worker renews its lease."
        ),
    )
    poll_seconds: float = Field(
        1.0,
        gt=0,
        description="Seconds between two looks of an idle worker for jobs without a notice.",
    )
    owner_share: Share = Field(
        1.0,
        gt=0,
        le=1,
        description=(
            "Largest share of a process's workers that one owner's jobs may use. `engrams work`:"
            " 0.5. 1: no limit."
        ),
    )


class TopicSettings(SettingsSection):
    """Clusters of memories about one thing, made off the path."""

    enabled: bool = Field(False, description="Group memories into topics.")
    join_cosine: Share = Field(
        0.7, ge=0, le=1, description="Least cosine to a topic's centre for a memory to join it."
    )
    max_members: int = Field(
        20, ge=2, description="A topic with more members is split, if it has separate parts."
    )
    split_cosine: Share = Field(
        0.75,
        ge=0,
        le=1,
        description="Least cosine of two memories in the same part of a split topic.",
    )
    merge_cosine: Share = Field(
        0.93, ge=0, le=1, description="Cosine of two centres from which the topics are merged."
    )
    concept_cosine: Share = Field(
        0.5, ge=0, le=1, description="Cosine of centres from which topics share a concept."
    )
    refresh_searches: int = Field(
        50, ge=0, description="Searches after which topics are updated. 0: only on request."
    )
    tier: Literal["any", "longterm"] = Field(
        "any", description="Tier of the memories that are grouped."
    )
    names: Literal["text", "model"] = Field(
        "model",
        description=(
            "Labels. text: the first 80 characters. model: 2 to 4 words by the chat model, if one"
            " is set."
        ),
    )
    tags: bool = Field(
        False,
        description=(
            "Tag the memories of a topic with a word that they share, if they share no tag."
        ),
    )


class UpkeepSettings(SettingsSection):
    """Hours and budgets of work that may wait for them.

    What a person starts by hand (`engrams garden run`) starts at once.
    """

    jobs: tuple[UpkeepJob, ...] = Field(
        get_args(UpkeepJob),
        description=(
            "Kinds of work that keep to these hours and limits: dream, garden, review (of facts),"
            " summary (rolling summaries and short forms)."
        ),
    )
    hours: str = Field(
        "",
        pattern=rf"^({_SPAN}(, ?{_SPAN})*)?$",
        description=(
            "Hours of the day (UTC) for upkeep, such as 22:00-06:00. Separate several with"
            " commas. Empty: any."
        ),
    )
    daily_calls: int = Field(
        0,
        ge=0,
        description=(
            "Most calls of the chat model for upkeep in a day (UTC). 0: no limit of its own."
        ),
    )
    daily_tokens: int = Field(
        0,
        ge=0,
        description=(
            "Most tokens of the chat model for upkeep in a day (UTC). 0: no limit of its own."
        ),
    )
    quiet_seconds: float = Field(
        5.0,
        ge=0,
        description=(
            "Seconds that upkeep pauses after the same model has answered somebody. It always"
            " pauses while somebody waits."
        ),
    )


class UsageSettings(SettingsSection):
    """Learning from the use of memories, off the read path."""

    enabled: bool = Field(True, description="Count which memories searches return.")
    co_occurs_cosine: Share = Field(
        0.0,
        ge=0,
        le=1,
        description="Least cosine to link memories that are found together. 0: off.",
    )
    related_weight: Share = Field(
        0.0,
        ge=0,
        le=1,
        description="Weight of a new link between memories that helped together. 0: off.",
    )
    gaps: bool = Field(False, description="Store questions without a near memory.")


class ReviewSettings(SettingsSection):
    """Review of old facts by a chat model.

    Nothing is erased, and a review can be undone.
    """

    stale: bool = Field(
        False, description="Let the chat model decide which old facts are outdated."
    )
    merge: bool = Field(
        False, description="Let the chat model merge related facts of a large category."
    )
    confirm: bool = Field(False, description="Let a review wait until somebody applies its plan.")
    delay_hours: float = Field(
        24.0,
        gt=0,
        description="Hours from new facts of an owner to a review of the owner's facts.",
    )
    old_days: int = Field(90, ge=1, description="Age in days from which a fact is old.")
    min_old: int = Field(3, ge=1, description="Fewest old facts for a question to the model.")
    max_removed: int = Field(10, ge=1, description="Most facts archived in one review.")
    min_category: int = Field(8, ge=2, description="Fewest facts of a category for a merge.")
    max_merges: int = Field(3, ge=1, description="Most merged facts that a review makes.")
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
        description="Hours from new facts to the start of a cycle. 0: off.",
    )
    idle_minutes: float = Field(
        0.0, ge=0, description="Minutes without activity after which a cycle starts. 0: off."
    )
    trigger_memories: int = Field(
        0,
        ge=0,
        description="Active memories of an owner beyond which a cycle starts. 0: off.",
    )
    quiet_minutes: float = Field(
        5.0, ge=0, description="A cycle waits if somebody spoke within this many minutes."
    )
    confirm: bool = Field(
        False,
        description=("Let merges and archiving wait for `engrams garden run`. The other jobs run."),
    )
    conflicts: Literal["ask", "auto"] = Field(
        "ask",
        description=("ask: contradictions wait for a decision. auto: the newer statement wins."),
    )
    merge_cosine: Share = Field(
        0.95,
        ge=0,
        le=1,
        description="Cosine above which two statements about the same thing are merged.",
    )
    prune_confidence: Share = Field(
        0.05,
        ge=0,
        le=1,
        description="A memory that was said once is archived if its confidence is lower.",
    )
    prune_hours: float = Field(24.0, ge=0, description="Least age in hours of such a memory.")
    decay: bool = Field(
        False,
        description=(
            "Let age, use and trust lower this confidence for inferred memories, not for stated"
            " ones."
        ),
    )
    link_weight: Share = Field(
        0.6, ge=0, le=1, description="Weight of a link between memories of different sessions."
    )
    link_after_searches: int = Field(
        3,
        ge=1,
        description=("Searches that must return two memories together before their link grows."),
    )
    file_root: str = Field(
        "",
        description=(
            "Folder of the files on which facts may be based. Empty: files are not checked."
        ),
    )
    missing_file_factor: Share = Field(
        0.5,
        ge=0,
        le=1,
        description="Factor for a fact's confidence if its file is gone or has changed.",
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
        120.0, gt=0, description="Longest pause in minutes, also used if no limits are known."
    )
    pause_minutes: float = Field(
        30.0, gt=0, description="Pause in minutes if the model named none."
    )
