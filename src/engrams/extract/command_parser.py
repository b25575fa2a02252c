"""Parser of requests about memory itself, such as "forget that", in six languages.

Enter at ``parse_command``. Pure: it carries nothing out. Fixed phrases come first: the English
patterns are here, those of the other languages in ``vocabulary/memory_commands.txt``. What none of
them matches is read by the concepts of its words, with ``request_concepts``.
"""

from __future__ import annotations

import re
from typing import Literal

from engrams.core import PRODUCT
from engrams.extract.command_languages import match_answer, match_request
from engrams.extract.dismissals import find_statement
from engrams.extract.list_choice import read_choice
from engrams.extract.request_concepts import find_answer, find_request
from engrams.frozen_data import dataclass, replace
from engrams.text.late_patterns import holds_any, late_pattern
from engrams.text.normalize import fold
from engrams.text.text_caches import text_cache
from engrams.text.vocabulary import word_pattern

Verb = Literal[
    "list",
    "status",
    "recall_on",
    "recall_off",
    "save",
    "forget",
    "forget_last",
    "forget_all",
    "undo",
    "wrong",
    "source",
    "since",
]

_ORDINALS = (
    "first",
    "second",
    "third",
    "fourth",
    "fifth",
    "sixth",
    "seventh",
    "eighth",
    "ninth",
    "tenth",
)
_FLAGS = re.IGNORECASE | re.DOTALL

# Parts of the patterns below.
_THE = r"(?:your |the |my )?"
_KNOWN = r"(?:know|remember|recall|have (?:stored|saved))"
_RECALL = r"(?:memory|memories|recall)"
_DROP = r"(?:forget|delete|erase|remove)"
_PRONOUN = r"(?:it|them|that|this)"

