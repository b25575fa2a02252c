"""Stages of a search, in the order in which ``engrams.read.search`` goes through them.

Each takes the ``Search`` as earlier stages left it, and leaves more hits, better scores or fewer
hits. What a stage leaves out it drops with a reason, which the trace shows.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import chain
from typing import TYPE_CHECKING

import numpy as np

from engrams.core import CORRECTED, RUNNING, UNSEARCHED, Hit, Kind, Record, Status
from engrams.frozen_data import replace
from engrams.ports import NOTE_PIECE, CandidatePool, is_skill
from engrams.read import diversity, succession, triggers
from engrams.read.candidate_pools import add_skills
from engrams.read.code_truth import mark_hits
from engrams.read.corrected_words import mask_corrected, matches_only_masked
from engrams.read.cues.cue_scores import list_short_spans, raise_spoken_date
from engrams.read.decay import (
    apply_confidence_decay,
    apply_decay,
    changes_by_belief,
    score_lasting,
)
from engrams.read.ended_clauses import drop_doubted_facts, mark_ended_clauses
from engrams.read.excerpts import cut_excerpt
from engrams.read.fact_joining import (
    FactGroupingRules,
    find_derived,
    follow_refinements,
    group_hits,
)
from engrams.read.floors import (
    count_before_gap,
    default_floor,
    measure_nearness_of_each,
    passes_floors,
    shares_enough_words,
)
from engrams.read.later_values import mark_replaced, share_subject
from engrams.read.link_expansion import LinkBonus, LinkCache, find_gone_ids, link_bonuses
from engrams.read.memory_md_lines import find_note_echoes
from engrams.read.query_preparation import prepare_query
from engrams.read.relevance.features import JudgedSearch, bears_on, choose_judged
from engrams.read.relevance.judgement import Verdict, judge_search
from engrams.read.request import ReadRequest
from engrams.read.reranking import rerank_hits
from engrams.read.score_fusion import (
    MeaningScale,
    ScoredCandidatePool,
    base_weight,
    fill_column,
    score_pool,
    top_positions,
)
from engrams.read.search_state import Search
from engrams.read.shared_quotes import reword_shared_in_hits
from engrams.read.tier_routing import search_tiers
from engrams.read.time_limits import find_stale_episodes, find_surplus_episodes, out_of_season
from engrams.text.terms import terms

if TYPE_CHECKING:
    from engrams.ports.candidate_search import Floats, Integers

SHOWN_BEFORE = "shown to this conversation before"
"""Reason for which a memory is left out of a trace that found it."""
KNOWN_HERE = "known to this conversation"
"""Reason for which a memory of the conversation itself is left out."""
_BEHIND_BEST = 1e-3
"""Least distance of a memory that links raise to the best one."""
_SHARE_OF_ANOTHER = 0.5
"""Share of its score that is left to a fact about another person than the one who is asked about."""
_PASSAGE_SHARE = 0.7
"""Share of its score that a document's passage keeps beside other memories.

Fitted on LoCoMo's development file beside 5,254 passages of manuals: without it conversations lose
almost two points of the evidence among ten, with it none; questions to documents lose .3 points.
"""
_MOST_NEWS = 3
"""Most later statements that come with what they may end."""
_FAR_DOWN = Verdict(probability=0.0, helps=False, reasons=())
"""Verdict on a hit that is too far down to be judged."""


# --------------------------------------------------------------------------------------------------
# candidates


def prepare(search: Search) -> None:
    """Parse the query's cues, embed it and weigh its words."""
    search.prepared = prepare_query(search.request, search.deps)
    search.count = len(search.prepared.query.terms)


def find_hot(search: Search) -> None:
    """Find memories near the query among those recalled lately."""
    if search.request.hot is not None:
        search.hot = search.request.hot.find_near(search.prepared.query.vector)
        search.count = len(search.hot)


def collect(search: Search) -> None:
    """Collect candidates by words and meaning: everything in reach, or by tiers and topics."""
    request = search.request
    deps = search.deps
    query = search.prepared.query
    # Reads of the past, and those without a vector, are not routed by topic.
    is_past = request.as_of is not None or request.history
    if deps.settings.routing.mode == "all" or query.vector is None or is_past:
        search.pool = deps.search.seek(query)
    else:
        search.pool, search.routing_notes = search_tiers(
            query, query.vector, request, deps, tuple(search.hot)
        )
    if deps.skills is not None:
        search.pool = add_skills(search.pool, query, deps.skills)
    search.count = len(search.pool.ids)


