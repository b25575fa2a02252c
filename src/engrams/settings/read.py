"""Settings of searches and contexts."""

from __future__ import annotations

from typing import Literal, TypeAlias

from pydantic import Field

from engrams.settings.section import SettingsSection, Share

KindName: TypeAlias = Literal[
    "turn",
    "exchange",
    "fact",
    "preference",
    "procedure",
    "correction",
    "negative",
    "rule",
    "episode",
    "summary",
    "note",
    "passage",
    "gap",
]


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
        1.0, description="Weight of BM25 over the memory, as a share of the best possible score."
    )
    bm25_window: float = Field(4.8, description="Weight of BM25 over it and the turns before it.")
    bm25_session: float = Field(3.6, description="Weight of BM25 over its whole session.")
    speaker: float = Field(2.05, description="Weight if the person in the query said it.")
    date: float = Field(
        4.9, description="Weight if it was said, or happened, at the time in the query."
    )
    slot: float = Field(2.0, description="Weight if a fact from it is of the requested kind.")
    identifier: float = Field(
        6.0,
        description=(
            "Weight if it contains an identifier of the query, such as INC-48213 or 4711."
        ),
    )
    question: float = Field(-0.8, description="Weight if it is a question.")
    when: float = Field(1.9, description="Weight if the query asks when, and it contains a time.")
    length: float = Field(0.35, description="Weight of its length, capped at twenty words.")
    recency: float = Field(0.05, description="Weight of exp(-age / `read.recency_days`).")
    importance: float = Field(0.0, description="Weight of its importance.")
    confidence: float = Field(0.0, description="Weight of its confidence.")


class LinkExpansionSettings(SettingsSection):
    """Links between memories and their part in a score."""

    depth: int = Field(1, ge=0, le=3, description="Steps along links from the best hits. 0: none.")
    seeds: int = Field(10, ge=1, description="Best hits from which links are followed.")
    decay: Share = Field(0.7, ge=0, le=1, description="Share of the score that each step keeps.")
    vouch: bool = Field(
        False,
        description=(
            "A linked memory needs no floor of its own: it comes with the hit that links to it."
        ),
    )
    bonus: Share = Field(
        0.1,
        ge=0,
        le=1,
        description=(
            "Share of a linked memory's score along the links that is added to its own score."
        ),
    )


class RelevanceThresholdSettings(SettingsSection):
    """Least scores for a memory to count as found.

    0: any.
    """

    dense: Share = Field(0.0, ge=0, le=1, description="Least cosine.")
    lexical: Share = Field(
        0.0, ge=0, le=1, description="Least share of the weight of the query's words."
    )
    recall: Share = Field(
        0.0,
        ge=0,
        le=1,
        description=(
            "Least share of the query's words. Also enough: two words that are 0.4 of the"
            " memory's words, or a fact of the requested kind."
        ),
    )


class TieredSearchSettings(SettingsSection):
    """Order in which tiers and topics are searched."""

    mode: Literal["all", "tiers"] = Field(
        "all",
        description=(
            "all: every memory in reach. tiers: recent memories first; if few of them are near,"
            " older ones by topic."
        ),
    )
    recent_limit: int = Field(10, ge=1, description="Recent memories that a search looks at.")
    enough_hits: int = Field(
        6,
        ge=0,
        description="Near recent memories from which a search looks at no topics.",
    )
    min_cosine: Share = Field(0.6, ge=0, le=1, description="Least cosine of a near memory.")
    topics: int = Field(
        6, ge=1, description="Most topics that a search looks at, and most topics linked to them."
    )
    per_topic: int = Field(2, ge=1, description="Memories taken from each topic.")


