"""Sentences about memory, said in a chat in six languages: done by memory through every door, with
and without a model that claims everything. The table is ``said_in_chat.toml``.
"""

from __future__ import annotations

import re
import tomllib
import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient
from tests.surfaces.proxy.harness import PATIENCE

from engrams.core import Status
from engrams.engine import MemoryEngine
from engrams.surfaces.cli.chat import TerminalChatSession
from engrams.surfaces.http.app import create_app
from engrams.surfaces.proxy.mount import ProxyMount
from engrams.testing import ReceivedModelRequest, ScriptedModel, ScriptedReply, temp_engine

TABLE = tomllib.loads(Path(__file__).with_suffix(".toml").with_stem("said_in_chat").read_text())
ROWS = TABLE["request"]
NEAR_MISSES = [text for texts in TABLE["near_misses"].values() for text in texts]
YES = {"en": "yes", "de": "ja", "es": "sí", "fr": "oui", "zh": "是的", "ja": "はい"}
DOORS = ("page", "chat", "anthropic", "ollama", "terminal")
PATHS = {
    "page": "/v1/chat/completions",
    "chat": "/v1/chat/completions",
    "anthropic": "/v1/messages",
    "ollama": "/api/chat",
}
QUOTED = re.compile("“[^”]*”")
CLAIM = "Done, I have taken care of it."
"""What the model says to almost everything: it claims whatever it was asked to do."""
ANSWERS = {row["told"][-1]: row["told"][0] for row in ROWS if row["kind"] == "wrong"}
"""Questions that the model answers from memory, each with its answer."""
LATER = ("about_me", "about_person", "since", "source")
"""Requests that are made in another conversation: the client has no history to send."""


def answer_like_a_model(request: ReceivedModelRequest) -> Any:
    """Answer the questions of ``ANSWERS``, and claim that all else is done."""
    asked = next(text for role, text in reversed(request.messages) if role == "user")
    answers = (answer for question, answer in ANSWERS.items() if question in asked)
    return ScriptedReply(next(answers, CLAIM))


@dataclass(frozen=True)
class Said:
    """What a door answered."""

    text: str
    by_memory: bool
    """Memory answered in place of the model, or of quotes."""
    prompt: str
    """What the model was sent; empty: it was not asked."""

    @property
    def shown(self) -> str:
        """What the model saw, or the person where no model was asked."""
        return self.prompt or self.text


@dataclass
class Talk:
    """Conversations of a new person through one door."""

    engine: MemoryEngine
    client: TestClient
    model: ScriptedModel | None
    door: str
    user: str = field(default_factory=lambda: "u-" + uuid.uuid4().hex[:12])
    session: str = "first"
    messages: list[dict[str, str]] = field(default_factory=list)
    terminal: TerminalChatSession | None = None

    def say(self, text: str) -> Said:
        """Send one message with the history, as the door's clients do."""
        asked = len(self.model.requests) if self.model else 0
        answer, by_memory = self._type(text) if self.door == "terminal" else self._post(text)
        assert self.engine.drain(60)
        prompts = self.model.requests[asked:] if self.model else []
        return Said(answer, by_memory, "\n".join(request.prompt for request in prompts))

    def begin_anew(self) -> None:
        """Begin another conversation."""
        self.session = "later"
        self.messages = []
        self.terminal = None

    def _type(self, text: str) -> tuple[str, bool]:
        if self.terminal is None:
            self.terminal = TerminalChatSession(self.engine, ("user", self.user), self.session)
        stored = self.list_texts()
        answer = self.terminal.answer(text)
        return answer, self.list_texts() == stored

    def _post(self, text: str) -> tuple[str, bool]:
        self.messages.append({"role": "user", "content": text})
        body: dict[str, Any] = {"model": "m", "messages": self.messages, "stream": False}
        if self.door == "anthropic":
            body["max_tokens"] = 100
        if self.door == "page":
            body["memory"] = {"session": f"{self.session}-{self.user}"}
        response = self.client.post(
            PATHS[self.door], json=body, headers={"x-engrams-user": self.user}
        )
        assert response.status_code == 200
        answer = _read_answer(response.json())
        self.messages.append({"role": "assistant", "content": answer})
        return answer, response.headers["x-engrams-memory"] == "command"

    def list_texts(self, *statuses: Status) -> str:
        """The texts in memory with one of these statuses, or with any."""
        records = self.engine.list(
            scope=("user", self.user), statuses=statuses or tuple(Status), limit=200
        ).records
        return "\n".join(f"{record.role}: {record.text}" for record in records)

    def holds(self, words: str) -> bool:
        """True if words are in what memory holds as true."""
        active = self.list_texts(Status.ACTIVE)
        return all(word.lower() in active.lower() for word in words.split(" "))

    def find(self, question: str) -> str:
        """The texts that a question finds, without those that are shown as over."""
        hits = self.engine.search(question, scope=("user", self.user)).hits
        texts = [
            hit.record.text
            for hit in hits
            if hit.status is Status.ACTIVE and not (hit.outdated and hit.outdated.is_told)
        ]
        return "\n".join(texts)


def _read_answer(data: Mapping[str, Any]) -> str:
    if "choices" in data:
        return str(data["choices"][0]["message"]["content"])
    return str(data["content"][0]["text"] if "content" in data else data["message"]["content"])


