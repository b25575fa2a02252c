"""Categories of statements: the engine's six words (001)."""

from __future__ import annotations

from engrams.types import Kind

CATEGORIES = ("preference", "knowledge", "context", "behavior", "goal", "correction")
"""Likes; facts; temporary circumstances; habits; aims; earlier errors."""

_SPELLED = {"behaviour": "behavior", "behaviors": "behavior", "preferences": "preference", "goals": "goal", "corrections": "correction"}
_OF_KIND = {
    Kind.PREFERENCE: "preference",
    Kind.CORRECTION: "correction",
    Kind.PROCEDURE: "behavior",
    Kind.RULE: "behavior",
    Kind.NEGATIVE: "behavior",
}


def normalize_category(given: str, kind: Kind) -> str:
    """Normalize a model's category; without one, derive it from the kind."""
    word = " ".join(given.casefold().split())
    return _SPELLED.get(word, word) or _OF_KIND.get(kind, "knowledge")
