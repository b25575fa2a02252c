"""Hits that something later replaces: they are marked, and what holds now is put before them."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from engrams.core import OUTDATES, Edge, EdgeType, Hit, Kind, OutdatedMark, Record, Status
from engrams.core.meta_keys import last_said_at
from engrams.core.records import repeats_turns
from engrams.core.tellers_clock import told_at
from engrams.frozen_data import replace
from engrams.read.corrected_words import mask_corrected
from engrams.read.excerpts import cut_sentences
from engrams.read.fact_joining import SHOWN_STATUSES
from engrams.read.request import ReadRequest, sees_scope
from engrams.text.clause_kinds import holds_verb
from engrams.text.terms import terms
from engrams.text.text_spans import read_span

_SPOKEN_KINDS = (Kind.TURN, Kind.NOTE, Kind.EXCHANGE)
_WORDS_CHARACTERS = 200
"""Most characters of a later statement whose ending words are not known."""
_TELLING_WORDS = 3
"""Words of meaning from which what is left of a message says something, though it has no verb."""
_BEST = 10
"""Hits that one from below enters only by what is sure."""


def mark_outdated(
    hits: Sequence[Hit],
    later: Mapping[str, Sequence[Edge]],
    records: Mapping[str, Record],
    request: ReadRequest,
) -> tuple[Hit, ...]:
    """Mark what a later statement ends, or may end.

    Facts that have ended say so themselves. A later statement counts for nothing that is forgotten,
    was not said yet at the time asked about, or stands where the request does not see it, nor where
    the earlier one was said again after it. ``later``:
    edges of ``LinkCache.find_later``; ``records``: by id.
    """
    if not later:
        return tuple(hits)
    return tuple(
        _mark_hit(hit, later[hit.record.id], records, request) if hit.record.id in later else hit
        for hit in hits
    )


def find_later_statements(
    later: Mapping[str, Sequence[Edge]], records: Mapping[str, Record], request: ReadRequest
) -> dict[str, list[Record]]:
    """Find the later statements that count, by the id of what they end, or may end.

    ``later`` and ``records``: as in ``mark_outdated``.
    """
    return {
        record_id: [
            statement
            for edge in edges
            if (statement := records.get(edge.source)) and _counts(statement, request)
        ]
        for record_id, edges in later.items()
    }


def _counts(statement: Record, request: ReadRequest) -> bool:
    """True for a later statement that the request sees, and that was said by the time asked about."""
    as_of = request.as_of
    limits = (as_of.valid, as_of.known) if as_of else ()
    return (
        statement.status in SHOWN_STATUSES
        and sees_scope(request.scope, statement.scope)
        and all(limit is None or statement.recorded_at <= limit for limit in limits)
    )


def _mark_hit(
    hit: Hit, endings: Sequence[Edge], records: Mapping[str, Record], request: ReadRequest
) -> Hit:
    candidates = []
    for edge in endings:
        statement = records.get(edge.source)
        is_sure = edge.type is EdgeType.SUPERSEDES
        if (
            statement is not None
            and (hit.record.kind in _SPOKEN_KINDS or not is_sure)
            and _counts(statement, request)
            and last_said_at(hit.record) <= statement.recorded_at
        ):
            # Of a turn and the exchange that it became, the one that a read finds.
            is_active = statement.status is Status.ACTIVE
            candidates.append(
                (is_sure, statement.recorded_at, is_active, statement.id, statement, edge)
            )
    if not candidates:
        return hit
    is_sure, _, _, _, statement, edge = max(candidates, key=lambda row: row[:4])
    mark = _make_mark(hit.record, statement, edge)
    status = Status.SUPERSEDED if is_sure else hit.status
    # A message that may be over stays, though the detector ended the fact of its clause.
    is_doubted = not mark.closed and any(
        fact.superseded_by == statement.id for fact in hit.facts if fact.status is not Status.ACTIVE
    )
    if is_doubted or (not is_sure and mark.clause and _says_besides(hit, mark.clause)):
        status = hit.record.status
    return replace(hit, status=status, outdated=mark)


def _says_besides(hit: Hit, clause: str) -> bool:
    """True if a message says something beside a clause that its other facts do not tell to be over.

    Of "Ich bin Vegetarier und wohne in Köln", where one fact holds all the words. Without a verb,
    several words say something: "80 ppl, no doves".
    """
    remaining_text = hit.record.text
    for fact in hit.facts:
        for quote in fact.evidence:
            if clause not in quote.quote:
                remaining_text = remaining_text.replace(quote.quote, " ")
    remaining_text = remaining_text.replace(clause, " ")
    return holds_verb(remaining_text) or len(terms(remaining_text)) >= _TELLING_WORDS


def _make_mark(earlier: Record, later: Record, edge: Edge) -> OutdatedMark:
    """Build the mark of an earlier message, or of a fact that was taken from it."""
    later = mask_corrected(later)
    message_ids = {earlier.id, *(item.source for item in earlier.evidence)}
    entries = [
        entry
        for entry in later.meta.get(OUTDATES) or ()
        if isinstance(entry, dict) and entry.get("id") in message_ids
    ]
    words = next((read_span(later.text, entry.get("words")) for entry in entries), "")
    if not words:
        words = later.search_text
        if len(words) > _WORDS_CHARACTERS:
            words = cut_sentences(words, frozenset(terms(earlier.text)), _WORDS_CHARACTERS)
    texts = _map_texts(earlier)
    own_entry = next((entry for entry in entries if entry["id"] in texts), {})
    clause = read_span(texts.get(own_entry.get("id", ""), ""), own_entry.get("clause"))
    is_over = edge.type is EdgeType.SUPERSEDES
    return OutdatedMark(
        by=later.id,
        said_at=later.recorded_at,
        said_on=told_at(later).date(),
        probability=edge.weight,
        closed=is_over or (bool(clause) and own_entry.get("over") is True),
        words=" ".join(words.split()),
        clause=clause,
    )


def _map_texts(record: Record) -> dict[str, str]:
    """Map a message to its text by id; an exchange is that of the turns it quotes, too."""
    quotes = record.evidence if repeats_turns(record) else ()
    return {record.id: record.text, **{quote.source: quote.quote for quote in quotes}}


def put_current_first(
    hits: Sequence[Hit],
    answers: Collection[str] = (),
    query_terms: frozenset[str] = frozenset(),
) -> tuple[Hit, ...]:
    """Move superseding memories above those that they superseded.

    A message of which a clause ended gives way unless the query's words are about the rest. Each
    gets at least their score. One that only may outdate another must be among the best ten or
    follow one that is not; the less probable it is, the nearer must the scores be. ``answers``:
    ids of the current statements of the kind asked for. One of them also moves above a message
    that says more than what it superseded, and so is not over itself.
    """
    order = list(hits)
    present = {record.id: record for hit in hits for record in (hit.record, *hit.facts)}
    successors = {
        hit.record.id: _list_successors(hit)
        if gives_way(hit, query_terms)
        else _list_answers(hit, present, answers)
        for hit in hits
    }
    giving_way = {
        record_id for record_id, later in successors.items() if not later.isdisjoint(present)
    }
    if not giving_way:
        return tuple(order)
    moved: set[str] = set()
    position = 0
    while position < len(order):
        hit = order[position]
        successor = None
        if hit.record.id in giving_way:
            successor = _find_successor(order, position, successors[hit.record.id], moved)
        if successor is None:
            position += 1
            continue
        # The winner may itself be superseded by a later one: look at this position again.
        winner = order.pop(successor)
        moved.add(winner.record.id)
        order.insert(position, _raise_to(winner, hit.score))
    return tuple(order)


def _raise_to(winner: Hit, score: float) -> Hit:
    """Raise a memory to a score; the part ``current`` is the raise."""
    if winner.score >= score:
        return winner
    raised = winner.parts.get("current", 0.0) + score - winner.score
    return replace(winner, score=score, parts={**winner.parts, "current": raised})


def gives_way(hit: Hit, query_terms: frozenset[str]) -> bool:
    """Return True for a hit that a later statement replaces in what a query's words are about."""
    if hit.status is Status.SUPERSEDED:
        return True
    if hit.outdated is None:
        return False
    clauses = [mark.clause for mark in hit.ended_clauses]
    if not clauses or not query_terms:
        return True
    rest = hit.record.text
    for clause in clauses:
        rest = rest.replace(clause, " ")
    is_about_rest = not query_terms.isdisjoint(terms(rest))
    return not is_about_rest or not query_terms.isdisjoint(terms(" ".join(clauses)))


