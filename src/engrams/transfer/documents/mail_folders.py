"""A folder of a mail server whose messages memory follows: new ones are read, and removed ones go.

``WatchedMailFolder`` is the entry. The folder is opened read-only, and its messages are not marked as read.
Each message is a document, known by its address on the server (RFC 5092). Messages never change, so
that a run reads new ones alone.
"""

from __future__ import annotations

import base64
import imaplib
import io
import re
import ssl
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from email import message_from_bytes, policy
from functools import partial
from types import TracebackType
from urllib.parse import quote, unquote, urlsplit

from engrams.core import ImportOptions, Scope, Status
from engrams.errors import InputError
from engrams.ports import ScopeReach, Store
from engrams.transfer.documents.reading_process import MOST_BYTES
from engrams.transfer.documents.stored_documents import StoredDocument, list_documents
from engrams.transfer.formats import ImportFile
from engrams.transfer.imports.importer import DOCUMENT_FORMAT, DocumentChanges, ImportCounts
from engrams.transfer.imports.runs import ImportRunRegistry
from engrams.transfer.progress import Progress

MOST_MESSAGES = 20_000
"""Messages of a folder that are followed: the newest ones."""
_SECONDS = 60.0
_PORTS = {"imaps": 993, "imap": 143}
_THIS_MACHINE = ("localhost", "127.0.0.1", "::1")
_ASKED_AT_ONCE = 200
"""Messages whose subjects are asked for at once."""
_MOST_NAME = 120
_UID = re.compile(rb"\bUID (\d+)")
_SIZE = re.compile(rb"\bRFC822\.SIZE (\d+)")
_NOT_SENT_AS_IT_IS = re.compile(r"[^\x20-\x7e]+|&")
_FAILURES = (imaplib.IMAP4.error, OSError)


@dataclass(frozen=True, slots=True)
class MailFolderAddress:
    """Address of a folder of a mail server: ``imaps://ann@mail.example/INBOX``."""

    host: str
    port: int
    user: str
    folder: str
    is_encrypted: bool
    """The connection is encrypted from its beginning."""

    @classmethod
    def parse(cls, text: str) -> MailFolderAddress:
        """Parse an address. InputError: it is none, or it has a password."""
        parts = urlsplit(text)
        if parts.scheme not in _PORTS or not parts.hostname or not parts.username:
            raise InputError(
                f"{text:.200} is no folder of a mail server.",
                hint="Such an address is imaps://ann@mail.example/INBOX.",
            )
        if parts.password:
            raise InputError(
                "The address has a password, which would stay in the history of commands.",
                hint="Leave it out: it is asked for, or set ENGRAMS_MAIL_PASSWORD.",
            )
        return cls(
            parts.hostname,
            parts.port or _PORTS[parts.scheme],
            unquote(parts.username),
            unquote(parts.path.strip("/")) or "INBOX",
            parts.scheme == "imaps",
        )

    @property
    def url(self) -> str:
        scheme = "imaps" if self.is_encrypted else "imap"
        port = "" if self.port == _PORTS[scheme] else f":{self.port}"
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{scheme}://{quote(self.user, '')}@{host}{port}/{quote(self.folder)}"


def is_mail_folder(text: str) -> bool:
    """True for the address of a folder of a mail server."""
    return text.startswith(("imaps://", "imap://"))


