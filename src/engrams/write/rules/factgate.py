"""Gate of derived statements: what does not stand alone is left out."""

from __future__ import annotations

import re

from engrams.text.stopwords import STOP
from engrams.types import Kind
from engrams.write.candidatestatement import CandidateStatement
from engrams.write.rules.predicatetable import RELATIONS, VAGUE
from engrams.write.wordlist import word_set

_POINTS = r"(?:it|this|that|these|those|them|one|so|something|the following|following)"
_DANGLING_END = re.compile(
    rf"^(?:of \w+ing |(?:to )?(?:(?!out|\w+ing\b)\w+ )?)(?:up |out |on |about |with |to |for )?{_POINTS}$"
    r"|\bmake (?:it|this|that) (?:happen|work)$"
    r"|^(?:the )?(?:following|above|below)\b|\b(?:looks?|look) (?:something )?(?:like (?:this|that))?$|\bsomething like this$",
    re.IGNORECASE,
)
_CUT = re.compile(
    r"\b(?:an?|the|my|our|their|his|her|its) (?:on|in|at|of|to|for|by|with|is|are|and|or|but)\b"
    r"|\b(?:on|in|at|to|for|by|with) of\b|\bused to(?: when\b|$)|\b(?:is|are|was|were) as \w+$"
    r"|\bwhat(?:'s| is) going$|\bboth\b(?!.*\band\b)|\bthe (?:part|point|fact|way|kind|reason|moment|idea)$"
    r"|\bto (?:achieve|add|allow|check|create|determine|display|ensure|get|give|handle|implement|include|make|provide|see|show|support"
    r"|verify)$"
    r"|\b(?:using|like|than|with|via|by|through|from|into|onto|called|named|because|and|or|but|the|an?|of|for|to|is|are)$",
    re.IGNORECASE,
)
_MARKUP = re.compile(r"[-=]+>|<[-=/a-z]|&\w+;?$|&(?:gt|lt|amp|quot|nbsp)\b|[{}|\\]|^\W*$", re.IGNORECASE)
_NUMBERS = {word: number for number, word in enumerate(("two", "three", "four", "five", "six", "seven", "eight", "nine"), 2)}
_LISTED = re.compile(rf"\b({'|'.join(_NUMBERS)}|[2-9]) [a-z]+(?: [a-z]+)?,\s*((?:[A-Z][\w'-]+(?:,? and |, |$))+)$")
_ELSEWHERE = re.compile(
    "|".join(
        (
            # this and that, one and other
            r"\b(?:this|these)\b(?! with\b)|\bthose (?!in\b|of\b|that\b|who\b|with\b)|\bthat (?:other|same)\b|\btheirs\b",
            r"\b(?:about|at|for|in|into|of|on|to|with) that (?!\w+ (?:are|is|was)\b)|\bfound that \w+ (?:as|at|in|on|with)\b",
            r"\b(?:over|under|within|beyond|like) (?:this|that|these|those)\b(?= near\b|(?: \w+)?$)",
            r"\b(?:about|into|of|on|with) (?:it|that|this)$|\b(?:do|does|did|doing) (?:this|that|it|so)$|\bhow to \w+ it$|\bover it$",
            r"\b(?:on|with|for) one\b(?! (?:another|of)\b)|\banother (?:at|from|in|of|on)\b|\banother$|\bsome to\b|\bfor (?:it|that|this)$",
            r"\b(?:another|the (?:\w+ )?)ones?$|\b(?:another|the (?:other|same)) ones?\b",
            r"(?<!in )\bthe (?:rest|same(?! (?:day|place|time|way)\b)(?: \w+)?)$",
            r"\b(?:been to|bought|done|found|got|had|has|have|made|needs?|played|read|saw|seen|tried|used|wants?|watched) one\b",
            r"\b(?:bought|made|painted|played|tried|used?|using|visited|watched|wore) that (?!\w+ (?:are|is|was)\b)|\bto decide on\b",
            # a place of the message, or a thing known to both
            r"\b(?:code|example|function|implementation|snippet|version)s? (?:above|below)\b|\b(?:above|below)$|\?",
            r"\bthe (?:above|attached|below|following|given|mentioned|provided)\b|\bthe whole (?:collection|lot|series|set|thing)$",
            r"\b(?:described|discussed|mentioned|shown) (?:above|before|below|earlier|in)\b",
            r"\b(?:enjoy|hate|like|love)s? all (?:the|those) ",
            (
                r"\bthe (?:\w+ ){0,2}(?:ceremony|event|feelings|film|movie|options|painting|party|picture|recipe|song|tournament|trip)"
                r"(?=$| (?:a|afterwards?|an|and|that|with)\b)"
            ),
            r"^\S+ (?:user )?is (?:\w+ )?\w+ they (?:are|can|have|will)\b|\bthe progress\b",
            r"^The (?:\w+ ){0,2}(?:aim|day|event|goal|idea|night|party|plan|point|purpose|show|thing) (?:is|are|was)\b",
            # words that look back
            r"\baccordingly\b|\bever since$|\bsimilar \w+$|\bsomething similar\b|\b(?:as usual|instead|likewise|otherwise)$",
            r"\bmore than (?:before|ever|in|they|when)\b|\bas (?!possible|usual|well)\w+$|\b(?:hit|reached) \d[\d.,]*%(?! of\b)",
            r"\b(?:days|months|weekends|weeks|years) (?:before|earlier|later)$|\beach other\b|\btheir shared\b",
            r"^\S+ (?:goes|went) (?:(?:once|twice|a few times|\w+ times) (?:an?|every|per)\b|every )",
            # cut relative clauses, open choices, figures of speech
            r"\bthat (?:can|does|gives|has|helps|is|lets|makes|means|says|shows|tells)$|\b(?:choose|decide|decided) between\b",
            r"\bthey (?:belong|go|listen|live|look|talk|volunteer|work)(?: (?:at|in|on) \d.*)?$",
            r"\bbouncing off\b|\bover the moon\b|\bon cloud nine\b|\bfingers\b|\bbec[ao]me like\b|\bthe \w+ (?:flowing|going|rolling)$",
        )
    ),
    re.IGNORECASE,
)
_TOGETHER = re.compile(r"(?<![-\w])together(?= (?:at|for|in|last|on|this)\b|$)", re.IGNORECASE)
_COMPANY = re.compile(
    r"\b(?:with|and|band|couple|family|folks|friends|group|kids|parents|team)\b|\b(?:br(?:ing|ought)|c[ao]me|g[eo]t|piec\w+|pull\w*|put)\b",
    re.IGNORECASE,
)
_BACKWARD = re.compile(
    r"\b(?:(?<!for )it(?!'s| (?:is|takes?|was|will|would)\b)|her(?= (?:in|on|to|at|\w+ing)\b|$)|here|he|him|she|them|they"
    r"|there(?! for\b| (?:is|are|was|were)\b))\b",
    re.IGNORECASE,
)
_ANTECEDENT = re.compile(
    r"\b(?:an?|and|children|her|his|its|my|our|people|some|the|their|this|three|two)\b|\b[a-z]{3,}[^\Ws]s\b| [A-Z]|[\"\d]"
)
_PLURAL = re.compile(r"\b(?:and|children|couple|few|folks|kids|many|people|several|some|team|two|three|four|five)\b|\b\w{2,}[^\Ws]s\b|\d")
_NAMED = re.compile(r"(?:^| )[A-Z]|\band\b")
_SPOKEN = re.compile(r"(?:I|we)\b", re.IGNORECASE)
_OWNERS = re.compile(r"\b(?:her|his)(?= [a-z])")
_SOMEBODY = re.compile(
    r"[A-Z]|\b(?:actor|artist|author|boy|girl|guy|lady|man|player|singer|somebody|someone|who|woman|writer|"
    rf"{'|'.join(sorted(RELATIONS))})\b"
)
_WISHES = re.compile(
    r"^(?:always |never )?"
    r"(?:keep (?:up|going|it up|on|shining|smiling|pushing|being|rocking|doing|believing|chasing)|have (?:a|fun)|take care"
    r"|stay (?:safe|strong|positive|true|well)"
    r"|be (?:yourself|safe|happy|kind|proud)|give up|stop (?:dreaming|believing|smiling|being)|say never"
    r"|remember (?:to be|that you)|lose (?:hope|faith|sight))\b",
    re.IGNORECASE,
)
_ADDRESSED = re.compile(r"\byour?s?\b", re.IGNORECASE)
_TALKED = frozenset(("whenned", "is_whenned"))
_SUBJECT = re.compile(r"^(?:the user|\S+)(?:'s \w+)? ", re.IGNORECASE)
_NUMBER = r"(?:\d+|dozen|five|four|hundred|six|ten|thousand|three|two)"
_AUXILIARY = r"^(?:(?:has|is|was|not|been|still|just|trying|to) )*"
_OBJECTLESS = re.compile(
    "|".join(
        (
            # the bare name of a thing known to both
            (
                rf"{_AUXILIARY}\w+ (?:(?:on|with) )?the (?:[\w-]+ )?(?:app|application|attributes"
                r"|code|database|destination|details|difficulties|endpoint|errors?|features?|form|function|images|issues?|layout"
                r"|metrics|modal|page|part|problem"
                r"|quer(?:y|ies)|questions?|request|response|script|server|speed|task|time|venue|website)$"
            ),
            (
                r"^(?:has |is )?(?:chose|completed|finished|found|got|had|has|lost|picked|reads?|posted|presented|responsible for"
                r"|scored|sent|submitted"
                r"|won|wrote) the (?:[\w-]+ )?[\w-]+$"
            ),
            r"\b(?:an?|any|the) (?:(?:digital|hard|paper|physical|signed|written) )?(?:copy|list|recipe|sample|turnout|version)$",
            r"^has (?:double-)?checked (?:the|their|that|all) (?:[\w-]+ )?[\w-]+$",
            rf"{_AUXILIARY}\w+ the (?:code|endpoint|error|form|function|issue|modal|page|script) (?:to|with)\b",
            r"\b(?:got|received) an? \d+ [A-Z]+ response\b|\bthe necessary\b|\b(?:achieve|get|reach) an? \d+% \w+ \w+$|\bmore ways\b",
            # a verb without its object
            (
                r"^(?:(?:does|did|has|is|was|not|been|still|usually) )*(?:go|goes|going|do|does|doing|play|plays|playing|try|trying)"
                r"(?: (?:a lot|every \w+|often|much|there|sometimes|regularly|since|now)\b.*)?$"
            ),
            (
                r"^(?:is )?(?:began|beginning|continued|finished|kept|started|starting|stopped)"
                r" (?:back\b|doing$|from scratch$|going$|in\b|on\b|over$|with a|pushing\b|trying$|when\b)"
            ),
            r"^(?:cried|giggled|laughed|screamed|smiled)\b|^(?:asked|posted|said|wrote)(?: (?:in|on) \w+ \w+)?$",
            # an aim of the past, whose occasion is lost
            r"^(?:was )?(?:hop(?:ed|ing)|want(?:ed|ing)) to\b",
            # a number of what
            rf"^(?:ate|bought|found|got|has|made|read|saw|sold|took|wrote) (?:about |around |over )?(?:\w+ )?{_NUMBER}(?: so far)?$",
        )
    )
)
_GROUP = re.compile(r"^we(?:'ve| have| all| both)?\b", re.IGNORECASE)
_COMMON = word_set("""
    abilities ability attitude bond chance chances chemistry dream dreams future gift gifts goal goals heart hearts meetings path
    paths potential power skill skills strength strengths struggle struggles talent talents
    """)
