"""Tokens of a provider: whose memory they open, and those that open nothing."""

from __future__ import annotations

import base64
import hashlib
import json
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import Any

import httpx2
import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import ec, ed25519
from mcp.client.auth import utils as mcp_auth
from tests.surfaces.http.identity_provider import (
    AUDIENCE,
    IdentityProvider,
    craft,
    make_rsa_key,
    provide,
)
from tests.surfaces.http.running import running
from tests.surfaces.mcp.conftest import call
from tests.surfaces.mcp.test_served import connected
from tests.surfaces.proxy.harness import eventually

from engrams.api_keys import ApiKeyStore
from engrams.core import Scope
from engrams.engine import MemoryEngine
from engrams.errors import SettingsError
from engrams.program.registry import create_app
from engrams.settings import load
from engrams.settings.server import OidcSettings
from engrams.surfaces.http.oidc.signing_keys import DISCOVERY_PATH
from engrams.surfaces.http.start_checks import check_settings
from engrams.testing import ScriptedModel, SettableClock, temp_engine


@dataclass
class Server:
    """A server that takes tokens, its provider, and the model server behind it."""

    url: str
    engine: MemoryEngine
    clock: SettableClock
    provider: IdentityProvider
    model: ScriptedModel

    def client(self, subject: str = "ann", **changes: Any) -> httpx2.Client:
        return self.holder(self.provider.token(subject, **changes))

    def holder(self, token: str) -> httpx2.Client:
        headers = {"authorization": f"Bearer {token}"}
        return httpx2.Client(base_url=self.url, headers=headers, timeout=30)

    def status(self, token: str) -> int:
        headers = {"authorization": f"Bearer {token}"}
        return self.stranger.get("/v1/stats", headers=headers).status_code

    @cached_property
    def stranger(self) -> httpx2.Client:
        """A client without a token. Its connections serve many requests."""
        return httpx2.Client(base_url=self.url, timeout=30)


@pytest.fixture(scope="module")
def make_server() -> Iterator[Callable[..., Server]]:
    """Make servers of one memory, each with a provider of its own, that run until the last test."""
    clock = SettableClock(datetime(2025, 6, 1, tzinfo=UTC))
    with (
        ScriptedModel(answer=lambda _: "Noted.") as model,
        temp_engine(
            clock=clock,
            serve__rate_limit=0,
            serve__upstream=model.url + "/v1",
            serve__upstream_learns=False,
        ) as engine,
        ExitStack() as stack,
    ):

        def make(**values: Any) -> Server:
            provider = stack.enter_context(provide(clock))
            oidc = OidcSettings(issuer=provider.issuer, audience=(AUDIENCE,), **values)
            serve = engine.settings.serve.model_copy(update={"oidc": oidc})
            settings = engine.settings.model_copy(update={"serve": serve})
            url = stack.enter_context(running(create_app(engine, settings)))
            return Server(url, engine, clock, provider, model)

        yield make


@pytest.fixture(scope="module")
def server(make_server: Callable[..., Server]) -> Server:
    return make_server()


@pytest.fixture(scope="module")
def rotating(make_server: Callable[..., Server]) -> Server:
    """A server whose provider changes its keys, and is down at times."""
    return make_server()


@pytest.fixture
def unsteady(rotating: Server) -> Server:
    """That server, two days after its provider last answered; the provider has its first key."""
    rotating.provider.reset()
    rotating.clock.forward(days=2)
    return rotating


@pytest.fixture(autouse=True)
def _without_delay(monkeypatch: pytest.MonkeyPatch) -> None:
    """Refused tokens are many here, and their answers need not be late."""
    monkeypatch.setattr("engrams.surfaces.http.rates._WRONG_KEY_DELAY", 0.0)


def test_a_subject_has_a_memory(server: Server) -> None:
    """A token opens the memory of its subject, which is no user of a key of the same name."""
    ann = server.client("ann")
    bob = server.client("bob")
    _, secret = ApiKeyStore.open(server.engine.settings.home).add(
        "key", Scope(("user", "ann")), ("read",), server.clock()
    )
    made = ann.post("/v1/memories", json={"text": "The xylophone is in the cellar."})
    assert made.json()["results"][0]["scope"] == ["user", "oidc:ann"]
    query = {"query": "xylophone"}
    assert ann.post("/v1/search", json=query).json()["hits"]
    for stranger in (bob, server.holder(secret)):
        for headers in ({}, {"x-engrams-user": "oidc:ann"}, {"x-engrams-owner": "user/oidc:ann"}):
            answer = stranger.post("/v1/search", json=query, headers=headers)
            assert answer.json()["hits"] == []