class MailFolder:
    """A folder of a mail server, open to be read."""

    def __init__(self, address: MailFolderAddress, password: str) -> None:
        """Open a folder. InputError: the server does not let it."""
        self._address = address
        try:
            self._server = _connect(address)
        except _FAILURES as problem:
            raise InputError(
                f"{address.host} does not answer: {problem}.", hint="Check its name and port."
            ) from None
        try:
            self._server.login(address.user, password)
        except _FAILURES as problem:
            raise InputError(
                f"{address.host} refuses {address.user}: {problem}.",
                hint="Check the password; some servers want one for apps.",
            ) from None
        folder = _quote_folder(address.folder)
        answer, counts = self._ask("select", folder, True)
        if answer != "OK":
            raise InputError(
                f"{address.host} has no folder {address.folder!r}.",
                hint="INBOX is the usual one.",
            )
        self._count = int(counts[0]) if isinstance(counts[0], bytes) else 0
        _, validity = self._server.response("UIDVALIDITY")
        self.validity = (validity[0] or b"0").decode() if validity else "0"
        """Number that changes when the server numbers the messages anew."""

    def __enter__(self) -> MailFolder:
        return self

    def __exit__(
        self,
        _kind: type[BaseException] | None,
        _problem: BaseException | None,
        _trace: TracebackType | None,
    ) -> None:
        try:
            self._server.logout()
        except _FAILURES:
            self._server.shutdown()

    def list_sizes(self) -> dict[int, int]:
        """List the bytes of the newest messages, by their numbers."""
        if not self._count:
            return {}
        first = max(1, self._count - MOST_MESSAGES + 1)
        answers = self._fetch("fetch", f"{first}:*", "(UID RFC822.SIZE)")
        sizes = {}
        for description, _ in answers:
            uid = _UID.search(description)
            size = _SIZE.search(description)
            if uid and size:
                sizes[int(uid[1])] = int(size[1])
        return sizes

    def read_subjects(self, uids: Sequence[int]) -> dict[int, str]:
        """Read the subjects of messages, by their numbers."""
        subjects = {}
        for start in range(0, len(uids), _ASKED_AT_ONCE):
            numbers = ",".join(map(str, uids[start : start + _ASKED_AT_ONCE]))
            wanted = "(BODY.PEEK[HEADER.FIELDS (SUBJECT)])"
            for description, header in self._fetch("uid", "FETCH", numbers, wanted):
                if uid := _UID.search(description):
                    subjects[int(uid[1])] = _read_subject(header)
        return subjects

    def read(self, uid: int) -> bytes:
        """Read a message, and leave it unread on the server. InputError: it cannot be read."""
        for description, message in self._fetch("uid", "FETCH", str(uid), "(BODY.PEEK[])"):
            if message and (match := _UID.search(description)) and int(match[1]) == uid:
                return message
        raise InputError("The server no longer has it.", hint="Run it again.")

    def _fetch(self, command: str, *words: object) -> Iterator[tuple[bytes, bytes]]:
        """Yield what the server says of each message, and the text that it sends."""
        _, parts = self._ask(command, *words)
        description = b""
        text = b""
        for part in parts:
            if isinstance(part, tuple):
                description, text = part
                continue
            # What follows a text ends its message; it may have the number, as the beginning may.
            yield description + (part or b""), text
            description = b""
            text = b""

    def _ask(
        self, command: str, *words: object
    ) -> tuple[str, Sequence[tuple[bytes, bytes] | bytes]]:
        """Give the server a command. InputError: it does not answer."""
        try:
            answer, parts = getattr(self._server, command)(*words)
        except _FAILURES as problem:
            raise InputError(
                f"{self._address.host} ended the connection: {problem}.", hint="Run it again."
            ) from None
        return answer, parts


def _connect(address: MailFolderAddress) -> imaplib.IMAP4:
    """Connect to a server; only one on this machine may be asked without encryption."""
    context = ssl.create_default_context()
    if address.is_encrypted:
        return imaplib.IMAP4_SSL(address.host, address.port, ssl_context=context, timeout=_SECONDS)
    server = imaplib.IMAP4(address.host, address.port, timeout=_SECONDS)
    if address.host not in _THIS_MACHINE:
        server.starttls(context)
    return server


def _quote_folder(name: str) -> str:
    """Write the name of a folder as the protocol has it (RFC 3501, 5.1.3)."""

    def encode(match: re.Match[str]) -> str:
        if match[0] == "&":
            return "&-"
        packed = base64.b64encode(match[0].encode("utf-16-be")).decode()
        return f"&{packed.rstrip('=').replace('/', ',')}-"

    escaped = _NOT_SENT_AS_IT_IS.sub(encode, name).replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def _read_subject(header: bytes) -> str:
    try:
        subject = str(message_from_bytes(header, policy=policy.default).get("Subject", ""))
    except (ValueError, LookupError, TypeError, AttributeError):  # a malformed header
        subject = ""
    return " ".join(subject.split())[:_MOST_NAME] or "(no subject)"


