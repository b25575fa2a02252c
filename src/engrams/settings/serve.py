"""Settings of the server, the vault and the logs."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from engrams.settings.core import SettingsSection, Share


class UpstreamSettings(SettingsSection):
    """An upstream for some models."""

    models: tuple[str, ...] = Field(
        min_length=1, description="Names of models, or patterns such as gpt-*."
    )
    url: str = Field(min_length=1, description="Base URL of the server.")
    key: str = Field("", description="Key for it; a client's own bearer token wins.")


class ServeSettings(SettingsSection):
    """The server that `engrams serve` starts."""

    host: str = Field(
        "127.0.0.1", description="Address to listen on; any other than loopback needs keys."
    )
    port: int = Field(8100, ge=0, le=65535, description="Port to listen on. 0: any free one.")
    workers: int = Field(
        1,
        ge=1,
        le=64,
        description=(
            "Processes that serve the API side by side on the one port; about one for each core."
            " Not on Windows."
        ),
    )
    upstream: str = Field(
        "", description="Base URL of an OpenAI-compatible server. Empty: answer from memory."
    )
    offline: bool = Field(
        True,
        description=(
            "Without an upstream answer chat from memory. Off: the server needs an upstream to"
            " start."
        ),
    )
    upstream_learns: bool = Field(
        True,
        description=(
            "Without a `chat.provider` of its own, memory asks a model of the upstream, if that is"
            " on this machine or `upstream_key` is set: `chat.model`, else the first that it lists"
            " and that chats."
        ),
    )
    upstream_key: str = Field(
        "",
        description="Key for it; a client's own bearer token wins.",
        json_schema_extra={"secret": True},
    )
    routes: tuple[UpstreamSettings, ...] = Field(
        (),
        description="[[serve.routes]] with models, url and key: upstreams by model.",
        json_schema_extra={"secret": True},
    )
    jwt_secret: str = Field(
        "",
        description="Secret of a web front end's signed user header.",
        json_schema_extra={"secret": True},
    )
    top_k: int = Field(5, ge=0, description="Memories put into a request. 0: none.")
    timeout_seconds: float = Field(
        600.0, gt=0, description="Seconds that an upstream's answer may take."
    )
    require_keys: Literal["auto", "always"] = Field(
        "auto", description="auto: keys are needed on any address but loopback."
    )
    rate_limit: float = Field(
        50.0,
        ge=0,
        description=(
            "Requests a second of one key, or of one address without a valid one; ten times that at"
            " once. 0: no limit."
        ),
    )
    idle_seconds: float = Field(
        75.0, gt=0, description="Seconds after which a connection without a request is closed."
    )
    receive_seconds: float = Field(
        30.0,
        gt=0,
        description="Seconds that a request's head, or a pause within its body, may take.",
    )
    upload_bytes: int = Field(
        2_000_000_000, ge=1, description="Largest file of an import, in bytes."
    )
    allowed_hosts: tuple[str, ...] = Field(
        (), description="Host names under which it is reached, as behind a reverse proxy."
    )
    allowed_origins: tuple[str, ...] = Field(
        (), description="Web sites whose pages may call it, such as https://app.example."
    )
    log: Literal["off", "json"] = Field(
        "off", description="json: a line a request on standard error, without any text of memory."
    )
    backlog_seconds: float = Field(
        60.0,
        ge=0,
        description=(
            "Seconds between two lines on standard error about background work, while there is"
            " some. 0: none."
        ),
    )
    allow_private_webhooks: bool = Field(
        False,
        description=(
            "Let web hooks go to this machine and to private networks, not only to public"
            " addresses."
        ),
    )
    allow_reset: bool = Field(
        False,
        description="Let POST /api/reset erase everything; else only `engrams purge --all` does.",
    )


class VaultSettings(SettingsSection):
    """Memories as files that people read, edit and version."""

    enabled: bool = Field(False, description="Keep every memory as a Markdown file too.")
    path: str = Field("", description="Folder of the files. Empty: vault in the home folder.")
    source_of_truth: Literal["files", "db"] = Field(
        "files", description="files: an edit by hand changes memory. db: files only show it."
    )
    watch: Literal["off", "serve", "auto", "poll"] = Field(
        "serve",
        description=(
            "Follow edits while running. serve: in `engrams serve` only. auto: in every process."
            " poll: for network drives."
        ),
    )
    poll_seconds: float = Field(2.0, gt=0, description="Seconds between two looks when polling.")
    adopt_new_files: bool = Field(
        True,
        description=(
            "A new file without an id becomes a memory; else it is reported and left alone."
        ),
    )
    max_missing_share: Share = Field(
        0.3,
        ge=0,
        le=1,
        description="Share of at least ten files that may vanish at once without asking.",
    )
    git: bool = Field(True, description="Keep the history of the files in git.")
    git_seconds: float = Field(5.0, ge=0, description="Seconds of quiet before a commit.")
    remote: str = Field("", description="URL of a git remote to keep in step with. Empty: none.")
    daily: bool = Field(True, description="Write daily notes.")
    daily_reasons: tuple[str, ...] = Field(
        ("trim", "overflow", "session end", "daily summary", "note"),
        description=(
            "What writes the day's note: trimmed messages, an overflow, a session's end, a day's"
            " summary, notes."
        ),
    )
    core_days: int = Field(
        1,
        ge=1,
        le=30,
        description=(
            "Days on whose notes a line must stand before a dream without a model keeps it."
        ),
    )
    dream_at: str = Field(
        "23:55",
        description="Time of day (UTC) of the dream. Empty: only by hand or by the other triggers.",
    )
    dream_files: int = Field(
        0,
        ge=0,
        description=(
            "Dream after this many new daily notes, and read all since the last dream. 0: never."
        ),
    )
    dream_bytes: int = Field(
        0,
        ge=0,
        description=(
            "Dream when MEMORY.md and the notes since the last dream exceed this. 0: never."
        ),
    )
    dream_days: int = Field(
        1,
        ge=1,
        le=30,
        description="Days that a scheduled dream looks back; one by hand looks back three.",
    )
    dream_confirm: bool = Field(False, description="A dream waits for `engrams dream --apply`.")
    memory_items: int = Field(50, ge=1, description="Most items in MEMORY.md.")


class SkillSettings(SettingsSection):
    """Files of knowledge found beside memories and never stored."""

    folder: str = Field(
        "", description="Folder of skills, each in NAME/SKILL.md. Empty: there are none."
    )


class AuditSettings(SettingsSection):
    """The audit log of the server.

    Always on, and read by no part of memory.
    """

    days: int = Field(14, ge=1, description="Days that its files are kept.")
    reads: bool = Field(True, description="Also record searches and reads, not only changes.")


class CrisisLogSettings(SettingsSection):
    """The log of crises; always on, and apart from memory."""

    days: int = Field(90, ge=1, le=36_500, description="Days that its records are kept.")


class FeedbackSettings(SettingsSection):
    """Feedback on sessions.

    Always on, and apart from memory, which never changes for it.
    """

    days: int = Field(180, ge=1, le=36_500, description="Days that its records are kept.")
