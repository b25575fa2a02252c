"""Speakers in spaces: who says a turn that a member tells, and whose words an edit has."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from engrams.core import Record, Turn
from engrams.core.meta_keys import EDITED_BY


def sign_turn(turn: Turn, member: str) -> Turn:
    """Name the member who says a turn in a space; a turn that names its speaker stays as it is.

    So "I" in a shared memory is whoever said it, and what a member says of another is the member's.
    """
    if turn.speaker or turn.role != "user":
        return turn
    return replace(turn, speaker=member)


def sign_edit(record: Record, fields: Mapping[str, Any], member: str) -> dict[str, Any]:
    """Note in the new fields of a memory who wrote its words, where that is not its speaker.

    The speaker stays: "I" in the text is still whoever said it. ``member``: who edits a space's memory;
    empty: it is in no space.
    """
    given_meta = fields.get("meta", record.meta)
    if not isinstance(given_meta, Mapping):
        return dict(fields)
    has_new_text = fields.get("text", record.text) != record.text
    former = record.meta.get(EDITED_BY)
    editor = member if has_new_text else former
    if editor == record.speaker:
        editor = None
    if not member or (editor == former and "meta" not in fields):
        return dict(fields)
    meta = {key: value for key, value in given_meta.items() if key != EDITED_BY}
    return {**fields, "meta": {**meta, EDITED_BY: editor} if editor else meta}
