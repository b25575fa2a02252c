"""Files in the messages of a chat, pictures and sound too: listed from the parts of each protocol, and
kept as documents.

``SentFileKeeper`` is the entry. The jobs of uploads read the files, so that no chat waits for one.
"""

from __future__ import annotations

import asyncio
import base64
import binascii
import hashlib
import logging
import mimetypes
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from engrams.core import OWN_WORDS, ImportOptions, Json, Record, Scope, Status
from engrams.engine.answer_types import MOST_NOTE, find_media_type
from engrams.errors import EngramsError
from engrams.surfaces.proxy.chat_request import ParsedProxyRequest
from engrams.surfaces.proxy.memory_deadlines import TimeLimitedEngine

if TYPE_CHECKING:
    from engrams.transfer.uploads.file_uploads import FileUploadStore

FILES = "x-engrams-files"
"""Header that says what became of the files in a message: ``kept:1,not_read:2``."""
_MOST_KNOWN = 10_000
"""Files that are remembered, so that a request sent again brings none twice."""
_NAME_DIGITS = 8
_ENDINGS: Mapping[str, str] = {"jpeg": "jpg", "mpeg": "mp3", "mp4": "m4a"}
"""Endings of names that are no names of the kinds."""
_HEAD = 512
"""Bytes that tell of a picture or sound."""

_log = logging.getLogger("engrams.proxy")


@dataclass(frozen=True, slots=True)
class SentFile:
    """A file in a message."""

    name: str
    data: bytes
    """Empty: the message only refers to the file."""


class SentFileKeeper:
    """Keeps the files of messages as documents, where the settings say so."""

    def __init__(self, memory: TimeLimitedEngine, *, is_on: bool) -> None:
        self._is_on = is_on
        self._memory = memory
        self._known = memory.peers.table("sent files", _MOST_KNOWN)

    async def keep(
        self, chat_request: ParsedProxyRequest, uploads: FileUploadStore | None
    ) -> dict[str, str]:
        """Queue the files of the last message of the user; return the header that says so.

        Those of a message that is not stored are not kept either. ``uploads``: None while nothing
        is stored.
        """
        envelope = chat_request.envelope
        if envelope is None or chat_request.caller is None or envelope.last_user_index < 0:
            return {}
        files = [*_iter_sent_files(envelope.messages[envelope.last_user_index])]
        if not files:
            return {}
        outcomes: Counter[str] = Counter()
        if not self._is_on or uploads is None:
            outcomes["off"] = len(files)
        elif (message := await self._memory.find_question(chat_request)) is None:
            outcomes["message_not_stored"] = len(files)
        else:
            scope = chat_request.caller.scope
            for file in files:
                outcomes[await self._keep_file(file, message, scope, uploads)] += 1
        return {FILES: ",".join(f"{outcome}:{count}" for outcome, count in outcomes.items())}

    async def _keep_file(
        self, file: SentFile, message: Record, scope: Scope, uploads: FileUploadStore
    ) -> str:
        if not file.data:
            return "not_read"
        digest = hashlib.blake2b(file.data, digest_size=16).hexdigest()
        known_as = (scope.key, message.external_id, digest)
        if self._known.get(known_as, ""):
            return "kept"
        try:
            await asyncio.to_thread(_queue, file, _choose_note(message), scope, uploads)
        except (EngramsError, OSError) as problem:
            _log.error("a file of a message was not kept: %s", type(problem).__name__)
            return "failed"
        self._known.put(known_as, "kept")
        return "kept"


def _choose_note(message: Record) -> str:
    """Choose the words of a message that tell of its pictures and sounds: the sender's own, as stored.

    Empty: they are too many to be a note, or nobody may find the message any more.
    """
    own_part = message.meta.get(OWN_WORDS)
    note = own_part if isinstance(own_part, str) and own_part in message.text else message.text
    is_found = message.status in (Status.ACTIVE, Status.ARCHIVED)
    return note.strip() if is_found and len(note.strip()) <= MOST_NOTE else ""


