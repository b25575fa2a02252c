"""The token estimate, against counts of real vocabularies written down here."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engrams.models.tokens.estimate import estimate_tokens
from engrams.models.tokens.factory import choose_counter

# text, tokens by a vocabulary of 100,000 entries, by one of 200,000
COUNTED = [
    ("Hello world", 2, 2),
    (
        "Hey Caroline! I went to the support group yesterday and it was so powerful, honestly.",
        18,
        18,
    ),
    ("What did I say about my sister's wedding in June 2023?", 15, 15),
    (
        (
            "def add(self, items: Sequence[str]) -> None:\n    for item in items:\n       "
            " self._rows.append(item.lower())\n"
        ),
        26,
        26,
    ),
    (
        (
            '{"id": 17, "user": "alice", "tags": ["a", "b"], "score": 0.1234, "at":'
            ' "2024-05-01T10:00:00Z"}'
        ),
        48,
        48,
    ),
    ("https://example.com/docs/item?q=abcdefgh&id=12345678", 14, 14),
    ("- [ ] buy milk\n- [x] call mom\n\n## Notes\n* one\n* two\n", 22, 22),
    ("3.14159 2653 58979 32384626", 14, 14),
    ("我昨天在北京大学吃了饺子，很好吃。", 22, 14),
    ("明日は東京で寿司を食べます。とても楽しみです。", 26, 17),
    ("우리는 부산에서 김치를 먹었다.", 17, 9),
    ("Мы купили новую квартиру в Москве в прошлом году.", 28, 11),
    ("ذهبت إلى المكتبة الكبيرة أمس مع صديقي.", 26, 12),
    ("मुझे किताबें पढ़ना बहुत पसंद है।", 34, 10),
    ("ฉันชอบกินข้าวผัดที่ร้านนี้", 22, 12),
    ("Ich habe gestern meine Schwester in München besucht und wir waren spazieren.", 18, 14),
    ("Mañana iré a la playa con mis amigos de la universidad.", 15, 15),
    ("Je suis allé à la boulangerie ce matin pour acheter du pain.", 18, 15),
    ("👍🏽🎉😀❤️", 14, 7),
    ("THE QUICK BROWN FOX JUMPS OVER THE LAZY DOG", 14, 13),
    ("d41d8cd98f00b204e9800998ecf8427e", 19, 19),
]


@pytest.mark.covers("S1.60")
@pytest.mark.parametrize(("text", "small", "large"), COUNTED)
def test_near_the_real_count(text: str, small: int, large: int) -> None:
    """An estimate is never a fifth below the real counts, nor more than twice the larger one."""
    real = max(small, large)
    assert 0.8 * real <= estimate_tokens(text) <= 2 * real + 2


@pytest.mark.covers("S1.60")
def test_chinese_is_not_counted_as_latin() -> None:
    """Ten Chinese characters cost more than ten Latin letters."""
    assert estimate_tokens("我们明天去北京吃烤鸭") >= 8
    assert estimate_tokens("abcdefghij") <= 4


def test_empty_and_blank() -> None:
    """Empty text costs nothing, anything else at least one token."""
    assert estimate_tokens("") == 0
    assert estimate_tokens(" ") == estimate_tokens("\x00") == 1


def test_huge_texts() -> None:
    """Megabytes without structure are counted, in linear time."""
    for text in (
        "a" * 1_000_000,
        "é" * 300_000,
        " " * 1_000_000,
        "\n" * 300_000,
        "A" * 300_000,
        "1" * 300_000,
        "中" * 300_000,
    ):
        assert 1000 < estimate_tokens(text) < 2 * len(text)


@given(st.text(), st.text())
def test_more_text_costs_no_less_overall(one: str, other: str) -> None:
    """Any text has a count; a blank line between two texts makes them cost about their sum."""
    both = estimate_tokens(f"{one}\n\n{other}")
    assert both >= 1
    assert both <= 1.6 * (estimate_tokens(one) + estimate_tokens(other)) + 4


def test_choose_the_estimate() -> None:
    """The default counter is the estimate."""
    counter = choose_counter("estimate")
    assert counter.name == "estimate"
    assert counter.count("hello world") == estimate_tokens("hello world")


def test_a_text_counted_again_counts_the_same() -> None:
    """What is remembered of short texts, and counted anew of long ones, is the estimate itself."""
    for text in ("", "The kiln is hot.", "東京に住んでいます。", "word " * 5000):
        assert [choose_counter("estimate").count(text) for _ in range(2)] == [
            estimate_tokens(text)
        ] * 2
