"""Keys: who comes in, for whose memory, to do what, how often."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime

import httpx2
import pytest
from tests.surfaces.http.running import running
from tests.surfaces.proxy.harness import eventually, patient

from engrams.api_keys import RIGHTS, ApiKeyStore
from engrams.core import Scope
from engrams.core.process_peers import ProcessPeers
from engrams.engine import MemoryEngine
from engrams.errors import SettingsError
from engrams.program.registry import create_app
from engrams.settings import Settings
from engrams.surfaces.http.rates import CallerRateLimiter
from engrams.surfaces.http.start_checks import check_settings
from engrams.testing import ScriptedModel, SettableClock, temp_engine


@dataclass
class Kept:
    """A server that needs keys, its clock, and the model server behind it."""

    url: str
    engine: MemoryEngine
    clock: SettableClock
    model: ScriptedModel

    def key(
        self, user: str = "ann", rights: tuple[str, ...] = RIGHTS, days: int = 0
    ) -> tuple[str, httpx2.Client]:
        key, secret = ApiKeyStore.open(self.engine.settings.home).add(
            "test", Scope(("user", user)), rights, self.clock(), days
        )
        return key.id, httpx2.Client(
            base_url=self.url, headers={"authorization": f"Bearer {secret}"}, timeout=30
        )


@pytest.fixture(scope="module")
def kept() -> Iterator[Kept]:
    clock = SettableClock(datetime(2025, 6, 1, tzinfo=UTC))
    with (
        ScriptedModel(answer=lambda _: "Noted.") as model,
        temp_engine(
            clock=clock,
            serve__require_keys="always",
            serve__rate_limit=0,
            serve__upstream=model.url + "/v1",
            serve__upstream_learns=False,
        ) as engine,
        running(patient(engine)) as url,
    ):
        yield Kept(url, engine, clock, model)


def test_requests_without_a_key_are_refused(kept: Kept) -> None:
    """Every path but the page, health and the description answers 401, and says how to get a key."""
    for path in ("/v1/memories", "/v1/stats", "/metrics", "/api/state", "/v1/ping/", "/nowhere"):
        answer = httpx2.get(kept.url + path)
        assert (answer.status_code, answer.headers["www-authenticate"]) == (
            401,
            'Bearer realm="engrams"',
        ), path
    assert "engrams keys add" in httpx2.get(kept.url + "/v1/memories").json()["hint"]
    assert (
        httpx2.post(kept.url + "/v1/chat/completions", json={"messages": []}).json()["error"][
            "code"
        ]
        == "unauthorized"
    )
    assert [
        httpx2.get(kept.url + path, timeout=60).status_code
        for path in ("/", "/health", "/ready", "/openapi.json")
    ] == [200] * 4


def test_keys_that_cannot_be_read_open_nothing(kept: Kept) -> None:
    """Where a key cannot be looked up its request is answered 503 in the form of the path's
    clients; others go on.
    """
    key, client = kept.key(rights=("read", "proxy"))
    _, other = kept.key()
    (kept.engine.settings.home / "keys" / f"{key}.json").write_text("{")
    answer = client.get("/v1/stats")
    assert (answer.status_code, answer.headers["content-type"]) == (503, "application/problem+json")
    assert key in answer.json()["detail"] and answer.json()["hint"]
    relayed = client.post("/v1/chat/completions", json={"messages": []})
    problem = relayed.json()["error"]
    assert (relayed.status_code, problem["type"], problem["code"]) == (
        503,
        "server_error",
        "service_unavailable",
    )
    assert other.get("/v1/stats").status_code == 200


def test_health_without_a_key_hides_details(kept: Kept) -> None:
    """Without a key health says whether, with one also what and where."""
    assert set(httpx2.get(kept.url + "/health").json()) == {"status", "version", "checks"}
    assert "memory_store" not in httpx2.get(kept.url + "/health").text
    _, client = kept.key()
    assert client.get("/health").json()["memory_store"].endswith("memory.db")


@pytest.mark.parametrize(
    "header", ["authorization: Bearer", "authorization: Token", "x-api-key:", "x-engrams-key:"]
)
def test_a_key_comes_in_any_of_these_headers(kept: Kept, header: str) -> None:
    """As a bearer token, as mem0's clients send it, or in a header of its own."""
    _, client = kept.key()
    secret = client.headers["authorization"].removeprefix("Bearer ")
    name, _, word = header.partition(":")
    assert (
        httpx2.get(kept.url + "/v1/stats", headers={name: f"{word} {secret}".strip()}).status_code
        == 200
    )


