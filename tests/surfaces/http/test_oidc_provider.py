"""A provider from a package and the server, each a process: people log in, and the provider goes."""

from __future__ import annotations

import base64
import hashlib
import secrets
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import httpx2
import pytest
from tests.sync.test_server_place import serve

MISSING = (
    "no OpenID Connect provider: `make test-identity` installs oidc-provider-mock and runs these"
)
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(find_spec("oidc_provider_mock") is None, reason=MISSING),
]

CLIENT = "engrams-page"
BACK = "http://127.0.0.1/back"


@contextmanager
def provide(port: int) -> Iterator[str]:
    """Run the provider; yield its address."""
    command = [sys.executable, "-m", "oidc_provider_mock", "--host", "127.0.0.1"]
    with subprocess.Popen(
        [*command, "--port", str(port)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    ) as process:
        try:
            _wait_for(f"http://127.0.0.1:{port}/jwks")
            yield f"http://127.0.0.1:{port}"
        finally:
            process.terminate()
            process.wait(30)


def _wait_for(address: str) -> None:
    for _ in range(300):
        try:
            httpx2.get(address).raise_for_status()
        except httpx2.HTTPError:
            time.sleep(0.05)
        else:
            return
    pytest.fail(f"{address} does not answer")


def log_in(issuer: str, subject: str) -> str:
    """Log in by the code flow with PKCE; return the ID token, which is for this client."""
    verifier = secrets.token_urlsafe(48)
    digest = hashlib.sha256(verifier.encode()).digest()
    wish = {
        "client_id": CLIENT,
        "redirect_uri": BACK,
        "response_type": "code",
        "scope": "openid email",
        "state": "s",
        "code_challenge": base64.urlsafe_b64encode(digest).rstrip(b"=").decode(),
        "code_challenge_method": "S256",
    }
    description = httpx2.get(f"{issuer}/.well-known/openid-configuration").json()
    accepted = httpx2.post(
        description["authorization_endpoint"], params=wish, data={"sub": subject}
    )
    code = parse_qs(urlsplit(accepted.headers["location"]).query)["code"][0]
    given = httpx2.post(
        description["token_endpoint"],
        data={
            "grant_type": "authorization_code",
            "code": code,
            "redirect_uri": BACK,
            "client_id": CLIENT,
            "client_secret": "any",
            "code_verifier": verifier,
        },
    )
    return str(given.json()["id_token"])


def test_people_log_in(tmp_path: Path) -> None:
    """Two people who log in have a memory each; a token for another client opens nothing. The
    provider ends: who logged in goes on. It comes back with a new key: who logs in then goes on.
    """
    with socket.socket() as chosen:
        chosen.bind(("127.0.0.1", 0))
        port = chosen.getsockname()[1]
    issuer = f"http://127.0.0.1:{port}"
    options = [f"serve.oidc.issuer={issuer}", f"serve.oidc.audience={CLIENT}"]
    arguments = [word for option in options for word in ("--set", option)]
    with serve(tmp_path, *arguments) as url:
        with provide(port):
            tokens = {name: log_in(issuer, name) for name in ("ann@example.org", "bob@example.org")}
            ann, bob = (
                httpx2.Client(base_url=url, headers={"authorization": f"Bearer {token}"})
                for token in tokens.values()
            )
            made = ann.post("/v1/memories", json={"text": "The xylophone is in the cellar."})
            assert made.json()["results"][0]["scope"] == ["user", "oidc:ann@example.org"]
            query = {"query": "xylophone"}
            assert len(ann.post("/v1/search", json=query).json()["hits"]) == 1
            assert bob.post("/v1/search", json=query).json()["hits"] == []
        assert ann.get("/v1/stats").status_code == 200
        with provide(port):
            stale = dict(ann.headers)
            ann.headers["authorization"] = f"Bearer {log_in(issuer, 'ann@example.org')}"
            deadline = time.monotonic() + 15
            while ann.get("/v1/stats").status_code != 200 and time.monotonic() < deadline:
                time.sleep(0.5)
            assert len(ann.post("/v1/search", json=query).json()["hits"]) == 1
            assert httpx2.get(f"{url}/v1/stats", headers=stale).status_code == 401
    with provide(port), serve(tmp_path, *arguments[:3], "serve.oidc.audience=other") as url:
        token = log_in(issuer, "ann@example.org")
        refused = httpx2.get(f"{url}/v1/stats", headers={"authorization": f"Bearer {token}"})
        assert (refused.status_code, "udience" in refused.json()["detail"]) == (401, True)
