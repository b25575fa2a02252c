"""Orders that only dismiss something before a statement: "Forget it, I moved back to Malmö".

Enter at ``find_statement``. Pure. The order asks nothing of memory, and what follows is told. An order
about what is remembered or was said is no dismissal.
"""

from __future__ import annotations

from engrams.text.late_patterns import late_pattern
from engrams.text.normalize import fold
from engrams.text.stopwords import STOP
from engrams.text.terms import tokens
from engrams.text.vocabulary import read_rows, read_vocabulary, word_set

POLITE = word_set(
    """please thanks thank very much so bitte danke schön sehr vielmals merci beaucoup bien s'il te plait svp stp
    favor gracias muchas mil 请 請 谢 謝 ください お願い お願いします"""
)
"""Words of a request that say nothing else."""

_LONGEST = 400
_LONGEST_SUBJECT = 40
"""Characters of what is dismissed."""

_OPENER = r"(?:(?:oh|ah|ach|ok|okay|no|well|wait|please|just|never ?mind|nein|bitte|non|bon|laisse tomber|no importa|ay|bueno)\W+)*"
_VERBS = r"(?:forget|vergiss|vergessen sie|loe?sche?|olvid[ae]|olvidate de|oublie[sz]?)"
_PRONOUNS = r"(?:forget (?:it|that|about (?:it|that))|vergiss (?:es|das)|olvidalo|olvida eso|oublie[sz]? (?:ca|cela)|oublie[sz]?(?:-le)?)"
# "Vergiss bitte, dass ich …" goes on with what is to be forgotten.
_NO_OBJECT = r"(?!(?:that|dass|daß|que|qu'|what|was|ce que|lo que|where|wo|ou|donde|how|wie|comment|como|when|wann|quand|cuando)\b)"
# "Forget this, my code is 4711" may be about what follows.
_DISMISSED = late_pattern(
    rf"\W*{_OPENER}(?:{_PRONOUNS}\s*[,;.!]|forget this\s*[.!;])\s*{_NO_OBJECT}(?P<statement>\S.*)"
    r"|(?:那就|那|还是)?(?:忘了|忘掉)(?:它)?(?:吧|算了)\s*[,。!]\s*(?P<zh>\S.*)"
    r"|(?:それは|もう)?忘れて(?:ください)?\s*[、。,]\s*(?P<ja>(?!お願い)\S.*)",
)
"""Dismissal of the words before, and another thing that is told."""
_SET_ASIDE = late_pattern(
    rf"\W*{_OPENER}{_VERBS} (?P<subject>[^,;.!?:\n]{{1,{_LONGEST_SUBJECT}}})[,;.!]\s+{_NO_OBJECT}(?P<statement>\S.*)"
    r"|(?:忘掉|忘记|忘了)(?P<zh_subject>[^,。!?:\n]{1,12})[,。!]\s*(?P<zh>\S.*)",
)
"""A thing is set aside, and the writer tells of themselves."""
_OF_MEMORY = late_pattern("|".join(read_rows(__file__, "remembered_things")))
_OF_WRITER = late_pattern(
    r"\b(?:i|i'm|i've|my|we|our|ich|mein\w*|wir|unser\w*|yo|mi|mis|tengo|vivo|soy|estoy|somos|nuestr[oa]|je|j'\w+|mon|ma|mes|nous|notre)\b|[我俺咱私僕]"
)
_REASONS = word_set(read_vocabulary(__file__, "request_reasons"))


def find_statement(text: str) -> str:
    """Find what is told behind a dismissal, folded; empty: the text is none, or an order to memory."""
    if len(text) > _LONGEST:
        return ""
    folded = fold(text).strip()
    match = _DISMISSED.fullmatch(folded)
    if match is None:
        match = _SET_ASIDE.fullmatch(folded)
        if match is None:
            return ""
        subject = match["subject"] or match["zh_subject"]
        statement = match["statement"] or match["zh"]
        if _OF_MEMORY.search(subject) or not _OF_WRITER.search(statement):
            return ""
        return str(statement)
    statement = match["statement"] or match["zh"] or match["ja"]
    says_more = set(tokens(statement)) - STOP - POLITE - _REASONS
    return statement if says_more else ""
