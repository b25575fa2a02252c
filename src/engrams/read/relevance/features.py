"""Features of a prompt and of the hits of its search, from which the model tells what helps.

``describe_search`` is the way in. ``PROMPT_FEATURES`` and ``HIT_FEATURES`` name the columns.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import timedelta
from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np

from engrams.core import Hit, Kind, Status
from engrams.frozen_data import dataclass
from engrams.read.relevance.text_traits import (
    FORM,
    MemoryTraits,
    PromptTraits,
    describe_memory,
    describe_prompt,
)
from engrams.text.terms import terms

if TYPE_CHECKING:
    import numpy.typing as npt

    from engrams.ports import CandidatePool
    from engrams.read.query_preparation import PreparedQuery

    Columns = npt.NDArray[Any]

PROMPT_FEATURES = (
    "best_near",
    "best_cos",
    "best_cos_z",
    "best_coverage",
    "second_share",
    "tenth_share",
    "best_shared",
    "best_name",
    "best_rare",
    "best_slot",
    "best_topic_near",
    "best_subject",
    "subjects",
    "length",
    "terms",
    "self",
    "outsider",
    "recall",
    "impersonal",
    "impersonal_alone",
    "request",
    "opens_with_request",
    "transform",
    "arithmetic",
    "payload",
    "points_back",
    "social",
    "question",
    "people",
    "names",
    "wants_time",
    "food",
    "health",
    "topics",
    "amount",
    "self_near",
    "few_terms",
    "code",
    "world",
    "world_alone",
    "best_meal",
    "best_head",
    "best_sole",
    "generic_task",
    "asks_world",
    "uncovered",
    "foreign",
    "foreign_world",
    "name_question",
    "vague",
)
"""Columns of a prompt: what its best hits have, then its own words."""

HIT_FEATURES = (
    "score_share",
    "step",
    "rank",
    "cos",
    "cos_z",
    "cosctx",
    "cosnext",
    "coverage",
    "bmctx",
    "bmses",
    "near",
    "near_share",
    "shared",
    "shared_share",
    "text_share",
    "rare_shared",
    "name_shared",
    "head_shared",
    "sole_shared",
    "slot",
    "identifier",
    "speaker",
    "date",
    "linked",
    "assistant",
    "statement",
    "has_facts",
    "is_question",
    "is_asking",
    "is_hollow",
    "text_length",
    "has_number",
    "is_over",
    "doubt",
    "rule",
    "diet",
    "tells_self",
    "common_topics",
    "topic_share",
    "age",
    "score_z",
    "session_mates",
    "newer_overlap",
    "echo",
    "food_diet",
    "request_rule",
    "wanted_number",
    "past",
    "topic_near",
    "subjects",
    "subject_rare",
    "subject_share",
    "subject_rule",
    "subject_request",
    "meal",
    "kin",
    "beside_best",
    "p_subjects",
    "p_request",
    "p_question",
    "p_terms",
    "p_best_near",
    "p_tenth_share",
    "p_self",
    "p_topics",
    "p_length",
)
"""Columns of a hit, by itself and beside the prompt; those with ``p_`` are of the prompt."""

_REPEATED = {name: name.removeprefix("p_") for name in HIT_FEATURES if name.startswith("p_")}
"""Columns of a hit that repeat those of the prompt."""
JUDGED = 24
"""Hits that are judged: the others have no chance."""
_SURELY_JUDGED = 16
"""Hits, best first, that are judged whatever they are about."""
_LOOKED_AT = 72
"""Hits, best first, among which others are looked for that bear on the prompt."""
_COMPARED = 8
"""Hits that are compared with each other for repeats and for newer news."""
_FEWEST_COMMON = 2
"""Words that two memories share at least where one says what the other says."""
_FEWEST_KNOWN = 3
"""Memories whose language is known, from which another one is told."""
_MATES = 10
_BEST = 3
_BESIDE = timedelta(minutes=10)
_DAY_SECONDS = 86_400.0
_LEAST_DEVIATION = 0.02


@dataclass(frozen=True, slots=True)
class SearchFeatures:
    """Features of one search."""

    prompt: Columns
    """[len(PROMPT_FEATURES)]"""
    hits: Columns
    """[hits, len(HIT_FEATURES)]"""
    traits: PromptTraits
    memories: Sequence[MemoryTraits]
    """Of each hit."""


@dataclass(frozen=True, slots=True)
class JudgedSearch:
    """A search whose hits are to be judged."""

    text: str
    """The prompt."""
    prepared: PreparedQuery
    pool: CandidatePool
    hits: Sequence[Hit]
    """Hits to judge, as ``choose_judged`` picked them; at least one."""
    rows: Mapping[str, int]
    """Rows of the pool, by id: those of the candidates that were looked at."""
    now: float
    """Seconds since 1970."""
    scale: Sequence[float]
    """``EmbedderCard.scale`` of the query's model: its cosines are compared by what they mean."""


