"""Web hooks through the served API:
a receiving server is told of what changes, once it answers; never one in a private network.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import http.server
import json
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from ipaddress import ip_address
from pathlib import Path
from typing import Any

import httpx2
import pytest
from tests.surfaces.http.running import running

import engrams
from engrams.admin import open_webhooks
from engrams.api_keys import ApiKeyStore
from engrams.core import Scope, Turn
from engrams.core.clock import now
from engrams.engine import MemoryEngine
from engrams.program.registry import create_app
from engrams.transfer.webhooks.public_addresses import is_public

PROJECT = "/api/v1/webhooks/projects/engrams/"


class Receiver:
    """A server that keeps what it is sent, and answers with the next of ``statuses``, else 200."""

    def __init__(self) -> None:
        self.got: list[tuple[dict[str, str], bytes]] = []
        self.statuses: list[int] = []
        self.url = ""
        self.heard = threading.Event()

    @property
    def events(self) -> list[tuple[str, str]]:
        told = [json.loads(body)["event_details"] for _, body in self.got]
        return [(each["event"], each["data"].get("memory", "")) for each in told]


@contextmanager
def receiving() -> Iterator[Receiver]:
    made = Receiver()

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"]))
            status = made.statuses.pop(0) if made.statuses else 200
            if status == 200:
                made.got.append(
                    ({name.lower(): value for name, value in self.headers.items()}, body)
                )
                made.heard.set()
            self.send_response(status)
            self.send_header("location", "http://127.0.0.1:1/elsewhere")
            self.end_headers()

        def log_message(self, *_: Any) -> None:
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    made.url = f"http://localhost:{server.server_port}/told"
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield made
    finally:
        server.shutdown()
        server.server_close()


@contextmanager
def serving(home: Path, **settings: Any) -> Iterator[tuple[MemoryEngine, httpx2.Client]]:
    """A server on a home whose jobs run only when drained."""
    held = {
        "serve__allow_private_webhooks": True,
        "jobs__workers": 0,
        "jobs__backoff_seconds": 0.01,
        **settings,
    }
    with (
        engrams.open(home=home, user="ann", **held) as engine,
        running(create_app(engine, engine.settings)) as url,
        httpx2.Client(base_url=url, timeout=30) as client,
    ):
        yield engine, client


def create(client: httpx2.Client, url: str, **more: Any) -> dict[str, Any]:
    answer = client.post(PROJECT, json={"url": url, "name": "n", **more})
    assert answer.status_code == 200, answer.text
    made: dict[str, Any] = answer.json()
    return made


def test_changes_are_sent_in_order_and_signed(home: Path) -> None:
    """Added, changed and forgotten memories are told in order, signed, whichever door changed them;
    nothing from before, nothing twice.
    """
    with receiving() as receiver, serving(home) as (engine, client):
        engine.add("Told before there was a web hook.", scope=("user", "ann"))
        made = create(client, receiver.url)
        assert made["event_types"] == ["memory_add", "memory_update", "memory_delete"] and made[
            "secret"
        ].startswith("whsec_")
        assert "secret" not in {
            name for name, value in client.get(PROJECT).json()[0].items() if value
        }
        id = engine.add("The gate is green.", scope=("user", "ann")).id
        engine.add("Of another owner.", scope=("user", "eve"))
        engine.drain()
        client.put(f"/v1/memories/{id}/", json={"text": "The gate is grey."})
        engine.drain()
        client.delete(f"/v1/memories/{id}/")
        engine.drain()
        engine.drain()
        own = [event for event in receiver.events if event[1].endswith(".") or not event[1]]
        told = [
            event for event in own if event[1]
        ]  # what was learned from the old words ends beside them
        assert told == [("ADD", "The gate is green."), ("UPDATE", "The gate is grey.")] and own[
            -1
        ] == ("DELETE", "")
        assert not [
            event for event in receiver.events if "another" in event[1] or "before" in event[1]
        ]
        heads, body = receiver.got[0]
        signed = f"{heads['webhook-id']}.{heads['webhook-timestamp']}.".encode() + body
        key = base64.b64decode(made["secret"].removeprefix("whsec_"), validate=True)
        assert len(key) == 24
        assert (
            heads["webhook-signature"]
            == "v1," + base64.b64encode(hmac.new(key, signed, hashlib.sha256).digest()).decode()
        )
        assert len({heads["webhook-id"] for heads, _ in receiver.got}) == len(receiver.got)


def test_a_web_hook_gets_only_its_events(home: Path) -> None:
    """A web hook that asked for deletions alone hears of nothing else;
    a changed one of what it asks for now, a deleted one of nothing.
    """
    with receiving() as receiver, serving(home) as (engine, client):
        hook = create(client, receiver.url, event_types=["memory:delete"])["id"]
        engine.add("One.", scope=("user", "ann"))
        engine.drain()
        assert receiver.events == []
        changed = client.put(
            f"/api/v1/webhooks/{hook}/", json={"event_types": ["memory_add"], "name": "other"}
        ).json()
        assert (changed["name"], changed["event_types"], changed["url"]) == (
            "other",
            ["memory_add"],
            receiver.url,
        )
        engine.add("Two.", scope=("user", "ann"))
        engine.drain()
        assert receiver.events == [("ADD", "Two.")]
        assert client.delete(f"/api/v1/webhooks/{hook}/").status_code == 200
        engine.add("Three.", scope=("user", "ann"))
        engine.drain()
        assert receiver.events == [("ADD", "Two.")] and client.get(PROJECT).json() == []
        assert client.delete(f"/api/v1/webhooks/{hook}/").status_code == 404


def test_a_delivery_is_a_visible_job(home: Path) -> None:
    """What a broken receiver refuses is tried again, then given up in plain view;
    a retry sends it, and nothing is lost or doubled.
    """
    with receiving() as receiver, serving(home, jobs__max_attempts=2) as (engine, client):
        create(client, receiver.url)
        receiver.statuses = [503, 302]
        engine.add("The gate is green.", scope=("user", "ann"))
        for _ in range(40):
            engine.drain()
        (dead,) = client.get("/v1/jobs").json()["dead"]
        assert (
            dead["kind"] == "webhook" and "answered 302" in dead["error"] and receiver.events == []
        )
        engine.add("The barn is red.", scope=("user", "ann"))
        engine.drain()
        assert receiver.events == []
        assert engine.retry() == 1
        engine.drain()
        assert [event for event in receiver.events if event[1].endswith(".")] == [
            ("ADD", "The gate is green."),
            ("ADD", "The barn is red."),
        ]


@pytest.mark.slow
def test_a_restart_sends_the_remaining_messages(home: Path) -> None:
    """A server that ended before it sent anything sends it after its next start, without another
    change.
    """
    with receiving() as receiver:
        with serving(home) as (engine, client):
            create(client, receiver.url)
            engine.add("The gate is green.", scope=("user", "ann"))
        assert receiver.events == []
        with serving(home, jobs__workers=1):
            assert receiver.heard.wait(20)
        assert ("ADD", "The gate is green.") in receiver.events


def test_a_slow_receiver_is_cut_off(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One that answers a byte at a time holds a worker no longer than the time for all of it."""
    monkeypatch.setattr("engrams.transfer.webhooks.public_addresses._SECONDS", 0.5)
    with (
        socket.create_server(("127.0.0.1", 0)) as listener,
        serving(home, jobs__max_attempts=1) as (engine, client),
    ):

        def drip() -> None:
            peer = listener.accept()[0]
            with peer, suppress(OSError):
                for _ in range(100):
                    peer.sendall(b"H")
                    time.sleep(0.1)

        threading.Thread(target=drip, daemon=True).start()
        create(client, f"http://127.0.0.1:{listener.getsockname()[1]}/")
        engine.add("The gate is green.", scope=("user", "ann"))
        start = time.monotonic()
        engine.drain()
        assert time.monotonic() - start < 8
        assert "does not answer: TimeoutError" in client.get("/v1/jobs").json()["dead"][0]["error"]


