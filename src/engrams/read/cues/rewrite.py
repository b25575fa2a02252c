"""The query as the person asked about would say it: their own turns say "I painted", not "Melanie painted"."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from engrams.read.cues.people import Mention

_WORDS = {
    "en": {"I": "I", "me": "me", "my": "my", "you": "you", "your": "your", "we": "we", "our": "our", "us": "us"},
    "de": {"I": "ich", "me": "mir", "my": "mein", "you": "du", "your": "dein", "we": "wir", "our": "unser", "us": "uns"},
    "es": {"I": "yo", "me": "mí", "my": "mi", "you": "tú", "your": "tu", "we": "nosotros", "our": "nuestro", "us": "nosotros"},
    "fr": {"I": "je", "me": "moi", "my": "mon", "you": "tu", "your": "ton", "we": "nous", "our": "notre", "us": "nous"},
    "zh": {"I": "我", "me": "我", "my": "我的", "you": "你", "your": "你的", "we": "我们", "our": "我们的", "us": "我们"},
    "ja": {"I": "私", "me": "私", "my": "私の", "you": "あなた", "your": "あなたの", "we": "私たち", "our": "私たちの", "us": "私たち"},
}
_OBJECT = re.compile(
    r"\b(?:to|with|for|from|about|of|by|on|at|than|like|toward|towards|mit|für|von|über|zu|con|para|sobre|avec|pour|sur|chez|"
    r"motivate[sd]?|inspire[sd]?|help(?:s|ed)?|support(?:s|ed)?|make[s]?|made|remind(?:s|ed)?|give[s]?|gave|tell|told|let|want(?:s|ed)?)\s+\Z",
    re.IGNORECASE,
)
_HONORIFIC = re.compile(r"(?:さん|ちゃん|くん|君|様|先生|先輩)")
_OWNED = {
    "es": re.compile(r"\b(?:el|la)\s+(\w+)\s+de\s+(?=\x00)", re.IGNORECASE),
    "fr": re.compile(r"\b(?:(le|la|l'|l’|les)\s*)(\w+)\s+de\s+(?=\x00)", re.IGNORECASE),
}
_PRONOUNS = {"she": "I", "he": "I", "they": "I", "him": "me", "his": "my", "their": "my", "hers": "mine", "theirs": "mine"}
_PRONOUNS |= {"herself": "myself", "himself": "myself", "themselves": "myself", "themself": "myself", "them": "them"}
_PRONOUN = re.compile(r"\b(?:she|he|him|his|her|hers|herself|himself|(?:they|their|theirs|themselves)(?=\b))\b", re.IGNORECASE)
_NOUN_NEXT = re.compile(
    r"\s+(?!(?:to|in|on|at|by|for|with|from|and|or|when|while|after|before|during|about|as|if|that|be|feel|do)\b)[^\W\d_]", re.IGNORECASE
)
_AGREE = tuple(
    (re.compile(pattern, re.IGNORECASE), said)
    for pattern, said in (
        (r"\bdoes\s+((?:not\s+)?I)\b", r"do \1"),
        (r"\bdoesn['’]t\s+I\b", "don't I"),
        (r"\bhas\s+I\b", "have I"),
        (r"\bis\s+I\b", "am I"),
        (r"\bare\s+I\b", "am I"),
        (r"\bwere\s+I\b", "was I"),
        (r"\bI\s+is\b", "I am"),
        (r"\bI\s+has\b", "I have"),
        (r"\bI\s+does\b", "I do"),
        (r"\bis\s+we\b", "are we"),
        (r"\b(?:has|does)\s+we\b", "do we"),
        (r"\bhat\s+ich\b", "habe ich"),
        (r"\bich\s+hat\b", "ich habe"),
        (r"\bist\s+ich\b", "bin ich"),
        (r"\bich\s+ist\b", "ich bin"),
        (r"\bwird\s+ich\b", "werde ich"),
        (r"\bmag\s+ich\b", "mag ich"),
        (r"\ba\s+je\b|\ba-t-je\b", "ai-je"),
        (r"\best\s+je\b", "suis-je"),
        (r"\bje\s+a\b", "j'ai"),
        (r"\bje\s+est\b", "je suis"),
    )
)


def dense(query: str, named: Sequence[Mention], about: Sequence[str], role: str, language: str, speakers: int) -> str:
    """The query for the embedder. Grammar is light: what matters is that no name and no third person is left."""
    if not about:
        return _swapped(query) if role == "assistant" and language == "en" else query
    words = _WORDS.get(language, _WORDS["en"])
    text = _without_names(query, named, about, words, speakers)
    if language in _OWNED:
        text = (
            _OWNED[language]
            .sub(lambda m: f"{words['my']} {m[m.lastindex or 1]} ", text)
            .replace("\x00" + words["me"], "")
            .replace("\x00" + words["I"], "")
        )
    text = text.replace("\x00", "")
    if language == "en" and len(about) == 1:
        text = _pronouns(text)
    for pattern, said in _AGREE:
        text = pattern.sub(said, text)
    return re.sub(r"\s{2,}", " ", text).strip()


def _without_names(query: str, named: Sequence[Mention], about: Sequence[str], words: Mapping[str, str], speakers: int) -> str:
    pieces: list[str] = []
    last = 0
    both = len(about) > 1
    done = False
    for mention in named:
        if not mention.speaker:
            continue
        own = mention.speaker in about
        if not own and speakers > 2:
            continue
        end = mention.end
        owner = mention.possessive
        if owner and query[end : end + 1] in ("'", "’"):
            end += 2 if query[end + 1 : end + 2].lower() == "s" else 1
        elif owner:
            end += 1
        else:
            suffix = _HONORIFIC.match(query, end)
            end = suffix.end() if suffix else end
            if query[end : end + 1] in ("的", "の"):
                owner, end = True, end + 1
        if both and own:
            pieces.append(query[last : mention.at] if not done else "")
            pieces.append("" if done else words["our" if owner else "we"])
            done, last = True, end
            continue
        first = "I" if own else "you"
        form = ("my" if own else "your") if owner else ("me" if own else "you") if _OBJECT.search(query[: mention.at]) else first
        pieces += (query[last : mention.at], "\x00" if own and not owner else "", words[form])
        last = end
    return "".join(pieces) + query[last:]


def _pronouns(text: str) -> str:
    def said(m: re.Match[str]) -> str:
        word = m[0].lower()
        if word == "her":
            return "my" if _NOUN_NEXT.match(text, m.end()) else "me"
        return _PRONOUNS.get(word, m[0])

    return _PRONOUN.sub(said, text)


_SWAPS = {"you": "I", "your": "my", "yours": "mine", "me": "you", "i": "you", "my": "your", "mine": "yours", "yourself": "myself"}
_SWAP = re.compile(r"\b(?:you|your|yours|yourself|me|I|my|mine)\b")


def _swapped(query: str) -> str:
    """What did you recommend me, as the assistant would say it."""
    return _SWAP.sub(lambda m: _SWAPS[m[0].lower()], query)


def lexical(query: str, named: Sequence[Mention], about: Sequence[str]) -> str:
    """The query for BM25: without the names of those asked about, who seldom say them."""
    pieces: list[str] = []
    last = 0
    for mention in named:
        if mention.speaker in about and mention.speaker:
            end = mention.end
            if mention.possessive and query[end : end + 1] in ("'", "’"):
                end += 2 if query[end + 1 : end + 2].lower() == "s" else 1
            pieces += (query[last : mention.at], " ")
            last = end
    return re.sub(r"\s{2,}", " ", "".join(pieces) + query[last:]).strip()
