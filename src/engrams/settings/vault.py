"""Settings of the vault and of skills: memory and knowledge in files."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from engrams.settings.section import SettingsSection, Share


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
