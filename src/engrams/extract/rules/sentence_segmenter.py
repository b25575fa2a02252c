"""Sentences and tokens of a text, and their modality."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from html import unescape
from typing import Literal, NamedTuple, TypeAlias

from engrams.extract.candidate import Modality
from engrams.extract.rules.story_marks import find_story
from engrams.frozen_data import dataclass
from engrams.text.clause_kinds import is_joke
from engrams.text.late_patterns import holds_any, late_pattern
from engrams.text.text_caches import text_cache

_LONGEST = 6000
_LONGEST_SENTENCE = 1000
_MOST = 60
_LEAST_STATEMENT = 12
"""Characters from which the words before a question can be a statement."""

_FENCE = re.compile(
    r"```.*?(?:```|\Z)|~~~.*?(?:~~~|\Z)|^(?:>|\||   "
    r" \S)[^\n]*$|https?://\S+|<[a-zA-Z/][^>\n]{0,200}>",
    re.DOTALL | re.MULTILINE,
)
_INLINE_CODE = re.compile(r"`([^`\n]+)`")
_QUOTE = re.compile(r"[\"“”„«»]([^\"“”„«»\n]{1,400})[\"“”«»]")
_TITLE = 6
_SAID = re.compile(
    r"(?<=[:,])(\s*)['‘](?=\S)([^'‘’\n]|(?<=\w)['’](?=\w)){1,400}['’](?!\w)",
)
_ENTITY = re.compile(r"&(?:#\d{1,5}|#x[0-9a-f]{1,5}|[a-z]{2,8});", re.IGNORECASE)
_END = re.compile(
    # Whatever matches begins with one of these: one look at most characters.
    "(?=[.!?。！？…\\n\\s\u2014;；\\-\U0001f300-\U0001faff\u2600-\u27bf\ufe0f\u200d])(?:"
    # "Never use println! for logging": a macro's name, no end.
    r"(?<![.!?。！？…])(?!!\s(?:for|in|inside|macros?|calls?|statements?)\b)[.!?。"
    r"！？…]++[\"'”’)\]]*+(?=\s|$|[\u3000-\u9fff])|[。！？]"
    r"|\n+(?:[ \t]{0,8}(?:[-*•]|\d{1,2}[.)]|#{1,6})[ \t])?|\s[-–—]{1,3}\s"
    r"|[—;；]|--|(?<=[a-z])-\s(?=(?:I|it|they|this|that|we)\b)|\s(?::[)(DP]|\(:)(?=\s|$)"
    "|[\U0001f300-\U0001faff\u2600-\u27bf\ufe0f\u200d]+)"
)
_ABBREVIATED = re.compile(
    r"(?:^|[\s(])(?:[A-Za-z]|mr|mrs|ms|dr|dra|st|ste|mt|ft|prof|sra|srta|mme|mlle|fa|hr|vs|e\.g|i\.e|z\.\s?b|d\.\s?h|u\.\s?a|bzw|ca|ggf|evtl|etc|approx"
    r"|no|nr|inc|ltd|jr|sr|u\.s|a\.m|p\.m|av|avda|blvd)$",
    re.IGNORECASE,
)
_BEGINS_ANOTHER = re.compile(
    r"(?<=\b[A-Za-z])\.\s(?:I|My|We|Our|He|His|She|Her|It|They|Their|The|This|That|But|And|So)\b"
    r"|(?<=\b[Nn]o)\.(?!\s?\d)",
)
"""Dot that ends a sentence behind a letter or a number's sign: "plan B. My …", "I said no."."""
_OF_FIRM = re.compile(r"(?:[\s.](?:Co|Corp|Cía|Cie)|\bS\.(?:\s?[A-Z]\.)*\s?[A-Z]|\bC\.\s?V)$")
_AFTER_FIRM = re.compile(r"\.\s(?:[a-zà-ÿ&(]|KG|GmbH|OHG|Inc|Ltd|Ltda|LLC)")
"""Text behind the abbreviation of a firm where its sentence goes on: "Hübner & Co. KG"."""
# German: "am 4. Mai", "am 4. habe ich", "Hauptstr. 5".
_ORDINAL = re.compile(r"\b(?:am|vom|zum|bis|dem|den|der|die|seit|ab|im)\s\d{1,2}$", re.IGNORECASE)
_AFTER_ORDINAL = re.compile(
    r"\.\s(?:(?-i:[a-zäöü])|januar|jänner|februar|märz|april|mai|juni|juli|august|september|oktober|november|dezember|\d{1,2}\.|stock|etage|klasse|semester"
    r"|bezirk|obergeschoss|geburtstag|hochzeitstag|jahrestag)",
    re.IGNORECASE,
)
_STREET = re.compile(r"str$", re.IGNORECASE)
_NUMBERED = re.compile(r"\.\s\d")
_ASK = re.compile(
    (
        r"(?:,|\band\b|\bso\b|\bbut\b|\.\s|^)\s*(?:(?:and|so|but|also)\s+)?(?:can|could|would|will|do|does|did|are|is|have|has"
        r"|should|may|what|how|why|where|when|which|who|any|got|wanna|maybe|got any)\b"
    ),
    re.IGNORECASE,
)
_TAG = re.compile(
    r",\s*(?:right|ok|okay|yeah|no|huh|eh|isn't it|aren't (?:i|they|you|we)|don't you(?:"
    r" think)?|you know|know what i mean)\s*\?$",
    re.IGNORECASE,
)
_IMAGINED = re.compile(
    r"^\W*(?:(?:and|but|so|well|oh|like)\W+)*(?:if|whenever|every time|each"
    r" time|unless|suppose|supposing|imagine|pretend"
    r"|assuming|assume|what if"
    r"|let's say|lets say|say i|had i|were i|in case|hypothetically|as if|wish)\b",
    re.IGNORECASE,
)
_INVENTED = re.compile(
    r"\bin (?:my|the|a|this|our)"
    r" (?:dream|story|novel|game|movie|film|book|play|scenario|role-?play|example|hypothetical)\b"
    r"|\bin my (?:head|mind|imagination)\b"
    r"|\b(?:my|the|our)(?: [\w&']+){0,2} (?:character|protagonist|avatar)\b|^\W*in (?:act|chapter|scene) \w+\b",
    re.IGNORECASE,
)
_FICTION = re.compile(
    (
        r"^\W*(?:please |can you |could you )?(?:draft|write|compose)(?: me| up)? (?:an?|the|my|this)"
        r" (?:\w+ ){0,3}(?:e-?mail|message|letter|text|reply|post|note|tweet|dm|bio|resignation)\b"
        r"[^.\n]{0,60}:"
        r"|^\W*(?:let's (?:pretend|role-?play)|pretend|imagine|role-?play|write (?:me )?(?:a|an|the)"
        r" (?:story|poem|scene|script|dialog(?:ue)?|letter|e-?mail|speech|song))\b"
        r"|\b(?:translate|proofread|rewrite|paraphrase|summarize|summarise)\b[^.\n]{0,60}:"
    ),
    re.IGNORECASE,
)
_SARCASM = re.compile(r"(?:^|\s)/s\b|(?:\.{2,}|…)\s*not\b\W*$", re.IGNORECASE)
_MOCK_JOY = re.compile(
    r"\b(?:oh|ugh|yay|wow|great|fantastic|wonderful|argh|sigh)\b[^.?\n]{0,20}\b(?:love|enjoy|adore)\b[^.?\n]{0,12}"
    r"\b(?:getting|being|waiting|having|when|sitting|losing|mondays|traffic)\b"
    r"|\blove (?:mondays|being stuck|getting stuck|sitting in traffic|waiting in line)\b",
    re.IGNORECASE,
)
_DISBELIEVED = late_pattern(
    r"\bbut (?:\w+ ){0,2}i (?:\w+ ){0,2}(?:don['’]?t|do not) (?:\w+ )?(?:believe|buy) (?:it|that|this|him|her|them|a word)\b"
    r"|\baber (?:\w+ ){0,3}glaub\w* (?:\w+ ){0,3}nicht\b"
    r"|\bpero (?:\w+ ){0,2}no (?:me )?(?:l[aeo]s?|te|se l[oa]) (?:\w+ )?creo\b"
    r"|\bmais (?:\w+ ){0,2}(?:j['’]y|je) (?:n['’]y |ne )?(?:l[ae]s? |l['’]|lui )?crois (?:\w+ )?pas\b"
    r"|(?:但|可|不过).{0,6}(?:不|没)(?:太)?(?:相)?信|(?:けど|が|でも).{0,8}信じ(?:てい?(?:ない|ません)|られない)",
    re.IGNORECASE,
)
"""A report that somebody tells without believing it: "mon frère m'a dit …, mais je le crois pas"."""
# What matches holds one of these: looking for them is cheaper than matching, for each text of each
# write.
_FICTION_WORDS = (
    "pretend",
    "role",
    "imagine",
    "write",
    "draft",
    "compose",
    "translate",
    "proofread",
    "paraphrase",
    "summari",
)
_SARCASM_WORDS = ("/s", "..", "…")
_JOY_WORDS = ("love", "enjoy", "adore")
_MOCKED_WORDS = (
    "getting", "being", "waiting", "having", "when", "sitting", "losing", "mondays", "traffic",
)  # fmt: skip
_INVENTED_WORDS = (
    "dream", "story", "novel", "game", "movie", "film", "book", "play", "scenario", "example", "hypothetical", "character",
    "protagonist", "avatar", "in my ", "in act ", "in chapter ", "in scene ",
)  # fmt: skip


