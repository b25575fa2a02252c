"""Conventions that developers and others tell an assistant without "always" or "never".

"Use pnpm, not npm", "no emojis please", "all money is integer cents, never floats". Enter at
``find_convention``. A request for this turn ("use the other file") is none: a convention names no
"this", has no question, and is short.
"""

from __future__ import annotations

import re

from engrams.core import Kind

_LONGEST = 160
_POINTS = re.compile(
    r"\b(?:this|that|these|those|it|here|above|below|now|today|again|previous|following|you|your)\b",
    re.IGNORECASE,
)
_PHRASE = r"(?!the\b|an?\b|my\b|our\b)[\w`][\w`./+#*@-]*"
_LANGUAGE = (
    r"english|german|spanish|french|chinese|japanese|italian|portuguese|dutch|polish|deutsch|español"
    r"|français"
)
_RULES = tuple(
    re.compile(rf"\W*(?:please |pls |and |also |so |ok,? )*{pattern}[\s.!]*", re.IGNORECASE)
    for pattern in (
        rf"use {_PHRASE}(?: {_PHRASE}){{0,3}},? (?:and )?(?:not|never|instead of|rather than|over) [^,;]{{2,60}}",
        rf"use {_PHRASE}(?: {_PHRASE}){{0,2}}",
        rf"use {_PHRASE}(?: {_PHRASE}){{0,3}} (?:for|in|when|everywhere) [^,;]{{2,60}}",
        r"keep (?:all |your |the )?(?:answers?|replies|responses?|commits?|commit messages|messages|functions|files|prs?|explanations?)"
        r" [^,;]{3,60}",
        rf"(?:answer|reply|respond|write|speak|talk)(?: to me| back)? in (?:{_LANGUAGE})(?: only)?",
        r"(?:all|every|each) [^,;]{2,60} (?:is|are|must|should|have to|has to|goes?|uses?|gets?|needs?) [^;]{2,80}"
        r"(?<!\?)",
        r"only (?:deploy|merge|commit|push|release|use|call|import|write)\b[^;]{2,80}",
        r"(?:from now on|from here on|going forward|ab jetzt|a partir de ahora|désormais),? [^;]{6,120}",
        r"(?:commit messages?|branch(?:es| names?)|tests?|migrations?|deploys?|deployments?|releases?|prs?|pull requests?)"
        r" (?:only |always |must |should |never )[^;]{3,80}",
        r"prefer [^,;]{2,60} (?:over|to) [^,;]{2,60}",
    )
)
_BANS = tuple(
    re.compile(rf"\W*(?:please |pls |and |also |so |ok,? )*{pattern}[\s.!]*", re.IGNORECASE)
    for pattern in (
        r"(?:don't|dont|do not|never) [\w`][^;]{2,100}\b(?:without|unless|before|instead|outside|except)\b[^;]{2,60}",
        r"(?:don't|dont|do not) (?:ever )?use [^;]{2,100}",
        r"(?:never|don't ever|do not ever) (?!mind|forget|worry|give up)[\w`][^;]{2,120}",
        r"no (?!worr|problem|thanks?|idea|way|need|rush|pets|kids|plans|news|one|more)[\w`-]+(?: [\w`-]+){0,2}s(?: please| pls)?",
        r"no (?!worr|problem|thanks?|idea|way|need|rush)[\w`-]+(?: [\w`-]+){0,3} (?:please|pls)",
    )
)


def find_convention(piece: str) -> Kind | None:
    """Return the kind of a convention, a rule or a ban; None for other sentences.

    ``piece``: the sentence without what leads to it, code included.
    """
    text = " ".join(piece.split()).replace("’", "'")
    if not 6 < len(text) <= _LONGEST or "?" in text:
        return None
    if any(pattern.fullmatch(text) for pattern in _BANS):
        return (
            None if _POINTS.search(text) and not text.lower().startswith("never") else Kind.NEGATIVE
        )
    if any(pattern.fullmatch(text) for pattern in _RULES):
        return None if _is_passing(text) else Kind.RULE
    return None


def _is_passing(text: str) -> bool:
    opens_future = text.lower().startswith(("from now on", "from here on", "going forward"))
    return not opens_future and _POINTS.search(text) is not None
