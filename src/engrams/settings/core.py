"""Settings of limits, the store and the models."""

from __future__ import annotations

from typing import Literal, TypeAlias

from pydantic import BaseModel, ConfigDict, Field

Share: TypeAlias = float
"""A number from 0 to 1."""


class SettingsSection(BaseModel):
    """A frozen group of settings that refuses unknown names."""

    model_config = ConfigDict(frozen=True, extra="forbid", validate_default=True)


class SizeLimitSettings(SettingsSection):
    """Sizes beyond which input is refused: texts, metadata, results."""

    text_bytes: int = Field(
        1_000_000, ge=1, description="Largest text of one memory, in bytes of UTF-8."
    )
    meta_bytes: int = Field(
        1_000_000, ge=2, description="Largest metadata of one memory, in bytes of JSON."
    )
    results: int = Field(1000, ge=1, description="Largest `limit` of a search or a page.")
    query_chars: int = Field(
        20_000,
        ge=100,
        description="Characters of a query that are used: of a longer one, its head and tail.",
    )


class QuotaSettings(SettingsSection):
    """Most of one owner, over all processes and machines on one memory.

    0: no limit.
    """

    records: int = Field(
        0,
        ge=0,
        description=(
            "Memories that are kept, forgotten ones included until they are purged. 0: no limit."
        ),
    )
    bytes: int = Field(
        0, ge=0, description="Bytes of their texts, captions, summaries and metadata. 0: no limit."
    )
    minute_requests: int = Field(
        0,
        ge=0,
        description="Requests to the server a minute, with all keys of the owner. 0: no limit.",
    )
    daily_requests: int = Field(
        0, ge=0, description="Requests to the server a day (UTC). 0: no limit."
    )
    daily_calls: int = Field(
        0, ge=0, description="Calls of the chat model a day (UTC). 0: no limit."
    )
    daily_tokens: int = Field(
        0, ge=0, description="Tokens of the chat model a day (UTC). 0: no limit."
    )


class StoreSettings(SettingsSection):
    """Place and durability of the database."""

    url: str = Field(
        "",
        description=(
            "Database: a path, `:memory:`, or postgresql://USER@HOST/NAME. Empty: memory.db in the"
            " home folder."
        ),
    )
    listen_url: str = Field(
        "",
        description=(
            "Address of Postgres itself, to hear of new jobs where `store.url` is a pooler's."
            " Empty: `store.url`."
        ),
        json_schema_extra={"secret": True},
    )
    durability: Literal["full", "normal"] = Field(
        "full",
        description=(
            "full: an acknowledged write survives power loss. normal: a crash of the process only,"
            " but faster."
        ),
    )
    readers: int = Field(4, ge=1, le=64, description="Connections that read.")
    connections: int = Field(
        10, ge=1, le=1000, description="Largest number of connections of a process to Postgres."
    )
    prepare: bool = Field(
        True,
        description=(
            "Let Postgres know frequent statements by a name. false: for PgBouncer before 1.22."
        ),
    )
    busy_seconds: float = Field(
        10.0, ge=0, description="Seconds to wait for another process's write."
    )
    cache_bytes: int = Field(
        1_000_000_000, ge=1_000_000, description="Memory for loaded search indexes, in bytes."
    )
    exact_limit: int = Field(
        30_000,
        ge=100,
        description="Number of records in reach up to which every one is scored exactly.",
    )


class EncryptionSettings(SettingsSection):
    """Encryption of the home's files."""

    enabled: bool | None = Field(
        None,
        description=(
            "true: a new home is encrypted, and a plain one refused. false: an encrypted one is"
            " refused. None: as the home is; a new one is plain."
        ),
    )
    key: Literal["keyring", "passphrase", "file"] = Field(
        "keyring",
        description=(
            "Where the key of a newly encrypted home comes from. keyring: the system's. passphrase:"
            " the variable ENGRAMS_PASSPHRASE, or asked on a terminal. file: `key_file`."
        ),
    )
    key_file: str = Field(
        "",
        description=(
            "File with the key, readable by its owner alone. Empty: where it was at the encryption."
        ),
    )
    passphrase: str = Field(
        "",
        description=(
            "Passphrase of the home. Empty: the variable ENGRAMS_PASSPHRASE, or asked on a"
            " terminal."
        ),
        json_schema_extra={"secret": True},
    )


class EmbedSettings(SettingsSection):
    """The embedding model."""

    provider: Literal["builtin", "onnx", "openai", "ollama", "null"] = Field(
        "builtin",
        description=(
            "builtin: the table that ships. onnx: a model file. openai, ollama: a server. null: no"
            " vectors, words only."
        ),
    )
    model: str = Field(
        "", description="onnx: a folder or hub name. openai, ollama: the model's name."
    )
    url: str = Field("", description="Base URL of the server (openai, ollama).")
    api_key: str = Field("", description="Key for that server.", json_schema_extra={"secret": True})
    cosine_model: str = Field(
        "",
        description=(
            "Model that the preset's cosines were set for; another's card turns them into its own."
            " Empty: they hold as they are."
        ),
    )
    query_prefix: str | None = Field(
        None, description="Text put before a query. None: the one of the model's card; empty: none."
    )
    dimension: int = Field(
        0, ge=0, description="Number of dimensions to ask the server for. 0: its own."
    )
    incognito: Literal["own", "null"] = Field(
        "own", description="In incognito. own: this model, if it keeps nothing. null: no vectors."
    )
    batch_size: int = Field(64, ge=1, description="Texts in one call.")
    timeout_seconds: float = Field(30.0, gt=0, description="Seconds a call may take.")


class ChatSettings(SettingsSection):
    """The language model for extraction and upkeep; none is needed."""

    provider: Literal["none", "openai", "ollama"] = Field(
        "none",
        description=(
            "none: rules only. openai: any server with the OpenAI protocol. ollama: Ollama's own"
            " protocol."
        ),
    )
    model: str = Field("", description="The model's name.")
    url: str = Field("", description="Base URL, for example http://localhost:11434.")
    api_key: str = Field("", description="Key for that server.", json_schema_extra={"secret": True})
    timeout_seconds: float = Field(
        300.0,
        gt=0,
        description=(
            "Seconds an answer may take in all; more where the model was seen to need more, up to"
            " an hour."
        ),
    )
    connect_seconds: float = Field(10.0, gt=0, description="Seconds to reach the server.")
    silence_seconds: float = Field(
        60.0,
        gt=0,
        description="Seconds without a byte after which an answer that has begun is given up.",
    )
    retries: int = Field(
        3, ge=0, le=10, description="Further tries after a failure that waiting may cure."
    )
    daily_calls: int = Field(0, ge=0, description="Most calls a day. 0: no limit.")
    daily_tokens: int = Field(0, ge=0, description="Most tokens a day. 0: no limit.")
