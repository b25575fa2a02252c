"""New values of an edited record: which fields may change, and what a value must look like.

``validate_fields`` checks the values that a caller gave. ``restate_slot`` derives subject,
predicate and object of a statement from its new text.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from engrams.core import (
    CORRECTED,
    TAG_CHARS,
    Kind,
    Record,
    Status,
    drop_unstorable,
    require_visible,
)
from engrams.core.clock import utc
from engrams.errors import InputError, RefusedError
from engrams.extract.statement_reader import keeps_slot, read_edited_text
from engrams.text.terms import tokens
from engrams.text.vocabulary import word_set

EDITABLE = word_set("""
    text caption tags category importance confidence valid_from valid_to meta kind summary triggers steps subject predicate
    object speaker
    """)
_TEXT_LISTS = frozenset(("tags", "triggers", "steps"))


def validate_fields(record: Record, values: Mapping[str, Any]) -> dict[str, Any]:
    """Check the new values of a record and return them as its fields hold them.

    InputError: a field is not editable, a value does not fit its field, or no text is left.
    RefusedError: the record is purged.
    """
    if record.status is Status.PURGED:
        raise RefusedError("A purged memory cannot be edited.", hint="Add it anew.")
    unknown = sorted(set(values) - EDITABLE)
    if unknown or not values:
        raise InputError(
            f"Cannot edit {', '.join(unknown) or 'nothing'}.",
            hint=f"Editable: {', '.join(sorted(EDITABLE))}.",
        )
    fields = {name: _validate_value(name, value) for name, value in values.items()}
    if {"text", "caption"} & fields.keys():
        require_visible(fields.get("text", record.text) + fields.get("caption", record.caption))
    if "meta" in fields and CORRECTED in record.meta:
        # Reads leave these quotes out. New metadata must not bring them back.
        fields["meta"][CORRECTED] = record.meta[CORRECTED]
    return fields


def require_short_tags(tags: tuple[str, ...]) -> tuple[str, ...]:
    """Return the tags. InputError: one is longer than every store can hold."""
    if any(len(tag) > TAG_CHARS for tag in tags):
        raise InputError(
            f"A tag has at most {TAG_CHARS} characters.",
            hint="Put longer words into the text or into `meta`.",
        )
    return tags


def restate_slot(record: Record, text: str) -> dict[str, Any]:
    """Derive the slot (subject, predicate, object) of a statement from its new text.

    Returns the fields to set; the first case that applies counts:

    1. No word changes, or the statement has no object: none.
    2. The rules read the text as one statement with the same subject and predicate: those of it.
    3. The text still contains the object: none.
    4. It says several things, or the old text never contained the object: empty predicate, object.
    5. It differs from the old text only in the words of the object: the new object.
    6. It differs elsewhere too: empty predicate and object.
    """
    if not record.object or tokens(record.text) == tokens(text):
        return {}
    statements = read_edited_text(record, text)
    if len(statements) == 1 and keeps_slot(statements[0], record):
        return {name: getattr(statements[0], name) for name in ("subject", "predicate", "object")}
    if record.object in text:
        return {}
    emptied = {"predicate": "", "object": ""}
    if len(statements) > 1 or record.object not in record.text:
        return emptied
    before, _, after = record.text.partition(record.object)
    if not (text.startswith(before) and text.endswith(after)):
        return emptied
    if len(text) < len(before) + len(after):
        return emptied
    new_object = text[len(before) : len(text) - len(after)].strip().rstrip(".!")
    return {"object": new_object} if new_object else emptied


def _validate_value(name: str, value: Any) -> Any:
    match name:
        case "importance" | "confidence":
            if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
                raise InputError(f"{name} must be a number from 0 to 1, not {value!r}.")
            return float(value)
        case "valid_from" | "valid_to":
            if value is not None and not isinstance(value, datetime):
                raise InputError(f"{name} must be a time, not {value!r}.")
            return value if value is None else utc(value)
        case "kind":
            if value not in tuple(Kind):
                raise InputError(
                    f"There is no kind {value!r}.", hint=f"The kinds are: {', '.join(Kind)}."
                )
            return Kind(value)
        case "meta":
            if not isinstance(value, Mapping):
                raise InputError("meta must be an object.")
            return _clean_json(value)
        case _ if name in _TEXT_LISTS:
            if isinstance(value, str) or not all(isinstance(item, str) for item in value):
                raise InputError(f"{name} must be a list of texts.")
            texts = tuple(map(drop_unstorable, value))
            return require_short_tags(texts) if name == "tags" else texts
        case _:
            if not isinstance(value, str):
                raise InputError(f"{name} must be text, not {value!r}.")
            return drop_unstorable(value)


def _clean_json(value: Any) -> Any:
    """Drop from metadata the characters that no store can hold."""
    match value:
        case str():
            return drop_unstorable(value)
        case Mapping():
            return {
                drop_unstorable(key) if isinstance(key, str) else key: _clean_json(item)
                for key, item in value.items()
            }
        case list() | tuple():
            return [_clean_json(item) for item in value]
        case _:
            return value
