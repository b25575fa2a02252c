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
            "Address of Postgres itself, for notices of new jobs, if `store.url` is that of a"
            " connection pooler. Empty: `store.url`."
        ),
        json_schema_extra={"secret": True},
    )
    durability: Literal["full", "normal"] = Field(
        "full",
        description=(
            "full: a stored write survives a power failure. normal: it survives a crash of the"
            " process only, but is faster."
        ),
    )
    readers: int = Field(4, ge=1, le=64, description="Number of connections that read.")
    connections: int = Field(
        10, ge=1, le=1000, description="Largest number of connections of a process to Postgres."
    )
    prepare: bool = Field(
        True,
        description=(
            "Use named prepared statements in Postgres. false: for PgBouncer older than 1.22."
        ),
    )
    busy_seconds: float = Field(
        10.0, ge=0, description="Seconds to wait for a write of another process."
    )
    seal_key: str = Field(
        "",
        description=(
            "File with the key of the seals, 32 bytes; a path outside of the home keeps it from"
            " whoever may write there. Empty: `seal.key` beside the database file; in Postgres no"
            " key. All processes on one Postgres need the same file."
        ),
    )
    head_file: str = Field(
        "",
        description=(
            "File outside of the home that keeps the last change of each owner. With it a read"
            " notices that all of memory was put back to an earlier state. Empty: none is kept."
        ),
    )
    altered: Literal["leave_out", "refuse"] = Field(
        "leave_out",
        description=(
            "What a read does where another program changed memory. leave_out: it answers with what"
            " is sound, and the log names the rest. refuse: it fails."
        ),
    )
    cache_bytes: int = Field(
        1_000_000_000, ge=1_000_000, description="Memory for loaded search indexes, in bytes."
    )
    exact_limit: int = Field(
        30_000,
        ge=100,
        description=(
            "Number of records in reach up to which a search scores every record exactly."
        ),
    )


class EncryptionSettings(SettingsSection):
    """Encryption of the home's files."""

    enabled: bool | None = Field(
        None,
        description=(
            "true: encrypt a new home, and refuse a plain one. false: refuse an encrypted home."
            " None: open both; a new home is plain."
        ),
    )
    key: Literal["keyring", "passphrase", "file"] = Field(
        "keyring",
        description=(
            "Source of the key when a home is encrypted. keyring: the system's keyring."
            " passphrase: the variable ENGRAMS_PASSPHRASE, or a question on a terminal. file:"
            " `key_file`."
        ),
    )
    key_file: str = Field(
        "",
        description=(
            "File with the key, readable only by its owner. Empty: the file at the time of the"
            " encryption."
        ),
    )
    passphrase: str = Field(
        "",
        description=(
            "Passphrase of the home. Empty: the variable ENGRAMS_PASSPHRASE, or a question on a"
            " terminal."
        ),
        json_schema_extra={"secret": True},
    )
