"""Subjects that use one thing in place of another: "the shop uses PayPal instead of Stripe".

Enter at ``tells_choice_of_another``.
"""

from __future__ import annotations

from engrams.text.late_patterns import late_pattern
from engrams.text.normalize import fold
from engrams.text.vocabulary import word_set

_IN_PLACE = late_pattern(
    r"\b(?:instead|rather than|in place of|(?:an)?statt(?:dessen)?|anstelle|en (?:vez|lugar) de|au lieu d[e']"
    r"|a la place|plutot que)|代替|而不是|代わり|ではなく"
)
_CHANGE = late_pattern(
    r"\b(?:now|switch\w*|mov(?:ed|ing)|chang\w+|new|no longer|any ?more|from \w+ on|since|finally|jetzt|nun|ab sofort|seit"
    r"|umgestellt|gewechselt|maintenant|desormais|depuis|pass\w+ a|ahora|desde|ya|cambi\w+)\b|现在|改|换|今は|今後|変え|切り替え"
)
"""Words of a change, in folded text: what the new one does may hold for all."""
_CHOOSER = late_pattern(
    r"\W*(?:(?P<article>the|der|die|das|la|el|los|las|les?|l')\s*)?\b(?P<who>[^\W\d_]+)\s"
)
_UNSPACED = late_pattern(r"[\u3040-\u30ff\u4e00-\u9fff]")
_UNSPACED_CHOOSER = late_pattern(
    r"(?P<who>[^\s，。、a-z]{1,8}?)(?:(?:都|一直)?(?:用|使用|选|喝|吃)|で?は(?!なく))"
)
_NO_CHOOSERS = word_set(
    "i we you it he she they this that these those everyone everybody nobody ich wir du ihr es er sie man dies das alle"
    " je j nous on tu vous il elle ils elles ca tous yo nosotros tu ello el ella eso esto todos"
    " 我 我们 咱们 它 他 她 他们 私 私たち 僕 彼 彼女 use uses"
)


def tells_choice_of_another(older: str, newer: str) -> bool:
    """Test if two texts tell what two subjects use in place of something else.

    "We use Stripe instead of PayPal", "the shop uses PayPal instead of Stripe". Without a word of
    change the second says nothing of the first.
    """
    older_text = fold(older)
    newer_text = fold(newer)
    if not (_IN_PLACE.search(older_text) and _IN_PLACE.search(newer_text)):
        return False
    if _CHANGE.search(newer_text):
        return False
    chooser = _read_chooser(newer, newer_text)
    return bool(chooser) and chooser not in older_text


def _read_chooser(text: str, folded: str) -> str:
    """Read the noun or name that a text begins with; empty: there is none."""
    if _UNSPACED.search(text):
        match = _UNSPACED_CHOOSER.match(folded)
        return match["who"] if match and match["who"] not in _NO_CHOOSERS else ""
    match = _CHOOSER.match(folded)
    if match is None or match["who"] in _NO_CHOOSERS:
        return ""
    is_name = text.lstrip()[:1].isupper() and folded.startswith(match["who"])
    return match["who"] if match["article"] or is_name else ""
