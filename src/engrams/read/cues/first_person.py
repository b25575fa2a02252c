"""First-person rewriting of queries: turns say "I painted", not "Melanie painted".

``rewrite_dense`` makes the text for the embedder, ``rewrite_lexical`` the one for BM25.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import partial

from engrams.frozen_data import dataclass
from engrams.read.cues.name_mentions import NameMention
from engrams.text.late_patterns import late_pattern

_WORDS = {
    "en": {
        "I": "I",
        "me": "me",
        "my": "my",
        "you": "you",
        "your": "your",
        "we": "we",
        "our": "our",
    },
    "de": {
        "I": "ich",
        "me": "mir",
        "my": "mein",
        "you": "du",
        "your": "dein",
        "we": "wir",
        "our": "unser",
    },
    "es": {
        "I": "yo",
        "me": "mí",
        "my": "mi",
        "you": "tú",
        "your": "tu",
        "we": "nosotros",
        "our": "nuestro",
    },
    "fr": {
        "I": "je",
        "me": "moi",
        "my": "mon",
        "you": "tu",
        "your": "ton",
        "we": "nous",
        "our": "notre",
    },
    "zh": {
        "I": "我",
        "me": "我",
        "my": "我的",
        "you": "你",
        "your": "你的",
        "we": "我们",
        "our": "我们的",
    },
    "ja": {
        "I": "私",
        "me": "私",
        "my": "私の",
        "you": "あなた",
        "your": "あなたの",
        "we": "私たち",
        "our": "私たちの",
    },
}
_LOOK_BEHIND = 24
"""Characters before a name that tell whether it is an object: "to Ann"."""
_OBJECT = late_pattern(
    r"\b(?:to|with|for|from|about|of|by|on|at|than|like|towards?|mit|für|von|über|zu|con|para|sobre|de|avec|pour|sur|chez|motivate[sd]?"
    r"|inspire[sd]?|help(?:s|ed)?|support(?:s|ed)?|makes?|made|remind(?:s|ed)?|gives?|gave|tell|told|let|want(?:s|ed)?)\s+\Z",
    re.IGNORECASE,
)
_HONORIFIC = late_pattern("さん|ちゃん|くん|君|様|先生|先輩")
# "the sister of X" in languages without a possessive ending; the name is \0 by then.
_OWNED = {
    "es": late_pattern(r"\b(?:el|la)\s+(\w+)\s+de\s+\0", re.IGNORECASE),
    "fr": late_pattern(r"\b(?:le\s+|la\s+|l['’])(\w+)\s+de\s+\0", re.IGNORECASE),
}
# "Ann and Bob" became "we and we": keep one; all but the last are marked by \1.
_JOINED = late_pattern(
    "\1(?:we|our|wir|unser|nosotros|nuestro|nous|notre|我们的?|私たちの?)\\s*(?:,|&|and|und|y|et|和|跟|与|と)\\s*(?:both\\s+)?"
)
_PRONOUNS = {
    "she": "I",
    "he": "I",
    "they": "I",
    "him": "me",
    "his": "my",
    "their": "my",
    "hers": "mine",
    "theirs": "mine",
    "herself": "myself",
    "himself": "myself",
    "themselves": "myself",
}
_PRONOUN = late_pattern(rf"\b(?:her|{'|'.join(_PRONOUNS)})\b", re.IGNORECASE)
_NOUN_NEXT = late_pattern(
    r"\s+(?!(?:to|in|on|at|by|for|with|from|and|or|when|while|after|before|during|about|as|if|that|be|feel|do)\b)[^\W\d_]",
    re.IGNORECASE,
)
_AGREE = tuple(
    (late_pattern(pattern, re.IGNORECASE), form)
    for pattern, form in (
        (r"\bdoes\s+((?:not\s+)?I)\b", r"do \1"),
        (r"\bdoesn['’]t\s+I\b", "don't I"),
        (r"\bhas\s+I\b", "have I"),
        (r"\b(?:is|are)\s+I\b", "am I"),
        (r"\bwere\s+I\b", "was I"),
        (r"\bI\s+(?:is|are)\b", "I am"),
        (r"\bI\s+has\b", "I have"),
        (r"\bI\s+does\b", "I do"),
        (r"\byou\s+has\b", "you have"),
        (r"\byou\s+is\b", "you are"),
        (r"\bis\s+we\b", "are we"),
        (r"\bhas\s+we\b", "have we"),
        (r"\bhat\s+ich\b", "habe ich"),
        (r"\bich\s+hat\b", "ich habe"),
        (r"\bist\s+ich\b", "bin ich"),
        (r"\bich\s+ist\b", "ich bin"),
        (r"\bwird\s+ich\b", "werde ich"),
        (r"\ba\s+je\b|\ba-t-je\b", "ai-je"),
        (r"\best\s+je\b", "suis-je"),
        (r"\bje\s+a\b", "j'ai"),
        (r"\bje\s+est\b", "je suis"),
    )
)
_SWAPS = {
    "you": "I",
    "your": "my",
    "yours": "mine",
    "yourself": "myself",
    "me": "you",
    "i": "you",
    "my": "your",
    "mine": "yours",
}
_SWAP = late_pattern(r"\b(?:you|your|yours|yourself|me|I|my|mine)\b")
_ASKER = late_pattern(r"\b(?:I|me|my|mine)\b")


# Polite openings, which say nothing about the answer.
_POLITE = late_pattern(
    r"\A\W*(?:(?:please|hey|hi|ok|okay|so)\b[\s,]*)*(?:"
    r"(?:(?:can|could|would|will)\s+you\s+(?:please\s+)?)?(?:tell|remind|show)\s+me\s+(?:again\s+)?(?:please\s+)?(?:about\s+)?"
    r"|do\s+you\s+(?:still\s+)?(?:remember|recall|know)\s+(?:if\s+|whether\s+)?"
    r"|(?:kannst\s+du|können\s+sie)\s+mir\s+(?:bitte\s+)?sagen,?\s+|(?:weißt\s+du|erinnerst\s+du\s+dich)(?:\s+noch)?,?\s+"
    r"|(?:puedes|podrías)\s+decirme\s+(?:si\s+)?|(?:sabes|recuerdas)\s+(?:si\s+)?"
    r"|(?:peux-tu|pouvez-vous)\s+me\s+dire\s+|(?:sais-tu|te\s+souviens-tu)\s+(?:de\s+)?"
    r"|请问|請問|你?(?:能|可以)?告诉我|你还?(?:记得|知道))(?=\S)",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class QuerySubject:
    """Person a query is about."""

    names: Sequence[str]
    """Speakers; empty where none is named."""
    role: str
    """Role, where no speaker is named: user or assistant."""
    language: str
    speaker_count: int
    """Number of named speakers in reach."""


@dataclass(frozen=True, slots=True)
class _NameReplacement:
    """Words that take the place of a name."""

    words: str
    end: int
    """Position behind the name in the query."""


def strip_politeness(query: str) -> str:
    """Strip "can you tell me" etc., if enough text is left."""
    stripped = _POLITE.sub("", query, count=1)
    if stripped == query:
        return query
    # A single word of a language with blanks is no question.
    is_enough = len(stripped.split()) > 1 or not stripped.isascii()
    return stripped if is_enough else query


def rewrite_dense(query: str, mentions: Sequence[NameMention], subject: QuerySubject) -> str:
    """Rewrite the query for the embedder without names or third persons."""
    is_english = subject.language == "en"
    if not subject.names:
        if subject.role == "assistant" and is_english:
            return _SWAP.sub(_swap, query)
        return query
    pieces: list[str] = []
    end = 0
    pronouns = _WORDS.get(subject.language, _WORDS["en"])
    for mention in mentions:
        replacement = _replace_name(query, mention, subject, pronouns)
        if replacement is not None:
            pieces += (_swap_asker(query[end : mention.start], is_english), replacement.words)
            end = replacement.end
    text = "".join((*pieces, _swap_asker(query[end:], is_english)))
    if subject.language in _OWNED:
        text = _OWNED[subject.language].sub(lambda m: f"{pronouns['my']} {m[1]}", text)
    text = _JOINED.sub("", text).replace("\0", pronouns["me"]).replace("\1", "")
    if is_english and len(subject.names) == 1:
        text = _PRONOUN.sub(_to_first_person, text)
    for pattern, form in _AGREE:
        text = pattern.sub(partial(_match_case, form=form), text)
    return re.sub(r"\s{2,}", " ", text).strip()


def _match_case(m: re.Match[str], form: str) -> str:
    """Expand a form of a verb, with the capital that its match has."""
    expanded = m.expand(form)
    return expanded[0].upper() + expanded[1:] if m[0][0].isupper() else expanded


def _replace_name(
    query: str, mention: NameMention, subject: QuerySubject, pronouns: Mapping[str, str]
) -> _NameReplacement | None:
    """Choose the pronoun that replaces a name; None: keep the name."""
    is_subject = mention.speaker in subject.names
    if not mention.speaker or (not is_subject and subject.speaker_count > 2):
        return None
    possessive = mention.possessive
    end = _mention_end(query, mention)
    if not possessive:
        honorific = _HONORIFIC.match(query, end)
        end = honorific.end() if honorific else end
        if query[end : end + 1] in ("的", "の"):
            possessive = True
            end = end + 1
    if not is_subject:
        return _NameReplacement(pronouns["your" if possessive else "you"], end)
    if len(subject.names) > 1:
        # All but the last are marked: "Ann and Bob" is one "we".
        mark = "" if mention.speaker == subject.names[-1] else "\1"
        return _NameReplacement(mark + pronouns["our" if possessive else "we"], end)
    if possessive:
        return _NameReplacement(pronouns["my"], end)
    if _OBJECT.search(query[max(0, mention.start - _LOOK_BEHIND) : mention.start]):
        return _NameReplacement("\0" if subject.language in _OWNED else pronouns["me"], end)
    return _NameReplacement(pronouns["I"], end)


def _mention_end(query: str, mention: NameMention) -> int:
    """End of a name with its possessive ending."""
    end = mention.end
    if not mention.possessive:
        return end
    if query[end : end + 1] in ("'", "’"):
        return end + (2 if query[end + 1 : end + 2].lower() == "s" else 1)
    return end + 1


def _swap_asker(text: str, is_english: bool) -> str:
    """Rewrite "what did I tell you" as "what did Ann tell me"."""
    return _ASKER.sub(_swap, text) if is_english else text


def _swap(m: re.Match[str]) -> str:
    return _SWAPS[m[0].lower()]


def _to_first_person(m: re.Match[str]) -> str:
    word = m[0].lower()
    if word == "her":
        return "my" if _NOUN_NEXT.match(m.string, m.end()) else "me"
    return _PRONOUNS[word]


def rewrite_lexical(query: str, mentions: Sequence[NameMention], asked_about: Sequence[str]) -> str:
    """Remove names asked about, for BM25: people seldom say their own."""
    pieces: list[str] = []
    end = 0
    for mention in mentions:
        if mention.speaker and mention.speaker in asked_about:
            pieces += (query[end : mention.start], " ")
            end = _mention_end(query, mention)
    return re.sub(r"\s{2,}", " ", "".join((*pieces, query[end:]))).strip()
