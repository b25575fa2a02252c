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
