"""Write daily notes: a few lines a day, under the reason for writing them.

``VaultDailyNoteWriter.flush`` writes down turns that leave a conversation, ``summarise`` a whole
day. A model writes the lines where one is set, else rules pick them.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from datetime import UTC, date, datetime, time, timedelta

from engrams import prompts
from engrams.core import MESSAGE_KINDS, Kind, Record, Scope, Status
from engrams.core.timer_messages import drop_timer_turns
from engrams.errors import BudgetError, ModelError
from engrams.ports import (
    ChatMessage,
    ChatModel,
    ChatRequest,
    NoteFlushRequest,
    RecordQuery,
    ScopeReach,
)
from engrams.text.clause_kinds import tells_something
from engrams.text.measures import is_question, word_count
from engrams.text.unreal_sentences import is_supposition
from engrams.text.word_support import find_unsupported
from engrams.vault.dependencies import VaultDeps
from engrams.vault.notes.empty_answers import begins_with_nothing, says_nothing
from engrams.vault.notes.note_lines import STANDING, NoteLineLedger
from engrams.vault.notes.note_paths import daily_path

_MAX_PICKED = 10
"""Lines that rules pick, at most."""
_MAX_WRITTEN = 30
"""Lines that a model writes, at most."""
_SENTENCE_END = re.compile(r"(?<=[.!?…])\s+|(?<=[。！？])|\n+")
_FEWEST_WORDS = 4
"""Words of a message that a note quotes, at least."""
_BULLET = re.compile(r"^\s*[-*•](?:\s+|$)")
_STATED = (Kind.CORRECTION, Kind.PREFERENCE, Kind.FACT, Kind.PROCEDURE, Kind.NEGATIVE)
"""Kinds of statements that rules pick, the most important first."""
_SHOWN_TURNS = 400
"""Newest turns that a model is shown, at most."""
_SHOWN_CHARS = 2000
"""Characters of one turn that a model is shown."""
_LINE_CHARS = 200
_PAGE = 500


class VaultDailyNoteWriter:
    """Writes daily notes, by a model, else by rules."""

    def __init__(
        self, deps: VaultDeps, lines: NoteLineLedger, chat: ChatModel | None = None
    ) -> None:
        self._deps = deps
        self._lines = lines
        self._chat = chat

    def flush(self, request: NoteFlushRequest) -> bool:
        """Append to the day's note. False: nothing to say, or said before."""
        deps = self._deps
        # What was forgotten or replaced before its turn came is written into no note.
        turns = drop_timer_turns(
            [
                record
                for record in request.records
                if record.text.strip() and record.status in STANDING
            ]
        )
        fact = f"flushed:{request.owner.key}:{_hash_turns(turns)}"
        is_wanted = deps.settings.daily and request.reason in deps.settings.daily_reasons
        if not is_wanted or not turns or deps.state.get_fact(fact):
            return False
        lines = self._make_lines(request.owner, turns)
        now = deps.clock()
        with deps.lock:
            if deps.state.get_fact(fact):
                return False  # another process wrote them while the model was asked
            # Before the file: what is written must be known to follow from these.
            self._lines.draw(request.owner, lines, turns)
            heading = f"{now:%H:%M} {request.reason}"
            is_new = self.append(request.owner, request.day or now.date(), heading, lines)
            deps.state.set_fact(fact, now.isoformat())
        return is_new

    def summarise(self, owner: Scope, day: date) -> bool:
        """Append the summary of a whole day.

        False: nothing was said, or nothing new since the last one.
        """
        deps = self._deps
        turns = drop_timer_turns(self._find_turns(owner, day))
        fact = _summary_fact(owner, day)
        is_wanted = deps.settings.daily and "daily summary" in deps.settings.daily_reasons
        if not is_wanted or not turns or deps.state.get_fact(fact) == _hash_turns(turns):
            return False
        lines = self._make_lines(owner, turns)
        with deps.lock:
            self._lines.draw(owner, lines, turns)
            is_new = self.append(owner, day, f"{deps.clock():%H:%M} daily summary", lines)
            deps.state.set_fact(fact, _hash_turns(turns))
        return is_new

    def was_summarised(self, owner: Scope, day: date) -> bool:
        """Return True for a day that has a summary, whatever was said after it."""
        return self._deps.state.get_fact(_summary_fact(owner, day)) != ""

    def append(self, owner: Scope, day: date, heading: str, lines: Sequence[str]) -> bool:
        """Append a section to a day's note, without lines that it has.

        A new note gets its title. False: it has all of them.
        """
        path = daily_path(owner, day)
        old_data = self._deps.disk.read(path)
        text = f"# {day:%Y-%m-%d}"
        if old_data:
            text = old_data.decode("utf-8", "replace").rstrip("\n")
        old_lines = {line.strip() for line in text.splitlines()}
        new_lines = [line for line in lines if line.strip() not in old_lines]
        if not new_lines:
            return False
        self._deps.make_folder()
        section = "\n".join([f"## {heading}", "", *new_lines])
        self._deps.replace_file(
            path,
            f"{text}\n\n{section}\n".encode(),
            old_data,
            {"does": "note", "actor": "engrams", "why": heading, "scope": owner.key},
        )
        return True

    def _find_turns(self, owner: Scope, day: date) -> list[Record]:
        """Find what was said on a day, in the order of telling."""
        start = datetime.combine(day, time(), UTC)
        turns: list[Record] = []
        after = ""
        while True:
            page = self._deps.store.find(
                RecordQuery(
                    ScopeReach.of_owner(owner),
                    MESSAGE_KINDS,
                    order="newest",
                    limit=_PAGE,
                    after=after,
                )
            )
            turns += [
                record
                for record in page.records
                if start <= record.recorded_at < start + timedelta(days=1)
            ]
            if not page.next or page.records[-1].recorded_at < start:
                return sorted(turns, key=lambda record: record.story_key)
            after = page.next

    def _make_lines(self, owner: Scope, turns: Sequence[Record]) -> list[str]:
        if self._chat is not None:
            try:
                return self._ask_model(self._chat, turns)
            except (ModelError, BudgetError):
                # Fall back to the rules; the turns themselves are in the journal in any case.
                pass
        return [f"- {shorten_to_line(text)}" for text in self._pick_texts(owner, turns)]

    def _ask_model(self, chat: ChatModel, turns: Sequence[Record]) -> list[str]:
        """Let a model write the lines, without those that nobody said. ModelError: it failed."""
        transcript = "\n".join(
            f"{record.speaker or record.role or 'someone'}:"
            f" {prompts.quote(record.text[:_SHOWN_CHARS])}"
            for record in turns[-_SHOWN_TURNS:]
        )
        prompt = prompts.load("daily").render(said=transcript, limit=str(_MAX_WRITTEN))
        request = ChatRequest((ChatMessage("user", prompt),), "daily", may_be_empty=True)
        answer = chat.ask(request).text.strip()
        lines = [
            _BULLET.sub("", line).strip()
            for line in answer.splitlines()
            if not line.startswith(("#", "```"))
        ]
        told_lines = [line for line in lines if not says_nothing(line)]
        unsupported = find_unsupported(told_lines, transcript)
        supported_lines = [line for line in told_lines if line not in unsupported]
        if not supported_lines and not all(map(begins_with_nothing, told_lines)):
            raise ModelError("The model wrote nothing that was said.")
        return [f"- {line}" for line in supported_lines][:_MAX_WRITTEN]

    def _pick_texts(self, owner: Scope, turns: Sequence[Record]) -> list[str]:
        """Pick learned statements by importance, then the texts that taught none.

        Where something was learned, only notes are left of the latter; else what people said in
        more than three words. What only supposes or asks something, or thanks, is left out.
        """
        statements = self._deps.store.find(
            RecordQuery(
                ScopeReach.of_owner(owner),
                _STATED,
                (Status.ACTIVE,),
                sources=tuple(record.id for record in turns),
                limit=200,
            )
        ).records
        rank = {kind: index for index, kind in enumerate(_STATED)}
        ranked = sorted(
            statements,
            key=lambda record: (rank[record.kind], -record.importance, record.recorded_at),
        )
        picked = [record.text for record in ranked if not is_supposition(record.text)]
        source_ids = {item.source for record in statements for item in record.evidence}
        for record in turns:
            if record.id in source_ids or is_question(record.text):
                continue
            if record.kind is Kind.NOTE:
                picked.append(record.text)
            elif not statements and record.role not in ("assistant", "tool"):
                text = _cut_empty_sentences(record.text)
                picked += [text] if word_count(text) >= _FEWEST_WORDS else []
        return list(dict.fromkeys(picked))[:_MAX_PICKED]


def _summary_fact(owner: Scope, day: date) -> str:
    """Name the fact that tells what a day's summary was made from."""
    return f"summary:{owner.key}:{day}"


def _cut_empty_sentences(text: str) -> str:
    """Cut the sentences of a message that tell nothing: suppositions, requests, thanks."""
    sentences = [sentence.strip() for sentence in _SENTENCE_END.split(text)]
    return " ".join(
        sentence
        for sentence in sentences
        if tells_something(sentence) and not is_supposition(sentence)
    )


def shorten_to_line(text: str) -> str:
    """Shorten a text to one line of a list."""
    line = " ".join(text.split())
    return line if len(line) <= _LINE_CHARS else line[: _LINE_CHARS - 1].rstrip() + "…"


def _hash_turns(records: Sequence[Record]) -> str:
    digest = hashlib.blake2b(digest_size=16)
    for record in records:
        digest.update(f"{record.role}\x1f{record.text}\x1e".encode("utf-8", "replace"))
    return digest.hexdigest()
