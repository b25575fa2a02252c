"""The rolling summary of a conversation:
brought up to date after every extraction, one for each conversation.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

import engrams
from engrams import MemoryEngine
from engrams.core import Kind, Scope, Status, Turn
from engrams.ports import ROLL, JobSpec
from engrams.session.summaries.summary_records import make_summary_id
from engrams.settings import load
from engrams.testing import ScriptedModel, SettableClock, temp_engine

ANN = ("user", "ann")
TALK = (*ANN, "conversation", "c1")
START = datetime(2026, 3, 1, 9, tzinfo=UTC)
NAME = make_summary_id(Scope(TALK), "", "rolling")


def learned(request: Any) -> dict[str, Any]:
    """The statements of a model that takes every message as a fact."""
    shown = request.prompt.partition("The messages:")[2]
    texts = [
        line.rpartition(': "')[2].rstrip('"') for line in shown.splitlines() if line.startswith("[")
    ]
    rows = [
        {"turn": n, "text": text, "quote": text, "subject": "Kim", "predicate": f"p{text}"}
        for n, text in enumerate(texts, 1)
    ]
    return {"statements": rows}


@pytest.fixture
def model() -> Iterator[ScriptedModel]:
    """A model that learns everything, adds everything, and numbers its summaries."""
    made: list[str] = []

    def summary(_request: Any) -> str:
        made.append("")
        return f"Summary {len(made)}."

    with ScriptedModel() as server:
        server.when("keep the summary of a conversation", summary)
        server.when("The messages:", learned)
        yield server.when("decisions", {"decisions": []})


def named(model: ScriptedModel, **more: Any) -> dict[str, Any]:
    """Settings with that model, at once, its jobs run by hand."""
    return {
        "chat__provider": "openai",
        "chat__model": "m",
        "chat__url": f"{model.url}/v1",
        "chat__retries": 0,
        "write__debounce_seconds": 0.0,
        "jobs__workers": 0,
        "summary__enabled": True,
        **more,
    }


@pytest.fixture
def engine(model: ScriptedModel) -> Iterator[MemoryEngine]:
    """An engine that keeps rolling summaries."""
    with temp_engine(clock=SettableClock(START), **named(model)) as made:
        yield made


def tell(engine: MemoryEngine, text: str, scope: tuple[str, ...] = TALK) -> None:
    """Say something, and do what follows from it."""
    engine.observe(Turn(text), scope=scope)
    engine.drain()


def prompts(model: ScriptedModel) -> list[str]:
    """What the model was asked to summarise."""
    return [
        request.prompt
        for request in model.requests
        if "keep the summary of a conversation" in request.prompt
    ]


@pytest.mark.covers("S2.45")
def test_the_summary_before_and_the_new_facts_go_in(
    engine: MemoryEngine, model: ScriptedModel
) -> None:
    """Each time:
    the summary so far and only what is new; one record of a known id, and another conversation has
    its own.
    """
    tell(engine, "Kim plays the oboe in Ghent")
    assert "(none)" in prompts(model)[0] and "oboe" in prompts(model)[0]
    assert engine.get(NAME, scope=TALK).text == "Summary 1."
    tell(engine, "Kim bakes rye bread on Sundays")
    assert (
        "Summary 1." in prompts(model)[1]
        and "rye bread" in prompts(model)[1]
        and "oboe" not in prompts(model)[1]
    )
    record = engine.get(NAME, scope=TALK)
    assert (record.text, record.kind, record.version) == ("Summary 2.", Kind.SUMMARY, 2)
    tell(engine, "Lou repairs old radios", (*ANN, "conversation", "c2"))
    summaries = engine.list(scope=ANN, kinds=(Kind.SUMMARY,)).records
    assert {one.scope.labels[-1]: one.text for one in summaries} == {
        "c1": "Summary 2.",
        "c2": "Summary 3.",
    }
    assert engine.summaries.of(TALK) == "Summary 2."


@pytest.mark.covers("S2.31")
def test_a_prompt_gets_the_summary_and_then_lines_by_role(model: ScriptedModel) -> None:
    """The conversation's summary if there is one, then "[role] content", best first and without
    scores; within the budget.
    """
    with temp_engine(
        clock=SettableClock(START), preset="proxy", **named(model, vault__enabled=False)
    ) as engine:
        engine.observe(Turn("I think oboes are <loud>", role="assistant"), scope=TALK)
        tell(engine, "Kim plays the oboe in Ghent, and the oboe is old")
        made = engine.context("Who plays the oboe in Ghent?", scope=TALK)
        lines = made.tail.splitlines()
        assert lines[0] == "<summary>"
        assert lines[2:4] == ["Summary 1.", "</summary>"]
        said = [line for line in lines if line.startswith("[")]
        assert said[0] == "[user] Kim plays the oboe in Ghent, and the oboe is old"
        assert "[assistant] I think oboes are &lt;loud&gt;" in said
        assert made.tokens == engine.counter.count(made.text)
        assert "Summary" not in engine.context("oboe", scope=(*ANN, "conversation", "c2")).text
        for tokens in range(0, 120, 7):
            assert (
                engine.counter.count(
                    engine.context("Who plays the oboe?", scope=TALK, tokens=tokens).text
                )
                <= tokens
            )


@pytest.mark.covers("S2.45")
def test_the_summary_is_one_file(model: ScriptedModel, home: Path) -> None:
    """In the files a conversation has one summary, rewritten in place."""
    settings = {
        name.replace("__", "."): value
        for name, value in named(model, vault__enabled=True, vault__git=False).items()
    }
    with engrams.open(
        load({"home": str(home), **settings}, environ={}).settings, clock=SettableClock(START)
    ) as engine:
        tell(engine, "Kim plays the oboe in Ghent")
        tell(engine, "Kim bakes rye bread on Sundays")
        (file,) = (home / "vault").rglob("summaries/*.md")
        assert (
            "Summary 2." in file.read_text("utf-8")
            and "conversation/c1/summaries" in file.as_posix()
        )


@pytest.mark.covers("S2.45")
def test_nothing_new_keeps_it_unchanged(engine: MemoryEngine, model: ScriptedModel) -> None:
    """No new fact: no call and no new version; a job that runs twice summarises once."""
    tell(engine, "Kim plays the oboe in Ghent")
    before = engine.get(NAME, scope=TALK)
    model.when("never", {})
    tell(engine, "Kim plays the oboe in Ghent")
    assert engine.get(NAME, scope=TALK) == before and len(prompts(model)) == 1

    facts = [record.id for record in engine.list(scope=TALK, kinds=(Kind.FACT,)).records]
    engine.store.enqueue(
        (JobSpec(ROLL, "again", {"scope": Scope(TALK).key, "session": "", "items": facts}),),
        engine.now(),
    )
    engine.drain()
    assert engine.get(NAME, scope=TALK) == before and len(prompts(model)) == 1


@pytest.mark.covers("S2.46")
def test_a_failure_keeps_the_one_before(model: ScriptedModel) -> None:
    """The summary stays, the facts are there, the job is seen to fail, waits in the dead-letter
    list, and can be done again.
    """
    clock = SettableClock(START)
    with temp_engine(clock=clock, **named(model, jobs__max_attempts=2)) as engine:
        tell(engine, "Kim plays the oboe in Ghent")
        engine.observe(Turn("Kim bakes rye bread on Sundays"), scope=TALK)
        engine.work.run_job()
        for _ in range(4):
            model.fail("http_500")
            engine.drain()
            clock.forward(minutes=5)
        model.heal()
        assert engine.get(NAME, scope=TALK).text == "Summary 1."
        assert any(
            "rye bread" in record.text
            for record in engine.list(scope=TALK, kinds=(Kind.FACT,)).records
        )
        assert [dead["kind"] for dead in engine.status()["dead"]] == [ROLL]
        engine.retry()
        engine.drain()
        assert (
            engine.get(NAME, scope=TALK).text != "Summary 1." and "rye bread" in prompts(model)[-1]
        )


@pytest.mark.covers("S2.46")
def test_switched_off_writes_none(model: ScriptedModel) -> None:
    """Without `summary.enabled` facts are learned and there is no summary;
    the preset of the proxy has it on.
    """
    with temp_engine(clock=SettableClock(START), **named(model, summary__enabled=False)) as engine:
        tell(engine, "Kim plays the oboe in Ghent")
        assert engine.list(scope=TALK, kinds=(Kind.SUMMARY,), statuses=tuple(Status)).records == ()
        assert len(engine.list(scope=TALK, kinds=(Kind.FACT,)).records) == 1
    assert load({"preset": "proxy"}, environ={}).settings.summary.enabled
    assert not load({}, environ={}).settings.summary.enabled


def test_what_was_forgotten_or_erased_leaves_the_summary(
    engine: MemoryEngine, model: ScriptedModel
) -> None:
    """A summary goes with a fact that went into it;
    the next one is made from what is left, and nothing brings the words back.
    """
    tell(engine, "Kim plays the oboe in Ghent")
    tell(engine, "Kim bakes rye bread on Sundays")
    oboe = next(
        record
        for record in engine.list(scope=TALK, kinds=(Kind.FACT,)).records
        if "oboe" in record.text
    )
    engine.forget(oboe.id, scope=TALK)
    assert engine.summaries.of(TALK) == ""
    engine.drain()
    assert "oboe" not in prompts(model)[-1] and "rye bread" in prompts(model)[-1]
    assert engine.summaries.of(TALK) == "Summary 3."
    engine.purge([engine.list(scope=TALK, kinds=(Kind.FACT,)).records[0].id], scope=TALK)
    assert engine.summaries.of(TALK) == ""
    assert "Summary" not in str(engine.history(NAME, scope=TALK)[-1])


def test_a_summary_is_no_search_result(engine: MemoryEngine) -> None:
    """Neither a search nor a context takes a rolling summary for a memory; the trace says so."""
    tell(engine, "Kim plays the oboe in Ghent")
    found = engine.explain("Summary oboe Ghent", scope=TALK)
    assert found.hits and all(hit.record.kind is not Kind.SUMMARY for hit in found.hits)
    assert any(row.dropped == "a running summary" for row in found.trace.rows)


def test_turns_outside_of_a_conversation_have_no_summary(
    engine: MemoryEngine, model: ScriptedModel
) -> None:
    """What is told to an owner as such belongs to no conversation; a session of theirs is one."""
    engine.add("Kim plays the oboe in Ghent", scope=ANN)
    engine.drain()
    assert prompts(model) == []
    engine.observe(Turn("Kim bakes rye bread", session="s1"), scope=ANN)
    engine.drain()
    assert engine.summaries.of(ANN, "s1") == "Summary 1."


@pytest.mark.covers("S2.31")
def test_a_session_of_an_owner_has_its_summary_in_its_prompts(
    engine: MemoryEngine, model: ScriptedModel
) -> None:
    """`deliver` and `context` give the summary of the session they are for, within the budget, and
    of no other.
    """
    engine.observe(Turn("Kim bakes rye bread", session="s1"), scope=ANN)
    engine.drain()
    for made in (
        engine.deliver("What is baked?", scope=ANN, session="s1"),
        engine.context("What is baked?", scope=ANN, session="s1"),
    ):
        assert "Summary 1." in made.summary
        assert made.tail.startswith(made.summary)
        assert made.tokens == engine.counter.count(made.text)
    assert "Summary" not in engine.deliver("What is baked?", scope=ANN, session="s2").text
    assert "Summary" not in engine.context("What is baked?", scope=ANN).text
    for tokens in range(0, 120, 7):
        made = engine.context("What is baked?", scope=ANN, session="s1", tokens=tokens)
        assert engine.counter.count(made.text) <= tokens


def test_what_the_cap_put_away_reaches_the_summary(model: ScriptedModel) -> None:
    """A statement that left the conversation before its summary was written is in it;
    one that somebody forgot is not.
    """
    clock = SettableClock(START)
    with temp_engine(clock=clock, **named(model, caps__entries=1, write__extract="off")) as engine:
        ids = []
        for text in (
            "Kim plays the oboe in Ghent",
            "Kim bakes rye bread on Sundays",
            "Kim drives a red van",
        ):
            ids.append(engine.add(Turn(text), scope=TALK, kind=Kind.FACT).id)
            clock.forward(seconds=1)
        engine.forget(ids[1], scope=TALK)
        engine.tiers.enforce(TALK)
        assert engine.get(ids[0], scope=TALK).status is Status.FORGOTTEN
        payload = {"scope": Scope(TALK).key, "session": "", "items": ids}
        engine.store.enqueue((JobSpec(ROLL, "late", payload),), engine.now())
        engine.drain()
        assert (
            "oboe" in prompts(model)[0]
            and "red van" in prompts(model)[0]
            and "rye bread" not in prompts(model)[0]
        )
        assert engine.restore(ids[0], scope=TALK).meta == {}
