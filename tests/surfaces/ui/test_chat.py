"""Chat in the page."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from tests.acceptance.process import eventually
from tests.surfaces.ui.conftest import Window

from engrams.api_keys import ApiKeyStore
from engrams.core import Json, Kind, Status

expect = pytest.importorskip(
    "playwright.sync_api", reason="the tests of the page need the package playwright"
).expect


def asked(window: Window) -> Mapping[str, Json]:
    """The last chat request that the page's own words went out with;
    extraction in the background asks the same model.
    """
    assert window.served.model is not None
    return next(
        request.body
        for request in reversed(window.served.model.requests)
        if request.body.get("stream")
    )


def test_the_answer_streams_with_what_was_recalled_beside_it(spoken: Window) -> None:
    """A model's answer is shown as text with its marks, and beside it the memory that went in, its
    score, and what was left out.
    """
    spoken.tell("My sister Ines plays the cello.", "I keep bees.", "My car is a red Volvo.")
    assert spoken.served.model is not None
    spoken.served.model.say(
        "**Ines** plays it.\n\n- the cello\n- on Sundays\n\n| piece | day |\n|---|---|\n| Bach |"
        " Sunday |\n\n```\nplay()\n```"
    )
    spoken.go("chat")
    assert spoken.page.get_by_label("Model", exact=True).locator("option").all_inner_texts() == [
        "m-large",
        "m-small",
    ]
    spoken.say("Who plays the cello?")
    answer = spoken.page.locator(".turn.assistant").last
    expect(answer.locator(".said strong")).to_have_text("Ines")
    expect(answer.locator(".said li")).to_have_count(2)
    expect(answer.get_by_role("columnheader", name="piece")).to_be_visible()
    expect(answer.get_by_role("cell", name="Bach")).to_be_visible()
    expect(answer.get_by_role("button", name="Copy")).to_be_visible()
    recall = answer.get_by_label("Recalled memories")
    expect(recall).to_contain_text("Used in this answer")
    expect(recall.locator("ol.recall-list li").first).to_contain_text(
        "My sister Ines plays the cello."
    )
    score = float(recall.locator(".why > summary .number").first.inner_text())
    assert 0 < score <= 1
    recall.locator(".why > summary").first.click()
    expect(recall.locator(".parts").first).to_contain_text("Meaning")
    recall.get_by_text("Left out").click()
    expect(recall.locator(".recall-list.left li").first).to_contain_text("0.")
    sent = asked(spoken)
    assert "Ines" in str(sent["messages"][0]) and "memory" not in sent


def test_without_a_model_answers_are_quotes(window: Window) -> None:
    """With no model connected the page says so, and answers with what memory holds."""
    window.tell("My sister Ines plays the cello.")
    window.go("chat")
    expect(window.page.get_by_text("No model is connected")).to_be_visible()
    window.say("Who plays the cello?")
    expect(window.page.locator(".turn.assistant .said")).to_contain_text(
        "My sister Ines plays the cello."
    )


def test_what_is_said_is_learned_and_shown(window: Window) -> None:
    """Beside the answer stands what was made of this message, not of the one before it; one press
    forgets it again.
    """
    window.go("chat")
    window.say("My wife is Clara.")
    window.say("I moved to Lisbon and I work as a nurse.")
    learned = window.page.locator(".learned").last
    expect(learned).to_contain_text("You live in Lisbon")
    expect(learned).not_to_contain_text("Clara")
    learned.get_by_role("button", name="Undo You live in Lisbon").click()
    window.page.locator("dialog.box").get_by_role("button", name="Forget").click()
    expect(learned).not_to_contain_text("You live in Lisbon")
    facts = window.served.engine.list(scope=window.scope, kinds=(Kind.FACT,)).records
    assert not any("Lisbon" in fact.object for fact in facts)


def test_an_incognito_chat_leaves_nothing(spoken: Window) -> None:
    """Nothing is read and nothing is kept of an incognito conversation, and the page says so."""
    spoken.tell("My sister Ines plays the cello.")
    before = spoken.served.engine.stats(spoken.scope)
    spoken.go("chat")
    spoken.page.get_by_role("switch", name="Incognito").check()
    expect(spoken.page.get_by_text("Incognito: nothing is recalled or stored.")).to_be_visible()
    spoken.say("My secret hideout is in Évora. Who plays the cello?")
    expect(spoken.page.get_by_label("Recalled memories")).to_contain_text(
        "nothing was read from memory"
    )
    assert spoken.served.model is not None
    assert "Ines" not in str(asked(spoken))
    assert spoken.served.engine.drain()
    assert spoken.served.engine.stats(spoken.scope) == before


def test_recall_can_be_turned_off(spoken: Window) -> None:
    """With recall off nothing is put into the answer, and what is said is still kept."""
    spoken.tell("My sister Ines plays the cello.")
    spoken.go("chat")
    spoken.page.get_by_role("switch", name="Recall").uncheck()
    expect(spoken.page.get_by_text("Recall is off: facts are not used")).to_be_visible()
    spoken.say("Who plays the cello in our house?")
    expect(spoken.page.get_by_label("Recalled memories")).to_contain_text("Recall is off")
    assert spoken.served.model is not None
    assert "Ines" not in str(asked(spoken)["messages"])
    turns = spoken.served.engine.list(scope=spoken.scope, kinds=(Kind.TURN,)).records
    assert any("in our house" in turn.text for turn in turns)


def test_a_failing_model_is_told_and_can_be_asked_again(spoken: Window) -> None:
    """An upstream's failure is shown in words; trying again sends the same message."""
    assert spoken.served.model is not None
    spoken.served.model.fail("http_500", only="chat")
    spoken.go("chat")
    spoken.say("Are you there?")
    again = spoken.page.get_by_role("button", name="Try again")
    expect(again).to_be_visible()
    expect(spoken.page.get_by_role("alert")).to_be_visible()
    spoken.served.model.say("I am here.")
    again.click()
    expect(spoken.page.locator(".turn.assistant .said").last).to_contain_text("I am here.")
    expect(spoken.page.locator(".turn.user")).to_have_count(1)


