"""Redaction of the vault's text files: purged texts go out of notes, dreams, documents and conflicts.

The files of the purged memories themselves are removed elsewhere (``erasure``).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from engrams.core import Record
from engrams.text.redact import MIN_REDACTED_CHARS, REMOVED, redact, redact_short
from engrams.vault.dependencies import VaultDeps
from engrams.vault.files.vault_paths import CONFLICTS, DOCUMENTS
from engrams.vault.notes.daily_notes import shorten_to_line
from engrams.vault.purge.note_redaction import NoteLineRemover

_SHORTEST_REPETITION = 12
"""Characters of the shortest text whose repetition takes a whole line with it."""


@dataclass(frozen=True, slots=True)
class _RemovedTexts:
    """Texts to remove. Those compared with lines are folded: one blank between words, lower case."""

    repeated: tuple[str, ...]
    """A line that contains one of these goes as a whole."""
    line_ends: tuple[str, ...]
    """A line that ends with one of these goes as a whole: texts that a note cut off."""
    words: tuple[str, ...]
    """Replaced by a mark wherever they stand."""
    short_words: tuple[str, ...]
    """Replaced by a mark where they are told from other words."""

    @classmethod
    def of(cls, records: Sequence[Record], words: Sequence[str]) -> _RemovedTexts:
        texts = [record.text.strip() for record in records]
        lines = [shorten_to_line(record.text) for record in records]
        return cls(
            repeated=tuple(
                _fold_line(record.text)
                for record in records
                if len(record.text.strip()) >= _SHORTEST_REPETITION
            ),
            line_ends=tuple(line.casefold() for line in lines if line.endswith("…")),
            words=tuple(word for word in words if len(word) >= MIN_REDACTED_CHARS),
            short_words=tuple(
                word for word in (*words, *texts) if 0 < len(word) < MIN_REDACTED_CHARS
            ),
        )

    def takes_line(self, line: str) -> bool:
        """Return True for a line that repeats a removed text."""
        folded = _fold_line(line)
        return folded.endswith(self.line_ends) or any(text in folded for text in self.repeated)


def redact_files(
    deps: VaultDeps, records: Sequence[Record], words: Sequence[str], remover: NoteLineRemover
) -> int:
    """Remove the lines that repeat a purged text, and each of ``words``, from the text files.

    ``remover``: removes the lines of notes that were made from the records. Call before the records
    are erased. Returns the number of changed files.
    """
    removed = _RemovedTexts.of(records, words)
    record_ids = {record.id for record in records}
    changed = 0
    for path in list(_iter_paths(deps)):
        data = deps.disk.read(path)
        if data is None:
            continue
        text = data.decode("utf-8", "replace")
        is_conflict = path.startswith(f"{CONFLICTS}/")
        if is_conflict and any(record_id in text for record_id in record_ids):
            deps.state.touch([(path, {"does": "purge"})])
            deps.disk.remove(path)
            changed += 1
            continue
        redacted = _redact_text(remover.remove(path, text), removed, keeps_mark=is_conflict)
        if redacted != text:
            deps.replace_file(path, redacted.encode(), data, {"does": "purge"})
            changed += 1
    return changed


def _iter_paths(deps: VaultDeps) -> Iterator[str]:
    for top in ("memory", "dreams", CONFLICTS, DOCUMENTS):
        for path, _ in deps.disk.walk(top, every=True):
            yield path
    yield "MEMORY.md"


def _redact_text(text: str, removed: _RemovedTexts, *, keeps_mark: bool) -> str:
    """Remove lines and words from a text.

    ``keeps_mark``: leave a mark for a removed line. In a conflict file it tells that the file's
    name has to go too.
    """
    lines = []
    for line in text.split("\n"):
        if not removed.takes_line(line):
            lines.append(line)
        elif keeps_mark:
            lines.append(REMOVED)
    return redact_short(redact("\n".join(lines), removed.words), removed.short_words)


def _fold_line(text: str) -> str:
    return " ".join(text.split()).casefold()
