"""Bring what lasts from the daily notes into MEMORY.md."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict
from datetime import date, datetime, timedelta
from typing import Any

from engrams import prompts
from engrams.core import Kind, Record, Scope, content_hash
from engrams.core.clock import parse_time
from engrams.errors import ConflictError, ModelError, NotFoundError
from engrams.frozen_data import dataclass
from engrams.ports import (
    DREAM,
    ChatMessage,
    ChatModel,
    ChatRequest,
    JobSpec,
    RecordQuery,
    ScopeReach,
)
from engrams.vault.dependencies import VaultDeps
from engrams.vault.files.folder_access import PlannedFileWrite, hash_bytes
from engrams.vault.files.vault_paths import daily_path, diary_path, memory_path
from engrams.vault.notes import memory_md
from engrams.vault.notes.memory_md import MemoryFileItem
from engrams.vault.notes.note_lines import NoteLineLedger, keep_lines
from engrams.vault.notes.search_index import estimate_tokens

_BY_HAND = 3
_MOST_DAYS = 30
PAUSE = 60.0
"""Seconds between the tries of a dream whose model fails."""

_TRIES = 3
_SCHEMA = {
    "type": "object",
    "properties": {
        "items": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {"topic": {"type": "string"}, "text": {"type": "string"}},
                "required": ["topic", "text"],
            },
        },
        "diary": {"type": "string"},
    },
}
_STATED = (Kind.FACT, Kind.PREFERENCE, Kind.NOTE, Kind.PROCEDURE, Kind.CORRECTION, Kind.NEGATIVE)


@dataclass(frozen=True, slots=True)
class DreamPlan:
    """Planned changes of MEMORY.md by a dream (consolidation of daily notes).

    ``memory``: the new MEMORY.md (None: it stays). ``before``: the hash of the one it was made
    from. ``source``: the hash of day and notes.
    """

    owner: str
    day: str
    memory: str | None
    diary: str
    before: str
    source: str
    added: tuple[str, ...] = ()
    dropped: tuple[tuple[str, str], ...] = ()


class DreamRunner:
    """Plans and applies dreams: daily notes consolidated into MEMORY.md. Thread safe."""

    def __init__(
        self, parts: VaultDeps, lines: NoteLineLedger, chat: ChatModel | None = None
    ) -> None:
        self._parts = parts
        self._lines = lines
        self._chat = chat

    def dream(
        self,
        owner: Scope,
        days: int = _BY_HAND,
        *,
        force: bool = False,
        confirm: bool | None = None,
        today: date | None = None,
    ) -> DreamPlan | None:
        """Consolidate daily notes into MEMORY.md, or hold the plan for confirmation.

        None: no notes in these days, or nothing new in them. ModelError: the model failed, or gave
        no items; MEMORY.md is untouched and the same notes are dreamed again next time.
        """
        plan = self.plan(owner, days, force, today)
        if plan is None:
            return None
        if self._parts.settings.dream_confirm if confirm is None else confirm:
            self.hold_plan(plan)
        else:
            self.apply(plan)
        return plan

    def plan(
        self, owner: Scope, days: int = _BY_HAND, force: bool = False, today: date | None = None
    ) -> DreamPlan | None:
        """Plan the consolidation of the last days' notes (30 at most).

        None: there is nothing to dream of.
        """
        parts = self._parts
        today = today or parts.clock().date()
        notes = self._read_notes(owner, today, min(days, _MOST_DAYS))
        if not notes:
            return None
        source = hashlib.blake2b(
            f"{today}\x1f{notes}".encode("utf-8", "replace"), digest_size=16
        ).hexdigest()
        if not force and parts.state.get_fact(f"dreamed:{owner.key}") == source:
            return None
        data = parts.disk.read(memory_path(owner)) or b""
        memory = data.decode("utf-8", "replace")
        known = memory_md.parse(memory)
        new = memory_md.parse(notes, fresh=True)
        gone = self._lines.find_gone(owner, [item.text for item in (*known, *new)])
        if self._chat is None:
            often = _often_noted(new, parts.settings.core_days)
            tidied = memory_md.tidy(
                known, often, gone, self._find_topics(owner), parts.settings.memory_items
            )
            told = ""
        else:
            items, told = self._ask_model(
                self._chat, keep_lines(memory, gone), keep_lines(notes, gone)
            )
            tidied = memory_md.compare(known, items, gone)
            fresh = {item.text for item in tidied.items} - {item.text for item in (*known, *new)}
            self._lines.redraw(owner, fresh, [item.text for item in (*known, *new)])
        new_memory = memory_md.render(tidied.items) if tidied.items or known else None
        diary = "\n\n".join(filter(None, (told, _render_diary(tidied))))
        return DreamPlan(
            owner=owner.key,
            day=str(today),
            memory=new_memory,
            diary=diary,
            before=hash_bytes(data),
            source=source,
            added=tidied.added,
            dropped=tidied.dropped,
        )

    def hold_plan(self, plan: DreamPlan) -> None:
        """Keep a plan until it is confirmed."""
        self._parts.state.set_fact(f"plan:{plan.owner}", json.dumps(asdict(plan)))

    def held_plan(self, owner: Scope) -> DreamPlan | None:
        """Return the plan that waits for confirmation, if any."""
        held = self._parts.state.get_fact(f"plan:{owner.key}")
        if not held:
            return None
        told: dict[str, Any] = json.loads(held)
        return DreamPlan(
            **{
                **told,
                "added": tuple(told["added"]),
                "dropped": tuple((text, why) for text, why in told["dropped"]),
            }
        )

    def apply(self, plan: DreamPlan) -> None:
        """Apply a plan. ConflictError: MEMORY.md was changed since it was made."""
        parts = self._parts
        owner = Scope.parse(plan.owner)
        path = memory_path(owner)
        with parts.lock:
            old = parts.disk.read(path)
            if hash_bytes(old or b"") != plan.before:
                raise ConflictError(
                    "MEMORY.md was changed since the dream was planned.", hint="Dream again."
                )
            parts.make_folder()
            new = None if plan.memory is None else plan.memory.encode()
            if new is not None and new != old:
                before = None if old is None else old.decode("utf-8", "replace")
                parts.state.set_fact(
                    f"undo:{plan.owner}",
                    json.dumps({"path": path, "memory": before, "wrote": hash_bytes(new)}),
                )
                parts.replace_file(
                    path,
                    new,
                    old,
                    {"does": "dream", "actor": "engrams", "why": "dreamed", "scope": plan.owner},
                )
            self._write_diary(owner, date.fromisoformat(plan.day), plan.diary)
            parts.state.set_fact(f"dreamed:{plan.owner}", plan.source)
            parts.state.set_fact(f"dreamt:{plan.owner}", parts.clock().isoformat())
            parts.state.set_fact(f"plan:{plan.owner}", "")

    def undo(self, owner: Scope) -> None:
        """Restore the MEMORY.md from before the last dream.

        NotFoundError: there is none. ConflictError: it was changed since.
        """
        parts = self._parts
        with parts.lock:
            told = json.loads(parts.state.get_fact(f"undo:{owner.key}") or "{}")
            if not told:
                raise NotFoundError(
                    "There is no dream to undo.",
                    hint="`engrams log` and `engrams revert` reach further back.",
                )
            if hash_bytes(parts.disk.read(told["path"]) or b"") != told["wrote"]:
                raise ConflictError(
                    "MEMORY.md was changed since the dream.",
                    hint="`engrams log` shows what it was before.",
                )
            parts.state.touch(
                [
                    (
                        told["path"],
                        {
                            "does": "undo",
                            "actor": "hand",
                            "why": "undid a dream",
                            "scope": owner.key,
                        },
                    )
                ]
            )
            if told["memory"] is None:
                parts.disk.remove(told["path"])
            else:
                parts.disk.write([PlannedFileWrite(told["path"], told["memory"].encode())])
            self._write_diary(owner, parts.clock().date(), "The last dream was undone.")
            parts.state.set_fact(f"undo:{owner.key}", "")

    def next_job(self, owner: Scope, now: datetime) -> JobSpec | None:
        """Make the job of the next consolidation by the set triggers."""
        section = self._parts.settings
        if not section.daily:
            return None
        due = _next_time(section.dream_at, now)
        if self._is_due(owner, now):
            due = now
        return (
            None
            if due is None
            else JobSpec(DREAM, owner.key, {"owner": owner.key}, due, attempts=_TRIES)
        )

    def days_back(self, owner: Scope, today: date) -> int:
        """Count the days that a scheduled dream reads (30 at most).

        As set; where notes or size start dreams, at least from the day of the last one.
        """
        section = self._parts.settings
        counted = section.dream_files or section.dream_bytes
        return max(
            section.dream_days, (today - self._last_day(owner, today)).days + 1 if counted else 0
        )

    def _last_day(self, owner: Scope, today: date) -> date:
        """Find the day of the last dream, or the earliest read."""
        last = self._parts.state.get_fact(f"dreamt:{owner.key}")
        return parse_time(last).date() if last else today - timedelta(days=_MOST_DAYS)

    def _is_due(self, owner: Scope, now: datetime) -> bool:
        """True where notes or size reached the limit that starts a consolidation."""
        section = self._parts.settings
        today = now.date()
        if not section.dream_files and not section.dream_bytes:
            return False
        days = [
            today - timedelta(days=back)
            for back in range((today - self._last_day(owner, today)).days)
        ]
        notes = [
            stat
            for day in days
            if (stat := self._parts.disk.stat(daily_path(owner, day))) is not None
        ]
        memory = self._parts.disk.stat(memory_path(owner))
        size = sum(stat.size for stat in notes) + (memory.size if memory else 0)
        enough = bool(section.dream_files) and len(notes) >= section.dream_files
        return enough or (bool(section.dream_bytes) and bool(notes) and size >= section.dream_bytes)

    def _read_notes(self, owner: Scope, today: date, days: int) -> str:
        found = []
        for back in range(days - 1, -1, -1):
            data = self._parts.disk.read(daily_path(owner, today - timedelta(days=back)))
            if data and data.strip():
                found.append(data.decode("utf-8", "replace").strip())
        return "\n\n".join(found)

    def _ask_model(
        self, chat: ChatModel, memory: str, notes: str
    ) -> tuple[tuple[MemoryFileItem, ...], str]:
        """Ask for the new items, and the model's words on them."""
        most = self._parts.settings.memory_items
        held = memory_md.parse(memory)
        quoted = [prompts.quote(text[-60_000:]) for text in (memory, notes)]
        prompt = prompts.load("dream").render(memory=quoted[0], notes=quoted[1], limit=str(most))
        size = min(8000, 500 + estimate_tokens(memory) * 2 + estimate_tokens(notes))
        answer = chat.ask(
            ChatRequest((ChatMessage("user", prompt),), "dream", _SCHEMA, max_tokens=size)
        )
        told = answer.data if isinstance(answer.data, dict) else {}
        rows = [row for row in told.get("items") or () if isinstance(row, dict)]
        found = [
            MemoryFileItem(str(row["topic"]), text)
            for row in rows
            if (text := " ".join(str(row["text"]).split()))
        ]
        if not found and (held or "items" not in told):
            raise ModelError(
                "The model gave no items for MEMORY.md.",
                hint="It stays as it was; the same notes are dreamed again.",
            )
        # The model may not drop a correction.
        found += [
            item
            for item in held
            if item.is_correction
            and not any(content_hash(item.text) == content_hash(new.text) for new in found)
        ]
        return memory_md.tidy(found, (), (), {}, most).items, str(told.get("diary") or "").strip()

    def _find_topics(self, owner: Scope) -> dict[str, str]:
        page = self._parts.store.find(
            RecordQuery(ScopeReach(owner, (owner,), tree=True), _STATED, limit=1000)
        )
        return {record.hash: topic for record in page.records if (topic := _topic_of(record))}

    def _write_diary(self, owner: Scope, day: date, text: str) -> None:
        disk = self._parts.disk
        path = diary_path(owner, day)
        old = disk.read(path)
        head = old.decode("utf-8", "replace").rstrip("\n") if old else f"# Dream of {day:%Y-%m-%d}"
        new = f"{head}\n\n## {self._parts.clock():%H:%M}\n\n{text.strip()}\n".encode()
        self._parts.replace_file(
            path,
            new,
            old,
            {"does": "dream", "actor": "engrams", "why": "dreamed", "scope": owner.key},
        )


