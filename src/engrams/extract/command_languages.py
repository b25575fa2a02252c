"""Requests about memory in languages other than English, read from a table of patterns.

Enter at ``match_request`` and ``match_answer``. ``command_parser`` makes commands of what they
find.
"""

from __future__ import annotations

import re
import unicodedata
from functools import cache
from typing import Literal

from engrams.frozen_data import dataclass
from engrams.text.late_patterns import holds_any
from engrams.text.vocabulary import read_vocabulary

Answer = Literal["yes", "no", "all"]

_ANSWERS = ("yes", "no", "all")
_LATIN_END = 0x250
"""First character code after the Latin letters, whose accents may be left out."""
UNSPACED_LANGUAGES = ("zh", "ja")
"""Languages that write no spaces between words."""
_QUESTIONED = "?"
"""Mark of a request that may be meant for somebody else than memory."""


@dataclass(frozen=True, slots=True)
class MatchedRequest:
    """Request about memory, as a pattern of one language matched it."""

    language: str
    """Code of the language, such as ``de``."""
    verb: str
    """One of ``command_parser.Verb``, or ``number``."""
    about: str
    """Subject, in the words of the request; empty: there is none."""
    is_known: bool
    """True: the verb asks what is known of the subject, as an ordinary question does, too."""
    is_certain: bool
    """False: the words may be meant for somebody else than memory."""
    number: int = 0
    """Position in the last list shown, from 1; 0: none."""


@dataclass(frozen=True, slots=True)
class CommandLanguage:
    """Patterns of one language, for texts without accents."""

    code: str
    words: tuple[str, ...]
    """Every request holds one of them."""
    polite: re.Pattern[str]
    """Polite phrases at the start."""
    tail: re.Pattern[str]
    """Polite phrases and punctuation at the end."""
    requests: tuple[tuple[str, re.Pattern[str]], ...]
    """Verb and pattern of each request, in the order in which they are tried."""
    answers: tuple[tuple[str, re.Pattern[str]], ...]

    def strip(self, text: str) -> str:
        """Return the text without polite phrases at both ends."""
        # Without accents the text is as long, so that positions hold in both.
        plain = strip_accents(text)
        start = self.polite.match(plain)
        begin = start.end() if start and start.end() < len(plain) else 0
        end = self.tail.search(plain, begin)
        return text[begin : end.start() if end else len(text)].strip()


def match_request(text: str) -> MatchedRequest | None:
    """Find the request that the whole text is; None: it is none of these languages.

    ``text``: without line breaks and of a command's length.
    """
    lowered = strip_accents(text).lower()
    for language in _read_languages():
        if not holds_any(lowered, language.words):
            continue
        stripped = language.strip(text)
        plain = strip_accents(stripped)
        for verb, pattern in language.requests:
            match = pattern.fullmatch(plain)
            if match is not None:
                return _describe_match(language.code, verb, match, stripped)
    return None


def match_answer(text: str) -> tuple[Answer, str] | None:
    """Find the answer to a question that the whole text is, with its language; None: it is none."""
    for language in _read_languages():
        plain = strip_accents(language.strip(text)) or strip_accents(text.strip(" .!?。！？"))
        for answer, pattern in language.answers:
            if pattern.fullmatch(plain):
                return answer, language.code  # type: ignore[return-value]  # of _ANSWERS
    return None


def _describe_match(code: str, verb: str, match: re.Match[str], stripped: str) -> MatchedRequest:
    groups = match.groupdict()
    is_known = groups.get("known") is not None
    about = ""
    for name in ("about", "known"):
        if groups.get(name):
            about = stripped[match.start(name) : match.end(name)]
    number = groups.get("number")
    return MatchedRequest(
        language=code,
        verb=verb.removesuffix(_QUESTIONED),
        about=about.strip(" ?.!\"'。？！「」“”"),
        is_known=is_known,
        is_certain=not verb.endswith(_QUESTIONED),
        number=int(number) if number else 0,
    )


@cache
def _read_languages() -> tuple[CommandLanguage, ...]:
    """Read the table, once a process."""
    rows: dict[str, list[tuple[str, str]]] = {}
    for line in read_vocabulary(__file__, "memory_commands").splitlines():
        if line and not line.startswith("#"):
            code, name, pattern = line.split("\t")
            rows.setdefault(code, []).append((name, pattern))
    return tuple(_build_language(code, entries) for code, entries in rows.items())


def _build_language(code: str, entries: list[tuple[str, str]]) -> CommandLanguage:
    named = {name: pattern for name, pattern in entries if name.startswith("$")}
    patterns = [
        (name, _compile(_fill_in(pattern, named)))
        for name, pattern in entries
        if not name.startswith("$") and name not in ("words", "polite", "tail")
    ]
    single = dict(entries)
    edge = "" if code in UNSPACED_LANGUAGES else r"\b"
    return CommandLanguage(
        code=code,
        words=tuple(strip_accents(single["words"]).lower().split()),
        polite=_compile(rf"(?:(?:{single['polite']}){edge}[\s,，、:]*)+"),
        tail=_compile(rf"(?:[\s,，、]*{edge}(?:{single['tail']}))?[\s.!?。！？]*$"),
        requests=tuple((name, pattern) for name, pattern in patterns if name not in _ANSWERS),
        answers=tuple((name, pattern) for name, pattern in patterns if name in _ANSWERS),
    )


def _fill_in(pattern: str, named: dict[str, str]) -> str:
    for name, part in named.items():
        pattern = pattern.replace(name, part)
    return pattern


def _compile(pattern: str) -> re.Pattern[str]:
    return re.compile(strip_accents(pattern), re.IGNORECASE)


def strip_accents(text: str) -> str:
    """Return the text with plain Latin letters, of the same length."""
    if text.isascii():
        return text
    return "".join(_strip_letter(letter) for letter in text)


def _strip_letter(letter: str) -> str:
    if ord(letter) >= _LATIN_END:
        return "'" if letter in "’‘ʼ" else letter
    return unicodedata.normalize("NFD", letter)[0]
