"""Reason for which a memory is believed, derived from its provenance."""

from __future__ import annotations

from typing import Literal, TypeAlias

from engrams.core.records import MERGED, Kind, Record

Basis: TypeAlias = Literal["user_stated", "user_corrected", "observed", "inferred", "extracted"]
"""Ground on which a memory is believed."""


def find_basis(record: Record) -> Basis:
    """Derive why a memory is believed: stated, corrected, observed, extracted or inferred.

    Corrected or stated by the user as it is; taken by an extractor from what the user said; seen in
    a file, an import, a tool's result or an answer; or only inferred: hearsay, supposed, or merged
    from others.
    """
    meta = record.meta
    if record.kind is Kind.CORRECTION or meta.get("effect") == "corrects":
        return "user_corrected"
    if meta.get("hearsay") or meta.get("modality") or MERGED in meta:
        return "inferred"
    if record.provenance.channel != "user":
        return "observed"
    return "extracted" if record.provenance.extractor else "user_stated"