def test_without_a_token_nothing_opens(server: Server) -> None:
    """A provider makes keys necessary, on this machine too, and the refusal names the provider."""
    answer = httpx2.get(server.url + "/v1/stats")
    assert answer.status_code == 401
    assert server.provider.issuer in answer.json()["hint"]
    named = httpx2.get(server.url + "/v1/stats", headers={"x-engrams-user": "oidc:ann"})
    assert named.status_code == 401
    assert httpx2.get(server.url + "/health").status_code == 200


@pytest.mark.parametrize("header", ["authorization: Bearer", "x-api-key:", "x-engrams-key:"])
def test_a_token_comes_in_the_headers_of_keys(server: Server, header: str) -> None:
    """A token is found in each header in which a key may come."""
    name, _, scheme = header.partition(":")
    headers = {name: f"{scheme} {server.provider.token()}".strip()}
    assert httpx2.get(server.url + "/v1/stats", headers=headers).status_code == 200


def test_tokens_of_other_algorithms_open(server: Server) -> None:
    """Keys on curves, of Ed25519 and with PSS are taken, each with its own algorithm only."""
    provider = server.provider
    provider.add_key("curve", ec.generate_private_key(ec.SECP256R1()), "ES256")
    provider.add_key("edwards", ed25519.Ed25519PrivateKey.generate(), "EdDSA")
    provider.add_key("pss", make_rsa_key(), "PS256")
    server.clock.forward(minutes=1)
    for key_id in ("curve", "edwards", "pss"):
        assert server.status(provider.token(key_id=key_id)) == 200, key_id


def _with_header(token: str, **changes: Any) -> str:
    head, rest = token.split(".", 1)
    fields = json.loads(base64.urlsafe_b64decode(head + "=" * (-len(head) % 4)))
    text = json.dumps({**fields, **changes}).encode()
    return f"{base64.urlsafe_b64encode(text).rstrip(b'=').decode()}.{rest}"


def test_hostile_tokens_open_nothing(server: Server) -> None:
    """Each of these tokens is refused with 401, whatever its header claims; none ends the server."""
    provider = server.provider
    now = int(server.clock().timestamp())
    good = provider.token()
    claims = provider.claims()
    head, body, signature = good.split(".")
    evil = IdentityProvider(server.clock, is_honest=False)
    evil.issuer = provider.issuer
    own_key = {**evil.published[0], "kid": "mine"}
    deep = base64.urlsafe_b64encode(b'{"alg":' + b"[" * 9_000).rstrip(b"=").decode()
    hostile = {
        "other audience": provider.token(aud="https://other.example"),
        "part of the audience": provider.token(aud="https://memory.example"),
        "audience of nobody": provider.token(aud=None),
        "audiences that are none": provider.token(aud=[17, None]),
        "other issuer": provider.token(iss="https://evil.example"),
        "issuer with a slash": provider.token(iss=provider.issuer + "/"),
        "issuer missing": provider.token(iss=None),
        "expired": provider.token(exp=now - 31),
        "endless": provider.token(exp=None),
        "ends as text": provider.token(exp=str(now + 600)),
        "ends never": provider.token(exp=1e300),
        "ends as truth": provider.token(exp=True),
        "not yet": provider.token(nbf=now + 60),
        "of the future": provider.token(iat=now + 60),
        "nobody": provider.token(sub=None),
        "empty subject": provider.token(""),
        "blank subject": provider.token("  "),
        "subject with a space": provider.token("ann "),
        "subject with a line": provider.token("ann\nbob"),
        "subject that is too long": provider.token("a" * 300),
        "subject as a number": provider.token(17),  # type: ignore[arg-type]
        "none": craft({"alg": "none", "typ": "JWT", "kid": "first"}, claims),
        "None": craft({"alg": "NoNe", "kid": "first"}, claims),
        "no algorithm": craft({"kid": "first"}, claims),
        "algorithm as a list": craft({"alg": ["RS256"], "kid": "first"}, claims),
        "public key as a secret": craft(
            {"alg": "HS256", "kid": "first"}, claims, provider.public_text()
        ),
        "public numbers as a secret": craft(
            {"alg": "HS256", "kid": "first"}, claims, provider.published[0]["n"].encode()
        ),
        "header that names none": _with_header(good, alg="none"),
        "header that names another": _with_header(good, alg="PS256"),
        "header that names a curve": _with_header(good, alg="ES256"),
        "signed by a stranger": evil.token(),
        "key in the header": evil.token(headers={"jwk": own_key}),
        "key at an address": evil.token(headers={"jku": f"{evil.issuer}/keys", "kid": "mine"}),
        "key as a file": evil.token(headers={"kid": "../../../dev/null"}),
        "unknown key": evil.token(headers={"kid": "gone"}),
        "key id as a number": _with_header(good, kid=1),
        "unknown extension": provider.token(headers={"crit": ["exp"], "exp": 1}),
        "a logout": provider.token(headers={"typ": "logout+jwt"}),
        "other claims": f"{head}.{craft({}, {**claims, 'sub': 'bob'}).split('.')[1]}.{signature}",
        "without signature": f"{head}.{body}.",
        "half a signature": f"{head}.{body}.{signature[:100]}",
        "without claims": f"{head}..{signature}",
        "huge": provider.token(padding="x" * 20_000),
        "deep": f"{deep}.{body}.{signature}",
        "no JSON": f"eyJx.{body}.{signature}",
    }
    assert server.status(good) == 200
    opened = {name: status for name in hostile if (status := server.status(hostile[name])) != 401}
    assert opened == {}
    assert server.status(good) == 200


