"""The row a store hands to the index: a plain tuple, because a million of them are loaded at once."""

from __future__ import annotations

from typing import TypeAlias

Row: TypeAlias = tuple[
    int,  # 0 rowid
    int,  # 1 changed: number of the change that wrote it
    str,  # 2 id
    str,  # 3 scope key
    str,  # 4 session
    str,  # 5 kind
    str,  # 6 status
    str,  # 7 speaker
    int,  # 8 said: microseconds since 1970 (valid_from, else recorded_at)
    int | None,  # 9 valid_from
    int | None,  # 10 valid_to
    int,  # 11 recorded_at
    int | None,  # 12 retired_at
    int | None,  # 13 ended_at
    int,  # 14 words
    int,  # 15 question
    int,  # 16 dated
    float,  # 17 importance
    float,  # 18 confidence
    bytes,  # 19 lexemes: uint32 term ids in order
    bytes | None,  # 20 vector: float32
    str,  # 21 role
]
