"""The signed header of a web front end."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
from typing import Any

import pytest
from starlette.datastructures import Headers

from engrams.core import clock
from engrams.settings import ServeSettings, Settings
from engrams.surfaces.proxy.chat_request import ParsedProxyRequest, parse_request
from engrams.surfaces.proxy.user_tokens import verify_subject

NOW = 1_790_000_000.0
SECRET = "a secret of thirty-two bytes, more"
BODY = b'{"user":"body","messages":[{"role":"user","content":"hello there"}]}'


def part(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def token(secret: str = SECRET, alg: str = "HS256", **claims: Any) -> str:
    """As that front end makes it."""
    body = {
        "sub": "u-1",
        "email": "a@b",
        "name": "A",
        "role": "user",
        "iss": "open-webui",
        "iat": NOW,
        "exp": NOW + 300,
        **claims,
    }
    signed = (
        part(json.dumps({"alg": alg, "typ": "JWT"}).encode())
        + "."
        + part(json.dumps(body).encode())
    )
    return signed + "." + part(hmac.new(secret.encode(), signed.encode(), hashlib.sha256).digest())


def asked(headers: dict[str, str], secret: str = SECRET, body: bytes = BODY) -> ParsedProxyRequest:
    return parse_request(
        Headers(headers), body, Settings(user="local", serve=ServeSettings(jwt_secret=secret))
    )


def test_the_subject_of_a_good_one() -> None:
    """Signature, issuer and time right:
    the subject; half a minute of difference between clocks does not matter.
    """
    assert verify_subject(token(), SECRET, NOW) == "u-1"
    assert verify_subject(token(exp=NOW - 20), SECRET, NOW) == "u-1"
    assert verify_subject(token(nbf=NOW + 20), SECRET, NOW) == "u-1"


@pytest.mark.parametrize(
    "wrong",
    [
        token("another secret of thirty-two bytes"),
        token(alg="none"),
        token(alg="none").rpartition(".")[0] + ".",
        token(alg="RS256"),
        token(exp=NOW - 31),
        token(exp=None),
        token(exp="never"),
        token(exp=True),
        token(nbf=NOW + 60),
        token(iss="someone"),
        token(sub=""),
        token(sub=5),
        token()[:-3],
        token() + "x",
        "",
        "a.b",
        "a.b.c",
        "ä.ö.ü",
        ".".join(part(b"[" * 100_000) for _ in range(3)),
    ],
)
def test_one_that_does_not_hold(wrong: str) -> None:
    """A wrong signature, algorithm, issuer or time, and any nonsense, names nobody."""
    assert verify_subject(wrong, SECRET, NOW) == ""


def test_it_is_stronger_than_any_other_name() -> None:
    """Nothing in a request's other headers or body can make somebody else of a signed user."""
    good = {"x-openwebui-user-jwt": token(exp=clock.now().timestamp() + 60)}
    mine = {
        "user": "x",
        "memory": {"user": "y"},
        "messages": [{"role": "user", "content": "hello there"}],
    }
    found = asked(
        {**good, "x-engrams-user": "z", "x-openwebui-user-id": "w"}, body=json.dumps(mine).encode()
    ).caller
    assert found is not None and found.scope.labels == ("user", "u-1")


def test_one_that_does_not_hold_keeps_memory_out() -> None:
    """The request goes on, without memory: it is not taken for somebody else's."""
    wrong = asked({"x-openwebui-user-jwt": token("wrong" * 9)})
    assert (wrong.caller, wrong.skip_reason) == (None, "identity")


def test_where_one_is_expected_the_plain_header_counts_for_nothing() -> None:
    """With a secret set an unsigned user id is ignored; without one the token is."""
    plain = asked({"x-openwebui-user-id": "w"}).caller
    assert plain is not None and plain.scope.labels == ("user", "body")
    unset = asked(
        {"x-openwebui-user-jwt": token("wrong" * 9), "x-openwebui-user-id": "w"}, secret=""
    ).caller
    assert unset is not None and unset.scope.labels == ("user", "w")