def test_a_wrong_key_is_refused(kept: Kept) -> None:
    """Another text, a key with one character changed, and one of another home are refused alike."""
    _, client = kept.key()
    secret = client.headers["authorization"].removeprefix("Bearer ")
    changed = secret[:-1] + ("A" if secret[-1] != "A" else "B")
    for text in (
        "sk-123",
        changed,
        "engrams_",
        "engrams_../../etc_" + "a" * 43,
        "engrams_000000000000_" + "a" * 43,
        secret + "x",
    ):
        assert (
            httpx2.get(
                kept.url + "/v1/stats", headers={"authorization": f"Bearer {text}"}
            ).status_code
            == 401
        ), text


def test_expired_and_revoked_keys_are_refused(kept: Kept) -> None:
    """An expired key and a revoked one open nothing from that moment on, on the running server."""
    _, short = kept.key(days=1)
    revoked, other = kept.key()
    assert (short.get("/v1/stats").status_code, other.get("/v1/stats").status_code) == (200, 200)
    ApiKeyStore.open(kept.engine.settings.home).revoke(revoked, kept.clock())
    assert other.get("/v1/stats").status_code == 401
    kept.clock.forward(days=1)
    assert short.get("/v1/stats").status_code == 401


@pytest.mark.parametrize(
    ("rights", "allowed"),
    [
        (("read",), {"list", "tags", "search", "export"}),
        (("write",), {"add", "purge"}),
        (("admin",), {"settings", "metrics"}),
        (("proxy",), {"chat", "models"}),
        (
            RIGHTS,
            {
                "list",
                "tags",
                "search",
                "export",
                "add",
                "purge",
                "settings",
                "metrics",
                "chat",
                "models",
            },
        ),
    ],
)
def test_a_right_opens_its_own_routes_only(
    kept: Kept, rights: tuple[str, ...], allowed: set[str]
) -> None:
    """Each right opens its own routes, and no other's: 403 says which right is missing."""
    _, client = kept.key("rights", rights)
    asked: dict[str, Callable[[], httpx2.Response]] = {
        "list": lambda: client.get("/v1/memories"),
        "tags": lambda: client.get("/v1/tags"),
        "search": lambda: client.post("/v1/search", json={"query": "x"}),
        "export": lambda: client.get("/v1/export"),
        "add": lambda: client.post("/v1/memories", json={"text": "The gate is green."}),
        "purge": lambda: client.post("/v1/purge", json={"ids": ["0" * 26]}),
        "settings": lambda: client.get("/v1/settings"),
        "metrics": lambda: client.get("/metrics"),
        "chat": lambda: client.post(
            "/v1/chat/completions",
            json={"model": "m", "messages": [{"role": "user", "content": "Hello there"}]},
        ),
        "models": lambda: client.get("/v1/models"),
    }
    answers = {name: ask().status_code for name, ask in asked.items()}
    assert {name for name, status in answers.items() if status != 403} == allowed, answers