def test_a_published_secret_signs_nothing(unsteady: Server) -> None:
    """A provider that publishes a shared secret, or a short key, by mistake opens nothing with it."""
    secret = b"s" * 32
    shared = {"kty": "oct", "kid": "shared", "k": base64.urlsafe_b64encode(secret).decode()}
    unsteady.provider.published.append(shared)
    unsteady.provider.add_key("short", make_rsa_key(1024), "RS256")
    claims = unsteady.provider.claims()
    assert unsteady.status(craft({"alg": "HS256", "kid": "shared"}, claims, secret)) == 401
    with pytest.warns(UserWarning, match="below the minimum"):
        short = unsteady.provider.token(key_id="short")
    assert unsteady.status(short) == 401
    assert unsteady.status(unsteady.provider.token()) == 200


def test_a_token_ends_while_the_server_runs(server: Server) -> None:
    """A token is valid until its time is over, and thirty seconds longer, as clocks differ."""
    token = server.provider.token()
    assert server.status(token) == 200
    server.clock.forward(seconds=625)
    assert server.status(token) == 200
    server.clock.forward(seconds=10)
    refused = server.holder(token).get("/v1/stats")
    assert (refused.status_code, "expired" in refused.json()["detail"]) == (401, True)


def test_keys_rotate(unsteady: Server) -> None:
    """A new key of the provider opens at once; one that it withdrew opens nothing an hour later."""
    provider = unsteady.provider
    assert unsteady.status(provider.token()) == 200
    provider.add_key("second", make_rsa_key(), "RS256")
    unsteady.clock.forward(seconds=11)
    assert unsteady.status(provider.token(key_id="second")) == 200
    unnamed = jwt.encode(provider.claims(), provider.private["second"][0], "RS256")
    assert unsteady.status(unnamed) == 200
    provider.published = [key for key in provider.published if key["kid"] == "second"]
    unsteady.clock.forward(hours=1)
    assert unsteady.status(provider.token(key_id="first")) == 401
    assert unsteady.status(provider.token(key_id="second")) == 200


def test_keys_without_names_rotate(unsteady: Server) -> None:
    """A provider that gives its keys no ids may change its key too: the signature tells."""
    provider = unsteady.provider
    for key in (make_rsa_key(), make_rsa_key()):
        provider.published.clear()
        provider.add_key("unnamed", key, "RS256")
        del provider.published[0]["kid"]
        token = jwt.encode(provider.claims(), key, "RS256")
        unsteady.clock.forward(seconds=11)
        assert unsteady.status(token) == 200
        assert unsteady.status(token[:-8] + "AAAAAAAA") == 401


