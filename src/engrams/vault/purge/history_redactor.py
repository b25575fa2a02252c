"""Filter that removes purged words from a stream of ``git fast-export``."""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass
from typing import IO

from engrams.ports import PurgeOrder
from engrams.text.redact import MIN_REDACTED_CHARS, REMOVED, redact, redact_short
from engrams.vault.purge.git_scan import HEAD_BYTES, ID_LINE
from engrams.vault.purge.purged_word_search import PurgedWordSearcher, cut_words

_SCOPE_LINE = re.compile(rb"(?m)^scope: ['\"]?([^\n'\"]+)")
_FILE_NAME = re.compile(rb"__([^/\s]*)__([0-9a-z]{4,32})((?:\.[0-9a-f]{8})?\.md)")
"""End of a memory's or conflict file's name: its words, the end of its id, a hash, the suffix."""


@dataclass(frozen=True, slots=True)
class HeadFiles:
    """Files of the newest commit, which stay as they are: memory has been cleaned before."""

    blobs: frozenset[bytes]
    """Their contents, by the names of the objects."""
    paths: frozenset[bytes]


class GitHistoryRedactor:
    """Copies a stream of ``git fast-export`` without purged words.

    Files of purged memories go. Purged words leave the other files, their names and the messages.
    Files of other memories keep phrases that they share with a purged text.
    """

    def __init__(self, order: PurgeOrder, head: HeadFiles) -> None:
        self._order = order
        self._head = head
        self._head_names = frozenset(
            match[0] for path in head.paths if (match := _FILE_NAME.search(path))
        )
        self._search = PurgedWordSearcher(order.words)
        self._ids = {record_id.encode() for record_id in order.ids}
        self._id_tails = {
            record_id[-size:].encode()
            for record_id in (*order.ids, *order.quotes)
            for size in (4, 8, len(record_id))
        }
        quoted_words = {
            word
            for words in order.quotes.values()
            for word in words
            if len(word) >= MIN_REDACTED_CHARS
        }
        self._words = _sort_longest_first({*order.words, *quoted_words})
        self._words_by_id = {
            record_id.encode(): _sort_longest_first({*order.words, *words})
            for record_id, words in order.quotes.items()
        }
        self._pieces = [frozenset(cut_words(word)) for word in self._words]
        self._dropped_marks: set[bytes] = set()
        """Marks by which the stream refers to files that were left out."""

    def run(self, source: IO[bytes], target: IO[bytes]) -> None:
        """Copy a stream of ``git fast-export``, filtered.

        A command ``data`` is followed by as many bytes as it says: a file's content after the
        command ``blob``, else a message. All other commands are one line.
        """
        mark = blob_name = b""
        in_blob = False
        while line := source.readline():
            if line.startswith(b"data "):
                data = source.read(int(line[5:]))
                if in_blob:
                    data = self._filter_file(data, mark, blob_name)
                else:
                    data = self._filter_message(data)
                target.write(b"data %d\n%s" % (len(data), data))
                continue
            in_blob = line == b"blob\n" or (
                in_blob and line.startswith((b"mark ", b"original-oid "))
            )
            if line.startswith(b"mark "):
                mark = line[5:].strip()
            elif line.startswith(b"original-oid "):
                blob_name = line[13:].strip()
            target.write(self._filter_line(line))

    def _filter_line(self, line: bytes) -> bytes:
        """Filter a command: ``M`` puts a file at a path, ``D`` deletes the path."""
        if line.startswith(b"D "):
            return b"D " + self._filter_path(line[2:])
        if not line.startswith(b"M "):
            return line
        mode, mark, path = line[2:].split(b" ", 2)
        if mark in self._dropped_marks:
            return b"D " + self._filter_path(path)
        return b"M %s %s %s" % (mode, mark, self._filter_path(path))

    def _filter_path(self, path: bytes) -> bytes:
        if path.rstrip(b"\n") in self._head.paths:
            return path
        return self._filter_names(path)

    def _filter_names(self, text: bytes) -> bytes:
        """Replace the words in names of files that are about purged memories."""
        return _FILE_NAME.sub(self._filter_name, text)

    def _filter_name(self, name: re.Match[bytes]) -> bytes:
        slug, id_tail, suffix = name.groups()
        # Conflict files, whose names end in a hash, are kept only where they still are.
        is_old_conflict = suffix.count(b".") == 2 and name[0] not in self._head_names
        if is_old_conflict or id_tail in self._id_tails or self._search.find(slug):
            return b"__removed__%s%s" % (id_tail, suffix)
        return name[0]

    def _filter_file(self, data: bytes, mark: bytes, blob_name: bytes) -> bytes:
        if blob_name in self._head.blobs:
            return data
        front = data[:HEAD_BYTES] if data.startswith(b"---") else b""
        scope_line = _SCOPE_LINE.search(front)
        owner = self._order.owner.key.encode()
        if scope_line and scope_line[1] != owner and not scope_line[1].startswith(owner + b"/"):
            return data
        id_line = ID_LINE.search(front)
        if id_line is None:
            return self._redact(data)
        if id_line[1] in self._ids:
            self._dropped_marks.add(mark)
            return b""
        return self._redact_memory(data, id_line[1])

    def _filter_message(self, data: bytes) -> bytes:
        """Filter a commit's message, which tells a reason after each memory's id."""
        for record_id in self._ids:
            if record_id in data:
                data = re.sub(rb"(?m)^(\S+ %s:).*$" % re.escape(record_id), rb"\1", data)
        return self._filter_names(self._redact(data))

    def _redact(self, data: bytes) -> bytes:
        """Remove all words of the purge from a text that is no memory's."""
        text = _encode(redact_short(redact(_decode(data), self._words), self._order.short))
        return self._remove_needles(text, self._search.find(text))

    def _redact_memory(self, data: bytes, record_id: bytes) -> bytes:
        """Remove words from another memory's file, but not a phrase that both memories hold.

        A piece of a purged text goes only together with most pieces of that text: a single piece
        may stand in the other memory by itself.
        """
        words = self._words_by_id.get(record_id, self._order.words)
        text = _encode(redact(_decode(data), words))
        needles = self._search.find(text)
        present = {self._search.origins[needle] for needle in needles}
        # The needle of a file's name stands for the word itself, not for a piece of it.
        removed = set(self._words)
        for pieces in self._pieces:
            if 2 * len(pieces & present) > len(pieces):
                removed |= pieces
        return self._remove_needles(
            text, {needle for needle in needles if self._search.origins[needle] in removed}
        )

    def _remove_needles(self, text: bytes, needles: Collection[bytes]) -> bytes:
        for needle in needles:
            text = text.replace(needle, REMOVED.encode())
        return self._filter_names(text)


def _sort_longest_first(words: Collection[str]) -> list[str]:
    return sorted(words, key=len, reverse=True)


def _decode(data: bytes) -> str:
    return data.decode("utf-8", "surrogateescape")


def _encode(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")
