"""A folder whose documents memory follows: changed files replace their passages, removed ones go.

``WatchedFolder`` is the entry. Nothing is stored of the folder itself: the documents below it are known
by their path. So a run may end between any two steps, and the next one finishes its work.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from fnmatch import fnmatch
from functools import partial
from pathlib import Path, PurePosixPath

from engrams.core import ImportOptions, Scope, Status
from engrams.errors import InputError
from engrams.ports import ScopeReach, Store
from engrams.transfer.documents.document_files import is_media, is_readable, read_given
from engrams.transfer.documents.stored_documents import StoredDocument, list_documents
from engrams.transfer.formats import ImportFile, iter_folder
from engrams.transfer.imports.importer import DOCUMENT_FORMAT, DocumentChanges, ImportCounts
from engrams.transfer.imports.runs import ImportRunRegistry
from engrams.transfer.progress import Progress

MOST_FILES = 20_000
"""Files of a folder that is watched."""


@dataclass(frozen=True, slots=True)
class _ReadFile:
    """A file as it was when it was read last."""

    changed_ns: int
    size: int
    version: str
    """Hash of its contents. Empty: it is of no kind that is read."""


class WatchedFolder:
    """Documents of a folder, kept as its files are."""

    def __init__(
        self,
        folder: Path,
        scope: Scope,
        store: Store,
        imports: ImportRunRegistry,
        only: Sequence[str] = (),
    ) -> None:
        """Set the folder up.

        ``only``: patterns of the files to take, such as ``*.md`` or ``docs/*``; none: all documents.
        """
        self._folder = folder.resolve()
        self._scope = scope
        self._store = store
        self._imports = imports
        self._only = tuple(only)
        self._files_read: dict[str, _ReadFile] = {}
        self._refused: dict[str, str] = {}
        """Versions by path of files that could not be read; they wait until they change."""

    def update(
        self, progress: Progress | None = None, *, accept_empty: bool = False
    ) -> ImportCounts:
        """Store what changed since the last run; the id of the counts undoes all of it.

        A document that somebody forgot stays forgotten. InputError: there is no such folder, it has
        more than ``MOST_FILES`` files, or it has none while memory has documents of it: its disk may
        be away. ``accept_empty``: then those documents go.
        """
        if not self._folder.is_dir():
            raise InputError(
                f"There is no folder {self._folder}.",
                hint="Check the path, and that its disk is there.",
            )
        files = {str(file.path): file for file in self._iter_files()}
        documents = self._list_documents(Status.ACTIVE)
        followed = {source: item for source, item in documents.items() if self._is_below(source)}
        if followed and not files and not accept_empty:
            raise InputError(
                f"{self._folder} has no files, and memory has {len(followed)} documents of it.",
                hint="Check that its disk is there; --accept-empty lets the documents go.",
            )
        gone_documents = [item for source, item in followed.items() if not Path(source).is_file()]
        changed = self._find_changed(files, documents)
        if not changed and not gone_documents:
            return ImportCounts()
        name = str(self._folder)
        options = ImportOptions(DOCUMENT_FORMAT, name=name, ignored=True)
        changes = DocumentChanges(changed, gone_documents)
        counts = self._imports.load(changes, self._scope, options, progress)
        self._note_refused(changed)
        return counts

    def _iter_files(self) -> Iterator[ImportFile]:
        """Yield the files to follow. InputError: they are too many."""
        number = 0
        for path, name in iter_folder(self._folder):
            if not self._is_wanted(name) or self._imports.find_ignore_rule(path):
                continue
            number += 1
            if number > MOST_FILES:
                raise InputError(
                    f"{self._folder} has more than {MOST_FILES:,} files.",
                    hint="Watch a folder below it, or choose files with --only.",
                )
            resolved = path.resolve()
            yield ImportFile(name, partial(Path, resolved), resolved)

    def _is_wanted(self, name: str) -> bool:
        parts = (name, PurePosixPath(name).name)
        return not self._only or any(
            fnmatch(part, pattern) for pattern in self._only for part in parts
        )

    def _is_below(self, source: str) -> bool:
        return Path(source).is_relative_to(self._folder)

    def _list_documents(self, status: Status) -> dict[str, StoredDocument]:
        """List the documents of this scope alone, by their path."""
        reach = ScopeReach(self._scope.owner, (self._scope,))
        return {item.first.source: item for item in list_documents(reach, self._store, (status,))}

    def _find_changed(
        self, files: Mapping[str, ImportFile], documents: Mapping[str, StoredDocument]
    ) -> list[ImportFile]:
        """Find the files whose contents memory does not have.

        After a run that broke off these are all files, since a document may be stored in part.
        """
        is_whole = not self._imports.is_interrupted(self._scope, str(self._folder))
        forgotten = self._list_documents(Status.FORGOTTEN).keys() - documents.keys()
        versions = {source: self._read_version(file) for source, file in files.items()}
        # The same contents are stored once: under the first of their files that stays as it is.
        kept_versions = {
            item.first.version
            for source, item in documents.items()
            if not self._is_below(source) or versions.get(source) == item.first.version
        }
        return [
            files[source]
            for source, version in versions.items()
            if version
            and source not in forgotten
            and self._refused.get(source) != version
            and not (is_whole and self._is_stored(source, version, documents, kept_versions))
        ]

    @staticmethod
    def _is_stored(
        source: str,
        version: str,
        documents: Mapping[str, StoredDocument],
        kept_versions: Set[str],
    ) -> bool:
        if source in documents:
            return documents[source].first.version == version
        return version in kept_versions

    def _read_version(self, file: ImportFile) -> str:
        """Read the hash of a file's contents, anew if the file changed. Empty: it is not read."""
        assert file.path is not None
        source = str(file.path)
        try:
            status = file.path.stat()
        except OSError:  # it went meanwhile
            return ""
        last_read = self._files_read.get(source)
        if last_read and (last_read.changed_ns, last_read.size) == (
            status.st_mtime_ns,
            status.st_size,
        ):
            return last_read.version
        version = ""
        # Pictures of a folder are followed only where somebody asks for them: most are icons.
        if is_readable(file) or (self._only and is_media(file)):
            try:
                version = read_given(file).version
            except InputError:  # the import says why
                version = f"unread {status.st_mtime_ns}"
        self._files_read[source] = _ReadFile(status.st_mtime_ns, status.st_size, version)
        return version

    def _note_refused(self, files: Sequence[ImportFile]) -> None:
        """Note the files that memory does not have after they were given to it."""
        documents = self._list_documents(Status.ACTIVE)
        versions = {item.first.version for item in documents.values()}
        for file in files:
            source = str(file.path)
            version = self._files_read[source].version
            if source not in documents and version not in versions:
                self._refused[source] = version
            else:
                self._refused.pop(source, None)
