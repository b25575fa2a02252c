"""The review of what was learned long ago, and the merging of what belongs together."""

from __future__ import annotations

from pydantic import Field

from engrams.settings.section import Section


class ReviewSettings(Section):
    """What a chat model is asked about facts now and then. Nothing is erased: a review can be undone."""

    stale: bool = Field(False, description="Let the chat model say which old facts are out of date (001).")
    merge: bool = Field(False, description="Let it merge related facts of a large category (001).")
    confirm: bool = Field(False, description="A review waits for somebody to apply its plan.")
    hours: float = Field(24.0, gt=0, description="Hours after something was learned until an owner's facts are reviewed.")
    days: int = Field(90, ge=1, description="Days from which a fact is old (001).")
    least: int = Field(3, ge=1, description="Old facts there must be to ask about (001).")
    most: int = Field(10, ge=1, description="Facts put away in one review at most (001).")
    facts: int = Field(8, ge=2, description="Facts a category must have for some of them to be merged (001).")
    groups: int = Field(3, ge=1, description="Merged facts a review makes at most (001).")
    sources: int = Field(8, ge=2, description="Facts that go into a merged one at most (001).")
