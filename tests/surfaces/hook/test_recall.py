"""What an agent's session is given: nothing twice, nothing that it said, and where the last ended."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import engrams
from engrams import Turn
from engrams.surfaces.hook.events import parse_event
from engrams.surfaces.hook.run import HookCallOptions, answer_event, answer_with
from engrams.testing import SettableClock

SHOP = ("user", "ann", "project", "shop")
PORT = "The staging database of the shop listens on port 5433."
QUESTION = "Which port does the staging database use?"


class Session:
    """Hook of one home, called in a project."""

    def __init__(self, home: Path) -> None:
        self._call = HookCallOptions({"home": str(home), "user": "ann"}, project=".", seconds=60.0)

    def send(self, session: str, name: str, **values: str) -> str:
        body = {"hook_event_name": name, "session_id": session, "cwd": "/src/shop", **values}
        event = parse_event(json.dumps(body).encode())
        assert event is not None
        answer = answer_event(self._call, event)
        return json.loads(answer)["hookSpecificOutput"]["additionalContext"] if answer else ""

    def ask(self, session: str, prompt: str) -> str:
        return self.send(session, "UserPromptSubmit", prompt=prompt)


@pytest.fixture
def agent(home: Path) -> Session:
    with engrams.open(home=str(home), jobs__workers=0) as engine:
        engine.observe([Turn(PORT, "user", session="old")], scope=SHOP)
        engine.observe(
            [Turn("Deploys to staging go through release.yml only.", "user", session="old")],
            scope=SHOP,
        )
        engine.drain(20)
    return Session(home)


def test_nothing_is_given_twice(agent: Session) -> None:
    """A memory that a session got, at its start or for a prompt, does not come again in it, in any
    process; another session gets it.
    """
    first = agent.ask("s1", QUESTION)
    assert "5433" in first
    assert "5433" not in agent.ask("s1", "And which port was it again for the staging database?")
    assert "5433" in agent.ask("s2", QUESTION)
    start = agent.send("s3", "SessionStart", source="startup")
    asked = agent.ask("s3", "How do we deploy to staging, and which port has the database?")
    lines = [line for line in start.splitlines() if line[:1].isdigit()]
    assert lines and not [
        line
        for line in asked.splitlines()
        if line[2:].strip("- ") in start and line.startswith("- ")
    ]


def test_what_the_session_said_is_not_given_back(agent: Session) -> None:
    """Neither its messages nor what was learned from them, until a compaction took them away."""
    agent.ask("s1", "The cache of the shop is Valkey on port 6380.")
    agent.send("s1", "Stop", last_assistant_message="Understood.")
    question = "Which port has the cache of the shop?"
    assert "6380" not in agent.ask("s1", question)
    assert "6380" in agent.ask("s2", question)
    start = agent.send("s1", "SessionStart", source="compact")
    assert "6380" in start + agent.ask("s1", question)


def test_a_resumed_session_has_its_start(agent: Session) -> None:
    """It gets it again after a compaction, and after a resume only if it changed."""
    start = agent.send("s1", "SessionStart", source="startup")
    assert "release.yml" in start
    assert agent.send("s1", "SessionStart", source="resume") == ""
    assert "release.yml" in agent.send("s1", "SessionStart", source="compact")
    agent.ask("s2", "Use pnpm, not npm.")
    agent.send("s2", "Stop", last_assistant_message="Understood.")
    assert "pnpm" in agent.send("s1", "SessionStart", source="resume")


def test_the_start_says_where_the_last_session_stopped(agent: Session, tmp_path: Path) -> None:
    """The last request that is no order, and the work on it, of this project's last session."""
    agent.ask("s1", "The cart total is wrong when a coupon is applied twice, please fix it.")
    lines = [
        {"type": "user", "message": {"role": "user", "content": "fix it"}},
        {
            "type": "assistant",
            "message": {
                "role": "assistant",
                "content": [
                    {
                        "type": "tool_use",
                        "id": "1",
                        "name": "Edit",
                        "input": {"file_path": "/src/shop/src/cart.ts"},
                    }
                ],
            },
        },
        {
            "type": "user",
            "message": {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "1"}]},
        },
    ]
    file = tmp_path / "t.jsonl"
    file.write_text("\n".join(json.dumps(line) for line in lines), "utf-8")
    agent.send("s1", "Stop", transcript_path=str(file))
    agent.ask("s1", "now the build")
    start = agent.send("s2", "SessionStart", source="startup")
    last = start.partition("<last_session")[2]
    assert "coupon is applied twice" in last and "src/cart.ts" in last
    assert "now the build" not in last
    assert agent.send("s3", "SessionStart", source="startup") == start
    assert "<last_session" not in agent.send("s1", "SessionStart", source="compact")