def _list_successors(hit: Hit) -> set[str]:
    """List ids of what replaces a hit or its facts, or may."""
    successors = {
        record.superseded_by for record in (hit.record, *hit.facts) if record.superseded_by
    }
    return successors if hit.outdated is None else {*successors, hit.outdated.by}


def _list_answers(hit: Hit, present: Mapping[str, Record], answers: Collection[str]) -> set[str]:
    """List ids of answers that ended a part of what a hit says, however many steps later."""
    if not answers:
        return set()
    later: set[str] = set()
    front = [fact.superseded_by for fact in hit.facts if fact.status is Status.SUPERSEDED]
    while front:
        record_id = front.pop()
        if not record_id or record_id in later:
            continue
        later.add(record_id)
        if record_id in present:
            front.append(present[record_id].superseded_by)
    return later.intersection(answers)


def _find_successor(
    order: Sequence[Hit], position: int, successors: set[str], moved: set[str]
) -> int | None:
    """Find the position below of what replaces a hit; None: nothing that may pass it."""
    hit = order[position]
    least_score = 0.0
    end = len(order)
    if hit.status is not Status.SUPERSEDED and hit.outdated is not None:
        least_score = (1 - hit.outdated.probability) ** 2 * hit.score
        if position < _BEST:
            end = min(_BEST, len(order))
    return next(
        (
            below
            for below in range(position + 1, end)
            if _is_among(order[below], successors)
            and order[below].score >= least_score
            and order[below].record.id not in moved
        ),
        None,
    )


def _is_among(hit: Hit, record_ids: set[str]) -> bool:
    return hit.record.id in record_ids or any(fact.id in record_ids for fact in hit.facts)
