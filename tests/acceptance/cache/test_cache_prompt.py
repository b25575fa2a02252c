"""The tiered cache's document (000), its way out:
prompts, what they leave behind, and scores, through the served API.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from tests.acceptance.process import Door, eventually, run, served

from engrams.testing import ReceivedModelRequest, ScriptedModel, ScriptedReply

AGENT = "implementation"
REDIS = "Session caching is done with Redis and a lifetime of two hours."
SEEDED = [
    "The observatory of Visby opens its dome on clear Thursdays.",
    "The observatory of Visby has a telescope of forty centimetres.",
    "Guides of the Visby observatory wear green jackets.",
    "The observatory of Visby was built on a mill hill.",
    "Tickets for the Visby observatory cost ninety kronor.",
    "The dome of the Visby observatory is turned by hand.",
]
VISBY = "What is there to know about the observatory of Visby?"
CPP = "How does template specialisation work in C++?"


def answer(request: ReceivedModelRequest) -> Any:
    """A model that takes one fact from what it is told, and answers shortly."""
    said = request.prompt
    if "How much will it matter" in said:
        return "0.8"
    if request.schema is not None:
        quote = "We decided that session caching is done with Redis and a lifetime of two hours."
        fact = {
            "turn": 1,
            "quote": quote,
            "text": REDIS,
            "subject": "session caching",
            "predicate": "uses",
            "object": "Redis",
        }
        more = {
            "kind": "fact",
            "category": "knowledge",
            "negative": False,
            "effect": "states",
            "confidence": 0.9,
            "importance": 0.8,
        }
        return {
            "statements": [{**fact, **more, "from": None, "triggers": [], "steps": []}]
            if quote in said
            else []
        }
    return ScriptedReply(f"Heard: {request.messages[-1][1][-40:]}")


@pytest.fixture(scope="module")
def door(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Door]:
    home = tmp_path_factory.mktemp("prompt") / "home"
    with ScriptedModel(answer=answer) as model:
        chat = {
            "chat.provider": "openai",
            "chat.model": "m",
            "chat.url": model.url,
            "write.debounce_seconds": "0",
            "tiers.tail_turns": "0",
        }
        options = [part for name, value in chat.items() for part in ("--set", f"{name}={value}")]
        with served("cache", home, model, *options, L0_MAXLEN="4") as door:
            yield door


def talk(door: Door, message: str) -> Any:
    return door.post(f"/api/chat/{AGENT}", {"message": message})


def explain(door: Door, query: str) -> Any:
    return door.post(f"/api/explain/{AGENT}", {"query": query})


def settle(door: Door) -> None:
    eventually(lambda: door.get("/api/jobs")["in_flight"] == 0)


def selected(trace: Any) -> list[Any]:
    return [row for row in trace["rows"] if row["selected"]]


def check_sum(trace: Any) -> None:
    """Each score is the document's sum of what is shown beside it, whose shares are its parts."""
    assert trace["rows"]
    for row in trace["rows"]:
        shares = {
            "cos": 0.6 * row["sim"],
            "recency": 0.3 * row["recency"],
            "importance": 0.1 * row["importance"],
        }
        assert row["score"] == pytest.approx(sum(shares.values()), abs=1e-3), row
        assert {name: row["parts"].get(name, 0) for name in shares} == pytest.approx(
            shares, abs=1e-3
        )
        assert row["parts"].keys() <= shares.keys(), row


@pytest.mark.covers("S0.44", "S0.45")
def test_what_is_below_the_floor_is_in_no_prompt(door: Door) -> None:
    """Neither a message nor the fact that was taken from it, whatever the model judged it to be
    worth; near ones are.
    """
    talk(door, "We decided that session caching is done with Redis and a lifetime of two hours.")
    eventually(lambda: door.get("/v1/memories", kind="fact")["memories"])
    trace = talk(door, CPP)["trace"]
    assert not selected(trace)
    assert {row["dropped"] for row in trace["rows"]} == {"below_sim_threshold"}
    assert "Redis" not in door.prompt_of(CPP)
    near = "With what is our session caching done, and with which lifetime?"
    talk(door, near)
    assert "Redis" in door.prompt_of(near)