Tense: TypeAlias = Literal[
    "present",
    "past",
    "perfect",
    "progressive",
    "was",
    "been",
    "future",
    "used",
    "can",
    "must",
    "would",
]
Person: TypeAlias = Literal["self", "group", "other"]

_SHORT_FORM = r"'(?:m|s|ve|re|d|ll|em|cause|til)\b"
_SHORTENED = r"\b(?:St|Ste|Mt|Ft|Dr|Mr|Mrs|Ms|Prof)\.(?=\s[A-Z])|\b[A-Z]\.(?=\s?[A-Z]\.)|(?<=[A-Z]\.\s)[A-Z]\.(?=\s[A-Z][a-z])"
"""Words whose dot belongs to the name behind them: "St. Louis", "J. P. Morgan"."""
_FIGURE = r"[$€£¥]?\d+(?:[.,:/-]\d+)*%?\w*"
_WORD_OR_MARK = r"\w+(?:(?:[-.+/&@]|:(?=[A-Z0-9]))\w+)*[+#]*|\.\.\.|[^\w\s]"
_TOKEN = re.compile(rf"{_SHORTENED}|{_SHORT_FORM}|{_FIGURE}|{_WORD_OR_MARK}")
_TOKEN_BEFORE_NOT = re.compile(
    rf"n't\b|{_SHORT_FORM}|{_FIGURE}|[^\W\d_]\w*?(?=n't\b)|{_WORD_OR_MARK}"
)
"""Tokens of a text with "n't", of which each verb before it is looked for: twice as slow."""
_WHOLE = {
    "ca": "can",
    "wo": "will",
    "sha": "shall",
    "ai": "is",
    "'cause": "because",
    "cuz": "because",
    "coz": "because",
    "bc": "because",
    "'em": "them",
    "u": "you",
}
_SPLIT = {
    "im": ("i", "'m"),
    "ive": ("i", "'ve"),
    "dont": ("do", "n't"),
    "didnt": ("did", "n't"),
    "doesnt": ("does", "n't"),
    "cant": ("can", "n't"),
    "wont": ("will", "n't"),
}