def test_an_earlier_conversation_can_be_taken_up(spoken: Window) -> None:
    """A stored conversation is listed and opens with what was said in it."""
    assert spoken.served.model is not None
    spoken.served.model.say("Noted: the Algarve.")
    spoken.go("chat")
    spoken.say("We plan a trip to the Algarve in June.")
    spoken.page.get_by_role("button", name="New chat").click()
    expect(spoken.page.locator(".turn")).to_have_count(0)
    spoken.page.get_by_role("button", name="History").click()
    spoken.page.locator("dialog .memory-open").first.click()
    expect(spoken.page.locator(".turn.user")).to_contain_text("Algarve")
    expect(spoken.page.locator(".turn.assistant")).to_contain_text("Noted")


def test_what_went_into_an_answer_names_the_profile(spoken: Window) -> None:
    """The memories of the profile, part of every answer, are counted and listed beside the recalled
    ones.
    """
    assert spoken.served.model is not None
    spoken.tell("I'm allergic to cashews.", "I prefer short answers.")
    spoken.served.model.say("Fine.")
    spoken.go("chat")
    spoken.say("What shall I cook?")
    card = spoken.page.get_by_label("Recalled memories")
    expect(card).to_contain_text("your profile (2 memories)")
    card.get_by_text("Profile (2)").click()
    expect(card.locator(".profile")).to_contain_text("allergic to cashews")
    card.locator(".profile").get_by_role("button").filter(has_text="cashews").click()
    expect(spoken.page.get_by_role("dialog").locator(".quote")).to_contain_text(
        "allergic to cashews"
    )


@pytest.mark.covers("S4.45")
@pytest.mark.slow
def test_a_conversation_is_ended_on_the_page(spoken: Window) -> None:
    """ "End session" and "New chat" end it, as does a press in the list of sessions;

    the list says so in plain words.
    """
    assert spoken.served.model is not None
    sessions = spoken.served.engine.sessions
    for place, name in enumerate(("End session", "New chat"), 1):
        spoken.served.model.say("Noted.")
        spoken.go("chat")
        spoken.say(f"We plan trip {place} to the Algarve in June.")
        spoken.page.get_by_role("button", name=name).click()
        expect(spoken.page.get_by_text("Session ended").last).to_be_visible()
        expect(spoken.page.locator(".turn")).to_have_count(0)
        eventually(
            lambda: (
                [each.state for each in sessions.list(scope=spoken.scope)]
                == ["rotation_required"] * place  # noqa: B023
            )
        )
    spoken.tell("The roof leaks again.", session="s9")
    spoken.go("memories?layer=episodic")
    expect(spoken.page.locator(".memory .chip", has_text="Ended")).to_have_count(2)
    spoken.page.locator(".memory-open", has_text="roof").click()
    spoken.page.get_by_role("dialog").get_by_role("button", name="End session").click()
    expect(spoken.page.locator(".memory .chip", has_text="Active")).to_have_count(0)


@pytest.mark.parametrize("spoken", [{"viewport": {"width": 360, "height": 740}}], indirect=True)
def test_hostile_answers_are_text(spoken: Window) -> None:
    """Markup in a question, an answer or a memory is shown as it was written and does nothing."""
    evil = (
        "<img src=x onerror=document.title='owned'> <script>document.title='owned'</script>"
        " [click](javascript:alert(1))"
    )
    spoken.tell(f"My note about cellos: {evil}")
    assert spoken.served.model is not None
    spoken.served.model.say(f"**Here** {evil} `<b>` [fine](https://example.org/x)")
    spoken.go("chat")
    spoken.say(f"What is my note about cellos? {evil}")
    said = spoken.page.locator(".turn.assistant .said")
    expect(said).to_contain_text("<img src=x onerror")
    expect(said.locator("img, script")).to_have_count(0)
    assert said.locator("a").evaluate_all("all => all.map(a => a.protocol)") == ["https:"]
    expect(spoken.page.locator(".turn.user .said")).to_contain_text("<script>")
    assert "owned" not in spoken.page.title()


