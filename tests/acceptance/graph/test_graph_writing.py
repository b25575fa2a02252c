"""The memory graph's document (003):
what is stored, refused and noticed at ``engrams serve --preset graph``, its MCP tools and command.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.acceptance.process import Door, eventually, run, served

import engrams
from engrams.core import Kind
from engrams.testing import ReceivedModelRequest, ScriptedModel, ScriptedReply

KEY = (
    "How to rotate the signing key. Prerequisites: you are on the VPN and the old key is backed up."
    " Steps: 1. open the vault 2. create a new key 3. restart the signer. Warning: never do this on"
    " a Friday."
)


def answer(request: ReceivedModelRequest) -> Any:
    """A model that finds nothing helpful but a cat's place, and learns what it is told to."""
    if request.schema is None:
        return ScriptedReply("Noted")
    if "that has long-term memory" in request.prompt:
        return {
            "ids": [1] if "Biscuit" in request.prompt and "zeppelin" not in request.prompt else []
        }
    if "lighthouse" in request.prompt and "statements" in json.dumps(request.schema):
        row = {
            "turn": 1,
            "quote": "I paint the lighthouse on Sundays",
            "text": "The user paints the lighthouse on Sundays",
            "subject": "user",
        }
        return {
            "statements": [
                {**row, "predicate": "paints", "object": "the lighthouse", "tags": ["painting"]}
            ]
        }
    return {"statements": [], "decisions": [], "names": [], "summary": ""}


@pytest.fixture(scope="module")
def door(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Door]:
    home = tmp_path_factory.mktemp("writing") / "home"
    with ScriptedModel(answer=answer) as model, served("graph", home, model) as door:
        yield door


@pytest.fixture(scope="module")
def taught(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Door]:
    home = tmp_path_factory.mktemp("taught") / "home"
    with (
        ScriptedModel(answer=answer) as model,
        served("graph", home, model, "--upstream", f"{model.url}/v1") as door,
    ):
        yield door


