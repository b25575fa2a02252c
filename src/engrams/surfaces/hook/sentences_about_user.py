"""Sentences about the person, which hold in every project.

``find_sentences_about_user`` returns those of a message: who the user is, and how answers should be. What is
said of the code, or by "we", belongs to the project.
"""

from __future__ import annotations

import re

_SENTENCE_END = re.compile(r"(?<=[.!])\s+|\n+|;\s+")
_OPENING = r"(?:(?:and|also|oh|btw|by the way|please|pls|hi|hello|hey|from now on|in general|generally|fyi)\W+)*"
_PERSON = re.compile(
    rf"\W*{_OPENING}(?:"
    # Who the user is. An upper-case name follows "I'm": "I'm stuck" says nothing lasting.
    r"(?:i'm|i am|this is) (?-i:[A-Z]\w+)(?:[ ,.]|$)|i(?:'m| am) an? \w+|my name is\b|(?:you can )?call me\b"
    r"|my (?:pronouns|time ?zone|native language|mother tongue|editor|keyboard|shell|os|job|role) (?:is|are)\b"
    r"|i (?:live|am based|work) (?:in|from|as|at)\b|i speak\b|i(?:'m| am) based in\b"
    r"|i (?:really |generally |usually |always |much |strongly )?(?:prefer|like|love|hate|dislike|enjoy"
    r"|want you to|don't like|do not like|never want)\b"
    # How answers should be.
    r"|(?:always |never |don't |do not )?(?:keep|make) (?:your |the |all )?(?:answers?|replies|responses?|explanations?|summaries) "
    r"|(?:be|stay) (?:brief|concise|short|terse|direct)\b"
    r"|(?:no|don't use|do not use|never use|avoid|without|stop using|skip the) (?:\w+ )?"
    r"(?:emojis?|smileys?|exclamation marks?|pleasantries|small talk)\b"
    r"|(?:always |only )?(?:answer|reply|respond|write to me|speak|talk)(?: to me| back)?"
    r" (?:in (?:english|german|spanish|french|chinese|japanese|italian|portuguese|dutch|polish)|briefly|shortly)\b"
    r"|(?:don't|do not|never|stop) (?:apologi[sz]e|apologi[sz]ing|flatter|praise|repeat my question|thank me)\b"
    r"|antworte(?: mir)? (?:auf|kurz)\b|ich (?:heiße|bin|bevorzuge|mag)\b"
    r")",
    re.IGNORECASE,
)
_PROJECT = re.compile(
    r"\b(?:we|we're|our|us|repo(?:sitory)?|project|codebase|branch|module|service|tests?|commits?|here|prs?|pull requests?"
    r"|wir|unser\w*)\b|`|\w/\w|\w\.(?:py|ts|tsx|js|go|rs|java|md|json|ya?ml|toml|sql)\b",
    re.IGNORECASE,
)

_POINTS = re.compile(
    r"\b(?:this|that|these|those|the (?:first|second|third|last|next|other|same|new|old)|it (?:now|again|better))\b",
    re.IGNORECASE,
)
"""Words for a thing of the conversation: "I prefer the second version"."""
_REASON = re.compile(
    r",\s+(?:i|i'm|my|it|they|because|since|cause|ich|mein\w*|weil|sonst)\b.*", re.IGNORECASE
)
"""Reason behind a wish, whatever it points to: "keep answers short, I read these on a phone"."""
_TIME_ZONE = re.compile(
    r"\b(?:africa|america|antarctica|asia|atlantic|australia|europe|indian|pacific|etc)/\w+",
    re.IGNORECASE,
)
"""Name of a time zone, which looks like a path."""


def find_sentences_about_user(text: str) -> str:
    """Return the sentences of a message that are about the person; empty for none."""
    sentences = [sentence.strip() for sentence in _SENTENCE_END.split(text) if sentence.strip()]
    return " ".join(sentence for sentence in sentences if _is_personal(sentence))


def is_all_personal(text: str) -> bool:
    """True for a message that says nothing but what is about the person."""
    sentences = [sentence for sentence in _SENTENCE_END.split(text) if sentence.strip()]
    return bool(sentences) and all(map(_is_personal, sentences))


def _is_personal(sentence: str) -> bool:
    wish = _REASON.sub("", sentence)
    return (
        "?" not in sentence
        and _PERSON.match(sentence) is not None
        and _POINTS.search(wish) is None
        and _PROJECT.search(_TIME_ZONE.sub("", sentence)) is None
    )
