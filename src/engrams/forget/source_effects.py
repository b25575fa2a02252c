"""Effects of an edit, a forget or a purge on the messages that a memory was derived from.

``preview_change`` and ``preview_each`` report it and change nothing; ``source_changes`` carries it
out. A message that says only what is taken back goes along. One that says more loses those words.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Literal, TypeAlias

from engrams.core import CORRECTED, MESSAGE_KINDS, STATEMENT_KINDS, Kind, Record, Scope, Status
from engrams.extract.gate import gate_text
from engrams.frozen_data import dataclass
from engrams.ports import RecordQuery, RecordStore, ScopeReach
from engrams.text.normalize import fold
from engrams.text.redact import find_sentence

ChangeAction: TypeAlias = Literal["edit", "forget", "purge"]

_GONE = {"edit": "superseded", "forget": "forgotten", "purge": "purged"}
"""Effect on a message that goes as a whole, by action."""
_MAX_REPEATS = 20
"""Records for which repetitions are looked up, and repetitions that are reported, at most."""
_PAGE = 1000
_OUT_OF_REACH: Mapping[ChangeAction, frozenset[Status]] = {
    "edit": frozenset(Status) - {Status.ACTIVE},
    "forget": frozenset({Status.FORGOTTEN, Status.PURGED}),
    "purge": frozenset({Status.PURGED}),
}
"""Statuses of messages that an action leaves as they are.

A forget also reaches superseded messages, since reads of the past show them.
"""


@dataclass(frozen=True, slots=True)
class SourceChangeEffect:
    """Effect on one source message, or on a session's episode."""

    id: str
    effect: str
    """superseded, forgotten, purged, shortened or kept."""
    quotes: tuple[str, ...] = ()
    """Words of it that the changed memories quote."""


@dataclass(frozen=True, slots=True)
class SourceChangeReport:
    """Effects of a change on memories and on their sources."""

    action: ChangeAction
    effects: Mapping[str, str]
    """Effect on each changed memory, by id: edited, forgotten or purged."""
    sources: tuple[SourceChangeEffect, ...] = ()
    also_said_in: tuple[str, ...] = ()
    """Ids of other messages that say the same; they stay."""


class SourceLookup:
    """Messages that facts were derived from, and the active facts that rest on each."""

    def __init__(self, records: Sequence[Record], store: RecordStore) -> None:
        """Read the sources of all facts among ``records`` together."""
        self._store = store
        self.sources: dict[str, Record] = {}
        self._resting: dict[str, list[Record]] = {}
        for owner in {record.scope.owner for record in records}:
            source_ids = list(
                dict.fromkeys(
                    item.source
                    for record in records
                    if record.kind in STATEMENT_KINDS and record.scope.owner == owner
                    for item in record.evidence
                    if item.quote
                )
            )
            self.sources.update((source.id, source) for source in store.get(owner, source_ids))
            self._read_resting(owner, source_ids)

    def find_resting(self, source: Record) -> Sequence[Record]:
        """Find the active facts that quote a message."""
        if source.id not in self._resting:
            self._read_resting(source.scope.owner, [source.id])
        return self._resting[source.id]

    def _read_resting(self, owner: Scope, source_ids: Sequence[str]) -> None:
        self._resting.update((source_id, []) for source_id in source_ids)
        query = RecordQuery(
            ScopeReach.of_owner(owner),
            STATEMENT_KINDS,
            (Status.ACTIVE,),
            sources=tuple(source_ids),
            limit=_PAGE,
        )
        has_more = bool(source_ids)
        while has_more:
            page = self._store.find(query)
            for fact in page.records:
                for source_id in {item.source for item in fact.evidence} & self._resting.keys():
                    self._resting[source_id].append(fact)
            query = replace(query, after=page.next)
            has_more = bool(page.next)


def preview_change(
    records: Sequence[Record], action: ChangeAction, store: RecordStore, min_words: int
) -> SourceChangeReport:
    """Report what one action on all these records reaches; nothing is changed."""
    finder = SourceEffectFinder(action, SourceLookup(records, store), store, min_words)
    return finder.report(records)


def preview_each(
    records: Sequence[Record], action: ChangeAction, store: RecordStore, min_words: int
) -> list[SourceChangeReport]:
    """Report for each record what changing it alone would reach.

    Other messages that say the same are looked up for the first twenty records.
    """
    finder = SourceEffectFinder(action, SourceLookup(records, store), store, min_words)
    return [
        finder.report([record], with_repeats=index < _MAX_REPEATS)
        for index, record in enumerate(records)
    ]


