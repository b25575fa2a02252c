"""An agent in one process, as a developer writes it: only types are checked, and it runs once."""

from datetime import UTC, datetime, timedelta

import engrams
from engrams import MemoryEngine, Turn
from engrams.testing import ScriptedModel, SettableClock, temp_engine

ANN = ("user", "ann", "project", "garden")


def answer(memory: MemoryEngine, session: str, text: str) -> str:
    command = memory.control.turn(text, scope=ANN, session=session)
    if command is not None:
        return command.reply
    context = memory.deliver(text, scope=ANN, session=session)
    memory.observe(
        [Turn(text, session=session), Turn("Noted.", role="assistant", session=session)], scope=ANN
    )
    return context.text


def review(memory: MemoryEngine) -> dict[str, int]:
    lines: dict[str, int] = {}
    for record in memory.list(scope=ANN, limit=50, order="oldest").records:
        day = f"{record.recorded_at:%Y-%m-%d}"
        lines[day] = lines.get(day, 0) + len(record.evidence)
    return lines


def main() -> None:
    clock = SettableClock(datetime(2026, 1, 2, tzinfo=UTC))
    with (
        ScriptedModel().say("Hello") as model,
        temp_engine(
            clock=clock, chat__provider="openai", chat__model="m", chat__url=model.url
        ) as memory,
    ):
        session = memory.sessions.begin("s1", scope=ANN)
        print(session.id)
        receipt = memory.add("I keep bees.", scope=ANN)
        clock.forward(3 * 24 * 60 * 60)
        corrected = memory.edit(receipt.id, scope=ANN, text="I keep goats.")
        for change in memory.history(corrected.id, scope=ANN):
            print(change.at, change.action)
        past = memory.search("What do I keep?", scope=ANN, as_of=clock() - timedelta(days=1))
        print([hit.record.text for hit in past.hits], past.abstain)
        memory.links.tag(receipt.id, ["animals"], scope=ANN)
        memory.forget(receipt.id, scope=ANN, reason="no longer true")
        print(answer(memory, "s1", "What do you know about me?"), review(memory))
        proof = memory.purge([receipt.id], scope=ANN)
        print(proof.proven)


try:
    main()
except engrams.EngramsError as error:
    print(error.message, error.hint)
