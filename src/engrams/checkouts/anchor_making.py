"""Making of anchors: what a text names, as far as the checkout has it at this moment."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from engrams.checkouts.code_names import CodeNames, read_names, split_sentences
from engrams.checkouts.file_outlines import Definition, FileOutline
from engrams.checkouts.source_trees import ID_DIGITS, SourceTree
from engrams.core.code_anchors import CodeAnchor

_MAX_ANCHORS = 12
"""Anchors of one memory."""
_MAX_TEXT = 20_000
"""Characters of a text that are read."""
_MAX_DEFINING_FILES = 4
"""Files that may define a symbol of which no file is named; of more, it says nothing."""
_MAX_CONSTANT = 120
"""Characters of a value that a sentence may state."""
_MAX_SEARCHED = 5_000
"""Files that are searched for a symbol."""
_TOKEN = re.compile(r"[\w$][\w$.\-/:@^~*+]*")
_SECRET = re.compile(r"pass|pwd|secret|token|key|credential|auth", re.IGNORECASE)
"""Names of constants whose values are not copied."""
_QUOTES = "\"'`"
_UNSEARCHED = ".lock .map .svg .csv .min.js .min.css .snap .png .jpg .gif .ico .woff .woff2 .pdf .zip .gz".split()
_PROSE = tuple(".md .rst .txt .adoc .html".split())


@dataclass(slots=True)
class AnchorMaker:
    """Maker of the anchors of one text."""

    tree: SourceTree
    seconds: float
    """Time for searching files for symbols; afterwards only named files are looked at."""
    _anchors: dict[CodeAnchor, None] = field(default_factory=dict)
    _details: set[str] = field(default_factory=set)
    """Arguments and values of the sentence at hand, which need no anchor of their own."""
    _begun: float = field(default_factory=time.monotonic)

    def make(self, text: str) -> tuple[CodeAnchor, ...]:
        """Make the anchors of a text, those of its claims first."""
        last_path = ""
        for sentence in split_sentences(text[:_MAX_TEXT]):
            names = read_names(sentence)
            if names.is_empty:
                continue
            paths = [path for path in map(self._locate, names.paths) if path]
            # "It" of the next sentence is in the file of this one.
            last_path = paths[-1] if paths else last_path
            self._anchor_sentence(names, paths)
            if len(self._anchors) >= _MAX_ANCHORS:
                break
        anchors = sorted(self._anchors, key=lambda anchor: not anchor.is_claim)
        return tuple(anchors[:_MAX_ANCHORS])

    def _anchor_sentence(self, names: CodeNames, paths: Sequence[str]) -> None:
        anchored_paths = set()
        self._details = set()
        before = len(self._anchors)
        for symbol in names.symbols:
            for path in paths:
                outline = self.tree.outline(path)
                if outline is not None and self._anchor_symbol(symbol, path, outline, names, ()):
                    anchored_paths.add(path)
            if not paths:
                self._anchor_anywhere(symbol, names)
        for path in paths:
            if path in anchored_paths:
                continue
            outline = self.tree.outline(path)
            if outline is None or not self._anchor_plain_words(path, outline, names):
                blob = outline.blob[:ID_DIGITS] if outline else ""
                self._add(CodeAnchor(path, "file", blob=blob, is_claim=names.is_claim))
        for anchor in list(self._anchors)[before:]:
            if anchor.symbol in self._details:
                del self._anchors[anchor]

    def _anchor_plain_words(self, path: str, outline: FileOutline, names: CodeNames) -> bool:
        """Anchor a word that a named file defines though it looks like prose.

        Only beside its value or an argument of it: "the timeout in src/pay.py is 30".
        """
        is_anchored = False
        for word in names.plain_words:
            for definition in outline.find(word):
                states_value = bool(_find_stated_value(definition, names))
                if states_value and self._anchor_symbol(word, path, outline, names, ()):
                    is_anchored = True
        return is_anchored

    def _anchor_symbol(
        self,
        symbol: str,
        path: str,
        outline: FileOutline,
        names: CodeNames,
        more_paths: tuple[str, ...],
    ) -> bool:
        """Anchor a symbol to a file that defines or mentions it."""
        if not names.is_claim:
            # A request is not wrong once the code differs; its file may still be told of.
            return False
        blob = outline.blob[:ID_DIGITS]
        definitions = outline.find(symbol)
        if not definitions:
            if outline.mentions(symbol):
                self._add(CodeAnchor(path, "mentions", symbol, blob=blob))
                return True
            return False
        arguments = self._list_arguments(definitions, symbol, names)
        self._details.update(arguments)
        for argument in arguments:
            self._add(CodeAnchor(path, "argument", symbol, argument, blob, more_paths))
        value = next(filter(None, (_find_stated_value(item, names) for item in definitions)), "")
        if value:
            self._details.add(value)
            self._add(CodeAnchor(path, "value", symbol, value, blob, more_paths))
        if not arguments and not value:
            self._add(CodeAnchor(path, "defines", symbol, "", blob, more_paths))
        return True

    def _list_arguments(
        self, definitions: Sequence[Definition], symbol: str, names: CodeNames
    ) -> list[str]:
        """List the words of a sentence that are arguments of a symbol."""
        words = names.plain_words if names.names_argument else names.symbols
        own_name = symbol.rsplit(".", 1)[-1]
        return [
            word
            for word in words
            if word not in (symbol, own_name, "self", "this", "a", "the", "in", "of", "as")
            and any(word in (definition.arguments or ()) for definition in definitions)
        ]

    def _anchor_anywhere(self, symbol: str, names: CodeNames) -> None:
        """Anchor a symbol of which no file is named to the few files that define it."""
        if not names.is_claim:
            return
        defining = list(self.find_defining(symbol))
        if not 0 < len(defining) <= _MAX_DEFINING_FILES:
            return
        paths = [path for path, _ in defining]
        for path, outline in defining:
            self._anchor_symbol(symbol, path, outline, names, tuple(paths[1:]))
            break

    def find_defining(self, symbol: str) -> Iterator[tuple[str, FileOutline]]:
        """Find files that define a symbol, while there is time."""
        bare_name = symbol.rsplit(".", 1)[-1]
        word = bare_name.encode()
        if len(bare_name) <= 1:
            return
        for count, path in enumerate(self.tree.list_files()):
            if count >= _MAX_SEARCHED or time.monotonic() - self._begun > self.seconds:
                return
            if path.endswith((*_UNSEARCHED, *_PROSE)) or word not in self.tree.read_bytes(path):
                continue
            outline = self.tree.outline(path)
            if outline is not None and outline.find(symbol):
                yield path, outline

    def _locate(self, path: str) -> str:
        """Find the path of an existing file or folder; empty for none, or one outside."""
        root = getattr(self.tree, "root", None)
        if path.startswith("/"):
            if root is None or not path.startswith(f"{root}/"):
                return ""
            path = path.removeprefix(f"{root}/")
        path = path.rstrip("/")
        if self.tree.has(path):
            return path
        # The name or the end of a path is enough where one file alone has it.
        matching = [name for name in self.tree.list_files() if name.endswith(f"/{path}")]
        return matching[0] if len(matching) == 1 else ""

    def _add(self, anchor: CodeAnchor) -> None:
        self._anchors[anchor] = None


def _find_stated_value(definition: Definition, names: CodeNames) -> str:
    """Return the value of a constant if a sentence states it; empty if it states another, or none."""
    value = definition.value
    if not value or len(value) > _MAX_CONSTANT or _SECRET.search(definition.bare_name):
        return ""
    plain = strip_quotes(value)
    if plain == definition.bare_name:
        # An object that exports its functions: `endsWith: endsWith`.
        return ""
    if plain in names.values or value in names.values:
        return plain
    tokens = _TOKEN.findall(plain)
    if 1 < len(tokens) <= 4 and all(token in names.values for token in tokens):
        return plain
    return ""


def strip_quotes(value: str) -> str:
    """Return a value without the quotes around it and what ends its line."""
    trimmed = (
        value.split(" #", maxsplit=1)[0].split(" //", maxsplit=1)[0].strip().rstrip(",;").strip()
    )
    if len(trimmed) > 1 and trimmed[0] in _QUOTES and trimmed[-1] == trimmed[0]:
        return trimmed[1:-1]
    return trimmed
