"""Extraction by a chat model: enter at ``extract_by_model``.

Every statement names a quote, and one whose quote is not literally in a message is dropped: so a
model cannot add what nobody said.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Annotated, Any, Literal, TypeAlias, get_args

from pydantic import BaseModel, Field, ValidationError, field_validator, model_validator

from engrams.core import (
    LAYER_OF,
    UTC_OFFSET,
    Evidence,
    Kind,
    Layer,
    ModelCost,
    Record,
    StageDecision,
)
from engrams.core.clock import local_time, parse_time
from engrams.core.tellers_clock import told_at
from engrams.errors import ModelError
from engrams.extract.by_model.quote_support import find_lack, keep_telling
from engrams.extract.candidate import CandidateStatement, canonical_subject, normalize_category
from engrams.extract.policy import asks_to_remember_fact
from engrams.extract.predicate_slots import canonical_predicate, is_contrary, is_single
from engrams.extract.rules.clause_times import find_statement_times
from engrams.extract.rules.rule_extraction import is_explicit
from engrams.frozen_data import dataclass
from engrams.ports import ChatMessage, ChatModel, ChatRequest
from engrams.prompts import load, quote
from engrams.text.normalize import fold
from engrams.text.stems import differ_in_language
from engrams.text.tag_removal import remove_tagged

_MAX_MESSAGES = 40
_MAX_CHARACTERS = 24_000
"""Messages of one call, and their characters, at most."""
_LONG_CONTEXT = 600
"""Characters from which a message shown as context is shortened to its two ends."""
_MAX_GAPS = 20
"""Open questions that a model is shown at most."""
_MAX_PER_MESSAGE = 24
"""Statements of one message at most."""
_RETRIES = 2
"""Times that a model is asked again after an answer that cannot be used."""
_UPLOAD = re.compile(r"<(uploaded_files?|attachments?|file_contents?)>", re.IGNORECASE)
_MOST_OF_TEN = 10.0
"""Number above which a share can only be one in percent."""
_SHARE_OF_WORD = {"low": 0.3, "medium": 0.6, "high": 0.9}
_MAX_QUOTE = 280
_MIN_STANDALONE_QUOTE = 12
"""Characters from which a quote can stand for its statement."""
_FUTURE = timedelta(days=50 * 365)
"""Longest time ahead at which something may begin; a later date is a mistake."""


# Loose on purpose: a bad row is skipped later and does not invalidate the others. The quote comes
# first: a small model that has copied the words says better what they mean.
_TEXTS = {"type": "array", "items": {"type": "string"}}
SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "statements": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {
                    "turn": {"type": "integer"},
                    "quote": {"type": "string"},
                    "text": {"type": "string"},
                    "subject": {"type": "string"},
                    "predicate": {"type": "string"},
                    "object": {"type": "string"},
                    "kind": {"type": "string"},
                    "category": {"type": "string"},
                    "avoid": {"type": "string"},
                    "negative": {"type": "boolean"},
                    "effect": {"type": "string"},
                    "confidence": {"type": ["number", "string"]},
                    "importance": {"type": ["number", "string"]},
                    "from": {"type": ["string", "null"]},
                    "triggers": _TEXTS,
                    "steps": _TEXTS,
                    "prerequisites": _TEXTS,
                    "warnings": _TEXTS,
                    "tags": _TEXTS,
                },
            },
        }
    },
    "required": ["statements"],
}


_ASSISTANT = frozenset(
    (
        "assistant",
        "the assistant",
        "ai",
        "the ai",
        "chatbot",
        "the chatbot",
        "language model",
        "the language model",
    )
)
_PASTED = re.compile(r"```.*?(?:```|\Z)|^[ \t]{0,8}>[^\n]*", re.DOTALL | re.MULTILINE)
_CITED = re.compile(r'"[^"\n]{20,}"|“[^“”]{20,}”|„[^„“”]{20,}[“”]|«[^«»]{20,}»|「[^「」]{10,}」')
_TAG = re.compile(r"<(\w{1,40})>")


_Share: TypeAlias = Annotated[float, Field(ge=0, le=1)] | Literal["low", "medium", "high"]
_StatementKind: TypeAlias = Literal[
    "", "fact", "preference", "rule", "negative", "procedure", "correction"
]
_MAX_CATEGORY = 60
_INSTRUCTIONS = (Kind.RULE, Kind.NEGATIVE, Kind.PROCEDURE)


class ExtractedStatement(BaseModel):
    """One statement as a model returns it."""

    turn: int = Field(ge=1)
    text: str = Field(min_length=3, max_length=600)
    quote: str = Field(min_length=1, max_length=_MAX_QUOTE)
    subject: str = Field("", max_length=200)
    predicate: str = Field("", max_length=200)
    object: str = Field("", max_length=400)
    kind: _StatementKind = "fact"
    category: str = Field("", max_length=_MAX_CATEGORY)
    avoid: str = Field("", max_length=400)
    negative: bool = False
    effect: Literal["states", "changes", "ends", "corrects"] = "states"
    confidence: _Share = 0.8
    importance: _Share = 0.5
    since: str | None = Field(None, alias="from")
    triggers: tuple[str, ...] = ()
    steps: tuple[str, ...] = ()
    prerequisites: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()

    @model_validator(mode="before")
    @classmethod
    def _read_kind(cls, row: Any) -> Any:
        """Read a kind of the model's own as the category of a fact, and one with a capital."""
        kind = row.get("kind") if isinstance(row, dict) else None
        if not isinstance(kind, str):
            return row
        known_kind = kind.strip().lower()
        if known_kind in get_args(_StatementKind):
            return {**row, "kind": known_kind}
        return {
            **row,
            "kind": "fact",
            "category": row.get("category") or known_kind[:_MAX_CATEGORY],
        }

    @field_validator("confidence", "importance", mode="before")
    @classmethod
    def _read_percentage(cls, share: Any) -> Any:
        """Models write a share in percent, too: 90, "90%"."""
        text = str(share).strip()
        try:
            number = float(text.removesuffix("%"))
        except ValueError:
            return share
        is_percentage = text.endswith("%") or number > _MOST_OF_TEN
        return number / 100 if is_percentage else share


