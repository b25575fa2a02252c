"""A value that a newer message says took the place of another.

"ESLint was replaced by Biome" ends what was said of ESLint. It says once more that Biome is used,
and so casts no doubt on "we use Biome for linting". Enter at ``introduces_known_value``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from collections.abc import Set as AbstractSet
from functools import cache
from typing import NamedTuple

from engrams.text.normalize import fold
from engrams.text.said_again import denies
from engrams.text.stopwords import STOP
from engrams.text.terms import terms
from engrams.text.text_caches import text_cache
from engrams.text.vocabulary import read_vocabulary

_LONGEST = 300
"""Characters of a clause that is read: a longer one tells more than what replaced what."""
_WORDS = r"[^,;!?。，；！？\n]"
_WORDS_BEFORE = re.compile(rf"{_WORDS}{{0,60}}$")
_CHINESE_ENDINGS = "了啦吧呢 "
"""Particles behind a value, which are no part of it."""
_PASSIVE = re.compile(r"\b(?:was|were|been|got|is|are|be|being|gets?)\s*$")
"""Behind these words stands what is replaced, not what replaces it: "Slack was replaced"."""


class _Replacement(NamedTuple):
    """Search terms of one reading of a clause that names what took the place of something."""

    old: frozenset[str]
    """Of what was replaced; empty: it is not named."""
    new: frozenset[str]
    """Of what took its place; at least one."""


class _Form(NamedTuple):
    """Words by which a clause says what took the place of something."""

    leading: str
    """Name of the value that stands before the words: ``old`` or ``new``; empty: nothing that counts."""
    pattern: re.Pattern[str]
    """The words, with the groups ``old`` and ``new`` but for the one that stands before them."""


def introduces_known_value(ending: str, news: str, old_text: str = "") -> bool:
    """True if a newer clause only names as new what the older message already says.

    ``ending``: the older clause. It names nothing of what was replaced, and denies nothing.
    ``old_text``: the whole message; empty: the clause is all of it.
    """
    if max(len(ending), len(news)) > _LONGEST:
        return False
    replacements = _list_replacements(news)
    if not replacements or denies(ending):
        return False
    told_terms = set(terms(ending))
    message_terms = told_terms.union(terms(old_text[:_LONGEST]))
    return any(
        replacement.new <= message_terms
        and not told_terms.isdisjoint(replacement.new)
        and not _names_all(told_terms, replacement.old)
        for replacement in replacements
    )


def _names_all(told_terms: AbstractSet[str], old: AbstractSet[str]) -> bool:
    """True if a clause names what was replaced; the kind of thing that both are is no name of it."""
    return bool(old) and old <= told_terms


@text_cache(1 << 12)
def _list_replacements(news: str) -> tuple[_Replacement, ...]:
    """List what took the place of what, in each reading of a clause.

    Cached: a message is compared with many.
    """
    readings = (
        _Replacement(_list_told_terms(old), _list_told_terms(new))
        for old, new in _find_forms(fold(news))
    )
    return tuple(
        _Replacement(reading.old - reading.new, reading.new) for reading in readings if reading.new
    )


def _find_forms(folded: str) -> Iterator[tuple[str, str]]:
    """Yield the words for what was replaced and for what took its place."""
    for form in _compile_forms():
        for match in form.pattern.finditer(folded):
            values = match.groupdict()
            leading_match = _WORDS_BEFORE.search(folded[: match.start()])
            words_before = leading_match[0] if leading_match else ""
            if form.leading == "old":
                yield words_before, values["new"]
            elif form.leading == "new":
                yield values.get("old", ""), _find_last_word(words_before)
            else:
                yield values.get("old", ""), values["new"]


def _find_last_word(words: str) -> str:
    """Find the last word that names a value; empty: there is none, or it is what was replaced.

    "Mostly we use Jitsi instead of Zoom" introduces Jitsi.
    """
    if _PASSIVE.search(words):
        return ""
    return next((word for word in reversed(words.split()) if _list_told_terms(word)), "")


def _list_told_terms(words: str) -> frozenset[str]:
    return frozenset(terms(words.rstrip(_CHINESE_ENDINGS))) - _list_idle_terms()


@cache
def _list_idle_terms() -> frozenset[str]:
    """List the terms that name no value. A day, a month and a number are values."""
    return STOP | frozenset(terms(read_vocabulary(__file__, "no_value")))


@cache
def _compile_forms() -> tuple[_Form, ...]:
    lines = read_vocabulary(__file__, "new_value").splitlines()
    return tuple(map(_compile_form, filter(None, lines)))


def _compile_form(line: str) -> _Form:
    """Compile a line of the table; a value at its end reaches to the end of the clause."""
    leading = next((name for name in ("old", "new") if line.startswith(f"{{{name}}}")), "")
    pattern = line.removeprefix(f"{{{leading}}}").strip()
    for name in ("old", "new"):
        reach = "" if pattern.endswith(f"{{{name}}}") else "?"
        pattern = pattern.replace(f"{{{name}}}", rf"(?P<{name}>{_WORDS}{{1,60}}{reach})")
    return _Form(leading, re.compile(rf"\b{pattern}" if line.isascii() else pattern))
