"""Folding brings the spellings of one word together and keeps different words apart."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engrams.text.normalize import fold


@pytest.mark.parametrize(
    ("given_text", "folded"),
    [
        ("Straße", "strasse"),
        ("Müller Łódź Ørsted Æsir", "muller lodz orsted aesir"),
        ("e\u0301te\u0301", "ete"),
        ("İstanbul ısı", "istanbul isi"),
        ("ﬁne ＡＢＣ ①", "fine abc 1"),
        ("Σίσυφος", "σισυφοσ"),
        ("Ёлка, зо\u0301лото, новый, Київ", "елка, золото, новый, київ"),
        ("don’t — “so”", 'don\'t - "so"'),
        ("مُحَمَّد أحمد كتـــاب ٢٠٢٤", "محمد احمد كتاب 2024"),
        ("שָׁלוֹם", "שלום"),
        ("👍🏽 ❤️", "👍 ❤"),
        ("a\u00adb a\u200bb \u202eabc", "ab a b abc"),
    ],
)
def test_one_spelling(given_text: str, folded: str) -> None:
    """Case, accents, ligatures, widths, vowel points and invisible characters do not make another
    word.
    """
    assert fold(given_text) == folded


@pytest.mark.parametrize(
    "text", ["ที่นี่", "हिन्दी", "தமிழ்", "がぎぐげご", "パピプペポ", "한국어", "ဗမာ", "漢字"]
)
def test_letters_survive(text: str) -> None:
    """Marks that are vowels or make another letter are kept."""
    assert fold(text) == text


def test_decomposed_kana_and_hangul_are_composed() -> None:
    """Dakuten and jamo typed apart are the same as the composed letters."""
    assert fold("か\u3099") == "が"
    assert fold("\u1112\u1161\u11ab") == "한"


def test_nul_and_surrogates_are_removed() -> None:
    """What no database can store is not part of a folded text."""
    assert fold("a\x00b") == "ab"
    assert fold("ä\x00\ud800b\udfff") == "ab"
    assert fold("\x00") == fold("") == ""


@given(st.text())
def test_idempotent_and_storable(text: str) -> None:
    """Folding twice changes nothing, and the result can be written as UTF-8."""
    once = fold(text)
    assert fold(once) == once
    assert "\x00" not in once
    once.encode("utf-8")


@given(st.text(alphabet=st.characters(max_codepoint=127)))
def test_ascii_shortcut_is_the_same(text: str) -> None:
    """The short way for ASCII text gives what the long way gives."""
    assert fold(text + "é")[:-1] == fold(text)
