"""Questions of a review to the chat model: which facts are outdated, which can become one.

What the model answers is checked here: it may name only facts that it was shown, and a merged text
may lose no number of its sources.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

from engrams import prompts
from engrams.core import Record
from engrams.core.clock import parse_time
from engrams.core.meta_keys import REINFORCEMENTS
from engrams.ports import ChatMessage, ChatModel, ChatRequest
from engrams.settings import ReviewSettings
from engrams.upkeep.fact_review.review_plan import PlannedFactMerge, PlannedFactRemoval

_MAX_SHOWN = 60
"""Facts in one prompt."""
_MAX_REASON = 200
_MERGE_TOKENS = 2048
_NUMBER = re.compile(r"\d+(?:[.,:]\d+)*")

_OUTDATED_SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "outdated": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {"id": {"type": "integer"}, "reason": {"type": "string"}},
                "required": ["id"],
            },
        }
    },
    "required": ["outdated"],
}
_GROUPS_SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "groups": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {
                    "ids": {"type": "array", "items": {"type": "integer"}},
                    "text": {"type": "string"},
                },
                "required": ["ids", "text"],
            },
        }
    },
    "required": ["groups"],
}


def find_outdated(
    chat: ChatModel, facts: Sequence[Record], section: ReviewSettings, now: datetime
) -> tuple[PlannedFactRemoval, ...]:
    """Ask which facts of long ago are out of date.

    Nobody is asked where fewer than ``review.min_old`` were last said ``review.old_days`` ago.
    """
    old_age = timedelta(days=section.old_days)
    old_facts = sorted(
        (fact for fact in facts if now - find_last_saying(fact) > old_age),
        key=lambda fact: (find_last_saying(fact), fact.id),
    )
    if len(old_facts) < section.min_old:
        return ()
    shown = _pick_todays_part(old_facts, now)
    listed = "\n".join(
        f"{number}. {prompts.quote(fact.text)} ({find_last_saying(fact):%Y-%m-%d})"
        for number, fact in enumerate(shown, 1)
    )
    prompt = prompts.load("review").render(
        today=f"{now:%Y-%m-%d}", facts=listed, limit=str(section.max_removed)
    )
    answer = chat.ask(ChatRequest((ChatMessage("user", prompt),), "review", _OUTDATED_SCHEMA))
    reasons = {
        row["id"]: str(row.get("reason") or "out of date")[:_MAX_REASON]
        for row in answer.data["outdated"]
        if 1 <= row["id"] <= len(shown)
    }
    return tuple(
        PlannedFactRemoval(shown[number - 1], reason)
        for number, reason in list(reasons.items())[: section.max_removed]
    )


def _pick_todays_part(facts: Sequence[Record], now: datetime) -> Sequence[Record]:
    """Pick as many facts as one prompt shows; of more another part each day, so that all come."""
    if len(facts) <= _MAX_SHOWN:
        return facts
    start = now.toordinal() * _MAX_SHOWN % len(facts)
    return [*facts[start:], *facts[:start]][:_MAX_SHOWN]


def find_last_saying(record: Record) -> datetime:
    """Return the latest time at which a fact was said, repetitions included."""
    repetitions = [
        parse_time(str(entry["at"]))
        for entry in record.meta.get(REINFORCEMENTS, ())
        if isinstance(entry, dict) and entry.get("at")
    ]
    return max([record.recorded_at, *repetitions])


def find_merges(
    chat: ChatModel, facts: Sequence[Record], section: ReviewSettings
) -> tuple[list[PlannedFactMerge], list[str]]:
    """Ask which facts can become one; returns the merges, and notes about refused ones."""
    shown = facts[:_MAX_SHOWN]
    listed = "\n".join(
        f"{number}. {prompts.quote(fact.text)}" for number, fact in enumerate(shown, 1)
    )
    prompt = prompts.load("merge").render(
        groups=str(section.max_merges), sources=str(section.max_sources), facts=listed
    )
    answer = chat.ask(
        ChatRequest(
            (ChatMessage("user", prompt),), "merge", _GROUPS_SCHEMA, max_tokens=_MERGE_TOKENS
        )
    )
    used_numbers: set[int] = set()
    merges = []
    notes = []
    for row in answer.data["groups"]:
        numbers = [number for number in dict.fromkeys(row["ids"]) if 1 <= number <= len(shown)]
        sources = tuple(shown[number - 1] for number in numbers)
        merged_text = " ".join(str(row["text"]).split())
        is_used = bool(used_numbers & set(numbers))
        refusal = _find_refusal(sources, merged_text, section, is_used=is_used)
        if refusal:
            notes.append(f"not merged: {refusal}")
            continue
        used_numbers |= set(numbers)
        merges.append(PlannedFactMerge(sources, merged_text))
    return merges, notes


def _find_refusal(
    sources: Sequence[Record], text: str, section: ReviewSettings, *, is_used: bool
) -> str:
    """Return why a merge is refused; empty: allowed.

    ``is_used``: one of the sources is in an earlier group.
    """
    if not 2 <= len(sources) <= section.max_sources:
        return f"{len(sources)} facts"
    if is_used:
        return "a fact is in two groups"
    if len({(source.kind, source.subject) for source in sources}) > 1:
        return "they are about different things"
    source_numbers = {number for source in sources for number in _NUMBER.findall(source.text)}
    missing = source_numbers - set(_NUMBER.findall(text))
    if missing or not text:
        return f"the text lacks {', '.join(sorted(missing)) or 'everything'}"
    return ""