def test_unknown_keys_do_not_flood_the_provider(unsteady: Server) -> None:
    """Many tokens of keys that nobody published ask the provider once in ten seconds."""
    evil = IdentityProvider(unsteady.clock, is_honest=False)
    evil.issuer = unsteady.provider.issuer
    tokens = [evil.token(headers={"kid": f"made-up-{number}"}) for number in range(20)]
    threads = [threading.Thread(target=unsteady.status, args=(token,)) for token in tokens]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert unsteady.provider.requests == [DISCOVERY_PATH, "/keys"]
    unsteady.clock.forward(seconds=11)
    assert unsteady.status(tokens[0]) == 401
    assert unsteady.provider.requests[2:] == [DISCOVERY_PATH, "/keys"]


def test_a_provider_that_is_down(unsteady: Server) -> None:
    """Known keys go on for a day; others are refused with 503, which says who does not answer."""
    provider = unsteady.provider
    provider.is_down = True
    early = unsteady.client().get("/v1/stats")
    assert (early.status_code, early.headers["retry-after"]) == (503, "1")
    assert provider.issuer in early.json()["detail"] and early.json()["hint"]
    chat = unsteady.client().post("/v1/chat/completions", json={"messages": []})
    assert (chat.status_code, chat.json()["error"]["type"]) == (503, "server_error")

    provider.is_down = False
    unsteady.clock.forward(seconds=11)
    assert unsteady.status(provider.token()) == 200
    provider.is_down = True
    unsteady.clock.forward(hours=5)
    assert unsteady.status(provider.token()) == 200
    provider.add_key("second", make_rsa_key(), "RS256")
    unsteady.clock.forward(seconds=11)
    assert unsteady.status(provider.token(key_id="second")) == 503
    assert unsteady.status(provider.token()) == 200
    unsteady.clock.forward(hours=24)
    assert unsteady.status(provider.token()) == 503
    provider.is_down = False
    unsteady.clock.forward(seconds=11)
    assert unsteady.status(provider.token(key_id="second")) == 200


@pytest.mark.slow
@pytest.mark.parametrize(
    "changes",
    [
        {"issuer": "https://evil.example"},
        {"jwks_uri": "file:///etc/passwd"},
        {"jwks_uri": None},
    ],
)
def test_a_provider_that_is_another(
    make_server: Callable[..., Server], changes: dict[str, Any]
) -> None:
    """A description of another issuer, or with keys at no safe address, opens nothing."""
    server = make_server()
    server.provider.description = changes
    assert server.status(server.provider.token()) == 503


@pytest.mark.slow
def test_rights_come_from_a_claim(make_server: Callable[..., Server]) -> None:
    """The rights of a token are those that its claim names with `engrams:`, and no others."""
    server = make_server(rights_claim="realm_access.roles")

    def statuses(roles: Any) -> tuple[int, int, int]:
        client = server.client(realm_access={"roles": roles})
        written = client.post("/v1/memories", json={"text": "The gate is green."})
        return (
            client.get("/v1/stats").status_code,
            written.status_code,
            client.get("/v1/settings").status_code,
        )

    assert statuses(["engrams:read"]) == (200, 403, 403)
    assert statuses("engrams:read engrams:write") == (200, 201, 403)
    assert statuses(["engrams:admin", "x"]) == (403, 403, 200)
    for roles in (["admin", "read"], [], None, "engrams:reader", {"engrams:read": True}, [["x"]]):
        assert statuses(roles) == (403, 403, 403), roles
    refused = server.client(realm_access={"roles": []}).get("/v1/stats")
    assert 'error="insufficient_scope"' in refused.headers["www-authenticate"]
    assert 'scope="engrams:read"' in refused.headers["www-authenticate"]
    assert "serve.oidc.rights_claim" in refused.json()["hint"]


@pytest.mark.slow
def test_rights_of_every_token(make_server: Callable[..., Server]) -> None:
    """Without a claim every token has the rights of the settings: `admin` is none of them."""
    server = make_server(rights=("read",))
    client = server.client(scope="engrams:write", roles=["engrams:admin"])
    assert client.get("/v1/stats").status_code == 200
    assert client.post("/v1/memories", json={"text": "no"}).status_code == 403
    assert client.get("/v1/settings").status_code == 403


