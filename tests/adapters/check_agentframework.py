"""What was said is stored once with its session, and a run without memory is given nothing."""

import asyncio

from agent_framework import AgentSession, Message, SessionContext

import engrams
from engrams.adapters import AgentFrameworkContextProvider

ANN = ("user", "ann")


async def main() -> None:
    with engrams.open(store__url=":memory:") as memory:
        provider = AgentFrameworkContextProvider(memory, ANN)
        session = AgentSession(session_id="s1")
        context = SessionContext(
            input_messages=[
                Message("user", ["I moved to Oslo."]),
                Message("tool", ["secret output"]),
            ]
        )
        await provider.before_run(agent=None, session=session, context=context, state={})
        assert context.context_messages == {}
        await provider.after_run(agent=None, session=session, context=context, state={})
        assert [
            (turn.text, turn.session) for turn in memory.list(scope=ANN, kinds=("turn",)).records
        ] == [("I moved to Oslo.", "s1")]


asyncio.run(main())