_POLITE = re.compile(
    r"^(?:(?:please|pls|plz|plse|pleas|kindly|just|hey|hi|oh|ah|hm+|ok(?:ay)?|so|and|but|now|actually|no"
    r"|nope|wait|well|sorry"
    r"|(?:can|could|cud|would|wud|will) (?:you|u|ya)|(?:you|u) (?:can|could|should|may|must)"
    r"|i(?:'d| would) like (?:you|u) to|i (?:want|need) (?:you|u) to|(?:you|u) (?:need|have) to)"
    r"\b[\s,]*)+",
    _FLAGS,
)
_TAIL = re.compile(
    r"(?:[\s,]*\b(?:please|pls|plz|thanks|thx|ty|thank you|for me|now|again))*[\s.!?]*$", _FLAGS
)
_USUAL_FORMS = (
    (re.compile(r"^(?:forgett|foget|froget|forgete|fogret)\b", _FLAGS), "forget"),
    (re.compile(r"^(?:do you )?mind (?:forgetting|deleting|erasing|removing)\b", _FLAGS), "forget"),
    (re.compile(r"^forget (?:taht|tht|thta|dat)\b", _FLAGS), "forget that"),
    (re.compile(r"\b(?:u|ya)\b", _FLAGS), "you"),
    (re.compile(r"\bur\b", _FLAGS), "your"),
    (re.compile(r"\b(?:wat|wot|wht)\b", _FLAGS), "what"),
    (re.compile(r"\babt\b", _FLAGS), "about"),
)
"""Words of a request as they are also written -> as the patterns below have them."""
_ASKED_FORGOT = re.compile(r"^forgot\b", _FLAGS)
"""A misspelled request behind polite words; without them it is a report: "forgot my keys"."""
_LIST = re.compile(
    rf"(?:what (?:all )?(?:do|did|can) you (?:(?:still|currently|actually|really|already|even) )*{_KNOWN}"
    r"(?: so far)?"
    r"|what have you (?:stored|saved|remembered|learned)"
    r"|what(?:'s| is) in (?:your|my) memory"
    rf"|(?:show|list|tell|give)(?: me)? (?:everything |all )?(?:what |that )?you {_KNOWN}"
    rf"|(?:show|list|print|display)(?: me)? (?:all )?(?:of )?{_THE}(?:stored |saved"
    r" )?memor(?:y|ies))"
    r"(?:\s+(?:about|of|on|regarding)\s+(?P<about>.+))?$",
    _FLAGS,
)
_LIST_ABOUT = re.compile(
    r"(?:what(?: all| info(?:rmation)?)? (?:have you got|do you have|you got)"
    r"|how much (?:do|did) you(?: already| still| actually| really)* (?:know|remember|recall)"
    r"|(?:remind me )?what (?:all )?(?:did|have) (?:i|we)(?: ever| already)? (?:say|said|tell you|told you|mention(?:ed)?|write|written)"
    r"|(?:did|have) (?:i|we)(?: ever| already)? (?:say|said|tell you|told you|talk(?:ed)?)(?: to you)?(?: anything| something)?"
    r"|remind me what (?:i|we) (?:said|told you))"
    r" (?:about|on|of|regarding) (?P<about>.+)$"
    r"|(?:did|have) (?:i|we)(?: ever| already)? mention(?:ed)?(?: (?:anything about|something about))? (?P<mentioned>.+)$",
    _FLAGS,
)
"""Ordinary questions for what was said about somebody or something."""
_LIST_LAYER = re.compile(
    r"(?:show|list|print|display)(?: me)? (?:all )?(?:of )?(?:my|your) (?:stored |saved )?"
    rf"(?P<layer>{'|'.join(PRODUCT.values())})$",
    _FLAGS,
)
_STATUS = re.compile(
    rf"(?:(?:what(?:'s| is) |show (?:me )?)?{_THE}memory status"
    rf"|how much (?:do|can) you {_KNOWN}|how many (?:things|memories|facts) (?:do|can) you {_KNOWN}(?: about me)?|how many"
    r" memories do you have"
    rf"|is {_THE}{_RECALL} (?:on|off|enabled|disabled))$",
    _FLAGS,
)
_OFF = re.compile(
    rf"(?:(?:turn|switch) off {_THE}{_RECALL}|(?:turn|switch) {_THE}{_RECALL} off"
    rf"|(?:disable|stop using|don't use|do not use|pause) {_THE}{_RECALL})$",
    _FLAGS,
)
_ON = re.compile(
    rf"(?:(?:turn|switch) (?:back )?on {_THE}{_RECALL}|(?:turn|switch) {_THE}{_RECALL} (?:back )?on"
    rf"|(?:enable|start using|use|resume) {_THE}{_RECALL})$",
    _FLAGS,
)
_SAVE = re.compile(
    r"(?:save|store|note|remember|record|add)(?: (?:this|that|it))?(?: as)?(?:"
    r" (?:a|my|this|the))?(?: new)? preference\s*[:,-]?\s*"
    r"(?:that\s+)?(?P<text>.+)$",
    _FLAGS,
)
_ALL = re.compile(
    rf"(?:{_DROP}|clear|wipe) (?:everything|all|all of it|(?:all )?(?:of )?{_THE}(?:whole"
    r" )?memor(?:y|ies))"
    r"(?: (?:you know|about me|you remember|you know about me))*$",
    _FLAGS,
)
_LAST = re.compile(
    rf"{_DROP} (?:that|this|it|what i (?:just )?(?:said|told you|wrote)|(?:that|the) last"
    r" (?:one|thing|message|memory))(?: from (?:your |the )?memory)?$"
    r"|(?:do not|don't|dont|never) (?:save|store|remember|record|keep) (?:that|this|it)$",
    _FLAGS,
)
_WRONG = re.compile(
    r"(?:(?:that|this|it)(?:'?s| is| was) )?(?:wrong|incorrect|false|untrue|not (?:right|true|correct|so))"
    r"(?: any ?more)?$"
    r"|(?:that|this|it) (?:isn't|isnt|wasn't) (?:right|true|correct|so)(?: any ?more)?$",
    _FLAGS,
)
_SOURCE = re.compile(
    r"(?:who told you(?! to\b)|how (?:do|did) you know|where (?:did|do) you (?:get|hear|know|have))"
    r"(?: (?:that|this|it))?(?: from)?"
    r"(?:,? (?:that )?(?P<about>.+))?$",
    _FLAGS,
)
_TOLD_WHEN = re.compile(
    r"when (?:did|have) (?:i|we)(?: first| last)? (?:tell you|told you|say|said|mention(?:ed)?)(?: to you)?"
    r"(?: (?:about|that))? (?P<about>.+)$",
    _FLAGS,
)
_SINCE = re.compile(
    r"(?:since when|how long) (?P<about>(?:have|has|am|is|are|do|did|does) .+)$|since when$", _FLAGS
)
_NUMBER = re.compile(
    rf"(?:{_DROP} )?(?:the )?(?:number|no\.?|nr\.?|#|item|memory)? ?#?"
    rf"(?:(?P<digits>\d{{1,4}})(?:st|nd|rd|th)?|(?P<word>{'|'.join(_ORDINALS)}))(?: one| memory|"
    r" item)?$",
    _FLAGS,
)
_FORGET = re.compile(
    rf"{_DROP}(?: from (?:your )?memory)?(?: (?:the )?(?:memory|memories|fact|part|thing|note|bit|story|stuff)s?)?"
    r"(?: (?:about|of|on|that says|that|(?:what |everything |all )(?:you (?:know|remember) |i"
    r" (?:said|told you) )?about))?"
    r"\s+(?P<query>.+?)(?: (?:from|out of) (?:your |the )?(?:memory|memories|records?|notes))?$",
    _FLAGS,
)
_UNDO = re.compile(
    rf"(?:undo(?: {_PRONOUN})?|(?:bring|put|get) {_PRONOUN} back|(?:restore|recover) {_PRONOUN})$",
    _FLAGS,
)
_EVERYTHING = re.compile(
    r"\b(?:everything|all|alles|todo|tout)\b|所有|全部|一切|すべて|全て", _FLAGS
)
"""Word of a request that means all memories of its subject."""
_SURE_FORGET = re.compile(
    rf"forget (?:that|everything|all)\b|{_DROP} (?:(?:what|everything|all) )?(?:that )?(?:i (?:said|told"
    r" you)|you (?:know|remember))\b|.*\b(?:about me|from (?:your )?memory)\b"
    rf"|{_DROP} (?:the )?memor(?:y|ies) (?:about|of|that)\b",
    _FLAGS,
)
"""Requests that are meant for memory for certain; "forget the last idea" may be for the assistant."""
_OWN_FACT = re.compile(
    r"my (?:[\w-]+ ){0,2}(?:allerg(?:y|ies)|birthday|age|address|(?:phone|mobile) number|job|employer|salary|diet|religion"
    r"|nationality|hometown|weight|height|diagnosis|medication|pronouns|nickname)$"
    r"|my (?:[\w-]+ )?[\w-]+['’]s (?:name|birthday|age|address|(?:phone )?number|job|employer|diagnosis)$"
    r"|(?:where|when|since when|how (?:old|tall|long)) (?:i|i'm) \w+(?: \w+)?$|(?:who|what|how old|where|when) my [\w -]+ (?:is|are|was)$",
    _FLAGS,
)
"""Things to delete that no file holds: "delete my nut allergy", "erase where I live"."""
_NEVER = re.compile(
    rf"\b(?:don't|dont|do not|never|didn't|can't|won't)\s+(?:ever\s+)?{_DROP}\b", _FLAGS
)
_OURS = re.compile(
    r"\b(?:memor(?:y|ies)|your (?:records?|notes)|you (?:know|remember)|i (?:said|told you)|about me)\b|^forget\b",
    _FLAGS,
)
_OTHER = re.compile(r"^forget (?:to\b|about (?:it|that)\b)", _FLAGS)

