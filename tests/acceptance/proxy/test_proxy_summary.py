"""The proxy's document (002): what a corrected fact leaves of a conversation's summary."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.flows.test_rolling import START, TALK, learned, named, tell

import engrams
from engrams.core import Kind, Status
from engrams.errors import RefusedError
from engrams.settings import load
from engrams.testing import ScriptedModel, SettableClock


def retell(request: Any) -> str:
    """Summarise by repeating what is new."""
    return str(request.prompt.partition("What is new:")[2])


@pytest.mark.covers("S2.21", "S2.45")
def test_a_corrected_fact_leaves_the_summary(home: Path) -> None:
    """A fact that is corrected in its file, or by ``edit``, is not told by the old words any more:
    the summary is made anew of what holds, and a prompt gets no other.
    """
    with ScriptedModel() as model:
        model.when("keep the summary of a conversation", retell)
        model.when("The messages:", learned).when("decisions", {"decisions": []})
        settings = {
            name.replace("__", "."): value
            for name, value in named(model, vault__enabled=True, vault__git=False).items()
        }
        with engrams.open(
            load({"home": str(home), **settings}, environ={}).settings, clock=SettableClock(START)
        ) as engine:
            tell(engine, "Kim bakes rye bread on Sundays")
            tell(engine, "Kim plays the oboe in Ghent")
            (file,) = (home / "vault").rglob("facts/*oboe*.md")
            file.write_text(file.read_text("utf-8").replace("Ghent", "Bruges"), "utf-8")
            engine.vault.sync()
            assert "Ghent" not in engine.context("Where is the oboe?", scope=TALK).text
            engine.drain()
            summary = engine.summaries.of(TALK)
            assert "rye bread" in summary and "Bruges" in summary and "Ghent" not in summary

            (fact,) = engine.list(scope=TALK, kinds=(Kind.FACT,), text="Bruges").records
            engine.edit(fact.id, scope=TALK, text="Kim plays the oboe in Liège")
            assert "Bruges" not in engine.context("Where is the oboe?", scope=TALK).text
            engine.drain()
            summary = engine.summaries.of(TALK)
            assert "rye bread" in summary and "Liège" in summary and "Bruges" not in summary


@pytest.mark.covers("S2.45")
def test_a_forgotten_fact_leaves_a_summary_of_the_others(home: Path) -> None:
    """The summary is made anew of what is left, without another message. A fact that comes back, by
    ``restore`` or as a file, comes back into it; and the conversation has one summary, whose file
    keeps its name.
    """
    with ScriptedModel() as model:
        model.when("keep the summary of a conversation", retell)
        model.when("The messages:", learned).when("decisions", {"decisions": []})
        settings = named(model, vault__enabled=True, vault__git=False)
        with engrams.open(home=home, clock=SettableClock(START), **settings) as engine:

            def told() -> str:
                engine.drain()
                (summary,) = engine.list(scope=TALK, kinds=(Kind.SUMMARY,)).records
                assert summary.text == engine.summaries.of(TALK)
                files = (home / "vault" / "entries").rglob("summaries/*")
                assert [file.name for file in files] == ["summary.md"]
                return summary.text

            tell(engine, "Kim bakes rye bread on Sundays")
            tell(engine, "Kim plays the oboe in Ghent")
            (fact,) = engine.list(scope=TALK, kinds=(Kind.FACT,), text="oboe").records
            engine.forget(fact.id, scope=TALK)
            assert engine.summaries.of(TALK) == ""
            (before,) = engine.list(
                scope=TALK, kinds=(Kind.SUMMARY,), status=Status.FORGOTTEN
            ).records
            assert "rye bread" in told() and "oboe" not in told()
            with pytest.raises(RefusedError, match="another summary"):
                engine.restore(before.id, scope=TALK)
            assert "oboe" not in told()
            engine.restore(fact.id, scope=TALK)
            assert "oboe" in told()

            (file,) = (home / "vault" / "entries").rglob("facts/*oboe*.md")
            words = file.read_text("utf-8")
            file.unlink()
            engine.vault.sync()
            assert "rye bread" in told() and "oboe" not in told()
            file.write_text(words, "utf-8")
            engine.vault.sync()
            assert "oboe" in told()


@pytest.mark.covers("S2.45")
def test_a_fact_that_is_back_at_once_keeps_the_summary(home: Path) -> None:
    """A slip that is undone before a new summary was made costs no call, and the old one is back."""
    with ScriptedModel() as model:
        model.when("keep the summary of a conversation", retell)
        model.when("The messages:", learned).when("decisions", {"decisions": []})
        with engrams.open(home=home, clock=SettableClock(START), **named(model)) as engine:
            tell(engine, "Kim plays the oboe in Ghent")
            summary = engine.summaries.of(TALK)
            (fact,) = engine.list(scope=TALK, kinds=(Kind.FACT,)).records
            engine.forget(fact.id, scope=TALK)
            engine.restore(fact.id, scope=TALK)
            calls = len(model.requests)
            engine.drain()
            assert engine.summaries.of(TALK) == summary and len(model.requests) == calls
