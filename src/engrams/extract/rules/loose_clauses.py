"""Clauses that no parser reads: in languages other than English, and broken ones in English.

Enter at ``split_loosely``: a sentence is cut at its commas and conjunctions, and a piece counts if
it says "I", "my" or "we" in its language.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence

from engrams.extract.rules.clause_quote import trim_quote
from engrams.extract.rules.english_lexicon import BE, MODALS, find_lemma
from engrams.extract.rules.languages.language_table import load_language
from engrams.extract.rules.sentence_segmenter import TextSentence, tokens
from engrams.text.late_patterns import late_pattern
from engrams.text.measures import cut_unmarked_question, is_question
from engrams.text.text_caches import text_cache
from engrams.text.vocabulary import word_pattern

_ENGLISH_CUE = re.compile(
    r"\b(?:i|i'm|im|i've|ive|i'll|my|we|we're|our|mine|ours)\b", re.IGNORECASE
)
_JOINT = re.compile(
    r"[,;，；]\s*|\s+(?:-|–)\s+|\b(?:and|but|so|because|und|aber|denn|y|pero|porque|et|mais|car|parce que)\b\s*",
    re.IGNORECASE,
)
_ENGLISH_JOINT = re.compile(r"[,;]\s*|\s+(?:-|–)\s+|\b(?:but|so)\b\s*", re.IGNORECASE)
_DEPENDENT = re.compile(
    r"(?:der|die|das|den|dem|dessen|deren|wo|was|dass|weil|wenn|obwohl|damit|ob|bevor|nachdem|seit|während|que|quien|donde|cuando"
    r"|qui|dont|où"
    r"|quand|lorsque|puisque)\s+(?:ich|wir|mein\w*|me|mi|nos|je|j['’]|on|nous)\b"
    r"|(?:weil|obwohl|damit|bevor|nachdem|sodass|falls|aunque|mientras|puisque|lorsque|tandis)\s"
    r"|(?:danach|dann|anschließend|hinterher|deshalb|deswegen|después|luego|entonces|por eso|après|ensuite|puis|du coup|alors|donc)\s"
    r"|llevo (?:ya )?(?:\w+ (?:horas?|d[ií]as?|semanas?|mes(?:es)?|años?)(?:,| y(?: medi[oa])?)? ?)+\W*\Z"
    r"|(?:in|mit|bei|auf|für|an|von|ohne|zu|aus|nach|en|con|de|a|para|por|sin|dans|avec|chez|pour|à|sans|sur)\s",
    re.IGNORECASE,
)
"""Head of a clause that hangs on the piece before: "einen Diesel, den wir verkaufen"."""
_SUBJECT_BEFORE = re.compile(r"(?:l[eo]s?|se)\s(?!me\b|nos\b)\w+", re.IGNORECASE)
"""Spanish words of somebody whom only the piece before names: "y le dejó la casa a mi tía"."""
_NAMED_BEFORE = re.compile(r"\W*(?:(?:Dr|Mr|Mrs|Ms|Prof)\. )?[A-Z][\w'’-]+(?: [A-Z][\w'’-]+)?\Z")
_APPOSITION = re.compile(r"(?:my|our)(?: \w+){1,2},")
"""Who somebody is, behind a name: "Paolo, our son, is six"."""
_POINTS = {
    "en": re.compile(
        r"^\W*(?:(?:and|but|so|because)\s+)*(?:(?:he|she|they)\b|(?:that|this|it|his|hers?|theirs?|those|these)(?:['’]s| (?:is|was"
        r"|are|were|has|had|did|does|will))\b)",
        re.IGNORECASE,
    ),
    "de": re.compile(
        r"^\W*(?:das|dies|es|die|der|er|sie|da)\s+(?:ist|is|war|sind|geht|hat|wird|kommt|klappt)\b|^\W*da\s+(?:bin|habe?n?|hab|muss|kann)\b"
        r"|\b(?:mit|von|bei|zu|für|an|über|auf) (?:ihm|ihr|ihnen|ihn|denen)\b|\b(?:ihm|ihn|dafür|damit|davon|daran|darauf|dort)\b"
        r"|^\W*(?:(?:der|die|das|den) von (?:mein|dein|sein|ihr|unser)\w*|(?:meine[rs]|meins|seine[rs]|ihre[rs]|unsere[rs]) (?:ist"
        r"|hat|war))\b",
        re.IGNORECASE,
    ),
    "es": re.compile(
        r"^\W*(?:eso|esto|aquello|ella|él|ese|esa|(?:el|la|los|las) (?:de (?:mis?|sus?|tus?)|m[ií][oa]s?|suy[oa]s?))\b|\b(?:con|de"
        r"|para|a) (?:él|ella|ellos|ellas|eso|esto)\b|\b(?:allí|ahí)\b"
        r"|\b(?:la|el|lo|las|los) (?:primer[oa]s?|segund[oa]s?|últim[oa]s?|otr[oa]s?|mism[oa])\b\W*$",
        re.IGNORECASE,
    ),
    "fr": re.compile(
        r"^\W*(?:c['’]est|c['’]était|ça|cela|il|elle|celui|celle|ceux|celles|l[ea]s? (?:mien|sien|nôtre)\w*)\b|\b(?:avec|pour|chez"
        r"|de|sans) (?:lui|elle|eux|elles|ça|cela)\b"
        r"|\b(?:la|le) (?:premi[eè]re?|deuxième|dernière?|même)\W*$",
        re.IGNORECASE,
    ),
    "zh": re.compile(r"^\W*(?:[哇啊哎哦嗯]+\W*)?[那这](?:个|样)?(?:真|太|也太|就|可|挺|确实)"),
    "ja": re.compile(
        r"^\W*(?:(?:えー*|へえ*|わあ*|うわ*|ええ*|あー*|うん)\W+)?(?:(?:それ|これ|あれ)(?:は|って|も|が)|そう(?:です|だ|なん)|すごい|ひどい)"
    ),
}
"""Words that point at somebody or something outside of the clause."""
_OPENS_QUESTION = re.compile(
    r"\W*(?:how|what|why|where|which|who|when|can|could|would|should|do|does|did|is|are|let's|let me|please|since|if|like|pls|plz"
    r"|use|check|give|tell|make|write|show|find|help|add|fix|send|put|keep|look|explain|translate|remind|call|ask)\b",
    re.IGNORECASE,
)
_NAMED = re.compile(
    r"(?P<name>[A-ZÀ-Þ][^\W\d_]+)(?:['’]s| (?:is|has|was|can['’]t|cannot|doesn['’]t|isn['’]t|needs|takes|lives|works|goes|plays|starts"
    r"|turned|turns|loves|hates|speaks|studies|got|ist|hat|wohnt|lebt|arbeitet|es|está|tiene|vive|trabaja|est|a|habite|travaille))\b"
)
"""Somebody named: "Isaac is allergic to hazelnuts, we carry an EpiPen"."""
_SAFETY = re.compile(
    r"\b(?:allerg|alérg|c(?:o?e|œ)liac|zöliakie|celíac|diabet|epilep)", re.IGNORECASE
)
_OF_SOMEBODY = late_pattern(
    r"\W*(?:[^\W\d_]+\s+){1,3}?(?:(?:[vV]on|de|of)\s+[A-ZÀ-Þ]|d['’][A-ZÀ-Þ]"
    r"|(?:vom|von der|der|des|du|de la|del|de l['’]|of the|of my)\s*(?:neighbou?r|boss|colleague|friend|Nachbar|Chef|Kolleg|Freund"
    r"|voisin|collègue|ami|patron|vecin|jef|amig|compañer)\w*)"
)
"""Something near that is somebody else's: "der Hund von Kim", "le chat du voisin"."""
_OTHER_NAMED = late_pattern(
    r"(?!.{0,2}(?:同僚|友|上司|部下|先輩|後輩|隣|屋さん|大家|先生|業者|夫|妻|彼|母|父|兄|姉|奥|旦那|子|おば|おじ|祖母|祖父|娘|息子))[^、。\s私僕俺]{1,10}(?:さん|くん|ちゃん|氏)(?:の[^、。]{1,10}?)?[はがも]"
)
"""Somebody with a name, who is no relative called by what they are: "お母さんは…"."""
_DEFINITE = late_pattern(
    r"\W*(?:(?i:the|both|all|a|an|yesterday|tomorrow|der|die|das|den|ein|eine|ab|am|seit|gestern|bis|so,|el|la|los|las|un|una|a"
    r"|al|en|desde|ayer|anoche|hoy|ahora|le|les|une|dès|depuis|hier|à|cette)\b|(?i:l['’])"
    r"|(?!(?i:(?:mon|tues|wednes|thurs|fri|satur|sun)day|(?:mon|diens|donners|frei|sams|sonn)tag|mittwoch|lundi|mardi|mercredi|jeudi|vendredi"
    r"|samedi|dimanche|lunes|martes|miércoles|jueves|viernes|sábado|domingo)\w*\b|[A-Z][a-z]*ing\b)[A-ZÀ-Þ][^\W\d_]+(?:['’]s)?\b)"
)
"""Beginning of a sentence that names its subject; a bare word begins a title, a note or a remark."""
_WEEKLY = late_pattern(
    r"\b(?:on (?:mon|tues|wednes|thurs|fri|satur|sun)days|every (?:mon|tues|wednes|thurs|fri|satur|sun)day)\b"
    r"|\b(?:every|each) (?:week|morning|evening|afternoon)\b"
    r"|\b(?:mon|diens|donners|frei|sams|sonn)tags\b|\bmittwochs\b|\blos (?:lunes|martes|miércoles|jueves|viernes|sábados|domingos)\b"
    r"|\ble (?:lundi|mardi|mercredi|jeudi|vendredi|samedi|dimanche)\b",
    re.IGNORECASE,
)
_ALLERGIC_TO = late_pattern(
    r"\S+ (?:is|ist|es|est) (?:also |very |badly |severely |really |auch |sehr |stark |muy |très |aussi )?"
    r"(?:allergic to|allergisch (?:gegen|auf)|alérgic[oa] a(?:l| los| las| la)?|allergique (?:aux?|à la|à l['’]|à))"
    r" ?((?:the )?[^\W\d][\w'’-]*(?: [\w'’-]+){0,2}?)(?=[.,;!?]|\s(?:and|but|so|und|aber|y|et|mais|pero|since|because|weil|seit)\b|\s*\Z)"
    r"|\S+ (?:has|hat|tiene|a) (?:an? |eine |una |une )?(?:bad |severe |strong |schwere |starke )?"
    r"([^\W\d][\w'’-]+) (?:allergy|allergies)\b",
    re.IGNORECASE,
)
"""To what somebody named is allergic: "Emil is allergic to hazelnuts", "Nora has a peanut allergy"."""
_LEAD_IN = re.compile(
    r"(?:(?:also|and|actually|plus|btw|by the way|then|now|today|yesterday|lately)\W+)*",
    re.IGNORECASE,
)
_FINITE = BE.keys() | MODALS | {"'s", "'ve", "'ll", "can", "will"}
_FEWEST_WORDS = 3
_MOST_BEFORE_CUE = 24
_VERB_FOLLOWS = re.compile(r"(?:i|we) [a-z]", re.IGNORECASE)
"""A word behind one of these is a verb: "we owe the bank"."""
_ASKS = re.compile(
    r"(?:吗|嗎|呢|か|ですか|ますか|ください|てね|[てで](?:くれる|くれない|もらえる|もらえない|ほしい)?)\s*[?？]?\Z"
)