@pytest.mark.covers("S0.44", "S0.39")
def test_seeded_facts_reach_a_prompt_by_being_near_only(door: Door) -> None:
    """None of them the question about C++;
    with the one about them six come, and each that comes is hot, promoted and counted.
    """
    settle(door)
    door.post(f"/api/seed/{AGENT}", {"facts": SEEDED})
    talk(door, CPP)
    assert "Visby" not in door.prompt_of(CPP)
    came = selected(talk(door, VISBY)["trace"])
    assert came
    assert [row["text"] for row in came if row["text"] not in door.prompt_of(VISBY)] == []
    ids = {row["id"] for row in came}
    eventually(
        lambda: ids <= {row["id"] for row in explain(door, VISBY)["rows"] if row["tier"] == "hot"}
    )
    assert {door.get(f"/v1/memories/{id}")["access_count"] for id in ids} == {1}


@pytest.mark.covers("S0.43", "S0.48")
def test_a_score_is_the_sum_of_the_document(door: Door) -> None:
    """What was found together gets nothing more, whatever the words around the question;
    a fact and its message are one candidate.
    """
    for _ in range(3):
        talk(door, VISBY)
    talk(door, "Our session caching, with what is it done again?")
    settle(door)
    for query in (
        VISBY,
        "Remind me please, what is there to know about the observatory of Visby?",
        "Can you tell me with what session caching is done?",
        CPP,
    ):
        check_sum(explain(door, query))


@pytest.mark.covers("S0.36", "S0.40")
def test_asking_again_does_not_shut_out_what_is_long_known(door: Door) -> None:
    """Neither a question that was asked often nor its echoes in the answers stand between it and
    the topics of the long term.
    """
    door.post(f"/api/seed/{AGENT}", {"facts": ["The lighthouse keeper of Kopu is called Maarja."]})
    door.post(f"/api/consolidate/{AGENT}")
    asked = "What is the lighthouse keeper of Kopu called?"
    for _ in range(7):
        last = talk(door, asked)["trace"]
    assert "topics were searched" in " ".join(last["notes"])
    assert "topics were not searched" not in " ".join(last["notes"])
    assert "Maarja" in door.prompt_of(asked)
    assert asked not in [row["text"] for row in last["rows"]]


def test_a_context_without_a_model_holds_what_is_near_only(door: Door) -> None:
    """The command on a home of its own, where rules take the facts."""
    home = door.home.parent / "rules"
    run(
        home,
        "--preset",
        "cache",
        arguments=("chat",),
        stdin="My neighbour Ulf breeds alpacas in Skara.\n/quit\n",
    )
    assert "Ulf" not in run(home, "--preset", "cache", arguments=("context", CPP))
    assert "Ulf" in run(
        home,
        "--preset",
        "cache",
        arguments=("context", "Where does my neighbour Ulf breed alpacas?"),
    )


@pytest.mark.slow
def test_the_banner_and_the_configuration_tell_what_is_in_use(door: Door) -> None:
    """A model that is named and not asked is marked so."""
    shown = door.run("config", "embed")
    assert "BAAI/bge-large-en-v1.5 (not in use: embed.provider is builtin)" in " ".join(
        shown.split()
    )
    with served(
        "cache",
        door.home.parent / "other",
        door.model,
        OLLAMA_URL="http://127.0.0.1:9",
        OLLAMA_MODEL="tiny",
    ) as other:
        assert other.get("/api/meta")["llm_model"] == "tiny"
        assert "/api/chat asks tiny" in other.greeting


@pytest.mark.covers("S0.45")
def test_the_proxy_takes_six_memories_as_the_chat_does(door: Door) -> None:
    """A program that asks through the proxy gets as many of them as one that asks the chat."""
    things = ("garden", "clock", "library", "boat", "crane", "bell", "cellar")
    facts = [f"The lighthouse has a {thing}." for thing in things]
    door.post(f"/api/seed/{AGENT}", {"facts": facts})
    question = "What does the lighthouse have?"
    assert len(selected(explain(door, question))) == 6
    door.chat(question)
    prompt = door.prompt_of(question)
    assert len([fact for fact in facts if fact in prompt]) == 6