@dataclass(frozen=True, slots=True)
class TextSentence:
    """Sentence at ``start`` of the whole text.

    Masked parts (code, links, quotations) are blank in it.
    """

    text: str
    start: int
    modality: Modality = "asserted"
    is_question: bool = False


def mask_text(text: str) -> str:
    """Blank out blocks of code, links, quoted lines and long quotations; inline code is a name."""
    masked = (
        _FENCE.sub(_blank_out, text[:_LONGEST])
        if any(mark in text for mark in ("`", "~~~", ">", "|", "://", "    ", "<"))
        else text[:_LONGEST]
    )
    if "`" in masked:
        masked = _INLINE_CODE.sub(_name_code, masked).replace("`", " ")
    if "&" in masked:
        masked = _ENTITY.sub(lambda match: unescape(match[0])[:1].ljust(len(match[0])), masked)
    if "'" in masked or "‘" in masked:
        masked = _SAID.sub(
            lambda match: (
                _blank_out(match) if _is_speech(masked, match, match[0].strip(" '‘’")) else match[0]
            ),
            masked,
        )
    if '"' in masked or "“" in masked or "„" in masked or "«" in masked:
        masked = _QUOTE.sub(
            lambda match: (
                match[0]
                if len(match[1].split()) <= _TITLE and not _is_speech(masked, match, match[1])
                else _blank_out(match)
            ),
            masked,
        )
    return masked.replace("’", "'").replace("‘", "'")