def split_loosely(
    sentence: TextSentence, language: str, *, is_private: bool = False
) -> Iterator[tuple[int, int]]:
    """Yield the places of pieces that say "I": start and end in the whole text.

    Pieces without a first person belong to the piece before them. ``is_private``: the talk is about
    no project, so that a sentence that begins with what is near to its speaker counts, too: "the
    lease ends in May".
    """
    table = load_language(language)
    cue = table.first_person if table else _ENGLISH_CUE
    if (table is None and language != "en") or sentence.is_question or _ASKS.search(sentence.text):
        return
    text = cut_unmarked_question(sentence.text)
    if language == "ja":
        if cue.search(text.rstrip(" 。！!")) and not opens_with_other(text):
            yield sentence.start, sentence.start + len(text)
        return
    asks = _OPENS_QUESTION.match(text) if language == "en" else is_question(text)
    if asks or _asks_listener(text):
        return
    starts = [0]
    cue_starts = [match.start() for match in cue.finditer(text)]
    if cue_starts:
        joint = _ENGLISH_JOINT if language == "en" else _JOINT
        farthest = 0 if language == "en" else _MOST_BEFORE_CUE
        cuts = [*joint.finditer(text)]
        for index, cut in enumerate(cuts):
            if language == "en":
                is_part = _NAMED_BEFORE.match(text, starts[-1], cut.start()) is not None and bool(
                    _APPOSITION.match(text, cut.end())
                )
            else:
                is_part = _hangs_on(text, starts[-1], cut, language)
            end = cuts[index + 1].start() if index + 1 < len(cuts) else len(text)
            reach = range(cut.end(), end)
            if not is_part and _opens_clause(text, reach, cue_starts, farthest):
                starts.append(cut.end())
    for begin, end in zip(starts, [*starts[1:], len(text)], strict=True):
        piece = text[begin:end]
        is_short = language not in ("zh", "ja") and len(piece.split()) < _FEWEST_WORDS
        is_named = _NAMED.match(piece) and (
            len(starts) > 1 or _SAFETY.search(piece) or find_habit_of(piece, language)
        )
        next_cue = bisect_left(cue_starts, begin)
        has_cue = next_cue < len(cue_starts) and cue_starts[next_cue] < end
        is_near = is_private and not begin and (_opens_near(piece) or _is_dated(piece, language))
        if (is_named or has_cue or is_near) and not is_short:
            yield sentence.start + begin, sentence.start + begin + len(piece.rstrip())


