"""Facts, sessions and rules in the page: finding, changing, forgetting."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest
from tests.surfaces.ui.conftest import Window

from engrams.core import Kind, Status, Turn
from engrams.testing import temp_engine

pytestmark = pytest.mark.slow

expect = pytest.importorskip(
    "playwright.sync_api", reason="the tests of the page need the package playwright"
).expect


def test_facts_stand_by_topic_and_are_found_by_meaning(window: Window) -> None:
    """The notebook shows topics; a search shows scored results; a layer narrows both."""
    window.tell(
        "I live in Lisbon.",
        "My sister Ines plays the cello.",
        "When I ask for code, always add type hints.",
    )
    window.go("memories")
    expect(window.page.get_by_role("heading", name="Home")).to_be_visible()
    expect(window.page.locator(".memory").filter(has_text="Lisbon")).to_have_count(1)
    window.page.get_by_label("Search memories").fill("who makes music?")
    expect(window.page.locator(".memory .score").first).to_be_visible()
    expect(window.page.locator(".memory").filter(has_text="cello").first).to_be_visible()
    window.page.get_by_label("Search memories").fill("")
    window.page.get_by_role("group", name="Layer").get_by_text("Sessions").click()
    expect(window.page.locator(".memory")).to_have_count(1)
    window.page.locator(".memory-open").first.click()
    expect(window.page.get_by_role("dialog")).to_contain_text("I live in Lisbon.")


def test_statements_speak_to_their_reader(window: Window) -> None:
    """What was understood is told in the second person, all else is quoted; a person's words and
    what somebody else is, too.
    """
    window.tell("I live in Lisbon.", "I don't like olives.", "Ines hates chess.")
    window.go("memories")
    row = window.page.locator(".memory-text")
    expect(row.get_by_text("You live in Lisbon", exact=True)).to_be_visible()
    expect(row.get_by_text("You do not like olives", exact=True)).to_be_visible()
    expect(row.get_by_text("“Ines hates chess”", exact=True)).to_be_visible()
    row.get_by_text("You live in Lisbon", exact=True).click()
    side = window.page.get_by_role("dialog")
    expect(side.locator("q")).to_have_text("I live in Lisbon")
    triple = side.get_by_text('user LIVES_IN Lisbon — "I live in Lisbon"')
    expect(triple).to_be_hidden()
    side.get_by_text("Details", exact=True).click()
    expect(triple).to_be_visible()


def test_an_edit_is_kept_with_its_difference(window: Window) -> None:
    """A corrected text is saved with its reason, and the history shows word by word what changed."""
    id = window.served.engine.add("The cellar key is green.", scope=window.scope).id
    window.go("memories")
    window.page.get_by_text("The cellar key is green.").click()
    side = window.page.get_by_role("dialog")
    side.get_by_role("button", name="Edit").click()
    side.get_by_label("Text").fill("The cellar key is blue.")
    side.get_by_label("Tags").fill("house, #keys")
    side.get_by_label("Reason").fill("it was painted")
    side.get_by_role("button", name="Save").click()
    expect(side.locator(".quote")).to_have_text("The cellar key is blue.")
    expect(side.locator(".history del").filter(has_text="green")).to_be_visible()
    expect(side.locator(".history ins").filter(has_text="blue")).to_be_visible()
    expect(side.locator(".history")).to_contain_text("it was painted")
    record = window.served.engine.get(id, scope=window.scope)
    assert (record.text, record.tags) == ("The cellar key is blue.", ("house", "keys"))


def test_an_edit_in_a_space_names_the_member(window: Window) -> None:
    """What somebody else said keeps its speaker, and is shown with whoever edited it; whoever changed a
    space's memory without a name is a member, not the reader.
    """
    engine = window.served.engine
    engine.spaces.create(f"of {window.user}", scope=window.scope)
    space = engine.spaces.enter(f"of {window.user}", scope=window.scope)
    (told,) = engine.observe([Turn("The cellar key is green.", speaker="bob")], scope=space)
    engine.edit(told.id, scope=space, fields={"importance": 0.123456})
    window.go("memories?q=cellar key")
    window.page.get_by_text("The cellar key is green").first.click()
    side = window.page.get_by_role("dialog")
    expect(side.locator(".history")).to_contain_text("by a member")
    expect(side.locator(".history")).to_contain_text("0.12")
    expect(side.locator(".history")).not_to_contain_text("0.123")
    side.get_by_role("button", name="Edit").click()
    side.get_by_label("Text").fill("The cellar key is blue.")
    side.get_by_role("button", name="Save").click()
    expect(side.locator(".known").first).to_contain_text(f"bob, edited by {window.user}")
    expect(side.locator(".history")).to_contain_text(f"by {window.user}")
    expect(side.locator(".history")).not_to_contain_text("{")


def test_an_edit_of_what_changed_meanwhile_is_refused(window: Window) -> None:
    """Two edits of one version: the second is told, and loses nothing of the first."""
    id = window.served.engine.add("The cellar key is green.", scope=window.scope).id
    window.go("memories")
    window.page.get_by_text("The cellar key is green.").click()
    side = window.page.get_by_role("dialog")
    side.get_by_role("button", name="Edit").click()
    window.served.engine.edit(id, scope=window.scope, text="The cellar key is red.")
    side.get_by_label("Text").fill("The cellar key is blue.")
    side.get_by_role("button", name="Save").click()
    expect(side.get_by_role("alert")).to_be_visible()
    assert window.served.engine.get(id, scope=window.scope).text == "The cellar key is red."


def test_forgetting_can_be_undone(window: Window) -> None:
    """A forgotten memory leaves the list at once and comes back with one press."""
    id = window.served.engine.add("The attic key is red.", scope=window.scope).id
    window.go("memories")
    window.page.get_by_role("button", name="Forget: The attic key is red.").click()
    expect(window.page.locator(".memory")).to_have_count(0)
    assert window.served.engine.get(id, scope=window.scope).status is Status.FORGOTTEN
    window.page.get_by_role("button", name="Undo").click()
    expect(window.page.locator(".memory")).to_have_count(1)
    assert window.served.engine.get(id, scope=window.scope).status is Status.ACTIVE


def test_forgotten_ones_wait_in_their_own_list(window: Window) -> None:
    """What was forgotten is listed when asked for, and can be brought back from there."""
    id = window.served.engine.add("The attic key is red.", scope=window.scope).id
    window.served.engine.forget(id, scope=window.scope)
    window.go("memories")
    expect(window.page.get_by_text("No memories yet")).to_be_visible()
    window.page.get_by_label("Which").select_option(label="Forgotten")
    window.page.get_by_role("button", name="Restore: The attic key is red.").click()
    expect(window.page.get_by_text("No such memories")).to_be_visible()
    assert window.served.engine.get(id, scope=window.scope).status is Status.ACTIVE


def test_erasing_asks_first_and_shows_the_proof(window: Window) -> None:
    """Nothing is erased before the question is answered;
    then it is gone, and the page says that a check found nothing left.
    """
    id = window.served.engine.add("The attic key is red.", scope=window.scope).id
    window.go("memories")
    window.page.get_by_text("The attic key is red.").click()
    window.page.get_by_role("button", name="Erase for good").click()
    window.page.get_by_role("button", name="Cancel").click()
    assert window.served.engine.get(id, scope=window.scope).status is Status.ACTIVE
    window.page.get_by_role("button", name="Erase for good").click()
    window.page.locator("dialog.box").get_by_role("button", name="Erase for good").click()
    expect(window.page.get_by_text("places found none left")).to_be_visible()
    assert window.served.engine.get(id, scope=window.scope).status is Status.PURGED


def test_forgetting_tells_what_it_reaches(window: Window) -> None:
    """The dialog names what was said and offers it;
    the notice tells what went, and Undo brings all of it back.
    """
    engine = window.served.engine
    scope = window.scope
    receipt = engine.add(Turn("I'm allergic to cashews."), scope=scope)
    same = engine.add(
        Turn("You wrote: I'm allergic to cashews. I keep it in mind.", "assistant"), scope=scope
    ).id
    window.go("memories")
    label = "Forget: You are allergic to cashews"
    window.page.get_by_role("button", name=label).click()
    box = window.page.locator("dialog.box")
    expect(box).to_contain_text("I'm allergic to cashews")
    expect(box).to_contain_text("Forgotten too")
    expect(box).to_contain_text("Also said in 1 other message")
    box.get_by_role("button", name="Cancel").click()
    assert engine.get(receipt.id, scope=scope).status is Status.ACTIVE
    window.page.get_by_role("button", name=label).click()
    box.get_by_label("Also what you said there").check()
    box.get_by_role("button", name="Forget").click()
    expect(
        window.page.get_by_text("Forgotten. 1 message forgotten. 1 other message as well.")
    ).to_be_visible()
    ids = (receipt.derived[0].id, receipt.id, same)
    assert {engine.get(id, scope=scope).status for id in ids} == {Status.FORGOTTEN}
    window.page.get_by_role("button", name="Undo").click()
    expect(window.page.get_by_text("Restored.")).to_be_visible()
    assert {engine.get(id, scope=scope).status for id in ids} == {Status.ACTIVE}


def test_an_edit_tells_that_what_was_said_is_replaced(window: Window) -> None:
    """Saving a new text asks first, and tells what became of the message."""
    engine = window.served.engine
    scope = window.scope
    receipt = engine.add(Turn("I'm allergic to cashews."), scope=scope)
    window.go("memories")
    window.page.locator(".memory-open").filter(has_text="You are allergic to cashews").first.click()
    side = window.page.locator("dialog.drawer")
    side.get_by_role("button", name="Edit").click()
    side.get_by_label("Text").fill("The user is allergic to pecans")
    side.get_by_role("button", name="Save").click()
    box = window.page.locator("dialog.box")
    expect(box).to_contain_text("Replaced too")
    box.get_by_role("button", name="Save").click()
    expect(window.page.get_by_text("Saved. 1 message replaced.")).to_be_visible()
    expect(side.get_by_role("heading", name="Evidence, before the change")).to_be_visible()
    expect(side.locator("q")).to_have_text("I'm allergic to cashews")
    assert engine.get(receipt.id, scope=scope).status is Status.SUPERSEDED


def test_questions_are_not_among_the_memories(window: Window) -> None:
    """Neither lists nor searches of the page show what was only asked, until it is asked for by its
    status. Searched words are marked.
    """
    window.tell("I live in Lisbon.", "Where do I live?")
    window.go("memories")
    expect(window.page.locator(".memory").filter(has_text="Lisbon").first).to_be_visible()
    window.page.get_by_label("Search memories").fill("Where do I live?")
    expect(window.page.locator(".memory .score").first).to_be_visible()
    expect(window.page.locator(".memory").filter(has_text="Where do I live?")).to_have_count(0)
    expect(window.page.locator(".memory mark").first).to_have_text("live")
    window.page.get_by_label("Which").select_option("archived")
    expect(window.page.locator(".memory").filter(has_text="Where do I live?")).to_have_count(1)


def test_a_memory_is_added_with_its_receipt(window: Window) -> None:
    """A text given by hand is stored, and the page shows what became of it."""
    window.go("memories")
    window.page.get_by_role("button", name="Add a memory").first.click()
    window.page.get_by_label("What should be remembered?").fill("I moved to Porto in May 2024.")
    window.page.get_by_role("button", name="Remember").click()
    expect(window.page.locator("dialog .chip.good")).to_have_text("Stored")
    expect(window.page.locator("dialog")).to_contain_text("Porto in May 2024")


def test_stored_markup_is_shown_as_text(window: Window) -> None:
    """Markup, marks that turn the writing around, and very long words in stored text are shown and
    do no harm.
    """
    texts = [
        "<img src=x onerror=document.title='owned'>",
        "<script>document.title='owned'</script>",
        "\u202etxet desrever",
        "x" * 3000,
    ]
    for text in texts:
        window.served.engine.add(text, scope=window.scope, kind=Kind.NOTE)
    window.go("memories")
    expect(window.page.locator(".memory")).to_have_count(len(texts))
    for text in texts[:3]:
        expect(window.page.locator(".memory-text").filter(has_text=text)).to_have_count(1)
    expect(window.page.locator("main img, main script")).to_have_count(0)
    window.page.get_by_text("onerror").click()
    expect(window.page.get_by_role("dialog").locator(".quote")).to_have_text(texts[0])
    assert window.page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert "owned" not in window.page.title()


def test_another_person_sees_none_of_it(window: Window) -> None:
    """The person is chosen in the settings; the memories are theirs alone."""
    window.served.engine.add("The attic key is red.", scope=window.scope)
    window.go("settings")
    window.page.get_by_label("User", exact=True).fill("somebody else")
    window.page.keyboard.press("Tab")
    window.go("memories")
    expect(window.page.get_by_text("No memories yet")).to_be_visible()


def test_everything_about_a_thing_is_erased_by_choice(window: Window) -> None:
    """All that names it is listed and ticked; other finds are folded and unticked. Unticked ones
    stay, and the proof is shown.
    """
    engine = window.served.engine
    scope = window.scope
    gone, kept = (
        engine.add(text, scope=scope).id
        for text in ("The heron nests by the pond.", "A heron stole the goldfish.")
    )
    engine.add("The pond has a goldfish and a frog.", scope=scope)
    window.go("memories")
    window.page.get_by_role("button", name="Erase about").click()
    window.page.get_by_label("About", exact=True).fill("heron")
    window.page.get_by_role("button", name="Find").click()
    box = window.page.locator("dialog.box")
    expect(box.get_by_label("The heron nests by the pond.")).to_be_checked()
    expect(box).to_contain_text("2 memories chosen")
    box.get_by_label("A heron stole the goldfish.").uncheck()
    expect(box).to_contain_text("1 memory chosen")
    expect(box.get_by_label("The pond has a goldfish and a frog.")).to_be_hidden()
    box.get_by_role("button", name="Erase for good").click()
    proof = window.page.get_by_role("dialog", name="Erased for good")
    expect(proof).to_contain_text("places found none left")
    expect(proof.get_by_role("row").filter(has_text="Database").first).to_contain_text(
        "Nothing left"
    )
    assert [engine.get(id, scope=scope).status for id in (gone, kept)] == [
        Status.PURGED,
        Status.ACTIVE,
    ]


def choose(window: Window, *texts: str) -> Any:
    """Choose memories by their boxes; the bar of actions."""
    window.go("memories")
    window.page.get_by_role("switch", name="Choose several").check(force=True)
    for text in texts:
        window.page.get_by_label(f"Choose: {text}").check()
    bar = window.page.get_by_role("region", name="Chosen memories")
    expect(bar).to_contain_text(f"{len(texts)} memories chosen" if texts else "Choose memories")
    return bar


HOUSE = ("The attic key is red.", "The cellar key is green.", "The barn is locked.")


def test_several_memories_are_forgotten_and_brought_back(window: Window) -> None:
    """Chosen ones are forgotten after one question and come back with one press;
    the others stay.
    """
    engine = window.served.engine
    scope = window.scope
    ids = [engine.add(text, scope=scope).id for text in HOUSE]
    choose(window, *HOUSE[:2]).get_by_role("button", name="Forget").click()
    window.page.locator("dialog.box").get_by_role("button", name="Forget").click()
    expect(window.page.get_by_text("2 memories forgotten.")).to_be_visible()
    assert [engine.get(id, scope=scope).status for id in ids] == [
        Status.FORGOTTEN,
        Status.FORGOTTEN,
        Status.ACTIVE,
    ]
    window.page.get_by_role("button", name="Undo").click()
    expect(window.page.locator(".memory")).to_have_count(3)
    assert {engine.get(id, scope=scope).status for id in ids} == {Status.ACTIVE}


@pytest.mark.slow
def test_several_memories_are_tagged_and_exported(window: Window) -> None:
    """Tags are added to those of each;
    an export holds the chosen ones alone, and can be imported again.
    """
    engine = window.served.engine
    scope = window.scope
    ids = [engine.add(text, scope=scope).id for text in HOUSE]
    engine.edit(ids[0], scope=scope, fields={"tags": ("red",)})
    bar = choose(window, *HOUSE[:2])
    bar.get_by_role("button", name="Tag").click()
    window.page.get_by_label("Tags, separated by commas").fill("house, #keys")
    window.page.get_by_role("button", name="Add tags").click()
    expect(window.page.get_by_text("2 memories tagged.")).to_be_visible()
    assert [engine.get(id, scope=scope).tags for id in ids] == [
        ("red", "house", "keys"),
        ("house", "keys"),
        (),
    ]
    for text in HOUSE[:2]:
        window.page.get_by_label(f"Choose: {text}").check()
    with window.page.expect_download() as saved:
        bar.get_by_role("button", name="Export").click()
    with temp_engine(user="ann") as other:
        assert other.load(saved.value.path(), scope=("user", "ann")).stored == 2
        assert {record.text for record in other.list(scope=("user", "ann")).records} == set(
            HOUSE[:2]
        )


@pytest.mark.slow
def test_several_memories_are_erased_with_the_places_that_were_looked_at(window: Window) -> None:
    """Erasing several asks once, says what was said goes too, and lists each place with its result."""
    engine = window.served.engine
    scope = window.scope
    ids = [engine.add(text, scope=scope).id for text in HOUSE]
    bar = choose(window)
    expect(bar.get_by_role("button", name="Erase for good")).to_be_disabled()
    bar.get_by_role("button", name="All shown").click()
    bar.get_by_role("button", name="Erase for good").click()
    window.page.locator("dialog.box").get_by_role("button", name="Erase for good").click()
    proof = window.page.get_by_role("dialog", name="Erased for good")
    expect(proof.get_by_role("row").filter(has_text="Nothing left").first).to_be_visible()
    proof.get_by_role("button", name="Close").click()
    expect(window.page.get_by_text("No memories yet")).to_be_visible()
    assert {engine.get(id, scope=scope).status for id in ids} == {Status.PURGED}


def test_nobody_finds_a_way_on(unnamed: Window) -> None:
    """Where nobody is named and the conversation owns its memory, the page says where to name
    oneself, and shows the settings.
    """
    unnamed.go("memories")
    expect(unnamed.page.get_by_role("alert").first).to_contain_text("Settings")
    expect(unnamed.page.get_by_role("alert").first).not_to_contain_text("--user")
    unnamed.page.get_by_role("link", name="Open Settings").first.click()
    expect(unnamed.page.get_by_text("sessions.owner")).to_be_visible()


def test_messages_are_shown_before_facts_are_learned(window: Window) -> None:
    """Where nothing was learned yet, Memories shows the messages with their days, and says that facts
    follow.
    """
    window.tell("The weather was fine, so we sat outside.", at=datetime(2023, 5, 4, tzinfo=UTC))
    assert not window.served.engine.list(scope=window.scope, kinds=(Kind.FACT,)).records
    window.go("memories")
    expect(window.page.get_by_text("The weather was fine")).to_be_visible()
    expect(window.page.get_by_text("Only messages so far")).to_be_visible()
    expect(window.page.locator(".memory-about")).to_contain_text("4 May 2023")
