"""Documents as they are stored: found by their passages, listed, and replaced by a newer version.

Nothing but the passages is stored of a document, and the file of a picture or sound. Those of all its versions have the document's id as
their session; the sender's id of each (``external_id``) names its contents, the copy of them, and
the passage's number.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import PureWindowsPath
from typing import Literal

from engrams.core import Kind, Record, Scope, Status
from engrams.core.document_location import DocumentLocation, read_location
from engrams.errors import InputError, NotFoundError
from engrams.ports import (
    Clock,
    Condition,
    RecordChange,
    RecordQuery,
    RecordStore,
    ScopeReach,
    Store,
    Where,
    WriteBatch,
)
from engrams.transfer.documents.passages import DocumentSource
from engrams.transfer.formats import derive_id

_PAGE = 500
_CHANGED = "the document changed"
_GONE = "the file of the document is gone"
KEPT_STATUSES = tuple(status for status in Status if status is not Status.PURGED)
"""Statuses of passages that still have their words."""
_FIRST_PART = Where("and", (Condition("meta.document.part", "eq", 1),))


@dataclass(frozen=True, slots=True)
class GivenDocument:
    """A document that somebody gave, before it is read."""

    name: str
    source: str
    """Path or address that it came from; of an upload its name."""
    data: bytes
    note: str = ""
    """Words of the user about it. Another note than before makes a new version."""
    is_read_anew: bool = False
    """Store it anew, also if its contents are stored already."""

    @classmethod
    def from_upload(cls, name: str, data: bytes) -> GivenDocument:
        """Make a document of bytes that came with a name alone.

        A name that looks like a path or an address of this machine is no source: ``refresh`` must not
        read there what the sender only named.
        """
        is_elsewhere = PureWindowsPath(name).anchor or name.startswith("/") or "://" in name
        return cls(name, f"upload:{name}" if is_elsewhere else name, data)

    @property
    def id(self) -> str:
        """Id of the document, whatever its contents are."""
        return f"document-{derive_id(self.source)[:16]}"

    @property
    def version(self) -> str:
        """Hash of the contents: 32 hex digits."""
        return hashlib.blake2b(self.data, digest_size=16).hexdigest()


@dataclass(frozen=True, slots=True)
class StoredDocument:
    """A document of a memory."""

    first: DocumentLocation
    """Location of its first passage."""
    scope: Scope
    stored_at: datetime
    """Time at which it was stored; of a mail: at which it was sent."""
    status: Status
    """Forgotten documents are listed on request."""

    @property
    def id(self) -> str:
        return self.first.id

    @property
    def name(self) -> str:
        return self.first.name


@dataclass(frozen=True, slots=True)
class DescribedDocument:
    """A picture or sound of which a model was asked to tell."""

    name: str
    outcome: Literal["described", "missing", "failed"]
    """missing: its file is not kept here."""
    problem: str = ""
    """Reason of a failure."""


@dataclass(frozen=True, slots=True)
class DocumentFile:
    """The file of a picture or sound."""

    name: str
    media_type: str
    data: bytes


def find_stored_copy(
    document: GivenDocument, scope: Scope, store: RecordStore
) -> tuple[DocumentSource, int]:
    """Find the copy of a document's contents that is current, or is to be stored.

    Also returns the number of its passages if it is stored whole, else 0. What was forgotten or
    replaced is no longer current: who gives it again has it stored anew.
    """
    reach = ScopeReach(scope.owner, (scope,))
    copy = 0
    while True:
        source = DocumentSource(document.id, document.name, document.source, document.version, copy)
        external_id = f"{source.version}:{copy}:1"
        page = store.find(RecordQuery(reach, statuses=KEPT_STATUSES, external_id=external_id))
        if not page.records:
            return source, 0
        (first,) = page.records
        location = read_location(first)
        is_current = (
            first.status is Status.ACTIVE
            and first.text.startswith(document.note)
            and not document.is_read_anew
        )
        if is_current and location is not None:
            stored = [
                record
                for record in iter_passages(reach, store, location.id, (Status.ACTIVE,))
                if _belongs_to(record, source)
            ]
            return source, len(stored) if len(stored) == location.parts else 0
        copy += 1


def replace_earlier(source: DocumentSource, scope: Scope, store: Store, clock: Clock) -> None:
    """Supersede the passages of the document's earlier versions; they stay as history."""
    reach = ScopeReach(scope.owner, (scope,))
    passages = [*iter_passages(reach, store, source.id, (Status.ACTIVE,))]
    earlier = [record for record in passages if not _belongs_to(record, source)]
    if not earlier:
        return
    current = next((record.id for record in passages if _belongs_to(record, source)), "")
    _end_passages(earlier, current, _CHANGED, store, clock)