def choose_judged(text: str, hits: Sequence[Hit]) -> list[Hit]:
    """Choose the hits to judge: the best, then those further down that share subjects of the prompt.

    What somebody may not eat bears on each meal, however far it is from the words of the request.
    """
    if len(hits) <= JUDGED:
        return list(hits)
    prompt = describe_prompt(text).text
    is_meal = prompt.has("food")
    if not (prompt.subjects or is_meal):
        return list(hits[:JUDGED])
    rated = []
    for position, hit in enumerate(hits[_SURELY_JUDGED:_LOOKED_AT]):
        memory = describe_memory(hit.record.search_text)
        shared = len(prompt.subjects & memory.text.subjects) + is_meal * memory.may_not_eat
        rated.append((-min(shared, 3), position, hit))
    rated.sort(key=lambda row: row[:2])
    others = [hit for _, _, hit in rated[: JUDGED - _SURELY_JUDGED]]
    return [*hits[:_SURELY_JUDGED], *others]


def bears_on(text: str, memory_text: str) -> bool:
    """Test whether a memory bears on a prompt however far it is from its words.

    It says what somebody may not eat, and the prompt is about food.
    """
    return bool(describe_prompt(text).text.has("food")) and describe_memory(memory_text).may_not_eat


def describe_search(search: JudgedSearch) -> SearchFeatures:
    """Describe a prompt and the hits of its search."""
    prompt = describe_prompt(search.text)
    memories = [describe_memory(hit.record.search_text) for hit in search.hits]
    cue_terms = _cue_terms(search.prepared)
    prompt_words = prompt.text.words - cue_terms or prompt.text.words
    columns: dict[str, Columns] = {}
    columns |= _score_columns(search)
    columns |= _pool_columns(search, cue_terms)
    columns |= _word_columns(memories, prompt, prompt_words)
    columns |= _subject_columns(memories, prompt)
    is_meal = prompt.text.has("food")
    columns["meal"] = np.array([is_meal * memory.may_not_eat for memory in memories])
    columns |= _state_columns(search.hits, memories)
    columns |= _company_columns(search.hits, memories)
    told = frozenset[str]().union(*(memory.text.words for memory in memories))
    uncovered = len(prompt_words - told) / max(len(prompt_words), 1)
    foreign = _is_foreign(prompt, memories)
    own = _prompt_columns(search, prompt, columns, len(prompt_words))
    own |= {
        "uncovered": uncovered * (1 - foreign),
        "foreign": foreign,
        "foreign_world": foreign * prompt.asks_world,
    }
    columns |= _cross_columns(columns, search, prompt, own)
    count = len(search.hits)
    table = np.empty((count, len(HIT_FEATURES)))
    for index, name in enumerate(HIT_FEATURES):
        table[:, index] = own[_REPEATED[name]] if name in _REPEATED else columns[name]
    row = np.array([own[name] for name in PROMPT_FEATURES])
    return SearchFeatures(row, table, prompt, memories)


def _is_foreign(prompt: PromptTraits, memories: Sequence[MemoryTraits]) -> float:
    """Return 1 for a prompt in another language than the best memories: no words can be shared."""
    if prompt.languages is None:
        return 0.0
    asked = set(prompt.languages) or {"english"}
    known = [memory.languages for memory in memories[:_COMPARED] if memory.languages is not None]
    same = sum(not asked.isdisjoint(languages or ("english",)) for languages in known)
    return float(len(known) >= _FEWEST_KNOWN and same <= len(known) / 4)


