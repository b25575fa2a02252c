"""Transcripts of the Claude Agent SDK in memory: stored, listed, read back, and recalled by another
session.

The SDK's own helpers read the store here, without its command line tool. With it and a key:
``ClaudeAgentOptions(session_store=store)``.
"""

import asyncio
from pathlib import Path
from uuid import uuid4

from claude_agent_sdk import (
    get_session_messages_from_store,
    list_sessions_from_store,
    project_key_for_directory,
)

import engrams
from engrams.adapters import ClaudeSessionStore

ANN = ("user", "ann")
FOLDER = str(Path.cwd())


def entry(session: str, role: str, text: str, parent: str | None = None) -> dict[str, object]:
    said = {"role": role, "content": text if role == "user" else [{"type": "text", "text": text}]}
    time = "2026-11-20T09:00:00.000Z"
    return {
        "type": role,
        "uuid": str(uuid4()),
        "parentUuid": parent,
        "sessionId": session,
        "timestamp": time,
        "message": said,
    }


async def main() -> None:
    with engrams.open(store__url=":memory:") as memory:
        store = ClaudeSessionStore(memory, ANN)
        session = str(uuid4())
        asked = entry(session, "user", "We deploy with make release, never by hand.")
        answered = entry(session, "assistant", "Understood.", str(asked["uuid"]))
        await store.append(
            {"project_key": project_key_for_directory(FOLDER), "session_id": session},
            [asked, answered],
        )

        for listed in await list_sessions_from_store(store, directory=FOLDER):
            print("Session:", listed.first_prompt)
        for message in await get_session_messages_from_store(store, session, directory=FOLDER):
            print(f"{message.type}: {message.message['content']}")
        print(
            "Another session recalls:",
            memory.search("How do we deploy?", scope=ANN).hits[0].record.text,
        )


asyncio.run(main())