_YES = re.compile(
    r"(?:yes|y|yeah|yep|yup|sure|absolutely|ok(?:ay)?|confirm(?:ed)?|do it|go ahead|please do|correct|right|of"
    rf" course|{_DROP} {_PRONOUN})"
    rf"(?:[\s,]+(?:please|do it|go ahead|{_DROP} {_PRONOUN}|i(?:'m| am) sure))*$",
    _FLAGS,
)
_NO = re.compile(
    rf"(?:no|nope|nah|cancel|stop|never ?mind|don't|do not|(?:keep|leave) {_PRONOUN}(?:"
    r" alone)?|none(?: of them)?|forget about it)"
    rf"(?:[\s,]+(?:cancel|thanks|thank you|keep {_PRONOUN}|don't|please|never ?mind))*$",
    _FLAGS,
)
_EVERY = re.compile(r"(?:all|both)(?: of them)?$", _FLAGS)

_GOES_ON = re.compile(r"[.!?;:,\n]\s+\S|[。！？]\s*\S")
"""Sign that a text goes on after its first sentence or clause."""
_REMEMBERED = re.compile(r"remember|recall|stored|saved|learned|memor", _FLAGS)

_OPENS_FORGETTING = late_pattern(
    r"\W*(?:(?:please|pls|hey|could you|can you|kindly|bitte|konntest du|konnten sie|kannst du|por"
    r" favor|puedes|podrias|pourrais-tu|peux-tu|s'il te plait|stp)\W+)*"
    r"(?:forge?t|vergiss|vergessen|loe?sche?|olvid[ae]|borr[ae]|oublie?[sz]?|oublier|efface[sz]?)\b(?!"
    r" (?:not|nicht|pas)\b)"
    r"|\W*(?:(?:don't|do not|stop) remember|you don't need to know)"
    r"|[请請]?(?:能不能|麻烦)?[请請]?(?:你)?(?:忘(?:记|記|掉|了)|别再记|不要再记)"
)
_ENGLISH_WORDS = (
    "know", "rememb", "recall", "memor", "stor", "sav", "learn", "forg", "foget", "froget", "delet", "eras", "remov", "clear", "wipe",
    "record", "keep", "prefer", "undo", "back", "recover", "facts", "sessions", "rules", "wrong", "not true",
    "not right", "not correct", "not so", "n't true", "n't right", "n't correct", "n't so", "isnt ", "untrue", "incorrect", "false",
    "told you", "you get", "you hear", "you have", "since when", "how long", "you got", "u got", "did i", "did we", "have i ", "have we ",
    "i said", "what info", "told u",
)  # fmt: skip
"""Every English request holds one of these: most messages hold none, and are not matched."""
_ONESELF = frozenset("mich mir uns mí mi nosotros moi nous 我 我们 私 僕 俺 わたし".split())
"""Words for the person who writes, after "what do you know about"."""

