"""Settings of the write flow."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from engrams.settings.section import SettingsSection, Share


class ChangeDetectionSettings(SettingsSection):
    """The learned detector of changes, where rules reconcile."""

    enabled: bool = Field(
        True,
        description=(
            "Close or mark what a later message of the same speaker makes outdated, however it is"
            " said."
        ),
    )
    close_at: Share = Field(
        0.94, ge=0, le=1, description="Probability from which the older statement is superseded."
    )
    mark_at: Share = Field(
        0.33,
        ge=0,
        le=1,
        description=(
            "Probability from which the older statement is shown as possibly outdated, after the"
            " newer one."
        ),
    )


class WriteSettings(SettingsSection):
    """Settings of extraction, policy, deduplication and reconciliation."""

    gate: bool = Field(
        True, description="Keep small talk and noise from extraction. The journal keeps every turn."
    )
    min_words: int = Field(
        2, ge=0, description="Meaningful words below which nothing is extracted from a turn."
    )
    extract: Literal["off", "rules", "llm", "auto"] = Field(
        "auto",
        description="How facts are extracted. auto: llm where a chat model is set, else rules.",
    )
    roles: tuple[str, ...] = Field(("user",), description="Roles whose statements become memories.")
    reconcile: Literal["off", "rules", "llm", "auto"] = Field(
        "auto",
        description=(
            "How a new fact is compared with the known ones. auto: llm where a chat model is set,"
            " else rules."
        ),
    )
    policy: Literal["off", "rules", "llm", "auto"] = Field(
        "rules",
        description=(
            "How it is decided whether a candidate is stored, held or dropped. auto: llm where a"
            " chat model is set, else rules."
        ),
    )
    secrets: Literal["redact", "refuse", "off"] = Field(
        "redact", description="Treatment of API keys, passwords and tokens."
    )
    pii: Literal["allow", "redact", "refuse"] = Field(
        "allow", description="Treatment of personal data such as card numbers."
    )
    dedup_jaccard: Share = Field(
        0.85, ge=0, le=1, description="Token overlap from which two facts of one triple are one."
    )
    dedup_cosine: Share = Field(
        0.0,
        ge=0,
        le=1,
        description=(
            "Cosine from which two statements are one, if they also say the same: no number, name,"
            " negation or other word that decides differs. 0: words decide."
        ),
    )
    min_confidence: Share = Field(
        0.5, ge=0, le=1, description="Confidence below which a candidate is dropped."
    )
    hold_below: Share = Field(
        0.0,
        ge=0,
        le=1,
        description=(
            "Confidence below which a rule or preference, however unsure, waits until it is"
            " repeated in its session. 0: `write.min_confidence` alone decides."
        ),
    )
    questions: Literal["log", "recall"] = Field(
        "log",
        description=(
            "Messages of a user that only ask. log: kept, no read finds them; in tiers with their"
            " answers. recall: found."
        ),
    )
    batch_turns: int = Field(12, ge=1, description="Turns that a model extracts from together.")
    context_turns: int = Field(
        16,
        ge=0,
        le=100,
        description=(
            "Other turns of the conversation that a model is shown with them, only to understand"
            " them."
        ),
    )
    debounce_seconds: float = Field(
        180.0,
        ge=0,
        le=300,
        description=(
            "Seconds of quiet before a model extracts, so that talk at a person's pace is one call."
            " 0: none."
        ),
    )
    extraction_passes: int = Field(
        1,
        ge=1,
        le=2,
        description="2: a model is asked for facts and for rules apart, at the same time.",
    )
    reconcile_fallback: Literal["rules", "hold", "coexist"] = Field(
        "rules",
        description=(
            "When a model fails to reconcile. rules: rules decide. hold: the statement waits."
            " coexist: both are kept."
        ),
    )
    contradiction_cosine: Share = Field(
        0.0,
        ge=0,
        le=1,
        description=(
            "Cosine from which a model is shown the five nearest of the same category. 0: rules"
            " choose."
        ),
    )
    categories: tuple[str, ...] = Field(
        (), description="Categories that there are; another becomes that of its kind. Empty: any."
    )
    max_facts: int = Field(
        0, ge=0, description="Most statements learned from one message. 0: any number."
    )
    reach: Literal["owner", "conversation"] = Field(
        "owner",
        description=(
            "What a statement of a conversation may change. owner: whatever is known of its person"
            " or project. conversation: only what was learned in the same conversation."
        ),
    )
    infer_tags: bool = Field(
        False,
        description=(
            "Tag what is stored by the files, tools and fields that it names, and with a model's"
            " own tags."
        ),
    )
    ignore_root: str = Field(
        "",
        description=(
            "Folder whose .gitignore and .secretsignore name files that are never stored. Empty:"
            " the current folder."
        ),
    )
    changes: ChangeDetectionSettings = ChangeDetectionSettings()
