"""The memory graph's document (003):
messages as agents send them, at ``engrams serve --preset graph``, its REST API and the hook.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.acceptance.process import Door, eventually, run, served

import engrams
from engrams import Turn
from engrams.core import Kind, find_basis
from engrams.testing import ReceivedModelRequest, ScriptedModel, ScriptedReply

REMINDER = "<system-reminder>Zebras graze on the savannah. I live in Oslo.</system-reminder>"
RESULT = "<tool_result>The walrus file has nine lines</tool_result>"
DUMP = '<file path="a.txt">Quokkas hop at dusk</file>'


def answer(request: ReceivedModelRequest) -> Any:
    """A model that learns nothing and finds everything helpful."""
    if request.schema is None:
        return ScriptedReply("Noted")
    if "that has long-term memory" not in request.prompt:
        return {"statements": [], "decisions": [], "names": []}
    rows = [
        row
        for row in request.prompt.partition("The memories:")[2].splitlines()
        if row[:1].isdigit()
    ]
    return {"ids": [number for number, _ in enumerate(rows, 1)]}


@pytest.fixture(scope="module")
def door(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Door]:
    home = tmp_path_factory.mktemp("messages") / "home"
    with (
        ScriptedModel(answer=answer) as model,
        served("graph", home, model, "--upstream", f"{model.url}/v1") as door,
    ):
        yield door


def hook(home: Path, name: str, *options: str, **fields: str) -> str:
    """What the hook of a coding agent answers; empty: nothing."""
    event = {"hook_event_name": name, "session_id": "h", **fields}
    told = run(home, *options, arguments=("hook", "--seconds", "50"), stdin=json.dumps(event))
    return str(json.loads(told)["hookSpecificOutput"]["additionalContext"]) if told.strip() else ""


@pytest.mark.covers("S3.18")
@pytest.mark.parametrize("way", ["proxy", "api", "hook"])
def test_nobody_said_what_a_client_added(door: Door, way: str) -> None:
    """A reminder, a tool's result and a dumped file in a message are kept nowhere and found by no
    search; the user's own words are.
    """
    said = f"{REMINDER}\nMy {way} boat is green {RESULT}{DUMP}"
    match way:
        case "proxy":
            door.chat(said)
        case "api":
            told = door.post(
                "/v1/memories", {"messages": [{"content": said}, {"content": REMINDER}]}, status=201
            )["results"]
            assert [one["outcome"] for one in told] == ["stored", "unsaved"]
            assert all(
                decision["stage"] == "clean" for one in told for decision in one["decisions"][:1]
            )
        case _:
            hook(door.home, "UserPromptSubmit", prompt=said)

    def texts(query: str) -> list[str]:
        return [hit["memory"]["text"] for hit in door.post("/v1/search", {"query": query})["hits"]]

    assert eventually(
        lambda: [text for text in texts(f"What colour is my {way} boat?") if "green" in text]
    )
    kept = door.client.get("/v1/export").text
    assert not [
        word
        for word in ("Zebras graze", "walrus file has", "Quokkas hop", "in Oslo")
        if word in kept
    ]
    assert not [
        text
        for text in texts("zebras savannah walrus file quokkas at dusk Oslo")
        if "boat" not in text
    ]


@pytest.mark.covers("S3.18")
def test_nobody_said_what_a_client_added_to_a_hook_alone(home: Path) -> None:
    """Where the hook opens the home itself, it keeps the user's own words alone."""
    hook(
        home,
        "UserPromptSubmit",
        "--preset",
        "graph",
        prompt=f"{REMINDER} My boat is green {RESULT}{DUMP}",
    )
    kept = run(home, "--preset", "graph", arguments=("export", "-"))
    assert "My boat is green" in kept
    assert not [word for word in ("Zebras", "walrus", "Quokkas", "Oslo") if word in kept]


@pytest.mark.covers("S3.2", "S3.20")
@pytest.mark.slow
def test_the_hook_delivers_one_turn_late_beside_a_server(door: Door) -> None:
    """A prompt's memories come with the next prompt of its session, once;
    another session has none of them.
    """
    door.post(
        "/v1/memories", {"text": "Ann ties her canoe at the north pier", "kind": "fact"}, status=201
    )

    def prompt(text: str, session: str = "late") -> str:
        return hook(
            door.home, "UserPromptSubmit", "--preset", "graph", session_id=session, prompt=text
        )

    assert "pier" not in prompt("Where does Ann tie her canoe?")
    assert "pier" not in prompt("zxqv", "other")
    assert "north pier" in eventually(lambda: prompt("and then?"), 30)
    for place in range(2):
        assert "pier" not in prompt(f"and after {place}?")


@pytest.mark.covers("S3.2", "S3.20")
@pytest.mark.slow
def test_the_hook_delivers_one_turn_late_without_a_server(home: Path) -> None:
    """Where every event is a process of its own, a prompt brings what the one before it asked for."""
    run(
        home,
        "--preset",
        "graph",
        arguments=("add", "Ann ties her canoe at the north pier", "--kind", "fact"),
    )
    assert (
        hook(home, "UserPromptSubmit", "--preset", "graph", prompt="Where does Ann tie her canoe?")
        == ""
    )
    assert "north pier" in hook(home, "UserPromptSubmit", "--preset", "graph", prompt="zxqv")
    assert hook(home, "UserPromptSubmit", "--preset", "graph", prompt="zxqv wvut") == ""


