"""The messages of a prompt within their budget, and the summary of those that no longer fit."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

import engrams
from engrams import MemoryEngine
from engrams.core import Scope, Status
from engrams.errors import InputError
from engrams.ports import DAILY
from engrams.session.summaries import message_window
from engrams.session.summaries.summariser import ConversationSummariser
from engrams.session.summaries.summary_records import make_summary_id
from engrams.settings import SummarySettings, load
from engrams.testing import ScriptedModel, SettableClock, temp_engine

ANN = ("user", "ann")
BOB = ("user", "bob")
START = datetime(2026, 3, 1, 9, tzinfo=UTC)
SYSTEM = {"id": "sys", "role": "system", "content": "You are a guide."}


class Words:
    """A counter that counts words: what tests can count too."""

    name = "words"

    def count(self, text: str) -> int:
        return len(text.split())


WORDS = Words()


def said(number: int, words: int = 40, role: str = "") -> dict[str, Any]:
    """Message ``number``, user and assistant in turn, of so many words."""
    return {
        "id": f"m{number}",
        "role": role or ("user" if number % 2 else "assistant"),
        "content": f"w{number} " * words,
    }


def call(number: int, *ids: str) -> dict[str, Any]:
    """An assistant's calls of tools."""
    calls = [
        {"id": id, "type": "function", "function": {"name": "look", "arguments": "{}"}}
        for id in ids
    ]
    return {"id": f"m{number}", "role": "assistant", "content": None, "tool_calls": calls}


def result(number: int, id: str, words: int = 10) -> dict[str, Any]:
    """What a tool answered."""
    return {"id": f"m{number}", "role": "tool", "tool_call_id": id, "content": "r " * words}


@pytest.fixture
def model() -> Iterator[ScriptedModel]:
    """A model that says how many summaries it has made."""
    with ScriptedModel() as server:
        server.when("statements", {"statements": []})
        yield server


@pytest.fixture
def engine(model: ScriptedModel) -> Iterator[MemoryEngine]:
    """An engine with that model, its jobs run by hand, and a small window."""
    with temp_engine(
        clock=SettableClock(START),
        jobs__workers=0,
        chat__provider="openai",
        chat__model="m",
        chat__url=f"{model.url}/v1",
        chat__retries=0,
        summary__max_tokens=1000,
        summary__tokens=100,
    ) as opened:
        yield opened


@pytest.fixture
def summaries(engine: MemoryEngine) -> ConversationSummariser:
    """Its summaries."""
    return engine.summaries


def cost(engine: MemoryEngine, messages: Any) -> int:
    """What messages cost by the engine's own counter."""
    return message_window.count_tokens(messages, engine.counter)


@pytest.mark.covers("S1.3")
def test_what_fits_comes_back_unchanged(
    engine: MemoryEngine, summaries: ConversationSummariser, model: ScriptedModel
) -> None:
    """Within the budget the very same messages come back, no model is called and nothing is stored."""
    messages = [SYSTEM, *(said(number, 3) for number in range(1, 9))]
    fitted = summaries.fit(messages, scope=ANN, session="s")
    assert fitted.messages == tuple(messages)
    assert all(
        fitted_message is message
        for fitted_message, message in zip(fitted.messages, messages, strict=True)
    )
    assert (fitted.summary, fitted.dropped, fitted.notes) == ("", (), ())
    assert model.requests == [] and engine.list(scope=ANN, statuses=tuple(Status)).records == ()


@pytest.mark.covers("S1.4")
def test_the_limits_must_agree(summaries: ConversationSummariser, model: ScriptedModel) -> None:
    """A summary has 256 tokens, and must be shorter than the window;
    `start_tokens` is the window's size unless it is set.
    """
    assert (SummarySettings().tokens, SummarySettings().start_tokens) == (256, 0)
    for wrong in ({"max_tokens": 256}, {"tokens": 4000}, {"max_tokens": 100, "tokens": 200}):
        with pytest.raises(ValidationError) as refused:
            SummarySettings(**wrong)
        assert isinstance(refused.value, ValueError)
    with pytest.raises(ValueError, match="must be less than"):
        summaries.fit([said(1)], scope=ANN, session="s", max_tokens=100)
    with pytest.raises(ValueError, match="does not take"):
        summaries.fit([said(1)], scope=ANN, session="s", colour=1)
    model.say("They spoke.")
    messages = [said(number) for number in range(1, 8)]
    assert summaries.fit(messages, scope=ANN, session="s", max_tokens=5000).summary == ""
    assert (
        summaries.fit(messages, scope=ANN, session="s", max_tokens=5000, start_tokens=300).summary
        == "They spoke."
    )