@pytest.mark.slow
def test_an_owner_of_another_claim(make_server: Callable[..., Server]) -> None:
    """Another claim may name the owner; an address counts once the provider has verified it."""
    server = make_server(owner_claim="email", owner_prefix="")
    email = "ann@example.org"
    assert server.status(server.provider.token(email=email)) == 401
    assert server.status(server.provider.token(email=email, email_verified="false")) == 401
    client = server.client(email=email, email_verified=True)
    made = client.post("/v1/memories", json={"text": "The kiln is hot."})
    assert made.json()["results"][0]["scope"] == ["user", email]


def test_subjects_are_members_of_spaces(server: Server) -> None:
    """A subject makes a space, adds another subject, and both find what is told there."""
    ann = server.client("ann")
    bob = server.client("bob")
    carl = server.client("carl")
    assert ann.post("/v1/spaces", json={"name": "team"}).status_code == 201
    ann.put("/v1/spaces/team/members/oidc:bob", json={"role": "reader"})
    told = {"text": "Releases go out on Tuesdays."}
    assert ann.post("/v1/memories", params={"space": "team"}, json=told).status_code == 201
    assert bob.post("/v1/memories", params={"space": "team"}, json=told).status_code == 422
    query = {"query": "When do releases go out?"}
    texts = [hit["memory"]["text"] for hit in bob.post("/v1/search", json=query).json()["hits"]]
    assert texts == ["Releases go out on Tuesdays."]
    assert carl.post("/v1/search", json=query).json()["hits"] == []
    assert carl.get("/v1/memories", params={"space": "team"}).status_code == 404


def test_the_proxy_hides_the_token(server: Server) -> None:
    """The model server never sees the token, and the conversation is the subject's."""
    token = server.provider.token("proxied")
    body = {
        "model": "m",
        "messages": [{"role": "user", "content": "My tortoise is called Odessa."}],
    }
    sent = server.holder(token).post("/v1/chat/completions", json=body)
    assert sent.status_code == 200
    eventually(lambda: any(scope.key == "user/oidc:proxied" for scope in server.engine.scopes()))
    assert token not in str(server.model.requests[-1])


def test_a_token_of_the_model_server_passes(server: Server) -> None:
    """Beside a token in our own header, the one in Authorization goes to the model server."""
    headers = {
        "x-engrams-key": server.provider.token(),
        "authorization": f"Bearer {craft({'alg': 'HS256'}, {'iss': 'gateway'}, b'secret')}",
    }
    body = {"model": "m", "messages": [{"role": "user", "content": "Hello there."}]}
    answer = httpx2.post(server.url + "/v1/chat/completions", json=body, headers=headers)
    assert answer.status_code == 200
    sent = str(server.model.requests[-1])
    assert headers["x-engrams-key"] not in sent


def test_the_audit_log_names_the_subject(server: Server) -> None:
    """Entries name the subject as actor; a token is in no entry."""
    client = server.client("noted")
    client.post("/v1/memories", json={"text": "The lathe is oiled."})
    entries = client.get("/v1/audit", params={"action": "memory.add"}).json()["entries"]
    assert [entry["actor"] for entry in entries] == ["oidc:noted"]
    folder = server.engine.settings.home / "audit"
    assert "eyJ" not in "".join(path.read_text() for path in folder.iterdir())


async def test_mcp_clients_find_the_provider(server: Server) -> None:
    """The protocol's own client reads from a refusal where the description is, and from that the
    provider; with a token it has the subject's memory.
    """
    async with httpx2.AsyncClient() as http:
        refused = await http.post(f"{server.url}/mcp", json={})
        address = mcp_auth.extract_resource_metadata_from_www_auth(refused)
        assert address == f"{server.url}/.well-known/oauth-protected-resource/mcp"
        description = (await http.get(address)).json()
        assert description["resource"] == f"{server.url}/mcp"
        assert description["authorization_servers"] == [server.provider.issuer]
        search = await http.post(f"{server.url}/mcp/search", json={})
        address = mcp_auth.extract_resource_metadata_from_www_auth(search)
        assert address == f"{server.url}/.well-known/oauth-protected-resource/mcp/search"
        assert (await http.get(address)).json()["resource"] == f"{server.url}/mcp/search"
    bearer = f"Bearer {server.provider.token('agent')}"
    async with connected(f"{server.url}/mcp", authorization=bearer) as memory:
        await call(memory, "memory_add", text="The attic window sticks.")
        assert "attic" in str(await call(memory, "memory_search", q="which window sticks?"))
    assert any(scope.key == "user/oidc:agent" for scope in server.engine.scopes())


