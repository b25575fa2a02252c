"""Pause between garden cycles, and their token budget. Pure."""

from __future__ import annotations

from engrams.settings import GardenSettings

_DOUBLED = 6
"""Failures after which the pause grows no further: 64 times (003)."""


def compute_pause(asked: float | None, left: int | None, failures: int, section: GardenSettings) -> float:
    """Return the minutes until the next cycle.

    ``asked``: the model's wish (None: it named nothing). ``left``: tokens left today (None: unknown). ``failures``: failed cycles in a
    row. Always within ``least_minutes`` and ``most_minutes``; the longest where nothing is known about limits or nothing is left; twice
    as long with each failure, 64 times at most (003).
    """
    if left is None or left <= 0:
        return section.max_pause_minutes
    wish = section.pause_minutes if asked is None else asked
    shortest = max(min(wish, section.max_pause_minutes), section.min_pause_minutes)
    return min(shortest * 2.0 ** min(max(failures, 0), _DOUBLED), section.max_pause_minutes)


def compute_allowance(left: int | None, section: GardenSettings) -> int:
    """Return a cycle's token budget, capped by a share of today's (003)."""
    if left is None:
        return section.model_tokens
    return max(min(section.model_tokens, int(left * section.budget_share)), 0)
