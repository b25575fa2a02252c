"""The language model is set up on the page:
found or typed, tried, written into config.toml, without its key being shown.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from typing import Any

import pytest
from tests.surfaces.http.running import running
from tests.surfaces.ui.conftest import Served, Window, opened

from engrams.api_keys import ApiKeyStore
from engrams.composition import open as open_engine
from engrams.core import Scope
from engrams.models import server_discovery
from engrams.ports import DiscoveredModelServer
from engrams.program.registry import create_app
from engrams.settings import load
from engrams.testing import ScriptedModel, temp_engine

pytestmark = pytest.mark.slow

expect = pytest.importorskip(
    "playwright.sync_api", reason="the tests of the page need the package playwright"
).expect

SECRET = "sk-of-the-model"


@pytest.fixture
def fresh(browser: Any, request: pytest.FixtureRequest) -> Iterator[Window]:
    """A window on a server of its own, whose settings may be changed."""
    with temp_engine(user="nobody") as engine, running(create_app(engine, engine.settings)) as url:
        yield from opened(browser, Served(url, engine), request)


def written(window: Window) -> dict[str, Any]:
    file = window.served.engine.settings.home / "config.toml"
    return tomllib.loads(file.read_text("utf-8")) if file.exists() else {}


def set_up(window: Window, *, key: str = "") -> None:
    """Test and save what stands in the form."""
    card = window.page.get_by_role("region", name="Language model")
    if key:
        card.get_by_label("Key of the model's server").fill(key)
    card.get_by_role("button", name="Test").click()
    expect(card.get_by_text("Works", exact=True)).to_be_visible()
    with window.page.expect_response(
        lambda answer: answer.url.endswith("/v1/settings/model") and answer.request.method != "GET"
    ):
        card.get_by_role("button", name="Save").click()
    expect(card.get_by_text("Restart")).to_be_visible()


def test_a_model_that_was_found_is_tried_and_written(
    fresh: Window, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Found on a usual port, measured, told what is sent where, written as `engrams init` does:
    the next start learns by it.
    """
    with ScriptedModel(models=("nomic-embed", "scripted")) as model:
        places = (
            DiscoveredModelServer("LM Studio", "openai", f"{model.url}/v1"),
            DiscoveredModelServer("vLLM", "openai", "http://127.0.0.1:9/v1"),
        )
        monkeypatch.setattr(server_discovery.find_model_servers, "__defaults__", (places, 2.0))
        fresh.go("settings")
        card = fresh.page.get_by_role("region", name="Language model")
        expect(card).to_contain_text("Learns by rules")
        expect(card).to_contain_text("Nothing is sent to a language model.")
        card.get_by_role("button", name="Find servers").click()
        card.get_by_role("button", name="Use LM Studio").click()
        expect(card.get_by_label("Model", exact=True)).to_have_value("scripted")
        expect(card.get_by_role("button", name="Save")).to_be_disabled()
        expect(card.get_by_label("Protocol")).to_have_value("openai")
        card.get_by_label("Time-out in seconds").fill("900")
        set_up(fresh)
        expect(card).to_contain_text(f"sent to {model.url}, which is this machine")
        expected = {
            "provider": "openai",
            "url": f"{model.url}/v1",
            "model": "scripted",
            "timeout_seconds": 900.0,
        }
        assert written(fresh) == {"chat": expected}
        assert not any(
            request.route == "chat" and "memory" in request.prompt for request in model.requests
        )
        home = str(fresh.served.engine.settings.home)
        with open_engine(
            load({"home": home}, environ={}).settings, background=False, jobs__workers=0
        ) as memory:
            memory.observe([], scope=("user", "ann"))
            assert memory.chat_model is not None and memory.chat_model.name == "scripted"


def test_a_key_is_stored_for_its_server_alone_and_never_shown(fresh: Window) -> None:
    """A typed address with its key;
    the page never holds it again, a test uses it, and another server is not sent it.
    """
    with ScriptedModel() as model, ScriptedModel() as other:
        fresh.go("settings")
        card = fresh.page.get_by_role("region", name="Language model")
        card.get_by_label("Address").fill(model.url)
        set_up(fresh, key=SECRET)
        assert written(fresh)["chat"]["api_key"] == SECRET
        fresh.page.reload()
        expect(card.get_by_label("Key of the model's server")).to_have_attribute(
            "placeholder", "Stored; leave empty to keep it"
        )
        assert SECRET not in fresh.page.content()
        assert SECRET not in fresh.page.request.get(f"{fresh.served.url}/v1/settings/model").text()
        model.requests.clear()
        card.get_by_role("button", name="Test").click()
        expect(card.get_by_text("Works", exact=True)).to_be_visible()
        assert {request.headers.get("authorization") for request in model.requests} == {
            f"Bearer {SECRET}"
        }
        card.get_by_label("Address").fill(other.url)
        set_up(fresh)
        assert {request.headers.get("authorization") for request in other.requests} == {None}
        assert written(fresh)["chat"] == {
            "provider": "openai",
            "url": f"{other.url}/v1",
            "model": "scripted",
            "timeout_seconds": 300.0,
            "api_key": "",
        }
        card.get_by_role("button", name="Use rules only").click()
        fresh.page.get_by_role("button", name="Use rules", exact=True).click()
        expect(card.get_by_text("Restart")).to_have_count(0)
        assert written(fresh)["chat"]["provider"] == "none"


def test_a_model_that_fails_is_told_and_saved_only_on_demand(fresh: Window) -> None:
    """A closed port, and a model that gives no JSON:
    the reason and what to do, and a button that says what it does.
    """
    with ScriptedModel() as model:
        fresh.go("settings")
        card = fresh.page.get_by_role("region", name="Language model")
        card.get_by_label("Address").fill("http://127.0.0.1:9")
        card.get_by_role("button", name="Test").click()
        expect(card.get_by_role("alert")).to_contain_text("lists no models")
        card.get_by_label("Address").fill(model.url)
        model.fail("bad_json", times=50)
        card.get_by_role("button", name="Test").click()
        expect(card.get_by_text("Does not work")).to_be_visible()
        assert written(fresh) == {}
        card.get_by_role("button", name="Save anyway").click()
        expect(card.get_by_text("Restart")).to_be_visible()
        assert written(fresh)["chat"]["model"] == "scripted"


def test_only_who_may_change_settings_sets_a_model(locked: Window) -> None:
    """A key that reads and writes sees neither the form nor an error;
    the server refuses each call of it, and of a foreign page.
    """
    home = locked.served.engine.settings.home
    now = locked.served.engine.now()
    _, weak = ApiKeyStore.open(home).add(
        "weak", Scope(("user", "kim")), ("read", "write", "proxy"), now
    )
    locked.page.add_init_script(f"sessionStorage.setItem('engrams.key', '{weak}')")
    locked.go("settings")
    expect(locked.page.get_by_role("heading", name="This browser")).to_be_visible()
    expect(locked.page.get_by_role("region", name="Language model")).to_have_count(0)
    expect(locked.page.get_by_text("admin")).to_have_count(0)
    body = {"provider": "openai", "url": "http://127.0.0.1:9/v1", "model": "m"}
    path = f"{locked.served.url}/v1/settings/model"
    for key, origin, status in (
        (weak, "", 403),
        (locked.secret, "https://evil.example", 403),
        (locked.secret, "", 200),
    ):
        headers = {"authorization": f"Bearer {key}", **({"origin": origin} if origin else {})}
        assert locked.page.request.put(path, data=body, headers=headers).status == status
        assert written(locked).get("chat", {}) == ({} if status == 403 else body)
