"""Rewrite the git history of the files without purged words.

A new repository is written beside the old one with git's own export and import, and takes its place
at the end: a run that is cut short leaves the history as it was.
"""

from __future__ import annotations

import contextlib
import re
import shutil
import subprocess
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import field
from pathlib import Path
from typing import IO

from engrams.errors import ExtraError, StoreError, install_hint
from engrams.frozen_data import dataclass
from engrams.ports import PurgeOrder
from engrams.text.redact import LEAST, REMOVED, redact, redact_short
from engrams.vault.files.front_matter import FrontMatterError
from engrams.vault.files.record_markdown import parse_entry
from engrams.vault.notes.search_index import split_pieces
from engrams.vault.purge.purged_words import PurgedWordSearcher, cut_words

_WORK = ".engrams/rewrite"
_EXPORT = (
    "fast-export",
    "--all",
    "--reencode=no",
    "--signed-tags=strip",
    "--tag-of-filtered-object=rewrite",
    "--show-original-ids",
)
_ID = re.compile(rb"(?m)^id: ['\"]?([^\s'\"]+)")
_SCOPE = re.compile(rb"(?m)^scope: ['\"]?([^\n'\"]+)")
_HEAD_BYTES = 4096
_NAME = re.compile(rb"__([^/\s]*)__([0-9a-z]{4,32})((?:\.[0-9a-f]{8})?\.md)")
_KEPT = ("config", "description", "HEAD", "hooks", "info")
"""Files and folders of a repository that hold no history."""


_HINT = "The history is as it was. Look at it with `git fsck`, and purge again."


class GitHistoryScanner:
    """Search a repository's objects, names and messages for purged words."""

    def __init__(self, root: Path) -> None:
        self._root = root

    def look(self, search: PurgedWordSearcher) -> tuple[int, dict[str, set[bytes]]]:
        """Count the objects of a repository, and find purged words in them."""
        number = 0
        found = dict[str, set[bytes]]()
        for name, data in self._read_objects():
            number += 1
            if held := search.find_in_text(data):
                found[name[:12]] = held
        return number, found

    def find_words(self, ids: frozenset[str], was_said: Callable[[str], bool]) -> tuple[str, ...]:
        """Return texts and quotes of memories' files, and pieces of notes.

        Of every version. ``was_said``: tells the pieces that are meant.
        """
        found: dict[str, None] = {}
        pieces: dict[str, None] = {}
        for _, data in self._read_objects():
            known = _ID.search(data[:_HEAD_BYTES])
            if not known and b"\0" not in data:
                pieces |= dict.fromkeys(
                    piece.text.strip() for piece in split_pieces(data.decode("utf-8", "replace"))
                )
            if known and known[1].decode("utf-8", "replace") in ids:
                with contextlib.suppress(FrontMatterError):
                    entry = parse_entry(data.decode("utf-8", "replace"))
                    texts = (entry.fields.get(name, "") for name in ("text", "caption", "summary"))
                    found |= dict.fromkeys(
                        (*texts, *(item.quote for item in entry.fields.get("evidence", ())))
                    )
        found |= dict.fromkeys(filter(was_said, filter(None, pieces)))
        return tuple(word.strip() for word in found if word.strip())

    def _read_objects(self) -> Iterator[tuple[str, bytes]]:
        if not (self._root / ".git").exists():
            return
        try:
            from dulwich.repo import Repo
        except ImportError:
            raise ExtraError(
                "The history of the files needs dulwich.", hint=install_hint("vault")
            ) from None
        with Repo(str(self._root)) as repo:
            for sha in repo.object_store:
                yield sha.decode(), repo.object_store[sha].as_raw_string()


