"""Requests about memory, read by the concepts of their words, in six languages.

Enter at ``find_request``, ``find_answer`` and ``find_bans``. A text is read as a row of concepts, such as
"show", "memory" and "negation", from ``vocabulary/request_concepts.txt``. It is a request if its
concepts make one up, in whatever order, and it says nothing else besides the subject.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from itertools import pairwise
from typing import Literal

from engrams.extract.command_languages import UNSPACED_LANGUAGES, strip_accents
from engrams.frozen_data import dataclass
from engrams.text.late_patterns import holds_any, late_pattern
from engrams.text.vocabulary import read_vocabulary

_LONGEST_REQUEST = 160
_LONGEST_ANSWER = 60
_LONGEST_BAN = 240
"""Longest sentence, in characters, that is read as a ban."""
_SUBJECT_WORDS = 7
_SUBJECT_LETTERS = 14
"""Longest subject, in words, and in letters of a language without spaces."""

_PASSAGE_WORDS = 3
"""Longest subject, in words, of "erase the bit about …", which may be said of a text."""

_NEGATIONS = frozenset(("not", "none", "stop", "outside"))
_DECISIONS = frozenset(("yes", "no"))
_ANSWER_CONCEPTS = _DECISIONS | {"drop", "erase", "this", "filler", "det", "memory"}
_REQUEST_CORE = frozenset(
    ("drop", "erase", "memory", "outside", "known", "held", "show", "count", "on", "off", "pref")
)
"""Concepts that stand in no subject."""
_QUESTION_WORDS = ("what", "was ", "wor", "wov", "qu", "de qu", "¿qu")
_LOOSE = frozenset(("filler", "det", "self"))
"""Concepts of words that may be a part of a name."""
_CONTENTS = frozenset(("memory", "known", "held", "stored"))
_WORD_TEXT = re.compile(r"\w+(?:['-]\w+)*")
_SENTENCE = re.compile(r"[^.!?;。！？；\n]+[.!?;。！？；\n]?")
_COMMA = re.compile(r"[,，、:：]")
_COLON = re.compile(r"\s*(?:[:：]|,? that\b|,? dass\b|,? que\b| - )\s*")
_OF_THINGS = re.compile(
    r"\b(?:keep|hold|leave|put|write|store|record|log|take|add|file|hang|commit|lock)\b|\bnothing for\b"
)
"""Words of what is also done with things: "don't keep it, give the bike to Arne"."""
_OF_SOMEBODY = re.compile(
    r"\bfor (?:me|us|him|her|them)\W*$|\bbehalte?n?\b.* (?:an|auf|bei)\W*$"
    r"|\bgarde[sz]?\b.* sur (?:toi|vous|moi|lui|elle)\W*$|\bpara (?:mi|nosotr[oa]s|el|ella|ell[oa]s|luego|despues)\W*$"
)
"""End of an order about a thing that somebody gets or wears: "don't save this one for me"."""
_ANSWERING_NO = re.compile(r"\W*(?:no|nope|nah|nein|nee|non)\s*[,;!]")
"""A "no" to what was said before, which negates nothing behind it: "No, keep it"."""
_OF_TALK = re.compile(
    r"\b(?:conversation|chat|message|discussion|session|said|say|told|tell|wrote|memory|record of|any of|none of|all of)\b"
)
"""Words by which such an order is about what is said."""
_STATEMENT_ORDER = ("en", "es", "fr")
"""Languages in which the subject stands before the negation: "that does not …"."""


@dataclass(frozen=True, slots=True)
class ConceptRequest:
    """Request about memory."""

    verb: str
    language: str
    about: str = ""
    is_known: bool = False
    """True: an ordinary question asks for it, too."""
    is_certain: bool = True
    layer_name: str = ""


@dataclass(frozen=True, slots=True)
class _ConceptWords:
    concepts: frozenset[str]
    """Empty: a word that no concept has."""
    start: int
    end: int
    layer_name: str = ""
    layer_start: int = 0
    """Place of the word for the layer."""


@dataclass(frozen=True, slots=True)
class _ConceptLanguage:
    code: str
    stems: tuple[str, ...]
    """Every request holds one of them."""
    patterns: tuple[tuple[str, re.Pattern[str]], ...]
    negations: re.Pattern[str]

    @property
    def is_spaced(self) -> bool:
        return self.code not in UNSPACED_LANGUAGES

    def read(
        self, plain: str, *, is_answer: bool = False, ends_early: bool = False
    ) -> list[_ConceptWords]:
        """Read a text without accents as concepts; ``is_answer``: as those of a yes or no.

        ``ends_early``: end at the first word that no concept has.
        """
        patterns = [
            (concept, pattern)
            for concept, pattern in self.patterns
            if (concept in _ANSWER_CONCEPTS if is_answer else concept not in _DECISIONS)
        ]
        tokens: list[_ConceptWords] = []
        position = 0
        while position < len(plain):
            letter = plain[position]
            if not letter.isalnum() and letter != "'":
                position += 1
                continue
            token = self._read_token(plain, position, patterns)
            last = tokens[-1] if tokens else None
            is_unknown = not token.concepts and last is not None and not last.concepts
            if is_unknown and last is not None and last.end == token.start and not self.is_spaced:
                tokens[-1] = _ConceptWords(token.concepts, last.start, token.end)
            else:
                tokens.append(token)
            position = token.end
            if ends_early and not token.concepts:
                break
        return tokens

    def _read_token(
        self, plain: str, position: int, patterns: list[tuple[str, re.Pattern[str]]]
    ) -> _ConceptWords:
        """Read the longest words at a position that have a concept, with all of theirs."""
        concepts: set[str] = set()
        end = position
        layer_name = ""
        layer_start = 0
        for concept, pattern in patterns:
            match = pattern.match(plain, position)
            if match is None or match.end() < max(end, position + 1):
                continue
            if match.end() > end:
                concepts.clear()
                end = match.end()
                layer_name = match.lastgroup or ""
                layer_start = match.start(layer_name) if layer_name else 0
            concepts.add(concept)
        if not concepts:
            word = _WORD_TEXT.match(plain, position) if self.is_spaced else None
            end = word.end() if word else position + 1
        return _ConceptWords(frozenset(concepts), position, end, layer_name, layer_start)


def _is_core(token: _ConceptWords) -> bool:
    """True for a word that stands in no subject."""
    return bool(token.concepts) and token.concepts <= _REQUEST_CORE


def _unite(tokens: list[_ConceptWords]) -> set[str]:
    """Return all concepts of a text."""
    return {concept for token in tokens for concept in token.concepts}


def _has_other_words(tokens: list[_ConceptWords]) -> bool:
    return not all(token.concepts for token in tokens)


def find_request(text: str) -> ConceptRequest | None:
    """Find the request that the whole text is; None: it is none."""
    stripped = " ".join(text.split())
    if len(stripped) > _LONGEST_REQUEST:
        return None
    plain = strip_accents(stripped).lower()
    if len(plain) != len(stripped):
        return None
    for language in _read_languages():
        if holds_any(plain, language.stems):
            request = (
                _find_saving(language, stripped, plain)
                or _RequestReading(language, stripped, language.read(plain)).find()
            )
            if request is not None:
                return request
    return None


def find_answer(text: str) -> tuple[Literal["yes", "no"], str] | None:
    """Find the yes or no that the whole text is, with its language; None: it is neither."""
    if len(text) > _LONGEST_ANSWER or "?" in text or "？" in text:
        return None
    plain = strip_accents(text).lower()
    for language in _read_languages():
        tokens = language.read(plain, is_answer=True)
        concepts = _unite(tokens)
        if _has_other_words(tokens) or len(concepts & _DECISIONS) != 1:
            continue
        if "yes" in concepts:
            return "yes", language.code
        if not concepts & {"drop", "erase"} or _is_negated(tokens, plain):
            return "no", language.code
    return None


def find_bans(folded: str) -> Iterator[tuple[int, int]]:
    """Yield the spans of a folded text that ask not to save what is said."""
    languages = [language for language in _read_languages() if holds_any(folded, language.stems)]
    if not languages:
        return
    for sentence in _SENTENCE.finditer(folded):
        if sentence.end() - sentence.start() > _LONGEST_BAN or sentence[0].endswith(("?", "？")):
            continue
        for start, end in _split_at_commas(folded, sentence.start(), sentence.end()):
            is_part = end - start < sentence.end() - sentence.start()
            part = folded[start:end]
            if is_part and _OF_THINGS.search(part) and not _OF_TALK.search(part):
                continue
            if any(_is_ban(language, part) for language in languages):
                yield start, end
                break


def _split_at_commas(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """Yield the whole sentence, and each of its parts."""
    yield start, end
    begin = start
    for comma in _COMMA.finditer(text, start, end):
        yield begin, comma.start()
        begin = comma.end()
    if begin > start:
        yield begin, end


def _is_ban(language: _ConceptLanguage, sentence: str) -> bool:
    sentence = _ANSWERING_NO.sub("", sentence)
    if not holds_any(sentence, language.stems) or not language.negations.search(sentence):
        return False
    if _OF_SOMEBODY.search(sentence):
        return False
    tokens = language.read(sentence, ends_early=True)
    concepts = _unite(tokens)
    if _has_other_words(tokens) or concepts & {"count", "pref", "layer", "show"}:
        return False
    if not concepts & _NEGATIONS:
        return False
    keeps = {"withhold"} if language.code == "es" else {"keep"}
    is_kept = bool(concepts & keeps)
    names_talk = bool(concepts & {"this", "none"})
    # "Log me out": one word is no trace and its keeping at once.
    names_trace = any("trace" in token.concepts and not token.concepts & keeps for token in tokens)
    says_enough = names_talk + is_kept + names_trace >= 2
    return says_enough and not _is_statement(language, tokens, sentence)


def _is_statement(language: _ConceptLanguage, tokens: list[_ConceptWords], sentence: str) -> bool:
    """True for a sentence that tells what something does not keep."""
    if language.code == "de" and "dass" not in sentence:
        return any(
            "keep" in token.concepts and sentence[token.start : token.end].endswith("st")
            for token in tokens
        )
    concepts = _unite(tokens)
    if "ought" in concepts:
        return False
    if language.code == "en" and "none" in concepts:
        return any(
            "keep" in token.concepts and sentence.startswith("is ", token.start) for token in tokens
        )
    subjects = {"this", "you"} if language.code != "es" else {"you"}
    return language.code in _STATEMENT_ORDER and any(
        former.concepts & subjects
        and later.concepts & {"not", "stop"}
        and not _COMMA.search(sentence[former.end : later.start])
        for former, later in pairwise(tokens)
    )


def _is_negated(tokens: list[_ConceptWords], plain: str) -> bool:
    """True if a no stands right before the word for deleting: "don't delete it"."""
    return any(
        "no" in former.concepts
        and later.concepts & {"drop", "erase"}
        and not _COMMA.search(plain[former.end : later.start])
        for former, later in pairwise(tokens)
    )


def _find_saving(language: _ConceptLanguage, text: str, plain: str) -> ConceptRequest | None:
    """Find a preference to save: "add to my preferences: no onions"."""
    colon = _COLON.search(plain)
    if colon is None or colon.end() >= len(text):
        return None
    tokens = language.read(plain[: colon.start()])
    concepts = _unite(tokens)
    if _has_other_words(tokens) or "pref" not in concepts or not concepts & {"keep", "stored"}:
        return None
    if concepts & {"not", "ask", "drop", "erase"}:
        return None
    return ConceptRequest("save", language.code, text[colon.end() :].strip())


@dataclass(frozen=True, slots=True)
class _RequestReading:
    """Text that is read as concepts."""

    language: _ConceptLanguage
    text: str
    tokens: list[_ConceptWords]

    def find(self) -> ConceptRequest | None:
        """Find the request that the concepts make up."""
        concepts = _unite(self.tokens)
        subject = self._find_subject()
        if subject is None:
            return None
        if concepts & {"drop", "erase"}:
            return self._find_forgetting(concepts, subject)
        if not self._asks(concepts) and not subject:
            verb = self._find_switch(concepts)
            return ConceptRequest(verb, self.language.code) if verb else None
        return self._find_list(concepts, subject)

    def _asks(self, concepts: set[str]) -> bool:
        """True if something is to be told: "show me", or a question that begins "what do you know"."""
        if concepts & {"ask", "show"}:
            return True
        opening = self.tokens[0]
        question = self.text[opening.start : opening.end].lower()
        asks = question.startswith(_QUESTION_WORDS)
        return asks and bool(opening.concepts & {"known", "held"})

    def _find_subject(self) -> str | None:
        """Find what the request is about; empty: nothing; None: the text says something else."""
        places = [n for n, token in enumerate(self.tokens) if not token.concepts]
        if not places:
            return ""
        first = places[0]
        last = places[-1]
        if any(map(_is_core, self.tokens[first : last + 1])):
            return None
        first = self._find_subject_start(first)
        subject = self.text[self.tokens[first].start : self.tokens[last].end]
        is_long = (
            len(places) > _SUBJECT_WORDS
            if self.language.is_spaced
            else len(subject) > _SUBJECT_LETTERS
        )
        opens = self.language.is_spaced and not any(
            _is_core(token)
            or "erase" in token.concepts
            or " " in self.text[token.start : token.end]
            for token in self.tokens[:first]
        )
        return None if is_long or opens else subject

    def _find_subject_start(self, first: int) -> int:
        """Find where the words begin that belong to the subject, from its first unknown word on.

        Without spaces, a part of a name may look like a word: all that follows "about" belongs to it.
        """
        start = first
        while not self.language.is_spaced and start and self.tokens[start - 1].concepts & _LOOSE:
            start -= 1
        if start and "about" in self.tokens[start - 1].concepts and not self.language.is_spaced:
            return start
        has_owner = first > 0 and bool(self.tokens[first - 1].concepts & {"det", "self"})
        return first - 1 if has_owner else first

    def _find_forgetting(self, concepts: set[str], subject: str) -> ConceptRequest | None:
        is_asked = "is" in concepts and "may" not in concepts
        if concepts & {"not", "count"} or is_asked or self._tells_of_oneself():
            return None
        if self.tokens[0].concepts & ({"ask", "this"} if subject else {"ask"}):
            return None
        names_memory = bool(concepts & _CONTENTS)
        if subject:
            names_talk = "passage" in concepts or concepts >= {"this", "about"}
            names_talk = names_talk and len(subject.split()) <= _PASSAGE_WORDS
            if not (names_memory or names_talk or "drop" in concepts):
                return None
            return ConceptRequest("forget", self.language.code, subject, is_certain=names_memory)
        if not (names_memory or "drop" in concepts):
            return None
        if "this" in concepts:
            return ConceptRequest("forget_last", self.language.code)
        if names_memory:
            return ConceptRequest("forget_all", self.language.code)
        return None

    def _tells_of_oneself(self) -> bool:
        """True for "我忘了…", where the writer is who forgets."""
        return not self.language.is_spaced and any(
            former.concepts & {"self", "det"} and later.concepts & {"drop", "erase"}
            for former, later in pairwise(self.tokens)
        )

    def _find_switch(self, concepts: set[str]) -> str:
        """Find whether recall is asked about, or to be switched, or what is known of oneself."""
        if not concepts & (_CONTENTS | {"layer"}):
            return ""
        if concepts >= {"extent", "self"} and concepts & {"known", "held"}:
            return "list"
        if "count" in concepts:
            return "status"
        if "memory" in concepts and "state" in concepts:
            return "status"
        is_asking = "is" in concepts or self.text.endswith(("?", "？"))
        if "memory" in concepts and concepts & {"on", "off"} and is_asking:
            return "status"
        if is_asking or not concepts & {"memory", "known", "held"}:
            return ""
        ends = concepts & {"not", "stop"}
        if "off" in concepts or (ends and "use" in concepts):
            return "recall_off"
        if ends:
            return "recall_off" if "stop" in concepts and "memory" in concepts else ""
        return "recall_on" if concepts & {"on", "use"} and "memory" in concepts else ""

    def _find_list(self, concepts: set[str], subject: str) -> ConceptRequest | None:
        if concepts & {"not", "stop", "use", "none"} or not self._asks(concepts):
            return None
        code = self.language.code
        layers = [token for token in self.tokens if token.layer_name]
        if layers and not subject:
            word = self.text[layers[0].layer_start : layers[0].end]
            return ConceptRequest("list", code, word, layer_name=layers[0].layer_name)
        if concepts >= {"memory", "state"}:
            return None if subject else ConceptRequest("status", code)
        if subject:
            is_told = "about" in concepts or not self.language.is_spaced
            if not is_told or not concepts & {"memory", "known", "held"}:
                return None
            is_known = not concepts & {"memory", "held"}
            return ConceptRequest("list", code, subject, is_known=is_known)
        if concepts & {"memory", "known", "held"} or concepts >= {"stored", "self"}:
            return ConceptRequest("list", code)
        return None


@cache
def _read_languages() -> tuple[_ConceptLanguage, ...]:
    """Read the table, once a process."""
    rows: dict[str, list[tuple[str, str]]] = {}
    for line in read_vocabulary(__file__, "request_concepts").splitlines():
        if line and not line.startswith("#"):
            code, concept, pattern = line.split("\t")
            rows.setdefault(code, []).append((concept, strip_accents(pattern)))
    return tuple(_build_language(code, entries) for code, entries in rows.items())


def _build_language(code: str, entries: list[tuple[str, str]]) -> _ConceptLanguage:
    is_spaced = code not in UNSPACED_LANGUAGES
    start = r"(?<!\w)" if is_spaced else ""
    end = r"(?:(?!\w)|(?<='))" if is_spaced else ""
    patterns = tuple(
        (concept, late_pattern(f"{start}(?:{pattern}){end}", re.IGNORECASE))
        for concept, pattern in entries
        if concept != "stems"
    )
    negating = "|".join(pattern for concept, pattern in entries if concept in _NEGATIONS)
    return _ConceptLanguage(
        code,
        tuple(strip_accents(dict(entries)["stems"]).lower().split()),
        patterns,
        late_pattern(f"{start}(?:{negating}){end}"),
    )
