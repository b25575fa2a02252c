"""The other views: tiers, graph, timeline, jobs, devices, spaces, charts, import, settings."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from bench.documents import making
from tests.surfaces.http.running import running
from tests.surfaces.proxy.harness import patient
from tests.surfaces.ui.conftest import Served, Window, opened

from engrams.core import Kind, Scope, Turn
from engrams.ports import JobClaim, JobFailure, JobSpec
from engrams.testing import temp_engine

pytestmark = pytest.mark.slow

expect = pytest.importorskip(
    "playwright.sync_api", reason="the tests of the page need the package playwright"
).expect

EMPTY = {
    "chat": "Start a conversation",
    "memories": "No memories yet",
    "timeline": "No history yet",
    "graph": "No links yet",
    "tiers": "No memories here.",
    "charts": "Growth appears here",
    "garden": "No cycles yet",
    "jobs": "Nothing has failed.",
    "devices": "On this device alone",
    "spaces": "In no space yet",
    "import": "Drop files here",
    "settings": "This browser",
}


def test_the_first_visit_teaches(window: Window) -> None:
    """Every view of an empty memory says what belongs in it and how to get it there. Views for those
    who look behind are folded until they are wanted.
    """
    window.go("memories")
    jobs = window.page.get_by_role("navigation").get_by_role("link", name="Jobs")
    expect(jobs).to_be_hidden()
    window.page.get_by_role("button", name="Advanced").click()
    expect(jobs).to_be_visible()
    for view, text in EMPTY.items():
        window.go(view)
        expect(window.page.get_by_text(text).filter(visible=True).first).to_be_visible()
        expect(
            window.page.get_by_role("link", name=view.capitalize(), exact=True)
        ).to_have_attribute("aria-current", "page")
        expect(window.page).to_have_title(f"{view.capitalize()} · engrams")


@pytest.mark.covers("S0.55")
def test_the_page_shows_tiers_graph_and_last_trace(window: Window) -> None:
    """One page at ``GET /`` shows how many memories are in each tier, the graph of their links, and
    how the last question went.
    """
    window.tell("My sister Ines plays the cello.", "I keep bees.")
    window.go("tiers")
    recent = window.page.get_by_role("region", name="Recent")
    count = window.served.engine.stats(window.scope)["tier"]["recent"]
    expect(recent.locator("strong.number").first).to_have_text(str(count))
    expect(recent.locator(".memory").first).to_be_visible()
    window.page.get_by_label("Question to memory").fill("Who plays the cello?")
    window.page.get_by_label("Question to memory").press("Enter")
    trace = window.page.get_by_role("region", name="Last recall")
    expect(trace.locator(".recall-list li").first).to_contain_text("cello")
    trace.get_by_text("How it was chosen").click()
    expect(trace).to_contain_text("Candidates")
    window.go("graph")
    expect(window.page.get_by_role("application")).to_be_visible()
    expect(window.page.get_by_role("status").filter(has_text="nodes,")).to_be_visible()


def test_tiers_follow_what_happens(window: Window) -> None:
    """A memory that is stored while the view is open appears in it by itself."""
    window.tell("I keep bees.")
    window.go("tiers")
    expect(window.page.locator(".column .memory").first).to_be_visible()
    window.served.engine.add("The attic key is red.", scope=window.scope)
    expect(window.page.locator(".column .memory").filter(has_text="attic key")).to_have_count(1)


def test_the_graph_is_walked_by_keyboard_and_read_as_a_list(window: Window) -> None:
    """Arrow keys select nodes, Enter opens one;
    the list says the same in words; a filter narrows both.
    """
    window.tell("I live in Paris.", "I moved to Berlin.", "My sister Ines plays the cello.")
    window.go("graph")
    canvas = window.page.get_by_role("application")
    expect(
        window.page.get_by_role("status").filter(has_text="nodes,")
    ).to_be_visible()  # there is something to walk
    canvas.focus()
    canvas.press("ArrowRight")
    expect(window.page.locator(".node-info p")).to_be_visible()
    canvas.press("+")
    canvas.press("Enter")
    expect(window.page.get_by_role("dialog").locator(".quote")).to_be_visible()
    window.page.keyboard.press("Escape")
    expect(canvas).to_be_focused()
    window.page.get_by_role("group", name="Show as").get_by_text("List").click()
    expect(window.page.locator(".memory").filter(has_text="Berlin").first).to_contain_text("link")
    window.page.get_by_label("Filter the graph").fill("cello")
    expect(window.page.locator(".memory").filter(has_text="Berlin")).to_have_count(0)
    expect(window.page.locator(".memory").filter(has_text="cello").first).to_be_visible()


def test_the_graph_shows_whom_and_what_memories_are_about(window: Window) -> None:
    """Names are nodes with their kinds;
    a selected one lists its memories, which open; it leads to the memories around it.
    """
    window.tell(
        "My sister Ines plays the cello in Porto.",
        "My boss Tom Becker lives in Berlin.",
        "I moved to Madrid.",
    )
    window.go("graph")
    expect(window.page.get_by_label("Nodes")).to_have_value("entities")
    canvas = window.page.get_by_role("application")
    expect(window.page.get_by_role("status").filter(has_text="nodes,")).to_be_visible()
    canvas.focus()
    canvas.press("ArrowRight")
    info = window.page.locator(".node-info")
    name = info.locator("p").first.inner_text()
    expect(info.locator("li").filter(has_text=name.split()[0]).first).to_be_visible()
    info.locator("li button").first.click()
    expect(window.page.get_by_role("dialog").locator(".quote")).to_be_visible()
    window.page.keyboard.press("Escape")
    info.get_by_role("button", name="Show its memories").click()
    expect(window.page.get_by_role("button", name="Whole graph")).to_be_visible()
    window.page.get_by_role("group", name="Show as").get_by_text("List").click()
    expect(window.page.locator(".memory").filter(has_text=name).first).to_be_visible()
    window.page.get_by_role("button", name="Whole graph").click()
    expect(window.page.locator(".memory").filter(has_text="Tom Becker").first).to_contain_text(
        "memor"
    )


def test_the_slider_goes_back_in_time(window: Window) -> None:
    """As of a day of the past the page shows what was true and known then, and what has changed
    since.
    """
    now = datetime.now(UTC)
    said = [("I live in Paris.", 400), ("I moved to Berlin.", 200), ("I moved to Lisbon.", 20)]
    window.served.engine.observe(
        [Turn(text, at=now - timedelta(days=days), session=f"s{days}") for text, days in said],
        scope=window.scope,
    )
    assert window.served.engine.drain()
    window.go("timeline")
    facts = window.page.get_by_role("region", name="Known facts").locator(".memory")
    expect(facts.filter(has_text="Lisbon")).to_have_count(1)
    expect(facts.filter(has_text="Paris")).to_have_count(0)
    slider = window.page.get_by_role("slider", name="As of")
    slider.fill("40")
    expect(facts.filter(has_text="Paris")).to_have_count(1)
    expect(facts.filter(has_text="Lisbon")).to_have_count(0)
    window.page.get_by_role("group", name="Compared with today").get_by_text(
        "Learned since"
    ).click()
    expect(facts.filter(has_text="Lisbon")).to_have_count(1)
    slider.press("End")
    expect(window.page.get_by_text("As of now")).to_be_visible()
    expect(facts.filter(has_text="Lisbon")).to_have_count(1)


@pytest.mark.slow
def test_the_axis_names_no_time_twice(window: Window) -> None:
    """Where all memories are of one day, the chart's axis names its hours, each once."""
    window.tell("I live in Paris.")
    for view, chart in (("timeline", "Memories by date"), ("charts", "Growth")):
        window.go(view)
        ticks = window.page.get_by_role("img", name=chart).locator(".tick")
        expect(ticks.last).to_be_visible()
        labels = [text for text in ticks.all_text_contents() if ":" in text]
        assert labels
        assert len(labels) == len(set(labels))


