"""The chat proxy's document (002), played against ``engrams serve --preset proxy --openai-base-url
…`` before a scripted model server.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from dulwich.errors import NotGitRepository
from dulwich.repo import Repo
from tests.acceptance.process import Door, eventually, run, served

from engrams.testing import ReceivedModelRequest, ScriptedModel, ScriptedReply

HIDDEN = "Below are numbered messages"


def learn(request: ReceivedModelRequest) -> Any:
    """A model that repeats each of the last user's sentences as a fact, and keeps what contradicts
    apart.
    """
    text = request.prompt
    if "keep the summary of a conversation" in text:
        return "Summary: " + " ".join(re.findall(r"Fact \w+", text))[:200]
    if HIDDEN in text:
        said = re.findall(
            r'^\[(\d+)\].*?: "(.*)"$', text.partition("The messages:")[2], re.MULTILINE
        )
        rows = [
            (number, part.strip())
            for number, whole in said
            for part in whole.split(". ")
            if part.strip()
        ]
        return {
            "statements": [
                {
                    "turn": int(n),
                    "text": f"The user: {p}",
                    "quote": p,
                    "subject": "user",
                    "predicate": "noted",
                    "object": p,
                }
                for n, p in rows
            ]
        }
    if "New statements have come in" in text:
        return reconcile(text)
    if request.text == "quiet":
        return ScriptedReply("")
    return ScriptedReply("Noted." if "barn" in request.text else f"reply to {request.text}")


def reconcile(text: str) -> Any:
    """ "I hate pizza" replaces what is known of pizza, a club refines tennis;

    everything else is new.
    """
    known, _, news = text.partition("Known statements:")[2].partition("New statements:")
    old = [
        int(number)
        for number, said in re.findall(r"^(\d+)\.? (.*)$", known, re.MULTILINE)
        if "pizza" in said or "tennis" in said
    ]
    rows = re.findall(r"^(\d+)\.? (.*)$", news, re.MULTILINE)
    wanted = {"hate pizza": "replace", "Elm Park": "refine"}
    verdicts = [
        (int(number), next((wanted[part] for part in wanted if part in said and old), "add"))
        for number, said in rows
    ]
    return {
        "decisions": [
            {
                "new": n,
                "reason": "r",
                "known": [] if v == "add" else old,
                "earlier": [],
                "verdict": v,
                "confidence": "high",
            }
            for n, v in verdicts
        ]
    }


@pytest.fixture(scope="module")
def door(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Door]:
    home = tmp_path_factory.mktemp("proxy") / "home"
    options = (
        "--top-k 5 --mmr-lambda 0.7 --recency-weight 0.2 --threshold 0.35 --host 127.0.0.1"
        " --summarization --git-versioning"
    )
    with (
        ScriptedModel(answer=learn) as model,
        served(
            "proxy", home, model, "--openai-base-url", f"{model.url}/v1", *options.split()
        ) as door,
    ):
        yield door


def facts(door: Door, conversation: str) -> list[Path]:
    return door.files(f"entries/user/ann/conversation/{conversation}/facts/*.md")


def waiting(door: Door) -> bool:
    """True while something is left to learn."""
    counts = door.get("/v1/jobs")["jobs"].get("extract", {})
    return bool(counts.get("waiting") or counts.get("running"))


@pytest.mark.covers("S2.1", "S2.3", "S2.5", "S2.10", "S2.13", "S2.15", "S2.34", "S2.37", "S2.38")
def test_a_message_becomes_readable_files(door: Door) -> None:
    """One chat through any OpenAI client:
    the reply comes back; turn, answer and fact lie there as Markdown.
    """
    answer = door.chat("Fact one: Alice hikes in the Alps", memory_id="c1", unknown_field={"x": 1})
    body = answer.json()
    assert body["choices"][0]["message"]["content"] == "reply to Fact one: Alice hikes in the Alps"
    assert body.get("memory_hits") == []
    upstream = next(request for request in door.model.requests if request.schema is None)
    assert upstream.body["unknown_field"] == {"x": 1}
    assert not {"temperature", "max_tokens", "memory_id"} & upstream.body.keys()
    (fact,) = eventually(lambda: facts(door, "c1"))
    head, text = fact.read_text().split("---\n", 2)[1:]
    assert text.strip() == "The user: Fact one: Alice hikes in the Alps"
    assert "role: memory" in head
    assert re.search(r"created_at: '?\d{4}-\d\d-\d\dT", head)
    assert "source_id:" in head
    (user,) = door.files("entries/user/ann/conversation/c1/turns/user/*.md")
    (assistant,) = door.files("entries/user/ann/conversation/c1/turns/assistant/*.md")
    assert user.read_text().rstrip().endswith("Alps")
    assert "role: assistant" in assistant.read_text()
    health = door.get("/health")
    assert health["status"] == "ok"
    assert health["default_top_k"] == 5
    assert health["openai_base_url"].startswith(door.model.url)
    assert health["memory_store"].startswith(str(door.home))
    eventually(lambda: not waiting(door))
    assert facts(door, "c1") == [fact], "nothing is taken from the assistant's words"
    asked = [
        request.prompt
        for request in door.model.requests
        if "New statements have come in" in request.prompt
    ]
    assert not [prompt for prompt in asked if "Alps" in prompt], "a first fact is put to no model"


@pytest.mark.covers("S2.34")
def test_a_fact_amid_a_long_message_is_learned(door: Door) -> None:
    """The model that extracts reads a long message as a whole, not only its two ends."""
    prose = "and then we walked on " * 200
    door.chat(f"{prose}. Fact mid: the sauna is in the old mill. {prose}", memory_id="c60")
    (fact,) = eventually(lambda: facts(door, "c60"))
    assert "the sauna is in the old mill" in fact.read_text("utf-8")


@pytest.mark.covers("S2.15", "S2.31", "S2.45", "S2.46", "S2.55")
@pytest.mark.slow
def test_the_memory_goes_up_before_the_next_message(door: Door) -> None:
    """The summary first, then lines "[role] content" best first, then the user's message,
    unchanged; one summary.md per conversation.
    """
    door.chat("Fact one: Alice hikes in the Alps", memory_id="c1")
    summary = eventually(
        lambda: door.files("entries/user/ann/conversation/c1/summaries/summary.md")
    )[0]
    assert "summary_kind:" in summary.read_text()
    assert "role: summary" in summary.read_text()
    assert "conversation_id: c1" in summary.read_text()
    door.chat("Where does Alice hike?", memory_id="c1")
    last = [
        request
        for request in door.model.requests
        if request.schema is None and "Where does Alice" in request.text
    ][-1]
    *_, memory, question = last.messages
    assert question == ("user", "Where does Alice hike?")
    assert memory[1].index("<summary>") < memory[1].index("[user] Fact one: Alice hikes")
    assert "score" not in memory[1]
    assert "# Memory" not in memory[1]
    found = door.post(
        "/v1/search", {"query": "hike", "where": [{"field": "role", "value": "assistant"}]}
    )
    assert {hit["memory"]["role"] for hit in found["hits"]} <= {"assistant"}


@pytest.mark.covers("S2.30", "S2.32")
def test_a_request_without_memory_goes_up_byte_for_byte(door: Door) -> None:
    """Nothing near: the upstream gets the very bytes. So with top_k 0."""
    door.chat("Fact one: Alice hikes in the Alps", memory_id="c1")
    eventually(lambda: facts(door, "c1"))
    door.chat("Where does Alice hike?", memory_id="c1")
    assert "Alps" in door.prompt_of("Where does Alice hike?"), "without top_k there is memory"
    for text, more in (("zxqv wvut", b""), ("Where does Alice hike?", b', "memory_top_k": 0')):
        before = len(door.model.requests)
        body = b'{"model": "m", "odd": 1.50, "messages": [{"role": "user", "content": "%s"}]%s}' % (
            text.encode(),
            more,
        )
        headers = {
            "content-type": "application/json",
            "x-engrams-conversation": "c1" if more else "empty",
        }
        assert (
            door.client.post("/v1/chat/completions", content=body, headers=headers).status_code
            == 200
        )
        sent = next(r for r in door.model.requests[before:] if r.schema is None and r.text == text)
        assert sent.messages == (("user", text),)
        assert sent.body["odd"] == 1.50


@pytest.mark.covers("S2.25", "S2.36", "S2.52")
def test_conversations_are_apart_and_share_the_global_one(door: Door) -> None:
    """What one conversation was told neither shows in another nor replaces there, and a request
    that names none is of the one called default; what is told to the global one shows in all,
    and the global one shows nothing of the others.
    """
    door.chat("Fact two: my parrot is called Rio", memory_id="c2")
    eventually(lambda: facts(door, "c2"))
    door.chat("What is my parrot called?", memory_id="c3")
    assert "Rio" not in door.sent()
    for name, text in (("c2p", "Fact p: I love pizza"), ("c3p", "Fact q: I hate pizza")):
        door.chat(text, memory_id=name)
        eventually(lambda name=name: facts(door, name))
    assert facts(door, "c2p"), "what is said elsewhere replaces nothing here"
    assert not door.files("deleted/user/ann/conversation/c2p/facts/*.md")
    door.chat("What is my parrot called now?")
    assert "Rio" not in door.sent()
    door.chat("Fact r: the ladder is in the loft")
    eventually(lambda: facts(door, "default"))
    door.chat("Where is the ladder?", memory_id="c3")
    assert "loft" not in door.sent()
    door.chat("Where is the ladder now?")
    assert "loft" in door.sent()
    door.chat("Fact three: the office door code is blue lemon", memory_id="global")
    eventually(lambda: door.files("entries/user/ann/facts/*.md"))
    door.chat("What is the office door code?", memory_id="c3")
    assert "blue lemon" in door.sent()
    door.chat("What is my parrot called, and the office door code?", memory_id="global")
    assert "blue lemon" in door.sent()
    assert "Rio" not in door.sent()


@pytest.mark.slow
@pytest.mark.covers("S2.25", "S2.48", "S2.55")
def test_a_conversation_means_the_same_at_every_door(door: Door, tmp_path: Path) -> None:
    """The header counts over REST, too, and global is the person's own; an item's conversation
    counts more than the command's; files' names of fields filter.
    """
    body = {"text": "The saw hangs in the shed"}
    stored = door.post("/v1/memories", body, 201, X_Engrams_Conversation="c40")
    assert stored["results"][0]["scope"] == ["user", "ann", "conversation", "c40"]
    body = {"text": "The axe hangs in the barn"}
    stored = door.post("/v1/memories?conversation=global", body, 201)
    assert stored["results"][0]["scope"] == ["user", "ann"]
    items = [
        {"content": "The violin is Italian", "conversation_id": "c41"},
        {"content": "The cello is German", "conversation_id": "global"},
        "The drum is loud",
    ]
    (tmp_path / "items.json").write_text(json.dumps(items))
    door.run("add", "-q", "-f", str(tmp_path / "items.json"), "-c", "c42")

    def listed(*tests: str) -> str:
        words = [word for test in tests for word in ("--where", test)]
        return door.run("list", "--status", "all", "--json", *words)

    assert "violin" in listed("conversation_id=c41", "created_at>=2020-01-01")
    assert "drum" not in listed("conversation_id=c41")
    assert "drum" in listed("conversation_id=c42")
    assert "violin" not in listed("conversation_id=c4")
    assert "violin" not in listed("created_at<2020-01-01")
    assert "violin" not in listed("summary_kind=conversation")
    either = '{"$or": [{"conversation_id": "c41"}, {"text": {"contains": "drum"}}]}'
    assert "violin" in listed(either)
    assert "drum" in listed(either)
    assert "cello" not in listed(either)
    assert "drum" not in listed(either, "conversation_id=c41")
    assert "is no filter" in door.run("list", "--where", '{"$or": ', status=1)
    page = door.client.get("/v1/memories", params={"where": either})
    assert {memory["text"] for memory in page.json()["memories"]} >= {
        "The violin is Italian",
        "The drum is loud",
    }
    assert "cello" not in page.text
    assert door.client.get("/v1/memories", params={"where": "speaker=Ann"}).status_code == 400
    asked = {"query": "the violin and the drum", "where": json.loads(either)}
    hits = door.post("/v1/search", asked)["hits"]
    assert {hit["memory"]["text"] for hit in hits} == {"The violin is Italian", "The drum is loud"}
    unknown = {"query": "x", "where": {"speaker": {"like": "A"}}}
    assert "no operator" in door.post("/v1/search", unknown, 400)["detail"]
    assert "violin" in listed("replaced_by=")
    seen = [
        door.client.get("/v1/memories", params={"conversation": "c43"}).text,
        door.client.get("/v1/memories", params={"conversation": "global"}).text,
        door.run("list", "-c", "global"),
    ]
    assert all("axe" in text and "cello" in text for text in seen)
    assert not any("saw" in text or "violin" in text for text in seen)


def test_what_was_said_more_exactly_is_still_so(door: Door) -> None:
    """The first, vaguer message is recalled without a mark that it is over."""
    for text in ("I play tennis", "I play tennis at the Elm Park club every Tuesday"):
        door.chat(text, memory_id="c31")
        eventually(lambda text=text: any(text in fact.read_text() for fact in facts(door, "c31")))
    eventually(lambda: door.files("deleted/user/ann/conversation/c31/facts/*.md"))
    door.chat("Do I play tennis?", memory_id="c31")
    assert "[user] I play tennis" in door.prompt_of("Do I play tennis?")
    assert "no longer so" not in door.prompt_of("Do I play tennis?")


@pytest.mark.covers("S2.35")
def test_one_message_gives_three_facts_at_most(door: Door) -> None:
    """Of ten statements in one message three are kept."""
    door.chat(
        ". ".join(
            f"Fact {name} likes the colour number {place}"
            for place, name in enumerate("abcdefghij")
        ),
        memory_id="c4",
    )
    eventually(lambda: len(facts(door, "c4")) >= 3)
    assert len(facts(door, "c4")) == 3


@pytest.mark.covers("S2.22", "S2.23", "S2.24")
def test_each_request_is_a_commit(door: Door) -> None:
    """A repository with an ignore file from the start;
    each request is committed by itself, and nothing changed is no commit.
    """

    def commits() -> int:
        try:
            with Repo(str(door.home / "vault")) as repo:
                return sum(1 for _ in repo.get_walker())
        except (KeyError, NotGitRepository):
            return 0  # it is just being made

    door.chat("Fact zero is about commits", memory_id="c5")
    eventually(lambda: commits() >= 1)
    eventually(lambda: facts(door, "c5"))
    before = commits()
    for place in range(3):
        door.chat(f"Fact number{place} is about commits", memory_id="c5")
        eventually(lambda place=place: commits() >= before + place + 1)
    assert (door.home / "vault" / ".gitignore").is_file()


@pytest.mark.covers("S2.8")
def test_a_stream_arrives_as_it_was_sent(door: Door) -> None:
    """Bytes to [DONE] as the upstream sent them;
    the user's turn is there before the first piece, the answer after the last.
    """
    body = {
        "model": "m",
        "messages": [{"role": "user", "content": "Fact four streams"}],
        "stream": True,
        "memory_id": "c6",
    }
    with door.client.stream("POST", "/v1/chat/completions", json=body) as answer:
        pieces = answer.iter_bytes()
        got = next(pieces)
        eventually(lambda: door.files("entries/user/ann/conversation/c6/turns/user/*.md"))
        got += b"".join(pieces)
    assert got.rstrip().endswith(b"data: [DONE]")
    eventually(lambda: door.files("entries/user/ann/conversation/c6/turns/assistant/*.md"))


@pytest.mark.covers("S2.4", "S2.6", "S2.7")
def test_everything_else_is_passed_through(door: Door) -> None:
    """Other paths with status and body, once under /v1;
    a client's own token wins; an upstream's error stores nothing.
    """
    assert door.get("/v1/models")["data"][0]["id"] == "scripted"
    door.client.get("/v1/models", headers={"authorization": "Bearer own"})
    assert door.model.requests[-1].headers["authorization"] == "Bearer own"
    assert door.model.requests[-1].path == "/v1/models"
    door.model.fail("http_418", only="chat", when="teapot")
    assert (
        door.client.post(
            "/v1/chat/completions",
            json={
                "model": "m",
                "messages": [{"role": "user", "content": "a teapot"}],
                "memory_id": "c7",
            },
        ).status_code
        == 418
    )
    assert not door.files("entries/user/ann/conversation/c7/turns/assistant/*.md")


@pytest.mark.covers("S2.19", "S2.20", "S2.21", "S2.16", "S2.17", "S2.18")
def test_files_are_the_truth(door: Door) -> None:
    """A hand edit is what search returns, a broken file is passed over, a removed one is no longer
    found; what is forgotten moves.
    """
    door.chat("Fact two: my parrot is called Rio", memory_id="c2f")
    (fact,) = eventually(lambda: facts(door, "c2f"))
    fact.write_text(fact.read_text().replace("Rio", "Kiwi"))
    (fact.parent / "broken.md").write_text("---\nid: [\n---\nx")

    def told(query: str) -> str:
        return json.dumps(door.post("/v1/search", {"query": query}))

    eventually(lambda: "Kiwi" in told("What is my parrot called?"))
    id = re.search(r'^id: "?(\w+)', fact.read_text(), re.MULTILINE)[1]  # type: ignore[index]
    door.delete(f"/v1/memories/{id}")
    (moved,) = eventually(
        lambda: door.files(f"deleted/user/ann/conversation/c2f/facts/{fact.name}")
    )
    assert "Kiwi" in moved.read_text()
    eventually(lambda: not fact.exists())
    assert not list((door.home / "vault").rglob("*.tmp"))


@pytest.mark.covers("S2.14")
def test_a_hostile_conversation_id_stays_inside(door: Door) -> None:
    """``../x`` is a folder like any other, two ids that look alike are two, and letters are kept."""
    for name in ("../x", "a/b", "a_b", "Ålesund", "ålesund", "港-7.b"):
        door.chat("Fact five is about folders", memory_id=name)
    eventually(
        lambda: len(door.files("entries/user/ann/conversation/[ax][_~]*/turns/user/*.md")) == 3
    )
    folders = {path.name for path in door.files("entries/user/ann/conversation/*")}
    assert len([name for name in folders if name.startswith(("a_b", "x~"))]) == 3
    for letters in ("Ålesund~", "ålesund~", "港-7.b~"):
        eventually(
            lambda start=letters: door.files(f"entries/user/ann/conversation/{start}*/turns")
        )
    assert not (door.home.parent / "x").exists()


@pytest.mark.covers("S2.14")
@pytest.mark.parametrize("name", ["line\nbreak", "line_break", "tab\there", "long-" * 60])
def test_any_conversation_id_has_a_memory(door: Door, name: str) -> None:
    """A control character or three hundred characters are a conversation like any other: the same
    one at the command and through the API, and that of no other id.
    """
    said = f"Fact twelve: the kayak of {name!r} is green"
    door.chat(said, memory_id=name)
    eventually(lambda: [*door.files("entries/user/ann/conversation/*/turns/user/*kayak*.md")])
    stored = door.get("/v1/memories", kind="turn", conversation=name)["memories"]
    told = [row["text"] for row in stored if row["role"] == "user" and "kayak" in row["text"]]
    assert told == [said]
    shown = run(door.home, arguments=("list", "--preset", "proxy", "--user", "ann", "-c", name))
    assert "kayak" in shown


@pytest.mark.covers("S2.50", "S2.51")
def test_a_proxy_needs_what_it_stands_before(tmp_path: Path) -> None:
    """Without a base URL it does not start, and says how to give one;
    its defaults are those of the document.
    """
    told = run(tmp_path / "home", arguments=("serve", "--preset", "proxy", "--port", "0"), status=1)
    assert "--openai-base-url" in told
    shown = json.loads(run(tmp_path / "home", arguments=("config", "--preset", "proxy", "--json")))
    values = {name: row["value"] for name, row in shown.items()}
    wanted = {
        "serve.top_k": 5,
        "caps.entries": 500,
        "read.mmr_lambda": 0.7,
        "read.recency_weight": 0.2,
        "rerank.threshold": 0.35,
    }
    wanted |= {"summary.enabled": True, "vault.git": True, "serve.port": 8100}
    assert {name: values[name] for name in wanted} == wanted


@pytest.mark.covers("S2.39", "S2.40", "S2.41", "S2.44", "S2.53", "S2.54")
def test_a_fact_that_changed_is_replaced(door: Door) -> None:
    """ "I love pizza", then "I hate pizza":

    one active fact, and a tombstone in ``deleted`` that names it.
    """
    door.chat("Fact six: I love pizza", memory_id="c8")
    eventually(lambda: facts(door, "c8"))
    door.model.fail("http_500", only="chat", when="keep the summary", times=1)
    door.chat("Fact seven: I hate pizza", memory_id="c8")
    eventually(lambda: door.files("deleted/user/ann/conversation/c8/facts/*.md"))
    (kept,) = eventually(lambda: len(found := facts(door, "c8")) == 1 and found)
    (gone,) = door.files("deleted/user/ann/conversation/c8/facts/*.md")
    assert "hate" in kept.read_text()
    id = re.search(r'^id: "?(\w+)', kept.read_text(), re.MULTILINE)[1]  # type: ignore[index]
    assert f'replaced_by: "{id}"' in gone.read_text()
    asked = [
        request.prompt
        for request in door.model.requests
        if "New statements have come in" in request.prompt
    ]
    assert re.search(r"^1\. ", asked[-1].partition("Known statements:")[2], re.MULTILINE)
    door.chat("Do I like pizza?", memory_id="c8")
    assert "hate pizza" in door.sent()


@pytest.mark.covers("S2.44")
def test_a_model_that_marks_no_denial_still_changes_a_mind(door: Door) -> None:
    """A dislike that the model reports as a like, in other words alone, ends the like."""
    row = {"turn": 1, "subject": "user", "predicate": "likes", "object": "pizza"}
    for said in ("love", "hate"):
        quote = f"Fact ten: I {said} pizza"
        statement = {**row, "text": quote, "quote": quote}
        door.model.when(rf'\[1\][^\n]*"{quote}"', {"statements": [statement]})
    door.chat("Fact ten: I love pizza", memory_id="c9b")
    eventually(lambda: facts(door, "c9b"))
    door.chat("Fact ten: I hate pizza", memory_id="c9b")
    eventually(lambda: door.files("deleted/user/ann/conversation/c9b/facts/*.md"))
    # A file is moved by itself: for a moment both lie there.
    eventually(lambda: len(facts(door, "c9b")) == 1)
    (kept,) = facts(door, "c9b")
    assert kept.read_text().endswith("I hate pizza\n")


@pytest.mark.covers("S2.42", "S2.43")
@pytest.mark.parametrize(("fault", "name"), [("http_400", "c10"), ("deletes_only", "c11")])
def test_a_failing_model_loses_no_fact(door: Door, fault: str, name: str) -> None:
    """Whether the model that reconciles fails, or answers with deletions only:
    the new fact is there.
    """
    door.chat("Fact eight: the shed key hangs left", memory_id=name)
    eventually(lambda: facts(door, name))
    door.model.fail(fault, only="chat", when="New statements have come in", times=1)
    door.chat("Fact nine: the shed key hangs right", memory_id=name)
    eventually(lambda: any("right" in path.read_text() for path in facts(door, name)))


@pytest.mark.covers("S2.2", "S2.9")
def test_memory_fields_and_empty_streams(door: Door) -> None:
    """No field of memory's reaches the upstream, and a stream without text leaves no answer."""
    fields = {
        "memory_id": "c12",
        "memory_top_k": 3,
        "memory_recency_weight": 0.1,
        "memory_score_threshold": 0.2,
    }
    door.chat("Fact ten says little", **fields)
    last = [
        request
        for request in door.model.requests
        if request.schema is None and request.text == "Fact ten says little"
    ][-1]
    assert not [name for name in last.body if name.startswith("memory")]
    body = {
        "model": "m",
        "messages": [{"role": "user", "content": "quiet"}],
        "stream": True,
        "memory_id": "c13",
    }
    door.client.post("/v1/chat/completions", json=body)
    assert not door.files("entries/user/ann/conversation/c13/turns/assistant/*.md")
    stored = door.get("/v1/memories", kind="turn", conversation="c13")["memories"]
    # A conversation also reads what is stored above it, such as other tests' messages.
    own_rows = [row for row in stored if "c13" in json.dumps(row["scope"])]
    assert [row["role"] for row in own_rows] == ["user"]


