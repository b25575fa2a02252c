"""Tables of a run: scores by system and category, with bootstrap intervals."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

import numpy as np

from bench.answers.sheets import AskedRow
from bench.quality.metrics import bootstrap_interval

_WORD = re.compile(r"\w+")
_ENTITIES = (("&lt;", "<"), ("&gt;", ">"), ("&quot;", '"'), ("&#39;", "'"), ("&amp;", "&"))
_RUN = 4


def cover_evidence(evidence: Sequence[str], context: str) -> float:
    """Share of the evidence's words that stand in a context in runs of four.

    0..1, the mean over the turns; of a shorter turn the whole.
    """
    for entity, sign in _ENTITIES:
        context = context.replace(entity, sign)
    shown = " ".join(["", *_words(context), ""])
    return float(
        np.mean([_cover(_words(each.split(": ", 1)[-1]), shown) for each in evidence] or [0.0])
    )


def _words(text: str) -> list[str]:
    return [str(word) for word in _WORD.findall(text.casefold())]


def _cover(words: Sequence[str], shown: str) -> float:
    size = min(_RUN, len(words))
    seen: set[int] = set()
    for start in range(len(words) - size + 1):
        if f" {' '.join(words[start : start + size])} " in shown:
            seen.update(range(start, start + size))
    return len(seen) / len(words) if words else 1.0


def format_report(key: Sequence[AskedRow], scores: Mapping[str, float], title: str) -> str:
    """Table of the mean scores (0..1 by id, printed in %) by category, then paired differences to
    the first system.
    """
    systems = list(dict.fromkeys(row.system for row in key))
    rows = [row for row in key if row.id in scores]
    width = max(12, *(len(name) + 2 for name in systems))
    lines = [f"{title:34}{'n':>5}" + "".join(f"{name:>{width + 14}}" for name in systems)]
    values = {(row.question, row.system): scores[row.id] for row in rows}
    parts = {
        "all": rows,
        **{
            each: [row for row in rows if row.category == each]
            for each in sorted({row.category for row in rows})
        },
    }
    for name, some in parts.items():
        asked = {row.question for row in some}
        cells = [
            _format_mean([values[one, system] for one in asked if (one, system) in values], width)
            for system in systems
        ]
        lines.append(f"{name:34}{len(asked):5}" + "".join(cells))
    tokens = [
        np.mean([row.tokens for row in rows if row.system == system] or [0]) for system in systems
    ]
    lines.append(
        f"{'tokens of a context, mean':39}"
        + "".join(f"{each:{width}.0f}{'':14}" for each in tokens)
    )
    for other in systems[1:]:
        lines.append(f"\n{systems[0]} - {other}, the same questions")
        lines += [
            _format_gap(name, [row.question for row in some], values, systems[0], other)
            for name, some in parts.items()
        ]
    missing = len(key) - len(rows)
    return "\n".join(lines) + (
        f"\n\n{missing} of {len(key)} have no score and count nowhere" if missing else ""
    )


def _format_mean(scores: Sequence[float], width: int) -> str:
    if not scores:
        return f"{'-':>{width}}{'':14}"
    low, high = bootstrap_interval(scores)
    return f"{100 * float(np.mean(scores)):{width}.1f} {f'{100 * low:.1f}–{100 * high:.1f}':<13}"


def _format_gap(
    name: str, asked: Sequence[str], values: Mapping[tuple[str, str], float], ours: str, theirs: str
) -> str:
    gaps = [
        values[one, ours] - values[one, theirs]
        for one in dict.fromkeys(asked)
        if (one, ours) in values and (one, theirs) in values
    ]
    low, high = bootstrap_interval(gaps)
    better = sum(gap > 0 for gap in gaps)
    worse = sum(gap < 0 for gap in gaps)
    middle = float(np.mean(gaps)) if gaps else 0.0
    return (
        f"{name:34}{len(gaps):5}{100 * middle:+8.1f} ({100 * low:+.1f} … {100 * high:+.1f}), better"
        f" {better}, worse {worse}"
    )
