"""Gemma 3 270M, a base model that babbles, does all of memory's work: nothing that it makes up is
believed, nothing that was said is lost, and every mistake is counted where a person sees it.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
from tests.acceptance.process import served

import engrams
from engrams import MemoryEngine, Turn
from engrams.core import Kind, Record, Status
from engrams.errors import ModelError
from engrams.program.main import main
from engrams.testing import ScriptedModel

ANN = ("user", "ann")
SAID = (
    "I moved to Lisbon last week.",
    "My sister Olga keeps bees in Turin.",
    "I am allergic to walnuts.",
    "I work as a baker.",
    "My dog is called Rex.",
    "I drink my coffee without sugar.",
    "Mi hermano se llama Pablo y vive en Sevilla.",
    "On Fridays I swim with Bruno.",
    "Our car is a blue Fiat.",
    "I am reading a book on bridges.",
    "My flat has number 14.",
    "I was born on 3 May 1990.",
)
SECONDS = 300.0
"""Time of one answer; the model is quick, the machine may be busy."""
NIGHTLY = "dream"
"""Jobs of a kind that wait for the night."""
_NAME = re.compile(r"\b(?:[A-Z][a-z]{2,}|\d+)\b")
_OWN_WORDS = frozenset(("The", "User", "Ann", "Said"))
_STATEMENTS = tuple(kind for kind in Kind if kind not in (Kind.TURN, Kind.EPISODE))


def model_settings(gemma: str) -> dict[str, object]:
    return {
        "chat__provider": "openai",
        "chat__url": gemma,
        "chat__timeout_seconds": SECONDS,
        "write__debounce_seconds": 0,
        "jobs__workers": 0,
    }


@contextmanager
def open_memory(home: Path, gemma: str, **settings: object) -> Iterator[MemoryEngine]:
    with engrams.open(home=home, **{**model_settings(gemma), **settings}) as memory:  # type: ignore[arg-type]
        yield memory


def work_off(memory: MemoryEngine, seconds: float = 1500.0) -> None:
    """Run jobs until none waits or all that wait have failed for good."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        memory.drain(30)
        jobs = memory.status()["jobs"]
        if not any(states.get("waiting") for kind, states in jobs.items() if kind != NIGHTLY):
            return
        time.sleep(1)


def assert_believed(records: Iterable[Record], said: Iterable[str]) -> None:
    """Check that names and numbers of memories were said."""
    text = " ".join(said)
    for record in records:
        invented = {name for name in _NAME.findall(record.text) if name not in text}
        assert invented <= _OWN_WORDS, (record.text, invented)


def assert_quoted(records: Iterable[Record], said: Iterable[str]) -> None:
    """Check that every statement rests on words of a message, letter by letter."""
    texts = tuple(said)
    for record in records:
        assert record.evidence, record.text
        for evidence in record.evidence:
            assert any(evidence.quote in text for text in texts), (record.text, evidence.quote)


def list_statements(memory: MemoryEngine) -> tuple[Record, ...]:
    return memory.list(scope=ANN, kinds=_STATEMENTS, statuses=(Status.ACTIVE,), limit=500).records