@pytest.mark.slow
def test_a_topic_leads_to_its_place_in_the_graph(window: Window) -> None:
    """A topic that is somebody's name opens the graph around it, and the way back to the whole."""
    others = (
        "I live in Lisbon.",
        "I prefer tea.",
        "I work as a nurse.",
        "I'm allergic to peanuts.",
        "I bought a car.",
    )
    window.tell("My sister Ines plays the cello.", *others)
    window.go("memories")
    topic = window.page.get_by_role("region", name="Ines")
    expect(topic.locator(".memory").first).to_be_visible()
    topic.get_by_role("link", name="In the graph").click()
    expect(window.page.get_by_role("button", name="Whole graph")).to_be_visible()
    window.page.get_by_role("group", name="Show as").get_by_text("List").click()
    expect(window.page.locator(".memory").filter(has_text="cello").first).to_be_visible()


@pytest.mark.slow
def test_tiers_that_are_not_used_take_no_room(window: Window) -> None:
    """Where memory has one tier, no empty column stands beside it, and the page says how to have
    more.
    """
    window.tell("I keep bees.")
    window.go("tiers")
    expect(window.page.get_by_role("region", name="Recent")).to_be_visible()
    expect(window.page.locator(".column").filter(visible=True)).to_have_count(1)
    expect(window.page.get_by_text("tiers.enabled=true").filter(visible=True)).to_have_count(1)