def _queue(file: SentFile, note: str, scope: Scope, uploads: FileUploadStore) -> None:
    """Leave a file to the job that imports uploads."""
    options = ImportOptions("document", name=file.name, note=note, adds_note=True)
    upload = uploads.begin(scope, options, len(file.data))
    uploads.append(scope.owner, upload.id, 0, file.data)
    uploads.finish(scope.owner, upload.id)


def _iter_sent_files(message: Json) -> Iterator[SentFile]:
    """Yield the files of a message of OpenAI's, Anthropic's or Ollama's protocol."""
    content = message.get("content")
    for part in content if isinstance(content, list) else ():
        if not isinstance(part, dict):
            continue
        kind = part.get("type")
        if kind == "file" and isinstance(part.get("file"), dict):
            yield _read_openai_file(part["file"])
        elif kind == "input_file":
            yield _read_openai_file(part)
        elif kind == "document" and isinstance(part.get("source"), dict):
            yield _read_anthropic_document(part, part["source"])
        elif kind in ("image_url", "input_image"):
            yield _read_data_url(part.get("image_url"))
        elif kind == "image" and isinstance(part.get("source"), dict):
            yield _name_media(_decode(_text_field(part["source"], "data")))
        elif kind == "input_audio":
            yield _read_openai_sound(part.get("input_audio"))
    images = message.get("images")
    for image in images if isinstance(images, list) else ():
        yield _name_media(_decode(image) if isinstance(image, str) else b"")


def _read_data_url(value: Json) -> SentFile:
    """Read a picture; one that an address names is not fetched."""
    address = _text_field(value, "url") if isinstance(value, dict) else value
    head, _, encoded = address.partition(",") if isinstance(address, str) else ("", "", "")
    return _name_media(_decode(encoded) if head.startswith("data:") else b"")


def _read_openai_sound(value: Json) -> SentFile:
    return _name_media(_decode(_text_field(value, "data")) if isinstance(value, dict) else b"")


def _name_media(data: bytes) -> SentFile:
    """Name a picture or sound after its kind, which its bytes tell."""
    family, _, form = find_media_type(data[:_HEAD]).partition("/")
    if not form:
        return SentFile("", b"")
    digits = hashlib.blake2b(data).hexdigest()[:_NAME_DIGITS]
    return SentFile(f"{family}-{digits}.{_ENDINGS.get(form, form)}", data)


def _read_openai_file(fields: Mapping[str, Json]) -> SentFile:
    encoded = _text_field(fields, "file_data")
    head, comma, payload = encoded.partition(",")
    is_data_url = bool(comma) and head.startswith("data:")
    media_type = head.removeprefix("data:").partition(";")[0] if is_data_url else ""
    data = _decode(payload if is_data_url else encoded)
    return _name_file(_text_field(fields, "filename"), data, media_type)


def _read_anthropic_document(part: Mapping[str, Json], source: Mapping[str, Json]) -> SentFile:
    value = _text_field(source, "data")
    is_text = source.get("type") == "text"
    data = value.encode("utf-8", "replace") if is_text else _decode(value)
    media_type = "text/plain" if is_text else _text_field(source, "media_type")
    return _name_file(_text_field(part, "title"), data, media_type)


def _text_field(fields: Mapping[str, Json], name: str) -> str:
    value = fields.get(name)
    return value if isinstance(value, str) else ""


def _decode(encoded: str) -> bytes:
    """Decode base64; empty: it is none."""
    try:
        return base64.b64decode(encoded, validate=True)
    except (binascii.Error, ValueError):
        return b""


def _name_file(name: str, data: bytes, media_type: str) -> SentFile:
    """Name a file by its contents where its sender gives no name.

    A document is known by its name: two without one must not take each other's place.
    """
    if not name.strip():
        digits = hashlib.blake2b(data).hexdigest()[:_NAME_DIGITS]
        name = f"file-{digits}{mimetypes.guess_extension(media_type) or ''}"
    return SentFile(name, data)
