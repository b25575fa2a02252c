"""Draws docs/pictures: the page before a scripted model and a year of somebody's memories.

Needs Chromium and the test packages.

With the path of a LoCoMo file it draws the graph of the first conversation in it too. With
``--all`` it draws every view instead, at two widths in both themes, into build/pictures; ``--all
de`` in German.
"""

from __future__ import annotations

import json
import shutil
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

from playwright.sync_api import Browser, Page, sync_playwright

from engrams.core import Turn
from engrams.engine import MemoryEngine
from engrams.program.registry import create_app
from engrams.settings import ServeSettings
from engrams.surfaces.http.listening import format_address, listen
from engrams.surfaces.http.uvicorn_factory import create_server
from engrams.testing import ScriptedModel, temp_engine

OUT = Path(__file__).resolve().parents[1] / "docs" / "pictures"
ALL = OUT.parents[1] / "build" / "pictures"
SIZE = {"width": 1200, "height": 760}
PHONE = {"width": 390, "height": 844}
VIEWS = (
    "chat",
    "memories",
    "timeline",
    "graph",
    "tiers",
    "charts",
    "garden",
    "jobs",
    "import",
    "settings",
)
SECONDS = 60
ANSWER = """You live in **Lisbon** now, in a flat in Alfama, and work as a nurse at Santa Maria.

Before that:

- Berlin, where you worked at the Charité
- Paris, where you studied nursing"""
SAID = {
    410: (
        "Hi! I'm Lena. I live in Paris and I study nursing.",
        "My sister Ines plays the cello in Porto.",
    ),
    402: ("I'm allergic to peanuts.",),
    300: (
        "I moved to Berlin last week. I started as a nurse at the Charité.",
        "My bike is a green Bianchi.",
    ),
    250: ("When I ask for a recipe, always give metric units.",),
    200: ("We went hiking in the Alps in May with Tomás.",),
    180: ("I prefer tea over coffee.",),
    120: (
        "I bought a cello because of Ines. I practice on Sundays.",
        "My teacher is called Marek.",
    ),
    60: (
        "I moved to Lisbon. I work as a nurse at Santa Maria hospital now.",
        "My flat is in Alfama, on the third floor.",
    ),
    14: (
        "I no longer own the green Bianchi, I sold it to Marek.",
        "My favourite restaurant is Taberna da Rua das Flores.",
    ),
    3: (
        "Please never suggest restaurants with shellfish, Tomás can't eat it.",
        "I prefer short answers.",
    ),
}


def main() -> None:
    OUT.mkdir(parents=True, exist_ok=True)
    with (
        ScriptedModel(models=("qwen3:8b",), answer=lambda _: ANSWER) as model,
        temp_engine(
            user="Lena", serve__upstream=model.url + "/v1", serve__upstream_learns=False
        ) as engine,
        served(engine) as url,
        sync_playwright() as play,
    ):
        remember(engine)
        browser = play.chromium.launch(
            executable_path=shutil.which("chromium"), args=["--no-sandbox"]
        )
        if sys.argv[1:2] == ["--all"]:
            draw_all(browser, url, *sys.argv[2:3])
            browser.close()
            return
        pictures = (
            ("chat", "light", SIZE, chat),
            ("timeline", "dark", SIZE, timeline),
            ("several", "light", SIZE, several),
        )
        for name, scheme, size, draw in (*pictures, ("phone", "dark", PHONE, chat)):
            page = browser.new_context(
                viewport=size, color_scheme=scheme, locale="en-GB", reduced_motion="reduce"
            ).new_page()
            page.set_default_timeout(SECONDS * 1000)
            page.goto(url)
            draw(page)
            page.screenshot(path=OUT / f"{name}.png")
        browser.close()
    for path in sys.argv[1:]:
        draw_graph(Path(path))


