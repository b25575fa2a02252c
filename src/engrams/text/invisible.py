"""Characters that a person does not see and a model reads.

Tags, variation selectors and zero-width characters can carry a whole sentence unseen, and marks of
direction show a text in another order than it has. Memory keeps what was said as it was said; what
is put before a model is without them.
"""

from __future__ import annotations

import re

_UNSEEN = re.compile(
    "["
    "\x00-\x08\x0e-\x1f\x7f-\x84\x86-\x9f"  # controls, with the escapes of terminals
    "\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b\u200e\u200f\u202a-\u202e"
    "\u2060-\u206f\u3164\ufe00-\ufe0d\ufeff\uffa0\ufff9-\ufffb"
    "\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
    "]"
    # Joiners and the two selectors of emoji belong to what stands before them: one, behind a
    # character that is no ASCII.
    "|(?:(?<=[\x00-\x7f])|^|(?<=[\u200c\u200d\ufe0e\ufe0f]))[\u200c\ufe0e\ufe0f]+"
    "|(?:(?<=[\x00-\x7f])|^|(?<=[\u200c\u200d]))\u200d+"
)


def drop_invisible(text: str) -> str:
    """Return a text without invisible characters; joiners that shape letters and emoji stay."""
    if text.isascii() and text.isprintable():
        return text
    return _UNSEEN.sub("", text)
