"""Bring what lasts from the daily notes into MEMORY.md.

``DreamRunner.dream`` plans the new MEMORY.md, by a model or by rules, and applies the plan, or keeps
it until somebody confirms it. ``undo`` brings the former MEMORY.md back.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from datetime import date, timedelta
from typing import Any

from engrams.core import Kind, Record, Scope, content_hash
from engrams.errors import ConflictError, NotFoundError
from engrams.ports import ChatModel, RecordQuery, ScopeReach
from engrams.vault.dependencies import VaultDeps
from engrams.vault.files.folder_access import PlannedFileWrite, hash_bytes
from engrams.vault.notes import memory_md
from engrams.vault.notes.dream_model import ask_for_items
from engrams.vault.notes.dream_schedule import MAX_DAYS
from engrams.vault.notes.memory_md import MemoryFileItem
from engrams.vault.notes.note_lines import NoteLineLedger, blank_lines
from engrams.vault.notes.note_paths import daily_path, diary_path, memory_path

_DAYS_BY_HAND = 3
_STATED = (Kind.FACT, Kind.PREFERENCE, Kind.NOTE, Kind.PROCEDURE, Kind.CORRECTION, Kind.NEGATIVE)
"""Kinds of memories whose category is the topic of an item that says the same."""


@dataclass(frozen=True, slots=True)
class DreamPlan:
    """Planned changes of MEMORY.md by a dream (consolidation of daily notes)."""

    owner: str
    """Key of the owner's scope."""
    day: str
    """Day of the dream (ISO), whose diary tells of it."""
    memory: str | None
    """The new MEMORY.md; None: it stays."""
    diary: str
    before: str
    """Hash of the MEMORY.md that the plan was made from."""
    source: str
    """Hash of day and notes."""
    added: tuple[str, ...] = ()
    dropped: tuple[tuple[str, str], ...] = ()
    """Text and reason of each item that goes."""


