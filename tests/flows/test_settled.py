"""A settled add stores a message and what follows from it in as few transactions as that takes, and
loses none where learning fails.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from tests.flows.test_guardrails import watched

import engrams
from engrams import Turn
from engrams.core import Kind, Receipt
from engrams.ports import CommitResult, WriteBatch
from engrams.testing import temp_engine
from engrams.write import digest

ANN = ("user", "ann")
DAY = datetime(2026, 3, 1, 9, tzinfo=UTC)
CHAT = "We talked about the weather for an hour, and it was fun."
MOVE = "I moved from Lima to Cork last week, and it is so windy here."
FACT = "I live in Porto, in a small house near the old harbour."


def reason(receipt: Receipt) -> list[str]:
    return [decision.reason for decision in receipt.decisions]


@pytest.mark.parametrize("text", [CHAT, FACT, MOVE])
def test_a_settled_add_takes_one_transaction(home: Path, text: str) -> None:
    """A message is stored with its facts, what they replace and the job that looks for changes in
    one transaction, without a job.
    """
    with watched() as door, engrams.open(home=home, jobs__workers=0) as memory:
        memory.add(Turn("I live in Lima, and I have a dog named Max.", session="s"), scope=ANN)
        added: list[Receipt] = []
        statements, _ = door.cost(
            lambda: added.append(memory.add(Turn(text, session="s"), scope=ANN))
        )
        assert statements["COMMIT"] == 1, statements
        assert added[0].pending == () and "extract" not in memory.status()["jobs"]
        assert memory.status()["jobs"]["changes"] == {"waiting": 1}
        assert text in [hit.record.text for hit in memory.search(text, scope=ANN).hits]
        assert bool(added[0].derived) == (text != CHAT)
        replaced = {
            memory.get(id, scope=ANN).text for made in added[0].derived for id in made.replaces
        }
        assert replaced == (set() if text == CHAT else {"I live in Lima"})


def test_others_who_change_the_same_memory_cost_no_fact(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where another process changed meanwhile what a message was compared with, the message is
    stored, and compared again.
    """
    with (
        engrams.open(home=home, jobs__workers=0) as memory,
        engrams.open(home=home, jobs__workers=0) as other,
    ):
        memory.add(Turn("I live in Lima.", at=DAY), scope=ANN)
        commit = memory.store.commit
        met = list[WriteBatch]()

        def meet(batch: WriteBatch) -> CommitResult:
            if batch.then is not None and not met:
                met.append(batch)
                other.add(Turn("I live in Cork.", at=DAY + timedelta(days=1)), scope=ANN)
            return commit(batch)

        monkeypatch.setattr(memory.store, "commit", meet)
        receipt = memory.add(Turn(FACT, at=DAY + timedelta(days=2)), scope=ANN)
        assert met and receipt.pending == ()
        (made,) = [one for one in receipt.derived if one.verdict == "replace"]
        assert {memory.get(id, scope=ANN).text for id in made.replaces} == {"I live in Cork"}
        assert [
            one.text
            for one in memory.list(scope=ANN, kinds=(Kind.FACT,)).records
            if "Lima" in one.text
        ] == []
        assert memory.search(FACT, scope=ANN).hits[0].record.id in (receipt.id, made.id)


def test_a_held_statement_waits_for_its_session(home: Path) -> None:
    """What may only be kept at the end of a session takes a job, which sees whether that is over."""
    with engrams.open(home=home, jobs__workers=0, write__hold_below=1.0) as memory:
        receipt = memory.add(Turn("I love hiking in the mountains.", session="s"), scope=ANN)
        assert [made.verdict for made in receipt.derived] == ["hold"]
        assert memory.status()["jobs"]["extract"] == {"done": 1}


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
    """A fault of extraction costs no message:
    it is found, and its job says what went wrong and is done later.
    """

    def fail(*_: object, **__: object) -> None:
        raise ValueError("a fault")

    with temp_engine(jobs__workers=0, jobs__max_attempts=2) as memory:
        with monkeypatch.context() as broken:
            broken.setattr(digest, "extract_candidates", fail)
            receipt = memory.add(Turn(FACT), scope=ANN)
        assert (receipt.outcome, receipt.pending, receipt.derived) == ("stored", ("extract",), ())
        assert memory.search("Where do I live?", scope=ANN).hits[0].record.id == receipt.id
        (job,) = memory.store.queue(("waiting",))
        assert (job.kind, job.error) == ("extract", "ValueError: a fault")


def test_a_model_still_gets_a_job() -> None:
    """With a chat model nothing is extracted ahead."""
    with temp_engine(jobs__workers=0, chat=lambda _: "{}") as memory:
        assert memory.add(Turn(FACT), scope=ANN).pending == ("extract",)
