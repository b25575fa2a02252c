"""Import files, folders, zips or parsed pieces into a memory; the entry is ``load``.

A file is read twice: once to check it and to count its pieces, then to store them in batches. A
repeated import stores nothing twice, because every piece has an id of its own.
"""

from __future__ import annotations

import base64
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field, replace
from itertools import groupby, pairwise
from pathlib import Path
from typing import Any

from engrams.core import IMPORTED, Edge, ImportOptions, Kind, Receipt, Scope, Turn
from engrams.errors import EngramsError, ExtraError, InputError, RefusedError
from engrams.ports import AttachmentStore, Clock, MediaModel, Store, WriteBatch
from engrams.settings import QuotaSettings
from engrams.transfer import formats
from engrams.transfer.documents.document_files import is_document, is_media, read_given
from engrams.transfer.documents.document_kinds import HEAD, find_media_type
from engrams.transfer.documents.document_notes import (
    check_note,
    join_notes,
    read_note,
    tell_more,
)
from engrams.transfer.documents.media_words import describe_media
from engrams.transfer.documents.passages import to_turns
from engrams.transfer.documents.read_document import ReadDocument
from engrams.transfer.documents.reading_process import DocumentReadingProcess
from engrams.transfer.documents.recognised_text import (
    describe_unread,
    needs_recognition,
    recognise_pages,
    recognise_picture,
)
from engrams.transfer.documents.stored_documents import (
    GivenDocument,
    StoredDocument,
    end_document,
    find_first_passage,
    find_stored_copy,
    replace_earlier,
)
from engrams.transfer.documents.text_recognition import TextRecogniser, is_installed
from engrams.transfer.formats import (
    ExportedEdge,
    ExportedRecord,
    ForeignLink,
    ImportFile,
    ParsedTurn,
    UnreadablePiece,
)
from engrams.transfer.imports.restoring import EditRecord, overwrite_existing, store_exported
from engrams.transfer.progress import Progress
from engrams.write.ignored_files import find_ignore_rule, match_ignore_rule, read_rooted_rules

DOCUMENT_FORMAT = "document"
"""Name of the format that reads any file as a document."""
EVERYONE = "*"
"""Name of a user that stands for all users of a file."""
_BATCH = 500
"""Pieces stored together."""
_SHOWN_USERS = 10
_FORMATS_OF_CONVERSATIONS = frozenset({"locomo", "turns", "json", "engrams", "agent_cli"})
"""Formats with a scope per conversation; the others hold one person's chats."""


@dataclass(slots=True)
class ImportCounts:
    """Counts of an import."""

    id: str = ""
    """Id that undoes the import. Empty: it stored nothing."""
    stored: int = 0
    """Messages and memories that are new."""
    existing: int = 0
    """Messages and memories that were there before."""
    overwritten: int = 0
    """Memories among them to which an export gave other values."""
    refused: int = 0
    """Messages that the rules of this memory refuse."""
    edges: int = 0
    """Links of records that an export brought."""
    files: int = 0
    """Files that were read."""
    rejected: int = 0
    """Files of a folder or zip that were refused whole."""
    unstored: int = 0
    """Messages that memory could not take."""
    bad: list[tuple[int, str]] = field(default_factory=list)
    """Line and reason of each piece that could not be read or stored; line 0: unknown."""
    removed: int = 0
    """Passages that ended because the file of their document is gone."""
    undescribed: list[str] = field(default_factory=list)
    """Pictures and sounds that are stored without a model's words, each with the reason."""
    ignored: list[str] = field(default_factory=list)
    """Files that an ignore rule excludes, each with the rule."""
    scopes: dict[str, int] = field(default_factory=dict)
    """Number of messages and memories by the key of their scope."""


@dataclass(frozen=True, slots=True)
class DocumentChanges:
    """Changes of documents that one import brings."""

    files: Sequence[ImportFile]
    """Documents that are new or changed."""
    gone_documents: Sequence[StoredDocument] = ()
    """Documents whose files are gone."""