@pytest.mark.covers("S1.5")
def test_only_new_messages_are_summarised(
    engine: MemoryEngine, summaries: ConversationSummariser, model: ScriptedModel
) -> None:
    """The second call sees the summary so far and what came after its last message, nothing before;
    its answer replaces it.
    """
    messages = [said(number) for number in range(1, 12)]
    model.say("First summary, about w1.", "Second summary, about both.")
    first = summaries.fit(messages, scope=ANN, session="s")
    assert first.summary == "First summary, about w1." and first.last.startswith("m")
    covered = int(first.last[1:])
    assert (
        f"w{covered} " in model.requests[0].prompt
        and f"w{covered + 1} " not in model.requests[0].prompt
    )
    messages += [said(number) for number in range(12, 18)]
    second = summaries.fit(messages, scope=ANN, session="s")
    prompt = model.requests[1].prompt
    assert (
        "First summary, about w1." in prompt
        and f"w{covered + 1} " in prompt
        and f"w{covered} " not in prompt
    )
    assert second.summary == "Second summary, about both." == summaries.of(ANN, "s", "window")
    assert int(second.last[1:]) > covered
    assert summaries.fit(messages, scope=ANN, session="s").messages == second.messages
    assert len(model.requests) == 2
    assert (
        engine.summaries.fit(messages[covered:], scope=ANN, session="s").messages == second.messages
    )
    assert summaries.of(ANN, "other", "window") == "" == summaries.of(BOB, "s", "window")


@pytest.mark.covers("S1.6")
def test_the_system_message_stays_first(
    engine: MemoryEngine, summaries: ConversationSummariser, model: ScriptedModel
) -> None:
    """The window is the system message, the summary and the rest as it was, within budget;
    the system message is not summarised.
    """
    model.say("They spoke of words.")
    messages = [SYSTEM, *(said(number) for number in range(1, 31))]
    fitted = summaries.fit(messages, scope=ANN, session="s")
    lead, summary, *newest = fitted.messages
    assert lead is messages[0]
    assert summary["role"] == "system" and summary["content"].endswith("They spoke of words.")
    assert newest == messages[-len(newest) :] and newest
    assert cost(engine, fitted.messages) <= 1000
    assert "You are a guide" not in model.requests[0].prompt
    again = summaries.fit(fitted.messages, scope=ANN, session="s")
    assert again.messages == fitted.messages


@pytest.mark.covers("S1.6")
def test_a_summary_that_is_too_long_is_cut(
    engine: MemoryEngine, summaries: ConversationSummariser, model: ScriptedModel
) -> None:
    """Whatever the model answers, the summary keeps to its own limit and the window to its."""
    model.say("word " * 5000)
    fitted = summaries.fit([said(number) for number in range(1, 31)], scope=ANN, session="s")
    assert engine.counter.count(fitted.summary) <= 100
    assert cost(engine, fitted.messages) <= 1000


@pytest.mark.covers("S1.7")
def test_a_call_and_its_results_stay_together() -> None:
    """A cut behind a call takes its results along;
    where nothing were left, the call stays with them on the newer side.
    """
    messages = [
        said(1, 5),
        call(2, "a", "b"),
        result(3, "a"),
        result(4, "b"),
        said(5, 5),
        said(6, 5),
    ]
    for room in range(120):
        cut = message_window.find_cut(messages, room, WORDS)
        assert cut not in (2, 3), room
    only = [said(1, 5), call(2, "a"), result(3, "a", 30)]
    assert message_window.find_cut(only, 40, WORDS) == 1
    assert message_window.find_cut([call(1, "a"), result(2, "a")], 0, WORDS) == 0
    assert message_window.find_cut([], 10, WORDS) == 0


@pytest.mark.covers("S1.8")
def test_ids_must_be_there_and_new(summaries: ConversationSummariser, model: ScriptedModel) -> None:
    """A message without an id, two of one id, and one to be summarised that was summarised before
    are ValueErrors.
    """
    for wrong in (
        [{"role": "user", "content": "x"}],
        [said(1) | {"id": None}],
        [said(1), said(1)],
        [said(1) | {"id": 7}],
    ):
        with pytest.raises(ValueError, match="id"):
            summaries.fit(wrong, scope=ANN, session="s")
    model.say("They spoke.")
    fitted = summaries.fit([said(number) for number in range(1, 31)], scope=ANN, session="s")
    again = (
        [said(number) for number in range(31, 61)]
        + [said(1)]
        + [said(number) for number in range(61, 91)]
    )
    with pytest.raises(ValueError, match="summarised before") as refused:
        summaries.fit(again, scope=ANN, session="s")
    assert isinstance(refused.value, InputError) and refused.value.hint
    assert summaries.of(ANN, "s", "window") == fitted.summary


