"""Settings of the write flow."""

from __future__ import annotations

from typing import Annotated, Literal, TypeAlias, get_args

from pydantic import BeforeValidator, Field, field_validator

from engrams.settings.section import SettingsSection, Share

RoleName: TypeAlias = Literal["user", "assistant", "system", "tool"]
Treatment: TypeAlias = Literal["redact", "refuse", "allow"]
SecretKind: TypeAlias = Literal[
    "key", "password", "pin", "code", "private-key", "seed", "cookie", "hash", "licence"
]
"""Kinds of secrets. ``key``: keys and tokens of services; ``code``: of one use, or of a card."""
IdentifierKind: TypeAlias = Literal["card", "iban", "email", "phone", "ip", "ssn", "passport"]
_SECRET_KINDS: tuple[str, ...] = get_args(SecretKind)
_KINDS = (*_SECRET_KINDS, *get_args(IdentifierKind))


def _rename_off(value: object) -> object:
    return "allow" if value == "off" else value


class ChangeDetectionSettings(SettingsSection):
    """The learned detector of changes, where rules reconcile."""

    enabled: bool = Field(
        True,
        description=(
            "Detect that a later message of the same speaker ends an earlier one, in any words."
        ),
    )
    close_at: Share = Field(
        0.94, ge=0, le=1, description="Probability from which the older statement is superseded."
    )
    close_fact_at: Share = Field(
        0.55,
        ge=0,
        le=1,
        description=(
            "Probability from which a fact is superseded whose words are the clause that ends, where"
            " the news gives another value or says that it is over; one of health only from close_at on."
        ),
    )
    mark_at: Share = Field(
        0.33,
        ge=0,
        le=1,
        description=(
            "Probability from which the older statement is marked as possibly outdated and comes"
            " after the newer one."
        ),
    )


