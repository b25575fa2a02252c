"""What age, use and gaps do to scores, by number."""

from __future__ import annotations

import math
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest

from engrams.core import LAYER_OF, Hit, Kind, Layer, Record, Scope, Status
from engrams.extract import rules
from engrams.frozen_data import replace
from engrams.ports import CandidatePool, CandidateSearchQuery, ScopeReach
from engrams.read.cues import parse_query
from engrams.read.decay import (
    access_boost,
    age_days,
    ambient_score,
    apply_confidence_decay,
    apply_decay,
    blend_recency,
    decayed_confidence,
    exponential_decay,
    half_life_decay,
    lifetime_days,
)
from engrams.read.floors import count_before_gap, passes_floors, shares_enough_words
from engrams.read.query_preparation import PreparedQuery
from engrams.read.score_fusion import saturate_bm25, score_pool
from engrams.settings import ReadSettings, ScoreWeightSettings, load
from engrams.text.terms import terms
from engrams.text.vocabulary import read_classes

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
OWNER = Scope(("user", "ann"))


def record(days: float = 0.0, kind: Kind = Kind.FACT, **fields: object) -> Record:
    """A record so many days old."""
    return Record("a", OWNER, kind, "text", NOW - timedelta(days=days), **fields)  # type: ignore[arg-type]


def pool(
    cos: list[float],
    bm: list[float],
    days: list[float] | None = None,
    embedded: list[bool] | None = None,
) -> CandidatePool:
    """Candidates a, b, c… with these scores and ages."""
    size = len(cos)
    zeros = np.zeros(size, np.float32)
    numbers = np.arange(size)
    times = NOW.timestamp() - 86_400 * np.array(days or [0.0] * size)
    flags = np.zeros(size, bool)
    return CandidatePool(
        ids=[chr(97 + at) for at in range(size)],
        cos=np.array(cos, np.float32),
        cosctx=zeros,
        cosnext=zeros,
        bm=np.array(bm, np.float32),
        bmctx=zeros,
        bmses=zeros,
        embedded=np.array(embedded or [True] * size),
        times=times,
        voices=[("", "user")],
        voice=numbers * 0,
        words=zeros,
        question=flags,
        dated=flags,
        passage=flags,
        undated=flags,
        importance=np.full(size, 0.5, np.float32),
        confidence=zeros + 1,
        identified=flags,
        total=size,
    )


def scores(candidates: CandidatePool, settings: ReadSettings) -> list[float]:
    """The fused scores of a query without cues."""
    reach = ScopeReach.of_owner(Scope(("user", "ann")))
    prepared = PreparedQuery(
        parse_query("blue pot", NOW, {}), CandidateSearchQuery(reach, NOW), answering={}
    )
    scored = score_pool(candidates, prepared, settings, NOW.timestamp())
    return [round(float(score), 5) for score in scored.scores]


def preset(name: str) -> ReadSettings:
    """A preset's settings of reading."""
    return load({"preset": name}, environ={}).settings.read


@pytest.mark.covers("S0.43")
def test_likeness_freshness_and_importance_are_summed() -> None:
    """0.6 of likeness, 0.3 of exp(-days / 7) and 0.1 of importance; age 0 is as fresh as can be."""
    assert exponential_decay(0, 7) == 1
    assert exponential_decay(7, 7) == pytest.approx(math.exp(-1))
    assert exponential_decay(30, 30) == pytest.approx(math.exp(-1))
    got = scores(pool([0.8, 0.8, 0.7], [0, 0, 0], [0, 7, 14]), preset("cache"))
    wanted = [
        0.6 * 0.8 + 0.3 + 0.05,
        0.6 * 0.8 + 0.3 / math.e + 0.05,
        0.6 * 0.7 + 0.3 * math.exp(-2) + 0.05,
    ]
    assert got == pytest.approx(wanted, abs=1e-4)


@pytest.mark.covers("S1.48")
def test_meaning_and_words_are_merged_seven_to_three() -> None:
    """An item in one list keeps its weighted part."""
    settings = ReadSettings(
        fusion="sum",
        weights=ScoreWeightSettings(
            **{**dict.fromkeys(ScoreWeightSettings.model_fields, 0.0), "dense": 0.7, "bm25": 0.3}
        ),
    )
    assert scores(pool([0.8, 0.5, 0.0], [0.5, 0.0, 1.0]), settings) == pytest.approx(
        [0.71, 0.35, 0.3]
    )
    engine = preset("engine")
    assert (
        engine.weights.dense,
        engine.weights.bm25,
        engine.min_score,
        engine.limit,
        engine.oversample,
    ) == (0.7, 0.3, 0.1, 10, 2)


