"""Memories as resources."""

from __future__ import annotations

import json

import httpx2
import pytest
from tests.surfaces.http.rest.conftest import Person, add, problem

from engrams.core.purge_certificate import find_fault


def test_an_added_memory_is_found_and_read_by_id(api: httpx2.Client) -> None:
    """What is added is found at once, read by its id or the beginning of it, and tagged with its
    version.
    """
    one = add(api, "My sister Ines plays the cello.", tags=["family"], meta={"from": "test"})
    hits = api.post("/search", json={"query": "who plays the cello?"}).json()["hits"]
    assert one in {hit["memory"]["id"] for hit in hits}
    whole = api.get(f"/memories/{one[:14]}")
    assert whole.headers["etag"] == f'"{whole.json()["version"]}"'
    assert (whole.json()["text"], whole.json()["tags"]) == (
        "My sister Ines plays the cello.",
        ["family"],
    )
    assert whole.json()["meta"]["from"] == "test"
    assert (
        api.get(f"/memories/{one}", headers={"if-none-match": whole.headers["etag"]}).status_code
        == 304
    )


def test_a_repeated_idempotency_key_stores_once(api: httpx2.Client) -> None:
    """A repeated POST with its idempotency key answers 200 and names what is there, for a text and
    for messages.
    """
    said = {
        "messages": [
            {"content": "I moved to Oslo."},
            {"role": "assistant", "content": "How is it?"},
        ],
        "session": "s1",
    }
    for body in ({"text": "The gate opens at seven."}, said):
        headers = {"idempotency-key": "k-" + str(len(body))}
        first, again = (api.post("/memories", json=body, headers=headers) for _ in range(2))
        assert (first.status_code, again.status_code) == (201, 200)
        assert [each["id"] for each in first.json()["results"]] == [
            each["id"] for each in again.json()["results"]
        ]
        assert {each["outcome"] for each in again.json()["results"]} == {"duplicate"}
    problem(api.post("/memories", json={"text": "x"}, headers={"idempotency-key": "k" * 151}), 422)


def test_an_edit_with_if_match_needs_the_current_version(api: httpx2.Client) -> None:
    """If-Match with the version edits;
    with another it is 412 and nothing changes; without, the edit is free.
    """
    one = add(api, "The gate opens at seven.")
    tag = api.get(f"/memories/{one}").headers["etag"]
    done = api.patch(
        f"/memories/{one}",
        json={"text": "The gate opens at eight.", "reason": "told so"},
        headers={"if-match": tag},
    )
    assert (done.status_code, done.json()["text"]) == (200, "The gate opens at eight.")
    assert done.headers["etag"] != tag
    for stale in (tag, '"99"', "nonsense"):
        told = problem(
            api.patch(
                f"/memories/{one}", json={"text": "The gate is shut."}, headers={"if-match": stale}
            ),
            412,
        )
        assert told["hint"]
    assert api.get(f"/memories/{one}").json()["text"] == "The gate opens at eight."
    assert (
        api.patch(f"/memories/{one}", json={"importance": 0.9, "valid_to": "2024-05-31"}).json()[
            "valid_to"
        ]
        == "2024-05-31T00:00:00Z"
    )
    assert api.patch(f"/memories/{one}", json={"valid_to": None}).json()["valid_to"] is None
    changes = api.get(f"/memories/{one}/history").json()["changes"]
    assert "told so" in {change["reason"] for change in changes}


def test_the_fact_of_an_edited_note_follows_its_text(api: httpx2.Client) -> None:
    """The fact of an edited note follows its text: the next search holds the new one alone."""
    one = add(api, "I drive a red Volvo.")
    api.patch(f"/memories/{one}", json={"text": "I drive a blue Volvo."})
    found = api.post("/search", json={"query": "What do I drive?"}).text
    assert "blue Volvo" in found and "red Volvo" not in found


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ({}, 400),
        ({"text": None}, 400),
        ({"reason": "nothing else"}, 400),
        ({"text": " "}, 400),
        ({"id": "other"}, 422),
        ({"status": "purged"}, 422),
        ({"importance": 2}, 422),
        ({"kind": "dream"}, 422),
        ({"meta": {"a": "b" * 3000}}, 400),
        ({"tags": "one"}, 422),
    ],
)
def test_invalid_edits_are_refused_and_change_nothing(
    api: httpx2.Client, body: dict[str, object], status: int
) -> None:
    """An edit of nothing, of what cannot be edited, or beyond a limit is a problem, and changes
    nothing.
    """
    one = add(api, "The well is deep.")
    problem(
        api.patch(
            f"/memories/{one}",
            content=json.dumps(body),
            headers={"content-type": "application/json"},
        ),
        status,
    )
    assert api.get(f"/memories/{one}").json()["version"] == 1


