"""Values that a statement rejects beside the one that it sets: "tabs, not spaces".

Enter at ``split_rejected``. Pure; English, German, French, Spanish, Chinese, Japanese.
"""

from __future__ import annotations

import re

_REJECTED = re.compile(
    r"[\s,;]*\b(?:not|instead of|rather than|nicht|statt|anstatt|en vez de|en lugar de|et non|au lieu de|pas en)\b(?P<spaced>.*)"
    # Behind "never" stands a value where it ends the statement, and else an act.
    r"|,(?: (?:and|und|y|et))? (?:never|nie|niemals|nunca|jamais) (?P<never>(?:(?:in|with|on|by|mit|en|con) )?[\w@./+-]+)\W*$"
    r"|[，、]?(?:而不是|不要用|ではなく)(?P<unspaced>.*)",
    re.IGNORECASE | re.DOTALL,
)


def split_rejected(text: str) -> tuple[str, str]:
    """Split a statement into what it sets and the value that it rejects behind that; "" for none.

    "Answer in German, not French" is "Answer in German" and "French".
    """
    rejected = _REJECTED.search(text)
    if rejected is None:
        return text, ""
    value = rejected["spaced"] or rejected["never"] or rejected["unspaced"] or ""
    return text[: rejected.start()], value
