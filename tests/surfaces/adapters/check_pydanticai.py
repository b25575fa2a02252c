"""Conversations behave as in Pydantic AI's own store; tools and requests of the capability hold memory, and history does not."""

import asyncio
from typing import Any

from pydantic_ai import Agent
from pydantic_ai.conversation import Conversation
from pydantic_ai.conversation_store import ConversationConflict, ConversationStore, InMemoryConversationStore
from pydantic_ai.exceptions import UserError
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart
from pydantic_ai.models.function import AgentInfo, FunctionModel

import engrams
from engrams.surfaces.adapters import PydanticAIConversationStore, PydanticAIMemory

ANN = ("user", "ann")


def answer(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
    """Use the tool once where there is one, then say how many messages there are."""
    asked = [part for message in messages for part in message.parts if part.part_kind == "tool-return"]
    if info.function_tools and not asked:
        return ModelResponse([ToolCallPart("search_memory", {"query": "nuts"})])
    return ModelResponse([TextPart(f"answer {len(messages)}")])


def plain(messages: list[ModelMessage], _info: AgentInfo) -> ModelResponse:
    return ModelResponse([TextPart(f"answer {len(messages)}")])


async def fails(error: type[Exception], awaited: Any) -> None:
    try:
        await awaited
    except error:
        return
    raise AssertionError(f"no {error.__name__}")


async def converse(store: ConversationStore) -> list[Any]:
    """Save, load, branch, fork, conflict and delete; return what was seen."""
    agent, seen = Agent(FunctionModel(plain)), []
    talk = Conversation(conversation_id="monday")
    for prompt in ("Good morning.", "I moved to Oslo.", "What is new?"):
        result = await agent.run(prompt, conversation=talk)
        seen.append(len(await store.save(result, scope="ann")))
        stale, talk = talk, await store.load("monday", scope="ann")
        assert talk is not None
    seen.append([type(message).__name__ for message in talk.messages])
    seen.append(len((await store.load("monday", limit=2)).messages))
    seen.append(await store.load("monday", scope="bob"))
    seen.append(await store.load("tuesday"))
    await fails(ConversationConflict, store.save(Conversation(messages=list(stale.messages), conversation_id="monday")))
    branched = await store.branch("monday", at=2, expected_revision=talk.revision)
    await store.save(await agent.run("I moved to Bergen.", conversation=branched))
    again = await store.load("monday")
    seen.append(len(again.messages))
    await fails(ConversationConflict, store.branch("monday", at=1, expected_revision=talk.revision))
    fork = await store.fork("monday", at=2, new_conversation_id="fork")
    seen.append(len(fork.messages))
    seen.append(sorted(record.conversation_id for record in await store.read_records(scope="ann")))
    entries = await store.load_entries("monday")
    seen.append((await store.read_entry(entries[0].id)).message == entries[0].message)
    await store.delete("monday")
    seen.append(await store.load("monday"))
    seen.append(len((await store.load("fork")).messages))
    await fails(KeyError, store.read_entry(entries[-1].id))
    await fails(UserError, store.branch("monday", at=1, expected_revision=None))
    return seen


async def main() -> None:
    with engrams.open(store__url=":memory:") as memory:
        store = PydanticAIConversationStore(memory, ANN)
        seen = await converse(store)
        assert seen == await converse(InMemoryConversationStore()), seen
        assert "moved to Oslo" not in str([record.text for record in memory.list(scope=ANN).records])
        assert memory.search("Good morning", scope=ANN).hits[0].record.text == "Good morning."
    with engrams.open(store__url=":memory:") as memory:
        memory.add("I am allergic to nuts.", scope=ANN)
        requests: list[list[ModelMessage]] = []

        def listen(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
            requests.append(messages)
            return answer(messages, info)

        agent = Agent(FunctionModel(listen), capabilities=[PydanticAIMemory(memory, ANN)])
        result = await agent.run("What am I allergic to?", conversation_id="c1")
        told = [[part.content for part in request[0].parts] for request in requests]
        assert len(told) == 2 and told[0] == told[1] and "allergic to nuts" in told[0][0]
        assert "allergic to nuts" in str(requests[1][-1].parts) and "# Memory" not in str(result.all_messages())
        kept = [
            (turn.role, turn.text, turn.session)
            for turn in memory.list(scope=ANN, kinds=("turn",), order="oldest", statuses=("active", "archived")).records
        ]
        assert kept[0] == ("user", "What am I allergic to?", "c1") and kept[-1][0] == "assistant", kept


asyncio.run(main())
