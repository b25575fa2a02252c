"""What other apps share with the installed page, and what a bookmark adds: asked about, then stored."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

import httpx2
import pytest
from tests.surfaces.ui.conftest import Served, Window
from tests.transfer.documents import media_files

expect = pytest.importorskip(
    "playwright.sync_api", reason="the tests of the page need the package playwright"
).expect

PICTURE = media_files.make_picture()
SHARE = """async ([fields, bytes]) => {
  const form = document.createElement("form");
  Object.assign(form, { method: "post", action: "/ui/share", enctype: "multipart/form-data" });
  for (const [name, value] of Object.entries(fields)) {
    const input = document.createElement("input");
    Object.assign(input, { name, value });
    form.append(input);
  }
  const input = document.createElement("input");
  Object.assign(input, { name: "file", type: "file" });
  const data = new DataTransfer();
  if (bytes) data.items.add(new File([new Uint8Array(bytes)], "bike.png", { type: "image/png" }));
  input.files = data.files;
  form.append(input);
  document.body.append(form);
  HTMLFormElement.prototype.submit.call(form);
}"""
"""A share as a browser sends it: a form, which the policy allows on no page of ours."""


def share(window: Window, fields: dict[str, str], data: bytes = b"") -> None:
    """Share as another app does, once the worker is there."""
    page = window.page
    page.goto(f"{window.served.url}/#/import")
    page.evaluate(
        """async () => {
          const isThere = async () =>
            (await navigator.serviceWorker.getRegistration("/ui/share"))?.active?.state === "activated";
          while (!(await isThere())) await new Promise(requestAnimationFrame);
        }"""
    )
    # A page without a policy, of the same origin: a form of ours may not be sent anywhere.
    page.route("**/blank", lambda route: route.fulfill(body="", content_type="text/html"))
    page.goto(f"{window.served.url}/blank")
    page.evaluate(SHARE, [fields, list(data)])
    page.wait_for_selector(".view-import")


def find_row(window: Window, text: str) -> Any:
    return window.page.locator(".list .memory").filter(has_text=text)


def test_a_shared_picture_is_stored_with_its_words(window: Window) -> None:
    """Nothing is stored before a press; then the words find the picture. A reload asks no more."""
    share(window, {"title": "", "text": "My new bike"}, PICTURE)
    row = find_row(window, "bike.png")
    expect(row.get_by_label("Your words about it")).to_have_value("My new bike")
    assert not window.served.engine.documents.list(window.scope)
    row.get_by_role("button", name="Import bike.png", exact=True).click()
    expect(row.locator(".chip")).to_have_text("Done")
    (document,) = window.served.engine.documents.list(window.scope)
    (passage,) = window.served.engine.documents.read(document.id, window.scope)
    assert passage.text.startswith("My new bike\nPicture of 40")
    window.page.reload()
    window.page.wait_for_selector(".view-import")
    expect(window.page.get_by_label("Your words about it")).to_have_count(0)


def test_a_shared_text_is_stored_at_a_press(window: Window) -> None:
    """It is shown first, and may be left."""
    share(window, {"title": "Attic", "text": "The attic key is red."})
    row = find_row(window, "text.txt")
    expect(row).to_contain_text("The attic key is red.")
    assert not window.served.engine.list(scope=window.scope).records
    row.get_by_role("button", name="Import text.txt", exact=True).click()
    expect(row.locator(".chip")).to_have_text("Done")
    texts = [record.text for record in window.served.engine.list(scope=window.scope).records]
    assert any("The attic key is red." in text for text in texts)


@pytest.mark.parametrize("way", ["share", "bookmark"])
def test_an_address_is_fetched_at_a_press_and_no_inner_one(window: Window, way: str) -> None:
    """Phones put an address into the text. One of this machine is refused with its reason."""
    address = f"{window.served.url}/health"
    if way == "share":
        share(window, {"text": f"Bees {address}"})
    else:
        window.page.goto(f"{window.served.url}/#/import?url={quote(address, safe='')}")
    row = find_row(window, address)
    row.get_by_role("button", name=f"Import {address}", exact=True).click()
    expect(row.locator(".chip")).to_have_text("Failed")
    expect(row).to_contain_text("private network")
    assert window.page.url.endswith("/#/import")
    assert not window.served.engine.documents.list(window.scope)


def test_a_script_is_no_address(window: Window) -> None:
    """What a foreign link puts into the address of the page is shown as text alone."""
    window.page.goto(f"{window.served.url}/#/import?url={quote('javascript:alert(1)')}&file=x")
    row = find_row(window, "javascript:alert(1)")
    expect(row.locator("a")).to_have_count(0)
    row.get_by_role("button", name="Import javascript:alert(1)", exact=True).click()
    expect(row.locator(".chip")).to_have_text("Failed")


def test_the_bookmark_opens_the_import_with_the_address(window: Window) -> None:
    """It is dragged to the bookmarks; a click on the page runs nothing."""
    window.go("import")
    link = window.page.get_by_role("link", name="Add to engrams")
    assert link.get_attribute("href") == (
        f'javascript:open("{window.served.url}/#/import?url="+encodeURIComponent(location))'
    )
    link.click()
    assert len(window.page.context.pages) == 1


def test_a_share_asks_for_the_key_first(locked: Window) -> None:
    """On a server with keys the share waits in the browser until there is one."""
    share(locked, {"text": "My new bike"}, PICTURE)
    locked.page.get_by_label("Key", exact=True).fill(locked.secret)
    locked.page.get_by_role("button", name="Use this key").click()
    row = find_row(locked, "bike.png")
    row.get_by_role("button", name="Import bike.png", exact=True).click()
    expect(row.locator(".chip")).to_have_text("Done")
    assert len(locked.served.engine.documents.list(locked.scope)) == 1


def test_a_share_without_the_worker_is_kept_by_nobody(offline: Served) -> None:
    """The server only shows the page; a foreign page may not even ask. No model server gets it."""
    form = {"text": "My new bike"}
    answer = httpx2.post(f"{offline.url}/ui/share", data=form)
    assert (answer.status_code, answer.headers["location"]) == (303, "/#/import")
    foreign = {"origin": "https://evil.example"}
    assert httpx2.post(f"{offline.url}/ui/share", data=form, headers=foreign).status_code == 403


def test_the_manifest_takes_shares(offline: Served) -> None:
    """A browser finds it in the page."""
    page = httpx2.get(offline.url).text
    address = page.partition('rel="manifest" href="')[2].partition('"')[0]
    manifest = httpx2.get(offline.url + address).json()
    assert manifest["share_target"]["action"] == "/ui/share"
    assert set(manifest["share_target"]["params"]) == {"title", "text", "url", "files"}
