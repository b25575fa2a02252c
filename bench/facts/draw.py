"""Statements, dates, marks and closings of a conversation, with what was said around them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import engrams
from bench.quality.data import Item, Talk
from bench.quality.systems import OWNER, EngramsSystem, make_embedder
from engrams.core import (
    MARK_TOLD_AT,
    Context,
    Edge,
    EdgeType,
    Kind,
    OutdatedMark,
    Record,
    Status,
)

STATEMENT_KINDS = (
    Kind.FACT,
    Kind.PREFERENCE,
    Kind.RULE,
    Kind.CORRECTION,
    Kind.NEGATIVE,
    Kind.PROCEDURE,
)
STATUSES = (Status.ACTIVE, Status.CANDIDATE, Status.SUPERSEDED)
QUESTIONS_A_TALK = 25
MARK = "may be outdated"
_PAGE = 200


@dataclass(frozen=True, slots=True)
class Drawn:
    """One thing to be judged.

    ``what``: statement, date, mark, closing or message. ``shown``: what memory says of it.
    ``source``: the message it rests on; ``before`` and ``after``: its neighbours in the
    conversation; ``later``: for marks and closings the message that is said to end it.
    ``learned``: for messages, every statement that was learned from it.
    """

    what: str
    data: str
    talk: str
    shown: str
    source: str
    before: str = ""
    after: str = ""
    later: str = ""
    learned: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class TalkFindings:
    """Everything of one conversation, and how many of its contexts show a mark."""

    drawn: tuple[Drawn, ...]
    contexts: int
    marked_contexts: int


def read_talk(data: str, talk: Talk, settings: dict[str, str]) -> TalkFindings:
    """Tell a conversation to a fresh memory without a model and list what became of it."""
    system = EngramsSystem(
        make_embedder("builtin"),
        **{name.replace(".", "__"): value for name, value in settings.items()},
    )
    try:
        system.fill(talk.items)
        questions = talk.questions[:: max(1, len(talk.questions) // QUESTIONS_A_TALK)]
        questions = questions[:QUESTIONS_A_TALK]
        contexts = [system.engine.context(item.text, scope=OWNER) for item in questions]
        drawn = tuple(_draw(data, talk, system.engine, contexts))
        is_marked = [MARK in context.text for context in contexts]
        return TalkFindings(drawn, len(contexts), sum(is_marked))
    finally:
        system.close()


def _draw(
    data: str, talk: Talk, engine: engrams.MemoryEngine, contexts: Sequence[Context]
) -> Iterator[Drawn]:
    messages = {record.id: record for record in _list_records(engine, (Kind.TURN, Kind.NOTE))}
    items = {item.id: number for number, item in enumerate(talk.items)}
    statements = _list_records(engine, STATEMENT_KINDS)
    learned: dict[str, list[str]] = {}
    for statement in statements:
        message = next(
            (
                messages[evidence.source]
                for evidence in statement.evidence
                if evidence.source in messages
            ),
            None,
        )
        if message is None:
            continue
        shown = format_statement(statement)
        learned.setdefault(message.id, []).append(shown)
        around = _find_neighbours(talk.items, items.get(message.external_id))
        yield Drawn("statement", data, talk.id, shown, show_message(message), *around)
        if has_resolved_time(statement):
            yield Drawn("date", data, talk.id, shown, show_message(message), *around)
        newer = messages.get(_first_source(statement.superseded_by, statements))
        if statement.status is Status.SUPERSEDED and newer is not None:
            later = show_message(newer)
            yield Drawn("closing", data, talk.id, shown, show_message(message), *around, later)
    for message in messages.values():
        around = _find_neighbours(talk.items, items.get(message.external_id))
        said = tuple(learned.get(message.id, ()))
        if message.role != "assistant":
            text = show_message(message)
            yield Drawn("message", data, talk.id, "", text, *around, learned=said)
    stored = list(_list_edges(engine, messages))
    for edge in stored:
        older = messages[edge.target]
        newer = messages[edge.source]
        what = "mark" if edge.type is EdgeType.MAY_OUTDATE else "closing"
        if what == "mark" and edge.weight < MARK_TOLD_AT:
            # No reader is told of it.
            continue
        around = _find_neighbours(talk.items, items.get(older.external_id))
        shown = f"{edge.weight:.2f}"
        yield Drawn(what, data, talk.id, shown, show_message(older), *around, show_message(newer))
    listed = {(edge.target, edge.source) for edge in stored}
    for older, mark in _list_shown_marks(contexts):
        newer = messages.get(mark.by)
        if newer is None or (older.id, newer.id) in listed:
            continue
        listed.add((older.id, newer.id))
        around = _find_neighbours(talk.items, items.get(older.external_id))
        shown = f"{mark.probability:.2f}, seen in a context"
        yield Drawn("mark", data, talk.id, shown, show_message(older), *around, show_message(newer))


def _list_edges(engine: engrams.MemoryEngine, messages: Mapping[str, Record]) -> Iterator[Edge]:
    """List what messages end, or may end, among themselves."""
    ids = list(messages)
    for start in range(0, len(ids), _PAGE):
        page = ids[start : start + _PAGE]
        kinds = (EdgeType.MAY_OUTDATE, EdgeType.SUPERSEDES)
        for edge in engine.store.edges(OWNER, page, kinds):
            if edge.target in page and edge.source in messages:
                yield edge


def _list_shown_marks(contexts: Sequence[Context]) -> Iterator[tuple[Record, OutdatedMark]]:
    """List the marks of messages that contexts show."""
    for context in contexts:
        for hit in context.hits:
            mark = hit.outdated
            if (
                mark is not None
                and mark.is_told
                and not mark.closed
                and hit.record.kind is Kind.TURN
            ):
                yield hit.record, mark


def format_statement(statement: Record) -> str:
    """What memory stored: triple, text and times."""
    triple = " ".join(filter(None, (statement.subject, statement.predicate, statement.object)))
    times = " to ".join(
        f"{time:%Y-%m-%d}" for time in (statement.valid_from, statement.valid_to) if time
    )
    resolved = ", ".join(
        f"{time.get('text')}: {time.get('start')} to {time.get('end')}"
        for time in statement.meta.get("times", ())
    )
    parts = (f"[{statement.kind}]", triple and f"({triple})", statement.text)
    line = " ".join(filter(None, parts))
    notes = "; ".join(
        filter(
            None,
            (times and f"valid {times}", resolved, statement.status.value),
        )
    )
    return f"{line} <{notes}>"


def has_resolved_time(statement: Record) -> bool:
    """True for a statement with a time that was worked out from words."""
    if statement.meta.get("times"):
        return True
    told = statement.valid_from
    return told is not None and told.date() != statement.recorded_at.date()


def show_message(record: Record) -> str:
    """A message with its day and speaker."""
    return f"[{record.recorded_at:%Y-%m-%d %a}] {record.speaker or record.role}: {record.text}"


def _list_records(engine: engrams.MemoryEngine, kinds: Sequence[Kind]) -> list[Record]:
    records: list[Record] = []
    after = ""
    while True:
        page = engine.list(scope=OWNER, kinds=kinds, statuses=STATUSES, limit=_PAGE, after=after)
        records += page.records
        after = page.next
        if not after:
            return records


def _first_source(record_id: str, statements: Sequence[Record]) -> str:
    """The message behind the statement that replaced another, or that message itself."""
    for statement in statements:
        if statement.id == record_id and statement.evidence:
            return statement.evidence[0].source
    return record_id


def _find_neighbours(items: Sequence[Item], number: int | None) -> tuple[str, str]:
    """The messages before and after one of a conversation."""
    if number is None:
        return "", ""
    before = items[number - 1].dated_text if number else ""
    after = items[number + 1].dated_text if number + 1 < len(items) else ""
    return before, after
