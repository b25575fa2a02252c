"""A memory service of Google ADK, asked as an agent's tool asks it:
pip install '.[google-adk]' and run this.
"""

import asyncio

from google.adk.events import Event
from google.adk.sessions import InMemorySessionService
from google.genai import types

import engrams
from engrams.adapters import GoogleADKMemoryService


async def main() -> None:
    with engrams.open(store__url=":memory:") as memory:
        sessions = InMemorySessionService()
        service = GoogleADKMemoryService(memory)
        session = await sessions.create_session(app_name="cook", user_id="alice")
        for author, text in (("user", "I am allergic to nuts."), ("cook", "Noted.")):
            role = "user" if author == "user" else "model"
            await sessions.append_event(
                session,
                Event(
                    author=author, content=types.Content(role=role, parts=[types.Part(text=text)])
                ),
            )
        await service.add_session_to_memory(session)
        found = await service.search_memory(
            app_name="cook", user_id="alice", query="What am I allergic to?"
        )
        for entry in found.memories:
            print(f"{entry.timestamp} {entry.author}: {entry.content.parts[0].text}")


asyncio.run(main())
