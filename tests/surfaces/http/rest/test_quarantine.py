"""The quarantine and the scan for secrets over REST."""

from __future__ import annotations

import httpx2
from tests.surfaces.http.rest.conftest import Person, Served, add, problem

from engrams.core import Scope
from engrams.ports import RecordChange, WriteBatch

_KEY = "ghp_" + "a1B2c3D4e5" * 3 + "f6G7h8"


def test_a_kept_out_text_is_listed_and_let_in(api: httpx2.Client, person: Person) -> None:
    """A pasted text is listed with its reason; once allowed it is learned, and listed no more.

    Another person neither sees it nor lets it in.
    """
    assert api.get("/quarantine").json() == {"messages": []}
    message = {"role": "user", "content": "Summarise this:\n\nI work at Nordea."}
    api.post("/memories", json={"messages": [message]}).raise_for_status()
    (kept_out,) = api.get("/quarantine").json()["messages"]
    assert kept_out["parts"] == [
        {"reason": "a text to work on", "text": "Summarise this:\n\nI work at Nordea."}
    ]
    facts = api.get("/memories", params={"kind": "fact"}).text
    assert "Nordea" not in facts

    other = person()
    assert other.get("/quarantine").json() == {"messages": []}
    problem(other.post(f"/quarantine/{kept_out['id']}/allow"), 404)

    receipt = api.post(f"/quarantine/{kept_out['id']}/allow").json()
    assert receipt["outcome"] == "stored"
    assert "Nordea" in api.get("/memories", params={"kind": "fact"}).text
    assert api.get("/quarantine").json() == {"messages": []}


def test_nothing_that_was_not_kept_out_is_let_in(api: httpx2.Client) -> None:
    """A memory without foreign parts, and an unknown id, are 404."""
    problem(api.post(f"/quarantine/{add(api, 'The lamp is green.')}/allow"), 404)
    problem(api.post("/quarantine/01gzxtbkc053aqtsdqqtgecdnm/allow"), 404)


def test_stored_secrets_are_listed_and_removed(served: Served, api: httpx2.Client) -> None:
    """The scan names a secret without repeating it, and removes it with a proof if asked to."""
    id = add(api, "A note of the deploy.")
    owner = Scope(("user", api.headers["X-Engrams-User"]))
    # As homes have it that stored it before it was known to be a secret.
    change = RecordChange(owner, id, {"text": f"Deploy with {_KEY}."}, "edit")
    served.engine.store.commit(WriteBatch("user", "", served.engine.now(), changes=(change,)))
    answer = api.post("/secrets/scan", json={})
    (found,) = answer.json()["secrets"]
    assert (found["id"], found["field"], found["kind"]) == (id, "text", "key")
    assert _KEY not in answer.text
    assert not answer.json()["proven"]
    assert _KEY in api.get(f"/memories/{id}").text

    redacted = api.post("/secrets/scan", json={"redact": True})
    assert redacted.json()["proven"]
    assert _KEY not in redacted.text
    assert api.get(f"/memories/{id}").json()["text"] == "Deploy with [removed]."
    assert api.post("/secrets/scan", json={}).json()["secrets"] == []