def split_sentences(text: str, begin: int = 0) -> tuple[TextSentence, ...]:
    """Split into sentences from ``begin`` on, in order, with their modality."""
    return _split(text, begin)


@text_cache(64)
def _split(text: str, begin: int) -> tuple[TextSentence, ...]:
    return tuple(_iter_sentences(text, begin))


def _iter_sentences(text: str, begin: int) -> Iterator[TextSentence]:
    masked = mask_text(text)
    masked = " " * min(begin, len(masked)) + masked[begin:]
    lower = masked.lower()
    text_modality = _judge_text(masked, lower)
    may_be_invented = holds_any(lower, _INVENTED_WORDS)
    story_start, story_end = find_story(masked)
    for start, end, mark in _cut_long_spans(masked, _find_spans(masked)):
        sentence = masked[start:end]
        is_question = "?" in mark or "？" in mark
        if is_question:
            statement = _cut_question(sentence, mark)
            if not statement:
                yield TextSentence(sentence, start, "question", True)
                continue
            sentence = statement
        is_in_story = end > story_start and start < story_end
        is_imagined = (
            is_in_story
            or _IMAGINED.match(sentence) is not None
            or (may_be_invented and _INVENTED.search(sentence) is not None)
        )
        modality = text_modality
        if modality == "asserted" and is_imagined:
            modality = "hypothetical"
        elif modality == "asserted" and _DISBELIEVED.search(sentence):
            modality = "quoted"
        yield TextSentence(sentence, start, modality, is_question)


def _judge_text(text: str, lower: str) -> Modality:
    """Judge a text as a whole: a joke, a fiction that is asked for, or asserted."""
    if is_joke(text) or _is_mockery(text, lower):
        return "joke"
    if holds_any(lower, _FICTION_WORDS) and _FICTION.search(text):
        return "hypothetical"
    return "asserted"


def _is_mockery(text: str, lower: str) -> bool:
    """True for sarcasm that says so, and for "oh, I love being stuck"."""
    if holds_any(lower, _SARCASM_WORDS) and _SARCASM.search(text):
        return True
    may_mock = holds_any(lower, _JOY_WORDS) and holds_any(lower, _MOCKED_WORDS)
    return may_mock and _MOCK_JOY.search(text) is not None


def _find_spans(text: str) -> Iterator[tuple[int, int, str]]:
    at = count = 0
    for match in _END.finditer(text):
        if match[0][0] == "." and _is_abbreviated(text, at, match.start()):
            continue
        if text[at : match.start()].strip():
            yield (*_trim_span(text, at, match.start()), match[0])
            count += 1
            if count >= _MOST:
                return
        at = match.end()
    if text[at:].strip():
        yield (*_trim_span(text, at, len(text)), "")