@dataclass(slots=True)
class GitHistoryRedactor:
    """Filter that removes purged words from a ``git fast-export`` stream.

    Files of purged memories go; purged words leave the other files, their names and the messages.
    Files of other memories keep phrases that they share with a purged text. What the newest commit
    holds stays as it is: memory has been cleaned before.
    """

    order: PurgeOrder
    head_files: frozenset[bytes]
    head_paths: frozenset[bytes]
    dropped: set[bytes] = field(default_factory=set)
    _search: PurgedWordSearcher = field(init=False)
    _ids: set[bytes] = field(init=False)
    _tails: set[bytes] = field(init=False)
    _words: Sequence[str] = field(init=False)
    _of: Mapping[bytes, Sequence[str]] = field(init=False)
    _pieces: Sequence[frozenset[str]] = field(init=False)
    _head_names: frozenset[bytes] = field(init=False)

    def __post_init__(self) -> None:
        order = self.order
        self._search = PurgedWordSearcher(order.words)
        self._head_names = frozenset(
            found[0] for path in self.head_paths if (found := _NAME.search(path))
        )
        self._ids = {id.encode() for id in order.ids}
        self._tails = {
            id[-size:].encode() for id in (*order.ids, *order.quotes) for size in (4, 8, len(id))
        }
        quotes = {id.encode(): some for id, some in order.quotes.items()}
        told = {
            *order.words,
            *(word for some in quotes.values() for word in some if len(word) >= LEAST),
        }
        self._words = sorted(told, key=len, reverse=True)
        self._of = {
            id: sorted({*order.words, *some}, key=len, reverse=True) for id, some in quotes.items()
        }
        self._pieces = [frozenset(cut_words(word)) for word in self._words]

    def run(self, source: IO[bytes], target: IO[bytes]) -> None:
        """Copy a stream of ``git fast-export``, filtered."""
        mark = original = b""
        in_file = False
        while line := source.readline():
            if line.startswith(b"data "):
                data = source.read(int(line[5:]))
                told = (
                    self._filter_file(data, mark, original)
                    if in_file
                    else self._filter_message(data)
                )
                target.write(b"data %d\n%s" % (len(told), told))
                continue
            in_file = line == b"blob\n" or (
                in_file and line.startswith((b"mark ", b"original-oid "))
            )
            if line.startswith(b"mark "):
                mark = line[5:].strip()
            elif line.startswith(b"original-oid "):
                original = line[13:].strip()
            target.write(self._filter_line(line))

    def _filter_line(self, line: bytes) -> bytes:
        if line.startswith(b"D "):
            return b"D " + self._filter_path(line[2:])
        if not line.startswith(b"M "):
            return line
        mode, name, path = line[2:].split(b" ", 2)
        if name in self.dropped:
            return b"D " + self._filter_path(path)
        return b"M %s %s %s" % (mode, name, self._filter_path(path))

    def _filter_path(self, path: bytes) -> bytes:
        return path if path.rstrip(b"\n") in self.head_paths else self._filter_names(path)

    def _filter_names(self, text: bytes) -> bytes:
        """Replace the words in names of files that are about purged memories."""

        def rename(found: re.Match[bytes]) -> bytes:
            # Conflict files, whose names end in a hash, are kept only where they still are.
            old = found[3].count(b".") == 2 and found[0] not in self._head_names
            known = old or found[2] in self._tails or self._search.find(found[1])
            return b"__removed__%s%s" % (found[2], found[3]) if known else found[0]

        return _NAME.sub(rename, text)

    def _filter_file(self, data: bytes, mark: bytes, original: bytes) -> bytes:
        if original in self.head_files:
            return data
        head = data[:_HEAD_BYTES] if data.startswith(b"---") else b""
        id = _ID.search(head)
        scope = _SCOPE.search(head)
        owner = self.order.owner.key.encode()
        if scope and scope[1] != owner and not scope[1].startswith(owner + b"/"):
            return data
        if id and id[1] in self._ids:
            self.dropped.add(mark)
            return b""
        return self._redact_memory(data, id[1]) if id else self._redact(data)

    def _filter_message(self, data: bytes) -> bytes:
        for id in self._ids:
            data = (
                re.sub(rb"(?m)^(\S+ %s:).*$" % re.escape(id), rb"\1", data) if id in data else data
            )
        return self._filter_names(self._redact(data))

    def _redact(self, data: bytes) -> bytes:
        text = redact_short(redact(_decode(data), self._words), self.order.short).encode(
            "utf-8", "surrogateescape"
        )
        for needle in self._search.find(text):
            text = text.replace(needle, REMOVED.encode())
        return self._filter_names(text)

    def _redact_memory(self, data: bytes, id: bytes) -> bytes:
        """Redact another memory's file: a phrase that both hold stays."""
        text = redact(_decode(data), self._of.get(id, self.order.words)).encode(
            "utf-8", "surrogateescape"
        )
        found = self._search.find(text)
        held = {self._search.origins[needle] for needle in found}
        # The words themselves stand for the names of files made of them.
        said = {
            piece
            for pieces in self._pieces
            if 2 * len(pieces & held) > len(pieces)
            for piece in pieces
        }.union(self._words)
        for needle in found:
            if self._search.origins[needle] in said:
                text = text.replace(needle, REMOVED.encode())
        return self._filter_names(text)