class WatchedMailFolder:
    """Messages of a mail server's folder, kept as they are there."""

    def __init__(
        self,
        address: str,
        password: str,
        scope: Scope,
        store: Store,
        imports: ImportRunRegistry,
    ) -> None:
        """Set the folder up. InputError: ``address`` is none of a folder."""
        self._address = MailFolderAddress.parse(address)
        self._password = password
        self._scope = scope
        self._store = store
        self._imports = imports
        self._refused: set[str] = set()
        """Sources of messages that cannot be read."""

    def update(
        self, progress: Progress | None = None, *, accept_empty: bool = False
    ) -> ImportCounts:
        """Store new messages, and end those that are gone; the id of the counts undoes all of it.

        A message that somebody forgot stays forgotten. InputError: the server does not let its
        folder be read, or it has no messages while memory has some of it. ``accept_empty``: then
        those go.
        """
        with MailFolder(self._address, self._password) as folder:
            sizes = folder.list_sizes()
            followed = self._list_followed(Status.ACTIVE)
            if followed and not sizes and not accept_empty:
                raise InputError(
                    f"{self._address.url} is empty, and memory has {len(followed)} messages of it.",
                    hint="Check the folder; --accept-empty lets the messages go.",
                )
            sources = {self._name_source(folder.validity, uid): uid for uid in sizes}
            ended = [
                document
                for source, document in followed.items()
                if source not in sources and self._is_listed(source, folder.validity, sizes)
            ]
            ignored_sources = self._refused | self._list_followed(Status.FORGOTTEN).keys()
            if not self._imports.is_interrupted(self._scope, self._address.url):
                # After a run that broke off a message may be stored in part.
                ignored_sources |= followed.keys()
            new_sources = {
                source: uid
                for source, uid in sources.items()
                if source not in ignored_sources and sizes[uid] <= MOST_BYTES
            }
            if not new_sources and not ended:
                return ImportCounts()
            files = [*_iter_files(folder, new_sources)]
            options = ImportOptions(DOCUMENT_FORMAT, name=self._address.url, ignored=True)
            counts = self._imports.load(
                DocumentChanges(files, ended), self._scope, options, progress
            )
        self._refused |= new_sources.keys() - self._list_followed(Status.ACTIVE).keys()
        return counts

    def _name_source(self, validity: str, uid: int) -> str:
        return f"{self._address.url};UIDVALIDITY={validity}/;UID={uid}"

    @staticmethod
    def _is_listed(source: str, validity: str, sizes: Collection[int]) -> bool:
        """True for a message that the server would list if it had it: it lists the newest ones."""
        head, _, uid = source.rpartition("/;UID=")
        return (
            len(sizes) < MOST_MESSAGES
            or not head.endswith(f";UIDVALIDITY={validity}")
            or int(uid) >= min(sizes)
        )

    def _list_followed(self, status: Status) -> dict[str, StoredDocument]:
        """List the messages of this folder in memory, by their sources."""
        reach = ScopeReach(self._scope.owner, (self._scope,))
        return {
            item.first.source: item
            for item in list_documents(reach, self._store, (status,))
            if item.first.source.startswith(f"{self._address.url};UIDVALIDITY=")
        }


def _iter_files(folder: MailFolder, sources: Mapping[str, int]) -> Iterator[ImportFile]:
    """Yield the messages as files, each named after its subject."""
    subjects = folder.read_subjects([*sources.values()])
    for source, uid in sources.items():
        name = f"{subjects.get(uid, '(no subject)')}.eml"
        yield ImportFile(name, partial(_open, folder, uid), source=source)


def _open(folder: MailFolder, uid: int) -> io.BytesIO:
    return io.BytesIO(folder.read(uid))