@pytest.mark.covers("S2.51")
def test_memory_asks_the_model_of_the_request(door: Door) -> None:
    """Extraction runs on the upstream, by the model that the client names."""
    door.chat("Fact eleven names the model", memory_id="c14", model="own-model")
    eventually(
        lambda: [r for r in door.model.requests if r.schema is not None and r.model == "own-model"]
    )


@pytest.mark.covers("S2.38")
def test_what_is_known_or_blank_makes_no_fact(door: Door) -> None:
    """Said again, the fact keeps its id and its file;
    a blank statement makes none; a new one gets an id of its own.
    """
    door.chat("Fact fifteen: the attic is dry", memory_id="c16")
    (first,) = eventually(lambda: facts(door, "c16"))
    kept = re.search(r'^id: "?(\w+)', first.read_text(), re.MULTILINE)[1]  # type: ignore[index]
    said = "Fact fifteen: the attic is dry"
    row = {"turn": 1, "subject": "user", "predicate": "noted", "object": "x"}
    door.model.when(
        r"\[1\][^\n]*As I said",
        {"statements": [{**row, "object": said, "text": f"The user: {said}", "quote": said}]},
    )
    door.chat(f"As I said. {said}", memory_id="c16")
    door.model.when(
        r"\[1\][^\n]*blank blank",
        {
            "statements": [
                {**row, "text": "  ", "quote": "  "},
                {**row, "text": "", "quote": "blank"},
            ]
        },
    )
    door.chat("blank blank", memory_id="c16")
    door.chat("Fact sixteen: the cellar is wet", memory_id="c16")
    eventually(lambda: any("sixteen" in path.name for path in facts(door, "c16")))
    ids = {
        re.search(r'^id: "?(\w+)', path.read_text(), re.MULTILINE)[1] for path in facts(door, "c16")
    }  # type: ignore[index]
    assert kept in ids
    assert len(ids) == 2
    assert first in facts(door, "c16")


