"""Settings of sizes and quotas."""

from __future__ import annotations

from pydantic import Field

from engrams.settings.section import SettingsSection


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
        description=(
            "Characters of a query that are used. The middle of a longer query is left out."
        ),
    )


class QuotaSettings(SettingsSection):
    """Most of one owner, over all processes and machines on one memory.

    0: no limit.
    """

    records: int = Field(
        0,
        ge=0,
        description=("Most memories, including forgotten ones that are not purged. 0: no limit."),
    )
    bytes: int = Field(
        0,
        ge=0,
        description=(
            "Most bytes of texts, captions, summaries and metadata, and of the files of pictures"
            " and sounds. 0: no limit."
        ),
    )
    minute_requests: int = Field(
        0,
        ge=0,
        description=(
            "Most requests to the server in a minute, with all keys of the owner. 0: no limit."
        ),
    )
    daily_requests: int = Field(
        0, ge=0, description="Most requests to the server in a day (UTC). 0: no limit."
    )
    daily_calls: int = Field(
        0, ge=0, description="Most calls of the chat model in a day (UTC). 0: no limit."
    )
    daily_tokens: int = Field(
        0, ge=0, description="Most tokens of the chat model in a day (UTC). 0: no limit."
    )