@pytest.mark.covers("S3.46")
@pytest.mark.parametrize("text", ["", "  ", "\u200b\ufeff"])
def test_an_edit_to_an_empty_text_is_refused(api: httpx2.Client, text: str) -> None:
    """An empty or invisible new text is refused as that of a new memory, and the memory stays as it
    is.
    """
    one = add(api, "The gate opens at seven.")
    told = problem(api.patch(f"/memories/{one}", json={"text": text}), 400)
    assert (told["detail"], told["hint"]) == (
        "The text is empty.",
        "Give at least one visible character.",
    )
    assert api.get(f"/memories/{one}").json()["text"] == "The gate opens at seven."


def test_a_memory_is_forgotten_restored_and_purged(api: httpx2.Client) -> None:
    """Forgotten is out of search, context and list but exported as forgotten;
    restored it is back; purged it is proven gone.
    """
    one = add(api, "The boiler code is blue heron.")
    assert (
        api.delete(f"/memories/{one}", params={"reason": "moved out"}).json()["status"]
        == "forgotten"
    )
    reads = [
        api.post(path, json={"query": "boiler code"}).text for path in ("/search", "/context")
    ] + [api.get("/memories").text]
    assert not any("heron" in read for read in reads)
    lines = [json.loads(line) for line in api.get("/export").text.splitlines()]
    assert {
        line["record"]["status"] for line in lines if line.get("record", {}).get("id") == one
    } == {"forgotten"}
    assert [
        each["id"]
        for each in api.get("/memories", params={"status": "forgotten", "text": "heron"}).json()[
            "memories"
        ]
    ].count(one) == 1
    assert api.post(f"/memories/{one}/restore").json()["status"] == "active"
    problem(api.post(f"/memories/{one}/restore"), 422)
    proof = api.post("/purge", json={"ids": [one]}).json()
    certificate = proof["certificate"]
    assert certificate["signed"]["memories"] == [one]
    assert find_fault(certificate) == ""
    assert proof["proven"]
    assert sum(proof["removed"].values()) >= 1
    assert set(proof["remaining"].values()) == {0}
    assert "heron" not in api.get("/export").text
    assert "heron" not in api.get(f"/memories/{one}").text


def test_memories_about_a_thing_are_listed_and_purged(api: httpx2.Client) -> None:
    """The list changes nothing, says what names the thing, and its ids are what a purge takes."""
    one = add(api, "Zelda sells lamps.")
    other = add(api, "The lamp shop opens at nine.")
    found = api.post("/purge/about", json={"about": "zelda"}).json()["memories"]
    assert [each["memory"]["id"] for each in found if each["certain"]] == [one]
    assert api.get(f"/memories/{one}").json()["status"] == "active"
    assert api.post(
        "/purge", json={"ids": [each["memory"]["id"] for each in found if each["certain"]]}
    ).json()["proven"]
    assert api.get(f"/memories/{other}").json()["text"] and "Zelda" not in api.get("/export").text
    problem(api.post("/purge/about", json={"about": ""}), 422)


def test_lists_are_paged_and_filtered(api: httpx2.Client) -> None:
    """A list goes on where `next` says, without gaps and repeats;
    kind, tag, text and order choose.
    """
    ids = [
        add(
            api,
            f"Locker {number} holds crate {number * 7}.",
            tags=["odd" if number % 2 else "even"],
        )
        for number in range(5)
    ]
    seen: list[str] = []
    after = ""
    while True:
        page = api.get(
            "/memories", params={"limit": 2, "kind": "note", "order": "oldest", "after": after}
        ).json()
        seen += [each["id"] for each in page["memories"]]
        after = page["next"]
        if not after:
            break
    assert seen == ids
    assert {
        each["id"] for each in api.get("/memories", params={"tag": "odd"}).json()["memories"]
    } == {ids[1], ids[3]}
    assert [
        each["id"]
        for each in api.get("/memories", params={"text": "crate 28", "kind": "note"}).json()[
            "memories"
        ]
    ] == [ids[4]]
    for wrong in ({"limit": 0}, {"kind": "dream"}, {"order": "best"}, {"as_of": "then"}):
        problem(api.get("/memories", params=wrong), 422)
    assert api.get("/memories", params={"after": "no-such-id"}).status_code in (200, 400, 404)


@pytest.mark.parametrize(
    "text",
    [
        "\u202eRTL \u05d0\u05d1",
        "👩‍👩‍👧‍👦 " * 20,
        "東京タワーの近くに住んでいます",
        "../../etc/passwd\0",
        "a" * 69_000,
    ],
)
def test_hostile_text_comes_back_unchanged(api: httpx2.Client, text: str) -> None:
    """Any text comes back as it was, without NUL."""
    assert api.get(f"/memories/{add(api, text)}").json()["text"] == text.replace("\0", "").strip()