def test_a_failed_job_is_seen_and_tried_again(window: Window) -> None:
    """A dead letter is listed with its reason and counted in the navigation;
    one press puts it back to waiting.
    """
    store = window.served.engine.store
    now = window.served.engine.now()
    kind = f"errand-{window.user}"
    store.enqueue([JobSpec(kind, "k", {"scope": window.scope.key})], now)
    job = store.claim(JobClaim("w", now, kinds=(kind,)))
    assert job is not None
    store.fail(JobFailure(job.lease, "ModelError: the <b>model</b> said no", now, None))
    window.go("jobs")
    row = window.page.locator(".dead").filter(has_text="the <b>model</b> said no")
    expect(row).to_be_visible()
    expect(window.page.get_by_role("navigation").get_by_text("1 failed")).to_be_visible()
    row.get_by_role("button", name="Try again").click()
    expect(row).to_have_count(0)
    assert [each.state for each in store.queue(("waiting",), 100) if each.kind == kind] == [
        "waiting"
    ]


def test_files_are_imported_by_dropping_them(window: Window) -> None:
    """A dropped file is sent with its progress;
    the report says what was stored, and what could not be read.
    """
    window.go("import")
    lines = (
        '{"role": "user", "content": "The attic key is red."}\n{"role": "user", "content": "The'
        ' cellar key is green."}\n{"role": "user"}\n'
    )
    data = window.page.evaluate_handle(
        "text => { const data = new DataTransfer(); data.items.add(new File([text], 'talk.jsonl'));"
        " return data; }",
        lines,
    )
    window.page.locator(".drop").dispatch_event("drop", {"dataTransfer": data})
    row = window.page.locator(".list .memory").filter(has_text="talk.jsonl")
    expect(row).to_contain_text("Messages, one a line · 2 memories")
    expect(row).to_contain_text("The attic key is red.")
    expect(row).to_contain_text("1 piece could not be read")
    assert not window.served.engine.list(scope=window.scope).records
    row.get_by_role("button", name="Import talk.jsonl", exact=True).click()
    expect(row.locator(".chip")).to_have_text("Done")
    expect(row).to_contain_text("2 memories stored")
    expect(row).to_contain_text("1 piece could not be read")
    stored = window.served.engine.list(scope=window.scope, kinds=(Kind.TURN,)).records
    assert {record.text for record in stored} == {
        "The attic key is red.",
        "The cellar key is green.",
    }


def test_a_document_is_imported_by_dropping_it_on_any_view(window: Window) -> None:
    """The page goes to the import, and shows what the file holds."""
    window.go("memories")
    lease = making.make_pdf([["The tenant may keep one cat."]], "Lease")
    data = window.page.evaluate_handle(
        "bytes => { const data = new DataTransfer();"
        " data.items.add(new File([new Uint8Array(bytes)], 'lease.pdf')); return data; }",
        list(lease),
    )
    window.page.locator("#main").dispatch_event("drop", {"dataTransfer": data})
    row = window.page.locator(".list .memory").filter(has_text="lease.pdf")
    expect(row).to_contain_text("Document · 1 memory")
    row.get_by_role("button", name="Import lease.pdf", exact=True).click()
    expect(row.locator(".chip")).to_have_text("Done")
    assert [item.name for item in window.served.engine.documents.list(window.scope)] == [
        "lease.pdf"
    ]


def test_a_large_file_is_sent_in_pieces(window: Window) -> None:
    """A file of more than one piece arrives whole, by the file chooser as by dropping."""
    window.go("import")
    long = "word " * 40_000
    body = "".join(
        f'{{"role": "user", "content": "Note {number}: {long}"}}\n' for number in range(6)
    )
    file = {"name": "large.jsonl", "mimeType": "application/json", "buffer": body.encode()}
    window.page.get_by_label("Files to import").set_input_files(file)
    row = window.page.locator(".list .memory").filter(has_text="large.jsonl")
    row.get_by_role("button", name="Import large.jsonl", exact=True).click()
    expect(row).to_contain_text("6 memories stored")


