"""Account of a session: what it was about, how it went, and what was left open."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from engrams.core import Evidence, Json, ModelCost, Record

MAX_THEMES = 3
MAX_POINTS = 5
"""Open or resolved points of an account."""
MAX_POINT = 200
"""Characters of a point."""


@dataclass(frozen=True, slots=True)
class SessionAccount:
    """Account of a session, in one scope."""

    themes: tuple[str, ...]
    summary: str
    opened: str
    """Mood at the beginning: by rules ``glad``, ``low`` or ``neutral``, by a model its words."""
    closed: str
    """Mood at the end."""
    loops: tuple[str, ...]
    """Points that were left open: unanswered questions, and plans."""
    resolved: tuple[str, ...]
    evidence: tuple[Evidence, ...]
    extractor: str = "rules"
    """Name of the model that told it, or ``rules``."""
    prompt: str = ""
    """Hash of the model's prompt."""
    cost: ModelCost = field(default_factory=ModelCost)

    @property
    def statements(self) -> tuple[str, ...]:
        """Texts that can support a held statement: themes, summary, points."""
        return (*self.themes, self.summary, *self.loops, *self.resolved)

    def to_metadata(self, turns: Sequence[Record], crisis: str) -> dict[str, Json]:
        """Convert to record metadata. ``crisis`` comes from the caller alone."""
        minutes = (turns[-1].recorded_at - turns[0].recorded_at).total_seconds() / 60
        return {
            "themes": list(self.themes),
            "mood": {"opened": self.opened, "closed": self.closed},
            "open_loops": list(self.loops),
            "resolved": list(self.resolved),
            "minutes": round(max(0.0, minutes), 1),
            "turns": len(turns),
            "crisis": crisis,
        }


def shorten_points(texts: Sequence[str]) -> tuple[str, ...]:
    """Return at most five points on one line each, each once, cut to 200 characters."""
    points: dict[str, None] = {}
    for text in texts:
        point = " ".join(text.split())
        if point:
            points[point if len(point) <= MAX_POINT else point[: MAX_POINT - 1] + "…"] = None
    return tuple(points)[:MAX_POINTS]
