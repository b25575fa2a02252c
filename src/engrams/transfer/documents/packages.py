"""Documents that are a zip of XML files: opened within limits, and parsed without entities.

``DocumentPackage`` reads their files. Each is measured while it is unpacked, so that a zip that lies
about its sizes is stopped; XML with a document type is refused, so that no entity is expanded and
nothing is fetched.
"""

from __future__ import annotations

import io
import posixpath
import zipfile
import zlib
from collections.abc import Iterator
from urllib.parse import unquote
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

from engrams.errors import InputError

_MOST_MEMBERS = 20_000
_MOST_UNPACKED = 256 << 20
"""Bytes that the files of one package unpack to, together."""
_BROKEN = "Get a fresh copy of it."
_RELATIONS = "{http://schemas.openxmlformats.org/package/2006/relationships}Relationship"


class DocumentPackage:
    """Files of a zip, read one by one."""

    def __init__(self, data: bytes) -> None:
        """Open a zip. InputError: it cannot be opened."""
        try:
            self._archive = zipfile.ZipFile(io.BytesIO(data))
        except (zipfile.BadZipFile, ValueError, NotImplementedError, OSError) as problem:
            raise InputError(f"The file is damaged: {problem}.", hint=_BROKEN) from None
        self._unpacked = 0
        members = self._archive.infolist()
        if len(members) > _MOST_MEMBERS:
            raise InputError(
                f"It has {len(members):,} files inside.", hint="Save it anew, then add that."
            )
        self.names = frozenset(member.filename for member in members)

    def read(self, name: str) -> bytes:
        """Unpack a file. InputError: it is missing, locked, damaged or too large."""
        parts: list[bytes] = []
        try:
            with self._archive.open(name) as member:
                while part := member.read(1 << 20):
                    self._unpacked += len(part)
                    if self._unpacked > _MOST_UNPACKED:
                        raise InputError(
                            f"It unpacks to more than {_MOST_UNPACKED:,} bytes.",
                            hint="Save it anew without its pictures, or split it.",
                        )
                    parts.append(part)
        except KeyError:
            raise InputError(f"The file is damaged: it has no {name}.", hint=_BROKEN) from None
        except RuntimeError:  # zipfile's word for a password
            raise InputError(
                "It is locked by a password.", hint="Save it without the password, then add that."
            ) from None
        except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, OSError) as problem:
            raise InputError(f"The file is damaged: {problem}.", hint=_BROKEN) from None
        return b"".join(parts)

    def parse(self, name: str) -> Element:
        """Parse an XML file. InputError: it cannot be read, or is no plain XML."""
        return parse_xml(self.read(name))

    def find_relations(self, name: str) -> dict[str, str]:
        """Find the files that an Office file names, by the ids under which it names them."""
        folder, file_name = posixpath.split(name)
        relations = f"{folder}/_rels/{file_name}.rels".lstrip("/")
        if relations not in self.names:
            return {}
        return {
            relation.get("Id", ""): self.locate(folder, relation.get("Target", ""))
            for relation in self.parse(relations).iter(_RELATIONS)
            if relation.get("TargetMode") != "External"
        }

    @staticmethod
    def locate(folder: str, target: str) -> str:
        """Return the name of a file that another one in ``folder`` refers to."""
        path = unquote(target)
        joined = path.lstrip("/") if path.startswith("/") else posixpath.join(folder, path)
        return posixpath.normpath(joined)


class _PlainXmlBuilder(ElementTree.TreeBuilder):
    """Builds a tree; a document type, and so every entity, is refused."""

    def doctype(self, name: str, _public: str | None, _system: str | None) -> None:
        raise InputError(
            f"Its XML declares a document type ({name:.40}), which may hide other files.",
            hint="Save it anew with the program it was made with, then add that.",
        )


def parse_xml(data: bytes) -> Element:
    """Parse XML without a document type. InputError: it has one, or is damaged."""
    parser = ElementTree.XMLParser(target=_PlainXmlBuilder())  # noqa: S314 - no document type
    try:
        parser.feed(data)
        root: Element = parser.close()
    except ElementTree.ParseError as problem:
        raise InputError(f"The file is damaged: {problem}.", hint=_BROKEN) from None
    return root


def local_name(element: Element) -> str:
    """Return the name of an element without its namespace."""
    return element.tag.rpartition("}")[2]


def iter_named(element: Element, *names: str) -> Iterator[Element]:
    """Yield the elements below one, itself included, that have one of these names."""
    return (below for below in element.iter() if local_name(below) in names)


def attribute(element: Element, name: str) -> str:
    """Return an attribute in whatever namespace; empty: it has none."""
    for key, value in element.items():
        if key.rpartition("}")[2] == name:
            return value
    return ""
