"""An agent of the OpenAI Agents SDK whose conversations are remembered: the second one knows what
the first one said.

A scripted model stands in for a language model; with a key, leave ``model=`` out.
"""

import asyncio

from agents import Agent, Runner, set_tracing_disabled
from agents.testing import ScriptedModel
from openai.types.responses import ResponseOutputMessage, ResponseOutputText

import engrams
from engrams.adapters import OpenAIAgentsSession

ANN = ("user", "ann")


def answer(text: str) -> list[ResponseOutputMessage]:
    part = ResponseOutputText(type="output_text", text=text, annotations=[], logprobs=[])
    return [
        ResponseOutputMessage(
            id="m", type="message", role="assistant", status="completed", content=[part]
        )
    ]


async def main() -> None:
    with engrams.open(store__url=":memory:") as memory:
        model = ScriptedModel()
        agent = Agent(name="helper", model=model)

        model.enqueue(answer("Oslo is lovely in June."))
        monday = OpenAIAgentsSession("monday", memory, ANN)
        await Runner.run(agent, "I moved to Oslo, and I am allergic to nuts.", session=monday)
        print("Monday's history:", [item.get("role") for item in await monday.get_items()])

        recalled = memory.context("Is Ann allergic to anything?", scope=ANN).text
        agent = Agent(name="helper", model=model, instructions=f"You are a cook.\n\n{recalled}")
        model.enqueue(answer("A risotto without nuts."))
        tuesday = OpenAIAgentsSession("tuesday", memory, ANN)
        result = await Runner.run(agent, "What should I eat tonight?", session=tuesday)
        print(
            "Tuesday's agent was told:",
            next(line for line in recalled.splitlines() if "nuts" in line),
        )
        print("It answers:", result.final_output)


set_tracing_disabled(True)
asyncio.run(main())
