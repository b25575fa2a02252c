"""Ground on which a memory is believed, derived from its provenance."""

from __future__ import annotations

from typing import Literal, TypeAlias

from engrams.core.meta_keys import MERGED
from engrams.core.records import Kind, Record

Basis: TypeAlias = Literal["user_stated", "user_corrected", "observed", "inferred", "extracted"]
"""user_stated: the user's own words. user_corrected: the user's correction. extracted: taken from
the user's words by an extractor. observed: seen in a file, an import, the result of a tool or an
answer. inferred: hearsay, supposed, or merged from others.
"""


def find_basis(record: Record) -> Basis:
    """Derive the ground on which a memory is believed."""
    meta = record.meta
    if record.kind is Kind.CORRECTION or meta.get("effect") == "corrects":
        return "user_corrected"
    if meta.get("hearsay") or meta.get("modality") or MERGED in meta:
        return "inferred"
    if record.provenance.channel != "user":
        return "observed"
    return "extracted" if record.provenance.extractor else "user_stated"


def rank_authority(record: Record) -> tuple[bool, bool, float]:
    """Rank a memory by whose words it rests on: the user's own first, then by trust.

    What is made of several memories has the authority of the least of them.
    """
    is_of_user = record.role in ("", "user") and not record.speaker
    return is_of_user, record.provenance.channel == "user", record.trust
