"""Files of the page, read, hashed and compressed once."""

from __future__ import annotations

import gzip
import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from engrams.types import LAYER_OF, PRODUCT, EdgeType, Kind, Status, Tier

ROOT = Path(__file__).parent / "static"
PREFIX = "/ui/"

_TYPES = {
    ".html": "text/html; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
}
_MIN_PACKED_BYTES = 1000
"""Smaller files are not compressed."""


@dataclass(frozen=True, slots=True)
class PageFile:
    """File as served; ``packed``: gzipped body, empty where that gains nothing."""

    body: bytes
    packed: bytes
    media: str
    etag: str


class PageFiles:
    """All files by path, read at the first request.

    ``mark`` is a digest of all of them and part of every address (``/ui/<mark>/app.js``): a browser may cache a file for
    ever and never mixes two versions.
    """

    def get(self, path: str) -> PageFile | None:
        return self._files.get(path)

    @cached_property
    def mark(self) -> str:
        digest = hashlib.blake2b(digest_size=6)
        for path, body in sorted(self._bodies.items()):
            digest.update(path.encode() + b"\0" + body + b"\0")
        return digest.hexdigest()

    @cached_property
    def _bodies(self) -> Mapping[str, bytes]:
        found = {path.relative_to(ROOT).as_posix(): path.read_bytes() for path in ROOT.rglob("*") if path.suffix in _TYPES}
        return {**found, "js/words.js": vocabulary_module()}

    @cached_property
    def _files(self) -> Mapping[str, PageFile]:
        page = self._bodies["index.html"].replace(PREFIX.encode(), f"{PREFIX}{self.mark}/".encode())
        return {path: _to_file(path, body) for path, body in {**self._bodies, "index.html": page}.items()}


def vocabulary_module() -> bytes:
    """Build a JavaScript module of the product's names, kinds, tiers and statuses."""
    tables = {
        "LAYERS": {layer.value: name for layer, name in PRODUCT.items()},
        "LAYER_OF": {kind.value: layer.value for kind, layer in LAYER_OF.items()},
        "KINDS": [kind.value for kind in Kind],
        "TIERS": [tier.value for tier in Tier],
        "STATUSES": [status.value for status in Status],
        "LINKS": [link.value for link in EdgeType],
    }
    return "".join(f"export const {name} = {json.dumps(table)};\n" for name, table in tables.items()).encode()


def _to_file(path: str, body: bytes) -> PageFile:
    packed = gzip.compress(body, 9, mtime=0) if len(body) >= _MIN_PACKED_BYTES else b""
    return PageFile(body, packed, _TYPES["." + path.rpartition(".")[2]], f'"{hashlib.blake2b(body, digest_size=8).hexdigest()}"')