_FORGOT_TO_TELL = late_pattern(
    r"\W*(?:(?:i|i've|i had) forgot(?:ten)? to (?:tell|say|mention)"
    r"|(?:me )?olvidé (?:decir|contar|comentar|mencionar)|se me olvidó|(?:me )?olvidaba (?:de )?(?:decir|contar)"
    r"|j'ai oublié de|ich habe? (?:ganz )?vergessen|忘了(?:告诉|跟|和|说|提|讲)|忘记(?:告诉|跟|说|提)|言い忘れ)",
    re.IGNORECASE,
)
"""Opening of what somebody tells late: "Olvidé decirte que vivo en Lugo"."""
_OF_LAYER = "@"
"""Mark before the layer that a request of the table lists."""
_LONGEST_ANSWER = 60
"""Longest text, in characters, that can be a yes or a no in another language than English."""
_LONGEST = 400
"""Longest text, in characters, that can be a command."""


@dataclass(frozen=True, slots=True)
class ParsedMemoryCommand:
    """Command to memory."""

    verb: Verb
    about: str = ""
    """Its subject, or the text to save; of a layer's list, the word for the layer."""
    number: int = 0
    """Position in the last list shown, from 1; 0: none."""
    language: str = "en"
    """Code of the language of the request: en, de, es, fr, zh or ja."""
    is_certain: bool = True
    """False: the words may be meant for the assistant, not for its memory."""
    is_question: bool = False
    """An ordinary question, which a model answers better than memory alone."""
    layer_name: str = ""
    """Limit of a list: facts, sessions or rules; empty: none."""
    is_for_all: bool = False
    """True: all memories of the subject are to be forgotten, not one of them."""

    @property
    def goes_on(self) -> bool:
        """True if the subject holds another clause or sentence: the text says more."""
        return self.verb not in ("save", "source", "since") and bool(_GOES_ON.search(self.about))