def test_a_key_never_leaves_its_owner(kept: Kept) -> None:
    """Another user's name is a part of the owner's memory;
    no header makes a key somebody else's.
    """
    _, ann = kept.key("ann")
    _, bob = kept.key("bob")
    ann.post("/v1/memories", json={"text": "Ann hid the xylophone in the cellar."})
    for headers in (
        {"x-engrams-user": "ann"},
        {"x-engrams-owner": "user/ann"},
        {"x-engrams-owner": "user%2Fann"},
    ):
        found = bob.post("/v1/search", json={"query": "xylophone"}, headers=headers)
        assert found.json()["hits"] == [], headers
    made = bob.post(
        "/v1/memories", json={"text": "The kiln is hot."}, headers={"x-engrams-user": "ann"}
    ).json()["results"][0]
    assert made["scope"] == ["user", "bob", "user", "ann"]
    assert bob.get("/v1/memories", headers={"x-engrams-user": "ann"}).json()["memories"]


def test_the_proxy_stores_for_the_key_owner_and_hides_the_key(kept: Kept) -> None:
    """What is said through the proxy is the key owner's, whatever the body names;
    the model server never sees the key.
    """
    _, ann = kept.key("proxied")
    body = {
        "model": "m",
        "messages": [{"role": "user", "content": "My tortoise is called Odessa."}],
        "user": "mallory",
    }
    assert (
        ann.post(
            "/v1/chat/completions", json=body, headers={"x-engrams-owner": "user/mallory"}
        ).status_code
        == 200
    )

    def scopes() -> set[str]:
        return {
            scope.key
            for scope in kept.engine.scopes()
            if "mallory" in scope.key or "proxied" in scope.key
        }

    eventually(lambda: bool(scopes()))
    assert scopes() == {"user/proxied/user/mallory"}
    sent = str(kept.model.requests[-1])
    assert "engrams_" not in sent and "x-engrams" not in sent.casefold()


@pytest.mark.covers("S4.41")
@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/v1/memories", {"text": "My tortoise is called Odessa."}),
        ("/v1/observe", {"messages": [{"role": "user", "content": "My dog is Rex."}]}),
        (
            "/v1/chat/completions",
            {"model": "m", "messages": [{"role": "user", "content": "My cat is Tom."}]},
        ),
    ],
)
@pytest.mark.parametrize("header", ["X-Engrams-Mode", "X-Engrams-Incognito", "X-Engrams-Memory"])
def test_a_wish_for_privacy_in_a_header_is_refused(
    kept: Kept, header: str, path: str, body: dict[str, object]
) -> None:
    """A header that asks for a mode has no meaning, so the request is refused and nothing stored."""
    _, ann = kept.key(f"{header}-{path}".replace("/", "-"))
    answer = ann.post(path, json=body, headers={header: "incognito"})
    assert answer.status_code == 400
    assert header.casefold() in answer.text and "Nothing was stored" in answer.text
    assert ann.get("/v1/memories").json()["memories"] == []


def test_refused_keys_are_in_the_audit_log(kept: Kept) -> None:
    """The audit log has the key that was refused something, and that an unknown one was tried;
    never the key itself.
    """
    id, client = kept.key("noted", ("read",))
    secret = client.headers["authorization"].removeprefix("Bearer ")
    client.post("/v1/memories", json={"text": "no"})
    unknown = {"authorization": f"Bearer engrams_000000000000_{'a' * 43}"}
    assert httpx2.get(kept.url + "/v1/stats", headers=unknown).status_code == 401
    entries = client.get("/v1/audit", params={"action": "memory.add"}).json()["entries"]
    assert [(entry["actor"], entry["outcome"]) for entry in entries] == [(id, "refused")]
    folder = kept.engine.settings.home / "audit"
    assert secret not in "".join(path.read_text() for path in folder.iterdir())
    assert "key.refused" in "".join(path.read_text() for path in folder.iterdir())