def _cue_terms(prepared: PreparedQuery) -> frozenset[str]:
    """Terms of speakers and times in a query: they are cues, and say little of what is asked."""
    cues = prepared.cues
    if not (cues.people or cues.spans):
        return frozenset()
    return frozenset(terms(" ".join((*cues.people, *(span.text for span in cues.spans)))))


def _score_columns(search: JudgedSearch) -> dict[str, Columns]:
    """Columns of the fused scores; in plain Python, which is faster for so few."""
    scores = [hit.score for hit in search.hits]
    best = max(*scores, 1e-6)
    order = sorted(range(len(scores)), key=lambda index: -scores[index])
    ranks = [0.0] * len(scores)
    steps = [0.0] * len(scores)
    for rank, index in enumerate(order):
        following = scores[order[rank + 1]] if rank + 1 < len(order) else 0.0
        ranks[index] = math.log1p(rank)
        steps[index] = (scores[index] - following) / best
    mean = sum(scores) / len(scores)
    deviation = math.sqrt(sum((score - mean) ** 2 for score in scores) / len(scores)) + 1e-3
    return {
        "score_share": np.array([score / best for score in scores]),
        "step": np.array(steps),
        "rank": np.array(ranks),
        "score_z": np.array([(score - mean) / deviation for score in scores]),
    }


def _pool_columns(search: JudgedSearch, cue_terms: frozenset[str]) -> dict[str, Columns]:
    """Columns of the raw scores; a triggered rule may not be in the pool, and has none."""
    pool = search.pool
    rows = _find_rows(search)
    is_known = rows >= 0
    rows = np.maximum(rows, 0)
    query_terms = search.prepared.terms
    content = sum(term not in cue_terms for term in query_terms)
    share = max(content, 1) / max(len(query_terms), 1)
    raw_cos = pool.cos[rows]
    cosines = np.array([raw_cos, pool.cosctx[rows], pool.cosnext[rows]])
    cos, cosctx, cosnext = _to_common_scale(cosines, search.scale) * is_known
    coverage = np.minimum(pool.bm[rows] / share, 1) * is_known
    near = np.where(pool.embedded[rows], (np.maximum(cos, 0) + coverage) / 2, coverage)
    mean = float(pool.cos.mean())
    variance = float(pool.cos @ pool.cos) / len(pool.cos) - mean * mean
    deviation = math.sqrt(max(variance, 0.0)) + _LEAST_DEVIATION
    days = np.maximum(search.now - pool.times[rows], 0) / _DAY_SECONDS
    return {
        "cos": cos,
        "cos_z": (raw_cos - mean) / deviation * is_known,
        "cosctx": cosctx,
        "cosnext": cosnext,
        "coverage": coverage,
        "bmctx": pool.bmctx[rows] * is_known / share,
        "bmses": pool.bmses[rows] * is_known / share,
        "near": near,
        "near_share": near / max(float(near.max()), 1e-6),
        "identifier": pool.identified[rows] * is_known,
        "age": np.log1p(days),
    }


def _find_rows(search: JudgedSearch) -> npt.NDArray[np.int64]:
    """Find the hits' rows in the pool; -1: a hit is not in it.

    The pool maps its ids only for a hit that came by another: that takes a while in a large one.
    """
    rows = [search.rows.get(hit.record.id, -1) for hit in search.hits]
    if -1 in rows:
        positions = search.pool.ids.positions
        rows = [positions.get(hit.record.id, -1) for hit in search.hits]
    return np.array(rows)


def _to_common_scale(cosines: Columns, scale: Sequence[float]) -> Columns:
    """Translate a model's cosines to those that mean the same with all-MiniLM-L6-v2."""
    steps = np.arange(len(scale)) * (1 / (len(scale) - 1))
    return np.asarray(np.interp(cosines, scale, steps))