HARBOUR = (
    "All errors of the api are problem+json with a stable type slug.",
    "`make check` needs a running Postgres. I start it by docker compose on port 5433, because 5432 is taken.",
    "The queue for background work is celery with redis.",
    "Redis has to go, ops will not run it. Use procrastinate on our Postgres for the queue.",
    "The upload test is flaky on the build server, about one run in twenty.",
    "The harbour page is drawn with leaflet, tiles come from our own server.",
    "Mails are written in mjml below emails/ and compiled in ci.",
    "Amounts are integer cents everywhere.",
    "The pier report is a pdf made by typst from templates/report.typ.",
    "Webhooks of the payment provider come twice, so they are keyed by event id.",
)
"""What was said in a project, each message in a session of its own."""


@pytest.fixture(scope="module")
def harbour(tmp_path_factory: pytest.TempPathFactory) -> Session:
    home = tmp_path_factory.mktemp("harbour")
    with engrams.open(home=str(home), jobs__workers=0) as engine:
        for number, text in enumerate(HARBOUR):
            engine.observe([Turn(text, "user", session=f"old{number}")], scope=SHOP)
        engine.drain(20)
    return Session(home)


def test_a_message_gives_what_the_start_has_not_said(harbour: Session) -> None:
    """The message that a rule of the start was learned from does not come again; of one that says
    more, the rest does. A session that has no start gets both whole.
    """
    start = harbour.send("started", "SessionStart", source="startup")
    assert "problem+json" in start and "ops will not run it" in start
    endpoint = "add an endpoint that lists the errors of the api"
    queue = "which queue do we use for background work?"
    assert harbour.ask("started", endpoint) == ""
    recalled = harbour.ask("started", queue)
    assert "procrastinate" in recalled and "ops will not run it" not in recalled
    assert "problem+json" in harbour.ask("other", endpoint)
    assert "ops will not run it" in harbour.ask("other", queue)


def test_the_task_that_a_rule_was_said_for_does_not_bring_it_again(home: Path) -> None:
    """What a colon leads to a rule says nothing to a session that begins with the rule."""
    session = Session(home)
    rule = "let's go with Zustand instead of Redux for the ledger, it's smaller"
    session.send("old", "UserPromptSubmit", prompt=f"rework the ledger: {rule}")
    session.send("old", "Stop", last_assistant_message="Done.")
    session.send("old", "SessionEnd", reason="exit")
    assert rule in session.send("new", "SessionStart", source="startup")
    assert session.ask("new", "which store does the ledger use, Zustand or Redux?") == ""


def test_what_was_replaced_does_not_come_beside_its_replacement(harbour: Session) -> None:
    """The present queue is given, the former one only to a question about the past."""
    recalled = harbour.ask("now", "which queue do we use for background work?")
    assert "procrastinate" in recalled and "celery" not in recalled
    past = harbour.ask("then", "what did we use for background work before procrastinate?")
    assert "celery with redis" in past


@pytest.mark.parametrize(
    "prompt",
    [
        "what did we decide about push notification sounds?",
        "where is the backup of the database stored?",
    ],
)
def test_what_hardly_helps_is_left_out(harbour: Session, prompt: str) -> None:
    """Memories with a word in common that help less often than three times in ten are noise."""
    assert harbour.ask(prompt, prompt) == ""


def test_a_young_project_gives_what_is_near(home: Path) -> None:
    """Of a few memories, in which nothing can be judged, a prompt gets those nearest to it."""
    with engrams.open(home=str(home), jobs__workers=0) as engine:
        for text in (
            "Anvil is the ansible side: debian hosts, roles in roles/, molecule for tests.",
            "The secrets of anvil are in ansible-vault, the password file is on the bastion.",
        ):
            engine.observe([Turn(text, "user", session="old")], scope=SHOP)
        engine.drain(20)
    recalled = Session(home).ask("s1", "how are the roles tested?")
    assert "molecule" in recalled and "bastion" not in recalled


@pytest.mark.parametrize("prompt", ["use that one then", "go on and plan it", "thanks", "ok do it"])
def test_a_vague_prompt_gets_nothing(agent: Session, prompt: str) -> None:
    """What only the conversation explains pulls nothing."""
    assert agent.ask("s1", prompt) == ""


