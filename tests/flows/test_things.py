"""Things and what is told of them: corrections reach the old fact, siblings stay apart."""

from __future__ import annotations

from pathlib import Path

import pytest

import engrams
from engrams.core import Kind, Status, Turn
from engrams.surfaces.hook.events import AgentHookEvent
from engrams.surfaces.hook.run import HookCallOptions, answer_event

ANN = ("user", "ann")
OLD = "Remember: the staging DB is on port 5433."


def facts(memory: engrams.MemoryEngine) -> dict[str, tuple[Status, str]]:
    """What was learned: text -> status and the text of the successor."""
    every = memory.list(
        scope=ANN, kinds=(Kind.FACT, Kind.CORRECTION), statuses=tuple(Status)
    ).records
    texts = {record.id: record.text for record in every}
    return {
        record.text: (record.status, texts.get(record.superseded_by or "", "")) for record in every
    }


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        (
            OLD,
            "No, that is wrong: the staging DB is on port 5544.",
            "the staging DB is on port 5544",
        ),
        (OLD, "No, it's 5544 not 5433", "the staging DB is on port 5544"),
        (OLD, "Actually the staging DB is on port 5544.", "the staging DB is on port 5544"),
        (OLD, "I was wrong, the staging DB is on 5544.", "the staging DB is on port 5544"),
        (
            OLD,
            "Correction: the staging DB runs on port 5544, not 5433.",
            "the staging DB runs on port 5544, not 5433",
        ),
        (OLD, "Remember: the staging DB is on port 5544.", "the staging DB is on port 5544"),
        (OLD, "The staging DB moved to port 5544.", "The staging DB moved to port 5544"),
        (OLD, "The port of the staging DB is 5544.", "The port of the staging DB is 5544"),
        (
            "Remember: our logo is in docs/.",
            "That's not right, our logo is in assets/.",
            "our logo is in assets/",
        ),
        (
            "Remember: the CI runs on GitHub.",
            "My mistake, the CI runs on GitLab.",
            "the CI runs on GitLab",
        ),
        (
            "Merk dir: die Staging-DB läuft auf Port 5433.",
            "Nein, das stimmt nicht: die Staging-DB läuft auf Port 5544.",
            "die Staging-DB läuft auf Port 5544",
        ),
    ],
)
@pytest.mark.parametrize("door", ["said", "added"])
def test_a_correction_is_the_successor(old: str, new: str, said: str, door: str) -> None:
    """The fact that was wrong ends, with the correction after it."""
    with engrams.open(store__url=":memory:", jobs__workers=0) as memory:
        for text in (old, new):
            if door == "said":
                memory.observe([Turn(text, session="s")], scope=ANN)
            else:
                memory.add(text, scope=ANN)
            memory.drain()
        known = facts(memory)
        assert len(known) == 2 and known[said][0] is Status.ACTIVE
        assert [after for status, after in known.values() if status is Status.SUPERSEDED] == [said]


