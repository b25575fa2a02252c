"""Role meant by the pronouns of a query: user or assistant."""

from __future__ import annotations

import re

from engrams.read.cues.mentions import Role

_USER = {
    "en": r"\b(?:i|im|i'm|i've|i'd|i'll|my|me|mine|myself|we|our|us)\b",
    "de": r"\b(?:ich|mein|meine|meinen|meinem|meiner|meines|mir|mich|wir|unser|unsere|unserem|uns)\b",
    "es": r"\b(?:yo|mi|mis|me|mio|mia|conmigo|nosotros|nuestro|nuestra|hice|dije|fui|compre|tengo|vivo)\b",
    "fr": r"\b(?:je|mon|ma|mes|moi|me|nous|notre|nos)\b|\b[jm]'",
    "zh": "我|咱们",
    "ja": "私|僕|俺|わたし|ぼく",
}
# Questions about the assistant; "do you know" and "can you tell me" are none.
_ASSISTANT = (
    r"\b(?:did|have|had|were|are|would)\s+you\b(?!\s+(?:know|remember|recall|tell\s+me|think\s+i|remind|able))",
    r"\byour\s+(?:\w+\s+)?(?:suggestion|recommendation|advice|answer|reply|response|opinion|explanation)s?\b",
    r"\byou\s+(?:said|suggested|recommended|told|gave|mentioned|wrote|explained|proposed|advised)\b",
    r"\b(?:hast|wolltest|hattest)\s+du\b|\bdu\s+(?:mir\s+)?(?:gesagt|empfohlen|vorgeschlagen)\b|\bhaben\s+sie\s+mir\b",
    r"\b(?:me\s+)?(?:recomendaste|dijiste|sugeriste|aconsejaste)\b|\bme\s+(?:recomendo|sugirio)\s+usted\b",
    r"\b(?:m'as|m'avez|as-tu|avez-vous)\b",
    r"[你您].{0,4}(?:说|說|推荐|推薦|建议|建議|提到)",
    r"(?:あなた|君).{0,6}(?:言|勧|提案)",
)
_USER_PATTERNS = {name: re.compile(pattern) for name, pattern in _USER.items()}
_ASSISTANT_PATTERN = re.compile("|".join(_ASSISTANT))


def asked_role(folded: str, language: str) -> Role:
    """Assistant for its own words, user for the asker's, else empty."""
    if _ASSISTANT_PATTERN.search(folded):
        return "assistant"
    return "user" if _USER_PATTERNS.get(language, _USER_PATTERNS["en"]).search(folded) else ""
