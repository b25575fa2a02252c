"""Documents of a memory: added, listed, forgotten and erased as wholes; ``DocumentLibrary`` is the entry."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from engrams.core import ImportOptions, Record, Scope, ScopeInput, Status
from engrams.core.document_location import read_location
from engrams.errors import EngramsError, InputError, NotFoundError
from engrams.forget.memory_forgetter import MemoryForgetter
from engrams.ports import PurgeReport, ScopeReach, Store
from engrams.transfer.documents.document_notes import read_note
from engrams.transfer.documents.stored_documents import (
    KEPT_STATUSES,
    DescribedDocument,
    DocumentFile,
    GivenDocument,
    StoredDocument,
    choose_document,
    iter_passages,
    list_documents,
)
from engrams.transfer.documents.text_recognition import OCR
from engrams.transfer.documents.watched_folders import WatchedFolder
from engrams.transfer.documents.web_pages import fetch_page, is_address
from engrams.transfer.imports.importer import DOCUMENT_FORMAT, ImportCounts
from engrams.transfer.imports.runs import ImportRunRegistry
from engrams.transfer.imports.undo import PurgeFunction
from engrams.transfer.progress import Progress

if TYPE_CHECKING:
    from engrams.transfer.documents.mail_folders import WatchedMailFolder


@dataclass(frozen=True, slots=True)
class RefreshedDocument:
    """A document that was read again."""

    name: str
    outcome: Literal["unchanged", "changed", "missing", "failed"]
    problem: str = ""
    """Reason of a failure."""


class DocumentLibrary:
    """Documents of the owners of a memory."""

    def __init__(
        self,
        store: Store,
        imports: ImportRunRegistry,
        forgetter: Callable[[], MemoryForgetter],
        purge: PurgeFunction,
        *,
        allow_private: bool,
    ) -> None:
        """Set the library up.

        ``purge`` erases memories with what derives from them. ``allow_private``: pages may come from
        the private network of this machine.
        """
        self._allow_private = allow_private
        self._attachments = imports.target.attachments
        self._media_models = imports.target.media_models
        self._store = store
        self._imports = imports
        self._forgetter = forgetter
        self._purge = purge

    def add(
        self,
        path: Path | str,
        scope: ScopeInput,
        progress: Progress | None = None,
        *,
        note: str = "",
    ) -> ImportCounts:
        """Add a document, or all those of a folder or zip. See ``MemoryEngine.add_document``."""
        if isinstance(path, str) and is_address(path):
            return self.add_page(path, scope, progress, note=note)
        options = ImportOptions(DOCUMENT_FORMAT, note=note)
        return self._imports.load(path, Scope.of(scope), options, progress)

    def add_page(
        self, url: str, scope: ScopeInput, progress: Progress | None = None, *, note: str = ""
    ) -> ImportCounts:
        """Add a page of the web, or another document, by its address. Errors: ``fetch_page``."""
        page = replace(fetch_page(url, allow_private=self._allow_private), note=note)
        return self._load(page, Scope.of(scope), progress, is_trusted=True)

    def add_given(
        self, document: GivenDocument, scope: ScopeInput, progress: Progress | None = None
    ) -> ImportCounts:
        """Add a document that came as bytes; the same one again takes its own place.

        InputError: it cannot be read. RefusedError: its name is that of a file with keys.
        """
        return self._load(document, Scope.of(scope), progress, is_trusted=False)

    def refresh(
        self, scope: ScopeInput, *, document: str = "", pages_only: bool = False
    ) -> tuple[RefreshedDocument, ...]:
        """Read the documents of a scope and below it again, from where they came.

        A changed one takes the place of the earlier version. One that is no longer there stays, and
        so does one that was uploaded, or came in a zip. ``document``: only this one, named as in
        ``read``. ``pages_only``: only pages of the web, for a caller who may not read the files of this
        machine.
        """
        documents = self.list(scope)
        if document:
            documents = (choose_document(documents, document),)
        chosen = [item for item in documents if not pages_only or is_address(item.first.source)]
        if document and not chosen:
            raise InputError(
                f"{documents[0].name:.200} did not come from an address.",
                hint="Send the file again: a changed one takes the place of the earlier version.",
            )
        return tuple(map(self._refresh, chosen))

    def describe(self, scope: ScopeInput, *, document: str = "") -> tuple[DescribedDocument, ...]:
        """Let the connected models tell of the pictures and sounds that have no description yet.

        ``document``: this one alone, named as in ``read``, also if it has one. InputError: it is no
        picture or sound.
        """
        documents = [item for item in self.list(scope) if item.first.media]
        if document:
            chosen = choose_document(self.list(scope), document)
            if not chosen.first.media:
                raise InputError(
                    f"{chosen.name:.200} is no picture or sound.",
                    hint="A document of text needs no description.",
                )
            return (self._describe(chosen),)
        return tuple(self._describe(item) for item in documents if self._lacks_words(item))

    def _lacks_words(self, document: StoredDocument) -> bool:
        """True for a picture or sound of which no model told; without one, also no OCR."""
        passages = self._find_passages(document, (Status.ACTIVE,))
        readers = {location.by for item in passages if (location := read_location(item))}
        is_described = document.first.media.partition("/")[0] in self._media_models
        return not readers - ({"", OCR} if is_described else {""})

    def _describe(self, document: StoredDocument) -> DescribedDocument:
        first = self._find_passages(document, (Status.ACTIVE,))[0]
        location = document.first
        data = (
            self._attachments.read(document.scope.owner, location.version)
            if self._attachments is not None
            else None
        )
        if data is None:
            return DescribedDocument(document.name, "missing")
        kept_document = GivenDocument(
            document.name, location.source, data, note=read_note(first), is_read_anew=True
        )
        try:
            self._load(kept_document, document.scope, None, is_trusted=True)
        except EngramsError as problem:
            reason = f"{problem.message} {problem.hint}".rstrip()
            return DescribedDocument(document.name, "failed", reason)
        return DescribedDocument(document.name, "described")

    def read_file(self, document: str, scope: ScopeInput, *, small: bool = False) -> DocumentFile:
        """Read the file of a picture or sound. ``small``: the small JPEG of a picture.

        NotFoundError: there is no such document, or its file is not kept here.
        """
        chosen = choose_document(self.list(scope), document)
        location = chosen.first
        data: bytes | None = None
        if location.media and self._attachments is not None:
            read = self._attachments.read_preview if small else self._attachments.read
            data = read(chosen.scope.owner, location.version)
        if data is None:
            raise NotFoundError(
                f"The file of {chosen.name:.200} is not kept here.",
                hint="On several devices, files above `documents.sync_bytes` stay where they are.",
            )
        return DocumentFile(chosen.name, "image/jpeg" if small else location.media, data)

    def _refresh(self, document: StoredDocument) -> RefreshedDocument:
        source = document.first.source
        try:
            if is_address(source):
                latest = fetch_page(source, allow_private=self._allow_private)
            elif Path(source).is_absolute() and Path(source).is_file():
                latest = GivenDocument(document.name, source, Path(source).read_bytes())
            else:
                return RefreshedDocument(document.name, "missing")
            if latest.version == document.first.version:
                return RefreshedDocument(document.name, "unchanged")
            if document.first.media:
                first = self._find_passages(document, (Status.ACTIVE,))[0]
                latest = replace(latest, note=read_note(first))
            self._load(latest, document.scope, None, is_trusted=True)
        except (EngramsError, OSError) as problem:
            return RefreshedDocument(document.name, "failed", str(problem))
        return RefreshedDocument(document.name, "changed")

    def _load(
        self, document: GivenDocument, scope: Scope, progress: Progress | None, *, is_trusted: bool
    ) -> ImportCounts:
        """Store a document. ``is_trusted``: no ignore rule counts for its name."""
        options = ImportOptions(DOCUMENT_FORMAT, name=document.name, ignored=is_trusted)
        return self._imports.load(document, scope, options, progress)

    def watch(self, folder: Path, scope: ScopeInput, only: Sequence[str] = ()) -> WatchedFolder:
        """Follow the documents of a folder; each ``update`` of the result takes what changed.

        ``only``: patterns of the files to take, such as ``*.md``; none: all documents.
        """
        return WatchedFolder(folder, Scope.of(scope), self._store, self._imports, only)

    def watch_mail(self, address: str, password: str, scope: ScopeInput) -> WatchedMailFolder:
        """Follow the messages of a mail server's folder; each ``update`` takes what changed.

        ``address``: such as ``imaps://ann@mail.example/INBOX``. InputError: it is no such address.
        """
        from engrams.transfer.documents.mail_folders import WatchedMailFolder

        return WatchedMailFolder(address, password, Scope.of(scope), self._store, self._imports)

    def list(
        self, scope: ScopeInput, statuses: Sequence[Status] = (Status.ACTIVE,)
    ) -> tuple[StoredDocument, ...]:
        """List the documents of a scope and below it, newest first."""
        return tuple(list_documents(_reach_below(scope), self._store, statuses))

    def read(self, document: str, scope: ScopeInput) -> tuple[Record, ...]:
        """Return the passages of a document as it is now, in order.

        ``document``: its id, its name, or the path or address it came from. NotFoundError: there is
        none. InputError: there are several.
        """
        chosen = choose_document(self.list(scope), document)
        return self._find_passages(chosen, (Status.ACTIVE,))

    def forget(self, document: str, scope: ScopeInput) -> StoredDocument:
        """Forget a document: no search finds it until ``restore``. Errors are those of ``read``."""
        chosen = choose_document(self.list(scope), document)
        passages = self._find_passages(chosen, (Status.ACTIVE,))
        self._forgetter().forget(passages, chosen.scope.owner, "its document was forgotten")
        return chosen

    def restore(self, document: str, scope: ScopeInput) -> StoredDocument:
        """Undo a ``forget``. NotFoundError: no such document is forgotten."""
        chosen = choose_document(self.list(scope, (Status.FORGOTTEN,)), document)
        forgetter = self._forgetter()
        for passage in self._find_passages(chosen, (Status.FORGOTTEN,)):
            forgetter.restore(passage)
        return chosen

    def purge(self, document: str, scope: ScopeInput, *, git: bool = False) -> PurgeReport:
        """Erase a document in all its versions, forgotten or not, with its words in every place.

        ``git``: also from the history of the files. Errors are those of ``read``.
        """
        chosen = choose_document(self.list(scope, KEPT_STATUSES), document)
        ids = [passage.id for passage in self._find_passages(chosen, KEPT_STATUSES)]
        return self._purge(ids, chosen.scope.owner, git)

    def _find_passages(
        self, document: StoredDocument, statuses: Sequence[Status]
    ) -> tuple[Record, ...]:
        reach = ScopeReach(document.scope.owner, (document.scope,))
        return tuple(iter_passages(reach, self._store, document.id, statuses))


def _reach_below(scope: ScopeInput) -> ScopeReach:
    chosen = Scope.of(scope)
    return ScopeReach(chosen.owner, (chosen,), tree=True)