def _word_columns(
    memories: Sequence[MemoryTraits], prompt: PromptTraits, prompt_words: frozenset[str]
) -> dict[str, Columns]:
    """Columns of the words that prompt and memories share, and of what these are about."""
    shared_words = [memory.text.words & prompt_words for memory in memories]
    holders = Counter(chain.from_iterable(shared_words))
    topics = prompt.text.topics
    count = len(memories)
    rows: list[tuple[float, ...]] = []
    for memory, shared in zip(memories, shared_words, strict=True):
        common_topics = len(topics & memory.text.topics)
        topic_columns = (min(common_topics, 3), common_topics / max(len(topics), 1))
        if not shared:
            rows.append((0, 0, 0, 0, 0, 0, 0, *topic_columns))
            continue
        rows.append(
            (
                min(len(shared), 4),
                len(shared) / len(prompt_words),
                len(shared) / len(memory.text.words),
                1 - min(holders[word] for word in shared) / count,
                len(shared & memory.names),
                min(len(shared & memory.head), 3),
                min(sum(holders[word] == 1 for word in shared), 3),
                *topic_columns,
            )
        )
    names = (
        "shared",
        "shared_share",
        "text_share",
        "rare_shared",
        "name_shared",
        "head_shared",
        "sole_shared",
        "common_topics",
        "topic_share",
    )
    return dict(zip(names, np.array(rows, np.float64).T, strict=True))


def _subject_columns(memories: Sequence[MemoryTraits], prompt: PromptTraits) -> dict[str, Columns]:
    """Columns of the subjects that prompt and memories share; one that few memories have tells more."""
    asked = prompt.text.subjects
    holders = Counter(subject for memory in memories for subject in memory.text.subjects & asked)
    count = len(memories)
    rows: list[tuple[float, float, float]] = []
    for memory in memories:
        shared = memory.text.subjects & asked
        if not shared:
            rows.append((0, 0, 0))
            continue
        rarity = 1 - min(holders[subject] for subject in shared) / (count + 1)
        rows.append((min(len(shared), 4), rarity, len(shared) / len(memory.text.subjects)))
    names = ("subjects", "subject_rare", "subject_share")
    return dict(zip(names, np.array(rows, np.float64).T, strict=True))


def _state_columns(hits: Sequence[Hit], memories: Sequence[MemoryTraits]) -> dict[str, Columns]:
    """Columns of what a memory is, whatever the prompt."""
    rows = [
        (
            "speaker" in hit.parts,
            hit.parts.get("date", 0.0),
            hit.parts.get("linked", 0.0),
            hit.record.role == "assistant",
            hit.record.kind is not Kind.TURN,
            bool(hit.facts),
            hit.status is Status.SUPERSEDED or memory.is_closed,
            hit.outdated.probability if hit.outdated else 0.0,
            *memory.form,
        )
        for hit, memory in zip(hits, memories, strict=True)
    ]
    names = (
        "speaker",
        "date",
        "linked",
        "assistant",
        "statement",
        "has_facts",
        "is_over",
        "doubt",
        *FORM,
    )
    return dict(zip(names, np.array(rows, np.float64).T, strict=True))


def _company_columns(hits: Sequence[Hit], memories: Sequence[MemoryTraits]) -> dict[str, Columns]:
    """Columns of what other hits are there: of its session, newer ones, and better ones like it."""
    sessions = Counter([hit.record.session for hit in hits[:_MATES]])
    mates = np.array([sessions[hit.record.session] for hit in hits], np.float64)
    newer = [0.0] * len(hits)
    echo = [0.0] * len(hits)
    compared = [memory.text.words for memory in memories[:_COMPARED]]
    for index, words in enumerate(compared):
        for better_index, better_words in enumerate(compared[:index]):
            common = len(words & better_words)
            if common < _FEWEST_COMMON:
                continue
            echo[index] = max(echo[index], common / len(words))
            older_index = index
            if hits[better_index].record.recorded_at < hits[index].record.recorded_at:
                older_index = better_index
            union = len(words) + len(better_words) - common
            newer[older_index] = max(newer[older_index], common / union)
    kin, beside = _measure_kinship(hits, memories)
    return {
        "session_mates": mates,
        "newer_overlap": np.array(newer),
        "echo": np.array(echo),
        "kin": kin,
        "beside_best": beside,
    }


def _measure_kinship(
    hits: Sequence[Hit], memories: Sequence[MemoryTraits]
) -> tuple[Columns, Columns]:
    """Measure which rare words hits share with the best few, and which were said beside these.

    "And Lindner is ill" says nothing of the trip by its own words, but names who comes along on it.
    """
    best = list(zip(hits, memories, strict=True))[:_BEST]
    told = frozenset[str]().union(*(memory.text.words for _, memory in best))
    shared = [memory.text.words & told for memory in memories]
    holders = Counter(word for words in shared for word in words)
    kin = [0.0] * len(hits)
    beside = [0.0] * len(hits)
    for index, (hit, words) in enumerate(zip(hits, shared, strict=True)):
        for best_hit, best_memory in best:
            if best_hit is hit:
                continue
            common = words & best_memory.text.words
            if common:
                kin[index] = max(kin[index], sum(1 / holders[word] for word in common))
            if hit.record.session and hit.record.session == best_hit.record.session:
                delay = abs(hit.record.recorded_at - best_hit.record.recorded_at)
                beside[index] = max(beside[index], float(delay <= _BESIDE))
    return np.minimum(kin, 3.0), np.array(beside)


