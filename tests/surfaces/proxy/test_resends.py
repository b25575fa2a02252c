"""The same words of a client that sends no history: a request sent again, or said anew later."""

from __future__ import annotations

from collections.abc import Iterator

import httpx2
import pytest
from tests.surfaces.http.running import running
from tests.surfaces.proxy.harness import PATIENCE, Harness, completion
from tests.surfaces.proxy.raw import raw_upstream, reply

from engrams.core import Kind
from engrams.surfaces.http.app import create_app
from engrams.surfaces.proxy.mount import ProxyMount
from engrams.testing import SettableClock, temp_engine

SESSION = {"x-engrams-session": "phone"}


@pytest.fixture
def clock() -> SettableClock:
    return SettableClock()


@pytest.fixture
def bench(clock: SettableClock) -> Iterator[Harness]:
    with (
        raw_upstream() as raw,
        temp_engine(
            clock=clock,
            user="nobody",
            serve__upstream=raw.url + "/v1",
            serve__upstream_learns=False,
            serve__upstream_key="own-key",
        ) as engine,
    ):
        app = create_app(engine, engine.settings, [ProxyMount(engine, engine.settings, PATIENCE)])
        with running(app) as url, httpx2.Client(base_url=url, timeout=30) as client:
            raw.says(reply(completion()))
            harness = Harness(url, engine, raw, client)
            harness.user = "ann"
            yield harness


def list_said(bench: Harness) -> list[str]:
    return [text for role, text in bench.told() if role == "user"]


@pytest.mark.parametrize(
    "texts",
    [
        ("I love pizza.", "I hate pizza.", "I love pizza."),
        ("The server is up again.", "The server is down now.", "The server is up again."),
        ("I ran five miles today.", "I ran five miles today."),
    ],
)
def test_the_same_words_later_are_said_anew(
    bench: Harness, clock: SettableClock, texts: tuple[str, ...]
) -> None:
    """Every message is kept, however often it was said, with its answer."""
    for text in texts:
        bench.ask(text, SESSION)
        clock.forward(hours=20)
    assert list_said(bench) == list(texts)
    assert len(bench.told()) == 2 * len(texts)


def test_an_opinion_that_came_back_holds(bench: Harness, clock: SettableClock) -> None:
    """What was said last is what is known, although it was said before."""
    for text in ("I love pizza.", "I hate pizza.", "I love pizza."):
        bench.ask(text, SESSION)
        clock.forward(minutes=2)
    bench.engine.drain()
    scope = bench.turns()[0].scope
    kinds = (Kind.FACT, Kind.PREFERENCE)
    (known,) = bench.engine.list(scope=scope, kinds=kinds).records
    assert "love" in known.text


@pytest.mark.parametrize("start", [0.0, 5.0, 9.5])
def test_a_request_sent_again_within_seconds_is_one(
    bench: Harness, clock: SettableClock, start: float
) -> None:
    """Whenever it is sent first, a copy within ten seconds stores nothing."""
    clock.forward(start)
    for _ in range(2):
        bench.ask("I ran five miles today.", SESSION)
        clock.forward(8)
    assert list_said(bench) == ["I ran five miles today."]


def test_a_message_with_an_id_is_one_at_any_time(bench: Harness, clock: SettableClock) -> None:
    """The client's own id tells a copy from a repetition."""
    for message_id in ("m1", "m1", "m2"):
        bench.ask("I ran five miles today.", {**SESSION, "x-openwebui-message-id": message_id})
        clock.forward(hours=20)
    assert list_said(bench) == ["I ran five miles today."] * 2