def end_document(document: StoredDocument, import_id: str, store: Store, clock: Clock) -> int:
    """End the passages of a document whose file is gone; they stay as history.

    ``import_id``: the import that found it gone, whose undo makes them current again. Returns the
    number of passages.
    """
    reach = ScopeReach(document.scope.owner, (document.scope,))
    passages = [*iter_passages(reach, store, document.id, (Status.ACTIVE,))]
    # The first passage lists the document, so it ends last: a run that broke off is repeated.
    _end_passages(passages[::-1], import_id, _GONE, store, clock)
    return len(passages)


def _end_passages(
    passages: Sequence[Record], superseded_by: str, reason: str, store: Store, clock: Clock
) -> None:
    now = clock()
    fields = {
        "status": Status.SUPERSEDED,
        "valid_to": now,
        "ended_at": now,
        "superseded_by": superseded_by,
    }
    changes = [
        RecordChange(record.scope.owner, record.id, fields, "supersede", reason=reason)
        for record in passages
    ]
    for start in range(0, len(changes), _PAGE):
        store.commit(
            WriteBatch("import", reason, now, changes=tuple(changes[start : start + _PAGE]))
        )


def _belongs_to(record: Record, source: DocumentSource) -> bool:
    return record.external_id.startswith(f"{source.version}:{source.copy}:")


def iter_passages(
    reach: ScopeReach, store: RecordStore, document_id: str, statuses: Sequence[Status]
) -> Iterator[Record]:
    """Yield the passages of all versions of a document, in the order in which they were stored."""
    after = ""
    while True:
        page = store.find(
            RecordQuery(
                reach,
                (Kind.PASSAGE,),
                tuple(statuses),
                session=document_id,
                order="oldest",
                after=after,
                limit=_PAGE,
            )
        )
        yield from page.records
        if not page.next:
            return
        after = page.next


def find_first_passage(document_id: str, scope: Scope, store: RecordStore) -> Record | None:
    """Find the first passage of a document as it is now; None: it is not stored, or not current."""
    reach = ScopeReach(scope.owner, (scope,))
    return next(iter_passages(reach, store, document_id, (Status.ACTIVE,)), None)


def list_documents(
    reach: ScopeReach, store: RecordStore, statuses: Sequence[Status] = (Status.ACTIVE,)
) -> list[StoredDocument]:
    """List the documents of a memory, newest first, each once."""
    documents: dict[tuple[Scope, str], StoredDocument] = {}
    after = ""
    while True:
        page = store.find(
            RecordQuery(
                reach,
                (Kind.PASSAGE,),
                tuple(statuses),
                where=_FIRST_PART,
                after=after,
                limit=_PAGE,
            )
        )
        for record in page.records:
            location = read_location(record)
            if location is not None:
                documents.setdefault(
                    (record.scope, location.id),
                    StoredDocument(location, record.scope, record.recorded_at, record.status),
                )
        if not page.next:
            return list(documents.values())
        after = page.next


def choose_document(documents: Sequence[StoredDocument], wanted: str) -> StoredDocument:
    """Choose a document by its id, its name, or the path or address it came from.

    NotFoundError: there is none. InputError: there are several.
    """
    matching = [
        document
        for document in documents
        if wanted in (document.id, document.name, document.first.source)
    ]
    if not matching:
        raise NotFoundError(
            f"There is no document {wanted!r:.200}.", hint="`engrams documents` lists them."
        )
    if len(matching) > 1:
        ids = ", ".join(f"{document.id} ({document.first.source})" for document in matching[:5])
        raise InputError(f"Several documents are called so: {ids}.", hint="Give the id of one.")
    return matching[0]
