"""Defects that a field test of coding agents found, each played through the hook or a tool."""

from __future__ import annotations

import pytest
from tests.surfaces.hook.hooked_agent import HookedAgent


def test_recurring_days_stay_recurring(agent: HookedAgent) -> None:
    """ "Tuesday and Thursday" is no date of this week at the start of the next session."""
    agent.say("our deploy window is Tuesday and Thursday 10 to 12")
    start = agent.begin()
    assert "Tuesday and Thursday" in start
    assert " on 2" not in start.replace("<last_session", "")


def test_code_spans_of_rules_are_kept_to_the_letter(agent: HookedAgent) -> None:
    """The words in backticks are what the rule is about."""
    agent.say(
        "never touch `generated/`, run `pnpm gen` instead",
        "Always run `make test-unit` before committing.",
    )
    start = agent.begin()
    for words in ("`generated/`", "`pnpm gen`", "`make test-unit`"):
        assert words in start


@pytest.mark.parametrize(
    ("rule", "correction", "now", "former"),
    [
        (
            "Deployments only go through release.yml.",
            "No wait, from now on deployments only go through deploy.yml.",
            "1. from now on deployments only go through deploy.yml",
            "release.yml",
        ),
        (
            "use Redux Toolkit for the cart",
            "no, the cart uses Zustand from now on",
            "1. the cart uses Zustand from now on",
            "Redux",
        ),
    ],
)
def test_a_correction_stands_in_the_place_of_the_rule(
    agent: HookedAgent, rule: str, correction: str, now: str, former: str
) -> None:
    """The next session starts with what holds now, in its words, and without the former rule, be it
    as the last request.
    """
    agent.say(rule, correction)
    start = agent.begin()
    assert now in start and former not in start
    # The message says no more than the start has said.
    assert (
        agent.send("UserPromptSubmit", prompt="deploy to production, then look at the cart") == ""
    )


def test_names_of_scoped_packages_are_kept_to_the_letter(agent: HookedAgent) -> None:
    """ "@scope/name" is one name wherever it stands in a convention."""
    conventions = (
        "@types/node stays at 20",
        "import dates from @date-fns/tz, not moment-timezone",
        "the package @acme/billing must stay private",
        "we publish as @acme/checkout-api",
    )
    agent.say(*conventions)
    start = agent.begin()
    assert [line for line in conventions if f". {line}\n" not in start] == []


def test_a_tool_is_nobodys_home(agent: HookedAgent) -> None:
    """ "We moved from pnpm to bun" is a decision of the project, and no place where somebody lives."""
    agent.say("we moved from pnpm to bun")
    start = agent.begin()
    assert ". we moved from pnpm to bun\n" in start and "LIVES_IN" not in start


@pytest.mark.parametrize(
    "rule",
    [
        "telemetry is off and stays off",
        "dark mode is the default and stays that way",
        "our coding guidelines forbid global state",
        "according to our styleguide, constants are upper case",
        "the house rule is one class per file",
        "no barrel files, import from the module itself",
        "do not touch the vendor directory on any account",
        "Telemetrie ist aus und bleibt aus",
        "la télémétrie est désactivée et le reste",
        "la telemetría está apagada y se queda así",
        "la telemetria è spenta e resta spenta",
        "mai usare variabili globali nel backend",
        "niente mock nei test di integrazione",
    ],
)
def test_what_stays_and_what_the_house_asks_for_are_rules(agent: HookedAgent, rule: str) -> None:
    """A state that stays, the words of a style guide, and what is done in place of a banned thing."""
    agent.say(rule)
    assert f". {rule}\n" in agent.begin()


@pytest.mark.parametrize(
    "said",
    [
        "the build is red and stays red",
        "the server is off and stays off until I fix the fan",
        "our style guide is out of date",
        "our handbook says nothing about it",
        "no tests, go to the shop first",
        "niente paura, lo faccio io",
        "pas de souci, on verra demain",
        "nada de eso, déjalo como está",
    ],
)
def test_a_state_of_the_day_and_comfort_are_no_rules(agent: HookedAgent, said: str) -> None:
    """What only sounds like a ban, or tells how a thing is, stands in no list of rules."""
    agent.say(said)
    assert f". {said}" not in agent.begin()


def test_how_to_answer_is_kept_where_one_sentence_says_two_things(agent: HookedAgent) -> None:
    """Style of answers in one breath with a name, two wishes in one sentence."""
    agent.say("I'm Lena. Keep answers short, no emojis.")
    start = agent.begin()
    assert "Lena" in start and ". Keep answers short, no emojis" in start


def test_the_last_session_is_told_by_its_task(agent: HookedAgent) -> None:
    """A question was answered, and "run it" says nothing: the task before stands at the next start."""
    agent.say(
        "add a fee field to the cart",
        "what is the maximum number of items in a cart?",
        "run it",
    )
    assert "- said last: add a fee field to the cart\n" in agent.begin()
    # A session of questions only leaves nothing open, so the one before it still tells.
    agent.say("where did we stop last time?")
    assert "- said last: add a fee field to the cart\n" in agent.begin()


def test_a_prompt_is_not_shown_to_itself(agent: HookedAgent) -> None:
    """The same order in a later session recalls what it is about, and not its own words."""
    agent.say("The client is generated by openapi-ts.", "regenerate the client")
    agent.begin()
    recalled = agent.send("UserPromptSubmit", prompt="Regenerate the client!")
    assert "egenerate the client" not in recalled
