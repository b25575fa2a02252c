"""Detection of messages that only ask or order, in six languages. Pure."""

from __future__ import annotations

import re

from engrams.text.late_patterns import late_pattern
from engrams.text.measures import is_question, word_count
from engrams.text.normalize import fold

_LONGEST = 300
"""Characters of the longest text that is looked at: longer ones tell something."""
_REQUEST_WORDS = 15

_LETTER = re.compile(r"\w")
_SENTENCES = late_pattern(r"(?<=[.!?])(?=\s)\s*|(?<=[。！？])|\n+")
_SENTENCE_END = late_pattern(r"[.!?。！？\n](?:(?=\s)|(?<=[。！？\n]))")
"""What ``_SENTENCES`` may split at; looking for it takes a fifth of the time."""
_CLAUSES = late_pattern(r"\s*[,;:，；：、]\s*|\s+-\s+")
_GREETING = late_pattern(
    r"(?:hi|hey|hello|hallo|ok(?:ay)?|please|thanks|thank"
    r" you|bitte|danke|hola|gracias|bonjour|salut|merci|你好|请问|こんにちは)\b"
)
_CJK = late_pattern(r"[\u3040-\u30ff\u4e00-\u9fff]")

_ENGLISH = (
    r"(?:so|and|but|well|then|now|also|by the way|actually|again)?\s*"
    r"(?:who|whom|whose|what|which|where|when|why|how|am|are|is|was|were|do|does|did|have|has|had|can|could|will|would|shall|should|may|might"
    r"|must|any|(?:tell|show|remind) me (?:again )?(?:who|what|where|when|why|how|which)"
    r"|(?:what|who|where|when|how|why)(?:'(?:s|re|d|ll|ve)|s(?! app\b))"
    r"|(?:do|does|did|is|are|was|were|have|has|can|could|would|should)n't|can't"
    r"|(?:with|for|from|to|at|in|on|of|about|since|until|by|against|under)"
    r" (?:who|whom|whose|what|which|where|when))\b"
)
_GERMAN = (
    r"(?:und|aber|also|dann)?\s*(?:wer|wen|wem|wessen|was|wann|warum|wieso|weshalb|wohin|woher|wo|wie|wieviele?|welche[rsmn]?"
    r"|wo(?:r(?:an|auf|aus|in|um|uber|unter)|mit|von|fur|bei|gegen|durch|zu|nach|vor)"
    r"|(?:mit|auf|an|von|fur|gegen|bei|zu|in|um|uber|seit|nach|ab|bis|durch|unter|aus|vor)"
    r" (?:wen|wem|wessen|was|wann|wo|wohin|welche[rsmn]?)"
    r"|(?:kann|konn|soll|muss|darf|durf|will|woll|mag|mog|mocht|hab|hast|hat|bin|bist|ist|sind|seid|war|wird|wirst|werd|wurd"
    r"|weiss|kennst|erinnerst|wohne|arbeite|gibt)\w{0,5} "
    r"(?:du|ich|es|er|sie|wir|man|das|mein\w*|dein\w*|ihr))\b"
)
_SPANISH = (
    r"¿|(?:y )?(?:que|quien(?:es)?|cuando|donde|como|cual(?:es)?|cuant[oa]s?|por"
    r" que|adonde|recuerdas|sabes|puedes|conoces"
    r"|(?:con|de|a|en|para|por|contra|desde|hasta) (?:quien(?:es)?|cuando|donde|cual(?:es)?)"
    r"|(?:con|contra|para) que)\b"
)
_FRENCH = (
    r"(?:et"
    r" )?(?:qui|que|quoi|quand|ou|comment|pourquoi|combien|quel(?:le)?s?|est-ce|qu'est-ce|sais-tu|peux-tu|connais-tu"
    r"|(?:a|de|avec|contre|pour|sur|chez|dans|par|en|depuis|vers)"
    r" (?:qui|quoi|quel(?:le)?s?|quand|ou|combien)|te souviens|tu (?:sais|connais|te"
    r" souviens)|[a-z']+-(?:je|tu|il|elle|on|nous|vous|t-il|t-elle))\b"
)
_OPENS = late_pattern(rf"\W*(?:{_ENGLISH}|{_GERMAN}|{_SPANISH}|{_FRENCH})")
_CHINESE = late_pattern(
    r"谁|誰|什么|什麼|哪|怎么|怎麼|怎样|为什么|為什麼|为何|多少|几|幾|何时|是不是|有没有|有沒有|能不能|吗|嗎|呢"
)
_JAPANESE = late_pattern(
    r"どこ|何|なん|誰|だれ|いつ|なぜ|どう|どの|どれ|どんな|いくら|いくつ|か\W*$"
)