@dataclass(frozen=True, slots=True)
class ExtractionContext:
    """Material that a model is shown beside the messages to extract from."""

    known_statements: Sequence[Record] = ()
    """Stored statements, which it should not repeat."""
    gaps: Sequence[str] = ()
    """Questions that memory could not answer."""
    prompt: str = "extract"
    """Name of the prompt."""
    addition: str = ""
    """Text behind the prompt."""
    context: Sequence[Record] = ()
    """Turns that are shown only to understand the others."""
    message_chars: int = 6000
    """Characters from which a message is shortened to its two ends."""


def extract_by_model(
    records: Sequence[Record],
    context: ExtractionContext,
    chat: ChatModel,
    batch_size: int,
    decisions: list[StageDecision],
) -> tuple[dict[str, list[CandidateStatement]], ModelCost]:
    """Extract candidates by record id, with the cost.

    A call has at most ``batch_size`` messages, 40 messages and 24,000 characters; a message over
    1,000 characters is shortened to its two ends. A statement whose quote is not literally in a
    message is dropped with a decision; a wrong message number is corrected by the quote.
    ModelError: the model fails for good.
    """
    by_record: dict[str, list[CandidateStatement]] = {}
    cost = ModelCost()
    groups = _group_records(records, batch_size, context.message_chars)
    while groups:
        group = groups.pop(0)
        statements, call_cost, was_cut = _ask_statements(group, context, chat, decisions)
        cost += call_cost
        if was_cut and len(group) > 1:
            decisions.append(
                StageDecision(
                    "extract",
                    "repair",
                    f"the answer about {len(group)} messages was cut off: asked again in two parts",
                )
            )
            groups[:0] = [group[: len(group) // 2], group[len(group) // 2 :]]
            continue
        model = (chat.name, load(context.prompt).hash)
        shown = [record.text for record in (*group, *context.known_statements, *context.context)]
        for statement in statements:
            candidate = _to_candidate(statement, group, model, shown, decisions)
            if candidate is not None:
                _add_candidate(candidate, by_record, decisions)
        if was_cut and not by_record.get(group[0].id):
            raise ModelError(
                f"{chat.name} was cut off before it gave one statement.",
                hint="Choose a model that can give longer answers.",
            )
    return by_record, cost


def _add_candidate(
    candidate: CandidateStatement,
    by_record: dict[str, list[CandidateStatement]],
    decisions: list[StageDecision],
) -> None:
    """Add a candidate to those of its message, unless they say it already or are too many."""
    siblings = by_record.setdefault(candidate.sources[0], [])
    if any(fold(sibling.text) == fold(candidate.text) for sibling in siblings):
        decisions.append(
            StageDecision("extract", "skip", "said twice in one answer", candidate.text[:200])
        )
    elif len(siblings) < _MAX_PER_MESSAGE:
        siblings.append(candidate)


def _group_records(
    records: Sequence[Record], batch_size: int, message_chars: int
) -> list[list[Record]]:
    remaining = list(records)
    groups = []
    while remaining:
        size = count_together(remaining, batch_size, message_chars)
        groups.append(remaining[:size])
        remaining = remaining[size:]
    return groups


def count_together(records: Sequence[Record], batch_size: int, message_chars: int) -> int:
    """Count the messages of one call: at most ``batch_size``, fewer if they are long.

    ``message_chars``: characters from which one is shortened.
    """
    size = 0
    for count, record in enumerate(records[: min(batch_size, _MAX_MESSAGES)]):
        size += len(_shorten(record.text, message_chars))
        if count and size > _MAX_CHARACTERS:
            return count
    return min(len(records), batch_size, _MAX_MESSAGES)


def _ask_statements(
    group: list[Record],
    context: ExtractionContext,
    chat: ChatModel,
    decisions: list[StageDecision],
) -> tuple[list[ExtractedStatement], ModelCost, bool]:
    """Ask for the statements of some messages; also the cost, and whether the answer was cut.

    The model is told what is wrong with an answer that cannot be used, and asked again twice.
    """
    text = load(context.prompt).render(
        turns=_format_messages(group, context.context, context.message_chars),
        known=_format_known(context.known_statements, context.gaps),
    )
    messages = [ChatMessage("user", text + context.addition)]
    key = " ".join(record.id for record in group)
    shown_ids = tuple(record.id for record in (*group, *context.known_statements, *context.context))
    cost = ModelCost()
    problems: list[str] = []
    for attempt in range(1 + _RETRIES):
        request = ChatRequest(
            tuple(messages),
            context.prompt,
            SCHEMA,
            max_tokens=4096,
            key=key,
            about=shown_ids,
            keep_sound_items=True,
        )
        answer = chat.ask(request)
        cost += ModelCost(answer.calls, answer.tokens)
        decisions.extend(StageDecision("extract", "repair", note) for note in answer.notes)
        statements, problems = _parse_statements(answer.data)
        if statements or not problems:
            decisions.extend(
                StageDecision("extract", "skip", f"malformed: {problem}"[:200])
                for problem in problems
            )
            return statements, cost, answer.cut
        if attempt < _RETRIES:
            complaint = (
                f"That answer cannot be used: {'; '.join(problems)[:600]}. Answer again with JSON"
                " in the form asked for."
            )
            messages = [
                messages[0],
                ChatMessage("assistant", answer.text[:4000]),
                ChatMessage("user", complaint),
            ]
    decisions.append(
        StageDecision("extract", "skip", f"no usable answer: {'; '.join(problems)}"[:200])
    )
    return [], cost, False


def _parse_statements(data: Any) -> tuple[list[ExtractedStatement], list[str]]:
    """Parse a model's answer: the statements that are well formed, and what is wrong with others."""
    rows = data.get("statements") if isinstance(data, dict) else data
    if not isinstance(rows, list):
        return [], ["there is no list named statements"]
    statements: list[ExtractedStatement] = []
    problems: list[str] = []
    for row in rows:
        try:
            statements.append(ExtractedStatement.model_validate(row))
        except ValidationError as problem:
            first = problem.errors()[0]
            problems.append(f"{'.'.join(str(part) for part in first['loc'])}: {first['msg']}")
    return statements, problems


def _to_candidate(
    statement: ExtractedStatement,
    group: list[Record],
    model: tuple[str, str],
    shown: Sequence[str],
    decisions: list[StageDecision],
) -> CandidateStatement | None:
    """Convert a model's statement; None: it is dropped, and ``decisions`` say why.

    ``model``: its name, and the hash of the prompt. ``shown``: texts that the model was shown.
    """
    source, literal = _locate_quote(statement, group)
    if source is None:
        decisions.append(
            StageDecision(
                "extract", "drop", "its quote is not in the message", statement.text[:200]
            )
        )
        return None

    def note(verdict: str, reason: str, text: str = statement.text) -> None:
        decisions.append(
            StageDecision(
                stage="extract", verdict=verdict, reason=reason, text=text[:200], record=source.id
            )
        )

    kind = Kind(statement.kind or Kind.FACT)
    if kind in _INSTRUCTIONS and asks_to_remember_fact(literal, source.text):
        kind = Kind.FACT
        note("repair", "a fact that is to be remembered, and no rule")
        if fold(statement.subject) in _ASSISTANT:
            statement = _keep_words(statement, literal)
    fault = _find_fault(statement, kind, literal, source.text) or find_lack(
        (statement.text, *_list_claims(statement)),
        literal,
        source.text,
        (source.speaker, source.scope.key, *shown),
        instructs=LAYER_OF[kind] is Layer.PROCEDURAL,
    )
    if fault:
        note("drop", fault)
        return None
    begins = _parse_start(statement.since, source.recorded_at)
    if statement.since and begins is None:
        note("repair", f"no such date: {statement.since}"[:200])
    text = " ".join(statement.text.split())
    if len(literal) >= _MIN_STANDALONE_QUOTE and differ_in_language(text, source.text):
        reason = "in another language than its message: kept in the words of its quote"
        note("repair", reason, text)
        text = literal
    if begins is None and statement.effect in ("changes", "ends"):
        begins = source.recorded_at
    predicate = canonical_predicate(statement.predicate)
    subject = _find_subject(statement, source)
    object_text = statement.object.strip()
    return CandidateStatement(
        text=text,
        kind=kind,
        subject=subject,
        predicate=predicate,
        object=object_text,
        category=normalize_category(statement.category, kind),
        avoid=" ".join(statement.avoid.split()),
        polarity=not (statement.negative or is_contrary(statement.predicate)),
        effect=statement.effect,
        single=is_single(predicate, subject, object_text),
        evidence=(Evidence(literal, source.id, source.speaker),),
        confidence=_to_share(statement.confidence),
        importance=_to_share(statement.importance),
        trust=source.trust,
        said_at=source.recorded_at,
        valid_from=begins,
        times=find_statement_times(
            source.text, literal, local_time(source.recorded_at, source.meta.get(UTC_OFFSET))
        ),
        effective_at=source.recorded_at,
        triggers=keep_telling(_clean_texts(statement.triggers, count=8, length=200)),
        steps=_clean_texts(statement.steps, count=30, length=400),
        prerequisites=_clean_texts(statement.prerequisites, count=12, length=300),
        warnings=_clean_texts(statement.warnings, count=12, length=300),
        tags=tuple(
            dict.fromkeys(
                " ".join(tag.split()).lower()[:40] for tag in statement.tags if tag.strip()
            )
        )[:5],
        extractor=model[0],
        prompt=model[1],
        reason="model",
    )


def _list_claims(statement: ExtractedStatement) -> list[str]:
    """List the texts of a statement beside its own, each of which claims something."""
    return [text for text in (statement.object, statement.avoid, *statement.steps) if text.strip()]


def _find_subject(statement: ExtractedStatement, source: Record) -> str:
    """Return the canonical subject: the speaker where a model names nobody, or them."""
    speaker = source.speaker.strip()
    subject = canonical_subject(statement.subject or speaker or "user", source.scope)
    return canonical_subject(speaker, source.scope) if fold(subject) == fold(speaker) else subject


def _clean_texts(texts: Sequence[str], *, count: int, length: int) -> tuple[str, ...]:
    """Strip and shorten texts, without blank ones; ``count`` of them."""
    return tuple(text.strip()[:length] for text in texts if text.strip())[:count]


def _keep_words(statement: ExtractedStatement, literal: str) -> ExtractedStatement:
    """Return the words of a fact without the triple that tells the assistant how to behave."""
    no_claims = {"subject": "", "predicate": "", "object": "", "avoid": "", "steps": ()}
    return statement.model_copy(update={**no_claims, "category": "", "text": literal})


def _find_fault(statement: ExtractedStatement, kind: Kind, literal: str, text: str) -> str | None:
    """Return the reason not to learn a statement, or None."""
    if kind in (Kind.FACT, Kind.PREFERENCE) and fold(statement.subject) in _ASSISTANT:
        return "it is about the assistant"
    own_words = remove_tagged(_PASTED.sub(" ", text), _TAG, " ")
    if not is_explicit(text):
        own_words = _CITED.sub(" ", own_words)
    if LAYER_OF[kind] is Layer.PROCEDURAL and not find_literal(literal, own_words):
        return "it is an instruction in a pasted text"
    return None


def _locate_quote(statement: ExtractedStatement, group: list[Record]) -> tuple[Record | None, str]:
    """Find the record that holds the quote, first the one with the statement's number."""
    numbered = group[statement.turn - 1 : statement.turn]
    for record in [*numbered, *(record for record in group if record not in numbered)]:
        literal = find_literal(statement.quote, record.text)
        if literal:
            return record, literal
    return None, ""


def find_literal(words: str, text: str) -> str:
    """Find ``words`` in ``text``, ignoring case, blanks and typographic quotes.

    Returns them as they stand there; empty if they do not occur.
    """
    if words in text:
        return words
    pieces = [
        re.escape(fold(piece)).replace("'", "['’‘]").replace('"', '["“”„«»]')
        for piece in words.strip(" \t\n\"“”'").split()
    ]
    if not pieces:
        return ""
    match = re.search(r"\s+".join(pieces), text, re.IGNORECASE)
    return match[0] if match else ""


def _to_share(value: float | str) -> float:
    return _SHARE_OF_WORD[value] if isinstance(value, str) else value


def _parse_start(text: str | None, said_at: datetime) -> datetime | None:
    if not text:
        return None
    try:
        aware = parse_time(text)
    except ValueError:
        return None
    return aware if aware <= said_at + _FUTURE else None


def _format_messages(group: Sequence[Record], context: Sequence[Record], message_chars: int) -> str:
    """List the numbered messages among those of the context, in order."""
    numbers = {record.id: number for number, record in enumerate(group, 1)}
    lines = []
    for record in sorted((*group, *context), key=lambda record: record.story_key):
        number = numbers.get(record.id)
        speaker = quote(
            record.speaker
            or (record.role if number is None and record.role != "user" else "the user")
        )
        if number is None:
            lines.append(f"(context) {speaker}: {quote(_shorten(record.text, _LONG_CONTEXT))}")
        else:
            lines.append(
                f"[{number}] {speaker} on {told_at(record):%A %Y-%m-%d}:"
                f" {quote(_shorten(record.text, message_chars))}"
            )
    return "\n".join(lines)


def _format_known(statements: Sequence[Record], gaps: Sequence[str]) -> str:
    listing = "\n".join(f"- {quote(record.text)}" for record in statements) or "(nothing)"
    if not gaps:
        return listing
    questions = "\n".join(f"- {quote(gap)}" for gap in gaps[:_MAX_GAPS])
    return (
        f"{listing}\n\nAsked before, and not known (take what answers one of these):\n{questions}"
    )


def _shorten(text: str, longest: int) -> str:
    plain = remove_tagged(text, _UPLOAD, " ")
    return plain if len(plain) <= longest else f"{plain[: longest // 2]} … {plain[-longest // 2 :]}"
