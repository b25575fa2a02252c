"""What was learned from a message is in the same doubt as the message, whichever came first."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

import engrams
from engrams import MemoryEngine, Turn
from engrams.core import Hit, Kind, Status
from engrams.program.main import main
from engrams.program.registry import create_app

ME = ("user", "alice")
START = datetime(2025, 1, 6, 12, tzinfo=UTC)
LATER = START + timedelta(days=131)
RIDE = "I ride a Vespa, mint green. My helmet is a size M."
TAKEN_OVER = "My brother rides the Vespa these days."
ROTA = "We have three people on the on-call rota."
FIVE = "The rota's five strong now."


def open_memory(home: Path, **settings: Any) -> MemoryEngine:
    return engrams.open(home=home, jobs__workers=0, **settings)


def say(memory: MemoryEngine, text: str, at: datetime, session: str = "s") -> None:
    memory.observe([Turn(text, at=at, session=session)], scope=ME)


def learn(memory: MemoryEngine, *sessions: str) -> None:
    """Learn from sessions, each after the one before."""
    for session in sessions:
        memory.sessions.learn(session, scope=ME)
        assert memory.drain(30)


def find_fact(memory: MemoryEngine, text: str) -> Hit:
    """Find an active fact by its words, as a search for facts shows it."""
    hits = memory.search(text, scope=ME, kinds=(Kind.FACT,)).hits
    return next(hit for hit in hits if hit.record.text == text)


def list_facts(memory: MemoryEngine, status: Status = Status.ACTIVE) -> set[str]:
    """List the texts of the facts of a status."""
    records = memory.list(scope=ME, kinds=(Kind.FACT, Kind.RULE), statuses=(status,)).records
    return {record.text for record in records}


@pytest.mark.parametrize(
    ("allergy", "news"),
    [
        ("Mi hijo es alérgico al huevo", "El niño ya tolera el huevo cocido."),
        ("Mon fils est allergique aux arachides", "Il tolère maintenant un peu d'arachides."),
        ("Mein Sohn ist allergisch gegen Nüsse", "Mein Sohn verträgt jetzt geröstete Nüsse."),
        ("我儿子对鸡蛋过敏", "儿子现在能吃一点鸡蛋了。"),
    ],
)
def test_what_is_tolerated_by_now_leaves_an_allergy_known(
    tmp_path: Path, allergy: str, news: str
) -> None:
    """A relative's allergy is a fact of health in each language; only its own end ends it."""
    with open_memory(tmp_path) as memory:
        say(memory, f"{allergy}.", START)
        say(memory, news, LATER)
        assert memory.drain(30)
        fact = find_fact(memory, allergy).record
        assert fact.category == "health"
        assert fact.status is Status.ACTIVE


@pytest.mark.parametrize("order", [("first", "second"), ("second", "first")])
def test_a_fact_is_in_doubt_whenever_it_is_learned(tmp_path: Path, order: tuple[str, str]) -> None:
    """A session that ends later teaches facts of messages that another one put in doubt before."""
    with open_memory(tmp_path, sessions__trigger="end") as memory:
        say(memory, RIDE, START, "first")
        say(memory, TAKEN_OVER, LATER, "second")
        learn(memory, *order)
        mark = find_fact(memory, "I ride a Vespa, mint green").outdated
        assert mark is not None
        assert mark.is_told
        assert mark.words == TAKEN_OVER
        assert find_fact(memory, TAKEN_OVER.rstrip(".")).outdated is None


@pytest.mark.parametrize("order", [("first", "second"), ("second", "first")])
def test_a_fact_ends_whenever_it_is_learned(tmp_path: Path, order: tuple[str, str]) -> None:
    """The value that was replaced is no current fact, even where it is learned after the new one."""
    with open_memory(tmp_path, sessions__trigger="end") as memory:
        say(memory, ROTA, START, "first")
        say(memory, FIVE, LATER, "second")
        learn(memory, *order)
        assert ROTA.rstrip(".") not in list_facts(memory)
        assert ROTA.rstrip(".") in list_facts(memory, Status.SUPERSEDED)