_EMPTY = VAGUE | word_set("""
    ability adventure advice amazing ambition ambitions awesome bad battle better big boost brand challenge challenges chat
    conversation cool crazy decent delicious different dream dreams energy event events exciting experience experiences eye-opening
    fantastic favorite few first food free full fun games goal goals great growth happiness heart hearts huge hurdles impact
    incredible insane inspiration interesting journey joy kinds leads little lovely luck main major milestone new next nice old
    opportunities opportunity options other own passion path personal place places positive possible potential power praise pretty
    progress project projects purpose quite real response setback setbacks simple skill skills small special spot stories story
    strength strengths struggles success super surge sweet talent talents tasty things thrilling tips top topic tough tour treat trip
    turnout unique valuable whole wicked wild win wonderful years young yummy
    """)
_LIGHT = word_set("""
    achieve achieved been did do does doing enjoyed experienced explored exploring faced facing gained gave get gets getting give
    given got had has have having hit kept made make makes making met picked played playing pulled received saw started take taken
    taking tell told took tried want wanted wants went working
    """)


def is_sound(candidate: CandidateStatement) -> bool:
    """Check that a statement stands by itself: right or absent."""
    text, value = candidate.text.strip(), candidate.object.strip()
    if _MARKUP.search(text) or (value and _MARKUP.search(value)):
        return False
    if candidate.kind in (Kind.RULE, Kind.NEGATIVE) and candidate.subject == "assistant":
        return not _WISHES.match(text)
    if candidate.kind not in (Kind.FACT, Kind.PREFERENCE):
        return True
    if candidate.predicate in _TALKED or _is_cut(text, value) or _ADDRESSED.search(re.sub(r'"[^"]*"', "", text)):
        return False
    quote = candidate.evidence[0].quote if candidate.evidence else ""
    return not (_points_elsewhere(text, quote) or _is_empty(candidate, text, quote))


