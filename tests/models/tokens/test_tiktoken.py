"""A real vocabulary where there is one, and what happens where there is none."""

import os
import sys
from pathlib import Path
from types import ModuleType

import pytest

from engrams.errors import SettingsError
from engrams.models.tokens.estimate import estimate_tokens
from engrams.models.tokens.factory import choose_counter
from engrams.models.tokens.tiktoken import ENCODINGS, TiktokenTokenCounter
from engrams.testing import SettableClock

TEXT = "The cat sat on the mat."


class Library(ModuleType):
    """Stands for a tiktoken with a vocabulary of single characters."""

    def __init__(self) -> None:
        super().__init__("tiktoken")
        self.loads = 0
        self.broken = False

    def get_encoding(self, name: str) -> "Library":
        self.loads += 1
        if self.broken:
            raise ValueError("hash mismatch")
        return self

    def encode_ordinary(self, text: str) -> list[int]:
        return [ord(char) for char in text]


@pytest.fixture
def library(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Library:
    fake = Library()
    monkeypatch.setitem(sys.modules, "tiktoken", fake)
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(tmp_path))
    return fake


def cached(folder: Path) -> None:
    (folder / "9b5ad71b2ce5302211f9c61530b329a4922fc6a4").write_bytes(b"")


def test_counts_by_the_vocabulary(library: Library, tmp_path: Path) -> None:
    """With the library and its file the count is the library's, and it is loaded once, at the first
    use.
    """
    cached(tmp_path)
    counter = choose_counter("cl100k_base", SettableClock())
    assert library.loads == 0
    assert (
        counter.name,
        counter.count(TEXT),
        counter.count(""),
        counter.count("<|endoftext|>"),
    ) == ("cl100k_base", len(TEXT), 0, 13)
    assert library.loads == 1


@pytest.mark.covers("S1.60")
def test_nothing_is_fetched(library: Library) -> None:
    """Without its file on this machine the library is not asked, as it would fetch it;
    tokens are estimated.
    """
    assert choose_counter("cl100k_base", SettableClock()).count(TEXT) == estimate_tokens(TEXT)
    assert library.loads == 0


@pytest.mark.covers("S1.60")
def test_missing_library(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the library tokens are estimated."""
    monkeypatch.setitem(sys.modules, "tiktoken", None)
    assert choose_counter("o200k_base", SettableClock()).count("我们明天去北京") == estimate_tokens(
        "我们明天去北京"
    )


@pytest.mark.covers("S1.60")
def test_failure_is_cooled_down(library: Library, tmp_path: Path) -> None:
    """After a failure the vocabulary is not tried again for 600 seconds, then it is."""
    cached(tmp_path)
    library.broken = True
    clock = SettableClock()
    counter = TiktokenTokenCounter("cl100k_base", clock)
    assert counter.count(TEXT) == estimate_tokens(TEXT)
    library.broken = False
    clock.forward(599)
    assert counter.count(TEXT) == estimate_tokens(TEXT)
    assert library.loads == 1
    clock.forward(1)
    assert counter.count(TEXT) == len(TEXT)


def test_unknown_name() -> None:
    """A name that is no counter is a settings error that lists those there are."""
    with pytest.raises(SettingsError) as caught:
        choose_counter("cl200k")
    assert all(name in caught.value.hint for name in ("estimate", *ENCODINGS))


@pytest.mark.parametrize("name", ["cl100k_base", "o200k_base"])
def test_the_real_library(name: str) -> None:
    """Where tiktoken and its file are on this machine, the real count is given."""
    tiktoken = pytest.importorskip("tiktoken")
    if not os.environ.get("TIKTOKEN_CACHE_DIR"):
        pytest.skip("TIKTOKEN_CACHE_DIR names no folder with vocabularies")
    assert (
        choose_counter(name, SettableClock()).count(TEXT)
        == len(tiktoken.get_encoding(name).encode(TEXT))
        == 7
    )
