"""Gate: filters texts without content, without a model.

The journal keeps every turn either way.
"""

from __future__ import annotations

import re
from collections.abc import Collection

from engrams.core import StageDecision
from engrams.extract.echo_removal import fingerprint
from engrams.extract.memory_requests import is_control
from engrams.text.acknowledgements import ASSENT
from engrams.text.late_patterns import holds_any, late_pattern
from engrams.text.measures import word_count
from engrams.text.normalize import fold
from engrams.text.stopwords import STOP
from engrams.text.terms import tokens
from engrams.text.vocabulary import read_vocabulary
from engrams.text.word_list import word_set

__all__ = ["fingerprint"]

BRIEF = ("small_talk", "stop_words", "short")
"""Reasons of the gate that do not count for an answer to a question, where a model reads both."""
_SMALL_TALK_LENGTH = 40
_ECHO_WORDS = 4

# Greetings, thanks, assent, laughter and farewells; a text made of nothing else carries no fact.
_SMALL_TALK = ASSENT | word_set(read_vocabulary(__file__, "small_talk"))

_NOISE = late_pattern(
    r"traceback \(most recent call last\)|^[^\S\n]*at [\w$.<>]+\([\w.]+:\d+\)"
    r"|\b(?:connection|socket|read|gateway|request|upstream) ?(?:error|refused|reset|aborted|timed"
    r" out|time-?out)\b"
    r"|\b(?:econnrefused|econnreset|etimedout|enotfound|ehostunreach)\b"
    r"|\b(?:http|status)(?: code)? ?(?:error )?(?:429|5\d\d)\b|\b(?:502 bad gateway|503 service"
    r" unavailable|504 gateway time-?out)\b"
    r"|\b(?:internal server error|service unavailable|rate limit (?:exceeded|reached)|too many"
    r" requests)\b"
    r"|^[^\S\n]*\[?(?:error|fatal|critical|exception)\]?\s*[:|-]|\b(?:unhandled|uncaught)"
    r" (?:exception|rejection)\b"
    r"|\bmodel (?:is )?(?:overloaded|not (?:found|available))\b|\b(?:timed? ?out)"
    r" (?:after|waiting|while)\b"
    r"|\bmax retries exceeded\b|\bhttps?connectionpool\(host="
    r"|\bsegmentation fault\b|\bcore dumped\b|\bkernel panic\b",
    re.MULTILINE,
)
# Every error message holds one of them.
_NOISY = (
    "traceback",
    "(",
    "error",
    "refused",
    "reset",
    "aborted",
    "timed out",
    "timedout",
    "time out",
    "timeout",
    "time-out",
    "econn",
    "enotfound",
    "ehostunreach",
    "http",
    "status",
    "gateway",
    "unavailable",
    "rate limit",
    "too many requests",
    "fatal",
    "critical",
    "exception",
    "rejection",
    "model",
    "retries",
    "fault",
    "dumped",
    "panic",
)
_NOISE_SHARE = 400

# "I'm vegan" has one word with content; with its subject it is a statement, which "vegan" alone is
# not.
_FIRST_PERSON = late_pattern(
    r"\b(?:i|my|we|our|ich|wir|mein\w*|yo|soy|tengo|mi|mis|je|j'|mon|ma|mes|nous)\b|[我俺咱]",
    re.IGNORECASE,
)


def gate_text(
    text: str, *, min_words: int = 2, echoes: Collection[str] = ()
) -> StageDecision | None:
    """Return why nothing is learned from ``text``, or None.

    The Decision's stage is ``gate``. Reasons: ``echo`` (its fingerprint is among ``echoes``),
    ``control`` (a request about memory itself), ``small_talk``, ``noise`` (errors and traces),
    ``stop_words`` (no word with content), ``short`` (fewer than ``min_words`` words with content).
    """
    reason = _find_refusal(text, min_words, echoes)
    return StageDecision("gate", "skip", reason, text[:80]) if reason else None


def is_small_talk(text: str) -> bool:
    """True for greetings, thanks and assent up to 40 characters."""
    stripped = text.strip()
    if not stripped or len(stripped) > _SMALL_TALK_LENGTH:
        return False
    words = [word.replace("'", "") for word in tokens(stripped)]
    content = [word for word in words if word not in STOP and not _is_symbol(word)]
    return (
        bool(words)
        and all(word in _SMALL_TALK for word in content)
        and (bool(content) or all(word in _SMALL_TALK or _is_symbol(word) for word in words))
    )


def is_noise(text: str) -> bool:
    """True for a text that is mostly an error message or trace."""
    folded = fold(text[:4000])
    found = _NOISE.search(folded) if holds_any(folded, _NOISY) else None
    return found is not None and (len(text) <= _NOISE_SHARE or found.start() < _NOISE_SHARE // 4)


def _find_refusal(text: str, min_words: int, echoes: Collection[str]) -> str:
    if echoes and word_count(text) >= _ECHO_WORDS and fingerprint(text) in echoes:
        return "echo"
    if is_control(text):
        return "control"
    if is_small_talk(text):
        return "small_talk"
    if is_noise(text):
        return "noise"
    head = text[:2000]
    content = [
        word for word in tokens(head) if word.replace("'", "") not in STOP and not _is_symbol(word)
    ]
    if not content:
        return "stop_words"
    return (
        "short"
        if word_count(" ".join(content)) + bool(_FIRST_PERSON.search(head)) < min_words
        else ""
    )


def _is_symbol(word: str) -> bool:
    return not any(char.isalnum() for char in word)
