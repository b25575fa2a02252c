"""The memory graph's document (003): messages as agents send them, at ``engrams serve --preset graph``, its REST API and the hook."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.acceptance.process import Door, eventually, run, served

from engrams.testing import ScriptedModel, ScriptedReply, ScriptedRequest

REMINDER = "<system-reminder>Zebras graze on the savannah. I live in Oslo.</system-reminder>"
RESULT = "<tool_result>The walrus file has nine lines</tool_result>"
DUMP = '<file path="a.txt">Quokkas hop at dusk</file>'


def answer(request: ScriptedRequest) -> Any:
    """A model that learns nothing and finds everything helpful."""
    if request.schema is None:
        return ScriptedReply("Noted")
    rows = request.prompt.partition("The memories:")[2].splitlines()
    return {"statements": [], "decisions": [], "names": [], "ids": [n for n, _ in enumerate((r for r in rows if r[:1].isdigit()), 1)]}


@pytest.fixture(scope="module")
def door(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Door]:
    home = tmp_path_factory.mktemp("messages") / "home"
    with ScriptedModel(answer=answer) as model, served("graph", home, model, "--upstream", f"{model.url}/v1") as door:
        yield door


def hook(home: Path, name: str, *options: str, **fields: str) -> str:
    """What the hook of a coding agent answers; empty: nothing."""
    event = {"hook_event_name": name, "session_id": "h", **fields}
    told = run(home, *options, arguments=("hook", "--seconds", "50"), stdin=json.dumps(event))
    return str(json.loads(told)["hookSpecificOutput"]["additionalContext"]) if told.strip() else ""


@pytest.mark.covers("S3.18")
@pytest.mark.parametrize("way", ["proxy", "api", "hook"])
def test_nobody_said_what_a_client_added(door: Door, way: str) -> None:
    """A reminder, a tool's result and a dumped file in a message are kept nowhere and found by no search; the user's own words are."""
    said = f"{REMINDER}\nMy {way} boat is green {RESULT}{DUMP}"
    match way:
        case "proxy":
            door.chat(said)
        case "api":
            told = door.post("/v1/memories", {"messages": [{"content": said}, {"content": REMINDER}]}, status=201)["results"]
            assert [one["outcome"] for one in told] == ["stored", "unsaved"]
            assert all(decision["stage"] == "clean" for one in told for decision in one["decisions"][:1])
        case _:
            hook(door.home, "UserPromptSubmit", prompt=said)

    def texts(query: str) -> list[str]:
        return [hit["memory"]["text"] for hit in door.post("/v1/search", {"query": query})["hits"]]

    assert eventually(lambda: [text for text in texts(f"What colour is my {way} boat?") if "green" in text])
    kept = door.client.get("/v1/export").text
    assert not [word for word in ("Zebras graze", "walrus file has", "Quokkas hop", "in Oslo") if word in kept]
    assert not [text for text in texts("zebras savannah walrus file quokkas at dusk Oslo") if "boat" not in text]


@pytest.mark.covers("S3.18")
def test_nobody_said_what_a_client_added_to_a_hook_alone(home: Path) -> None:
    """Where the hook opens the home itself, it keeps the user's own words alone."""
    hook(home, "UserPromptSubmit", "--preset", "graph", prompt=f"{REMINDER} My boat is green {RESULT}{DUMP}")
    kept = run(home, "--preset", "graph", arguments=("export", "-"))
    assert "My boat is green" in kept
    assert not [word for word in ("Zebras", "walrus", "Quokkas", "Oslo") if word in kept]


@pytest.mark.covers("S3.2", "S3.20")
def test_the_hook_delivers_one_turn_late_beside_a_server(door: Door) -> None:
    """A prompt's memories come with the next prompt of its session, once; another session has none of them."""
    door.post("/v1/memories", {"text": "Ann ties her canoe at the north pier", "kind": "fact"}, status=201)
    ask = {"prompt": "Where does Ann tie her canoe?"}
    assert "pier" not in hook(door.home, "UserPromptSubmit", **ask)
    assert "pier" not in hook(door.home, "UserPromptSubmit", session_id="other", prompt="zxqv")
    late = eventually(lambda: hook(door.home, "UserPromptSubmit", prompt="and then?"), 30)
    assert "north pier" in late
    for place in range(2):
        assert "pier" not in hook(door.home, "UserPromptSubmit", prompt=f"and after {place}?")


@pytest.mark.covers("S3.2")
def test_the_hook_delivers_one_turn_late_without_a_server(home: Path) -> None:
    """Where every event is a process of its own, a prompt brings what the one before it asked for."""
    run(home, "--preset", "graph", arguments=("add", "Ann ties her canoe at the north pier", "--kind", "fact"))
    assert hook(home, "UserPromptSubmit", "--preset", "graph", prompt="Where does Ann tie her canoe?") == ""
    assert "north pier" in hook(home, "UserPromptSubmit", "--preset", "graph", prompt="zxqv")
    assert hook(home, "UserPromptSubmit", "--preset", "graph", prompt="zxqv wvut") == ""


@pytest.mark.covers("S3.28")
def test_use_is_told_by_everybody(door: Door) -> None:
    """REST and the command take the report: helpful adds strength and 0.05 of confidence, unhelpful takes 0.1; each is an access."""
    made = door.post("/v1/memories", {"text": "Ann likes chess", "kind": "fact"}, status=201)["results"][0]["id"]
    door.patch(f"/v1/memories/{made}", {"confidence": 0.5})
    (told,) = door.post("/v1/used", {"ids": [made]})["memories"]
    assert (told["strength"], told["access_count"], told["confidence"]) == (2, 1, pytest.approx(0.55))
    (told,) = json.loads(door.run("used", made, "--unhelpful", "--json"))
    assert (told["strength"], told["access_count"], told["confidence"]) == (2, 2, pytest.approx(0.45))
    door.post("/v1/used", {"ids": ["nobody-knows"]}, status=404)
