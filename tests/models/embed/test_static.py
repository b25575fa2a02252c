"""The model that ships."""

from __future__ import annotations

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

import engrams.models.embed.static as module
from engrams.models.embed.static import BuiltinEmbedder


@pytest.fixture(scope="module")
def model() -> BuiltinEmbedder:
    return BuiltinEmbedder()


def cosine(model: BuiltinEmbedder, text: str, other_text: str) -> float:
    first, second = model.embed([text, other_text])
    return float(first @ second)


def test_card(model: BuiltinEmbedder) -> None:
    """It is fast enough to run inside a write, and says which of its cosines mean something."""
    card = model.card
    assert (card.id, card.dimension, card.inline, card.query_prefix) == (
        "builtin-256-1",
        256,
        True,
        "",
    )
    assert 1 > card.floors["duplicate"] > card.floors["related"] > 0
    assert card.scale[-1] == 1
    assert list(card.scale) == sorted(card.scale)


def test_unit_rows(model: BuiltinEmbedder) -> None:
    """float32 rows of length 1; zeros where there is nothing to stand for."""
    rows = model.embed(["a cat", "", " \n", "\x00\ud800", "!?", "🙂" * 3, "北京", "x" * 1000])
    assert rows.dtype == np.float32
    assert rows.shape == (8, 256)
    lengths = np.linalg.norm(rows, axis=1)
    assert np.allclose(lengths[[0, 6]], 1, atol=1e-5)
    assert not rows[[1, 2, 3]].any()
    assert np.isfinite(rows).all()
    assert model.embed([]).shape == (0, 256)


@pytest.mark.parametrize(
    ("query", "near", "far"),
    [
        (
            "Where does she work?",
            "Melanie got a new job at the hospital.",
            "Melanie painted a sunset over the lake.",
        ),
        (
            "What pets do I have?",
            "We adopted a puppy and two kittens.",
            "The train to Boston was late again.",
        ),
        ("food allergies", "I can't eat peanuts, they make me sick.", "My bike has a flat tyre."),
        (
            "How do I fix the database error?",
            "The SQL query fails with a timeout on the server.",
            "She sings in a choir on Sundays.",
        ),
    ],
)
def test_meaning(model: BuiltinEmbedder, query: str, near: str, far: str) -> None:
    """A text that is about the question is nearer than a stranger, without a word in common."""
    assert cosine(model, query, near) > cosine(model, query, far)


def test_floors_hold(model: BuiltinEmbedder) -> None:
    """The card's floors part repetitions, related texts and strangers."""
    floors = model.card.floors
    assert (
        cosine(model, "I live in Berlin with my two cats.", "I live in Berlin, with my two cats!")
        >= floors["duplicate"]
    )
    assert (
        cosine(model, "My sister's wedding is in June.", "The cake for the bride was lovely.")
        < floors["duplicate"]
    )
    assert (
        cosine(
            model,
            "I adopted a dog from the shelter.",
            "We adopted a puppy from the animal shelter.",
        )
        >= floors["related"]
    )
    assert (
        cosine(model, "The bank raised its interest rates.", "My cat sleeps on the sofa.")
        < floors["related"]
    )


@pytest.mark.parametrize(
    ("one", "same", "other"),
    [
        ("我昨天在北京吃了烤鸭", "昨天我在北京吃烤鸭", "他的猫喜欢睡觉"),
        ("Мы купили квартиру в Москве", "Квартиру в Москве мы купили", "Моя собака любит гулять"),
        ("私は東京で寿司を食べました", "東京で寿司を食べた", "猫が好きです"),
        ("우리는 부산에서 김치를 먹었다", "부산에서 김치를 먹었어요", "고양이가 자고 있다"),
        ("ذهبت إلى المكتبة الكبيرة", "المكتبة الكبيرة", "القطة نائمة"),
        ("ฉันชอบกินข้าวผัด", "กินข้าวผัด", "แมวกำลังนอน"),
    ],
)
def test_other_scripts(model: BuiltinEmbedder, one: str, same: str, other: str) -> None:
    """In scripts that the table cannot spell, shared words are near and different texts are far
    apart.
    """
    assert cosine(model, one, same) > 0.5
    assert abs(cosine(model, one, other)) < 0.35


