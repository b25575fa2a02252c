"""Tags over the API, on a file and on Postgres."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.store import postgres
from tests.surfaces.fleet import ask, send, server

LONGEST = 200


@pytest.mark.parametrize(
    "store",
    [
        "file",
        pytest.param(
            "postgres",
            marks=[
                pytest.mark.postgres,
                pytest.mark.skipif(not postgres.INSTALLED, reason=postgres.MISSING),
            ],
        ),
    ],
)
def test_a_tag_is_as_long_on_every_store(home: Path, store: str) -> None:
    """The longest tag is kept and found, whatever its letters;
    a longer one is refused with 422 and a hint, and nothing of it is stored.
    """
    tag = "\U0001f41d" * LONGEST
    with server(home, postgres.empty_database() if store == "postgres" else "") as url:
        kept = ask(
            url, "memories", {"text": "My bees live behind the barn.", "tags": [tag]}, "ann"
        )["results"][0]["id"]
        assert json.loads(send(url, "GET", f"/v1/memories/{kept}", "ann")[1])["tags"] == [tag]
        body = {"text": "My goats live in the barn.", "tags": ["ok", "y" * (LONGEST + 1)]}
        for method, path in (("POST", "/v1/memories"), ("PATCH", f"/v1/memories/{kept}")):
            status, text = send(url, method, path, "ann", body)
            problem = json.loads(text)
            assert (status, problem["status"], problem["title"]) == (422, 422, "InputError")
            assert f"{LONGEST} characters" in problem["detail"]
            assert problem["hint"]
        (left,) = json.loads(send(url, "GET", "/v1/memories", "ann")[1])["memories"]
        assert (left["id"], left["tags"], left["text"]) == (
            kept,
            [tag],
            "My bees live behind the barn.",
        )
