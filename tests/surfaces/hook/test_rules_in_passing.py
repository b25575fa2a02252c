"""Rules, questions and reasons as a developer types them, through the hook: what stands at the next start."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.surfaces.hook.hooked_agent import HookedAgent

UNMARKED_QUESTIONS = [
    "should we use msw or a real server for api tests",
    "can i use lodash for deep copies or only our helpers",
    "im new to this service, which lint rules do we follow",
    "quick one before i start, how do we name migrations here",
    "sollen wir bei neuen endpoints zod nehmen oder joi",
    "dónde van siempre los tests de integración",
]
ASKED_FOR = [
    ("migrations need a down step, remember that", "migrations need a down step"),
    ("thx! the changelog wants one line per ticket. please remember that", "one line per ticket"),
    (
        "Anja signs off whatever touches billing, keep that in mind. now run the linter",
        "Anja signs off",
    ),
    ("die Preise im Katalog sind netto, merk dir das", "Preise im Katalog sind netto"),
]
ANSWER_WISHES = [
    "please keep your replies brief, i'm on the train most of the day",
    "oh and no emojis in your answers pls, they break my terminal",
    "btw answer in german please, my english is rusty",
]


def _profile(start: str) -> str:
    return start.partition("<last_session")[0]


def test_a_question_without_its_mark_is_no_rule(agent: HookedAgent) -> None:
    """A question typed without its mark stands at no later start, whatever language it is in."""
    agent.say("Use pnpm, not npm.", *UNMARKED_QUESTIONS)
    profile = _profile(agent.begin())
    assert "pnpm" in profile
    assert not [question for question in UNMARKED_QUESTIONS if question in profile]


def test_what_is_to_be_remembered_may_say_so_at_its_end(agent: HookedAgent) -> None:
    """The words before "remember that" are kept, without the request and without an order beside them."""
    agent.say(*(sentence for sentence, _ in ASKED_FOR))
    profile = _profile(agent.begin())
    assert [words for _, words in ASKED_FOR if words not in profile] == []
    assert "keep that in mind" not in profile
    assert "run the linter" not in profile


def test_a_question_about_memory_asks_for_nothing(agent: HookedAgent) -> None:
    """ "Do you remember that" keeps nothing."""
    agent.say("Use pnpm, not npm.", "the login page was slow back in may, do you remember that")
    assert "slow" not in _profile(agent.begin())


@pytest.mark.parametrize("wish", ANSWER_WISHES)
def test_a_wish_for_answers_may_have_a_reason(agent: HookedAgent, wish: str) -> None:
    """A wish for answers stands at the next start although its reason stands behind it."""
    agent.say(wish)
    assert wish.partition(",")[0].split(" ", 2)[2] in _profile(agent.begin())


def test_a_wish_for_answers_holds_in_every_project(
    agent: HookedAgent, home: Path, tmp_path: Path
) -> None:
    """What its reason points to makes it no matter of this project."""
    agent.say("keep your replies brief, i read those in the tram")
    (tmp_path / "wiki").mkdir()
    assert "keep your replies brief" in _profile(HookedAgent(home, tmp_path / "wiki").begin())


def test_an_order_about_it_recalls_nothing(agent: HookedAgent) -> None:
    """ "it" is what the conversation has at hand, whatever memories share a word with the order."""
    agent.say(
        "the push service was slow in april",
        "customers push the old button by mistake",
        "looks good, push that",
    )
    agent.begin()
    assert agent.send("UserPromptSubmit", prompt="k, push it") == ""
    assert "april" in agent.send("UserPromptSubmit", prompt="when was the push service slow?")


def test_what_is_left_of_a_message_has_to_fit_the_prompt(home: Path, agent: HookedAgent) -> None:
    """The start has told its rule; the remark beside it has nothing to do with the question."""
    agent.say(
        "fixtures live beside the spec, in spec/data. i know that looks odd for a go project",
        "the invoice export takes four minutes on a full database",
        "the staging host is called heron",
        "customers sort their orders by the day of delivery",
        "our CI machines have two cores and eight gigabytes",
        "sentry is only for the backend services",
        "the price list comes from the ERP at six in the morning",
    )
    start = agent.begin()
    assert "fixtures live beside the spec" in _profile(start)
    assert "looks odd" not in agent.send("UserPromptSubmit", prompt="where do fixtures live")


def test_the_last_session_is_not_told_by_its_farewell(agent: HookedAgent) -> None:
    """A farewell, a break and a question are not where a session stopped."""
    agent.say(
        "Orders of more than 500 euros get split into two parcels, I want that in the packing service",
        "what's my colleague called again",
        "brb lunch",
        "perfect, see you tomorrow",
    )
    start = agent.begin()
    last_session = start.partition("<last_session")[2]
    assert "parcels" in start
    assert "lunch" not in last_session
    assert "tomorrow" not in last_session
    assert "colleague" not in last_session


def test_a_ban_with_what_came_of_it_is_a_rule(agent: HookedAgent) -> None:
    """What was banned because of an outage stays banned; what is not to be done now does not."""
    agent.say(
        "hm no, don't query the warehouse from the login page. it locked everybody out in june",
        "don't merge this yet. it broke the preview",
        "don't delete the branch, I still need it",
    )
    profile = _profile(agent.begin())
    assert "don't query the warehouse from the login page" in profile
    assert "preview" not in profile
    assert "delete the branch" not in profile


@pytest.mark.parametrize(
    "remark",
    [
        "add a gift card module, at most 500 euros per card",
        "nein warte, das mit den Ordnern pro Feature hat Lena letzten Monat verworfen",
    ],
)
def test_a_feature_a_remark_and_a_revocation_are_no_rules(agent: HookedAgent, remark: str) -> None:
    """Work on one feature, and the news that something was dropped, hold for nothing later."""
    agent.say("Use pnpm, not npm.", remark)
    assert remark not in _profile(agent.begin())


def test_what_the_product_has_to_do_is_a_rule(agent: HookedAgent) -> None:
    """What a product has to do for good is a rule of its project."""
    rule = "and round to full cents, that's what the tax office does"
    agent.say(rule)
    assert "round to full cents" in _profile(agent.begin())