class ReadSettings(SettingsSection):
    """Settings of search, scoring and contexts."""

    limit: int = Field(10, ge=0, description="Number of hits a search returns by default.")
    budget_seconds: float = Field(
        2.0,
        ge=0,
        description=(
            "Seconds after which a search starts no further stage: links, reranking and diversity"
            " are left out. 0: no limit."
        ),
    )
    candidates: int = Field(400, ge=10, description="Candidates from each source in a large scope.")
    oversample: float = Field(
        1.5,
        ge=1,
        description="Candidates for each requested hit, besides `read.extra_candidates`.",
    )
    extra_candidates: int = Field(
        20, ge=0, description="Further candidates, because several may become one hit."
    )
    per_scope: bool = Field(
        False,
        description=(
            "Take this number of candidates for each scope in reach, not for all together."
        ),
    )
    exclude_kinds: tuple[KindName, ...] = Field(
        (), description="Kinds that a search returns only if it asks for them."
    )
    ended: Literal["mark", "hide"] = Field(
        "mark",
        description=(
            "Hits that a later statement ended. mark: they say so. hide: they are left out, unless"
            " the question is about the past."
        ),
    )
    episodes: int = Field(
        0,
        ge=0,
        description=(
            "Most episodes among the hits. A context has them besides its limit of hits. 0: no"
            " limit."
        ),
    )
    episode_days: float = Field(
        0.0, ge=0, description="Age in days from which episodes are not returned. 0: no limit."
    )
    fusion: Literal["weighted", "sum", "rrf"] = Field(
        "weighted",
        description=(
            "weighted: weighted sum, scaled to 0..1. sum: weighted sum, not scaled. rrf:"
            " reciprocal rank fusion."
        ),
    )
    bm25_scale: Literal["share", "saturated"] = Field(
        "share",
        description=(
            "share: share of the best possible score. saturated: any shared word counts at least"
            " 0.3."
        ),
    )
    rrf_k: float = Field(60.0, gt=0, description="Constant of reciprocal rank fusion.")
    weights: ScoreWeightSettings = ScoreWeightSettings()
    recency_days: float = Field(30.0, gt=0, description="tau of exp(-age / tau), in days.")
    longterm_days: float = Field(
        30.0,
        gt=0,
        description="tau of the long-term tier, in days, if `read.routing.mode` is tiers.",
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
        description=("Added to the score of a memory that was just used. It fades within a day."),
    )
    routing: TieredSearchSettings = TieredSearchSettings()
    min_scores: RelevanceThresholdSettings = RelevanceThresholdSettings()
    cut_ratio: Share = Field(
        0.0, ge=0, le=1, description="Hits below this share of the best score are cut. 0: none."
    )
    cut_gap: Share = Field(
        0.0,
        ge=0,
        le=1,
        description=(
            "If the ratio of a score to the score before it is lower, this hit and all later ones"
            " are cut. 0: none."
        ),
    )
    triggers: int = Field(
        3,
        ge=0,
        le=50,
        description=(
            "Most rules that are added because the query contains their trigger. 0: none."
        ),
    )
    seasons: tuple[str, ...] = Field(
        (),
        description=(
            "Current seasons. A memory with the tag season:NAME is found only in its season."
        ),
    )
    min_score: Share = Field(
        0.0,
        ge=0,
        le=1,
        description="Hits with a lower score are dropped. Confidence does not count.",
    )
    abstain: Share | None = Field(
        None,
        ge=0,
        le=1,
        description=(
            "A read with a lower nearness reports that nothing is near. None: the value that"
            " `engrams calibrate` chose, else the model's own."
        ),
    )
    least_need: Share = Field(
        0.45,
        ge=0,
        le=1,
        description=(
            "Least probability that a prompt needs memory. Below it, nothing is added to the"
            " prompt. 0: every near memory is added."
        ),
    )
    helpful_share: Share = Field(
        0.35,
        ge=0,
        le=1,
        description=(
            "A memory is added to a prompt if its probability of helping is at least this share"
            " of the best one's."
        ),
    )
    mmr_lambda: Share = Field(
        1.0,
        ge=0,
        le=1,
        description="Weight of relevance against diversity (MMR). 1: relevance only.",
    )
    dedup_overlap: Share = Field(
        0.97,
        ge=0,
        le=1,
        description="Word overlap from which a later hit is a repetition of an earlier one.",
    )
    context_tokens: int = Field(2000, ge=0, description="Token budget of a context.")
    confidence_decay: bool = Field(
        False,
        description=(
            "Multiply the score of a statement by its confidence, decayed by age, use and trust."
            " Floors, gap and limit come first, so this orders hits and hides none."
        ),
    )
    profile_notes: bool = Field(
        False,
        description="Add stored texts to the profile if no fact was extracted from them.",
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
            "Facts in the profile. all: every fact in reach. user: facts that bear on most"
            " requests: the user's name, home, family, work, health and language, and the"
            " project. core: all of the owner's own scope, and MEMORY.md. rules: no facts beside a"
            " question."
        ),
    )
    context_limit: int = Field(
        40,
        ge=0,
        description="Most hits in a context, within its budget. 0: as `read.limit`.",
    )
    prefix_tokens: int = Field(
        600, ge=0, description="Most tokens of this budget for the stable profile."
    )
    prefix_share: Share = Field(
        0.2,
        ge=0,
        le=1,
        description=(
            "Share of the budget for the profile beside a question; of a small budget 100 tokens or"
            " half of it, whichever is less. Without a question, the profile may use all of it."
            " 0: no profile beside a question."
        ),
    )
    correction_tokens: int = Field(
        0, ge=0, description="Tokens of the profile that are reserved for corrections."
    )
    overflow: Literal["skip", "stop"] = Field(
        "skip",
        description=("If an entry does not fit. skip: go on with the next. stop: end the profile."),
    )
    line_format: Literal["text", "role", "triple", "sections"] = Field(
        "text",
        description=(
            "Format of a memory in a context. text: under its day. role: [role] text, best first."
            " triple: [category] Subject PREDICATE object. sections: numbered under Corrections,"
            " Facts, Preferences."
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
            "sync: the context of a turn comes with the turn. pending: it is computed in the"
            " background and comes with the next turn."
        ),
    )
    prefetch_ttl_seconds: float = Field(
        120.0, gt=0, description="Seconds after which a pending context is dropped."
    )
    shown_minutes: float = Field(
        0.0,
        ge=0,
        description=("Minutes for which a memory is not shown to the same conversation again."),
    )
    topic_change_cosine: Share = Field(
        0.3,
        ge=0,
        le=1,
        description=(
            "Cosine to each of the latest turns below which the topic has changed, unless they share"
            " words. Where the embedder does not know the language, words decide alone."
        ),
    )
    catch_up: bool = Field(
        False,
        description=(
            "Add the latest episode to the first turn of a conversation, however old it is."
        ),
    )

    @property
    def by_turn(self) -> bool:
        """Deliver by turn: late, each memory once, or with a catch-up."""
        return self.mode == "pending" or bool(self.shown_minutes) or self.catch_up
