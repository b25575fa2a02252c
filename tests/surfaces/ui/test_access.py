"""The page by keyboard, by screen reader, on a phone, in the dark."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.surfaces.ui.conftest import Window
from tests.surfaces.ui.test_views import EMPTY

expect = pytest.importorskip(
    "playwright.sync_api", reason="the tests of the page need the package playwright"
).expect

CONTRAST = (Path(__file__).parent / "contrast.js").read_text("utf-8")
PHONE = {"viewport": {"width": 360, "height": 740}, "has_touch": True, "is_mobile": True}
DARK = {"color_scheme": "dark"}

NAMELESS = """() => [...document.querySelectorAll('button, a[href], input, select, textarea, canvas[tabindex]')]
  .filter(element => element.checkVisibility())
  .filter(element => !(element.getAttribute('aria-label') || element.textContent.trim() || element.labels?.length || element.title))
  .map(element => element.outerHTML.slice(0, 120))"""

CLIPPED = """() => [...document.querySelectorAll('select')].filter(element => element.checkVisibility()).filter(element => {
  const style = getComputedStyle(element);
  const pen = document.createElement('canvas').getContext('2d');
  pen.font = style.font;
  const room = element.clientWidth - parseFloat(style.paddingLeft) - parseFloat(style.paddingRight);
  return pen.measureText(element.selectedOptions[0].text).width > room;
}).map(element => element.selectedOptions[0].text)"""
"""Menus whose chosen line is cut off."""

OUTLINE = """() => {
  const style = getComputedStyle(document.activeElement);
  return [style.outlineStyle, parseFloat(style.outlineWidth)];
}"""


AXE_RUN = """axe.run(document, {rules: {'label-content-name-mismatch': {enabled: true}, 'target-size': {enabled: true}}})
  .then(found => found.violations.map(each => `${each.id}: ${each.nodes.map(node => node.html.slice(0, 120)).join(' ')}`))"""


def look_with_axe(window: Window) -> list[str]:
    """What axe-core finds on the page as it is now."""
    package = pytest.importorskip(
        "axe_playwright_python", reason="axe-core comes with the test package axe-playwright-python"
    )
    window.page.evaluate((Path(package.__file__).parent / "axe.min.js").read_text("utf-8"))
    found: list[str] = window.page.evaluate(AXE_RUN)
    return found


def filled(window: Window) -> None:
    """Something in every view."""
    window.tell(
        "I live in Paris.",
        "I moved to Berlin.",
        "My sister Ines plays the cello.",
        "When I ask for code, always add type hints.",
    )


@pytest.mark.parametrize("window", [{}, DARK], indirect=True, ids=["light", "dark"])
def test_every_text_can_be_read(window: Window) -> None:
    """In both themes every text has a contrast of at least 4.5 to 1 against what is behind it, and
    every control has a name.
    """
    filled(window)
    for view in EMPTY:
        window.go(view)
        if view == "chat":
            window.say("Who plays the cello?")
        if view == "memories":
            window.page.locator(".memory-open").first.click()
            window.page.get_by_role("dialog").locator(".history").wait_for()
        assert window.page.evaluate(CONTRAST) == [], view
        assert window.page.evaluate(NAMELESS) == [], view
        assert window.page.locator("h1").count() == 1, view


@pytest.mark.parametrize("window", [PHONE | DARK], indirect=True)
def test_a_phone_needs_no_sideways_scrolling(window: Window) -> None:
    """At 360 pixels every view fits, and all of them are reached from the bar at the bottom."""
    filled(window)
    for view in EMPTY:
        window.go(view)
        if view == "chat":
            window.say("Who plays the cello? " + "x" * 300)
            assert window.page.evaluate(CLIPPED) == []
        assert window.page.evaluate("document.documentElement.scrollWidth") <= 360, view
    window.page.get_by_role("button", name="More").tap()
    window.page.get_by_role("link", name="Jobs").tap()
    expect(window.page.get_by_role("heading", name="Jobs")).to_be_visible()
    window.page.get_by_role("link", name="Memories").tap()
    window.page.locator(".memory-open").first.tap()
    side = window.page.get_by_role("dialog")
    expect(side.locator(".quote")).to_be_visible()
    assert side.evaluate("each => each.scrollWidth <= innerWidth")


@pytest.mark.parametrize("spoken", [{"viewport": {"width": 390, "height": 844}}], indirect=True)
def test_the_chat_has_no_finding_of_axe(spoken: Window) -> None:
    """A conversation with its card of memories open, on a phone."""
    filled(spoken)
    spoken.go("chat")
    spoken.say("Who plays the cello?")
    spoken.page.locator(".recall-head").click()
    assert look_with_axe(spoken) == []


@pytest.mark.slow
@pytest.mark.parametrize(
    "window",
    [
        {"viewport": {"width": width, "height": 860}, "color_scheme": scheme}
        for width in (390, 1400)
        for scheme in ("light", "dark")
    ],
    indirect=True,
    ids=["phone, light", "phone, dark", "desk, light", "desk, dark"],
)
def test_no_view_has_a_finding_of_axe(window: Window) -> None:
    """Every view, empty and filled, with its drawers and dialogs:
    no violation, and every target at least 24 pixels.
    """
    for fill in (lambda: None, lambda: filled(window)):
        fill()
        for view in EMPTY:
            window.go(view)
            if view == "chat":
                window.say("Who plays the cello?")
            assert look_with_axe(window) == [], view
    window.go("memories")
    window.page.get_by_role("switch", name="Choose several").check(force=True)
    window.page.locator(".choice input").first.check()
    assert look_with_axe(window) == []
    window.page.get_by_role("button", name="Erase for good").click()
    window.page.locator("dialog.box").wait_for()
    assert look_with_axe(window) == []
    window.page.get_by_role("button", name="Cancel").click()
    window.page.locator(".memory-open").first.click()
    window.page.get_by_role("dialog").locator(".history").wait_for()
    assert look_with_axe(window) == []


def test_everything_works_by_keyboard(window: Window) -> None:
    """From the skip link to a forgotten memory and back without a pointer;
    the focus is always seen and never lost.
    """
    window.served.engine.add("The attic key is red.", scope=window.scope)
    window.go("memories")
    keys = window.page.keyboard
    keys.press("Tab")
    expect(window.page.get_by_role("link", name="Skip to the content")).to_be_focused()
    keys.press("Enter")
    expect(window.page.locator("#main")).to_be_focused()
    keys.press("/")
    expect(window.page.get_by_label("Search memories")).to_be_focused()
    line = window.page.locator(".memory-open").first
    for _ in range(12):
        keys.press("Tab")
        style, width = window.page.evaluate(OUTLINE)
        assert style != "none" and width >= 2
        if line.evaluate("each => each === document.activeElement"):
            break
    expect(line).to_be_focused()
    keys.press("Enter")
    side = window.page.get_by_role("dialog")
    expect(side.get_by_role("button", name="Forget")).to_be_visible()
    keys.press("Escape")
    expect(side).to_have_count(0)
    expect(line).to_be_focused()
    keys.press("Enter")
    side.get_by_role("button", name="Edit").press("Enter")
    expect(side.get_by_label("Text")).to_be_focused()
    keys.press("ControlOrMeta+A")
    keys.type("The attic key is gold.")
    side.get_by_role("button", name="Save").press("Enter")
    expect(side.locator(".quote")).to_have_text("The attic key is gold.")
    keys.press("Escape")
    forget = window.page.get_by_role("button", name="Forget: The attic key is gold.", exact=True)
    forget.press("Enter")
    expect(forget).to_have_count(0)
    window.page.get_by_role("button", name="Undo").press("Enter")
    expect(forget).to_have_count(1)


def test_chat_works_by_keyboard_and_is_read_out(window: Window) -> None:
    """The conversation is a live log that is busy while an answer comes;

    Enter sends, Shift+Enter makes a line.
    """
    window.go("chat")
    log = window.page.get_by_role("log")
    assert log.get_attribute("aria-live") == "polite"
    box = window.page.get_by_label("Your message")
    box.focus()
    window.page.keyboard.type("I keep bees.")
    window.page.keyboard.press("Shift+Enter")
    window.page.keyboard.type("And a dog.")
    expect(box).to_have_value("I keep bees.\nAnd a dog.")
    window.page.keyboard.press("Enter")
    expect(window.page.locator(".turn.assistant .said")).to_contain_text("is stored")
    expect(log).to_have_attribute("aria-busy", "false")
    expect(box).to_be_focused()


def test_the_page_has_its_landmarks(window: Window) -> None:
    """One main, one navigation with a name, a language, and messages that are read out."""
    window.go("chat")
    expect(window.page.get_by_role("main")).to_have_count(1)
    expect(window.page.get_by_role("navigation", name="Views")).to_have_count(1)
    assert window.page.locator("html").get_attribute("lang") == "en"
    expect(window.page.locator("#notices[role=status][aria-live=polite]")).to_have_count(1)
