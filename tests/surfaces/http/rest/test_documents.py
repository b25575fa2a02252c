"""Documents over REST: uploaded, found with their place, listed, forgotten and erased."""

from __future__ import annotations

import time
from pathlib import Path

import httpx2
from bench.documents import making
from tests.surfaces.http.rest.conftest import Person
from tests.surfaces.http.rest.test_quarantine import problem
from tests.transfer.documents import media_files

LEASE = making.make_pdf([["1. Parties", "Anna Berg rents."], ["2. Pets", "One cat is allowed."]])


def test_a_document_comes_and_goes(api: httpx2.Client, person: Person) -> None:
    """An uploaded file is found by page; its owner alone lists, reads, forgets and erases it."""
    sent = api.post("/import", content=LEASE, params={"name": "lease.pdf"}).json()
    assert (sent["stored"], sent["files"]) == (2, 1)
    again = api.post("/import", content=LEASE, params={"name": "lease.pdf"}).json()
    assert (again["stored"], again["existing"]) == (0, 2)
    (hit, *_) = api.post("/search", json={"query": "is a cat allowed?"}).json()["hits"]
    place = hit["memory"]["document"]
    assert (place["label"], place["page"], place["heading"]) == ("lease.pdf, p. 2", 2, "2. Pets")
    assert place == {**place, "name": "lease.pdf", "part": 2, "parts": 2, "sheet": ""}
    (listed,) = api.get("/documents").json()["documents"]
    assert (listed["name"], listed["passages"]) == ("lease.pdf", 2)
    path = f"/documents/{listed['id']}"
    texts = [passage["text"] for passage in api.get(path).json()["passages"]]
    assert texts == ["Anna Berg rents.", "One cat is allowed."]
    other = person()
    assert other.get("/documents").json() == {"documents": [], "total": 0}
    problem(other.get(path), 404)
    problem(other.delete(path), 404)
    assert api.delete(path).json()["id"] == listed["id"]
    assert api.post("/search", json={"query": "is a cat allowed?"}).json()["hits"] == []
    assert api.post(f"{path}/restore").status_code == 200
    assert api.post(f"{path}/purge").json()["proven"]
    problem(api.get(path), 404)


def test_a_text_is_a_document_where_the_request_says_so(api: httpx2.Client) -> None:
    """Markdown is read line by line, or as a document with `format=document`."""
    page = b"# Garden\n\nThe fig tree\nneeds fleece.\n"
    sent = api.post("/import", content=page, params={"name": "g.md", "format": "document"}).json()
    assert sent["stored"] == 1
    (listed,) = api.get("/documents").json()["documents"]
    (passage,) = api.get(f"/documents/{listed['id']}").json()["passages"]
    assert passage["text"] == "The fig tree\nneeds fleece."
    assert passage["document"]["heading"] == "Garden"
    preview = api.post("/import", content=LEASE, params={"name": "l.pdf", "dry_run": "true"}).json()
    assert (preview["format"], preview["kinds"]) == ("document", {"passage": 2})


def test_a_form_brings_a_sound_with_a_note(api: httpx2.Client) -> None:
    """The note is the user's, and the file is found by it."""
    sent = api.post(
        "/documents", files={"file": ("memo.wav", media_files.make_wav())}, data={"note": "Bees."}
    )
    (row,) = sent.json()["documents"]
    (passage,) = api.get(f"/documents/{row['id']}").json()["passages"]
    assert passage["text"] == "Bees.\nSound of 2 s."
    assert passage["document"]["media"] == "audio/wav"