@pytest.mark.covers("S3.28")
def test_use_is_told_by_everybody(door: Door) -> None:
    """REST and the command take the report:
    helpful adds strength and 0.05 of confidence, unhelpful takes 0.1; each is an access.
    """
    made = door.post("/v1/memories", {"text": "Ann likes chess", "kind": "fact"}, status=201)[
        "results"
    ][0]["id"]
    door.patch(f"/v1/memories/{made}", {"confidence": 0.5})
    (told,) = door.post("/v1/used", {"ids": [made]})["memories"]
    assert (told["strength"], told["access_count"], told["confidence"]) == (
        2,
        1,
        pytest.approx(0.55),
    )
    (told,) = json.loads(door.run("used", made, "--unhelpful", "--json"))
    assert (told["strength"], told["access_count"], told["confidence"]) == (
        2,
        2,
        pytest.approx(0.45),
    )
    door.post("/v1/used", {"ids": ["nobody-knows"]}, status=404)


@pytest.mark.covers("S3.15", "S3.16")
def test_what_became_of_judgements_is_counted(door: Door, tmp_path: Path) -> None:
    """Each way a judgement can end is a number that everybody can see:
    of a model that answers, and where there is none.
    """
    door.post("/v1/memories", {"text": "Ann ties a bowline at sea", "kind": "fact"}, status=201)
    before = door.get("/v1/jobs")["judge"]
    assert set(before) == {
        "ran",
        "opted_out",
        "cadence_carry",
        "no_backend",
        "all_failed",
        "unparseable",
        "transport_error",
    }

    def judged(status: str) -> bool:
        door.post("/v1/context", {"query": "Which bowline does Ann tie?", "session": "counted"})
        return bool(door.get("/v1/jobs")["judge"][status] > before[status])

    door.chat("Hello, which model are you?")
    eventually(lambda: judged("ran"), 20)
    eventually(lambda: judged("cadence_carry"), 20)
    home = tmp_path / "home"
    with engrams.open(home=home, preset="graph", chat__provider="none", jobs__workers=0) as engine:
        engine.add(Turn("Ann ties a bowline at sea"), scope=("user", "ann"), kind=Kind.FACT)
        engine.deliver("Which bowline does Ann tie?", scope=("user", "ann"), session="s")
        eventually(lambda: engine.status()["judge"]["no_backend"])


@pytest.mark.covers("S3.24")
def test_a_memory_tells_on_what_ground_it_is_believed(door: Door) -> None:
    """Stated, corrected, observed, inferred or extracted;
    types and categories are as they were given.
    """
    stated = {"fact": "user_stated", "correction": "user_corrected"}
    for kind, basis in stated.items():
        body = {"text": f"The {kind} of Ann is lilac", "kind": kind, "category": "entity"}
        made = door.post("/v1/memories", body, status=201)["results"][0]["id"]
        kept = door.get(f"/v1/memories/{made}")
        assert (kept["basis"], kept["kind"], kept["category"]) == (basis, kind, "entity")
    told = door.post(
        "/v1/memories",
        {"messages": [{"role": "assistant", "content": "Your train leaves at nine"}]},
        status=201,
    )
    assert door.get(f"/v1/memories/{told['results'][0]['id']}")["basis"] == "observed"
    supposed = {"text": "Ann may move to Berlin", "kind": "fact", "meta": {"hearsay": True}}
    made = door.post("/v1/memories", supposed, status=201)["results"][0]["id"]
    assert door.get(f"/v1/memories/{made}")["basis"] == "inferred"
    ritual = json.loads(
        door.run("add", "Ann brews tea at four", "-k", "fact", "--category", "ritual", "--json")
    )["id"]
    assert door.get(f"/v1/memories/{ritual}")["category"] == "ritual"
    with engrams.open(
        home=door.home, preset="graph", chat__provider="none", jobs__workers=0
    ) as engine:
        (learned,) = engine.add("I live in Porto.", scope=("user", "tim")).derived
        record = engine.get(learned.id, scope=("user", "tim"))
        assert find_basis(record) == "extracted", record


@pytest.mark.covers("S3.40")
def test_a_prompt_puts_right_what_was_said_while_its_session_goes_on(home: Path) -> None:
    """A hook that answers a prompt by itself leaves its jobs to the process that keeps the home
    open, which does them at once.
    """
    home.mkdir(exist_ok=True)
    options = ("--preset", "graph", "--resident", "--set", "serve.resident_seconds=5")
    for prompt in ("My ferry to Gotland leaves on Friday.", "Sorry, I meant Thursday."):
        hook(home, "UserPromptSubmit", *options, prompt=prompt)

    def list_facts() -> str:
        facts = run(home, "--preset", "graph", arguments=("list", "--kind", "fact"))
        return facts if "Gotland" in facts else ""

    assert "Thursday" in eventually(list_facts, 20)