@pytest.mark.parametrize(
    ("content", "status"),
    [
        (b"", 422),
        (b"{", 422),
        (b"[]", 422),
        (b'{"text": ""}', 400),
        (b'{"text": "x", "messages": [{"content": "y"}]}', 422),
        (b'{"text": "x", "owner": "bob"}', 422),
        (b'{"messages": []}', 422),
        (b'{"text": "x", "meta": {"a": NaN}}', 400),
        (b'{"text": "x", "meta": {"a": "' + b"b" * 3000 + b'"}}', 400),
        (b'{"text": "' + b"a" * 70_001 + b'"}', 400),
        (b'{"text": "' + b"a" * 1_200_000 + b'"}', 413),
        (b'{"text": "x", "meta": ' + b"[" * 100_000 + b"]" * 100_000 + b"}", 422),
        (b'{"text": "x", "meta": {"a": ' + b"[" * 300 + b"]" * 300 + b"}}", 422),
        (b'\xff\xfe{"text": "x"}', 400),
    ],
)
def test_unusable_bodies_are_refused_with_a_hint(
    api: httpx2.Client, content: bytes, status: int
) -> None:
    """A body that is no JSON, of another form, or beyond a limit is a problem with a hint, never a
    crash.
    """
    answer = api.post("/memories", content=content, headers={"content-type": "application/json"})
    if answer.status_code != status:
        assert 400 <= answer.status_code < 500, answer.text
    problem(answer, answer.status_code)
    assert "aaaa" not in answer.text
    assert api.get("/memories").json()["memories"] == []


def test_lone_surrogates_are_replaced(api: httpx2.Client) -> None:
    """Half a character becomes a question mark wherever it is sent, and nothing crashes."""
    half = "a\ud800b"

    def sent(method: str, path: str, body: object) -> httpx2.Response:
        return api.request(
            method, path, content=json.dumps(body), headers={"content-type": "application/json"}
        )

    added = sent(
        "POST", "/memories", {"text": half, "tags": [half], "session": half, "meta": {half: half}}
    )
    one = added.json()["results"][0]["id"]
    held = api.get(f"/memories/{one}").json()
    assert (held["text"], held["tags"], held["meta"]) == ("a?b", ["a?b"], {"a?b": "a?b"})
    assert (
        sent("PATCH", f"/memories/{one}", {"subject": half, "reason": half}).json()["subject"]
        == "a?b"
    )
    for path in ("/search", "/explain", "/context"):
        assert sent("POST", path, {"query": half}).status_code == 200
    assert (
        sent(
            "POST",
            "/search",
            {"query": half, "where": [{"field": "tags", "op": "contains", "value": half}]},
        ).status_code
        == 200
    )
    problem(sent("POST", "/purge", {"ids": [half]}), 404)


def test_a_body_without_a_length_is_counted(api: httpx2.Client) -> None:
    """A streamed body stops being read at the limit."""
    answer = api.post(
        "/memories",
        content=(b" " * 65_536 for _ in range(40)),
        headers={"content-type": "application/json"},
    )
    problem(answer, 413)


def test_unusable_scope_names_are_refused(person: Person, api: httpx2.Client) -> None:
    """A user, project or conversation that cannot be one is refused; any other text is a name."""
    problem(person("x" * 300).get("/memories"), 400)
    problem(person("%00").get("/memories"), 400)
    problem(api.get("/memories", params={"project": "a\nb"}), 400)
    for name in ("J%C3%BCrgen", "../bob", "%E6%9D%B1"):
        add(person(name), "Somebody was here.", kind="note")
        assert len(person(name).get("/memories", params={"kind": "note"}).json()["memories"]) == 1


def test_a_project_does_not_see_another_project(api: httpx2.Client) -> None:
    """What is said in a project is found there and by the whole, not in another project."""
    one = api.post(
        "/memories", params={"project": "boat"}, json={"text": "The mooring costs 40 a night."}
    ).json()["results"][0]
    assert one["scope"][2:] == ["project", "boat"]

    def found(**where: str) -> bool:
        return "mooring" in api.post("/search", params=where, json={"query": "mooring costs"}).text

    assert (found(project="boat"), found(), found(project="house")) == (True, True, False)
    assert found(project="boat", conversation="c1")
    assert ["user", api.headers["x-engrams-user"], "project", "boat"] in api.get("/scopes").json()[
        "scopes"
    ]


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("PUT", "/memories", 405),
        ("DELETE", "/memories", 405),
        ("POST", "/memories/abcdefgh", 405),
        ("GET", "/search", 405),
        ("GET", "/memories/abcdefgh/other", 404),
        ("GET", "/memories/nothing-like-it", 404),
        ("PATCH", "/jobs/retry/x", 404),
    ],
)
def test_unknown_paths_and_methods_never_reach_an_upstream(
    api: httpx2.Client, method: str, path: str, status: int
) -> None:
    """Another method or path under ours is a problem here, and never goes to an upstream."""
    problem(api.request(method, path), status)
