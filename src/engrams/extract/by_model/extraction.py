"""Extraction by a model, each statement held to a literal quote."""

from __future__ import annotations

import re
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any, Literal

from pydantic import BaseModel, Field, ValidationError

from engrams.core import LAYER_OF, Evidence, Kind, Layer, ModelCost, Record, StageDecision
from engrams.core.clock import parse_time
from engrams.errors import BudgetError, ModelError
from engrams.extract.candidate import CandidateStatement, canonical_subject, normalize_category
from engrams.extract.predicate_slots import canonical_predicate, is_contrary, is_single
from engrams.extract.rules import is_explicit
from engrams.frozen_data import dataclass
from engrams.ports import ChatMessage, ChatModel, ChatRequest
from engrams.prompts import load, quote
from engrams.text.normalize import fold
from engrams.text.stems import differ_in_language
from engrams.text.tag_removal import remove_tagged

_TURNS = 40
_CHARACTERS = 24_000
_LONG = 1000
_CONTEXT = 600
_KNOWN = 80
_MOST = 24
_GAPS = 20
_RETRIES = 2
_UPLOAD = re.compile(r"<(uploaded_files?|attachments?|file_contents?)>", re.IGNORECASE)
_WORDS = {"low": 0.3, "medium": 0.6, "high": 0.9}
_QUOTE = 280
_WHOLE = 12
"""Longest quote; characters from which one can stand for its statement."""
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


_KINDS = frozenset(("fact", "preference", "rule", "negative", "procedure", "correction"))


LANES = ("facts", "rules")
"""Names of the lanes and of their prompts."""


class ExtractedStatement(BaseModel):
    """One statement as a model returns it."""

    turn: int = Field(ge=1)
    text: str = Field(min_length=3, max_length=600)
    quote: str = Field(min_length=1, max_length=_QUOTE)
    subject: str = Field("", max_length=200)
    predicate: str = Field("", max_length=200)
    object: str = Field("", max_length=400)
    kind: str = "fact"
    category: str = Field("", max_length=60)
    avoid: str = Field("", max_length=400)
    negative: bool = False
    effect: Literal["states", "changes", "ends", "corrects"] = "states"
    confidence: float | Literal["low", "medium", "high"] = 0.8
    importance: float | Literal["low", "medium", "high"] = 0.5
    since: str | None = Field(None, alias="from")
    triggers: tuple[str, ...] = ()
    steps: tuple[str, ...] = ()
    prerequisites: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ExtractionContext:
    """Context of an extraction besides the messages.

    ``prompt``: by name. ``known``: not to be repeated. ``gaps``: questions that memory could not
    answer. ``context``: turns that are shown only to understand the others.
    """

    known: Sequence[Record] = ()
    gaps: Sequence[str] = ()
    prompt: str = "extract"
    also: str = ""
    context: Sequence[Record] = ()