def test_a_hook_corrects_the_project(home: Path) -> None:
    """What a coding agent is told to be wrong is not in the next session's profile."""
    call = HookCallOptions({"home": str(home), "user": "ann"}, project=".", seconds=60.0)
    for prompt in (OLD, "No, that is wrong: the staging DB is on port 5544."):
        answer_event(
            call, AgentHookEvent("UserPromptSubmit", "s1", prompt=prompt, folder="/src/alpha")
        )
    answer_event(call, AgentHookEvent("Stop", "s1", answer="Understood.", folder="/src/alpha"))
    start = answer_event(call, AgentHookEvent("SessionStart", "s2", folder="/src/alpha"))
    assert "5544" in start and "5433" not in start


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("The staging DB is on port 5433.", "The production DB is on port 5432."),
        ("The dev server has 8 GB of RAM.", "The test server has 16 GB of RAM."),
        ("My mother takes her pills at 8.", "My father takes his pills at 9."),
        ("Mon: standup at 9.", "Tue: standup at 10."),
        ("Our office in Lyon has 12 desks.", "Our office in Rome has 20 desks."),
        ("Anna's flight lands at 14:00.", "Ben's flight lands at 16:30."),
        ("The front door code is 1234.", "The garage door code is 9876."),
        ("Die Staging-DB läuft auf Port 5433.", "Die Produktions-DB läuft auf Port 5432."),
        ("booking LH454 is paid", "booking LH456 is paid"),
        ("Flight BA117 is delayed by two hours.", "Flight BA175 is on time."),
        ("BA117 lands at 9.", "BA175 lands at 11."),
        ("PROJ-17 is now in review", "PROJ-18 is now in review"),
        ("The status of PROJ-17 is open.", "The status of PROJ-18 is closed."),
        ("ticket PROJ-17 is assigned to Mina", "ticket PROJ-18 is assigned to Tom now"),
        ("parcel dw0q15 is at the depot", "parcel dw0q17 is at the shop"),
        ("My booking LH454 is paid.", "My booking LH456 is paid."),
        ("Paid invoice INV-2031, 300 EUR.", "Paid invoice INV-2032, 420 EUR."),
        ("I booked flight LH454 to Oslo.", "I booked flight LH456 to Oslo."),
        ("Mina works on PROJ-17.", "Mina works on PROJ-18."),
        ("Buchung LH454 ist bezahlt.", "Buchung LH456 ist storniert."),
    ],
)
def test_siblings_are_not_outdated(old: str, new: str) -> None:
    """Things of one kind that differ in their name or qualifier both hold, and so does the answer
    between them.
    """
    with engrams.open(store__url=":memory:", jobs__workers=0) as memory:
        for role, text in (
            ("user", old),
            ("assistant", "Understood."),
            ("user", new),
            ("assistant", "Understood."),
        ):
            memory.observe([Turn(text, role, session="s")], scope=ANN)  # type: ignore[arg-type]
            memory.drain()
        hits = memory.search(old, scope=ANN).hits
        assert old in [hit.record.text for hit in hits]
        assert not any(hit.outdated for hit in hits) and {
            status for status, _ in facts(memory).values()
        } <= {Status.ACTIVE}


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("The Monday meeting is in room 4.", "The Monday meeting is in room 7."),
        ("Our server has 8 GB of RAM.", "The new server has 16 GB of RAM."),
        ("The wedding is on 3 May.", "The wedding is on 5 June."),
        ("My locker code is A17.", "My locker code is now B22."),
        ("The room for the offsite is B12.", "The room for the offsite is C14."),
        ("LH454 is our flight.", "LH456 is our flight now."),
        ("I'm on flight LH454.", "I'm on LH456 now, LH454 was cancelled."),
        ("PROJ-17 is open.", "PROJ-17 is closed now."),
        ("Mina works on PROJ-17.", "Mina works on PROJ-18 now."),
        ("I have an iPhone12.", "I have an iPhone15."),
        ("Our app runs db12.", "Our app runs db14."),
        ("Build b1201 failed.", "Build b1202 passed."),
    ],
)
def test_a_change_is_still_seen(old: str, new: str) -> None:
    """The same thing with another value ends what was said before, or marks it."""
    with engrams.open(store__url=":memory:", jobs__workers=0) as memory:
        for text in (old, new):
            memory.observe([Turn(text, session="s")], scope=ANN)
            memory.drain()
        (before,) = [hit for hit in memory.search(old, scope=ANN).hits if hit.record.text == old]
        assert before.outdated or before.status is Status.SUPERSEDED


@pytest.mark.parametrize(
    "text",
    [
        "No, the test is failing.",
        "Actually, the function that you wrote is slow.",
        "Actually, the tests that you ran are slow.",
    ],
)
def test_a_remark_is_no_fact_about_a_thing(text: str) -> None:
    """What corrects nothing known is no correction."""
    with engrams.open(store__url=":memory:", jobs__workers=0) as memory:
        memory.observe([Turn(text, session="s")], scope=ANN)
        memory.drain()
        assert facts(memory) == {}