def test_batches_change_nothing(model: BuiltinEmbedder) -> None:
    """A text has one vector, alone, in a batch, among long texts, or in another order."""
    texts = ["one cat", "", "two dogs and 三只猫", "word " * 20_000, "the end", "naïve café"]
    together = model.embed(texts)
    assert np.allclose(together, np.concatenate([model.embed([text]) for text in texts]), atol=1e-5)
    assert np.allclose(together[::-1], model.embed(texts[::-1]), atol=1e-5)


def test_spelling_does_not_matter(model: BuiltinEmbedder) -> None:
    """Case and accents give the same vector."""
    assert cosine(model, "CAFÉ in MÜNCHEN", "cafe in munchen") > 0.9999


@pytest.mark.covers("S0.6")
def test_query_prefix() -> None:
    """A set prefix goes before queries only; empty is none."""
    plain = BuiltinEmbedder()
    prefixed = BuiltinEmbedder("search for recipes: ")
    assert np.array_equal(plain.embed(["cake"]), prefixed.embed(["cake"], "document"))
    assert not np.array_equal(plain.embed(["cake"], "query"), prefixed.embed(["cake"], "query"))
    assert np.array_equal(
        plain.embed(["cake"], "query"), BuiltinEmbedder("").embed(["cake"], "query")
    )


def test_threads_share_it() -> None:
    """Threads that meet at the first use get the same vectors."""
    fresh = BuiltinEmbedder()
    with ThreadPoolExecutor(8) as pool:
        rows = list(pool.map(lambda _: fresh.embed(["a cat on the sofa"])[0], range(64)))
    assert all(np.array_equal(row, rows[0]) for row in rows)


def test_the_next_engine_reads_no_table_again(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """A process reads the table once, however many engines it opens and closes."""
    first = BuiltinEmbedder()
    row = first.embed(["a cat"])
    first.close()
    monkeypatch.setattr(module, "_DATA", tmp_path)
    assert np.array_equal(BuiltinEmbedder().embed(["a cat"]), row)


def test_same_everywhere() -> None:
    """Another process, with another hash seed, gets the same vectors."""
    script = (
        "from engrams.models.embed.static import BuiltinEmbedder as B; print(B().embed(['a"
        " cat 猫 кот']).tobytes().hex())"
    )
    found = {
        subprocess.run(
            [sys.executable, "-c", script],
            env={"PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    }
    assert found == {BuiltinEmbedder().embed(["a cat 猫 кот"]).tobytes().hex() + "\n"}


def test_size_and_notice() -> None:
    """Table and vocabulary take less than 8 MB, fit each other, and the notice names where they
    come from.
    """
    data = Path(module.__file__).with_name("data")
    assert sum(file.stat().st_size for file in data.iterdir()) < 8_000_000
    rows = np.load(data / "table.npy", mmap_mode="r")
    assert rows.dtype == np.int8
    assert rows.shape == (len((data / "vocabulary.txt").read_text("utf-8").splitlines()), 256)
    assert np.load(data / "scale.npy").shape == (len(rows),)
    assert "all-MiniLM-L6-v2" in (Path(__file__).resolve().parents[3] / "NOTICE").read_text("utf-8")


def test_a_text_has_one_vector_whatever_stands_beside_it() -> None:
    """Every bit is the same for a text alone, among others, and at another place."""
    texts = [
        f"Ada lives in town number {number}, near the harbour, with {'her dogs and ' * number}a"
        " cat."
        for number in range(12)
    ]
    embedder = BuiltinEmbedder()
    together = embedder.embed(texts)
    assert np.array_equal(together, embedder.embed(texts[::-1])[::-1])
    for text, row in zip(texts, together, strict=True):
        assert np.array_equal(embedder.embed([text])[0], row)
