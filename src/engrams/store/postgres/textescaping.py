"""Texts as Postgres can hold them.

It knows no character 0, neither in texts nor in JSON."""

from __future__ import annotations

import re
from typing import Any

import psycopg
from psycopg.adapt import AdaptersMap, Buffer
from psycopg.types.string import StrDumperUnknown, TextBinaryLoader, TextLoader

_RAW = {"\x00": "\x01\x02", "\x01": "\x01\x01"}
_JSON = {"\\u0000": "\\u0001\\u0002", "\\u0001": "\\u0001\\u0001"}
_ESCAPES = {**_RAW, **_JSON}
_ORIGINALS = {escaped: plain for plain, escaped in _ESCAPES.items()}
_PLAIN = re.compile(r"[\x00\x01]|\\u000[01]")
_ESCAPED = re.compile(r"\x01[\x01\x02]|\\u0001\\u000[12]")


def escape(text: str) -> str:
    """Write the characters 0 and 1 as pairs."""
    if "\x00" in text or "\x01" in text or "\\u000" in text:
        return _PLAIN.sub(lambda found: _ESCAPES[found[0]], text)
    return text


def unescape(text: str) -> str:
    """Undo ``escape``."""
    if "\x01" in text or "\\u0001" in text:
        return _ESCAPED.sub(lambda found: _ORIGINALS[found[0]], text)
    return text


class EscapedTextDumper(StrDumperUnknown):
    """Psycopg dumper that escapes characters Postgres cannot hold."""

    def dump(self, obj: str) -> Buffer | None:
        return super().dump(escape(obj))


class EscapedTextLoader(TextLoader):
    """Psycopg loader that undoes the escaping of text values."""

    def load(self, data: Buffer) -> Any:
        return unescape(bytes(data).decode())


class EscapedBinaryLoader(TextBinaryLoader):
    """Psycopg loader that undoes the escaping of binary text values."""

    def load(self, data: Buffer) -> Any:
        return unescape(bytes(data).decode())


def make_adapters() -> AdaptersMap:
    """Make the psycopg adapters of all connections."""
    adapters = AdaptersMap(psycopg.adapters)
    adapters.register_dumper(str, EscapedTextDumper)
    for name in ("text", "varchar"):
        adapters.register_loader(name, EscapedTextLoader)
        adapters.register_loader(name, EscapedBinaryLoader)
    return adapters