def fuse(search: Search) -> None:
    """Fuse the sources' scores of each candidate into one."""
    deps = search.deps
    meaning = MeaningScale(query_terms=len(search.prepared.query.terms))
    if search.prepared.query.vector is None:
        meaning = replace(meaning, trust=0.0)
    elif deps.settings.fusion == "weighted" and deps.embedder_fits is not None:
        fit = deps.embedder_fits.measure(
            search.request.text, search.request.scope.owner, search.pool
        )
        meaning = replace(
            meaning, gain=fit.gain, trust=fit.trust, has_usual_cosines=fit.has_usual_cosines
        )
    scored = score_pool(
        search.pool,
        search.prepared,
        deps.settings,
        search.request.now.timestamp(),
        meaning,
    )
    search.scored = _put_passages_behind(scored, search.pool)
    search.count = len(search.pool.ids)


def _put_passages_behind(scored: ScoredCandidatePool, pool: CandidatePool) -> ScoredCandidatePool:
    """Lower the scores of passages of documents where other memories stand beside them.

    Documents have many more words than what people say, and meet some of any question's.
    """
    if not pool.passage.any() or pool.passage.all():
        return scored
    share = np.where(pool.passage, _PASSAGE_SHARE, 1).astype(np.float32)
    parts = {name: part * share for name, part in scored.parts.items()}
    return ScoredCandidatePool(scored.scores * share, parts)


def set_floors(search: Search) -> None:
    """Find the candidates over the floors, and those whose records are to be looked at."""
    settings = search.deps.settings
    pool = search.pool
    passes = passes_floors(pool, settings, search.prepared.query.vector is not None)
    if search.prepared.answering and settings.weights.slot:
        # A fact that is what was asked for need neither share a word with the question nor be near
        # it in meaning: "moved to Ghent" says where somebody lives.
        passes |= fill_column(pool, search.prepared.answering) >= 1
    if settings.episode_days:
        stale = find_stale_episodes(search.request, search.deps.records, settings.episode_days)
        passes &= np.array([record_id not in stale for record_id in pool.ids], np.bool_)
        search.stale_episodes = stale
    search.passes = passes
    scopes = len(search.request.reach.scopes) if settings.per_scope else 1
    wanted = int(search.request.limit * settings.oversample)
    search.likely_count = wanted * scopes + settings.extra_candidates
    search.likely = _rank_likely(search)


