"""Keys of a record's metadata that engrams itself writes and reads.

Other keys are the senders' own.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

from engrams.core import clock
from engrams.core.records import Json, Record

RUNNING = "running"
"""On a summary that replaces itself as its conversation goes on: ``window`` or ``rolling``.

No search finds such a summary, and it is purged with any memory that it was made from.
"""

MERGED = "merged_from"
"""On a fact that took the place of several: their ids. It is purged with any of them."""

ABSORBED = "absorbed"
"""On a memory into which others that say the same were merged: their ids.

They are purged with it.
"""

BESIDE = "beside"
"""On a statement that a person set right: ids of later statements that do not end it."""

OUTDATES = "outdates"
"""On a message that ends others, or may: for each its id, and where the words of both stand.

``id``; ``clause``: span of the words that end, absent for the whole message; ``words``: span of the
words that end them; ``over``: true if they are over, false if they may be.
"""

CORRECTED = "corrected"
"""On a message of which part was corrected or forgotten: the quotes that reads leave out."""

IMPORTED = "import"
"""On a memory that came from a file: the id of its import."""

DROPPED = "dropped"
"""On a message: how many statements of it a model's policy dropped. Its history says why."""

EVICTED = "evicted"
"""On a memory that the cap of a conversation put away: nobody asked to forget it."""

UNSAID = "unsaid"
"""On a fact whose message was edited and no longer says it.

If an edit puts the words back, the fact becomes active again.
"""

UNSEARCHED = "unsearched"
"""On a memory that is stored for callers who ask for it by name: no search finds it."""

UNLEARNED = "unlearned"
"""On a message that its sender wants stored as it is: nothing is learned from it."""

ENDS = "ends"
"""On a planned statement: ids of the statements that end on the day it begins."""

REFINES = "refines"
"""On a statement: ids of the statements that it says more exactly."""

FOREIGN = "foreign"
"""On a message that is not its sender's own words as a whole: why, such as "announced"."""

CONFIRMED = "confirmed"
"""On a note that a person let in from a foreign text: it counts as the person's own words."""

OWN_WORDS = "own_words"
"""On a message that a client sent in several parts: the part that addresses the assistant."""

PREREQUISITES = "prerequisites"
"""On a procedure: list of the conditions that must hold before it begins."""

WARNINGS = "warnings"
"""On a procedure: list of its warnings."""

UTC_OFFSET = "utc_offset"
"""On a memory whose teller's clock is known and differs from UTC: by how much ("-07:00").

Days that its words name ("tomorrow") are counted on that clock.
"""

TIMES = "times"
"""On a statement: the times that its words name, as ``ResolvedTime.to_json`` gives them."""

CODE = "code"
"""On a memory that names files or symbols of a checkout: its anchors (``core.code_anchors``)."""

DOCUMENT = "document"
"""On a passage: its document, and where in it the passage stands (``core.document_location``)."""

CONFLICT_OF = "conflict_of"
"""On a memory that keeps a text which two devices changed at once: the id of the other one."""

REINFORCEMENTS = "reinforcements"
"""On a statement that was said again: one entry for each of the last repetitions, oldest first."""
_MAX_REINFORCEMENTS = 20

EDITED_BY = "edited_by"
"""On a memory of a space: the member who wrote its words, where its speaker is another one.

Statements that are learned from a message take it over.
"""

OWN_KEYS = frozenset(
    {
        CONFLICT_OF,
        DOCUMENT,
        RUNNING,
        MERGED,
        ABSORBED,
        BESIDE,
        OUTDATES,
        CORRECTED,
        DROPPED,
        IMPORTED,
        EVICTED,
        UNSAID,
        UNSEARCHED,
        UNLEARNED,
        ENDS,
        REFINES,
        PREREQUISITES,
        WARNINGS,
        UTC_OFFSET,
        TIMES,
        CODE,
        REINFORCEMENTS,
    }
) | frozenset(
    """
    arc avoid awaits echo effect entity event hearsay hold ids in_part modality note_file polarity review said scheduled whole
    """.split()
)
"""Every key that engrams writes itself."""


def leave_own_part(meta: Mapping[str, Json]) -> dict[str, Json]:
    """Return metadata of a request without the key that makes a part of a text the user's own.

    Only a door that sees the parts of a message may set it.
    """
    return {name: value for name, value in meta.items() if name != OWN_WORDS}


def sender_meta(meta: Mapping[str, Json]) -> dict[str, Json]:
    """Return the entries that senders gave, without those of ``OWN_KEYS``."""
    return {name: value for name, value in meta.items() if name not in OWN_KEYS}


def note_reinforcement(meta: Mapping[str, Json], entry: Mapping[str, Json]) -> dict[str, Json]:
    """Return the metadata of a statement with one more repetition.

    ``entry``: ``session`` and ``at`` (ISO 8601) of the repetition, and the id of the message that
    repeats it as ``source``, where that is stored. The oldest entries give way.
    """
    entries = [*meta.get(REINFORCEMENTS, ()), dict(entry)]
    return {**meta, REINFORCEMENTS: entries[-_MAX_REINFORCEMENTS:]}


def last_said_at(record: Record) -> datetime:
    """Return when a statement was said for the last time: repetitions count."""
    entries = record.meta.get(REINFORCEMENTS, ())
    return max((record.recorded_at, *filter(None, map(_read_time, entries))))


def _read_time(entry: Mapping[str, Json]) -> datetime | None:
    """Read when a repetition was said; None: a foreign entry that does not tell."""
    try:
        return clock.parse_time(str(entry["at"]))
    except (KeyError, ValueError):
        return None


def describe_speaker(record: Record) -> str:
    """Name the speaker of a memory, with the member of a space who has edited it since."""
    editor = record.meta.get(EDITED_BY)
    return f"{record.speaker}, edited by {editor}" if record.speaker and editor else record.speaker


def inherited_meta(meta: Mapping[str, Json]) -> dict[str, Json]:
    """Return what a statement takes over from its message: the sender's plain values.

    Lists and objects stay with the message: they describe it, as a list of attachments does.
    """
    return {
        name: value
        for name, value in sender_meta(meta).items()
        if isinstance(value, str | int | float | bool)
    }
