"""An edit of one memory: the new values, and everything that follows from them, in one write.

``MemoryEditor.edit`` is what ``MemoryEngine.edit`` calls. ``prepare_fields`` alone serves the
vault, whose files bring edits of their own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from engrams.core import (
    CODE,
    MESSAGE_KINDS,
    STATEMENT_KINDS,
    UNSEARCHED,
    Edge,
    Kind,
    Record,
    Vector,
    build_tag_edges,
    clean_text,
)
from engrams.extract.redaction import (
    find_decisions,
    redact_json,
    redact_text,
    refuse_secrets,
)
from engrams.extract.statement_times import restate_times
from engrams.forget.cascade import cascade_changes
from engrams.forget.edit_fields import restate_slot, validate_fields
from engrams.ports import (
    JobLease,
    JobSpec,
    RecordChange,
    StorageUse,
    WriteBatch,
)
from engrams.text.prose import strip_code
from engrams.write.extraction_jobs import (
    OwnExtraction,
    find_own_extraction,
    plan_extraction,
)
from engrams.write.summary_jobs import plan_new_summary
from engrams.write.write_deps import WriteDeps


@dataclass(frozen=True, slots=True)
class RecordEditResult:
    """A stored edit."""

    record: Record
    """The record with its new values."""
    changed_ids: tuple[str, ...]
    """Ids of all records that the edit changed; the edited one first."""
    own_extraction: OwnExtraction | None = None
    """The extraction that the caller has to run, where it gave a lease."""


class MemoryEditor:
    """Edits records, with all that follows for others. Calls no model but an inline embedder."""

    def __init__(self, deps: WriteDeps) -> None:
        self._deps = deps
        self._store = deps.store
        self._embedder = deps.embedder
        self._clock = deps.clock
        self._settings = deps.settings
        self._quota = StorageUse(deps.settings.quota.records, deps.settings.quota.bytes)

    def edit(
        self,
        record: Record,
        values: Mapping[str, Any],
        reason: str = "",
        *,
        expect: int | None = None,
        lease: JobLease | None = None,
    ) -> RecordEditResult:
        """Change a record in one write, with all that follows for others.

        If the text of a message changes, the facts that it no longer says end, and a job learns
        from the new text. ``values``: new values by field name. ``expect``: the version that the
        record must still have. ``lease``: of the caller, who runs the extraction job itself (None:
        a worker runs it). InputError: a value does not fit. RefusedError: the record is purged, or
        the text contains a secret. ConflictError: the version is no longer the expected one.
        """
        now = self._clock()
        fields, vectors = self.prepare_fields(record, validate_fields(record, values))
        edited = replace(record, **fields)
        changes = [
            RecordChange(
                owner=record.scope.owner,
                id=record.id,
                fields=fields,
                action="edit",
                expect=expect,
            )
        ]
        jobs: tuple[JobSpec, ...] = ()
        if edited.text != record.text:
            min_words = self._settings.write.min_words
            changes += cascade_changes(record, fields, self._store, now, min_words)
            jobs = (*self._plan_jobs(edited, lease), *plan_new_summary(edited, self._deps))
        new_edges, old_edges = diff_tag_edges(record, edited.tags)
        result = self._store.commit(
            WriteBatch(
                actor="user",
                reason=redact_text(reason, self._settings.write)[0] or "edited",
                at=now,
                changes=tuple(changes),
                vectors=tuple((record.scope.owner, vector) for vector in vectors),
                edges=new_edges,
                unlink=old_edges,
                jobs=jobs,
                quota=self._quota,
            )
        )
        return RecordEditResult(
            record=edited,
            changed_ids=tuple(change.id for change in changes),
            own_extraction=find_own_extraction(jobs, result.jobs, (edited,), now),
        )

    def prepare_fields(
        self, record: Record, fields: dict[str, Any]
    ) -> tuple[dict[str, Any], tuple[Vector, ...]]:
        """Clean the fields of an edit, and embed the record if its text changes.

        A new text of a statement brings its subject, predicate and object along, unless the edit
        sets them. RefusedError: the new text contains a secret.
        """
        for name in ("text", "caption", "summary"):
            if fields.get(name):
                fields = {**fields, name: self._clean_text(fields[name])}
        fields = {name: self._redact_value(value) for name, value in fields.items()}
        if "text" in fields and not {"subject", "object", "predicate"} & set(fields):
            fields = {**fields, **restate_slot(record, fields["text"])}
        if "text" in fields and record.kind in STATEMENT_KINDS:
            annotated = replace(record, meta=fields.get("meta", record.meta))
            meta = restate_times(annotated, fields["text"])
            fields = fields if meta == annotated.meta else {**fields, "meta": meta}
        if "text" in fields and CODE in (meta := fields.get("meta", record.meta)):
            # The anchors are those of the words before.
            fields = {**fields, "meta": {key: meta[key] for key in meta if key != CODE}}
        card = self._embedder.card
        if not {"text", "caption"} & set(fields) or not card.inline or not card.dimension:
            return fields, ()
        row = self._embedder.embed([strip_code(replace(record, **fields).search_text)])[0]
        return fields, (Vector(record.id, card.id, card.dimension, row.tobytes()),)

    def _redact_value(self, value: Any) -> Any:
        """Redact the secrets in a field: names, tags, triggers and metadata hold them too.

        RefusedError: the settings refuse one.
        """
        if isinstance(value, tuple):
            return tuple(map(self._redact_value, value))
        if isinstance(value, str | list | Mapping):
            refuse_secrets(find_decisions(value, self._settings.write))
        is_text = isinstance(value, str | list | Mapping)
        return redact_json(value, self._settings.write) if is_text else value

    def _clean_text(self, text: str) -> str:
        """Clean a text, and redact its secrets. RefusedError: the settings refuse secrets."""
        text = clean_text(text, self._settings.limits.text_bytes)
        redacted, decisions = redact_text(text, self._settings.write)
        refuse_secrets(decisions)
        return redacted

    def _plan_jobs(self, record: Record, lease: JobLease | None) -> tuple[JobSpec, ...]:
        """Plan the extraction from an edited message; none for other records."""
        section = self._settings.write
        if section.extract == "off" or UNSEARCHED in record.meta:
            return ()
        if record.kind not in MESSAGE_KINDS:
            return ()
        if record.kind is not Kind.NOTE and record.role not in section.roles:
            return ()
        return (plan_extraction([record], [record.id], self._deps, lease=lease, quiet=0.0),)


def diff_tag_edges(
    record: Record, tags: Sequence[str]
) -> tuple[tuple[Edge, ...], tuple[Edge, ...]]:
    """Return the tag edges to add and to remove for the new tags of a record."""
    added = build_tag_edges(record, [tag for tag in tags if tag not in record.tags])
    removed = build_tag_edges(record, [tag for tag in record.tags if tag not in tags])
    return added, removed