@pytest.mark.covers("S1.49")
def test_shared_words_count_from_three_tenths_on() -> None:
    """0.3 + 0.69 r / (1 + r) of the size of r; where nothing is shared it is nothing."""
    assert saturate_bm25(np.array([1.0, -1.0, 4.0], np.float32)).tolist() == pytest.approx(
        [0.645, 0.645, 0.852]
    )
    got = scores(pool([0.0, 0.0], [1.0, 0.0]), preset("engine"))
    assert got == pytest.approx([0.3 * 0.645, 0.0])


def test_words_stand_in_for_meaning_where_there_is_no_vector() -> None:
    """What is not embedded yet is found by its words, by sources that look at meaning only too."""
    candidates = pool([0.9, 0.0], [0.0, 1.0], embedded=[True, False])
    assert passes_floors(candidates, preset("cache"), True).tolist() == [True, True]
    assert scores(candidates, preset("cache"))[1] == pytest.approx(0.6 + 0.3 + 0.05)


@pytest.mark.covers("S4.32", "S3.11")
def test_ranks_are_fused_with_sixty() -> None:
    """1 / (60 + rank) of each list, ranks from 1, ties in the order they came;
    scaled so that first in both is 1.
    """
    got = scores(pool([0.9, 0.8, 0.0, 0.8], [0.0, 0.2, 0.9, 0.0]), preset("layers"))
    scale = 61 / 2
    wanted = [scale / 61, scale / 62 + scale / 62, scale / 61, scale / 63]
    assert got == pytest.approx(wanted, abs=1e-5)


@pytest.mark.covers("S1.51")
def test_a_half_life_is_one() -> None:
    """A score is halved in its half-life, quartered in two, and untouched without one."""
    assert [half_life_decay(days, 30) for days in (0, 30, 60)] == [1, 0.5, 0.25]
    assert half_life_decay(1e6, 0) == 1
    hits = [Hit(record(60), 0.8), Hit(record(0), 0.5)]
    assert [
        hit.score for hit in apply_decay(hits, ReadSettings(half_life_days=30), NOW, {})
    ] == pytest.approx([0.5, 0.2])
    assert apply_decay(hits, ReadSettings(), NOW, {}) == hits
    assert preset("engine").half_life_days == 30


@pytest.mark.covers("S1.51")
def test_what_is_known_does_not_fade() -> None:
    """Thirty days halve what was said on a day;
    facts and rules, which stand in MEMORY.md, have no half-life.
    """
    hits = [Hit(record(30, Kind.TURN, layer=Layer.EPISODIC), 0.8)]
    records = [
        Hit(record(30, kind, layer=LAYER_OF[kind]), 0.8)
        for kind in (Kind.FACT, Kind.PREFERENCE, Kind.CORRECTION, Kind.RULE)
    ]
    assert [
        hit.score for hit in apply_decay([*hits, *records], preset("engine"), NOW, {})
    ] == pytest.approx([0.8] * 4 + [0.4])


@pytest.mark.covers("S2.28")
def test_freshness_takes_its_share_and_the_future_is_new() -> None:
    """(1 - w) of relevance and w of exp(-days / 30);
    a time to come is age 0, and so is a clock set back.
    """
    assert blend_recency(0.5, 1.0, 0.2) == pytest.approx(0.6)
    assert exponential_decay(-5, 30) == 1
    assert age_days(record(-3), NOW) == 0
    got = apply_decay([Hit(record(30), 0.9), Hit(record(-10), 0.7)], preset("proxy"), NOW, {})
    assert [hit.score for hit in got] == pytest.approx([0.8 * 0.9 + 0.2 / math.e, 0.8 * 0.7 + 0.2])


@pytest.mark.covers("S3.26")
def test_use_just_now_counts_half_more() -> None:
    """1 + 0.5 exp(-hours / 24): 1.5 at once, and the most a score can be stays 1."""
    assert access_boost(0, 0.5) == 1.5
    assert access_boost(24, 0.5) == pytest.approx(1 + 0.5 / math.e)
    assert access_boost(-3, 0.5) == 1.5
    used = [
        Hit(replace(record(last_accessed=NOW), id="b"), 0.4),
        Hit(replace(record(last_accessed=NOW), id="c"), 0.9),
        Hit(record(), 0.45),
    ]
    assert [
        hit.score for hit in apply_confidence_decay(used, preset("graph"), NOW, {})
    ] == pytest.approx([1.0, 0.6, 0.45])


