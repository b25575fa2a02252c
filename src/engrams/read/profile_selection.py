"""The profile that stands at the head of every context.

``select_profile`` chooses its statements, ``mark_doubtful`` adds what later messages say of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TypeAlias

from engrams.core import Hit, Kind, Record, Status
from engrams.ports import RecordQuery
from engrams.read.decay import ambient_score
from engrams.read.dependencies import ReadDeps
from engrams.read.excerpts import cut_sentences
from engrams.read.link_expansion import LinkCache
from engrams.read.memory_md_lines import add_core_lines
from engrams.read.profile_filter import filter_profile, has_ended
from engrams.read.render import (
    DOUBTED,
    ProfileStatement,
    escape,
    frame_statements,
    profile_frame,
    profile_statement,
    profile_version,
)
from engrams.read.request import ReadRequest
from engrams.read.shared_quotes import reword_shared
from engrams.read.succession import mark_outdated
from engrams.read.time_limits import out_of_season
from engrams.read.token_budget import MISSES, TokenBudget, take_fitting
from engrams.settings import ReadSettings

_KINDS = (Kind.CORRECTION, Kind.NEGATIVE, Kind.RULE, Kind.PROCEDURE, Kind.FACT, Kind.PREFERENCE)
_RULE_KINDS = (Kind.NEGATIVE, Kind.RULE, Kind.PROCEDURE)
_CAPPED_KINDS = (Kind.NEGATIVE, Kind.RULE)
IN_PART = "in_part"
"""Metadata of a profile's note of which only a part is quoted."""

_MOST_READ = 500
_SHORTEST_TOKENS = 5
"""Approximate tokens of the shortest statement."""
_USUAL_TOKENS = 12
"""Approximate tokens of a usual statement."""
_SPARE = 20
"""Records that are read besides, to make up for long ones."""
_LEAST_CHARACTERS = 200
"""Characters that a note may have however small the budget is."""

_Statement: TypeAlias = tuple[Record, ProfileStatement]


def select_profile(request: ReadRequest, deps: ReadDeps, budget: TokenBudget) -> list[Record]:
    """Select corrections and rules, then the most believed statements, within a budget."""
    settings = deps.settings
    if settings.profile == "rules" and request.has_question:
        kinds = tuple(kind for kind in _RULE_KINDS if kind in (request.kinds or _RULE_KINDS))
        if not kinds:
            return []
        request = replace(request, kinds=kinds)
    if request.already_shown or settings.profile_order == "ambient":
        return reword_shared(_select_unshown(request, deps, budget), request, deps.records)
    if not settings.correction_tokens and settings.profile != "core":
        profile = _select_quickly(request, deps, budget)
        if profile is not None:
            return profile
    standing = _read_standing(request, deps, budget)
    if settings.profile == "core":
        standing = [record for record in standing if not has_ended(record, request.now)]
        standing = add_core_lines(standing, request, deps, budget)
    profile = _fit_statements(standing, budget, settings)
    return reword_shared(profile, request, deps.records)


def _select_unshown(request: ReadRequest, deps: ReadDeps, budget: TokenBudget) -> list[Record]:
    """Select among what the reader has not seen, or in the order without a query."""
    records = [
        record
        for record in _read_standing(request, deps, budget)
        if record.id not in request.already_shown
    ]
    if deps.settings.profile_order == "ambient":
        records.sort(key=lambda record: (-ambient_score(record, request.now), record.id))
    return _fit_statements(records, budget, deps.settings)


def _select_quickly(
    request: ReadRequest, deps: ReadDeps, budget: TokenBudget
) -> list[Record] | None:
    """Select from the first records alone, as many as usually fill the budget.

    None: more records could change the selection, so the caller has to read all of them. The result
    is cached, and returned again while these records keep their versions.
    """
    settings = deps.settings
    query = _profile_query(request, budget, _USUAL_TOKENS, settings)
    key = (
        request.reach,
        request.kinds,
        budget.tokens,
        request.has_question,
        repr(request.where),
    )
    versions: tuple[tuple[str, int], ...] = ()
    if request.as_of is None:
        versions = tuple((slot.id, slot.version) for slot in deps.records.slots(query))
    if versions:
        cached = deps.profiles.find(key, versions)
        if cached is not None:
            return cached
    records = deps.records.find(query).records
    standing = _filter_standing(records, request, deps)
    profile = reword_shared(_fit_statements(standing, budget, settings), request, deps.records)
    # The selection stops after some statements that do not fit (misses). Until then, further records
    # could still get into it.
    misses = len(standing) - len(profile)
    has_more_records = len(records) >= query.limit
    if has_more_records and misses <= _allowed_misses(settings):
        return None
    if versions:
        deps.profiles.keep(key, versions, profile)
    return profile