@text_cache(256)
def _is_dated(text: str, language: str) -> bool:
    """True for a text to be read for its day: what takes place then, recurs, or is changed.

    "Tim's scan is on Monday", "la cita se aplazó"; not "la cola del lunes era larga", what
    everybody shares ("der Film kommt am Montag"), a greeting or a title ("Monday league, left wing").
    """
    lower = text.lower()
    is_changed = word_pattern(__file__, "changed").search(lower) is not None
    if not is_changed and (
        word_pattern(__file__, "dated").search(lower) is None or _is_over(lower, language)
    ):
        return False
    if "**" in text or word_pattern(__file__, "remarks").search(lower) is not None:
        return False
    names_subject = language in ("zh", "ja") or _DEFINITE.match(text) is not None
    return names_subject and word_pattern(__file__, "public").match(lower) is None


def _is_over(text: str, language: str) -> bool:
    """True for what happened, in other languages than English."""
    table = load_language(language)
    return table is not None and table.outlook["over"].search(text) is not None


@text_cache(256)
def _opens_near(text: str) -> bool:
    """True for a sentence that begins with a relative or a thing of the speaker's home."""
    lead = _LEAD_IN.match(text)
    start = lead.end() if lead else 0
    is_near = word_pattern(__file__, "near").match(text.lower(), start) is not None
    return is_near and _OF_SOMEBODY.match(text, start) is None