# A clause that tells something of its own, so that the message is more than a question.
_TELLS = late_pattern(
    r"\W*(?:(?:and|but|because|since|as|so) )?(?:i|we)(?:'(?:m|ve|d|re|ll))?\b"
    r"|\W*(?:my|our) [^?]*\b(?:is|are|was|were|has|have|had|wants?|needs?)\b"
    r"|\W*(?:und |aber |weil )?(?:ich|wir)\b|\W*(?:y |pero |porque"
    r" )?(?:yo|soy|tengo|estoy|vivo|nosotros|me)\b"
    r"|\W*(?:et |mais )?(?:je|j'|nous|on)\b"
)
_REASON = late_pattern(
    r"\b(?:because|since|given that|now that|considering(?: that)?|seeing that|as)"
    r" (?:i|we|my|our)\b"
    r"|\b(?:weil|da|nachdem|wenn) (?:ich|wir|mein\w*)\b"
    r"|\b(?:porque|ya que|como) (?:soy|tengo|estoy|yo|mi|vivo)\b|\b(?:parce que|puisque|comme|car)"
    r" (?:je|j'|mon|ma|nous)"
)
_OWN = r"(?:my|our|i'm|i am|i have|i've|we)"
_NEWS = late_pattern(r"\W*(?:did you (?:know|hear)|guess what|(?:how|what) about)\b")
_FAVOUR = late_pattern(
    r"\W*(?:(?:can|could|would|will) you(?! (?:please"
    r" )?(?:tell|remind|say|show|list|recall|remember|look|find|check))"
    r"|do you know(?! (?:who|what|where|when|why|how|which|if|whether|that|my|about))|(?:is|are)"
    r" there|any)\b"
    rf"[^?]*\b{_OWN}\b"
)
_NAMED = late_pattern(r"\b[Mm]y [a-z]+(?: [a-z]+)? [A-Z][a-z]+|\b[Mm]y\b[^?]*\d|\d[^?]*\b[Mm]y\b")

_REQUEST = late_pattern(
    r"\W*(?:please |now |ok(?:ay)? |then |(?:can|could|would|will) you (?:please )?)*"
    r"(?:refactor|debug|rewrite|rename|implement|summari[sz]e|translate|explain|describe|compare|calculate|compute|convert|proofread|generate"
    r"|(?:fix|review|draft|format|write|create|run|test|build|compile|deploy|commit|search|look"
    r" up|list|find|check|update|add|delete|open)"
    r" (?:the|this|that|these|those|all|it|them|an?|any|some|for|another|more|unit|tests?)"
    r"|continue|retry|(?:show|tell|give|remind) me|help me"
    r"|refaktoriere|ubersetze|erklare?|zeige?|schreibe?|liste|fasse|traduce|explica|resume|escribe|muestra(?:me)?"
    r"|traduis|explique|ecris|montre(?:-moi)?)\b"
    r"|\W*(?:请|請)?(?:帮我|幫我)?(?:重构|解释|翻译|总结|改写|检查)|.{0,40}(?:説明|翻訳|要約|リファクタリング)して(?:ください|くれ)?\W*$"
)
_LASTING = late_pattern(
    r"\b(?:always|never|from now on|every|whenever|don't|do"
    r" not|prefer|remember|note|i|i'm|i've|my|we|our|use|immer"
    r"|nie|siempre|nunca|toujours|jamais|mein\w*|ich|mi|mis|yo|mon|ma|mes|je)\b|总是|永远|以后|我|いつも|必ず|私"
)


_ASKS_TO_TELL = late_pattern(
    r"\W*(?:please |now |(?:can|could|would|will) you (?:please )?)*(?:tell|remind) me\b(?! to\b)"
    r"|.{0,20}\b(?:what do you know|do you remember)\b"
    r"|\W*(?:sag|erinnere?)"
    r" mi(?:r|ch)\b|\W*(?:dime|recuerdame|dis-moi|rappelle-moi)\b|.{0,8}(?:告诉我|教えて)"
)


def is_asking(text: str) -> bool:
    """True for a message of nothing but questions and short requests.

    "Where do I live?" and "Refactor the parser module", but not "I moved to Bonn, do you know a
    bakery there?". In doubt False.
    """
    if len(text) > _LONGEST:
        return False
    asks = False
    stripped = text.strip()
    sentences = _SENTENCES.split(stripped) if _SENTENCE_END.search(stripped) else [stripped]
    for sentence in sentences:
        if not _LETTER.search(sentence):
            continue
        folded = fold(sentence)
        if _GREETING.fullmatch(folded.strip(" .!,")):
            continue
        folded = folded.strip()
        if not (_is_request(folded) or _is_pure_question(sentence, folded)):
            return False
        asks = True
    return asks


def asks_for_knowledge(text: str) -> bool:
    """True where the first paragraph asks to be told something."""
    first = next((part for part in text.split("\n") if part.strip()), "")
    sentences = [
        sentence for sentence in _SENTENCES.split(first.strip()) if _LETTER.search(sentence)
    ]
    return any(
        is_question(sentence) or _ASKS_TO_TELL.match(fold(sentence).strip())
        for sentence in sentences
    )


def _is_pure_question(sentence: str, folded: str) -> bool:
    if not is_question(sentence) or _NAMED.search(sentence):
        return False
    clauses = [clause for clause in _CLAUSES.split(folded) if clause]
    if _CJK.search(folded):
        asks = _JAPANESE if re.search(r"[\u3040-\u30ff]", folded) else _CHINESE
        return all(asks.search(clause) or _GREETING.match(clause) for clause in clauses)
    while clauses and (_GREETING.match(clauses[0]) or _is_address(clauses)):
        clauses = clauses[1:]
    if (
        not clauses
        or not _OPENS.match(clauses[0])
        or _REASON.search(folded)
        or _FAVOUR.match(clauses[0])
        or _NEWS.match(clauses[0])
    ):
        return False
    return not any(_TELLS.match(clause) for clause in clauses[1:])


def _is_address(clauses: list[str]) -> bool:
    """True for a name before the question: "Claude, where do I live?"."""
    return (
        len(clauses) > 1
        and word_count(clauses[0]) <= 2
        and "'" not in clauses[0]
        and not _TELLS.match(clauses[0])
    )


def _is_request(folded: str) -> bool:
    return (
        bool(_REQUEST.match(folded))
        and word_count(folded) <= _REQUEST_WORDS
        and not _LASTING.search(_REQUEST.sub("", folded, count=1))
    )
