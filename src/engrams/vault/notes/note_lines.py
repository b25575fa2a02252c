"""Memories behind the lines of notes, and lines that no longer hold."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from engrams.core import CORRECTED, Record, Scope, Status, content_hash
from engrams.ports import RecordQuery, RecordStore, ScopeReach
from engrams.text.terms import terms
from engrams.vault.files.sync_state import VaultStateDatabase

_SHARE = 0.3
_MOST = 5
"""Least share of a line's words that a memory it was drawn from has, and the most such memories."""

STANDING = (Status.ACTIVE, Status.CANDIDATE, Status.ARCHIVED)
_ENDED = (Status.SUPERSEDED, Status.FORGOTTEN)


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

    def draw(self, owner: Scope, lines: Iterable[str], said: Sequence[Record]) -> None:
        """Note the memories, and statements from them, that each line says."""
        ids = tuple(record.id for record in said)
        taken = self._find(owner, ids, (Status.ACTIVE,)) if ids else ()
        sources = {record.id: frozenset(terms(record.search_text)) for record in (*said, *taken)}
        rows = []
        for text in map(strip_mark, lines):
            words = frozenset(terms(text))
            near = sorted(sources, key=lambda name: -len(words & sources[name]))[:_MOST]
            near = [id for id in near if words and len(words & sources[id]) >= _SHARE * len(words)]
            covered = len(words & frozenset[str]().union(*(sources[id] for id in near)))
            rows += [(content_hash(text), id, covered) for id in near]
        self._state.add_drawn(owner, rows)

    def redraw(self, owner: Scope, lines: Iterable[str], old: Iterable[str]) -> None:
        """Note the memories of lines that were made from older lines."""
        drawn = self._state.find_drawn(owner, [content_hash(strip_mark(line)) for line in old])
        ids = list(dict.fromkeys(id for rows in drawn.values() for id, _ in rows))
        self.draw(owner, lines, self._store.get(owner, ids) if ids else ())

    def find_gone(self, owner: Scope, lines: Iterable[str]) -> set[str]:
        """Find lines that no longer hold; return the hashes of their texts."""
        texts = {content_hash(text): text for text in map(strip_mark, lines) if text}
        drawn = self._state.find_drawn(owner, list(texts))
        standing = self._find_standing_words(
            owner, tuple({id for rows in drawn.values() for id, _ in rows})
        )
        gone = set()
        for name, text in texts.items():
            if rows := drawn.get(name):
                words = frozenset(terms(text))
                left = words & frozenset[str]().union(
                    *(standing.get(id, frozenset()) for id, _ in rows)
                )
                if len(left) < max(covered for _, covered in rows):
                    gone.add(name)
            elif self._is_away(owner, name):
                gone.add(name)
        return gone

    def find_lines(self, owner: Scope, does: Mapping[str, str]) -> set[str]:
        """Find the lines that changed memories may end or bring back.

        By hash; ``does``: each memory's change.
        """
        changed = [id for id, done in does.items() if done not in ("add", "link")]
        if not changed:
            return set()
        ended = {
            one.hash
            for one in self._store.get(owner, changed)
            if one.status not in STANDING or does[one.id] == "restore"
        }
        # A change of a statement may end the lines of the message that it was taken from.
        sources = {item.source for one in self._store.get(owner, changed) for item in one.evidence}
        return ended | self._state.find_lines_of(owner, [*changed, *sources])

    def _is_away(self, owner: Scope, name: str) -> bool:
        found = self._store.find(
            RecordQuery(
                ScopeReach(owner, (owner,), tree=True), statuses=tuple(Status), hash=name, limit=20
            )
        ).records
        return bool(found) and not any(record.status in STANDING for record in found)

    def _find_standing_words(self, owner: Scope, ids: tuple[str, ...]) -> dict[str, frozenset[str]]:
        """Find the words that memories still say.

        Without what ended, and with what took its place.
        """
        if not ids:
            return {}
        records = {record.id: record for record in self._store.get(owner, list(ids))}
        ended = self._find(owner, ids, _ENDED)
        later = {one.superseded_by for one in (*records.values(), *ended)} - {""}
        heirs = (
            {one.id: one for one in self._store.get(owner, list(later)) if one.status in STANDING}
            if later
            else {}
        )
        quotes: dict[str, list[str]] = {}
        words = {id: set[str]() for id in ids}
        for one in ended:
            for item in one.evidence:
                quotes.setdefault(item.source, []).append(item.quote)
                if item.source in words and one.superseded_by in heirs:
                    words[item.source].update(terms(heirs[one.superseded_by].text))
        for id, record in records.items():
            if record.superseded_by in heirs:
                words[id].update(terms(heirs[record.superseded_by].text))
            if record.status in STANDING:
                said = record.search_text
                for quote in (
                    *(item["quote"] for item in record.meta.get(CORRECTED, ())),
                    *quotes.get(id, ()),
                ):
                    said = said.replace(quote, " ") if quote else said
                words[id].update(terms(said))
        return {id: frozenset(some) for id, some in words.items()}

    def _find(
        self, owner: Scope, ids: tuple[str, ...], statuses: tuple[Status, ...]
    ) -> Sequence[Record]:
        return self._store.find(
            RecordQuery(
                ScopeReach(owner, (owner,), tree=True), (), statuses, sources=ids, limit=1000
            )
        ).records


def strip_mark(line: str) -> str:
    """Strip a list's mark and blanks from a line."""
    text = line.strip()
    return text[2:].strip() if text.startswith(("- ", "* ", "+ ")) else text


def keep_lines(text: str, gone: set[str]) -> str:
    """Empty lines that no longer hold; the others keep their numbers."""
    return "\n".join(_keep(text, gone)) if gone else text


def _keep(text: str, gone: set[str]) -> Iterator[str]:
    for line in text.split("\n"):
        yield "" if line.strip() and content_hash(strip_mark(line)) in gone else line
