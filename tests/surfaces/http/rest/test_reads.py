"""Search, explain, context, numbers, jobs, files."""

from __future__ import annotations

import json

import httpx2
from tests.surfaces.http.rest.conftest import Person, Served, add, problem

from engrams.ports import EXTRACT, JobClaim, JobFailure, JobSpec


def test_explain_tells_all_and_changes_nothing(api: httpx2.Client) -> None:
    """Every candidate with its scores and the reason it was dropped;
    no memory is different afterwards.
    """
    for number in range(12):
        add(api, f"Crate {number} is stored in hall {number % 3}.")
    before = api.get("/export").text
    told = api.post("/explain", json={"query": "which crate is in hall 2?", "limit": 3}).json()
    assert len(told["hits"]) == 3
    assert told["rows"]
    assert {row["id"] for row in told["rows"] if not row["dropped"]} == {
        hit["memory"]["id"] for hit in told["hits"]
    }
    assert all(row["parts"] for row in told["rows"][:3])
    assert api.get("/export").text == before


def test_a_search_filters_by_field_kind_and_time(api: httpx2.Client) -> None:
    """Only what passes every test, of these kinds, as it was at that time."""
    one = add(api, "The red kayak hangs in the barn.", tags=["boat"])
    add(api, "The blue kayak lies at the pier.")
    asked = {
        "query": "where is the kayak?",
        "where": [{"field": "tags", "op": "contains", "value": "boat"}],
    }
    assert [hit["memory"]["id"] for hit in api.post("/search", json=asked).json()["hits"]] == [one]
    assert api.post("/search", json={"query": "kayak", "kinds": ["procedure"]}).json()["hits"] == []
    assert api.post("/search", json={"query": "kayak", "as_of": "2001-01-01"}).json()["hits"] == []
    assert api.post("/search", json={"query": "kayak", "limit": 0}).json()["hits"] == []
    problem(
        api.post("/search", json={"query": "kayak", "where": [{"field": "no_such", "value": 1}]}),
        400,
    )
    problem(
        api.post(
            "/search",
            json={"query": "kayak", "where": [{"field": "tags", "op": "like", "value": 1}]},
        ),
        422,
    )
    problem(
        api.post(
            "/search",
            json={"query": "kayak", "where": [{"field": "scope", "op": "in", "value": [1]}]},
        ),
        422,
    )
    problem(api.post("/search", json={}), 422)


def test_the_same_words_in_another_order_are_both_found(api: httpx2.Client) -> None:
    """Who lent to whom is told apart; the same statement with its words moved is found once."""
    texts = [
        "Tilda lent Ruth her red bicycle.",
        "Ruth lent Tilda her red bicycle.",
        "Now I live in Bergen.",
        "I live in Bergen now.",
    ]
    for text in texts:
        api.post("/memories", json={"text": text})
    found = [
        hit["memory"]["text"]
        for hit in api.post("/search", json={"query": "who lent the red bicycle?"}).json()["hits"]
    ]
    assert set(texts[:2]) <= set(found)
    found = [
        hit["memory"]["text"]
        for hit in api.post("/search", json={"query": "where do I live, in Bergen?"}).json()["hits"]
    ]
    assert len(set(texts[2:]) & set(found)) == 1


def test_context_keeps_its_budget(api: httpx2.Client) -> None:
    """A context is never over the tokens asked for."""
    for number in range(10):
        add(api, f"Friend number {number} likes the colour {number * 11}.")
    for tokens in (0, 20, 200):
        made = api.post("/context", json={"query": "which colour?", "tokens": tokens}).json()
        assert made["tokens"] <= tokens
    assert "likes the colour" in made["text"]


def test_an_export_imports_unchanged_and_only_once(api: httpx2.Client, person: Person) -> None:
    """An export imports into another person's empty memory as it was, and a second time stores
    nothing.
    """
    one = add(api, "The spare key hangs in the shed.", tags=["key"])
    api.delete(f"/memories/{add(api, 'The old lock is broken.')}")
    out = api.get("/export")
    assert out.headers["content-type"].startswith("application/jsonl")
    other = person()
    first = other.post("/import", content=out.content).json()
    assert first["stored"] >= 2
    assert not first["bad"]
    assert other.get(f"/memories/{one}").json()["tags"] == ["key"]
    assert (
        other.post("/import", content=out.content, params={"format": "engrams"}).json()["stored"]
        == 0
    )
    assert other.get("/memories", params={"status": "forgotten"}).json()["memories"]


def test_an_import_names_unreadable_lines(api: httpx2.Client) -> None:
    """A broken line is named, and with skip_bad the rest imported;
    an unknown format is a problem.
    """
    lines = [
        json.dumps({"role": "user", "content": "I keep bees."}),
        "{broken",
        json.dumps({"role": "user", "content": "I sell honey."}),
    ]
    body = "\n".join(lines).encode()
    assert (
        "Line 2" in api.post("/import", content=body, params={"format": "turns"}).json()["detail"]
    )
    report = api.post(
        "/import", content=body, params={"format": "turns", "skip_bad": "true"}
    ).json()
    assert (report["stored"], len(report["bad"])) == (2, 1)
    problem(api.post("/import", content=b"x", params={"format": "zip"}), 422)


def test_stats_count_only_this_persons_memories(api: httpx2.Client) -> None:
    """The numbers are this person's."""
    assert sum(api.get("/stats").json()["status"].values()) == 0
    add(api, "The attic window sticks.")
    assert api.get("/stats").json()["kind"]["note"] == 1


