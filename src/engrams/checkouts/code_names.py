"""Names of files and symbols in a sentence, as people and agents write them.

``split_sentences`` and ``read_names`` are the way in. Whether a checkout has what is named is told
elsewhere.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

_SENTENCE = re.compile(r"[^\n]*?(?:[.!?;](?=\s)|\n|$)")
_SPAN = re.compile(r"`+([^`\n]{1,200})`+")
_PATH = re.compile(
    r"(?<![\w@/.:~-])(?:\./)?((?:[\w@.\-\[\]+]+/)+[\w@.\-\[\]+]*[\w\]/+]|[\w\-]+(?:\.[\w\-]+)*\.[A-Za-z]\w{0,9}"
    r"|Makefile|Dockerfile|Justfile|Procfile)(?::\d+)?(?![\w/])"
)
_ABSOLUTE = re.compile(r"(?<![\w:/.])(/(?:[\w@.\-+]+/)+[\w@.\-+]*\w)")
_URL = re.compile(r"\w+://\S+")
_IDENTIFIER = r"[A-Za-z_$][\w$]*"
_DOTTED = rf"{_IDENTIFIER}(?:(?:\.|::|#){_IDENTIFIER})*"
_CALL = re.compile(rf"(?<![\w$.])({_DOTTED})\(\)")
_MARKED = re.compile(rf"(?<![\w$./\-])({_DOTTED})(?![\w$(/]|\.\w|-\w)")
_NAMED = re.compile(
    rf"\b(?:function|method|class|constant|variable|script|command|target|type|interface|struct|enum|hook|component"
    rf"|field|key|setting|option|attribute|property|decorator|helper|fixture)\s+(?:called\s+|named\s+)?[\"']?({_DOTTED})\b",
    re.IGNORECASE,
)
_SPAN_SYMBOL = re.compile(rf"({_DOTTED})(?:\(.*\))?|[\w:.\-@/]+")
_ASSIGNMENT = re.compile(rf"({_DOTTED})\s*(?:=|:)\s*(.+)")
_PLAIN_WORD = re.compile(rf"(?<![\w$./\-])({_IDENTIFIER})(?![\w$/]|\.\w|-\w)")
_ARGUMENT_CUE = re.compile(
    r"\b(?:arguments?|parameters?|params?|args?|kwargs?|takes?|accepts?|options?|flags?|expects?|receives?)\b",
    re.IGNORECASE,
)
_VALUE = re.compile(r"[\"'“”]([^\"'“”\n]{1,200})[\"'“”]|[\w$][\w$.\-/:@^~*+]*")
_OPENING_REQUEST = re.compile(
    r"\W*(?:ok\W+|so\W+|and\W+|now\W+|then\W+|please\W+|also\W+)*"
    r"(?:rename|remove|delete|drop|replace|migrate|move|rewrite|refactor|extract|split|add|implement|create|write|change"
    r"|introduce|convert|make|let's|please|can you|could you|try|fix|update)\b",
    re.IGNORECASE,
)
_REQUEST = re.compile(
    r"\b(?:never|don't|do not|must not|mustn't|shouldn't|should|avoid|instead of|let's|please|todo|fixme|planned|will be"
    r"|would|going to|wants? to|need to|needs to|could)\b",
    re.IGNORECASE,
)
_SHORT_ACRONYM = 3
"""Letters up to which a word in capitals is an acronym, as API is."""


@dataclass(frozen=True, slots=True)
class CodeNames:
    """Names in one sentence."""

    paths: tuple[str, ...]
    symbols: tuple[str, ...]
    """Names that are surely meant as code: in code spans, called, or in snake or camel case."""
    plain_words: tuple[str, ...]
    """All words that may name something where the file is known."""
    values: frozenset[str]
    """Words and quoted texts, to be compared with values."""
    names_argument: bool
    """True if the sentence speaks of arguments, so that a plain word may be one."""
    is_claim: bool
    """False: it asks for a change or forbids something."""

    @property
    def is_empty(self) -> bool:
        """True if nothing is named."""
        return not self.paths and not self.symbols


def split_sentences(text: str) -> Iterator[str]:
    """Split a text into sentences; points in names end none."""
    for match in _SENTENCE.finditer(text):
        if match[0].strip():
            yield match[0].strip()


def read_names(sentence: str) -> CodeNames:
    """Read the names of a sentence."""
    without_urls = _URL.sub(" ", sentence)
    spans = [span.strip() for span in _SPAN.findall(without_urls)]
    bare = without_urls.replace("`", " ")
    paths = dict.fromkeys(
        [*_ABSOLUTE.findall(bare), *(_trim_path(path) for path in _PATH.findall(bare))]
    )
    outside_paths = _PATH.sub(" ", _ABSOLUTE.sub(" ", bare))
    symbols: dict[str, None] = {}
    for span in spans:
        if (assignment := _ASSIGNMENT.fullmatch(span)) is not None:
            symbols[_normalise(assignment[1])] = None
        elif (match := _SPAN_SYMBOL.fullmatch(span)) is not None and span not in paths:
            symbols[_normalise(match[1] or span)] = None
        elif " " in span:
            # A command: its last words may name a script.
            symbols.update(dict.fromkeys(_MARKED.findall(span)[1:]))
    symbols.update((_normalise(name), None) for name in _CALL.findall(outside_paths))
    symbols.update((_normalise(name), None) for name in _NAMED.findall(outside_paths))
    symbols.update(
        (_normalise(name), None)
        for name in _MARKED.findall(outside_paths)
        if _looks_like_code(name)
    )
    values = {quoted or whole.strip("\"'") for quoted, whole in _iter_values(without_urls)}
    values.update(spans)
    return CodeNames(
        paths=tuple(path for path in paths if path),
        symbols=tuple(name for name in symbols if name),
        plain_words=tuple(dict.fromkeys(_PLAIN_WORD.findall(outside_paths))),
        values=frozenset(values),
        names_argument=_ARGUMENT_CUE.search(sentence) is not None,
        is_claim=_states_something(_SPAN.sub("`x`", without_urls)),
    )


def _iter_values(text: str) -> Iterator[tuple[str, str]]:
    for match in _VALUE.finditer(text):
        yield match[1] or "", match[0].rstrip(".,:;")


def _states_something(sentence: str) -> bool:
    """True for a sentence that says what the code is like, not what it should be like."""
    return _OPENING_REQUEST.match(sentence) is None and _REQUEST.search(sentence) is None


def _normalise(name: str) -> str:
    return name.replace("::", ".").replace("#", ".").removeprefix("self.").removeprefix("this.")


def _trim_path(path: str) -> str:
    return path.removeprefix("./").rstrip(".,")


def _looks_like_code(name: str) -> bool:
    """True for snake case, camel case and constants, which no prose has."""
    last = name.replace("::", ".").split(".")[-1]
    if "_" in last.strip("_") or "$" in last:
        return True
    if last.isupper():
        return len(last) > _SHORT_ACRONYM and "." in name
    has_inner_capital = any(char.isupper() for char in last[1:])
    return has_inner_capital and any(char.islower() for char in last)
