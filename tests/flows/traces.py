"""Words that stand nowhere else, and a search for them in every byte of a home, made without the
product's code.
"""

from __future__ import annotations

import gzip
import subprocess
import tarfile
import tempfile
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path


def secret(number: int) -> str:
    """A word that stands in no other text."""
    return f"quuxword{number:03d}"


def blobs(path: Path, below: Path) -> Iterator[bytes]:
    """Bytes of a file as they are, and unpacked where it is packed."""
    data = path.read_bytes()
    yield str(path.relative_to(below)).encode()
    yield data
    if "objects" in path.parts and len(path.parent.name) == 2:
        yield zlib.decompress(data)
    if data.startswith(b"\x1f\x8b"):
        yield gzip.decompress(data)
        with tarfile.open(path) as archive, tempfile.TemporaryDirectory() as folder:
            archive.extractall(folder, filter="data")
            yield from (
                one
                for held in Path(folder).rglob("*")
                if held.is_file()
                for one in blobs(held, Path(folder))
            )
    elif zipfile.is_zipfile(path):
        with zipfile.ZipFile(path) as packed:
            yield from (packed.read(name) for name in packed.namelist())


def holders(home: Path, words: list[str]) -> dict[str, list[str]]:
    """Files of a home that hold any of the words, in any letters;
    git's packs are unpacked by git.
    """
    found: dict[str, list[str]] = {}
    for path in home.rglob("*"):
        if path.is_file():
            for data in blobs(path, home):
                if held := [word for word in words if word.encode() in data.lower()]:
                    found[str(path.relative_to(home))] = held
    if (home / "vault/.git").exists():
        told = ["git", "cat-file", "--batch-all-objects", "--unordered", "--batch"]
        data = subprocess.run(
            told, cwd=home / "vault", capture_output=True, check=True
        ).stdout.lower()
        if held := [word for word in words if word.encode() in data]:
            found["git objects"] = held
    return found
