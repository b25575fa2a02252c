"""The reranker with a time budget, over a real ONNX model of seven words."""

from __future__ import annotations

import importlib.util
import json
import time
import tomllib
from collections.abc import Sequence
from pathlib import Path

import pytest

from engrams.core.clock import now
from engrams.errors import ModelError
from engrams.models.rerank.cross_encoder import CrossEncoderReranker
from engrams.models.rerank.factory import RerankerChoice, build_reranker
from engrams.models.rerank.local import LocalReranker
from engrams.ports import RerankRequest
from engrams.program.main import main

pytest.importorskip("onnxruntime")
pytest.importorskip("tokenizers")

_SPEC = importlib.util.spec_from_file_location("tiny_graph", Path(__file__).with_name("graph.py"))
assert _SPEC is not None
assert _SPEC.loader is not None
graph = importlib.util.module_from_spec(_SPEC)
_SPEC.loader.exec_module(graph)

WEIGHTS = {"lisbon": 2.0, "lives": 1.0, "cat": -3.0}
TEXTS = tuple(f"lives in lisbon {number}" for number in range(30))


class SlowEncoder(CrossEncoderReranker):
    """A cross-encoder on a slow machine: each pair takes as long, on a clock of its own."""

    def __init__(self, model: str, seconds: float) -> None:
        super().__init__(model)
        self.seconds = seconds
        self.time = 0.0
        self.batches: list[int] = []

    def score_pairs(self, query: str, texts: Sequence[str]) -> list[float]:
        self.time += self.seconds * len(texts)
        self.batches.append(len(texts))
        return super().score_pairs(query, texts)

    def read_time(self) -> float:
        return self.time


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return graph.write(tmp_path_factory.mktemp("tiny"), WEIGHTS)


def test_it_takes_as_many_candidates_as_fit(folder: Path) -> None:
    """From the second request on the pace is known: no batch is begun that would end late."""
    encoder = SlowEncoder(str(folder), 0.01)
    local = LocalReranker(encoder, encoder.read_time)
    for seconds, most in ((0.1, 10), (0.2, 20), (0.05, 5), (1.0, 30)):
        start = encoder.time
        scores = local.rank(RerankRequest("lisbon", TEXTS, seconds))
        judged = [score for score in scores if score is not None]
        assert encoder.time - start <= seconds
        assert 0.5 * most <= len(judged) <= most
        assert scores[: len(judged)] == tuple(judged)
    assert max(encoder.batches) == 8


def test_scores_are_those_of_the_cross_encoder(folder: Path) -> None:
    """Batches of any size give each text its own score."""
    request = RerankRequest("lisbon", ("Lives in Lisbon", "a cat", "nothing"), 60)
    expected = CrossEncoderReranker(str(folder)).rank(request)
    assert LocalReranker(CrossEncoderReranker(str(folder))).rank(request) == pytest.approx(expected)


def test_a_model_that_loads_slowly_holds_nobody_up(folder: Path) -> None:
    """The first request has no verdict in time; the model is there for a later one."""

    class LateEncoder(CrossEncoderReranker):
        def warm(self) -> None:
            time.sleep(0.4)
            super().warm()

    local = LocalReranker(LateEncoder(str(folder)))
    start = time.monotonic()
    assert local.rank(RerankRequest("lisbon", TEXTS[:2], 0.05)) == (None, None)
    assert time.monotonic() - start < 0.3
    assert None not in local.rank(RerankRequest("lisbon", TEXTS[:2], 30))


def test_it_is_a_provider(folder: Path, tmp_path: Path) -> None:
    """``rerank.provider = local`` builds it; a folder without a model is a ModelError."""
    local = build_reranker(RerankerChoice("local", model=str(folder)), now)
    assert local is not None
    assert local.name == f"local:{folder.name}"
    missing = build_reranker(RerankerChoice("local", model=str(tmp_path)), now)
    assert missing is not None
    with pytest.raises(ModelError):
        missing.rank(RerankRequest("lisbon", TEXTS, 60))


def test_init_writes_a_reranker_that_is_fast_enough(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """It is tried first; what it costs is said, and one that is too slow is not written."""
    options = ["init", "--home", str(tmp_path), "--reranker", str(folder)]
    file = tmp_path / "config.toml"
    assert main([*options, "--set", "rerank.seconds=0.0000001"]) == 0
    assert "too slow" in capsys.readouterr().out
    assert not file.exists()
    assert main([*options, "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer["fitting"] == 30
    assert answer["milliseconds"] < 30
    assert tomllib.loads(file.read_text("utf-8"))["rerank"] == {
        "provider": "local",
        "model": str(folder),
    }
    assert main(["add", "--home", str(tmp_path), "Ann lives in Lisbon."]) == 0
    capsys.readouterr()
    assert main(["search", "--home", str(tmp_path), "Who lives in Lisbon?", "--json"]) == 0
    assert "reranked by local" in capsys.readouterr().out