def test_a_form_brings_several_files(api: httpx2.Client) -> None:
    """Each file of a form has its row; one that cannot be read does not cost the others."""
    files = [
        ("file", ("lease.pdf", LEASE)),
        ("file", ("bees.md", b"# Bees\n\nThe hive is of cork.\n")),
        ("file", ("photo.png", b"\x89PNG\r\n" + bytes(90))),
        ("file", ("server.key", b"the words of a key")),
    ]
    rows = api.post("/documents", files=files).json()["documents"]
    assert [(row["name"], row["outcome"], row["passages"]) for row in rows] == [
        ("lease.pdf", "stored", 2),
        ("bees.md", "stored", 1),
        ("photo.png", "failed", 0),
        ("server.key", "failed", 0),
    ]
    assert ("picture" in rows[2]["error"], bool(rows[2]["hint"])) == (True, True)
    assert "ignore rule" in rows[3]["error"] or "the rule" in rows[3]["error"]
    listed = {item["name"]: item["id"] for item in api.get("/documents").json()["documents"]}
    assert listed == {row["name"]: row["id"] for row in rows[:2]}
    (again, *_) = api.post("/documents", files=files[:1]).json()["documents"]
    assert (again["outcome"], again["passages"], again["import_id"]) == ("existing", 2, "")
    assert api.post(f"/imports/{rows[1]['import_id']}/undo").json()["removed"] == 1
    assert api.get("/documents").json()["total"] == 1


def test_a_form_that_cannot_be_read_says_why(api: httpx2.Client) -> None:
    """What is no form, has no file, or has one file that cannot be read, is refused."""
    assert "takes a form" in str(problem(api.post("/documents", content=LEASE), 415)["detail"])
    empty = api.post("/documents", files=[("file", (None, b"no file"))])
    assert "has no file" in str(problem(empty, 400)["detail"])
    headers = {"content-type": "multipart/form-data"}
    broken = api.post("/documents", content=b"--x\r\n", headers=headers)
    assert "cannot be read" in str(problem(broken, 400)["detail"])
    picture = api.post("/documents", files={"file": ("a.png", b"\x89PNG\r\n" + bytes(90))})
    assert "PNG" in str(problem(picture, 400)["hint"])
    large = api.post("/documents", files={"file": ("large.txt", b"word " * (21 << 20))})
    assert problem(large, 413)
    assert api.get("/documents").json()["total"] == 0


def test_a_form_may_be_read_in_the_background(api: httpx2.Client) -> None:
    """With `background` the answer comes at once, and the import's progress says when it is done."""
    answer = api.post(
        "/documents", params={"background": True}, files={"file": ("lease.pdf", LEASE)}
    )
    assert answer.status_code == 202
    (row,) = answer.json()["documents"]
    assert (row["outcome"], row["passages"]) == ("queued", 0)
    deadline = time.monotonic() + 30
    while (progress := api.get(f"/imports/{row['import_id']}").json())["state"] != "done":
        assert progress["state"] != "failed", progress
        assert time.monotonic() < deadline, progress
        time.sleep(0.05)
    assert progress["report"]["stored"] == 2
    (listed,) = api.get("/documents").json()["documents"]
    assert (listed["id"], listed["name"]) == (row["id"], "lease.pdf")


def test_an_inner_address_is_refused_over_rest(api: httpx2.Client) -> None:
    """A server fetches no page of its own machine or network for anybody."""
    for url in ("http://127.0.0.1:1/", "http://169.254.169.254/latest", "http://[::1]/x"):
        refused = problem(api.post("/documents/url", json={"url": url}), 422)
        assert "private network" in str(refused["detail"]) + str(refused["hint"])
    problem(api.post("/documents/url", json={"url": "file:///etc/passwd"}), 400)


def test_a_refresh_reads_no_file_of_the_server(api: httpx2.Client, tmp_path: Path) -> None:
    """A name that looks like a path or address is not read from there, by no door."""
    path = tmp_path / "secret.txt"
    path.write_text("the words of the server")
    for name in (str(path), "http://127.0.0.1:1/x"):
        sent = api.post("/documents", files={"file": (name, b"The boat is white.")})
        assert sent.json()["documents"][0]["outcome"] == "stored", sent.text
        sent = api.post(
            "/import",
            content=f"The car {name} is red.".encode(),
            params={"name": name, "format": "document"},
        )
        assert sent.json()["stored"] == 1, sent.text
    assert api.post("/documents/refresh").json() == {"documents": []}
    for row in api.get("/documents").json()["documents"]:
        refused = problem(api.post(f"/documents/{row['id']}/refresh"), 400)
        assert "did not come from an address" in str(refused["detail"])
    hits = api.post("/search", json={"query": "words of the server"}).json()["hits"]
    assert all("words of the server" not in hit["memory"]["text"] for hit in hits)