def test_private_addresses_are_refused(home: Path) -> None:
    """Without the setting nothing is sent to this machine, and the job says why;
    an address with a password or another scheme is none.
    """
    with (
        receiving() as receiver,
        serving(home, serve__allow_private_webhooks=False, jobs__max_attempts=1) as (
            engine,
            client,
        ),
    ):
        create(client, receiver.url)
        engine.add("The gate is green.", scope=("user", "ann"))
        engine.drain()
        (dead,) = client.get("/v1/jobs").json()["dead"]
        assert "private network" in dead["error"] and receiver.got == []
        urls = [
            "ftp://example.org/x",
            "https://me:secret@example.org",
            "file:///etc/passwd",
            "nonsense",
            "http://:80/",
            "http://a\0b/",
            "http://a/b\0",
            "http://bücher.example/",
            "http://@a/",
            "http://a b/",
        ]
        for url in urls:
            assert client.post(PROJECT, json={"url": url}).status_code == 400, url
        assert (
            client.post(
                PROJECT, json={"url": "https://example.org", "event_types": ["memory_eaten"]}
            ).status_code
            == 422
        )


@pytest.mark.parametrize(
    ("address", "public"),
    [
        ("93.184.216.34", True),
        ("2606:2800:220:1:248:1893:25c8:1946", True),
        ("127.0.0.1", False),
        ("10.1.2.3", False),
        ("169.254.169.254", False),
        ("100.64.0.1", False),
        ("0.0.0.0", False),
        ("224.0.0.1", False),
        ("::1", False),
        ("fd00::1", False),
        ("::ffff:127.0.0.1", False),
        ("::ffff:93.184.216.34", True),
        ("64:ff9b::7f00:1", False),
        ("64:ff9b::5db8:d822", True),
        ("64:ff9b:1::7f00:1", False),
        ("::127.0.0.1", False),
        ("::ffff:0:127.0.0.1", False),
        ("fec0::1", False),
        ("2002:7f00:1::", False),
    ],
)
def test_an_address_inside_another_is_checked_too(address: str, public: bool) -> None:
    """An address inside another counts as what it leads to."""
    assert is_public(ip_address(address)) is public


