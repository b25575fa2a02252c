"""A settled add stores a message and what follows from it in as few transactions as that takes, and loses none where learning fails."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.flows.test_guardrails import watched

import engrams
from engrams import Turn
from engrams.tend import extractionjob
from engrams.testing import temp_engine
from engrams.types import Receipt

ANN = ("user", "ann")
CHAT = "We talked about the weather for an hour, and it was fun."
FACT = "I live in Porto, in a small house near the old harbour."


def reason(receipt: Receipt) -> list[str]:
    return [decision.reason for decision in receipt.decisions]


@pytest.mark.parametrize(("text", "commits", "job"), [(CHAT, 1, {}), (FACT, 2, {"done": 1})])
def test_only_what_is_to_be_reconciled_takes_a_job(home: Path, text: str, commits: int, job: dict[str, int]) -> None:
    """A message without a fact is stored with the job that looks for changes in one transaction; one with a fact takes another."""
    with watched() as door, engrams.open(home=home, jobs__workers=0) as memory:
        memory.add(Turn("Hello there, how are you doing?", session="s"), scope=ANN)
        added: list[Receipt] = []
        statements, _ = door.cost(lambda: added.append(memory.add(Turn(text, session="s"), scope=ANN)))
        assert statements["COMMIT"] == commits, statements
        assert added[0].pending == () and memory.status()["jobs"].get("extract", {}) == job
        assert memory.status()["jobs"]["changes"] == {"waiting": 1}
        assert text in [hit.record.text for hit in memory.search(text, scope=ANN).hits]


def test_why_nothing_was_learned_is_in_the_receipt() -> None:
    """The gate's reason stands in the receipt of an add, as in that of a job."""
    with temp_engine(jobs__workers=0) as memory:
        assert reason(memory.add(Turn("ok thanks!"), scope=ANN)) == ["small_talk"]


def test_a_repeated_note_makes_no_work() -> None:
    """What is known already is looked at for changes by nobody."""
    with temp_engine(jobs__workers=0) as memory:
        memory.add(CHAT, scope=ANN)
        assert memory.drain() and "waiting" not in memory.status()["jobs"]["changes"]
        assert memory.add(CHAT, scope=ANN).outcome == "duplicate"
        assert "waiting" not in memory.status()["jobs"]["changes"]


def test_a_message_is_stored_where_extraction_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    """A fault of extraction costs no message: it is found, and its job says what went wrong and is done later."""

    def fail(*_: object, **__: object) -> None:
        raise ValueError("a fault")

    with temp_engine(jobs__workers=0, jobs__max_attempts=2) as memory:
        with monkeypatch.context() as broken:
            broken.setattr(extractionjob.writepipeline, "extract_candidates", fail)
            receipt = memory.add(Turn(FACT), scope=ANN)
        assert (receipt.outcome, receipt.pending, receipt.derived) == ("stored", ("extract",), ())
        assert memory.search("Where do I live?", scope=ANN).hits[0].record.id == receipt.id
        (job,) = memory.store.queue(("waiting",))
        assert (job.kind, job.error) == ("extract", "ValueError: a fault")


def test_a_model_still_gets_a_job() -> None:
    """With a chat model nothing is extracted ahead."""
    with temp_engine(jobs__workers=0, chat=lambda _: "{}") as memory:
        assert memory.add(Turn(FACT), scope=ANN).pending == ("extract",)
