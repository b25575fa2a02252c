"""Know the memories behind the lines of notes, and so the lines that no longer hold."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from engrams.core import CORRECTED, Record, Scope, Status, content_hash
from engrams.ports import RecordQuery, RecordStore, ScopeReach
from engrams.text.comparison.statement_comparison import are_opposite
from engrams.text.rejected_values import split_rejected
from engrams.text.terms import terms
from engrams.vault.files.sync_state import VaultStateDatabase

STANDING = (Status.ACTIVE, Status.CANDIDATE, Status.ARCHIVED)
"""Statuses of memories whose words still hold."""
_ENDED = (Status.SUPERSEDED, Status.FORGOTTEN)
_MIN_SHARE = 0.3
"""Least share of a line's words that a memory must have for the line to be drawn from it."""
_MAX_SOURCES = 5
"""Memories that a line is drawn from, at most."""
_LIMIT = 1000


@dataclass(frozen=True, slots=True)
class NotePurge:
    """Purge of one owner's memories, as notes see it before it is done."""

    ids: frozenset[str]
    """Memories that go."""
    shortened_ids: frozenset[str]
    """Memories that lose words."""
    words: Sequence[str]
    """Texts that go from them."""


_NO_PURGE = NotePurge(frozenset(), frozenset(), ())


class NoteLineLedger:
    """Ledger of lines written into notes, by their texts' hashes.

    A line no longer holds as soon as one of its words that came from its memories is in none of
    those that stand: what was forgotten, replaced or edited is not read from a note either. A line
    that nobody drew from memory is somebody's own: it goes only where it is, word for word, a
    memory of which no copy stands.
    """

    def __init__(self, store: RecordStore, state: VaultStateDatabase) -> None:
        self._store = store
        self._state = state

    def draw(self, owner: Scope, lines: Iterable[str], sources: Sequence[Record]) -> None:
        """Note for each line the memories that it was drawn from.

        They are those among ``sources``, and the statements made of these, that share most words
        with it.
        """
        source_ids = tuple(record.id for record in sources)
        statements = self._find_quoting(owner, source_ids, (Status.ACTIVE,)) if source_ids else ()
        words_by_id = {
            record.id: frozenset(terms(record.search_text)) for record in (*sources, *statements)
        }
        rows = []
        for text in map(strip_list_mark, lines):
            words = frozenset(terms(text))
            nearest = sorted(
                words_by_id, key=lambda record_id: len(words & words_by_id[record_id]), reverse=True
            )
            drawn_ids = [
                record_id
                for record_id in nearest[:_MAX_SOURCES]
                if words and len(words & words_by_id[record_id]) >= _MIN_SHARE * len(words)
            ]
            covered = len(words & _union(words_by_id[record_id] for record_id in drawn_ids))
            rows += [(content_hash(text), record_id, covered) for record_id in drawn_ids]
        self._state.add_drawn(owner, rows)

    def redraw(self, owner: Scope, lines: Iterable[str], old_lines: Iterable[str]) -> None:
        """Note the memories of lines that were made from older lines."""
        drawn = self._state.find_drawn(owner, [hash_line(line) for line in old_lines])
        ids = list(dict.fromkeys(record_id for rows in drawn.values() for record_id, _ in rows))
        self.draw(owner, lines, self._store.get(owner, ids) if ids else ())

    def find_gone(
        self, owner: Scope, lines: Iterable[str], purge: NotePurge | None = None
    ) -> set[str]:
        """Find the lines that no longer hold; return the hashes of their texts.

        ``purge``: find those that will not hold after it.
        """
        texts = {content_hash(text): text for text in map(strip_list_mark, lines) if text}
        drawn = self._state.find_drawn(owner, list(texts))
        standing_words = self._find_standing_words(
            owner,
            tuple({record_id for rows in drawn.values() for record_id, _ in rows}),
            purge or _NO_PURGE,
        )
        gone_hashes = set()
        for line_hash, text in texts.items():
            rows = drawn.get(line_hash)
            if not rows:
                if self._is_away(owner, line_hash):
                    gone_hashes.add(line_hash)
                continue
            standing = _union(standing_words.get(record_id, frozenset()) for record_id, _ in rows)
            covered = max(covered for _, covered in rows)
            if len(frozenset(terms(text)) & standing) < covered:
                gone_hashes.add(line_hash)
        return gone_hashes

    def find_parts(self, owner: Scope, lines: Iterable[str]) -> dict[str, tuple[Scope, ...]]:
        """Find the lines that not everybody in an owner's memory reads, with the parts that do.

        A line belongs to a part of the memory, such as a project or an agent, if some of its words
        were told only there. One with words of several parts belongs to none: nobody in one of them
        reads it all. By the hashes of the lines' texts.
        """
        texts = {content_hash(text): text for text in map(strip_list_mark, lines) if text}
        drawn = self._state.find_drawn(owner, list(texts))
        ids = {record_id for rows in drawn.values() for record_id, _ in rows}
        sources = {record.id: record for record in self._store.get(owner, list(ids))} if ids else {}
        parts: dict[str, tuple[Scope, ...]] = {}
        for line_hash, rows in drawn.items():
            line_sources = [sources[record_id] for record_id, _ in rows if record_id in sources]
            words = frozenset(terms(texts[line_hash]))
            told_words = words & _union_terms(line_sources)
            readers = [owner, *(source.scope.durable for source in line_sources)]
            readers = [
                reader
                for reader in dict.fromkeys(readers)
                if told_words <= _union_terms(_select_in_reach(line_sources, reader))
            ]
            if owner not in readers:
                parts[line_hash] = tuple(readers)
        return parts

    def find_purged(self, owner: Scope, lines: Iterable[str], purge: NotePurge) -> set[str]:
        """Find the lines that a purge takes the ground from; return the hashes of their texts."""
        drawn_hashes = self._state.find_lines_of(owner, [*purge.ids, *purge.shortened_ids])
        drawn_lines = [line for line in lines if hash_line(line) in drawn_hashes]
        return self.find_gone(owner, drawn_lines, purge)

    def find_lines(self, owner: Scope, actions: Mapping[str, str]) -> set[str]:
        """Find the lines that changed memories may end or bring back; return their hashes.

        ``actions``: what was done to each memory.
        """
        changed_ids = [
            record_id for record_id, action in actions.items() if action not in ("add", "link")
        ]
        if not changed_ids:
            return set()
        changed = self._store.get(owner, changed_ids)
        ended_hashes = {
            record.hash
            for record in changed
            if record.status not in STANDING or actions[record.id] == "restore"
        }
        # A change of a statement may end the lines of the message that it was taken from.
        source_ids = {item.source for record in changed for item in record.evidence}
        return ended_hashes | self._state.find_lines_of(owner, [*changed_ids, *source_ids])

    def _is_away(self, owner: Scope, line_hash: str) -> bool:
        """Return True for the text of a memory of which no copy stands."""
        copies = self._store.find(
            RecordQuery(
                ScopeReach.of_owner(owner), statuses=tuple(Status), hashes=(line_hash,), limit=20
            )
        ).records
        return bool(copies) and not any(record.status in STANDING for record in copies)

    def _find_standing_words(
        self, owner: Scope, ids: tuple[str, ...], purge: NotePurge
    ) -> dict[str, frozenset[str]]:
        """Find the words that memories still say, by id.

        The words of statements that ended do not count, and those of their replacements do, unless
        these deny them.
        """
        if not ids:
            return {}
        records = {
            record.id: record
            for record in self._store.get(owner, list(ids))
            if record.id not in purge.ids
        }
        ended = self._find_quoting(owner, ids, _ENDED)
        replacements = self._find_replacements(owner, (*records.values(), *ended), purge)
        ended_quotes: dict[str, list[str]] = {}
        words = {record_id: set[str]() for record_id in ids}
        for statement in ended:
            for item in statement.evidence:
                ended_quotes.setdefault(item.source, []).append(item.quote)
                if item.source in words:
                    words[item.source].update(_find_replaced_words(statement, replacements))
        for record_id, record in records.items():
            words[record_id].update(_find_replaced_words(record, replacements))
            if record.status in STANDING:
                text = _remove_quotes(record, (*ended_quotes.get(record_id, ()), *purge.words))
                words[record_id].update(terms(text))
        return {record_id: frozenset(record_words) for record_id, record_words in words.items()}

    def _find_replacements(
        self, owner: Scope, records: Iterable[Record], purge: NotePurge
    ) -> dict[str, Record]:
        """Find the standing memories that took the place of these, by id."""
        ids = {record.superseded_by for record in records} - {"", *purge.ids}
        if not ids:
            return {}
        return {
            record.id: record
            for record in self._store.get(owner, list(ids))
            if record.status in STANDING
        }

    def _find_quoting(
        self, owner: Scope, ids: tuple[str, ...], statuses: tuple[Status, ...]
    ) -> Sequence[Record]:
        query = RecordQuery(ScopeReach.of_owner(owner), (), statuses, sources=ids, limit=_LIMIT)
        return self._store.find(query).records