def turn(door: Door, conversation: str) -> str:
    """The file of what the person said."""
    found = [
        path
        for top in ("entries", "deleted")
        for path in door.files(f"{top}/user/ann/conversation/{conversation}/turns/user/*.md")
    ]
    return found[-1].read_text()


@pytest.mark.covers("S2.19", "S2.20", "S2.21")
def test_what_a_hand_corrects_is_what_the_model_is_told(door: Door) -> None:
    """A fact edited or removed in its file reaches the message it came from;
    of one with two facts the rest stays.
    """
    barn = "Fact twelve: the barn is red"
    said = {"c20": barn, "c21": f"{barn}. Fact seventy: the mill is old", "c22": barn}
    for name, text in said.items():
        door.chat(text, memory_id=name)
    eventually(lambda: len(facts(door, "c21")) == 2 and facts(door, "c20") and facts(door, "c22"))
    for name in ("c20", "c21"):
        (fact,) = [
            path for path in facts(door, name) if "barn" in path.read_text().rpartition("---")[2]
        ]
        fact.write_text(fact.read_text().replace("barn is red", "barn is green"))
    facts(door, "c22")[0].unlink()
    eventually(lambda: "status: superseded" in turn(door, "c20"))
    eventually(lambda: "corrected:" in turn(door, "c21"))
    eventually(lambda: "status: forgotten" in turn(door, "c22"))
    for name, told in (("c20", "green"), ("c21", "mill is old"), ("c22", "")):
        door.chat("What are the barn and the mill like?", memory_id=name)
        assert told in door.sent()
        assert not re.search(r"\bred\b", door.sent())


def test_the_first_hour_with_a_slow_embedder(tmp_path: Path) -> None:
    """The document's own command line, its client of one message a request, and an embedder as far
    away as most are: whatever was said is there at the next question.
    """
    options = ("--embedding-model", "embeddinggemma:300m")
    with (
        ScriptedModel(models=("qwen3:4b", "embeddinggemma:300m"), dimension=768) as model,
        served(
            "proxy", tmp_path / "home", model, "--openai-base-url", f"{model.url}/v1", *options
        ) as door,
    ):
        model.fail("hang", times=9999, seconds=0.4, only="embeddings")
        door.chat("My name is Alice and I love hiking", model="qwen3:4b")
        answers = [
            door.chat(question, model="qwen3:4b")
            for question in ("What's my name?", "What do I love?", "Which name do I have?")
        ]
        notes = [answer.headers["x-engrams-memory"] for answer in answers]
        assert all(note.startswith("used:") and note != "used:0" for note in notes), notes
        assert "Alice" in door.sent()
        waited_for = [request for request in model.requests if request.route == "embeddings"]
        assert len(waited_for) <= 5 * (len(answers) + 1), "each of which takes 0.4 seconds"
