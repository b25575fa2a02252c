"""A context provider of Agent Framework with a scripted model:
pip install '.[agent-framework]' and run this.
"""

import asyncio
from typing import Any

from agent_framework import Agent, BaseChatClient, ChatResponse, Message

import engrams
from engrams.adapters import AgentFrameworkContextProvider

ALICE = ("user", "alice")


class EchoClient(BaseChatClient):
    """Answers with what it was given."""

    async def _inner_get_response(
        self, *, messages: Any, stream: bool, options: Any, **_more: Any
    ) -> ChatResponse:
        return ChatResponse(
            messages=[
                Message(
                    "assistant", ["I was told: " + " | ".join(message.text for message in messages)]
                )
            ]
        )


async def main() -> None:
    with engrams.open(store__url=":memory:") as memory:
        agent = Agent(
            EchoClient(), context_providers=[AgentFrameworkContextProvider(memory, ALICE)]
        )
        await agent.run("I am allergic to nuts.", session=agent.create_session())
        print((await agent.run("What am I allergic to?", session=agent.create_session())).text)


asyncio.run(main())