def _decode(data: bytes) -> str:
    return data.decode("utf-8", "surrogateescape")


def rewrite_history(root: Path, order: PurgeOrder) -> int:
    """Replace a vault's repository by one without purged words.

    Call with the vault's lock held, everything committed. ExtraError: there is no git program.
    StoreError: git failed; the history is as it was.
    """
    finish_rewrite(root)
    old = root / ".git"
    work = root / _WORK
    if not old.is_dir():
        return 0
    program = shutil.which("git")
    if program is None:
        raise ExtraError(
            "Rewriting the history needs the git program.",
            hint="Install git, or delete `.git` in the vault.",
        )
    shutil.rmtree(work, ignore_errors=True)
    new = work / "new"
    run = _GitProgram(program, root)
    try:
        if not run(old, "rev-list", "--all", "-n1").strip():
            return 0
        run(None, "init", "--quiet", "--bare", str(new))
        files = run(old, "ls-tree", "-r", "-z", "HEAD").split(b"\0")[:-1]
        heads = [line.partition(b"\t") for line in files]
        known = (
            frozenset(head.split()[2] for head, _, _ in heads),
            frozenset(path for _, _, path in heads),
        )
        run.copy(old, new, GitHistoryRedactor(order, *known))
        for name in _KEPT:
            if (old / name).is_dir():
                shutil.copytree(old / name, new / name, dirs_exist_ok=True)
            elif (old / name).exists():
                shutil.copyfile(old / name, new / name)
        run(new, "read-tree", "HEAD")
        new.rename(work / "ready")
    except StoreError:
        shutil.rmtree(work, ignore_errors=True)
        raise
    finish_rewrite(root)
    return 1


def finish_rewrite(root: Path) -> None:
    """Finish or undo a rewriting that was cut short."""
    old = root / ".git"
    work = root / _WORK
    if not work.exists():
        return
    ready = work / "ready"
    aside = work / "old"
    if ready.exists() and old.exists() and not aside.exists():
        old.rename(aside)
    if ready.exists() and not old.exists():
        ready.rename(old)
    shutil.rmtree(work, ignore_errors=True)


@dataclass(frozen=True, slots=True)
class _GitProgram:
    """Runner of git in a vault's folder."""

    program: str
    root: Path

    def __call__(self, folder: Path | None, *given: str) -> bytes:
        done = subprocess.run(  # noqa: S603 - our own arguments
            self._command(folder, *given), cwd=self.root, capture_output=True, check=False
        )
        if done.returncode:
            raise StoreError(
                f"git {given[0]}:"
                f" {' '.join(done.stderr.decode('utf-8', 'replace').split())[-300:]}",
                hint=_HINT,
            )
        return done.stdout

    def copy(self, old: Path, new: Path, kept: GitHistoryRedactor) -> None:
        """Copy a history into an empty repository, filtered."""
        take = subprocess.Popen(self._command(old, *_EXPORT), cwd=self.root, stdout=subprocess.PIPE)  # noqa: S603 - our own arguments
        give = subprocess.Popen(  # noqa: S603
            self._command(new, "fast-import", "--quiet", "--force"),
            cwd=self.root,
            stdin=subprocess.PIPE,
        )
        assert take.stdout is not None
        assert give.stdin is not None
        try:
            with take.stdout as source, give.stdin as target:
                kept.run(source, target)
        except OSError as problem:
            raise StoreError(f"git: {problem.strerror}.", hint=_HINT) from None
        finally:
            codes = take.wait(), give.wait()
        if any(codes):
            raise StoreError("git could not copy the history.", hint=_HINT)

    def _command(self, folder: Path | None, *given: str) -> list[str]:
        place = [f"--git-dir={folder}", f"--work-tree={self.root}"] if folder else []
        return [self.program, *place, "-c", "core.quotepath=false", *given]
