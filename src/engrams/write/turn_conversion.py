"""Conversion of turns to records: cleaned, redacted, with trust and vectors."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any, Literal

from engrams.core import (
    LAYER_OF,
    NOTHING_STATED,
    Json,
    Kind,
    Meta,
    Provenance,
    Receipt,
    Record,
    Scope,
    StageDecision,
    StatedFields,
    Status,
    Turn,
    Vector,
    clean_text,
    clock,
    drop_unstorable,
    is_blank,
    shorten_name,
)
from engrams.core.ids import check_id, new_id
from engrams.errors import InputError, ModelError
from engrams.extract import pii_detection, secrets
from engrams.frozen_data import dataclass
from engrams.ports import Embedder, NewRecord
from engrams.settings import SizeLimitSettings, WriteSettings
from engrams.text.prose import strip_code
from engrams.text.system_texts import remove_system_texts
from engrams.write.dependencies import WriteDeps
from engrams.write.ignored_files import match_ignore_rule
from engrams.write.stated_facts import fill_procedure

# Trust by channel, 0..1: the owner's files and imports nearly as much as the owner; the web least.
TRUST: Mapping[str, float] = {
    "user": 1.0,
    "file": 0.95,
    "import": 0.9,
    "assistant": 0.6,
    "tool": 0.5,
    "system": 0.5,
    "web": 0.3,
}
_CHANNEL_OF = {"user": "user", "assistant": "assistant", "system": "system", "tool": "tool"}
_LABEL = 200
_NULS = re.compile(r"(\\\\)|\\u0000")
"""NUL in JSON; what two backslashes begin is none."""
_SAID = (Kind.TURN, Kind.EXCHANGE)
_PEOPLE = ("user", "assistant")
_NOBODYS = StageDecision(
    "clean", "cut", "a reminder, tool output, dumped file or quoted context: nobody said it"
)


@dataclass(frozen=True, slots=True)
class TurnConversionResult:
    """Record made of one turn, or None if refused, with decisions."""

    record: Record | None
    outcome: Literal["stored", "redacted", "refused", "unsaved"]
    decisions: tuple[StageDecision, ...] = ()


@dataclass(frozen=True, slots=True)
class TurnIngestRecords:
    """Records to store for ingested turns, and a receipt for each."""

    puts: tuple[NewRecord, ...]
    receipts: tuple[Receipt, ...]

    @property
    def records(self) -> tuple[Record, ...]:
        return tuple(put.record for put in self.puts)


def journal_turns(
    turns: Sequence[Turn],
    scope: Scope,
    deps: WriteDeps,
    *,
    kind: Kind = Kind.TURN,
    channel: str = "",
) -> TurnIngestRecords:
    """Convert turns to records, redacted, with receipts.

    No model is asked, except an inline embedder. A refused turn has a receipt and no record.
    InputError: a turn is empty, too large or malformed; then none is journaled.
    """
    now = deps.clock()
    entries = [
        ingest_turn(
            turn,
            scope,
            now,
            deps.settings,
            deps.limits,
            kind=kind,
            channel=channel,
            ignore=deps.ignore,
        )
        for turn in turns
    ]
    records = [entry.record for entry in entries if entry.record is not None]
    vectors, notes = embed_records(
        records, deps.embedder if deps.embedder is not None and deps.embedder.card.inline else None
    )
    receipts = []
    for entry in entries:
        if (record := entry.record) is None:
            receipts.append(Receipt("", scope, entry.outcome, now, decisions=entry.decisions))
            continue
        searchable = ("lexical", "dense") if record.id in vectors else ("lexical",)
        receipts.append(
            Receipt(
                id=record.id,
                scope=scope,
                outcome=entry.outcome,
                recorded_at=record.recorded_at,
                searchable=searchable,
                decisions=(*entry.decisions, *notes),
            )
        )
    return TurnIngestRecords(
        tuple(NewRecord(record, vector=vectors.get(record.id)) for record in records),
        tuple(receipts),
    )


def embed_records(
    records: Sequence[Record], embedder: Embedder | None
) -> tuple[dict[str, Vector], tuple[StageDecision, ...]]:
    """Embed records by id; a failure leaves them findable by words."""
    if embedder is None or not records:
        return {}, ()
    try:
        matrix = embedder.embed([strip_code(record.search_text) for record in records], "document")
    except ModelError as problem:
        return {}, (StageDecision("embed", "later", problem.message),)
    card = embedder.card
    rows = {record.id: row for record, row in zip(records, matrix, strict=True) if row.any()}
    return {
        name: Vector(name, card.id, card.dimension, row.astype("<f4").tobytes())
        for name, row in rows.items()
    }, ()


def ingest_turn(
    turn: Turn,
    scope: Scope,
    now: datetime,
    settings: WriteSettings,
    limits: SizeLimitSettings,
    *,
    kind: Kind = Kind.TURN,
    channel: str = "",
    ignore: Sequence[str] = (),
) -> TurnConversionResult:
    """Build the record of ``turn``: ``stored``, ``redacted``, ``refused`` or ``unsaved``.

    What a client put around the words of a message is cut (a message of nothing else is unsaved; a
    file is kept as it is), and so are secrets (and personal data, by setting), also in the caption,
    speaker and metadata. ``channel`` sets the trust (empty: the turn's role). A text from a file
    names it in ``meta["file"]`` (or several in ``meta["files"]``); one that an ignore rule matches
    is refused. Raises InputError for what is empty, too large or not text.
    """
    files = _source_files(turn.meta)
    for file in files:
        if rule := match_ignore_rule(file, ignore):
            return TurnConversionResult(
                None, "refused", (StageDecision("ignored", "refused", f"{file}: {rule}"),)
            )
    if kind not in LAYER_OF:
        raise InputError(
            f"There is no kind {kind!r}.", hint=f"The kinds are: {', '.join(LAYER_OF)}."
        )
    source = channel or _CHANNEL_OF.get(turn.role, "user")
    if source not in TRUST:
        raise InputError(
            f"There is no channel {source!r}.", hint=f"The channels are: {', '.join(TRUST)}."
        )
    caption = "" if is_blank(turn.caption or "") else clean_text(turn.caption, limits.text_bytes)
    text = clean_text(turn.text, limits.text_bytes) if turn.text or not caption else ""
    meta = _validate_meta(turn.meta, limits)
    own = (
        remove_system_texts(text)
        if kind in _SAID and turn.role in _PEOPLE and source != "file"
        else text
    )
    cut = (_NOBODYS,) if own != text else ()
    if not own and not caption:
        return TurnConversionResult(None, "unsaved", cut)
    kept, decisions = _redact_parts(
        {"text": own, "caption": caption, "speaker": _clean_name(turn.speaker)}, meta, settings
    )
    if any(decision.verdict == "refused" for decision in decisions):
        return TurnConversionResult(None, "refused", decisions)
    said = clock.utc(turn.at or now)
    record = Record(
        id=check_id(turn.id) if turn.id else new_id(said),
        scope=scope,
        kind=kind,
        text=kept["text"],
        recorded_at=said,
        layer=LAYER_OF[kind],
        role=turn.role,
        speaker=kept["speaker"],
        session=_clean_name(turn.session),
        external_id=_clean_name(turn.external_id),
        caption=kept["caption"],
        provenance=Provenance(channel=source, files=files),
        trust=TRUST[source],
        meta=_redact_json(meta, settings) if decisions else meta,
    )
    record = _fill_stated(record, turn.stated, now, settings)
    return TurnConversionResult(
        fill_procedure(record), "redacted" if decisions else "stored", (*cut, *decisions)
    )


def _fill_stated(
    record: Record, stated: StatedFields, now: datetime, settings: WriteSettings
) -> Record:
    """Fill in what the sender knows; what has ended becomes history."""
    if stated == NOTHING_STATED:
        return record

    def clean(text: str) -> str:
        return clean_secrets(_clean_label(text), settings)[0]

    fields: dict[str, Any] = {
        name: clean(getattr(stated, name))
        for name in ("subject", "predicate", "object", "category")
    }
    shares = {name: getattr(stated, name) for name in ("confidence", "importance")}
    fields |= {
        name: min(max(value, 0.0), 1.0) for name, value in shares.items() if value is not None
    }
    times = {
        name: getattr(stated, name) for name in ("valid_from", "valid_to", "ended_at", "retired_at")
    }
    fields |= {name: clock.utc(at) for name, at in times.items() if at is not None}
    until = fields.get("valid_to")
    if until and "ended_at" not in fields:
        fields["ended_at"] = max(record.recorded_at, min(until, now))
    over = "retired_at" in fields or (until is not None and until <= now)
    tags = tuple(dict.fromkeys(tag for each in stated.tags if (tag := clean(each))))
    return replace(record, status=Status.SUPERSEDED if over else Status.ACTIVE, tags=tags, **fields)


def clean_secrets(text: str, settings: WriteSettings) -> tuple[str, tuple[StageDecision, ...]]:
    """Redact a text as the settings ask; one decision per family.

    The decisions never repeat the secret.
    """
    decisions: list[StageDecision] = []
    for stage, mode, scan in (
        ("secrets", settings.secrets, secrets.scan),
        ("pii", settings.pii, pii_detection.scan),
    ):
        if mode in ("off", "allow"):
            continue
        findings = scan(text)
        if findings:
            verdict = "refused" if mode == "refuse" else "redacted"
            decisions.extend(
                StageDecision(stage, verdict, name)
                for name in dict.fromkeys(item.rule for item in findings)
            )
            text = secrets.replace_findings(text, findings)
    return text, tuple(decisions)


def _source_files(meta: Meta) -> tuple[str, ...]:
    one = meta.get("file")
    several = meta.get("files")
    listed = several if isinstance(several, list | tuple) else ()
    return tuple(file for file in (one, *listed) if isinstance(file, str) and file)


def _redact_parts(
    parts: dict[str, str], meta: Meta, settings: WriteSettings
) -> tuple[dict[str, str], tuple[StageDecision, ...]]:
    kept: dict[str, str] = {}
    decisions: list[StageDecision] = []
    for name, text in parts.items():
        kept[name], found = clean_secrets(text, settings) if text else (text, ())
        decisions.extend(found)
    for text in _collect_strings(meta):
        decisions.extend(clean_secrets(text, settings)[1])
    return kept, tuple(dict.fromkeys(decisions))


def _redact_json(value: Json, settings: WriteSettings) -> Json:
    match value:
        case str():
            return clean_secrets(value, settings)[0]
        case Mapping():
            return {key: _redact_pair(key, item, settings) for key, item in value.items()}
        case list() | tuple():
            return [_redact_json(item, settings) for item in value]
        case _:
            return value


def _redact_pair(key: str, item: Json, settings: WriteSettings) -> Json:
    """Redact an object's item by its name too: ``{"password": "hunter2"}``."""
    if not isinstance(item, str):
        return _redact_json(item, settings)
    lead = f"{key}: "
    redacted = clean_secrets(f"{lead}{item}", settings)[0]
    return (
        redacted.removeprefix(lead)
        if redacted.startswith(lead)
        else clean_secrets(item, settings)[0]
    )


def _collect_strings(value: Json) -> list[str]:
    match value:
        case str():
            return [value]
        case Mapping():
            return [
                text
                for key, item in value.items()
                for text in (
                    *_collect_strings(item),
                    f"{key}: {item}" if isinstance(item, str) else "",
                )
            ]
        case list() | tuple():
            return [text for item in value for text in _collect_strings(item)]
        case _:
            return []


def _validate_meta(meta: Meta, limits: SizeLimitSettings) -> Meta:
    if not meta:
        return {}
    try:
        encoded = json.dumps(dict(meta), ensure_ascii=False, allow_nan=False)
    except (TypeError, ValueError, RecursionError) as problem:
        raise InputError(
            f"The metadata is not JSON: {problem}.",
            hint="Use text, numbers, true, false, null, lists and objects.",
        ) from None
    size = len(encoded.encode("utf-8", "replace"))
    if size > limits.meta_bytes:
        raise InputError(
            f"The metadata has {size:,} bytes; the limit is {limits.meta_bytes:,}.",
            hint="Keep large data elsewhere and store a link.",
        )
    cleaned: Meta = json.loads(_NULS.sub(r"\1", encoded.encode("utf-8", "replace").decode("utf-8")))
    return cleaned


def _clean_label(text: str) -> str:
    return _clean_line(text)[:_LABEL]


def _clean_name(text: str) -> str:
    """Clean a name or id; long ones that differ anywhere stay apart."""
    return shorten_name(_clean_line(text), _LABEL)


def _clean_line(text: str) -> str:
    return "".join(char for char in drop_unstorable(text) if char.isprintable()).strip()
