"""The memory graph's document (003):
what a correction reaches, by rules, at ``engrams serve --preset graph``, its REST API and command.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.acceptance.process import Door, eventually, run, served

import engrams
from engrams import Turn
from engrams.core import Kind
from engrams.testing import ScriptedModel, temp_engine

HOME_AND_WORK = "I live in Tromso and I work as a welder at the shipyard down at the harbour."
SISTER = (
    "My sister's name is Ragna, she is a pilot and flies the small planes up to Svalbard in winter."
)
CELLO = "I play the cello in a quartet on Tuesdays, and I am allergic to shellfish."


@pytest.fixture(scope="module")
def door(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Door]:
    home = tmp_path_factory.mktemp("corrections") / "home"
    with ScriptedModel() as model, served("graph", home, model) as door:
        yield door


def talk(door: Door, user: str, session: str, *said: str) -> None:
    """A conversation that ends, and is learned from."""
    messages = [
        message
        for text in said
        for message in (
            {"role": "user", "content": text},
            {"role": "assistant", "content": "Good to know."},
        )
    ]
    as_user(door, "POST", "/v1/memories", user, {"messages": messages, "session": session})
    as_user(door, "POST", f"/v1/sessions/{session}/end", user)
    eventually(
        lambda: [one for one in memories(door, user, kind="episode") if one["session"] == session]
    )


def as_user(door: Door, method: str, path: str, user: str, body: Any = None) -> Any:
    answer = door.client.request(method, path, json=body, headers={"x-engrams-user": user})
    assert answer.status_code < 300, answer.text
    return answer.json()


def memories(door: Door, user: str, **query: str) -> list[Any]:
    fields = "&".join(f"{name}={value}" for name, value in {"limit": "100", **query}.items())
    return list(as_user(door, "GET", f"/v1/memories?{fields}", user)["memories"])


def fact(door: Door, user: str, word: str) -> str:
    (found,) = [one["id"] for one in memories(door, user, kind="fact") if word in one["text"]]
    return str(found)


def found(door: Door, user: str, query: str) -> list[Any]:
    """The memories that a search finds, but for notes in files."""
    hits = as_user(door, "POST", "/v1/search", user, {"query": query})["hits"]
    return [hit for hit in hits if hit["memory"]["kind"] != "summary"]


@pytest.mark.covers("S3.46")
def test_a_correction_reaches_the_session(door: Door) -> None:
    """An edited or forgotten fact is told by no message and no episode of its session, and comes
    back when it is restored.
    """
    talk(door, "lea", "one", HOME_AND_WORK, SISTER, CELLO)
    (episode,) = memories(door, "lea", kind="episode")
    told = as_user(
        door,
        "PATCH",
        f"/v1/memories/{fact(door, 'lea', 'Tromso')}",
        "lea",
        {"text": "The user lives in Bergen"},
    )
    assert {one["id"]: one["effect"] for one in told["sources"]}[episode["id"]] == "shortened"
    for question in ("Where do I live?", "Which city do I live in?"):
        texts = [hit["memory"]["text"] for hit in found(door, "lea", question)]
        assert texts[0] == "The user lives in Bergen"
        assert not [text for text in texts if "Tromso" in text]
    allergy = fact(door, "lea", "shellfish")
    told = as_user(door, "DELETE", f"/v1/memories/{allergy}", "lea")
    assert episode["id"] in {one["id"] for one in told["sources"]}
    assert not [
        hit
        for hit in found(door, "lea", "What am I allergic to?")
        if "shellfish" in hit["memory"]["text"]
    ]
    (episode,) = memories(door, "lea", kind="episode")
    assert "shellfish" not in episode["text"]
    assert "cello" in episode["text"]
    as_user(door, "POST", f"/v1/memories/{allergy}/restore", "lea")
    (episode,) = memories(door, "lea", kind="episode")
    assert "shellfish" in episode["text"]


@pytest.mark.covers("S3.46")
def test_an_episode_repeats_nothing_that_was_corrected_before(home: Path) -> None:
    """What was corrected or forgotten while the conversation went on is not in its episode."""
    ann = ("user", "ann")
    with engrams.open(
        home=home, preset="graph", sessions__trigger="turn", jobs__workers=0
    ) as engine:
        engine.observe(
            [Turn(text, session="one") for text in (HOME_AND_WORK, SISTER, CELLO)], scope=ann
        )
        engine.drain()
        (home_town,) = [
            one
            for one in engine.list(scope=ann, kinds=(Kind.FACT,)).records
            if "Tromso" in one.text
        ]
        engine.edit(home_town.id, scope=ann, text="The user lives in Bergen")
        engine.sessions.end("one", scope=ann)
        engine.drain()
        (episode,) = engine.list(scope=ann, kinds=(Kind.EPISODE,)).records
        assert "welder" in episode.text
        assert "Tromso" not in episode.text


@pytest.mark.covers("S3.40")
def test_what_was_superseded_leads_to_what_holds(door: Door) -> None:
    """A message whose statement another one superseded is no answer by itself:
    the current statement comes before it.
    """
    talk(door, "mik", "one", HOME_AND_WORK, SISTER, CELLO)
    talk(
        door,
        "mik",
        "two",
        "I moved to Bergen last week, the flat has a view of the fish market and the rent is fair.",
        "The removal company lost two boxes, one of them with the good wine glasses from my aunt"
        " in it.",
        "I joined a chess club on Thursdays as well.",
    )
    for question in ("Where do I live?", "Which city do I live in?"):
        hits = found(door, "mik", question)
        assert "Bergen" in hits[0]["memory"]["text"]
        for hit in hits:
            # A message that also says something else stays current; its ended clause says so.
            memory_text = hit["memory"]["text"]
            ended = " ".join(mark["clause"] for mark in hit["ended_clauses"])
            is_over = hit["status"] == "superseded" or "Tromso" in ended
            assert "Tromso" not in memory_text or is_over


@pytest.mark.covers("S3.57")
def test_what_somebody_decides_ends_what_was_learned_too() -> None:
    """The loser of a contradiction is found no more, neither as it was given nor as its fact;
    an undo brings both back.
    """
    with temp_engine(preset="graph") as engine:
        ann = ("user", "ann")
        postgres, mysql = (
            engine.add(f"The billing store runs on {name}", scope=ann).id
            for name in ("PostgreSQL", "MySQL")
        )
        engine.links.link(postgres, mysql, scope=ann, type="contradicts")
        engine.garden.decide(postgres, mysql, scope=ann, keep=mysql)
        question = "What does the billing store run on?"
        texts = [hit.record.text for hit in engine.search(question, scope=ann).hits]
        assert texts == ["The billing store runs on MySQL"]
        engine.garden.undo(ann)
        statements = engine.list(scope=ann, kinds=(Kind.FACT, Kind.NOTE)).records
        assert sum("PostgreSQL" in record.text for record in statements) == 2


@pytest.mark.covers("S3.40")
def test_a_link_by_which_one_supersedes_ends_what_was_learned_too() -> None:
    """The target and its facts are over, and hold again without the link."""
    with temp_engine(preset="graph") as engine:
        ann = ("user", "ann")
        postgres, mysql = (
            engine.add(f"The billing store runs on {name}", scope=ann).id
            for name in ("PostgreSQL", "MySQL")
        )
        for unlinked, expected in ((False, 0), (True, 2)):
            change = engine.links.unlink if unlinked else engine.links.link
            change(mysql, postgres, scope=ann, type="supersedes")
            statements = engine.list(scope=ann, kinds=(Kind.FACT, Kind.NOTE)).records
            assert sum("PostgreSQL" in record.text for record in statements) == expected


@pytest.mark.covers("S3.40", "S3.41")
@pytest.mark.parametrize(
    ("earlier", "later"),
    [
        ("I prefer tabs over spaces", "I prefer spaces over tabs"),
        ("I like tea more than coffee", "I like coffee more than tea"),
    ],
)
def test_a_preference_turned_round_takes_the_place_of_the_earlier(earlier: str, later: str) -> None:
    """The same words the other way round are no repetition: what was preferred before is over."""
    with temp_engine(preset="graph") as engine:
        ann = ("user", "ann")
        engine.add(earlier, scope=ann)
        engine.add(later, scope=ann)
        (preference,) = engine.list(scope=ann, kinds=(Kind.PREFERENCE,)).records
        assert (preference.text, preference.strength) == (later, 1)
        assert [hit.record.text for hit in engine.search(earlier, scope=ann).hits] == [later]


@pytest.mark.covers("S3.22", "S3.40")
@pytest.mark.parametrize("besides", ["", " Mara likes it, and the backups go to Dublin."])
def test_what_a_short_conversation_ends_says_so_in_the_prompt(besides: str) -> None:
    """Also where the messages wait to be learned from, a later one comes first, and the earlier one,
    or its clause, says by which words it may be over.
    """
    with temp_engine(preset="graph") as engine:
        ann = ("user", "ann")
        said = (f"The billing store runs on PostgreSQL.{besides}", "We moved the store to MySQL.")
        for session, text in zip("ab", said, strict=True):
            engine.observe(Turn(text, session=session), scope=ann)
        engine.drain()
        lines = engine.context("What does the store run on?", scope=ann).text.splitlines()
        (later,) = [number for number, line in enumerate(lines) if line == f"1. {said[1]}"]
        assert lines[later + 1].startswith("2. The billing store runs on PostgreSQL.")
        assert "may be outdated, said on" in lines[later + 1]
        assert f'"{said[1]}"' in lines[later + 1]
        assert lines[later + 1].endswith(besides or ")")


@pytest.mark.covers("S3.39")
@pytest.mark.slow
def test_a_conversation_too_short_to_learn_from_is_no_work(tmp_path: Path) -> None:
    """It waits in plain view, with no date, until it goes on or ends;
    whoever waits for the work is not kept.
    """
    home = tmp_path / "home"
    told = run(
        home,
        "--preset",
        "graph",
        "--role",
        "user",
        "--session",
        "loop",
        arguments=("add", "I collect stamps from Portugal."),
    )
    assert "pending: extract" in told
    told = run(home, "--preset", "graph", arguments=("status", "--wait"))
    assert "gathering" in told
    with engrams.open(home=home, preset="graph", jobs__workers=0) as engine:
        done = sum(states.get("done", 0) for states in engine.status()["jobs"].values())
        assert done < 10
        assert not engine.updates.flush_sync(10)
    with ScriptedModel() as model, served("graph", home, model) as door:
        (job,) = [
            one
            for one in door.get("/v1/jobs", state="waiting")["items"]
            if one["kind"] == "extract"
        ]
        assert (job["doing"], job["due"]) == ("waiting for more of the conversation", None)


@pytest.mark.covers("S3.51")
@pytest.mark.slow
def test_a_secret_is_printed_by_no_command(tmp_path: Path) -> None:
    """Neither when it is stored nor when it is known already."""
    secret = "sk_" + "live_4eC39HqLyjWDarjtT1zdp7dc"
    for outcome in ("redacted", "duplicate"):
        told = run(
            tmp_path / "home",
            "--preset",
            "graph",
            arguments=("add", "-"),
            stdin=f"STRIPE_KEY={secret}",
        )
        assert outcome in told
        assert secret not in told