def _rank_likely(search: Search) -> Integers:
    """Positions of the candidates to look at: those over the floors, then the others.

    Beside documents half as many are looked at that are no passages, however many passages have
    higher scores: what ended an old statement may share less with a question than it does.
    """
    scores = search.scored.scores
    if not search.passes.all():
        # Scores are at most 1, so those over the floors come first.
        scores = scores + 2 * search.passes.astype(np.float32)
    likely = top_positions(scores, search.likely_count)
    is_passage = search.pool.passage
    if not is_passage.any() or is_passage.all():
        return likely
    spoken_positions = np.flatnonzero(~is_passage)
    best_spoken = top_positions(scores[spoken_positions], search.likely_count // 2)
    positions = np.union1d(likely, spoken_positions[best_spoken])
    ranked: Integers = positions[np.argsort(-scores[positions], kind="stable")]
    return ranked


def follow_links(search: Search) -> None:
    """Raise the scores of what is linked with the best candidates."""
    search.count = 0
    deps = search.deps
    search.links = LinkCache(search.request.scope.owner, deps.links, search.prepared.commit)
    if not search.has_time("links"):
        return
    seeds = _choose_seeds(search)
    likely_ids = search.pool.ids.at(search.likely.tolist())
    # Seeds together with likely hits, and the records of both: one call of the store.
    search.links.fetch_with_records([*dict.fromkeys((*seeds, *likely_ids))])
    if not search.request.follows_links:
        return
    positions = search.pool.ids.positions

    def find_gone(nodes: Sequence[str]) -> set[str]:
        # Candidates are active, so few are looked up.
        unknown_ids = [node for node in nodes if node not in positions]
        return find_gone_ids(search.request.scope.owner, unknown_ids, deps.records)

    bonuses = link_bonuses(seeds, search.links, deps.link_settings, find_gone)
    if not bonuses:
        return
    linked = fill_column(
        search.pool, {record_id: bonus.bonus for record_id, bonus in bonuses.items()}
    )
    search.scored = search.scored.add_part("linked", _limit_raises(search.scored.scores, linked))
    search.count = int(np.count_nonzero(linked))
    if deps.link_settings.vouch:
        _let_vouched_pass(search, bonuses)
    search.likely = _rank_likely(search)


def _limit_raises(scores: Floats, linked: Floats) -> Floats:
    """Limit what links add, so that they raise no candidate above the best by itself.

    Memories that were found together for weeks have strong links, and still answer less than the
    one that was asked for.
    """
    if not scores.size:
        return linked
    best = int(scores.argmax())
    room = min(float(scores[best] + linked[best]), 1.0) - _BEHIND_BEST - scores
    limited: Floats = np.minimum(linked, np.maximum(room, 0)).astype(linked.dtype)
    limited[best] = linked[best]
    return limited


def _choose_seeds(search: Search) -> dict[str, float]:
    """Choose the best candidates to follow links from, with their scores."""
    settings = search.deps.link_settings
    scores = search.scored.scores
    if settings.seeds <= search.likely_count and search.passes.all():
        positions = search.likely[: settings.seeds]
    else:
        positions = top_positions(scores, settings.seeds)
    if settings.vouch:
        positions = positions[search.passes[positions]]
    seed_ids = search.pool.ids.at(positions.tolist())
    seeds = dict(zip(seed_ids, scores[positions].tolist(), strict=True))
    return {record_id: score for record_id, score in seeds.items() if score > 0}


def _let_vouched_pass(search: Search, bonuses: Mapping[str, LinkBonus]) -> None:
    """Let candidates below the floors pass where a linked seed passes."""
    positions = search.pool.ids.positions
    search.vouchers = {
        record_id: bonus.seed
        for record_id, bonus in bonuses.items()
        if record_id in positions and not search.passes[positions[record_id]]
    }
    search.passes = search.passes.copy()
    search.passes[[positions[record_id] for record_id in search.vouchers]] = True


# --------------------------------------------------------------------------------------------------
# records


def fetch(search: Search) -> None:
    """Fetch the records of likely candidates, with their facts and what ends them."""
    ids = search.pool.ids.at(search.likely.tolist())
    search.rows = dict(zip(ids, search.likely.tolist(), strict=True))
    search.records = _fetch_records(search, ids)
    names = tuple(search.scored.parts)
    scores = search.scored.scores[search.likely].tolist()
    shares = [column[search.likely] for column in search.scored.parts.values()]
    rows = np.array(shares, np.float64).reshape(len(names), len(ids)).round(4).T.tolist()
    hits = []
    for record_id, score, row in zip(ids, scores, rows, strict=True):
        record = search.records.get(record_id)
        if record is None:
            continue
        parts = {name: share for name, share in zip(names, row, strict=True) if share}
        if record_id in search.hot:
            parts["sub_sim"] = search.hot[record_id]
        shown = mask_corrected(record) if CORRECTED in record.meta else record
        hits.append(Hit(shown, score, record.status, parts))
    search.hits = hits
    search.trace_hits(hits)


def _fetch_records(search: Search, ids: Sequence[str]) -> Mapping[str, Record]:
    """Records of candidates, of their facts, and of what ends them, by id."""
    deps = search.deps
    links = search.links
    endings = [edge.source for edges in links.find_later(ids).values() for edge in edges]
    facts = [fact for fact, _ in links.find_sources(ids)]
    wanted = dict.fromkeys((*ids, *facts, *endings))
    missing = [
        record_id
        for record_id in wanted
        if record_id not in links.records and not is_skill(record_id)
    ]
    if not missing and deps.skills is None:
        return links.records
    records = deps.records.get(search.request.scope.owner, missing) if missing else ()
    if deps.skills is not None:
        records += deps.skills.get(ids)
    fetched = {**links.records, **{record.id: record for record in records}}
    return {record_id: fetched[record_id] for record_id in wanted if record_id in fetched}


def drop_unfit(search: Search) -> None:
    """Drop hits below the floors, out of season, kept outside, or of corrected words."""
    _drop_low_scores(search)
    reasons = _find_below_floors(search)
    if search.deps.settings.least_need:
        for hit in search.hits:
            if hit.record.id in reasons and bears_on(search.request.text, hit.record.search_text):
                del reasons[hit.record.id]
    search.below_floors = dict(reasons)
    for hit in search.hits:
        if hit.record.tags:
            reason = out_of_season(hit.record, search.deps.settings.seasons)
            if reason:
                reasons[hit.record.id] = reason
    days = search.deps.settings.episode_days
    for record_id in search.stale_episodes & reasons.keys():
        reasons[record_id] = f"an episode of more than {days:g} days ago"
    for record_id, reason in reasons.items():
        search.drop(record_id, reason)
    for hit in search.hits:
        if RUNNING in hit.record.meta:
            search.drop(hit.record.id, "a running summary")
        if UNSEARCHED in hit.record.meta:
            search.drop(hit.record.id, "kept outside of searches")
    _drop_corrected(search)


def _drop_low_scores(search: Search) -> None:
    minimum = search.deps.settings.min_score
    for hit in search.hits if minimum else ():
        if hit.score < minimum:
            search.drop(hit.record.id, f"below the floor of {minimum:g}")


def _find_below_floors(search: Search) -> dict[str, str]:
    """Find hits below the floors of their sources, with reasons."""
    floors = search.deps.settings.min_scores
    reasons: dict[str, str] = {}
    if not search.passes.all():
        reason = f"below the floor of its sources (cosine {floors.dense:g})"
        positions = search.pool.ids.positions
        for hit in search.hits:
            if not search.passes[positions[hit.record.id]]:
                reasons[hit.record.id] = reason
    if floors.recall:
        query_terms = search.prepared.terms
        for hit in search.hits:
            if hit.record.id in reasons or _is_near_in_meaning(search, hit.record.id):
                continue
            if not shares_enough_words(query_terms, hit.record.search_text, floors.recall):
                reasons[hit.record.id] = "too few of the words asked for"
    return reasons


def _is_near_in_meaning(search: Search, record_id: str) -> bool:
    """True for what is near the query's vector, or is the kind of statement asked for."""
    if search.prepared.answering.get(record_id, 0.0) >= 1:
        return True
    cosine = search.pool.cos[search.pool.ids.positions[record_id]]
    has_vector = search.prepared.query.vector is not None
    return bool(has_vector and cosine >= search.deps.settings.min_scores.dense)


def _drop_corrected(search: Search) -> None:
    """Drop what the query finds only by words that were corrected or forgotten since."""
    query_terms = search.prepared.terms
    numbers = [
        term
        for identifier in search.prepared.query.identifiers
        for term in identifier
        if any(map(str.isdigit, term))
    ]
    for record in search.records.values():
        if CORRECTED not in record.meta or record.id not in search.pool.ids.positions:
            continue
        if matches_only_masked(record, query_terms) or matches_only_masked(record, numbers):
            search.drop(record.id, "found by words since corrected")


def raise_spoken_dates(search: Search) -> None:
    """Raise hits whose text names a time that was asked about."""
    weights = search.deps.settings.weights
    cues = search.prepared.cues
    if search.deps.settings.fusion != "weighted" or weights.date <= 0 or not cues.spans:
        return
    spans = list_short_spans(cues.dated_spans)
    if not spans:
        return
    full_share = weights.date / (base_weight(weights) or 1.0)
    pool = search.pool
    raised = [
        raise_spoken_date(hit, spans, full_share)
        if pool.dated[pool.ids.positions[hit.record.id]]
        else hit
        for hit in search.hits
    ]
    search.hits = sorted(raised, key=_by_score)
    search.traced = {hit.record.id: hit for hit in search.hits}


def _by_score(hit: Hit) -> float:
    return -hit.score


def join_facts(search: Search) -> None:
    """Make one hit of a turn and the facts that were taken from it."""
    deps = search.deps
    hits = search.remaining()
    sources = search.links.find_sources([hit.record.id for hit in hits])
    derived = find_derived(sources, search.records)
    refined = follow_refinements(
        chain.from_iterable(derived.values()),
        lambda ids: deps.records.get(search.request.scope.owner, ids),
    )
    rules = FactGroupingRules(
        now=search.request.now,
        as_of=search.request.as_of,
        takes_parts=deps.settings.routing.mode == "tiers",
    )
    grouped = group_hits(hits, derived, refined, rules)
    merged = grouped.merged
    for fact_id, turn_id in merged.items():
        search.drop(fact_id, f"part of {turn_id}")
    search.lasting = score_lasting(hits, merged)
    search.vouchers = {
        merged.get(record_id, record_id): merged.get(seed, seed)
        for record_id, seed in search.vouchers.items()
    }
    search.hits = grouped.hits
    search.count = len(grouped.hits)


def propose_to_judge(search: Search) -> None:
    """Put hits that are only below the floors behind the others, for a model that judges them.

    Floors tell apart what shares no word by its cosine, which is a poor judge of paraphrases. What
    the model does not accept is dropped again. Facts and turns of the hits are not put to it twice.
    """
    if not (search.below_floors and _has_judge(search)):
        return
    floor = default_floor(search.deps.embedder.card)
    is_near = search.pool.embedded & (search.pool.cos >= floor)
    positions = search.pool.ids.positions
    shown_ids = {hit.record.id for hit in search.hits}
    shown_ids |= {
        quote.source
        for hit in search.hits
        for record in (hit.record, *hit.facts)
        for quote in record.evidence
    }
    proposed = [
        search.traced[record_id]
        for record_id, reason in search.below_floors.items()
        if search.dropped[record_id] == reason
        and is_near[positions[record_id]]
        and record_id not in shown_ids
        and shown_ids.isdisjoint(quote.source for quote in search.traced[record_id].record.evidence)
    ]
    rules = FactGroupingRules(search.request.now, search.request.as_of)
    grouped = group_hits(proposed, {}, {}, rules).hits
    search.proposed = frozenset(hit.record.id for hit in grouped)
    for record_id in search.proposed:
        del search.dropped[record_id]
    search.hits = [*search.hits, *grouped]


def _has_judge(search: Search) -> bool:
    """True if a model says of each hit of this search whether it helps."""
    deps = search.deps
    return _is_reranked(search) and deps.rerank_settings.threshold is not None


def _is_reranked(search: Search) -> bool:
    deps = search.deps
    is_for_turns = deps.rerank_settings.turns_only
    return deps.reranker is not None and bool(search.request.session or not is_for_turns)


# --------------------------------------------------------------------------------------------------
# ranking


def mark_outdated(search: Search) -> None:
    """Mark hits that a later statement ends, or may end."""
    later = search.links.find_later([hit.record.id for hit in search.hits])
    hits = succession.mark_outdated(search.hits, later, search.records, search.request)
    owner = search.request.scope.owner
    rules = FactGroupingRules(search.request.now, search.request.as_of)
    hits = drop_doubted_facts(hits, search.links)
    search.hits = mark_ended_clauses(
        hits, search.request, rules, lambda ids: search.deps.records.get(owner, ids)
    )
    if search.deps.settings.least_need:
        # What only seemed possible is no doubt of what was so once.
        doubted = {} if search.prepared.cues.wants_past else later
        doubts = succession.find_later_statements(doubted, search.records, search.request)
        search.hits = mark_replaced(search.hits, doubts, frozenset(search.prepared.terms))
    if search.deps.settings.ended == "hide":
        _hide_ended(search)


def _hide_ended(search: Search) -> None:
    """Leave out hits that are over, unless the past was asked for."""
    request = search.request
    if request.as_of is not None or request.history or search.prepared.cues.wants_past:
        return
    for hit in search.hits:
        if hit.status is Status.SUPERSEDED:
            search.drop(hit.record.id, "no longer so")
    search.hits = search.remaining()


def rerank(search: Search) -> None:
    """Let a model judge the best hits, if there is one; drop the proposed that it did not accept."""
    reranker = search.deps.reranker
    if reranker is not None and _is_reranked(search) and search.has_time("reranking"):
        settings = search.deps.rerank_settings
        reranked = rerank_hits(search.request, search.hits, reranker, settings)
        search.hits = reranked.hits
        search.rerank_note = reranked.note
        search.rerank_gap = reranked.gap
        for record_id, reason in reranked.refused.items():
            search.drop(record_id, reason)
    # A proposed hit that was refused is no rejected one: the search alone had not found it.
    accepted = {hit.record.id for hit in search.hits if "rerank" in hit.parts}
    for record_id in search.proposed - accepted:
        search.drop(record_id, search.below_floors[record_id])
    search.hits = search.remaining()


def decay(search: Search) -> None:
    """Let scores fall with age, as the settings say."""
    settings = search.deps.settings
    search.hits = apply_decay(search.hits, settings, search.request.now, search.lasting)
    _drop_low_scores(search)
    search.trace_hits(search.hits)
    search.count = len(search.hits)


def decay_confidence(search: Search) -> None:
    """Order the chosen hits by how far they are believed still, where the settings say so.

    After the gap and the limit, which judge by relevance alone: what was said long ago may stand
    below what was said today, but is not cut for its age.
    """
    if not changes_by_belief(search.deps.settings):
        return
    search.hits = apply_confidence_decay(
        search.hits, search.deps.settings, search.request.now, _measure_hits(search)
    )
    put_current_first(search)


def _measure_hits(search: Search) -> dict[str, float]:
    """Measure how near hits are to the query, by record id.

    Only of those that are meant for their text: neither for a trigger, nor by a model's verdict.
    """
    near = measure_nearness_of_each(search.pool, search.prepared)
    nearness = {}
    for hit in search.hits:
        rows = [search.rows.get(record.id) for record in (hit.record, *hit.facts)]
        known_rows = [row for row in rows if row is not None]
        if known_rows and not hit.parts.keys() & {"trigger", "rerank"}:
            nearness[hit.record.id] = float(near[known_rows].max())
    return nearness


def let_people_answer(search: Search) -> None:
    """Put what people said between passages, where a question is about one of them.

    "What do I do for work?" shares its words with any manual, and few with "I'm an electrician".
    The first passage keeps its place before a hit that fits less, so that a lease is found as well.
    """
    cues = search.prepared.cues
    if not (cues.role == "user" or cues.asked_about):
        return
    passages = [hit for hit in search.hits if hit.record.kind is Kind.PASSAGE]
    spoken_hits = [hit for hit in search.hits if hit.record.kind is not Kind.PASSAGE]
    if not passages or not spoken_hits:
        return
    ranks = {hit.record.id: rank for rank, hit in enumerate(search.hits)}
    ordered: list[Hit] = []
    passages_used = 0
    for spoken_used, hit in enumerate(spoken_hits):
        earlier_passages = [
            passage
            for passage in passages[passages_used : spoken_used + 1]
            if ranks[passage.record.id] < ranks[hit.record.id]
        ]
        ordered += [*earlier_passages, hit]
        passages_used += len(earlier_passages)
    search.hits = [*ordered, *passages[passages_used:]]


def lower_others(search: Search) -> None:
    """Lower what is told of somebody else, where the query asks of the asker alone.

    "My brother works at Airbus" has more words of "Where do I work?" than "I'm a nurse".
    """
    if not search.prepared.asks_of_oneself:
        return
    answering = search.prepared.answering
    hits = []
    for hit in search.hits:
        fits = {answering.get(record.id) for record in (hit.record, *hit.facts)}
        if -1.0 in fits and 1.0 not in fits:
            lowered = hit.score * _SHARE_OF_ANOTHER
            parts = {**hit.parts, "another": lowered - hit.score}
            hits.append(replace(hit, score=lowered, parts=parts))
        else:
            hits.append(hit)
    search.hits = sorted(hits, key=_by_score)


def put_current_first(search: Search) -> None:
    """Put what holds now above what it superseded, unless the past was asked about."""
    if search.prepared.cues.wants_past:
        return
    answers = [record_id for record_id, fit in search.prepared.answering.items() if fit >= 1]
    search.hits = succession.put_current_first(
        search.hits, answers, frozenset(search.prepared.terms)
    )


def drop_repeats(search: Search) -> None:
    """Drop hits that say what a better one says."""
    settings = search.deps.settings
    # Variety may choose any hit; else nobody sees more than the limit.
    wanted = search.request.limit if settings.mmr_lambda >= 1 else len(search.hits)
    repeats = diversity.find_repeats(search.hits, settings.dedup_overlap, wanted)
    for record_id, original in repeats.items():
        search.drop(record_id, f"says what {original} says")
    search.hits = search.remaining()
    if any(NOTE_PIECE in hit.record.meta for hit in search.hits):
        echoes = find_note_echoes(search.hits, search.prepared.terms)
        for record_id, original in echoes.items():
            search.drop(record_id, f"says what {original} says")
        search.hits = search.remaining()


def drop_shown(search: Search) -> None:
    """Drop what the conversation was shown before, or said itself."""
    for hit in search.hits:
        reason = _shown_reason(hit.record, search.request)
        if reason:
            search.drop(hit.record.id, reason)
    search.hits = search.remaining()


def _shown_reason(record: Record, request: ReadRequest) -> str:
    if record.id in request.already_shown:
        return SHOWN_BEFORE
    if request.hides_own and request.session and record.session == request.session:
        return KNOWN_HERE
    if record.text in request.said_before:
        return KNOWN_HERE
    return ""


def limit_episodes(search: Search) -> None:
    """Drop episodes beyond the most that are shown."""
    limit = search.deps.settings.episodes
    if limit:
        for record_id in find_surplus_episodes(search.hits, limit):
            search.drop(record_id, f"more than {limit} episodes")
        search.hits = search.remaining()


def judge(search: Search) -> None:
    """Judge which hits help, where the settings ask for it and the model's cosines are known.

    One that does not stays a hit, for a reader who wants the nearest; one too far down to be judged
    does not help.
    """
    deps = search.deps
    scale = deps.embedder.card.scale
    is_known = search.prepared.query.vector is not None and len(scale) > 1
    if not deps.settings.least_need or not is_known or not search.hits:
        return
    judged = choose_judged(search.request.text, search.hits)
    judgement = judge_search(
        JudgedSearch(
            text=search.request.text,
            prepared=search.prepared,
            pool=search.pool,
            hits=judged,
            rows=search.rows,
            now=search.request.now.timestamp(),
            scale=scale,
        ),
        least_need=deps.settings.least_need,
        helpful_share=deps.settings.helpful_share,
    )
    verdicts = {
        hit.record.id: verdict for hit, verdict in zip(judged, judgement.verdicts, strict=True)
    }
    search.judgement = judgement
    search.verdicts = {hit.record.id: verdicts.get(hit.record.id, _FAR_DOWN) for hit in search.hits}
    search.trace_hits(search.hits)


def cut_at_gap(search: Search) -> None:
    """Cut at the first gap in the scores, where no model gave verdicts.

    What is only linked stays with the hit that leads to it.
    """
    settings = search.deps.settings
    ratio = search.request.cut_ratio
    top_share = settings.cut_ratio if ratio is None else ratio
    if not (top_share or settings.cut_gap or search.vouchers):
        return
    if any("rerank" in hit.parts for hit in search.hits):
        return
    direct = [hit for hit in search.hits if hit.record.id not in search.vouchers]
    count = count_before_gap([hit.score for hit in direct], top_share, settings.cut_gap)
    near = {hit.record.id for hit in direct[:count]}
    near |= {record_id for record_id, seed in search.vouchers.items() if seed in near}
    for hit in search.hits:
        if hit.record.id not in near:
            search.drop(hit.record.id, "behind a gap in the scores")
    search.hits = search.remaining()


def spread_over_time(search: Search) -> None:
    """Spread hits over their time, where a course of things was asked about."""
    cues = search.prepared.cues
    if cues.wants_course:
        search.hits = diversity.spread_over_time(search.hits)
        put_current_first(search)


def diversify(search: Search) -> None:
    """Choose various hits by maximal marginal relevance, where that is set."""
    if not search.has_time("variety"):
        return
    deps = search.deps
    card = deps.embedder.card
    limit = search.request.limit
    if deps.settings.mmr_lambda >= 1 or not card.dimension:
        search.hits = _limit_hits(search, lambda hits: list(hits[:limit]))
        return
    ids = [hit.record.id for hit in search.hits]
    vectors = deps.search.vectors(search.request.scope.owner, ids, card.id)
    scores = [hit.score for hit in search.hits]
    positions = diversity.select_mmr(scores, vectors, deps.settings.mmr_lambda, limit)
    # In their order, in which some stand before better scores for a reason.
    search.hits = [search.hits[position] for position in sorted(positions)]


def tell_verdicts(search: Search) -> None:
    """Tell of each hit that is left how probably it helps, where hits were judged."""
    if search.judgement is None:
        return
    verdicts = [search.verdicts.get(hit.record.id, _FAR_DOWN) for hit in search.hits]
    search.hits = [
        replace(hit, probability=verdict.probability, helps=verdict.helps)
        for hit, verdict in zip(search.hits, verdicts, strict=True)
    ]


def bring_news(search: Search) -> None:
    """Let a later message help wherever the one helps that it may end; it comes before that one.

    Floors do not keep it out: what is over is not told without what came of it.

    "Which state library are we on?" finds "state with redux toolkit", and shares no word with
    "redux is too much, move to zustand".
    """
    if search.prepared.cues.wants_past:
        return
    hits_by_id = {hit.record.id: hit for hit in search.hits}
    brought: dict[str, Hit] = {}
    _load_endings_of_news(search)
    for hit in search.hits:
        for news in _list_news(hit, search) if hit.helps else ():
            news_hit = hits_by_id.get(news.id, Hit(news, hit.score, news.status))
            is_below_floor = news.id in search.below_floors and news.id not in hits_by_id
            if is_below_floor or not news_hit.helps:
                news_hit = replace(
                    news_hit, score=hit.score, probability=hit.probability, helps=True
                )
                brought[news.id] = news_hit
        brought.setdefault(hit.record.id, hit)
    search.hits = list(brought.values())


def _load_endings_of_news(search: Search) -> None:
    """Load what ends the later statements of hits that have several: in one query, not one a hit."""
    endings = search.links.find_later([hit.record.id for hit in search.hits if hit.helps])
    several = [edges for edges in endings.values() if len(edges) > 1]
    if several:
        search.links.find_later([edge.source for edges in several for edge in edges])


def _list_news(hit: Hit, search: Search) -> list[Record]:
    """List the later records that correct a hit, or may end it and are about the same; latest first.

    Each may end another part of it: the bar has closed, and the evening has another day.
    """
    news = _find_news(hit, search)
    if news is None:
        return []
    edges = search.links.find_later([hit.record.id])
    statements = succession.find_later_statements(edges, search.records, search.request)
    other_news = [
        statement
        for statement in statements.get(hit.record.id, ())
        if statement.id != news.id and _is_news(statement, hit, search)
    ]
    if not other_news:
        return [news]
    doubted_ids = search.links.find_later([statement.id for statement in other_news]).keys()
    other_news = [statement for statement in other_news if statement.id not in doubted_ids]
    other_news.sort(key=lambda statement: statement.recorded_at, reverse=True)
    return [news, *map(mask_corrected, other_news[: _MOST_NEWS - 1])]


def _is_news(statement: Record, hit: Hit, search: Search) -> bool:
    """True for a later statement that holds, was not shown yet, and is about what a hit tells."""
    if statement.status is not Status.ACTIVE or _shown_reason(statement, search.request):
        return False
    return share_subject(hit.record, statement)


def _find_news(hit: Hit, search: Search) -> Record | None:
    """Find the later record that corrects a hit, or may end it and is about the same; None: none."""
    mark = hit.outdated
    edits = [
        correction["by"]
        for correction in hit.record.meta.get(CORRECTED, ())
        if correction["action"] == "edit"
    ]
    edited_by = edits[-1] if edits else ""
    ended_by = mark.by if mark is not None and mark.is_told else ""
    news = search.records.get(ended_by or edited_by)
    if news is None or news.status is not Status.ACTIVE or _shown_reason(news, search.request):
        return None
    is_about_it = not ended_by or share_subject(hit.record, news) or _asks_for_ended(hit, search)
    return mask_corrected(news) if is_about_it else None


def _asks_for_ended(hit: Hit, search: Search) -> bool:
    """True where no judge looks at the news, and the question names a word of what is over."""
    if search.judgement is not None or hit.outdated is None:
        return False
    ended_text = hit.outdated.clause or hit.record.text
    return not set(search.prepared.terms).isdisjoint(terms(ended_text))


def put_rules_first(search: Search) -> None:
    """Put rules first whose trigger the query names."""
    if not search.pool.has_triggers:
        return
    rules = [
        rule
        for rule in triggers.find_triggered(
            search.request, search.deps.records, search.deps.settings
        )
        if not _shown_reason(rule, search.request)
    ]
    search.hits = triggers.put_rules_first(rules, search.hits)


def choose(search: Search) -> None:
    """Choose the best hits up to the limit, each with the part of its text that is asked about."""
    query_terms = search.prepared.terms
    limit = search.request.limit
    best = _limit_hits(search, lambda hits: _take_best(hits, limit))
    chosen = reword_shared_in_hits(best, search.request, search.deps.records)
    search.hits = [_with_snippet(hit, query_terms) for hit in chosen]
    search.count = len(search.hits)


def _limit_hits(search: Search, take: Callable[[Sequence[Hit]], list[Hit]]) -> list[Hit]:
    """Limit the hits by ``take``; for a context, ``read.episodes`` episodes come behind them."""
    if not (search.request.adds_episodes and search.deps.settings.episodes):
        return take(search.hits)
    episodes = [hit for hit in search.hits if hit.record.kind is Kind.EPISODE]
    return [*take([hit for hit in search.hits if hit not in episodes]), *episodes]


def check_code(search: Search) -> None:
    """Compare hits with the code that they name, where a checkout is known."""
    search.hits = mark_hits(search.hits, search.request, search.deps)


def _take_best(hits: Sequence[Hit], limit: int) -> list[Hit]:
    """Take the first hits; one further down that helps takes the place of the last that does not."""
    best = list(hits[:limit])
    helpful = [hit for hit in hits[limit:] if hit.helps and hit.probability is not None]
    for index in range(len(best) - 1, -1, -1):
        if not helpful:
            break
        if not best[index].helps:
            best[index] = helpful.pop()
    return best


def _with_snippet(hit: Hit, query_terms: Sequence[str]) -> Hit:
    return replace(hit, snippet=cut_excerpt(hit.record.search_text, query_terms))