@pytest.mark.covers("S1.9")
def test_too_much_to_summarise_is_cut_to_its_end(
    engine: MemoryEngine,
    summaries: ConversationSummariser,
    model: ScriptedModel,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """The model gets the last `max_tokens` of it, and a warning says so; nothing fails."""
    model.say("They spoke.")
    fitted = summaries.fit([said(number, 200) for number in range(1, 31)], scope=ANN, session="s")
    prompt = model.requests[0].prompt
    assert (
        fitted.summary == "They spoke."
        and "w1 w1" not in prompt
        and f"w{fitted.last[1:]} " in prompt
    )
    assert (
        engine.counter.count(prompt)
        <= 1000 + engine.counter.count(prompt.partition("What is new:")[0]) + 20
    )
    assert any("cut to its last 1000 tokens" in note for note in fitted.notes)
    assert "cut to its last 1000 tokens" in caplog.text


@pytest.mark.covers("S1.10")
def test_an_emergency_trim_drops_the_oldest_half() -> None:
    """Results are cut at 20,000 characters;
    the oldest half of the turns goes, again until it fits, and the newest stays.
    """
    assert SummarySettings().tool_characters == 20_000
    messages = [said(number, 20) for number in range(1, 17)]
    remaining, dropped = message_window.trim_messages(
        messages, message_window.count_tokens(messages, WORDS) - 1, WORDS, 20_000
    )
    assert [message["id"] for message in dropped] == [f"m{number}" for number in range(1, 9)]
    assert remaining == messages[8:]
    remaining, dropped = message_window.trim_messages(messages, 60, WORDS, 20_000)
    assert [message["id"] for message in remaining] == ["m15", "m16"] and dropped == messages[:14]
    long = [said(1, 2), call(2, "a"), {**result(3, "a"), "content": "x" * 30_000}]
    remaining, dropped = message_window.trim_messages(long, 10**6, WORDS, 20_000)
    assert len(remaining[2]["content"]) == 20_000 and remaining[:2] == long[:2] and dropped == []
    remaining, _ = message_window.trim_messages([said(1, 5000)], 50, WORDS, 20_000)
    assert message_window.count_tokens(remaining, WORDS) <= 50 and remaining[0][
        "content"
    ].startswith("w1 ")


@pytest.mark.covers("S1.10")
def test_what_is_dropped_is_written_down_first(home: Path) -> None:
    """Without a model the oldest turns go:
    into the journal, and into the day's note where there are files.
    """
    options = {
        "home": str(home),
        "jobs.workers": 0,
        "vault.enabled": True,
        "vault.git": False,
        "summary.max_tokens": 300,
        "summary.tokens": 50,
    }
    messages = [
        {
            "id": f"m{n}",
            "role": "user",
            "content": f"My friend number {n} lives in city {n} since spring " * 2,
        }
        for n in range(40)
    ]
    with engrams.open(load(options, environ={}).settings, clock=SettableClock(START)) as engine:
        summaries = engine.summaries
        fitted = summaries.fit(messages, scope=ANN, session="s")
        assert fitted.dropped and fitted.messages == tuple(messages[len(fitted.dropped) :])
        assert cost(engine, fitted.messages) <= 300
        assert [job.kind for job in engine.store.queue(("waiting",)) if job.kind == DAILY] == [
            DAILY
        ]
        remaining = {
            record.external_id
            for record in engine.list(scope=ANN, limit=100, text="number").records
        }
        assert {message["id"] for message in fitted.dropped} <= remaining
        summaries.fit(messages, scope=ANN, session="s")
        engine.drain()
        note = (home / "vault" / "memory" / "users" / "ann" / "2026-03-01.md").read_text("utf-8")
        assert "overflow" in note and "friend number 2" in note
        assert note.count("\n## ") == 1


def test_without_files_the_journal_keeps_what_was_dropped() -> None:
    """There is no note then, and the turns are found by a search;
    no job is left that nobody does.
    """
    messages = [
        {"id": f"m{n}", "role": "user", "content": f"My friend number {n} plays the oboe " * 3}
        for n in range(40)
    ]
    with temp_engine(jobs__workers=0, summary__max_tokens=200, summary__tokens=50) as engine:
        fitted = engine.summaries.fit(messages, scope=ANN, session="s")
        assert fitted.dropped and "there is no chat model" in fitted.notes
        engine.drain()
        assert engine.store.queue(("waiting",)) == ()
        assert (
            "friend number 3"
            in engine.search("friend number 3 oboe", scope=ANN).hits[0].record.text
        )


def test_a_failing_model_keeps_the_summary(
    summaries: ConversationSummariser, model: ScriptedModel
) -> None:
    """The summary so far stays, the oldest turns are dropped into the journal, and the notes say
    why.
    """
    model.say("First summary.")
    messages = [said(number) for number in range(1, 31)]
    first = summaries.fit(messages, scope=ANN, session="s")
    model.fail("http_500", times=5)
    messages += [said(number) for number in range(31, 61)]
    second = summaries.fit(messages, scope=ANN, session="s")
    assert second.summary == "First summary." and second.last == first.last
    assert any("no new summary" in note for note in second.notes) and second.dropped
    assert second.messages[-1] == messages[-1]


def test_what_waits_is_learned_before_it_is_summarised(
    engine: MemoryEngine, summaries: ConversationSummariser, model: ScriptedModel
) -> None:
    """Pending updates of the conversation are due at once when its messages leave the window;
    those of others wait on.
    """
    engine.observe(engrams.Turn("Kim likes green tea", session="s"), scope=ANN)
    engine.observe(engrams.Turn("Kim likes rye bread", session="other"), scope=ANN)
    model.say("They spoke.")
    summaries.fit([said(number) for number in range(1, 31)], scope=ANN, session="s")
    engine.drain()
    prompt = "\n".join(request.prompt for request in model.requests[1:])
    assert "green tea" in prompt and "rye bread" not in prompt
    assert engine.updates.waiting() == 1


def test_erasing_a_turn_erases_the_summary_it_went_into(
    engine: MemoryEngine, summaries: ConversationSummariser, model: ScriptedModel
) -> None:
    """A summary made from a turn is erased with it, found by no search before, and the next one
    begins anew.
    """
    first = engine.observe(
        engrams.Turn("w1 is the secret word of the day", session="s", external_id="m1"), scope=ANN
    )[0]
    model.say("The secret word is w1.")
    messages = [said(number) for number in range(1, 12)]
    summaries.fit(messages, scope=ANN, session="s")
    assert all(hit.record.id == first.id for hit in engine.search("secret word", scope=ANN).hits)
    name = make_summary_id(Scope(ANN), "s", "window")
    assert engine.get(name, scope=ANN).evidence[0].source == first.id
    engine.purge(first.id, scope=ANN)
    assert (
        engine.get(name, scope=ANN).status is Status.PURGED
        and engine.get(name, scope=ANN).text == ""
    )
    assert summaries.of(ANN, "s", "window") == ""
    model.say("They spoke.")
    assert summaries.fit(messages[1:], scope=ANN, session="s").summary == "They spoke."


def test_a_summary_is_trusted_as_the_least_of_its_sources(
    engine: MemoryEngine, summaries: ConversationSummariser, model: ScriptedModel
) -> None:
    """What a tool said is trusted less than a summary: a summary of it is trusted as little, and so is
    the next one that goes on with it.
    """
    (told,) = engine.observe(
        [engrams.Turn("w1 is what the page says", role="tool", session="s", external_id="m1")],
        scope=ANN,
    )
    told_trust = engine.get(told.id, scope=ANN).trust
    model.say("The page says w1.")
    name = make_summary_id(Scope(ANN), "s", "window")
    for last in (12, 30):
        summaries.fit([said(number) for number in range(1, last)], scope=ANN, session="s")
        assert engine.get(name, scope=ANN).trust == told_trust < 0.6


@settings(max_examples=60, deadline=None)
@given(
    st.lists(
        st.tuples(st.sampled_from(("user", "assistant", "call", "tool")), st.integers(0, 60)),
        max_size=25,
    ),
    st.integers(0, 400),
)
def test_a_cut_never_parts_a_call_from_its_results(parts: list[tuple[str, int]], room: int) -> None:
    """Whatever the messages:
    no result is kept without its call, none is summarised without it, and the last message stays.
    """
    messages: list[dict[str, Any]] = []
    for number, (kind, words) in enumerate(parts):
        prompt = next(
            (m["tool_calls"][0]["id"] for m in reversed(messages) if m.get("tool_calls")), "nobody"
        )
        messages.append(
            call(number, f"c{number}")
            if kind == "call"
            else result(number, prompt, words)
            if kind == "tool"
            else said(number, words, kind)
        )
    cut = message_window.find_cut(messages, room, WORDS)
    assert not messages or cut < len(messages)
    older = {c["id"] for m in messages[:cut] for c in m.get("tool_calls") or ()}
    assert all(m.get("tool_call_id") not in older for m in messages[cut:])


@pytest.mark.parametrize(
    "text", ["", "\0", "\ud800x", "شكرا " * 50, "👩‍👩‍👧 " * 50, "记忆" * 200, "x" * 200_000]
)
@pytest.mark.slow
def test_hostile_texts_fit_too(
    engine: MemoryEngine, summaries: ConversationSummariser, model: ScriptedModel, text: str
) -> None:
    """Any text, and any id, in the messages:
    the window keeps its budget and the call to the model its form.
    """
    model.say("ok", "ok")
    messages = [{"id": f"../{n}\u202e", "role": "user", "content": text} for n in range(30)] + [
        said(99)
    ]
    fitted = summaries.fit(messages, scope=ANN, session="../s")
    assert cost(engine, fitted.messages) <= 1000
    assert fitted.messages[-1] == said(99)
