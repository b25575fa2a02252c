"""Figures of the bench: each prompt is judged, and rows of prompts are averaged with intervals."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from bench.inject.systems import Injection, ShownItem
from bench.inject.worlds import World, WorldPrompt

TYPES = (
    "direct",
    "implicit",
    "vague",
    "paraphrase",
    "crosslang",
    "changed",
    "history",
    "several",
    "nearmiss",
    "unsaid",
    "task",
    "social",
)
_PLAIN_NUMBERS = ("items", "tokens")


@dataclass(frozen=True, slots=True)
class JudgedPrompt:
    """One prompt with what was shown for it, counted."""

    world: str
    kind: str
    id: str
    type: str
    text: str
    is_silent: bool
    shown: int
    right: int
    """Shown items that are needed or helpful."""
    needed: int
    missing: tuple[str, ...]
    """Needed messages that were not shown."""
    unknown: tuple[str, ...]
    """Those of them that stand in no statement of the profile either."""
    has_stale: bool
    stale_as_current: tuple[str, ...]
    """Messages out of date that were shown without a mark."""
    tokens: int
    characters: int
    right_characters: int
    wrong: tuple[tuple[str, ...], ...]
    """Sources of the items that do not belong."""


def judge(world: World, prompt: WorldPrompt, injection: Injection) -> JudgedPrompt:
    """Count what was shown for a prompt; each message once, standing rules not at all."""
    right = prompt.right
    items = _count_once(injection.items, world.standing - right)
    shown_ids = frozenset[str]().union(*(item.sources for item in items))
    unmarked_ids = frozenset[str]().union(*(item.sources for item in items if not item.is_marked))
    missing = [ids for ids in prompt.needed if not ids & shown_ids]
    profile_ids = frozenset[str]().union(*injection.profile)
    right_items = [item for item in items if item.sources & right]
    return JudgedPrompt(
        world=world.name,
        kind=world.kind,
        id=prompt.id,
        type=prompt.type,
        text=prompt.text,
        is_silent=prompt.is_silent,
        shown=len(items),
        right=len(right_items),
        needed=len(prompt.needed),
        missing=tuple("|".join(sorted(ids)) for ids in missing),
        unknown=tuple("|".join(sorted(ids)) for ids in missing if not ids & profile_ids),
        has_stale=bool(prompt.stale),
        stale_as_current=tuple(sorted(prompt.stale & unmarked_ids)),
        tokens=injection.tokens,
        characters=sum(item.characters for item in items),
        right_characters=sum(item.characters for item in right_items),
        wrong=tuple(tuple(sorted(item.sources)) for item in items if not item.sources & right),
    )


def _count_once(items: Sequence[ShownItem], neutral: frozenset[str]) -> list[ShownItem]:
    by_sources: dict[frozenset[str], ShownItem] = {}
    for item in items:
        is_neutral = bool(item.sources) and item.sources <= neutral
        if not is_neutral:
            by_sources.setdefault(item.sources, item)
    return list(by_sources.values())


Metric = Callable[[Sequence[JudgedPrompt]], float | None]


def _mean(values: Sequence[float]) -> float | None:
    return sum(values) / len(values) if values else None


def _ratio(part: float, whole: float) -> float | None:
    return part / whole if whole else None


def _is_exact(row: JudgedPrompt) -> bool:
    return row.shown == row.right and not row.missing


METRICS: Mapping[str, Metric] = {
    "precision": lambda rows: _mean(
        [row.right / row.shown for row in rows if row.shown and not row.is_silent]
    ),
    "pooled": lambda rows: _ratio(sum(row.right for row in rows), sum(row.shown for row in rows)),
    "recall": lambda rows: _mean([1 - len(row.missing) / row.needed for row in rows if row.needed]),
    "with profile": lambda rows: _mean(
        [1 - len(row.unknown) / row.needed for row in rows if row.needed]
    ),
    "silence": lambda rows: _mean([not row.shown for row in rows if row.is_silent]),
    "false sil.": lambda rows: _mean([not row.shown for row in rows if row.needed]),
    "stale": lambda rows: _mean([bool(row.stale_as_current) for row in rows if row.has_stale]),
    "exact": lambda rows: _mean([_is_exact(row) for row in rows]),
    "items": lambda rows: _mean([row.shown for row in rows]),
    "tokens": lambda rows: _mean([row.tokens for row in rows]),
    "right text": lambda rows: _ratio(
        sum(row.right_characters for row in rows), sum(row.characters for row in rows)
    ),
}
"""precision: share of what was shown for a prompt that needs something which belongs, averaged over
these prompts. pooled: the same share of everything shown, for silent prompts too. recall: share of
the needed that was shown; with profile: or stands in the profile. silence: share of silent prompts
with exactly nothing. false sil.: share of the others with nothing. stale: share of prompts with a
stale message that was shown unmarked. exact: everything needed and nothing wrong. right text: share
of the characters that belong.
"""


def measure_interval(
    rows: Sequence[JudgedPrompt], metric: Metric, samples: int, seed: int
) -> tuple[float, float] | None:
    """Measure the 95 % bootstrap interval of a metric over prompts."""
    if samples <= 0 or len(rows) < 2:
        return None
    chance = random.Random(seed)
    drawn = [metric(chance.choices(rows, k=len(rows))) for _ in range(samples)]
    values = sorted(value for value in drawn if value is not None)
    if not values:
        return None
    last = len(values) - 1
    return values[int(0.025 * last)], values[int(0.975 * last)]


def format_table(rows: Sequence[JudgedPrompt], samples: int, seed: int) -> str:
    """Format all metrics: of all prompts, by kind of world, by world and by type of prompt."""
    groups: dict[str, list[JudgedPrompt]] = {"all": list(rows)}
    for row in sorted(rows, key=lambda row: (row.kind, row.world)):
        groups.setdefault(f"kind {row.kind}", []).append(row)
    for row in sorted(rows, key=lambda row: row.world):
        groups.setdefault(f"world {row.world}", []).append(row)
    for row in sorted(rows, key=lambda row: TYPES.index(row.type)):
        groups.setdefault(f"type {row.type}", []).append(row)
    head = ["", "n", *METRICS]
    lines = [head]
    for name, group in groups.items():
        cells = [_format_cell(group, metric, samples, seed) for metric in METRICS]
        lines.append([name, str(len(group)), *cells])
    widths = [max(len(line[column]) for line in lines) for column in range(len(head))]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip()
        for line in lines
    )


def _format_cell(rows: Sequence[JudgedPrompt], name: str, samples: int, seed: int) -> str:
    metric = METRICS[name]
    value = metric(rows)
    if value is None:
        return "-"
    if name in _PLAIN_NUMBERS:
        return f"{value:.1f}"
    interval = measure_interval(rows, metric, samples, seed)
    bounds = f" [{interval[0]:.2f} {interval[1]:.2f}]" if interval else ""
    return f"{value:.2f}{bounds}"
