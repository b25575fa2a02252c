"""Settings of the database and of the encryption of a home."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from engrams.settings.section import SettingsSection


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
