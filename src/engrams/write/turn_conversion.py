"""Conversion of one turn to a record: validated, cleaned, redacted, with its channel's trust.

Enter at ``TurnConverter.convert``. Pure: no store and no model.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from datetime import datetime
from typing import Any, Literal

from engrams.core import (
    LAYER_OF,
    NOTHING_STATED,
    UTC_OFFSET,
    Kind,
    Meta,
    Provenance,
    Record,
    Scope,
    StageDecision,
    StatedFields,
    Status,
    Turn,
    clean_text,
    clock,
    drop_unstorable,
    is_blank,
    shorten_name,
)
from engrams.core.ids import check_id, new_id
from engrams.errors import InputError
from engrams.extract.redaction import (
    find_decisions,
    redact_fields,
    redact_id,
    redact_json,
    redact_text,
)
from engrams.extract.statement_reader import fill_procedure
from engrams.extract.statement_times import annotate_times
from engrams.frozen_data import dataclass, replace
from engrams.settings import Settings, SizeLimitSettings
from engrams.text.system_texts import remove_system_texts
from engrams.write.channels import CHANNEL_OF_ROLE, TRUST
from engrams.write.ignored_files import match_ignore_rule

_LABEL_CHARACTERS = 200
_NULS = re.compile(r"(\\\\)|\\u0000")
"""NUL in JSON. Two backslashes before it are an escaped backslash, and begin none."""
_SPOKEN_KINDS = (Kind.TURN, Kind.EXCHANGE)
_PEOPLE = ("user", "assistant")
_CLIENT_TEXT = StageDecision(
    "clean", "cut", "a reminder, tool output, dumped file or quoted context: nobody said it"
)


@dataclass(frozen=True, slots=True)
class TurnConversionResult:
    """A converted turn, and the decisions about it."""

    record: Record | None
    """None: it is refused or unsaved."""
    outcome: Literal["stored", "redacted", "refused", "unsaved"]
    decisions: tuple[StageDecision, ...] = ()


@dataclass(frozen=True, slots=True)
class TurnConverter:
    """Converter of the turns of one write."""

    scope: Scope
    kind: Kind
    channel: str
    """Sets the trust; empty: the channel of each turn's role."""
    now: datetime
    settings: Settings
    ignore_rules: Sequence[str] = ()
    """Rules of a project's ignore files, for turns that come from files."""

    def convert(self, turn: Turn) -> TurnConversionResult:
        """Build the record of a turn: ``stored``, ``redacted``, ``refused`` or ``unsaved``.

        Text that a client put around the words of a message is cut; a message of nothing else is
        unsaved. A file is kept as it is. Secrets are cut, by setting also personal data, and also
        in caption, speaker and metadata. A text from a file names it in ``meta["file"]`` (or
        several in ``meta["files"]``); one that an ignore rule matches is refused. InputError: it is
        empty, too large or not text.
        """
        files = _list_source_files(turn.meta)
        for file in files:
            if rule := match_ignore_rule(file, self.ignore_rules):
                ignored = StageDecision("ignored", "refused", f"{file}: {rule}")
                return TurnConversionResult(None, "refused", (ignored,))
        channel = self._choose_channel(turn)
        limits = self.settings.limits
        caption = (
            "" if is_blank(turn.caption or "") else clean_text(turn.caption, limits.text_bytes)
        )
        text = clean_text(turn.text, limits.text_bytes) if turn.text or not caption else ""
        meta = _validate_meta(turn.meta, limits)
        if offset := clock.utc_offset(turn.at):
            meta = {**meta, UTC_OFFSET: offset}
        said_text = self._cut_client_text(text, turn, channel)
        cut = (_CLIENT_TEXT,) if said_text != text else ()
        if not said_text and not caption:
            return TurnConversionResult(None, "unsaved", cut)
        section = self.settings.write
        fields, decisions = redact_fields(
            {"text": said_text, "caption": caption, "speaker": _clean_name(turn.speaker)},
            meta,
            section,
        )
        session = _clean_name(turn.session)
        external_id = _clean_name(turn.external_id)
        stated = turn.stated
        labels = (session, external_id, *stated.tags, *stated.triggers, *stated.steps)
        labels = (*labels, stated.category)
        decisions_on_labels = find_decisions([label for label in labels if label], section)
        if any(decision.verdict == "refused" for decision in (*decisions, *decisions_on_labels)):
            decisions = (*decisions, *decisions_on_labels)
            return TurnConversionResult(None, "refused", decisions)
        if decisions_on_labels:
            session = redact_id(session, section)
            external_id = redact_id(external_id, section)
        said_at = clock.utc(turn.at or self.now)
        record = Record(
            id=check_id(turn.id) if turn.id else new_id(said_at),
            scope=self.scope,
            kind=self.kind,
            text=fields["text"],
            recorded_at=said_at,
            layer=LAYER_OF[self.kind],
            role=turn.role,
            speaker=fields["speaker"],
            session=session,
            external_id=external_id,
            caption=fields["caption"],
            provenance=Provenance(channel=channel, files=files),
            trust=TRUST[channel],
            meta=redact_json(meta, section) if decisions else meta,
        )
        record = annotate_times(self._fill_stated(record, stated))
        if self.kind is Kind.PROCEDURE:
            record = fill_procedure(record)
        outcome: Literal["stored", "redacted"] = "redacted" if decisions else "stored"
        return TurnConversionResult(record, outcome, (*cut, *decisions))

    def _choose_channel(self, turn: Turn) -> str:
        """Return the channel of a turn. InputError: there is no such kind or channel."""
        if self.kind not in LAYER_OF:
            raise InputError(
                f"There is no kind {self.kind!r}.", hint=f"The kinds are: {', '.join(LAYER_OF)}."
            )
        channel = self.channel or CHANNEL_OF_ROLE.get(turn.role, "user")
        if channel not in TRUST:
            raise InputError(
                f"There is no channel {channel!r}.", hint=f"The channels are: {', '.join(TRUST)}."
            )
        return channel

    def _cut_client_text(self, text: str, turn: Turn, channel: str) -> str:
        """Cut what a client put around the words of a message; a file is kept as it is."""
        is_spoken = self.kind in _SPOKEN_KINDS and turn.role in _PEOPLE
        return remove_system_texts(text) if is_spoken and channel != "file" else text

    def _fill_stated(self, record: Record, stated: StatedFields) -> Record:
        """Fill in the fields that the sender knows; a statement that has ended becomes history."""
        if stated == NOTHING_STATED:
            return record
        fields: dict[str, Any] = {
            name: self._clean_label(getattr(stated, name))
            for name in ("subject", "predicate", "object", "category")
        }
        for name in ("confidence", "importance"):
            share = getattr(stated, name)
            if share is not None:
                fields[name] = min(max(share, 0.0), 1.0)
        for name in ("valid_from", "valid_to", "ended_at", "retired_at", "last_accessed"):
            time = getattr(stated, name)
            if time is not None:
                fields[name] = clock.utc(time)
        until = fields.get("valid_to")
        if until and "ended_at" not in fields:
            fields["ended_at"] = max(record.recorded_at, min(until, self.now))
        is_over = "retired_at" in fields or (until is not None and until <= self.now)
        fields["status"] = Status.SUPERSEDED if is_over else Status.ACTIVE
        fields["strength"] = max(stated.strength, 1)
        fields["access_count"] = max(stated.access_count, 0)
        for name in ("tags", "triggers"):
            labels = [self._clean_label(label) for label in getattr(stated, name)]
            fields[name] = tuple(dict.fromkeys(label for label in labels if label))
        fields["steps"] = tuple(
            [redact_text(step, self.settings.write)[0] for step in stated.steps]
        )
        return replace(record, **fields)

    def _clean_label(self, text: str) -> str:
        label = _clean_line(text)[:_LABEL_CHARACTERS]
        return redact_text(label, self.settings.write)[0]


