"""The garden: what is looked after between conversations (003)."""

from __future__ import annotations

from typing import Literal, get_args

from pydantic import Field

from engrams.settings.section import Section, Share

Job = Literal["sessions", "embed", "verify", "merge", "conflicts", "prune", "links", "strengthen", "topics", "tags", "agent"]
JOBS: tuple[Job, ...] = get_args(Job)
"""What a cycle does, in this order."""


class GardenSettings(Section):
    """Upkeep of an owner's whole memory, off the path. Nothing is erased, and the last cycles can be undone."""

    on: bool = Field(False, description="Start cycles by themselves (003). `engrams garden run` works without.")
    jobs: tuple[Job, ...] = Field(JOBS, description=f"What a cycle does: {', '.join(JOBS)}.")
    hours: float = Field(24.0, ge=0, description="Hours after something was learned until a cycle starts; 0: never for that.")
    idle_minutes: float = Field(0.0, ge=0, description="Minutes of quiet after which one starts; 0: never for that.")
    size: int = Field(0, ge=0, description="Active memories of an owner beyond which one starts; 0: never for that.")
    quiet_minutes: float = Field(5.0, ge=0, description="While somebody spoke within so many minutes, a cycle waits.")
    confirm: bool = Field(False, description="What merges or puts away waits for `engrams garden run`; the rest is done.")
    conflicts: Literal["ask", "auto"] = Field("ask", description="ask: conflicts wait for a decision. auto: the newer statement holds.")
    merge: Share = Field(0.95, ge=0, le=1, description="Cosine above which two statements of the same are one (003).")
    prune: Share = Field(0.05, ge=0, le=1, description="Confidence below which a memory is put away, unless it was said twice (003).")
    prune_hours: float = Field(24.0, ge=0, description="Age from which it may be (003).")
    fades: bool = Field(False, description="Age, use and trust count in that confidence, each kind with its own time (003).")
    link: Share = Field(0.6, ge=0, le=1, description="Weight of a link between memories of different sessions (003).")
    together: int = Field(3, ge=1, description="Searches that found two memories together until their link grows.")
    root: str = Field("", description="Folder of the files that facts may rest on; empty: files are not looked at.")
    doubt: Share = Field(0.5, ge=0, le=1, description="What is left of a fact's confidence when its file is gone or has changed.")
    most: int = Field(200, ge=1, description="Changes of one job in one cycle at most.")
    steps: int = Field(6, ge=1, description="Answers of the chat model in one cycle at most.")
    tokens: int = Field(10_000, ge=0, description="Tokens of the chat model in one cycle at most (003); 0: no model.")
    headroom: Share = Field(0.2, ge=0, le=1, description="Share of what is left of the day's tokens that a cycle may use (003).")
    least_minutes: float = Field(5.0, gt=0, description="Shortest pause that the model may ask for (003).")
    most_minutes: float = Field(120.0, gt=0, description="Longest one, and where nothing is known about limits (003).")
    pause_minutes: float = Field(30.0, gt=0, description="The pause where the model named none (003).")