def test_the_start_stays_within_its_budget(agent: Session, home: Path) -> None:
    """However much is known, the text at the start has at most 400 tokens of memories."""
    with engrams.open(home=str(home), jobs__workers=0) as engine:
        for number in range(80):
            rule = f"Module number {number} is only changed by its owners in team {number}."
            engine.add(rule, scope=SHOP, kind="rule")
        start = agent.send("s1", "SessionStart", source="startup").partition("<last_session")[0]
        assert 200 < engine.context("", scope=SHOP, tokens=400).tokens <= 400
    assert len(start) < 400 * 6


def test_a_session_file_holds_no_words(agent: Session, home: Path) -> None:
    """The ids that a session was given are kept, not what they say."""
    agent.ask("s1", QUESTION)
    (file,) = (home / "agent-sessions").iterdir()
    assert "5433" not in file.read_text("utf-8") and json.loads(file.read_text("utf-8"))["ids"]


def test_a_crashed_session_is_taken_in_by_the_next(
    agent: Session, home: Path, tmp_path: Path
) -> None:
    """The answer of a turn whose end never came is stored at the next start in the project, once."""
    file = tmp_path / "t.jsonl"
    answer = "The flaky login test waits for the wrong selector."
    lines = [
        {"type": "user", "message": {"role": "user", "content": "Why is the login test flaky?"}},
        {"type": "assistant", "message": {"role": "assistant", "content": answer}},
    ]
    file.write_text("\n".join(json.dumps(line) for line in lines), "utf-8")
    prompt = {"prompt": "Why is the login test flaky?", "transcript_path": str(file)}
    agent.send("crashed", "UserPromptSubmit", **prompt)

    def list_answers() -> list[str]:
        with engrams.open(home=str(home), jobs__workers=0) as engine:
            return [
                record.text
                for record in engine.list(scope=SHOP, session="crashed").records
                if record.role == "assistant"
            ]

    assert list_answers() == []
    for session in ("s2", "s3"):
        agent.send(session, "SessionStart", source="startup")
        assert list_answers() == [answer]
    agent.send("crashed", "Stop", transcript_path=str(file), last_assistant_message=answer)
    assert list_answers() == [answer]


@pytest.fixture
def worked(home: Path) -> Iterator[Callable[..., str]]:
    """A project with work of three days; a function that sends an event on a day."""
    clock = SettableClock("2026-03-02T09:00")
    with engrams.open(home=str(home), jobs__workers=0, user="ann", clock=clock) as engine:
        call = HookCallOptions({}, project=".")

        def send(day: int, session: str, name: str, prompt: str = "") -> str:
            clock.set(f"2026-03-0{day}T10:00")
            body = {"hook_event_name": name, "session_id": session, "prompt": prompt}
            event = parse_event(json.dumps({**body, "cwd": "/src/shop"}).encode())
            assert event is not None
            return answer_with(engine, call, event, engine.settings)

        send(2, "mon", "UserPromptSubmit", "add a retry with backoff to the mail worker")
        send(2, "mon", "UserPromptSubmit", "run the tests")
        send(3, "tue", "UserPromptSubmit", "the invoice needs a column for the tax rate")
        send(4, "wed", "UserPromptSubmit", "split the parser of the importer in two")
        engine.drain(20)
        yield send


@pytest.mark.parametrize(
    ("prompt", "words"),
    [
        ("what did we do on Monday?", "mail worker"),
        ("remind me what we got done last Tuesday", "tax rate"),
        ("Was haben wir am Montag gemacht?", "mail worker"),
        ("¿qué hicimos el lunes?", "mail worker"),
        ("qu'avons-nous fait lundi ?", "mail worker"),
        ("我们周一做了什么？", "mail worker"),
    ],
)
def test_what_was_done_on_a_day_is_told(
    worked: Callable[..., str], prompt: str, words: str
) -> None:
    """The requests of that day come, with the day, and nothing of others; and they come once."""
    answer = worked(5, "thu", "UserPromptSubmit", prompt)
    assert words in answer and "run the tests" not in answer
    assert [word for word in ("mail worker", "tax rate", "importer") if word in answer] == [words]
    assert words not in worked(5, "thu", "UserPromptSubmit", prompt)


@pytest.mark.parametrize(
    "prompt",
    [
        "undo what we did on Monday",
        "what happened to the queue on Monday?",
        "write a changelog of what we did on Monday",
    ],
)
def test_work_on_what_was_done_is_no_question_for_it(
    worked: Callable[..., str], prompt: str
) -> None:
    """A task, or a question about a thing, gets no list of that day."""
    assert "<work>" not in worked(5, "thu", "UserPromptSubmit", prompt)
