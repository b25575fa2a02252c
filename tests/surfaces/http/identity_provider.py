"""A provider of signed tokens on a free port: it publishes its keys, changes them, and can be down."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qsl

import jwt
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa

from engrams.ports import Clock

AUDIENCE = "https://memory.example/mcp"
PrivateKey = rsa.RSAPrivateKey | ec.EllipticCurvePrivateKey | ed25519.Ed25519PrivateKey


def make_rsa_key(bits: int = 2048) -> rsa.RSAPrivateKey:
    return rsa.generate_private_key(65537, bits)


FIRST_KEY = make_rsa_key()


class IdentityProvider:
    """Signs tokens with its own key, and says how to check them."""

    def __init__(self, clock: Clock, *, is_honest: bool = True) -> None:
        self._clock = clock
        self.issuer = ""
        self._own_key = FIRST_KEY if is_honest else make_rsa_key()
        self.reset()

    def reset(self) -> None:
        """Be reachable, with one key, and know of no request."""
        self.description: dict[str, Any] = {}
        """Changed fields of the description."""
        self.is_down = False
        self.requests: list[str] = []
        self.private: dict[str, tuple[PrivateKey, str]] = {}
        """Id of a key -> the key and its algorithm."""
        self.published: list[dict[str, Any]] = []
        self.codes: dict[str, tuple[str, dict[str, str]]] = {}
        self.add_key("first", self._own_key, "RS256")

    def add_key(self, key_id: str, key: PrivateKey, algorithm: str) -> None:
        self.private[key_id] = (key, algorithm)
        maker = jwt.get_algorithm_by_name(algorithm)
        fields = maker.to_jwk(key.public_key(), as_dict=True)
        self.published.append({**fields, "kid": key_id, "use": "sig"})

    def claims(self, subject: str = "ann", **changes: Any) -> dict[str, Any]:
        """Claims of a valid token; a change to None takes one away."""
        now = int(self._clock().timestamp())
        claims = {
            "iss": self.issuer,
            "aud": AUDIENCE,
            "sub": subject,
            "iat": now,
            "exp": now + 600,
            **changes,
        }
        return {name: value for name, value in claims.items() if value is not None}

    def token(
        self,
        subject: str = "ann",
        key_id: str = "first",
        headers: dict[str, Any] | None = None,
        **changes: Any,
    ) -> str:
        key, algorithm = self.private[key_id]
        return jwt.encode(
            self.claims(subject, **changes), key, algorithm, {"kid": key_id, **(headers or {})}
        )

    def public_text(self, key_id: str = "first") -> bytes:
        public = self.private[key_id][0].public_key()
        return public.public_bytes(
            serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
        )

    def give_code(self, challenge: str, **tokens: str) -> str:
        """Give a code for a login, as for a person who logged in; tokens are given for it once."""
        code = f"code-{len(self.codes)}"
        self.codes[code] = (challenge, tokens)
        return code

    def exchange(self, form: dict[str, str]) -> dict[str, Any] | None:
        """Give tokens for a code, if whoever has it knows the text of the challenge."""
        challenge, tokens = self.codes.pop(form["code"], ("", {}))
        digest = hashlib.sha256(form["code_verifier"].encode()).digest()
        is_right = challenge == _encode(digest) and form["client_id"] == "page"
        return {"token_type": "Bearer", **tokens} if is_right else None

    def answer(self, path: str) -> dict[str, Any] | None:
        self.requests.append(path)
        if self.is_down:
            return None
        if path == "/.well-known/openid-configuration":
            keys = f"{self.issuer}/keys"
            return {
                "issuer": self.issuer,
                "jwks_uri": keys,
                "authorization_endpoint": f"{self.issuer}/authorize",
                "token_endpoint": f"{self.issuer}/token",
                **self.description,
            }
        return {"keys": self.published} if path == "/keys" else None


def craft(header: dict[str, Any], claims: dict[str, Any], secret: bytes = b"") -> str:
    """Write a token by hand, signed by HMAC with a secret, or not at all."""
    parts = [_encode(json.dumps(part).encode()) for part in (header, claims)]
    signed = ".".join(parts).encode()
    signature = hmac.new(secret, signed, hashlib.sha256).digest() if secret else b""
    return ".".join([*parts, _encode(signature)])


def _encode(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


@contextmanager
def provide(clock: Clock) -> Iterator[IdentityProvider]:
    """Run a provider until the end of the block."""
    provider = IdentityProvider(clock)

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_fields(provider.answer(self.path), 503)

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"])).decode()
            form = dict(parse_qsl(body))
            self.send_fields(provider.exchange(form), 400)

        def send_fields(self, fields: dict[str, Any] | None, status: int) -> None:
            """Send an object; None: an error with a status."""
            body = json.dumps(fields or {"error": "invalid_grant"}).encode()
            self.send_response(200 if fields is not None else status)
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Write no log."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    provider.issuer = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield provider
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
