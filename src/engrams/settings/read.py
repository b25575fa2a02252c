"""Settings of searches and contexts."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from engrams.settings.section import SettingsSection, Share


class ScoreWeightSettings(SettingsSection):
    """Weights of the features in a score.

    The defaults are fitted (docs/concepts/recall.md).
    """

    dense: float = Field(3.3, description="Weight of the cosine of query and memory.")
    dense_window: float = Field(
        3.8, description="Weight of the cosine with the turns before it (weights 1, .7, .5)."
    )
    dense_next: float = Field(2.3, description="Weight of the cosine with the turn after it.")
    bm25: float = Field(
        1.0, description="Weight of BM25 over the memory, as a share of the best it could be."
    )
    bm25_window: float = Field(4.8, description="Weight of BM25 over it and the turns before it.")
    bm25_session: float = Field(3.6, description="Weight of BM25 over its whole session.")
    speaker: float = Field(2.05, description="Weight of: the person asked about said it.")
    date: float = Field(
        4.9, description="Weight of: it was said or happened in the time asked about."
    )
    slot: float = Field(
        2.0, description="Weight of: a fact taken from it is of the kind asked for."
    )
    identifier: float = Field(
        6.0,
        description="Weight of: it holds an identifier that the query names, as INC-48213 or 4711.",
    )
    question: float = Field(-0.8, description="Weight of: it is a question itself.")
    when: float = Field(1.9, description="Weight of: the query asks when, and it names a time.")
    length: float = Field(0.35, description="Weight of its length, capped at twenty words.")
    recency: float = Field(0.05, description="Weight of exp(-age / `read.recency_days`).")
    importance: float = Field(0.0, description="Weight of its importance.")
    confidence: float = Field(0.0, description="Weight of its confidence.")


class LinkExpansionSettings(SettingsSection):
    """Links between memories and their part in a score."""

    depth: int = Field(1, ge=0, le=3, description="Steps along links from the best hits. 0: none.")
    seeds: int = Field(10, ge=1, description="Number of the best hits to start from.")
    decay: Share = Field(0.7, ge=0, le=1, description="Share of the score that each step keeps.")
    vouch: bool = Field(
        False,
        description=(
            "A linked memory needs no floor of its own: it comes with the hit that leads to it."
        ),
    )
    bonus: Share = Field(
        0.1, ge=0, le=1, description="Share of a linked memory's cascade score added to its own."
    )


class RelevanceThresholdSettings(SettingsSection):
    """Least scores for a memory to count as found.

    0: any.
    """

    dense: Share = Field(0.0, ge=0, le=1, description="Least cosine.")
    lexical: Share = Field(0.0, ge=0, le=1, description="Least share of the words' weight.")
    recall: Share = Field(
        0.0,
        ge=0,
        le=1,
        description=(
            "Least share of the query's words, or two words that are 0.4 of the memory's; or a fact"
            " of the kind asked for."
        ),
    )


class TieredSearchSettings(SettingsSection):
    """Order in which tiers and topics are searched."""

    mode: Literal["all", "tiers"] = Field(
        "all",
        description=(
            "all: every memory in reach. tiers: recent ones first, older ones by topic where those"
            " are few."
        ),
    )
    recent_limit: int = Field(10, ge=1, description="Number of recent memories looked at.")
    enough_hits: int = Field(
        6,
        ge=0,
        description="Number of near recent memories that makes a search of topics needless.",
    )
    min_cosine: Share = Field(0.6, ge=0, le=1, description="Least cosine that is near.")
    topics: int = Field(
        6, ge=1, description="Number of topics looked into, and of those linked with them."
    )
    per_topic: int = Field(2, ge=1, description="Number of memories taken from each topic.")


class ReadSettings(SettingsSection):
    """Settings of search, scoring and contexts."""

    limit: int = Field(10, ge=0, description="Number of hits a search returns by default.")
    budget_seconds: float = Field(
        2.0,
        ge=0,
        description=(
            "Seconds after which a search begins no further stage: links, reranking and variety are"
            " left out. 0: none."
        ),
    )
    candidates: int = Field(
        400, ge=10, description="Number of candidates that a source gives in a large scope."
    )
    oversample: float = Field(
        1.5,
        ge=1,
        description="Candidates looked at for each hit wanted, besides `read.extra_candidates`.",
    )
    extra_candidates: int = Field(
        20, ge=0, description="Further candidates, to make up for hits that merge into one."
    )
    per_scope: bool = Field(
        False,
        description="Take that many candidates for each scope in reach, not for all together.",
    )
    exclude_kinds: tuple[str, ...] = Field(
        (), description="Kinds that are found only when asked for."
    )
    episodes: int = Field(0, ge=0, description="Most episodes among the hits. 0: no limit.")
    episode_days: float = Field(
        0.0, ge=0, description="Age in days from which episodes are not found. 0: none."
    )
    fusion: Literal["weighted", "sum", "rrf"] = Field(
        "weighted",
        description=(
            "weighted: weighted features, brought to 0..1. sum: the weighted sum as it is. rrf:"
            " reciprocal rank fusion."
        ),
    )
    bm25_scale: Literal["share", "saturated"] = Field(
        "share",
        description=(
            "share: of the best possible score. saturated: any shared word counts 0.3 at least."
        ),
    )
    rrf_k: float = Field(60.0, gt=0, description="Constant of reciprocal rank fusion.")
    weights: ScoreWeightSettings = ScoreWeightSettings()
    recency_days: float = Field(30.0, gt=0, description="tau of exp(-age / tau), in days.")
    longterm_days: float = Field(
        30.0,
        gt=0,
        description="tau of the long-term tier, in days, where `read.routing.mode` is tiers.",
    )
    recency_weight: Share = Field(
        0.0, ge=0, le=1, description="Share of recency in the final score, after reranking."
    )
    half_life_days: float = Field(
        0.0, ge=0, description="Days in which the score of an episode halves. 0: never."
    )
    access_boost: float = Field(
        0.0,
        ge=0,
        le=1,
        description="Added to the score of a memory used just now; fades within a day.",
    )
    routing: TieredSearchSettings = TieredSearchSettings()
    min_scores: RelevanceThresholdSettings = RelevanceThresholdSettings()
    cut_ratio: Share = Field(
        0.0, ge=0, le=1, description="Share of the best score below which hits are cut. 0: none."
    )
    cut_gap: Share = Field(
        0.0,
        ge=0,
        le=1,
        description="Ratio of two neighbours' scores below which the rest is cut. 0: none.",
    )
    triggers: int = Field(
        3,
        ge=0,
        le=50,
        description="Most rules that surface because the query names their trigger. 0: none.",
    )
    seasons: tuple[str, ...] = Field(
        (), description="Seasons it is now; memories tagged season:NAME are found only in theirs."
    )
    min_score: Share = Field(
        0.0,
        ge=0,
        le=1,
        description="Score below which nothing is returned; confidence does not count.",
    )
    abstain: Share | None = Field(
        None,
        ge=0,
        le=1,
        description=(
            "Nearness below which a read reports that nothing is near. None: as `engrams calibrate`"
            " chose, else the model's own."
        ),
    )
    least_need: Share = Field(
        0.45,
        ge=0,
        le=1,
        description=(
            "Probability that a prompt needs memory, below which nothing is put into it. 0: whatever"
            " is near is put in, however little it helps."
        ),
    )
    helpful_share: Share = Field(
        0.35,
        ge=0,
        le=1,
        description=(
            "Share of the best memory's probability of helping from which others are put into a"
            " prompt beside it."
        ),
    )
    mmr_lambda: Share = Field(
        1.0, ge=0, le=1, description="Weight of relevance against variety (MMR). 1: relevance only."
    )
    dedup_overlap: Share = Field(
        0.97, ge=0, le=1, description="Word overlap from which a later hit repeats an earlier one."
    )
    context_tokens: int = Field(2000, ge=0, description="Token budget of a context.")
    confidence_decay: bool = Field(
        False,
        description=(
            "Multiply the score of a statement by its confidence, decayed by age, use and trust:"
            " after floors, gap and limit, so that it orders hits and hides none."
        ),
    )
    profile_notes: bool = Field(
        False,
        description=(
            "Show in the profile what was stored as it is, where no fact was taken from it."
        ),
    )
    profile_order: Literal["believed", "ambient"] = Field(
        "believed",
        description=(
            "believed: corrections, rules, then by confidence. ambient: by age, use, kind, trust"
            " and strength."
        ),
    )
    profile: Literal["all", "user", "core", "rules"] = Field(
        "user",
        description=(
            "Facts in the profile. user: lasting facts about the user only. core: all of the"
            " owner's own, and MEMORY.md. rules: none beside a question."
        ),
    )
    context_limit: int = Field(
        40,
        ge=0,
        description="Most hits in a context, as far as its budget goes. 0: as `read.limit`.",
    )
    prefix_tokens: int = Field(
        600, ge=0, description="Tokens of that budget that the stable profile may use."
    )
    prefix_share: Share = Field(
        0.2,
        ge=0,
        le=1,
        description=(
            "Share of the budget that the profile may use beside a question; without one, all"
            " of it."
        ),
    )
    correction_tokens: int = Field(
        0, ge=0, description="Tokens of the profile kept for corrections."
    )
    overflow: Literal["skip", "stop"] = Field(
        "skip", description="What does not fit is passed over (skip), or ends the profile (stop)."
    )
    line_format: Literal["text", "role", "triple", "sections"] = Field(
        "text",
        description=(
            "Line of a context. text: under its day. role: [role] text, best first. triple:"
            " [category] Subject PREDICATE object. sections: numbered under Corrections, Facts,"
            " Preferences."
        ),
    )
    tokenizer: str = Field(
        "estimate", description="Token counter: estimate, or the name of a tiktoken encoding."
    )

    @property
    def most_in_context(self) -> int:
        """Most hits in a context where the caller names no limit."""
        return self.context_limit or self.limit


class DeliverySettings(SettingsSection):
    """Delivery of memories to a conversation, each once."""

    mode: Literal["sync", "pending"] = Field(
        "sync",
        description=(
            "sync: in the turn that asks. pending: found in the background, given at the next turn."
        ),
    )
    prefetch_ttl_seconds: float = Field(
        120.0, gt=0, description="Seconds after which what is pending is dropped."
    )
    shown_minutes: float = Field(
        0.0, ge=0, description="Minutes for which a memory is not shown to a conversation again."
    )
    topic_change_cosine: Share = Field(
        0.3, ge=0, le=1, description="Cosine to the turn before below which the topic changed."
    )
    catch_up: bool = Field(
        False, description="Give the first turn of a conversation the latest episode, however old."
    )

    @property
    def by_turn(self) -> bool:
        """Deliver by turn: late, each memory once, or with a catch-up."""
        return self.mode == "pending" or bool(self.shown_minutes) or self.catch_up
