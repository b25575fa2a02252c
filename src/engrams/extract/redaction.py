"""Redaction of secrets and personal data in texts and JSON, as the settings ask.

Enter at ``redact_text`` for one text, at ``redact_fields`` for those of a message.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from engrams.core import Json, Meta, StageDecision, content_hash
from engrams.errors import RefusedError
from engrams.extract import pii_detection, secrets
from engrams.extract.secrets import SecretFinding
from engrams.settings import WriteSettings
from engrams.text.vocabulary import read_classes

_KIND_OF_FAMILY = {
    family: kind
    for kind, families in read_classes(__file__, "secret_kinds").items()
    for family in families
}


def find_sensitive(text: str) -> tuple[SecretFinding, ...]:
    """Find secrets and personal data in a text, in order, without overlaps; secrets go first."""
    secret_findings = secrets.scan(text)
    personal = [
        finding
        for finding in pii_detection.scan(text)
        if not any(
            finding.start < secret.end and secret.start < finding.end for secret in secret_findings
        )
    ]
    return tuple(sorted((*secret_findings, *personal), key=lambda finding: finding.start))


def name_kind(family: str) -> str:
    """Return the kind of a family, as ``write.secrets_of`` names it: ``key`` of ``github-token``."""
    return _KIND_OF_FAMILY.get(family, "key")


def redact_text(text: str, settings: WriteSettings) -> tuple[str, tuple[StageDecision, ...]]:
    """Redact a text; return it with one decision for each family of secrets in it.

    The decisions never repeat a secret. Their verdict is ``refused`` where the settings say that
    such a text is not stored.
    """
    findings = _find_treatable(text, settings)
    if not findings:
        return text, ()
    treatments = {
        finding.rule: settings.choose_treatment(name_kind(finding.rule)) for finding in findings
    }
    treated = tuple(finding for finding in findings if treatments[finding.rule] != "allow")
    decisions = tuple(
        StageDecision(
            "pii" if family in pii_detection.FAMILIES else "secrets",
            "refused" if treatment == "refuse" else "redacted",
            family,
        )
        for family, treatment in treatments.items()
        if treatment != "allow"
    )
    return secrets.replace_findings(text, treated), decisions


def refuse_secrets(decisions: Sequence[StageDecision]) -> None:
    """Raise the RefusedError of what the settings refuse to store, if a decision says so."""
    families = [decision.reason for decision in decisions if decision.verdict == "refused"]
    if not families:
        return
    kinds = dict.fromkeys(name_kind(family) for family in families)
    pairs = ",".join(f"{kind}=redact" for kind in kinds)
    raise RefusedError(
        f"Not stored: it contains a secret ({', '.join(dict.fromkeys(families))}).",
        hint=f"Remove it, or set `write.secrets_of` to {pairs}.",
    )


def redact_labels(labels: Iterable[str], settings: WriteSettings) -> tuple[str, ...]:
    """Redact tags, triggers and names, each once. RefusedError: one holds what is refused."""
    redacted = []
    for label in labels:
        text, decisions = redact_text(label, settings)
        refuse_secrets(decisions)
        redacted.append(text)
    return tuple(dict.fromkeys(redacted))


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
    decisions.extend(find_decisions(meta, settings))
    return redacted, tuple(dict.fromkeys(decisions))


def find_decisions(value: Json, settings: WriteSettings) -> tuple[StageDecision, ...]:
    """Return one decision for each family of secrets in the texts of a JSON value."""
    decisions = [
        decision for text in _collect_strings(value) for decision in redact_text(text, settings)[1]
    ]
    return tuple(dict.fromkeys(decisions))


def find_secret_words(
    value: Json, settings: WriteSettings
) -> Iterator[tuple[str, tuple[str, ...], str]]:
    """Yield each secret in the texts of a JSON value that the settings do not allow.

    Its family; the secret, and the whole word that it is a part of (``-pS3cret``); the text.
    """
    for text in _collect_strings(value):
        for finding in _find_treatable(text, settings) if text else ():
            if settings.choose_treatment(name_kind(finding.rule)) == "allow":
                continue
            words = (text[finding.start : finding.end], _widen(text, finding))
            yield finding.rule, tuple(dict.fromkeys(words)), text


def _find_treatable(text: str, settings: WriteSettings) -> Sequence[SecretFinding]:
    """Find what the settings may not allow: in most homes no personal data need be looked for."""
    if settings.pii == "allow" and not settings.secrets_of:
        return secrets.scan(text)
    return find_sensitive(text)


def _widen(text: str, finding: SecretFinding) -> str:
    """Return the secret with the letters and digits right before and behind it."""
    start, end = finding.start, finding.end
    while start and text[start].isalnum() and text[start - 1].isalnum():
        start -= 1
    while end < len(text) and text[end - 1].isalnum() and text[end].isalnum():
        end += 1
    return text[start:end]


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
