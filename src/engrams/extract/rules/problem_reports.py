"""Reports of a problem that somebody is sent to look at: "tiles come back empty, check tiles.py".

What such a sentence tells is to change, so it is no rule and no lasting fact of a project. Enter at
``reports_problem``.
"""

from __future__ import annotations

import re

from engrams.text.late_patterns import late_pattern
from engrams.text.vocabulary import read_forms

_LONGEST = 400
_CLAUSE_END = re.compile(r"[,;:]\s+|\s[-–—]\s|\s(?=(?:please|pls|can you|could you|bitte) )")
_CJK_LOOK = late_pattern(
    r"[，,。、\s](?:请|請|你|麻烦)?(?:看一下|看看|查一下|检查|檢查|修一下|修复|修復)|(?:見て|確認して|調べて|直して|みて)(?:ください|下さい|くれ|ほしい|ね)?[。.!]?$"
)
_CJK_NORM = late_pattern("总是|從不|从不|必须|必須|只能|不要|常に|必ず|決して|しないで|こと[。.]?$")


def _compile_looks(lines: dict[str, str]) -> tuple[re.Pattern[str], ...]:
    opening = rf"(?:{lines['$asks']}\W+)*"
    flags = re.IGNORECASE
    return (
        late_pattern(rf"{opening}{lines['look']}", flags),
        late_pattern(rf"{opening}{lines['see']}", flags),
        late_pattern(lines["$defect"], flags),
        late_pattern(lines["$norm"], flags),
    )


_FORMS = tuple(
    _compile_looks(dict(lines)) for lines in read_forms(__file__, "problem_reports").values()
)


def reports_problem(sentence: str, *, needs_defect: bool = False) -> bool:
    """True for a sentence that tells what is wrong, and ends with the request to look at it.

    ``needs_defect``: only if its words say that something does not work. Without that "the API is on
    port 8080, check why it hangs" would be one, too.
    """
    if len(sentence) > _LONGEST:
        return False
    if not sentence.isascii() and _CJK_LOOK.search(sentence):
        return not needs_defect and _CJK_NORM.search(sentence) is None
    return any(
        _sends_to_look(sentence[: end.start()], sentence[end.end() :].strip(), needs_defect)
        for end in _CLAUSE_END.finditer(sentence)
    )


def _sends_to_look(report: str, request: str, needs_defect: bool) -> bool:
    """True if a clause sends to look at what the words before it tell."""
    for look, see, defect, norm in _FORMS:
        is_look = look.match(request) is not None
        if is_look or see.match(request):
            has_defect = defect.search(report) is not None
            return norm.search(report) is None and (has_defect or (is_look and not needs_defect))
    return False