class DreamRunner:
    """Plans and applies dreams: daily notes consolidated into MEMORY.md. Thread safe."""

    def __init__(
        self, deps: VaultDeps, lines: NoteLineLedger, chat: ChatModel | None = None
    ) -> None:
        self._deps = deps
        self._lines = lines
        self._chat = chat

    def dream(
        self,
        owner: Scope,
        days: int = _DAYS_BY_HAND,
        *,
        force: bool = False,
        confirm: bool | None = None,
        today: date | None = None,
    ) -> DreamPlan | None:
        """Consolidate daily notes into MEMORY.md, or hold the plan for confirmation.

        None: no notes in these days, or nothing new in them. ``confirm``: hold the plan (None:
        ``vault.dream_confirm``). ModelError: the model failed, or gave no items; MEMORY.md is
        untouched and the same notes are dreamed again next time.
        """
        plan = self.plan(owner, days, force, today)
        if plan is None:
            return None
        if self._deps.settings.dream_confirm if confirm is None else confirm:
            self.hold_plan(plan)
        else:
            self.apply(plan)
        return plan

    def plan(
        self,
        owner: Scope,
        days: int = _DAYS_BY_HAND,
        force: bool = False,
        today: date | None = None,
    ) -> DreamPlan | None:
        """Plan the consolidation of the last days' notes (30 at most).

        None: there is nothing to dream of. ``force``: also where these notes were dreamed before.
        """
        deps = self._deps
        today = today or deps.clock().date()
        notes = self._read_notes(owner, today, min(days, MAX_DAYS))
        if not notes:
            return None
        source = hashlib.blake2b(
            f"{today}\x1f{notes}".encode("utf-8", "replace"), digest_size=16
        ).hexdigest()
        if not force and source in deps.state.get_fact(f"dreamed:{owner.key}").split():
            return None
        data = deps.disk.read(memory_path(owner)) or b""
        memory = data.decode("utf-8", "replace")
        old_items = memory_md.parse(memory)
        if self._chat is None:
            tidied = self._choose_by_rules(owner, old_items, notes)
            diary = ""
        else:
            tidied, diary = self._choose_by_model(self._chat, owner, memory, notes)
        head, _ = memory_md.split_head(memory)
        new_memory = memory_md.render(tidied.items, head) if tidied.items or old_items else None
        return DreamPlan(
            owner=owner.key,
            day=str(today),
            memory=new_memory,
            diary="\n\n".join(filter(None, (diary, _render_diary(tidied)))),
            before=hash_bytes(data),
            source=source,
            added=tidied.added,
            dropped=tidied.dropped,
        )

    def hold_plan(self, plan: DreamPlan) -> None:
        """Keep a plan until it is confirmed."""
        self._deps.state.set_fact(f"plan:{plan.owner}", json.dumps(asdict(plan)))

    def held_plan(self, owner: Scope) -> DreamPlan | None:
        """Return the plan that waits for confirmation, if any."""
        plan_json = self._deps.state.get_fact(f"plan:{owner.key}")
        if not plan_json:
            return None
        fields: dict[str, Any] = json.loads(plan_json)
        return DreamPlan(
            **{
                **fields,
                "added": tuple(fields["added"]),
                "dropped": tuple((text, reason) for text, reason in fields["dropped"]),
            }
        )

    def apply(self, plan: DreamPlan) -> None:
        """Apply a plan. ConflictError: MEMORY.md was changed since it was made."""
        deps = self._deps
        owner = Scope.parse(plan.owner)
        path = memory_path(owner)
        with deps.lock:
            old_data = deps.disk.read(path)
            if hash_bytes(old_data or b"") != plan.before:
                raise ConflictError(
                    "MEMORY.md was changed since the dream was planned.", hint="Dream again."
                )
            deps.make_folder()
            new_data = None if plan.memory is None else plan.memory.encode()
            if new_data is not None and new_data != old_data:
                old_text = None if old_data is None else old_data.decode("utf-8", "replace")
                undo = {"path": path, "memory": old_text, "wrote": hash_bytes(new_data)}
                deps.state.set_fact(f"undo:{plan.owner}", json.dumps(undo))
                deps.replace_file(path, new_data, old_data, _make_note(owner))
            self._write_diary(owner, date.fromisoformat(plan.day), plan.diary)
            # A day's notes can be dreamed of by several numbers of days.
            sources = [*deps.state.get_fact(f"dreamed:{plan.owner}").split(), plan.source]
            deps.state.set_fact(f"dreamed:{plan.owner}", " ".join(sources[-MAX_DAYS:]))
            deps.state.set_fact(f"dreamt:{plan.owner}", deps.clock().isoformat())
            deps.state.set_fact(f"plan:{plan.owner}", "")

    def undo(self, owner: Scope) -> None:
        """Restore the MEMORY.md from before the last dream.

        NotFoundError: there is none. ConflictError: it was changed since.
        """
        deps = self._deps
        with deps.lock:
            undo = json.loads(deps.state.get_fact(f"undo:{owner.key}") or "{}")
            if not undo:
                raise NotFoundError(
                    "There is no dream to undo.",
                    hint="`engrams log` and `engrams revert` reach further back.",
                )
            path = undo["path"]
            if hash_bytes(deps.disk.read(path) or b"") != undo["wrote"]:
                raise ConflictError(
                    "MEMORY.md was changed since the dream.",
                    hint="`engrams log` shows its earlier text.",
                )
            note = {"does": "undo", "actor": "hand", "why": "undid a dream", "scope": owner.key}
            deps.state.touch([(path, note)])
            if undo["memory"] is None:
                deps.disk.remove(path)
            else:
                deps.disk.write([PlannedFileWrite(path, undo["memory"].encode())])
            self._write_diary(owner, deps.clock().date(), "The last dream was undone.")
            deps.state.set_fact(f"undo:{owner.key}", "")

    def drop_drafts(self, owner: Scope) -> None:
        """Forget the plan that waits, and the MEMORY.md from before the last dream."""
        for name in (f"plan:{owner.key}", f"undo:{owner.key}"):
            if self._deps.state.get_fact(name):
                self._deps.state.set_fact(name, "")

    def _choose_by_rules(
        self, owner: Scope, old_items: Sequence[MemoryFileItem], notes: str
    ) -> memory_md.MemoryItemTidyResult:
        """Keep the items that still hold, and add lines that stand in the notes of several days."""
        section = self._deps.settings
        new_items = memory_md.parse_note(notes)
        return memory_md.tidy(
            old_items,
            _select_often_noted(new_items, section.core_days),
            self._find_gone(owner, (*old_items, *new_items)),
            self._find_topics(owner),
            section.memory_items,
        )

    def _choose_by_model(
        self, chat: ChatModel, owner: Scope, memory: str, notes: str
    ) -> tuple[memory_md.MemoryItemTidyResult, str]:
        """Let a model choose the items; also return its words on it.

        It is not shown the lines that no longer hold. The lines that it words anew are noted to
        follow from the memories of the old ones.
        """
        old_items = memory_md.parse(memory)
        shown_items = (*old_items, *memory_md.parse_note(notes))
        gone_hashes = self._find_gone(owner, shown_items)
        answer = ask_for_items(
            chat,
            blank_lines(memory, gone_hashes),
            blank_lines(notes, gone_hashes),
            self._deps.settings.memory_items,
        )
        tidied = memory_md.compare(old_items, answer.items, gone_hashes)
        refused = [(text, "nobody said it") for text in answer.refused]
        tidied = replace(tidied, dropped=(*tidied.dropped, *refused))
        shown_texts = [item.text for item in shown_items]
        reworded = {item.text for item in tidied.items} - set(shown_texts)
        self._lines.redraw(owner, reworded, shown_texts)
        return tidied, answer.diary

    def _find_gone(self, owner: Scope, items: Sequence[MemoryFileItem]) -> set[str]:
        return self._lines.find_gone(owner, [line for item in items for line in item.lines])

    def _read_notes(self, owner: Scope, today: date, days: int) -> str:
        """Read the notes of the last days, oldest first, as one text."""
        notes = []
        for days_back in range(days - 1, -1, -1):
            data = self._deps.disk.read(daily_path(owner, today - timedelta(days=days_back)))
            if data and data.strip():
                notes.append(data.decode("utf-8", "replace").strip())
        return "\n\n".join(notes)

    def _find_topics(self, owner: Scope) -> dict[str, str]:
        """Find the topics of known statements, by the hashes of their texts."""
        page = self._deps.store.find(RecordQuery(ScopeReach.of_owner(owner), _STATED, limit=1000))
        topics = {record.hash: _find_topic(record) for record in page.records}
        return {text_hash: topic for text_hash, topic in topics.items() if topic}

    def _write_diary(self, owner: Scope, day: date, text: str) -> None:
        """Append an entry to the diary of dreams."""
        path = diary_path(owner, day)
        old_data = self._deps.disk.read(path)
        diary = f"# Dream of {day:%Y-%m-%d}"
        if old_data:
            diary = old_data.decode("utf-8", "replace").rstrip("\n")
        entry = f"## {self._deps.clock():%H:%M}\n\n{text.strip()}"
        self._deps.replace_file(path, f"{diary}\n\n{entry}\n".encode(), old_data, _make_note(owner))


def _make_note(owner: Scope) -> dict[str, str]:
    return {"does": "dream", "actor": "engrams", "why": "dreamed", "scope": owner.key}


def _select_often_noted(items: Sequence[MemoryFileItem], days: int) -> tuple[MemoryFileItem, ...]:
    """Select the items that stand in the notes of so many days.

    A day's note has a line only once.
    """
    counts = Counter(content_hash(item.text) for item in items)
    return tuple(item for item in items if counts[content_hash(item.text)] >= days)


def _find_topic(record: Record) -> str:
    """Return the topic of a memory: its category, or else its first tag."""
    if record.kind is Kind.CORRECTION:
        return memory_md.CORRECTIONS
    topic = record.category or (record.tags[0] if record.tags else "")
    return topic.replace("_", " ").strip().capitalize()


def _render_diary(tidied: memory_md.MemoryItemTidyResult) -> str:
    lines = [
        f"Brought in {len(tidied.added)}, dropped {len(tidied.dropped)}, {len(tidied.items)} items"
        " now."
    ]
    lines += [f"- in: {text}" for text in tidied.added]
    lines += [f"- out ({reason}): {text}" for text, reason in tidied.dropped]
    return "\n".join(lines)
