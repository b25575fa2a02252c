"""Prompts, one Markdown file each.

The hash of a prompt is stored with what it produced.
"""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import field
from functools import cache
from importlib import resources

from engrams.errors import InputError
from engrams.frozen_data import dataclass
from engrams.text.invisible import drop_invisible

_PLACE = re.compile(r"\{\{(\w+)\}\}")
_NAME = re.compile(r"[a-z][a-z0-9-]{0,40}")

_ESCAPED = {ord(char): f"\\u{ord(char):04x}" for char in "<>\x7f\x85\u2028\u2029"}


@dataclass(frozen=True, slots=True)
class PromptTemplate:
    """A prompt with ``{{name}}`` placeholders."""

    name: str
    text: str
    hash: str = field(default="")
    """16 hex digits: equal texts have equal hashes."""

    def render(self, **values: str) -> str:
        """Fill every placeholder in one pass.

        Placeholders inside a value stay as they are. InputError: the names given are not exactly
        the placeholders' names.
        """
        wanted = set(_PLACE.findall(self.text))
        if wanted != set(values):
            raise InputError(
                f"The prompt {self.name!r} takes {', '.join(sorted(wanted)) or 'nothing'}, not"
                f" {', '.join(sorted(values)) or 'nothing'}."
            )
        return _PLACE.sub(lambda match: values[match[1]], self.text)


@cache
def load(name: str) -> PromptTemplate:
    """Load the prompt ``prompts/<name>.md``.

    InputError: there is none of that name.
    """
    file = resources.files("engrams.prompts") / f"{name}.md" if _NAME.fullmatch(name) else None
    if file is None or not file.is_file():
        raise InputError(f"There is no prompt {name!r}.")
    text = file.read_text("utf-8").strip()
    return PromptTemplate(name, text, hashlib.blake2b(text.encode(), digest_size=8).hexdigest())


def quote(text: str) -> str:
    """Fence a text as data inside a prompt.

    One line in double quotes, which nothing in the text can end, without angle brackets that could
    pass for markup, and without invisible characters.
    """
    return json.dumps(drop_invisible(text), ensure_ascii=False).translate(_ESCAPED)