def test_init_and_the_doctor(
    gemma: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The server refuses ``json_schema`` with 500: a lower form is found, said, and remembered."""
    home = ["--home", str(tmp_path)]
    assert main(["init", *home, "--url", gemma, "--yes", "--json"]) == 0
    tested = json.loads(capsys.readouterr().out)["tested"]
    assert "JSON by object_schema" in tested
    assert main(["doctor", *home, "--json"]) == 0
    checks = {check["name"]: check for check in json.loads(capsys.readouterr().out)["checks"]}
    assert checks["chat"]["state"] in ("ok", "warn")
    assert "refuses json schema" in checks["chat"]["detail"]
    assert "Input should be" in checks["chat"]["detail"]


def test_twelve_turns_are_learned(
    gemma: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The job ends well; all that was said is there, and nothing that was not."""
    with open_memory(tmp_path, gemma) as memory:
        memory.observe([Turn(text, session="a") for text in SAID], scope=ANN)
        work_off(memory)
        status = memory.status()
        assert status["dead"] == []
        assert status["jobs"]["extract"] == {"done": 1}
        turns = memory.list(scope=ANN, kinds=(Kind.TURN,), statuses=tuple(Status)).records
        assert sorted(record.text for record in turns) == sorted(SAID)
        assert_believed(list_statements(memory), SAID)
        assert_quoted(list_statements(memory), SAID)
        hits = memory.search("Who keeps bees?", scope=ANN).hits
        assert any("Olga" in hit.record.text for hit in hits)
        learned = [record for record in list_statements(memory) if record.kind is Kind.FACT]
        mistakes = sum(status["mistakes"].values())
        assert learned or mistakes, "an answer without any statement must be counted"
    main(["status", "--home", str(tmp_path), "--set", "chat.provider=openai"])
    capsys.readouterr()
    options = ["--set", "chat.provider=openai", "--set", f"chat.url={gemma}"]
    assert main(["status", "--home", str(tmp_path), "--json", *options]) == 0
    assert sum(json.loads(capsys.readouterr().out)["mistakes"].values()) == mistakes
    assert main(["doctor", "--home", str(tmp_path), "--json", *options]) == 0
    checks = {check["name"]: check for check in json.loads(capsys.readouterr().out)["checks"]}
    assert ("answers" in checks) == bool(mistakes)


def test_chats_through_the_proxy(gemma: str, tmp_path: Path) -> None:
    """Whole and streamed chats are answered with memory, and stored."""
    with ScriptedModel() as unused:
        options = ["--upstream", gemma, "--set", "serve.upstream_learns=false"]
        with served("proxy", tmp_path, unused, *options) as door:
            door.client.timeout = SECONDS
            door.chat("My dog is called Rex.", max_tokens=8)
            answer = door.chat("What is my dog called?", max_tokens=16)
            assert answer.headers["x-engrams-memory"].startswith("used:")
            body = {
                "model": "gemma-3-270m",
                "stream": True,
                "max_tokens": 16,
                "messages": [{"role": "user", "content": "Which dog is Rex?"}],
            }
            with door.client.stream("POST", "/v1/chat/completions", json=body) as stream:
                assert stream.status_code == 200
                assert "".join(stream.iter_text()).rstrip().endswith("[DONE]")
            listed = door.run("list", "--kind", "turn", "--status", "all")
            for text in ("My dog is called Rex.", "What is my dog called?", "Which dog is Rex?"):
                assert text in listed


def test_a_conversation_is_summarised(gemma: str, tmp_path: Path) -> None:
    """A summary of nonsense leaves the last messages as they were, within the budget."""
    messages = [
        {
            "id": f"m{number}",
            "role": "user" if number % 2 == 0 else "assistant",
            "content": text * 4,
        }
        for number, text in enumerate(SAID)
    ]
    with open_memory(tmp_path, gemma) as memory:
        window = memory.summaries.fit(messages, scope=ANN, session="a", max_tokens=300)
        assert window.messages[-1]["content"] == messages[-1]["content"]
        assert memory.status()["dead"] == []


def test_a_dream_invents_nothing(gemma: str, tmp_path: Path) -> None:
    """A dream ends, with the model's answers or without; what it writes into MEMORY.md was said."""
    settings = {"vault__enabled": True, "vault__git": False, "chat__retries": 0}
    with open_memory(tmp_path, gemma, **settings) as memory:
        memory.observe([Turn(text, session="b") for text in SAID[:3]], scope=ANN)
        work_off(memory)
        with suppress(ModelError):
            memory.dream(scope=ANN, force=True)
        said = " ".join(SAID)
        for path in tmp_path.rglob("MEMORY.md"):
            for line in path.read_text("utf-8").splitlines():
                if line.startswith("- "):
                    invented = {name for name in _NAME.findall(line) if name not in said}
                    assert invented <= _OWN_WORDS, line
        status = memory.status()
        assert status["dead"] == []
        turns = memory.list(scope=ANN, kinds=(Kind.TURN,), statuses=tuple(Status)).records
        assert sorted(record.text for record in turns) == sorted(SAID[:3])


def test_a_server_without_decisions_is_no_judge(gemma: str, tmp_path: Path) -> None:
    """Where the server has no decisions, the chat model and rules judge: nothing is lost."""
    settings = {
        "judge__provider": "decisions",
        "judge__url": gemma,
        "judge__seconds": 20,
        "rerank__provider": "judge",
        "rerank__seconds": 60,
    }
    with open_memory(tmp_path, gemma, **settings) as memory:
        for text in ("I live in Paris.", "I moved to Rome.", *SAID[:2]):
            memory.observe([Turn(text, session="j")], scope=ANN)
        work_off(memory)
        assert memory.status()["dead"] == []
        result = memory.search("Where do I live?", scope=ANN, limit=4)
        assert any("Rome" in hit.record.text for hit in result.hits), result.notes
        assert any("reranked" in note for note in result.notes), result.notes
        assert_believed(list_statements(memory), ("I live in Paris.", "I moved to Rome.", *SAID))


def test_reranked_by_list(gemma: str, tmp_path: Path) -> None:
    """A reranker that answers nonsense loses no hit."""
    settings = {"rerank__provider": "listwise", "rerank__seconds": 60, "rerank__turns_only": False}
    with open_memory(tmp_path, gemma, **settings) as memory:
        for text in SAID[:4]:
            memory.add(text, scope=ANN)
        result = memory.search("Who keeps bees?", scope=ANN, limit=4)
        assert any("Olga" in hit.record.text for hit in result.hits), result.notes
        assert any("reranked" in note for note in result.notes), result.notes


def test_importance_is_judged(gemma: str, tmp_path: Path) -> None:
    """A judge that answers nonsense changes no text."""
    with open_memory(tmp_path, gemma, preset="cache") as memory:
        memory.observe([Turn(SAID[0], session="a")], scope=ANN)
        work_off(memory, 120)
        assert memory.status()["dead"] == []
        turns = memory.list(scope=ANN, kinds=(Kind.TURN,), statuses=tuple(Status)).records
        assert SAID[0] in {record.text for record in turns}
        assert_believed(list_statements(memory), SAID)
