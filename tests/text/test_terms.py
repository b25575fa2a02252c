"""Terms and tokens in many scripts."""

import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engrams.text.terms import terms, tokens

SENTENCES = {
    "zh": ("我昨天在北京大学吃了饺子", "北京"),
    "ja": ("明日は東京で寿司を食べます", "寿司"),
    "ja-kana": ("コーヒーがだいすきです", "だい"),
    "ko": ("우리는 부산에서 김치를 먹었다", "김치"),
    "th": ("ฉันชอบกินข้าวผัด", "ข้"),
    "ru": ("Мы купили новую квартиру в Москве", "москва"),
    "ar": ("ذهبت إلى المكتبةِ الكبيرة", "مكتبة"),
    "es": ("Mañana comeré jamón en Málaga", "jamon"),
    "de": ("Die Müllerin kauft Brötchen", "brotchen"),
    "vi": ("Tôi thích phở bò", "pho"),
    "hi": ("मुझे किताबें पसंद हैं", "किताब"),
    "el": ("Αγόρασα ένα σπίτι στην Αθήνα", "αθηνα"),
}


@pytest.mark.covers("S1.50", "S4.38")
@pytest.mark.parametrize("name", SENTENCES)
def test_a_short_query_finds_its_sentence(name: str) -> None:
    """Every term of a word of the sentence, even of two characters, is among the sentence's terms."""
    text, query = SENTENCES[name]
    assert terms(query)
    assert set(terms(query)) <= set(terms(text))


@pytest.mark.covers("S1.50")
def test_one_character_words_are_found() -> None:
    """A Chinese word of one character meets the same word inside a longer run;
    grammar characters do not.
    """
    assert "猫" in terms("我养了一只猫，叫咪咪")
    assert terms("猫") == ["猫"]
    assert set(terms("我的猫叫什么名字")) & set(terms("我养了一只猫，叫咪咪")) == {"猫", "叫"}
    assert "的" not in terms("我的猫")


@pytest.mark.covers("S4.38")
def test_tokens_by_script() -> None:
    """One token per CJK character; Cyrillic and accented Latin give their folded words."""
    assert tokens("北京大学") == ["北", "京", "大", "学"]
    assert tokens("Моя кошка") == ["моя", "кошка"]
    assert tokens("Crème brûlée") == ["creme", "brulee"]
    assert tokens("iPhone15を買う") == ["iphone15", "を", "買", "う"]


def test_tokens_keep_function_words_and_forms() -> None:
    """Tokens drop nothing but the possessive, and stem nothing."""
    assert tokens("Mary's dogs don’t like the well-known cat.") == [
        "mary",
        "dogs",
        "don't",
        "like",
        "the",
        "well",
        "known",
        "cat",
    ]


def test_terms_drop_function_words_and_stem() -> None:
    """Function words and contractions go, the rest is stemmed, in order, with repeats."""
    assert terms("What's Mary’s dogs' running? She isn't running, they've run!") == [
        "mari",
        "dog",
        "run",
        "run",
        "run",
    ]
    assert terms("Ich wohne nicht in der Straße") == ["wohn", "strass"]
    assert terms("El perro de mi hermano") == ["perro", "hermano"]
    assert terms("L'appartement qu'il a acheté") == ["appart", "achet"]


@pytest.mark.parametrize("text", ["who is who", "The Who", "to be or not to be", "Don't!"])
def test_function_words_alone_are_kept(text: str) -> None:
    """A text of nothing but function words can still be found, by the same words."""
    assert terms(text)


def test_words_of_content_are_no_function_words() -> None:
    """Names and nouns that look like a function word of another language stay."""
    for word in (
        "May",
        "die",
        "war",
        "Las Vegas",
        "MIT",
        "AI",
        "vitamin D",
        "hay",
        "ill",
        "ID",
        "son",
        "fur",
        "mais",
    ):
        assert set(terms(word.lower())) & set(terms(f"we saw {word} near Berlin"))


def test_numbers() -> None:
    """Numbers are terms; thousands are joined, ordinals meet their number."""
    found = terms("1,000,000 people, 3.5 km, 7th May 2023, room 12,")
    assert " ".join(found) == "1000000 peopl 3 5 km 7 may 2023 room 12"
    assert terms("٢٠٢٤") == ["2024"]


def test_hyphens_slashes_and_names() -> None:
    """Compounds are split; a name with an apostrophe is one word with or without it."""
    assert terms("snake_case/path e-mail") == ["snake", "case", "path", "e", "mail"]
    assert terms("O'Brien") == terms("OBrien") == ["obrien"]


def test_emoji_can_be_found() -> None:
    """An emoji is a term of its own, whatever its skin tone or presentation."""
    assert terms("👍🏽") == terms("👍") == ["👍"]
    assert "🐕" in terms("our new dog🐕!")


@pytest.mark.parametrize("text", ["", " \n\t", "...", "\x00", "\ud800", "___", "'''", ",,,"])
def test_nothing_to_index(text: str) -> None:
    """Texts without a word give no term and do not fail."""
    assert terms(text) == tokens(text) == []


def test_huge_input() -> None:
    """A megabyte without a blank gives bounded terms, the same for the document and the query."""
    assert terms("a" * 1_000_000) == ["a" * 64]
    assert len(terms("猫" * 10_000)) == 19_999
    assert len(terms("1," * 50_000)) == 50_000


@given(st.text())
def test_terms_survive_a_blank_and_punctuation_tokenizer(text: str) -> None:
    """Terms hold no blank, no ASCII punctuation and no capital, so an index splits them joined into
    the same terms.
    """
    found = terms(text)
    assert " ".join(found).split() == found
    assert all(char.isalnum() or not char.isascii() for term in found for char in term)


def test_threads_share_the_stemmer() -> None:
    """Eight threads that stem new words at once get what one thread gets."""
    words = [
        f"{stem}{end}{n}" for n in range(300) for stem, end in (("walk", "ing"), ("книг", "ами"))
    ]
    results: list[list[str]] = []
    threads = [
        threading.Thread(target=lambda: results.append(terms(" ".join(words)))) for _ in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(results) == 8
    assert all(result == results[0] for result in results)
