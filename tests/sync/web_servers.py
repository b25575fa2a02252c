"""Real servers of WebDAV and S3 for tests, with a network between that may fail, where they are installed."""

from __future__ import annotations

import json
import logging
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import httpx2

MISSING = "no server of WebDAV and S3: `make test-places` installs wsgidav and moto and runs these"
INSTALLED = all(find_spec(name) for name in ("wsgidav", "cheroot", "moto", "boto3", "flask_cors"))
USER = "ann"
PASSWORD = "blue Gärtner/4711"
BUCKET = "our-memory"

Environ = dict[str, Any]
App = Callable[[Environ, Callable[..., Any]], Iterable[bytes]]


@dataclass
class Network:
    """What is between a client and an application: it can fail as told, and notes the requests."""

    app: App
    fail: Callable[[Environ], str] = lambda _: ""
    """Says for a request: empty, it works; a status such as `503 Busy`; `cut before`: the connection ends
    after half of what was sent; `cut after`: it was done, and the answer is lost."""
    headers: list[tuple[str, str]] = field(default_factory=list)
    body: bytes = b""
    seen: list[str] = field(default_factory=list)
    """Method and path of every request."""

    def __call__(self, environ: Environ, start_response: Callable[..., Any]) -> Iterable[bytes]:
        self.seen.append(f"{environ['REQUEST_METHOD']} {environ['PATH_INFO']}")
        way = self.fail(environ)
        if not way:
            return self.app(environ, start_response)
        size = int(environ.get("CONTENT_LENGTH") or 0)
        if way == "cut before":
            environ["wsgi.input"].read(size // 2)
            raise ConnectionResetError
        if way == "cut after":
            closing = self.app(environ, lambda *_: lambda _: None)
            list(closing)
            raise ConnectionResetError
        environ["wsgi.input"].read(size)
        start_response(way, [*self.headers, ("content-length", str(len(self.body)))])
        return [self.body]


@contextmanager
def serve_app(network: Network) -> Iterator[str]:
    """Serve an application; yield host and port."""
    from cheroot import wsgi

    server = wsgi.Server(("127.0.0.1", 0), network, numthreads=8)
    server.error_log = lambda *_, **__: None
    server.prepare()
    thread = threading.Thread(target=server.serve, daemon=True)
    thread.start()
    try:
        yield f"127.0.0.1:{server.bind_addr[1]}"
    finally:
        server.stop()
        thread.join()


def make_webdav(folder: Path, *, digest: bool = False) -> Network:
    """Make a WebDAV server of a folder, for one user."""
    from wsgidav.wsgidav_app import WsgiDAVApp

    logging.getLogger("wsgidav").setLevel(logging.CRITICAL)
    folder.mkdir(exist_ok=True)
    users = {USER: {"password": PASSWORD}}
    return Network(
        WsgiDAVApp(
            {
                "provider_mapping": {"/": str(folder)},
                "simple_dc": {"user_mapping": {"*": users}},
                "http_authenticator": {
                    "accept_basic": not digest,
                    "accept_digest": digest,
                    "default_to_digest": digest,
                },
                "logging": {"enable": False},
                "verbose": 0,
            }
        )
    )


@dataclass(frozen=True)
class Storage:
    """A server of S3 with a bucket, and a key that may use nothing else."""

    network: Network
    endpoint: str
    key_id: str
    secret: str
    admin: Any
    """Client of boto3 that may do everything."""

    @property
    def address(self) -> str:
        return f"s3://{BUCKET}/of-ann/memory?endpoint={self.endpoint}&region=eu-central-1"


@contextmanager
def serve_s3() -> Iterator[Storage]:
    """Serve S3; it checks every signature."""
    import boto3
    from moto.server import DomainDispatcherApplication, create_backend_app

    logging.getLogger("werkzeug").setLevel(logging.CRITICAL)
    network = Network(DomainDispatcherApplication(create_backend_app))
    with serve_app(network) as host:
        endpoint = f"http://{host}"
        httpx2.post(f"{endpoint}/moto-api/reset")
        httpx2.post(f"{endpoint}/moto-api/reset-auth", content=b"inf")
        options = {"endpoint_url": endpoint, "region_name": "eu-central-1"}
        session = boto3.Session(aws_access_key_id="x", aws_secret_access_key="x")
        iam = session.client("iam", **options)
        keys = {}
        for user, actions in (
            ("admin", "s3:*"),
            (USER, "s3:ListBucket s3:GetObject s3:PutObject s3:DeleteObject"),
        ):
            iam.create_user(UserName=user)
            rule = {"Effect": "Allow", "Action": actions.split(), "Resource": "*"}
            policy = json.dumps({"Version": "2012-10-17", "Statement": [rule]})
            iam.put_user_policy(UserName=user, PolicyName="own", PolicyDocument=policy)
            keys[user] = iam.create_access_key(UserName=user)["AccessKey"]
        httpx2.post(f"{endpoint}/moto-api/reset-auth", content=b"0")
        admin = boto3.client(
            "s3",
            aws_access_key_id=keys["admin"]["AccessKeyId"],
            aws_secret_access_key=keys["admin"]["SecretAccessKey"],
            **options,
        )
        place = {"LocationConstraint": "eu-central-1"}
        admin.create_bucket(Bucket=BUCKET, CreateBucketConfiguration=place)
        key = keys[USER]
        yield Storage(network, endpoint, key["AccessKeyId"], key["SecretAccessKey"], admin)
