"""Rules that surface because a query names one of their triggers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from engrams.core import Hit, Kind, Record
from engrams.ports import Condition, RecordQuery, RecordStore, Where
from engrams.read.request import ReadRequest
from engrams.read.time_limits import out_of_season
from engrams.settings import ReadSettings
from engrams.text.terms import terms, tokens

_TRIGGERED_KINDS = (Kind.NEGATIVE, Kind.PROCEDURE, Kind.RULE, Kind.CORRECTION)
_MOST_READ = 500
_WITH_TRIGGERS = Condition("triggers", "exists", True)


def find_triggered(
    request: ReadRequest, records: RecordStore, settings: ReadSettings
) -> tuple[Record, ...]:
    """Find active rules with a trigger in the query, longest trigger first."""
    kinds = tuple(kind for kind in _TRIGGERED_KINDS if not request.kinds or kind in request.kinds)
    if not settings.triggers or not kinds:
        return ()
    # At least two kinds: a listing of one kind walks all records in the order of time.
    where = Where("and", (_WITH_TRIGGERS, *([request.where] if request.where else [])))
    page = records.find(
        RecordQuery(request.reach, kinds, as_of=request.as_of, where=where, limit=_MOST_READ)
    )
    query_terms = terms(request.text)
    query_tokens = tokens(request.text)
    matches = []
    for record in page.records:
        if record.triggers and not out_of_season(record, settings.seasons):
            length = longest_trigger(record.triggers, query_terms, query_tokens)
            if length:
                matches.append((length, record))
    matches.sort(key=lambda match: -match[0])
    return tuple(record for _, record in matches[: settings.triggers])


def longest_trigger(
    triggers: Sequence[str], query_terms: Sequence[str], query_tokens: Sequence[str]
) -> int:
    """Count the words of the longest trigger in the query; 0: none is there."""
    return max(
        (match_trigger(trigger, query_terms, query_tokens) for trigger in triggers), default=0
    )


def match_trigger(trigger: str, query_terms: Sequence[str], query_tokens: Sequence[str]) -> int:
    """Count a trigger's words, if it is a phrase of the query, stemmed or literally; else 0."""
    for words, query_words in ((terms(trigger), query_terms), (tokens(trigger), query_tokens)):
        if words and any(
            list(query_words[start : start + len(words)]) == words
            for start in range(len(query_words) - len(words) + 1)
        ):
            return len(words)
    return 0


def put_rules_first(rules: Sequence[Record], hits: Sequence[Hit]) -> list[Hit]:
    """Put triggered rules first, or the turns that state them."""
    if not rules:
        return list(hits)
    first: dict[str, Hit] = {}
    for rule in rules:
        hit = _find_stating(rule, hits) or Hit(rule, 1.0, rule.status)
        first.setdefault(
            hit.record.id, replace(hit, score=1.0, parts={**hit.parts, "trigger": 1.0})
        )
    return [*first.values(), *(hit for hit in hits if hit.record.id not in first)]


def _find_stating(rule: Record, hits: Sequence[Hit]) -> Hit | None:
    for hit in hits:
        if hit.record.id == rule.id or any(fact.id == rule.id for fact in hit.facts):
            return hit
    return None