@dataclass(frozen=True, slots=True)
class ImportTarget:
    """Memory that an import stores into."""

    write_turns: Callable[[Sequence[Turn], Scope, Kind, str], tuple[Receipt, ...]]
    """Stores turns of one kind in a scope; the text names the channel they came by."""
    store: Store
    clock: Clock
    ignore_root: Path = Path()
    """Folder whose ignore files count beside those of the files' own folders."""
    quota: QuotaSettings = field(default_factory=QuotaSettings)
    edit: EditRecord | None = None
    """Changes a memory that is there already. None: it stays as it is."""
    redact_name: Callable[[str], str] = str
    """Takes secrets out of the name of a file."""
    attachments: AttachmentStore | None = None
    """Keeps the files of pictures and sounds. None: only what is said of them is kept."""
    keeps_places: bool = False
    """Store the place at which a picture says that it was taken."""
    recognises_text: bool = True
    """Read the text of pictures and scans, where the library for it is installed."""
    media_models: Mapping[str, MediaModel] = field(default_factory=dict)
    """Models that tell of pictures (``image``) and sounds (``audio``)."""


def load(
    source: Path | str | GivenDocument | DocumentChanges | Iterable[Any],
    scope: Scope,
    target: ImportTarget,
    options: ImportOptions,
    progress: Progress | None,
) -> ImportCounts:
    """Import a file, folder, zip, document or parsed pieces.

    A broken file among several is listed in the counts. InputError: nothing can be read, or the
    only file is broken.
    """
    counts = ImportCounts()
    with DocumentReadingProcess() as reading, closing(TextRecogniser()) as recogniser:
        is_recognising = target.recognises_text and is_installed()
        importer = _FileImporter(
            scope=scope,
            target=target,
            options=options,
            counts=counts,
            progress=progress,
            reading=reading,
            recogniser=recogniser if is_recognising else None,
            origin=str(source) if isinstance(source, str | Path) else "",
            upload="" if isinstance(source, DocumentChanges) else options.name,
        )
        match source:
            case str() | Path():
                _load_files(source, importer)
            case GivenDocument():
                importer.load_given(source)
            case DocumentChanges():
                importer.load_changes(source)
            case _:
                importer.store_pieces(source, options.format)
    return counts


def _load_files(source: Path | str, importer: _FileImporter) -> None:
    counts = importer.counts
    with formats.open_files(source, importer.options.name) as files:
        importer.is_single = len(files) == 1
        for file, next_file in pairwise([*files, None]):
            assert file is not None  # only the last one has none after it
            try:
                importer.load_file(file, next_file)
            except InputError as problem:
                if len(files) == 1:
                    raise InputError(f"{file.name}: {problem.message}", hint=problem.hint) from None
                counts.bad.append((0, f"{file.name}: {problem.message}"))
                counts.rejected += 1


