"""Signals that a message corrects or confirms the assistant.

A queue of extraction that is full still takes such messages: see ``ExtractionQueue``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

CORRECTION = "correction"
REINFORCEMENT = "reinforcement"

_READ_CHARACTERS = 2000

_CORRECTS = re.compile(
    r"\b(?:that(?:'s| is| was) (?:wrong|not (?:right|correct|what i"
    r" (?:said|meant|asked))|incorrect)|you(?:'re| are) (?:wrong|mistaken)"
    r"|you (?:misunderst\w+|got (?:that|it|this) wrong|mixed (?:that|it|this|them) up)|(?<!what )i"
    r" (?:actually )?meant"
    r"|correction\s*:|scratch that"
    r"|das (?:ist|war) (?:falsch|nicht richtig)|das stimmt nicht|falsch verstanden|ce n'est pas"
    r" (?:ça|exact|correct)|c'est faux"
    r"|tu te trompes|no es (?:correcto|así)|te equivocas|está mal)\b"
    r"|^\W*(?:no|nope|wrong|actually|nein|non)\s*[,:;—-]|不对|不對|你错了|理解错|搞错|違います|違う|間違",
    re.IGNORECASE,
)
_CONFIRMS = re.compile(
    r"\b(?:that(?:'s| is| was)? (?:exactly|precisely) (?:right|it|what i)|exactly what i"
    r" (?:wanted|needed|meant)"
    r"|you(?:'re| are) (?:exactly )?right|keep (?:doing|it up)|just like that|genau"
    r" (?:so|richtig)|stimmt genau"
    r"|c'est (?:exactement|tout à fait) ça|exactamente)\b"
    r"|^\W*(?:perfect|exactly|spot on|yes,?"
    r" exactly|perfekt|parfait|perfecto)\W*$|正是|没错|沒錯|その通り",
    re.IGNORECASE,
)


def detect_signals(texts: Iterable[str]) -> tuple[str, ...]:
    """Detect ``correction`` and ``reinforcement`` in messages.

    Only the first 2,000 characters of each are read.
    """
    heads = [text[:_READ_CHARACTERS].replace("’", "'") for text in texts]
    signals = []
    if any(map(_CORRECTS.search, heads)):
        signals.append(CORRECTION)
    if any(map(_CONFIRMS.search, heads)):
        signals.append(REINFORCEMENT)
    return tuple(signals)
