"""Sessions added again store nothing twice, what is deleted stays away, users and applications are
apart, memories are added.
"""

import asyncio

from google.adk.events import Event
from google.adk.memory.memory_entry import MemoryEntry
from google.adk.sessions import InMemorySessionService
from google.genai import types

import engrams
from engrams.adapters import GoogleADKMemoryService


def say(author: str, text: str) -> Event:
    role = "user" if author == "user" else "model"
    return Event(
        author=author,
        content=types.Content(
            role=role, parts=[types.Part(text=text), types.Part(text="hidden", thought=True)]
        ),
    )


async def main() -> None:
    with engrams.open(store__url=":memory:") as memory:
        sessions = InMemorySessionService()
        service = GoogleADKMemoryService(memory)
        session = await sessions.create_session(app_name="cook", user_id="ann")
        await sessions.append_event(session, say("user", "I am allergic to nuts."))
        await service.add_session_to_memory(session)
        await sessions.append_event(session, say("cook", "Then no marzipan."))
        await service.add_session_to_memory(session)

        async def find(app: str, user: str, query: str) -> list[MemoryEntry]:
            return (await service.search_memory(app_name=app, user_id=user, query=query)).memories

        said = [
            entry.content.parts[0].text
            for entry in await find("cook", "ann", "What am I allergic to?")
        ]
        assert sorted(said) == ["I am allergic to nuts.", "Then no marzipan."], said
        assert (
            await find("cook", "bob", "allergic to nuts")
            == []
            == await find("travel", "ann", "allergic to nuts")
        )
        nuts = next(
            entry
            for entry in await find("cook", "ann", "allergic to nuts")
            if "allergic" in entry.content.parts[0].text
        )
        await service.delete_memory(app_name="cook", user_id="ann", memory_id=nuts.id)
        await service.add_session_to_memory(session)
        assert not [
            entry
            for entry in await find("cook", "ann", "allergic to nuts")
            if "allergic" in entry.content.parts[0].text
        ]
        told = MemoryEntry(
            content=types.Content(parts=[types.Part(text="Ann lives in Oslo.")]),
            author="clerk",
            custom_metadata={"desk": 3},
        )
        await service.add_memory(app_name="cook", user_id="ann", memories=[told])
        (home, *_) = await find("cook", "ann", "Where does Ann live?")
        assert home.author == "clerk" and home.custom_metadata["desk"] == 3
        inside = GoogleADKMemoryService(memory, ("team", "x"))
        await inside.add_events_to_memory(
            app_name="cook", user_id="ann", events=[say("user", "I keep bees.")]
        )
        assert {scope.owner.key for scope in memory.scopes()} == {"user/ann", "team/x"}


asyncio.run(main())
