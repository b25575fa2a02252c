"""Rules with triggers, seasonal memories, limits on episodes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta

from engrams.core import Hit, Kind, Record
from engrams.ports import Condition, RecordQuery, RecordStore, Where
from engrams.read.request import ReadRequest
from engrams.settings import ReadSettings
from engrams.text.terms import terms, tokens

TAG = "season:"


KINDS = (Kind.NEGATIVE, Kind.PROCEDURE, Kind.RULE, Kind.CORRECTION)
_READ = 500
_WITH_TRIGGERS = Condition("triggers", "exists", True)


_MOST = 1000


def out_of_season(record: Record, seasons: Sequence[str]) -> str:
    """Reason if none of the record's seasons is set, else empty."""
    own = [tag.removeprefix(TAG) for tag in record.tags if tag.startswith(TAG)]
    return (
        ""
        if not own or any(name in seasons for name in own)
        else f"only in season: {', '.join(own)}"
    )


def find_triggered(
    request: ReadRequest, records: RecordStore, settings: ReadSettings
) -> tuple[Record, ...]:
    """Find active rules with a trigger in the query, longest trigger first."""
    kinds = tuple(kind for kind in KINDS if not request.kinds or kind in request.kinds)
    if not settings.triggers or not kinds:
        return ()
    # At least two kinds: a listing of one kind walks all records in the order of time.
    where = Where("and", (_WITH_TRIGGERS, *([request.where] if request.where else [])))
    page = records.find(
        RecordQuery(request.reach, kinds, as_of=request.as_of, where=where, limit=_READ)
    )
    asked = terms(request.text)
    said = tokens(request.text)
    counting = [
        record
        for record in page.records
        if record.triggers and not out_of_season(record, settings.seasons)
    ]
    found = [
        (weight, record)
        for record in counting
        if (weight := longest_trigger(record.triggers, asked, said))
    ]
    return tuple(
        record for _, record in sorted(found, key=lambda pair: -pair[0])[: settings.triggers]
    )


def longest_trigger(triggers: Sequence[str], asked: Sequence[str], said: Sequence[str]) -> int:
    """Number of words of the longest trigger in the query; 0: none.

    ``asked``: the query's index terms; ``said``: its words.
    """
    return max((match_trigger(trigger, asked, said) for trigger in triggers), default=0)


def match_trigger(trigger: str, asked: Sequence[str], said: Sequence[str]) -> int:
    """Number of a trigger's words, if found as a phrase, else 0.

    Stemmed or literal.
    """
    for words, there in ((terms(trigger), asked), (tokens(trigger), said)):
        if words and any(
            list(there[at : at + len(words)]) == words for at in range(len(there) - len(words) + 1)
        ):
            return len(words)
    return 0


def put_rules_first(rules: Sequence[Record], hits: Sequence[Hit]) -> list[Hit]:
    """Put triggered rules first, or the turns that state them."""
    first: dict[str, Hit] = {}
    for rule in rules:
        hit_of_rule = next(
            (hit for hit in hits if rule.id in (hit.record.id, *(fact.id for fact in hit.facts))),
            Hit(rule, 1.0, rule.status),
        )
        first.setdefault(
            hit_of_rule.record.id,
            replace(hit_of_rule, score=1.0, parts={**hit_of_rule.parts, "trigger": 1.0}),
        )
    return (
        [*first.values(), *(hit for hit in hits if hit.record.id not in first)]
        if first
        else list(hits)
    )


def find_stale(request: ReadRequest, records: RecordStore, days: float) -> frozenset[str]:
    """Find episodes older than ``days``, to be left out; 0: none."""
    if not days or (request.kinds and Kind.EPISODE not in request.kinds):
        return frozenset()
    before = Where("and", (Condition("recorded_at", "lt", request.now - timedelta(days=days)),))
    return frozenset(
        record.id
        for record in records.find(
            RecordQuery(request.reach, (Kind.EPISODE,), where=before, limit=_MOST)
        ).records
    )


def drop_surplus(hits: Sequence[Hit], most: int) -> dict[str, str]:
    """Map episodes beyond the first ``most`` to a reason; 0: no limit."""
    found = [hit.record.id for hit in hits if hit.record.kind is Kind.EPISODE]
    return dict.fromkeys(found[most:], f"more than {most} episodes") if most else {}


def find_latest(request: ReadRequest, records: RecordStore) -> Record | None:
    """Find the last episode, whatever its age."""
    found = records.find(RecordQuery(request.reach, (Kind.EPISODE,), limit=1)).records
    return found[0] if found else None
