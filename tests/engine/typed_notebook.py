"""A script over one home: it imports, filters, corrects, and erases a person."""

from pathlib import Path

import engrams
from engrams import MemoryEngine, Turn
from engrams.errors import NotFoundError, RefusedError
from engrams.types import Kind

BEN = ("user", "ben")


def list_open_tasks(memory: MemoryEngine) -> list[str]:
    found = memory.list(scope=BEN, kinds=["note"], where={"meta.state": "open"}, limit=20)
    return [record.text for record in found.records if record.status == "active"]


def explain(memory: MemoryEngine, question: str) -> dict[str, float]:
    result = memory.explain(question, scope=BEN, limit=3)
    return {hit.record.id: hit.score for hit in result.hits}


def erase(memory: MemoryEngine, word: str) -> tuple[str, ...]:
    candidates = memory.find_about(word, scope=BEN)
    certain = [candidate.record.id for candidate in candidates if candidate.certain]
    try:
        report = memory.purge(certain, scope=BEN)
    except (NotFoundError, RefusedError) as error:
        return (error.hint,)
    return tuple(certain) if report.proven else ()


def main(home: Path) -> None:
    with engrams.open(home=str(home), user="ben", jobs__workers=0) as memory:
        receipts = memory.observe([Turn("Call the plumber."), Turn("Water it.")], scope=BEN)
        assert [receipt.outcome for receipt in receipts]
        memory.add(Turn("Order lentils.", meta={"state": "open"}), scope=BEN, kind=Kind.NOTE)
        print(list_open_tasks(memory), explain(memory, "What shall I order?"))
        print(erase(memory, "lentils"))
        people = memory.inspect.entities(BEN)
        print(people)


if __name__ == "__main__":
    main(Path("home"))