def parse_command(text: str, *, with_questions: bool = False) -> ParsedMemoryCommand | None:
    """Parse a request about memory; None: the text is none.

    ``with_questions``: also ordinary questions about what is in memory.
    """
    command = _parse(text)
    if command is not None and command.verb.startswith("forget") and find_statement(text):
        return None
    if command is not None and command.verb == "forget" and command.about:
        frame = text.replace(command.about, " ")
        command = replace(command, is_for_all=bool(_EVERYTHING.search(frame)))
    is_hidden = command is not None and command.is_question and not with_questions
    return None if is_hidden else command


def _parse(text: str) -> ParsedMemoryCommand | None:
    # A long text is no request, and must not be kept by a cache.
    return None if len(text) > _LONGEST else _parse_short(text)


@text_cache(64)
def _parse_short(text: str) -> ParsedMemoryCommand | None:
    """Parse any request, cached: the gate asks it, then the chat, extraction and reconciliation."""
    if _FORGOT_TO_TELL.match(text):
        return None
    lowered = text.lower()
    if holds_any(lowered, _ENGLISH_WORDS):
        plain = _strip_politeness(text)
        if not plain or _NEVER.search(text) or _OTHER.match(plain):
            return None
        command = _parse_english(plain)
        if command is not None:
            return command
    fixed = _parse_other_language(text)
    read = _parse_concepts(text)
    if fixed is None or read is None:
        return fixed or read
    # The concepts know more words around a subject: "Borra de tu memoria a Emil".
    is_narrower = fixed.verb == read.verb and read.about in fixed.about
    return replace(fixed, about=read.about) if is_narrower and read.about else fixed


def _parse_concepts(text: str) -> ParsedMemoryCommand | None:
    request = find_request(text)
    if request is None:
        return None
    return ParsedMemoryCommand(
        request.verb,  # type: ignore[arg-type]  # of Verb
        request.about,
        language=request.language,
        is_certain=request.is_certain,
        is_question=request.is_known and bool(request.about),
        layer_name=request.layer_name,
    )


def _parse_other_language(text: str) -> ParsedMemoryCommand | None:
    request = match_request(" ".join(text.split()))
    if request is None:
        return None
    if request.verb == "number":
        return ParsedMemoryCommand("forget", number=request.number, language=request.language)
    about = request.about
    verb, _, layer_name = request.verb.partition(_OF_LAYER)
    if layer_name:
        return ParsedMemoryCommand("list", about, language=request.language, layer_name=layer_name)
    # "Was weißt du über X" is an ordinary question; about the person it asks memory.
    is_known = request.is_known and request.verb == "list"
    is_oneself = is_known and about.lower() in _ONESELF
    return ParsedMemoryCommand(
        verb,  # type: ignore[arg-type]  # the verbs of the table
        "" if is_oneself else about,
        language=request.language,
        is_certain=request.is_certain,
        is_question=(is_known and not is_oneself) or request.verb == "since",
    )


def _parse_english_list(plain: str) -> ParsedMemoryCommand | None:
    """Parse a question for what memory knows, or what was said, of all or of something."""
    if match := _LIST.match(plain):
        about = (match["about"] or "").strip(" ?.!\"'")
        names_memory = bool(_REMEMBERED.search(plain))
        is_oneself = about.lower() in ("me", "myself", "us")
        # "What do you know about X" is an ordinary question; "what do you remember about X" asks
        # memory.
        return ParsedMemoryCommand(
            "list",
            "" if is_oneself else about,
            is_certain=is_oneself or names_memory,
            is_question=bool(about) and not is_oneself and not names_memory,
        )
    if match := _LIST_ABOUT.match(plain):
        about = (match["about"] or match["mentioned"]).strip(" ?.!\"'")
        is_oneself = about.lower() in ("me", "myself", "us")
        return ParsedMemoryCommand("list", "" if is_oneself else about, is_question=not is_oneself)
    if match := _LIST_LAYER.match(plain):
        return ParsedMemoryCommand("list", layer_name=match["layer"].lower())
    return None