def _often_noted(items: Sequence[MemoryFileItem], days: int) -> tuple[MemoryFileItem, ...]:
    """Items that stand in the notes of so many days.

    A day's note holds a line once.
    """
    counts = Counter(content_hash(item.text) for item in items)
    return tuple(item for item in items if counts[content_hash(item.text)] >= days)


def _topic_of(record: Record) -> str:
    if record.kind is Kind.CORRECTION:
        return memory_md.CORRECTIONS
    return (
        (record.category or (record.tags[0] if record.tags else ""))
        .replace("_", " ")
        .strip()
        .capitalize()
    )


def _render_diary(tidied: memory_md.MemoryItemTidyResult) -> str:
    lines = [
        f"Brought in {len(tidied.added)}, dropped {len(tidied.dropped)}, {len(tidied.items)} items"
        " now."
    ]
    lines += [f"- in: {text}" for text in tidied.added]
    lines += [f"- out ({why}): {text}" for text, why in tidied.dropped]
    return "\n".join(lines)


def _next_time(at: str, now: datetime) -> datetime | None:
    """Return the next time of day ``at``; None where it is none."""
    hour, _, minute = at.partition(":")
    if (
        not hour.strip().isdigit()
        or not minute.strip().isdigit()
        or int(hour) > 23
        or int(minute) > 59
    ):
        return None
    due = now.replace(hour=int(hour), minute=int(minute), second=0, microsecond=0)
    return due if due > now else due + timedelta(days=1)