def _is_abbreviated(text: str, begin: int, dot: int) -> bool:
    """Test if a dot ends an abbreviation or an ordinal number."""
    before = text[max(begin, dot - 8) : dot]
    return bool(
        (_ABBREVIATED.search(before) and not _BEGINS_ANOTHER.match(text, dot))
        or (_OF_FIRM.search(before) and _AFTER_FIRM.match(text, dot))
        or (_STREET.search(before) and _NUMBERED.match(text, dot))
        or (_ORDINAL.search(before) and _AFTER_ORDINAL.match(text, dot))
    )


def _cut_long_spans(
    text: str, spans: Iterable[tuple[int, int, str]]
) -> Iterator[tuple[int, int, str]]:
    """Cut run-on sentences, so that the work on one stays bounded."""
    for begin, end, mark in spans:
        start = begin
        while end - start > _LONGEST_SENTENCE:
            stop = start + _LONGEST_SENTENCE
            cut = text.rfind(" ", start + 1, stop)
            stop = cut if cut > 0 else stop
            yield start, stop, ""
            start = stop
        yield start, end, mark


_SCOPED_NAME = re.compile(r"@[\w.-]+/\w")
"""Package of a scope, which may open a sentence: ``@types/node stays at 20``."""


def _trim_span(text: str, start: int, end: int) -> tuple[int, int]:
    while start < end and not (
        text[start].isalnum() or text[start] in "\"“'$€£" or _SCOPED_NAME.match(text, start)
    ):
        start += 1
    while end > start and text[end - 1].isspace():
        end -= 1
    return start, end


def _cut_question(sentence: str, mark: str) -> str:
    """Return the statement before a question: ``I use Flask, can you help``; empty: none.

    ``mark``: the question mark behind the sentence.
    """
    if _TAG.search(f"{sentence}{mark}"):
        return _TAG.sub("", f"{sentence}?")
    for match in _ASK.finditer(sentence):
        if match.start() == 0:
            return ""
        if match.start() > _LEAST_STATEMENT:
            return sentence[: match.start()]
    return ""


def _name_code(match: re.Match[str]) -> str:
    """Put a made-up name of equal length in the place of code, so that a clause keeps its object."""
    return "X" + "x" * (len(match[0]) - 1)


def _blank_out(match: re.Match[str]) -> str:
    return re.sub(r"[^\n]", " ", match[0])


def _is_speech(text: str, match: re.Match[str], quoted: str) -> bool:
    before = text[max(0, match.start() - 24) : match.start()].lower().rstrip(" ,:")
    return before.endswith(
        (
            "said",
            "says",
            "said to me",
            "said to us",
            "told me",
            "told us",
            "tells me",
            "texted me",
            "answered",
            "shouted",
            "like",
            "was like",
            "asked",
            "goes",
            "yelled",
            "replied",
            "wrote",
            "thinking",
        )
    ) or quoted.rstrip().endswith(("!", "?"))


class ClauseToken(NamedTuple):
    """Word or mark with its position; a tuple, since thousands are made."""

    text: str
    lower: str
    start: int
    end: int


def tokens(text: str, at: int = 0) -> list[ClauseToken]:
    """Split into words and punctuation with positions.

    ``at``: the text's position in the whole. Contractions are taken apart.
    """
    found: list[ClauseToken] = []
    pattern = _TOKEN_BEFORE_NOT if "n't" in text else _TOKEN
    for match in pattern.finditer(text):
        word = match[0]
        lower = word.lower()
        start = match.start() + at
        end = match.end() + at
        if lower in _SPLIT:
            first, second = _SPLIT[lower]
            cut = start + (1 if first == "i" else len(word) - 2)
            found += [
                ClauseToken(word[: cut - start], first, start, cut),
                ClauseToken(word[cut - start :], second, cut, end),
            ]
        else:
            found.append(ClauseToken(word, _WHOLE.get(lower, lower), start, end))
    return found
