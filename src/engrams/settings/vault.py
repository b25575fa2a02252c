"""Settings of the vault and of skills: memory and knowledge in files."""

from __future__ import annotations

from typing import Literal, TypeAlias

from pydantic import Field

from engrams.settings.section import SettingsSection, Share

NoteReasonName: TypeAlias = Literal["trim", "overflow", "session end", "daily summary", "note"]


class VaultSettings(SettingsSection):
    """Memories as files that people read, edit and version."""

    enabled: bool = Field(False, description="Keep every memory as a Markdown file too.")
    path: str = Field("", description="Folder of the files. Empty: vault in the home folder.")
    source_of_truth: Literal["files", "db"] = Field(
        "files", description="files: an edit of a file changes memory. db: files only show memory."
    )
    watch: Literal["off", "serve", "auto", "poll"] = Field(
        "serve",
        description=(
            "Follow edits while running. serve: in `engrams serve` only. auto: in every process."
            " poll: for network drives."
        ),
    )
    poll_seconds: float = Field(2.0, gt=0, description="Seconds between two checks with poll.")
    adopt_new_files: bool = Field(
        True,
        description=(
            "Make a memory of a new file without an id. Off: report the file and leave it alone."
        ),
    )
    max_missing_share: Share = Field(
        0.3,
        ge=0,
        le=1,
        description=(
            "If at least ten files vanish at once, and more than this share of all, nothing is"
            " forgotten until you confirm it."
        ),
    )
    git: bool = Field(True, description="Keep the history of the files in git.")
    git_seconds: float = Field(5.0, ge=0, description="Seconds without a change before a commit.")
    remote: str = Field("", description="URL of a git remote to synchronise with. Empty: none.")
    daily: bool = Field(True, description="Write daily notes.")
    daily_reasons: tuple[NoteReasonName, ...] = Field(
        ("trim", "overflow", "session end", "daily summary", "note"),
        description=(
            "Reasons to write the daily note: trimmed messages, an overflow, the end of a"
            " session, the summary of a day, notes."
        ),
    )
    core_days: int = Field(
        1,
        ge=1,
        le=30,
        description=(
            "A dream without a model keeps a line that is in the notes of this many days."
        ),
    )
    dream_at: str = Field(
        "23:55",
        pattern=r"^(([01]?\d|2[0-3]):[0-5]\d)?$",
        description="Time of day (UTC) of the dream. Empty: only by hand or by the other triggers.",
    )
    dream_files: int = Field(
        0,
        ge=0,
        description=(
            "New daily notes after which a dream starts; it reads all notes since the last dream."
            " 0: off."
        ),
    )
    dream_bytes: int = Field(
        0,
        ge=0,
        description=(
            "Bytes of MEMORY.md and the notes since the last dream beyond which a dream starts."
            " 0: off."
        ),
    )
    dream_days: int = Field(
        1,
        ge=1,
        le=30,
        description="Days that a scheduled dream reads. A dream by hand reads three.",
    )
    dream_confirm: bool = Field(False, description="Let a dream wait for `engrams dream --apply`.")
    memory_items: int = Field(50, ge=1, description="Most items in MEMORY.md.")


class SkillSettings(SettingsSection):
    """Files of knowledge found beside memories and never stored."""

    folder: str = Field("", description="Folder of skills, each in NAME/SKILL.md. Empty: none.")
