"""People log in on the page, at a provider that is a process of its own."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import expect
from tests.surfaces.http.running import running
from tests.surfaces.http.test_oidc_provider import CLIENT, pytestmark  # noqa: F401 - marks these tests
from tests.surfaces.http.test_oidc_provider import provide as provide_identities
from tests.surfaces.ui.conftest import Served, Window, opened

from engrams.core import Scope
from engrams.program.registry import create_app
from engrams.testing import temp_engine


@pytest.fixture
def guarded(browser: Any, request: pytest.FixtureRequest) -> Iterator[Window]:
    """A window on a server whose page has a name at the provider."""
    with socket.socket() as chosen:
        chosen.bind(("127.0.0.1", 0))
        port = chosen.getsockname()[1]
    with (
        provide_identities(port) as issuer,
        temp_engine(
            user="nobody",
            serve__oidc__issuer=issuer,
            serve__oidc__audience=(CLIENT,),
            serve__oidc__client_id=CLIENT,
            serve__oidc__client_secret="any",
        ) as engine,
        running(create_app(engine, engine.settings)) as url,
    ):
        for window in opened(browser, Served(url, engine), request, "oidc:kim", chosen=False):
            yield window
            # The provider's own page asks for a style sheet of another server.
            window.said[:] = [line for line in window.said if "NAME_NOT_RESOLVED" not in line]


def test_somebody_logs_in(guarded: Window) -> None:
    """The page leads to the provider, and comes back to the same view with the person's memory; the
    token is in session storage alone, and no code stays in the address.
    """
    guarded.served.engine.add("The attic key is red.", scope=Scope(("user", "oidc:kim")))
    page = guarded.page
    page.goto(f"{guarded.served.url}/#/memories")
    page.get_by_role("button", name="Log in instead").click()
    page.locator("input[name=sub]").fill("kim")
    page.get_by_role("button", name="Authorize").click()
    expect(page.locator(".memory").filter(has_text="attic key")).to_have_count(1)
    assert page.url == f"{guarded.served.url}/#/memories"
    token = page.evaluate("sessionStorage.getItem('engrams.key')")
    assert token.startswith("ey")
    assert token not in page.evaluate("JSON.stringify(localStorage) + document.cookie")
    page.reload()
    expect(page.locator(".memory").filter(has_text="attic key")).to_have_count(1)


def test_a_login_that_is_denied(guarded: Window) -> None:
    """The page says so, and asks again."""
    page = guarded.page
    page.goto(f"{guarded.served.url}/#/memories")
    page.get_by_role("button", name="Log in instead").click()
    page.get_by_role("button", name="Deny").click()
    expect(page.get_by_text("The provider refused the login.")).to_be_visible()
    expect(page.get_by_role("button", name="Log in instead")).to_be_visible()


def test_a_code_of_somebody_else_is_not_taken(guarded: Window) -> None:
    """An address with a code that this window did not ask for logs nobody in."""
    page = guarded.page
    page.goto(f"{guarded.served.url}/?code=stolen&state=other#/memories")
    expect(page.get_by_role("button", name="Log in instead")).to_be_visible()
    assert page.evaluate("sessionStorage.getItem('engrams.key')") is None
