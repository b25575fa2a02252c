"""Recalled turns with the turn that gives them meaning, each thing once."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Literal

from engrams.core import UNSEARCHED, Hit, Kind, Record
from engrams.ports import RecordQuery
from engrams.read.corrected_words import mask_corrected
from engrams.read.render import DOUBTED, is_doubtful
from engrams.read.request import ReadDeps, ReadRequest
from engrams.text.acknowledgements import is_acknowledgement, is_answer
from engrams.text.terms import terms

_LOOKED_AT = 4
"""Hits, best first, whose neighbours are looked for: each is one question to the store."""

_SHORT = 4
"""Terms up to which a turn is taken for an answer."""


def with_neighbours(hits: Sequence[Hit], request: ReadRequest, deps: ReadDeps) -> list[Hit]:
    """Add to questions their answers, to short turns the turn before.

    They count: ``request.limit`` hits at most in all. An answer, or the question of one, may take
    the place of the last hit; any other turn before takes only one that is left over. Not where
    tiers are searched: an exchange has both, and nothing comes that is not near itself. Bare thanks
    and assent are left out, but for a yes or no beside its question.
    """
    hits = [hit for hit in hits if hit.facts or not is_acknowledgement(hit.record.text)]
    if deps.settings.routing.mode == "tiers":
        return hits
    found: dict[str, Hit] = {}
    known = {hit.record.id: hit for hit in hits}
    room = request.limit - len(hits)
    for place, hit in enumerate(hits):
        found.setdefault(hit.record.id, hit)
        side = _missing_side(hit.record) if place < _LOOKED_AT else None
        other = _find_beside(hit.record, side, request, deps) if side else None
        if (
            other is None
            or other.id in found
            or (is_acknowledgement(other.text) and not is_answer(other.text))
        ):
            continue
        if other.id not in known:
            if room <= 0 and not (_is_question(hit.record) or _is_question(other)):
                continue
            room -= 1
        found[other.id] = known.get(other.id) or replace(
            hit, record=mask_corrected(other), status=other.status, facts=(), snippet=""
        )
    return list(found.values())[: request.limit]


def drop_shown(
    hits: Iterable[Hit], records: Iterable[Record], profile: Iterable[Record]
) -> list[Hit]:
    """Leave out records shown elsewhere, and turns that the profile repeats.

    A turn that may be outdated stays if the profile does not say so of its facts.
    """
    shown = {record.id for record in records}
    said: dict[str, set[str]] = {}
    told = list(profile)
    doubted = {item.source for fact in told if DOUBTED in fact.meta for item in fact.evidence}
    hits = [hit for hit in hits if hit.record.id not in shown]
    untold = {hit.record.id for hit in hits if hit.outdated and is_doubtful(hit.outdated)} - doubted
    for fact in told:
        for item in fact.evidence:
            said.setdefault(item.source, set()).update(terms(f"{fact.text} {fact.subject}"))
    return [hit for hit in hits if hit.record.id in untold or not _is_said(hit.record, said)]


def _is_said(turn: Record, said: dict[str, set[str]]) -> bool:
    return turn.id in said and said[turn.id].issuperset(terms(turn.search_text))


def _missing_side(record: Record) -> Literal["newest", "oldest"] | None:
    """Choose the neighbour a turn needs: newest before, oldest after, or none."""
    if record.kind is not Kind.TURN or not record.session:
        return None
    if _is_question(record):
        return "oldest"
    return "newest" if len(terms(record.search_text)) <= _SHORT else None


def _is_question(record: Record) -> bool:
    return record.text.rstrip().endswith(("?", "？"))


def _find_beside(
    record: Record, order: Literal["newest", "oldest"], request: ReadRequest, deps: ReadDeps
) -> Record | None:
    asked = RecordQuery(
        request.reach,
        (Kind.TURN,),
        as_of=request.as_of,
        session=record.session,
        order=order,
        after=record.id,
        limit=1,
    )
    found = deps.records.find(asked).records
    if (
        not found
        or found[0].id in request.already_shown
        or found[0].scope != record.scope
        or UNSEARCHED in found[0].meta
    ):
        return None
    return found[0]