@dataclass(slots=True)
class _FileImporter:
    """One import, file after file."""

    scope: Scope
    target: ImportTarget
    options: ImportOptions
    counts: ImportCounts
    progress: Progress | None
    reading: DocumentReadingProcess
    recogniser: TextRecogniser | None
    """None: the text of pictures is not read."""
    origin: str = ""
    """Path of the file, folder or zip that is imported."""
    upload: str = ""
    """Name of an upload. Empty: the files lie where their paths say."""
    is_single: bool = False
    """There is one file alone, so that a picture is no part of an export."""
    handled: int = 0
    """Pieces that were handled."""
    total: int = 0
    """Pieces of the files that were checked so far."""
    users: set[str] = field(default_factory=set)
    """Users that the files named so far."""
    ids_by_external_id: dict[str, str] = field(default_factory=dict)
    """Ids of the explicit memories of the current file."""
    links: list[tuple[str, ForeignLink]] = field(default_factory=list)
    """Links of the current file, each with the ``external_id`` of its source."""
    ahead: tuple[ImportFile, GivenDocument] | None = None
    """File that is read while the one before it is stored."""

    def load_file(self, file: ImportFile, next_file: ImportFile | None) -> None:
        """Import one file, or refuse it whole. InputError: the reason.

        ``next_file``: the one that is imported next, which is read ahead if it is a document.
        """
        rule = self._find_ignore_rule(file)
        if rule:
            self.counts.ignored.append(f"{file.name} ({rule})")
            return
        format = self.options.format
        if self._reads_as_document(file):
            self.load_document(self._read_given(file), next_file)
            return
        if self.is_single and format == "auto" and is_media(file):
            self._load_media(file)
            return
        if format == "auto":
            format = formats.detect(file.open(), file.name)
        user = self.options.user
        pieces_by_user = _check_pieces(formats.read(file.open(), format), self.options)
        users = self.users | pieces_by_user.keys() - {""}
        _check_users(users, user)
        self.users = users
        self.total += sum(
            count for name, count in pieces_by_user.items() if _is_wanted_user(name, user)
        )
        self.store_pieces(_select_user(formats.read(file.open(), format), user), format)
        self.counts.files += 1

    def _load_media(self, file: ImportFile) -> None:
        """Store a picture or sound. InputError: it cannot be read, also for want of a library."""
        try:
            self.load_document(self._read_given(file))
        except ExtraError as problem:
            raise InputError(problem.message, hint=problem.hint) from None

    def load_given(self, document: GivenDocument) -> None:
        """Store a document that came as bytes. RefusedError: an ignore rule excludes its name."""
        rule = match_ignore_rule(document.name, read_rooted_rules(self.target.ignore_root))
        if rule and not self.options.ignored:
            raise RefusedError(
                f"{document.name:.200} is not stored: the rule {rule} excludes it.",
                hint="Files with keys are never read; give another file.",
            )
        self.load_document(document)

    def load_changes(self, changes: DocumentChanges) -> None:
        """Store changed documents and end those that are gone; list those that cannot be read."""
        target = self.target
        for document in changes.gone_documents:
            self.counts.removed += end_document(
                document, self.options.mark, target.store, target.clock
            )
        # The same contents are stored once. A file may have those that another one just lost.
        waiting = [
            file
            for file, next_file in pairwise([*changes.files, None])
            if file is not None and not self._load_listed(file, next_file)
        ]
        for file in waiting:
            self._load_listed(file, None)

    def _load_listed(self, file: ImportFile, next_file: ImportFile | None) -> bool:
        """Store a document of several; False: its contents are stored as another document."""
        try:
            return self.load_document(self._read_given(file), next_file)
        except InputError as problem:
            self.counts.bad.append((0, f"{file.name}: {problem.message}"))
            self.counts.rejected += 1
            return True

    def load_document(self, document: GivenDocument, next_file: ImportFile | None = None) -> bool:
        """Store a document, or what changed of it; False: it is stored as another document.

        ``next_file``: it is read while this one is stored. InputError: this one cannot be read.
        """
        store = self.target.store
        document = replace(document, note=self._choose_note(document))
        source, stored_count = find_stored_copy(document, self.scope, store)
        read_document: ReadDocument | None = None
        with self._reserve_file(document):
            if stored_count:
                self.counts.existing += stored_count
            else:
                read_document = self.reading.read(document.data, document.name)
                self._read_ahead(next_file)
                full_document = tell_more(
                    self._recognise(read_document, document),
                    document.note,
                    keeps_places=self.target.keeps_places,
                )
                if full_document.media:
                    full_document = self._describe(full_document, document)
                turns = to_turns(full_document, source)
                self.total += len(turns)
                self.store_pieces(turns, DOCUMENT_FORMAT)
            replace_earlier(source, self.scope, store, self.target.clock)
            self.counts.files += 1
            self._keep_file(document, read_document)
        return find_first_passage(source.id, self.scope, store) is not None

    def _choose_note(self, document: GivenDocument) -> str:
        """Choose the words that stand before a document's own. InputError: they are too many."""
        note = check_note(document.note or self.options.note)
        if not self.options.adds_note:
            return note
        if not find_media_type(document.data[:HEAD]):
            return ""
        first = find_first_passage(document.id, self.scope, self.target.store)
        return join_notes(read_note(first) if first is not None else "", note)

    def _recognise(self, read_document: ReadDocument, document: GivenDocument) -> ReadDocument:
        """Add the text of a picture, or of the pages of a scan. InputError: a scan has no other text."""
        if not needs_recognition(read_document):
            return read_document
        reason = ""
        full_document = read_document
        if self.recogniser is None:
            reason = describe_unread(read_document, is_off=not self.target.recognises_text)
        elif read_document.media:
            try:
                full_document = recognise_picture(read_document, document.data, self.recogniser)
            except EngramsError as problem:
                reason = f"Its text was not read: {problem.message}"
        else:
            self.total += len(read_document.scanned_pages)
            full_document, reason = recognise_pages(
                read_document, document.data, self.recogniser, self._note_page
            )
        if reason:
            self.counts.undescribed.append(f"{document.name}: {reason}")
        return full_document

    def _note_page(self) -> None:
        self.handled += 1
        if self.progress is not None:
            self.progress(self.handled, self.total)

    def _describe(self, full_document: ReadDocument, document: GivenDocument) -> ReadDocument:
        """Add what a model tells of a picture or sound, where one is connected.

        A file that no model tells of is stored without that, and is listed. InputError: nothing but
        such words, or those that the picture shows, was asked for, and there are none.
        """
        try:
            return describe_media(full_document, document, self.target.media_models)
        except EngramsError as problem:
            if document.is_read_anew and not any(block.by for block in full_document.blocks):
                raise InputError(problem.message, hint=problem.hint) from None
            reason = f"{problem.message} {problem.hint}".rstrip()
            self.counts.undescribed.append(f"{document.name}: {reason}")
            return full_document

    @contextmanager
    def _reserve_file(self, document: GivenDocument) -> Iterator[None]:
        """Count the file of a picture or sound while it is stored, and further if it is kept.

        BudgetError: it is too large for the owner's quota, and nothing of it is stored.
        """
        attachments = self.target.attachments
        owner = self.scope.owner
        is_counted = (
            attachments is None
            or not find_media_type(document.data[:HEAD])
            or attachments.has(owner, document.version)
        )
        if attachments is None or is_counted:
            yield
            return
        attachments.reserve(owner, document.version, len(document.data))
        try:
            yield
        finally:
            attachments.release(owner, document.version)

    def _keep_file(self, document: GivenDocument, read_document: ReadDocument | None) -> None:
        """Keep the file of a picture or sound that is stored, where it is not kept yet.

        After its passages: a file of which no memory tells could not be erased by anybody. An import
        that was killed between the two keeps it when it is repeated.
        """
        attachments = self.target.attachments
        if attachments is None or not find_media_type(document.data[:HEAD]):
            return
        owner = self.scope.owner
        if attachments.has(owner, document.version) or not self._is_stored(document):
            return
        read_document = read_document or self.reading.read(document.data, document.name)
        preview = base64.b64decode(read_document.preview)
        attachments.write(owner, document.version, document.data, preview)
        if not self._is_stored(document):
            attachments.erase(owner, document.version)  # it was purged meanwhile

    def _is_stored(self, document: GivenDocument) -> bool:
        """True for contents that are stored whole, and current."""
        store = self.target.store
        plain = replace(document, note="", is_read_anew=False)
        stored_count = find_stored_copy(plain, self.scope, store)[1]
        return stored_count > 0

    def store_pieces(self, pieces: Iterable[Any], format: str) -> None:
        """Store pieces, in batches."""
        split_conversations = format in _FORMATS_OF_CONVERSATIONS
        for batch in _iter_batches(pieces):
            for scope, kind, items in _group_turns(batch, self.scope, split_conversations):
                marked_items = [_mark_with_import(item, self.options.mark) for item in items]
                self._write_turns(marked_items, scope, kind)
            self._store_exported(
                [item for item in batch if isinstance(item, ExportedRecord | ExportedEdge)]
            )
            self.counts.bad.extend(
                (item.line, item.message) for item in batch if isinstance(item, UnreadablePiece)
            )
            self.handled += len(batch)
            if self.progress is not None:
                self.progress(self.handled, max(self.total, self.handled))
        self._store_links()

    def _read_ahead(self, file: ImportFile | None) -> None:
        """Begin to read a file, if it is a document that is not stored yet."""
        if file is None or self._find_ignore_rule(file) or not self._reads_as_document(file):
            return
        try:
            document = self._read_given(file)
        except InputError:
            return  # its turn comes, and says why
        _source, stored_count = find_stored_copy(document, self.scope, self.target.store)
        if not stored_count:
            self.ahead = (file, document)
            self.reading.read_ahead(document.data, document.name)

    def _read_given(self, file: ImportFile) -> GivenDocument:
        """Read a file's bytes, unless they were read ahead. Errors: ``read_given``."""
        ahead = self.ahead
        self.ahead = None
        if ahead is not None and ahead[0] is file:
            return ahead[1]
        return read_given(file, self.origin, self.upload)

    def _reads_as_document(self, file: ImportFile) -> bool:
        format = self.options.format
        return format == DOCUMENT_FORMAT or (format == "auto" and is_document(file))

    def _find_ignore_rule(self, file: ImportFile) -> str:
        """Find the rule that excludes a file; empty: none does, or none counts.

        An upload lies under a path that nobody chose, so that its name is matched instead.
        """
        if self.options.ignored:
            return ""
        if self.options.name or file.path is None:
            return match_ignore_rule(file.name, read_rooted_rules(self.target.ignore_root))
        return find_excluding_rule(file.path, self.target.ignore_root)

    def _write_turns(self, items: Sequence[ParsedTurn], scope: Scope, kind: Kind) -> None:
        counts = self.counts
        for item, receipt in self._write_each(items, scope, kind):
            counts.scopes[scope.key] = counts.scopes.get(scope.key, 0) + 1
            counts.stored += receipt.outcome in ("stored", "redacted", "incognito")
            counts.existing += receipt.outcome == "duplicate"
            counts.refused += receipt.outcome in ("refused", "unsaved")
            if receipt.id and kind is not Kind.TURN:
                self.ids_by_external_id[item.turn.external_id] = receipt.id
                self.links.extend((item.turn.external_id, link) for link in item.links)

    def _write_each(
        self, items: Sequence[ParsedTurn], scope: Scope, kind: Kind
    ) -> list[tuple[ParsedTurn, Receipt]]:
        """Write turns and return each with its receipt; one that is no turn is counted as bad."""
        turns = [_with_session(item) for item in items]
        try:
            receipts = self.target.write_turns(turns, scope, kind, _choose_channel(kind))
        except (InputError, RefusedError) as problem:
            if len(items) > 1:
                # One refused turn must not cost its neighbours: write them one by one.
                return [pair for item in items for pair in self._write_each([item], scope, kind)]
            self.counts.unstored += 1
            line = items[0].line
            self.counts.bad.append((line, f"{turns[0].external_id}: {problem.message}"))
            return []
        return list(zip(items, receipts, strict=True))

    def _store_links(self) -> None:
        """Store the links of a file whose two ends are in this memory."""
        owner = self.scope.owner
        ids = self.ids_by_external_id
        edges = set()
        for external_id, link in self.links:
            ends = [ids[external_id], ids.get(link.target, "")]
            if ends[1] and ends[0] != ends[1]:
                source, target = reversed(ends) if link.is_incoming else ends
                edges.add(Edge(owner, source, target, link.type, link.weight))
        if edges:
            links = tuple(sorted(edges, key=lambda edge: (edge.source, edge.target, edge.type)))
            batch = WriteBatch("import", "links of an import", self.target.clock(), edges=links)
            self.target.store.commit(batch)
        self.counts.edges += len(edges)
        self.links.clear()
        self.ids_by_external_id.clear()

    def _store_exported(self, items: Sequence[ExportedRecord | ExportedEdge]) -> None:
        """Restore records of an earlier export under this owner, unchanged."""
        if not items:
            return
        target = self.target
        if self.options.overwrite and target.edit is not None:
            self.counts.overwritten += overwrite_existing(
                items, self.scope, target.store, target.edit, target.clock()
            )
        restored = store_exported(
            items, self.scope, target.store, target.quota, target.clock(), self.options
        )
        counts = self.counts
        counts.stored += restored.stored
        counts.existing += len(restored.scopes) - restored.stored
        counts.edges += restored.edges
        for scope in restored.scopes:
            counts.scopes[scope.key] = counts.scopes.get(scope.key, 0) + 1


