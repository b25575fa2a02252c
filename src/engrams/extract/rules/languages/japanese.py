"""Sentence forms of Japanese; its subject is left out where the speaker is meant."""

from __future__ import annotations

from engrams.extract.rules.languages.language_table import LanguageTable

_SELF = r"(?:(?:私|僕|俺|わたし)は|(?:今|現在)は?|\A)(?:今|現在)?は?"
_THING = r"(?P<o>[^、。！？はがをにで]{1,16})"

_FORMS: list[tuple[str, ...]] = [
    ("lives_in", "home", rf"{_SELF}{_THING}に住んで(?:い)?(?:ます|る)"),
    (
        "lives_in",
        "home",
        rf"{_SELF}(?:先月|先週|去年|昨日)?{_THING}に引っ越し(?:まし)?た",
        "changes",
    ),
    ("works_at", "work", rf"{_SELF}{_THING}で(?:働いて|勤務して)(?:い)?(?:ます|る)"),
    ("works_at", "work", rf"{_SELF}{_THING}に(?:勤めて)(?:い)?(?:ます|る)"),
    ("allergic_to", "health", rf"{_SELF}{_THING}(?:の)?アレルギー(?:が|です|なん)"),
    ("speaks", "language", rf"{_SELF}{_THING}語が話せ"),
    ("likes", "preference", rf"{_SELF}{_THING}が(?:大)?好き(?:です|だ|\Z)"),
    ("likes", "preference", rf"{_SELF}{_THING}が(?:大)?(?:嫌い|苦手)", "no"),
    ("is_named", "identity", rf"(?:私|僕|俺|わたし)(?:の名前)?は{_THING}(?:といいます|と申します)"),
    ("is_named", "identity", rf"<rel>の名前は{_THING}(?:です|だ|\Z)"),
]

JAPANESE = LanguageTable(
    code="ja",
    cue=r"[\u3040-\u30ff]",
    hypothetical=r"もし|たら|かもしれ|と思(?:う|い)|つもり|たい(?:です|\Z|な)|だろう|でしょう|らしい|そうです|夢で|と言(?:って|いま)",
    relatives={
        "妻": "wife", "夫": "husband", "娘": "daughter", "息子": "son", "母": "mother", "父": "father", "姉": "sister",
        "妹": "sister", "兄": "brother", "弟": "brother", "犬": "dog", "猫": "cat",
    },
    favorites={},
    properties={},
    forms=_FORMS,
)  # fmt: skip
