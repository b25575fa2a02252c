"""Mail (``.eml``, ``.mbox``): who wrote to whom, when, about what, the text, and the attachments."""

from __future__ import annotations

import re
import zipfile
from collections.abc import Iterator
from email import message_from_bytes, policy
from email.errors import MessageError
from email.message import EmailMessage

from engrams.errors import EngramsError, InputError
from engrams.transfer.documents import html
from engrams.transfer.documents.document_kinds import HEAD, MEDIA_KINDS, find_kind
from engrams.transfer.documents.document_readers import read_document
from engrams.transfer.documents.read_document import ReadDocument, TextBlock, check_length

_HEADERS = ("From", "To", "Cc", "Date", "Subject")
_SEPARATOR = re.compile(rb"^From (?=.*\d\d:\d\d)", re.MULTILINE)
"""Line before each message of a mailbox."""
_MOST_HEADER = 500
_FAILURES = (MessageError, ValueError, LookupError, TypeError, AttributeError)
"""Errors of the parser on a malformed message."""
_UNREADABLE = (EngramsError, *_FAILURES, OSError, ArithmeticError, zipfile.BadZipFile)
"""Errors of an attachment that is damaged, or that nobody reads."""
_UNREAD_KINDS = MEDIA_KINDS | {"mail", "mailbox"}
_ATTACHMENT_LEVEL = 2
"""Level of the heading of an attachment, below the subject of a mailbox."""


def read(data: bytes) -> ReadDocument:
    """Read one message. InputError: it has no text."""
    message = _parse(data)
    blocks = [*_read_message(message)]
    check_length(sum(len(block.text) for block in blocks))
    if len(blocks) < 2:
        raise InputError("The mail has no text.", hint="Add its attachments one by one.")
    return ReadDocument(blocks, _read_header(message, "Subject"), _find_time(message))


def read_mailbox(data: bytes) -> ReadDocument:
    """Read the messages of a mailbox, each under its subject. InputError: it has none."""
    starts = [match.start() for match in _SEPARATOR.finditer(data)]
    blocks: list[TextBlock] = []
    size = 0
    for start, end in zip(starts, [*starts[1:], len(data)], strict=True):
        _, _, message_data = data[start:end].partition(b"\n")
        message = _parse(message_data)
        subject = _read_header(message, "Subject") or "(no subject)"
        read_blocks = [TextBlock(subject, level=1), *_read_message(message)]
        size += sum(len(block.text) for block in read_blocks)
        check_length(size)
        blocks += read_blocks
    if not blocks:
        raise InputError("The mailbox has no messages.", hint="Get a fresh copy of it.")
    return ReadDocument(blocks)


def _parse(data: bytes) -> EmailMessage:
    message = message_from_bytes(data, policy=policy.default)
    assert isinstance(message, EmailMessage)
    return message


def _read_message(message: EmailMessage) -> Iterator[TextBlock]:
    """Yield the header as one block, then the text, then the attachments that can be read."""
    header = [f"{name}: {value}" for name in _HEADERS if (value := _read_header(message, name))]
    yield TextBlock("\n".join(header))
    content, is_page = _read_body(message)
    if is_page:
        yield from html.read_markup(content).blocks
    else:
        for paragraph in re.split(r"\n\s*\n", content.replace("\r\n", "\n")):
            if text := paragraph.strip():
                yield TextBlock(text)
    attachments = _list_attachments(message)
    if attachments:
        yield TextBlock(f"Attached: {', '.join(name for name, _ in attachments)}")
    for name, part in attachments:
        yield from _read_attachment(name, part)


def _read_attachment(name: str, part: EmailMessage) -> Iterator[TextBlock]:
    """Yield the text of an attachment below its name; nothing, if it cannot be read.

    A mail within a mail is only named: nobody knows how many there are within it. So are pictures and
    sound, of which most are logos.
    """
    try:
        data = part.get_payload(decode=True)
        if not isinstance(data, bytes) or find_kind(data[:HEAD], name) in _UNREAD_KINDS:
            return
        document = read_document(data, name)
    except _UNREADABLE:
        return
    if not document.has_text:
        return
    yield TextBlock(name, level=_ATTACHMENT_LEVEL)
    for block in document.blocks:
        level = block.level + _ATTACHMENT_LEVEL if block.level else 0
        yield TextBlock(block.text, level)


def _read_body(message: EmailMessage) -> tuple[str, bool]:
    """Return the text of a message, and whether it is a web page."""
    try:
        body = message.get_body(preferencelist=("plain", "html"))
    except _FAILURES:
        body = None
    if body is None:
        return "", False
    is_page = body.get_content_subtype() == "html"
    try:
        return str(body.get_content()), is_page
    except _FAILURES:  # a character set that nobody knows
        payload = body.get_payload(decode=True)
        data = payload if isinstance(payload, bytes) else b""
        return data.decode("utf-8", "replace"), is_page


def _list_attachments(message: EmailMessage) -> list[tuple[str, EmailMessage]]:
    """List the attachments that have a name."""
    try:
        return [
            (" ".join(name.split())[:_MOST_HEADER], part)
            for part in message.iter_attachments()
            if (name := part.get_filename()) and isinstance(part, EmailMessage)
        ]
    except _FAILURES:
        return []


def _read_header(message: EmailMessage, name: str) -> str:
    try:
        return " ".join(str(message.get(name, "")).split())[:_MOST_HEADER]
    except _FAILURES:
        return ""


def _find_time(message: EmailMessage) -> str:
    try:
        sent_at = message["Date"].datetime
        return sent_at.isoformat() if sent_at is not None else ""
    except _FAILURES:
        return ""
