"""memvara: claims and episodes, as rows of its SQLite store."""

from __future__ import annotations

import json

from engrams.core import Json, StatedFields, Turn
from engrams.transfer.formats.foreign_objects import (
    ForeignObject,
    make_scope_labels,
    make_statement,
    normalize_predicate,
)
from engrams.transfer.formats.foreign_values import role_and_speaker
from engrams.transfer.formats.pieces import ParsedTurn


def parse_claim(claim: ForeignObject) -> ParsedTurn:
    """Convert a claim to a fact. ValueError: it has no text, or an odd time."""
    subject = claim.label("subject")
    predicate = claim.label("predicate")
    object = claim.label("object")
    stated = StatedFields(
        subject=subject,
        predicate=normalize_predicate(predicate),
        object=object,
        valid_from=claim.moment("valid_from"),
        valid_to=claim.moment("valid_to", "expires_at"),
        retired_at=claim.moment("invalidated_at"),
        confidence=claim.share("confidence"),
    )
    turn = Turn(
        claim.text("text") or " ".join((subject, predicate.replace("_", " "), object)),
        at=claim.moment("recorded_at"),
        session=claim.label("session"),
        external_id=claim.label("id"),
        meta={
            **claim.pick("polarity", "memory_type", "amount", "unit", "temporal_precision"),
            **_read_meta(claim),
        },
        stated=stated,
    )
    return make_statement(turn, scope_labels=_scope_labels(claim), user=claim.label("usr"))


def parse_episode(episode: ForeignObject) -> ParsedTurn | None:
    """Convert an episode to a message; None: it has no text. ValueError: an odd time."""
    text = episode.text("content")
    role, speaker = role_and_speaker(episode.label("role"))
    turn = Turn(
        text=text,
        role=role,
        speaker=speaker,
        at=episode.moment("ts"),
        session=episode.label("session"),
        external_id=episode.label("id"),
        meta=_read_meta(episode),
    )
    if not text:
        return None
    return ParsedTurn(turn, scope_labels=_scope_labels(episode), user=episode.label("usr"))


def _read_meta(row: ForeignObject) -> dict[str, Json]:
    """Read the JSON of a column; empty where it is none."""
    try:
        meta = json.loads(row.data.get("meta") or "{}")
    except (TypeError, ValueError):
        return {}
    return meta if isinstance(meta, dict) else {}


def _scope_labels(row: ForeignObject) -> tuple[str, ...]:
    return make_scope_labels(agent=row.label("agent"), project=row.label("project"))