class WriteSettings(SettingsSection):
    """Settings of extraction, policy, deduplication and reconciliation."""

    gate: bool = Field(
        True, description="Keep small talk and noise from extraction. The journal keeps every turn."
    )
    min_words: int = Field(
        2,
        ge=0,
        description=(
            "Fewest meaningful words that a message must have: no facts are extracted from a shorter"
            " one, and what an edit or a forget leaves of a message is kept only with so many, and"
            ' at least one. Words such as "the" and "is" do not count; "I" and "my" together count'
            " as one."
        ),
    )
    extract: Literal["off", "rules", "llm", "auto"] = Field(
        "auto",
        description=(
            "How facts are extracted. auto: by llm if a chat model is set, else by rules."
        ),
    )
    roles: tuple[RoleName, ...] = Field(
        ("user",), description="Roles whose statements become memories."
    )
    reconcile: Literal["off", "rules", "llm", "auto"] = Field(
        "auto",
        description=(
            "How a new fact is compared with the known ones. auto: by llm if a chat model is set,"
            " else by rules."
        ),
    )
    policy: Literal["off", "rules", "llm", "auto"] = Field(
        "rules",
        description=(
            "How a candidate is stored, held or dropped. auto: decided by llm if a chat model is"
            " set, else by rules."
        ),
    )
    secrets: Annotated[Treatment, BeforeValidator(_rename_off)] = Field(
        "redact",
        description=(
            "Treatment of API keys, passwords and tokens. redact: a mark takes their place. refuse:"
            " what contains them is not stored. allow: they are stored."
        ),
    )
    pii: Treatment = Field(
        "allow", description="Treatment of personal data such as card numbers; as `write.secrets`."
    )
    secrets_of: tuple[str, ...] = Field(
        (),
        description=(
            "Treatment of single kinds, such as card=redact: they go before `write.secrets` and"
            f" `write.pii`. Kinds of secrets: {', '.join(_SECRET_KINDS)}. Of personal data:"
            f" {', '.join(get_args(IdentifierKind))}."
        ),
    )
    dedup_jaccard: Share = Field(
        0.85,
        ge=0,
        le=1,
        description="Word overlap from which two facts with one triple are duplicates.",
    )
    dedup_cosine: Share = Field(
        0.0,
        ge=0,
        le=1,
        description=(
            "Cosine from which two statements are duplicates. They must also agree in numbers,"
            " names, negations and other deciding words. 0: words alone decide."
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
            "A rule or preference with a lower confidence is held until it is repeated in its"
            " session, also below `write.min_confidence`. 0: only `write.min_confidence` decides."
        ),
    )
    questions: Literal["log", "recall"] = Field(
        "log",
        description=(
            "Messages of a user that only ask. log: stored, but no read finds them; with tiers,"
            " found together with their answers. recall: found."
        ),
    )
    batch_turns: int = Field(12, ge=1, description="Most turns in one extraction by a model.")
    message_chars: int = Field(
        6000,
        ge=200,
        le=24_000,
        description=(
            "Characters from which a message is shortened to its two ends before a model extracts"
            " from it."
        ),
    )
    context_turns: int = Field(
        16,
        ge=0,
        le=100,
        description=(
            "Other turns of the conversation that the model sees with them, only to understand"
            " them."
        ),
    )
    debounce_seconds: float = Field(
        180.0,
        ge=0,
        le=300,
        description=(
            "Seconds without a message before a model extracts from a conversation, so that several"
            " messages need one call. 0: at once. What is given as a note or a fact never waits."
        ),
    )
    extraction_passes: int = Field(
        1,
        ge=1,
        le=2,
        description=("2: the model is asked for facts and for rules separately, at the same time."),
    )
    reconcile_fallback: Literal["rules", "hold", "coexist"] = Field(
        "rules",
        description=(
            "If a model fails to reconcile. rules: rules decide. hold: the statement is held."
            " coexist: both statements stay."
        ),
    )
    contradiction_cosine: Share = Field(
        0.0,
        ge=0,
        le=1,
        description=(
            "Cosine from which a model sees the five nearest statements of the same category. 0:"
            " rules choose them."
        ),
    )
    categories: tuple[str, ...] = Field(
        (),
        description=("Allowed categories. Another category becomes that of its kind. Empty: any."),
    )
    max_facts: int = Field(
        0, ge=0, description="Most statements extracted from one message. 0: no limit."
    )
    reach: Literal["owner", "conversation"] = Field(
        "owner",
        description=(
            "Statements that a conversation may change. owner: all of its person or project."
            " conversation: only those of the same conversation."
        ),
    )
    infer_tags: bool = Field(
        False,
        description=(
            "Add tags for the files, tools and fields that a text names, and the tags of a model."
        ),
    )
    ignore_root: str = Field(
        "",
        description=(
            "Folder with .gitignore and .secretsignore. Files that they name are never stored."
            " Empty: the current folder."
        ),
    )
    changes: ChangeDetectionSettings = ChangeDetectionSettings()

    @field_validator("secrets_of")
    @classmethod
    def check_kinds(cls, pairs: tuple[str, ...]) -> tuple[str, ...]:
        """Check that each pair names a kind and a treatment. ValueError: one does not."""
        for pair in pairs:
            kind, _, treatment = pair.partition("=")
            if kind not in _KINDS:
                raise ValueError(f"{kind!r} is no kind; the kinds are: {', '.join(_KINDS)}")
            if treatment not in get_args(Treatment):
                raise ValueError(f"{pair!r} names none of: {', '.join(get_args(Treatment))}")
        return pairs

    @property
    def refuses(self) -> bool:
        """True if a secret or personal data of some kind keeps a text from being stored."""
        pairs = (f"={self.secrets}", f"={self.pii}", *self.secrets_of)
        return any(pair.endswith("=refuse") for pair in pairs)

    def describe_treatments(self) -> str:
        """Name the treatments of secrets and personal data in one text, to see where they change."""
        return " ".join((self.secrets, self.pii, *sorted(self.secrets_of)))

    def choose_treatment(self, kind: str) -> str:
        """Return the treatment of a kind of secret or of personal data."""
        default = self.secrets if kind in _SECRET_KINDS else self.pii
        return dict(pair.split("=") for pair in self.secrets_of).get(kind, default)


class DocumentSettings(SettingsSection):
    """Documents that others than the person give."""

    from_agents: bool = Field(
        False, description="Let agents add the text of files as documents over MCP."
    )
    picture_places: bool = Field(
        False, description="Store the place at which a picture says that it was taken."
    )
    ocr: Literal["auto", "off"] = Field(
        "auto",
        description="Read the text in pictures and scans. auto: where the extra `ocr` is installed.",
    )
    sync_bytes: int = Field(
        10_000_000,
        ge=0,
        description=(
            "Largest file of a picture or sound that travels to the person's other devices, in bytes."
            " 0: none."
        ),
    )
