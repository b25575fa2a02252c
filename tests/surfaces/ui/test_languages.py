"""The page in six languages: files that a translator edits, chosen by the browser or the reader."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from tests.surfaces.ui.conftest import Window
from tests.surfaces.ui.test_views import EMPTY

from engrams.core import STATEMENT_KINDS, EdgeType
from engrams.surfaces.ui.mount import ROOT
from engrams.testing import temp_engine
from engrams.transfer.formats import FORMATS

expect = pytest.importorskip(
    "playwright.sync_api", reason="the tests of the page need the package playwright"
).expect

LANGUAGES = ("de", "en", "es", "fr", "ja", "zh")
HOLE = re.compile(r"\{\w+\}")
FORMS = {
    "de": {"one", "other"},
    "en": {"one", "other"},
    "es": {"one", "other"},
    "fr": {"one", "other"},
    "ja": {"other"},
    "zh": {"other"},
}
TOKEN = re.compile(
    r"//[^\n]*|/\*.*?\*/|\"(?:[^\"\\\n]|\\.)*\"|`(?:[^`\\]|\\.)*`|/(?![/*\s])(?:[^/\\\n\[]|\\.|\[(?:[^\]\\\n]|\\.)*\])+/[gimsuy]*(?=\s*[.,;)\]])",
    re.DOTALL,
)
NO_TEXT = {
    "Escape",
    "Enter",
    "Files",
    "OpenAI",
    "Ollama",
    "AbortError",
    "ScopeError",
    "Bearer ",
} | {f"Arrow{way}" for way in ("Left", "Right", "Up", "Down")}
"""What begins with a capital and is shown to nobody, or is a name in every language."""

UNTRANSLATED = """() => {
  const own = ['.memory-text, .recall-text, .quote, .said, .memory-about, .known dd, .settings td, code, option, .clip, .face, .brand',
    '.tick, .told, q, noscript, svg title, .tile > span:last-child, [lang=en]:not(html)'].join();
  const found = [];
  const told = text => text && !text.includes('⟦') && /\\p{L}{2}/u.test(text.replace(/\\d+(\\.\\d+)? (ms|s|kB|MB|GB)/g, ''));
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let node = walker.nextNode(); node; node = walker.nextNode())
    if (!node.parentElement.closest(own) && told(node.data.trim())) found.push(node.data.trim());
  for (const element of document.querySelectorAll('[aria-label], [title], [placeholder]'))
    for (const name of ['aria-label', 'title', 'placeholder'])
      if (told(element.getAttribute(name)) && !element.closest('.memory-about') && !/^http/.test(element.getAttribute(name)))
        found.push(element.getAttribute(name));
  return found;
}"""


CUT = """() => [...document.querySelectorAll('.button, .tabs button, .nav a, .nav .more')]
  .filter(each => each.checkVisibility() && each.scrollWidth > each.clientWidth + 1)
  .map(each => each.textContent)"""


def texts(code: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((ROOT / "lang" / f"{code}.json").read_text("utf-8"))
    return found


def mark(text: str) -> str:
    """Each piece between the {names} in marks, since elements may stand in their places."""
    return re.sub(r"(?:^|(?<=\}))[^{}]*\w[^{}]*(?=\{|$)", lambda found: f"⟦{found.group()}⟧", text)


def forms(text: Any) -> list[str]:
    return list(text.values()) if isinstance(text, dict) else [text]


def scripts() -> dict[str, str]:
    return {
        path.relative_to(ROOT).as_posix(): path.read_text("utf-8")
        for path in sorted((ROOT / "js").rglob("*.js"))
    }


@pytest.mark.parametrize("code", LANGUAGES)
def test_every_text_is_in_every_language(code: str) -> None:
    """The same keys in the same order, the same {names} in each text, and the plural forms of the
    language.
    """
    english = texts("en")
    own = texts(code)
    assert list(own) == list(english)
    for key, text in english.items():
        assert isinstance(own[key], dict) == isinstance(text, dict), key
        if isinstance(text, dict):
            assert set(own[key]) == FORMS[code], key
        wanted = set(HOLE.findall(forms(text)[-1]))
        assert all(
            form.strip() and set(HOLE.findall(form)) == wanted for form in forms(own[key])
        ), key


def test_the_languages_are_those_that_have_a_file() -> None:
    """Six files, each with the language's own name, are all there is to a language."""
    assert tuple(sorted(path.stem for path in (ROOT / "lang").iterdir())) == LANGUAGES
    assert [texts(code)["language"] for code in LANGUAGES] == [
        "Deutsch",
        "English",
        "Español",
        "Français",
        "日本語",
        "中文",
    ]


def test_names_of_formats_belong_to_formats() -> None:
    """A format has a text only under its own name: the page would not find it under another.

    A document is none of the formats of memories, and is named beside them.
    """
    keys = {key.removeprefix("format.") for key in texts("en") if key.startswith("format.")}
    assert keys - {*FORMATS, "document"} == set()


def test_every_category_that_rules_give_has_a_name() -> None:
    """A topic of the page is no bare word of the program, such as "behavior"."""
    texts = json.loads((ROOT / "lang" / "de.json").read_text("utf-8"))
    with temp_engine() as engine:
        for text in (
            "Our car is at Kovac's garage until Friday.",
            "I'm allergic to celery.",
            "I'm going to visit Rome in May.",
            "I want to run a marathon.",
            "I prefer short answers.",
            "From now on always answer in German.",
            "My sister Ines plays the cello.",
        ):
            engine.add(text, scope=("user", "ann"))
        records = engine.list(scope=("user", "ann"), kinds=STATEMENT_KINDS).records
        categories = {record.category for record in records if record.category}
    assert {"knowledge", "behavior"} <= categories
    assert {category for category in categories if f"category.{category}" not in texts} == set()