def test_the_audit_log_of_everybody_needs_admin(kept: Kept) -> None:
    """One's own is what is shown;
    everybody's takes the right `admin`, and says whose each event was.
    """
    _, ann = kept.key("trail-ann", ("read", "write"))
    _, boss = kept.key("trail-boss")
    ann.post("/v1/memories", json={"text": "The lathe is oiled."})
    assert boss.get("/v1/audit", params={"action": "memory.add"}).json()["entries"] == []
    shown = boss.get("/v1/audit", params={"action": "memory.add", "everyone": True}).json()[
        "entries"
    ]
    assert shown[0]["owner"] == "user/trail-ann"
    refused = ann.get("/v1/audit", params={"everyone": True})
    assert (
        refused.status_code == refused.json()["status"] == 403
        and "`admin`" in refused.json()["detail"]
    )
    assert boss.get("/v1/audit", params={"day": "never"}).status_code == 422
    assert [
        entry["owner"]
        for entry in ann.get("/v1/audit", params={"action": "memory.add"}).json()["entries"]
    ] == ["user/trail-ann"]


def test_a_key_over_its_rate_gets_429() -> None:
    """Ten times the rate at once, then 429 with the seconds to wait; other keys are not slowed."""
    with temp_engine(serve__require_keys="always", serve__rate_limit=0.5) as engine:
        ring = ApiKeyStore.open(engine.settings.home)
        secrets = [
            ring.add("n", Scope(("user", name)), ("read",), engine.now())[1] for name in ("a", "b")
        ]
        with running(create_app(engine, engine.settings)) as url:
            first, second = (
                httpx2.Client(base_url=url, headers={"x-api-key": secret}) for secret in secrets
            )
            statuses = [first.get("/v1/scopes") for _ in range(6)]
            assert [answer.status_code for answer in statuses] == [200] * 5 + [429]
            assert 1 <= int(statuses[-1].headers["retry-after"]) <= 2
            assert second.get("/v1/scopes").status_code == 200


def test_a_rate_of_zero_is_no_limit() -> None:
    """No rate is no limit; a caller never seen has everything."""
    assert [CallerRateLimiter(0, ProcessPeers(), "none").acquire("a") for _ in range(3)] == [
        0,
        0,
        0,
    ]
    early = ProcessPeers()
    early.receive("late", ("a",))
    CallerRateLimiter(1, early, "late")
    slow = CallerRateLimiter(0.1, ProcessPeers(), "slow")
    assert [slow.acquire("a"), slow.acquire("a") > 0, slow.acquire("b")] == [0, True, 0]


def test_on_this_machine_no_key_is_needed_but_a_wrong_one_is_refused() -> None:
    """By default loopback is open; a key that is sent counts, and one that is none is told so."""
    with temp_engine() as engine, running(create_app(engine, engine.settings)) as url:
        _, secret = ApiKeyStore.open(engine.settings.home).add(
            "n", Scope(("user", "ann")), ("read",), engine.now()
        )
        assert httpx2.get(url + "/v1/stats").status_code == 200
        assert (
            httpx2.get(
                url + "/v1/stats", headers={"authorization": "Bearer sk-of-a-model-server"}
            ).status_code
            == 200
        )
        assert (
            httpx2.get(url + "/v1/stats", headers={"x-api-key": secret[:-1] + "!"}).status_code
            == 401
        )
        assert (
            httpx2.post(
                url + "/v1/memories", json={"text": "a b"}, headers={"x-api-key": secret}
            ).status_code
            == 403
        )


@pytest.mark.parametrize("host", ["0.0.0.0", "192.168.1.5", "::"])
def test_another_address_needs_a_live_key(host: str) -> None:
    """Listening where others can reach is refused until there is a key that opens something."""
    with temp_engine(serve__host=host) as engine:
        settings: Settings = engine.settings
        ring = ApiKeyStore.open(settings.home)
        with pytest.raises(SettingsError, match=r"serve\.host") as caught:
            check_settings(settings)
        assert "engrams keys add" in caught.value.hint
        key, _ = ring.add("n", Scope(("user", "ann")), ("read",), engine.now())
        check_settings(settings)
        ring.revoke(key.id, engine.now())
        with pytest.raises(SettingsError):
            check_settings(settings)