def hash_line(line: str) -> str:
    """Hash the text of a line, without the mark of a list."""
    return content_hash(strip_list_mark(line))


def strip_list_mark(line: str) -> str:
    """Strip the mark of a list and blanks from a line."""
    text = line.strip()
    return text[2:].strip() if text.startswith(("- ", "* ", "+ ")) else text


def blank_lines(text: str, gone_hashes: Collection[str]) -> str:
    """Empty the lines that no longer hold; the others keep their numbers.

    ``gone_hashes``: the hashes of those lines.
    """
    if not gone_hashes:
        return text
    return "\n".join(
        "" if line.strip() and hash_line(line) in gone_hashes else line for line in text.split("\n")
    )


def _find_replaced_words(ended: Record, replacements: Mapping[str, Record]) -> Iterable[str]:
    """Find the words of what took the place of a memory.

    What denies it has most of its words, and still says none of it: "I don't like tea any more".
    Nor does "tabs, not spaces" say "spaces".
    """
    replacement = replacements.get(ended.superseded_by)
    if replacement is None or _denies(replacement, ended):
        return ()
    value, _ = split_rejected(replacement.text)
    return terms(value)


def _denies(replacement: Record, ended: Record) -> bool:
    """True if a statement says that another one is over, or is not so."""
    return (
        replacement.meta.get("effect") == "ends"
        or replacement.meta.get("polarity", True) != ended.meta.get("polarity", True)
        or are_opposite(replacement.text, ended.text)
    )


def _remove_quotes(record: Record, ended_quotes: Sequence[str]) -> str:
    """Return a memory's text without quotes that were taken back or that ended."""
    text = record.search_text
    marked_quotes = (mark["quote"] for mark in record.meta.get(CORRECTED, ()))
    for quote in (*marked_quotes, *ended_quotes):
        if quote:
            text = text.replace(quote, " ")
    return text


def _select_in_reach(records: Iterable[Record], reader: Scope) -> list[Record]:
    """Select the memories that a read in a scope sees, those of all its conversations included."""
    chain = reader.chain()
    return [record for record in records if record.scope.durable in chain]


def _union_terms(records: Iterable[Record]) -> frozenset[str]:
    return _union(frozenset(terms(record.search_text)) for record in records)


def _union(sets: Iterable[frozenset[str]]) -> frozenset[str]:
    return frozenset[str]().union(*sets)