def is_without_self(quote: str, language: str) -> bool:
    """True for a clause that says no "I" or "my", and is read for the day that it names."""
    table = load_language(language)
    cue = table.first_person if table else _ENGLISH_CUE
    return cue.search(quote) is None and _is_dated(quote, language) and not _opens_near(quote)


def _asks_listener(text: str) -> bool:
    """True for a request without a question mark: "kannst du mir …", "帮我写…"."""
    lead = _LEAD_IN.match(text)
    start = lead.end() if lead else 0
    return word_pattern(__file__, "asked").match(text.lower(), start) is not None


def opens_with_other(text: str) -> bool:
    """True for a Japanese sentence about somebody named: "田中さんは…", "キムさんの犬は…"."""
    return _OTHER_NAMED.match(text) is not None


def find_allergic(quote: str) -> tuple[str, str] | None:
    """Find of whom a clause tells an allergy or the like, and to what; None: it tells none.

    To what is empty where the clause does not say it plainly.
    """
    named = _NAMED.match(quote)
    if named is None or not _SAFETY.search(quote):
        return None
    allergy = _ALLERGIC_TO.match(quote)
    return named["name"], next(filter(None, allergy.groups()), "") if allergy else ""


def quote_loosely(text: str, start: int, end: int) -> str:
    """Return a piece without a greeting, and without the conjunction and marks at its ends."""
    return trim_quote(_TRAILING.sub("", _GREETING.sub("", text[start:end])))