def _choose_channel(kind: Kind) -> str:
    """Choose the channel, which sets the trust: a document's words are not the owner's."""
    return "document" if kind is Kind.PASSAGE else "import"


def find_excluding_rule(path: Path, ignore_root: Path) -> str:
    """Return the ignore rule that excludes a file, of its own folders or of the root; else empty."""
    rule = match_ignore_rule(path.resolve().as_posix(), read_rooted_rules(ignore_root))
    return rule or find_ignore_rule(path)


def _check_pieces(pieces: Iterable[Any], options: ImportOptions) -> Counter[str]:
    """Read a file once to check it; count its pieces by user.

    InputError: it is broken, or holds nothing that can be imported.
    """
    first_unreadable: UnreadablePiece | None = None
    has_readable = False
    counts = Counter[str]()
    for piece in pieces:
        counts[_name_user(piece)] += 1
        if not isinstance(piece, UnreadablePiece):
            has_readable = True
            continue
        if piece.broken and not options.skip_bad:
            raise InputError(
                _describe_unreadable(piece),
                hint=(
                    "Repair the file, or give skip_bad (--skip-bad) to import its readable part."
                ),
            )
        first_unreadable = first_unreadable or piece
    if first_unreadable is not None and not has_readable:
        raise InputError(
            f"Nothing in it can be imported. {_describe_unreadable(first_unreadable)}",
            hint="If its format was detected wrongly, name it (--format).",
        )
    return counts


