"""The memory graph's document (003):
statements given as such while a model reconciles, in the preset ``graph``.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import engrams
from engrams import MemoryEngine, Turn
from engrams.core import Kind, Status
from engrams.ports import EXTRACT
from engrams.testing import ReceivedModelRequest, ScriptedModel, ScriptedReply, SettableClock

ANN = ("user", "ann")
OLD_DATABASE = "The project's database is Postgres 15."
NEW_DATABASE = "The project's database is MySQL 8."
PORT = "The API listens on port 8080"
PORT_AGAIN = "The API is listening for requests on port 8080"
KETTLE = "Ann's kettle is blue"


def answer(request: ReceivedModelRequest) -> Any:
    """A model that replaces the database, and takes the two ports for one statement."""
    if request.schema is None:
        return ScriptedReply("Noted")
    if "decisions" not in json.dumps(request.schema):
        return {"statements": [], "names": [], "summary": ""}
    known, _, new = request.prompt.partition("\nNew statements:")
    known = known.partition("\nKnown statements:")[2]
    for text, rival, verdict in (
        (NEW_DATABASE, OLD_DATABASE, "replace"),
        (PORT_AGAIN, PORT, "keep"),
    ):
        if (number := find_number(new, text)) and (find_number(known + new, rival)):
            row = {
                "new": number,
                "reason": "told so",
                "known": [number for number in [find_number(known, rival)] if number],
                "earlier": [number for number in [find_number(new, rival)] if number],
                "verdict": verdict,
                "confidence": "high",
            }
            return {"decisions": [row]}
    return {"decisions": []}


def find_number(listed: str, text: str) -> int:
    """The number of a text in a numbered list; 0: it is not there."""
    numbers = [line.partition(".")[0] for line in listed.splitlines() if f'"{text}"' in line]
    return int(numbers[0]) if numbers else 0


@pytest.fixture
def engine(home: Path) -> Iterator[MemoryEngine]:
    """The preset with that model, and jobs that run only when asked."""
    with (
        ScriptedModel(answer=answer) as model,
        engrams.open(
            home=home,
            preset="graph",
            jobs__workers=0,
            chat__provider="openai",
            chat__model="m",
            chat__url=f"{model.url}/v1",
        ) as engine,
    ):
        yield engine


def give(engine: MemoryEngine, text: str, session: str = "") -> str:
    return engine.add(Turn(text, session=session), scope=ANN, kind=Kind.FACT).id


@pytest.mark.covers("S3.40", "S3.41")
def test_a_given_fact_is_reconciled_at_once(engine: MemoryEngine) -> None:
    """The pause of a conversation does not hold up what is given as a fact: the old one is
    superseded and linked as soon as the model answered.
    """
    old = give(engine, OLD_DATABASE)
    engine.drain()
    new = give(engine, NEW_DATABASE, "one")
    engine.drain()
    record = engine.get(old, scope=ANN)
    assert (record.status, record.superseded_by) == (Status.SUPERSEDED, new)
    assert engine.get(new, scope=ANN).status is Status.ACTIVE


@pytest.mark.covers("S3.39")
def test_a_given_fact_hurries_no_conversation(engine: MemoryEngine) -> None:
    """Turns of the same session go on gathering, and the status says that they wait."""
    engine.observe(Turn(PORT, session="one"), scope=ANN)
    give(engine, OLD_DATABASE, "one")
    engine.drain()
    (job,) = [job for job in engine.store.queue(("waiting",), 10) if job.kind == EXTRACT]
    assert len(job.payload["items"]) == 1
    assert engine.status()["gathering"] + engine.status()["resting"] == 1


@pytest.mark.covers("S3.39")
def test_a_repetition_that_the_model_finds_reinforces(engine: MemoryEngine) -> None:
    """What the model takes for a repetition makes the known statement stronger, and leaves the
    session and the time on it.
    """
    known = give(engine, PORT)
    engine.drain()
    again = give(engine, PORT_AGAIN, "tuesday")
    engine.drain()
    check_reinforced(engine, known, again)


@pytest.mark.covers("S3.39")
def test_a_repetition_in_the_same_batch_reinforces(engine: MemoryEngine) -> None:
    """Two facts that one job compares with each other are no exception."""
    known = give(engine, PORT)
    again = give(engine, PORT_AGAIN, "")
    engine.drain()
    check_reinforced(engine, known, again)


def check_reinforced(engine: MemoryEngine, known: str, again: str) -> None:
    record = engine.get(known, scope=ANN)
    repetition = engine.get(again, scope=ANN)
    assert record.strength == 2
    (crumb,) = record.meta["reinforcements"]
    assert (crumb["source"], crumb["session"]) == (again, repetition.session)
    assert crumb["at"]
    assert (repetition.status, repetition.superseded_by) == (Status.SUPERSEDED, known)


@pytest.mark.covers("S3.39")
def test_a_word_for_word_repetition_leaves_its_session(engine: MemoryEngine) -> None:
    """A fact that is given again in the same words reinforces the one that is there, with a note of
    the session and the time.
    """
    known = give(engine, KETTLE)
    assert give(engine, KETTLE, "wednesday") == known
    record = engine.get(known, scope=ANN)
    assert record.strength == 2
    crumbs = record.meta.get("reinforcements", [])
    assert [crumb["session"] for crumb in crumbs] == ["wednesday"]
    assert crumbs[0]["at"]


@pytest.mark.covers("S3.39")
def test_repetitions_given_in_a_row_are_one(engine: MemoryEngine) -> None:
    """What is stored before its job has run is compared all the same, though another job took it
    for a repetition meanwhile.
    """
    give(engine, "The release train leaves the yard every second Wednesday", "one")
    for text in (
        "Every second Wednesday the release train leaves the yard",
        "The release train leaves the yard on every second Wednesday",
        "The release train really leaves the yard every second Wednesday.",
    ):
        give(engine, text, "two")
    engine.drain()
    (stored,) = engine.list(scope=ANN, kinds=(Kind.FACT,)).records
    assert stored.strength == 4


@pytest.mark.covers("S3.40")
def test_the_later_of_two_facts_given_in_a_row_holds(home: Path) -> None:
    """A model that is asked about the earlier one, when the later one is stored already, and does
    not know which is which, changes nothing about that.
    """
    decision = {"new": 1, "known": [1], "earlier": [], "reason": "r", "confidence": "high"}
    clock = SettableClock()
    with (
        ScriptedModel(
            answer=lambda _: {"decisions": [{**decision, "verdict": "replace"}]}
        ) as model,
        engrams.open(
            home=home,
            preset="graph",
            jobs__workers=0,
            clock=clock,
            chat__provider="openai",
            chat__model="m",
            chat__url=f"{model.url}/v1",
        ) as engine,
    ):
        early = give(engine, "The kiln is fired on Tuesdays", "one")
        clock.forward(seconds=1)
        late = give(engine, "The kiln is fired on Thursdays", "two")
        engine.drain()
        assert engine.get(late, scope=ANN).status is Status.ACTIVE
        ended = engine.get(early, scope=ANN)
        assert (ended.status, ended.superseded_by) == (Status.SUPERSEDED, late)


@pytest.mark.covers("S3.40")
@pytest.mark.parametrize(
    ("older", "newer", "is_over"),
    [
        ("The user lives in Paris", "The user lives in Berlin", True),
        ("Der Nutzer wohnt in Köln", "Der Nutzer wohnt in Bonn", True),
        ("Die Benutzerin arbeitet bei Bosch", "Die Benutzerin arbeitet bei Siemens", True),
        ("El usuario vive en Lima", "El usuario vive en Quito", True),
        ("L'utilisateur habite à Lyon", "L'utilisateur habite à Nice", True),
        ("用户住在北京", "用户住在上海", True),
        ("ユーザーは京都に住んでいます", "ユーザーは大阪に住んでいます", True),
        ("用户数据库在北京", "用户住在上海", False),
        ("Die User Story wohnt im Backlog", "Der Nutzer wohnt in Bonn", False),
        ("ユーザーインターフェースは日本語です", "ユーザーはフランス語を話します", False),
        ("Mi hermana vive en Lima", "La usuaria vive en Quito", False),
    ],
)
def test_what_is_told_of_the_user_is_contradicted_in_every_language(
    home: Path, older: str, newer: str, *, is_over: bool
) -> None:
    """Without a model, by rules: an agent tells of "the user" in the language of the conversation."""
    clock = SettableClock()
    with engrams.open(home=home, preset="graph", clock=clock, jobs__workers=0) as engine:
        first_id = give(engine, older)
        engine.drain()
        clock.forward(days=3)
        second_id = give(engine, newer)
        engine.drain()
        first = engine.get(first_id, scope=ANN)
        assert (first.status is Status.SUPERSEDED) is is_over
        assert first.superseded_by == (second_id if is_over else "")
        edges = engine.store.edges(first.scope.owner, [first_id])
        edge_types = {str(edge.type) for edge in edges} & {"supersedes", "contradicts"}
        assert edge_types == ({"supersedes", "contradicts"} if is_over else set())
