"""A decision model says what repeats, what changes and what answers; others take its place."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import engrams
from engrams import MemoryEngine, Turn
from engrams.core import Kind, Status
from engrams.program.main import main
from engrams.testing import ScriptedModel, SettableClock

ANN = ("user", "ann")
BEFORE = "I work at Ikea in Trondheim."
AFTER = "I work at Volvo in Trondheim."


def open_memory(home: Path, model: ScriptedModel, **settings: object) -> MemoryEngine:
    given: dict[str, object] = {
        "clock": SettableClock("2026-03-02", step=60),
        "judge__provider": "decisions",
        "judge__model": "decider",
        "judge__url": f"{model.url}/v1",
        "write__debounce_seconds": 0,
        "jobs__workers": 0,
        **settings,
    }
    return engrams.open(home=home, **given)  # type: ignore[arg-type]


def learn(memory: MemoryEngine, *texts: str) -> list[tuple[str, str]]:
    for text in texts:
        memory.observe([Turn(text, session=text)], scope=ANN)
        memory.drain(20)
    records = memory.list(
        scope=ANN, kinds=(Kind.FACT,), statuses=tuple(Status), order="oldest"
    ).records
    return [(record.text, str(record.status)) for record in records]


def decisions(model: ScriptedModel) -> int:
    return sum(request.route == "decisions" for request in model.requests)


@pytest.mark.parametrize(
    ("changes", "statuses"), [(0.95, ["superseded", "active"]), (0.02, ["active", "active"])]
)
def test_a_change_is_what_the_judge_is_sure_of(
    home: Path, changes: float, statuses: list[str]
) -> None:
    """Sure of a change, the older statement ends; sure of none, both stay."""

    def decide(_text: str, statement: str) -> float:
        return changes if "no longer" in statement else 0.02

    with ScriptedModel(decide=decide) as model, open_memory(home, model) as memory:
        facts = learn(memory, BEFORE, AFTER)
        assert [status for _, status in facts] == statuses
        assert decisions(model) == 1


def test_an_unsure_judge_leaves_it_to_the_chat_model(home: Path) -> None:
    """Between sure and surely not, the chat model is asked."""
    rows = [
        {
            "turn": 1,
            "text": f"Ann works at {name}.",
            "quote": f"I work at {name}",
            "subject": "user",
            "predicate": "works_at",
            "object": name,
        }
        for name in ("Ikea", "Volvo")
    ]
    with ScriptedModel() as model:
        model.when("Below are numbered messages.*I work at Ikea in", {"statements": rows[:1]})
        model.when("Below are numbered messages", {"statements": rows[1:]})
        model.when("", {"decisions": [{"new": 1, "verdict": "replace", "known": [1]}]})
        chat = {"chat__provider": "openai", "chat__model": "m", "chat__url": model.url}
        with open_memory(home, model, **chat) as memory:
            facts = learn(memory, BEFORE, AFTER)
        assert [status for _, status in facts] == ["superseded", "active"]
        assert decisions(model) == 1


def test_rules_decide_where_the_judge_fails(home: Path) -> None:
    """A judge that is down costs no memory."""
    with ScriptedModel() as model, open_memory(home, model) as memory:
        model.fail("http_500", times=99, only="decisions")
        facts = learn(memory, BEFORE, AFTER)
        assert len(facts) == 2
        assert memory.status()["dead"] == []


def test_the_judge_reranks(home: Path) -> None:
    """What answers comes first; where the judge fails the order stays, and the result says so."""
    texts = ("Rex likes the garden.", "Rex is the dog of Olga.", "Rex barks at night.")

    def decide(text: str, statement: str) -> float:
        number = statement.partition("[")[2].partition("]")[0]
        note = text.partition(f"[{number}] ")[2].partition("\n")[0]
        return 0.97 if "Olga" in note else 0.01

    settings = {"rerank__provider": "judge", "rerank__weight": 1.0}
    with ScriptedModel(decide=decide) as model, open_memory(home, model, **settings) as memory:
        for text in texts:
            memory.add(text, scope=ANN)
        result = memory.search("Tell me about Rex", scope=ANN)
        assert result.hits[0].record.text == texts[1]
        assert result.hits[0].parts["rerank"] == 0.97
        model.fail("http_500", times=9, only="decisions")
        result = memory.search("Tell me about Rex", scope=ANN)
        assert len(result.hits) == len(texts)
        assert any("not reranked" in note for note in result.notes)


@pytest.mark.parametrize("decides", [True, False])
def test_the_doctor_asks_the_judge(
    home: Path, capsys: pytest.CaptureFixture[str], decides: bool
) -> None:
    """It says how long a decision takes, or what the server said and who decides instead."""
    with ScriptedModel(decide=lambda *_: 0.9) as model:
        if not decides:
            model.fail("http_400", times=9, only="decisions")
        texts = ("provider=decisions", "model=decider", f"url={model.url}/v1")
        options = [part for text in texts for part in ("--set", f"judge.{text}")]
        main(["doctor", "--home", str(home), "--json", *options])
        checks = {each["name"]: each for each in json.loads(capsys.readouterr().out)["checks"]}
        assert decisions(model) == 1
    judge = checks["judge"]
    if decides:
        assert (judge["state"], "decider: a decision in" in judge["detail"]) == ("ok", True)
    else:
        assert judge["state"] == "warn"
        assert "Scripted failure while answering" in judge["detail"]
        assert "the chat model or rules decide" in judge["detail"]