def extract_by_model(
    records: Sequence[Record],
    briefing: ExtractionContext,
    chat: ChatModel,
    batch: int,
    decisions: list[StageDecision],
) -> tuple[dict[str, list[CandidateStatement]], ModelCost]:
    """Extract candidates by record, with the cost.

    At most 40 messages and 24,000 characters a call; a message over 1,000 characters is shortened
    to its two ends. A statement whose quote is not literally in a message is dropped with a
    decision; a wrong number is corrected by the quote. ModelError where the model fails for good.
    """
    found: dict[str, list[CandidateStatement]] = {}
    cost = ModelCost()
    groups = _group_records(records, batch)
    while groups:
        group = groups.pop(0)
        statements, spent, cut = _ask_statements(group, briefing, chat, decisions)
        cost += spent
        if cut and len(group) > 1:
            decisions.append(
                StageDecision(
                    "extract",
                    "repair",
                    f"the answer about {len(group)} messages was cut off: asked again in two parts",
                )
            )
            groups[:0] = [group[: len(group) // 2], group[len(group) // 2 :]]
            continue
        for statement in statements:
            candidate = _to_candidate(
                statement, group, (chat.name, load(briefing.prompt).hash), decisions
            )
            if candidate is None:
                continue
            others = found.setdefault(candidate.sources[0], [])
            if any(fold(one.text) == fold(candidate.text) for one in others):
                decisions.append(
                    StageDecision(
                        "extract", "skip", "said twice in one answer", candidate.text[:200]
                    )
                )
            elif len(others) < _MOST:
                others.append(candidate)
        if cut and not found.get(group[0].id):
            raise ModelError(
                f"{chat.name} was cut off before it gave one statement.",
                hint="Choose a model that can give longer answers.",
            )
    return found, cost


def _group_records(records: Sequence[Record], batch: int) -> list[list[Record]]:
    rest = list(records)
    groups = []
    while rest:
        size = count_together(rest, batch)
        groups.append(rest[:size])
        rest = rest[size:]
    return groups


def count_together(records: Sequence[Record], batch: int) -> int:
    """Count the messages of one call: at most ``batch``, fewer if long."""
    size = 0
    for count, record in enumerate(records[: min(batch, _TURNS)]):
        size += len(_shorten(record.text))
        if count and size > _CHARACTERS:
            return count
    return min(len(records), batch, _TURNS)


def _ask_statements(
    group: list[Record],
    briefing: ExtractionContext,
    chat: ChatModel,
    decisions: list[StageDecision],
) -> tuple[list[ExtractedStatement], ModelCost, bool]:
    prompt = load(briefing.prompt)
    known = briefing.known[:_KNOWN]
    text = (
        prompt.render(
            turns=_format_messages(group, briefing.context),
            known=_format_known(known, briefing.gaps),
        )
        + briefing.also
    )
    messages = [ChatMessage("user", text)]
    key = " ".join(record.id for record in group)
    about = tuple(record.id for record in (*group, *known, *briefing.context))
    cost = ModelCost()
    problems: list[str] = []
    for attempt in range(1 + _RETRIES):
        answer = chat.ask(
            ChatRequest(
                tuple(messages), briefing.prompt, SCHEMA, max_tokens=4096, key=key, about=about
            )
        )
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
    rows = data.get("statements") if isinstance(data, dict) else data
    if not isinstance(rows, list):
        return [], ["there is no list named statements"]
    good: list[ExtractedStatement] = []
    problems: list[str] = []
    for row in rows:
        try:
            good.append(ExtractedStatement.model_validate(row))
        except ValidationError as problem:
            first = problem.errors()[0]
            problems.append(f"{'.'.join(str(part) for part in first['loc'])}: {first['msg']}")
    return good, problems


def _to_candidate(
    statement: ExtractedStatement,
    group: list[Record],
    model: tuple[str, str],
    decisions: list[StageDecision],
) -> CandidateStatement | None:
    source, literal = _locate_quote(statement, group)
    if source is None:
        decisions.append(
            StageDecision(
                "extract", "drop", "its quote is not in the message", statement.text[:200]
            )
        )
        return None
    kind = Kind(statement.kind) if statement.kind in _KINDS else Kind.FACT
    if (fault := _find_fault(statement, kind, literal, source.text)) is not None:
        decisions.append(
            StageDecision(
                stage="extract",
                verdict="drop",
                reason=fault,
                text=statement.text[:200],
                record=source.id,
            )
        )
        return None
    named = source.speaker.strip()
    predicate = canonical_predicate(statement.predicate)
    subject = canonical_subject(statement.subject or named or "user", source.scope)
    if fold(subject) == fold(named):
        subject = canonical_subject(named, source.scope)
    begun = _parse_start(statement.since, source.recorded_at)
    if statement.since and begun is None:
        decisions.append(
            StageDecision(
                stage="extract",
                verdict="repair",
                reason=f"no such date: {statement.since}"[:200],
                text=statement.text[:200],
                record=source.id,
            )
        )
    text = " ".join(statement.text.split())
    if len(literal) >= _WHOLE and differ_in_language(text, source.text):
        told = "in another language than its message: kept in the words of its quote"
        decisions.append(
            StageDecision(
                stage="extract", verdict="repair", reason=told, text=text[:200], record=source.id
            )
        )
        text = literal
    candidate = CandidateStatement(
        text=text,
        kind=kind,
        subject=subject,
        predicate=predicate,
        object=statement.object.strip(),
        category=normalize_category(statement.category, kind),
        avoid=" ".join(statement.avoid.split()),
        polarity=not (statement.negative or is_contrary(statement.predicate)),
        effect=statement.effect,
        single=is_single(predicate, subject, statement.object.strip()),
        evidence=(Evidence(literal, source.id, source.speaker),),
        confidence=_to_share(statement.confidence),
        importance=_to_share(statement.importance),
        trust=source.trust,
        said_at=source.recorded_at,
        valid_from=begun,
        effective_at=source.recorded_at,
        triggers=tuple(trigger.strip()[:200] for trigger in statement.triggers if trigger.strip())[
            :8
        ],
        steps=tuple(step.strip()[:400] for step in statement.steps if step.strip())[:30],
        prerequisites=tuple(one.strip()[:300] for one in statement.prerequisites if one.strip())[
            :12
        ],
        warnings=tuple(one.strip()[:300] for one in statement.warnings if one.strip())[:12],
        tags=tuple(
            dict.fromkeys(
                " ".join(tag.split()).lower()[:40] for tag in statement.tags if tag.strip()
            )
        )[:5],
        extractor=model[0],
        prompt=model[1],
        reason="model",
    )
    return (
        candidate
        if begun or candidate.effect not in ("changes", "ends")
        else replace(candidate, valid_from=source.recorded_at)
    )


def _find_fault(statement: ExtractedStatement, kind: Kind, literal: str, text: str) -> str | None:
    """Return the reason not to learn a statement, or None."""
    if kind in (Kind.FACT, Kind.PREFERENCE) and fold(statement.subject) in _ASSISTANT:
        return "it is about the assistant"
    own = remove_tagged(_PASTED.sub(" ", text), _TAG, " ")
    if not is_explicit(text):
        own = _CITED.sub(" ", own)
    if LAYER_OF[kind] is Layer.PROCEDURAL and not find_literal(literal, own):
        return "it is an instruction in a pasted text"
    return None


def _locate_quote(statement: ExtractedStatement, group: list[Record]) -> tuple[Record | None, str]:
    """Find the record that holds the quote, the named one first."""
    named = group[statement.turn - 1 : statement.turn]
    for record in [*named, *(record for record in group if record not in named)]:
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
    return _WORDS[value] if isinstance(value, str) else min(1.0, max(0.0, value))


def _parse_start(text: str | None, said: datetime) -> datetime | None:
    if not text:
        return None
    try:
        aware = parse_time(text)
    except ValueError:
        return None
    return aware if aware <= said + _FUTURE else None


def _format_messages(group: Sequence[Record], context: Sequence[Record]) -> str:
    """List the numbered messages among those of the context, in order."""
    numbers = {record.id: number for number, record in enumerate(group, 1)}
    lines = []
    for record in sorted((*group, *context), key=lambda one: one.story_key):
        number = numbers.get(record.id)
        speaker = quote(
            record.speaker
            or (record.role if number is None and record.role != "user" else "the user")
        )
        if number is None:
            lines.append(f"(context) {speaker}: {quote(_shorten(record.text, _CONTEXT))}")
        else:
            lines.append(
                f"[{number}] {speaker} on {record.recorded_at:%A %Y-%m-%d}:"
                f" {quote(_shorten(record.text))}"
            )
    return "\n".join(lines)


def _format_known(known: Sequence[Record], gaps: Sequence[str]) -> str:
    listing = "\n".join(f"- {quote(record.text)}" for record in known) or "(nothing)"
    if not gaps:
        return listing
    asked = "\n".join(f"- {quote(gap)}" for gap in gaps[:_GAPS])
    return f"{listing}\n\nAsked before, and not known (take what answers one of these):\n{asked}"


def _shorten(text: str, longest: int = _LONG) -> str:
    plain = remove_tagged(text, _UPLOAD, " ")
    return plain if len(plain) <= longest else f"{plain[: longest // 2]} … {plain[-longest // 2 :]}"


@dataclass(frozen=True, slots=True)
class _LaneResult:
    found: dict[str, list[CandidateStatement]]
    cost: ModelCost
    decisions: list[StageDecision]
    problem: ModelError | BudgetError | None = None


def extract_in_lanes(
    records: Sequence[Record],
    briefing: ExtractionContext,
    chat: ChatModel,
    batch: int,
    decisions: list[StageDecision],
    only: str = "",
) -> tuple[dict[str, list[CandidateStatement]], ModelCost, str]:
    """Extract facts and rules by two parallel model calls (lanes).

    Returns candidates by record, the cost, and the lane that failed (empty: none). Decisions carry
    the lane's name. A lane that fails finds nothing; ModelError or BudgetError where no lane is
    left. What both found of one message counts as a rule.
    """
    names = (only,) if only else LANES
    with ThreadPoolExecutor(len(names), "engrams-lane") as pool:
        lanes = [
            pool.submit(copy_context().run, _run_lane, name, records, briefing, chat, batch)
            for name in names
        ]
    done = [lane.result() for lane in lanes]
    failed = [
        (name, lane.problem)
        for name, lane in zip(names, done, strict=True)
        if lane.problem is not None
    ]
    if len(failed) == len(names):
        _, problem = failed[0]
        if problem is not None:
            raise problem
    found: dict[str, list[CandidateStatement]] = {}
    cost = ModelCost()
    for name, lane in zip(names, done, strict=True):
        decisions.extend(replace(one, reason=f"{name}: {one.reason}") for one in lane.decisions)
        cost += lane.cost
        for source, candidates in lane.found.items():
            found.setdefault(source, []).extend(candidates)
    return (
        {source: _drop_repeated_facts(candidates) for source, candidates in found.items()},
        cost,
        failed[0][0] if failed else "",
    )


def _run_lane(
    name: str, records: Sequence[Record], briefing: ExtractionContext, chat: ChatModel, batch: int
) -> _LaneResult:
    own_decisions: list[StageDecision] = []
    try:
        found, cost = extract_by_model(
            records, replace(briefing, prompt=name), chat, batch, own_decisions
        )
    except (ModelError, BudgetError) as problem:
        return _LaneResult(
            {},
            ModelCost(calls=1),
            [*own_decisions, StageDecision("extract", "failed", problem.message[:200])],
            problem,
        )
    return _LaneResult(found, cost, own_decisions)


def _drop_repeated_facts(candidates: list[CandidateStatement]) -> list[CandidateStatement]:
    ruled = {
        item.quote
        for one in candidates
        if LAYER_OF[one.kind] is Layer.PROCEDURAL
        for item in one.evidence
    }
    kept = [
        one
        for one in candidates
        if LAYER_OF[one.kind] is Layer.PROCEDURAL
        or not ruled & {item.quote for item in one.evidence}
    ]
    return list(dict.fromkeys(kept))