def test_the_starter_chips_work_in_order_without_a_model(window: Window) -> None:
    """The first minutes: two statements are noted in their own words, and the question about the
    person lists them. A window that is loaded anew still shows what was said.
    """
    window.go("chat")
    chips = window.page.locator(".hint-button")
    texts = [chips.nth(index).inner_text() for index in range(3)]
    answers = window.page.locator(".turn.assistant .said")
    for text in texts:
        window.say(text)
    expect(answers.nth(0)).to_contain_text("Noted: “I moved to Lisbon in March”")
    expect(answers.nth(1)).to_contain_text("Noted: “I prefer short answers without bullet points”")
    expect(answers.nth(2)).to_contain_text("This is what I remember")
    expect(answers.nth(2)).to_contain_text("Lisbon")
    expect(answers.nth(2)).to_contain_text("bullet points")
    expect(window.page.locator(".turn.assistant").nth(2).locator(".recall")).to_have_count(0)
    window.page.reload()
    expect(window.page.locator(".turn.user").first).to_contain_text("Lisbon")
    window.page.get_by_role("button", name="New chat").click()
    window.page.reload()
    expect(window.page.get_by_role("link", name="Settings").last).to_be_visible()
    expect(window.page.locator(".turn")).to_have_count(0)


def test_forgetting_asked_for_in_the_chat_is_done(spoken: Window) -> None:
    """With a model connected, "forget that" is done by memory after a yes, and not by the model."""
    spoken.tell("I play the cello.")
    spoken.go("chat")
    spoken.say("Forget that I play the cello.")
    answers = spoken.page.locator(".turn.assistant .said")
    expect(answers.last).to_contain_text("Shall I forget “I play the cello")
    spoken.say("yes")
    expect(answers.last).to_contain_text("Forgotten")
    assert not spoken.served.engine.list(scope=spoken.scope).records


def test_history_shows_the_questions_too(spoken: Window) -> None:
    """A conversation of questions only opens with all of them: they are archived, but were said. It
    is erased as one.
    """
    assert spoken.served.model is not None
    spoken.served.model.say("About eight minutes.")
    spoken.go("chat")
    spoken.say("How long do I boil an egg?")
    spoken.say("And for a soft one?")
    spoken.served.engine.drain()
    spoken.page.get_by_role("button", name="New chat").click()
    spoken.page.get_by_role("button", name="History").click()
    spoken.page.locator("dialog .memory-open").first.click()
    expect(spoken.page.locator(".turn.user")).to_have_count(2)
    expect(spoken.page.locator(".turn.user").first).to_contain_text("boil an egg")
    spoken.page.get_by_role("button", name="History").click()
    spoken.page.get_by_role("button", name="Erase this conversation").click()
    spoken.page.get_by_role("button", name="Erase for good").click()
    expect(spoken.page.get_by_text("places found none left")).to_be_visible()
    expect(spoken.page.locator(".turn")).to_have_count(0)
    everything = spoken.served.engine.list(scope=spoken.scope, statuses=tuple(Status)).records
    assert not any("egg" in record.text for record in everything)


def test_the_chat_follows_the_conversation(window: Window) -> None:
    """What is learned makes the page longer below an answer; the next message is in view all the same."""
    window.page.set_viewport_size({"width": 1400, "height": 700})
    window.go("chat")
    for text in (
        "I moved to Lisbon in March and work as a nurse.",
        "My sister Ines plays the cello.",
        "My brother Rui lives in Porto.",
        "I have a dog called Bento.",
    ):
        window.say(text)
        window.page.locator(".learned").last.wait_for()
    box = window.page.locator(".turn.user").last.bounding_box()
    assert box is not None
    assert 0 <= box["y"] < 700


def test_a_key_that_only_reads_is_shown_nothing_that_writes(locked: Window) -> None:
    """The page offers what the key may do: it says why there is no chat, and memories have no buttons
    that the server would refuse.
    """
    engine = locked.served.engine
    engine.add("The attic key is red.", scope=locked.scope)
    _, secret = ApiKeyStore.open(engine.settings.home).add(
        "reader", locked.scope, ("read",), engine.now()
    )
    locked.page.add_init_script(f"sessionStorage.setItem('engrams.key', '{secret}')")
    locked.go("chat")
    expect(locked.page.get_by_text("This key does not allow chats")).to_be_visible()
    expect(locked.page.get_by_label("Your message")).to_be_hidden()
    expect(locked.page.locator(".chat-bar")).not_to_contain_text("unreachable")
    locked.go("memories")
    locked.page.get_by_text("The attic key is red.").click()
    side = locked.page.get_by_role("dialog")
    expect(side.locator(".quote")).to_be_visible()
    for name in ("Add a memory", "Forget", "Edit", "Erase for good", "Import"):
        expect(locked.page.get_by_role("button", name=name)).to_have_count(0)
