"""Memory for any chat model:
ask for a context under a token budget and put it before the user's message.
"""

import engrams
from engrams import Turn

ALICE = ("user", "alice", "conversation", "today")


def messages(memory: engrams.MemoryEngine, said: str) -> list[dict[str, str]]:
    """What to send to the model for this turn."""
    context = memory.context(said, scope=ALICE, tokens=300)
    system = "You are a helpful assistant."
    return [
        {"role": "system", "content": f"{system}\n\n{context.text}".strip()},
        {"role": "user", "content": said},
    ]


with engrams.open(store__url=":memory:") as memory:
    for line in (
        "I'm allergic to hazelnuts.",
        "Never suggest a restaurant without a vegetarian menu.",
        "My sister Judith lives in Bamberg.",
    ):
        memory.observe(Turn(line), scope=ALICE)
    memory.drain()

    for message in messages(memory, "Where could I eat with my sister?"):
        print(f"--- {message['role']}\n{message['content']}")