def test_web_hooks_belong_to_one_owner(home: Path) -> None:
    """Another owner's web hooks are neither listed, changed nor deleted;
    a key that may not read makes none.
    """
    with serving(home, serve__require_keys="always") as (_, client):
        keys = ApiKeyStore.open(home)
        heads = {
            name: {
                "authorization": (
                    "Token"
                    f" {keys.add(name, Scope(('user', name.partition('-')[0])), rights, now())[1]}"
                )
            }
            for name, rights in (
                ("bob", ("read", "write")),
                ("eve", ("read", "write")),
                ("bob-writes", ("write",)),
            )
        }
        said = {"url": "https://example.org/hook"}
        hook = client.post(PROJECT, json=said, headers=heads["bob"]).json()["id"]
        assert client.get(PROJECT, headers=heads["eve"]).json() == []
        assert (
            client.put(
                f"/api/v1/webhooks/{hook}/", json={"name": "mine"}, headers=heads["eve"]
            ).status_code
            == 404
        )
        assert client.delete(f"/api/v1/webhooks/{hook}/", headers=heads["eve"]).status_code == 404
        assert client.post(PROJECT, json=said, headers=heads["bob-writes"]).status_code == 422
        assert client.get(PROJECT).status_code == 401
        assert [each["id"] for each in client.get(PROJECT, headers=heads["bob"]).json()] == [hook]


def test_a_corrected_message_is_sent_without_what_was_corrected(home: Path) -> None:
    """A message of which a part was forgotten is an update that no longer says it."""
    with receiving() as receiver, serving(home) as (engine, client):
        told = engine.observe(
            Turn("I live in Paris. My bike is red and stands in the hall."), scope=("user", "ann")
        )[0].id
        engine.drain()
        create(client, receiver.url)
        (fact,) = [
            one.id
            for one in engine.list(scope=("user", "ann"), text="Paris").records
            if one.id != told
        ]
        engine.forget(fact, scope=("user", "ann"))
        engine.drain()
        sent = {
            json.loads(body)["event_details"]["id"]: json.loads(body)["event_details"]
            for _, body in receiver.got
        }
        assert sent[fact] == {"id": fact, "data": {}, "event": "DELETE"}
        assert (
            sent[told]["event"] == "UPDATE"
            and "bike" in sent[told]["data"]["memory"]
            and "Paris" not in str(sent)
        )


def test_a_move_to_another_store_sends_nothing_twice(home: Path) -> None:
    """After a move to a store with lower numbers of changes, what changes next is sent, and nothing
    old again.
    """
    with receiving() as receiver, serving(home) as (engine, client):
        engine.add("The gate is green.", scope=("user", "ann"))
        create(client, receiver.url)
        (hook,) = open_webhooks(engine).list(Scope(("user", "ann")))
        state = engine.store.load_state(Scope(("user", "ann")), f"webhook-{hook.id}")
        engine.store.save_state(
            replace(state, data={"after": 9000, "since": hook.created_at}), state.token
        )
        engine.drain()
        assert receiver.got == []
        engine.add("The barn is red.", scope=("user", "ann"))
        engine.drain()
        assert ("ADD", "The barn is red.") in receiver.events and "gate" not in str(receiver.got)