def test_tags_are_counted_by_use(api: httpx2.Client, person: Person) -> None:
    """The most used tag comes first, with the memories that are active; parts of memory, beginnings
    and limits count, and nobody else's tags are there.
    """
    assert api.get("/tags").json() == {"tags": [], "more": False}
    lost = add(api, "The old hive fell over.", tags=["Bees", "loss"])
    add(api, "My hives are green.", tags=["Bees"])
    add(api, "The queen has a blue dot.", tags=["Bees", "beeswax"])
    work = api.post(
        "/memories", params={"project": "shop"}, json={"text": "Sell.", "tags": ["ads"]}
    )
    assert work.status_code == 201

    def count(**params: object) -> list[tuple[str, int]]:
        listed = api.get("/tags", params=params).json()["tags"]
        return [(row["tag"], row["memories"]) for row in listed]

    assert count() == [("Bees", 3), ("ads", 1), ("beeswax", 1), ("loss", 1)]
    assert count(prefix="bEE") == [("Bees", 3), ("beeswax", 1)]
    assert count(project="garden") == [("Bees", 3), ("beeswax", 1), ("loss", 1)]
    assert api.delete(f"/memories/{lost}").status_code == 200
    assert count() == [("Bees", 2), ("ads", 1), ("beeswax", 1)]
    assert api.get("/tags", params={"limit": 2}).json()["more"] is True
    assert api.get("/tags", params={"limit": 3}).json()["more"] is False
    assert person().get("/tags").json()["tags"] == []
    for wrong in ({"limit": 0}, {"limit": 1001}, {"prefix": "x" * 201}):
        problem(api.get("/tags", params=wrong), 422)


def test_a_list_of_tags_ends_at_the_setting(api: httpx2.Client) -> None:
    """No more tags than `limits.results` are in one answer, whatever was asked for."""
    for part in range(2):
        add(api, f"Label {part}.", tags=[f"t{part}-{number}" for number in range(60)])
    listed = api.get("/tags", params={"limit": 1000}).json()
    assert (len(listed["tags"]), listed["more"]) == (100, True)


def test_a_failed_job_is_seen_and_retried_by_its_owner_only(served: Served, person: Person) -> None:
    """A failed job shows to its owner alone, who may retry it; nobody else can."""
    ann = person()
    bob = person()
    store = served.engine.store
    now = served.engine.now()
    scope = f"user/{ann.headers['x-engrams-user']}"
    store.enqueue((JobSpec(EXTRACT + "-x", scope + "|1", {"scope": scope, "items": []}),), now)
    job = store.claim(JobClaim("test", now, kinds=(EXTRACT + "-x",)))
    assert job
    store.fail(JobFailure(job.lease, "the plum tree failed", now, None))
    assert [(each["id"], each["error"]) for each in ann.get("/jobs").json()["dead"]] == [
        (job.id, "the plum tree failed")
    ]
    assert "plum" not in bob.get("/jobs").text
    problem(bob.post("/jobs/retry", json={"ids": [job.id]}), 404)
    assert bob.post("/jobs/retry", json={}).json()["retried"] == 0
    assert ann.post("/jobs/retry", json={}).json()["retried"] == 1


def test_two_owners_never_meet(served: Served, person: Person) -> None:
    """On every route, with the other's ids and cursors, nobody sees or changes what is another's."""
    ann = person()
    bob = person()
    hers = add(ann, "Ann hid the xylophone in the cellar.", tags=["secret"])
    add(ann, "Ann hid the xylophone twice.")
    add(bob, "Bob has no instrument.")
    answers = [
        bob.get(f"/memories/{hers}"),
        bob.get(f"/memories/{hers[:10]}"),
        bob.get(f"/memories/{hers}/history"),
        bob.patch(f"/memories/{hers}", json={"text": "taken"}),
        bob.delete(f"/memories/{hers}"),
        bob.post(f"/memories/{hers}/restore"),
        bob.post("/purge", json={"ids": [hers]}),
    ]
    assert {answer.status_code for answer in answers} == {404}
    ask = {"query": "where is the xylophone hidden?"}
    answers += [bob.post(path, json=ask) for path in ("/search", "/explain", "/context")]
    answers += [bob.post("/search", json={**ask, "where": [{"field": "id", "value": hers}]})]
    answers += [
        bob.get("/memories", params=sent)
        for sent in ({}, {"after": hers}, {"tag": "secret"}, {"text": "xylophone"})
    ]
    paths = httpx2.get(served.url + "/openapi.json", timeout=60).json()["paths"]
    readable = [path for path, held in paths.items() if "get" in held and "{" not in path]
    answers += [bob.get(path.removeprefix("/v1")) for path in readable if path.startswith("/v1/")]
    answers += [bob.get("/memories", params={"project": "x/../" + ann.headers["x-engrams-user"]})]
    for answer in answers:
        assert "xylophone" not in answer.text.replace(ask["query"], "")
        assert ann.headers["x-engrams-user"] not in answer.text
    assert ann.get(f"/memories/{hers}").json()["version"] == 2


def test_an_unusable_model_server_address_is_refused(api: httpx2.Client) -> None:
    """The reader's fault, not the server's: 422, with how it is given."""
    told = problem(api.post("/settings/model/servers", json={"url": "\u00a9"}), 422)
    for answer in (
        api.put("/settings/model", json={"provider": "ollama"}),
        api.post("/settings/model/test", json={"provider": "ollama"}),
    ):
        assert "chat.model" in str(problem(answer, 422))
    assert "https://host/v1" in str(told)