@pytest.mark.slow
def test_the_description_has_the_public_address(make_server: Callable[..., Server]) -> None:
    """Behind a reverse proxy clients are told the address of the settings, and the known rights."""
    server = make_server(public_url="https://memory.example/", rights_claim="scope")
    refused = httpx2.post(f"{server.url}/mcp", json={})
    path = "/.well-known/oauth-protected-resource/mcp"
    assert (
        f'resource_metadata="https://memory.example{path}"' in refused.headers["www-authenticate"]
    )
    description = httpx2.get(server.url + path).json()
    assert description["resource"] == "https://memory.example/mcp"
    assert "engrams:read" in description["scopes_supported"]


@pytest.mark.parametrize(
    ("values", "word"),
    [
        ({"issuer": "http://login.example", "audience": ["a"]}, "https"),
        ({"issuer": "login.example", "audience": ["a"]}, "https"),
        ({"issuer": "https://login.example"}, "audience"),
        ({"issuer": "https://login.example", "audience": [" "]}, "audience"),
    ],
)
def test_unsafe_settings_are_refused(tmp_path: Path, values: dict[str, Any], word: str) -> None:
    """The server does not start with an unprotected issuer, or for tokens of any program."""
    named = {f"serve.oidc.{name}": value for name, value in values.items()}
    with pytest.raises(SettingsError, match=word):
        check_settings(load({"home": tmp_path, **named}, {}).settings)


def test_a_provider_is_enough_for_other_addresses(tmp_path: Path) -> None:
    """A server that takes tokens may listen on every address before a key exists."""
    values = {
        "home": tmp_path,
        "serve.host": "0.0.0.0",
        "serve.require_keys": "always",
        "serve.oidc.issuer": "https://login.example",
        "serve.oidc.audience": ["memory"],
    }
    check_settings(load(values, {}).settings)


@pytest.fixture(scope="module")
def login(make_server: Callable[..., Server]) -> Server:
    """A server whose page has a name at the provider."""
    return make_server(client_id="page", login_scope="openid api")


VERIFIER = "v" * 43
CHALLENGE = (
    base64.urlsafe_b64encode(hashlib.sha256(VERIFIER.encode()).digest()).decode().rstrip("=")
)


def exchange(server: Server, given_code: str, **changes: Any) -> httpx2.Response:
    fields = {
        "code": given_code,
        "code_verifier": VERIFIER,
        "redirect_uri": f"{server.url}/",
        **changes,
    }
    return server.stranger.post("/v1/login", json=fields)


def test_the_page_exchanges_a_code(login: Server) -> None:
    """The page learns where people log in, and gets the token that opens the server for a code: the
    access token, or the ID token where the other one is for nobody else to read.
    """
    provider = login.provider
    assert login.stranger.get("/v1/login").json() == {
        "address": f"{provider.issuer}/authorize",
        "client": "page",
        "scope": "openid api",
    }
    access, identity = provider.token("access"), provider.token("identity")
    code = provider.give_code(CHALLENGE, access_token=access, id_token=identity)
    assert exchange(login, code).json() == {"token": access}
    assert exchange(login, code).status_code == 401
    code = provider.give_code(CHALLENGE, access_token="opaque", id_token=identity)
    token = exchange(login, code).json()["token"]
    assert login.status(token) == 200


def test_a_wrong_login_gets_no_token(login: Server) -> None:
    """Whoever has the code alone, or a token for another program, gets nothing; the reason is told."""
    provider = login.provider
    code = provider.give_code(CHALLENGE, access_token=provider.token())
    assert exchange(login, code, code_verifier="w" * 43).status_code == 401
    code = provider.give_code(CHALLENGE, id_token=provider.token(aud="other"))
    refused = exchange(login, code)
    assert (refused.status_code, "udience" in refused.json()["detail"]) == (401, True)
    for changes in ({"code": 7}, {"code": "x" * 30_000}, {"redirect_uri": None}):
        assert exchange(login, "x", **changes).status_code == 400
    assert login.stranger.post("/v1/login", content=b"[" * 10_000).status_code == 400


def test_without_a_name_at_the_provider_there_is_no_login(server: Server) -> None:
    """The page of such a server asks for a key."""
    assert server.stranger.get("/v1/login").status_code == 401
    assert server.client().get("/v1/login").status_code == 404
