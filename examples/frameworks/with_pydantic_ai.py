"""Memory for a Pydantic AI agent with a scripted model:
pip install '.[pydantic-ai]' and run this.
"""

from pydantic_ai import Agent
from pydantic_ai.conversation import Conversation
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart
from pydantic_ai.models.function import AgentInfo, FunctionModel

import engrams
from engrams.adapters import PydanticAIConversationStore, PydanticAIMemory

ALICE = ("user", "alice")


def answer(messages: list[ModelMessage], _info: AgentInfo) -> ModelResponse:
    """Say what the request holds."""
    told = " | ".join(str(part.content) for part in messages[-1].parts)
    return ModelResponse([TextPart(f"I was told: {told}")])


async def main() -> None:
    with engrams.open(store__url=":memory:") as memory:
        agent = Agent(FunctionModel(answer), capabilities=[PydanticAIMemory(memory, ALICE)])
        await agent.run("I am allergic to nuts.")
        print((await agent.run("What am I allergic to?")).output)

        store = PydanticAIConversationStore(memory, ALICE)
        talk = Agent(FunctionModel(answer))
        await store.save(
            await talk.run("Good morning.", conversation=Conversation(conversation_id="monday"))
        )
        kept = await store.load("monday")
        print(f"{len(kept.messages)} messages are kept")


if __name__ == "__main__":
    import asyncio

    asyncio.run(main())
