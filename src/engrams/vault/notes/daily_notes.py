"""Write daily notes: a few lines a day, under their reason."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from datetime import UTC, date, datetime, time, timedelta

from engrams import prompts
from engrams.core import Kind, Record, Scope, Status
from engrams.errors import BudgetError, ModelError
from engrams.ports import (
    ChatMessage,
    ChatModel,
    ChatRequest,
    NoteFlushRequest,
    RecordQuery,
    ScopeReach,
)
from engrams.text.measures import is_question, word_count
from engrams.vault.dependencies import VaultDeps
from engrams.vault.files.vault_paths import daily_path
from engrams.vault.notes.note_lines import STANDING, NoteLineLedger

_BULLETS = 10
_LINES = 30
_NOTHING = frozenset(
    {
        "",
        "none",
        "none.",
        "(none)",
        "null",
        "nothing",
        "n/a",
        "无",
        "無",
        "没有",
        "沒有",
        "なし",
        "нет",
        "keine",
        "ninguno",
        "aucun",
    }
)
_TURNS = (Kind.TURN, Kind.EXCHANGE, Kind.NOTE)
_STATED = (Kind.CORRECTION, Kind.PREFERENCE, Kind.FACT, Kind.PROCEDURE, Kind.NEGATIVE)
_SAID = 400
_LONGEST = 200


class VaultDailyNoteWriter:
    """Writer of daily notes: by a model, else by rules."""

    def __init__(
        self, parts: VaultDeps, lines: NoteLineLedger, chat: ChatModel | None = None
    ) -> None:
        self._parts = parts
        self._lines = lines
        self._chat = chat

    def flush(self, request: NoteFlushRequest) -> bool:
        """Append to the day's note. False: nothing to say, or said before."""
        parts = self._parts
        # What was forgotten or replaced before its turn came is written into no note.
        said = drop_scheduled(
            [
                record
                for record in request.records
                if record.text.strip() and record.status in STANDING
            ]
        )
        mark = f"flushed:{request.owner.key}:{_hash_turns(said)}"
        wanted = parts.settings.daily and request.reason in parts.settings.daily_reasons
        if not wanted or not said or parts.state.get_fact(mark):
            return False
        lines = self._make_lines(request.owner, said)
        now = parts.clock()
        with parts.lock:
            if parts.state.get_fact(mark):
                return False
            # Before the file: what is written must be known to follow from these.
            self._lines.draw(request.owner, lines, said)
            written = self.append(
                request.owner, request.day or now.date(), f"{now:%H:%M} {request.reason}", lines
            )
            parts.state.set_fact(mark, now.isoformat())
        return written

    def summarise(self, owner: Scope, day: date) -> bool:
        """Append the summary of a whole day.

        False: nothing was said, or nothing new since the last one.
        """
        parts = self._parts
        said = drop_scheduled(self._find_turns(owner, day))
        mark = f"summary:{owner.key}:{day}"
        wanted = parts.settings.daily and "daily summary" in parts.settings.daily_reasons
        if not wanted or not said or parts.state.get_fact(mark) == _hash_turns(said):
            return False
        lines = self._make_lines(owner, said)
        with parts.lock:
            self._lines.draw(owner, lines, said)
            written = self.append(owner, day, f"{parts.clock():%H:%M} daily summary", lines)
            parts.state.set_fact(mark, _hash_turns(said))
        return written

    def append(self, owner: Scope, day: date, heading: str, lines: Sequence[str]) -> bool:
        """Append a section to a day's note, without lines it holds.

        A new note gets its title. False: it holds all of them.
        """
        disk = self._parts.disk
        path = daily_path(owner, day)
        old = disk.read(path)
        text = old.decode("utf-8", "replace").rstrip("\n") if old else f"# {day:%Y-%m-%d}"
        held = {line.strip() for line in text.splitlines()}
        new = [line for line in lines if line.strip() not in held]
        if not new:
            return False
        self._parts.make_folder()
        section = "\n".join([f"## {heading}", "", *new])
        told = {"does": "note", "actor": "engrams", "why": heading, "scope": owner.key}
        self._parts.replace_file(path, f"{text}\n\n{section}\n".encode(), old, told)
        return True

    def _find_turns(self, owner: Scope, day: date) -> list[Record]:
        begin = datetime.combine(day, time(), UTC)
        found: list[Record] = []
        query = RecordQuery(
            ScopeReach(owner, (owner,), tree=True), _TURNS, order="newest", limit=500
        )
        while True:
            page = self._parts.store.find(query)
            found += [
                record
                for record in page.records
                if begin <= record.recorded_at < begin + timedelta(days=1)
            ]
            if not page.next or page.records[-1].recorded_at < begin:
                return sorted(found, key=lambda record: record.story_key)
            query = RecordQuery(query.reach, _TURNS, order="newest", limit=500, after=page.next)

    def _make_lines(self, owner: Scope, said: Sequence[Record]) -> list[str]:
        if self._chat is not None:
            try:
                return self._ask_model(self._chat, said)
            except (ModelError, BudgetError):
                # Fall back to the rules; the turns themselves are in the journal in any case.
                pass
        return [f"- {one_line(text)}" for text in self._pick_lines(owner, said)]

    def _ask_model(self, chat: ChatModel, said: Sequence[Record]) -> list[str]:
        told = "\n".join(
            f"{record.speaker or record.role or 'someone'}: {prompts.quote(record.text[:2000])}"
            for record in said[-_SAID:]
        )
        prompt = prompts.load("daily").render(said=told, limit=str(_LINES))
        answer = chat.ask(ChatRequest((ChatMessage("user", prompt),), "daily")).text.strip()
        if answer.casefold().strip(" .。\"'`*") in _NOTHING:
            return []
        lines = [
            line.strip()
            for line in answer.splitlines()
            if line.strip() and not line.startswith(("#", "```"))
        ]
        return [
            line if line.startswith("- ") else f"- {line.lstrip('-*• ').strip()}" for line in lines
        ][:_LINES]

    def _pick_lines(self, owner: Scope, said: Sequence[Record]) -> list[str]:
        """Pick learned statements by importance, then texts that taught none."""
        ids = tuple(record.id for record in said)
        reach = ScopeReach(owner, (owner,), tree=True)
        learned = (
            self._parts.store.find(
                RecordQuery(reach, _STATED, (Status.ACTIVE,), sources=ids, limit=200)
            ).records
            if ids
            else ()
        )
        order = {kind: at for at, kind in enumerate(_STATED)}
        picked = [
            record.text
            for record in sorted(
                learned,
                key=lambda record: (order[record.kind], -record.importance, record.recorded_at),
            )
        ]
        taught = {item.source for record in learned for item in record.evidence}
        rest = [
            record for record in said if record.id not in taught and not is_question(record.text)
        ]
        plain = [
            record.text
            for record in rest
            if record.kind is Kind.NOTE
            or (not learned and record.role != "assistant" and word_count(record.text) > 3)
        ]
        return list(dict.fromkeys([*picked, *plain]))[:_BULLETS]


def drop_scheduled(records: Sequence[Record]) -> list[Record]:
    """Leave out turns that a timer sent, and the answers to them."""
    kept: list[Record] = []
    answering = ""
    for record in records:
        if record.meta.get("scheduled"):
            answering = record.session or "-"
            continue
        if answering == (record.session or "-") and record.role == "assistant":
            continue
        if record.role != "tool":
            answering = ""
        kept.append(record)
    return kept


def one_line(text: str) -> str:
    """Shorten a text to one line of a list."""
    line = " ".join(text.split())
    return line if len(line) <= _LONGEST else line[: _LONGEST - 1].rstrip() + "…"


def _hash_turns(records: Sequence[Record]) -> str:
    digest = hashlib.blake2b(digest_size=16)
    for record in records:
        digest.update(f"{record.role}\x1f{record.text}\x1e".encode("utf-8", "replace"))
    return digest.hexdigest()
