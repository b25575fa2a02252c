"""Local models, with a real ONNX graph of nine words, and with a real model where there is one."""

from __future__ import annotations

import json
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("onnxruntime")
pytest.importorskip("tokenizers")

from tests.models.embed.graph import write

from engrams.errors import ExtraError, ModelError
from engrams.installation import install_hint
from engrams.models.embed.onnx import OnnxEmbedder
from engrams.settings import EmbedSettings


def embedder(model: Path | str, **values: object) -> OnnxEmbedder:
    return OnnxEmbedder(EmbedSettings(provider="onnx", model=str(model), **values))  # type: ignore[arg-type]


@pytest.mark.parametrize("types", [False, True])
def test_mean_pooling_with_the_mask(tmp_path: Path, types: bool) -> None:
    """The last hidden state is averaged over real tokens only, and a batch gives what each text
    gives alone.
    """
    model = embedder(write(tmp_path, types=types), batch_size=2)
    texts = ["cat", "cat dog dog", "dog", "", "unknown"]
    rows = model.embed(texts)
    assert rows.dtype == np.float32
    assert np.allclose(rows[0], [1, 0, 0, 0])
    assert np.allclose(rows[1], np.array([1, 2, 0, 0]) / 5**0.5)
    assert not rows[3:].any()
    for text, row in zip(texts, rows, strict=True):
        assert np.allclose(model.embed([text])[0], row, atol=1e-6)


def test_pooled_output_is_used_as_it_is(tmp_path: Path) -> None:
    """A graph that pools itself gives the vectors; they are brought to unit length."""
    rows = embedder(write(tmp_path, pooled=True)).embed(["cat", "dog"])
    assert np.allclose(rows, [[1, 0, 0, 0], [0, 1, 0, 0]])


@pytest.mark.parametrize(
    ("key", "expected"),
    [("pooling_mode_cls_token", [0, 0, 0, 1]), ("pooling_mode_lasttoken", [0, 0, 0, -1])],
)
def test_pooling_as_the_folder_says(tmp_path: Path, key: str, expected: list[float]) -> None:
    """1_Pooling/config.json decides between the first token, the last token and the mean."""
    folder = write(tmp_path)
    (folder / "1_Pooling").mkdir()
    (folder / "1_Pooling" / "config.json").write_text(json.dumps({key: True}))
    assert np.allclose(embedder(folder).embed(["cat dog"])[0], expected)


def test_known_family_by_name(tmp_path: Path) -> None:
    """A folder named after a known family gets its pooling and query prefix."""
    model = embedder(write(tmp_path / "bge-small-en-v1.5"))
    assert model.card.query_prefix.startswith("Represent this sentence")
    assert np.allclose(model.embed(["cat"])[0], [0, 0, 0, 1])


@pytest.mark.covers("S0.6")
def test_prefixes(tmp_path: Path) -> None:
    """The query prefix goes before queries only, and an empty setting turns it off;
    the folder's own prompts count.
    """
    folder = write(tmp_path)
    assert np.allclose(
        embedder(folder, query_prefix="query ").embed(["cat"], "query")[0],
        np.array([1, 0, 1, 0]) / 2**0.5,
    )
    assert np.allclose(
        embedder(folder, query_prefix="query ").embed(["cat"], "document")[0], [1, 0, 0, 0]
    )
    (folder / "config_sentence_transformers.json").write_text(
        json.dumps({"prompts": {"query": "query ", "document": "dog "}})
    )
    model = embedder(folder)
    assert (model.card.query_prefix, model.card.document_prefix) == ("query ", "dog ")
    assert np.allclose(model.embed(["cat"], "document")[0], np.array([1, 1, 0, 0]) / 2**0.5)
    assert np.allclose(embedder(folder, query_prefix="").embed(["cat"], "query")[0], [1, 0, 0, 0])


def test_long_and_hostile_texts(tmp_path: Path) -> None:
    """A text of a megabyte is cut; NUL and lone surrogates do not stop it."""
    rows = embedder(write(tmp_path)).embed(["cat " * 250_000, "cat \x00 \ud800", "\ud800" * 10])
    assert np.allclose(rows[:2], [[1, 0, 0, 0], [1, 0, 0, 0]], atol=0.02)


def test_a_model_that_gives_no_number(tmp_path: Path) -> None:
    """NaN is an error, not a vector."""
    with pytest.raises(ModelError, match="an invalid number"):
        embedder(write(tmp_path)).embed(["nan"])


def test_card_tells_models_apart(tmp_path: Path) -> None:
    """The id holds the folder's name and a print of the file;
    another model in the folder is another id. No floors are invented.
    """
    folder = write(tmp_path / "mine")
    card = embedder(folder).card
    assert card.id.startswith("onnx:mine-")
    assert (card.dimension, dict(card.floors), card.inline) == (4, {}, False)
    assert embedder(folder).card == card
    write(folder, types=True)
    assert embedder(folder).card.id != card.id


def test_threads_share_it(tmp_path: Path) -> None:
    """Threads that meet at the first use load one model and get right answers."""
    model = embedder(write(tmp_path))
    with ThreadPoolExecutor(8) as pool:
        vectors = list(pool.map(lambda n: model.embed(["cat" if n % 2 else "dog"])[0], range(64)))
    assert all(
        np.allclose(row, [1, 0, 0, 0] if n % 2 else [0, 1, 0, 0]) for n, row in enumerate(vectors)
    )


def test_missing_parts_are_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No folder, no model in it, broken files, no library: each error says what to do."""
    with pytest.raises(ModelError, match="no folder"):
        embedder(tmp_path / "nowhere").card  # noqa: B018
    with pytest.raises(ModelError, match=r"no ONNX model with a tokenizer\.json"):
        embedder(tmp_path).card  # noqa: B018
    folder = write(tmp_path / "broken")
    (folder / "model.onnx").write_bytes(b"\x00" * 100)
    with pytest.raises(ModelError, match="cannot be loaded"):
        embedder(folder).embed(["cat"])
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    with pytest.raises(ExtraError) as caught:
        embedder(folder).embed(["cat"])
    assert install_hint("local") in caught.value.hint


def test_hub_name_without_a_network(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A hub name that cannot be downloaded is a clear error with the way out;
    without the library another.
    """
    constants = pytest.importorskip("huggingface_hub.constants")
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path))
    with pytest.raises(ModelError, match="cannot be downloaded") as caught:
        embedder("some-owner/some-model").embed(["cat"])
    assert "folder" in caught.value.hint
    monkeypatch.setitem(sys.modules, "huggingface_hub", None)
    with pytest.raises(ExtraError):
        embedder("some-owner/some-model").embed(["cat"])


def test_a_real_model(minilm: Path) -> None:
    """Paraphrases are nearer than strangers;
    batches, lengths and repeats do not change a vector.
    """
    model = embedder(minilm)
    assert model.card.dimension == 384
    texts = [
        "My cat sleeps on the sofa.",
        "The kitten is napping on the couch.",
        "Interest rates were raised by the bank.",
        "",
    ]
    rows = model.embed(texts)
    assert np.allclose(np.linalg.norm(rows, axis=1), [1, 1, 1, 0], atol=1e-5)
    assert rows[0] @ rows[1] > 0.5 > 0.2 > rows[0] @ rows[2]
    assert np.abs(model.embed([texts[0], "word " * 300])[0] - rows[0]).max() < 0.05
