"""Entities at the door:
a served conversation is a net of names, and what leaves memory leaves the net.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.acceptance.process import Door, eventually, served
from tests.flows.traces import holders

from engrams.testing import ScriptedModel

TALK = [
    ("Caroline", "Hey Mel! I moved to Sweden four years ago."),
    ("Melanie", "Wow, Caroline! I signed up for a pottery class. I love pottery."),
    ("Caroline", "Nice, Mel! I applied to adoption agencies."),
    ("Caroline", "Your pottery is lovely, Mel!"),
    ("Melanie", "My sister Emma works for Tannhauser."),
]


@pytest.fixture(scope="module")
def door(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Door]:
    """One server for every test here; each takes a user of its own."""
    home = tmp_path_factory.mktemp("entities") / "home"
    home.mkdir()
    with ScriptedModel() as model, served("default", home, model) as found:
        yield found


def ask(door: Door, user: str, method: str, path: str, **given: Any) -> Any:
    answer = door.client.request(method, path, headers={"x-engrams-user": user}, **given)
    assert answer.status_code < 300, answer.text
    return answer.json()


def add(door: Door, user: str, text: str, **more: Any) -> str:
    return str(
        ask(door, user, "POST", "/v1/memories", json={"text": text, **more})["results"][0]["id"]
    )


def entities(door: Door, user: str) -> dict[str, dict[str, Any]]:
    found = ask(door, user, "GET", "/v1/graph", params={"view": "entities"})
    return {node["label"]: node for node in found["nodes"]}


def test_names_of_an_imported_conversation_are_linked(door: Door) -> None:
    """People, places and organisations are nodes with their kinds, numbers and other names, linked
    to each other and to memories.
    """
    lines = "".join(
        json.dumps({"text": text, "speaker": speaker, "role": "user", "session": "s"}) + "\n"
        for speaker, text in TALK
    )
    ask(door, "sam", "POST", "/v1/import", content=lines, params={"format": "turns"})
    eventually(lambda: "pottery" in entities(door, "sam"))
    found = entities(door, "sam")
    kinds = {
        name: found[name]["kind"]
        for name in ("Caroline", "Melanie", "Sweden", "Emma", "Tannhauser", "pottery")
    }
    assert kinds == {
        "Caroline": "person",
        "Melanie": "person",
        "Sweden": "place",
        "Emma": "person",
        "Tannhauser": "organisation",
        "pottery": "theme",
    }
    assert found["Melanie"]["aliases"] == ["Mel"] and found["Melanie"]["memories"] >= 2
    net = ask(door, "sam", "GET", "/v1/graph", params={"view": "entities"})["edges"]
    assert {"entity:caroline", "entity:sweden"} in [
        {link["source"], link["target"]} for link in net if link["type"] == "together"
    ]
    around = ask(door, "sam", "GET", "/v1/graph", params={"focus": "entity:sweden", "depth": 1})
    texts = [node["label"] for node in around["nodes"] if node["type"] == "memory"]
    assert texts and all("Sweden" in text for text in texts)
    assert {link["target"] for link in around["edges"] if link["type"] == "mentions"} >= {
        "entity:sweden"
    }
    whole = ask(door, "sam", "GET", "/v1/graph")
    assert {"entity:sweden", "entity:emma"} <= {node["id"] for node in whole["nodes"]}


def test_owners_and_projects_are_apart(door: Door) -> None:
    """Nobody sees a name of another's memory, nor a project those of another project."""
    friend = {"text": "My friend Gwendolyn lives in Porto."}
    ask(door, "ann", "POST", "/v1/memories", json=friend, params={"project": "garden"})
    add(door, "bob", "My friend Thaddeus lives in Lyon.")
    assert {"Gwendolyn", "Porto"} <= entities(door, "ann").keys() and not {
        "Thaddeus",
        "Lyon",
    } & entities(door, "ann").keys()
    assert {"Thaddeus", "Lyon"} <= entities(door, "bob").keys() and not {
        "Gwendolyn",
        "Porto",
    } & entities(door, "bob").keys()
    garden, boat = (
        ask(door, "ann", "GET", "/v1/graph", params={"view": "entities", "project": name})
        for name in ("garden", "boat")
    )
    assert {node["label"] for node in garden["nodes"]} == {"Gwendolyn", "Porto"} and boat[
        "nodes"
    ] == []


def test_names_follow_edits_and_forgetting(door: Door) -> None:
    """After an edit the new name stands in place of the old one;
    what is forgotten is gone until it is restored.
    """
    one = add(door, "cid", "Never ring my sister Emma before nine.", kind="rule")
    assert entities(door, "cid").keys() == {"Emma"}
    ask(
        door,
        "cid",
        "PATCH",
        f"/v1/memories/{one}",
        json={"text": "Never ring my sister Agnes before nine."},
    )
    assert entities(door, "cid").keys() == {"Agnes"}
    ask(door, "cid", "DELETE", f"/v1/memories/{one}")
    assert entities(door, "cid") == {}
    ask(door, "cid", "POST", f"/v1/memories/{one}/restore")
    assert entities(door, "cid").keys() == {"Agnes"}


def test_a_corrected_fact_unlinks_its_message(door: Door) -> None:
    """A fact that is set right takes the wrong place off the message it came from."""
    ask(
        door,
        "dora",
        "POST",
        "/v1/memories",
        json={"text": "I live in Porto. My cat Minka sleeps.", "kind": "turn"},
    )
    (home,) = [
        each
        for each in ask(door, "dora", "GET", "/v1/memories", params={"kind": "fact"})["memories"]
        if "Porto" in each["text"]
    ]
    assert entities(door, "dora")["Porto"]["memories"] == 2
    ask(
        door,
        "dora",
        "PATCH",
        f"/v1/memories/{home['id']}",
        json={"text": "The user lives in Lyon", "object": "Lyon"},
    )
    assert entities(door, "dora").keys() == {"Lyon", "Minka"}


def test_a_purge_leaves_no_name(door: Door) -> None:
    """A name that only the purged memory held is in no node and in no byte of the home, though it
    was looked at before.
    """
    one = add(door, "eve", "My friend Zyxelbert Quandrel lives in Porto.")
    add(door, "eve", "My sister Emma lives in Porto.")
    assert "Zyxelbert Quandrel" in entities(door, "eve")
    assert ask(door, "eve", "POST", "/v1/purge", json={"ids": [one]})["proven"]
    assert entities(door, "eve").keys() == {"Emma", "Porto"}
    assert "yxelbert" not in json.dumps(ask(door, "eve", "GET", "/v1/graph"))
    assert holders(Path(door.home), ["zyxelbert", "quandrel"]) == {}


def test_the_command_lists_and_shows_them(door: Door) -> None:
    """`engrams entities` lists names with their kinds;
    with a name it shows the memories; an unknown one is status 3.
    """
    add(door, "ann", "My sister Emma plays the cello.")
    assert "person" in door.run("entities") and "Emma" in door.run("entities")
    assert "cello" in door.run("entities", "emma")
    door.run("entities", "Nobody", status=3)
