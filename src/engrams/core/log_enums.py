"""Enums of the feedback, crisis and session logs."""

from __future__ import annotations

from enum import StrEnum


class CrisisDetectionSource(StrEnum):
    """Source that noticed a crisis."""

    RULES = "rules"
    MODEL = "model"
    PERSON = "person"


class CrisisSeverity(StrEnum):
    """Severity of a crisis, from a false alarm upwards."""

    NONE = "none"
    LOW = "low"
    MODERATE = "moderate"
    HIGH = "high"


class FeedbackLabel(StrEnum):
    """Opinion on a session.

    ``skip``: they were asked and chose not to say.
    """

    POSITIVE = "positive"
    NEGATIVE = "negative"
    SKIP = "skip"


class FeedbackSource(StrEnum):
    """Occasion of the feedback.

    Asked at the session's end, by a button during it, or through a program.
    """

    PROMPT = "prompt"
    BUTTON = "button"
    API = "api"


class SessionMedium(StrEnum):
    """Medium of a session: text, voice or both."""

    TEXT = "text"
    VOICE = "voice"


class LogWriteOutcome(StrEnum):
    """Outcome of keeping a record.

    Written now, there before under its id, or not written because that failed.
    """

    STORED = "stored"
    KNOWN = "known"
    LOST = "lost"