def _is_cut(text: str, value: str) -> bool:
    """True for a piece of a sentence, or of a list."""
    if _CUT.search(text) or _DANGLING_END.search(value) or _DANGLING_END.search(text):
        return True
    if text.count('"') % 2 or text.count("“") != text.count("”") or text.count("(") != text.count(")"):
        return True
    return (text.count("'") == 1 and text.endswith("'")) or _is_cut_list(text)


def _is_cut_list(text: str) -> bool:
    """True for "three kids, Emma": fewer names than announced."""
    found = _LISTED.search(text)
    if found is None:
        return False
    names = [name for name in re.split(r",? and |, ", found[2]) if name]
    return len(names) < (_NUMBERS.get(found[1]) or int(found[1]))


def _points_elsewhere(text: str, quote: str) -> bool:
    """True where a word means something that the sentence lacks."""
    first = quote.partition(" ")[0].lower()
    if first.endswith("ing") and f" is {first} " in text:
        return True  # "Writing and hanging with friends!" has no subject
    if _ELSEWHERE.search(text) or (_TOGETHER.search(text) and not _COMPANY.search(text)):
        return True
    if _SPOKEN.match(quote) and (owner := _OWNERS.search(text)) and not _SOMEBODY.search(text[: owner.start()].split(" ", 2)[-1]):
        return True  # "We made a book with her pictures"
    said = {one.lower() for one in _BACKWARD.findall(quote)}  # "them" may stand for the speaker's "me"
    found = next((one for one in _BACKWARD.finditer(text) if one[0].lower() in said), None)
    if found is None:
        return False
    before = text[: found.start()].removeprefix("The ").split(" ", 2)[-1]  # behind the subject and its verb
    named = {"it": _ANTECEDENT, "them": _PLURAL, "they": _PLURAL}.get(found[0].lower(), _NAMED)
    return not named.search(before)


def _is_empty(candidate: CandidateStatement, text: str, quote: str) -> bool:
    """True where no word says what it was: "got some good advice"."""
    if candidate.single or candidate.effect != "states" or not text.isascii():
        return False
    said = _SUBJECT.sub("", text, count=1)
    if _OBJECTLESS.search(said):
        return True
    words = re.findall(r"[\w'-]+", said)
    if any(word[0].isupper() or word[0].isdigit() for word in words[1:]) or '"' in said:
        return False
    told = [word for word in words if word.lower() not in STOP]
    if _GROUP.match(quote) and any(word in _COMMON for word in told):
        return True  # "we have the power to make a difference" is a saying
    meant = [word for word in told if word not in _EMPTY and word not in _LIGHT]
    return not meant or (len(meant) == 1 and candidate.kind is Kind.FACT and any(word in _EMPTY for word in told))
