"""Tell whether a time is over or still to come, in languages other than English.

Each language has patterns for what is done, what is planned for a day, what is to come, and the
present tense. They are read on the words as they stand, in lower case and with their accents.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Literal, TypeAlias

from engrams.extract.rules.languages.language_table import load_language

Outlook: TypeAlias = Literal["over", "coming", "planned", "present", "unclear", "open"]
"""``over`` was told as done, ``coming`` is said to come. ``planned`` tells of a plan that may be
made or carried out on the day ("I booked it on 3 May"), ``present`` is the present tense,
``unclear`` words that fit both ("I put it off", "he said it was on Friday"); ``open`` where nothing
tells.
"""

_PART = re.compile(r"[,;:，、；()]|\s(?:aber|und\s+ich|und\s+wir|pero|y\s+luego|mais|et\s+puis)\s")


def find_foreign_outlook(before: str, after: str, language: str) -> Outlook:
    """Find the outlook of a time from what its sentence says before and after it."""
    table = load_language(language)
    if table is None:
        return "open"
    before = before.lower()
    after = after.lower()
    if table.outlook["governs"].search(f"{before}\x1f{after}"):
        return "coming"
    first = max((match.end() for match in _PART.finditer(before)), default=0)
    cut = _PART.search(after)
    last = cut.start() if cut else len(after)
    outlook = _read_part(table.outlook, f"{before[first:]}\x1f{after[:last]}")
    if outlook == "open" and (first or cut):
        outlook = _read_part(table.outlook, f"{before}\x1f{after}")
    return outlook


def _read_part(signs: Mapping[str, re.Pattern[str]], part: str) -> Outlook:
    over = signs["over"].search(part)
    coming = signs["coming"].search(part)
    if over and coming:
        return "planned"
    if over:
        return "over"
    if coming:
        return "coming"
    return "present" if signs["present"].search(part) else "open"