class SourceEffectFinder:
    """Finds what one kind of change does to the sources of records."""

    def __init__(
        self, action: ChangeAction, lookup: SourceLookup, store: RecordStore, min_words: int
    ) -> None:
        """Set up the finder.

        ``min_words``: words that must be left of a message for it to stay (``write.min_words``).
        """
        self._action: ChangeAction = action
        self._lookup = lookup
        self._store = store
        self._min_words = min_words

    def report(self, records: Sequence[Record], *, with_repeats: bool = True) -> SourceChangeReport:
        """Report the effects on records and sources.

        ``with_repeats``: also look up other messages that say the same.
        """
        effects = self.find_effects(records)
        reported_ids = {record.id for record in records} | {effect.id for effect in effects}
        repeat_ids = dict.fromkeys(
            message_id
            for record in (records[:_MAX_REPEATS] if with_repeats else ())
            for message_id in self._find_repeats(record)
            if message_id not in reported_ids
        )
        effect_on_record = "edited" if self._action == "edit" else _GONE[self._action]
        return SourceChangeReport(
            self._action,
            dict.fromkeys((record.id for record in records), effect_on_record),
            effects,
            tuple(repeat_ids)[:_MAX_REPEATS],
        )

    def find_effects(self, records: Sequence[Record]) -> tuple[SourceChangeEffect, ...]:
        """Find the effects on messages, and on the episodes that repeat them."""
        changed_ids = {record.id for record in records}
        quotes: dict[str, list[str]] = {}
        for record in records:
            if record.kind not in STATEMENT_KINDS:
                continue
            for item in record.evidence:
                if item.quote and item.source not in changed_ids:
                    quotes.setdefault(item.source, []).append(item.quote)
        effects = [
            self._find_effect(self._lookup.sources[source_id], source_quotes, changed_ids)
            for source_id, source_quotes in quotes.items()
            if source_id in self._lookup.sources
        ]
        if self._action != "purge":
            # A purge looks for its words everywhere, and so finds the episodes without this.
            effects += self._find_episode_effects(records, changed_ids)
        return tuple(effects)

    def _find_effect(
        self, source: Record, quotes: Collection[str], changed_ids: set[str]
    ) -> SourceChangeEffect:
        unique_quotes = tuple(dict.fromkeys(quotes))
        effect = self._choose_effect(source, unique_quotes, changed_ids)
        return SourceChangeEffect(source.id, effect, unique_quotes)

    def _choose_effect(self, source: Record, quotes: Sequence[str], changed_ids: set[str]) -> str:
        """Choose the effect on a source that loses the quotes.

        It goes as a whole if no other fact rests on it, and the text without the quotes, and
        without those that were taken back before, is not worth keeping.
        """
        if source.kind not in (*MESSAGE_KINDS, Kind.EPISODE):
            return "kept"
        if source.status in _OUT_OF_REACH[self._action]:
            return "kept"
        remainder = source.text
        for quote in quotes:
            remainder = remainder.replace(quote, " ")
        if remainder == source.text:
            return "kept"
        for mark in source.meta.get(CORRECTED, ()):
            remainder = remainder.replace(mark["quote"], " ")
        if any(fact.id not in changed_ids for fact in self._lookup.find_resting(source)):
            return "shortened"
        if gate_text(remainder, min_words=max(self._min_words, 1)) is None:
            return "shortened"
        return _GONE[self._action]

    def _find_episode_effects(
        self, records: Sequence[Record], changed_ids: set[str]
    ) -> list[SourceChangeEffect]:
        """Find the episodes that repeat words of statements or messages."""
        episodes: dict[str, Record] = {}
        quotes: dict[str, dict[str, None]] = {}
        for record in records:
            for episode in self._find_episodes(record):
                episodes[episode.id] = episode
                repeated = _find_repeated_words(episode, record)
                quotes.setdefault(episode.id, {}).update(dict.fromkeys(repeated))
        return [
            self._find_effect(episodes[episode_id], episode_quotes, changed_ids)
            for episode_id, episode_quotes in quotes.items()
            if episode_quotes
        ]

    def _find_episodes(self, record: Record) -> Sequence[Record]:
        """Find the episodes that quote a message, or the messages of a statement."""
        if record.kind in STATEMENT_KINDS:
            message_ids = tuple(item.source for item in record.evidence)
        elif record.kind in MESSAGE_KINDS:
            message_ids = (record.id,)
        else:
            message_ids = ()
        if not message_ids:
            return ()
        return self._store.find(
            RecordQuery(
                ScopeReach.of_owner(record.scope.owner),
                (Kind.EPISODE,),
                sources=message_ids,
                limit=_PAGE,
            )
        ).records

    def _find_repeats(self, record: Record) -> list[str]:
        """Find the messages with the same quote, or with the same subject and object."""
        if record.kind not in STATEMENT_KINDS:
            return []
        messages = dict[str, Record]()
        for text in {*(item.quote for item in record.evidence), record.object} - {""}:
            query = RecordQuery(
                ScopeReach.of_owner(record.scope.owner),
                MESSAGE_KINDS,
                text=text,
                limit=_MAX_REPEATS,
            )
            messages.update((message.id, message) for message in self._store.find(query).records)
        # A message of the user says "I" where the statement says "user".
        subject = "" if record.subject in ("user", "") else fold(record.subject)
        return [message.id for message in messages.values() if subject in fold(message.text)]


def _find_repeated_words(episode: Record, record: Record) -> list[str]:
    """Find the words of an episode that come from a statement or a message."""
    is_statement = record.kind in STATEMENT_KINDS
    if is_statement:
        quotes = [item.quote for item in record.evidence]
    else:
        quotes = [item.quote for item in episode.evidence if item.source == record.id]
    repeated = [quote for quote in quotes if quote and quote in episode.text]
    if repeated or not is_statement:
        return repeated
    # A model retells in its own words: take the sentence that names the statement's object.
    sentence = find_sentence(episode.text, record.object)
    return [sentence] if sentence else []