def test_charts_say_their_numbers(window: Window) -> None:
    """Growth, search time and load are drawn, each with its title and summary for those who do not
    see it.
    """
    window.tell("I keep bees.", "My sister Ines plays the cello.")
    window.page.request.post(
        f"{window.served.url}/v1/search",
        data={"query": "bees"},
        headers={"x-engrams-user": window.user},
    )
    window.go("charts")
    growth = window.page.get_by_role("img", name="Growth")
    expect(growth).to_be_visible()
    total = window.served.engine.stats(window.scope)["status"]["active"]
    assert f"{total} memories" in str(growth.get_attribute("aria-label"))
    expect(window.page.get_by_role("img", name="Search time")).to_be_visible()


def test_settings_show_what_is_in_effect_and_no_secret(window: Window) -> None:
    """Each setting can be found with its value; the theme changes at once and is remembered."""
    window.go("settings")
    window.page.get_by_label("Find a setting").fill("upstream_key")
    expect(window.page.get_by_role("cell", name="not set")).to_be_visible()
    window.page.get_by_role("group", name="Theme").get_by_text("Dark").click()
    window.page.reload()
    assert window.page.evaluate("document.documentElement.dataset.theme") == "dark"


def test_a_demanded_key_is_asked_for_and_kept_for_the_window(locked: Window) -> None:
    """A server that demands a key is shown nothing without one;
    the page says if it is not accepted, and keeps it in session storage only, or on the device if
    that is ticked.
    """
    wrong = "engrams_000000000000_" + "x" * 43
    right = locked.secret
    locked.served.engine.add("The attic key is red.", scope=locked.scope)
    locked.page.goto(f"{locked.served.url}/#/memories")
    locked.page.get_by_label("Key", exact=True).fill(wrong)
    locked.page.get_by_role("button", name="Use this key").click()
    expect(locked.page.get_by_text("does not accept this key")).to_be_visible()
    expect(locked.page.locator(".person")).to_contain_text("you")
    expect(locked.page.get_by_label("Key", exact=True)).to_have_value("")
    expect(locked.page.locator(".memory")).to_have_count(0)
    locked.page.get_by_label("Key", exact=True).fill(right)
    locked.page.get_by_role("button", name="Use this key").click()
    expect(locked.page.locator(".memory").filter(has_text="attic key")).to_have_count(1)
    expect(locked.page.locator(".person")).to_contain_text("kim")
    locked.page.reload()
    expect(locked.page.locator(".memory").filter(has_text="attic key")).to_have_count(1)
    assert locked.page.evaluate("sessionStorage.getItem('engrams.key')") == right
    assert right not in locked.page.evaluate(
        "JSON.stringify(localStorage) + document.cookie + location.href"
    )
    locked.go("settings")
    locked.page.get_by_role("button", name="Remove key").click()
    locked.page.get_by_label("Key", exact=True).fill(right)
    locked.page.get_by_label("Remember on this device").check()
    locked.page.get_by_role("button", name="Use this key").click()
    expect(locked.page.get_by_text("Stored on this device.")).to_be_visible()
    assert locked.page.evaluate("localStorage.getItem('engrams.key')") == right


def test_an_import_is_undone(window: Window) -> None:
    """An import has a button that erases all it brought, after a question."""
    window.go("import")
    file = {
        "name": "notes.txt",
        "mimeType": "text/plain",
        "buffer": b"The shed has a red roof.\nThe pond is frozen.\n",
    }
    window.page.get_by_label("Files to import").set_input_files(file)
    window.page.get_by_role("button", name="Import notes.txt", exact=True).click()
    window.page.get_by_text("2 memories stored").wait_for()
    window.page.get_by_role("button", name="Undo notes.txt").click()
    window.page.get_by_role("button", name="Undo import").click()
    window.page.get_by_text("Undone", exact=True).wait_for()
    assert not window.served.engine.list(scope=window.scope).records
    window.go("import")
    assert not window.page.get_by_role("button", name="Undo notes.txt").count()