def _parse_english(plain: str) -> ParsedMemoryCommand | None:
    if listing := _parse_english_list(plain):
        return listing
    for pattern, verb in (
        (_STATUS, "status"),
        (_OFF, "recall_off"),
        (_ON, "recall_on"),
        (_ALL, "forget_all"),
        (_LAST, "forget_last"),
        (_UNDO, "undo"),
        (_WRONG, "wrong"),
    ):
        if pattern.match(plain):
            return ParsedMemoryCommand(verb)  # type: ignore[arg-type]  # the verbs of the table
    if match := _SOURCE.match(plain):
        return ParsedMemoryCommand("source", (match["about"] or "").strip(" ?.!\"'"))
    if match := _TOLD_WHEN.match(plain):
        return ParsedMemoryCommand("source", match["about"].strip(" ?.!\"'"))
    if match := _SINCE.match(plain):
        about = (match["about"] or "").strip(" ?.!\"'")
        return ParsedMemoryCommand("since", about, is_question=True)
    if match := _SAVE.match(plain):
        return ParsedMemoryCommand("save", match["text"].strip())
    if plain.lower().startswith(("forget ", "delete ", "erase ", "remove ")):
        if number := parse_number(plain):
            return ParsedMemoryCommand("forget", number=number)
        # "delete the temp files" is a task for the assistant; only "forget …" always means memory.
        match = _FORGET.match(plain)
        if match and (_OURS.search(plain) or _OWN_FACT.match(match["query"])):
            return ParsedMemoryCommand(
                "forget",
                match["query"].strip(" ?.!\"'"),
                is_certain=bool(_SURE_FORGET.match(plain)),
            )
    return None


def opens_with_forgetting(text: str) -> bool:
    """True for a text that opens like a request to forget, however it goes on or is spelled.

    It states nothing: a request that is not understood must not become a fact.
    """
    if _FORGOT_TO_TELL.match(text) or not _OPENS_FORGETTING.match(fold(text[:200])):
        return False
    return not find_statement(text)


def may_be_command(text: str) -> bool:
    """True for a request about memory, or for words that may answer a question about one."""
    return _parse(text) is not None or bool(parse_decision(text)) or parse_choice(text) is not None


def asks_to_forget(text: str) -> bool:
    """True for a request to forget something, and nothing besides."""
    command = parse_command(text)
    return (
        command is not None
        and command.verb in ("forget", "forget_last", "forget_all")
        and not command.goes_on
    )


def names_memory(text: str) -> bool:
    """True for words that speak of memory: "forget that …", "what do you know", not "delete it"."""
    if len(text) > _LONGEST:
        return False
    return word_pattern(__file__, "memory_names").search(fold(text)) is not None


def parse_number(text: str) -> int:
    """Parse a position in a list, from 1; 0: none."""
    match = _NUMBER.match(_strip_politeness(text))
    if match is None:
        return 0
    return int(match["digits"]) if match["digits"] else _ORDINALS.index(match["word"].lower()) + 1


def parse_choice(text: str, count: int = 1) -> int | None:
    """Parse the number that somebody chooses, also one that no list has; None: it is no number.

    ``count``: entries of the list, the last of which may be chosen as such.
    """
    return parse_number(text) or read_choice(_strip_politeness(text), count)


def parse_decision(text: str) -> Literal["yes", "no", "all", ""]:
    """Parse the answer to a confirmation; empty: something else."""
    if len(text) > _LONGEST:
        return ""
    plain = _TAIL.sub("", text.strip()) or text.strip()
    if _EVERY.match(plain):
        return "all"
    if _NO.match(plain):
        return "no"
    if _YES.match(plain):
        return "yes"
    if len(text) > _LONGEST_ANSWER:
        return ""
    answer = match_answer(text.strip()) or find_answer(text)
    return answer[0] if answer else ""


def _strip_politeness(text: str) -> str:
    """Strip polite phrases at both ends; return an empty text for one too long to be a command."""
    if len(text) > _LONGEST:
        return ""
    stripped = " ".join(text.replace("\u2019", "'").split())
    without = _POLITE.sub("", stripped)
    request = _TAIL.sub("", without or stripped)
    if without and without != stripped:
        request = _ASKED_FORGOT.sub("forget", request)
    for pattern, usual in _USUAL_FORMS:
        request = pattern.sub(usual, request)
    return request