@pytest.mark.parametrize("order", [("first", "second"), ("second", "first")])
def test_the_other_clauses_of_a_message_stay(tmp_path: Path, order: tuple[str, str]) -> None:
    """Of two clauses one ends: the fact of the other is neither over nor in doubt."""
    with open_memory(tmp_path, sessions__trigger="end") as memory:
        say(memory, "I'm vegan and I work at Siemens.", START, "first")
        say(memory, "I'm no longer vegan.", LATER, "second")
        learn(memory, *order)
        assert "I'm vegan" not in list_facts(memory)
        assert find_fact(memory, "I work at Siemens").outdated is None


def test_what_still_holds_is_not_doubted_when_it_is_learned(tmp_path: Path) -> None:
    """A person who said that a message still holds is believed about what is learned from it later."""
    with open_memory(tmp_path, sessions__trigger="end") as memory:
        say(memory, RIDE, START, "first")
        say(memory, TAKEN_OVER, LATER, "second")
        learn(memory, "second")
        (said,) = [
            hit.record for hit in memory.search(RIDE, scope=ME).hits if hit.record.text == RIDE
        ]
        memory.restore(said.id, scope=ME)
        learn(memory, "first")
        assert find_fact(memory, "I ride a Vespa, mint green").outdated is None


def test_news_that_was_forgotten_doubts_nothing_learned_later(tmp_path: Path) -> None:
    """A message learned from after its news was forgotten teaches what it says."""
    with open_memory(tmp_path, sessions__trigger="end") as memory:
        say(memory, ROTA, START, "first")
        say(memory, FIVE, LATER, "second")
        learn(memory, "second")
        (news,) = [
            hit.record for hit in memory.search(FIVE, scope=ME).hits if hit.record.text == FIVE
        ]
        memory.forget(news.id, scope=ME)
        learn(memory, "first")
        assert find_fact(memory, ROTA.rstrip(".")).outdated is None


@pytest.mark.parametrize("together", [False, True])
def test_what_is_said_again_holds(tmp_path: Path, together: bool) -> None:
    """A statement that is repeated after its news has no mark, also where all came at once."""
    with open_memory(tmp_path) as memory:
        for number, line in enumerate((RIDE, TAKEN_OVER, RIDE)):
            say(memory, line, START + number * timedelta(days=131))
            if not together:
                assert memory.drain(30)
        assert memory.drain(30)
        assert find_fact(memory, "I ride a Vespa, mint green").outdated is None
        (hit,) = [hit for hit in memory.search(RIDE, scope=ME).hits if hit.record.text == RIDE]
        assert hit.record.recorded_at == START + timedelta(days=262)
        assert hit.outdated is None


def test_a_value_that_is_said_again_is_the_current_one(tmp_path: Path) -> None:
    """What ended in between is a fact once more, though its end is found only afterwards."""
    with open_memory(tmp_path) as memory:
        for number, line in enumerate(
            ("We ship logs via rsyslog.", "We moved from rsyslog to vector.") * 2
        ):
            if number < 3:
                say(memory, line, START + number * timedelta(days=131))
        assert memory.drain(30)
        assert "We ship logs via rsyslog" in list_facts(memory)


def test_a_list_tells_what_may_be_over(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A fact that stands in a list looks as if it held: the API and the command say otherwise."""
    fact = "I ride a Vespa, mint green"
    with open_memory(tmp_path, user="alice") as memory:
        say(memory, RIDE, START)
        say(memory, TAKEN_OVER, LATER)
        assert memory.drain(30)
        with TestClient(create_app(memory, memory.settings), base_url="http://localhost") as client:
            page = client.get("/v1/memories").json()
            past = client.get("/v1/memories", params={"as_of": START.isoformat()}).json()
    doubted = {one["text"] for one in page["memories"] if one["id"] in page["outdated"]}
    assert doubted == {RIDE, fact}
    assert {mark["words"] for mark in page["outdated"].values()} == {TAKEN_OVER}
    assert past["outdated"] == {}
    monkeypatch.setenv("ENGRAMS_HOME", str(tmp_path))
    monkeypatch.setenv("ENGRAMS_USER", "alice")
    assert main(["list"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split("  ")[2] for line in lines if fact in line] == [
        "fact, may be outdated",
        "turn, may be outdated in part",
    ]
    assert not any("outdated" in line for line in lines if fact not in line)
    assert main(["list", "--json"]) == 0
    assert TAKEN_OVER in json.loads(capsys.readouterr().out)["outdated"].popitem()[1]["words"]
