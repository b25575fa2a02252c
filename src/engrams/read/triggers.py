"""Rules that surface because the query names what triggers them, however unlike it they are (003)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from engrams.ports import Query, Records
from engrams.read.request import ReadRequest
from engrams.read.seasons import out_of_season
from engrams.settings import ReadSettings
from engrams.text.terms import terms, tokens
from engrams.types import Hit, Kind, Record

KINDS = (Kind.NEGATIVE, Kind.PROCEDURE, Kind.RULE, Kind.CORRECTION)
_READ = 500


def find_triggered(request: ReadRequest, records: Records, settings: ReadSettings) -> tuple[Record, ...]:
    """Active rules in reach with a trigger that occurs in the query, the most telling trigger first."""
    kinds = tuple(kind for kind in KINDS if not request.kinds or kind in request.kinds)
    if not settings.triggers or not kinds:
        return ()
    # Two kinds at least: a listing of one kind alone is walked in the order of time, through every other record.
    page = records.find(Query(request.reach, kinds, as_of=request.as_of, where=request.where, limit=_READ))
    asked, said = terms(request.text), tokens(request.text)
    counting = [record for record in page.records if record.triggers and not out_of_season(record, settings.seasons)]
    found = [(weight, record) for record in counting if (weight := longest_trigger(record.triggers, asked, said))]
    return tuple(record for _, record in sorted(found, key=lambda pair: -pair[0])[: settings.triggers])


def longest_trigger(triggers: Sequence[str], asked: Sequence[str], said: Sequence[str]) -> int:
    """How many words the longest trigger that occurs has; 0: none occurs. ``asked``: the query's index terms; ``said``: its words."""
    return max((match_trigger(trigger, asked, said) for trigger in triggers), default=0)


def match_trigger(trigger: str, asked: Sequence[str], said: Sequence[str]) -> int:
    """Whether its words stand one after the other in the query, whatever their endings, or literally: how many they are, else 0."""
    for words, there in ((terms(trigger), asked), (tokens(trigger), said)):
        if words and any(list(there[at : at + len(words)]) == words for at in range(len(there) - len(words) + 1)):
            return len(words)
    return 0


def put_rules_first(rules: Sequence[Record], hits: Sequence[Hit]) -> list[Hit]:
    """The hits with these rules before them, as sure as can be: what they wait for is there. A turn that tells a rule is that rule."""
    first: dict[str, Hit] = {}
    for rule in rules:
        told = next((hit for hit in hits if rule.id in (hit.record.id, *(fact.id for fact in hit.facts))), Hit(rule, 1.0, rule.status))
        first.setdefault(told.record.id, replace(told, score=1.0, parts={**told.parts, "trigger": 1.0}))
    return [*first.values(), *(hit for hit in hits if hit.record.id not in first)]