@pytest.mark.slow
def test_several_files_are_imported_at_one_press_or_not_at_all(window: Window) -> None:
    """Each file shows its preview; one is taken out, the others go at one press."""
    window.go("import")
    files = [
        {
            "name": f"{name}.txt",
            "mimeType": "text/plain",
            "buffer": f"The {name} is painted.\n".encode(),
        }
        for name in ("shed", "barn", "gate")
    ]
    window.page.get_by_label("Files to import").set_input_files(files)
    expect(window.page.get_by_role("button", name="Import all 3 files")).to_be_visible()
    window.page.get_by_role("button", name="Do not import barn.txt").click()
    window.page.get_by_role("button", name="Import all 2 files").click()
    expect(window.page.get_by_text("Done", exact=True)).to_have_count(2)
    expect(window.page.locator(".list").get_by_text("barn.txt")).to_have_count(0)
    stored = window.served.engine.list(scope=window.scope, kinds=(Kind.TURN, Kind.NOTE)).records
    assert {record.text for record in stored} == {"The shed is painted.", "The gate is painted."}


def test_a_damaged_picture_is_refused_on_the_page(window: Window) -> None:
    """It fails with its reason, and nothing is stored."""
    window.go("import")
    file = {
        "name": "cat.png",
        "mimeType": "image/png",
        "buffer": b"\x89PNG\r\n\x1a\n" + bytes(range(256)) * 9,
    }
    window.page.get_by_label("Files to import").set_input_files(file)
    window.page.get_by_role("button", name="Import cat.png", exact=True).click()
    window.page.get_by_text("The PNG picture is damaged").wait_for()
    assert not window.served.engine.list(scope=window.scope).records


def test_devices_are_shown_with_what_they_did_not_confirm(
    browser: Any, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    """The view names each device and when it told something; a purge that one did not make stands there
    until it did; a press exchanges.
    """
    owner = Scope(("user", "ann"))
    with temp_engine(user="ann") as laptop, temp_engine(user="ann") as phone:
        note = laptop.add("The piano is in the hall.", scope=owner).id
        laptop.sync.init(str(tmp_path / "place"), owner, "laptop")
        phone.sync.join(str(tmp_path / "place"), laptop.sync.pair(), owner, "phone")
        for device in (laptop, phone, laptop):
            device.sync.now()
        laptop.purge(note, scope=owner)
        with running(patient(laptop)) as url:
            for window in opened(browser, Served(url, laptop), request, "ann"):
                window.go("devices")
                page = window.page
                expect(page.get_by_role("row", name="laptop")).to_contain_text("This device")
                expect(page.get_by_role("row", name="phone")).to_contain_text("Device")
                expect(page.get_by_role("row", name="Recovery code")).to_be_visible()
                expect(page.get_by_text("Something here is not told yet.")).to_be_visible()
                page.get_by_role("button", name="Exchange now").click()
                expect(page.get_by_text("Not yet confirmed by phone")).to_be_visible()
                phone.sync.now()
                page.get_by_role("button", name="Exchange now").click()
                expect(page.get_by_text("No purge waits for a device.")).to_be_visible()


def test_a_space_is_made_shared_and_left_on_the_page(window: Window) -> None:
    """A person makes a space, adds another, changes the role, and removes them; what the space holds is
    found with its name, and opened.
    """
    page, spaces = window.page, window.served.engine.spaces
    other = f"o-{window.user}"
    name = f"home of {window.user}"
    window.go("spaces")
    page.get_by_role("button", name="Create a space").click()
    page.get_by_label("Name").fill(name)
    page.get_by_label("Name").press("Enter")
    expect(page.get_by_role("heading", name=name)).to_be_visible()
    page.get_by_role("button", name="Add a member").click()
    page.get_by_label("User").fill(other)
    page.get_by_label("User").press("Enter")
    with page.expect_response(lambda answer: "/members/" in answer.url):
        page.get_by_label(f"Role of {other}").select_option("Reader")
    expect(page.get_by_label(f"Role of {other}")).to_have_value("reader")
    assert [str(space.role) for space in spaces.list(scope=("user", other))] == ["reader"]
    space = spaces.enter(name, scope=window.scope, writes=True)
    window.served.engine.add("The ladder is in the shed.", scope=space)
    window.go("memories?q=Where is the ladder")
    row = page.locator(".memory", has_text="The ladder is in the shed.")
    expect(row).to_contain_text(f"Space {name}")
    row.locator(".memory-open").click()
    expect(page.locator(".drawer .quote")).to_have_text("The ladder is in the shed.")
    page.keyboard.press("Escape")
    window.go("spaces")
    page.get_by_role("button", name=f"Remove {other}").click()
    page.get_by_role("button", name="Remove member").click()
    expect(page.get_by_label(f"Role of {other}")).to_have_count(0)
    assert spaces.list(scope=("user", other)) == ()
