"""Sentences of a project that tell what was chosen: "Zustand it is", "wir nehmen Postgres".

Enter at ``tells_decision``.
"""

from __future__ import annotations

import re
from functools import cache

from engrams.extract.rules.conventions import is_technical, tells_status
from engrams.text.vocabulary import read_forms

_GERMAN = "de"
_LEAD = (
    r"\W*(?:(?:ok|okay|alright|right|fine|good|great|agreed|so|then|also|and|yes|yep|cool|gut|ja|dann|also|entonces|vale|pues"
    r"|bueno|sí|alors|bon|oui|d'accord|好|好的|じゃあ|では)\b[\s,.:!，、]*)*"
)
_RETURN = re.compile(r"(?<!for )(?<!right )\b(?:again|now)\b", re.IGNORECASE)
_IDIOM = re.compile(
    r"\b(?:on|to) (?:track|schedule|time|course|it|them|work|normal|square one|the team)\b|\bit's (?:ok|okay|fine|time|late|enough)\b",
    re.IGNORECASE,
)
"""Words that choose nothing: "stop using mocks, we are back on track"."""
_NAME = re.compile(r"(?<![\w-])[A-Z]")
_CODE = re.compile(r"[\d@/+#._]|[a-z][A-Z]")
"""Characters of a word of code: "tRPC", "next.js"."""


def tells_decision(sentence: str) -> bool:
    """True for a sentence that tells which tool or way was chosen.

    What was chosen is a name or a word of code: "the other file it is" is about the moment. Where
    the sentence names what is used no longer besides, any word may be a name.
    """
    text = " ".join(sentence.replace("’", "'").split()).rstrip(" .!。！")
    if "?" in text or "？" in text:
        return False
    if not tells_status(_RETURN.sub("", text)) and any(
        form.fullmatch(text) and not _IDIOM.search(text) for _, form in _compile_forms("switch")
    ):
        return True
    if tells_status(text):
        return False
    for language, form in _compile_forms("form"):
        match = form.fullmatch(text)
        if match is not None:
            choice = match["thing"]
            # German writes all nouns as it writes names.
            is_name = language != _GERMAN and _NAME.search(choice) is not None
            return is_name or _CODE.search(choice) is not None or is_technical(choice)
    return False


@cache
def _compile_forms(form_kind: str) -> tuple[tuple[str, re.Pattern[str]], ...]:
    return tuple(
        (language, re.compile(f"{_LEAD}{pattern}", re.IGNORECASE))
        for language, lines in read_forms(__file__, "decisions").items()
        for kind, pattern in lines
        if kind == form_kind
    )
