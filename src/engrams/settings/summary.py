"""Summaries of conversations."""

from __future__ import annotations

from typing import Self

from pydantic import Field, model_validator

from engrams.settings.section import Section


class SummarySettings(Section):
    """The running summary of a prompt's older messages (001), and the rolling one of what a conversation taught (002)."""

    rolling: bool = Field(False, description="Bring a summary of each conversation up to date after a model learned from it (002).")
    max_tokens: int = Field(4000, ge=16, description="Tokens the messages of a prompt may have, their summary included (001).")
    before: int = Field(0, ge=0, description="Tokens of messages from which they are summarised (001); 0: `summary.max_tokens`.")
    tokens: int = Field(256, ge=1, description="Tokens of a summary (001); fewer than `summary.max_tokens`.")
    tool_characters: int = Field(20_000, ge=1, description="Characters of a tool's result that an emergency trim leaves (001).")

    @model_validator(mode="after")
    def _fits(self) -> Self:
        if self.tokens >= self.max_tokens:
            raise ValueError("summary.tokens must be less than summary.max_tokens")
        return self
