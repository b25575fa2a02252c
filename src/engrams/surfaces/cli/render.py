"""Format memories as text and JSON."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from engrams.core.document_location import describe_location, read_location
from engrams.core.meta_keys import describe_speaker
from engrams.core.tellers_clock import on_tellers_clock
from engrams.surfaces.cli.output import clean, fit_line, format_time, paint, say, to_json

if TYPE_CHECKING:
    from engrams.core import Hit, OutdatedMark, Receipt, Record

_WHY = {
    "cos": "close in meaning",
    "cosctx": "it and the messages just before it are close in meaning",
    "bm": "uses the same words",
    "bmctx": "it and the messages just before it use the same words",
    "identifier": "contains the number or code you ask for",
    "bmses": "its conversation is about this",
    "speaker": "said by the person you ask about",
    "date": "from the time you ask about",
    "question": "is a question itself",
    "when": "contains a time, which you ask for",
    "length": "is longer than a word or two",
    "recency": "recent",
    "importance": "important",
    "confidence": "certain",
    "fact": "a fact derived from it matches",
    "linked": "linked to another result",
    "current": "newer than a better match, which it replaces or may replace",
}
_LEAST = 0.005
_MOST = 4


def hit_to_dict(hit: Hit) -> dict[str, Any]:
    """Convert a hit to JSON values: record and score."""
    record = hit.record
    return {
        "id": record.id,
        "text": record.text,
        "kind": record.kind,
        "status": hit.status,
        "outdated": mark_to_dict(hit.outdated),
        "ended_clauses": [mark_to_dict(mark) for mark in hit.ended_clauses],
        "score": round(float(hit.score), 6),
        "probability": hit.probability,
        "helps": hit.helps,
        "code": hit.code.to_json() if hit.code else None,
        "valid_from": record.valid_from,
        "valid_to": record.valid_to,
        "recorded_at": record.recorded_at,
        "speaker": record.speaker,
        "scope": record.scope,
        "session": record.session,
        "role": record.role,
        "external_id": record.external_id,
        "caption": record.caption,
        "document": describe_location(record),
        "facts": [fact_to_dict(fact) for fact in hit.facts],
        "parts": {name: round(float(part), 6) for name, part in hit.parts.items()},
    }


def mark_to_dict(mark: OutdatedMark | None) -> dict[str, Any] | None:
    """Convert the mark of an outdated statement to JSON values."""
    if mark is None:
        return None
    return {
        "by": mark.by,
        "said_at": mark.said_at,
        "probability": round(mark.probability, 3),
        "closed": mark.closed,
        "told": mark.is_told,
        "words": mark.words,
        "clause": mark.clause,
    }


def fact_to_dict(record: Record) -> dict[str, Any]:
    """Convert a derived fact to JSON values."""
    names = (
        "id",
        "text",
        "kind",
        "status",
        "subject",
        "predicate",
        "object",
        "valid_from",
        "valid_to",
    )
    return {name: getattr(record, name) for name in names}


def speaker_name(record: Record) -> str:
    """Return the speaker's name, the role of a message, or the place of a passage."""
    location = read_location(record)
    if location is not None:
        return location.label
    return describe_speaker(record) or (record.role if record.kind == "turn" else "")


def record_line(record: Record, columns: int) -> str:
    """Show a memory in one line: a statement by its triple and words, all else by its text."""
    from engrams.core.statement_form import form_statement

    return fit_line(form_statement(record).brief, columns)


def explain_parts(parts: Mapping[str, float]) -> tuple[str, str]:
    """List the strongest reasons for and against a memory."""
    ranked = sorted(parts.items(), key=lambda part: -abs(part[1]))
    reasons = [
        (f"{_WHY.get(name, name)} ({value:+.2f})", value)
        for name, value in ranked
        if abs(value) >= _LEAST
    ]
    raising = [text for text, value in reasons if value > 0]
    lowering = [text for text, value in reasons if value < 0]
    return ", ".join(raising[:_MOST]), ", ".join(lowering[:_MOST])


