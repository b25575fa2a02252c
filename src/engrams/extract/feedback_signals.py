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
    r"|correction\s*:|scratch that|try (?:it |that )?again|redo (?:it|that|this)"
    r"|das (?:ist|war) (?:falsch|nicht richtig)|das stimmt nicht|falsch verstanden|ce n'est pas"
    r" (?:ça|exact|correct)|c'est faux"
    r"|tu te trompes|no es (?:correcto|así)|te equivocas|está mal)\b"
    r"|^\W*(?:no|nope|actually|nein|non)\s*[,:;—-]"
    r"|^\W*(?:wrong|incorrect|falsch|faux|incorrecto)\s*(?:[,:;.!—-]|$)"
    r"|不对|不對|你错了|理解错|搞错|違います|違う|間違",
    re.IGNORECASE,
)
_CONFIRMS = re.compile(
    r"\b(?:(?:that|this|it)(?:'s| is| was) (?:(?:exactly|precisely|quite|absolutely|all)"
    r" )?(?:right|correct|true|it)"
    r"|(?:exactly|precisely|just) what i (?:wanted|needed|meant|asked)"
    r"|you(?:'re| are) (?:exactly )?right|keep (?:doing|it up)|just like that|genau"
    r" (?:so|richtig)|stimmt genau"
    r"|(?:das|es) stimmt(?! nicht)|c'est (?:(?:exactement|tout à fait|bien) )?(?:ça|exact|correct)"
    r"|eso es (?:correcto|exacto)|exactamente)\b"
    r"|^\W*(?:yes,? |ja,? |oui,? |sí,? )?(?:right|correct|exactly|perfect|spot on|genau|richtig"
    r"|stimmt|perfekt|exact|parfait|exacto|perfecto)\s*(?:[,:;.!—-]|$)"
    r"|正是|没错|沒錯|就是这样|就是這樣|完全正确|完全正確|その通り|正しいです",
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
