"""The chat proxy's document (002): its repository and its watcher, refused and empty answers, what
is taken back, and failures afterwards, by the server, the client and the command of that preset.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from dulwich import porcelain
from dulwich.errors import NotGitRepository
from dulwich.repo import Repo
from tests.acceptance.process import Door, eventually, run, served
from tests.acceptance.proxy.test_proxy_story import HIDDEN, facts, learn

from engrams.adapters import MemoryClient
from engrams.testing import ReceivedModelRequest, ScriptedModel, ScriptedReply
from engrams.vault.files.folder_access import VaultLock

CHAT = ("user", "ann", "conversation", "c1")
SUMMARY = "keep the summary"
BEGIN = "Begin\n\nbegin .gitignore: \n"


def answer(request: ReceivedModelRequest) -> Any:
    """As ``learn``, with empty answers to what is silent, and a quiet harbour that removes a boat."""
    if request.schema is None and "silent" in request.text:
        return ScriptedReply("")
    if "New statements have come in" in request.prompt and "harbour is quiet" in request.prompt:
        row = {"new": 1, "reason": "r", "earlier": [], "confidence": "high"}
        return {"decisions": [{**row, "known": [1], "verdict": "remove"}]}
    return learn(request)


def serve_options(model: ScriptedModel) -> tuple[str, ...]:
    return ("--openai-base-url", f"{model.url}/v1")


@pytest.fixture(scope="module")
def door(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Door]:
    home = tmp_path_factory.mktemp("edges") / "home"
    with (
        ScriptedModel(answer=answer) as model,
        served("proxy", home, model, *serve_options(model)) as door,
    ):
        yield door


def settle(door: Door, *kinds: str) -> None:
    """Wait until everything is learned, and until no job of the other kinds is left."""

    def left() -> list[str]:
        counts = door.get("/v1/jobs")["jobs"]
        return [
            kind
            for kind in ("extract", *kinds)
            if {"waiting", "running"} & {state for state, n in counts.get(kind, {}).items() if n}
        ]

    eventually(lambda: not left())


def commits(home: Path) -> list[str]:
    """The messages of all commits, newest first; none where there is no repository yet."""
    try:
        with Repo(str(home / "vault")) as repo:
            return [entry.commit.message.decode() for entry in repo.get_walker()]
    except (KeyError, NotGitRepository):
        return []


def all_committed(home: Path) -> bool:
    """Whether the newest commit holds every file of the vault as it is now."""
    status = porcelain.status(str(home / "vault"))
    return not (any(status.staged.values()) or status.unstaged or status.untracked)


def extractions(door: Door, words: str) -> list[str]:
    return [
        request.prompt
        for request in door.model.requests
        if HIDDEN in request.prompt and words in request.prompt.partition("The messages:")[2]
    ]


@pytest.mark.slow
@pytest.mark.covers("S2.22", "S2.23")
def test_the_repository_is_there_before_the_first_memory(home: Path) -> None:
    """A server makes it when it starts, with an ignore file and a first commit, and so does the
    command that sets memory up; a repository that is there keeps its own, and its other files.
    """
    set_up = home.parent / "set-up"
    run(set_up, "--preset", "proxy", arguments=("init", "--no-model"))
    assert commits(set_up) == [BEGIN]
    with ScriptedModel() as model:
        with served("proxy", home, model, *serve_options(model)):
            eventually(lambda: commits(home) == [BEGIN])
            assert ".engrams/" in (home / "vault/.gitignore").read_text()
        with served("proxy", home, model, *serve_options(model)):
            assert len(commits(home)) == 1, "a clean tree is no commit"
        own = home.parent / "own"
        (own / "vault").mkdir(parents=True)
        (own / "vault/README.md").write_text("# Ours\n")
        (own / "vault/.gitignore").write_text("secret/\n")
        with Repo.init(str(own / "vault")) as repo:
            config = repo.get_config()
            config.set((b"user",), b"name", b"Ann")
            config.set((b"user",), b"email", b"ann@example.org")
            config.write_to_path()
        run(own, "--preset", "proxy", arguments=("add", "--git-versioning", "I keep bees"))
        assert (own / "vault/README.md").read_text() == "# Ours\n"
        assert (own / "vault/.gitignore").read_text() == "secret/\n"
        with Repo(str(own / "vault")) as repo:
            assert repo[repo.head()].committer == b"Ann <ann@example.org>"


@pytest.mark.covers("S2.22")
async def test_the_client_makes_the_repository_when_it_starts(home: Path) -> None:
    """``MemoryClient`` too, as soon as its block begins."""
    async with MemoryClient.open("http://127.0.0.1:9/v1", model="m", path=home, user="ann"):
        assert commits(home) == [BEGIN]


@pytest.mark.covers("S2.23")
def test_a_broken_repository_is_told_and_fails_nothing(home: Path) -> None:
    """Where git cannot work, chats are answered and learned from, files are written, and the status
    names the failure.
    """
    (home / "vault/.git").mkdir(parents=True)
    (home / "vault/.git/HEAD").mkdir()
    with (
        ScriptedModel(answer=learn) as model,
        served("proxy", home, model, *serve_options(model)) as door,
    ):
        door.chat("Fact one: the mill is old", memory_id="c1")
        eventually(lambda: facts(door, "c1"))
        door.chat("What is old?", memory_id="c1")
        assert "mill" in door.sent()

        def failures() -> str:
            return json.dumps(door.get("/v1/jobs"))

        eventually(lambda: '"git"' in failures())


@pytest.mark.covers("S2.24")
@pytest.mark.slow
def test_git_holds_no_request_up(door: Door) -> None:
    """While a commit cannot begin, chats and memories are stored; it comes afterwards."""
    door.chat("Fact one: the barge is long", memory_id="g1")
    eventually(lambda: facts(door, "g1"))
    settle(door)
    eventually(lambda: all_committed(door.home))
    before = len(commits(door.home))
    with VaultLock(door.home / "vault.lock"):
        for number in range(3):
            body = {
                "model": "m",
                "messages": [{"role": "user", "content": f"Fact {number}: the tug is short"}],
                "memory_id": "g2",
            }
            answer = door.client.post("/v1/chat/completions", json=body, timeout=5)
            assert answer.status_code == 200
        told = door.client.post("/v1/memories", json={"text": "The ketch is old"}, timeout=5)
        assert told.status_code == 201
        assert door.client.get("/health", timeout=5).json()["status"] == "ok"
        told = door.client.get("/v1/memories", params={"kind": "turn", "conversation": "g2"})
        assert "the tug is short" in told.text
        assert len(commits(door.home)) == before
    eventually(lambda: len(commits(door.home)) > before)


@pytest.mark.covers("S2.11", "S2.10")
@pytest.mark.slow
def test_the_server_watches_while_it_lives_and_ends_what_it_began(home: Path) -> None:
    """A file edited by hand is read as long as the server runs; told to stop, it first stores what
    was said and answered, and learns what is being learned.
    """

    def slow(request: ReceivedModelRequest) -> Any:
        if HIDDEN in request.prompt and "the jib is red" in request.prompt:
            time.sleep(0.7)
        return learn(request)

    with ScriptedModel(answer=slow) as model:
        with served("proxy", home, model, *serve_options(model)) as door:
            door.chat("Fact one: the sail is white", memory_id="c1")
            (fact,) = eventually(lambda: facts(door, "c1"))
            fact.write_text(fact.read_text().replace("white", "blue"))
            eventually(lambda: "blue" in json.dumps(door.post("/v1/search", {"query": "sail"})))
            settle(door)
            door.chat("Fact two: the jib is red", memory_id="c2")
            eventually(lambda: extractions(door, "the jib is red"))
        for role, words in (("user", "the jib is red"), ("assistant", "reply to Fact two")):
            (turn,) = door.files(f"entries/user/ann/conversation/c2/turns/{role}/*.md")
            assert words in turn.read_text()
        (learned,) = facts(door, "c2")
        assert "the jib is red" in learned.read_text()


@pytest.mark.covers("S2.11", "S2.12")
@pytest.mark.slow
async def test_the_client_watches_when_it_is_told_to(home: Path) -> None:
    """Not by itself; inside its block, too, ``start(watch=True)`` begins."""
    (home / "vault/entries").mkdir(parents=True)  # a watcher would begin at once
    async with MemoryClient.open(
        "http://127.0.0.1:9/v1", model="m", path=home, user="ann", vault__git=False
    ) as client:
        await client.add("The spare key is under the sloop", "work")
        await asyncio.to_thread(client.engine.vault.write)  # type: ignore[union-attr]
        (file,) = (home / "vault").glob("entries/user/ann/conversation/work/*/*sloop*.md")

        async def listed() -> str:
            return json.dumps(await client.list_all("work"))

        async def seen(word: str, seconds: float) -> bool:
            end = time.monotonic() + seconds
            while time.monotonic() < end:
                if word in await listed():
                    return True
                await asyncio.sleep(0.05)
            return False

        file.write_text(file.read_text().replace("sloop", "barge"))
        assert not await seen("barge", 1.0)
        await client.start(watch=True)
        file.write_text(file.read_text().replace("barge", "schooner"))
        assert await seen("schooner", 10)


@pytest.mark.covers("S2.7", "S2.9")
def test_nothing_is_learned_from_a_refused_request(door: Door) -> None:
    """The upstream's own status and error come back, of a stream that never began, too; neither an
    answer nor a fact is stored.
    """
    door.model.fail("http_429", only="chat", when="teapot", times=9)
    for stream in (False, True):
        said = "Fact one: teapot day is my favourite day"
        refused = door.chat(said, status=429, memory_id="r1", stream=stream)
        assert refused.headers["content-type"] == "application/json"
        assert refused.json()["error"]["code"] == "rate_limit_exceeded"
    door.model.heal()
    door.chat("Fact two: the kettle is new", memory_id="r2")
    eventually(lambda: facts(door, "r2"))
    settle(door)
    assert not door.files("entries/user/ann/conversation/r1/turns/assistant/*.md")
    assert not facts(door, "r1")
    assert not extractions(door, "teapot day")


@pytest.mark.covers("S2.9")
def test_nothing_is_learned_from_an_empty_stream(door: Door) -> None:
    """Neither an answer nor a fact, and no model is asked for one."""
    said = "Fact one: my silent kayak is red"
    body = {
        "model": "m",
        "messages": [{"role": "user", "content": said}],
        "stream": True,
        "memory_id": "e1",
    }
    door.client.post("/v1/chat/completions", json=body)
    door.chat("Fact two: the paddle is new", memory_id="e2")
    eventually(lambda: facts(door, "e2"))
    settle(door)
    assert not door.files("entries/user/ann/conversation/e1/turns/assistant/*.md")
    assert not facts(door, "e1")
    assert not extractions(door, "silent kayak")


@pytest.mark.covers("S2.17")
def test_a_broken_file_is_told_of_and_the_others_load(home: Path) -> None:
    """Files whose front matter is broken are named with what is wrong, and left as they are; those
    beside them are found.
    """
    run(home, "--preset", "proxy", arguments=("add", "-c", "c1", "The sloop lies at pier nine"))
    whole, *_ = (home / "vault").glob("entries/user/ann/conversation/c1/facts/*sloop*.md")
    broken = whole.with_name("broken.md")
    broken.write_text("---\nid: [\n---\nThe barge is broken\n")
    other = whole.with_name("other.md")
    other.write_text("---\nrole: memory\n---\nThe ketch lies at pier two\n")
    told = run(home, "--preset", "proxy", arguments=("sync",))
    assert "broken.md" in told
    assert broken.read_text() == "---\nid: [\n---\nThe barge is broken\n"
    listed = run(home, "--preset", "proxy", arguments=("list", "-c", "c1", "--json"))
    assert "sloop" in listed
    assert "ketch" in listed, "a file without an id becomes a memory"
    assert "barge" not in listed


@pytest.mark.covers("S2.17", "S2.20")
def test_a_file_name_that_no_path_can_hold_stops_nothing(door: Door) -> None:
    """Such a file, and all below such a folder, are left out and named, in the server's log, too;
    what is written after them is found, by the server and by commands on the same home.
    """
    odd_names = ["2026-11-20T10:00 lizard.md", "a\\b.md", "a:b/lizard.md"]
    folder = door.home / "vault/entries/user/ann/conversation/odd/facts"
    for name in odd_names:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("The user owns a lizard\n")
    log = door.home.parent / "proxy.log"
    eventually(lambda: "lizard.md" in log.read_text())
    (folder / "plain.md").write_text("The user owns a gecko\n")

    def found() -> str:
        query = {"query": "Which animal does the user own?", "limit": 20}
        return json.dumps(door.post("/v1/search?conversation=odd", query)["hits"])

    eventually(lambda: "gecko" in found())
    assert "lizard" not in found()
    for name in ("2026-11-20T10:00 lizard.md", "a\\b.md", "a:b"):
        assert name in log.read_text()
        assert name in door.run("sync")
    assert "Traceback" not in log.read_text()
    assert "gecko" in door.run("list", "-c", "odd", "--json")


@pytest.mark.covers("S2.40")
def test_what_is_taken_back_moves_and_is_found_no_more(door: Door) -> None:
    """A fact that a new one removes lies in ``deleted``, under its name, and no search finds it."""
    door.chat("Fact one: I own a boat", memory_id="d1")
    (fact,) = eventually(lambda: facts(door, "d1"))
    door.chat("Fact two: the harbour is quiet", memory_id="d1")
    (gone,) = eventually(lambda: door.files("deleted/user/ann/conversation/d1/facts/*.md"))
    assert gone.name == fact.name
    assert "I own a boat" in gone.read_text()
    eventually(lambda: not fact.exists())
    query = {"query": "Who owns a boat in the quiet harbour?", "kinds": ["fact"], "limit": 20}
    found = door.post("/v1/search?conversation=d1", query)["hits"]
    assert found
    assert not [hit for hit in found if "I own a boat" in hit["memory"]["text"]]


@pytest.mark.covers("S2.46")
@pytest.mark.slow
def test_a_summary_that_fails_stays_as_it_was(door: Door) -> None:
    """The file keeps its text while the model fails, and facts are learned all the same."""
    door.chat("Fact alpha: the quay is long", memory_id="s1")
    (file,) = eventually(
        lambda: door.files("entries/user/ann/conversation/s1/summaries/summary.md")
    )
    settle(door)
    before = file.read_text()
    assert "Fact alpha" in before
    door.model.fail("http_400", only="chat", when=SUMMARY, times=99)
    door.chat("Fact beta: the lock is narrow", memory_id="s1")
    eventually(lambda: len(facts(door, "s1")) == 2)
    settle(door)
    eventually(lambda: "roll" in json.dumps(door.get("/v1/jobs")["dead"]))
    assert file.read_text() == before
    door.model.heal()


@pytest.mark.covers("S2.46")
@pytest.mark.slow
def test_no_summary_is_written_where_it_is_off(home: Path) -> None:
    """With ``--no-summarization`` facts are learned, and no summary is asked for or written."""
    with ScriptedModel(answer=learn) as model:
        options = (*serve_options(model), "--no-summarization", "--no-git-versioning")
        with served("proxy", home, model, *options) as door:
            door.chat("Fact alpha: the quay is long", memory_id="s1")
            eventually(lambda: facts(door, "s1"))
            settle(door, "roll")
        assert not list((home / "vault").glob("**/summaries/*.md"))
        assert not [request for request in model.requests if SUMMARY in request.prompt]
        assert not (home / "vault/.git").exists()


@pytest.mark.covers("S2.49")
def test_the_command_adds_to_a_conversation_in_silence(home: Path) -> None:
    """Nothing to add is an error; ``-c`` names the conversation; ``-q`` prints nothing;
    ``--git-versioning`` commits under "Add N memories".
    """
    base = ("--preset", "proxy")
    run(home, *base, arguments=("add", "  "), status=1)
    run(home, *base, arguments=("add", "-"), status=1, stdin="\n\n")
    said = ("I keep bees", "I row on Sundays")
    told = run(home, *base, "-c", "work", "-q", "--git-versioning", arguments=("add", *said))
    assert told == ""
    assert any(message.startswith("Add 2 memories") for message in commits(home))
    assert "bees" in run(home, *base, "-c", "work", arguments=("list",))
    assert "bees" not in run(home, *base, "-c", "other", arguments=("list",))
    assert "stored" in run(home, *base, arguments=("add", "I sail in Genoa"))


@pytest.mark.covers("S2.54")
def test_what_fails_afterwards_fails_no_later_request(door: Door) -> None:
    """While everything that memory asks of the model fails, chats are answered and stored and find
    what was said; the failure is told.
    """
    door.model.fail("http_400", only="chat", when=HIDDEN, times=99)
    door.chat("Fact one: the anchor is heavy", memory_id="p1")

    def failed() -> Any:
        return door.get("/v1/jobs")["jobs"].get("extract", {}).get("dead")

    eventually(failed)
    answered = door.chat("What is heavy?", memory_id="p1")
    assert answered.json()["choices"][0]["message"]["content"] == "reply to What is heavy?"
    assert "the anchor is heavy" in door.prompt_of("What is heavy?")
    door.model.heal()
    door.chat("Fact two: the chain is long", memory_id="p1")
    eventually(lambda: facts(door, "p1"))


@pytest.mark.covers("S2.12", "S2.55")
def test_a_fact_bears_the_role_of_its_file(door: Door) -> None:
    """A fact has the role ``memory`` where it is filtered, and in the client's list; the messages of
    a person are messages alone.
    """
    door.chat("Fact one: Alice hikes in the Alps", memory_id="roles")
    eventually(lambda: facts(door, "roles"))

    def list_kinds(role: str) -> set[str]:
        options = ("list", "-c", "roles", "--where", f"role={role}", "--json")
        told = run(door.home, "--preset", "proxy", "-u", "ann", arguments=options)
        return {record["kind"] for record in json.loads(told)["records"]}

    assert "fact" in list_kinds("memory")
    assert "turn" not in list_kinds("memory")
    assert list_kinds("user") == {"turn"}
    assert "fact" not in list_kinds("assistant")

    async def list_roles() -> set[tuple[Any, Any]]:
        async with MemoryClient.open(
            "http://127.0.0.1:9/v1", model="m", path=door.home, user="ann"
        ) as client:
            return {(entry["kind"], entry["role"]) for entry in await client.list_all("roles")}

    assert asyncio.run(list_roles()) >= {("fact", "memory"), ("turn", "user")}