def _describe_unreadable(piece: UnreadablePiece) -> str:
    return f"Line {piece.line}: {piece.message}" if piece.line else piece.message


def _check_users(users: set[str], wanted_user: str) -> None:
    """Check that it is clear whose memories to take.

    InputError: the files name several users and the caller none, or not the caller's one.
    """
    names = sorted(users)
    is_unclear = len(names) > 1 and not wanted_user
    is_missing = wanted_user not in ("", EVERYONE) and names and wanted_user not in names
    if not is_unclear and not is_missing:
        return
    shown = ", ".join(names[:_SHOWN_USERS]) + (" …" if len(names) > _SHOWN_USERS else "")
    if len(names) > 1:
        statement = f"It contains the memories of {len(names)} users"
    else:
        statement = f"It contains nothing of {wanted_user!r}, but of"
    raise InputError(
        f"{statement}: {shown}.",
        hint=(
            f"Name one (--from-user NAME), or take all into this memory (--from-user '{EVERYONE}')."
        ),
    )


def _select_user(pieces: Iterable[Any], wanted_user: str) -> Iterator[Any]:
    """Yield the pieces of one user, and those that name no user."""
    return (piece for piece in pieces if _is_wanted_user(_name_user(piece), wanted_user))


def _name_user(piece: Any) -> str:
    name: str = getattr(piece, "user", "")
    return name