def _prompt_columns(
    search: JudgedSearch, prompt: PromptTraits, columns: Mapping[str, Columns], words: int
) -> dict[str, float]:
    cues = search.prepared.cues
    text = prompt.text
    scores = np.sort(columns["score_share"])[::-1]
    best_near = float(columns["near"].max())
    own = min(text.groups.get("self", 0), 3)
    topic_near = (columns["common_topics"] > 0) * columns["near"]
    return {
        "best_near": best_near,
        "best_cos": float(columns["cos"].max()),
        "best_cos_z": float(columns["cos_z"].max()),
        "best_coverage": float(columns["coverage"].max()),
        "second_share": float(scores[min(1, len(scores) - 1)]),
        "tenth_share": float(scores[min(9, len(scores) - 1)]),
        "best_shared": float(columns["shared_share"].max()),
        "best_name": float(columns["name_shared"].max()),
        "best_rare": float(columns["rare_shared"].max()),
        "best_slot": max(search.prepared.answering.values(), default=0.0),
        "best_topic_near": float(topic_near.max()),
        "best_subject": float(columns["subject_rare"].max()),
        "subjects": min(len(text.subjects), 4),
        "length": math.log1p(text.length),
        "terms": math.log1p(words),
        "self": own,
        "outsider": text.has("outsider"),
        "recall": text.has("recall"),
        "impersonal": prompt.opens_impersonally,
        "impersonal_alone": prompt.opens_impersonally and not own,
        "request": text.has("request"),
        "opens_with_request": prompt.opens_with_request,
        "transform": text.has("transform"),
        "arithmetic": prompt.is_arithmetic,
        "payload": prompt.has_payload,
        "points_back": prompt.points_back,
        "social": prompt.is_social,
        "question": prompt.is_question,
        "people": min(len(cues.people), 2),
        "names": min(len(cues.other_names), 3),
        "wants_time": cues.wants_time,
        "food": text.has("food"),
        "health": text.has("health"),
        "topics": min(len(text.topics), 3),
        "amount": cues.kind in ("how_many", "when"),
        "self_near": best_near if own else 0.0,
        "few_terms": words <= 2,
        "code": prompt.has_code,
        "world": text.has("world"),
        "world_alone": text.has("world") and not own,
        "best_meal": float(columns["meal"].max()),
        "best_head": float((columns["head_shared"] * columns["rare_shared"]).max()),
        "best_sole": float(columns["sole_shared"].max()),
        "generic_task": text.has("generic_task"),
        "asks_world": prompt.asks_world,
        "name_question": prompt.is_question * min(float(columns["name_shared"].max()), 1),
        "vague": prompt.is_vague,
    }


def _cross_columns(
    columns: Mapping[str, Columns],
    search: JudgedSearch,
    prompt: PromptTraits,
    own: Mapping[str, float],
) -> dict[str, Columns]:
    """Columns in which a prompt meets a memory."""
    answering = search.prepared.answering
    slots = [
        max((answering.get(record.id, 0.0) for record in (hit.record, *hit.facts)), default=0.0)
        for hit in search.hits
    ]
    wants_past = float(search.prepared.cues.wants_past)
    has_rule = columns["rule"] > 0
    return {
        "slot": np.array(slots),
        "food_diet": prompt.text.has("food") * columns["diet"],
        "request_rule": own["request"] * has_rule,
        "wanted_number": own["amount"] * columns["has_number"],
        "past": wants_past * np.maximum(columns["is_over"], columns["newer_overlap"]),
        "topic_near": (columns["common_topics"] > 0) * columns["near"],
        "subject_rule": columns["subject_rare"] * has_rule,
        "subject_request": columns["subject_rare"] * own["request"],
    }
