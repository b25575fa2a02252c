"""A real browser before a real server.

Each test has a person and a window of its own, and ends with no violation of the policy.
"""

from __future__ import annotations

import re
import shutil
import uuid
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from tests.surfaces.http.running import running
from tests.surfaces.proxy.harness import patient

from engrams.api_keys import RIGHTS, ApiKeyStore
from engrams.core import Scope, Turn
from engrams.engine import MemoryEngine
from engrams.testing import ScriptedModel, temp_engine

ROOT = Path(__file__).resolve().parents[3]
SCREENS = ROOT / "build" / "screens"
NAMES = ("chromium", "chromium-browser", "google-chrome")
SECONDS = 20
"""How long a browser may take on a busy machine."""
QUIET = (r"the server responded with a status of \d+", r"ERR_CONNECTION")
"""What Chromium itself notes about answers that the page deals with."""


@dataclass
class Served:
    """A server: its address, its engine, and the model behind it."""

    url: str
    engine: MemoryEngine
    model: ScriptedModel | None = None


@dataclass
class Window:
    """A page of the browser that speaks for ``user``; ``said``: what went wrong in it."""

    page: Any
    served: Served
    user: str
    said: list[str] = field(default_factory=list)
    secret: str = ""

    @property
    def scope(self) -> Scope:
        return Scope(("user", self.user))

    def go(self, view: str) -> None:
        """Show a view and wait until it is there."""
        self.page.goto(f"{self.served.url}/#/{view}")
        self.page.wait_for_selector(f".view-{view.split('?', maxsplit=1)[0]}")
        self.page.wait_for_selector(".list[aria-busy=true]", state="detached")

    def tell(self, *texts: str, session: str = "s1", **more: Any) -> None:
        """Something this person said before, with what was learned from it."""
        self.served.engine.observe(
            [Turn(text, session=session, **more) for text in texts], scope=self.scope
        )
        assert self.served.engine.drain()

    def say(self, text: str) -> None:
        """Send a chat message and wait for the whole answer."""
        answers = self.page.locator(".turn.assistant")
        before = answers.count()
        self.page.get_by_label("Your message").fill(text)
        self.page.get_by_label("Your message").press("Enter")
        answers.nth(before).wait_for()
        self.page.wait_for_selector(".log[aria-busy=false]")


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """Chromium, closed after each file:
    while it runs, this thread has an event loop, and tests elsewhere could start none.
    """
    api = pytest.importorskip(
        "playwright.sync_api", reason="the tests of the page need the package playwright"
    )
    path = next((found for name in NAMES if (found := shutil.which(name))), None)
    if path is None:
        pytest.skip("no Chromium here: `scripts/chromium.sh` installs one where it may")
    api.expect.set_options(timeout=SECONDS * 1000)
    with api.sync_playwright() as play:
        started = play.chromium.launch(
            executable_path=path, args=["--no-sandbox", "--disable-dev-shm-usage"]
        )
        yield started
        started.close()


@pytest.fixture(scope="session")
def offline() -> Iterator[Served]:
    """A server without a model behind it."""
    with temp_engine(user="nobody") as engine, running(patient(engine)) as url:
        yield Served(url, engine)


@pytest.fixture(scope="session")
def online() -> Iterator[Served]:
    """A server before a scripted model."""
    with (
        ScriptedModel(models=("m-large", "m-small", "nomic-embed-text")) as model,
        temp_engine(
            user="nobody", serve__upstream=model.url + "/v1", serve__upstream_learns=False
        ) as engine,
        running(patient(engine)) as url,
    ):
        yield Served(url, engine, model)


@pytest.fixture
def window(browser: Any, offline: Served, request: pytest.FixtureRequest) -> Iterator[Window]:
    """A window on the server without a model.

    ``@pytest.mark.parametrize("window", [{...}], indirect=True)`` sets its options.
    """
    yield from opened(browser, offline, request)


@pytest.fixture
def spoken(browser: Any, online: Served, request: pytest.FixtureRequest) -> Iterator[Window]:
    """A window on the server before a model."""
    yield from opened(browser, online, request)


@pytest.fixture
def unnamed(browser: Any, request: pytest.FixtureRequest) -> Iterator[Window]:
    """A window of nobody on a server where the conversation owns its memory."""
    with temp_engine(user="", sessions__owner="thread") as engine, running(patient(engine)) as url:
        yield from opened(browser, Served(url, engine), request, chosen=False)


@pytest.fixture
def locked(browser: Any, request: pytest.FixtureRequest) -> Iterator[Window]:
    """A window on a server that demands keys; ``secret`` is one of them."""
    with (
        temp_engine(user="nobody", serve__require_keys="always") as engine,
        running(patient(engine)) as url,
    ):
        _, secret = ApiKeyStore.open(engine.settings.home).add(
            "page", Scope(("user", "kim")), RIGHTS, engine.now()
        )
        for window in opened(browser, Served(url, engine), request, "kim", chosen=False):
            window.secret = secret
            yield window


def opened(
    browser: Any,
    served: Served,
    request: pytest.FixtureRequest,
    user: str = "",
    chosen: bool = True,
) -> Iterator[Window]:
    """A window for ``user``, or for somebody new; ``chosen``: the page is told who it is."""
    user = user or "u-" + uuid.uuid4().hex[:12]
    options = {
        "viewport": {"width": 1280, "height": 860},
        "locale": "en-GB",
        "timezone_id": "Europe/Lisbon",
        "reduced_motion": "reduce",
    }
    context = browser.new_context(**{**options, **getattr(request, "param", {})})
    if chosen:
        context.add_init_script(
            "localStorage.getItem('engrams.person') ?? localStorage.setItem('engrams.person',"
            f" '{user}')"
        )
    page = context.new_page()
    page.set_default_timeout(SECONDS * 1000)
    window = Window(page, served, user)
    page.on(
        "console", lambda line: line.type in ("error", "warning") and window.said.append(line.text)
    )
    page.on("pageerror", lambda fault: window.said.append(str(fault)))
    yield window
    SCREENS.mkdir(parents=True, exist_ok=True)
    page.screenshot(
        path=SCREENS / f"{re.sub(r'[^a-z0-9]+', '-', request.node.name.lower()).strip('-')}.png"
    )
    context.close()
    assert [
        line for line in window.said if not any(re.search(quiet, line) for quiet in QUIET)
    ] == []