def draw_all(browser: Browser, url: str, language: str = "en-GB") -> None:
    """Picture every view as a whole, on a phone and on a desk, in the light and in the dark."""
    ALL.mkdir(parents=True, exist_ok=True)
    for size in (PHONE, {"width": 1400, "height": 860}):
        for scheme in ("light", "dark"):
            context = browser.new_context(
                viewport=size, color_scheme=scheme, locale=language, reduced_motion="reduce"
            )
            page = context.new_page()
            page.set_default_timeout(SECONDS * 1000)
            for view in VIEWS:
                page.goto(f"{url}/#/{view}")
                page.wait_for_selector(f".view-{view}")
                if view == "chat":
                    ask(page)
                page.wait_for_selector("[aria-busy=true]", state="detached")
                page.wait_for_timeout(1500)
                page.set_viewport_size(
                    {**size, "height": page.evaluate("document.documentElement.scrollHeight")}
                )
                page.wait_for_timeout(500)
                page.screenshot(path=ALL / f"{view}-{size['width']}-{scheme}-{language[:2]}.png")
                page.set_viewport_size(size)
            context.close()


def draw_graph(path: Path) -> None:
    """Import the first conversation of a file and picture whom and what it is about."""
    with (
        temp_engine(user="Sam") as engine,
        served(engine) as url,
        sync_playwright() as play,
        tempfile.TemporaryDirectory() as folder,
    ):
        one = Path(folder, "conversation.json")
        one.write_text(json.dumps(json.loads(path.read_text())["conversations"][:1]))
        engine.load(one, scope=("user", "Sam"))
        engine.drain(600)
        browser = play.chromium.launch(
            executable_path=shutil.which("chromium"), args=["--no-sandbox"]
        )
        page = browser.new_context(
            viewport=SIZE, color_scheme="light", locale="en-GB", reduced_motion="reduce"
        ).new_page()
        page.goto(url + "/#/graph")
        page.get_by_role("status").filter(has_text="nodes,").wait_for()
        page.wait_for_timeout(1500)
        page.screenshot(path=OUT / "graph.png")
        browser.close()


def remember(engine: MemoryEngine) -> None:
    now = datetime.now(UTC)
    for days, texts in SAID.items():
        turns = [
            Turn(text, at=now - timedelta(days=days, minutes=-place), session=f"day-{days}")
            for place, text in enumerate(texts)
        ]
        engine.observe(turns, scope=("user", "Lena"))
    engine.drain()


def ask(page: Page) -> None:
    page.locator("textarea").fill("Where do I live now, and where did I live before?")
    page.locator("textarea").press("Enter")
    page.locator(".said").get_by_text("Before that").last.wait_for()
    page.wait_for_selector(".log[aria-busy=false]")


def chat(page: Page) -> None:
    ask(page)
    page.locator(".profile").wait_for(state="attached")
    if page.viewport_size != PHONE:
        page.locator(".why > summary").first.click()
    page.mouse.move(0, 0)
    page.evaluate("document.activeElement.blur(), scrollTo(0, 0)")


def several(page: Page) -> None:
    page.get_by_role("link", name="Memories").click()
    page.get_by_role("switch", name="Choose several").check(force=True)
    for place in range(3):
        page.locator(".choice input").nth(place).check()


def timeline(page: Page) -> None:
    page.get_by_role("link", name="Timeline").click()
    page.get_by_role("slider", name="As of").fill("92")
    page.get_by_text("Known then").wait_for()
    page.locator("main .memory").filter(has_text="Berlin").wait_for()


@contextmanager
def served(engine: MemoryEngine) -> Iterator[str]:
    listener = listen(ServeSettings(port=0))
    runner = create_server(create_app(engine, engine.settings))
    thread = threading.Thread(target=runner.run, kwargs={"sockets": [listener]}, daemon=True)
    thread.start()
    while not runner.started and thread.is_alive():
        time.sleep(0.01)
    yield format_address(listener)
    runner.should_exit = True
    thread.join(20)


if __name__ == "__main__":
    main()