_GREETING = re.compile(
    r"\A\W*(?:hallo|hi|hey|moin|servus|guten (?:tag|morgen|abend)"
    r"|hola|buenas(?: tardes| noches)?|buenos días|bonjour|salut|bonsoir)\b[^,;!.]{0,12}[,!.;]\s+",
    re.IGNORECASE,
)
_TRAILING = re.compile(
    r"[\s,;，；]+(?:and|but|so|because|und|aber|denn|weil|y|pero|porque|et|mais|car)\s*\Z",
    re.IGNORECASE,
)


def is_piece_of_list(piece: str, language: str) -> bool:
    """True for an English piece without a verb: "950 a month, my half"; a colon stands for a verb."""
    is_whole = ":" in piece or _VERB_FOLLOWS.match(piece) is not None or _opens_near(piece)
    if language != "en" or is_whole:
        return False
    words = [word.lower for word in tokens(piece)]
    return not any(word in _FINITE or find_lemma(word) is not None for word in words)


def points_outside(quote: str, language: str) -> bool:
    """True for "ich habe mit ihm gesprochen", of which only the talk tells who is meant."""
    pattern = _POINTS.get(language)
    return pattern is not None and pattern.search(quote) is not None


def find_habit_of(quote: str, language: str) -> str:
    """Return the name of somebody whose weekly habit a clause tells; empty: it tells none."""
    named = _NAMED.match(quote)
    if named is None or not (_WEEKLY.search(quote) or tells_habit(quote, language)):
        return ""
    return named["name"]


def tells_habit(quote: str, language: str) -> bool:
    """True for what the speaker does every week or day, in other languages than English."""
    table = load_language(language)
    return table is not None and table.outlook["habit"].search(quote.lower()) is not None


def is_of_the_moment(quote: str, language: str) -> bool:
    """True for a mood, thanks or an errand of the day, in other languages than English."""
    return language != "en" and word_pattern(__file__, "moments").search(quote.lower()) is not None


def _hangs_on(text: str, start: int, cut: re.Match[str], language: str) -> bool:
    """True if what follows hangs on the piece before, or ends "meine Frau" of "meine Frau und ich"."""
    is_brief = len(text[start : cut.start()].split()) < _FEWEST_WORDS
    lacks_subject = language == "es" and _SUBJECT_BEFORE.match(text, cut.end()) is not None
    return is_brief or lacks_subject or _DEPENDENT.match(text, cut.end()) is not None


def _opens_clause(text: str, reach: range, cue_starts: Sequence[int], farthest: int) -> bool:
    """True if a first person stands at the head of a piece, ``farthest`` characters away at most.

    "… y es vegana, así que cocino …": none does in "es vegana", which is said of somebody else.
    ``reach``: the piece up to the next joint. ``cue_starts``: where first persons stand in the text, in order.
    """
    next_cue = bisect_left(cue_starts, reach.start)
    if next_cue == len(cue_starts):
        return False
    lead = _LEAD_IN.match(text, reach.start)
    opening = lead.end() if lead else reach.start
    cue = cue_starts[next_cue]
    return cue - opening <= farthest and cue < max(reach.stop, opening + 1)
