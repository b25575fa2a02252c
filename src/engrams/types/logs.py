"""The closed words of the logs that no prompt ever reads."""

from __future__ import annotations

from enum import StrEnum


class Classifier(StrEnum):
    """What noticed a crisis."""

    RULES = "rules"
    MODEL = "model"
    PERSON = "person"


class Severity(StrEnum):
    """How grave it was taken to be, from a false alarm upwards (004: levels 0 to 3)."""

    NONE = "none"
    LOW = "low"
    MODERATE = "moderate"
    HIGH = "high"


class Label(StrEnum):
    """What somebody thought of a session. ``skip``: they were asked and chose not to say."""

    POSITIVE = "positive"
    NEGATIVE = "negative"
    SKIP = "skip"


class Source(StrEnum):
    """Where they said so: asked at the session's end, by a button during it, or through a program."""

    PROMPT = "prompt"
    BUTTON = "button"
    API = "api"


class Modality(StrEnum):
    """How the session was held."""

    TEXT = "text"
    VOICE = "voice"


class Kept(StrEnum):
    """What became of a record: written now, there before under its id, or not written because that failed."""

    STORED = "stored"
    KNOWN = "known"
    LOST = "lost"
