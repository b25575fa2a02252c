"""Conversations behave as in Pydantic AI's own store;
tools and requests of the capability hold memory, and history does not.
"""

import asyncio
from typing import Any

from pydantic_ai import Agent
from pydantic_ai.conversation import Conversation
from pydantic_ai.conversation_store import (
    ConversationConflict,
    ConversationStore,
    InMemoryConversationStore,
)
from pydantic_ai.exceptions import UserError
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart
from pydantic_ai.models.function import AgentInfo, FunctionModel
from pydantic_ai.models.test import TestModel

import engrams
from engrams.adapters import PydanticAIConversationStore, PydanticAIMemory, PydanticAIToolset
from engrams.errors import InputError

ANN = ("user", "ann")


def answer(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
    """Use the tool once where there is one, then say how many messages there are."""
    asked = [
        part for message in messages for part in message.parts if part.part_kind == "tool-return"
    ]
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
    agent = Agent(FunctionModel(plain))
    requests_seen = []
    talk = Conversation(conversation_id="monday")
    for prompt in ("Good morning.", "I moved to Oslo.", "What is new?"):
        result = await agent.run(prompt, conversation=talk)
        requests_seen.append(len(await store.save(result, scope="ann")))
        stale = talk
        talk = await store.load("monday", scope="ann")
        assert talk is not None
    requests_seen.append([type(message).__name__ for message in talk.messages])
    requests_seen.append(len((await store.load("monday", limit=2)).messages))
    requests_seen.append(await store.load("monday", scope="bob"))
    requests_seen.append(await store.load("tuesday"))
    await fails(
        ConversationConflict,
        store.save(Conversation(messages=list(stale.messages), conversation_id="monday")),
    )
    branched = await store.branch("monday", at=2, expected_revision=talk.revision)
    await store.save(await agent.run("I moved to Bergen.", conversation=branched))
    again = await store.load("monday")
    requests_seen.append(len(again.messages))
    await fails(ConversationConflict, store.branch("monday", at=1, expected_revision=talk.revision))
    fork = await store.fork("monday", at=2, new_conversation_id="fork")
    requests_seen.append(len(fork.messages))
    requests_seen.append(
        sorted(record.conversation_id for record in await store.read_records(scope="ann"))
    )
    entries = await store.load_entries("monday")
    requests_seen.append((await store.read_entry(entries[0].id)).message == entries[0].message)
    await store.delete("monday")
    requests_seen.append(await store.load("monday"))
    requests_seen.append(len((await store.load("fork")).messages))
    await fails(KeyError, store.read_entry(entries[-1].id))
    await fails(UserError, store.branch("monday", at=1, expected_revision=None))
    return requests_seen


async def lose(memory: engrams.MemoryEngine) -> None:
    """Forget and purge messages of a conversation:
    the rest loads, goes on, branches and is deleted as a whole.
    """
    store = PydanticAIConversationStore(memory, ANN)
    agent = Agent(FunctionModel(plain))
    talk = Conversation(conversation_id="monday")
    for prompt in (
        "My dog is called Bruno.",
        "My PIN is a secret of mine.",
        "I moved to Oslo.",
        "Don't save this: my PIN is 4711.",
        "Bye.",
    ):
        result = await agent.run(prompt, conversation=talk)
        await store.save(result)
        talk = result.conversation
    stale = await store.load("monday")
    assert stale is not None and len(stale.messages) == 8, stale
    turns = memory.list(scope=ANN, session="monday", order="oldest").records
    assert [turn.text for turn in turns][:2] == ["My dog is called Bruno.", "answer 1"], turns
    memory.forget(turns[0].id, scope=ANN)
    memory.purge([turns[1].id, turns[-1].id], scope=ANN)
    remaining = await store.load("monday")
    assert (
        remaining is not None
        and len(remaining.messages) == 5
        and "Bruno" not in str(remaining.messages)
    ), remaining
    assert len((await store.load("monday", limit=2)).messages) == 2
    await store.save(await agent.run("I am back.", conversation=stale))
    assert len((await store.load("monday")).messages) == 7
    memory.restore(turns[0].id, scope=ANN)
    again = await store.load("monday")
    assert again is not None and len(again.messages) == 8 and "Bruno" in str(again.messages[0]), (
        again.messages
    )
    fork = await store.fork("monday", new_conversation_id="fork")
    assert len(fork.messages) == 8
    branched = await store.branch("monday", at=3, expected_revision=again.revision)
    await store.save(await agent.run("Another way.", conversation=branched))
    assert len((await store.load("monday")).messages) == 5
    await store.delete("monday")
    assert await store.load("monday") is None and len((await store.load("fork")).messages) == 8
    await store.delete("fork")
    every = memory.list(
        scope=ANN, statuses=("active", "archived", "superseded", "forgotten")
    ).records
    assert not every, every


async def lose_a_call(memory: engrams.MemoryEngine) -> None:
    """Purge an answer that also calls a tool: its result goes with it, and the agent goes on."""

    def look(messages: list[ModelMessage], _info: AgentInfo) -> ModelResponse:
        said = [TextPart("Let me see what the larder holds."), ToolCallPart("look", {})]
        return ModelResponse(
            said if messages[-1].parts[0].part_kind != "tool-return" else [TextPart("Done.")]
        )

    agent = Agent(FunctionModel(look))
    store = PydanticAIConversationStore(memory, ANN)
    agent.tool_plain(lambda: "flour", name="look")
    await store.save(await agent.run("Look.", conversation=Conversation(conversation_id="larder")))
    (said,) = [
        turn for turn in memory.list(scope=ANN, session="larder").records if "larder" in turn.text
    ]
    memory.purge(said.id, scope=ANN)
    remaining = await store.load("larder")
    assert remaining is not None and "flour" not in str(remaining.messages), remaining
    assert [part.part_kind for message in remaining.messages for part in message.parts] == [
        "user-prompt",
        "text",
    ], remaining
    await store.save(await agent.run("Again.", conversation=remaining))
    assert "flour" in str((await store.load("larder")).messages)


async def slip(memory: engrams.MemoryEngine) -> None:
    """Use the tools wrongly:
    the model is told, and the run goes on. What a model calls by itself harms nothing either.
    """
    calls = [
        {"action": "delete", "id": "nope"},
        {"action": "create"},
        {"action": "update", "content": "x"},
        {"content": "x" * 4_000_000},
    ]

    def err(messages: list[ModelMessage], _info: AgentInfo) -> ModelResponse:
        call_count = sum(
            part.part_kind == "tool-return" for message in messages for part in message.parts
        )
        return ModelResponse(
            [ToolCallPart("manage_memory", calls[call_count])]
            if call_count < len(calls)
            else [TextPart("Sorry.")]
        )

    result = await Agent(FunctionModel(err), capabilities=[PydanticAIMemory(memory, ANN)]).run(
        "I live in Oslo."
    )
    answers = [
        part.content
        for message in result.all_messages()
        for part in message.parts
        if part.part_kind == "tool-return"
    ]
    assert len(answers) == len(calls) and all(
        answer["error"] and "hint" in answer for answer in answers
    ), answers
    assert (await Agent(TestModel(), capabilities=[PydanticAIMemory(memory, ANN)]).run("hi")).output
    assert "I live in Oslo." in [turn.text for turn in memory.list(scope=ANN).records]
    limited = PydanticAIToolset(memory, ANN, permitted=("create",))
    result = await Agent(FunctionModel(err), toolsets=[limited]).run("Hello.")
    assert "may not delete" in str(result.all_messages())
    for wrong in ("many", -1):
        try:
            PydanticAIMemory(memory, ANN, tokens=wrong)  # type: ignore[arg-type]
        except InputError:
            continue
        raise AssertionError(wrong)


async def forget_one_thing(memory: engrams.MemoryEngine) -> None:
    """Delete one fact of a message by the id that the search showed:
    the rest of the message stays.
    """
    memory.add("I am allergic to cashews. My dog is called Bruno.", scope=ANN, kind="turn")

    def forget(messages: list[ModelMessage], _info: AgentInfo) -> ModelResponse:
        answers = [
            part
            for message in messages
            for part in message.parts
            if part.part_kind == "tool-return"
        ]
        if not answers:
            return ModelResponse([ToolCallPart("search_memory", {"query": "cashews"})])
        if len(answers) == 1:
            (fact,) = [
                fact
                for hit in answers[0].content
                for fact in hit.get("facts", ())
                if "cashews" in fact["text"]
            ]
            return ModelResponse(
                [ToolCallPart("manage_memory", {"action": "delete", "id": fact["id"]})]
            )
        return ModelResponse([TextPart("Done.")])

    agent = Agent(FunctionModel(forget), capabilities=[PydanticAIMemory(memory, ANN)])
    await agent.run("Please forget that I am allergic to cashews.", conversation_id="c")
    memory.drain()
    prompt_text = memory.context("What am I allergic to?", scope=ANN).text
    assert "cashews" not in prompt_text, prompt_text
    assert "Bruno" in memory.context("What is my dog called?", scope=ANN).text


async def fail(memory: engrams.MemoryEngine) -> None:
    """Lose no word of the user's where the model fails, or a stream is left;
    a run that ends stores them once.
    """

    def busy(_messages: list[ModelMessage], _info: AgentInfo) -> ModelResponse:
        raise OSError("503")

    async def stream(messages: list[ModelMessage], info: AgentInfo) -> Any:
        for word in ("one", "two", "three"):
            yield word

    await fails(
        OSError,
        Agent(FunctionModel(busy), capabilities=[PydanticAIMemory(memory, ANN)]).run(
            "I moved to Oslo.", conversation_id="c"
        ),
    )
    async with Agent(
        FunctionModel(stream_function=stream), capabilities=[PydanticAIMemory(memory, ANN)]
    ).run_stream("My dog is Bo.") as streamed:
        async for _ in streamed.stream_text(debounce_by=None):
            break
    requests: list[str] = []

    def listen(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        requests.append(str(messages[0].parts[0].content))
        return plain(messages, info)

    await Agent(FunctionModel(listen), capabilities=[PydanticAIMemory(memory, ANN)]).run(
        "My cat is Tom."
    )
    stored_turns = [
        turn.text
        for turn in memory.list(scope=ANN, order="oldest").records
        if turn.kind == "turn" and turn.role == "user"
    ]
    assert stored_turns == ["I moved to Oslo.", "My dog is Bo.", "My cat is Tom."], stored_turns
    assert "Tom" not in requests[0].removesuffix("My cat is Tom."), requests


async def main() -> None:
    for check in (slip, forget_one_thing, fail, lose, lose_a_call):
        with engrams.open(store__url=":memory:") as memory:
            await check(memory)
    with engrams.open(store__url=":memory:") as memory:
        store = PydanticAIConversationStore(memory, ANN)
        histories = await converse(store)
        assert histories == await converse(InMemoryConversationStore()), histories
        assert "moved to Oslo" not in str(
            [record.text for record in memory.list(scope=ANN).records]
        )
        assert memory.search("Good morning", scope=ANN).hits[0].record.text == "Good morning."
    with engrams.open(store__url=":memory:") as memory:
        memory.add("I am allergic to nuts.", scope=ANN)
        requests: list[list[ModelMessage]] = []

        def listen(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
            requests.append(messages)
            return answer(messages, info)

        agent = Agent(FunctionModel(listen), capabilities=[PydanticAIMemory(memory, ANN)])
        result = await agent.run("What am I allergic to?", conversation_id="c1")
        prompts = [[part.content for part in request[0].parts] for request in requests]
        assert (
            len(prompts) == 2 and prompts[0] == prompts[1] and "allergic to nuts" in prompts[0][0]
        )
        assert "allergic to nuts" in str(requests[1][-1].parts) and "# Memory" not in str(
            result.all_messages()
        )
        stored_texts = [
            (turn.role, turn.text, turn.session)
            for turn in memory.list(
                scope=ANN, kinds=("turn",), order="oldest", statuses=("active", "archived")
            ).records
        ]
        assert (
            stored_texts[0] == ("user", "What am I allergic to?", "c1")
            and stored_texts[-1][0] == "assistant"
        ), stored_texts


asyncio.run(main())
