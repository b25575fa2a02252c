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

_REPEATED = [name.removeprefix("p_") for name in HIT_FEATURES if name.startswith("p_")]
"""Columns of the prompt that a hit repeats under a name with ``p_``."""
_BEST_OF = (
    "near",
    "cos",
    "cos_z",
    "coverage",
    "shared_share",
    "name_shared",
    "rare_shared",
    "subject_rare",
    "meal",
    "sole_shared",
)
"""Columns of hits whose largest values are columns of the prompt."""
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
_RANKS = [math.log1p(rank) for rank in range(JUDGED)]
_COLUMNS = {name: index for index, name in enumerate(HIT_FEATURES)}


def _find_columns(*names: str) -> list[int]:
    return [_COLUMNS[name] for name in names]


_REPEATED_COLUMNS = _find_columns(*(f"p_{name}" for name in _REPEATED))
_WORD_COLUMNS = _find_columns(
    "shared",
    "shared_share",
    "text_share",
    "rare_shared",
    "name_shared",
    "head_shared",
    "sole_shared",
)
_NO_WORDS = (0.0,) * len(_WORD_COLUMNS)
_SUBJECT_COLUMNS = _find_columns("subjects", "subject_rare", "subject_share")
_STATE_COLUMNS = _find_columns(
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
_BEST_COLUMNS = _find_columns(*_BEST_OF)


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
    table = _HitTable(len(search.hits))
    _fill_scores(table, search.hits)
    _fill_pool(table, search, cue_terms)
    _fill_words(table, memories, prompt, prompt_words)
    _fill_subjects(table, memories, prompt)
    _fill_states(table, search.hits, memories)
    _fill_company(table, search.hits, memories)
    if prompt.text.has("food"):
        table.fill("meal", [memory.may_not_eat for memory in memories])
    foreign = _is_foreign(prompt, memories)
    own = _describe_prompt_columns(search, prompt, table, len(prompt_words))
    own |= {
        "uncovered": _measure_uncovered(memories, prompt_words) * (1 - foreign),
        "foreign": foreign,
        "foreign_world": foreign * prompt.asks_world,
    }
    _fill_crossings(table, search, prompt, own)
    table.values[:, _REPEATED_COLUMNS] = [own[name] for name in _REPEATED]
    row = np.array([own[name] for name in PROMPT_FEATURES], np.float64)
    return SearchFeatures(row, table.values, prompt, memories)


class _HitTable:
    """Features of the hits, filled column by column; what nobody fills is 0."""

    def __init__(self, hits: int) -> None:
        self.values: Columns = np.zeros((hits, len(HIT_FEATURES)))

    def __getitem__(self, name: str) -> Columns:
        """Return a column, which can be written to."""
        column: Columns = self.values[:, _COLUMNS[name]]
        return column

    def fill(self, name: str, values: Sequence[float] | Columns) -> None:
        """Fill a column."""
        self.values[:, _COLUMNS[name]] = values

    def fill_rows(self, columns: Sequence[int], rows: Sequence[Sequence[float]]) -> None:
        """Fill some columns at once, from a row of values for each hit."""
        self.values[:, columns] = rows

    def max(self, name: str) -> float:
        """Return the largest value of a column."""
        return float(self[name].max())


def _measure_uncovered(memories: Sequence[MemoryTraits], prompt_words: frozenset[str]) -> float:
    """Measure the share of a prompt's words that no memory has."""
    missing = prompt_words.difference(*(memory.text.words for memory in memories))
    return len(missing) / max(len(prompt_words), 1)


def _is_foreign(prompt: PromptTraits, memories: Sequence[MemoryTraits]) -> float:
    """Return 1 for a prompt in another language than the best memories: no words can be shared."""
    if prompt.languages is None:
        return 0.0
    asked = set(prompt.languages) or {"english"}
    told = 0
    same = 0
    for memory in memories[:_COMPARED]:
        if memory.languages is None:
            continue
        told += 1
        same += not asked.isdisjoint(memory.languages or ("english",))
        if same > _COMPARED / 4:
            # Whatever the languages of the others.
            return 0.0
    return float(told >= _FEWEST_KNOWN and same <= told / 4)


def _cue_terms(prepared: PreparedQuery) -> frozenset[str]:
    """Terms of speakers and times in a query: they are cues, and say little of what is asked."""
    cues = prepared.cues
    if not (cues.people or cues.spans):
        return frozenset()
    return frozenset(terms(" ".join((*cues.people, *(span.text for span in cues.spans)))))


def _fill_scores(table: _HitTable, hits: Sequence[Hit]) -> None:
    """Fill the columns of the fused scores; in plain Python, which is faster for so few."""
    scores = [hit.score for hit in hits]
    count = len(scores)
    best = max(*scores, 1e-6)
    order = sorted(range(count), key=scores.__getitem__, reverse=True)
    ranks = [0.0] * count
    steps = [0.0] * count
    following = [*[scores[index] for index in order[1:]], 0.0]
    for rank, (index, next_score) in enumerate(zip(order, following, strict=True)):
        ranks[index] = _RANKS[rank]
        steps[index] = (scores[index] - next_score) / best
    mean = sum(scores) / count
    deviation = math.sqrt(sum([(score - mean) ** 2 for score in scores]) / count) + 1e-3
    table.fill("score_share", [score / best for score in scores])
    table.fill("step", steps)
    table.fill("rank", ranks)
    table.fill("score_z", [(score - mean) / deviation for score in scores])


def _fill_pool(table: _HitTable, search: JudgedSearch, cue_terms: frozenset[str]) -> None:
    """Fill the columns of the raw scores; a triggered rule may not be in the pool, and has none."""
    pool = search.pool
    rows = _find_rows(search)
    is_known: Columns | bool = True
    if rows.min() < 0:
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
    table.fill("cos", cos)
    table.fill("cos_z", (raw_cos - mean) / deviation * is_known)
    table.fill("cosctx", cosctx)
    table.fill("cosnext", cosnext)
    table.fill("coverage", coverage)
    table.fill("bmctx", pool.bmctx[rows] * is_known / share)
    table.fill("bmses", pool.bmses[rows] * is_known / share)
    table.fill("near", near)
    table.fill("near_share", near / max(float(near.max()), 1e-6))
    table.fill("identifier", pool.identified[rows] * is_known)
    days = np.maximum(search.now - pool.times[rows], 0) / _DAY_SECONDS
    table.fill("age", np.log1p(days))


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


def _fill_words(
    table: _HitTable,
    memories: Sequence[MemoryTraits],
    prompt: PromptTraits,
    prompt_words: frozenset[str],
) -> None:
    """Fill the columns of the words that prompt and memories share."""
    shared_words = [memory.text.words & prompt_words for memory in memories]
    holders = Counter(chain.from_iterable(shared_words))
    count = len(memories)
    if holders:
        table.fill_rows(
            _WORD_COLUMNS,
            [
                (
                    min(len(shared), 4),
                    len(shared) / len(prompt_words),
                    len(shared) / len(memory.text.words),
                    1 - min(map(holders.__getitem__, shared)) / count,
                    len(shared & memory.names),
                    min(len(shared & memory.head), 3),
                    min([*map(holders.__getitem__, shared)].count(1), 3),
                )
                if shared
                else _NO_WORDS
                for memory, shared in zip(memories, shared_words, strict=True)
            ],
        )
    topics = prompt.text.topics
    if topics:
        common = [len(topics & memory.text.topics) for memory in memories]
        table.fill("common_topics", np.minimum(common, 3))
        table.fill("topic_share", np.divide(common, len(topics)))


def _fill_subjects(
    table: _HitTable, memories: Sequence[MemoryTraits], prompt: PromptTraits
) -> None:
    """Fill the columns of shared subjects; one that few memories have tells more."""
    asked = prompt.text.subjects
    if not asked:
        return
    shared_subjects = [memory.text.subjects & asked for memory in memories]
    holders = Counter(chain.from_iterable(shared_subjects))
    count = len(memories)
    rows: list[tuple[float, float, float]] = []
    for memory, shared in zip(memories, shared_subjects, strict=True):
        if not shared:
            rows.append((0, 0, 0))
            continue
        rarity = 1 - min(map(holders.__getitem__, shared)) / (count + 1)
        rows.append((min(len(shared), 4), rarity, len(shared) / len(memory.text.subjects)))
    table.fill_rows(_SUBJECT_COLUMNS, rows)


def _fill_states(table: _HitTable, hits: Sequence[Hit], memories: Sequence[MemoryTraits]) -> None:
    """Fill the columns of what a memory is, whatever the prompt."""
    table.fill_rows(
        _STATE_COLUMNS,
        [
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
        ],
    )


def _fill_company(table: _HitTable, hits: Sequence[Hit], memories: Sequence[MemoryTraits]) -> None:
    """Fill the columns of what other hits are there: of its session, newer, or better and alike."""
    sessions = Counter([hit.record.session for hit in hits[:_MATES]])
    table.fill("session_mates", [sessions[hit.record.session] for hit in hits])
    compared = [
        (memory.text.words, hit.record.recorded_at)
        for memory, hit in zip(memories[:_COMPARED], hits, strict=False)
    ]
    newer = [0.0] * len(compared)
    echo = [0.0] * len(compared)
    for index, (words, said_at) in enumerate(compared):
        for better_index in range(index):
            better_words, better_said_at = compared[better_index]
            common = len(words & better_words)
            if common < _FEWEST_COMMON:
                continue
            echo[index] = max(echo[index], common / len(words))
            older_index = better_index if better_said_at < said_at else index
            union = len(words) + len(better_words) - common
            newer[older_index] = max(newer[older_index], common / union)
    table["newer_overlap"][: len(newer)] = newer
    table["echo"][: len(echo)] = echo
    _fill_shared_with_best(table, hits, memories)


def _fill_shared_with_best(
    table: _HitTable, hits: Sequence[Hit], memories: Sequence[MemoryTraits]
) -> None:
    """Fill the columns of rare words shared with the best few, and of what was said beside these.

    "And Lindner is ill" says nothing of the trip by its own words, but names who comes along on it.
    """
    best_words = [memory.text.words for memory in memories[:_BEST]]
    told = frozenset[str]().union(*best_words)
    shared = [memory.text.words & told for memory in memories]
    weights = {word: 1 / count for word, count in Counter(chain.from_iterable(shared)).items()}
    kin = [
        max(
            [
                sum(map(weights.__getitem__, words & own_words))
                for best_index, words in enumerate(best_words)
                if best_index != index
            ],
            default=0.0,
        )
        for index, own_words in enumerate(shared)
    ]
    table.fill("kin", np.minimum(kin, 3.0))
    sessions = [hit.record.session for hit in hits]
    beside = table["beside_best"]
    for best_index, session in enumerate(sessions[:_BEST]):
        if not session or sessions.count(session) == 1:
            continue
        said_at = hits[best_index].record.recorded_at
        for index, hit in enumerate(hits):
            if index != best_index and sessions[index] == session:
                delay = abs(hit.record.recorded_at - said_at)
                beside[index] = max(beside[index], delay <= _BESIDE)


def _describe_prompt_columns(
    search: JudgedSearch, prompt: PromptTraits, table: _HitTable, words: int
) -> dict[str, float]:
    cues = search.prepared.cues
    text = prompt.text
    scores = sorted(table["score_share"].tolist(), reverse=True)
    best = dict(zip(_BEST_OF, table.values[:, _BEST_COLUMNS].max(axis=0).tolist(), strict=True))
    best_near = best["near"]
    own = min(text.groups.get("self", 0), 3)
    return {
        "best_near": best_near,
        "best_cos": best["cos"],
        "best_cos_z": best["cos_z"],
        "best_coverage": best["coverage"],
        "second_share": scores[min(1, len(scores) - 1)],
        "tenth_share": scores[min(9, len(scores) - 1)],
        "best_shared": best["shared_share"],
        "best_name": best["name_shared"],
        "best_rare": best["rare_shared"],
        "best_slot": max([0.0, *search.prepared.answering.values()]),
        "best_topic_near": _find_best_topic(table) if text.topics else 0.0,
        "best_subject": best["subject_rare"],
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
        "best_meal": best["meal"],
        "best_head": float((table["head_shared"] * table["rare_shared"]).max()),
        "best_sole": best["sole_shared"],
        "generic_task": text.has("generic_task"),
        "asks_world": prompt.asks_world,
        "name_question": prompt.is_question * min(best["name_shared"], 1),
        "vague": prompt.is_vague,
    }


def _find_best_topic(table: _HitTable) -> float:
    """Return how near the nearest hit is that shares a topic with the prompt."""
    return float(((table["common_topics"] > 0) * table["near"]).max())


def _fill_crossings(
    table: _HitTable, search: JudgedSearch, prompt: PromptTraits, own: Mapping[str, float]
) -> None:
    """Fill the columns in which a prompt meets a memory."""
    answering = search.prepared.answering
    if answering:
        table.fill(
            "slot",
            [
                max([0.0, *(answering.get(record.id, 0.0) for record in (hit.record, *hit.facts))])
                for hit in search.hits
            ],
        )
    if prompt.text.has("food"):
        table.fill("food_diet", table["diet"])
    if own["request"]:
        table.fill("request_rule", own["request"] * (table["rule"] > 0))
        table.fill("subject_request", own["request"] * table["subject_rare"])
    if own["amount"]:
        table.fill("wanted_number", table["has_number"])
    if search.prepared.cues.wants_past:
        table.fill("past", np.maximum(table["is_over"], table["newer_overlap"]))
    if prompt.text.topics:
        table.fill("topic_near", (table["common_topics"] > 0) * table["near"])
    if prompt.text.subjects:
        table.fill("subject_rule", (table["rule"] > 0) * table["subject_rare"])