def _is_forgotten(talk: Talk, row: Mapping[str, Any], said: Said) -> bool:
    """The memory is named and forgotten after a yes."""
    assert row["gone"] in said.text
    return talk.say(YES[row["language"]]).by_memory and not talk.holds(row["gone"])


def _is_corrected(talk: Talk, row: Mapping[str, Any], _: Said) -> bool:
    """The right value is found; what says the wrong one alone is over."""
    lines = talk.find(row["ask"]).splitlines()
    wrong = [line for line in lines if row["gone"] in line and row["known"] not in line]
    return not wrong and any(row["known"] in line for line in lines)


def _is_brought_back(talk: Talk, row: Mapping[str, Any], said: Said) -> bool:
    """It is back at once, or after a yes where something was said in between."""
    if not talk.holds(row["known"]):
        said = talk.say(YES[row["language"]])
    return said.by_memory and row["known"] in said.text and talk.holds(row["known"])


def _is_listed(_: Talk, row: Mapping[str, Any], said: Said) -> bool:
    return said.by_memory and all(word in said.text for word in row["known"].split(" "))


def _is_told(_: Talk, row: Mapping[str, Any], said: Said) -> bool:
    """The model gets what is known; without one memory tells it, and nothing of another thing."""
    is_narrow = bool(said.prompt) or row["unrelated"] not in said.text
    return row["known"] in said.shown and is_narrow


def _is_dated(_: Talk, row: Mapping[str, Any], said: Said) -> bool:
    """Memory says since when in its own words, not only in the quoted message."""
    return row["known"] in (said.prompt or QUOTED.sub("", said.text))


def _is_sourced(talk: Talk, row: Mapping[str, Any], said: Said) -> bool:
    """The words and the day on which they were said are told, by memory itself."""
    day = f"{talk.engine.now():%Y-%m-%d}"
    return said.by_memory and row["known"] in said.text and day in said.text


CHECKS: Mapping[str, Callable[[Talk, Mapping[str, Any], Said], bool]] = {
    "forget_that": _is_forgotten,
    "forget_about": _is_forgotten,
    "wrong": _is_forgotten,
    "correct": _is_corrected,
    "meant": _is_corrected,
    "remember": lambda talk, row, _: row["known"] in talk.find(row["ask"]),
    "dont_save": lambda talk, row, _: row["gone"] not in talk.list_texts(),
    "about_me": _is_listed,
    "about_person": _is_told,
    "since": _is_dated,
    "source": _is_sourced,
    "undo": _is_brought_back,
}


Opener = Callable[[str, str], Talk]


@pytest.fixture(scope="module")
def open_talk() -> Iterator[Opener]:
    """Open a talk through a door, with or without a model behind it."""
    with ExitStack() as stack:
        model = stack.enter_context(ScriptedModel().when("", answer_like_a_model))
        with_model = {
            "serve__upstream": f"{model.url}/v1",
            "serve__upstream_learns": False,
            "chat__provider": "openai",
            "chat__url": f"{model.url}/v1",
            "chat__model": "m",
            "write__extract": "rules",
            "write__reconcile": "rules",
        }
        places = {}
        for name, settings in (("alone", {}), ("model", with_model)):
            engine = stack.enter_context(temp_engine(user="nobody", jobs__workers=0, **settings))
            mounts = [ProxyMount(engine, engine.settings, PATIENCE)]
            app = create_app(engine, engine.settings, mounts)
            client = stack.enter_context(TestClient(app, base_url="http://127.0.0.1"))
            places[name] = (engine, client, model if settings else None)
        yield lambda place, door: Talk(*places[place], door)


def list_plays(count: int, *fast_places: str) -> list[Any]:
    """Number of a sentence, place and door: a door in turn for each; all of them in the slow tests."""
    plays = []
    for number in range(count):
        for place in ("alone", "model"):
            fast_door = DOORS[(number + (place == "model")) % len(DOORS)]
            for door in DOORS:
                is_fast = place in fast_places and door == fast_door
                marks = [] if is_fast else pytest.mark.slow
                plays.append(pytest.param(number, place, door, marks=marks))
    return plays


@pytest.mark.parametrize(("number", "place", "door"), list_plays(len(ROWS), "alone", "model"))
def test_what_is_said_is_done(open_talk: Opener, number: int, place: str, door: str) -> None:
    """Each sentence is done in memory, and the model's "Done" never stands in for it."""
    row = ROWS[number]
    talk = open_talk(place, door)
    for message in row["told"]:
        talk.say(message)
    if row["kind"] in LATER:
        talk.begin_anew()
    said = talk.say(row["say"])
    assert CHECKS[row["kind"]](talk, row, said), (row["say"], said)


@pytest.mark.parametrize(("number", "place", "door"), list_plays(len(NEAR_MISSES), "model"))
def test_other_talk_is_no_request(open_talk: Opener, number: int, place: str, door: str) -> None:
    """A sentence with the same words is passed on, and changes nothing."""
    talk = open_talk(place, door)
    talk.say("I play the cello.")
    talk.say("My dentist is Dr. Weber.")
    said = talk.say(NEAR_MISSES[number])
    assert "cello" in talk.list_texts(Status.ACTIVE)
    assert "Weber" in talk.list_texts(Status.ACTIVE)
    if talk.model:
        assert NEAR_MISSES[number] in said.prompt
    else:
        assert not said.by_memory
