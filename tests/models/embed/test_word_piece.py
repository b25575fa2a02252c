"""The tokenizer against the original."""

import random
from pathlib import Path

import pytest

from engrams.models.embed.static import WordPieceTokenizer, split_words

_VOCABULARY = ["[UNK]", "un", "##aff", "##able", "hello", ",", "!", "caf", "##e", "北", "##s", "'"]


@pytest.fixture
def small() -> WordPieceTokenizer:
    return WordPieceTokenizer.from_lines(_VOCABULARY, "[UNK]")


def test_longest_match_first(small: WordPieceTokenizer) -> None:
    """A word is cut into the longest known pieces from its start."""
    assert small.ids("unaffable") == [1, 2, 3]
    assert small.ids("Hello, cafés!") == [4, 5, 7, 8, 10, 6]


def test_unknown_words(small: WordPieceTokenizer) -> None:
    """A word that cannot be spelled is the unknown piece, or nothing where there is none."""
    assert small.ids("hello zebra") == [4, 0]
    assert small.ids("x" * 101) == [0]
    assert WordPieceTokenizer.from_lines(_VOCABULARY).ids("hello zebra") == [4]


def test_words() -> None:
    """Accents and control characters go, punctuation and Han characters stand alone."""
    assert split_words("L'Été\x00 a\u200bb北京!") == ["l", "'", "ete", "ab", "北", "京", "!"]
    assert split_words("\x07a\tb\x1fc") == ["a", "bc"]
    assert split_words("") == split_words(" \n\ufffd") == []


def _texts(rng: random.Random) -> list[str]:
    alphabets = [
        "abcdefghijklmnopqrstuvwxyz'",
        r"""ABCDEF ghi-_/.,!?;:()[]{}<>@#$%^&*~`|\"+=""",
        "0123456789.,:/-",
        "àéîõüßøłđžčñçÅÆœ",
        "абвгдежзийклмнопрстуфхцчшщъыьэюяё",
        "αβγδεζηθικλμνξοπρστυφχψωάέή",
        "אבגדהוזחטיכלמנסעפצקרשת",
        "ابتثجحخدذرزسشصضطظعغفقكلمنهويًٌٍَُِ",
        "अआइईउऊएऐओऔकखगघचछजझटठडढणतथदधनपफबभमयरलवशषसहािीुूृेैोौ्ं",
        "กขคงจฉชซญดตถทธนบปผฝพฟภมยรลวศษสหอะาิีึืุูเแโใไ่้๊๋์",
        "한국어안녕하세요",
        "日本語東京行くのはですがぎぐカタカナ、。「」",
        "我你他是在有一不人们的了",
        "😀👍🏽🎉❤️👨‍👩‍👧🇩🇪",
        "“”‘’—–…•·©®™°±×÷",
        "\t\n\r \u00a0\u3000\u2009\u200b\u200d\ufeff\u00ad\x00\x07\x1b\x7f\x85",
        "İıſﬁﬀǅÅΩKﬅẞŉΐ",
        "e\u0301a\u0308n\u0303 o\u0302\u0323",
    ]
    tokenizers = []
    for _ in range(2500):
        chosen = rng.choices(alphabets, k=rng.randrange(1, 4))
        tokenizers.append(
            " ".join(
                "".join(rng.choice(rng.choice(chosen)) for _ in range(rng.randrange(1, 14)))
                for _ in range(rng.randrange(1, 12))
            )
        )
    return tokenizers


def test_same_ids_as_the_original(minilm: Path) -> None:
    """On thousands of texts of every script the ids are those of the tokenizers library."""
    tokenizers = pytest.importorskip("tokenizers")
    original = tokenizers.Tokenizer.from_file(str(minilm / "tokenizer.json"))
    original.no_padding()
    original.no_truncation()
    vocabulary = original.get_vocab()
    ours = WordPieceTokenizer(vocabulary, vocabulary["[UNK]"])
    texts = _texts(random.Random(0))
    texts += [
        path.read_text("utf-8")[:5000].replace("[", "(")
        for path in sorted(Path(__file__).parents[2].rglob("*.py"))
    ]
    assert len(texts) > 2500
    theirs = [encoded.ids for encoded in original.encode_batch(texts, add_special_tokens=False)]
    wrong = [text for text, ids in zip(texts, theirs, strict=True) if ours.ids(text) != ids]
    assert wrong == []
