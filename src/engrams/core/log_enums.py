"""Enums of the feedback, crisis and session logs."""

from __future__ import annotations

from enum import StrEnum


class CrisisDetectionSource(StrEnum):
    """Source that noticed a crisis."""

    RULES = "rules"
    MODEL = "model"
    PERSON = "person"


class CrisisSeverity(StrEnum):
    """Severity of a crisis."""

    NONE = "none"
    """A false alarm."""
    LOW = "low"
    MODERATE = "moderate"
    HIGH = "high"


class FeedbackLabel(StrEnum):
    """Somebody's opinion on a session."""

    POSITIVE = "positive"
    NEGATIVE = "negative"
    SKIP = "skip"
    """They were asked, and chose not to say."""


class FeedbackSource(StrEnum):
    """Occasion of the feedback."""

    PROMPT = "prompt"
    """A question at the session's end."""
    BUTTON = "button"
    """A button during the session."""
    API = "api"
    """A program."""


class SessionMedium(StrEnum):
    """Medium of a session."""

    TEXT = "text"
    VOICE = "voice"


class LogWriteOutcome(StrEnum):
    """Outcome of adding a record to a log."""

    STORED = "stored"
    KNOWN = "known"
    """A record with its id was there before."""
    LOST = "lost"
    """It could not be written."""