def call(door: Door, tool: str, *, error: bool = False, **arguments: Any) -> Any:
    """A tool of the MCP profile ``actions``, over HTTP."""
    headers = {"accept": "application/json, text/event-stream"}
    hello = {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "t", "version": "1"},
    }
    begun = door.client.post(
        "/mcp/actions",
        headers=headers,
        json={"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello},
    )
    if known := begun.headers.get("mcp-session-id"):
        headers["mcp-session-id"] = known
    asked = {
        "jsonrpc": "2.0",
        "id": 2,
        "method": "tools/call",
        "params": {"name": tool, "arguments": arguments},
    }
    told = door.client.post(
        "/mcp/actions", headers={**headers, "mcp-protocol-version": "2025-06-18"}, json=asked
    ).text
    body = json.loads(told.partition("data: ")[2].splitlines()[0] if "data: " in told else told)[
        "result"
    ]
    assert bool(body.get("isError")) is error, body
    return body["content"][0]["text"] if error else body["structuredContent"]


def unfinished_jobs(door: Door) -> list[Any]:
    """Jobs that wait or run."""
    states = ("waiting", "running")
    return [job for state in states for job in door.get("/v1/jobs", state=state)["items"]]


@pytest.mark.covers("S3.24", "S3.43")
def test_the_memory_tool_takes_the_documents_arguments(door: Door) -> None:
    """remember with a category, a scope and a project;
    link with from, to and relation, which supersedes.
    """
    here = call(
        door, "remember", content="Ann codes in Vim", category="correction", scope="global"
    )["id"]
    there = call(
        door,
        "remember",
        content="The jet build uses Bazel",
        category="fact",
        scope="project",
        project="jet",
        tags=["ci"],
    )["id"]
    assert "project" in call(door, "remember", error=True, content="x y", scope="project")
    assert (
        door.get(f"/v1/memories/{here}")["kind"],
        door.get(f"/v1/memories/{here}")["scope"],
    ) == ("correction", ["user", "ann"])
    assert door.get(f"/v1/memories/{there}")["scope"][-2:] == ["project", "jet"]
    bot = call(door, "remember", content="The deploy bot is called Gus", category="entity")["id"]
    kept = door.get(f"/v1/memories/{bot}")
    assert (kept["kind"], kept["category"]) == ("fact", "entity")
    assert "ci" in door.get(f"/v1/memories/{there}")["tags"]
    first, second = (
        call(door, "remember", content=text, category="note")["id"]
        for text in ("The boat is red", "The boat is green")
    )
    assert call(door, "link", **{"from": first, "to": second, "relation": "relates_to"})["done"]
    call(door, "link", **{"from": second, "to": first, "relation": "supersedes"})
    assert door.get(f"/v1/memories/{first}")["status"] == "superseded"


@pytest.mark.covers("S3.40")
def test_a_statement_given_to_remember_supersedes(door: Door) -> None:
    """What is remembered as a fact is compared with known facts, as what was said is:
    the newer one holds.
    """
    old = call(door, "remember", content="The staging server runs Debian 12", category="fact")["id"]
    new = call(
        door,
        "remember",
        content="The staging server runs Ubuntu 24.04 since today",
        category="fact",
    )["id"]
    other = call(door, "remember", content="The printer runs Debian 12", category="fact")["id"]
    told = eventually(
        lambda: (one := door.get(f"/v1/memories/{old}"))["status"] == "superseded" and one
    )
    assert told["superseded_by"] == new
    assert [door.get(f"/v1/memories/{name}")["status"] for name in (new, other)] == [
        "active",
        "active",
    ]


@pytest.mark.covers("S3.52")
@pytest.mark.slow
def test_ignored_files_are_not_imported(tmp_path: Path) -> None:
    """Files that an ignore file of their folder names, and environments, are left out and named;
    a flag imports them. `add --file` refuses them.
    """
    work = tmp_path / "work"
    files = {
        ".gitignore": "notes/private.md",
        ".secretsignore": "design/merger.txt",
        ".env": "FEATURE_FLAG=teal",
    }
    files |= {
        "notes/private.md": "The merger closes in May.",
        "design/merger.txt": "We buy Acme.",
        "notes/open.md": "The office is in Ulm.",
    }
    for name, text in files.items():
        (work / name).parent.mkdir(parents=True, exist_ok=True)
        (work / name).write_text(text)

    def load(*arguments: str) -> str:
        return run(tmp_path / "home", "--preset", "graph", arguments=("import", *arguments))

    def kept() -> str:
        return run(tmp_path / "home", "--preset", "graph", arguments=("export", "-"))

    home = tmp_path / "home"
    for name in (".env", "notes/private.md", "design/merger.txt"):
        options = ("--preset", "graph", "--file", str(work / name))
        assert "is not stored" in run(home, *options, arguments=("add",), status=4)
    told = load(
        str(work), *(str(work / name) for name in (".env", "notes/private.md", "design/merger.txt"))
    )
    assert all(name in told for name in ("private.md", "merger.txt", ".env", "--include-ignored"))
    assert "Ulm" in kept()
    assert not [word for word in ("May", "Acme", "teal") if word in kept()]
    load("--include-ignored", str(work / "notes/private.md"))
    assert "closes in May" in kept()


@pytest.mark.covers("S3.51")
def test_personal_numbers_are_not_stored(tmp_path: Path) -> None:
    """Numbers of a passport and a card are blacked out."""
    said = "My passport number is C01X00T47 and my card is 4111 1111 1111 1111"
    assert "redacted" in run(tmp_path / "home", "--preset", "graph", arguments=("add", said))
    kept = run(tmp_path / "home", "--preset", "graph", arguments=("export", "-"))
    assert not [word for word in ("C01X00T47", "4111 1111") if word in kept]


@pytest.mark.covers("S3.36")
def test_a_text_with_steps_is_a_procedure(door: Door) -> None:
    """It has a name, a trigger, what is needed first, its steps and its warnings, and all of it is
    delivered.
    """
    door.post("/v1/memories", {"text": KEY}, status=201)
    (made,) = eventually(lambda: door.get("/v1/memories", kind="procedure")["memories"])
    assert made["triggers"] == ["rotate the signing key"]
    assert made["steps"] == ["open the vault", "create a new key", "restart the signer"]
    assert made["meta"]["prerequisites"] == ["you are on the VPN", "the old key is backed up"]
    assert made["meta"]["warnings"] == ["never do this on a Friday"]
    eventually(lambda: {job["kind"] for job in unfinished_jobs(door)} <= {"dream"})
    context = door.post("/v1/context", {"query": "I want to rotate the signing key"})["text"]
    for part in (*made["meta"]["prerequisites"], *made["steps"], *made["meta"]["warnings"]):
        assert context.count(part) == 1
    rules = door.get("/v1/memories", kind="rule")["memories"]
    assert "never do this on a Friday" not in [rule["text"] for rule in rules]


LISTED = """How to restore the wiki backup:
Prerequisites:
- a shell on host atlas
- 20 GB of free disk
Steps:
- stop the wiki
- run wiki-restore latest
- start the wiki
Warning: the comments of today are lost."""
HEADED = """# How to restore the wiki backup

## Prerequisites
- a shell on host atlas
- 20 GB of free disk

## Steps
1. stop the wiki
2. run wiki-restore latest
3. start the wiki

## Warning
the comments of today are lost"""
LINES = (
    LISTED.replace("backup:", "backup.")
    .replace(":\n- a shell", ": a shell")
    .replace("\n- 20", ", 20")
    .replace("- st", "1. st")
)


@pytest.mark.parametrize(
    "text",
    [
        LINES.replace("- run", "2. run"),
        " ".join(LINES.replace("- run", "2. run").split()),
        LISTED,
        HEADED,
    ],
)
@pytest.mark.parametrize("kind", ["note", "procedure"])
@pytest.mark.slow
def test_a_procedure_is_read_from_lines_lists_and_headings(
    tmp_path: Path, text: str, kind: str
) -> None:
    """Added by the command, as a note or as a procedure; the day that a warning names ends none."""
    run(tmp_path / "home", "--preset", "graph", arguments=("add", "-k", kind, text))
    listed = run(
        tmp_path / "home", "--preset", "graph", arguments=("list", "--json", "-k", "procedure")
    )
    (made,) = json.loads(listed)["records"]
    assert made["triggers"] == ["restore the wiki backup"]
    assert made["steps"] == ["stop the wiki", "run wiki-restore latest", "start the wiki"]
    assert made["meta"]["prerequisites"] == ["a shell on host atlas", "20 GB of free disk"]
    assert made["meta"]["warnings"] == ["the comments of today are lost"]


@pytest.mark.covers("S3.35")
def test_a_prohibition_is_kept_whole(door: Door) -> None:
    """A macro's exclamation mark ends no sentence."""
    door.post(
        "/v1/memories", {"text": "Never use println! for logging in production code"}, status=201
    )
    (made,) = eventually(
        lambda: door.get("/v1/memories", kind="negative", text="println")["memories"]
    )
    assert made["text"] == "Never use println! for logging in production code"


@pytest.mark.covers("S3.5")
def test_tags_are_inferred(door: Door, taught: Door) -> None:
    """From files, tools and fields that a text names;
    at a session's end the model gives them too.
    """
    said = "In src/auth/login.rs we hash passwords with argon2, see also src/auth/token.rs"
    made = door.post("/v1/memories", {"text": said}, status=201)["results"][0]["id"]
    assert door.get(f"/v1/memories/{made}")["tags"] == ["rust", "auth"]
    talk = [
        "I paint the lighthouse on Sundays",
        "The brushes are from my aunt " + "and very old " * 12,
        "She painted it before me",
    ]
    taught.post(
        "/v1/memories",
        {"messages": [{"content": text} for text in talk], "session": "s"},
        status=201,
    )
    taught.post("/v1/sessions/s/end")
    (fact,) = eventually(
        lambda: taught.get("/v1/memories", kind="fact", text="lighthouse")["memories"], 20
    )
    assert "painting" in fact["tags"]


@pytest.mark.covers("S3.32")
def test_a_gap_is_a_question_of_a_session(door: Door) -> None:
    """Logged where a question finds nothing, with its session;
    small talk, statements and what was shown before are no gaps.
    """
    door.post(
        "/v1/memories",
        {"text": "Ann moors the canoe at the north pier", "kind": "fact"},
        status=201,
    )
    asked = (
        "Great.",
        "ok",
        "The zeppelin museum closes at five",
        "Who repairs zeppelin engines?",
        "Tell me about quokkas",
    )
    for number, text in enumerate(asked):
        door.post("/v1/context", {"query": text, "session": f"asked {number}"})

    def gaps() -> list[Any]:
        return list(door.client.get("/v1/memories?kind=gap&status=candidate").json()["memories"])

    found = eventually(lambda: len(known := gaps()) >= 2 and known)
    assert {(one["text"], one["session"]) for one in found} == {
        (asked[3], "asked 3"),
        (asked[4], "asked 4"),
    }
    for _ in range(3):
        door.post("/v1/context", {"query": "Where does Ann moor the canoe?", "session": "again"})
    assert len(gaps()) == 2


@pytest.mark.covers("S3.51")
@pytest.mark.parametrize(
    ("text", "secret"),
    [
        ("Password is hunter2blue", "hunter2blue"),
        ("secret: open-sesame-now", "open-sesame-now"),
        ("client_secret: abc", "abc"),
        ('{"client_secret": "abc", "region": "eu"}', "abc"),
        ("Password is base64encoded", ""),
        ("secret: practice", ""),
        ("client_secret: the one from the console", ""),
        ("the host is 10.0.0.12", ""),
    ],
)
def test_secrets_are_seen_in_the_forms_in_which_people_write_them(
    home: Path, text: str, secret: str
) -> None:
    """A sentence, a line and a field are seen; remarks and addresses of machines stay."""
    with engrams.open(home=home, preset="graph", jobs__workers=0) as engine:
        engine.add(text, scope=("user", "ann"))
        (note,) = engine.list(scope=("user", "ann"), kinds=(Kind.NOTE,)).records
        if secret:
            assert secret not in note.text
        else:
            assert note.text == text


@pytest.mark.covers("S3.32")
def test_what_the_conversation_said_itself_is_no_gap(taught: Door) -> None:
    """Its answer stands in the conversation; asked elsewhere, what nobody knows is a gap."""
    taught.chat("My cat Biscuit sleeps in the laundry basket.", memory={"session": "cat"})
    taught.chat("I like the north sea very much in winter.", memory={"session": "cat"})
    taught.chat("Where does the cat Biscuit sleep?", memory={"session": "cat"})
    taught.post("/v1/context", {"query": "Who repairs zeppelin engines?", "session": "elsewhere"})
    found = eventually(
        lambda: taught.client.get("/v1/memories?kind=gap&status=candidate").json()["memories"]
    )
    assert [one["text"] for one in found] == ["Who repairs zeppelin engines?"]


@pytest.mark.covers("S3.35", "S3.36")
def test_an_agent_remembers_what_brings_a_memory_up(door: Door) -> None:
    """``remember`` takes triggers and the parts of a procedure. They show in the prompt of a later
    turn that names a trigger, and a repetition adds triggers.
    """
    parts = {
        "steps": ["Stop the pumps", "Open the valve"],
        "prerequisites": ["The basin is empty"],
        "warnings": ["Wear gloves"],
    }
    content = "Flush the cooling line"
    for trigger in ("red lamp", "cooling alarm"):
        call(door, "remember", content=content, category="procedure", triggers=[trigger], **parts)
    for question in ("what does a red lamp mean?", "there is a cooling alarm"):
        told = door.post("/v1/context", {"query": question})["text"]
        assert "Flush the cooling line Before: The basin is empty" in told
        assert "1) Stop the pumps; 2) Open the valve Warning: Wear gloves" in told