def _list_source_files(meta: Meta) -> tuple[str, ...]:
    """List the files that a turn's metadata names."""
    files = meta.get("files")
    listed = files if isinstance(files, list | tuple) else ()
    return tuple(file for file in (meta.get("file"), *listed) if isinstance(file, str) and file)


def _validate_meta(meta: Meta, limits: SizeLimitSettings) -> Meta:
    """Return metadata as it is stored. InputError: it is not JSON, or too large."""
    if not meta:
        return {}
    try:
        encoded = json.dumps(dict(meta), ensure_ascii=False, allow_nan=False)
    except (TypeError, ValueError, RecursionError) as problem:
        raise InputError(
            f"The metadata is not JSON: {problem}.",
            hint="Use text, numbers, true, false, null, lists and objects.",
        ) from None
    encoded_bytes = encoded.encode("utf-8", "replace")
    if len(encoded_bytes) > limits.meta_bytes:
        raise InputError(
            f"The metadata has {len(encoded_bytes):,} bytes; the limit is {limits.meta_bytes:,}.",
            hint="Keep large data elsewhere and store a link.",
        )
    cleaned: Meta = json.loads(_NULS.sub(r"\1", encoded_bytes.decode("utf-8")))
    return cleaned


def _clean_name(text: str) -> str:
    """Clean a name or id; long ones that differ anywhere stay apart."""
    return shorten_name(_clean_line(text), _LABEL_CHARACTERS)


def _clean_line(text: str) -> str:
    return "".join(char for char in drop_unstorable(text) if char.isprintable()).strip()