def test_every_link_of_the_graph_has_a_name() -> None:
    """The choice of links reads in the page's language."""
    scripts_of_graph = scripts()["js/views/graph.js"]
    assert [link for link in EdgeType if f"  {link}: t(" not in scripts_of_graph] == []


def test_the_scripts_hold_keys_and_no_texts() -> None:
    """Each key that a script asks for is in the file and each in the file is asked for;
    no other literal reads like a text.
    """
    english = texts("en")
    asked = set[str]()
    for path, script in scripts().items():
        asked |= set(re.findall(r"\b(?:t|rich)\(\s*\"([^\"]+)\"", script))
        if path in ("js/theme.js", "js/i18n.js"):
            continue
        for found in TOKEN.finditer(script):
            body = found.group()[1:-1]
            if (
                found.group()[0] in '"`'
                and body not in NO_TEXT
                and re.match(r"\s?[A-Z“][a-z]+(?![\w/])", body)
            ):
                assert re.match(r"Bearer ", body), (path, body)
    groups = {
        found
        for script in scripts().values()
        for found in re.findall(r"(?:named\(\"|t\(`)(\w+)", script)
    }
    keys = {key for key in english if key != "language" and key.partition(".")[0] not in groups}
    spoken = "\n".join(scripts().values())
    assert asked <= english.keys()
    assert {key for key in keys if f'"{key}"' not in spoken} == set()


@pytest.mark.parametrize("window", [{"locale": "de-AT"}], indirect=True)
@pytest.mark.slow
def test_the_browsers_language_is_spoken_and_another_can_be_chosen(window: Window) -> None:
    """German for a German browser, with its numbers and dates;

    Japanese once chosen, also after a reload; then the browser's again.
    """
    window.tell("I keep bees.")
    window.go("memories")
    expect(window.page.get_by_role("heading", name="Erinnerungen", exact=True)).to_be_visible()
    assert window.page.locator("html").get_attribute("lang") == "de"
    window.go("settings")
    window.page.get_by_label("Sprache").select_option(label="日本語")
    expect(window.page.get_by_role("heading", name="設定", exact=True)).to_be_visible()
    window.page.reload()
    expect(window.page.get_by_role("heading", name="設定", exact=True)).to_be_visible()
    assert window.page.locator("html").get_attribute("lang") == "ja"
    window.page.get_by_label("言語", exact=True).select_option("")
    expect(window.page.get_by_role("heading", name="Einstellungen", exact=True)).to_be_visible()


@pytest.mark.slow
@pytest.mark.parametrize("window", [{"locale": "pl-PL"}], indirect=True)
def test_an_unknown_language_is_answered_in_english(window: Window) -> None:
    """A browser whose languages have no file is shown English."""
    window.go("jobs")
    expect(window.page.get_by_role("heading", name="Jobs", exact=True)).to_be_visible()


@pytest.mark.slow
def test_writing_from_right_to_left_keeps_its_direction(window: Window) -> None:
    """A memory in Arabic runs from right to left in a page that does not, and turns nothing around
    it in a message.
    """
    text = "أختي إيناس تعزف على التشيلو (bravo)."
    window.served.engine.add(text, scope=window.scope)
    window.go("memories")
    row = window.page.locator(".memory-text").filter(has_text="إيناس")
    assert row.evaluate("each => getComputedStyle(each).unicodeBidi") == "plaintext"
    window.page.get_by_role("button", name="Forget: \u2068أختي").wait_for()


@pytest.mark.slow
def test_no_text_of_the_page_is_outside_the_files(window: Window) -> None:
    """With every text of the file marked, no view of an empty or a filled memory shows an unmarked
    one.
    """
    marked = {
        key: (
            {form: mark(each) for form, each in text.items()}
            if isinstance(text, dict)
            else mark(text)
        )
        for key, text in texts("en").items()
    }
    window.page.route("**/lang/en.json", lambda route: route.fulfill(json=marked))
    for fill in (
        lambda: None,
        lambda: window.tell(
            "I live in Paris.", "I moved to Berlin.", "My sister Ines plays the cello."
        ),
    ):
        fill()
        for view in EMPTY:
            window.go(view)
            window.page.wait_for_timeout(500)
            assert window.page.evaluate(UNTRANSLATED) == [], view


@pytest.mark.slow
@pytest.mark.parametrize("code", LANGUAGES)
@pytest.mark.parametrize(
    "window",
    [{"viewport": {"width": 390, "height": 844}, "has_touch": True, "is_mobile": True}],
    indirect=True,
)
def test_every_language_fits_a_phone(window: Window, code: str) -> None:
    """No view needs sideways scrolling, and no button's text is cut, at 390 pixels in any language."""
    window.tell("I live in Paris.", "I moved to Berlin.", "My sister Ines plays the cello.")
    window.page.add_init_script(f"localStorage.setItem('engrams.language', '{code}')")
    for view in EMPTY:
        window.go(view)
        assert window.page.evaluate("document.documentElement.scrollWidth") <= 390, view
        assert window.page.evaluate(CUT) == [], view
