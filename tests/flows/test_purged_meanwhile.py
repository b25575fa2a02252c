"""What is derived while a purge runs, by another engine on the same memory, does not outlive it."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import engrams
from engrams import MemoryEngine, Turn
from engrams.core import Kind, Status
from engrams.forget import purge, purge_plan
from engrams.ports import ChatAnswer, ChatRequest, PurgeOrder
from engrams.session.ending import episodes

ANN = ("user", "ann")
SECRET = "zanzibar"
SAID = (
    "I live in Zanzibar with two old cats.",
    "My sister Lou plays the cello every Sunday.",
    "We trained for climbing on the long wall all winter.",
    "I work at the harbour office now.",
    "The old bicycle of my brother stands in the cellar.",
)
LIVE = tuple(status for status in Status if status is not Status.PURGED)
ACCOUNT = {"summary": "They have a home on Zanzibar island, and a sister.", "themes": ["zanzibar"]}


class Teller:
    """A model whose account of a session tells the secret in words of its own;
    other requests learn nothing.
    """

    name = "teller"

    def ask(self, request: ChatRequest) -> ChatAnswer:
        answer: Any = ACCOUNT if request.purpose == "arc" else {"statements": []}
        return ChatAnswer(str(answer), answer)


@pytest.fixture(params=["rules", "model"])
def engines(
    request: pytest.FixtureRequest, home: Path
) -> Iterator[tuple[MemoryEngine, MemoryEngine]]:
    """Two engines on one memory with a conversation in it."""
    chat = {"chat": Teller()} if request.param == "model" else {}
    with (
        engrams.open(home=str(home), jobs__workers=0, **chat) as engine,
        engrams.open(home=str(home), jobs__workers=0, **chat) as other_engine,
    ):
        engine.observe([Turn(text, session="s") for text in SAID], scope=ANN)
        engine.drain()
        yield engine, other_engine


def after(
    monkeypatch: pytest.MonkeyPatch, module: Any, name: str, step: Callable[[], object]
) -> None:
    """Take a step once, right after a function has read or planned."""
    real = getattr(module, name)
    calls = []

    def held(*args: Any, **keywords: Any) -> Any:
        result = real(*args, **keywords)
        if not calls:
            calls.append(True)
            step()
        return result

    monkeypatch.setattr(module, name, held)


def holding(engine: MemoryEngine) -> list[str]:
    """Memories of any kind that hold the secret, in whatever field or history."""
    every = engine.list(scope=ANN, statuses=LIVE, limit=500).records
    texts = {
        record.id: f"{record}{engine.history(record.id, scope=ANN)}".lower() for record in every
    }
    return [f"{name}: {text}" for name, text in texts.items() if SECRET in text]


def find(engine: MemoryEngine, *kinds: Kind) -> str:
    """The memory of one of these kinds that tells the secret."""
    return next(
        record.id
        for record in engine.list(scope=ANN, kinds=kinds).records
        if SECRET in record.text.lower()
    )


def test_an_account_written_between_plan_and_erasure_goes_too(
    engines: tuple[MemoryEngine, MemoryEngine], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The session ends in another engine when the purge has found what to erase:
    its account goes with the message.
    """
    engine, other_engine = engines
    after(
        monkeypatch,
        purge,
        "plan_purge",
        lambda: other_engine.sessions.end("s", scope=ANN, wait=True),
    )
    report = engine.purge(find(engine, Kind.TURN), scope=ANN)
    assert report.removed["records"] > 1 and report.proven
    assert holding(engine) == [] and not engine.list(scope=ANN, kinds=(Kind.EPISODE,)).records


@pytest.mark.parametrize("kind", [Kind.TURN, Kind.FACT])
def test_an_account_of_what_was_purged_meanwhile_is_not_stored(
    engines: tuple[MemoryEngine, MemoryEngine], monkeypatch: pytest.MonkeyPatch, kind: Kind
) -> None:
    """The purge runs when the other engine has read the session:
    the account is made anew of what is left.
    """
    engine, other_engine = engines
    if kind is Kind.FACT and not engine.list(scope=ANN, kinds=(kind,)).records:
        pytest.skip("this model learns no facts")
    reports = []
    after(
        monkeypatch,
        episodes,
        "tell_session",
        lambda: reports.append(engine.purge(find(engine, kind), scope=ANN)),
    )
    monkeypatch.setattr(Teller, "ask", forgetful(Teller.ask, reports))
    other_engine.sessions.end("s", scope=ANN, wait=True)
    end = time.monotonic() + 20
    while not engine.list(scope=ANN, kinds=(Kind.EPISODE,)).records and time.monotonic() < end:
        time.sleep(0.06)
        other_engine.drain()
    assert [report.proven for report in reports] == [True]
    assert holding(engine) == [] and engine.list(scope=ANN, kinds=(Kind.EPISODE,)).records


def forgetful(ask: Callable[..., ChatAnswer], reports: list[Any]) -> Callable[..., ChatAnswer]:
    """A model that tells what it is shown: after the purge there is no secret in it."""

    def told(self: Teller, request: ChatRequest) -> ChatAnswer:
        shown = "".join(message.content for message in request.messages).lower()
        assert not reports or SECRET not in shown
        plain: Any = {"summary": "They have a sister who plays.", "themes": []}
        return (
            ChatAnswer(str(plain), plain)
            if reports and request.purpose == "arc"
            else ask(self, request)
        )

    return told


def test_a_proof_fails_while_others_go_on_deriving(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where each look finds something new, the report says so and proves nothing."""
    with engrams.open(home=str(home), jobs__workers=0) as engine:
        id = engine.add("I live in Zanzibar", scope=ANN).id
        real = purge_plan.plan_late
        late_order = PurgeOrder(engrams.Scope(ANN), ("unknown",), {})
        monkeypatch.setattr(purge, "plan_late", lambda *arguments: real(*arguments) or late_order)
        report = engine.purge(id, scope=ANN)
        assert report.remaining["derived"] == 1 and not report.proven