def print_hit(rank: int, hit: Hit) -> None:
    """Print one hit."""
    from engrams.core.statement_form import form_statement
    from engrams.spaces import find_space_name

    record = hit.record
    about = [
        format_time(record.valid_from or record.recorded_at),
        speaker_name(record),
        "" if hit.status == "active" else str(hit.status),
        f"space {space}" if (space := find_space_name(record.scope)) else "",
    ]
    mark = hit.outdated
    if mark is not None and mark.is_told and not mark.closed and not hit.ended_clauses:
        about.append(f"may be outdated, {mark.tell()}, see {mark.by}")
    if hit.code is not None and hit.code.note:
        about.append(f"code: {hit.code.note}")
    head = (
        f"{rank:>2}. {paint(f'{hit.score:.2f}', 'green')}  {paint(record.id, 'dim')} "
        f" {clean('  '.join(part for part in about if part))}"
    )
    say(head.rstrip())
    for line in clean(hit.annotate(form_statement(record).brief)).splitlines() or [""]:
        say(f"    {line}")
    if record.caption:
        say(f"    {paint(f'[{clean(record.caption)}]', 'dim')}")
    for fact in hit.facts:
        if fact.valid_to:
            ended = f" (until {on_tellers_clock(fact, fact.valid_to):%Y-%m-%d})"
        elif fact.status == "active":
            ended = ""
        else:
            ended = f" ({fact.status})"
        say(f"    {paint('·', 'cyan')} {clean(form_statement(fact).brief)}{ended}")


def print_receipt(receipt: Receipt, text: str) -> None:
    """Print the outcome of a write."""
    # The text may hold the removed or refused secret, or what is not to be kept: do not print it.
    hidden = receipt.outcome in ("refused", "redacted", "unsaved") or any(
        decision.verdict == "redacted" for decision in receipt.decisions
    )
    colour, shown_text = ("yellow", "") if hidden else ("green", fit_line(text, 100))
    say(f"{paint(receipt.outcome, colour)}  {paint(receipt.id, 'dim')}  {shown_text}".rstrip())
    for change in receipt.derived:
        replaced = f", replaces {', '.join(change.replaces)}" if change.replaces else ""
        say(
            f"    {change.verdict} {change.kind}: {clean(change.shown or change.text)}{paint(replaced, 'dim')}"
        )
    for choice in receipt.decisions:
        if choice.reason and (receipt.outcome != "stored" or not receipt.searchable):
            say(f"    {choice.stage}: {clean(choice.reason)}")
    if receipt.pending:
        say(
            paint(
                f"    pending: {', '.join(receipt.pending)} (`engrams serve` does it, or `engrams"
                " status --wait`)",
                "dim",
            )
        )


def describe_record(record: Record) -> dict[str, Any]:
    """Return all fields of a memory, with its basis and when it was last said."""
    from engrams.core import find_basis
    from engrams.core.meta_keys import last_said_at

    said_at = to_json(last_said_at(record))
    return {**to_json(record), "basis": find_basis(record), "last_said_at": said_at}


def print_record(record: Record) -> None:
    """Print all non-empty fields of a memory."""
    from engrams.core.statement_form import is_quotation, render_statement

    fields = {
        name: display_value
        for name, value in describe_record(record).items()
        if (display_value := _display_value(value))
    }
    fields["scope"] = record.scope.key
    text = fields.pop("text", "")
    if is_quotation(record):
        text = render_statement(record)
    say(clean(text) if text else paint("(no text)", "dim"))
    say()
    size = max(len(name) for name in fields)
    for name, display_value in fields.items():
        say(f"{paint(name.ljust(size), 'dim')}  {clean(display_value)}")


def _display_value(value: Any) -> str:
    import json

    if isinstance(value, dict):
        value = {name: item for name, item in value.items() if item not in ("", [], None)}
    if value in (None, "", [], {}):
        return ""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
