"""Session store of the Claude Agent SDK."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from engrams.adapters.item_journal import (
    ITEM,
    FrameworkItem,
    FrameworkItemJournal,
    join_texts,
    list_items,
    make_silent_item,
    read_item,
    run_to_end,
)
from engrams.core import Json, Record, Scope, ScopeInput, strip_blank

if TYPE_CHECKING:
    from engrams.engine import MemoryEngine

_ADAPTER = "claude"


class ClaudeSessionStore:
    """Transcripts of Claude's sessions in memory, for ``ClaudeAgentOptions(session_store=…)``.

    The user's and the agent's words become turns of memory; everything else (calls of tools,
    results, side conversations, marks) is stored for the transcript alone.
    """

    def __init__(self, engine: MemoryEngine, scope: ScopeInput) -> None:
        """Keep the sessions of one scope."""
        self._engine = engine
        self._scope = Scope.of(scope)

    async def append(self, key: Mapping[str, str], entries: Sequence[Any]) -> None:
        """Store entries in one durable write.

        An entry with a known ``uuid`` is skipped.
        """
        side = bool(key.get("subpath"))
        await run_to_end(
            self._open(key).append, [_to_journal_item(entry, side) for entry in entries]
        )

    async def load(self, key: Mapping[str, str]) -> list[Any] | None:
        """Return a transcript's entries in order; None if there are none.

        An entry whose parent was forgotten or purged follows the last entry before it.
        """
        return _link_parents(await asyncio.to_thread(self._open(key).read)) or None

    async def list_sessions(self, project_key: str) -> list[Any]:
        """List a project's sessions.

        ``mtime``: the time of their last entry, in milliseconds since 1970.
        """
        transcripts = await asyncio.to_thread(self._read_transcripts, project_key)
        return [
            {"session_id": session, "mtime": _get_mtime(records)}
            for session, records in transcripts.items()
        ]

    async def list_session_summaries(self, project_key: str) -> list[Any]:
        """Summarise a project's sessions as the SDK folds them."""
        transcripts = await asyncio.to_thread(self._read_transcripts, project_key)
        return [
            self._summarise(project_key, session, records)
            for session, records in transcripts.items()
        ]

    async def delete(self, key: Mapping[str, str]) -> None:
        """Erase a transcript; without ``subpath`` the whole session."""
        await run_to_end(self._erase, key)

    async def list_subkeys(self, key: Mapping[str, str]) -> list[str]:
        """List the subpaths (subagent transcripts) of a session."""
        records = await asyncio.to_thread(
            self._list_records, {"project": key["project_key"], "session": key["session_id"]}
        )
        return sorted({path for record in records if (path := record.meta[ITEM]["subpath"])})

    def _open(self, key: Mapping[str, str]) -> FrameworkItemJournal:
        conversation_key = {
            "project": key["project_key"],
            "session": key["session_id"],
            "subpath": key.get("subpath") or "",
        }
        return FrameworkItemJournal(
            self._engine, self._scope, _ADAPTER, conversation_key, key["session_id"]
        )

    def _list_records(self, conversation_key: Mapping[str, str]) -> list[Record]:
        return list(
            list_items(
                self._engine,
                self._scope,
                {"adapter": _ADAPTER, **conversation_key},
                session=conversation_key.get("session", ""),
            )
        )

    def _read_transcripts(self, project: str) -> dict[str, list[Record]]:
        transcripts: dict[str, list[Record]] = {}
        for record in self._list_records({"project": project, "subpath": ""}):
            transcripts.setdefault(record.meta[ITEM]["session"], []).append(record)
        return transcripts

    def _summarise(self, project: str, session: str, records: Sequence[Record]) -> Json:
        from claude_agent_sdk import fold_session_summary

        entries = [read_item(record)["data"] for record in records]
        return {
            **fold_session_summary(None, {"project_key": project, "session_id": session}, entries),
            "mtime": _get_mtime(records),
        }

    def _erase(self, key: Mapping[str, str]) -> None:
        session_key = {"project": key["project_key"], "session": key["session_id"]}
        records = self._list_records(
            {**session_key, "subpath": key["subpath"]} if key.get("subpath") else session_key
        )
        if records:
            self._engine.purge([record.id for record in records], scope=self._scope, later=True)


def _link_parents(entries: Sequence[Any]) -> list[Any]:
    """Link each entry whose parent was removed to the entry before it.

    The SDK rebuilds a session by following parents from its last entry.
    """
    entry_ids = {entry.get("uuid") for entry in entries}
    previous_id = None
    linked = []
    for entry in entries:
        has_lost_parent = (
            entry.get("parentUuid") is not None and entry["parentUuid"] not in entry_ids
        )
        if has_lost_parent and previous_id:
            linked.append({**entry, "parentUuid": previous_id})
        else:
            linked.append(entry)
        previous_id = entry.get("uuid") or previous_id
    return linked


def _get_mtime(records: Sequence[Record]) -> int:
    return max(int(record.recorded_at.timestamp() * 1000) for record in records)


def _to_journal_item(entry: Mapping[str, Any], side: bool) -> FrameworkItem:
    """Convert a transcript entry.

    ``side``: of a conversation of the agent with itself.
    """
    data = json.loads(json.dumps(entry))
    key = str(entry.get("uuid") or "")
    message = entry.get("message")
    text = strip_blank(join_texts(message.get("content"))) if isinstance(message, Mapping) else ""
    is_hidden = (
        side
        or entry.get("isSidechain")
        or entry.get("isMeta")
        or entry.get("type") not in ("user", "assistant")
    )
    if is_hidden or not text:
        return make_silent_item(data, key)
    return FrameworkItem(data, text, "user" if entry["type"] == "user" else "assistant", key=key)
