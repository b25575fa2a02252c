"""The benchmark beside other memories: workers behind pipes, and rows for those that cannot run."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
from bench.peers.__main__ import main
from bench.peers.envs import PINS, ROOT, PeerError
from bench.peers.remote import RemotePeer

MINILM = ROOT.parent / "shared" / "models" / "minilm"
HERE = Path(sys.executable)


def test_a_peer_finds_what_it_was_given() -> None:
    """A worker in its own process takes items in and gives ids back, and a second open starts on an
    empty memory.
    """
    with RemotePeer(HERE, "fts5", None, 60) as remote:
        assert "FTS5" in remote.open()
        assert (
            remote.fill([("a", "Ann: we went sailing"), ("b", 'Ben: the "goats" \ud83d\x00 שלום')])
            > 0
        )
        assert remote.search("who goes sailing?", 5)[0] == ["a"]
        assert remote.search('"goats" OR', 5)[0] == ["b"]
        assert remote.search("?!", 5)[0] == []
        remote.open()
        assert remote.search("sailing", 5)[0] == []


@pytest.mark.parametrize(
    ("name", "reason"), [("nobody", "ModuleNotFoundError"), ("chroma", "chromadb")]
)
def test_a_peer_that_is_not_installed_says_so(name: str, reason: str) -> None:
    """What the worker cannot import comes back as the reason."""
    with RemotePeer(HERE, name, None, 60) as remote, pytest.raises(PeerError, match=reason):
        remote.open()


def test_a_peer_that_takes_too_long_is_ended() -> None:
    """The worker's time is up before its first answer, and the reason says so."""
    with (
        RemotePeer(HERE, "fts5", None, 0.001) as remote,
        pytest.raises(PeerError, match="took more than"),
    ):
        remote.open()


def test_a_worker_cannot_reach_the_network() -> None:
    """The hook that workers install refuses connections and look-ups of names."""
    code = (
        "import socket, sys; from bench.peers import worker; sys.addaudithook(worker._offline)\nfor"
        " call in (lambda: socket.create_connection(('127.0.0.1', 9)), lambda:"
        " socket.getaddrinfo('localhost', 80)):\n    try: call()\n    except ConnectionRefusedError"
        " as problem: assert 'no network here' in str(problem)\n    else: sys.exit(1)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_a_peer_that_cannot_run_keeps_its_row(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """One run gives a table and JSON in which the peer that did not run stands with the reason."""
    items = [
        {"id": f"i{n}", "text": f"we saw {word}", "speaker": "Ann"}
        for n, word in enumerate(("goats", "boats", "notes"))
    ]
    asked = [{"text": "Who saw boats?", "category": "1", "evidence": ["i1"]}]
    data = tmp_path / "small.json"
    data.write_text(
        json.dumps(
            {"name": "small", "conversations": [{"id": "c", "items": items, "questions": asked}]}
        ),
        "utf-8",
    )
    main([str(data), "--only", "chroma,fts5", "--json", str(tmp_path / "out.json")])
    systems = json.loads((tmp_path / "out.json").read_text("utf-8"))["sets"][0]["systems"]
    assert systems["SQLite FTS5"]["mean"]["R@1"] == 1
    assert systems["engrams, builtin"]["mean"]["R@10"] == 1
    assert "--minilm" in systems["Chroma"]["failure"]
    assert re.search(r"Chroma +not run: needs an embedding model", capsys.readouterr().out)


def test_pins_are_exact_and_name_no_host() -> None:
    """Every line of a pin list is name==version, with a marker at most."""
    lines = [line for path in PINS.glob("*.txt") for line in path.read_text("utf-8").splitlines()]
    assert lines
    assert [
        line for line in lines if not re.fullmatch(r"[A-Za-z0-9_.\[\]-]+==[^ :/]+( ; [^:]+)?", line)
    ] == []


@pytest.mark.skipif(not MINILM.is_dir(), reason="the shared model is not there")
def test_peers_get_the_vectors_that_engrams_gets() -> None:
    """The peers' encoder gives the same vectors for the same folder, so no difference comes from
    the model.
    """
    np = pytest.importorskip("numpy")
    pytest.importorskip("onnxruntime")
    from bench.peers.encoder import Encoder

    from engrams.models.embed.factory import choose_embedder
    from engrams.settings import EmbedSettings

    texts = ["Ann: we went sailing", "short", "a much longer text " * 80, "שלום 你好 😀"]
    ours = choose_embedder(EmbedSettings(provider="onnx", model=str(MINILM))).embed(texts)
    assert np.allclose(Encoder(MINILM).embed(texts), ours, atol=2e-2)