@pytest.mark.covers("S3.25")
def test_belief_fades_by_kind() -> None:
    """A year for corrections, ninety days for preferences, thirty for facts, sixty for procedures,
    seven for what was inferred.
    """
    lives = [
        lifetime_days(record(kind=kind))
        for kind in (Kind.CORRECTION, Kind.PREFERENCE, Kind.FACT, Kind.PROCEDURE, Kind.NOTE)
    ]
    assert lives == [365, 90, 30, 60, 45]
    assert lifetime_days(record(meta={"hearsay": True})) == 7
    assert lifetime_days(record(category="entity")) == 60
    assert lifetime_days(record(category="deployment")) == 45
    own = {
        *read_classes(rules.__file__, "predicates"),
        *load({"preset": "layers"}, environ={}).settings.write.categories,
    }
    assert {lifetime_days(record(category=category)) for category in own} == {30}
    old = record(30, confidence=0.8, trust=0.5, access_count=3)
    assert decayed_confidence(old, NOW) == pytest.approx(
        0.8 * math.exp(-1) * (1 + 0.1 * math.log(4)) * 0.5
    )
    assert decayed_confidence(record(access_count=10_000), NOW) == 1


@pytest.mark.covers("S3.27")
def test_where_nothing_is_asked_the_new_the_used_and_the_corrected_come_first() -> None:
    """100 / (1 + hours / 24) + 10 sqrt(uses) + the kind's points, times trust, plus 5 ln(strength)."""
    assert ambient_score(record(), NOW) == pytest.approx(110 * 1.5)
    assert ambient_score(
        record(1, Kind.CORRECTION, access_count=4, trust=0.6), NOW
    ) == pytest.approx(50 + 20 + 50)
    assert ambient_score(record(1, Kind.PREFERENCE, trust=0.2, strength=3), NOW) == pytest.approx(
        80 * 0.7 + 5 * math.log(3)
    )
    assert ambient_score(record(status=Status.SUPERSEDED), NOW) == 0


@pytest.mark.covers("S3.13")
@pytest.mark.parametrize(
    ("scores_given", "count"),
    [
        ([], 0),
        ([0.3], 1),
        ([1.0, 0.9], 1),
        ([1.0, 0.96, 0.92, 0.9], 4),
        ([1.0, 0.96, 0.92, 0.899], 3),
        ([1.0, 0.1], 1),
        ([0.0, 0.0], 2),
    ],
)
def test_what_is_behind_a_gap_is_dropped(scores_given: list[float], count: int) -> None:
    """Below 0.90 of the best, or 0.95 of the one before, the list ends; one always stays."""
    assert count_before_gap(scores_given, 0.9, 0.95) == count
    assert count_before_gap(scores_given, 0.0, 0.0) == len(scores_given)


@pytest.mark.covers("S4.33")
@pytest.mark.parametrize(
    ("query", "text", "passes"),
    [
        ("kettle pump valve", "kettle on the stove of my old aunt in Bergen", True),
        ("kettle pump valve gasket", "kettle on the stove of my old aunt in Bergen", False),
        ("kettle pump valve gasket hose seal washer", "kettle pump", True),
        ("kettle pump valve gasket hose seal washer", "kettle pump stove aunt Bergen", True),
        (
            "kettle pump valve gasket hose seal washer",
            "kettle pump stove aunt Bergen Norway",
            False,
        ),
        ("kettle", "pump", False),
        ("", "pump", False),
    ],
)
def test_words_alone_must_be_enough_of_them(query: str, text: str, passes: bool) -> None:
    """A third of what is asked, or two words that are 0.4 of what was said."""
    assert shares_enough_words(terms(query), text, 0.33) is passes


@pytest.mark.covers("S4.33", "S0.44")
def test_a_floor_lets_pass_what_is_equal_to_it() -> None:
    """By meaning, or by words where they count; without a floor all pass."""
    candidates = pool([0.6, 0.59, 0.9], [0.0, 1.0, 0.0])
    assert passes_floors(candidates, preset("cache"), True).tolist() == [
        True,
        False,
        True,
    ]
    assert passes_floors(candidates, preset("graph"), True).tolist() == [
        True,
        True,
        True,
    ]
    assert passes_floors(candidates, ReadSettings(), True).all()