def _is_wanted_user(name: str, wanted_user: str) -> bool:
    return wanted_user in ("", EVERYONE) or name in ("", wanted_user)


def _iter_batches(pieces: Iterable[Any]) -> Iterator[list[Any]]:
    batch: list[Any] = []
    for piece in pieces:
        batch.append(piece)
        if len(batch) >= _BATCH:
            yield batch
            batch = []
    if batch:
        yield batch


def _group_turns(
    batch: Sequence[Any], scope: Scope, split_conversations: bool
) -> Iterator[tuple[Scope, Kind, list[ParsedTurn]]]:
    """Yield runs of neighbouring turns of one scope and kind."""
    turns = (item for item in batch if isinstance(item, ParsedTurn))

    def group_key(item: ParsedTurn) -> tuple[Scope, Kind]:
        return _find_scope(item, scope, split_conversations), item.kind

    for (turn_scope, kind), group in groupby(turns, key=group_key):
        yield turn_scope, kind, list(group)


def _find_scope(item: ParsedTurn, scope: Scope, split_conversations: bool) -> Scope:
    """Return the scope of a turn below the import's; a label that is there is not repeated."""
    labels = item.scope_labels
    if split_conversations and item.conversation:
        labels = (*labels, "conversation", item.conversation)
    for kind, name in zip(labels[::2], labels[1::2], strict=True):
        if name not in scope.labels:
            scope = scope.within(kind, name)
    return scope


def _with_session(item: ParsedTurn) -> Turn:
    """Return the turn of an item, in its conversation's session where it names none."""
    if item.turn.session or not item.conversation:
        return item.turn
    return replace(item.turn, session=item.conversation)


def _mark_with_import(item: ParsedTurn, mark: str) -> ParsedTurn:
    """Tag a turn with the id of its import, so that the import can be undone."""
    if not mark:
        return item
    return replace(item, turn=replace(item.turn, meta={**item.turn.meta, IMPORTED: mark}))
