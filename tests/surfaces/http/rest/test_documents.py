"""Documents over REST: uploaded, found with their place, listed, forgotten and erased."""

from __future__ import annotations

import httpx2
from bench.documents import making
from tests.surfaces.http.rest.conftest import Person
from tests.surfaces.http.rest.test_quarantine import problem

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