def mark_doubtful(
    records: Sequence[Record], request: ReadRequest, deps: ReadDeps, budget: TokenBudget
) -> list[Record]:
    """Add to profile statements what may have ended them, within a budget."""
    owner = request.scope.owner
    later = LinkCache(owner, deps.links).find_later([record.id for record in records])
    if not later:
        return list(records)
    ending_ids = [edge.source for edges in later.values() for edge in edges]
    endings = {record.id: record for record in deps.records.get(owner, ending_ids)}
    hits = [Hit(record, 0.0, record.status) for record in records]
    marked = [_note_doubt(hit) for hit in mark_outdated(hits, later, endings, request)]
    while marked and not budget.fits(profile_frame(marked)):
        marked.pop()
    return marked


def _note_doubt(hit: Hit) -> Record:
    mark = hit.outdated
    if mark is None or not mark.is_told:
        return hit.record
    return replace(hit.record, meta={**hit.record.meta, DOUBTED: escape(mark.tell())})


def _read_standing(request: ReadRequest, deps: ReadDeps, budget: TokenBudget) -> list[Record]:
    """Read all statements that could fill the budget and may stand in a profile."""
    query = _profile_query(request, budget, _SHORTEST_TOKENS, deps.settings)
    return _filter_standing(deps.records.find(query).records, request, deps)


def _profile_query(
    request: ReadRequest, budget: TokenBudget, statement_tokens: int, settings: ReadSettings
) -> RecordQuery:
    """Query as many records as fit if each has so many tokens."""
    kinds = (*_KINDS, Kind.NOTE) if settings.profile_notes else _KINDS
    return RecordQuery(
        request.reach,
        tuple(kind for kind in kinds if not request.kinds or kind in request.kinds),
        (Status.ACTIVE,),
        request.as_of,
        where=request.where,
        order="believed",
        limit=min(_MOST_READ, _SPARE + budget.tokens // statement_tokens),
    )


def _filter_standing(
    records: Sequence[Record], request: ReadRequest, deps: ReadDeps
) -> list[Record]:
    """Leave out notes that facts quote, what fits no profile or season, repetitions, and old rules."""
    settings = deps.settings
    quoted_ids = {quote.source for record in records for quote in record.evidence}
    unquoted = [record for record in records if record.id not in quoted_ids]
    standing = [
        record
        for record in filter_profile(
            unquoted,
            settings.profile,
            request.scope,
            is_beside_question=request.has_question,
        )
        if not out_of_season(record, settings.seasons)
    ]
    return _keep_newest_rules(_drop_repetitions(standing), deps.most_rules)


def _keep_newest_rules(records: Sequence[Record], limit: int) -> list[Record]:
    """Keep so many rules; 0: all."""
    rules = [record for record in records if record.kind in _CAPPED_KINDS]
    newest_first = sorted(rules, key=lambda record: (record.recorded_at, record.id), reverse=True)
    excess_ids = {record.id for record in newest_first[limit:]} if limit else ()
    return [record for record in records if record.id not in excess_ids]


def _drop_repetitions(records: Sequence[Record]) -> list[Record]:
    """Keep one of equal statements of a project and its owner: the one that holds more widely."""
    widest: dict[tuple[Kind, str, str], Record] = {}
    for record in records:
        key = (record.kind, record.subject, record.text)
        rival = widest.get(key)
        if rival is None or len(record.scope.labels) < len(rival.scope.labels):
            widest[key] = record
    widest_ids = {record.id for record in widest.values()}
    return [record for record in records if record.id in widest_ids]


def _fit_statements(
    records: Sequence[Record], budget: TokenBudget, settings: ReadSettings
) -> list[Record]:
    """Take corrections within their own tokens, then the rest."""
    records = _shorten_notes(records, budget.tokens)
    misses = _allowed_misses(settings)
    statements = [(record, profile_statement(record)) for record in records]
    version = profile_version(records)

    def render(rows: Sequence[_Statement]) -> str:
        return frame_statements((statement for _, statement in rows), version)

    corrections: list[_Statement] = []
    if settings.correction_tokens:
        corrections = [row for row in statements if row[0].kind is Kind.CORRECTION]
        statements = [row for row in statements if row[0].kind is not Kind.CORRECTION]
    correction_budget = budget.limit_to(settings.correction_tokens)
    first = take_fitting(corrections, render, correction_budget, misses)
    then = take_fitting(statements, lambda rows: render([*first, *rows]), budget, misses)
    profile = [record for record, _ in (*first, *then)]
    # The final version number may take more tokens than the one used while fitting.
    while profile and not budget.fits(profile_frame(profile)):
        profile.pop()
    return profile


def _shorten_notes(records: Sequence[Record], tokens: int) -> list[Record]:
    """Cut long notes to a third of the tokens, placed last."""
    max_characters = max(_LEAST_CHARACTERS, tokens * 4 // 3)
    whole = []
    cut = []
    for record in records:
        if record.kind is Kind.NOTE and len(record.text) > max_characters:
            text = cut_sentences(record.text, frozenset(), max_characters)
            cut.append(replace(record, text=text, meta={**record.meta, IN_PART: True}))
        else:
            whole.append(record)
    return [*whole, *cut]


def _allowed_misses(settings: ReadSettings) -> int:
    return MISSES if settings.overflow == "skip" else 0
