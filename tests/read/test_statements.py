"""A search asks the database little."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import apsw
import pytest

import engrams
from engrams import Turn

ANN = ("user", "ann")
MOST = 8
QUESTIONS = (
    "Where does Ben live now?",
    "What is my favourite tea?",
    "Who repaired the bicycle last week?",
    "When did we talk about the garden?",
    "What should I never do with the kettle?",
    "Which book did Ben recommend to me?",
    "zebra quux",
)


@pytest.fixture
def statements() -> Iterator[list[str]]:
    """Statements that new connections run, in order."""
    run: list[str] = []

    def trace(_cursor: object, text: str, _values: object) -> bool:
        run.append(text)
        return True

    def watch(connection: apsw.Connection) -> None:
        connection.exec_trace = trace

    apsw.connection_hooks.append(watch)
    yield run
    apsw.connection_hooks.remove(watch)


def test_a_search_takes_few_statements(home: Path, statements: list[str]) -> None:
    """Eight at most, with facts, rules, replaced statements and links in memory; a second search
    right after a write four more, and one more where uses were counted meanwhile, as they are every
    few seconds.
    """
    with engrams.open(home=home, jobs__workers=0) as memory:
        for number in range(40):
            memory.observe(
                Turn(
                    f"Ben repaired bicycle number {number} last week.",
                    speaker="Ben",
                    session=f"s{number // 10}",
                ),
                scope=ANN,
            )
        memory.add("I live in Ghent and my favourite tea is mint tea.", scope=ANN)
        memory.add("I moved to Bern. My favourite tea is green tea now.", scope=ANN)
        memory.add("Never put the kettle on the stove when it is empty.", scope=ANN)
        memory.drain()
        counts = {}
        for question in QUESTIONS * 2:
            statements.clear()
            memory.search(question, scope=ANN)
            counts[question] = len(statements)
        assert max(counts.values()) <= MOST, (counts, statements)
        memory.observe(Turn("Ben has a new kettle.", speaker="Ben", session="s9"), scope=ANN)
        statements.clear()
        assert memory.search("Who has a new kettle?", scope=ANN).hits
        assert len(statements) <= MOST + 5, statements
