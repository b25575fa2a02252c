"""Redaction of secrets and personal data in texts and JSON, as the settings ask.

Enter at ``redact_text`` for one text, at ``redact_fields`` for those of a message.
"""

from __future__ import annotations

from collections.abc import Mapping

from engrams.core import Json, Meta, StageDecision, content_hash
from engrams.extract import pii_detection, secrets
from engrams.settings import WriteSettings


def redact_text(text: str, settings: WriteSettings) -> tuple[str, tuple[StageDecision, ...]]:
    """Redact a text; return it with one decision for each family of secrets in it.

    The decisions never repeat a secret. Their verdict is ``refused`` where the settings say that
    such a text is not stored.
    """
    decisions: list[StageDecision] = []
    for stage, mode, scan in (
        ("secrets", settings.secrets, secrets.scan),
        ("pii", settings.pii, pii_detection.scan),
    ):
        if mode in ("off", "allow"):
            continue
        findings = scan(text)
        if findings:
            verdict = "refused" if mode == "refuse" else "redacted"
            families = dict.fromkeys(finding.rule for finding in findings)
            decisions.extend(StageDecision(stage, verdict, family) for family in families)
            text = secrets.replace_findings(text, findings)
    return text, tuple(decisions)


def redact_fields(
    fields: dict[str, str], meta: Meta, settings: WriteSettings
) -> tuple[dict[str, str], tuple[StageDecision, ...]]:
    """Redact the text fields of a message; its metadata is only looked at.

    Returns the fields by name, and the decisions about fields and metadata, each once.
    """
    redacted: dict[str, str] = {}
    decisions: list[StageDecision] = []
    for name, text in fields.items():
        redacted[name], in_field = redact_text(text, settings) if text else (text, ())
        decisions.extend(in_field)
    for text in _collect_strings(meta):
        decisions.extend(redact_text(text, settings)[1])
    return redacted, tuple(dict.fromkeys(decisions))


def redact_json(value: Json, settings: WriteSettings) -> Json:
    """Redact every text in a JSON value."""
    match value:
        case str():
            return redact_text(value, settings)[0]
        case Mapping():
            return {
                redact_text(key, settings)[0]: _redact_pair(key, item, settings)
                for key, item in value.items()
            }
        case list() | tuple():
            return [redact_json(item, settings) for item in value]
        case _:
            return value


def redact_id(name: str, settings: WriteSettings) -> str:
    """Replace an id that is a secret by its hash, so that equal ones stay equal."""
    redacted = redact_text(name, settings)[0]
    return name if redacted == name else f"redacted-{content_hash(name)[:20]}"


def _redact_pair(key: str, item: Json, settings: WriteSettings) -> Json:
    """Redact an object's item by its name too: ``{"password": "hunter2"}``."""
    if not isinstance(item, str):
        return redact_json(item, settings)
    label = f"{key}: "
    redacted = redact_text(f"{label}{item}", settings)[0]
    if redacted.startswith(label):
        return redacted.removeprefix(label)
    # The secret began in the name: the item is redacted by itself.
    return redact_text(item, settings)[0]


def _collect_strings(value: Json) -> list[str]:
    """List every text in a JSON value, and each text item of an object with its name."""
    match value:
        case str():
            return [value]
        case Mapping():
            return [
                text
                for key, item in value.items()
                for text in (
                    key,
                    *_collect_strings(item),
                    f"{key}: {item}" if isinstance(item, str) else "",
                )
            ]
        case list() | tuple():
            return [text for item in value for text in _collect_strings(item)]
        case _:
            return []
