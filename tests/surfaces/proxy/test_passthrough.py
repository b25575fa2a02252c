"""Every other path."""

from __future__ import annotations

import gzip
import json
import threading
from collections.abc import Iterator

import httpx2
import pytest
from tests.surfaces.proxy.harness import Harness
from tests.surfaces.proxy.raw import Drop, opening, piece, reply

from engrams.errors import SettingsError
from engrams.surfaces.proxy.upstream_servers import UpstreamServer


@pytest.mark.covers("S2.6")
@pytest.mark.parametrize("method", ["GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "PROPFIND"])
def test_any_method_and_path(bench: Harness, method: str) -> None:
    """Method, path as it was encoded, query, headers and body go up;
    status, headers and body come down.
    """
    bench.raw.says(
        reply(b"\x00\xff", "418 Teapot", "X-A: 1", "X-A: 2", kind="application/octet-stream")
    )
    answer = bench.client.request(
        method,
        "/v1/files/a%2Fb%20c?x=1&y=%C3%A9&x=2",
        content=b"\x01\xfe",
        headers={"x-mine": "z", "authorization": "Bearer k"},
    )
    heard = bench.raw.last
    assert (heard.method, heard.target, heard.body) == (
        method,
        "/v1/files/a%2Fb%20c?x=1&y=%C3%A9&x=2",
        b"\x01\xfe",
    )
    assert (heard.header("x-mine"), heard.header("authorization")) == (["z"], ["Bearer k"])
    assert heard.header("host") == [bench.raw.url.removeprefix("http://")]
    assert (answer.status_code, answer.content, answer.headers.get_list("x-a")) == (
        418,
        b"\x00\xff",
        ["1", "2"],
    )


@pytest.mark.covers("S2.6")
def test_models_are_the_upstreams(bench: Harness) -> None:
    """The list of models is the upstream's, byte for byte."""
    body = b'{"object":"list", "data":[{"id":"m"}]}'
    bench.raw.says(reply(body))
    assert bench.client.get("/v1/models").content == body
    assert bench.raw.last.target == "/v1/models"


@pytest.mark.covers("S2.6")
@pytest.mark.parametrize(
    ("method", "path", "target"),
    [
        ("GET", "/models", "/v1/models"),
        ("GET", "/models/m%2F1?x=1", "/v1/models/m%2F1?x=1"),
        ("POST", "/embeddings", "/v1/embeddings"),
        ("POST", "/completions", "/v1/completions"),
        ("POST", "/messages/count_tokens", "/v1/messages/count_tokens"),
        ("POST", "/audio/transcriptions", "/v1/audio/transcriptions"),
        ("GET", "/modelsheet", "/modelsheet"),
        ("GET", "/images/logo.png", "/images/logo.png"),
    ],
)
def test_a_base_url_without_version_reaches_the_api(
    bench: Harness, method: str, path: str, target: str
) -> None:
    """A client whose base URL lacks /v1 reaches a model server's API as chats do; other paths stay."""
    bench.raw.says(reply(b"{}"))
    assert bench.client.request(method, path).status_code == 200
    assert (bench.raw.last.method, bench.raw.last.target) == (method, target)


@pytest.mark.covers("S2.6")
@pytest.mark.parametrize(
    ("base", "path", "url"),
    [
        ("http://h:1/v1", "/v1/models", "http://h:1/v1/models"),
        ("http://h:1/v1/", "/v1/models", "http://h:1/v1/models"),
        ("http://h:1", "/v1/models", "http://h:1/v1/models"),
        ("http://h:1/", "/api/tags", "http://h:1/api/tags"),
        ("http://h:1/v1", "/api/tags", "http://h:1/api/tags"),
        (
            "https://h/v1beta/openai",
            "/v1/chat/completions",
            "https://h/v1beta/openai/chat/completions",
        ),
        ("https://h/openai/v1", "/v1", "https://h/openai/v1"),
        ("https://h/openai/v1", "/v1x", "https://h/openai/v1x"),
    ],
)
def test_no_path_is_doubled(base: str, path: str, url: str) -> None:
    """A base URL with a path stands for /v1 as for any client; a bare host takes every path."""
    assert str(UpstreamServer(base, "", 5).url_for(path.encode())) == url


@pytest.mark.parametrize("wrong", ["ftp://h", "h:1", "http://", "localhost", "http://[::1"])
def test_an_address_that_is_none(wrong: str) -> None:
    """An upstream that is no http URL is an error at the start, with an example."""
    with pytest.raises(SettingsError) as caught:
        UpstreamServer(wrong, "", 5)
    assert "http://" in caught.value.hint


def test_hop_by_hop_headers_stay(bench: Harness) -> None:
    """Headers for one connection, and those that Connection names, are dropped in both directions."""
    bench.raw.says(
        reply(
            b"{}",
            "200 OK",
            "Connection: keep-alive, X-Hop",
            "X-Hop: 1",
            "Keep-Alive: timeout=5",
            "X-End: 1",
        )
    )
    answer = bench.client.get(
        "/v1/x",
        headers={
            "connection": "keep-alive, x-hop-up",
            "x-hop-up": "1",
            "te": "trailers",
            "x-end-up": "1",
        },
    )
    assert not {"x-hop", "keep-alive"} & set(answer.headers)
    assert answer.headers["x-end"] == "1"
    assert [bench.raw.last.header(name) for name in ("x-hop-up", "te", "x-end-up")] == [
        [],
        [],
        ["1"],
    ]


def test_compressed_bytes_pass_as_they_are(bench: Harness) -> None:
    """A compressed body stays compressed, and a client that asked for none is not given any."""
    packed = gzip.compress(b"{}")
    bench.raw.says(reply(packed, "200 OK", "Content-Encoding: gzip"))
    with bench.client.stream("GET", "/v1/x", headers={"accept-encoding": "gzip"}) as answer:
        assert b"".join(answer.iter_raw()) == packed
    bench.client.send(httpx2.Request("GET", bench.url + "/v1/x"))
    assert bench.raw.last.header("accept-encoding") == []


def test_head_and_empty_answers(bench: Harness) -> None:
    """HEAD has the length and no body; 204 has none."""
    bench.raw.says(b"HTTP/1.1 200 OK\r\nContent-Length: 12\r\n\r\n")
    assert bench.client.head("/v1/models").headers["content-length"] == "12"
    bench.raw.says(b"HTTP/1.1 204 No Content\r\n\r\n")
    assert bench.client.delete("/v1/files/x").status_code == 204


def test_redirects_are_the_clients_to_follow(bench: Harness) -> None:
    """A redirect is relayed."""
    bench.raw.says(reply(b"", "307 Temporary Redirect", "Location: /elsewhere"))
    answer = bench.client.get("/v1/x", follow_redirects=False)
    assert (answer.status_code, answer.headers["location"]) == (307, "/elsewhere")


def test_a_body_without_a_length_is_streamed_up(bench: Harness) -> None:
    """A chunked upload arrives whole."""

    def parts() -> Iterator[bytes]:
        for _ in range(20):
            yield b"x" * 50_000

    bench.client.post("/v1/files", content=parts())
    assert len(bench.raw.last.body) == 1_000_000


def test_events_are_not_held_back(bench: Harness) -> None:
    """Another endpoint's stream is relayed as it comes, and stopped when the client leaves."""
    bench.raw.says(opening(), piece(b"event: response.created\ndata: {}\n\n"), threading.Event())
    with bench.client.stream("POST", "/v1/responses", json={"input": "hi"}) as answer:
        assert next(answer.iter_raw()).startswith(b"event: response.created")
    assert bench.raw.left.wait(10)


def test_a_client_that_leaves_stops_the_upstream(bench: Harness) -> None:
    """A call that nobody waits for any more is cancelled before its answer."""
    bench.raw.says(threading.Event())
    with pytest.raises(httpx2.ReadTimeout):
        httpx2.post(bench.url + "/v1/embeddings", json={"input": "x"}, timeout=1)
    assert bench.raw.left.wait(10)


def test_a_break_is_passed_on_as_a_break(bench: Harness) -> None:
    """A body that ends too soon does not look complete to the client."""
    bench.raw.says(opening(kind="text/plain"), piece(b"half"), Drop())
    with pytest.raises(httpx2.RemoteProtocolError):
        bench.client.get("/v1/files/x/content")


def test_nothing_there(bench: Harness) -> None:
    """The upstream's own 404 comes down, and a dropped connection is a 502 with a hint."""
    bench.raw.says(reply(b"nope", "404 Not Found", kind="text/plain"))
    assert bench.client.get("/no/such").text == "nope"
    bench.raw.says(Drop())
    answer = bench.client.get("/v1/models")
    assert (answer.status_code, answer.json()["error"]["type"]) == (502, "upstream_error")


def test_wrong_methods_on_the_chat_path_go_up_too(bench: Harness) -> None:
    """GET on the chat path is the stored-completions list of some servers: it passes."""
    bench.raw.says(reply(json.dumps({"data": []}).encode()))
    assert bench.client.get("/v1/chat/completions?limit=1").json() == {"data": []}
    assert bench.raw.last.target == "/v1/chat/completions?limit=1"
